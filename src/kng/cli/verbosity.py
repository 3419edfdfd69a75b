"""How much a command tells on stderr beside its answer: ``--verbose`` and ``--quiet``."""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from kng.cli.options import option, with_options

_LOG = logging.getLogger("kng")
# Where a command finds out that it is to be quiet.
_QUIET = "quiet"


class _Lines(logging.Handler):
    """Lines on stderr, without times: they would be a clock."""

    def emit(self, record: logging.LogRecord) -> None:
        # Looked up now: while progress is shown, lines go above it.
        print(f"kng: {record.getMessage()}", file=sys.stderr, flush=True)


def _show_log(context: click.Context, _: click.Parameter, wanted: Any) -> None:
    if not wanted or any(isinstance(handler, _Lines) for handler in _LOG.handlers):
        return
    handler, level = _Lines(), _LOG.level
    _LOG.addHandler(handler)
    _LOG.setLevel(logging.INFO)

    def end() -> None:
        _LOG.removeHandler(handler)
        _LOG.setLevel(level)

    context.find_root().call_on_close(end)


def _be_quiet(context: click.Context, _: click.Parameter, wanted: Any) -> None:
    if wanted:
        context.meta[_QUIET] = True


# Before a command's name and after it.
VERBOSITY = with_options(
    option(
        "--verbose",
        is_flag=True,
        expose_value=False,
        callback=_show_log,
        help="Tell on stderr what is planned, charged, read and settled.",
    ),
    option(
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=_be_quiet,
        help="Show no progress on the terminal.",
    ),
)


def is_quiet() -> bool:
    """Whether the command that runs was told to be quiet."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))
