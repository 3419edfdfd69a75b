"""Habits of data analysis that release records without paying for it, and what to do instead."""

from kng.estimators.habits.look import check

__all__ = ["check"]
