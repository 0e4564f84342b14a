"""How far a run is: a bar in a terminal, a line in a notebook that renews itself, lines now and then elsewhere."""

from __future__ import annotations

import html
import importlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from cahoots._errors import InputError

_BETWEEN_LINES = 3.0
_BETWEEN_DRAWINGS = 0.2


class Progress(NamedTuple):
    """How far a run is, of what it had to do when it began.

    >>> Progress(decisions=250, of_decisions=1000, runs=1, of_runs=4, seconds=2.0).share
    0.25
    """

    decisions: int
    """Decisions taken so far."""
    of_decisions: int
    """Decisions of all runs that were to be done."""
    runs: int
    """Runs that are finished."""
    of_runs: int
    """Runs that were to be done."""
    seconds: float
    """Time since it began."""

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1."""
        if self.of_decisions:
            return min(1.0, self.decisions / self.of_decisions)
        return min(1.0, self.runs / self.of_runs) if self.of_runs else 1.0

    @property
    def left(self) -> float | None:
        """Seconds that are left, about; None where nothing is done yet."""
        return self.seconds * (1.0 - self.share) / self.share if self.share > 0 else None

    def line(self) -> str:
        """All of it in one line."""
        left = "" if self.left is None or self.share == 1.0 else f", about {self.left:.0f} s left"
        return f"{self.share:4.0%}  {self.runs} of {self.of_runs} runs{left}"


Watcher = Callable[[Progress], object]
"""Whoever is told how far a run is."""


class _Display(Protocol):
    def show(self, progress: Progress) -> None: ...

    def end(self) -> None: ...


class _Bar:
    """One line of a terminal, drawn over and over."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._drawn = -_BETWEEN_DRAWINGS

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._drawn < _BETWEEN_DRAWINGS and progress.share < 1.0:
            return
        self._drawn = now
        full = round(30 * progress.share)
        line = f"[{'#' * full}{'.' * (30 - full)}] {progress.line()}"
        _write(self._stream, "\r\x1b[K" + line[: max(10, shutil.get_terminal_size().columns - 1)])

    def end(self) -> None:
        _write(self._stream, "\r\x1b[K")


class _Lines:
    """A line now and then, for logs."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._said = time.monotonic()

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._said >= _BETWEEN_LINES:
            self._said = now
            _write(self._stream, progress.line() + "\n")

    def end(self) -> None:
        pass


class _Notebook:
    """One output of a cell that is renewed."""

    def __init__(self) -> None:
        display: Any = importlib.import_module("IPython.display")
        self._html = display.HTML
        self._drawn = time.monotonic()
        self._handle = display.display(display.HTML(""), display_id=True)

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if self._handle is None or (now - self._drawn < _BETWEEN_DRAWINGS and progress.share < 1.0):
            return
        self._drawn = now
        bar = f'<progress max="1" value="{progress.share:.4f}" style="width: 20em"></progress>'
        self._handle.update(self._html(f"{bar} <code>{html.escape(progress.line())}</code>"))

    def end(self) -> None:
        if self._handle is not None:
            self._handle.update(self._html(""))


def _write(stream: Any, text: str) -> None:
    # A reader that has gone away is no failure of a run.
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        pass


def in_notebook() -> bool:
    """Whether a notebook shows what is displayed here."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return getattr(shell, "kernel", None) is not None


def _display() -> _Display | None:
    if in_notebook():
        return _Notebook()
    stream = sys.stderr
    if stream is None:
        return None
    try:
        terminal = stream.isatty()
    except (AttributeError, ValueError):
        terminal = False
    return _Bar(stream) if terminal else _Lines(stream)


@contextmanager
def watching(progress: bool | Watcher | None) -> Iterator[Callable[[int, int, int, int], None] | None]:
    """Give what a run calls with its numbers, and clear what was shown in the end."""
    if progress is False:
        yield None
        return
    if progress is not None and progress is not True and not callable(progress):
        raise InputError(f"progress is {progress!r}: take True, False, or a function of one argument")
    display = None if callable(progress) else _display()
    begun = time.monotonic()

    def tell(decisions: int, of_decisions: int, runs: int, of_runs: int) -> None:
        told = Progress(decisions, of_decisions, runs, of_runs, time.monotonic() - begun)
        if callable(progress):
            progress(told)
        elif display is not None:
            display.show(told)

    try:
        yield tell
    finally:
        if display is not None:
            display.end()
