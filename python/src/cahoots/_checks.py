"""Arguments, looked at before they are used."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cahoots._errors import InputError


def text(name: str, value: Any) -> str | None:
    """A text, or none."""
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name} is {value!r}: it must be a text")
    return value


def number(name: str, value: Any, *, above: float, below: float = math.inf, finite: bool = True) -> float | None:
    """A number within bounds, or none."""
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}: it must be a number") from None
    inside = above < number < below or (number == math.inf and not finite)
    if not inside:
        bounds = f"above {above:g}" + (f" and below {below:g}" if below < math.inf else "")
        raise InputError(f"{name} is {value!r}: it must lie {bounds}")
    return number


def whole(name: str, value: Any, least: int, most: int) -> int:
    """A whole number within bounds."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise InputError(f"{name} is {value!r}: it must be a whole number")
    number = int(value)
    if not least <= number <= most:
        raise InputError(f"{name} is {number}: it must lie between {least} and {most}")
    return number


def ends(value: Any) -> tuple[float, float] | None:
    """A pair of numbers, or none."""
    if value is None:
        return None
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError):
        raise InputError(f"reward_range is {value!r}: it must be a pair of numbers") from None
    if not low < high or math.isinf(low) or math.isinf(high):
        raise InputError(f"reward_range is {value!r}: it goes from a smaller number to a larger one")
    return (low, high)


def names(name: str, value: Any) -> list[str]:
    """Names of columns: one, several or none."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise InputError(f"{name} is {value!r}: it must be a list of columns")
    return [str(one) for one in value]


def table(name: str, value: Any) -> dict[str, Any]:
    """Names with values, or none."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{name} is {value!r}: it must be a dict")
    return dict(value)


def path(name: str, value: Any) -> str:
    """The path of a file or folder."""
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"{name} is {value!r}: it must be a path")
    return str(os.fspath(value))
