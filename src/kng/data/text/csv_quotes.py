"""Line ends inside quotes, for files that are declared to have them: each becomes a space.

Then every line is a record again. The state goes on from piece to piece: whether a cell begins
here, is plain text, is within quotes, or has met a quote that closes it or is the first of two.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kng.core.compiled import compiled, load
from kng.data.text.csv_cells import QUOTE

_BEGINS, _PLAIN, _WITHIN, _CLOSED = range(4)
_SPACE = 32


@compiled("i8(u1[::1], u1, u1, i8)", nogil=True)
def join_lines(data, end, separator, state):  # type: ignore[no-untyped-def]
    """Replace line ends inside quotes, and return the state behind the last byte."""
    for at in range(len(data)):
        c = data[at]
        if state == _WITHIN:
            if c == QUOTE:
                state = _CLOSED
            elif c == end:
                data[at] = _SPACE
        elif c in (separator, end):
            state = _BEGINS
        elif c == QUOTE and state != _PLAIN:
            state = _WITHIN
        else:
            state = _PLAIN
    return state


def prepare() -> None:
    """Load the compiled loop; called before anything is charged."""
    load(join_lines)


def joined(pieces: Iterator[bytes], end: bytes, separator: str) -> Iterator[bytes]:
    """Yield the pieces with lines joined."""
    state = _BEGINS
    for piece in pieces:
        data = np.frombuffer(piece, dtype=np.uint8).copy()
        state = join_lines(data, np.uint8(end[0]), np.uint8(ord(separator)), state)
        yield data.tobytes()
