"""Which program made a line of results: a hash of the source that results come from."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

import kng

# What experiments are made of, without the files that only show what they found.
_LAYERS = ("core", "losses", "norms", "bases", "domains", "mechanisms", "samplers", "reproduce")
_SHOWING = tuple(
    f"reproduce/{name}.py"
    for name in (
        "picture",
        "summary",
        "sample_sizes",
        "versus",
        "errata",
        "erratum",
        "privacy_errata",
        "claim_errata",
        "limit_errata",
        "objective_errata",
        "settings",
    )
)


@cache
def program() -> str:
    """Return 16 hexadecimal digits that change with every change to the source."""
    root = Path(kng.__file__).parent
    digest = sha256()
    for layer in _LAYERS:
        for path in sorted((root / layer).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            if name not in _SHOWING:
                digest.update(f"{name}\n{path.read_text(encoding='utf-8')}\n".encode())
    return digest.hexdigest()[:16]
