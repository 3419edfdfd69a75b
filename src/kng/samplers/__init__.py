"""Samplers: how to draw from a plan. Those that need SciPy load when they are first used."""
