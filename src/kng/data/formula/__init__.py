"""Formulas of regressions, in a small language of their own: ``wages ~ age + C(sex)``."""
