"""The papers' datasets: checked, loaded into arrays, their features prepared."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cahoots import _cahoots, _checks
from cahoots._errors import CahootsError

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Check:
    """What a folder holds, against what is known of the set."""

    dataset: str
    """The set's name."""
    title: str
    """What it is."""
    counts: dict[str, tuple[int, int | None]]
    """How many there are of what, and how many there should be where that is known."""
    content: str | None
    """Hash of what is in it; none for logs."""
    missing: list[str]
    """Files that are not there, and that it works without."""
    licence: str
    """Its licence, in one line."""
    source: str
    """Where to obtain the set."""
    notes: list[str]
    """What whoever uses it should know."""

    @property
    def ok(self) -> bool:
        """Whether every count is what it should be."""
        return all(known is None or found == known for found, known in self.counts.values())


def check(folder: str | os.PathLike[str]) -> Check:
    """Says which dataset a folder holds: counts against the published ones, licence, where to obtain what is missing.

    >>> import cahoots, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cahoots.data.example_set("lastfm", folder)
    ...     found = cahoots.data.check(folder)
    >>> found.dataset, found.counts["users"], found.ok
    ('lastfm', (12, 1892), False)
    """
    report = _cahoots.check_set(_checks.path("folder", folder))
    report["counts"] = {what: (found, known) for what, found, known in report["counts"]}
    return Check(**report)


class Dataset:
    """A dataset in memory: users who took items, in the order of the file, and what was said of the items."""

    def __init__(self, inner: Any, folder: str) -> None:
        """Of what was read from a folder; `load` makes these."""
        self._inner = inner
        self._folder = folder
        self.name: str = inner.name
        """Which set it is."""
        self.title: str = inner.title
        """What it is."""
        self.licence: str = inner.licence
        """Its licence, in one line."""
        self.content: str = inner.content
        """Hash of what is in it, by which experiments know it."""
        self.counts: dict[str, int] = dict(inner.counts)
        """How many there are of what."""
        self.users: NDArray[np.uint32] = inner.users
        """The users' own ids, ascending."""
        self.items: NDArray[np.uint32] = inner.items
        """The items' own ids, ascending."""
        self.event_users: NDArray[np.uint32]
        """The user of each event, as a number into `users`."""
        self.event_items: NDArray[np.uint32]
        """The item of each event, as a number into `items`."""
        self.event_times: NDArray[np.int64] | None
        """When, in the set's own unit; None where times are not known."""
        self.event_users, self.event_items, times = inner.events()
        self.event_times = times if inner.timed else None

    @property
    def words(self) -> list[str]:
        """All words that were said of items."""
        return list(self._inner.words)

    def word_counts(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
        """How often each word was said of each item: data, indices and indptr of a `scipy.sparse.csr_array`."""
        counts: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]] = self._inner.word_counts()
        return counts

    def features(self, kind: str = "gob", dim: int = 25) -> NDArray[np.float64]:
        """Features of the items, a row each, as the environment `replay` offers them: `gob` or `svd`."""
        features: NDArray[np.float64] = self._inner.features(kind, _checks.whole("dim", dim, 1, 1000))
        return features

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each event: the user's and the item's own id, and the time where it is known."""
        try:
            import pandas
        except ImportError:
            raise CahootsError("to_pandas needs pandas: pip install 'cahoots[pandas]'") from None
        columns: dict[str, NDArray[Any]] = {"user": self.users[self.event_users], "item": self.items[self.event_items]}
        if self.event_times is not None:
            columns["time"] = self.event_times
        frame: pandas.DataFrame = pandas.DataFrame(columns)
        return frame

    def environment(self, **keys: Any) -> dict[str, Any]:
        """The environment of an experiment that replays it: `kind = "replay"` with these keys."""
        return {"kind": "replay", "data": self._folder, "dataset": self.name, **keys}

    def __len__(self) -> int:
        """Events."""
        return len(self.event_users)

    def __repr__(self) -> str:
        """In one line."""
        users, items = len(self.users), len(self.items)
        return f"<Dataset {self.name}: {len(self):,} events of {users:,} users over {items:,} items>"


def load(name: str | None, folder: str | os.PathLike[str]) -> Dataset:
    """Reads a dataset into arrays: `lastfm`, `delicious`, `ml-20m` and the others, or None for whichever it is.

    >>> import cahoots, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cahoots.data.example_set("lastfm", folder)
    ...     music = cahoots.data.load("lastfm", folder)
    >>> music
    <Dataset lastfm: 252 events of 12 users over 83 items>
    >>> music.features(dim=3).shape
    (83, 3)
    """
    place = _checks.path("folder", folder)
    return Dataset(_cahoots.load_set(_checks.text("name", name), place), str(Path(place).resolve()))


def prepare(
    name: str, folder: str | os.PathLike[str], *, features: str = "both", dim: int = 25, anew: bool = False
) -> list[dict[str, Any]]:
    """Computes the features of a dataset's items and keeps them, so that experiments need not wait.

    Files go to $CAHOOTS_CACHE, else to $XDG_CACHE_HOME/cahoots or ~/.cache/cahoots.

    >>> import cahoots, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cahoots.data.example_set("lastfm", folder)
    ...     made = cahoots.data.prepare("lastfm", folder, features="svd", dim=4)
    >>> made[0]["items"], made[0]["dim"]
    (83, 4)
    """
    width = _checks.whole("dim", dim, 1, 1000)
    variants = ["gob", "svd"] if features == "both" else [features]
    made: list[dict[str, Any]] = _cahoots.prepare_set(name, _checks.path("folder", folder), variants, width, bool(anew))
    return made


def example_set(name: str, folder: str | os.PathLike[str]) -> None:
    """Writes a small made-up dataset in the form of a known one to a folder: nothing in it is anyone's."""
    _cahoots.example_set(name, Path(_checks.path("folder", folder)))
