"""A failure after the charge: it stays charged, and says nothing."""

from __future__ import annotations

import gc
import traceback
from typing import Any

import numpy as np
import pytest
from contract.asking import RECORDS, STATISTICS, ask

import kng
from kng.core.errors import PrivateZoneError
from kng.samplers.exact.line import Order
from kng.samplers.exact.noise import Noise

SECRET = "patient 4711 earns 98765"
RELATIONS = ["replace-one", "add-remove"]


def plain() -> None:
    raise ValueError(SECRET)


def chained() -> None:
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        raise OSError(SECRET) from error


def grouped() -> None:
    raise ExceptionGroup(SECRET, [ValueError(SECRET), TypeError(SECRET)])


def unprintable() -> None:
    class Loud(Exception):
        def __str__(self) -> str:
            return SECRET

    raise Loud


def ours() -> None:
    raise kng.KngError(SECRET)


def stopped() -> None:
    raise StopIteration(SECRET)


def exhausted() -> None:
    raise MemoryError(SECRET)


def endless() -> None:
    endless()


def exiting() -> None:
    raise SystemExit(SECRET)


def closing() -> None:
    raise GeneratorExit(SECRET)


FAILURES = [
    *(plain, chained, grouped, unprintable, ours, stopped, exhausted, endless),
    *(exiting, closing),
]


class Failing(list):
    """A list whose records cannot be had."""

    failure: Any

    def __getitem__(self, at: Any) -> Any:
        self.failure()

    def __iter__(self) -> Any:
        self.failure()


def failing(failure: Any) -> Failing:
    data = Failing(RECORDS)
    data.failure = failure
    return data


def failed(statistic: str, data: Any, **options: Any) -> PrivateZoneError:
    with pytest.raises(PrivateZoneError) as caught:
        ask(statistic, data, **options)
    return caught.value


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_failure_after_the_charge_keeps_the_charge_and_says_nothing(
    statistic, relation, books, capfd
):
    told = set()
    for at, failure in enumerate(FAILURES):
        ledger = kng.Ledger(books / f"{at}.ledger", cap=5)
        error = failed(statistic, failing(failure), neighbours=relation, ledger=ledger)
        (entry,) = ledger.history()
        assert (ledger.spent, entry.state) == (1, "charged")
        assert ledger.release_of(entry.sequence) is None
        assert error.__cause__ is None
        told.add((str(error), repr(error.args), repr(sorted(vars(error)))))
    assert len(told) == 1, "which failure it was does not show"
    assert SECRET not in str(told)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.__name__)
def test_no_chain_leads_back_to_the_failure(failure):
    error = failed("mean", failing(failure))
    assert error.__context__ is None
    text = "".join(traceback.format_exception(error))
    assert SECRET not in text


def test_no_traceback_tells_what_failed():
    try:
        ask("mean", failing(plain))
    except PrivateZoneError:
        assert SECRET not in traceback.format_exc()
        assert "ValueError" not in traceback.format_exc()


def test_no_frame_of_the_private_zone_is_kept_alive():
    class Record:
        """Something a reader holds while it fails."""

    class Reading(list):
        def __getitem__(self, at: Any) -> Any:
            held = Record()
            raise ValueError(held)

    error = failed("median", Reading(RECORDS))
    gc.collect()
    assert error is not None
    assert not any(isinstance(thing, Record) for thing in gc.get_objects())


def test_no_frame_of_ours_still_knows_what_failed():
    # Tools that show the variables of a traceback would print it.
    class Loud(Exception):
        pass

    def fail() -> None:
        raise Loud(SECRET)

    error = failed("mean", failing(fail))
    held = [
        value
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if frame.f_globals["__name__"].startswith(("kng.", "contextlib"))
        for value in frame.f_locals.values()
    ]
    assert held, "the traceback leads through the library"
    assert not [value for value in held if value is Loud or isinstance(value, Loud)]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_failing_sampler_says_nothing_and_keeps_the_charge(statistic, ledger, monkeypatch):
    def fail(*_: Any) -> Any:
        raise AssertionError(SECRET)

    monkeypatch.setattr(Order, "draw", fail)
    monkeypatch.setattr(Noise, "draw", fail)
    error = failed(statistic, RECORDS, ledger=ledger)
    assert SECRET not in str(error)
    assert ledger.spent == 1


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_file_that_vanishes_after_the_charge_says_nothing(statistic, books):
    file = books / "secret-name.csv"
    file.write_text("a\n1\n2\n")

    class Vanishing(kng.Ledger):
        def reserve(self, event: Any, *, parameters: str, dataset: Any = None) -> Any:
            booking = super().reserve(event, parameters=parameters, dataset=dataset)
            file.unlink()
            return booking

    ledger = Vanishing(books / "a.ledger", cap=5)
    error = failed(statistic, file, ledger=ledger)
    assert "secret-name" not in str(error)
    assert ledger.spent == 1


def test_an_interrupt_passes_and_keeps_the_charge(ledger):
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        ask("mean", failing(interrupted), ledger=ledger)
    frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert "interrupted" not in frames
    (entry,) = ledger.history()
    assert (ledger.spent, entry.state) == (1, "charged")


def test_floating_point_settings_of_the_caller_do_not_matter_and_stay():
    data = np.array([np.nan, np.inf, -np.inf, 1e308, 5e-324])
    with np.errstate(all="raise"):
        state = np.geterr()
        for statistic in STATISTICS:
            ask(statistic, data, bounds=(-1e300, 1e300))
        assert np.geterr() == state


def test_a_chain_on_a_line_reads_every_record():
    """It has no depth; what it needs of a plan is not missed in the private zone."""
    ages = [1, 2, 3, 9] * 300
    for q in (0.5, [0.25, 0.75]):
        asked = {"bounds": (0, 10), "epsilon": 1, "sampler": "hit-and-run"}
        assert kng.quantile(ages, q, **asked).guarantee == "approximate"
