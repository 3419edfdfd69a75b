"""What ``--help`` shows: the example before the options, and both they and commands in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click

# Groups of many options; those that stand in none come first.
_FIRST = "Question"
_GROUPS: Mapping[str, Sequence[str]] = {
    "Who is protected": (*("neighbours", "n_max", "records_per_person", "person", "max_records"),),
    "Budget": ("ledger", "account", "analyst", "request_key"),
    "Output": ("as_json", "out", "svg", "seed", "verbose", "quiet", "help"),
    "Method": (
        *("mechanism", "norm", "sampler", "base", "centre", "scale", "coef_bound"),
        *("weights", "noncrossing", "smoothing"),
    ),
    "Files and databases": (
        *("table", "query", "rows_per_record", "separator", "decimal", "thousands", "symbols"),
        *("encoding", "rows", "ending", "memory_limit", "threads"),
    ),
}
# Fewer options are one list.
_MANY = 20


class Command(click.Command):
    """A command that shows its example before its options."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write usage, text, example and options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        if self.epilog:
            with formatter.section("Example"):
                formatter.write_text(self.epilog)
        self.format_options(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write options, many of them in groups."""
        found: dict[str, list[tuple[str, str]]] = {}
        params = self.get_params(ctx)
        where = {name: title for title, names in _GROUPS.items() for name in names}
        for param in params:
            record = param.get_help_record(ctx)
            if record is None or not isinstance(param, click.Option):
                continue
            # Click calls --help by its last name or its first.
            name = "help" if "--help" in param.opts else param.name or ""
            title = where.get(name, _FIRST) if len(params) > _MANY else "Options"
            found.setdefault(title, []).append(record)
        for title in ("Options", _FIRST, *_GROUPS):
            if title in found:
                with formatter.section(title):
                    formatter.write_dl(found[title])


class Commands(click.Group):
    """Commands, in groups if ``groups`` names them."""

    command_class = Command

    def __init__(
        self, *words: Any, groups: Mapping[str, Sequence[str]] | None = None, **settings: Any
    ) -> None:
        super().__init__(*words, **settings)
        self.groups = groups or {}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each group of commands with its title."""
        groups = self.groups or {"Commands": self.list_commands(ctx)}
        longest = max(map(len, self.commands))
        for title, names in groups.items():
            limit = formatter.width - 6 - longest
            rows = [
                (name.ljust(longest), self.commands[name].get_short_help_str(limit))
                for name in names
            ]
            with formatter.section(title):
                formatter.write_dl(rows)


command = partial(click.command, cls=Command)
