"""What columns of a table hold, for ``kng.Table(source, columns={...})``.

kng.columns.Number(bounds=(0, 120), step=1)
kng.columns.Boolean(yes="J", no="N")
kng.columns.Date(bounds=("2020-01-01", "2024-12-31"))
kng.columns.Category(["Female", "Male"], reference="Female")

What is declared is public, and never learned from the data.
"""

from kng.data.kinds import Boolean, Category, Date, Number

__all__ = ["Boolean", "Category", "Date", "Number"]
