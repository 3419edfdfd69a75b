"""The squared loss around a point, whose minimiser is the mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kng.core.encoding import Encoding
from kng.core.plan import DensityPlan, NoisePlan
from kng.core.privacy import AddRemove, Neighbours, ReplaceOne
from kng.core.problem import Problem
from kng.core.protocols import LineField, Norm, Point, Sensitivity, Source
from kng.core.sensitivity import Constant, Varying
from kng.losses.fields.moment_line import DistanceField, ParabolaField
from kng.losses.kernels.moments import Moments


@dataclass(frozen=True, slots=True)
class Squared:
    """Half the squared distance of records to theta; minimised by their mean.

        l(theta; x) = |x - theta|^2 / 2,      gradient sum = n theta - sum x

    The paper leaves out the half and carries a factor 2 through score and sensitivity, where it
    cancels. In whole steps x lies in 0 .. last.

    Paper    Section 4.1. The remark's location family (no factor 2) is `read_sum` with the
             K-norm mechanism; the bounded form of Theorem 3.1 is `read_gradient`.
    Privacy  Gradient: last under replace-one; max(theta, last - theta) under add-remove, which
             needs a bounded Theta. docs/proofs/losses/squared.md.
    Cost     One pass.
    """

    def gradient_sensitivity(
        self, norm: Norm, records: Encoding, neighbours: Neighbours
    ) -> Sensitivity:
        """Return the norm of the largest change of n theta - sum x."""
        last = records.last
        if isinstance(neighbours, ReplaceOne):
            return Constant(norm.value(tuple(Fraction(k) for k in last)))

        def farthest(low: Point, high: Point) -> Fraction:
            # |theta - x| is largest at a corner of records and at an end of the box of theta.
            return norm.value(
                tuple(Fraction(max(b, k - a)) for a, b, k in zip(low, high, last, strict=True))
            )

        return Varying(farthest)

    def value_sensitivity(self, records: Encoding, neighbours: Neighbours) -> Sensitivity:  # noqa: ARG002
        """Return the largest loss of one record over all theta; losses are >= 0 and reach 0."""
        return Constant(Fraction(sum(k * k for k in records.last), 2))

    def read_gradient(self, source: Source, plans: Sequence[DensityPlan]) -> list[LineField]:
        """Read the number of records and their sum."""
        moments = source.reduce(Moments())
        return [DistanceField(moments.n, moments.sums[0], plan) for plan in plans]

    def read_value(self, source: Source, plans: Sequence[DensityPlan]) -> list[LineField]:
        """Read the number of records, their sum and their sum of squares."""
        moments = source.reduce(Moments())
        field = ParabolaField(moments.n, moments.sums[0], moments.squares[0])
        return [field for _ in plans]

    def sum_widths(self, records: Encoding, neighbours: Neighbours) -> tuple[Fraction, ...]:
        """Return how far one record moves each coordinate of the sum.

        Replace-one: the sum of x - low moves by at most high - low. Add-remove: sums are
        taken from the middle of the bounds and a count joins them, so that one record moves
        (sums, count) by at most (half widths, 1); the count costs nothing in a sup norm.
        """
        ranges = tuple(s * k for s, k in zip(records.step, records.last, strict=True))
        if isinstance(neighbours, ReplaceOne):
            return ranges
        return (*(width / 2 for width in ranges), Fraction(1))

    def sum_steps(self, records: Encoding, neighbours: Neighbours) -> tuple[Fraction, ...]:
        """Return the size of one whole step of each coordinate of the sum."""
        if isinstance(neighbours, ReplaceOne):
            return records.step
        return (*(step / 2 for step in records.step), Fraction(1))

    def read_sum(self, source: Source, plan: NoisePlan) -> Point:
        """Return the sum of the records in whole steps, centred and counted under add-remove."""
        records, neighbours = plan.problem.records, plan.problem.unit.neighbours
        n, sums = source.sums()
        if isinstance(neighbours, ReplaceOne):
            return sums
        return (*(2 * s - n * last for s, last in zip(sums, records.last, strict=True)), n)

    def minimiser(self, total: Point, problem: Problem) -> tuple[Fraction, ...]:
        """Return the mean that a sum stands for, in the caller's units."""
        records, neighbours = problem.records, problem.unit.neighbours
        low, steps = records.bounds.low, self.sum_steps(records, neighbours)
        if isinstance(neighbours, AddRemove):
            *sums, noisy = total
            n = min(max(noisy, 1), neighbours.n_max)
            middle = [
                a + s * k / 2 for a, s, k in zip(low, records.step, records.last, strict=True)
            ]
            return tuple(m + h * s / n for m, h, s in zip(middle, steps, sums, strict=False))
        return tuple(a + h * s / neighbours.n for a, h, s in zip(low, steps, total, strict=True))


__all__ = ["DistanceField", "ParabolaField", "Squared"]
