"""What is asked: a loss, a norm and a domain over encoded records, for a stated neighbour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kng.core.encoding import Encoding
from kng.core.lattice import Lattice
from kng.core.privacy import PrivacyUnit
from kng.core.protocols import Domain, Norm


@dataclass(frozen=True, slots=True)
class Problem:
    """One estimation problem; public through and through.

    ``loss`` may offer several capabilities (GradientLoss, ValueLoss, LocationLoss); the mechanism
    asks for the one it needs. ``answers`` is the lattice that the released value lives on.
    """

    loss: Any
    norm: Norm
    domain: Domain
    records: Encoding
    answers: Lattice
    unit: PrivacyUnit
