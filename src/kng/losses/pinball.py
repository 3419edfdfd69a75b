"""The tilted absolute loss, whose minimiser is a quantile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kng.core.encoding import Encoding
from kng.core.errors import SpecError
from kng.core.plan import DensityPlan
from kng.core.privacy import Neighbours, ReplaceOne
from kng.core.protocols import LineField, Norm, Sensitivity, Source
from kng.core.sensitivity import Constant
from kng.losses.fields.ranked_line import RankField, TiltedField
from kng.losses.kernels.ranks import Wanted, read_ranks


@dataclass(frozen=True, slots=True)
class Pinball:
    """Tilted absolute loss of records around theta; minimised by the tau-quantile.

        l(theta; x)      = tau (x - theta)_+ + (1 - tau) (theta - x)_+
        subgradient sum  = [ #{x < theta} - tau n ,  #{x <= theta} - tau n ]
        score            = distance of 0 to it = distance of tau n to [ #{x<theta}, #{x<=theta} ]

    The paper takes one subgradient, #{x <= theta} - tau n. The distance to the whole set has the
    same sensitivity, is zero exactly at the sample quantiles, and so answers ties exactly.

    Paper    Section 4.5 with x = 1. The printed Delta = 2(1 - tau) is too small for tau > 1/2
             and breaks privacy; docs/paper-map.md, row "quantile sensitivity".
    Privacy  Delta = 1 under replace-one, max(tau, 1 - tau) under add-remove.
             docs/proofs/losses/pinball.md.
    Cost     One or two passes; memory for the records near the wanted rank.
    """

    tau: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.tau < 1:
            raise SpecError(
                f"a quantile must lie strictly between 0 and 1, got {float(self.tau):g}. "
                "For the ends of a distribution use for example 0.001 or 0.999."
            )

    def gradient_sensitivity(
        self,
        norm: Norm,
        records: Encoding,  # noqa: ARG002 - a rank does not depend on how far records lie apart
        neighbours: Neighbours,
    ) -> Sensitivity:
        """Return how far one record moves the score, in the norm of one coordinate.

        A record adds [-tau, -tau], [-tau, 1 - tau] or [1 - tau, 1 - tau] to the subgradient
        interval. Two of these differ by at most 1 at either end; one of them differs from
        nothing by at most max(tau, 1 - tau).
        """
        largest = Fraction(1) if isinstance(neighbours, ReplaceOne) else max(self.tau, 1 - self.tau)
        return Constant(norm.value((largest,)))

    def value_sensitivity(self, records: Encoding, neighbours: Neighbours) -> Sensitivity:  # noqa: ARG002
        """Return the largest loss of one record, which is also its largest change.

        Losses are not negative and reach 0, so replacing a record changes the sum by at most
        the largest of them, as adding one does: max(tau, 1 - tau) times the number of steps.
        """
        return Constant(max(self.tau, 1 - self.tau) * records.last[0])

    def read_gradient(self, source: Source, plans: Sequence[DensityPlan]) -> list[LineField]:
        """Read the ranks that carry weight, for each plan's quantile."""
        levels = [_pinball(plan).tau for plan in plans]
        reaches = [plan.score_at(plan.domain.first, Fraction(plan.depth)) for plan in plans]
        wanted = [Wanted(level, reach) for level, reach in zip(levels, reaches, strict=True)]
        domain, unit = plans[0].domain, plans[0].problem.unit
        ranks = read_ranks(source, unit.neighbours, domain.first[0], domain.last[0], wanted)
        return [RankField(tau, counts) for tau, counts in zip(levels, ranks, strict=True)]

    def read_value(self, source: Source, plans: Sequence[DensityPlan]) -> list[LineField]:
        """Read every record: the value of the loss needs them all."""
        records, unit = plans[0].problem.records, plans[0].problem.unit
        everywhere = Wanted(Fraction(1, 2), Fraction(2**62))
        ranks = read_ranks(source, unit.neighbours, 0, records.last[0], [everywhere])[0]
        return [TiltedField(_pinball(plan).tau, ranks) for plan in plans]


def _pinball(plan: DensityPlan) -> Pinball:
    loss: Pinball = plan.problem.loss
    return loss


__all__ = ["Pinball", "RankField", "TiltedField"]
