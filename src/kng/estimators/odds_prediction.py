"""How far private log-odds will be from those without privacy, from public facts alone.

Near its minimiser a loss of n records has the gradient  H (theta - theta_hat),  H = n E[s' z z'].
Covariates are thought to be uniform between their bounds, and effects to have a size in log-odds.
Noise in the gradient with variance v in each coordinate, and a ridge gamma, then make a squared
error of

    v tr (H + gamma)^-2  +  gamma^2 theta'(H + gamma)^-2 theta

beside  tr H^-1  of the estimate without privacy. Nothing here is needed for privacy: it chooses
between two mechanisms that both have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kng.core.design import Design

Array = NDArray[np.float64]

# Effects that are looked at: weak, usual and strong ones, in log-odds at the end of a covariate.
SIZES = (1.0, 2.0, 4.0)
# Points between the bounds of a covariate.
_POINTS = 12


@dataclass(frozen=True, slots=True)
class OddsPrediction:
    """A design with n records, and effects of one size."""

    design: Design
    records: int
    size: float

    @property
    def effects(self) -> Array:
        """No intercept, and slopes that alternate."""
        signs = (-1.0) ** np.arange(self.design.dim - self.design.intercept)
        return np.concatenate([np.zeros(int(self.design.intercept)), self.size * signs])

    def curvature(self) -> Array:
        """Return H."""
        places = (np.arange(_POINTS) + 0.5) / _POINTS
        sides = [
            [1.0] if low == high else float(low) + places * float(high - low)
            for low, high in self.design.rows
        ]
        z = np.array(list(product(*sides)))
        tail = np.exp(-np.abs(z @ self.effects))
        return np.asarray((z * (tail / (1 + tail) ** 2)[:, None]).T @ z * (self.records / len(z)))

    def added(self, noise: float, ridge: float) -> tuple[float, float]:
        """Return the squared error that privacy adds, and that of the estimate without it."""
        curved = self.curvature()
        inverse = np.linalg.inv(curved + ridge * np.eye(len(curved)))
        pulled = ridge * inverse @ self.effects
        own = float(np.trace(np.linalg.pinv(curved)))
        return float(noise * (inverse * inverse).sum() + pulled @ pulled), own
