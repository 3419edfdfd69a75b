"""Without the driver a sentence names what to install."""

from __future__ import annotations

import sys

import pytest

import kng


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(kng.core.errors.MissingExtra, match=r"pip install 'kng\[postgres\]'"):
        kng.median(kng.Table("postgresql://a@b/c", table="t"), bounds={"x": (0, 1)}, epsilon=1)
