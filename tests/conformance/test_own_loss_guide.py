"""docs/your-own-loss.md is a program: its blocks run one after the other."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "your-own-loss.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_runs(capsys):
    assert len(BLOCKS) == 3
    names: dict[str, object] = {"__name__": "page"}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), names)
    assert "goes over the records" in capsys.readouterr().out
