"""The picture of the README: the top of the page that its command writes, as a browser shows it.

    python docs/tables/page.py          writes docs/page.png; needs chromium

The answer is a real release, so its noise is new each time.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
SIZE = "820,640"


def main() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", "")
    with TemporaryDirectory() as folder:
        for words in map(shlex.split, re.findall(r"^\$ kng (.*)$", readme, re.MULTILINE)):
            command = [sys.executable, "-m", "kng.cli.main", *words]
            subprocess.run(command, cwd=folder, check=True)
            if "answer.html" in words:
                break
        else:
            raise SystemExit("README.md has no command that writes answer.html")
        browser = ("chromium", "--headless", "--no-sandbox", "--hide-scrollbars")
        shot = (f"--window-size={SIZE}", f"--screenshot={ROOT / 'docs' / 'page.png'}")
        subprocess.run([*browser, *shot, (Path(folder) / "answer.html").as_uri()], check=True)


if __name__ == "__main__":
    main()
