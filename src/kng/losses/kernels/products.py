"""All products of two columns of a batch, compiled."""

from __future__ import annotations

import numpy as np

from kng.core.compiled import compiled

# Rows at a time: a dozen columns of 256 float64 stay in the nearest cache.
_ROWS = 256


# Sums of whole numbers below 2**53 are exact in every order, so the compiler may choose one.
@compiled("Tuple((f8[::1], f8[:,::1]))(f8[:,::1])", nogil=True, fastmath={"reassoc", "contract"})
def products(columns):  # type: ignore[no-untyped-def]
    """Return the sum of each column and of each product of two, for columns one by one in memory.

    Two columns times two at a time: every number loaded is used twice.
    """
    width, rows = columns.shape
    sums = np.zeros(width)
    table = np.zeros((width, width))
    for start in range(0, rows, _ROWS):
        stop = min(rows, start + _ROWS)
        for a in range(0, width, 2):
            a2 = min(a + 1, width - 1)
            first, second = columns[a, start:stop], columns[a2, start:stop]
            s, s2 = 0.0, 0.0
            for i in range(stop - start):
                s += first[i]
                s2 += second[i]
            sums[a] += s
            if a2 > a:
                sums[a2] += s2
            for b in range(a, width, 2):
                b2 = min(b + 1, width - 1)
                third, fourth = columns[b, start:stop], columns[b2, start:stop]
                ac, ad, bc, bd = 0.0, 0.0, 0.0, 0.0
                for i in range(stop - start):
                    ac += first[i] * third[i]
                    ad += first[i] * fourth[i]
                    bc += second[i] * third[i]
                    bd += second[i] * fourth[i]
                table[a, b] += ac
                if b2 > b:
                    table[a, b2] += ad
                if a2 > a:
                    table[a2, b] += bc
                    if b2 > b:
                        table[a2, b2] += bd
    for a in range(width):
        for b in range(a):
            table[a, b] = table[b, a]
    return sums, table
