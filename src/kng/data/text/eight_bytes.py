"""Eight bytes of an array as one number, for compiled loops: one load, wherever they stand."""

from __future__ import annotations

import sys
from typing import Any

from numba import types
from numba.core.cgutils import pointer_add
from numba.extending import intrinsic


def _eight_at(_context: Any, data: Any, at: Any) -> Any:  # noqa: ARG001
    """Return ``data[at:at + 8]``, which must be within the array; the first byte is the lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        kind = context.get_value_type(types.uint64).as_pointer()
        place = pointer_add(builder, array.data, arguments[1], kind)  # type: ignore[no-untyped-call]
        value = builder.load(place, align=1)
        return value if sys.byteorder == "little" else builder.bswap(value)

    return types.uint64(data, types.int64), generate


eight_at: Any = intrinsic(_eight_at)
