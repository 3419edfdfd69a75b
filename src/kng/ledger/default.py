"""The ledger that is charged where none is named: that of the innermost ``with`` block."""

from __future__ import annotations

from contextvars import ContextVar

from kng.core.payment import Ledger

_BLOCKS: ContextVar[tuple[Ledger, ...]] = ContextVar("ledgers", default=())


def default_ledger() -> Ledger | None:
    """Return the ledger of the innermost block, or None outside of all."""
    blocks = _BLOCKS.get()
    return blocks[-1] if blocks else None


def enter(ledger: Ledger) -> None:
    """Begin a block."""
    _BLOCKS.set((*_BLOCKS.get(), ledger))


def leave() -> None:
    """End the innermost block."""
    _BLOCKS.set(_BLOCKS.get()[:-1])
