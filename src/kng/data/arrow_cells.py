"""Cells of Arrow arrays as numbers and as text, each by itself; nothing they hold can raise."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kng.data.engine import SECONDS, Column, Floats, Kind
from kng.data.text.number_columns import NumberColumns

# Decimals of so many digits are whole numbers below 2**53 over a power of ten that float64 holds,
# so that one division rounds them correctly, which Arrow's own cast does not. Longer ones are read
# as text.
_EXACT_DIGITS = 15
_FLOAT64 = pa.float64().id
_NUMBERS = NumberColumns()


def column_of(field: pa.Field) -> Column:
    """Return what a schema says of a column; floats can be NaN, which is missing too."""
    optional = field.nullable or pa.types.is_floating(field.type)
    return Column(field.name, kind_of(field.type), optional, str(field.type))


def kind_of(arrow: pa.DataType) -> Kind:
    """Return the kind of an Arrow type."""
    kinds = pa.types
    if kinds.is_dictionary(arrow):
        return kind_of(arrow.value_type)
    if kinds.is_boolean(arrow):
        return Kind.BOOLEAN
    if kinds.is_integer(arrow) or kinds.is_floating(arrow) or kinds.is_decimal(arrow):
        return Kind.NUMBER
    if kinds.is_date(arrow) or kinds.is_timestamp(arrow):
        return Kind.DATE
    if _is_text(arrow):
        return Kind.TEXT
    return Kind.CELLS if kinds.is_null(arrow) else Kind.OTHER


def floats(cells: pa.Array) -> Floats:
    """Return cells as float64, NaN where they are missing or no number; dates in seconds."""
    arrow = cells.type
    if arrow.id == _FLOAT64 and not cells.null_count:  # most of them, and quickly told
        return np.asarray(cells.to_numpy())
    if pa.types.is_dictionary(arrow):
        cells = cells.dictionary_decode()
        arrow = cells.type
    if _is_text(arrow):
        return _read(cells)
    if pa.types.is_decimal(arrow):
        return _decimals(cells)
    if kind_of(arrow) is Kind.DATE:
        return _seconds(cells)
    if kind_of(arrow) not in (Kind.NUMBER, Kind.BOOLEAN):
        return np.full(len(cells), np.nan)
    if cells.null_count:
        cells = pc.fill_null(cells.cast(pa.float64(), safe=False), np.nan)
    elif arrow != pa.float64():
        cells = cells.cast(pa.float64(), safe=False)
    return np.asarray(cells.to_numpy(zero_copy_only=False))


def words(cells: pa.Array) -> pa.BinaryArray | pa.DictionaryArray:
    """Return cells as `texts` does; a dictionary shorter than its cells stays one."""
    if not pa.types.is_dictionary(cells.type) or len(cells.dictionary) > len(cells):
        return texts(cells)
    return pa.DictionaryArray.from_arrays(cells.indices, texts(cells.dictionary))


def texts(cells: pa.Array) -> pa.BinaryArray:
    """Return cells as bytes, without spaces around them; null where they are no text."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if not _is_text(cells.type):
        return pa.nulls(len(cells), pa.binary())
    if pa.types.is_binary(cells.type) or pa.types.is_large_binary(cells.type):
        # Bytes may be no UTF-8, and making text of them would raise.
        return pa.array([cell and cell.strip() for cell in cells.to_pylist()], cells.type)
    if pa.types.is_string_view(cells.type):
        cells = cells.cast(pa.large_string())
    # Large ones stay so: a long cell would not fit into the other kind.
    large = pa.types.is_large_string(cells.type)
    return pc.ascii_trim_whitespace(cells).cast(pa.large_binary() if large else pa.binary())


def _seconds(cells: pa.Array) -> Floats:
    """Return dates and times as seconds since the beginning of 1970, rounded once."""
    days = pa.types.is_date32(cells.type)
    unit = "D" if days else "ms" if pa.types.is_date64(cells.type) else cells.type.unit
    whole = cells.view(pa.int32() if days else pa.int64())
    found = whole.fill_null(0).to_numpy(zero_copy_only=False) * SECONDS[unit][0] / SECONDS[unit][1]
    if cells.null_count:
        found[np.asarray(cells.is_null())] = np.nan
    return np.asarray(found)


def _decimals(cells: pa.Array) -> Floats:
    """Return decimals, each rounded once."""
    if not _is_short(cells.type):
        return _read(cells.cast(pa.string()))
    whole = cells.cast(pa.decimal128(_EXACT_DIGITS, cells.type.scale))
    # The lower of two words is all of a number of 15 digits. A cast may have copied a slice.
    words = np.frombuffer(whole.buffers()[1], np.int64).reshape(-1, 2)
    words = words[whole.offset : whole.offset + len(cells)]
    found = words[:, 0] / 10.0**cells.type.scale
    if cells.null_count:
        found[np.asarray(cells.is_null())] = np.nan
    return np.asarray(found)


def prepare(arrow: pa.DataType) -> None:
    """Load what reads a column of this type as numbers; called before anything is charged."""
    if pa.types.is_dictionary(arrow):
        arrow = arrow.value_type
    if _is_text(arrow) or (pa.types.is_decimal(arrow) and not _is_short(arrow)):
        _NUMBERS.prepare()


def _is_short(decimal: pa.DataType) -> bool:
    """Tell decimals that one division makes numbers."""
    return bool(decimal.precision <= _EXACT_DIGITS and 0 <= decimal.scale <= _EXACT_DIGITS)


def _read(cells: pa.Array) -> Floats:
    """Return the numbers that texts spell."""
    view = pa.types.is_string_view(cells.type)
    return _NUMBERS.array(cells.cast(pa.large_string()) if view else cells)


def _is_text(arrow: pa.DataType) -> bool:
    kinds = pa.types
    return bool(
        kinds.is_string(arrow)
        or kinds.is_large_string(arrow)
        or kinds.is_string_view(arrow)
        or kinds.is_binary(arrow)
        or kinds.is_large_binary(arrow)
    )
