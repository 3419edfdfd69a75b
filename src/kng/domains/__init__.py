"""Domains: where theta may be, and with what base measure."""

from kng.domains.ball import L1Ball
from kng.domains.box import Box
from kng.domains.heavy import HeavyTailed
from kng.domains.uncrossed import Uncrossed
from kng.domains.whole import WholeSpace

__all__ = ["Box", "HeavyTailed", "L1Ball", "Uncrossed", "WholeSpace"]
