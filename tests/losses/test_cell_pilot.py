"""The pilot of a linear model whose records stay where they are."""

from __future__ import annotations

import numpy as np

from kng.losses.fields.cell_field import _newton
from kng.losses.kernels.linear_rows import ENDS
from kng.losses.kernels.residual_cells import Cells
from kng.losses.pointwise.ramps import Ramp


def test_cells_whose_covariate_is_zero_do_not_hold_the_pilot():
    """Without an intercept a covariate may be 0 in a cell, whose mean residual it cannot tell."""
    x, e, many = np.array([0.0, ENDS]), np.array([5.0, 2.0**30]), 10.0
    cells = Cells(
        (0,), np.full(2, many), many * x[:, None], many * (x * e)[:, None],
        many * (x * x)[:, None, None], np.column_stack([x, e]), np.column_stack([x, e]),
    )  # fmt: skip
    moved, _ = _newton(cells, Ramp(2.0**20, 2.0**-4, 0.0, 0.0, -(2.0**16), 2.0**16))
    assert abs(float(moved[0]) * ENDS + 2.0**30) < 2.0**20
