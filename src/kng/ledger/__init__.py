"""Who pays: one durable account of epsilon per dataset, which cannot be overspent."""

from kng.ledger.entries import Booking, Entry, State
from kng.ledger.store import Ledger

__all__ = ["Booking", "Entry", "Ledger", "State"]
