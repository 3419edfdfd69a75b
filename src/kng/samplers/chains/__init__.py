"""Markov chains, by name only: approximate, and never a default."""
