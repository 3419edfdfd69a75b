"""Words of kng are completed in shells."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from kng.cli.main import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_asks_kng(run, shell):
    outcome = run("completion", shell)
    assert outcome.code == 0
    assert f"_KNG_COMPLETE={shell}_complete" in outcome.out


def test_commands_and_options_are_completed(monkeypatch, capfd):
    monkeypatch.setenv("_KNG_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("COMP_WORDS", "kng med")
    with pytest.raises(SystemExit):  # click ends the process itself
        main([])
    assert capfd.readouterr().out.split() == ["plain,median"]
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setenv("COMP_WORDS", "kng median --neigh")
    with pytest.raises(SystemExit):  # click ends the process itself
        main([])
    found = capfd.readouterr().out.split()
    assert "plain,--neighbours" in found
    assert "plain,--neighbors" in found


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_reads_the_script(run):
    script = run("completion", "bash").out
    done = subprocess.run(
        ["bash", "-c", script + "\ncomplete -p kng"],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert "_kng_completion" in done.stdout
