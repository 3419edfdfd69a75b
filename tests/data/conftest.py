from __future__ import annotations

from hypothesis import settings

# The same examples in every run, on every machine.
settings.register_profile("kng-fixed", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("kng-fixed")
