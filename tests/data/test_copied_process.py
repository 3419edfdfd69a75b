"""A process that has read Parquet files can be copied: the copy reads them too, and ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

_PROGRAM = """
import os, sys
import kng
def mean(): return kng.mean(sys.argv[1], bounds={"x": (0, 4)}, epsilon=1, random_state=0).value
first = mean()
child = os.fork()
if child == 0:
    sys.exit(int(mean() != first))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not copied here")
def test_a_copied_process_reads_and_ends(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pa.table({"x": [1.0, 2.0, 3.0]}), path)
    # One that waited for threads it does not have would wait for ever.
    done = subprocess.run([sys.executable, "-c", _PROGRAM, str(path)], timeout=60, check=False)
    assert done.returncode == 0
