"""Draws whose law is the stated one in real arithmetic, by rejection."""
