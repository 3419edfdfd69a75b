"""Losses of the caller's, written in NumPy: scores, and objectives whose gradient is derived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kng.core.bodies import Body
from kng.core.bounds import Bounds
from kng.core.encoding import Encoding, encoding_of
from kng.core.errors import IncompatibleParts, KngError, SpecError, SpecTypeError
from kng.core.exact import positive, positives, show
from kng.core.lattice import power_of_two_below
from kng.core.naming import argument
from kng.core.parts import Domain, Field, Norm, Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit
from kng.core.records import Source
from kng.core.regions import Grid, Region
from kng.core.shapes import BoxShape
from kng.core.traced.graph import Graph
from kng.losses.room import GENERIC, refuse_large
from kng.losses.traced.bodies import Clipping, clipping_of
from kng.losses.traced.field import read_traced
from kng.losses.traced.records import gradient_graph, score_graph

if TYPE_CHECKING:
    from kng.core.parts import Loader, Plan, Reader

# Steps of a column between its bounds, and of theta along a side of the domain, in powers of two.
_RECORD_BITS, _THETA_BITS = 32, 30
# Theta is a whole number of steps below this, so that float64 holds it and its halves exactly.
_LARGEST = 2**48
# Fewer steps than this along a side are too few.
_FEWEST = 2**10
# Clips have steps that float64 can divide by.
_SMALLEST = Fraction(1, 10**150)
# Up to how many coordinates boxes are used.
_MOST = 3


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Score:
    """A score of your own, record by record, in plain NumPy.

        sum over records of  clip( function(record, theta) ),     measured in the norm

    The function is run on dummy records only, twice, and noted as a graph of listed operations on
    single records; the graph is what runs on data. It need not be the gradient of anything: an
    estimating equation serves as well.

    Parameters
    ----------
    function : callable
        ``function(records, theta)`` returns an array (n, d): ``records`` maps names of columns to
        arrays (n,), in your units, clipped to the bounds and rounded; ``theta`` is an array (d,).
    clip : number, or one for each coordinate
        What a record's score is clipped to: a length in the norm, or a box. It need not be true of
        the function: a wrong clip costs accuracy, never privacy.

    Paper    Theorem 3.1 for any score with a bounded norm.
    Privacy  The body is the clip, whatever the function is. docs/proofs/losses/traced.md.
    Cost     A few dozen array operations for each operation of the function; hundreds of boxes.

    Examples
    --------
    >>> import numpy as np, kng
    >>> def centre(records, theta):
    ...     return np.tanh(theta[0] - records["x"])[:, None]
    >>> soft = kng.KNG(kng.losses.Score(centre, clip=1), domain=kng.domains.Box(0, 10, dim=1))
    >>> soft.plan(bounds={"x": (0, 10)}, epsilon=1).sensitivity([5])
    2.0
    """

    function: Callable[[Any, Any], Any]
    clip: Fraction | tuple[Fraction, ...]
    trace: ClassVar[Callable[..., Graph]] = staticmethod(score_graph)

    def __init__(self, function: Callable[[Any, Any], Any], clip: Any) -> None:
        _set(self, function, clip)

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return f"Score({_name(self.function)})"

    def encode(self, bounds: Bounds, granularity: Any, missing: Any) -> Encoding:
        """Return how records with these bounds become whole numbers."""
        return _encoded(self.described, bounds, granularity, missing)

    def on(self, records: Encoding, domain: Domain) -> TracedLoss:
        """Trace the function for records with these columns and a domain of theta."""
        return _traced(self, records, domain)


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Objective:
    """A loss of your own in plain NumPy; its gradient is derived by forward differentiation.

        sum over records of  clip( d function(record, theta) / d theta ),     measured in the norm

    Parameters
    ----------
    function : callable
        ``function(records, theta)`` returns an array (n,): the loss of each record. Where it has a
        kink, the slope of one side is taken.
    clip : number, or one for each coordinate
        What a record's gradient is clipped to, as for `Score`.

    Paper    Theorem 3.1.
    Privacy  As for Score: docs/proofs/losses/traced.md.
    Cost     As for Score, with the operations of the derivative.
    """

    function: Callable[[Any, Any], Any]
    clip: Fraction | tuple[Fraction, ...]
    trace: ClassVar[Callable[..., Graph]] = staticmethod(gradient_graph)

    def __init__(self, function: Callable[[Any, Any], Any], clip: Any) -> None:
        _set(self, function, clip)

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return f"Objective({_name(self.function)})"

    def encode(self, bounds: Bounds, granularity: Any, missing: Any) -> Encoding:
        """Return how records with these bounds become whole numbers."""
        return _encoded(self.described, bounds, granularity, missing)

    def on(self, records: Encoding, domain: Domain) -> TracedLoss:
        """Trace the function for records with these columns and a domain of theta."""
        return _traced(self, records, domain)


@dataclass(frozen=True, slots=True)
class TracedLoss:
    """A caller's function as a graph, over records and a lattice of theta; it holds no code.

    Paper    Theorem 3.1.
    Privacy  docs/proofs/losses/traced.md.
    Cost     One pass; the records are kept.
    """

    described: str
    program: Graph
    clip: Fraction | tuple[Fraction, ...]
    encoding: Encoding
    grid: Grid
    measured: Clipping | None = None
    noun: ClassVar[str] = "coordinates"
    remedy: ClassVar[str] = "fewer"
    slow_from: ClassVar[int] = 4
    units: ClassVar[str] = "the units of the domain"

    @property
    def dim(self) -> int:
        """One coordinate for each score."""
        return len(self.program.results)

    @property
    def clipping(self) -> Clipping:
        """How scores become whole numbers."""
        if self.measured is None:
            raise IncompatibleParts(f"{self.described} needs a norm. Use TracedLoss.in_norm(norm).")
        return self.measured

    def in_norm(self, norm: Norm) -> TracedLoss:
        """Return it with scores clipped in a norm, or refuse."""
        refusal = norm.refusal(self.dim)
        if refusal is not None:
            raise IncompatibleParts(f"{described(norm)} with {self.described}: {refusal}")
        return replace(self, measured=clipping_of(self.clip, norm, self.dim, self.described))

    def offers(self, plan: DensityPlan) -> frozenset[str]:
        """Return what its field can do: boxes in up to three coordinates."""
        if not plan.problem.domain.bounded or plan.weighs != "gradient":
            return frozenset()
        return frozenset({"score", *(["enclosed"] if self.dim <= _MOST else [])})

    def loaders(self, plan: Plan) -> tuple[Loader, ...]:  # noqa: ARG002
        """Return nothing: NumPy is enough."""
        return ()

    def given(self, drawn: Sequence[Point]) -> TracedLoss:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def best_shape(self, unit: PrivacyUnit, bounded: bool) -> BoxShape:  # noqa: ARG002
        """Return the ball that fits: the box of the clips."""
        return BoxShape(self.clip) if isinstance(self.clip, tuple) else BoxShape()

    def over(self, records: Encoding) -> TracedLoss:
        """Return it over records with other bounds and the same columns."""
        return replace(self, encoding=records)

    def body(self, region: Region) -> Body:  # noqa: ARG002
        """Return the body of the clip, the same at every theta."""
        return self.clipping.body

    def smallest(self, region: Region) -> Body:  # noqa: ARG002
        """Return the body of the clip."""
        return self.clipping.body

    def values(self, region: Region) -> Body:  # noqa: ARG002
        """Refuse: the clip is of scores."""
        raise IncompatibleParts(
            f"{self.described} has scores and no bound on the value of a loss, which the "
            "exponential mechanism weighs. Use KNG."
        )

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the records once for all plans; below the charge."""
        return read_traced(source, plans)  # type: ignore[arg-type]

    def reader(self, plan: DensityPlan) -> Reader:
        """Return the one way that there is."""
        refuse_large(plan.problem, GENERIC * self.dim, "give a sample of the records")
        return read_traced


def _set(part: Score | Objective, function: Any, clip: Any) -> None:
    kind = type(part).__name__
    if not callable(function):
        raise SpecTypeError(
            f"{kind} needs a function of records and theta, got {type(function).__name__}."
        )
    several = isinstance(clip, list | tuple) or (isinstance(clip, np.ndarray) and clip.ndim > 0)
    name = f"clip of {kind}"
    object.__setattr__(part, "function", function)
    found = positives(clip, name) if several else positive(clip, name)
    if several and not found:
        raise SpecError(f"{name} is empty; give a number, or one for each coordinate.")
    sizes = found if isinstance(found, tuple) else (found,)
    if not _SMALLEST <= min(sizes) <= max(sizes) <= 1 / _SMALLEST:
        raise SpecError(f"{name} must lie between 1e-150 and 1e150. Use other units.")
    object.__setattr__(part, "clip", found)


def _name(function: Any) -> str:
    name = str(getattr(function, "__name__", type(function).__name__))
    return "lambda" if name == "<lambda>" else name


def _encoded(part: str, bounds: Bounds, granularity: Any, missing: Any) -> Encoding:
    if bounds.columns is None:
        raise SpecError(
            f"{part} reads columns by name, and the bounds name none; give "
            f"{argument('bounds', {'x': (0, 1)})}."
        )
    return encoding_of(bounds, granularity=granularity, missing=missing, bits=_RECORD_BITS)


def _traced(part: Score | Objective, records: Encoding, domain: Domain) -> TracedLoss:
    name = part.described
    try:
        dim = domain.dim
    except KngError:
        raise SpecError(
            f"{name} has as many coordinates as its domain, and {described(domain)} does not say "
            "how many. Give dim, as in Box(-5, 5, dim=2)."
        ) from None
    if not domain.bounded:
        raise IncompatibleParts(
            f"{name} needs a bounded domain, which {described(domain)} is not. Use Box."
        )
    if isinstance(part.clip, tuple) and len(part.clip) != dim:
        raise IncompatibleParts(
            f"{name} has {len(part.clip)} clips, and {described(domain)} has {dim} "
            f"coordinate{'s'[: dim > 1]}. Give one clip for each."
        )
    columns = records.bounds.columns
    assert columns is not None  # encode has refused
    program = part.trace(part.function, columns, dim, name)
    return TracedLoss(name, program, part.clip, records, _grid(domain, name))


def _grid(domain: Domain, name: str) -> Grid:
    """Return a lattice of theta whose points float64 holds: whole multiples of powers of two."""
    origin, steps = [], []
    for low, high in domain.region().sides():
        step: Fraction = power_of_two_below(high - low) / 2**_THETA_BITS
        while max(abs(low), abs(high)) > _LARGEST * step:
            step *= 2
        if (high - low) / step < _FEWEST:
            raise IncompatibleParts(
                f"{described(domain)} is too narrow so far from 0 for {name}: "
                f"{show(low)} to {show(high)}. Measure theta from a point nearby."
            )
        steps.append(step)
        origin.append(low // step * step)
    return Grid(tuple(origin), tuple(steps))
