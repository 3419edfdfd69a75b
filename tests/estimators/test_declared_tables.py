"""Functions and models take from a declared table what they are not given; a promise is kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import kng
from kng.core.errors import SpecError
from kng.core.promise import Promise
from kng.ledger.backend import backend_of
from kng.ledger.charging import Purse
from kng.losses import Location, Pinball

FRAME = {"age": [20 + i % 50 for i in range(400)], "pay": [(7 * i) % 900 / 2 for i in range(400)]}
COLUMNS = {"age": {"bounds": (0, 120), "step": 1}, "pay": {"bounds": (0, 500), "step": 0.5}}
TABLE = kng.Table(FRAME, columns=COLUMNS)
MEDIAN = kng.KNG(Location(Pinball(0.5)), domain=kng.domains.Box(0, 120))


def receipt(release):
    return release.to_json()


@pytest.mark.parametrize("name", ["age", "pay"])
def test_a_median_of_a_declared_column_is_the_one_with_everything_stated(name):
    facts = COLUMNS[name]
    stated = {"bounds": {name: facts["bounds"]}, "granularity": {name: facts["step"]}}
    seed = {"epsilon": 1, "random_state": 3}
    assert receipt(kng.median(TABLE[name], **seed)) == receipt(kng.median(FRAME, **stated, **seed))
    assert receipt(kng.quantile(TABLE[name], [0.1, 0.9], **seed)) == receipt(
        kng.quantile(FRAME, [0.1, 0.9], **stated, **seed)
    )


def test_means_and_geometric_medians_take_the_bounds_and_answer_finer_than_the_step():
    bounds = {name: facts["bounds"] for name, facts in COLUMNS.items()}
    for statistic in (kng.mean, kng.geometric_median):
        found = statistic(TABLE, epsilon=1, random_state=3)
        assert receipt(found) == receipt(statistic(FRAME, bounds=bounds, epsilon=1, random_state=3))
    assert kng.mean(data=TABLE["age"], epsilon=1, random_state=3).value % 1 != 0


def test_what_is_given_comes_before_what_is_declared():
    found = kng.median(TABLE["age"], bounds=(0, 60), granularity=2, epsilon=1)
    assert (found.bounds.high, found.bounds.columns, found.lattice.step) == ((60,), ("age",), (2,))
    named = kng.median(TABLE, bounds={"age": (0, 60)}, epsilon=1)
    assert (named.bounds.high, named.lattice.step) == ((60,), (1,))


def test_a_statistic_of_one_column_says_how_to_choose():
    with pytest.raises(SpecError, match="a quantile is of one column"):
        kng.median(TABLE, epsilon=1)
    with pytest.raises(SpecError, match=r"column 'x' is declared without bounds.*table\['age'\]"):
        kng.median(kng.Table(FRAME, columns={"x": {}}), epsilon=1)


def test_parts_put_together_take_a_declared_table():
    found = MEDIAN.release(TABLE["age"], epsilon=1, random_state=2)
    assert found.bounds.columns == ("age",)


def test_a_histogram_of_a_declared_category_has_its_levels():
    frame = {"sex": ["F", "M", "x", "F"] * 100}
    options = {"epsilon": 1, "random_state": 3}
    for other in ({}, {"other": "X"}):
        table = kng.Table(frame, columns={"sex": {"levels": ["F", "M"], **other}})
        said = kng.histogram(frame, levels={"sex": ["F", "M"]}, **other, **options)
        assert receipt(kng.histogram(table["sex"], **options)) == receipt(said)


def test_groups_are_named_by_a_declared_category():
    frame = {**FRAME, "sex": ["F", "M"] * 200}
    columns = {**COLUMNS, "sex": {"levels": ["F", "M"]}}
    table = kng.Table(frame, columns=columns)
    options = {"epsilon": 1, "random_state": 3}
    found = kng.median(table["pay"], by="sex", **options)
    said = {"bounds": {"pay": (0, 500)}, "granularity": {"pay": 0.5}, "by": {"sex": ["F", "M"]}}
    assert receipt(found) == receipt(kng.median(frame, **said, **options))
    with pytest.raises(SpecError, match="by names 'age', which is not declared as a category"):
        kng.median(table["pay"], by=["age"], **options)


@pytest.fixture
def ledger(tmp_path):
    return kng.Ledger(tmp_path / "a.ledger", cap=99)


def releases(table, **options):
    """Return every way to a release from one declared table."""
    model = {"epsilon": 1, **options}
    return [
        lambda: kng.median(table["age"], epsilon=1, **options),
        lambda: kng.mean(table["age"], epsilon=1, **options),
        lambda: kng.sum(table["age"], epsilon=1, **options),
        lambda: kng.variance(table["age"], epsilon=1, **options),
        lambda: kng.proportion(table, of="age > 30", epsilon=1, **options),
        lambda: kng.histogram(table, edges={"age": [0, 50, 99]}, epsilon=1, **options),
        lambda: kng.count(table, where="age > 30", epsilon=1, **options),
        lambda: kng.median(table["age"], by={"pay": [0, 1]}, epsilon=1, **options),
        lambda: kng.geometric_median(table, epsilon=1, **options),
        lambda: MEDIAN.release(table["age"], epsilon=1, **options),
        lambda: kng.HuberRegressor(threshold=50, **model).fit(table, target="pay"),
    ]


def test_every_release_is_charged_to_the_declared_ledger(ledger):
    table = kng.Table(FRAME, columns=COLUMNS, ledger=ledger.path)
    for spent, release in enumerate(releases(table), 1):
        release()
        assert ledger.spent == spent


def test_another_ledger_or_relation_than_declared_is_refused_before_the_charge(ledger, tmp_path):
    other = kng.Ledger(tmp_path / "b.ledger", cap=99)
    table = kng.Table(FRAME, columns=COLUMNS, ledger=ledger, relation="replace-one")
    for release in releases(table, ledger=other):
        with pytest.raises(SpecError, match=r"declared with the ledger 'a.ledger'.*'b.ledger'"):
            release()
    for release in releases(table, neighbours="add-remove"):
        with pytest.raises(SpecError, match="declared with relation 'replace-one'"):
            release()
    assert ledger.spent == other.spent == 0
    for release in releases(table, ledger=str(ledger.path)):
        release()
    assert ledger.spent == 11


def test_another_account_of_the_same_ledger_is_another(ledger):
    mine = kng.Ledger(ledger.path, cap=1, account="mine")
    table = kng.Table(FRAME, columns=COLUMNS, ledger=mine)
    for release in releases(table, ledger=ledger):
        with pytest.raises(SpecError, match=r"'a.ledger', account 'mine', .* 'a.ledger'\."):
            release()
    assert ledger.spent == mine.spent == 0
    share = kng.Ledger(ledger.path, account="mine", analyst="ann", cap=1)
    kng.median(table["age"], epsilon=0.25, ledger=share)  # a share of the same account
    kng.median(table["age"], epsilon=0.25, ledger=mine.request("k"))
    assert mine.spent == 0.5


def test_a_ledger_of_ones_own_or_on_a_server_can_be_declared(ledger):
    class Own:
        paid = 0

        def reserve(self, event, *, parameters, dataset=None):
            self.paid += event.epsilon
            return ledger.reserve(event, parameters=parameters, dataset=dataset)

        def settle(self, charge, payload):
            ledger.settle(charge, payload)

    own = Own()
    for release in releases(kng.Table(FRAME, columns=COLUMNS, ledger=own)):
        release()
    assert own.paid == 11
    with pytest.raises(SpecError, match=r"declared with another ledger, .* the ledger 'a"):
        kng.median(kng.Table(FRAME, columns=COLUMNS, ledger=Own())["age"], epsilon=1, ledger=ledger)
    server = kng.Ledger.__new__(kng.Ledger)
    server._backend = backend_of("postgresql://ann:secret@there/budgets")
    server._purse = Purse("default")
    for declared in (server, "postgresql://ann:secret@there/budgets"):
        Promise(None, declared).require("replace-one", server)
        with pytest.raises(SpecError) as refused:
            Promise(None, declared).require("replace-one", ledger)
        assert "secret" not in str(refused.value)


def test_a_source_holds_its_release_to_the_promise_whatever_the_road(ledger):
    """A function that forgets to ask the table is refused all the same."""
    table = kng.Table(FRAME, columns=COLUMNS, ledger=ledger)
    with pytest.raises(SpecError, match="and the release asks for none"):
        kng.median.__wrapped__(table, bounds={"age": (0, 120)}, epsilon=1)


def test_the_declared_relation_is_taken():
    table = kng.Table(FRAME, columns=COLUMNS, relation="add-remove")
    assert kng.median(table["age"], epsilon=1).neighbours == "add-remove"
    model = kng.LinearRegression(epsilon=1)
    with pytest.raises(SpecError, match="Use neighbours='add-remove'"):
        model.fit(table, target="pay")
    model.set_params(neighbours="add-remove").fit(table, target="pay")
    assert model.release_.neighbours == "add-remove"


def test_a_model_takes_bounds_and_keeps_its_parameters(ledger):
    model = kng.LinearRegression(epsilon=2)
    before = model.get_params()
    table = kng.Table(FRAME, columns=COLUMNS, ledger=ledger)
    model.fit(table, target="pay")
    assert model.get_params() == before
    assert model.release_.bounds.columns == ("age", "pay")
    assert model.release_.bounds.high == (120, 500)
    assert np.shape(model.predict(pd.DataFrame({"age": [30.0]}))) == (1,)
    assert clone(model).get_params() == before
    with pytest.raises(SpecError, match="is the target"):
        model.fit(table, target="pay", features=["pay"])
    assert model.get_params() == before
    assert ledger.spent == 2


def test_classes_are_the_declared_levels():
    frame = {"age": FRAME["age"], "sex": ["F", "M"] * 200}
    columns = {"age": {"bounds": (0, 120)}, "sex": {"levels": ["F", "M"]}}
    table = kng.Table(frame, columns=columns)
    model = kng.LogisticRegression(epsilon=1).fit(table, target="sex", features=["age"])
    assert list(model.classes_) == ["F", "M"]
    assert model.classes is None


def test_a_model_of_a_table_asks_for_its_target():
    with pytest.raises(SpecError, match="target must be the name of the column to predict"):
        kng.LinearRegression(epsilon=1).fit(TABLE)
