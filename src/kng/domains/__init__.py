"""Domains: where theta may be, and with what base measure."""

from kng.domains.ball import L1Ball
from kng.domains.box import Box
from kng.domains.half_spaces import HalfSpaces, WalledHalfSpaces
from kng.domains.l2_ball import L2Ball
from kng.domains.ordered import Ordered
from kng.domains.points import LatticeBox, WalledBox
from kng.domains.polytope import Polytope
from kng.domains.round_points import RoundPoints
from kng.domains.simplex import Simplex
from kng.domains.uncrossed import Uncrossed
from kng.domains.whole import Whole

__all__ = [
    "Box",
    "HalfSpaces",
    "L1Ball",
    "L2Ball",
    "LatticeBox",
    "Ordered",
    "Polytope",
    "RoundPoints",
    "Simplex",
    "Uncrossed",
    "WalledBox",
    "WalledHalfSpaces",
    "Whole",
]
