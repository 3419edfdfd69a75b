"""The noise of each group of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from kng.core.lattice import AffineMap, Lattice
from kng.core.noise.interval import Ends, Kind, Released

if TYPE_CHECKING:
    from kng.core.noise.stored import Noise


@dataclass(frozen=True, slots=True)
class _Part:
    """The numbers of one group."""

    integers: tuple[int, ...]
    lattice: Lattice
    exact_value: tuple[Fraction, ...]
    units: AffineMap | None = None


@dataclass(frozen=True, slots=True)
class GroupedNoise:
    """One noise for each group, all of the same form and about as many numbers."""

    groups: tuple[Noise, ...]
    form: ClassVar[str] = "groups"

    @classmethod
    def of(cls, parts: Sequence[Noise | None]) -> GroupedNoise | None:
        """Put the groups together; nothing is said where nothing is said of one."""
        known = tuple(part for part in parts if part is not None)
        return cls(known) if len(known) == len(parts) else None

    def fits(self, numbers: int) -> bool:
        """Whether it is about so many numbers."""
        size, rest = divmod(numbers, len(self.groups)) if self.groups else (0, 1)
        forms = {part.form for part in self.groups}
        return rest == 0 and len(forms) == 1 and all(part.fits(size) for part in self.groups)

    @property
    def kind(self) -> Kind:
        """That of every group."""
        return self.groups[0].kind

    @property
    def unit(self) -> str:
        """What the ends are measured in."""
        return self.groups[0].unit

    def ends(self, released: Released, level: float) -> Ends:
        """Return the intervals of all groups, one after the other."""
        size = len(released.exact_value) // len(self.groups)
        lattice, found = released.lattice, []
        for at, noise in enumerate(self.groups):
            cut = slice(at * size, (at + 1) * size)
            part = Lattice(lattice.origin[cut], lattice.step[cut], lattice.last[cut])
            found.append(
                noise.ends(_Part(released.integers[cut], part, released.exact_value[cut]), level)
            )
        return Ends(
            tuple(v for ends in found for v in ends.low),
            tuple(v for ends in found for v in ends.high),
            tuple(v for ends in found for v in ends.margin),
        )

    def to_mapping(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"form": self.form, "groups": [part.to_mapping() for part in self.groups]}
