"""Experiments as TOML text: strict, so that what is written is what was meant."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from cahoots._errors import InputError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def plain(value: Any, where: str) -> Any:
    """Reduce what numpy and pandas make of numbers and lists to Python's own; ``where`` names it in messages."""
    if hasattr(value, "to_dict") and hasattr(value, "kind"):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return _plain_table(value, where)
    if isinstance(value, np.generic) or (not isinstance(value, (str, bytes)) and hasattr(value, "__array__")):
        value = np.asarray(value).tolist()
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise InputError(f"{where} = {value}: a whole number of an experiment has at most 63 bits")
        return int(value)
    if isinstance(value, float):
        if math.isnan(value):
            raise InputError(f"{where} is NaN: give it a number, or leave it out")
        return float(value)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(f"{where} = {value!r} is no text: it has half a character in it") from None
        return str(value)
    if isinstance(value, os.PathLike):
        return plain(os.fspath(value), where)
    if isinstance(value, (list, tuple, range)):
        return [_plain_item(item, f"{where}[{place}]") for place, item in enumerate(value)]
    raise InputError(
        f"{where}: {type(value).__name__} is nothing that an experiment can hold; "
        "take numbers, texts, True or False, lists and dicts"
    )


def _plain_item(value: Any, where: str) -> Any:
    if value is None:
        raise InputError(f"{where} is None: leave it out of the list")
    return plain(value, where)


def _plain_table(table: Mapping[Any, Any], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        if not isinstance(key, str):
            raise InputError(f"{where or 'the experiment'} has the key {key!r}: keys are texts")
        if value is not None:
            found[str(key)] = plain(value, f"{where}.{key}" if where else key)
    return found


def text(experiment: Mapping[str, Any]) -> str:
    """Write a plain experiment as TOML: keys first, then its sections, then its algorithms."""
    lines: list[str] = []
    sections: list[tuple[str, dict[str, Any]]] = []
    for key, value in experiment.items():
        if isinstance(value, dict):
            sections.append((f"[{_key(key)}]", value))
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            sections.extend((f"[[{_key(key)}]]", item) for item in value)
        else:
            lines.append(f"{_key(key)} = {_value(value)}")
    for heading, table in sections:
        lines += ["", heading, *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _string(value: str) -> str:
    def escaped(letter: str) -> str:
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        return f"\\u{ord(letter):04X}" if ord(letter) < 32 or ord(letter) == 127 else letter

    return '"' + "".join(map(escaped, value)) + '"'


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        # Python writes inf, 5.0 and 1e-05 as TOML reads them, with all their bits.
        return repr(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
