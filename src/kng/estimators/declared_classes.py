"""Classes as callers declare them: public, and never read from the data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import SpecError
from kng.core.naming import argument
from kng.data import Labels

_LARGEST = sys.float_info.max


def declared(classes: Any) -> NDArray[Any]:
    """Return two or more distinct classes in sorted order, as scikit-learn lists them."""
    if classes is None:
        raise SpecError(
            f"{argument('classes')} is missing. Which labels there are is never read from the "
            f"data; state them, as in {argument('classes', (0, 1))} or "
            f"{argument('classes', ('no', 'yes'))}."
        )
    # An iterator is empty when it is asked again, as a fit does.
    if isinstance(classes, str | bytes | Mapping | Iterator) or not isinstance(classes, Iterable):
        raise SpecError(
            f"{argument('classes')} must be a list of labels, such as (0, 1), got {classes!r}."
        )
    found = [label.item() if isinstance(label, np.generic) else label for label in classes]
    text = all(isinstance(label, str) for label in found)
    if not text and not all(isinstance(label, Real) and _finite(label) for label in found):
        raise SpecError(
            f"{argument('classes')} must all be finite numbers or all be text, got {found!r}. Code "
            "the labels in one of the two ways."
        )
    if text and any("\ud800" <= sign <= "\udfff" for label in found for sign in label):
        raise SpecError(
            f"{argument('classes')} hold half of a character (a lone surrogate). Write it as text."
        )
    keys = [label.strip() if text else float(label) for label in found]
    twice = [label for label, key in zip(found, keys, strict=True) if keys.count(key) > 1]
    if twice:
        raise SpecError(f"{argument('classes')} name {twice[0]!r} twice. Name each label once.")
    if len(found) < 2:
        raise SpecError(
            f"{argument('classes')} must be two or more, got {len(found)}: there is nothing to "
            "tell apart. State the labels that there could be."
        )
    order = sorted(range(len(found)), key=lambda i: keys[i])
    return np.array([found[i].strip() if text else found[i] for i in order])


def _finite(label: Any) -> bool:
    """Tell whether float64 holds a number; whole numbers may be too large for it."""
    return bool(abs(label) <= _LARGEST)


def labels_of(classes: NDArray[Any]) -> Labels:
    """Return the rule that reads labels."""
    if classes.dtype.kind == "U":
        return Labels(tuple(str(label) for label in classes))
    if classes.dtype.kind == "b":
        return Labels(tuple(bool(label) for label in classes))
    return Labels(tuple(float(label) for label in classes))
