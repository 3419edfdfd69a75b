"""Exact numbers, public facts and the protocols that every part follows."""
