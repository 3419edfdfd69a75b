"""Declarations checked as a whole: every fault is found, not only the first.

Each field is checked by itself, with what is valid of the fields before it, so that one fault
hides no other. Loaded only where something is declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)
from pydantic import ValidationError as Invalid
from pydantic import ValidationInfo as Info

from kng.core.errors import KngError, SpecError
from kng.data.declared.facts import bounds_in, levels_in, other_in, reference_in, step_in
from kng.data.declared.faults import lines, told
from kng.data.kinds import Boolean, Category, Date, Declared, Number

_Text = StrictStr | None
_Count = Annotated[StrictInt, Field(ge=1)] | None


class _Facts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class _Column(_Facts):
    """A column; the fields stand in the order in which they are checked."""

    kind: Literal["number", "boolean", "date", "category"] | None = None
    bounds: Any = None
    step: Any = None
    levels: Any = Field(default=None, validate_default=True)
    other: Any = None
    reference: Any = None

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
        if value is None and info.data.get("kind") != "category":
            return None
        return levels_in(value, info.data.get("kind"))

    @field_validator("other", mode="plain")
    @classmethod
    def _other(cls, value: Any, info: Info) -> Any:
        return other_in(value, info.data.get("kind"))

    @field_validator("reference", mode="plain")
    @classmethod
    def _reference(cls, value: Any, info: Info) -> Any:
        if not {"levels", "other"} <= set(info.data):  # they are at fault themselves
            return value
        return reference_in(value, info.data["levels"], info.data["other"])

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Make the declaration once; what it refuses is a fault like any other."""
        try:
            self.declared()
        except KngError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return self

    def declared(self) -> Declared:
        """Return the facts as a declaration that reads cells."""
        kind = self.kind or ("number" if self.levels is None else "category")
        if kind == "category":
            return Category(self.levels, self.reference, self.other)
        if kind == "boolean":
            return Boolean() if self.levels is None else Boolean(*reversed(self.levels))
        if kind == "date":
            timed = self.bounds is not None and isinstance(self.bounds[0], datetime)
            return Date("seconds" if timed else "days", self.bounds)
        return Number(self.bounds, self.step)


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


def columns_in(columns: Any, relation: Any) -> dict[str, Declared] | None:
    """Return the columns that ``kng.Table`` is given, checked together with its relation."""
    made: dict[str, Declared] = {}
    if isinstance(columns, Mapping):
        made = {name: column for name, column in columns.items() if _is_declaration(column)}
        columns = {name: column for name, column in columns.items() if name not in made}
    try:
        checked = _Promised.model_validate({"columns": columns, "relation": relation})
        faults = []
    except Invalid as error:
        faults = lines(error, _SETTINGS)
    if faults:  # out of the handler: what was given stays out of the error's context
        raise SpecError(told("This table", faults))
    found = _declared(checked)
    return found if found is None else {**made, **found}


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


def _is_declaration(column: Any) -> bool:
    """Tell a declaration of `kng.columns`, or one of the caller's, by what it answers."""
    return all(hasattr(type(column), name) for name in ("asks", "floats"))


def _declared(table: _Promised) -> dict[str, Declared] | None:
    if table.columns is None:
        return None
    return {name: column.declared() for name, column in table.columns.items()}
