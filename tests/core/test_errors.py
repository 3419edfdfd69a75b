"""The tree of errors, and the wall around the private zone."""

from __future__ import annotations

import traceback
import warnings
from fractions import Fraction

import numpy as np
import pytest

from kng.core import errors
from kng.core.errors import (
    BudgetError,
    IncompatibleParts,
    KngError,
    LedgerError,
    MissingExtra,
    PrivateZoneError,
    SchemaError,
    SpecError,
    SpecTypeError,
    UnknownName,
    private_zone,
)

TREE = {
    SpecError: ValueError,
    SpecTypeError: TypeError,
    IncompatibleParts: TypeError,
    SchemaError: ValueError,
    BudgetError: Exception,
    MissingExtra: ImportError,
    UnknownName: KeyError,
    LedgerError: Exception,
    PrivateZoneError: Exception,
}


def test_every_error_hangs_on_one_root():
    defined = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    assert defined == {KngError, *TREE}
    for error, also in TREE.items():
        assert issubclass(error, KngError)
        assert issubclass(error, also)
    for silent in (BudgetError, LedgerError, PrivateZoneError):
        assert not issubclass(silent, ValueError | TypeError)


def test_the_drawing_of_the_tree_is_the_tree():
    for error in TREE:
        assert error.__name__ in errors.__doc__


def test_a_refused_charge_carries_its_numbers():
    error = BudgetError("no", requested=Fraction(1), remaining=Fraction(1, 2))
    assert (str(error), error.requested, error.remaining) == ("no", 1, Fraction(1, 2))


def test_the_zone_lets_a_result_through():
    with private_zone():
        result = 5
    assert result == 5


@pytest.mark.parametrize(
    "kind", [ValueError, KeyError, MemoryError, AssertionError, SpecError, Warning]
)
def test_the_zone_tells_no_failure_from_another(kind):
    with pytest.raises(PrivateZoneError) as caught, private_zone():
        raise kind("secret")
    assert "secret" not in str(caught.value)
    assert str(caught.value).startswith(
        "The release failed after it was charged; the charge stays."
    )
    assert caught.value.__cause__ is None


def test_the_zone_keeps_no_chain():
    with pytest.raises(PrivateZoneError) as caught, private_zone():
        raise ValueError("secret")
    assert caught.value.__context__ is None
    assert "secret" not in "".join(traceback.format_exception(caught.value))


class Odd(BaseException):
    """Neither an error nor an exit."""


@pytest.mark.parametrize("kind", [SystemExit, GeneratorExit, Odd])
def test_the_zone_tells_no_exit_from_a_failure(kind):
    """A record whose code exits would choose the exit code of the program; it did in e301d72."""
    with pytest.raises(PrivateZoneError) as caught, private_zone():
        raise kind("secret")
    assert caught.value.__context__ is None
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_an_interrupt_leaves_the_zone_without_its_frames():
    """In e301d72 it carried them, and with them every record that they held."""

    class Loud(KeyboardInterrupt):
        pass

    def interrupted():
        record = "secret"
        try:
            raise ValueError(record)
        except ValueError as error:
            raise Loud(record) from error

    with pytest.raises(KeyboardInterrupt) as caught, private_zone():
        interrupted()
    error = caught.value
    assert (type(error), error.args) == (KeyboardInterrupt, ())
    assert (error.__context__, error.__cause__) == (None, None)
    frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
    assert "interrupted" not in frames
    assert "secret" not in "".join(traceback.format_exception(error))


def test_the_zone_silences_floating_point_whatever_the_caller_chose():
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        before = np.geterr()
        with private_zone():
            assert np.isnan(np.float64(0.0) / np.float64(0.0))
            assert np.isinf(np.float64(1e308) * 10)
            assert np.array([np.inf]).astype(np.int64) is not None
        assert np.geterr() == before
