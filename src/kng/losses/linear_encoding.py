"""How records of a linear model become whole numbers, and where its coefficients live.

All of it follows from public facts: the pointwise function, the bounds, and a bound on
coefficients. A function that jumps needs a fine response and fine coefficients, so that planes can
split records; one with a scale of its own measures the response in it; squares need neither.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

from kng.core.bounds import Bounds
from kng.core.design import Column, Cut, Design, across, design_of, from_zero
from kng.core.encoding import Encoding, encoding_of
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.lattice import Lattice, power_of_two_below
from kng.core.naming import argument, in_python
from kng.losses.pointwise.function import Pointwise
from kng.losses.reading import Weighs

Range = tuple[Fraction, Fraction]

# Steps between the bounds of a covariate. 2**17 records times squares of 2**17 stay below 2**53,
# so BLAS adds products exactly; and 2**-16 of a range is far below any statistical error.
COVARIATE = 2**16
# Steps of a response whose residuals are squared, and of one that planes must split.
_SQUARED, _SPLIT = 2**16, 2**24
# Where a function has a scale, the response is read in steps of 2**-20 scales or less, up to 2**20
# scales from its middle: no bound in practice, and none that the sensitivity knows of.
SCALES = 2**20
# Coefficients are released in steps of 2**-31 of their bound where planes split records, but not
# below 2**-33 units of the response: far below the noise, fine enough to split a heap, and products
# with covariates in 2**16 steps are exact in float64.
_FINE, _FINEST = 2**31, Fraction(1, 2**33)
# Elsewhere x't and y stay below 2**50 in whole numbers, and noise is far above a step.
_ROOM, _STEP = 2**34, Fraction(1, 2**26)
# Up to so many times a residual psi of two lines stays exact there; steps are not made coarser for
# more.
_TIMES = 2**13
# Responses are shifted at random by up to 2**-13 of their range, so that heaps can be split.
JITTER = Fraction(2, 2**12)
_NONE, _ONE = Fraction(0), Fraction(1)
# Ranges that leave room in float64 for their steps.
_NARROWEST = Fraction(1, 10**290)
# What coefficients may be bounded by, in units of the response.
LEAST_BOUND, MOST_SPLIT, MOST = Fraction(1, 2**8), 2**8, 2**12


@lru_cache(maxsize=64)
def linear_design(
    pointwise: Pointwise,
    intercept: bool,
    covariates: Bounds,
    response: Range | None,
    weighs: Weighs = "gradient",
) -> Design:
    """Return how records with these bounds become z and y'.

    A function with a scale needs no bounds of the response for its gradient: with an intercept
    their middle is where residuals are measured from. Its values need them. Where psi is not one of
    the residual, responses are whole numbers that are left as they are, labels or counts, and
    predictions have a unit of their own.
    """
    cut = across if intercept else from_zero
    if pointwise.scale is not None:
        column = _scaled(pointwise.scale, intercept, response, weighs)
        return design_of(encoded(covariates, cut(*column), cut), intercept, pointwise.scale)
    if response is None:
        raise SpecError(
            f"{argument('bounds_y')} is missing. The public range of the response is never read "
            f"from the data; state it, as in {argument('bounds_y', (0, 100))}."
        )
    if not pointwise.residual:
        return design_of(encoded(covariates, (*response, _ONE), cut), intercept, _ONE, _NONE)
    steps = _SPLIT if pointwise.curvature is None else _SQUARED
    return design_of(encoded(covariates, cut(*response, steps), cut), intercept)


def _scaled(
    scale: Fraction, intercept: bool, response: Range | None, weighs: Weighs
) -> tuple[Fraction, Fraction, int]:
    """Return between which ends a response is read, and in how many steps.

    They are whole steps from end to end, so that the middle stays where it is.
    """
    middle, reach = Fraction(0), SCALES * scale
    if intercept and response is not None:
        middle = (response[0] + response[1]) / 2
    low, high = middle - reach, middle + reach
    if weighs == "value":
        if response is None:
            raise SpecError(
                f"{argument('mechanism', 'exponential')} weighs the loss, which is bounded only if "
                f"the response is; give {argument('bounds_y')}, as in "
                f"{argument('bounds_y', (0, 100))}. {argument('mechanism', 'kng')} and 'objective' "
                "need no bound on the response."
            )
        low, high = max(low, response[0]), min(high, response[1])
    return low, high, max(SCALES, ceil(2 * max(high - middle, middle - low) * SCALES / scale))


@lru_cache(maxsize=64)
def linear_lattice(pointwise: Pointwise, design: Design, bound: Fraction | None) -> Lattice:
    """Return where coefficients of at most ``bound`` live: steps of a power of two, around 0.

    Where psi is proportional to the residual there is nothing to round, and no bound is needed.
    """
    sides = pointwise.sides
    if sides is not None and sides[0] == sides[1]:
        return design.lattice
    if bound is None:
        raise IncompatibleParts(
            f"The {pointwise.name} loss of a linear model is drawn from a bounded domain. Give "
            f"{argument('coef_bound')}{in_python(', or a domain such as kng.domains.Box')}."
        )
    most = most_bound(pointwise)
    if not LEAST_BOUND <= bound <= most:
        raise SpecError(
            f"Coefficients must be bounded by 1/256 to {most} units of the response, got "
            f"{float(bound):g}. Give a domain, or {argument('coef_bound')}, between them."
        )
    if pointwise.curvature is None:
        step = max(power_of_two_below(bound) / _FINE, _FINEST)
    else:
        # psi of two lines is summed in whole numbers: so many times a residual, or truncated.
        times = min(_TIMES, max(side.numerator for side in sides or (Fraction(1),)))
        room = power_of_two_below(Fraction(_ROOM, times) / (design.dim * (bound + 1)))
        step = max(1 / room, _STEP)
    reach, d = int(bound / step), design.dim
    return Lattice((-reach * step,) * d, (step,) * d, (2 * reach,) * d)


def most_bound(pointwise: Pointwise) -> int:
    """Return the largest bound on coefficients that whole numbers have room for."""
    return MOST_SPLIT if pointwise.curvature is None else MOST


@lru_cache(maxsize=64)
def linear_jitter(pointwise: Pointwise, design: Design) -> Fraction:
    """Return the width of the shifts of y' that split heaps of equal responses, if psi jumps."""
    if pointwise.curvature is not None:
        return Fraction(0)
    low, high = design.ends[-1]
    return JITTER * (high - low) / 2


@lru_cache(maxsize=64)
def encoded(covariates: Bounds, response: Column, cut: Cut = across) -> Encoding:
    """Encode covariates in 2**16 steps and a response given by low, high and step."""
    ranges = zip(covariates.low, covariates.high, strict=True)
    columns = [*(cut(low, high, COVARIATE) for low, high in ranges), response]
    if any(high - low < _NARROWEST for low, high, _ in columns[:-1]):
        raise SpecError(
            f"{argument('bounds_X')} must be at least 1e-290 wide, for float64 to tell their steps "
            "apart. Use other units."
        )
    lows, highs, steps = zip(*columns, strict=True)
    return encoding_of(Bounds(lows, highs), granularity=steps, missing=None, bits=0)
