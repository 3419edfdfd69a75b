"""What a ledger does wherever it is kept; collected once per backend, with ``place`` to keep it."""

from __future__ import annotations

import asyncio
import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import timedelta
from fractions import Fraction as F
from threading import Barrier

import numpy as np
import pytest
from ledger.conftest import make_event as event

import kng
from kng.core.errors import BudgetError, LedgerError, SpecError
from kng.core.events import Repeated, watched_by
from kng.core.payment import Ledger as Protocol
from kng.ledger import Ledger, State, entries

ASKED = {"bounds": (0, 100), "granularity": 1, "epsilon": "0.5"}
FIT = {"bounds_X": (0, 100), "bounds_y": (0, 100), "epsilon": "0.5"}
RECORDS = np.arange(100.0)


def test_it_is_a_ledger(place) -> None:
    ledger: Protocol = Ledger(place, cap=1)
    assert isinstance(ledger, Protocol)
    assert Ledger(place) == ledger
    assert Ledger(place, cap=1, currency="epsilon").remaining == 1
    with pytest.raises(SpecError, match="has cap 1, not 2"):
        Ledger(place, cap=2)
    with pytest.raises(SpecError, match="no account 'b' yet"):
        Ledger(place, account="b")


def test_ten_tenths_fit_a_cap_of_one(place) -> None:
    ledger = Ledger(place, cap=1)
    for k in range(10):
        ledger.settle(ledger.reserve(event("0.1"), parameters="{}"), f"answer {k}")
    assert (ledger.spent, ledger.remaining, ledger.epsilon) == (1, 0, 1)
    with pytest.raises(BudgetError, match="is spent"):
        ledger.reserve(event("1e-18"), parameters="{}")
    history = ledger.history()
    assert [entry.state for entry in history] == [State.RELEASED] * 10
    assert ledger.release_of(history[3].sequence) == "answer 3"
    ledger.verify()
    ledger.verify(history[5].hash)
    with pytest.raises(LedgerError, match="does not contain the head"):
        ledger.verify("0" * 64)


def test_a_refused_charge_writes_nothing(place) -> None:
    ledger = Ledger(place, cap=1)
    ledger.reserve(event("0.7"), parameters="{}")
    head = ledger.head
    with pytest.raises(BudgetError, match=r"asks for epsilon 0.4, .* has 0.3 left") as e:
        ledger.reserve(event("0.4"), parameters="{}")
    assert (e.value.requested, e.value.remaining) == (F(2, 5), F(3, 10))
    assert ledger.head == head


def test_texts_come_back_as_they_were(place) -> None:
    ledger = Ledger(place, cap=1, account="zwei 二 $1 ? %s ' \" \\")
    text = "½ \u2028 \ud800 \x00 ? $1 ' \" \\"
    charge = ledger.reserve(event(), parameters=text)
    ledger.settle(charge, text)
    assert ledger.release_of(charge.sequence) == text
    assert ledger.history()[0].parameters == text
    ledger.verify()


def test_a_charge_is_settled_once_and_where_it_was_booked(place) -> None:
    ledger, other = Ledger(place, cap=1), Ledger(place, cap=1, account="other")
    charge = ledger.reserve(event(), parameters="{}")
    with pytest.raises(SpecError, match="was not booked"):
        other.settle(charge, "a")
    ledger.settle(charge, "a")
    with pytest.raises(SpecError, match="settled already"):
        ledger.settle(charge, "b")


def test_copies_and_threads_share_an_account(place) -> None:
    Ledger(place, cap=2)
    ledger = Ledger(place, analyst="ann", cap="1.5").request("q")
    for twin in (copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        assert twin == ledger
        assert repr(twin) == repr(ledger)

    def spend(_: int) -> int:
        try:
            Ledger(place).reserve(event("0.25"), parameters="{}")
        except BudgetError:
            return 0
        return 1

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(spend, range(12))) == 8
    Ledger(place).verify()


# Requests


def test_a_request_is_charged_once(place) -> None:
    ledger, told = Ledger(place, cap=1), []

    class Watcher:
        def told(self, event) -> None:
            told.append(event)

        def passed(self, records) -> None:
            raise AssertionError("records were read")

        def ended(self) -> None: ...

    first = kng.median(RECORDS, **ASKED, ledger=ledger.request("monthly"))
    with watched_by(Watcher()):
        again = kng.median(RECORDS, **ASKED, ledger=ledger.request("monthly"))
    assert again == first
    assert [type(event) for event in told][-1] is Repeated
    assert ledger.spent == F(1, 2)
    kng.median(RECORDS, **ASKED, ledger=ledger.request("another"))
    assert ledger.remaining == 0
    assert kng.median(RECORDS, **ASKED, ledger=ledger.request("monthly")) == first
    assert [entry.request for entry in ledger.history()] == ["monthly", "another"]
    ledger.verify()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"epsilon": "0.25"}, "epsilon"),
        ({"bounds": (0, 101)}, "high"),
        ({"granularity": 2}, "granularity"),
        ({"mechanism": "exponential"}, "mechanism"),
        ({"neighbours": "add-remove"}, "neighbours"),
    ],
)
def test_the_same_key_with_other_parameters_is_refused(place, change, named) -> None:
    ledger = Ledger(place, cap=2)
    kng.median(RECORDS, **ASKED, ledger=ledger.request("k"))
    with pytest.raises(SpecError, match=rf"another {named}.*Nothing was charged"):
        kng.median(RECORDS, **{**ASKED, **change}, ledger=ledger.request("k"))
    with pytest.raises(SpecError, match="another statistic"):
        kng.quantile(RECORDS, "0.5", **ASKED, ledger=ledger.request("k"))
    assert ledger.spent == F(1, 2)


def test_a_key_belongs_to_an_account_and_to_a_dataset(place) -> None:
    one, two = Ledger(place, cap=1), Ledger(place, cap=1, account="two")
    first = one.request("k").reserve(event(), parameters="{}", dataset="a")
    one.settle(first, "answer")
    assert one.request("k").reserve(event(), parameters="{}", dataset="a").payload == "answer"
    with pytest.raises(SpecError, match="another dataset"):
        one.request("k").reserve(event(), parameters="{}", dataset="b")
    assert two.request("k").reserve(event(), parameters="{}").payload is None
    one.verify()


def test_versions_may_differ_between_two_tries(place) -> None:
    ledger = Ledger(place, cap=1).request("k")
    ledger.settle(ledger.reserve(event(), parameters='{"a": 1, "version": "1"}'), "answer")
    assert ledger.reserve(event(), parameters='{"version": "2", "a": 1}').payload == "answer"


def test_a_request_that_many_make_at_once_is_charged_once(place) -> None:
    ledger, together = Ledger(place, cap=2), Barrier(8)

    def ask(_: int) -> float | str:
        together.wait()
        try:
            return float(kng.median(RECORDS, **ASKED, ledger=ledger.request("k")))
        except BudgetError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    answers = {answer for answer in found if isinstance(answer, float)}
    assert len(answers) == 1
    assert all("no stored answer" in text for text in found if isinstance(text, str))
    assert (ledger.spent, len(ledger.history())) == (F(ASKED["epsilon"]), 1)
    assert float(kng.median(RECORDS, **ASKED, ledger=ledger.request("k"))) in answers
    ledger.verify()


def test_analysts_who_race_stay_below_their_shares(place) -> None:
    account = Ledger(place, cap=1)
    shares = [Ledger(place, analyst=name, cap="0.75") for name in ("ann", "bob")]

    def charge(at: int) -> bool:
        try:
            shares[at % 2].reserve(event("0.1"), parameters="{}")
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(charge, range(40))) == 10
    assert account.spent == sum(share.spent for share in shares) == 1
    assert all(share.spent <= F(7, 10) for share in shares)
    account.verify()


def test_a_clock_that_goes_back_is_no_alarm(place, monkeypatch) -> None:
    ledger, now = Ledger(place, cap=1), entries.now()
    for days in (0, -400, 3):
        monkeypatch.setattr(entries, "now", lambda days=days: now + timedelta(days=days))
        ledger.settle(ledger.reserve(event("0.1"), parameters="{}"), "answer")
    assert [entry.state for entry in ledger.history()] == [State.RELEASED] * 3
    ledger.verify()


def test_a_request_that_was_cut_short_stays_charged(place) -> None:
    ledger = Ledger(place, cap=1).request("k")
    ledger.reserve(event(), parameters="{}")
    with pytest.raises(BudgetError, match=r"no stored answer.*The charge stays"):
        ledger.reserve(event(), parameters="{}")
    assert ledger.spent == F(1, 10)


# Datasets and shares


def test_a_dataset_is_charged_to_one_account(place) -> None:
    one, two = Ledger(place, cap=1), Ledger(place, cap=1, account="two")
    one.reserve(event(), parameters="{}", dataset="a")
    one.reserve(event(), parameters="{}", dataset="b")
    with pytest.raises(SpecError, match=r"charged to account 'default'.*add their caps up"):
        two.reserve(event(), parameters="{}", dataset="a")
    two.reserve(event(), parameters="{}", dataset="c")
    two.reserve(event(), parameters="{}")
    assert (one.spent, two.spent) == (F(1, 5), F(1, 5))
    one.verify()


def test_a_share_is_a_part_of_the_account(place) -> None:
    account = Ledger(place, cap=1)
    ann, bob = Ledger(place, analyst="ann", cap="0.6"), Ledger(place, analyst="bob", cap="0.6")
    ann.reserve(event("0.5"), parameters="{}")
    with pytest.raises(BudgetError, match=r"analyst 'ann' .* has 0.1 left of its cap of 0.6"):
        ann.reserve(event("0.2"), parameters="{}")
    bob.reserve(event("0.4"), parameters="{}")
    with pytest.raises(BudgetError, match=r"account 'default' has 0.1 left of its cap of 1"):
        bob.reserve(event("0.2"), parameters="{}")
    account.reserve(event("0.1"), parameters="{}")
    assert (ann.spent, bob.spent, account.spent) == (F(1, 2), F(2, 5), 1)
    assert (ann.remaining, ann.cap) == (0, F(3, 5))
    assert [entry.analyst for entry in account.history()] == ["ann", "bob", None]
    assert {name: share.spent for name, share in account.shares.items()} == {
        "ann": F(1, 2),
        "bob": F(2, 5),
    }
    account.verify()


def test_shares_are_given_once_and_below_the_account(place) -> None:
    with pytest.raises(SpecError, match="a share is a part of it"):
        Ledger(place, analyst="ann", cap=1)
    Ledger(place, cap=1)
    with pytest.raises(SpecError, match="no analyst 'ann' yet"):
        Ledger(place, analyst="ann")
    with pytest.raises(SpecError, match="at most that of account"):
        Ledger(place, analyst="ann", cap=2)
    Ledger(place, analyst="ann", cap="0.5")
    assert Ledger(place, analyst="ann").remaining == F(1, 2)
    with pytest.raises(SpecError, match=r"has cap 0.5, not 0.25"):
        Ledger(place, analyst="ann", cap="0.25")
    Ledger(place).verify()


# Relations and currencies


def test_an_add_remove_release_counts_twice_where_a_record_is_replaced(place) -> None:
    ledger = Ledger(place, cap=1, neighbours="replace-one")
    charge = ledger.reserve(event("0.2", neighbours="add-remove"), parameters="{}")
    assert (charge.epsilon, ledger.spent) == (F(2, 5), F(2, 5))
    assert ledger.rho == 4 * F(1, 25) / 8
    assert ledger.history()[0].steps == 2
    with pytest.raises(BudgetError, match=r"epsilon 0.8, which is epsilon 0.4 counted 2 times"):
        ledger.reserve(event("0.4", neighbours="add-remove"), parameters="{}")
    ledger.verify()


def test_the_converse_is_refused_and_no_leak_is_recommended(place) -> None:
    ledger = Ledger(place, cap=1, neighbours="add-remove")
    with pytest.raises(SpecError, match="Release with neighbours='add-remove'") as e:
        ledger.reserve(event(), parameters="{}")
    assert "Release with neighbours='replace-one'" not in str(e.value)
    assert ledger.spent == 0


@pytest.mark.parametrize(
    ("kept", "asked", "neighbours", "steps"),
    [
        (1, 1, "replace-one", 1),
        (1, 5, "replace-one", 1),
        (5, 5, "replace-one", 1),
        (5, 2, "replace-one", 3),
        (4, 2, "add-remove", 4),
        (5, 1, "add-remove", 10),
        (2, 3, "add-remove", 2),
    ],
)
def test_persons_with_more_records_count_their_groups(
    place, kept, asked, neighbours, steps
) -> None:
    ledger = Ledger(place, cap=1, neighbours="replace-one", records_per_person=kept)
    made = event("0.01", neighbours=neighbours, records_per_person=asked)
    assert ledger.reserve(made, parameters="{}").epsilon == steps * made.epsilon == ledger.spent
    assert ledger.rho == steps**2 * made.rho
    assert (ledger.neighbours, ledger.records_per_person) == ("replace-one", kept)
    ledger.verify()


def test_an_account_in_rho(place) -> None:
    """A hundred draws of 0.1: rho 0.125, and epsilon 2.42 at delta 1e-6 in place of 10."""
    ledger = Ledger(place, cap="0.03", currency="rho")
    noise = event("0.1", width=F(1, 5))
    for _ in range(4):
        ledger.reserve(event("0.1"), parameters="{}")
        ledger.reserve(noise, parameters="{}")
    assert (ledger.spent, ledger.rho) == (F(1, 40), F(1, 40))
    assert ledger.epsilon == F(4, 5)
    with pytest.raises(BudgetError, match=r"asks for rho 0.02 \(epsilon 0.4\), but") as e:
        ledger.reserve(event("0.4"), parameters="{}")
    assert e.value.remaining == F(1, 200)
    assert 0.7 < ledger.epsilon_at("1e-6") <= F(4, 5)
    with pytest.raises(SpecError, match="has currency rho, not epsilon"):
        Ledger(place, currency="epsilon")
    ledger.verify()


def test_draws_add_up_each_by_itself(place) -> None:
    """Two draws of range 0.1 are not one of 0.2."""
    ledger = Ledger(place, cap=1, currency="rho")
    ledger.reserve(event("0.2", rho=F(1, 400)), parameters="{}")
    assert ledger.spent == F(1, 400)
    with pytest.raises(SpecError, match="at most width"):
        ledger.reserve(event("0.2", rho=F(1, 100)), parameters="{}")


# The end, and blocks


def test_a_closed_account_takes_nothing_more(place) -> None:
    ledger = Ledger(place, cap=1)
    keyed = ledger.request("k")
    keyed.settle(keyed.reserve(event(), parameters="{}"), "answer")
    late = ledger.reserve(event(), parameters="{}")
    ledger.close_account()
    assert (ledger.closed, ledger.remaining, ledger.spent) == (True, 0, F(1, 5))
    for use in (
        lambda: ledger.reserve(event(), parameters="{}"),
        ledger.close_account,
        lambda: Ledger(place, analyst="ann", cap="0.1"),
    ):
        with pytest.raises(BudgetError, match="is closed"):
            use()
    ledger.settle(late, "paid before")
    assert keyed.reserve(event(), parameters="{}").payload == "answer"
    ledger.verify()


def test_a_block_sets_the_ledger(place) -> None:
    with Ledger(place, cap=2) as ledger:
        kng.median(RECORDS, **ASKED)
        with ledger.request("k"):
            assert kng.median(RECORDS, **ASKED) == kng.median(RECORDS, **ASKED)
        kng.LinearRegression(epsilon="0.5", bounds_X=(0, 100), bounds_y=(0, 100)).fit(
            RECORDS[:, None], RECORDS
        )
    kng.median(RECORDS, **ASKED)
    assert ledger.spent == F(3, 2)


def test_a_thread_in_no_block_is_refused_while_one_is_open(place) -> None:
    # Nobody can tell whether it was meant to be paid for; Python gives threads no block.
    with ThreadPoolExecutor(1) as pool, Ledger(place, cap=2) as ledger:
        with pytest.raises(SpecError, match="ledger is missing: a with block"):
            pool.submit(kng.median, RECORDS, **ASKED).result()
        with pytest.raises(SpecError, match="ledger is missing"):
            pool.submit(kng.LinearRegression(**FIT).fit, RECORDS[:, None], RECORDS).result()
        pool.submit(kng.median, RECORDS, **ASKED, ledger=ledger).result()
        pool.submit(copy_context().run, lambda: kng.median(RECORDS, **ASKED)).result()
        # A plan and a simulation are paid by nobody.
        pool.submit(kng.median.plan, n=10, epsilon=1, bounds=(0, 100)).result()
        pool.submit(kng.median, RECORDS, **ASKED, random_state=1).result()

        def own() -> None:
            with ledger.request("its own"):
                kng.median(RECORDS, **ASKED)

        pool.submit(own).result()
    kng.median(RECORDS, **ASKED)
    assert ledger.spent == 3 * F(ASKED["epsilon"])


def test_a_simulation_of_a_plan_is_paid_by_nobody(place) -> None:
    with Ledger(place, cap=2) as ledger:
        for plan in (
            kng.mean.plan(n=100, epsilon=1, bounds=(0, 10)),
            kng.HuberRegressor(epsilon=1, threshold=1, bounds_X=(0, 1)).plan(n=500, features=1),
        ):
            plan.simulate(replicates=2)
        kng.median(RECORDS, **ASKED)
    assert ledger.spent == F(ASKED["epsilon"])


def test_blocks_end_by_themselves(place) -> None:
    one, other = Ledger(place, cap=2), Ledger(place, cap=1, account="b")

    def paying(ledger):
        with ledger:
            yield

    first, second = paying(one), paying(other)
    next(first)
    next(second)
    first.close()  # not in the order in which they began
    kng.median(RECORDS, **ASKED)
    assert (one.spent, other.spent) == (0, F(ASKED["epsilon"]))
    second.close()
    with pytest.raises(ValueError, match="in the block"), one:
        raise ValueError("in the block")
    kng.median(RECORDS, **ASKED)
    with ThreadPoolExecutor(1) as pool:  # and no block is left open
        pool.submit(kng.median, RECORDS, **ASKED).result()
    assert (one.spent, other.spent) == (0, F(ASKED["epsilon"]))


def test_tasks_have_the_block_that_they_were_made_in(place) -> None:
    one, other = Ledger(place, cap=2), Ledger(place, cap=2, account="b")

    async def ask() -> None:
        await asyncio.sleep(0)
        kng.median(RECORDS, **ASKED)

    async def within(ledger, times) -> None:
        with ledger:
            await asyncio.gather(*(asyncio.create_task(ask()) for _ in range(times)))
            await asyncio.to_thread(kng.median, RECORDS, **ASKED)

    async def all_of_them() -> None:
        await asyncio.gather(within(one, 2), within(other, 1))

    asyncio.run(all_of_them())
    each = F(ASKED["epsilon"])
    assert (one.spent, other.spent) == (3 * each, 2 * each)


def test_a_ledger_that_was_lost_in_part_books_what_is_stated(place) -> None:
    ledger = Ledger(place, cap=1)
    ledger.reserve(event("0.25"), parameters="{}")
    Ledger(place, cap=3, account="b", currency="rho").reserve(event("0.5"), parameters="{}")
    with pytest.raises(SpecError, match="must name its account"):
        Ledger.restore(place, spent="0.5")
    with pytest.raises(SpecError, match=r"had left, 0.75; got 0.8"):
        Ledger.restore(place, spent={"default": "0.8"})
    with pytest.raises(SpecError, match="names account 'c'"):
        Ledger.restore(place, spent={"c": 1})
    assert ledger.spent == F(1, 4)
    restored = Ledger.restore(place, spent={"default": "0.5"})
    assert (restored.spent, restored.epsilon) == (F(3, 4), F(3, 4))
    assert restored.rho == F(1, 16) / 8 + F(1, 4) / 2
    other = Ledger(place, account="b")
    assert (other.remaining, other.epsilon, other.rho) == (0, None, 3)
    assert other.epsilon_at("1e-6") > 3
    restored.reserve(event("0.25"), parameters="{}")
    with pytest.raises(BudgetError):
        restored.reserve(event("0.01"), parameters="{}")
    restored.verify()
