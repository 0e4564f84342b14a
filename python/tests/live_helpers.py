"""What the tests of live federations share."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cahoots

SETTING = {"clients": 3, "dim": 2, "arms": 3}
TERMS: dict[str, Any] = {"algorithm": "async-linucb", "params": {"ratio": 1.0}, "setting": SETTING}
ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


def eventually(holds: Callable[[], Any], seconds: float = 60.0) -> Any:
    until = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < until, "it never came about"
        time.sleep(0.01)
    return found


def script(body: str, *arguments: Any) -> subprocess.Popen[str]:
    """A process of its own that runs this."""
    folder = str(Path(cahoots.__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(body), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": folder},
    )
