"""A program that runs commands of kng as an ordinary user of a bare container would.

    python confined.py PACKAGE FOLDER UID

The user has no home and may write to nothing but the folder: not to the package, which is root's,
not to where programs start, and not to a directory for temporary files. Reads one command a line,
as JSON, and prints one line of JSON for each: the exit code and what was written out.

Must be started by root. Where the user could not read the interpreter, as below /root, one right is
kept: to read. Nothing that is not the user's can be written.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from pathlib import Path

KEEP_CAPABILITIES = 8  # PR_SET_KEEPCAPS of prctl(2)
READ_AND_SEARCH = 1 << 2  # CAP_DAC_READ_SEARCH of capabilities(7)
VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3 of capset(2)


def become(user: int) -> None:
    """Give up every right but that of reading."""
    libc = ctypes.CDLL(None, use_errno=True)
    keep = not all(os.stat(folder).st_mode & 0o001 for folder in Path(os.__file__).parents)
    if keep:
        libc.prctl(KEEP_CAPABILITIES, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    if keep:
        header = (ctypes.c_uint32 * 2)(VERSION, 0)
        rights = (ctypes.c_uint32 * 6)(READ_AND_SEARCH, READ_AND_SEARCH)
        if libc.capset(header, rights):
            raise OSError(ctypes.get_errno(), "capset")


def refuses(folder: str) -> bool:
    """Whether nothing can be written into a folder."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return False
    except OSError:
        return True


def run(words: list[str], package: str, folder: str, user: int) -> int:
    """Run one command in this process, which is then of no other use."""
    become(user)
    for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "USER", "LOGNAME"):
        os.environ.pop(name, None)
    os.environ["TMPDIR"] = "/nonexistent"
    os.chdir(folder)
    assert refuses(package)
    assert refuses("/")
    sys.path.insert(0, package)
    from kng.cli.main import main

    code = main(words)
    assert sys.modules["kng"].__file__.startswith(package)
    return code


def main(package: str, folder: str, user: int) -> None:
    """Run every command in a child of this process."""
    for line in sys.stdin:
        sys.stdout.flush()
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            child = os.fork()
            if not child:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                code = 99
                try:
                    code = run(json.loads(line), package, folder, user)
                except BaseException:
                    sys.excepthook(*sys.exc_info())
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
            _, status = os.waitpid(child, 0)
            out.seek(0)
            err.seek(0)
            code = os.waitstatus_to_exitcode(status)
            print(json.dumps({"code": code, "out": out.read(), "err": err.read()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
