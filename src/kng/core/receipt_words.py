"""What a receipt means: the promise, the law and each assumption in plain sentences."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from kng.core.privacy import Assumption, Guarantee
from kng.core.receipt_text import PERSON, facts, unit_of

if TYPE_CHECKING:
    from kng.core.release import Release

_ONE, _HUNDRED = Decimal(1), Decimal(100)

# What lines of a receipt are about, by their labels.
LINES = {
    "guarantee": "How far the promise reaches. Exact: it holds for the program that ran, rounding "
    "included, and not only for a formula.",
    "bounds": "Stated by whoever asked, not read from the data. A number beyond them counts as "
    "the nearest bound.",
    "step": "The data and the answer are rounded to whole steps.",
    "missing cells": "Records that lack a needed cell are left out, and nobody learns how many.",
    "records": "How many there are, if that is public.",
    "version": "Which kng made the receipt.",
}
# What becomes of the promise if an assumption fails, or whose job it is.
ASSUMED = {
    Assumption.RANDOM_BITS: "This is the job of the operating system.",
    Assumption.UNSEEN_CLOCK: "This is the job of whoever runs the program: let no outsider time "
    "it.",
    Assumption.UNBOUNDED_TIME: "A draw may take long, and is never cut short: stopping early "
    "would tell something about the records.",
    Assumption.REAL_ARITHMETIC: "The proof is about real numbers, and the computer rounds.",
    Assumption.CONVERGED: "Nobody can check this, so ledgers reject such a release.",
    Assumption.SEEDED: "A seed makes the answer repeatable. It is for trying things out.",
    Assumption.CALLERS_PARTS: "Parts of the method were supplied by the caller, and are not "
    "checked by kng.",
    Assumption.CLOSED_QUOTES: "This is a property of the CSV file, stated by whoever asked.",
    Assumption.ROWS_PER_RECORD: "The query joins or drops rows. The number was stated by whoever "
    "asked.",
    Assumption.PUBLIC_SCHEMA: "Names and types of columns are taken to be known to everybody.",
}
_LAWS = {
    "k-norm": "Random noise was added to an exact sum, and the answer was read off the noisy sum. "
    "Noise of size s has a probability proportional to exp(-rate * s / sensitivity)",
    "kng": "The answer was drawn at random from all possible answers. One with score s has a "
    "probability proportional to exp(-rate * s / sensitivity), and the score is the size of the "
    "gradient of the loss: answers that fit the records badly are exponentially unlikely",
    "exponential": "The answer was drawn at random from all possible answers. One with loss s has "
    "a probability proportional to exp(-rate * s / sensitivity): answers that fit the records "
    "badly are exponentially unlikely",
    "objective": "Random noise was added to the gradient of the loss, and the answer minimises "
    "the loss that was changed so. Noise of size s has a probability proportional to "
    "exp(-rate * s / sensitivity)",
}


def law_in_words(release: Release) -> str:
    """Say how the answer was drawn."""
    found = _LAWS.get(release.mechanism, f"The answer was drawn by the {release.mechanism} method")
    law = release.law
    if law is None or release.mechanism not in _LAWS:
        return f"{found}."
    delta = "which depends on the answer" if law.delta is None else decimal(law.delta)
    units = "" if law.units == "the units of the records" else f" ({law.units})"
    return f"{found}. Rate: {decimal(law.rate)}; sensitivity: {delta}{units}."


def factor(epsilon: Fraction) -> str:
    """Return e to the power epsilon, rounded up to three digits."""
    return _plain(_up(_exp(epsilon), 3))


def odds(epsilon: Fraction) -> tuple[str, str]:
    """Return what 50:50 becomes at most, in percent: e^epsilon against 1, the first rounded up."""
    context, power = _context(), _exp(epsilon)
    share = context.divide(context.multiply(_HUNDRED, power), context.add(_ONE, power))
    against = context.subtract(_HUNDRED, share)
    # Behind the comma as many digits as the smaller side has zeros, and one more.
    places = max(1, 1 - against.adjusted()) if against else 1
    if places > 20:
        return "100", "0"
    above = context.quantize(share, _ONE.scaleb(-places, context))
    return _plain(above), _plain(context.subtract(_HUNDRED, above))


def for_custodians(release: Release) -> str:
    """Say what the epsilon promises, to somebody who answers for the data."""
    change = "replaced by another" if release.neighbours == "replace-one" else "added or removed"
    epsilon = release.event.epsilon
    return (
        f"If {unit_of(release)} is {change}, no answer becomes more than {factor(epsilon)} times "
        f"as likely or as unlikely (e to the power {decimal(epsilon)}). This holds for every "
        "dataset and whatever else is known."
    )


def for_laypeople(release: Release) -> str:
    """Say what the epsilon promises, to somebody whose record may be in the data."""
    high, low = odds(release.event.epsilon)
    one = release.event.records_per_person == 1 and PERSON not in release.details
    mine, others = ("your record", "another one") if one else ("your records", "another person's")
    whose = (
        f"whether the data hold {mine} or {others} instead"
        if release.neighbours == "replace-one"
        else f"whether the data hold {mine}"
    )
    return (
        f"Suppose somebody thinks it is 50:50 {whose}. After seeing this answer, the odds can be "
        f"at most {high}:{low}, whatever else they know."
    )


def caveat(release: Release) -> str | None:
    """Return what weakens the promise, if anything does."""
    return {
        Guarantee.EXACT: None,
        Guarantee.IDEAL: "The promise is proved for real numbers. The program computes in floating "
        "point, and rounding is not part of the proof.",
        Guarantee.APPROXIMATE: "The answer comes from a Markov chain that nothing certifies: the "
        "promise holds only as far as the chain has converged. Do not rely on it.",
        Guarantee.SIMULATION: "This is a simulation: the random numbers have a seed and can be "
        "repeated, so nobody is protected. Do not publish it if the records are sensitive.",
    }[release.guarantee]


def in_words(release: Release) -> dict[str, object]:
    """Return what JSON says for people; it is not read back."""
    weaker = caveat(release)
    return {
        "guarantee": for_custodians(release),
        "for_laypeople": for_laypeople(release),
        **({} if weaker is None else {"caveat": weaker}),
        "law": law_in_words(release),
        "facts": [
            list(row) for row in facts(release) if row[0] not in ("also released", "assumption")
        ],
        "assumptions": {
            a.value: f"{_capital(a.meaning)}. {ASSUMED[a]}" for a in release.assumptions
        },
    }


def decimal(number: str | Fraction) -> str:
    """Write an exact number as a decimal: all of up to six digits, else three."""
    exact = Fraction(number)
    six = _divided(exact, 6)
    return _plain(six if Fraction(six) == exact else _divided(exact, 3))


def _divided(number: Fraction, digits: int) -> Decimal:
    return Context(prec=digits).divide(Decimal(number.numerator), Decimal(number.denominator))


def _context() -> Context:
    """Return a context of our own: that of the caller would note what we round."""
    return Context(prec=60, rounding=ROUND_CEILING)


def _exp(epsilon: Fraction) -> Decimal:
    """Return e to the power epsilon, to 60 digits, not below it; at most e^10000."""
    context, capped = _context(), min(epsilon, Fraction(10_000))
    power = context.divide(Decimal(capped.numerator), Decimal(capped.denominator))
    return context.next_plus(context.exp(power))


def _up(number: Decimal, digits: int) -> Decimal:
    return Context(prec=digits, rounding=ROUND_CEILING).plus(number)


def _plain(number: Decimal) -> str:
    """Write a decimal without an exponent unless it is very long."""
    short = number.normalize(_context())
    if not short:
        return "0"
    return f"{short:f}" if -12 < short.adjusted() < 12 else f"{short:e}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
