"""What is asked: a loss, a norm and a domain over encoded records, for a stated neighbour."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from kng.core.bodies import Body
from kng.core.delta import changes
from kng.core.encoding import Encoding
from kng.core.errors import IncompatibleParts
from kng.core.lattice import Lattice
from kng.core.parts import Domain, Loss, Norm, RoundedNorm, Standing, described, standing_of
from kng.core.privacy import PrivacyUnit
from kng.core.records import USUAL_MEMORY
from kng.core.regions import Grid


@dataclass(frozen=True, slots=True)
class Problem:
    """One estimation problem; public through and through.

    ``answers`` is the lattice that the released value lives on, ``grid`` says where its points
    stand in the units of theta. ``memory`` is how many bytes what is made of the records may take.
    """

    loss: Loss
    norm: Norm
    domain: Domain
    records: Encoding
    answers: Lattice
    unit: PrivacyUnit
    memory: int = USUAL_MEMORY
    grid: Grid = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        loss, domain = self.loss, self.domain
        grid = loss.grid or Grid(self.answers.origin, self.answers.step)
        object.__setattr__(self, "grid", grid)
        if domain.dim != loss.dim:
            raise IncompatibleParts(
                f"{described(loss)} has {loss.dim} coordinates and {described(domain)} has "
                f"{domain.dim}. Give a domain with {loss.dim}."
            )

    def refuse_norm(self, dim: int) -> None:
        """Refuse a norm that cannot measure vectors of so many coordinates."""
        refused = self.norm.refusal(dim)
        if refused is not None:
            raise IncompatibleParts(refused)

    def fitted(self, body: Body) -> Problem:
        """Return the problem with its norm fitted to what one record can change in a body.

        A norm that follows the changes is then one norm, for Delta and for whatever is measured or
        drawn in it; other norms stay as they are.
        """
        norm = self.norm.at(changes(body, self.unit))
        return self if norm is self.norm else replace(self, norm=norm)

    def rounded(self, longest: Fraction) -> Problem:
        """Return the problem with lengths on one lattice, if its norm has irrational ones.

        ``longest`` is what one record can change at most.
        """
        norm = self.norm
        if not isinstance(norm, RoundedNorm):
            return self
        return replace(self, norm=norm.rounded_for(longest))

    @property
    def standing(self) -> Standing:
        """Who answers for the parts."""
        return standing_of(self.loss, self.norm, self.domain)
