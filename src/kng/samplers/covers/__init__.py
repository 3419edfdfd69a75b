"""Covers of a domain by boxes that follow the data, for branch and bound."""
