"""Words from the command line become the library's arguments.

Numbers stay text, so that the library reads them exactly and its own messages apply.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from math import isinf
from pathlib import Path
from typing import Any, TypeVar

from kng.core.encoding import DROP
from kng.core.errors import LedgerError, SpecError
from kng.core.exact import whole
from kng.core.release import Release
from kng.data import Table
from kng.ledger import Ledger

Ends = tuple[str, str]
Value = TypeVar("Value")

# Handed on under the same name, and only if given: the defaults are the library's.
_SAME_NAME = (
    *("mechanism", "norm", "sampler", "neighbours", "n_max", "records_per_person"),
    *("person", "max_records"),
    *("coef_bound", "threshold", "smoothing", "noncrossing", "expectile"),
)
# Numbers in one word, as in A,B,C.
_LISTED = ("weights", "centre")
# A level of a group that is a number.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# Base measures that have a name; any other word is the path of a receipt.
_BASES = ("uniform", "heavy-tailed", "gaussian", "student")


def read_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments that every release takes; all that the words alone can tell.

    Parameters
    ----------
    options : mapping
        The options of the command, by name; those not given are None or empty.
    """
    if options["epsilon"] is None:
        raise SpecError("--epsilon is missing; state what the release may cost, as in --epsilon 1.")
    arguments = {"epsilon": options["epsilon"]}
    arguments |= {name: options[name] for name in _SAME_NAME if options.get(name) is not None}
    for name in _LISTED:
        if options.get(name) is not None:
            arguments[name] = listed(options[name])
    if options.get("quantile"):
        arguments["quantile"] = one_or_several(options["quantile"])
    if options.get("base") is not None:
        arguments["base"] = read_base(options["base"])
    if options["seed"] is not None:
        if options["ledger"] is not None:
            raise SpecError(
                "--seed makes the answer repeatable, and ledgers reject that. Leave out --seed for "
                "a release, or --ledger for a simulation."
            )
        arguments["random_state"] = whole(options["seed"], "seed", 0)
    if options["ledger"] is not None:
        ledger = open_ledger(options["ledger"], options["account"], options["analyst"])
        key = options["request_key"]
        arguments["ledger"] = ledger if key is None else ledger.request(key)
    for name in ("account", "analyst", "request_key"):
        if options[name] is not None and options["ledger"] is None:
            raise SpecError(f"--{name.replace('_', '-')} is about a ledger; name it by --ledger.")
    return arguments


def read_statistic(options: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Return what a statistic of columns takes beside: bounds, granularity, missing, where."""
    declared = table.columns is not None and not options["bounds"]
    return {
        "bounds": None if declared else read_bounds(options["bounds"], options["column"]),
        "granularity": read_setting("granularity", options["granularity"]),
        "missing": read_setting("missing", options["missing"]) or DROP,
        "where": options["where"],
        "by": read_groups(options["by"], table),
    }


def read_groups(texts: Sequence[str], table: Table) -> dict[str, list[Any]] | None:
    """Read COLUMN=LEVEL,LEVEL once per column; levels are numbers if all of them are.

    In single quotes they are text whatever they look like. The levels of a declared column may be
    left out.
    """
    pairs: list[tuple[str | None, list[Any]]] = []
    for text in texts:
        name, sign, levels = text.partition("=")
        declared = getattr((table.columns or {}).get(text), "levels", None)
        if declared is not None:
            pairs.append((text, list(declared)))
            continue
        if not sign or not name:
            raise SpecError(f"--by must be COLUMN=LEVEL,LEVEL, such as sex=F,M; got {text!r}.")
        pairs.append((name, _levels(levels)))
    return _by_name("by", pairs) if pairs else None


def _levels(text: str) -> list[Any]:
    cells = [cell for cell in listed(text) if cell]
    if cells and all(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in cells):
        return [cell[1:-1] for cell in cells]
    if all(_NUMBER.fullmatch(cell) for cell in cells):
        if any(isinf(float(cell)) for cell in cells):
            raise SpecError("levels must be numbers that float64 can hold, or texts in quotes.")
        return [int(cell) if cell.lstrip("+-").isdigit() else float(cell) for cell in cells]
    return _truths(cells) or cells


def _truths(cells: list[str]) -> list[bool]:
    """Return words as truth values if all of them are; else none."""
    words = [cell.lower() for cell in cells]
    return [word == "true" for word in words] if set(words) <= {"true", "false"} else []


def read_regression(
    options: Mapping[str, Any], table: Table
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what a regression takes beside, and the names of its covariates."""
    if options["formula"] is not None:
        return _read_formula(options), ()
    target = options["target"]
    if target is None:
        raise SpecError("--target is missing; name the column to predict, as in --target income.")
    columns = (table.columns or {}).items()
    declared = {name: c.bounds for name, c in columns if c.kind == "number" and c.bounds}
    stated = named_bounds(options["bounds"]) if options["bounds"] or not declared else {}
    bounds: dict[str, Any] = {**declared, **stated}
    covariates = _covariates(options["covariates"], bounds, target)
    arguments = {
        "bounds_X": {name: bounds[name] for name in covariates},
        "bounds_y": bounds.get(target),
        "fit_intercept": not options["no_intercept"],
        "where": options["where"],
    }
    if options["missing"]:
        arguments["missing"] = read_setting("missing", options["missing"])
    return arguments, covariates


def _read_formula(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a regression by a formula takes; bounds are those of the columns it uses."""
    from kng.data.formula.reading import read_formula

    for name in ("target", "covariates"):
        if options[name] is not None:
            raise SpecError(f"--formula and --{name} are both given; the formula says it all.")
    if options["missing"]:
        raise SpecError("--missing cannot be a number with --formula. Leave it out.")
    bounds = named_bounds(options["bounds"]) if options["bounds"] else {}
    target = read_formula(options["formula"]).target
    rest = {name: ends for name, ends in bounds.items() if name != target}
    return {
        "bounds_X": rest or None,
        "bounds_y": bounds.get(target),
        "fit_intercept": not options["no_intercept"],
        "where": options["where"],
    }


def read_classes(options: Mapping[str, Any], table: Table) -> Sequence[Any]:
    """Read --classes A,B as a line of CSV: numbers if all of them are, text otherwise."""
    target, text = options["target"], options["classes"]
    if options["bounds"] and target in named_bounds(options["bounds"]):
        raise SpecError(
            "--bounds names the target, which has classes. Leave its bounds out, and name the "
            "labels, as in --classes no,yes."
        )
    declared = (table.columns or {}).get(target)
    levels = getattr(declared, "levels", None)
    if text is None and declared is not None and declared.kind == "boolean":
        return False, True
    if text is None and levels is not None:
        return tuple(levels)
    if text is None:
        raise SpecError("--classes are missing; name the labels, as in --classes no,yes.")
    return tuple(_levels(text))


def read_bins(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a histogram takes: edges or levels, the bin of others, and what is missing."""
    arguments: dict[str, Any] = {"other": options["other"], "missing": options["missing"]}
    for name in ("edges", "levels"):
        if options[name] is None:
            continue
        column, text = _split(options[name])
        if column is not None and options["column"] is not None:
            raise SpecError(f"--column goes with --{name} A,B,C, but these name their own column.")
        cells = _levels(text) if name == "levels" else listed(text)
        column = column or options["column"]
        arguments[name] = cells if column is None else {column: cells}
    return arguments


def read_base(text: str) -> str | Release:
    """Read --base: the name of a base measure, or the receipt of an earlier release."""
    if text in _BASES:
        return text
    path = Path(text)
    try:
        receipt = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise SpecError(
            f"--base must be one of {', '.join(_BASES)}, or the path of a receipt that --out has "
            f"written; got {text!r}, which is no file that can be read."
        ) from None
    try:
        return Release.from_json(receipt)
    except SpecError:
        raise SpecError(
            f"--base {text} is not a receipt. Give the file that --out has written, or one of "
            f"{', '.join(_BASES)}."
        ) from None


def listed(text: str) -> list[str]:
    """Read A,B,C as a line of CSV."""
    try:
        return [cell.strip() for cell in next(csv.reader([text]), [])]
    except csv.Error:  # a line break, say
        return [text]


def named_bounds(texts: Sequence[str]) -> dict[str, Ends]:
    """Read COLUMN=LOW:HIGH once per column."""
    found = read_bounds(texts, ())
    if not isinstance(found, dict):
        raise SpecError(
            "--bounds must name its column in a regression, as in --bounds age=0:120; give it once "
            "for each covariate and once for the target."
        )
    return found


def _covariates(text: str | None, bounds: Mapping[str, Ends], target: str) -> tuple[str, ...]:
    """Read A,B,C as a line of CSV, as the file's own header is; or take what has bounds."""
    if text is None:
        covariates = tuple(name for name in bounds if name != target)
    else:
        covariates = tuple(listed(text))
    if not any(covariates):
        raise SpecError(
            "--covariates are missing; name them and their bounds, as in --covariates age "
            "--bounds age=0:120."
        )
    if target in covariates:
        raise SpecError(f"{target!r} is the target and cannot be a covariate too; leave it out.")
    for name in covariates:
        if covariates.count(name) > 1:
            raise SpecError(f"--covariates names {name!r} twice; name it once.")
        if name not in bounds:
            raise SpecError(
                f"covariate {name!r} has no bounds; state them, as in --bounds {name}=0:100."
            )
    return covariates


def read_bounds(texts: Sequence[str], columns: Sequence[str]) -> Ends | dict[str, Ends]:
    """Read LOW:HIGH once for all columns or once for each, or COLUMN=LOW:HIGH once per column."""
    if not texts:
        raise SpecError(
            "--bounds are missing. They are public facts about a record and are never read from "
            "the data; state them, as in --bounds 0:100 or --bounds age=0:120."
        )
    pairs = [(name, _ends(text, ends)) for text in texts for name, ends in [_split(text)]]
    if all(name is None for name, _ in pairs):
        ends = [ends for _, ends in pairs]
        if not columns and len(ends) == 1:
            return ends[0]
        if len(ends) not in (1, len(columns)):
            known = f" for {len(columns)} columns" if columns else ""
            raise SpecError(
                f"--bounds is given {len(ends)} times{known}; name the column of each, as in "
                "--bounds age=0:120 --bounds income=0:50000."
            )
        each = ends * len(columns) if len(ends) == 1 else ends
        return _by_name("column", list(zip(columns, each, strict=True)))
    if columns:
        raise SpecError(
            "--column goes with --bounds LOW:HIGH, but these bounds name their own column. "
            "Leave out --column."
        )
    return _by_name("bounds", pairs)


def read_setting(option: str, texts: Sequence[str]) -> str | dict[str, str] | None:
    """Read one VALUE for all columns, or COLUMN=VALUE once per column."""
    if not texts:
        return None
    pairs = [_split(text) for text in texts]
    if len(pairs) == 1 and pairs[0][0] is None:
        return pairs[0][1]
    return _by_name(option, pairs)


def read_quantiles(texts: Sequence[str]) -> str | list[str]:
    """Read --quantile, which must be there."""
    if not texts:
        raise SpecError("--quantile is missing; state it, as in --quantile 0.9.")
    return one_or_several(texts)


def one_or_several(texts: Sequence[str]) -> str | list[str]:
    """Return one word as a number is given, several as a list; commas separate words."""
    words = [word for text in texts for word in listed(text)]
    return words[0] if len(words) == 1 else words


def open_ledger(path: str, account: str | None = None, analyst: str | None = None) -> Ledger:
    """Open a ledger that exists; only ``kng budget create`` makes one."""
    try:
        return Ledger(path, account=account or "default", analyst=analyst)
    except SpecError:
        if analyst is not None and _opens(path, account):
            raise SpecError(
                f"{path} has no share for analyst {analyst!r} yet. Give one with: kng budget share "
                f"{path} --analyst {analyst} --cap CAP"
            ) from None
        named = "" if account is None else f" --account {account}"
        raise LedgerError(
            f"{path} holds no budget{'' if account is None else f' called {account!r}'}. Check the "
            f"path, or create one with: kng budget create {path}{named} --epsilon CAP"
        ) from None


def _opens(path: str, account: str | None) -> bool:
    try:
        Ledger(path, account=account or "default")
    except SpecError:
        return False
    return True


def _split(text: str) -> tuple[str | None, str]:
    # At the last sign: a column may be called a=b, a number may not.
    name, sign, rest = text.rpartition("=")
    return (name if sign else None), rest


def _ends(text: str, ends: str) -> Ends:
    low, sign, high = ends.partition(":")
    if not sign or ":" in high:
        raise SpecError(f"--bounds must be LOW:HIGH or COLUMN=LOW:HIGH, got {text!r}.")
    return low, high


def _by_name(option: str, pairs: Sequence[tuple[str | None, Value]]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, value in pairs:
        if not name:
            raise SpecError(f"--{option} names a column in one place and not in another; name all.")
        if name in found:
            again = "" if option == "column" else " for column"
            raise SpecError(f"--{option} is given twice{again} {name!r}; give it once.")
        found[name] = value
    return found
