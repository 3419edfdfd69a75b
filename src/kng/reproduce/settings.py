"""What a researcher may ask of an experiment: the paper's setting, a quick one, or an own one.

Numbers arrive as text and are read exactly. An own setting writes files of its own, whose name says
what was set, so that the paper's tables are never written over.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any
from zlib import crc32

from kng.core.errors import KngError, SpecError
from kng.core.exact import exact, positive, show
from kng.reproduce import figure1, figure2, theorem
from kng.reproduce.constants import truth as usual_truth

# Branch and bound draws exactly up to so many coefficients.
_MOST_PLANE = 5
# The first line of a run holds the result of a task with n = 100, which needs two records for each
# coefficient.
_MOST_LINEAR = 50
_LARGEST_N = {"figure1": 10**9, "figure2": 10**7, "theorem": 10**8}
_LARGEST_NAME = 80
_NOT_FOR = {
    ("figure1", "tau"): "--tau is for figure2: least squares has no quantile.",
    ("theorem", "tau"): "--tau is for figure2: the theorem is shown at the median.",
    ("theorem", "dim"): "--dim is for figure1 and figure2: the theorem has losses of its own.",
    ("theorem", "truth"): "--truth is for figure1 and figure2: the theorem has losses of its own.",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The words of a command; None, or no n, where the paper's are wanted."""

    n: tuple[str, ...] = ()
    replicates: str | None = None
    tau: str | None = None
    dim: str | None = None
    epsilon: str | None = None
    truth: str | None = None
    pace: str = "full"

    @property
    def given(self) -> dict[str, Any]:
        """The words that were said."""
        words = ("n", "replicates", "tau", "dim", "epsilon", "truth")
        return {word: said for word in words if (said := getattr(self, word))}

    @property
    def own(self) -> bool:
        """Whether anything differs from the paper's setting."""
        return bool(self.given)

    def refuse_all(self, name: str) -> None:
        """Refuse any setting where every computation has one of its own."""
        for word in self.given:
            raise SpecError(f"--{word} is not for {name}: every witness has numbers of its own.")

    def figure1(self) -> figure1.Figure1:
        """Return linear regression with these settings."""
        quick = {"sizes": (10**2, 10**3, 10**4, 10**5), "replicates": 20}
        return figure1.Figure1(**self._asked("figure1", quick, _MOST_LINEAR, 12))

    def figure2(self) -> figure2.Figure2:
        """Return quantile regression with these settings."""
        quick = {"sizes": (10, 10**2, 10**3, 10**4), "replicates": 10}
        asked = self._asked("figure2", quick, _MOST_PLANE, 2)
        if self.tau is not None:
            asked["tau"] = _tau(self.tau)
        return figure2.Figure2(**asked)

    def theorem(self) -> theorem.Theorem:
        """Return Theorem 3.2 with these settings."""
        quick = {"sizes": (10**3, 10**4), "replicates": 2, "draws": 1000}
        return theorem.Theorem(**self._asked("theorem", quick, _MOST_LINEAR, 12))

    def told(self) -> str:
        """Return the settings as a title says them."""
        words = []
        if self.dim is not None or self.truth is not None:
            words.append(f"θ* = ({self.truth})" if self.truth else f"d = {self.dim}")
        words += [f"τ = {self.tau}"] * (self.tau is not None)
        words += [f"ε = {self.epsilon}"] * (self.epsilon is not None)
        words += [f"n = {', '.join(self.n)}"] * bool(self.n)
        some = "replicate" if self.replicates == "1" else "replicates"
        words += [f"{self.replicates} {some}"] * (self.replicates is not None)
        return "; ".join(words)

    def _asked(self, name: str, quick: dict[str, Any], most: int, usual: int) -> dict[str, Any]:
        """Return what an experiment is called with: nothing that was not said."""
        for word in self.given:
            if (name, word) in _NOT_FOR:
                raise SpecError(_NOT_FOR[name, word])
        asked: dict[str, Any] = dict(quick) if self.pace == "quick" else {}
        dim = usual
        if self.dim is not None or self.truth is not None:
            asked["truth"] = self._truth(most)
            dim = len(asked["truth"])
        if self.epsilon is not None:
            asked["epsilon"] = _epsilon(self.epsilon)
        if self.replicates is not None:
            asked["replicates"] = _whole("--replicates", self.replicates, 1, 10**6)
        if self.n:
            # Fewer records do not determine a fit; and the theorem's smallest sample has 100.
            least = 100 if name == "theorem" else 2 * dim
            asked["sizes"] = tuple(
                sorted({_whole("--n", n, least, _LARGEST_N[name]) for n in self.n})
            )
        slug = self._slug()
        if self.pace == "quick" or slug:
            asked["name"] = "-".join([name, *["quick"] * (self.pace == "quick"), *slug])
        return asked

    def _slug(self) -> list[str]:
        """Return the settings as a file is named; long ones end in a checksum."""
        parts = [
            word + ("_".join(said) if isinstance(said, tuple) else said).replace(",", "_")
            for word, said in self.given.items()
        ]
        name = "-".join(parts).replace("/", "over").replace(" ", "")
        if len(name) > _LARGEST_NAME:
            name = f"{name[: _LARGEST_NAME - 9]}-{crc32(name.encode()):08x}"
        return [name] * bool(name)

    def _truth(self, most: int) -> tuple[float, ...]:
        dim = None if self.dim is None else _whole("--dim", self.dim, 2, most)
        if self.truth is None:
            assert dim is not None
            return usual_truth(dim)
        words = [word.strip() for word in self.truth.split(",")]
        try:
            found = tuple(float(exact(word, "--truth")) for word in words)
        except KngError:
            found = ()
        if len(found) < 2 or not all(map(isfinite, found)):
            raise SpecError(
                "--truth must be two coefficients or more with commas between them, the intercept "
                f"first, as in 0,-1,0.5; got {self.truth!r}."
            )
        if len(found) > most:
            raise SpecError(f"--truth may have {most} coefficients here, got {len(found)}.")
        if dim is not None and dim != len(found):
            raise SpecError(
                f"--dim {dim} and a --truth of {len(found)} coefficients differ; give one of them."
            )
        return found


def _tau(text: str) -> Fraction:
    try:
        tau = exact(text, "--tau")
    except KngError:
        tau = Fraction(0)
    if not 0 < tau < 1:
        raise SpecError(f"--tau must lie strictly between 0 and 1, got {text!r}.")
    return tau


def _epsilon(text: str) -> Fraction:
    try:
        epsilon = positive(text, "--epsilon")
    except KngError:
        raise SpecError(f"--epsilon must be a positive number, got {text!r}.") from None
    if not Fraction(1, 1000) <= epsilon <= 1000:
        raise SpecError(f"--epsilon must lie between 0.001 and 1000 here, got {show(epsilon)}.")
    return epsilon


def _whole(name: str, text: str, least: int, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise SpecError(
            f"{name} must be a whole number between {least:,} and {most:,} here, got {text!r}."
        )
    return number
