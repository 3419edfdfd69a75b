"""Exit codes are a promise to other programs; no failure shows a traceback or a record."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from ledger.mounts import may_mount

from kng.cli import main as cli
from kng.data import TableSource
from kng.ledger import Ledger

AGE = ("--column", "age", "--bounds", "0:120", "--epsilon", "0.5")


def test_the_codes():
    codes = (cli.OK, cli.UNFORESEEN, cli.ARGUMENT, cli.BUDGET, cli.DATA, cli.EXTRA, cli.LEDGER)
    assert codes == (0, 1, 2, 3, 4, 5, 6)
    assert (cli.CHARGED, cli.INTERRUPTED) == (70, 130)


def test_help_lists_them(run):
    text = run("--help").out
    for code in (0, 1, 2, 3, 4, 5, 6, 7, 70, 130):
        assert f"\n  {code:>5}  " in text


def test_version(shell):
    done = shell("--version")
    assert done.code == 0
    assert done.out.startswith("kng 0.")


@pytest.mark.parametrize("words", [(), ("budget",), ("mean",), ("nonsense",), ("--nonsense",)])
def test_usage(run, words):
    outcome = run(*words)
    assert outcome.code == 2
    assert "Usage: kng" in outcome.err


def test_codes_reach_the_shell(shell, ages, ledger):
    assert shell("median", ages, *AGE).code == 0
    assert shell("median", ages, *AGE, "--epsilon", "-1").code == 2
    assert shell("median", ages, *AGE, "--epsilon", "9", "--ledger", ledger.path).code == 3
    assert shell("median", "none.csv", *AGE).code == 4
    assert shell("median", ages, *AGE, "--ledger", ages).code == 6


def test_a_library_that_is_not_installed(run, ages, monkeypatch):
    from kng.core.errors import MissingExtra

    def fail(_):
        raise MissingExtra("this needs a library. Install it with: pip install library")

    monkeypatch.setattr(TableSource, "count", fail)
    outcome = run("median", ages, *AGE)
    assert (outcome.code, outcome.out) == (cli.EXTRA, "")
    assert "pip install library" in outcome.err


def test_failure_after_the_charge(run, ages, ledger, tmp_path, monkeypatch):
    def fail(*_):
        raise ValueError("record 17 says 42")

    monkeypatch.setattr(TableSource, "reduce", fail)
    out = tmp_path / "receipt.json"
    outcome = run("median", ages, *AGE, "--ledger", ledger.path, "--out", out)
    assert outcome.code == 70
    assert "failed after it was charged; the charge stays" in outcome.err
    assert "42" not in outcome.out + outcome.err
    assert float(ledger.spent) == 0.5
    assert not out.exists()


@pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
def test_a_disk_that_is_full_after_the_charge(run, ages, tmp_path, monkeypatch):
    """The answer that cannot be stored is not shown; the charge stays, and is seen as one."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], check=True)
    try:
        ledger, reserve = Ledger(place / "a.ledger", cap=1), Ledger.reserve

        def reserve_and_fill(*given, **options):
            charge = reserve(*given, **options)
            with suppress(OSError), (place / "ballast").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            return charge

        monkeypatch.setattr(Ledger, "reserve", reserve_and_fill)
        words, out = ("--ledger", ledger.path), tmp_path / "receipt.json"
        outcome = run("median", ages, *AGE, *words, "--request-key", "k", "--out", out)
        assert (outcome.code, outcome.out, out.exists()) == (70, "", False)
        assert "The release was charged, but the ledger could not store it" in outcome.err
        (place / "ballast").unlink()
        assert [(e.state.value, float(e.epsilon)) for e in ledger.history()] == [("charged", 0.5)]
        ledger.verify()
        again = run("median", ages, *AGE, *words, "--request-key", "k")
        assert again.code == 3
        assert "The charge stays" in again.err
        assert float(ledger.spent) == 0.5
    finally:
        subprocess.run(["umount", place], check=True)


def test_unforeseen(run, ages, monkeypatch):
    def fail(_):
        raise RuntimeError("record 17 says 42")

    monkeypatch.setattr(TableSource, "count", fail)
    outcome = run("median", ages, *AGE)
    assert outcome.code == 1
    assert outcome.err.startswith("Error: Sorry, kng stopped")
    assert len(outcome.err.splitlines()) == 1
    assert "42" not in outcome.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_interrupt(tmp_path: Path):
    pipe = tmp_path / "slow.csv"
    os.mkfifo(pipe)
    # A runner in the background ignores Ctrl-C and its children inherit that, so ask for it again.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from kng.cli.main import main; sys.exit(main())"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, "median", str(pipe), *AGE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("w"):  # returns when the child reads, and then keeps it waiting
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert out == ""
    assert err.strip() == "Error: Interrupted; nothing was charged."
    assert "Traceback" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written(ages, ledger, tmp_path):
    """The charge is made, so the receipt's file is written all the same."""
    out = tmp_path / "receipt.json"
    words = ["median", str(ages), *AGE, "--ledger", str(ledger.path), "--out", str(out)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kng.cli.main", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 70
    assert "standard output could not be written (No space left on device)" in done.stderr
    assert "--receipt N" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert out.read_text().startswith("{")
    assert float(ledger.spent) == 0.5


def test_a_closed_pipe(ages, ledger):
    words = ["median", str(ages), *AGE, "--ledger", str(ledger.path)]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "kng.cli.main", *words],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 70
    assert "Broken pipe" in done.stderr
    assert "Exception ignored" not in done.stderr
