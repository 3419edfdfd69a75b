"""An earlier release as a base measure: what is public already is not drawn again from nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from kng.bases.student import Student
from kng.core.enclosures import root_above
from kng.core.errors import IncompatibleParts, SpecTypeError
from kng.core.exact import positive
from kng.core.parts import Array
from kng.core.privacy import Guarantee
from kng.core.regions import Region, Theta
from kng.core.release import Release

# How far theta may well have moved unless the caller says so: parts of the records' range.
_SHARE = Fraction(1, 20)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Earlier:
    """A Student density around the value of an earlier release.

        base density of  Student(scale, freedom, centre=release.value)

    A release is public, so it costs nothing to use it, and composition pays for both releases as
    it would for any two. Where theta has moved since, the tails let the new records decide.

    Coefficients of a linear model are read in the units of the release, intercept first, and become
    effects with the bounds of the new fit. A simulation is refused: it is not private, and a base
    measure stands in the receipt. To experiment, use ``Student(scale, 3, centre=...)``.

    Parameters
    ----------
    release : Release
        One with as many numbers as theta has coordinates.
    scale : number or one per coordinate, optional
        How far theta may well be from the release; effects in units of y for linear models. Unless
        given: for a mean of one column by K-norm noise the standard deviation of that noise plus
        range / (2 sqrt(n)), which no standard error exceeds; else a twentieth of the range of each
        column; for linear models a twentieth of the range of y, or the threshold of Huber's loss.
    freedom : number
        Degrees of freedom of the Student density.

    Paper    A base measure nu of its Theorem 3.1.
    Privacy  Public: a release is. docs/proofs/domains/bases.md.
    Cost     That of Student.
    """

    even: ClassVar[bool] = False
    finite: ClassVar[bool] = True

    values: Theta
    scale: Theta | None
    freedom: Fraction
    usual: Theta
    coefficients: bool

    def __init__(self, release: Any, scale: Any = None, freedom: Any = 3) -> None:
        if not isinstance(release, Release):
            raise SpecTypeError(
                f"Earlier takes a kng.Release, got {type(release).__name__}. For a guess of "
                "another kind use Student(scale, freedom, centre=...)."
            )
        if release.guarantee is Guarantee.SIMULATION:
            raise IncompatibleParts(
                "A simulation cannot be a base measure: it is not private, and a base measure is "
                "published with the receipt. Use a release that was made without random_state."
            )
        values = release.exact_value
        stated = None if scale is None else Student(scale, freedom).fitted(_of(values)).place.scale
        facts: dict[str, Any] = {
            "values": values,
            "scale": stated,
            "freedom": positive(freedom, "freedom"),
        }
        facts |= {"usual": _usual(release), "coefficients": "coefficients" in release.details}
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Earlier({self.student!r})"

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return repr(self)

    @property
    def student(self) -> Student:
        """The density, where theta is in the units of the release."""
        return Student.at(self.values, self.scale or self.usual, self.freedom)

    def around(self, values: Theta, usual: Fraction) -> Student:
        """Return the density around the same release in other units, with a scale unless stated."""
        if len(values) != len(self.values):
            self.fitted(_of(values))
        return Student.at(values, self.scale or (usual,) * len(values), self.freedom)

    @property
    def limits(self) -> tuple[Theta, Theta]:
        """Those of the Student density."""
        return self.student.limits

    def fitted(self, region: Region) -> Earlier:
        """Return the same; refuse if theta has another number of coordinates."""
        if region.dim != len(self.values):
            raise IncompatibleParts(
                f"The earlier release has {len(self.values)} number{'s'[: len(self.values) > 1]}, "
                f"and theta has {region.dim} coordinate{'s'[: region.dim > 1]}. Use a release of "
                "the same kind."
            )
        return self

    def scaled(self, factor: Fraction) -> Student:
        """Return the density in other units."""
        return self.student.scaled(factor)

    def exponent(self, theta: Theta) -> Fraction:
        """Return that of the Student density."""
        return self.student.exponent(theta)

    def exponent_bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return those of the Student density."""
        return self.student.exponent_bounds(low, high)

    def log_density(self, theta: Array) -> Array:
        """Return that of the Student density."""
        return self.student.log_density(theta)


def _of(values: Theta) -> Region:
    return Region.everything(len(values))


def _usual(release: Release) -> Theta:
    """Return the scale unless stated, from public facts of the release."""
    widths = release.bounds.width
    count = len(release.exact_value)
    law, records = release.law, str(release.details.get("records", ""))
    number = records.removesuffix(" (public)")
    if release.scalar and law is not None and law.mechanism == "k-norm" and number.isdigit():
        n = int(number)
        noise = widths[0] * root_above(Fraction(2)) / (Fraction(law.rate) * n)
        return (noise + widths[0] * root_above(Fraction(1, n)) / 2,)
    if len(widths) == count:
        return tuple(_SHARE * w for w in widths)
    return (_SHARE * widths[-1],) * count
