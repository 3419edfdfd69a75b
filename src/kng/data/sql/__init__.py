"""Queries whose rows are made one by one: what may stand in them, and how they are written."""
