"""The best norm there is: its unit ball is the hull of whatever one record can change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any, ClassVar, NoReturn

from kng.core.bodies import Ball, Cuboid, Gauged, Piece, Reaching
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact
from kng.core.naming import argument
from kng.core.parts import Norm
from kng.norms.coordinate import axes
from kng.norms.frames import rank
from kng.norms.lp import L2, Array, furthest
from kng.norms.polytope import Polytope
from kng.norms.vertices import facets_of
from kng.norms.weighted import WeightedSup

Vector = tuple[Fraction, ...]
# Up to so many coordinates the corners of boxes are turned into facets.
_MOST = 5


@dataclass(frozen=True, slots=True)
class Hull:
    """The norm whose unit ball is the hull of what one record can change, at every theta.

        ||g||_theta = least c >= 0  with  g in c K_theta
        K_theta = hull of +- the changes that one record can make to the sum of scores at theta

    Its sensitivity is 1, and no norm of sensitivity 1 is longer anywhere: no other draws closer. A
    quantile plane and Huber's loss have one hull for all theta, and with an intercept it is
    `InterceptSup`; log-odds have one for each. The changes of least squares depend on theta and
    fill no polytope. They are measured along a few directions v, each by the farthest change,

        ||g||_theta = max_v |v'g| / R_theta(v),     R_theta(v) = largest |v'change|

    which has sensitivity 1 as well and is no longer than the hull's own norm.

    Parameters
    ----------
    directions : sequence of sequences of numbers, optional
        Directions for changes that fill no polytope; together they must span the space. Unless
        given: the axes and the diagonals of their planes, in two coordinates also those between.

    Paper    Section 1: K is the convex hull of the sensitivity polytope, "the major advantage".
    Privacy  Delta is computed as for every norm, and is 1. docs/proofs/norms/hull.md.
    Cost     Facets are found once where one hull serves all theta, else for each theta that is
             looked at.

    Examples
    --------
    >>> import kng
    >>> slopes = kng.losses.Linear(kng.losses.Pinball(0.9), intercept=False)
    >>> wide = kng.domains.Box(-1, 1)
    >>> for norm in (kng.norms.LInf(), kng.norms.Hull()):
    ...     plan = kng.KNG(slopes, norm=norm, domain=wide).plan(
    ...         bounds_X=([0, 0], [1, 1]), bounds_y=(0, 1), epsilon=1
    ...     )
    ...     plan.sensitivity()
    1.0
    1.0
    """

    directions: Any = None
    follows: ClassVar[bool] = True
    shape: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.directions is not None:
            object.__setattr__(self, "directions", _read(self.directions))

    def at(self, changes: Sequence[Piece]) -> Norm:
        """Return the norm of the hull of changes."""
        if not changes:
            raise SpecError("Hull needs changes to follow.")
        balls = [piece for piece in changes if isinstance(piece, Ball)]
        if len(balls) == len(changes):
            return L2((1 / max(ball.radius for ball in balls),) * balls[0].dim)
        if balls:
            raise IncompatibleParts(
                "Hull: changes that fill a ball beside others that fill a box have no hull with "
                "facets. Use L2 or LInf."
            )
        if any(isinstance(piece, Gauged) for piece in changes):
            raise IncompatibleParts(
                "Hull follows what a record can change, and scores that are clipped to a length "
                "follow the norm. Give one clip for each coordinate."
            )
        if any(isinstance(piece, Reaching) for piece in changes):
            return self._directed(changes)
        return _of_boxes([piece for piece in changes if isinstance(piece, Cuboid)])

    def _directed(self, changes: Sequence[Piece]) -> Norm:
        """Return the norm along directions, each divided by the farthest change there is."""
        (dim,) = {len(_around(piece).low) for piece in changes}
        facets = []
        for direction in self.followed(dim):
            length = max(_reach(piece, direction) for piece in changes)
            if not length:
                raise IncompatibleParts(_flat(dim - 1, dim))
            facets.append(tuple(v / length for v in direction))
        return Polytope(facets)

    def followed(self, dim: int) -> tuple[Vector, ...]:
        """Return the directions along which changes are measured that fill no polytope."""
        if self.directions is not None:
            found: tuple[Vector, ...] = self.directions
            if len(found[0]) != dim:
                raise IncompatibleParts(
                    f"The directions of Hull have {len(found[0])} numbers and the score has {dim} "
                    "coordinates; give one number per coordinate."
                )
            return found
        if dim == 2:
            return _in_the_plane()
        units = axes(dim)
        pairs = [
            tuple(a + s * b for a, b in zip(u, v, strict=True))
            for u, v in combinations(units, 2)
            for s in (1, -1)
        ]
        return (*units, *pairs)

    def refusal(self, dim: int) -> str | None:
        """Refuse directions in another number of coordinates."""
        if self.directions is None or len(self.directions[0]) == dim:
            return None
        return (
            f"The directions of Hull have {len(self.directions[0])} numbers and the score has "
            f"{dim} coordinates; give one number per coordinate."
        )

    def value(self, vector: Sequence[Fraction]) -> NoReturn:  # noqa: ARG002
        """Refuse: it is a norm once it is fitted to changes."""
        _unfitted()

    def bounds(self, low: Array, high: Array) -> NoReturn:  # noqa: ARG002
        """Refuse: it is a norm once it is fitted to changes."""
        _unfitted()

    def largest(self, low: Sequence[Fraction], high: Sequence[Fraction]) -> NoReturn:  # noqa: ARG002
        """Refuse: it is a norm once it is fitted to changes."""
        _unfitted()

    def largest_in_ball(self, radius: Fraction, dim: int) -> NoReturn:  # noqa: ARG002
        """Refuse: it is a norm once it is fitted to changes."""
        _unfitted()


def _unfitted() -> NoReturn:
    raise SpecError("Hull has no length before it is fitted to changes: use Hull().at(changes).")


def _flat(spanned: int, dim: int) -> str:
    return (
        f"Hull: what one record can change spans {spanned} of {dim} coordinates, so that it is no "
        "ball. Use another norm, such as L1, or coordinates without the last one."
    )


def _of_boxes(boxes: Sequence[Cuboid]) -> Norm:
    """Return the norm of the hull of boxes and their mirror images."""
    dim = len(boxes[0].low)
    reaches = [furthest(box.low, box.high) for box in boxes]
    widest = tuple(max(reach) for reach in zip(*reaches, strict=True))
    corners = {c for box in boxes for c in product(*(sorted(set(s)) for s in box.sides()))}
    whole = tuple(-w for w in widest), widest
    if dim == 1 or any((box.low, box.high) == whole for box in boxes):
        if not all(widest):
            raise IncompatibleParts(_flat(sum(map(bool, widest)), dim))
        return WeightedSup(widest)
    if dim > _MOST:
        raise IncompatibleParts(
            f"Hull finds facets in up to {_MOST} coordinates; these are {dim}. Use "
            f"{argument('norm', 'auto')}, or LInf."
        )
    spanned = rank(sorted(corners))
    if spanned < dim:
        raise IncompatibleParts(_flat(spanned, dim))
    points = corners | {tuple(-v for v in corner) for corner in corners}
    return Polytope(facets_of(tuple(sorted(points))))


def _around(piece: Piece) -> Cuboid:
    assert not isinstance(piece, Ball | Gauged)
    return piece.around if isinstance(piece, Reaching) else piece


def _reach(piece: Piece, direction: Vector) -> Fraction:
    """Return the largest |v'u| of a piece."""
    if isinstance(piece, Reaching):
        return piece.reach(direction)
    ends = zip(direction, _around(piece).sides(), strict=True)
    sides = [sorted((v * a, v * b)) for v, (a, b) in ends]
    zero = Fraction(0)
    return max(-sum((a for a, _ in sides), zero), sum((b for _, b in sides), zero))


def _in_the_plane() -> tuple[Vector, ...]:
    """Return eight directions, one of each pair v, -v, nowhere more than 27 degrees apart."""
    found = [(1, 0), (2, 1), (1, 1), (1, 2), (0, 1), (-1, 2), (-1, 1), (-2, 1)]
    return tuple((Fraction(a), Fraction(b)) for a, b in found)


def _read(given: Any) -> tuple[Vector, ...]:
    """Read directions as the caller wrote them."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SpecError(f"directions of Hull must be a list of rows, got {given!r}.")
    rows = [
        list(row) if isinstance(row, Iterable) and not isinstance(row, str) else [] for row in given
    ]
    found = tuple(tuple(exact(v, "directions of Hull") for v in row) for row in rows)
    if not found or not found[0] or len({len(row) for row in found}) != 1:
        raise SpecError("directions of Hull must be rows with one number per coordinate.")
    if not all(map(any, found)):
        raise SpecError("A direction of Hull is 0, along which nothing changes; leave it out.")
    if rank(found) < len(found[0]):
        raise SpecError(
            f"The directions of Hull span {rank(found)} of {len(found[0])} coordinates; add some."
        )
    return found
