"""The columns of a regression: public facts about a table that nobody has read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kng.core.encoding import Encoding
from kng.core.protocols import Source

# Opens columns as a source.
Opening = Callable[[Encoding], Source]
# Finds out what columns there are, and how to open them.
Look = Callable[[], tuple["Columns", "Openings"]]


@dataclass(frozen=True, slots=True)
class Openings:
    """How to open covariates and, last, the response; and the response alone."""

    table: Opening
    response: Opening


@dataclass(frozen=True, slots=True)
class Columns:
    """How many covariates there are and, where the data name them, what they are called."""

    width: int
    names: tuple[str, ...] | None = None
    response: str = "response"

    @property
    def covariates(self) -> tuple[str, ...]:
        """What a receipt calls the covariates."""
        return self.names or tuple(f"x{j}" for j in range(self.width))

    @property
    def target(self) -> str:
        """What a receipt calls the response."""
        return self._apart(self.response)

    @property
    def intercept(self) -> str:
        """What a receipt calls the prediction where all covariates are 0."""
        return self._apart("intercept")

    def _apart(self, name: str) -> str:
        """Put a name of ours into brackets if a covariate has it."""
        while name in self.covariates:
            name = f"({name})"
        return name
