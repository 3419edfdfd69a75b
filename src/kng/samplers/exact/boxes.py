"""Exact draws in a few coordinates: leaves that are boxes, found by branch and bound.

The domain is cut into boxes of lattice points with bounds on the exponent over each
(by the field itself, `core.boxes.covering`), until

    sum over boxes inside of  points * exp(-upper)   >=   alpha * sum of  points * exp(-lower),

which certifies that an attempt of `exact.leaves` is accepted with probability alpha or more.
alpha is public and the same for every dataset. A public number of attempts is made under it, and
the smoothing lemma gives exactly epsilon. From a public number of boxes on attempts are made
without it, too, and at another no more boxes are made: attempts go on until one is accepted, which
has the same law. The proof, "It ends", says why one is.

Points of a box are known by their box alone, and all boxes with as many points and the same bound
are alike. So a draw takes a class of boxes, a box of it, and a point of that, all exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Bits
from kng.core.boxes.covering import (
    CoveredField,
    Covering,
    DistantScores,
    Scores,
    ShiftedField,
)
from kng.core.boxes.expanded import expanded_covers
from kng.core.boxes.halving import ENVELOPE, LOG
from kng.core.certificate import Certificate
from kng.core.enclosures import exp_minus
from kng.core.exponents import too_steep
from kng.core.naming import argument
from kng.core.parts import EnclosedField, Field, Point, Walled, described
from kng.core.plan import DensityPlan
from kng.core.privacy import Assumption, Guarantee
from kng.core.smoothing import smoothing
from kng.samplers.exact.coins import below, choose, uniform
from kng.samplers.exact.leaves import smoothed

# Up to how many coordinates boxes are a way to draw.
_MOST = 5
# From so many on, a field that is only expanded may take a minute.
_SLOW = 4
# Sums of two coordinates are exact in float64.
_LARGEST_COORDINATE = 2**50
# Exponents of a million records are told apart in float64 up to this epsilon.
_LARGEST_EPSILON = 10**6
# Certified probability that an attempt is accepted. A formal bound: boxes are halved until an
# attempt succeeds, and that is long before.
ALPHA = Fraction(1, 2**128)
# Boxes of a cover at the first turn, and at most, in half a gigabyte; attempts of a turn for each
# box.
_BOXES, _MANY, _TRIES = 2**8, 2**20, 2
# Attempts that are decided together, at first and at most.
_FEWEST, _LARGEST = 2**7, 2**13
# Scores that one pass over the records computes, at first and at most.
_AHEAD, _LARGEST_AHEAD = 2, 2**4
# Bounds on exponents are rounded outwards to this grid, so that few exponentials are needed.
_GRID = 16
# A class is one number: the index on the grid times this, plus log2 of the points.
_BITS = 2**12
_WORD = 64

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BranchAndBound:
    """Draw from exp(-gamma) on a box of lattice points in up to five coordinates.

        leaves: boxes, halved where  points * (exp(-lower) - exp(-upper))  is largest

    Paper    Section 4.5, drawn exactly instead of by a chain.
    Privacy  docs/proofs/samplers/branch_and_bound.md: an attempt is accepted with probability alpha
             or more for every dataset, so a public number of attempts and the smoothing lemma give
             exactly epsilon. Time and memory depend on the data, as the assumption says.
    Cost     Hundreds of boxes in two coordinates, some ten thousand in three, ten times as many for
             each further one; each looks at the records that it leaves open.
    """

    name: ClassVar[str] = "branch-and-bound"

    def refusal(self, plan: DensityPlan) -> str | None:
        """Say from public facts why it cannot draw from a plan, or None."""
        problem = plan.problem
        loss, domain, dim = problem.loss, problem.domain, problem.loss.dim
        if not domain.bounded:
            return (
                f"Branch and bound draws {described(loss)} from a bounded domain, not from "
                f"{described(domain)}. Use Box or L1Ball."
            )
        if dim > _MOST:
            return (
                f"Branch and bound draws exactly up to {_MOST} {loss.noun}; these are {dim}. Use "
                f"{loss.remedy}, or name the Markov chain {argument('sampler', 'hit-and-run')}, "
                "whose guarantee is only approximate."
            )
        if plan.epsilon > _LARGEST_EPSILON:
            return "Branch and bound tells exponents apart up to epsilon = 1e6; use a smaller one."
        if max(map(abs, (*plan.domain.first, *plan.domain.last))) > _LARGEST_COORDINATE:
            return "Branch and bound needs coordinates below 2**50; use a coarser granularity."
        return too_steep(plan)

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise an exact draw in up to five coordinates."""
        loss = plan.problem.loss
        slow = loss.slow_from if "covered" in plan.offers else _SLOW
        return plan.certified(
            Certificate(
                self,
                Guarantee.EXACT,
                (
                    Assumption.RANDOM_BITS,
                    Assumption.UNSEEN_CLOCK,
                    *([Assumption.UNBOUNDED_TIME] if plan.domain.dim >= slow else []),
                ),
                smoothing(plan.domain.points, plan.each, 1 - ALPHA),
            )
        )

    def draw(self, plan: DensityPlan, field: Field, bits: Bits) -> Point:
        """Return one lattice point."""
        if isinstance(field, ShiftedField):
            field = field.shifted(bits)
        covers, late = covers_of(plan, field)
        accepted = accepted_of(plan, covers, bits, late)
        domain = plan.domain
        spare = tuple(
            first + uniform(bits, last - first + 1)
            for first, last in zip(domain.first, domain.last, strict=True)
        )
        # A spare point outside the domain stands for one that is known to lie inside.
        spare = spare if domain.contains(spare) else domain.home()
        return smoothed(accepted, spare, plan.smoothing, bits)


def covers_of(
    plan: DensityPlan, field: Field
) -> tuple[Sequence[Covering], Sequence[Callable[[], Covering]]]:
    """Return covers with one box, the field's own if it has some, and those that join late."""
    if isinstance(field, CoveredField) and "covered" in plan.offers:
        # Delta and the base are the same at every theta, and the domain has walls.
        domain, rate = cast("Walled", plan.domain), plan.exponent(plan.domain.first, Fraction(1))
        return field.covers(domain, rate), field.later_covers(domain, rate)
    bounds = plan.exponent_bounds, plan.base_bounds
    return expanded_covers(plan.domain, cast("EnclosedField", field), *bounds)


def accepted_of(
    plan: DensityPlan,
    covers: Sequence[Covering],
    bits: Bits,
    late: Sequence[Callable[[], Covering]] = (),
) -> Point | None:
    """Make attempts, a public number at most; return the first accepted point, if there is one.

    Boxes and attempts take turns, twice as many each time, so that neither costs much more than the
    other; attempts are made with the tightest cover. An attempt draws from the stated law, if it is
    accepted, whatever the boxes are; how many of them there are is a matter of time only.

    Attempts count if they are accepted with probability ALPHA or more, for certain. Others are made
    when there are many boxes, and they go on until one is accepted.
    """
    left, boxes, many = plan.smoothing.attempts, _BOXES, min(late_of(plan.domain.dim), _MANY)
    while left:
        if boxes == many:
            covers = [*covers, *(make() for make in late)]
        for cover in covers:
            cover.refine(boxes)
        best = min(covers, key=log_envelope)
        # Where more covers have joined, the best one goes on alone.
        covers = [best] if late and boxes >= many else covers
        envelope = BoxEnvelope(plan, best)
        certified = envelope.certifies(ALPHA)
        if certified or boxes >= many:
            turn = min(left, _TRIES * boxes)
            accepted = envelope.first_of(turn, bits)
            if accepted is not None:
                return accepted
            left -= turn if certified else 0
        boxes = min(2 * boxes, _MANY)
    return None


def late_of(dim: int) -> int:
    """Return from how many boxes on attempts need no certificate, and more covers join.

    A public number. Ordinary records have a certificate, or an answer, by then.
    """
    return 1 << max(12, 4 + 2 * dim)


def log_envelope(cover: Covering) -> float:
    """Return the log of  sum of points * exp(-lower)  over the boxes of a cover."""
    return float(cover.running[LOG] + np.log(cover.running[ENVELOPE]))


class BoxEnvelope:
    """Boxes in classes of equal weight.

    Class (i, b) has boxes of 2**b points on which gamma >= (least + i) / GRID; each weighs

        W = 2**b * ceil( 2**P exp(-i / GRID) ).
    """

    def __init__(self, plan: DensityPlan, cover: Covering) -> None:
        self._plan, self._cover = plan, cover
        boxes = cover.boxes.live()
        floors = np.floor(_GRID * cover.boxes.lower(boxes)).astype(np.int64)
        bits = cover.boxes.log_points(boxes)
        self._least = int(floors.min())
        # Boxes beyond this weigh less than 2**-64 of the heaviest, all of them together.
        deepest = _GRID * (64 + 2 * int(bits.max()))
        self._scale = 64 + 2 * deepest // _GRID
        self._table = _exponentials(deepest, self._scale)
        keys = np.minimum(floors - self._least, deepest) * _BITS + bits
        order = np.argsort(keys, kind="stable")
        self._boxes = boxes[order]
        self._keys, self._starts, self._sizes = np.unique(
            keys[order], return_index=True, return_counts=True
        )
        self._cumulative = list(accumulate(self._weights(self._keys, self._sizes, upper=True)))

    def _weights(self, keys: Whole, sizes: Whole, *, upper: bool) -> list[int]:
        """Return 2**P * points * exp(-index / GRID) of each class, rounded up or down."""
        return [
            (size << key % _BITS) * self._table[key // _BITS][upper]
            for key, size in zip(keys.tolist(), sizes.tolist(), strict=True)
        ]

    def certifies(self, alpha: Fraction) -> bool:
        """Whether an attempt is accepted with probability alpha or more, in exact arithmetic."""
        uppers = self._cover.boxes.upper(self._boxes)
        inside = np.isfinite(uppers)
        inside &= _GRID * uppers < self._least + len(self._table) - 1  # the rest weighs nothing
        ceilings = np.ceil(_GRID * uppers[inside]).astype(np.int64) - self._least
        bits = self._cover.boxes.log_points(self._boxes[inside])
        keys, sizes = np.unique(ceilings * _BITS + bits, return_counts=True)
        return sum(self._weights(keys, sizes, upper=False)) >= alpha * self._cumulative[-1]

    def first_of(self, attempts: int, bits: Bits) -> Point | None:
        """Make a number of attempts; return the first accepted point, if there is one."""
        if bits.word != _WORD:
            made = (self.attempt(bits) for _ in range(attempts))
            return next((point for point in made if point is not None), None)
        size = _FEWEST
        while attempts:
            size = min(attempts, size)
            accepted = self._together(size, bits)
            if accepted is not None:
                return accepted
            attempts, size = attempts - size, min(2 * size, _LARGEST)
        return None

    def _together(self, attempts: int, bits: Bits) -> Point | None:
        """Make the same decisions as `attempt` does, for many attempts at once.

        Each looks at the first word of its bits, and goes on one by one where that leaves anything
        open.
        """
        words = _words(bits, self._plan.domain.dim + 2, attempts)
        classes = self._classes(words[0], bits)
        boxes = self._boxes[self._starts[classes] + _uniforms(self._sizes[classes], bits)]
        t = self._cover.boxes.offsets(boxes, words[2:])
        scores = self._cover.scores(boxes, t)
        floors = self._keys[classes] // _BITS
        open_ = np.flatnonzero(self._undecided(scores.least, floors, words[1]))
        for i in self._foreseen(open_, scores, floors, words[1], t):
            point = self._cover.boxes.point(t[i])
            if self._plan.domain.contains(point):
                gamma = self._plan.exponent(point, scores.exact(int(i), point))
                if self._accepts(gamma, int(floors[i]), bits, int(words[1, i])):
                    return point
        return None

    def _foreseen(
        self, chosen: Whole, scores: Scores, floors: Whole, words: Words, t: Whole
    ) -> Iterator[int]:
        """Yield the attempts that are to be decided, in order.

        Where a score takes a pass over the records, those are left out that better bounds are
        certain to reject, and the scores of several are computed together, more each time.
        """
        if not isinstance(scores, DistantScores):
            yield from chosen
            return
        kept = [self._plan.domain.contains(self._cover.boxes.point(t[i])) for i in chosen]
        chosen = chosen[kept]
        if chosen.size:
            least = scores.closer(chosen)
            chosen = chosen[self._undecided(least, floors[chosen], words[chosen])]
        together = _AHEAD
        while chosen.size:
            scores.foresee(chosen[:together])
            yield from chosen[:together]
            chosen, together = chosen[together:], min(2 * together, _LARGEST_AHEAD)

    def attempt(self, bits: Bits) -> Point | None:
        """Make one attempt; return the point, or None if it was rejected."""
        index = choose(bits, self._cumulative)
        box = self._boxes[self._starts[index] + uniform(bits, int(self._sizes[index]))]
        t = self._cover.boxes.offset(int(box), bits)
        point = self._cover.boxes.point(t)
        if not self._plan.domain.contains(point):
            return None
        score = self._cover.scores(np.array([box]), t[None, :]).exact(0, point)
        floor = int(self._keys[index]) // _BITS
        accepted = self._accepts(self._plan.exponent(point, score), floor, bits, None)
        return point if accepted else None

    def _accepts(self, exponent: Fraction, floor: int, bits: Bits, word: int | None) -> bool:
        """Accept with probability 2**P exp(-gamma) / ceil(2**P exp(-floor / GRID))."""
        gamma = exponent - Fraction(self._least, _GRID)
        if gamma * _GRID < floor:
            raise AssertionError("an exponent lies below its box's bound")
        weight = self._table[floor][1]

        def acceptance(length: int) -> tuple[int, int]:
            low, high = exp_minus(gamma, length + self._scale)
            return low // weight, -(-high // weight)

        if word is None:
            return below(bits, acceptance)
        low, high = acceptance(_WORD)
        if word + 1 <= low or word >= high:
            return word + 1 <= low
        return below(bits, acceptance, (word, _WORD))

    def _classes(self, words: Words, bits: Bits) -> Whole:
        """Return the class that each word chooses; a word on a border is continued."""
        total = self._cumulative[-1]
        borders = np.array([(c << _WORD) // total for c in self._cumulative[:-1]], np.uint64)
        classes = np.searchsorted(borders, words, side="right")
        for i in np.flatnonzero(np.isin(words, borders)):
            classes[i] = choose(bits, self._cumulative, (int(words[i]), _WORD))
        return np.asarray(classes)

    def _undecided(self, exponents: Array, floors: Whole, words: Words) -> Mask:
        """Tell the attempts that are not certain to be rejected by their word.

        The probability is at most exp(-i / GRID) / exp(-floor / GRID) with i / GRID <= gamma. Both
        exponentials are enclosed; what float64 rounds is far below the factor 1 + 2**-20.
        """
        deepest = len(self._table) - 1
        steps = np.floor(_GRID * exponents) - self._least
        steps = np.clip(steps, 0, deepest).astype(np.int64)
        ratio = self._tabled(steps) / self._tabled(floors) * (1 + 2.0**-20)
        return np.asarray(words.astype(np.float64) < 2.0**_WORD * ratio)

    def _tabled(self, indices: Whole) -> Array:
        """Return exp(-index / GRID) in float64, from the enclosures."""
        found, at = np.unique(indices, return_inverse=True)
        table = [self._table[i][1] / 2**self._scale for i in found.tolist()]
        return np.asarray(np.array(table)[at])


@lru_cache(maxsize=8)
def _exponentials(last: int, scale: int) -> list[tuple[int, int]]:
    """Enclose 2**scale * exp(-i / GRID) for i = 0 .. last, each from the one before."""
    low_step, high_step = exp_minus(Fraction(1, _GRID), scale)
    table = [(1 << scale, 1 << scale)]
    for _ in range(last):
        low, high = table[-1]
        table.append((low * low_step >> scale, -(-high * high_step >> scale)))
    return table


def _words(bits: Bits, rows: int, columns: int) -> Words:
    """Return words of random bits."""
    size = rows * columns
    words = np.frombuffer(bits.take(_WORD * size).to_bytes(8 * size), ">u8").astype(np.uint64)
    return words.reshape(rows, columns)


def _uniforms(sizes: Whole, bits: Bits) -> Whole:
    """Return uniform whole numbers below each size, by rejection."""
    masks = (1 << np.ceil(np.log2(sizes)).astype(np.int64)) - 1
    out = np.full(len(sizes), -1)
    while (left := np.flatnonzero(out < 0)).size:
        tried = (_words(bits, 1, left.size)[0] & masks[left].astype(np.uint64)).astype(np.int64)
        out[left] = np.where(tried < sizes[left], tried, -1)
    return out
