"""Records of a linear model, and any pointwise function of their residuals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.boxes.covering import Leaning
from kng.core.parts import Expansion, Point
from kng.core.records import Source
from kng.losses.enclosures.bent_records import BentRecords
from kng.losses.enclosures.tied_records import merged, shift
from kng.losses.fields.quadratic_field import QuadraticField
from kng.losses.kernels.gram import Gram
from kng.losses.kernels.linear_rows import ENDS
from kng.losses.pointwise.function import BentSteps, Chords, Stepped
from kng.losses.reading import Measure, ReadPlan

Array = NDArray[np.float64]

# Records at a time for exact sums: 2**12 products of a part of psi below 2**24 and a covariate of
# at most 2**16 stay below 2**53, in every order.
_BLOCK = 2**12
_PART = 2**24
# Entries (records times boxes) at a time for expansions: a dozen arrays of them stay in the
# processor's cache.
_ENTRIES = 2**13
# Boxes at a time.
_BOXES = 2**8
# Records that a starting point looks at, and its steps.
_SOME = 2**13
_STEPS, _HALVINGS = 12, 6


def read_linear(
    source: Source, plans: Sequence[ReadPlan]
) -> Sequence[LinearField | QuadraticField]:
    """Return a field for each plan: of sums of products where they are enough, or of all records.

    Plans that are read together have one design and one lattice.
    """
    loss = plans[0].problem.loss
    measures = [plan.measure if plan.weighs == "gradient" else None for plan in plans]
    if loss.proportion is not None:
        state = source.reduce(Gram(loss.design.records.last))
        step = loss.grid.step[0]
        return [
            QuadraticField.of(state, loss.design, loss.proportion, step, measure)
            for measure in measures
        ]
    table = source.collect(loss.rows)
    rows, response = np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()
    del table
    # log2 of the shifts there are, in whole numbers of y
    jitter = max(0, int(loss.jitter / loss.rows.unit).bit_length() - 1)
    fields = []
    for plan, measure in zip(plans, measures, strict=True):
        each, domain = plan.problem.loss, plan.domain
        ends = zip(domain.first, domain.last, strict=True)
        most = ENDS * sum(max(abs(first), abs(last)) for first, last in ends)
        stepped, largest = each.stepped(most), each.largest(most)
        fields.append(LinearField(rows, response, stepped, measure, largest, jitter))
    return fields


@dataclass(frozen=True, slots=True)
class LinearField:
    """Whole numbers x and y of all records, and the function of x't and y that is summed.

        gradient   || sum psi(x't, y) x ||_K  psi_step / ENDS
        value      sum rho(x't, y)  rho_step

    ``measure`` is the norm of a vector at a point, or None where values are weighed; ``largest``
    bounds |psi| in whole steps. |x_j| is at most ENDS, and x't and y are whole numbers below 2**52,
    so float64 knows them exactly.
    """

    rows: Array
    response: Array
    stepped: Stepped
    measure: Measure | None
    largest: int
    jitter: int = 0  # log2 of the shifts that a response may get, in whole numbers of y
    _heaps: tuple[Array, Array, Array] = field(init=False, repr=False, compare=False)
    _bent: BentRecords | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Expansions look at distinct records, where that saves half of them or more.
        rows, response, copies = merged(self.rows.astype(np.float32), self.response)
        if copies.size and 2 * len(rows) <= len(self.rows):
            heaps = rows.astype(np.float64), response, copies.astype(np.float64)
        else:
            heaps = self.rows, self.response, np.ones(len(self.rows))
        object.__setattr__(self, "_heaps", heaps)
        bent = None
        if self.measure is not None and isinstance(self.stepped, BentSteps):
            bent = BentRecords(self.rows, self.response, self.stepped)
        object.__setattr__(self, "_bent", bent)

    def shifted(self, bits: Bits) -> LinearField:
        """Return the records with a shift for each response, if there is one."""
        if not self.jitter:
            return self
        return replace(self, response=shift(self.response, self.jitter, bits), jitter=0)

    def score(self, theta: Point) -> Fraction:
        """Return the score at one lattice point, from all records."""
        t = np.array([float(k) for k in theta])
        if self.measure is None:
            return self.stepped.rho_step * sum(
                _total(self.stepped.rho(x @ t, y)) for x, y in self._blocks(_BLOCK)
            )
        total = [0] * len(theta)
        for x, y in self._blocks(_BLOCK):
            for part, worth in self._parts(self.stepped.psi(x @ t, y)):
                added = part @ x
                total = [a + worth * int(b) for a, b in zip(total, added, strict=True)]
        unit = self.stepped.psi_step / ENDS
        return self.measure(theta, [unit * a for a in total])

    def expand(self, centre: Array, half: Array) -> Expansion:
        """Expand the summed scores, or the value, over boxes.

        On the box c + delta a record has  eta = x'c + x'delta,  between x'c -+ |x|'half, and its
        function there is a line in x'delta up to its miss. Lines are added, each as often as its
        record occurs: with middles m, slopes s and misses e of the records,

            gradient   value X'm,   slope X'diag(s)X,   out |X|'e
            value      value 1'm,   slope s'X,          out 1'e
        """
        return self._expanded(centre, half, None)

    def expand_leaning(self, centre: Array, half: Array, lean: Leaning) -> Expansion:
        """Expand where a record's eta lies between  x'e -+ (|x'V|'half + |x|'slack)  as well."""
        return self._expanded(centre, half, lean)

    def _expanded(self, centre: Array, half: Array, lean: Leaning | None) -> Expansion:
        if self._bent is None:
            return self._by_records(centre, half, lean)
        return self._bent.expand(self.start, self._by_records, centre, half, lean)

    def _by_records(self, centre: Array, half: Array, lean: Leaning | None) -> Expansion:
        parts = [
            self._expand(centre[rows], half[rows], None if lean is None else lean.of(rows))
            for rows in (slice(at, at + _BOXES) for at in range(0, len(centre), _BOXES))
        ]
        return Expansion(
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.slope for part in parts]),
            np.concatenate([part.out for part in parts]),
        )

    def _expand(self, centre: Array, half: Array, lean: Leaning | None) -> Expansion:
        m, d = centre.shape
        k = 1 if self.measure is None else d
        value, slope, out = np.zeros((m, k)), np.zeros((m, k, d)), np.zeros((m, k))
        most_middle, most_slope = np.zeros(m), np.zeros(m)
        fuzz = self._fuzz(centre, half)
        if lean is not None:
            fuzz = np.maximum(fuzz, self._fuzz(lean.centre, np.ceil(lean.sides())))
        size = max(1, min(_BLOCK, _ENTRIES // m))
        rows, response, copies = self._heaps
        for at in range(0, len(rows), size):
            x, y, many = rows[at : at + size], response[at : at + size], copies[at : at + size]
            each = x * many[:, None]
            chords = self._chords(x, y, centre, half, fuzz, lean)
            steep = np.abs(chords.slope).max(axis=1, initial=0.0)
            most_middle = np.maximum(most_middle, np.abs(chords.middle).max(axis=1, initial=0.0))
            most_slope = np.maximum(most_slope, steep)
            if self.measure is None:
                value[:, 0] += (chords.middle * many).sum(axis=1)
                slope[:, 0] += chords.slope @ each
                out[:, 0] += (chords.miss * many).sum(axis=1) + 2 * fuzz * steep * many.sum()
                continue
            value += chords.middle @ each
            sizes = np.abs(each)
            out += chords.miss @ sizes + (2 * fuzz * steep)[:, None] * sizes.sum(axis=0)
            for i in range(d):
                slope[:, i] += chords.slope @ (each * x[:, i : i + 1])
        # A sum of r terms in blocks of b has at most b + r / b roundings in every order, each of
        # 2**-53 of all terms together: r times the largest. Twice that covers the error of the
        # bound itself. Slopes are multiplied by deltas of at most ``half``.
        records = len(self.rows)
        rounding = 2.0**-52 * (size + records / size + 2 * d + 8) * records
        wide = ENDS * half.sum(axis=1)
        entry = 1.0 if self.measure is None else float(ENDS)
        lost = rounding * entry * (most_middle + most_slope * wide)
        unit = self.stepped.rho_step if self.measure is None else self.stepped.psi_step / ENDS
        worth = float(unit)
        lost += 2.0**-50 * (np.abs(value).max(axis=1) + entry * records * most_slope * wide)
        out = (out * (1 + rounding) + lost[:, None]) * (worth * (1 + 2.0**-50))
        return Expansion(value * worth, slope * worth, out)

    def start(self) -> Array:
        """Return a point near the minimiser."""
        return self._newton() if self._bent is None else self._bent.start(self._newton)

    def _newton(self) -> Array:
        """Return a point near the minimiser, by Newton's steps on some of the records, or on cells.

        Slopes of psi are taken over ranges that start as wide as a residual is large and are halved
        each time, so that jumps and kinks do not upset them. The ridge keeps every step finite, and
        a step that does not lower the loss is made smaller.
        """
        x, y, many = self._some()
        d = x.shape[1]
        gram = (x * many[:, None]).T @ x
        ridge = (1e-9 * np.trace(gram) + 1.0) * np.eye(d)
        t = np.linalg.solve(gram + ridge, x.T @ (many * y))
        psi, rho = self.stepped.psi, self.stepped.rho
        with np.errstate(all="ignore"):
            value = float(rho(x @ t, y) @ many)
            wide = max(1.0, float(np.median(np.abs(x @ t - y)))) if len(y) else 1.0
            for _ in range(_STEPS):
                eta = x @ t
                slope = (psi(eta + wide, y) - psi(eta - wide, y)) / (2 * wide)
                hessian = (x * (many * slope)[:, None]).T @ x
                steep = slope.max(initial=0.0) + 2.0**-50
                step = np.linalg.solve(hessian + 1e-6 * steep * ridge, (many * psi(eta, y)) @ x)
                for _ in range(_HALVINGS):
                    moved = float(rho(x @ (t - step), y) @ many)
                    if moved < value:
                        t, value = t - step, moved
                        break
                    step /= 4
                else:
                    if self._bent is not None:
                        break  # psi has no jumps that a smaller range would show
                wide = max(1.0, wide / 2)
        return t if np.isfinite(t).all() else np.zeros(d)

    def _some(self) -> tuple[Array, Array, Array]:
        """Return some of the records, or means of cells, and how many each stands for."""
        if self._bent is not None and self._bent.cells is not None:
            cells = self._bent.cells
            return cells.means(), cells.response, cells.count
        every = max(1, len(self.rows) // _SOME)
        x, y = self.rows[::every], self.response[::every]
        return x, y, np.ones(len(y))

    def _chords(  # noqa: PLR0917
        self, x: Array, y: Array, centre: Array, half: Array, fuzz: Array, lean: Leaning | None
    ) -> Chords:
        """Return lines for boxes (rows) and records (columns), their middles at x'c."""
        middle, wide = centre @ x.T, half @ np.abs(x).T
        wide += fuzz[:, None]
        low, high = middle - wide, middle + wide
        find = self.stepped.rho_chords if self.measure is None else self.stepped.psi_chords
        y = np.broadcast_to(y, low.shape)
        if lean is None:
            return find(low, high, y)
        wide = lean.half @ np.abs(x @ lean.shear).T + lean.slack @ np.abs(x).T
        # Ends are halves of whole numbers, too; the factor covers what has been rounded.
        wide = np.ceil(2 * wide * (1 + 2.0**-48)) / 2 + fuzz[:, None]
        at = lean.centre @ x.T
        low = np.maximum(low, at - wide)
        high = np.maximum(np.minimum(high, at + wide), low)
        chords = find(low, high, y)
        return replace(chords, middle=chords.middle + chords.slope * (middle - (low + high) / 2))

    def _fuzz(self, centre: Array, half: Array) -> Array:
        """Return how far x'c and |x|'half may be off for each box: 0 for halves of whole numbers.

        Terms are then multiples of 1/2 whose sums stay below 2**52, so nothing is rounded.
        """
        whole = (np.rint(2 * centre) == 2 * centre) & (np.rint(2 * half) == 2 * half)
        reach = ENDS * (np.abs(centre) + half).sum(axis=1)
        exact = whole.all(axis=1) & (reach < 2.0**51)
        return np.where(exact, 0.0, 2.0**-51 * (centre.shape[1] + 2) * reach)

    def _blocks(self, size: int) -> Iterator[tuple[Array, Array]]:
        for at in range(0, len(self.rows), size):
            yield self.rows[at : at + size], self.response[at : at + size]

    def _parts(self, psi: Array) -> Iterator[tuple[Array, int]]:
        """Yield psi in parts below 2**24 and what each is worth; how many is public."""
        largest, worth = self.largest, 1
        while largest > _PART:
            following = np.floor(psi / _PART)
            yield psi - following * _PART, worth
            psi, largest, worth = following, -(-largest // _PART), worth * _PART
        yield psi, worth


def _total(values: Array) -> int:
    """Add whole numbers up to 2**41 exactly, a block at a time."""
    return int(values.sum())
