"""Every --help says in one line what the command does, and shows an example that is a command."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from kng.cli.main import commands


def walk(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from walk(inner, (*words, name))


ALL = list(walk(commands))


def told(words: tuple[str, ...]) -> str:
    done = CliRunner().invoke(commands, [*words, "--help"], prog_name="kng", terminal_width=80)
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_it_says_what_the_command_does_and_shows_an_example(words):
    text = told(words)
    first = text.split("\n\n")[1].strip()
    # Verb first, one line.
    assert re.fullmatch(r"[A-Z][a-z]+ [^\n]*\.", first), first
    name = " ".join(("kng", *words))
    assert words[-1:] == ("run",) or re.search(rf"^ +(eval \"\$\()?{name} ", text, re.MULTILINE)


@pytest.mark.parametrize("words", [(), ("budget",), ("reproduce",)], ids=str)
def test_no_line_of_the_list_is_cut_off_and_none_is_missing(words):
    text = told(words)
    assert "..." not in text.partition("Options:\n")[2]
    inner = {name for *start, name in filter(None, ALL) if tuple(start) == words}
    assert inner == set(re.findall(r"^  ([a-z0-9]+)  +[A-Z]", text, re.MULTILINE))


def test_many_options_stand_in_groups_and_all_of_them_once():
    text = told(("median",))
    titles = re.findall(r"^(\w[\w ]+):$", text, re.MULTILINE)
    assert titles[:4] == ["Example", "Question", "Who is protected", "Budget"]
    shown = re.findall(r"^  (--?[a-z][\w-]*)", text, re.MULTILINE)
    options = [p for p in commands.commands["median"].params if isinstance(p, click.Option)]
    assert sorted(shown) == sorted(["-h", *(option.opts[0] for option in options)])
