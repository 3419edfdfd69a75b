"""What leaves: a value, and every public fact that it needs to be read and defended."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.bounds import Bounds
from kng.core.errors import SpecError
from kng.core.exact import listed, show
from kng.core.lattice import AffineMap, Lattice
from kng.core.privacy import Assumption, Guarantee, PrivacyEvent

_FORMAT = "kng-release-1"

# A public fact: a text, or a list of texts such as the names of coefficients.
Fact = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """A private answer. Nothing in it depends on the data except its value.

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

    @property
    def exact_value(self) -> tuple[Fraction, ...]:
        """The answer in the caller's units as exact fractions, one per coordinate."""
        point = self.lattice.units(self.integers)
        return point if self.units is None else self.units(point)

    @property
    def value(self) -> float | NDArray[np.float64]:
        """The answer in the caller's units."""
        numbers = [float(number) for number in self.exact_value]
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
        return json.dumps(
            {
                "format": _FORMAT,
                "statistic": self.statistic,
                "value": np.asarray(self.value).tolist(),
                **({"also": self.also} if self.also else {}),
                "integers": list(self.integers),
                "lattice": {
                    "origin": _texts(self.lattice.origin),
                    "step": _texts(self.lattice.step),
                    "last": list(self.lattice.last),
                },
                "units": None
                if self.units is None
                else {
                    "matrix": [_texts(row) for row in self.units.matrix],
                    "offset": _texts(self.units.offset),
                },
                "epsilon": str(self.event.epsilon),
                "loss_range": str(self.event.width),
                "guarantee": self.guarantee.value,
                "mechanism": self.mechanism,
                "sampler": self.sampler,
                "neighbours": self.neighbours,
                "records_per_person": self.event.records_per_person,
                "bounds": {
                    "low": _texts(self.bounds.low),
                    "high": _texts(self.bounds.high),
                    "columns": self.bounds.columns,
                },
                "assumptions": [assumption.value for assumption in self.assumptions],
                "details": dict(self.details),
                "version": self.version,
            },
            indent=indent,
        )

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Read a release back; the value is recomputed from its integers."""
        try:
            raw = json.loads(text)
            return cls._from_mapping(raw)
        except (
            *(ValueError, KeyError, TypeError, AttributeError),
            *(ZeroDivisionError, OverflowError, RecursionError),
        ) as error:
            if isinstance(error, SpecError):
                raise
            raise SpecError("this text is not a release as written by Release.to_json().") from None

    @classmethod
    def _from_mapping(cls, raw: Mapping[str, Any]) -> Release:
        if raw["format"] != _FORMAT:
            raise SpecError(f"unknown release format {raw['format']!r}; expected {_FORMAT!r}.")
        columns, units = raw["bounds"]["columns"], raw["units"]
        texts = ("statistic", "mechanism", "sampler", "neighbours", "version")
        named = [raw[name] for name in texts] + list(columns or [])
        facts = {
            label: tuple(fact) if isinstance(fact, list) else fact
            for label, fact in raw["details"].items()
        }
        for fact in facts.values():
            named += fact if isinstance(fact, tuple) else [fact]
        if not all(isinstance(text, str) for text in [*named, *facts]):
            raise SpecError("this release holds something other than text where text belongs.")
        release = cls(
            statistic=raw["statistic"],
            integers=_wholes(raw["integers"]),
            lattice=Lattice(
                _fractions(raw["lattice"]["origin"]),
                _fractions(raw["lattice"]["step"]),
                _wholes(raw["lattice"]["last"]),
            ),
            scalar=not isinstance(raw["value"], list),
            event=PrivacyEvent(
                epsilon=Fraction(raw["epsilon"]),
                width=Fraction(raw["loss_range"]),
                mechanism=raw["mechanism"],
                neighbours=raw["neighbours"],
                records_per_person=_wholes([raw["records_per_person"]])[0],
                guarantee=Guarantee(raw["guarantee"]),
            ),
            sampler=raw["sampler"],
            bounds=Bounds(
                _fractions(raw["bounds"]["low"]),
                _fractions(raw["bounds"]["high"]),
                None if columns is None else tuple(columns),
            ),
            assumptions=tuple(Assumption(item) for item in raw["assumptions"]),
            details=facts,
            version=raw["version"],
            units=None
            if units is None
            else AffineMap(
                tuple(_fractions(row) for row in units["matrix"]), _fractions(units["offset"])
            ),
        )
        release._check()
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
        if not (fits and inside and mapped and (single or not self.scalar)):
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
        unit = (
            "one record"
            if self.event.records_per_person == 1
            else f"one person with up to {self.event.records_per_person} records"
        )
        change = "replaced by another" if self.neighbours == "replace-one" else "added or removed"
        return [
            (self.statistic, self._shown()),
            ("epsilon", f"{show(self.event.epsilon)}  ({unit} {change})"),
            ("guarantee", f"{self.guarantee.value}  ({_TIERS[self.guarantee]})"),
            ("method", f"{self._method()} ({self.sampler} sampler)"),
            ("bounds", self._bounds()),
            *(self._row(label, fact) for label, fact in self.details.items()),
            *(("assumption", f"{a.meaning} ({a.value})") for a in self.assumptions),
            ("version", f"kng {self.version}"),
        ]

    def _row(self, label: str, fact: Fact) -> tuple[str, str]:
        if label != "also released":
            return _row(label, fact)
        return label, ", ".join(f"{name} {value:.10g}" for name, value in self.also.items())

    def _method(self) -> str:
        return _METHODS.get(self.mechanism, f"{self.mechanism} mechanism")

    def _shown(self) -> str:
        names = self.details.get("quantiles") or self.details.get("coefficients")
        values = [f"{float(number):.10g}" for number in self.exact_value]
        labels: Sequence[str] | None = self.bounds.columns
        if names:
            # Quantiles are one text, and so were coefficients in receipts of the first versions.
            labels = names.split(", ") if isinstance(names, str) else names
        if self.scalar or labels is None or len(labels) != len(values):
            return ", ".join(values)
        return ", ".join(
            f"{_name(label)}: {value}" for label, value in zip(labels, values, strict=True)
        )

    def _bounds(self) -> str:
        pairs = [
            f"[{show(low)}, {show(high)}]"
            for low, high in zip(self.bounds.low, self.bounds.high, strict=True)
        ]
        if self.bounds.columns is None or len(set(pairs)) == 1 < len(pairs):
            return listed(pairs)
        return ", ".join(
            f"{_name(column)} {pair}"
            for column, pair in zip(self.bounds.columns, pairs, strict=True)
        )

    def __repr__(self) -> str:
        rows = self.rows()
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:<{width}}  {text}" for label, text in rows)

    def _repr_html_(self) -> str:
        (label, text), *rest = self.rows()
        cells = "".join(
            f"<tr><th style='text-align:left;padding-right:1.5em;font-weight:normal;opacity:.7'>"
            f"{escape(name)}</th><td style='text-align:left'>{escape(fact)}</td></tr>"
            for name, fact in rest
        )
        return (
            "<div style='border-left:3px solid #3b7; padding:.2em 0 .2em 1em'>"
            f"<div style='font-size:1.3em'><b>{escape(text)}</b> "
            f"<span style='opacity:.7'>private {escape(label)}</span></div>"
            f"<table style='border:0;margin:.4em 0 0 0'>{cells}</table></div>"
        )


_METHODS = {
    "kng": "K-norm gradient mechanism",
    "exponential": "exponential mechanism",
    "k-norm": "K-norm mechanism",
    "objective": "objective perturbation",
}

_TIERS = {
    Guarantee.EXACT: "proved for the program that ran",
    Guarantee.IDEAL: "exact in real arithmetic, computed in floating point",
    Guarantee.APPROXIMATE: "a Markov chain; no certificate",
    Guarantee.SIMULATION: "seeded and therefore repeatable; do not publish",
}


def _name(text: str) -> str:
    """Write a name for people: in quotes where a list of names would be misread without."""
    plain = text.isprintable() and text == text.strip() and not set(text) & {",", ":"}
    return text if text and plain else repr(text)


# Facts that are exact numbers of many digits; a receipt in JSON keeps all of them.
_NUMBERS = {"granularity": "step", "epsilon per quantile": "epsilon per quantile"}
_NUMBER = re.compile(r"\b\d+(?:\.\d+)?(?:e[-+]?\d{1,3})?(?:/[1-9]\d*)?(?![\d.]| times)")


def _row(label: str, fact: Fact) -> tuple[str, str]:
    """Return a public fact for people: its label, and numbers with the digits that tell."""
    if label in _NUMBERS and isinstance(fact, str):
        return _NUMBERS[label], _NUMBER.sub(lambda found: _digits(found[0]), fact)
    return label, _text(fact)


def _digits(text: str) -> str:
    """Write a number of at most six digits as it is, another one with three."""
    try:
        number = Fraction(text)
        short = Decimal(f"{float(number):.6g}")
    except (ValueError, OverflowError):  # not a number that a release of ours has
        return text
    if Fraction(short) != number:
        short = Decimal(f"{float(number):.3g}")
    return f"{short.normalize():f}"


def _text(fact: Fact) -> str:
    return fact if isinstance(fact, str) else ", ".join(map(_name, fact))


def _wholes(numbers: Sequence[Any]) -> tuple[int, ...]:
    """Return whole numbers as they are; anything else would be cut to one."""
    if not all(type(number) is int for number in numbers):
        raise SpecError("this release holds something other than a whole number where one belongs.")
    return tuple(numbers)


def _texts(numbers: Sequence[Fraction]) -> list[str]:
    return [str(number) for number in numbers]


def _fractions(texts: Sequence[str]) -> tuple[Fraction, ...]:
    return tuple(Fraction(text) for text in texts)
