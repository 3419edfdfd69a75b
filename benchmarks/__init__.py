"""Speed and memory as ratios, measured side by side in one run: `make bench`."""

import os

# Threads of a linear algebra library that wait for each other spin, and would be timed.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
