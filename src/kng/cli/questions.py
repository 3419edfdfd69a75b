"""``questions.toml``: questions about one table, each with its share of one epsilon."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import kng
from kng.cli.models import MODELS
from kng.core.errors import KngError, SpecError
from kng.core.exact import positive
from kng.estimators.batch import Question, planned
from kng.ledger import Ledger

_FUNCTIONS = {
    **{name: name for name in ("mean", "quantile", "median", "geometric_median", "count")},
    **{name: name for name in ("proportion", "histogram", "sum", "variance")},
    "geomedian": "geometric_median",
}
# Of the batch; a question may not say otherwise.
_SHARED = ("neighbours", "n_max", "records_per_person", "person", "max_records")
_TOP = ("table", "epsilon", "ledger", "question", *_SHARED)
_OWN = ("name", "statistic", "share")
# Said by the batch, or of no use in a file.
_TAKEN = {*_SHARED, "epsilon", "ledger", "random_state", "data", "self", "domain"}
_SPELLED = {"neighbors": "neighbours", "center": "centre"}


@dataclass(frozen=True, slots=True)
class Batch:
    """What a file asks: a table, a total, who pays, and the questions."""

    table: kng.Table
    epsilon: Fraction
    ledger: str | None
    questions: tuple[Question, ...]


def read_questions(
    path: str, seed: int | None, payer: Callable[[str | None], Ledger | None]
) -> Batch:
    """Read a file whole; every fault is found, not only the first.

    Parameters
    ----------
    path : str
        The file. Paths in it are as seen from the current directory, as those of a command are.
    seed : int or None
        Makes the answers repeatable.
    payer : callable
        Opens the ledger that pays, given the one that the file or its table names.
    """
    content = _content(Path(path))
    faults: list[str] = []
    top = {_SPELLED.get(key, key): value for key, value in content.items()}
    _unknown(top, _TOP, "", faults)
    table, epsilon = _table(top.get("table"), faults), _epsilon(top, faults)
    listed = top.get("question")
    if not isinstance(listed, list) or not listed:
        faults.append("no question is asked; write at least one [[question]]")
        listed = []
    shares, names = _shares(listed, faults), _names(listed, faults)
    shared = {key: top[key] for key in _SHARED if key in top}
    relation = getattr(table, "relation", None)
    if relation is not None:
        shared.setdefault("neighbours", relation)
    questions = []
    for at, raw in enumerate(listed):
        if not isinstance(raw, dict) or table is None or not all(shares) or epsilon is None:
            continue
        part = {**shared, "epsilon": epsilon * shares[at] / sum(shares)}
        if seed is not None:
            part["random_state"] = seed + at
        ask = _asked(raw, table, part, f"question {names[at]!r}", faults)
        if ask is not None:
            questions.append(Question(names[at], ask))
    if faults or table is None or epsilon is None:
        if table is not None and questions:
            faults += _planned(questions, partial(payer, top.get("ledger", table.ledger)))
        several = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        lines = "".join(f"\n  {fault}" for fault in faults)
        done = "charged" if questions else "read"
        raise SpecError(f"{Path(path).name} has {several}; nothing was {done}.{lines}")
    ledger = top.get("ledger", table.ledger)
    return Batch(table, epsilon, ledger, tuple(questions))


def _planned(questions: Sequence[Question], payer: Callable[[], Ledger | None]) -> list[str]:
    """Return the faults of questions that could be read; planning them may count records."""
    try:
        ledger = payer()
    except KngError as error:
        return [error.message.rstrip(".")]
    faults = planned(questions, ledger)[1].items()
    return [f"question {name!r}: {error.message.rstrip('.')}" for name, error in faults]


def _content(place: Path) -> dict[str, Any]:
    try:
        # Numbers as they are written: 0.1 is one tenth.
        found = tomllib.loads(place.read_text(encoding="utf-8"), parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{place.name} is not TOML: {error}.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise SpecError(f"{place} cannot be read ({reason}).") from None
    plain: dict[str, Any] = _as_words(found)
    return plain


def _as_words(value: Any) -> Any:
    """Return decimals as text, which the library reads exactly."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return {key: _as_words(inner) for key, inner in value.items()}
    return [_as_words(inner) for inner in value] if isinstance(value, list) else value


def _unknown(found: Mapping[str, Any], known: Sequence[str], where: str, faults: list[str]) -> None:
    for key in found:
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
            faults.append(f"{where}{key!r} is not a setting; {hint}")


def _table(name: Any, faults: list[str]) -> kng.Table | None:
    from kng.cli.tables import is_word

    if not isinstance(name, str) or not name or name == "-":
        faults.append("table is missing; name a table of kng.toml, or a file")
        return None
    try:
        return kng.Table.declared(name) if is_word(name) else kng.Table(name)
    except KngError as error:
        faults.append(error.message.rstrip("."))
        return None


def _epsilon(top: Mapping[str, Any], faults: list[str]) -> Fraction | None:
    if "epsilon" not in top:
        faults.append("epsilon is missing; state what all questions together may cost")
        return None
    try:
        return positive(top["epsilon"], "epsilon")
    except KngError as error:
        faults.append(error.message.rstrip("."))
        return None


def _shares(listed: Sequence[Any], faults: list[str]) -> list[Fraction]:
    """Return the shares; 0 stands for one that is at fault."""
    found = []
    for at, raw in enumerate(listed):
        share = raw.get("share", 1) if isinstance(raw, dict) else 1
        try:
            found.append(positive(share, "share"))
        except KngError as error:
            faults.append(f"question {at + 1}: {error.message.rstrip('.')}")
            found.append(Fraction(0))
    return found


def _names(listed: Sequence[Any], faults: list[str]) -> list[str]:
    """Return the names; they are unique, and fit to be those of files."""
    found: list[str] = []
    for at, raw in enumerate(listed):
        if not isinstance(raw, dict):
            faults.append(f"question {at + 1} must be a table, as [[question]] makes it")
            found.append("")
            continue
        name = raw.get("name", f"question-{at + 1}")
        fit = isinstance(name, str) and name.replace("-", "").replace("_", "").isalnum()
        if not fit:
            faults.append(
                f"question {at + 1}: name must be letters, digits, - and _, found {name!r}"
            )
        elif name in found:
            faults.append(f"two questions are called {name!r}; give each its own name")
        found.append(str(name))
    return found


def _asked(
    raw: Mapping[str, Any],
    table: kng.Table,
    part: Mapping[str, Any],
    where: str,
    faults: list[str],
) -> Callable[[Any], kng.Release] | None:
    """Return how a question is asked; None if it cannot be read."""
    statistic = raw.get("statistic")
    stated = {_SPELLED.get(k, k): v for k, v in raw.items() if k not in _OWN}
    if statistic in _FUNCTIONS:
        function = getattr(kng, _FUNCTIONS[statistic])
        known = _arguments(function) | {"column"} | ({"quantile"} & {statistic})
        reading = partial(_function, function)
    elif statistic in MODELS:
        model = getattr(kng, MODELS[statistic])
        known = _arguments(model) - {"bounds_X", "bounds_y"}
        known |= {"target", "covariates", "formula", "bounds"}
        reading = partial(_model, model)
    else:
        known_names = ", ".join([*_FUNCTIONS, *MODELS])
        faults.append(f"{where}: statistic must be one of {known_names}; found {statistic!r}")
        return None
    before = len(faults)
    _unknown(stated, sorted(known), f"{where}: ", faults)
    if len(faults) > before:
        return None
    try:
        return reading(table, stated, part)
    except KngError as error:
        faults.append(f"{where}: {error.message.rstrip('.')}")
        return None


def _arguments(callable_: Any) -> set[str]:
    return set(inspect.signature(callable_).parameters) - _TAKEN


def _function(
    function: Callable[..., kng.Release],
    table: kng.Table,
    stated: dict[str, Any],
    part: Mapping[str, Any],
) -> Callable[[Any], kng.Release]:
    """Return how a statistic of columns is asked for."""
    options, chosen = dict(stated), table
    if "quantile" in options:
        options["q"] = options.pop("quantile")
    columns = options.pop("column", None)
    if columns is not None:
        names = columns if isinstance(columns, list) else [columns]
        bounds = options.get("bounds")
        if bounds is None and table.columns is not None:
            chosen = table[names]
        elif bounds is not None and not isinstance(bounds, Mapping):
            options["bounds"] = {name: tuple(bounds) for name in names}
        elif bounds is None and {"levels", "edges"} & set(options):
            for key in {"levels", "edges"} & set(options):
                options[key] = {names[0]: options[key]}
        else:
            raise SpecError("column needs bounds = [LOW, HIGH] beside it, or a declared table")
    return lambda ledger: function(chosen, **options, **part, ledger=ledger)


def _model(
    model: Callable[..., Any],
    table: kng.Table,
    stated: dict[str, Any],
    part: Mapping[str, Any],
) -> Callable[[Any], kng.Release]:
    """Return how a regression is asked for."""
    options = dict(stated)
    fitted = {"target": options.pop("target", None), "formula": options.pop("formula", None)}
    covariates, bounds = options.pop("covariates", None), options.pop("bounds", None)
    if fitted["target"] is None and fitted["formula"] is None:
        raise SpecError("target is missing; name the column to predict, or give a formula")
    fitted["features"] = [covariates] if isinstance(covariates, str) else covariates
    if bounds is not None:
        if not isinstance(bounds, Mapping):
            raise SpecError("bounds must name columns, as in bounds = {age = [0, 120]}")
        ends = {name: tuple(pair) for name, pair in bounds.items()}
        target = fitted["target"] or str(fitted["formula"]).partition("~")[0].strip()
        if target in ends:
            options["bounds_y"] = ends.pop(target)
        options["bounds_X"] = ends or None
    given = {name: value for name, value in fitted.items() if value is not None}

    def ask(ledger: Any) -> kng.Release:
        fit = model(**options, **part, ledger=ledger).fit(table, **given)
        release: kng.Release = fit.release_
        return release

    return ask
