"""Looking at a budget needs no write access.

On 0.1 (commit e301d72) ``kng budget show`` fails in a directory that may not be written: SQLite
makes a file there before it reads one in WAL mode.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ledger.mounts import may_mount
from ledger.test_names import WORKER

from kng.ledger import Ledger

NOBODY = 65534

needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, to become somebody else"
)


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that others may enter, unlike those of pytest."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


@pytest.fixture
def spent(place: Path, event) -> Path:
    ledger = Ledger(place / "budget.db", cap=1)
    ledger.settle(ledger.reserve(event(), parameters="{}"), "x")
    return ledger.path


def old(place: Path, name: str) -> Path:
    with zipfile.ZipFile(Path(__file__).with_name("ledgers_of_0_1.zip")) as kept:
        kept.extractall(place)
    return place / f"{name}.ledger"


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., tuple[str, str, str]]:
    """Look as nobody, or as oneself where the file system may not be written."""

    def run(path: Path, *prefix: str, uid: int = NOBODY) -> tuple[str, str, str]:
        spare = Ledger(tmp_path / "spare.db", cap=1)
        done = subprocess.run(
            [*prefix, sys.executable, str(WORKER), "look", str(spare.path), str(path), str(uid)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        _, _, said = done.stdout.partition(f"as {uid}\n")
        out, _, code = said.rstrip("\n").rpartition("\n")
        return code, out, done.stderr

    return run


def freeze(path: Path) -> None:
    """Nobody but root may write to the ledger, nor beside it."""
    for file in path.parent.iterdir():
        file.chmod(0o444)
    path.parent.chmod(0o555)


@needs_root
def test_a_read_only_file(spent, look) -> None:
    spent.parent.chmod(0o777)
    spent.chmod(0o444)
    code, out, _ = look(spent)
    assert code == "0"
    assert "spent      0.1\n" in out


@needs_root
def test_a_read_only_directory(spent, look) -> None:
    freeze(spent)
    code, out, _ = look(spent)
    assert code == "0"
    assert "spent      0.1\n" in out
    assert "hash chain" in out or "whole" in out


@needs_root
@pytest.mark.parametrize(("name", "total"), [("clean", "0.2"), ("crashed", "0.4")])
def test_a_ledger_of_0_1_in_a_read_only_directory(place, look, name, total) -> None:
    path = old(place, name)
    freeze(path)
    code, out, _ = look(path)
    assert code == "0"
    assert f"spent      {total}\n" in out


@pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
@pytest.mark.parametrize("kind", ["new", "clean", "crashed"])
def test_a_read_only_file_system(spent, place, look, kind) -> None:
    path = spent if kind == "new" else old(place, kind)
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    code, out, err = look(
        path, "unshare", "-m", "sh", "-c", script, str(place), uid=os.geteuid()
    )  # fmt: skip
    assert (code, err) == ("0", "")
    assert "spent" in out


@needs_root
def test_a_charge_cut_short_must_be_undone_by_who_may_write(spent, look) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run(
        [sys.executable, str(WORKER), "torn", "committing", str(spent), "1/10"], env=environment
    )
    freeze(spent)
    code, out, err = look(spent)
    assert (code, out) == ("6", "")
    assert "was cut short, and undoing it needs write access" in err
    spent.parent.chmod(0o755)
    assert Ledger(spent).spent == Ledger(spent).history()[0].epsilon
    freeze(spent)
    assert look(spent)[0] == "0"
