"""Policies that are given as numbers, or as functions: their probabilities as columns of a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cahoots import _cahoots, _frames
from cahoots._errors import InputError
from cahoots._frames import Column, Frame

_RECORD = ("decision", "outcome", "offered", "decided")
_ROLES = ("arm", "reward", "propensity", "client", "position", "offered")


def columns_of(frame: Frame, options: dict[str, Any], policy: Any) -> list[str]:
    """The columns of a frame that are needed; those that were not named are found by their usual names."""
    usual: dict[str, list[str]] = dict(
        zip(("arm", "reward", "propensity", "client"), _cahoots.usual_columns(), strict=True)
    )
    record = set(_RECORD) <= set(frame.names)
    chosen: list[str] = []

    def take(name: str) -> None:
        if name not in chosen:
            chosen.append(name)

    for role in _ROLES:
        name = options[role]
        if name is None:
            name = next((one for one in usual.get(role, ()) if one in frame.names), None)
        if role == "propensity" and options["uniform_logging"] and options[role] is None:
            continue
        if name is not None:
            take(name)
        elif role in ("arm", "reward"):
            there = ", ".join(frame.names)
            raise InputError(f"which column is the {role}? Say {role}=...; there are: {there}")
    for name in options["context"]:
        take(name)
    if isinstance(policy, str) and policy.startswith("columns:"):
        prefix = policy.removeprefix("columns:")
        for name in frame.names:
            if prefix and name.startswith(prefix):
                take(name)
    if record:
        for name in _RECORD:
            take(name)
    return chosen


def given(
    log: Any,
    policy: Any,
    frame: Frame,
    columns: list[str],
    path: Path,
    options: dict[str, Any],
    arms: Sequence[Any] | None,
) -> tuple[str, list[Column]]:
    """The probabilities of a policy that is given as numbers, as columns named by the arm behind a prefix."""
    if callable(policy) and not hasattr(policy, "__len__"):
        policy = _called(policy, log)
    if isinstance(arms, str):
        raise InputError(f"arms is {arms!r}: give a list of all arms")
    known = [str(arm) for arm in arms] if arms is not None else _cahoots.survey_log(path, options)
    if len(set(known)) != len(known):
        raise InputError("arms names one of them twice")
    named = _named(policy, frame, known)
    prefix = "policy: "
    while any(name.startswith(prefix) for name in columns):
        prefix = f"the {prefix}"
    found = []
    for arm, cells in named.items():
        numbers = _frames.Frame([arm], frame.rows, {arm: cells}).column(arm)
        if isinstance(numbers.cells, list):
            raise InputError(f"the policy's column `{arm}` holds texts: it must hold probabilities")
        found.append(Column(prefix + arm, np.asarray(numbers.cells, dtype=np.float64), numbers.missing))
    return prefix, found


def _called(policy: Callable[[Any], Any], log: Any) -> Any:
    answer = policy(log)
    if answer is None:
        raise InputError("the policy gave None: it must give probabilities, rows x arms")
    return answer


def _named(policy: Any, frame: Frame, known: list[str]) -> dict[str, Any]:
    """Probabilities by arm."""
    rows = frame.rows
    if isinstance(policy, Mapping) or hasattr(policy, "columns") or hasattr(policy, "column_names"):
        table = _frames.of(policy, "the policy")
        if table.rows != rows:
            raise InputError(f"the policy has {table.rows} rows, the log has {rows}")
        strangers = [name for name in table.names if name not in known]
        if len(strangers) == len(table.names):
            raise InputError(f"no column of the policy is named like an arm; arms are: {', '.join(known[:20])}")
        return {name: table.column(name).cells for name in table.names}
    try:
        array = np.asarray(policy)
    except ValueError:
        raise InputError(f"rows of the policy differ in length: give probabilities, {rows} x {len(known)}") from None
    if array.ndim == 2:
        if array.shape != (rows, len(known)):
            raise InputError(
                f"the policy has the shape {array.shape}, and must have {(rows, len(known))}: a row for each decision, "
                f"a column for each arm ({', '.join(known[:20])}{', ...' if len(known) > 20 else ''})"
            )
        if array.dtype.kind not in "biuf":
            raise InputError(f"the policy holds {array.dtype}: it must hold probabilities")
        return {arm: np.ascontiguousarray(array[:, at], dtype=np.float64) for at, arm in enumerate(known)}
    if array.ndim != 1 or len(array) != rows:
        raise InputError(
            f"the policy has the shape {array.shape}: give probabilities, {rows} x {len(known)}, or the {rows} arms "
            "that it takes"
        )
    if array.dtype.kind == "f":
        raise InputError(
            "the policy is one number for each row: how likely the logged arm is does not say what else it does, which "
            f"the estimators need. Give a probability for each arm, {rows} x {len(known)}"
        )
    cells = policy if type(policy).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow") else array
    taken = _frames.names_of(_frames.Frame(["policy"], rows, {"policy": cells}).column("policy"))
    numbers = {arm: at for at, arm in enumerate(known)}
    one = np.zeros((rows, len(known)))
    for row, name in enumerate(taken):
        if name not in numbers:
            there = ", ".join(known[:20])
            raise InputError(f"the policy takes {name!r} in row {row} (from 0), which is no arm; arms are: {there}")
        one[row, numbers[name]] = 1.0
    return {arm: np.ascontiguousarray(one[:, at]) for at, arm in enumerate(known)}
