"""Domains: where theta may be, and with what base measure."""

from kng.domains.box import Box
from kng.domains.whole import WholeSpace

__all__ = ["Box", "WholeSpace"]
