"""Numbers with thousands marks and symbols around them, as in `kng.data.text.notation`, compiled.

A cell is rewritten as a plain number, without marks and symbols, and then read as one.
"""

from __future__ import annotations

import numpy as np

from kng.core.compiled import compiled
from kng.data.text.text_numbers import BYTES, blank, digit, number_in

# Texts one after the other, and where each begins and the last one ends.
TEXTS = f"{BYTES}, i8[::1]"
_POINT, _UNDERSCORE, _PLUS, _MINUS = 46, 95, 43, 45
# What is returned in place of a length.
_NO_NUMBER = -1


@compiled(f"i8({BYTES}, i8, i8, {TEXTS})", nogil=True)
def fitting(data, at, end, texts, offsets):  # type: ignore[no-untyped-def]
    """Return the length of the first text that stands at ``at``, 0 if none does."""
    for k in range(len(offsets) - 1):
        length = offsets[k + 1] - offsets[k]
        if at + length > end:
            continue
        same = 0
        while same < length and data[at + same] == texts[offsets[k] + same]:
            same += 1
        if same == length:
            return length
    return 0


@compiled(f"i8({BYTES}, i8, i8)", nogil=True)
def past_blanks(data, at, end):  # type: ignore[no-untyped-def]
    """Return where white space ends."""
    while at < end and blank(data[at]):
        at += 1
    return at


@compiled(f"i8({BYTES}, i8, i8, {TEXTS})", nogil=True)
def past_symbols(data, at, end, texts, offsets):  # type: ignore[no-untyped-def]
    """Return where symbols, each with the blanks after it, end."""
    length = fitting(data, at, end, texts, offsets)
    while length:
        at = past_blanks(data, at + length, end)
        length = fitting(data, at, end, texts, offsets)
    return at


@compiled(f"UniTuple(i8, 2)({BYTES}, i8, i8, u1[::1], i8)", nogil=True)
def copy_digits(data, at, end, out, n):  # type: ignore[no-untyped-def]
    """Copy digits and underscores; return where they end, here and there."""
    while at < end and (digit(data[at]) or data[at] == _UNDERSCORE):
        out[n] = data[at]
        at, n = at + 1, n + 1
    return at, n


@compiled(f"UniTuple(i8, 2)({BYTES}, i8, i8, {TEXTS}, u1[::1], i8)", nogil=True)
def copy_groups(data, at, end, marks, mark_offsets, out, n):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Copy digits without the marks between them; a length below 0 where groups do not fit."""
    start, groups, mark = at, 0, 0
    while True:
        run = 0
        while at < end and digit(data[at]):
            out[n] = data[at]
            at, n, run = at + 1, n + 1, run + 1
        mark = fitting(data, at, end, marks, mark_offsets) if run else 0
        if not mark or at + mark >= end or not digit(data[at + mark]):
            break
        if run > 3 or (groups and run < 2):
            return start, _NO_NUMBER
        groups += 1
        at += mark
    if not groups:
        return copy_digits(data, at, end, out, n)
    if run != 3 or (at < end and data[at] == _UNDERSCORE):
        return start, _NO_NUMBER
    return at, n


@compiled(f"i8({BYTES}, i8, i8)", nogil=True)
def word_length(data, at, end):  # type: ignore[no-untyped-def]
    """Return the length of a word for infinity or no number that stands here, or 0."""
    alike = 0
    while alike < 8 and at + alike < end and data[at + alike] | 32 == _INFINITY[alike]:
        alike += 1
    if alike >= 3:
        return 8 if alike == 8 else 3
    alike = 0
    while alike < 3 and at + alike < end and data[at + alike] | 32 == _NAN[alike]:
        alike += 1
    return 3 if alike == 3 else 0


_INFINITY = np.frombuffer(b"infinity", dtype=np.uint8)
_NAN = np.frombuffer(b"nan", dtype=np.uint8)


@compiled(f"i8({BYTES}, i8, i8, u1, {TEXTS}, {TEXTS}, u1[::1])", nogil=True)
def rewritten(data, at, end, point, marks, mark_offsets, around, around_offsets, out):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Write the cell as a plain number, and return its length, or -1 if it is none."""
    n = 0
    at = past_symbols(data, past_blanks(data, at, end), end, around, around_offsets)
    if at < end and (data[at] == _PLUS or data[at] == _MINUS):
        out[n] = data[at]
        at, n = at + 1, n + 1
    at = past_symbols(data, at, end, around, around_offsets)
    length = word_length(data, at, end)
    for _ in range(length):
        out[n] = data[at]
        at, n = at + 1, n + 1
    if not length:
        at, n = copy_groups(data, at, end, marks, mark_offsets, out, n)
        if n < 0:
            return _NO_NUMBER
        if at < end and data[at] == point:
            out[n] = _POINT
            at, n = copy_digits(data, at + 1, end, out, n + 1)
        if at < end and data[at] | 32 == 101:
            sign = 1 if at + 1 < end and data[at + 1] in (_PLUS, _MINUS) else 0
            if at + 1 + sign < end and digit(data[at + 1 + sign]):
                for _ in range(1 + sign):
                    out[n] = data[at]
                    at, n = at + 1, n + 1
                at, n = copy_digits(data, at, end, out, n)
    at = past_symbols(data, past_blanks(data, at, end), end, around, around_offsets)
    return n if at == end else _NO_NUMBER


@compiled(
    f"i8({BYTES}, i8[::1], i8[::1], u1, {TEXTS}, {TEXTS}, f8[::1], i8[::1])",
    nogil=True,
)
def written_in(  # type: ignore[no-untyped-def]  # noqa: PLR0917
    data, starts, ends, point, marks, mark_offsets, around, around_offsets, out, undecided
):
    """Read one cell after the other; note the undecided ones and return how many there are."""
    many, longest = 0, 0
    for i in range(len(starts)):
        longest = max(longest, ends[i] - starts[i])
    plain = np.empty(longest, dtype=np.uint8)
    for i in range(len(starts)):
        length = rewritten(
            data, starts[i], ends[i], point, marks, mark_offsets, around, around_offsets, plain
        )
        out[i], left = number_in(plain, 0, max(length, 0), np.uint8(_POINT))
        if left:
            undecided[many] = i
            many += 1
    return many
