"""What leaves: a value, and every public fact that it needs to be read and defended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core import receipt_groups, receipt_json, receipt_text
from kng.core.bounds import Bounds
from kng.core.errors import MissingExtra, SpecError, SpecTypeError, UnknownName
from kng.core.groups import Groups
from kng.core.lattice import AffineMap, Lattice
from kng.core.law import Law
from kng.core.naming import in_python, outside_python
from kng.core.noise.interval import NoiseInterval, read_level
from kng.core.noise.stored import Noise
from kng.core.privacy import Assumption, Guarantee, PrivacyEvent
from kng.core.provenance import Provenance

# A public fact: a text, or a list of texts such as the names of coefficients.
Fact = str | tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A private answer. Nothing in it depends on the data except what was drawn.

    That is the value, and what it was read off: the noisy sum and count of a mean, say.

    Attributes
    ----------
    value : float or numpy.ndarray
        The answer in the caller's units; one number, or one per column or quantile.
    integers : tuple of int
        The lattice point that was drawn; ``value`` is its image under ``lattice`` and ``units``.
    units : AffineMap or None
        The public map from the lattice to the caller's units, if they differ (regression).
    epsilon : float
        What the release cost.
    guarantee : Guarantee
        ``exact``, ``ideal``, ``approximate`` or ``simulation``.
    law : Law or None
        How theta was weighed, in public numbers; None in receipts of version 0.1.
    noise : optional
        What `noise_interval` needs to know; None where nothing is known, as in older receipts.
    groups : Groups or None
        The declared groups, if there are any; ``value`` then has a row for each.
    provenance : Provenance or None
        When it was asked for, of which data, and which entry of a ledger paid. None for a
        simulation, which repeats to the bit, and in receipts of version 0.1.
    """

    statistic: str
    integers: tuple[int, ...]
    lattice: Lattice
    scalar: bool
    event: PrivacyEvent
    sampler: str
    bounds: Bounds
    assumptions: tuple[Assumption, ...]
    details: Mapping[str, Fact] = field(hash=False)
    version: str
    units: AffineMap | None = None
    law: Law | None = None
    noise: Noise | None = None
    groups: Groups | None = None
    # Not compared: the same answer may be asked for twice.
    provenance: Provenance | None = field(default=None, compare=False)

    def noise_interval(self, level: float = 0.95) -> NoiseInterval:
        """Return where the answer on the same records lies without privacy noise.

        From public numbers alone, so it is free. Means, sums, variances and counts: "exact", from
        the law of the noise. Quantiles: an interval of "ranks". Regressions: "predicted" from the
        declared shape. Sampling error is not in it. docs/noise.md.

        Parameters
        ----------
        level : float
            How often it holds that answer, at least.

        Returns
        -------
        NoiseInterval
            With ``low``, ``high``, ``margin``, ``level``, ``kind`` and ``unit``.
        """
        chance = read_level(level)
        if self.noise is None:
            raise SpecError(
                f"This {self.statistic} says nothing about its noise: the law depends on the "
                "records, or the receipt is of an earlier version. docs/noise.md lists what does."
            )
        try:
            with np.errstate(all="ignore"):
                ends = self.noise.ends(self, chance)
        except (ArithmeticError, np.linalg.LinAlgError):  # receipts of ours have none of these
            raise SpecError(
                "The noise of this release holds numbers that no float can; it was changed."
            ) from None
        sides = (ends.low, ends.high, ends.margin)
        low, high, margin = (side[0] if self.scalar else side for side in sides)
        return NoiseInterval(low, high, margin, chance, self.noise.kind, self.noise.unit)

    @property
    def exact_value(self) -> tuple[Fraction, ...]:
        """The answer in the caller's units as exact fractions, one per coordinate."""
        point = self.lattice.units(self.integers)
        return point if self.units is None else self.units(point)

    @property
    def value(self) -> float | NDArray[np.float64]:
        """The answer in the caller's units."""
        numbers = [float(number) for number in self.exact_value]
        if self.groups is not None and len(numbers) > len(self.groups):
            return np.array(numbers).reshape(len(self.groups), -1)
        return numbers[0] if self.scalar else np.array(numbers)

    @property
    def also(self) -> dict[str, float]:
        """What was released beside the value, by name: the threshold of a regression, say."""
        names = self.details.get("also released", ())
        if isinstance(names, str):
            return {}
        numbers = self.lattice.units(self.integers)[len(self.integers) - len(names) :]
        return {name: float(number) for name, number in zip(names, numbers, strict=True)}

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the numbers of the value are called: coefficients, quantiles, columns or groups."""
        labels = receipt_text.labels(self)
        return None if labels is None else tuple(labels)

    def to_dict(self) -> dict[str, float]:
        """Return the numbers of the value by name; one number by the name of its statistic."""
        numbers = [float(number) for number in self.exact_value]
        if self.scalar:
            return {self.statistic: numbers[0]}
        names = self.names or tuple(str(at) for at in range(len(numbers)))
        return dict(zip(names, numbers, strict=True))

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each number of the value, or for each group.

        A row of a group has the levels of the columns that it is one of, and its numbers.
        """
        try:
            # By name: core may not know pandas, and what is shown here has left it.
            pandas = import_module("pandas")
        except ImportError:
            raise MissingExtra(
                "to_frame needs pandas. Install it, as in pip install pandas, or use to_dict()."
            ) from None
        if self.groups is not None:
            return pandas.DataFrame(receipt_groups.columns(self))
        found = self.to_dict()
        return pandas.DataFrame({"name": list(found), "value": list(found.values())})

    def __getitem__(self, name: str | int) -> float:
        """Return one number of the value, by its name or its position."""
        if isinstance(name, str):
            found = self.to_dict()
            if name not in found:
                raise UnknownName(
                    f"this release has no number called {name!r}; it has "
                    f"{', '.join(map(repr, found))}."
                )
            return found[name]
        return float(self.exact_value[name])

    def __float__(self) -> float:
        return self._number

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        # The value is made anew at each call, so it is a copy already.
        return np.asarray(self.value, dtype=dtype)

    def __format__(self, style: str) -> str:
        return format(self._number, style) if style else str(self)

    def __eq__(self, other: object) -> bool:
        """Compare with a release in every field, or one number with a number."""
        if isinstance(other, Release):
            return all(
                getattr(self, f.name) == getattr(other, f.name) for f in fields(self) if f.compare
            )
        return self.scalar and isinstance(other, Real) and self._number == other

    def __hash__(self) -> int:
        return hash(self._number) if self.scalar else hash((self.statistic, self.integers))

    def __lt__(self, other: Any) -> bool:
        return self._number < _number(other)

    def __le__(self, other: Any) -> bool:
        return self._number <= _number(other)

    def __gt__(self, other: Any) -> bool:
        return self._number > _number(other)

    def __ge__(self, other: Any) -> bool:
        return self._number >= _number(other)

    @property
    def _number(self) -> float:
        if not self.scalar:
            raise SpecTypeError(
                f"this release has {len(self.exact_value)} numbers, and one is needed. Use "
                "release.value, or one of them by name or position, as in release[0]."
            )
        return float(self.exact_value[0])

    @property
    def epsilon(self) -> float:
        """What the release cost."""
        return float(self.event.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """How far the epsilon has been carried into the program."""
        return self.event.guarantee

    @property
    def mechanism(self) -> str:
        """How theta was weighed."""
        return self.event.mechanism

    @property
    def neighbours(self) -> str:
        """Which change of the data the epsilon is about."""
        return self.event.neighbours

    def to_json(self, *, indent: int | None = None) -> str:
        """Write the release as JSON; exact numbers are strings such as "1/10"."""
        return receipt_json.written(self, indent)

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Read a release back; the value is recomputed from its integers."""
        try:
            release = cls(**receipt_json.fields(text))
            release._check()
        except (
            *(ValueError, KeyError, TypeError, AttributeError),
            *(ZeroDivisionError, OverflowError, RecursionError),
        ) as error:
            if isinstance(error, SpecError):
                raise
            raise SpecError(
                f"this text is not a release as {in_python('written by Release.to_json()')}"
                f"{outside_python('--out writes it')}."
            ) from None
        return release

    def _check(self) -> None:
        """Refuse parts that do not fit each other."""
        sizes = {len(self.integers), *(len(part) for part in (self.lattice.origin,))}
        sizes |= {len(self.lattice.step), len(self.lattice.last)}
        columns = self.bounds.columns
        fits = len(sizes) == 1 and (columns is None or len(columns) == len(self.bounds))
        fits = fits and all(step > 0 for step in self.lattice.step)
        fits = fits and self._leaves_over(self.details.get("also released", ()))
        inside = self.lattice.clamp(self.integers) == self.integers if fits else False
        single = len(self.exact_value) == 1 if fits else False
        # Coefficients live on a standardised lattice: without the map they would be misread.
        mapped = "coefficients" not in self.details or self.units is not None
        # Every group has as many numbers.
        whole = self.groups is None or not (self.scalar or len(self.integers) % len(self.groups))
        stated = fits and (self.noise is None or self.noise.fits(len(self.exact_value)))
        if fits and inside:
            # What no float can hold is no answer of ours, and no bound of anybody's.
            list(map(float, (*self.exact_value, *self.bounds.low, *self.bounds.high)))
        if not (stated and inside and mapped and whole and (single or not self.scalar)):
            raise SpecError("this release does not fit together; it was changed or cut.")

    def _leaves_over(self, names: Fact) -> bool:
        """Whether the names are those of the numbers that the map to the value leaves alone."""
        further = len(names)
        if isinstance(names, str) or len(set(names)) < further:
            return False
        if self.units is None:
            return further == 0
        left = (row[len(row) - further :] for row in self.units.matrix)
        kept = len(self.integers) - further == len(self.units.offset)
        return kept and all(number == 0 for row in left for number in row)

    def rows(self) -> list[tuple[str, str]]:
        """Return the public facts as label and text, for people."""
        return receipt_text.rows(self)

    def __repr__(self) -> str:
        return receipt_text.plain(self)

    def _repr_html_(self) -> str:
        return receipt_text.html(self)


def _number(value: Any) -> float:
    """Return what a release of one number is compared with."""
    if isinstance(value, Release):
        return value._number
    if isinstance(value, Real):
        return float(value)
    raise SpecTypeError(
        f"a release is compared with a number or another release, not {type(value).__name__}."
    )
