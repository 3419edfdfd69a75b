"""Draws whose law is the stated one for the program that runs: whole numbers and fractions."""
