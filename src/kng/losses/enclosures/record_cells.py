"""Records of a linear model in cells: alike in x, equal in y, and expanded together.

Over a cell and a box x't lies in one interval, on which psi is a line up to its miss. Lines need no
more of the records than their number, and the sums of x and of xx':

    sum x psi(x't)  =  S (m + s (z'c - middle)) + s (C - S z') c + s C delta,    out  e |S|

with m, s, e the line over the interval, z the middle of the cell, c that of the box, S = sum x and
C = sum xx'. No cell has x on both sides of 0 in any coordinate, so |S| is the sum of |x|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.boxes.covering import Leaning
from kng.core.parts import Expansion
from kng.losses.kernels.linear_rows import ENDS
from kng.losses.pointwise.function import Stepped

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Cells at most, records for each of them at least, and different responses at most.
_CELLS, _RECORDS, _RESPONSES = 2**10, 8, 8
# Parts of a column at least: fewer say little about where a record lies.
_PARTS = 8
# Entries (cells times boxes) at a time.
_ENTRIES = 2**14
# What a line may leave out of what it tells.
LEFT_OUT = 0.125


@dataclass(frozen=True, slots=True)
class RecordCells:
    """Cells with records, a row for each: x lies within ``wide`` of ``middle``."""

    stepped: Stepped
    middle: Array  # (cells, d), halves of whole numbers
    wide: Array  # (d,)
    response: Array
    count: Array
    first: Array  # sums of x (cells, d)
    second: Array  # sums of xx' (cells, d, d)

    def means(self) -> Array:
        """Return the mean of x over each cell."""
        return np.asarray(self.first / self.count[:, None])

    def expand(self, centre: Array, half: Array, lean: Leaning | None) -> tuple[Expansion, Mask]:
        """Expand the sum of  psi x  over boxes, and tell where it is as good as all records are.

        That is where little is left out, or where boxes move x't by more than cells do.
        """
        size = max(1, _ENTRIES // len(self.count))
        parts = [
            self._expand(centre[at], half[at], None if lean is None else lean.of(at))
            for at in (slice(a, a + size) for a in range(0, len(centre), size))
        ]
        whole = [np.concatenate(each) for each in zip(*parts, strict=True)]
        return Expansion(whole[0], whole[1], whole[2]), whole[3] > 0

    def _expand(
        self, centre: Array, half: Array, lean: Leaning | None
    ) -> tuple[Array, Array, Array, Array]:
        (m, d), sizes = centre.shape, np.abs(self.middle)
        reach = np.abs(centre) + half
        across = reach @ self.wide  # what x adds to x't within a cell
        at, moved = centre @ self.middle.T, half @ sizes.T
        # Sums of d products are rounded by 2**-50 of their sizes; this is some of them.
        fuzz = 2.0**-48 * ENDS * reach.sum(axis=1)
        wide = moved + (across + fuzz)[:, None]
        low, high = at - wide, at + wide
        if lean is not None:
            leant = lean.half @ np.abs(self.middle @ lean.shear).T + lean.slack @ sizes.T
            far = np.minimum(reach, np.abs(lean.centre) + lean.sides()) @ self.wide
            slack = 2.0**-48 * ENDS * (np.abs(lean.centre) + lean.sides()).sum(axis=1) + fuzz
            wide, about = leant + (far + slack)[:, None], lean.centre @ self.middle.T
            moved, fuzz = np.minimum(moved, leant), slack
            low = np.maximum(low, about - wide)
            high = np.maximum(np.minimum(high, about + wide), low)
        chords = self.stepped.psi_chords(low, high, np.broadcast_to(self.response, low.shape))
        steep = np.abs(chords.slope)
        begin = chords.middle + chords.slope * (at - (low + high) / 2)
        apart = self.second - self.first[:, :, None] * self.middle[:, None, :]
        slope = (chords.slope @ self.second.reshape(-1, d * d)).reshape(m, d, d)
        turned = (chords.slope @ apart.reshape(-1, d * d)).reshape(m, d, d)
        value = begin @ self.first + np.einsum("mkd,md->mk", turned, centre)
        lengths = np.abs(self.first)
        out = chords.miss @ lengths + 2 * (fuzz[:, None] * steep) @ lengths
        # Sums over r records and over cells, each rounded by 2**-53 of all terms together.
        records = float(self.count.sum())
        added = 0.0 if records <= 2.0**19 else records  # below, sums over records are exact
        rounding = 2.0**-50 * (len(self.count) + added + 8 * d)
        terms = np.abs(chords.middle).max(axis=1) + steep.max(axis=1) * ENDS * 4 * reach.sum(axis=1)
        out = out * (1 + rounding) + (rounding * ENDS * records * terms)[:, None]
        turned, sides = (slope, half) if lean is None else (slope @ lean.shear, lean.half)
        told = np.einsum("mkd,md->mk", np.abs(turned), sides)
        enough = (out <= LEFT_OUT * told).all(axis=1) | (moved @ self.count >= across * records)
        return value, slope, out, enough.astype(np.float64)


def cells_of(rows: Array, response: Array, stepped: Stepped) -> RecordCells | None:
    """Return the records in cells, or None where that would not save much.

    Columns are cut into as many parts of equal length, a power of two; 0 is an end of two of them.
    """
    n, d = rows.shape
    values = _distinct(response)
    columns = [j for j in range(d) if n and rows[:, j].min() < rows[:, j].max()]
    if not values or not columns:
        return None
    room = min(_CELLS, n // _RECORDS) // len(values)
    parts = 1 << int(np.log2(max(room, 1)) / len(columns))
    if parts < _PARTS:
        return None
    long = 2 * ENDS / parts
    place = np.zeros(n, np.int64)
    for value in values[1:]:
        place += response >= value
    middle, wide = np.zeros((len(values), d)), np.zeros(d)
    for j in columns:
        where = np.clip(np.floor(rows[:, j] / long), -(parts // 2), parts // 2 - 1)
        place = place * parts + (where.astype(np.int64) + parts // 2)
        ends = (np.arange(parts) - parts // 2 + 0.5) * long
        middle = np.repeat(middle, parts, axis=0)
        middle[:, j] = np.tile(ends, len(middle) // parts)
        wide[j] = long / 2
    for j in set(range(d)) - set(columns):
        middle[:, j] = rows[0, j]
    many = len(middle)
    count = np.bincount(place, minlength=many).astype(np.float64)
    kept = count > 0
    first = np.empty((many, d))
    second = np.empty((many, d, d))
    for j in range(d):
        first[:, j] = np.bincount(place, rows[:, j], many)
        for k in range(j + 1):
            found = np.bincount(place, rows[:, j] * rows[:, k], many)
            second[:, j, k] = second[:, k, j] = found
    answers = np.repeat(np.array(values), many // len(values))
    return RecordCells(
        stepped, middle[kept], wide, answers[kept], count[kept], first[kept], second[kept]
    )


def _distinct(response: Array) -> list[float]:
    """Return the different responses in order, or none if there are many."""
    found: list[float] = []
    other = np.ones(len(response), bool)
    while other.any():
        if len(found) == _RESPONSES:
            return []
        found.append(float(response[np.argmax(other)]))
        other &= response != found[-1]
    return sorted(found)
