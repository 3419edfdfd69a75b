"""Where records live, and the one door through which they enter."""

from kng.data.csv import CsvSource, header_of
from kng.data.labels import Labels, open_labelled, open_labelled_columns
from kng.data.memory import MemorySource, covariates_of
from kng.data.source import file_of, open_columns, open_regression, open_response, open_source

__all__ = [
    "CsvSource",
    "Labels",
    "MemorySource",
    "covariates_of",
    "file_of",
    "header_of",
    "open_columns",
    "open_labelled",
    "open_labelled_columns",
    "open_regression",
    "open_response",
    "open_source",
]
