"""How the tests of one's own algorithms and worlds run experiments: in one place."""

from __future__ import annotations

import json
from typing import Any

from cahoots import _cahoots

LINEAR = {"kind": "linear", "clients": 3, "dim": 4, "arms": 6}
ARMS = {"kind": "arms", "clients": 4, "arms": 5, "arrivals": "all"}


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return json.dumps(value)


def text(environment: dict[str, Any], *algorithms: Any, horizon: int = 200, seeds: int = 1, **sections: Any) -> str:
    """An experiment."""
    lines = ['name = "own"', f"horizon = {horizon}", f"seeds = {seeds}"]

    def block(head: str, keys: dict[str, Any]) -> None:
        lines.append(head)
        lines.extend(f"{key} = {toml(value)}" for key, value in keys.items())

    block("[environment]", environment)
    for section, keys in sections.items():
        block(f"[{section}]", keys)
    for algorithm in algorithms:
        block("[[algorithm]]", {"kind": algorithm} if isinstance(algorithm, str) else algorithm)
    return "\n".join(lines) + "\n"


def simulate(
    environment: dict[str, Any], *algorithms: Any, restore: bool = False, encode: bool = False, **more: Any
) -> list[dict[str, Any]]:
    """Every entry with every seed: label, seed, key, params, and the ledger's numbers."""
    runs: list[dict[str, Any]] = json.loads(
        _cahoots._simulate(text(environment, *algorithms, **more), restore=restore, encode=encode)
    )
    for run in runs:
        run["ledger"] = run.pop("report")["ledger"]
    return runs


def ledger(environment: dict[str, Any], algorithm: Any, **more: Any) -> dict[str, Any]:
    """The ledger of one run."""
    (run,) = simulate(environment, algorithm, **more)
    found: dict[str, Any] = run["ledger"]
    return found
