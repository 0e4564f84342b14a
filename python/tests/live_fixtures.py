"""Fixtures of the tests of live federations: a plugin of pytest, which they name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live_helpers import TERMS

import cahoots


@pytest.fixture
def hub() -> Iterator[cahoots.Coordinator]:
    with cahoots.Coordinator("async-linucb", {"ratio": 1.0}, clients=3, dim=2, arms=3) as hub:
        yield hub


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[cahoots.Client]:
    """A client without a coordinator."""
    with cahoots.Client("shops", 0, store=tmp_path / "alone", sync="memory", **TERMS) as client:
        yield client
