"""What a caller's function gets instead of arrays: it notes operations and holds no number.

A tracer has the shape of the array that it stands for. One of its axes may be that of the records,
or of the rows of theta; along it there is one cell for all of them, so nothing can be told apart,
added up or sorted there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import IncompatibleParts
from kng.core.traced.graph import SELECT, Draft

Places = NDArray[np.int64]


class NotTraced(IncompatibleParts):
    """A function does what no graph of single records can do."""


class Words(NamedTuple):
    """What messages call the rows of arrays: one of them, several, and why one is by itself."""

    one: str
    several: str
    rule: str


class Tracing:
    """One run of a function: its draft, and how many rows it is told there are."""

    def __init__(self, rows: int, words: Words) -> None:
        self.draft = Draft()
        self.rows, self.words = rows, words

    def traced(self, value: Any, call: str) -> Tracer:
        """Return a tracer for a number, an array of numbers or a tracer."""
        if isinstance(value, Tracer):
            if value.tracing is not self:
                raise NotTraced("it keeps a column or theta of an earlier call; use this call's.")
            return value
        if isinstance(value, list | tuple) and any(isinstance(v, Tracer) for v in value):
            raise NotTraced(f"{call} was given a list of columns; use np.stack(..., axis=1).")
        try:
            array = np.asarray(value)
            if array.dtype.kind not in "biuf":
                raise TypeError
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise NotTraced(f"{call} was given {type(value).__name__}, not numbers.") from None
        axis = None
        if array.ndim and self.rows in array.shape:
            axis = array.shape.index(self.rows)
            array = self._one_row(array, axis)
        places = np.array([self.draft.number(v) for v in array.ravel().tolist()], dtype=np.int64)
        return Tracer(self, places.reshape(array.shape), axis)

    def _one_row(self, array: Any, axis: int) -> Any:
        """Return an array along the rows as one of them; it must not tell them apart."""
        first = np.take(array, [0], axis)
        if not ((array == first) | (np.isnan(array) & np.isnan(first))).all():
            one = self.words.one
            raise NotTraced(f"it has an array whose entries differ from {one} to {one}.")
        return first


class Tracer:
    """An array whose cells are places of a draft; ``axis`` is that of the rows, if any."""

    __array_priority__ = 1000.0
    __slots__ = ("_tracing", "axis", "places")

    def __init__(self, tracing: Tracing, places: Places, axis: int | None) -> None:
        self._tracing, self.places, self.axis = tracing, places, axis

    @property
    def tracing(self) -> Tracing:
        """The run that it belongs to."""
        return self._tracing

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array that it stands for."""
        shape = list(self.places.shape)
        if self.axis is not None:
            shape[self.axis] = self._tracing.rows
        return tuple(shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.places.ndim

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(np.prod(self.shape))

    @property
    def T(self) -> Tracer:  # noqa: N802 - NumPy's name
        """The transpose."""
        axis = None if self.axis is None else self.ndim - 1 - self.axis
        return Tracer(self._tracing, self.places.T, axis)

    @property
    def logical(self) -> bool:
        """Whether it holds answers rather than numbers."""
        cells = self._tracing.draft.cells
        kinds = {cells[i].logical for i in self.places.ravel().tolist()}
        if len(kinds) > 1:
            raise NotTraced("it puts numbers and comparisons into one array.")
        return kinds == {True}

    def numbers(self) -> Tracer:
        """Return it with 1 for true and 0 for false."""
        if not self.places.size or not self.logical:
            return self
        one, zero = (self._tracing.traced(v, "where") for v in (1.0, 0.0))
        return mapped(SELECT, self, one, zero)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tracer]:
        if not self.ndim or self.axis == 0:
            raise NotTraced(f"it goes through the {self._tracing.words.several} one by one.")
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> NoReturn:
        raise NotTraced("it decides by a cell, as `if`, `and` or `while` do; use np.where.")

    def _opaque(self, *_: Any, **__: Any) -> NoReturn:
        raise NotTraced(
            "it turns a column or theta into a plain array or number, as float(), np.array and "
            "np.asarray do; compute with it directly, and use np.stack for several."
        )

    __float__ = __int__ = __index__ = __complex__ = __array__ = _opaque

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise NotTraced("it writes into an array; use np.where.")

    def __getitem__(self, key: Any) -> Tracer:
        from kng.core.traced.indexing import indexed

        return indexed(self, key)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from kng.core.traced.numpy_calls import ufunc_called

        return ufunc_called(self._tracing, ufunc, method, inputs, options)

    def __array_function__(self, call: Any, types: Any, args: Any, options: Any) -> Any:
        from kng.core.traced.numpy_calls import function_called

        return function_called(self._tracing, call, args, options)

    def __getattr__(self, name: str) -> Any:
        from kng.core.traced.numpy_calls import method_of

        if name.startswith("__"):
            raise AttributeError(name)
        return method_of(self, name)


def _operator(name: str, *, swapped: bool = False) -> Callable[..., Any]:
    ufunc = getattr(np, name)

    def operate(self: Tracer, *others: Any) -> Any:
        inputs = (*others, self) if swapped else (self, *others)
        return self.__array_ufunc__(ufunc, "__call__", *inputs)

    return operate


for _name, _ufunc in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "power",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "mod": "remainder",
    "floordiv": "floor_divide",
}.items():
    setattr(Tracer, f"__{_name}__", _operator(_ufunc))
    setattr(Tracer, f"__r{_name}__", _operator(_ufunc, swapped=True))
for _name, _ufunc in {
    "neg": "negative",
    "pos": "positive",
    "abs": "absolute",
    "invert": "invert",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}.items():
    setattr(Tracer, f"__{_name}__", _operator(_ufunc))
Tracer.__hash__ = None  # type: ignore[assignment]


def spread(tracers: Sequence[Tracer], call: str) -> tuple[list[Places], int | None]:
    """Return cells of one shape, as NumPy spreads arrays, and the axis of the rows."""
    depth = max(t.ndim for t in tracers)
    axes = {t.axis + depth - t.ndim for t in tracers if t.axis is not None}
    sizes = [t.shape for t in tracers]
    try:
        np.broadcast_shapes(*sizes)
    except ValueError:
        axes = {0, 1}
    if len(axes) > 1:
        shown = " and ".join(_shown(t) for t in tracers)
        raise NotTraced(
            f"{call} puts arrays of shapes {shown} together; use column[:, None] beside theta or "
            "a table."
        )
    axis = axes.pop() if axes else None
    spread_out = np.broadcast_arrays(*(t.places for t in tracers))
    if axis is not None and any(p.shape[axis] > 1 for p in spread_out):
        several = tracers[0].tracing.words.several
        raise NotTraced(f"{call} puts the {several} beside another axis; use column[:, None].")
    return [np.asarray(p) for p in spread_out], axis


def mapped(operation: str, *tracers: Tracer) -> Tracer:
    """Return an operation on each cell of arrays of one shape."""
    tracing = tracers[0].tracing
    arrays, axis = spread(tracers, f"np.{operation}")
    flat = [a.ravel().tolist() for a in arrays]
    made = [tracing.draft.cell(operation, *inputs) for inputs in zip(*flat, strict=True)]
    places = np.array(made, dtype=np.int64).reshape(arrays[0].shape)
    return Tracer(tracing, places, axis)


def _shown(tracer: Tracer) -> str:
    """Return a shape with n for the rows."""
    sizes = ["n" if i == tracer.axis else str(v) for i, v in enumerate(tracer.places.shape)]
    return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


def shown(tracer: Tracer) -> str:
    """Return the shape of a tracer as a message shows it."""
    return _shown(tracer)
