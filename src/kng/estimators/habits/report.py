"""What was found, one item for each habit, and how it is shown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which records would leave without being paid for.

    Attributes
    ----------
    where : str
        The steps that lead to it, as in ``pipeline > scale``.
    what : str
        The class at fault.
    problem : str
        What it would release, or what it would cost.
    remedy : str
        What to do instead.
    """

    where: str
    what: str
    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Report:
    """What `kng.check` found; false where it found nothing."""

    findings: tuple[Finding, ...]

    def __bool__(self) -> bool:
        return bool(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def _headline(self) -> str:
        if not self.findings:
            return (
                "Nothing found: no step learns from the records without paying. Cross-validation "
                "and scores by function calls cannot be seen here (docs/habits.md)."
            )
        number = "One habit" if len(self) == 1 else f"{len(self)} habits"
        return f"{number} would use the records outside the privacy guarantee:"

    def __repr__(self) -> str:
        """Show each finding as a short paragraph."""
        parts = [textwrap.fill(self._headline, 100)]
        for number, found in enumerate(self.findings, 1):
            lines = [f"{number}. {found.where} ({found.what})", found.problem, found.remedy]
            parts.append(
                "\n".join(
                    textwrap.fill(line, 100, initial_indent=indent, subsequent_indent="   ")
                    for line, indent in zip(lines, ("", "   ", "   "), strict=True)
                )
            )
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li><b>{escape(found.where)}</b> ({escape(found.what)})<br>{escape(found.problem)}"
            f"<br><i>{escape(found.remedy)}</i></li>"
            for found in self.findings
        )
        colour = "#c63" if self.findings else "#3b7"
        return (
            f"<div style='border-left:3px solid {colour}; padding:.2em 0 .2em 1em'>"
            f"{escape(self._headline)}<ol>{items}</ol></div>"
        )
