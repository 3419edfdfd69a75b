"""The law of a draw, as it stands in a release: what predictions, intervals and audits read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kng.core.errors import SpecError
from kng.core.exact import as_stored


@dataclass(frozen=True, slots=True)
class Law:
    """How theta was weighed, in public numbers.

        kng, exponential    exp( -rate * score / Delta )             rate = epsilon / (2 k)
        k-norm              sum + u,  exp( -rate ||u||_K / Delta )   rate = epsilon / k
        objective           argmin, u with exp( -rate ||u||_K / Delta ),  rate = q epsilon / k

    k records of one person count together. ``delta`` is None where it depends on theta, and numbers
    are exact, as text: "1/3". ``units`` says what theta is measured in.
    """

    mechanism: str
    loss: str
    norm: str | None
    domain: str
    rate: str
    delta: str | None
    units: str

    def to_mapping(self) -> dict[str, str | None]:
        """Return it as JSON has it."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_mapping(cls, facts: Mapping[str, Any]) -> Law:
        """Read it from JSON; anything but texts is refused."""
        found = {name: facts[name] for name in cls.__slots__}
        optional = {"norm", "delta"}
        if not all(
            isinstance(text, str) or (text is None and name in optional)
            for name, text in found.items()
        ):
            raise SpecError("this release holds something other than text where text belongs.")
        for number in (found["rate"], found["delta"]):
            if number is not None:
                as_stored(number)
        return cls(**found)
