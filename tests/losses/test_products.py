"""Sums of products of columns, against whole numbers of Python."""

from __future__ import annotations

import numpy as np
import pytest

from kng.losses.kernels.products import products


@pytest.mark.parametrize("width", [1, 2, 3, 4, 13, 14])
@pytest.mark.parametrize("rows", [0, 1, 255, 256, 257, 1000])
def test_every_product_is_exact(width, rows):
    columns = np.random.default_rng(width).integers(0, 2**16 + 1, (width, rows))
    sums, table = products(columns.astype(np.float64))
    whole = columns.astype(object)
    assert sums.tolist() == [sum(column) for column in whole]
    assert table.tolist() == [[sum(a * b) for b in whole] for a in whole]
