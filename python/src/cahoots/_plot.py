"""Figures of a result on matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cahoots import _cahoots
from cahoots._errors import CahootsError, InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from cahoots.results import Result

_OVER = ("tick", "transfers", "bytes")
_MEASURED = ("regret", "reward", "transfers", "bytes")
_TITLES = {"tick": "ticks", "transfers": "messages", "bytes": "bytes sent"}


def draw(result: Result, x: str, y: str, ax: Axes | None, entries: list[str] | None, band: bool) -> Axes:
    """Draw one measure over another, or over a parameter."""
    if y not in _MEASURED:
        raise InputError(f"y is {y!r}: take one of {', '.join(_MEASURED)}")
    labels = [str(row["label"]) for row in result.summary]
    if isinstance(entries, str) or (entries is not None and not entries):
        raise InputError(f"entries is {entries!r}: take a list of labels, or leave it out")
    for entry in entries or []:
        if entry not in labels:
            raise InputError(f"there is no entry {entry!r}; there are: {', '.join(labels)}")
    shown = [place for place, label in enumerate(labels) if entries is None or label in entries]
    # Before anything is drawn: a name that is wrong leaves no empty figure behind.
    points = None if x in _OVER else _ends(result, x, y, shown)
    try:
        from matplotlib import pyplot
    except ImportError:
        raise CahootsError('this needs matplotlib: pip install "cahoots[plot]"') from None
    axes = pyplot.gca() if ax is None else ax
    if points is None:
        _lines(result, axes, x, y, shown, labels, band)
    else:
        _dots(axes, points, band)
    axes.set_xlabel(_TITLES.get(x, x))
    axes.set_ylabel(_TITLES.get(y, y))
    axes.set_title(_plain(result.title))
    # Beside the lines where it would cover them.
    many = len(shown) > _COLOURS
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small") if many else axes.legend()
    return axes


_COLOURS = 10


def _plain(text: str) -> str:
    """A text that is shown as it stands: no formulas, and never hidden from a legend."""
    text = text.replace("$", r"\$")
    return "\u200b" + text if text.startswith("_") else text


def _lines(result: Result, axes: Axes, x: str, y: str, shown: list[int], labels: list[str], band: bool) -> None:
    columns = result.columns("curves")
    for entry in shown:
        own = columns["entry"] == entry
        ticks, tables = _over_seeds({name: columns[name][own] for name in {"tick", "seed", x, y}})
        mean, half = _mean(tables[y])
        places = ticks.astype(float) if x == "tick" else _mean(tables[x])[0]
        # After as many entries as there are colours, the next ones are dashed, then dotted.
        style = ("-", "--", ":", "-.")[shown.index(entry) // _COLOURS % 4]
        (line,) = axes.plot(places, mean, style, label=_plain(labels[entry]))
        if band and half is not None:
            axes.fill_between(places, mean - half, mean + half, color=line.get_color(), alpha=0.2, linewidth=0)


def _over_seeds(columns: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    """Every measure as a matrix, seed by tick. Where ticks differ, the last value holds until the next."""
    ticks = np.unique(columns["tick"])
    rows: dict[str, list[NDArray[Any]]] = {name: [] for name in columns}
    for seed in np.unique(columns["seed"]):
        own = columns["seed"] == seed
        at = np.searchsorted(columns["tick"][own], ticks, side="right") - 1
        for name, values in columns.items():
            held = values[own][np.maximum(at, 0)].astype(float)
            rows[name].append(np.where(at < 0, 0.0, held))
    return ticks, {name: np.array(row) for name, row in rows.items()}


def _mean(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The mean over seeds, and half its 95 % interval where there are several."""
    mean = values.mean(axis=0)
    count = len(values)
    if count < 2:
        return mean, None
    return mean, _cahoots.t_quantile(count) * values.std(axis=0, ddof=1) / np.sqrt(count)


def _ends(result: Result, x: str, y: str, shown: list[int]) -> dict[str, list[tuple[float, float, float]]]:
    """How entries ended, over a parameter: where, mean and half its interval, line by line."""
    columns = result.columns("summary")
    numbers = [name for name, values in columns.items() if isinstance(values, np.ndarray) and values.dtype != bool]
    if x not in numbers:
        known = [*_OVER, *(name for name in numbers if name.startswith(("params.", "environment.")))]
        raise InputError(f"x is {x!r}: take one of {', '.join(known)}")
    mean, half = columns[f"{y}_mean"], columns.get(f"{y}_ci95")
    groups: dict[str, list[tuple[float, float, float]]] = {}
    for entry in shown:
        if np.isfinite(columns[x][entry]):
            name = str(result.manifest["entries"][entry]["block_label"])
            width = 0.0 if half is None else float(half[entry])
            groups.setdefault(name, []).append((float(columns[x][entry]), float(mean[entry]), width))
    if not groups:
        raise InputError(f"no entry that is shown has a number for {x!r}")
    return groups


def _dots(axes: Axes, groups: dict[str, list[tuple[float, float, float]]], band: bool) -> None:
    for name, points in groups.items():
        at, mean, half = map(np.array, zip(*sorted(points), strict=True))
        if band:
            axes.errorbar(at, mean, yerr=np.nan_to_num(half), marker="o", capsize=3, label=_plain(name))
        else:
            axes.plot(at, mean, marker="o", label=_plain(name))
