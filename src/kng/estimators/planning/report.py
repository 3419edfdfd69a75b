"""A plan as people and programs read it: errors, verdict, what an error needs, a picture."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from math import isfinite

from kng.core.errors import SpecError
from kng.core.exact import show
from kng.estimators.planning.dry_run import DryRun, Trial, measured
from kng.estimators.planning.expected import (
    WORTH,
    Errors,
    Expected,
    epsilon_for,
    records_for,
    worst,
    worth,
)

# Between facts about records; not inside brackets.
_FACTS = re.compile(r"; (?![^(]*\))")
# Larger errors have an exponent.
_LONG = 1e12
_SIMULATED = "This error has no formula and was simulated; make a plan for each n and epsilon."


@dataclass(frozen=True)
class Choice:
    """An option, and how many times the error without privacy each of its values has, at most."""

    option: str
    times: dict[str, float]

    @property
    def best(self) -> str:
        """The value with the smallest error."""
        return min(self.times, key=lambda value: self.times[value])

    def __str__(self) -> str:
        others = ", ".join(f"{v} {times:.2f}" for v, times in self.times.items() if v != self.best)
        least = f"{self.best}, {self.times[self.best]:.2f} times the error without privacy"
        return f"{least} ({others})" if others else least


@dataclass(frozen=True)
class ReleasePlan:
    """What a release would be worth, from public facts and guesses; no record is read.

    Attributes
    ----------
    statistic : str
    n : int
        Number of records that was planned for.
    epsilon : float
    expected : tuple of Expected
        For each number its root mean squared errors: ``noise``, ``sampling`` and ``total``.
    shape : str
        What the records are taken to look like.
    choices : tuple of Choice
        Options with a best value: how many times the error without privacy each value has.
    error : float or None
        The error that was asked for.
    """

    statistic: str
    n: int
    exact_epsilon: Fraction
    expected: tuple[Expected, ...]
    shape: str
    choices: tuple[Choice, ...] = ()
    error: float | None = None
    how: str = "formula"
    _errors: Errors | None = field(default=None, repr=False, compare=False)
    _trial: Trial | None = field(default=None, repr=False, compare=False)

    @property
    def epsilon(self) -> float:
        """What the release would cost."""
        return float(self.exact_epsilon)

    @property
    def feasible(self) -> bool:
        """Whether each error is at most twice the one without privacy."""
        return worth(self.expected)

    @property
    def verdict(self) -> str:
        """The same in words."""
        each = max(self.expected, key=lambda e: e.times)
        times = each.times
        if self.feasible:
            return f"worth it: errors are at most {times:.2f} times those without privacy"
        return (
            f"not worth it: the error of {each.name} is {times:.2g} times the one without "
            f"privacy, more than {WORTH:g}"
        )

    def records_needed(self, error: float | None = None) -> int | None:
        """Return about how many records an error needs at this epsilon; None for no number.

        Parameters
        ----------
        error : float, optional
            Largest error, in the caller's units; without it: for the release to be worth it.
        """
        if self._errors is None:
            return None
        return records_for(self._errors, self.n, self.exact_epsilon, _fine(error))

    def epsilon_needed(self, error: float | None = None) -> float | None:
        """Return about which epsilon an error needs with these records; None for no number.

        Parameters
        ----------
        error : float, optional
            Largest error, in the caller's units; without it: for the release to be worth it.
        """
        if self._errors is None:
            return None
        return epsilon_for(self._errors, self.n, self.exact_epsilon, _fine(error))

    def simulate(self, replicates: int = 50, seed: int = 0) -> DryRun:
        """Return errors measured on simulated records of the declared shape; nothing is private.

        Parameters
        ----------
        replicates : int
            How many data sets are simulated, each with one seeded release.
        seed : int
            Makes the simulation repeatable.
        """
        assert self._trial is not None
        return measured(self._trial, [each.name for each in self.expected], replicates, seed)

    def errors_at(self, n: int, epsilon: float) -> tuple[Expected, ...]:
        """Return the errors for other numbers of records and another epsilon."""
        if self._errors is None:
            raise SpecError(_SIMULATED)
        return tuple(self._errors(n, Fraction(str(epsilon))))

    def to_svg(self) -> str:
        """Return a picture: the largest error against epsilon and against n, as SVG."""
        if self._errors is None:
            raise SpecError(_SIMULATED)
        from kng.estimators.planning.picture import drawn

        return drawn(self)

    def rows(self) -> list[tuple[str, str]]:
        """Return the plan as label and text, for people."""
        found = [
            (
                "plan for",
                f"{self.statistic} of {self.n} records, epsilon {show(self.exact_epsilon)}",
            ),
            ("records", self.shape),
            ("verdict", self.verdict),
        ]
        if self.how != "formula":
            found.append(("errors", self.how))
        if not self.feasible and self._errors is not None:
            found.append(("to be worth it", self._needs(None)))
        if self.error is not None:
            met = worst(self.expected) <= self.error
            needs = "not met" if self._errors is None else self._needs(self.error)
            found.append((f"error {self.error:g}", "met" if met else needs))
        found += [(f"best {choice.option}", str(choice)) for choice in self.choices]
        return found

    def _needs(self, error: float | None) -> str:
        n, epsilon = self.records_needed(error), self.epsilon_needed(error)
        records = f"about {n} records at this epsilon" if n else "no number of records is enough"
        more = (
            f"epsilon {epsilon:.2g} with these records"
            if epsilon
            else "no epsilon with these records"
        )
        return f"{records}, or {more}"

    def table(self) -> list[tuple[str, str, str, str, str]]:
        """Return errors by number: name, total, noise, sampling, noise over sampling."""
        return [
            (e.name, _short(e.total), _short(e.noise), _short(e.sampling), f"{e.ratio:.2f}")
            for e in self.expected
        ]

    def to_json(self, indent: int | None = None) -> str:
        """Return the plan as JSON: what `rows` and `table` have, in full."""
        needed = {} if self.feasible else {"to_be_worth_it": self._needed(None)}
        if self.error is not None and worst(self.expected) > self.error:
            needed["for_this_error"] = self._needed(self.error)
        rows = [
            {"name": e.name, "error": e.total, "noise": e.noise, "sampling": e.sampling}
            for e in self.expected
        ]
        facts = {
            "statistic": self.statistic,
            "n": self.n,
            "epsilon": str(self.exact_epsilon),
            "records": self.shape,
            "feasible": self.feasible,
            "verdict": self.verdict,
            "errors": self.how,
            "expected": rows,
            "error": self.error,
            "needed": needed,
            "choices": {choice.option: choice.times for choice in self.choices},
        }
        return json.dumps(facts, indent=indent, allow_nan=False)

    def _needed(self, error: float | None) -> dict[str, float | None]:
        n, epsilon = self.records_needed(error), self.epsilon_needed(error)
        return {"records": n, "epsilon": epsilon}

    def __repr__(self) -> str:
        found = self.rows()
        width = max(len(label) for label, _ in found)
        # What the records look like is a list of facts: a line for each.
        lines = [
            (label if not at else "", part)
            for label, text in found
            for at, part in enumerate(_FACTS.split(text) if label == "records" else [text])
        ]
        head = ("", "error", "privacy noise", "sampling error", "noise / sampling")
        body = [head, *self.table()]
        wide = [max(len(row[i]) for row in body) for i in range(len(head))]
        table = [
            "  ".join(
                [
                    row[0].ljust(wide[0]),
                    *(c.rjust(w) for c, w in zip(row[1:], wide[1:], strict=True)),
                ]
            )
            for row in body
        ]
        return "\n".join([*(f"{label:<{width}}  {text}" for label, text in lines), "", *table])

    def _repr_html_(self) -> str:
        picture = "" if self._errors is None else self.to_svg()
        return f"<pre style='white-space:pre-wrap'>{escape(repr(self))}</pre>{picture}"


def times_plain(errors: Sequence[Expected]) -> float:
    """Return the largest error in units of the one without privacy."""
    return max(each.times for each in errors)


def _fine(error: float | None) -> Callable[[Sequence[Expected]], bool]:
    if error is None:
        return worth
    return lambda errors: worst(errors) <= error


def _short(number: float) -> str:
    if not isfinite(number):
        return "-"
    text = f"{number:.3g}"
    return f"{float(text):.0f}" if "e+" in text and number < _LONG else text
