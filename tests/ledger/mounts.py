"""Programs that see one file under a second name, by a bind mount of their own."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

WITH_PROC = "true"
WITHOUT_PROC = "umount -l /proc"  # then nothing tells that the file is mounted by itself


def mounting(original: Path, mounted: Path, then: str = WITH_PROC) -> list[str]:
    """Return a command that runs the command after it where ``mounted`` is ``original``."""
    script = f'mount --bind "$0" "$1" && {then} && shift && exec "$@"'
    return ["unshare", "-m", "sh", "-c", script, str(original), str(mounted)]


@cache
def may_mount() -> bool:
    """Return whether this user may mount at all."""
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return False
    script = "mount --bind /etc /etc && umount -l /proc"
    return not subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True).returncode
