"""The README and the guide's chapter: every block of Python in them runs, and links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
# The guide is beside the package in a checkout, and not where a wheel is tested on its own.
PAGES = [page for page in (HERE.parent / "README.md", HERE.parents[1] / "docs" / "src" / "python.md") if page.is_file()]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_readme_has_six_examples() -> None:
    assert len(BLOCK.findall((HERE.parent / "README.md").read_text(encoding="utf-8"))) == 6


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_runs_by_itself(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert blocks and text.count("```python") == len(blocks)
    # One interpreter for all, and a namespace for each: what a reader copies is one block.
    script = tmp_path / "blocks.py"
    script.write_text(
        "\n".join(
            f"exec(compile({block!r}, 'block {at}', 'exec'), {{'__name__': 'block'}})"
            for at, block in enumerate(blocks, 1)
        )
    )
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == [script], "a block leaves nothing behind"
