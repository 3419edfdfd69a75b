"""The exact privacy-loss oracle: laws of tiny problems, compared over all neighbours."""

from kng.audit.rows import Row
from kng.audit.table import full, quick

__all__ = ["Row", "full", "quick"]
