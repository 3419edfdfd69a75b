"""Pieces of text cut at the ends of lines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_RETURN = ord("\r")
# A first line that is longer names no columns.
LONGEST_HEADER = 2**20


def first_line(pieces: Iterator[bytes], end: bytes) -> bytes:
    """Return the first line without its end; of a very long one, the beginning."""
    line = b""
    for piece in pieces:
        line += piece
        if end in piece or len(line) > LONGEST_HEADER:
            break
    return line.split(end, 1)[0][: LONGEST_HEADER + 1]


def without_first_line(pieces: Iterator[bytes], end: bytes) -> Iterator[bytes]:
    """Yield what follows the first line."""
    for piece in pieces:
        cut = piece.find(end) + 1
        if cut:
            yield piece[cut:]
            break
    yield from pieces


def whole_lines(pieces: Iterator[bytes], end: bytes) -> Iterator[bytes]:
    """Yield the text in blocks of whole lines, each about as long as a piece, or one long line.

    The last line ends like all others.
    """
    begun: list[bytes] = []
    for piece in pieces:
        cut = piece.rfind(end) + 1
        if cut:
            yield b"".join((*begun, piece[:cut]))
            begun = []
        begun.append(piece[cut:])
    if rest := b"".join(begun):
        yield rest + end


def count_lines(block: bytes, end: bytes) -> int:
    r"""Return the number of lines in a block of whole lines that are not blank.

    A blank line is nothing, or one \r.
    """
    data = np.frombuffer(block, dtype=np.uint8)
    ends = data == end[0]
    blank = int(block[0] == end[0] or (block[0] == _RETURN and block[1] == end[0]))
    blank += int(np.count_nonzero(ends[1:] & ends[:-1]))
    if end[0] != _RETURN and _RETURN in block:
        blank += int(np.count_nonzero(ends[2:] & (data[1:-1] == _RETURN) & ends[:-2]))
    return int(np.count_nonzero(ends)) - blank
