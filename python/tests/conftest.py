"""What all tests share."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile

import pytest

_CACHE = tempfile.mkdtemp(prefix="cahoots-tests-")


def pytest_configure(config: pytest.Config) -> None:
    """Tables and features that are made on the way go to a folder of this run, and with it: no cache is touched."""
    os.environ["CAHOOTS_CACHE"] = _CACHE
    # Who is started in the background of a script ignores Ctrl-C, and so would all that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_CACHE, ignore_errors=True)
