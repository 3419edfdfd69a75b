"""Data frames: columns by name, in the frame's order, at fit and at predict."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from estimators.fitting import EACH, WAYS, model, table

import kng
from kng.core.errors import SchemaError

NAMES = ["age", "income", "area"]
# Different bounds for each column, so that a mix-up would show.
BOUNDS = {"age": (-1, 1), "income": (-2, 3), "area": (-4, 4)}
PAIR = ([-1, -2, -4], [1, 3, 4])


def frame(n: int = 40) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = table(n, 3)
    return pd.DataFrame(X, columns=NAMES), y


@pytest.mark.parametrize("way", WAYS)
def test_names_are_kept_and_shown(way):
    X, y = frame()
    fitted = model(way).fit(X, y)
    assert fitted.feature_names_in_.tolist() == NAMES
    assert fitted.n_features_in_ == 3
    assert fitted.release_.details["coefficients"] == ("intercept", *NAMES)
    shown = [line.split()[:1] for line in repr(fitted.release_).splitlines()[:5]]
    assert shown == [["coefficient"], *([name] for name in ["intercept", *NAMES])]


@pytest.mark.parametrize("way", WAYS)
def test_an_array_has_numbered_names_on_the_receipt_only(way):
    X, y = frame()
    fitted = model(way).fit(X.to_numpy(), y)
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.release_.details["coefficients"] == ("intercept", "x0", "x1", "x2")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", [NAMES, NAMES[::-1], ["income", "area", "age"]])
def test_named_bounds_go_to_their_columns_in_any_order(way, order):
    X, y = frame()
    named = {name: BOUNDS[name] for name in order}
    expected = model(way, bounds_X=PAIR, random_state=4).fit(X, y)
    fitted = model(way, bounds_X=named, random_state=4).fit(X, y)
    assert fitted.release_ == expected.release_
    assert np.array_equal(fitted.coef_, expected.coef_)


@pytest.mark.parametrize("way", WAYS)
def test_a_frame_and_an_array_give_the_same_coefficients(way):
    X, y = frame()
    by_frame = model(way, bounds_X=PAIR, random_state=4).fit(X, pd.Series(y))
    by_array = model(way, bounds_X=PAIR, random_state=4).fit(X.to_numpy(), y)
    assert by_frame.release_.integers == by_array.release_.integers
    assert np.array_equal(by_frame.coef_, by_array.coef_)


@pytest.mark.parametrize("way", EACH)
def test_coefficients_follow_the_columns_of_the_frame(way):
    X, y = frame(400)
    options = {"bounds_X": BOUNDS, "epsilon": 500}
    one = model(way, **options).fit(X, y)
    other = model(way, **options).fit(X[NAMES[::-1]], y)
    assert np.allclose(one.coef_, other.coef_[::-1], atol=0.02)


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize(
    ("bounds", "named"),
    [
        ({"age": (-1, 1), "income": (-1, 1)}, "area"),
        ({"Age": (-1, 1), "income": (-1, 1), "area": (-1, 1)}, "Age"),
        ({"age": (-1, 1)}, "income"),
    ],
    ids=["a column without bounds", "another name", "one of three"],
)
def test_names_that_do_not_match_are_refused_by_name(way, bounds, named, ledger):
    X, y = frame()
    with pytest.raises(kng.KngError, match=rf"bounds_X.*'{named}'") as caught:
        model(way, bounds_X=bounds, ledger=ledger).fit(X, y)
    assert isinstance(caught.value, ValueError)
    assert ledger.spent == 0


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ({"age": (-1, 1), "income": (-1, 1)}, "bounds_X has nothing for 'area'."),
        (
            {"Age": (-1, 1), "income": (-1, 1), "area": (-1, 1)},
            "bounds_X has nothing for 'age'; it has 'Age', not in X.",
        ),
    ],
)
def test_the_side_that_lacks_a_column_is_told(bounds, told):
    with pytest.raises(kng.KngError) as caught:
        model("linear", bounds_X=bounds).fit(*frame())
    assert str(caught.value).startswith(told)
    assert "Give bounds for each column of X." in str(caught.value)


@pytest.mark.parametrize("way", EACH)
def test_one_named_column_does_not_stand_for_all(way, ledger):
    # A single plain pair is spread over the columns; a single named one must not be.
    X, y = frame()
    with pytest.raises(kng.KngError, match="bounds_X"):
        model(way, bounds_X={"age": (-1, 1)}, ledger=ledger).fit(X, y)
    model(way, bounds_X={"age": (-1, 1)}, ledger=ledger).fit(X[["age"]], y)
    assert ledger.spent == 1


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("X", ["array", "list"])
def test_named_bounds_need_named_columns(way, X, ledger):
    data, y = frame()
    given = {"array": data.to_numpy(), "list": data.to_numpy().tolist()}[X]
    with pytest.raises(SchemaError, match="bounds_X"):
        model(way, bounds_X=BOUNDS, ledger=ledger).fit(given, y)
    assert ledger.spent == 0


@pytest.mark.parametrize("way", EACH)
def test_predict_checks_the_order_of_the_columns(way):
    X, y = frame()
    fitted = model(way).fit(X, y)
    assert np.array_equal(fitted.predict(X), X.to_numpy() @ fitted.coef_ + fitted.intercept_)
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(X[NAMES[::-1]])
    with pytest.raises(ValueError, match="height"):
        fitted.predict(X.rename(columns={"age": "height"}))
    with pytest.raises(ValueError, match="area"):
        fitted.predict(X[NAMES[:2]])


@pytest.mark.parametrize("way", EACH)
def test_predict_warns_where_names_are_lost(way):
    X, y = frame()
    fitted = model(way).fit(X, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(X.to_numpy())


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("width", [1, 2, 4])
def test_predict_checks_the_width(way, width):
    X, y = frame()
    fitted = model(way).fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match=f"X has {width} features, but .* expecting 3"):
        fitted.predict(np.zeros((5, width)))
    with pytest.raises(ValueError, match="2D"):
        fitted.predict(np.zeros(3))


@pytest.mark.parametrize("way", EACH)
def test_index_labels_do_not_matter(way):
    X, y = frame()
    expected = model(way, random_state=1).fit(X, y).release_
    for index in (np.zeros(len(X)), [f"columns{i}" for i in range(len(X))], X.index[::-1]):
        shuffled = X.set_axis(index)
        fitted = model(way, random_state=1).fit(shuffled, pd.Series(y, index=index))
        assert fitted.release_ == expected


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("name", ["columns", "dtype", "shape", "column_names", "a, b", "", "<b>"])
def test_columns_may_have_any_name(way, name, ledger):
    X, y = frame()
    named = X.rename(columns={"age": name})
    bounds = {name if column == "age" else column: pair for column, pair in BOUNDS.items()}
    fitted = model(way, bounds_X=bounds, ledger=ledger).fit(named, y)
    assert ledger.spent == 1
    assert fitted.feature_names_in_.tolist() == [name, "income", "area"]
    assert kng.Release.from_json(fitted.release_.to_json()) == fitted.release_
    assert "<b><b>" not in fitted.release_._repr_html_()


@pytest.mark.parametrize("way", EACH)
def test_two_columns_of_one_name_are_refused_before_the_charge(way, ledger):
    X, y = frame()
    twice = X.set_axis(["age", "age", "area"], axis=1)
    for bounds in ((-1, 1), PAIR, {"age": (-1, 1), "area": (-4, 4)}):
        with pytest.raises(ValueError, match="age"):
            model(way, bounds_X=bounds, ledger=ledger).fit(twice, y)
    assert ledger.spent == 0


@pytest.mark.parametrize("way", EACH)
def test_bounds_of_other_columns_are_fine(way):
    X, y = frame()
    expected = model(way, bounds_X=BOUNDS, random_state=3).fit(X, y).release_.integers
    more = {**BOUNDS, "height": (0, 2)}
    assert model(way, bounds_X=more, random_state=3).fit(X, y).release_.integers == expected
