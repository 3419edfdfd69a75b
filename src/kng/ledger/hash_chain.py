"""The hash chain: every entry seals all entries before it.

    hash = SHA-256( previous hash, sequence, kind, account, settled charge, body )

Changing, removing or inserting an entry changes every later hash, so whoever remembers one hash
can tell that the history up to it is the one they saw.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

GENESIS = "0" * 64

# "share" gives an analyst a part of the budget, "loss" books what a lost copy had charged.
Kind = Literal["account", "charge", "release", "share", "loss", "close"]


@dataclass(frozen=True, slots=True)
class Link:
    """One entry of the chain, without its hash.

    ``charge`` is the sequence of the charge that a release settles, and None otherwise.
    """

    sequence: int
    kind: Kind
    account: str
    charge: int | None
    body: str
    previous: str

    @property
    def hash(self) -> str:
        """The seal of this entry and of all before it."""
        # A JSON list separates the fields, so that no two different entries hash the same bytes.
        fields = [self.previous, self.sequence, self.kind, self.account, self.charge, self.body]
        return hashlib.sha256(json.dumps(fields).encode("ascii")).hexdigest()
