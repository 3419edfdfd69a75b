"""Samplers: how to draw from a plan, exactly."""

from kng.samplers.noise import Noise
from kng.samplers.order import Order

__all__ = ["Noise", "Order"]
