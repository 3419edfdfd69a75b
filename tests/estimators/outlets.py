"""Everything that leaves a fit other than its coefficients."""

from __future__ import annotations

import dataclasses
import json
import logging
import random
import re
import warnings
from typing import Any

import numpy as np

import kng
from kng.core import receipt_text


def receipt(release: kng.Release) -> dict[str, Any]:
    """Return what a release shows, without its value and what is predicted from it."""
    written = json.loads(release.to_json())
    written.pop("noise", None)
    lines, cells = repr(release).splitlines(), "\0"
    if (table := receipt_text.table_of(release)) is not None:
        lines, cells = lines[lines.index("") + 1 :], table.html()
    page = re.sub("<b>.*?</b>", "", release._repr_html_())
    drawn = dict(release.rows()).get("also released", "\0")
    return {
        "facts": {
            field.name: getattr(release, field.name)
            for field in dataclasses.fields(release)
            if field.name not in ("integers", "noise")
        },
        "size": (len(written.pop("value")), len(written.pop("integers"))),
        "also": list(written.pop("also", {})),
        "json": written,
        "text": [lines[0].split("  ")[0], *(line.replace(drawn, "") for line in lines[1:])],
        "html": page.replace(drawn, "").replace(cells, ""),
    }


def attributes(fitted: Any) -> dict[str, Any]:
    """Return what a fitted model holds, without the coefficients."""
    held = dict(vars(fitted))
    coef, intercept, release = (held.pop(name) for name in ("coef_", "intercept_", "release_"))
    held.pop("ledger")
    if release.also:
        assert held.pop("threshold_") == release.also["threshold"]
    names = held.pop("feature_names_in_", np.array([]))
    return {
        **held,
        "names": names.tolist(),
        "coefficients": (coef.shape, coef.dtype, type(intercept)),
        "receipt": receipt(release),
    }


def surroundings() -> dict[str, Any]:
    """Return state of the process that a fit might disturb."""
    return {
        "floating point": np.geterr(),
        "printing": np.get_printoptions(),
        "filters": list(warnings.filters),
        "random": random.getstate(),
        "numpy random": (np.random.get_state()[1].tolist(), np.random.get_state()[2]),
        "handlers": list(logging.getLogger().handlers),
    }


def outlet(model: Any, X: Any, y: Any, capfd: Any, caplog: Any) -> dict[str, Any]:
    """Fit, check that nothing was said or changed, and return what else there is to see."""
    before = surroundings()
    capfd.readouterr()
    caplog.clear()
    with warnings.catch_warnings(record=True) as warned, caplog.at_level(1):
        warnings.simplefilter("always")
        left = attributes(model.fit(X, y))
    assert capfd.readouterr() == ("", "")
    left["log"] = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert [str(w.message) for w in warned] == []
    assert surroundings() == before
    assert np.all(np.isfinite(model.coef_))
    assert np.isfinite(model.intercept_)
    return left
