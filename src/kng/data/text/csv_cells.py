r"""Lines of text split into cells, compiled.

A line is a record, always: no quote reaches beyond its line, so no record can touch another.

    cell     = text up to the next separator or the end of the line
             | "text"  in which "" is a quote and separators are text

A quote opens a cell only as its first byte. One that is not closed takes the rest of its line; text
after a closing quote belongs to the cell. That is what Python's ``csv`` makes of a line by itself.
A line of nothing, or of one \r, is no record. A line that ends early lacks cells; cells that
nobody asked for are passed over.
"""

from __future__ import annotations

import numpy as np

from kng.core.compiled import compiled
from kng.data.text.eight_bytes import eight_at
from kng.data.text.text_numbers import BYTES, blank

QUOTE, RETURN = 34, 13
# Start and end of a cell that a record lacks.
LACKING = -1

_ONE, _SEVEN, _LAST_BYTE = np.uint64(1), np.uint64(7), np.uint64(56)
_ONES, _HIGHEST = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
# 2^(8 k) times this has k in its last byte.
_PLACES = np.uint64(0x0001020304050607)


@compiled(f"i8({BYTES}, i8, u1, u1)", nogil=True, forceinline=True)
def mark_after(data, at, a, b):  # type: ignore[no-untyped-def]
    """Return the place of the next byte that is a or b; there is one."""
    all_a, all_b = _ONES * np.uint64(a), _ONES * np.uint64(b)
    while at + 8 <= len(data):
        eight = eight_at(data, at)
        x, y = eight ^ all_a, eight ^ all_b
        # The highest bit of a byte that is 0, and perhaps of some behind it.
        found = ((x - _ONES) & ~x | (y - _ONES) & ~y) & _HIGHEST
        if found:
            first = (found & (~found + _ONE)) >> _SEVEN
            return at + np.int64(first * _PLACES >> _LAST_BYTE)
        at += 8
    while data[at] != a and data[at] != b:
        at += 1
    return at


@compiled(f"Tuple((i8, i8, b1))({BYTES}, i8, u1, u1)", nogil=True)
def quoted(data, at, end, separator):  # type: ignore[no-untyped-def]
    """Return where the text of a quoted cell ends, where the cell does, and whether it has quotes.

    ``at`` is behind the first quote.
    """
    inside = False
    at = mark_after(data, at, QUOTE, end)
    while data[at] == QUOTE and data[at + 1] == QUOTE:
        inside = True
        at = mark_after(data, at + 2, QUOTE, end)
    stop = at
    if data[at] == QUOTE:
        at += 1
        if data[at] == RETURN and data[at + 1] == end:
            at += 1
    if data[at] != separator and data[at] != end:
        inside = True  # the closing quote
        while data[at] != separator and data[at] != end:
            at += 1
    return at if inside else stop, at, inside


@compiled(f"UniTuple(i8, 2)({BYTES}, i8, i8, u1, u1, i8[::1], i8[:,::1], i8[:,::1])", nogil=True)
def locate(data, at, stop, end, separator, places, starts, ends):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Find the wanted cells of lines that begin in ``data[at:stop]``; ``data`` ends with a line.

    Column j goes to row ``places[j]`` of ``starts`` and ``ends``, if that is not negative. A cell
    with quotes in its text has the complement of its end (``~end``), which is below -1. Returns the
    number of records, at most as many as the rows hold, and where the next line begins.
    """
    records, columns = 0, len(places)
    while at < stop and records < starts.shape[1]:
        if data[at] == end:
            at += 1
            continue
        if data[at] == RETURN and data[at + 1] == end:
            at += 2
            continue
        column = 0
        while column < columns:
            start, inside = at, False
            if data[at] == QUOTE:
                start = at + 1
                last, at, inside = quoted(data, start, end, separator)
            else:
                at = mark_after(data, at, separator, end)
                last = at
            place = places[column]
            if place >= 0:
                starts[place, records] = start
                ends[place, records] = ~last if inside else last
            column += 1
            if data[at] == end:
                break
            at += 1
        while column < columns:
            place = places[column]
            if place >= 0:
                starts[place, records] = LACKING
                ends[place, records] = LACKING
            column += 1
        at = mark_after(data, at, end, end) + 1
        records += 1
    return records, at


@compiled(f"i8({BYTES}, i8[::1], i8[::1], i8, u1[::1], i4[::1], b1[::1])", nogil=True)
def copy_texts(data, starts, ends, longest, out, offsets, there):  # type: ignore[no-untyped-def]  # noqa: PLR0917
    """Copy the texts of cells one after the other, without quotes and without blanks around them.

    Text i is ``out[offsets[i]:offsets[i + 1]]`` if it is ``there``: its record has the cell, and it
    is not longer than the ``longest``. Returns their length together.
    """
    n = 0
    for i in range(len(starts)):
        offsets[i] = n
        start, end = starts[i], ends[i]
        inside = end < LACKING
        end = ~end if inside else end
        there[i] = start >= 0 and end - start <= longest
        if not there[i]:
            continue
        at, first = start, n
        while at < end:
            c = data[at]
            if inside and c == QUOTE:
                # The first of two is passed over; one alone closes, and what follows is plain.
                at += 1
                inside = at < end and data[at] == QUOTE
                if at == end:
                    break
                c = data[at]
            if n > first or not blank(c):
                out[n] = c
                n += 1
            at += 1
        while n > first and blank(out[n - 1]):
            n -= 1
    offsets[len(starts)] = n
    return n
