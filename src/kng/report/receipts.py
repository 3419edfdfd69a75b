"""Receipts from files: as JSON, or in a page that was made of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from kng.core.errors import SpecError
from kng.core.release import Release
from kng.estimators.batch import stored_receipts

# The class of the elements of a page that hold receipts.
RECEIPT = "receipt"


@dataclass(frozen=True, slots=True)
class Receipt:
    """A release, and the text that it was read from."""

    release: Release
    text: str
    called: str = "receipt.json"
    in_page: bool = False

    @classmethod
    def of(cls, release: Release) -> Receipt:
        """Return the receipt of a release that was just made."""
        return cls(release, release.to_json(indent=2))

    @property
    def body(self) -> Any:
        """What the text says; layout does not matter."""
        return json.loads(self.text)

    def is_stored_as(self, body: Any) -> bool:
        """Tell whether another text says the same; 1, 1.0 and true are not the same."""
        one, other = (json.dumps(each, sort_keys=True) for each in (self.body, body))
        return one == other


def read_receipts(path: str) -> list[Receipt]:
    """Return the receipts in a file: one in JSON, or those of a page.

    Parameters
    ----------
    path : str
        What ``--out`` or ``kng report`` has written.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a text"
        raise SpecError(f"cannot read the receipt {path} ({reason}). Check the path.") from None
    texts, paged = [text], text.lstrip().startswith("<")
    if paged:
        reader = _Pages()
        reader.feed(text)
        reader.close()
        texts = reader.found
    if not texts:
        raise SpecError(f"{path} holds no receipt. Give what --out has written.")
    found = []
    try:
        for one in [receipt for text in texts for receipt in _single(text)]:
            found.append(Receipt(Release.from_json(one), one, Path(path).name, paged))
    except SpecError as error:
        raise SpecError(f"{path} is not a receipt: {error.message}") from None
    return found


def _single(text: str) -> list[str]:
    """Return the receipts of a text; what is none is left to who reads it."""
    try:
        return stored_receipts(text)
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return [text]


class _Pages(HTMLParser):
    """Collects the receipts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a receipt."""
        if tag == "pre" and ("class", RECEIPT) in attrs:
            self._inside = True
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        """End a receipt."""
        if tag == "pre":
            self._inside = False

    def handle_data(self, data: str) -> None:
        """Go on with a receipt."""
        if self._inside:
            self.found[-1] += data
