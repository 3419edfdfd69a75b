"""Receipts as one page that a person can forward: HTML and SVG, complete in itself."""

from kng.report.document import History, page
from kng.report.receipts import Receipt, read_receipts

__all__ = ["History", "Receipt", "page", "read_receipts"]
