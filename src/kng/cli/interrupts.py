"""What Ctrl-C leaves behind: whether a charge had been made."""

from __future__ import annotations

from kng.core.events import Charged, Charging, Event, Planned, Repeated, Settled


class ChargeWatch:
    """Remembers how far the charge of the newest release is."""

    def __init__(self) -> None:
        self._event: Event | None = None
        self._settled = False

    def told(self, event: Event) -> None:
        """Note what matters for the charge."""
        if isinstance(event, Planned | Repeated):
            self._event, self._settled = None, False
        elif isinstance(event, Charging | Charged):
            self._event = event
        elif isinstance(event, Settled):
            self._settled = True

    def passed(self, records: int) -> None:
        """Ignore records."""

    def ended(self) -> None:
        """Ignore passes."""

    def tell(self) -> str:
        """Return what is said after an interrupt."""
        from kng.core.exact import show

        match self._event:
            case Charged(epsilon, entry) if self._settled:
                return (
                    f"Interrupted after the release: epsilon {show(epsilon)} stays spent. Read the "
                    f"answer with: kng budget history LEDGER --receipt {entry}"
                )
            case Charged(epsilon, entry):
                return (
                    f"Interrupted after the charge: epsilon {show(epsilon)} stays spent, as entry "
                    f"{entry} of the ledger."
                )
            case Charging():
                return (
                    "Interrupted while the charge was made; kng budget history shows whether it "
                    "stays."
                )
            case _:
                return "Interrupted; nothing was charged."
