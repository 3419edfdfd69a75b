"""Where records live, and the one door through which they enter."""

from kng.data.engine import Column, Engine, Kind
from kng.data.grouped import GroupedTable
from kng.data.labels import Labels
from kng.data.memory import covariates_of
from kng.data.opening import (
    open_columns,
    open_labelled,
    open_labelled_columns,
    open_regression,
    open_response,
    open_source,
)
from kng.data.present import ALL, Present
from kng.data.registry import open_table
from kng.data.source import TableSource
from kng.data.table import Table

__all__ = [
    "ALL",
    "Column",
    "Engine",
    "GroupedTable",
    "Kind",
    "Labels",
    "Present",
    "Table",
    "TableSource",
    "covariates_of",
    "open_columns",
    "open_labelled",
    "open_labelled_columns",
    "open_regression",
    "open_response",
    "open_source",
    "open_table",
]
