"""Domains: where theta may be, and with what base measure."""

from kng.domains.ball import L1Ball
from kng.domains.box import Box
from kng.domains.points import LatticeBox, WalledBox
from kng.domains.uncrossed import Uncrossed
from kng.domains.whole import Whole

__all__ = ["Box", "L1Ball", "LatticeBox", "Uncrossed", "WalledBox", "Whole"]
