"""What parts cannot carry is refused when they are put together, never after the charge."""

from __future__ import annotations

import pytest

import kng
from kng.losses import Expectile, Huber, Location, Pinball, Squared

WIDE = {
    "far": (kng.domains.Box(-(10**9), 10**9), {"granularity": 1e-7}),
    "fine": (kng.domains.Box(-(10**6), 10**6), {"granularity": 1e-10}),
    "very far": (kng.domains.Box(-(2**60), 2**60), {}),
}


@pytest.mark.parametrize("domain", WIDE)
@pytest.mark.parametrize("function", [Huber(1), Expectile(0.9), Squared(), Pinball(0.3)], ids=str)
@pytest.mark.parametrize("mechanism", [kng.KNG, kng.Exponential])
def test_a_domain_that_is_too_wide_is_answered_or_refused(mechanism, function, domain, tmp_path):
    """Location(Huber) on a wide box was charged and then failed, whatever the records were."""
    box, options = WIDE[domain]
    ledger = kng.Ledger(tmp_path / "account.ledger", cap=1)
    asked = {"bounds": (0, 12), "epsilon": 1, "ledger": ledger, **options}
    refused = ""
    try:
        mechanism(Location(function), domain=box).release([1.0, 2.0, 3.0], **asked)
    except kng.KngError as error:
        refused = type(error).__name__
    assert refused != "PrivateZoneError"
    assert ledger.spent == (0 if refused else 1)


def test_a_function_without_a_model_is_told_so():
    with pytest.raises(kng.KngError, match="put it into a model"):
        kng.KNG(Pinball(0.5), domain=kng.domains.Box(0, 1))


def test_a_plan_prints_in_a_line():
    plan = kng.KNG(Location(Pinball(0.5)), domain=kng.domains.Box(0, 10)).plan(
        bounds=(0, 10), epsilon=1
    )
    assert repr(plan).startswith("Planned(kng of Location(Pinball(0.5))")
    assert len(repr(plan)) < 200
