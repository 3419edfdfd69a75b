"""Parts of a traced array: entries of theta, columns of a table, new axes; never some rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from kng.core.traced.tracer import NotTraced, Tracer

_WHOLE = slice(None)


def indexed(tracer: Tracer, key: Any) -> Tracer:
    """Return tracer[key] for whole numbers, slices, new axes and an ellipsis."""
    keys = list(key) if isinstance(key, tuple) else [key]
    for each in keys:
        if not (each is None or each is Ellipsis or isinstance(each, int | np.integer | slice)):
            raise NotTraced(
                f"it picks entries by a {type(each).__name__}, as in column[mask]; use np.where."
            )
    taken = sum(each is not None and each is not Ellipsis for each in keys)
    if Ellipsis not in keys:
        keys.append(Ellipsis)
    at = next(i for i, each in enumerate(keys) if each is Ellipsis)
    keys[at : at + 1] = [_WHOLE] * (tracer.ndim - taken)
    axis, old, new = None, 0, 0
    for each in keys:
        if each is None:
            new += 1
            continue
        if old == tracer.axis:
            if not isinstance(each, slice) or each != _WHOLE:
                several = tracer.tracing.words.several
                raise NotTraced(f"it picks {several} by their place, as in column[0]; it may not.")
            axis = new
        old += 1
        new += isinstance(each, slice)
    try:
        places = tracer.places[tuple(keys)]
    except IndexError as error:
        raise NotTraced(f"an index does not fit: {error}.") from None
    return Tracer(tracer.tracing, np.asarray(places), axis)
