"""The NumPy calls that a traced function may make, and what each becomes; others are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kng.core.traced.graph import COMPARED, ONE, SELECT, TWO
from kng.core.traced.tracer import NotTraced, Tracer, Tracing, mapped, shown

# Powers by products, up to this one.
_MOST = 64
_SWAPPED = {"greater": "less", "greater_equal": "less_equal"}
_BITS = {
    "bitwise_and": "and",
    "bitwise_or": "or",
    "logical_and": "and",
    "logical_or": "or",
    "invert": "not",
    "logical_not": "not",
}
_SAME = {"fabs": "absolute", "true_divide": "divide"}


def ufunc_called(
    tracing: Tracing, ufunc: Any, method: str, inputs: Sequence[Any], options: Any
) -> Any:
    """Return what a ufunc is of tracers."""
    name = str(getattr(ufunc, "__name__", ufunc))
    call = f"np.{name}"
    if method != "__call__" or options:
        raise NotTraced(f"{call}.{method} with {', '.join(options) or 'no option'} is not listed.")
    if name == "power":
        return _power(tracing, *inputs)
    given = [tracing.traced(v, call) for v in inputs]
    if name == "matmul":
        return _product(*given)
    if name in _BITS:
        if not all(t.logical for t in given):
            raise NotTraced(f"{call} is for comparisons, as in (x > 0) & (y > 0).")
        return mapped(_BITS[name], *given)
    numbers = [t.numbers() for t in given]
    if name in _SWAPPED:
        return mapped(_SWAPPED[name], *reversed(numbers))
    name = _SAME.get(name, name)
    if name in ONE or name in TWO or name in COMPARED:
        return mapped(name, *numbers)
    if name in _UFUNCS:
        return _UFUNCS[name](*numbers)
    raise NotTraced(f"{call} is not one of the operations that can be traced.")


def function_called(tracing: Tracing, call: Any, args: Any, options: Any) -> Any:
    """Return what a function of NumPy is of tracers."""
    name = str(getattr(call, "__name__", call))
    if name not in _FUNCTIONS:
        raise NotTraced(
            f"np.{name} is not one of the operations that can be traced, which act on one "
            f"{tracing.words.one} at a time."
        )
    try:
        return _FUNCTIONS[name](tracing, *args, **options)
    except TypeError as error:
        if isinstance(error, NotTraced):
            raise
        raise NotTraced(f"np.{name} takes an option that is not listed: {error}.") from None


def method_of(tracer: Tracer, name: str) -> Callable[..., Any]:
    """Return a method of an array."""
    if name not in _METHODS:
        raise NotTraced(f"the attribute or method {name!r} of a column or theta is not listed.")

    def call(*args: Any, **options: Any) -> Any:
        return function_called(tracer.tracing, _Named(name), (tracer, *args), options)

    return call


class _Named:
    """A function by its name."""

    def __init__(self, name: str) -> None:
        self.__name__ = name


def _power(tracing: Tracing, base: Any, exponent: Any) -> Tracer:
    """Return a power: by products if it is whole, a root if it is a half, else by exp and log."""
    given = tracing.traced(base, "np.power").numbers()
    if isinstance(exponent, Tracer) or np.ndim(exponent):
        return _exponential(given, tracing.traced(exponent, "np.power").numbers())
    number = float(exponent)
    one = tracing.traced(1.0, "np.power")
    if number == int(number) and abs(number) <= _MOST:
        found = _whole_power(given, abs(int(number)), one)
        return mapped("divide", one, found) if number < 0 else found
    if abs(number) == 0.5:
        root = mapped("sqrt", given)
        return root if number > 0 else mapped("divide", one, root)
    return _exponential(given, tracing.traced(number, "np.power"))


def _exponential(base: Tracer, exponent: Tracer) -> Tracer:
    return mapped("exp", mapped("multiply", exponent, mapped("log", base)))


def _whole_power(base: Tracer, exponent: int, one: Tracer) -> Tracer:
    if not exponent:
        return Tracer(base.tracing, np.broadcast_to(one.places, base.places.shape), base.axis)
    if exponent == 1:
        return base
    half = mapped("square", _whole_power(base, exponent // 2, one))
    return mapped("multiply", half, base) if exponent % 2 else half


def _product(left: Tracer, right: Tracer) -> Tracer:
    """Return left @ right as sums of products, in the order of the columns."""
    left, right = left.numbers(), right.numbers()
    words = left.tracing.words
    if not left.ndim or not right.ndim or right.ndim > 2:
        raise NotTraced("np.matmul is for tables and vectors.")
    if left.axis == left.ndim - 1 or right.axis == max(right.ndim - 2, 0):
        raise NotTraced(f"np.matmul sums over the {words.several}; {words.rule}.")
    terms = left.shape[-1]
    if terms != right.shape[max(right.ndim - 2, 0)]:
        raise NotTraced(f"np.matmul cannot multiply {shown(left)} by {shown(right)}.")
    if right.axis is not None and left.ndim > 1:
        raise NotTraced(f"np.matmul needs the {words.several} on the left, as in X @ theta.")
    total: Tracer | None = None
    for k in range(terms):
        row = right[k] if right.ndim == 1 else right[k, :]
        each = left[..., k]
        if right.ndim == 2 and left.ndim > 1:
            each = each[..., None]
        part = mapped("multiply", each, row)
        total = part if total is None else mapped("add", total, part)
    if total is None:
        raise NotTraced("np.matmul has nothing to add up.")
    return total


def _along(operation: str, name: str) -> Callable[..., Tracer]:
    """Return a reduction over columns, by one operation from the first to the last."""

    def reduce(tracing: Tracing, value: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
        given = tracing.traced(value, f"np.{name}").numbers()
        if axis is None and (given.axis is not None or given.ndim != 1):
            if given.axis is None:
                raise NotTraced(f"np.{name} needs an axis.")
            raise NotTraced(
                f"np.{name} without an axis goes over the {tracing.words.several}; "
                f"{tracing.words.rule}. Over columns, use axis=1."
            )
        along = _axis(0 if axis is None else axis, given, name)
        if along == given.axis:
            raise NotTraced(
                f"np.{name} over axis {along} goes over the {tracing.words.several}; "
                f"{tracing.words.rule}."
            )
        cut: list[Any] = [slice(None)] * given.ndim
        total: Tracer | None = None
        for k in range(given.shape[along]):
            cut[along] = k
            part = given[tuple(cut)]
            total = part if total is None else mapped(operation, total, part)
        if total is None:
            raise NotTraced(f"np.{name} has nothing to go over.")
        if name == "mean":
            total = mapped("divide", total, tracing.traced(float(given.shape[along]), "np.mean"))
        if keepdims:
            new: list[Any] = [slice(None)] * total.ndim
            new.insert(along, None)
            total = total[tuple(new)]
        return total

    return reduce


def _axis(axis: Any, tracer: Tracer, name: str) -> int:
    if not isinstance(axis, int | np.integer) or not -tracer.ndim <= axis < tracer.ndim:
        raise NotTraced(f"np.{name} has axis={axis!r} for an array of shape {shown(tracer)}.")
    return int(axis) % tracer.ndim


def _refused_over_rows(name: str) -> Callable[..., Tracer]:
    def refuse(tracing: Tracing, *args: Any, **options: Any) -> Tracer:  # noqa: ARG001
        words = tracing.words
        raise NotTraced(f"np.{name} looks at several {words.several} at once; {words.rule} alone.")

    return refuse


def _where(tracing: Tracing, mask: Any, yes: Any = None, no: Any = None) -> Tracer:
    if yes is None or no is None:
        raise NotTraced("np.where needs three arguments: what if true, and what if false.")
    asked = tracing.traced(mask, "np.where")
    if not asked.logical:
        asked = mapped("not_equal", asked, tracing.traced(0.0, "np.where"))
    return mapped(SELECT, asked, *(tracing.traced(v, "np.where").numbers() for v in (yes, no)))


def _clip(tracing: Tracing, value: Any, low: Any = None, high: Any = None, **ends: Any) -> Tracer:
    found = tracing.traced(value, "np.clip").numbers()
    for operation, end in (
        ("maximum", ends.pop("min", ends.pop("a_min", low))),
        ("minimum", ends.pop("max", ends.pop("a_max", high))),
    ):
        if end is not None:
            found = mapped(operation, found, tracing.traced(end, "np.clip").numbers())
    if ends:
        raise NotTraced(f"np.clip takes {', '.join(ends)}, which is not listed.")
    return found


def _stack(tracing: Tracing, arrays: Any, axis: int = 0) -> Tracer:
    given = [tracing.traced(v, "np.stack").numbers() for v in arrays]
    shapes = {(t.places.shape, t.axis) for t in given}
    depth = given[0].ndim + 1 if given else 1
    if any(t.axis is not None for t in given):  # numbers beside columns are the same for all
        given = [_as_column(t, given) for t in given]
        shapes = {(t.places.shape, t.axis) for t in given}
        depth = given[0].ndim + 1
    if len(shapes) != 1 or not -depth <= axis < depth:
        raise NotTraced("np.stack needs arrays of one shape.")
    at = axis % depth
    rows = given[0].axis
    if rows is not None and at <= rows:
        rows += 1
    return Tracer(tracing, np.stack([t.places for t in given], axis=at), rows)


def _as_column(tracer: Tracer, beside: Sequence[Tracer]) -> Tracer:
    if tracer.axis is not None or tracer.ndim:
        return tracer
    like = next(t for t in beside if t.axis is not None)
    places = np.broadcast_to(tracer.places, like.places.shape)
    return Tracer(tracer.tracing, places, like.axis)


def _concatenate(tracing: Tracing, arrays: Any, axis: int = 0) -> Tracer:
    given = [tracing.traced(v, "np.concatenate").numbers() for v in arrays]
    at = _axis(axis, given[0], "concatenate")
    axes = {t.axis for t in given}
    if len(axes) != 1 or len({t.ndim for t in given}) != 1:
        raise NotTraced("np.concatenate needs arrays of one kind; use np.stack for columns.")
    if at == given[0].axis:
        words = tracing.words
        raise NotTraced(
            f"np.concatenate puts {words.several} behind {words.several}; {words.rule}."
        )
    try:
        places = np.concatenate([t.places for t in given], axis=at)
    except ValueError as error:
        raise NotTraced(f"np.concatenate: {error}.") from None
    return Tracer(tracing, places, given[0].axis)


def _column_stack(tracing: Tracing, arrays: Any) -> Tracer:
    given = [tracing.traced(v, "np.column_stack").numbers() for v in arrays]
    given = [_as_column(t, given) if any(g.axis is not None for g in given) else t for t in given]
    return _concatenate(tracing, [t[:, None] if t.ndim == 1 else t for t in given], 1)


def _vstack(tracing: Tracing, arrays: Any) -> Tracer:
    given = [tracing.traced(v, "np.vstack").numbers() for v in arrays]
    return _stack(tracing, given) if given[0].ndim < 2 else _concatenate(tracing, given)


def _filled(value: float | None, name: str) -> Callable[..., Tracer]:
    def fill(tracing: Tracing, like: Any, fill_value: Any = None, **options: Any) -> Tracer:
        if options.pop("dtype", float) not in (float, np.float64, None) or options:
            raise NotTraced(f"np.{name} takes an option that is not listed.")
        given = tracing.traced(like, f"np.{name}")
        number = tracing.traced(fill_value if value is None else value, f"np.{name}")
        places = np.broadcast_to(number.places, given.places.shape)
        return Tracer(tracing, places, given.axis)

    return fill


def _logaddexp(left: Tracer, right: Tracer) -> Tracer:
    """Return log(exp(a) + exp(b)) = a + softplus(b - a)."""
    return mapped("add", left, mapped("softplus", mapped("subtract", right, left)))


def _astype(tracing: Tracing, value: Any, dtype: Any = float, **options: Any) -> Tracer:
    if dtype not in (float, np.float64, "float", "float64", "f8") or options:
        raise NotTraced("astype makes something else than float64, which all numbers are.")
    return tracing.traced(value, "astype").numbers()


def _same(tracing: Tracing, value: Any, **options: Any) -> Tracer:
    if options:
        raise NotTraced("copy takes an option that is not listed.")
    return tracing.traced(value, "copy")


def _transpose(tracing: Tracing, value: Any, axes: Any = None) -> Tracer:
    if axes is not None:
        raise NotTraced("np.transpose takes axes, which are not listed.")
    return tracing.traced(value, "np.transpose").T


def _dot(tracing: Tracing, left: Any, right: Any) -> Tracer:
    pair = [tracing.traced(v, "np.dot") for v in (left, right)]
    if not all(t.ndim for t in pair):
        return mapped("multiply", *(t.numbers() for t in pair))
    return _product(*pair)


_UFUNCS: dict[str, Callable[..., Tracer]] = {
    "positive": lambda x: x,
    "reciprocal": lambda x: mapped("divide", x.tracing.traced(1.0, "np.reciprocal"), x),
    "logaddexp": _logaddexp,
}
_OVER_COLUMNS = {
    name: _along(operation, name)
    for name, operation in {
        "sum": "add",
        "prod": "multiply",
        "mean": "add",
        "max": "maximum",
        "min": "minimum",
        "amax": "maximum",
        "amin": "minimum",
    }.items()
}
_SEVERAL = {
    name: _refused_over_rows(name)
    for name in (
        "sort", "argsort", "median", "quantile", "percentile", "cumsum", "cumprod", "diff", "roll",
        "flip", "std", "var", "average", "unique", "searchsorted", "ptp", "nanmean", "nansum",
        "argmax", "argmin", "any", "all", "count_nonzero", "cov", "corrcoef", "convolve",
    )
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Tracer]] = {
    **_OVER_COLUMNS,
    **_SEVERAL,
    "where": _where,
    "clip": _clip,
    "stack": _stack,
    "concatenate": _concatenate,
    "column_stack": _column_stack,
    "vstack": _vstack,
    "zeros_like": _filled(0.0, "zeros_like"),
    "ones_like": _filled(1.0, "ones_like"),
    "full_like": _filled(None, "full_like"),
    "transpose": _transpose,
    "dot": _dot,
    "copy": _same,
    "astype": _astype,
}
_METHODS = (*_OVER_COLUMNS, *_SEVERAL, "clip", "transpose", "dot", "copy", "astype")
