"""Where records live, and the one door through which they enter."""

from kng.data.csv import CsvSource
from kng.data.memory import MemorySource
from kng.data.source import open_regression, open_source

__all__ = ["CsvSource", "MemorySource", "open_regression", "open_source"]
