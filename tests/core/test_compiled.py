"""Compiled functions: when they are compiled, and what becomes of a cache that is no good."""

from __future__ import annotations

import importlib.util
import logging

import numpy as np
import pytest
from numba import config
from numba.core.caching import FunctionCache

from kng.core import compiled as module
from kng.core.compiled import compiled, load

INNER = """
from kng.core.compiled import compiled

@compiled("f8(f8)")
def inner(x):
    return x + {added}
"""
OUTER = """
from {inner} import inner
from kng.core.compiled import compiled

@compiled("f8(f8[::1])")
def outer(x):
    return inner(x[0])
"""
ONE = np.ones(1)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder for sources, with a cache beside them; loading them is silent."""
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(module, "_SAID", [True])
    monkeypatch.syspath_prepend(tmp_path)
    module._stamp.cache_clear()
    yield tmp_path
    module._stamp.cache_clear()


def outer(folder, added, above=None):
    """Write a function that calls one of another file, and return it as a new process would."""
    name = f"inner_{folder.name}".replace("-", "_")
    inside, outside = folder / f"{name}.py", (above or folder) / "outer.py"
    inside.write_text(INNER.format(added=added))
    outside.write_text(OUTER.format(inner=name))
    module._stamp.cache_clear()
    for path in (inside, outside):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        made = importlib.util.module_from_spec(spec)
        importlib.util.sys.modules[path.stem] = made
        spec.loader.exec_module(made)
    return made.outer


def loaded_from_cache(function):
    """Load a function; return its value, and whether its machine code was found."""
    load(function)
    return function(ONE), sum(function.stats.cache_hits.values()) == 1


def test_a_function_that_was_not_loaded_cannot_be_called():
    @compiled("f8(f8)")
    def double(x):
        return 2 * x

    with pytest.raises(TypeError):
        double(1.0)
    load(double)
    load(double)
    assert double(1.0) == 2.0
    with pytest.raises(TypeError):
        double(ONE)  # and no other signature is compiled for


def test_machine_code_is_found_again(package):
    assert loaded_from_cache(outer(package, 1.0)) == (2.0, False)
    assert loaded_from_cache(outer(package, 1.0)) == (2.0, True)


def test_a_change_in_another_file_is_noticed(package):
    """Numba's own cache goes by the function's file alone, and would answer 2."""
    assert loaded_from_cache(outer(package, 1.0)) == (2.0, False)
    assert loaded_from_cache(outer(package, 5.0)) == (6.0, False)


def test_a_change_in_another_folder_is_noticed(package):
    (package / "above").mkdir()
    assert loaded_from_cache(outer(package, 1.0, package / "above")) == (2.0, False)
    assert loaded_from_cache(outer(package, 1.0, package / "above")) == (2.0, True)
    assert loaded_from_cache(outer(package, 5.0, package / "above")) == (6.0, False)


@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
def test_a_broken_cache_is_made_anew(package, kind):
    load(outer(package, 1.0))
    for path in package.rglob(kind):
        path.write_bytes(b"broken")
    assert loaded_from_cache(outer(package, 1.0)) == (2.0, False)
    assert loaded_from_cache(outer(package, 1.0)) == (2.0, True)


def test_a_full_disk_is_no_failure(package, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FunctionCache, "save_overload", full)
    assert loaded_from_cache(outer(package, 1.0)) == (2.0, False)


def test_that_something_is_compiled_is_said_once(package, monkeypatch, caplog):
    monkeypatch.setattr(module, "_SAID", [])
    with caplog.at_level(logging.WARNING, logger="kng"):
        load(outer(package, 1.0))
        assert [record.getMessage() for record in caplog.records] == [module._KEPT]
        monkeypatch.setattr(module, "_SAID", [])
        load(outer(package, 1.0))  # from the cache
        load(outer(package, 2.0))
    assert len(caplog.records) == 2
