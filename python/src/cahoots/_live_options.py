"""What a node is given by keywords, as its file would say it."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from cahoots import _cahoots
from cahoots._errors import InputError
from cahoots._kinds import algorithms
from cahoots._live_types import Path, text

# A model of so many features takes a gigabyte; as the learners have it.
_MOST_DIM = 16_384
_MOST_ARMS = 16_777_216


def over_of(over: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Values over a file's, as a command line would give them."""

    def written(value: Any) -> str:
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        return json.dumps(value)

    try:
        return [(text("a key", key), written(value)) for key, value in (over or {}).items()]
    except TypeError as error:
        raise InputError(f"over: {error}; give texts, numbers, or lists of them") from None


def setting_of(setting: Mapping[str, Any]) -> dict[str, Any]:
    """A setting as a file has it.

    Those for whom decisions are made are its users, one for each client unless `hosts` says more.
    """
    table = dict(setting)
    for key, least, most in (("clients", 1, 2**31), ("dim", 0, _MOST_DIM), ("arms", 1, _MOST_ARMS)):
        value = table.get(key, least)
        if isinstance(value, numbers.Integral) and not least <= int(value) <= most:
            raise InputError(f"{key} is {value}: take a whole number from {least} to {most}")
    if "clients" in table:
        clients = table.pop("clients")
        table.setdefault("users", clients)
    return table


def terms_of(
    algorithm: str | None, params: Mapping[str, Any] | None, setting: Mapping[str, Any] | None, seed: int
) -> dict[str, Any] | None:
    if algorithm is None:
        if params is not None or setting is not None:
            raise InputError(
                "params and setting say what an algorithm is given: name the `algorithm`, or leave them out"
            )
        return None
    if setting is None:
        raise InputError("with an algorithm, give the `setting` that the coordinator has: clients, dim and arms")
    return {"algorithm": algorithm_of(algorithm, params), "setting": setting_of(setting), "seed": seed}


def algorithm_of(algorithm: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """An algorithm and its parameters, as a file has them."""
    if not isinstance(algorithm, str):
        names = ", ".join(_cahoots.live_algorithms())
        raise InputError(
            f"a live federation runs an algorithm by its name, one of {names}, not {algorithm!r}: policies and "
            "algorithms written in Python run in cahoots.run and cannot be deployed"
        )
    if params is not None and "kind" in params:
        raise InputError("params must not have a `kind`: the algorithm is named by `algorithm`")
    if algorithm in _cahoots.live_algorithms():
        known = [parameter.name for parameter in algorithms()[algorithm].parameters]
        for name in params or {}:
            # What is no text is refused further on.
            if isinstance(name, str) and name not in known:
                near = get_close_matches(name, known, 1)
                raise InputError(
                    f"{algorithm} has no key {name!r}"
                    + (f": did you mean {near[0]!r}?" if near else f"; there are: {', '.join(known)}")
                )
    return {"kind": algorithm, **(params or {})}


def tls_of(keys: Path | None, authorities: Path | None) -> dict[str, Any] | None:
    if keys is None and authorities is None:
        return None
    if keys is not None and not os.path.isdir(keys):
        raise InputError(f"keys: there is no folder {os.fspath(keys)!r}: cahoots.keys makes such folders")
    if authorities is not None and not os.path.isfile(authorities):
        raise InputError(
            f"authorities: there is no file {os.fspath(authorities)!r}: it is the federation's authorities.pem"
        )
    return {"keys": keys, "authorities": authorities}
