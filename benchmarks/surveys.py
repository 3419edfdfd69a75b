"""What ordinary questions about survey data are answered, beside pandas and statsmodels.

`make surveys` prints the tables of docs/surveys.md: each question in Python and at the shell, with
the same seed, and the spread of fifty seeds. A question passes if both draws are the same, the mean
of fifty is within four standard errors of the truth, or a stated allowance, and their spread is no
larger than what the question is worth asking for: a twentieth of the truth unless stated. What has
no answer must be refused, with nothing charged.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import kng
from benchmarks.survey_data import NotFetchedError, survey

SEEDS = 50
SHELL = "import sys; from kng.cli.main import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its truth, and how it is asked in Python (by seed) and at the shell."""

    asked: str
    truth: float
    ask: Callable[[int], Any]
    shell: list[str]
    part: str | None = None  # of an answer with several numbers
    allowed: float = 0.0  # by which the mean of many draws may be off: clipping and ridges
    most: float | None = None  # how far draws may spread
    before: str = ""  # what version 0.1 said


@dataclass(slots=True)
class Tables:
    """Files of the surveys as people have them."""

    place: Path
    faults: int = field(default=0)

    def csv(self, frame: pd.DataFrame, name: str) -> str:
        """Write a table as CSV and return its path."""
        path = self.place / f"{name}.csv"
        frame.to_csv(path, index=False)
        return str(path)


def shell(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run kng as a command."""
    # These sources, wherever the command is run.
    environment = {**os.environ, "PYTHONPATH": str(Path(kng.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, "-c", SHELL, *arguments], capture_output=True, text=True, check=False,
        cwd=cwd, env=environment,
    )  # fmt: skip


def number(value: Any, names: Any, part: str | None) -> float:
    """Return one number of an answer."""
    flat = np.ravel(np.asarray(value, dtype=float))
    if part is None:
        return float(flat[0])
    return float(flat[list(names).index(part)])


def show(question: Question, tables: Tables) -> None:
    """Ask, and print a row."""
    releases = [question.ask(seed) for seed in range(SEEDS)]
    found = np.array([number(r.value, r.names, question.part) for r in releases])
    done = shell(*question.shell, "--seed", "0", "--json", cwd=tables.place)
    if done.returncode:
        at_shell, same = done.stderr.strip(), False
    else:
        receipt = kng.Release.from_json(done.stdout)
        drawn = number(receipt.value, receipt.names, question.part)
        at_shell, same = f"{drawn:.4g}", drawn == found[0]
    spread = found.std(ddof=1)
    right = abs(found.mean() - question.truth) <= question.allowed + 4 * spread / SEEDS**0.5
    useful = spread <= (abs(question.truth) / 20 if question.most is None else question.most)
    tables.faults += not (same and right and useful)
    verdict = (
        "NO, not the same draw" if not same
        else "NO" if not right
        else "yes" if useful
        else "yes, but noisier than the bar"
    )  # fmt: skip
    print(
        f"| {question.asked} | {question.before} | {question.truth:.4g} | {found[0]:.4g} | "
        f"{at_shell} | {found.mean():.4g} ± {spread:.2g} | {verdict} |",
        flush=True,
    )


def bounds(**columns: tuple[float, float]) -> list[str]:
    """Return options of the shell."""
    return [
        w for name, (low, high) in columns.items() for w in ("--bounds", f"{name}={low}:{high}")
    ]


def wages(tables: Tables) -> Iterator[Question]:
    """SLID: 44 % of the wages are empty; sex and language are texts."""
    frame = survey("SLID")
    path = tables.csv(frame, "slid")
    pay = frame["wages"]
    options: dict[str, Any] = {"bounds": {"wages": (0, 50)}, "epsilon": 1}
    told = [path, *bounds(wages=(0, 50)), "--epsilon", "1"]
    yield Question(
        "SLID: median wage", pay.median(), lambda s: kng.median(path, random_state=s, **options),
        ["median", *told], before="25", allowed=0.01,
    )  # fmt: skip
    yield Question(
        "SLID: mean wage", pay.mean(), lambda s: kng.mean(path, random_state=s, **options),
        ["mean", *told],
    )  # fmt: skip
    for sex, group in frame.groupby("sex"):
        yield Question(
            f"SLID: median wage by sex, {sex}", group["wages"].median(),
            lambda s: kng.median(frame, by={"sex": ["Female", "Male"]}, random_state=s, **options),
            ["median", *told, "--by", "sex=Female,Male"], part=str(sex), allowed=0.03,
        )  # fmt: skip
    import statsmodels.formula.api as smf

    exact = smf.ols("wages ~ education + age + C(sex) + C(language)", frame).fit()
    formula = (
        "wages ~ education + age + C(sex, levels=['Female', 'Male'])"
        " + C(language, levels=['English', 'French', 'Other'])"
    )
    model = {"bounds_X": {"education": (0, 20), "age": (16, 95)}, "bounds_y": (0, 50)}
    words = bounds(education=(0, 20), age=(16, 95), wages=(0, 50))
    for named, term, before in (
        ("education", "education", ""),
        ("age", "age", ""),
        ("sex[Male]", "C(sex)[T.Male]", "268"),
        ("language[French]", "C(language)[T.French]", ""),
    ):
        yield Question(
            f"SLID: least squares, {named}", exact.params[term],
            lambda s: kng.LinearRegression(epsilon=1, random_state=s, **model)
            .fit(frame, formula=formula).release_,
            ["linear", path, "--formula", formula, *words, "--epsilon", "1"],
            part=named, before=before, allowed=exact.bse[term], most=3 * exact.bse[term],
        )  # fmt: skip


def hours(tables: Tables) -> Iterator[Question]:
    """CPSch3: amounts as people write them, and the day that a survey began."""
    frame = survey("CPSch3")
    year = 2000 * frame["ahe"]
    written = pd.DataFrame(
        {
            "hourly": frame["ahe"].map("${:.2f}".format),
            "yearly": year.map("{:,.0f}".format),
            "raise": (frame["ahe"] / 10).map("{:.1f} %".format),
            "day": frame["year"].map("{}-03-01".format),
        }
    )
    path = tables.csv(written, "cps")
    # What pandas finds in the cells as they are written, rounded as they are.
    read = {name: written[name].str.replace("[$,% ]", "", regex=True).astype(float).mean()
            for name in ("hourly", "yearly", "raise")}  # fmt: skip
    for asked, column, truth, high, symbols, thousands in (
        ("CPSch3: mean of cells like $12.99", "hourly", read["hourly"], 60, "$", None),
        ("CPSch3: mean of cells like 1,234", "yearly", read["yearly"], 120_000, "", ","),
        ("CPSch3: mean of cells like 5 %", "raise", read["raise"], 6, "%", None),
    ):
        reading: dict[str, Any] = {"symbols": symbols} if symbols else {"thousands": thousands}
        yield Question(
            asked, truth,
            lambda s, c=column, h=high, r=reading: kng.mean(
                kng.Table(path, **r), bounds={c: (0, h)}, epsilon=1, random_state=s
            ),
            [
                "mean", path, *bounds(**{column: (0, high)}), "--epsilon", "1",
                *(w for name, value in reading.items() for w in (f"--{name}", value)),
            ],

        )  # fmt: skip
    days = pd.to_datetime(written["day"])
    _declare(
        tables, "cps", path, "day", 'kind = "date"\nbounds = [1990-01-01, 2000-12-31]'
    )  # fmt: skip
    yield Question(
        "CPSch3: median of dates (days since 1970)",
        float((days - pd.Timestamp(0)).dt.days.median()),
        lambda s: kng.median(
            path, bounds={"day": ("1990-01-01", "2000-12-31")}, epsilon=1, random_state=s
        ),
        ["median", "cps", "--column", "day", "--epsilon", "1"],
    )


def marriages(tables: Tables) -> Iterator[Question]:
    """Fair's survey: a yes or no, and a response with many ties."""
    frame = survey("fair")
    frame["unfaithful"] = np.where(frame["affairs"] > 0, "yes", "no")
    path = tables.csv(frame, "fair")
    _declare(tables, "fair", path, "unfaithful", 'kind = "boolean"\nlevels = ["no", "yes"]')
    words = kng.columns.Boolean(no="no", yes="yes")
    declared = kng.Table(path, columns={"unfaithful": words})["unfaithful"]
    share = float((frame["affairs"] > 0).mean())
    yield Question(
        "fair: mean of yes and no, declared", share,
        lambda s: kng.mean(declared, bounds=(0, 1), epsilon=1, random_state=s),
        ["mean", "fair", "--column", "unfaithful", "--bounds", "0:1", "--epsilon", "1"],
    )  # fmt: skip
    yield Question(
        "fair: proportion of yes", share,
        lambda s: kng.proportion(path, of="unfaithful = 'yes'", epsilon=1, random_state=s),
        ["proportion", path, "--of", "unfaithful = 'yes'", "--epsilon", "1"],
        before="no such question",
    )  # fmt: skip
    yield Question(
        "fair: median of yrs_married where children > 2",
        frame.loc[frame["children"] > 2, "yrs_married"].median(),
        lambda s: kng.median(
            path, bounds={"yrs_married": (0, 30)}, granularity=0.5, where="children > 2",
            epsilon=1, random_state=s,
        ),
        [
            "median", path, *bounds(yrs_married=(0, 30)), "--granularity", "0.5",
            "--where", "children > 2", "--epsilon", "1",
        ],
        before="no such question",
    )  # fmt: skip


def visits(tables: Tables) -> Iterator[Question]:
    """RAND's health insurance experiment: a True or False that is mostly True, and counts."""
    frame = survey("randhie")
    frame["well"] = frame["hlthf"] == 0
    path = tables.csv(frame, "randhie")
    _declare(tables, "randhie", path, "well", 'kind = "boolean"')
    share = float(frame["well"].mean())
    shell_words = ["--bounds", "0:1", "--epsilon", "1"]
    declared = kng.Table(path, columns={"well": kng.columns.Boolean()})["well"]
    yield Question(
        "randhie: mean of True and False in CSV, declared", share,
        lambda s: kng.mean(declared, bounds=(0, 1), epsilon=1, random_state=s),
        ["mean", "randhie", "--column", "well", *shell_words],
    )  # fmt: skip
    parquet = str(tables.place / "randhie.parquet")
    frame.to_parquet(parquet, index=False)
    yield Question(
        "randhie: mean of True and False by schema", share,
        lambda s: kng.mean(parquet, bounds={"well": (0, 1)}, epsilon=1, random_state=s),
        ["mean", parquet, *bounds(well=(0, 1)), "--epsilon", "1"],
    )  # fmt: skip
    levels = [0, 1]
    for idp in levels:
        yield Question(
            f"randhie: mean of mdvis by idp, {idp}",
            frame.loc[frame["idp"] == idp, "mdvis"].clip(0, 50).mean(),
            lambda s: kng.mean(
                frame, bounds={"mdvis": (0, 50)}, by={"idp": levels}, epsilon=1, random_state=s
            ),
            ["mean", parquet, *bounds(mdvis=(0, 50)), "--by", "idp=0,1", "--epsilon", "1"],
            part=str(idp), before="no such question",
        )  # fmt: skip
    yield Question(
        "randhie: records with mdvis >= 10", float((frame["mdvis"] >= 10).sum()),
        lambda s: kng.count(path, where="mdvis >= 10", epsilon=1, random_state=s),
        ["count", path, "--where", "mdvis >= 10", "--epsilon", "1"], before="no such question",
    )  # fmt: skip


def _declare(tables: Tables, name: str, path: str, column: str, facts: str) -> None:
    """Add a table with one declared column to kng.toml."""
    with (tables.place / "kng.toml").open("a") as file:
        file.write(f'[tables.{name}]\nsource = "{path}"\n')
        file.write(f"[tables.{name}.columns.{column}]\n{facts}\n")


def refusals(tables: Tables) -> None:
    """Print what is refused before the charge, and what receipts say of undeclared cells."""
    frame = survey("SLID")
    parquet, path = str(tables.place / "slid.parquet"), tables.csv(frame, "slid")
    frame.to_parquet(parquet, index=False)
    ledger = str(tables.place / "slid.ledger")
    shell("budget", "create", ledger, "--epsilon", "10")
    covariates = bounds(education=(0, 20), sex=(0, 1), wages=(0, 50))
    fit = ["--target", "wages", "--covariates", "education,sex", *covariates, "--epsilon", "1"]
    spent = shell("budget", "show", ledger).stdout
    for asked, words in (
        ("text as a covariate", ["linear", parquet, *fit]),
        ("text in a mean", ["mean", parquet, *bounds(sex=(0, 1)), "--epsilon", "1"]),
        (
            "C() without levels",
            ["linear", parquet, "--formula", "wages ~ education + C(sex)", *covariates,
             "--epsilon", "1"],
        ),
        (
            "scale() in a formula",
            ["linear", parquet, "--formula", "wages ~ scale(education)", *covariates,
             "--epsilon", "1"],
        ),
    ):  # fmt: skip
        done = shell(*words, "--ledger", ledger)
        kept = shell("budget", "show", ledger).stdout == spent
        tables.faults += not (done.returncode and kept)
        print(f"| {asked} | {done.stderr.strip()} | {'nothing' if kept else 'CHARGED'} |")
    done = shell("linear", path, *fit, "--ledger", ledger, "--json")
    said = json.loads(done.stdout)["details"].get("missing cells", "") if done.stdout else ""
    tables.faults += "not a number" not in said
    print(f"| text as a covariate in CSV, undeclared | receipt: {said} | 1 |")


def main() -> int:
    """Print the tables and return how many rows are wrong."""
    with tempfile.TemporaryDirectory() as place:
        tables = Tables(Path(place))
        print("| question | 0.1 | pandas, statsmodels | Python | shell | 50 seeds | right |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for questions in (marriages, visits, wages, hours):
            try:
                for question in questions(tables):
                    show(question, tables)
            except NotFetchedError as absent:
                print(absent, file=sys.stderr)
                tables.faults += 1
        print("\n| question | said | charged |\n| --- | --- | --- |")
        try:
            refusals(tables)
        except NotFetchedError as absent:
            print(absent, file=sys.stderr)
    return tables.faults


if __name__ == "__main__":
    sys.exit(main() > 0)
