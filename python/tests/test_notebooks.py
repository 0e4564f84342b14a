"""Notebooks as documentation: every cell runs, and what is kept in them is of no machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
# Linear algebra of numpy differs in its last bits from machine to machine, and real messages take their time.
VARY = ("3-your-own-policy", "5-a-live-federation")


def execution() -> Any:
    spec = importlib.util.spec_from_file_location("execute_notebooks", NOTEBOOKS / "execute.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(cell: Any) -> list[str]:
    """What a cell shows, in plain text."""
    return [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]


def test_all_six_are_there() -> None:
    assert [path.name[:2] for path in PATHS] == ["1-", "2-", "3-", "4-", "5-", "6-"]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_cell_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A kernel of its own has its own backend for figures.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    book = execution().execute(path)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert cells and all(cell.execution_count for cell in cells)
    # What warns or fails on the way is no documentation.
    said = [output for cell in cells for output in cell.outputs]
    assert [output.text for output in said if output.output_type == "stream" and output.name == "stderr"] == []
    if path.stem not in VARY:
        kept = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
        for now, then in zip(cells, kept, strict=True):
            assert plain(now) == plain(then), (
                "what is kept is not what is shown now: notebooks/execute.py keeps it anew"
            )


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_what_is_kept_is_whole_and_of_no_machine(path: Path) -> None:
    module, book = execution(), nbformat.read(path, 4)
    nbformat.validate(book)
    assert any(cell.get("outputs") for cell in book.cells), "notebooks/execute.py keeps what they show"
    for text in module.shown(book):
        assert not module.PRIVATE.search(text), text[:200]
