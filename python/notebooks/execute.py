"""Executes the notebooks and keeps what they show, so that they can be read without being run.

python notebooks/execute.py [NAME ...]    all of them, or those whose names begin so
"""

from __future__ import annotations

import pathlib
import re
import sys
import tempfile

import nbformat
from nbclient import NotebookClient

HERE = pathlib.Path(__file__).resolve().parent
# Nothing of the machine it was made on belongs in a notebook.
PRIVATE = re.compile(r"/(?:home|root|tmp|var|Users|private)/|[A-Z]:\\\\Users")


def execute(path: pathlib.Path) -> nbformat.NotebookNode:
    """Runs every cell of a notebook, in a folder that goes again; an error in a cell is raised."""
    book = nbformat.read(path, 4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(book, timeout=300, kernel_name="python3", resources=resources, record_timing=False).execute()
    return book


def shown(book: nbformat.NotebookNode) -> list[str]:
    """All that the cells show, as text."""
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    texts = [output.get("text", "") for output in outputs]
    for output in outputs:
        texts += [text for kind, text in output.get("data", {}).items() if not kind.startswith("image/png")]
        texts += output.get("traceback", [])
    return texts


def main() -> None:
    """Executes those that were asked for."""
    names = sys.argv[1:]
    for path in sorted(HERE.glob("*.ipynb")):
        if names and not path.name.startswith(tuple(names)):
            continue
        book = execute(path)
        found = [match for text in shown(book) if (match := PRIVATE.search(text))]
        if found:
            raise SystemExit(f"{path.name} shows {found[0].string[:200]!r}, which is of this machine alone")
        book.metadata = {"kernelspec": book.metadata["kernelspec"], "language_info": {"name": "python"}}
        nbformat.write(book, path)
        print(path.name)


if __name__ == "__main__":
    main()
