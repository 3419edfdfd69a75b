"""Formulas in estimators: the fits of statsmodels, predictions, tables, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import kng
from kng.cli.main import main

SEX = "C(sex, levels=['Female', 'Male'])"
BOUNDS = {"education": (6, 20), "age": (18, 70)}


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    """Return wages as in a survey: text for sex, and a third of the wages missing."""
    rng = np.random.default_rng(0)
    n = 4000
    frame = pd.DataFrame(
        {
            "education": rng.integers(6, 20, n).astype(float),
            "age": rng.integers(18, 70, n).astype(float),
            "sex": rng.choice(["Female", "Male"], n),
        }
    )
    male = frame.sex == "Male"
    frame["wages"] = 5 + 1.1 * frame.education + 0.2 * frame.age + 3 * male + rng.normal(0, 2, n)
    frame["rich"] = np.where(frame.wages > 33, "yes", "no")
    frame.loc[rng.random(n) < 0.33, "wages"] = np.nan
    return frame


def least_squares(**options: Any) -> kng.LinearRegression:
    """Return a fit whose noise is nearly nothing."""
    usual: dict[str, Any] = {"epsilon": 10**5, "bounds_X": BOUNDS, "bounds_y": (0, 100)}
    usual |= {"coef_bound": 1000, "mechanism": "objective", "random_state": 1}
    return kng.LinearRegression(**usual | options)


@pytest.mark.parametrize(
    "formula",
    [
        f"wages ~ education + age + {SEX}",
        f"wages ~ age * {SEX} + I(age ** 2) + log(education)",
        f"wages ~ 0 + {SEX} + age",
    ],
)
def test_the_fit_of_statsmodels(formula: str, survey: pd.DataFrame) -> None:
    model = least_squares().fit(survey, formula=formula)
    plain = formula.replace(SEX, "C(sex)").replace("log(", "np.log(")
    known = smf.ols(plain, survey).fit()
    assert np.allclose(model.predict(survey), known.predict(survey), atol=0.03)
    assert list(model.feature_names_in_) == list(dict.fromkeys(model.covariates_.columns))
    assert model.release_.details["formula"] == formula


def test_coefficients_have_names(survey: pd.DataFrame) -> None:
    model = least_squares().fit(survey, formula=f"wages ~ education + {SEX}")
    known = smf.ols("wages ~ education + C(sex)", survey).fit().params
    found = model.release_.to_dict()
    assert list(found) == ["intercept", "education", "sex[Male]"]
    assert found["sex[Male]"] == pytest.approx(known["C(sex)[T.Male]"], abs=0.01)


def test_the_quantile_regression_of_statsmodels(survey: pd.DataFrame) -> None:
    options: dict[str, Any] = {"bounds_X": BOUNDS, "bounds_y": (0, 100), "random_state": 1}
    model = kng.QuantileRegressor(epsilon=10**4, **options)
    found = model.fit(survey, formula=f"wages ~ education + {SEX}").release_.to_dict()
    known = smf.quantreg("wages ~ education + C(sex)", survey).fit(0.5).params
    assert found["sex[Male]"] == pytest.approx(known["C(sex)[T.Male]"], abs=0.1)
    assert found["education"] == pytest.approx(known["education"], abs=0.02)


def test_labels_and_a_formula(survey: pd.DataFrame) -> None:
    model = kng.LogisticRegression(
        epsilon=100, classes=("no", "yes"), bounds_X=BOUNDS, random_state=1
    )
    model.fit(survey, formula=f"rich ~ education + age + {SEX}")
    assert np.mean(model.predict(survey) == survey.rich) > 0.85


def test_declared_categories_are_features(survey: pd.DataFrame, tmp_path: Path) -> None:
    survey.to_csv(tmp_path / "s.csv", index=False)
    columns = {
        "sex": kng.columns.Category(["Female", "Male"], reference="Male"),
        "age": kng.columns.Number(bounds=(18, 70)),
        "wages": kng.columns.Number(bounds=(0, 100)),
    }
    table = kng.Table(str(tmp_path / "s.csv"), columns=columns)
    model = least_squares(bounds_X=None, bounds_y=None)
    found = model.fit(table, target="wages", features=["age", "sex"]).release_.to_dict()
    assert list(found) == ["intercept", "age", "sex[Female]"]
    again = model.fit(table, formula="wages ~ age + C(sex)").release_.to_dict()
    assert found == again
    assert model.predict(table) == pytest.approx(model.predict(survey))
    assert model.bounds_X is None


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("wages ~ age +", "cannot be read"),
        ("wages ~ nobody", "no column named"),
        ("wages ~ scale(age)", "learns from all records"),
        ("wages ~ age + sex", "holds text"),
        ("wages ~ C(sex, levels=['F', 'F'])", "twice"),
        ("wages ~ C(sex, levels=['F', 'M'], reference='X')", "not among the levels"),
        ("wages ~ log(rent)", "no column named"),
    ],
)
def test_refused_before_the_charge(
    formula: str, words: str, survey: pd.DataFrame, tmp_path: Path
) -> None:
    ledger = kng.Ledger(tmp_path / "l.ledger", cap=1)
    model = least_squares(epsilon=1, random_state=None, ledger=ledger)
    with pytest.raises(kng.KngError, match=words):
        model.fit(survey, formula=formula)
    assert ledger.spent == 0


def test_what_a_formula_does_not_go_with(survey: pd.DataFrame) -> None:
    for options, words in [({"y": [1]}, "y are both"), ({"target": "wages"}, "target are both")]:
        with pytest.raises(kng.KngError, match=words):
            least_squares().fit(survey, formula="wages ~ age", **options)
    with pytest.raises(kng.KngError, match="must be 'drop'"):
        least_squares(missing=0).fit(survey, formula="wages ~ age")
    with pytest.raises(kng.KngError, match="no column names"):
        least_squares().fit(np.ones((3, 2)), formula="wages ~ age")
    with pytest.raises(kng.KngError, match="bounds_X has no bounds for 'age'"):
        least_squares(bounds_X={"education": (6, 20)}).fit(survey, formula="wages ~ age")


def test_at_the_shell(
    survey: pd.DataFrame, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    survey.to_csv(tmp_path / "s.csv", index=False)
    words = ["linear", str(tmp_path / "s.csv"), "--formula", f"wages ~ age + {SEX}"]
    words += ["--bounds", "age=18:70", "--bounds", "wages=0:100", "--epsilon", "10", "--seed", "1"]
    assert main(words) == 0
    assert "sex[Male]" in capfd.readouterr().out
