"""Conditions on records, in a small language of their own: ``age >= 40 and sex = 'F'``."""
