"""Declarations checked as a whole: every fault is found, not only the first.

Each field is checked by itself, with what is valid of the fields before it, so that one fault
hides no other. Loaded only where something is declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, field_validator
from pydantic import ValidationError as Invalid
from pydantic import ValidationInfo as Info

from kng.core.errors import SpecError
from kng.data.declared.column import DeclaredColumn
from kng.data.declared.facts import bounds_in, level_in, levels_in, step_in
from kng.data.declared.faults import lines, told

_Text = StrictStr | None
_Count = Annotated[StrictInt, Field(ge=1)] | None


class _Facts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class _Column(_Facts):
    """A column; the fields stand in the order in which they are checked."""

    kind: Literal["number", "boolean", "date", "category"] | None = None
    bounds: Any = None
    step: Any = None
    levels: Any = None
    reference: Any = None
    other: Any = None

    @field_validator("bounds", mode="plain")
    @classmethod
    def _bounds(cls, value: Any, info: Info) -> Any:
        return bounds_in(value, info.data.get("kind"))

    @field_validator("step", mode="plain")
    @classmethod
    def _step(cls, value: Any, info: Info) -> Any:
        return step_in(value, info.data.get("kind"), info.data.get("bounds"))

    @field_validator("levels", mode="plain")
    @classmethod
    def _levels(cls, value: Any, info: Info) -> Any:
        return levels_in(value, info.data.get("kind"))

    @field_validator("reference", "other", mode="plain")
    @classmethod
    def _level(cls, value: Any, info: Info) -> Any:
        if "levels" not in info.data:  # they are at fault themselves, and are named so
            return value
        return level_in(value, str(info.field_name), info.data["levels"])

    def declared(self) -> DeclaredColumn:
        """Return the facts."""
        usual = "number" if self.levels is None else "category"
        return DeclaredColumn(
            self.kind or usual, self.bounds, self.step, self.levels, self.reference, self.other
        )


class _Promised(_Facts):
    relation: Literal["replace-one", "add-remove"] | None = None
    columns: dict[StrictStr, _Column] | None = None


class _Table(_Promised):
    """A table of kng.toml; beside what is declared, how its source is read."""

    table: _Text = None
    query: _Text = None
    source: _Text = Field(default=None, validate_default=True)
    ledger: _Text = None
    rows_per_record: _Count = None
    separator: _Text = None
    decimal: _Text = None
    thousands: _Text = None
    symbols: _Text = None
    encoding: _Text = None
    rows: _Text = None
    ending: _Text = None
    memory_limit: StrictStr | StrictInt | None = None
    threads: _Count = None

    @field_validator("source", mode="after")
    @classmethod
    def _source(cls, value: str | None, info: Info) -> str | None:
        if not value and (value == "" or info.data.get("query") is None):
            raise ValueError("source is missing; say where the data are, as in 'visits.csv'")
        return value


class _File(_Facts):
    tables: dict[StrictStr, _Table]


# Names that a misspelt one may stand for.
_SETTINGS = ("tables", *_Table.model_fields, *_Column.model_fields)


def columns_in(columns: Any, relation: Any) -> dict[str, DeclaredColumn] | None:
    """Return the columns that ``kng.Table`` is given, checked together with its relation."""
    own = _own_kinds(columns)
    rest = {n: c for n, c in columns.items() if n not in own} if own else columns
    try:
        checked = _Promised.model_validate({"columns": _stated(rest), "relation": relation})
        faults = []
    except Invalid as error:
        faults = lines(error, _SETTINGS)
    if faults:  # out of the handler: what was given stays out of the error's context
        raise SpecError(told("This table", faults))
    known = {**(_declared(checked) or {}), **own}
    return {name: known[name] for name in columns} if columns is not None else None


def tables_in(content: Mapping[str, Any], called: str) -> dict[str, dict[str, Any]]:
    """Return the arguments of each table of a file, checked all at once."""
    try:
        file = _File.model_validate(content)
        faults = []
    except Invalid as error:
        faults = lines(error, _SETTINGS)
    if faults:
        raise SpecError(told(called, faults))
    return {
        name: {
            **table.model_dump(exclude={"columns"}, exclude_none=True),
            "columns": _declared(table),
        }
        for name, table in file.tables.items()
    }


def _own_kinds(columns: Any) -> dict[str, Any]:
    """Return the columns that are declared by a class of `kng.columns`, which has checked them."""
    named = columns.items() if isinstance(columns, Mapping) else ()
    return {n: c for n, c in named if hasattr(type(c), "floats") and isinstance(n, str)}


def _stated(columns: Any) -> Any:
    """Return columns as they are written, those too that were checked before."""
    if not isinstance(columns, Mapping):
        return columns
    return {
        name: {fact: value for fact, value in asdict(column).items() if value is not None}
        if isinstance(column, DeclaredColumn)
        else column
        for name, column in columns.items()
    }


def _declared(table: _Promised) -> dict[str, DeclaredColumn] | None:
    if table.columns is None:
        return None
    return {name: column.declared() for name, column in table.columns.items()}
