"""What columns hold, as their holder declares it: numbers, booleans, dates and categories.

A declaration says how a cell becomes a number, and between which public bounds it then lies. It
looks at one cell at a time and can be pickled, so that it can travel to the records. What is no
cell of its kind is missing.
"""

from kng.data.kinds.boolean import Boolean
from kng.data.kinds.category import Category
from kng.data.kinds.date import Date
from kng.data.kinds.declared import Asks, Declared, Ends
from kng.data.kinds.number import Number

__all__ = ["Asks", "Boolean", "Category", "Date", "Declared", "Ends", "Number"]
