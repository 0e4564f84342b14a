"""Experiments: described as objects, dicts or files, run in worlds that are made from a seed."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from cahoots import _cahoots, _toml
from cahoots._errors import CahootsError, InputError
from cahoots._progress import Watcher, watching
from cahoots.results import Result

Spec: TypeAlias = tuple[str, str, str, str]
"""An experiment in words: "toml" or "manifest", the text, its name, the folder that paths in it are relative to."""

_KEYS = ("name", "title", "horizon", "seeds", "environment", "network", "rewards", "algorithm")


class _Named:
    """A kind and its keys."""

    def __init__(self, kind: str, **parameters: Any) -> None:
        if not isinstance(kind, str):
            raise InputError(f"{type(self).__name__}({kind!r}): name it by a text, such as {self._example!r}")
        self.kind = kind
        self.parameters = parameters

    _example = ""

    def to_dict(self) -> dict[str, Any]:
        """Give the keys as an experiment file has them."""
        keys: dict[str, Any] = _toml.plain({"kind": self.kind, **self.parameters}, self.kind)
        return keys

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, _Named) and other.to_dict() == self.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        keys = "".join(f", {key}={value!r}" for key, value in self.parameters.items())
        return f"{type(self).__name__}({self.kind!r}{keys})"


class Environment(_Named):
    """A world to run algorithms in: its kind and its keys.

    ``cahoots.environments()`` lists them. A list in place of a value makes one world for each.

    >>> Environment("linear", clients=50, dim=10, arms=10)
    Environment('linear', clients=50, dim=10, arms=10)
    """

    _example = "linear"


class Algorithm(_Named):
    """An algorithm with its parameters.

    ``cahoots.algorithms()`` lists them. A list, or ``{"logspace": [from, to, count]}``, in place of a value makes one
    entry for each; ``label`` says what an entry is called.

    >>> Algorithm("async-linucb", upload_ratio=5.0, label="async")
    Algorithm('async-linucb', upload_ratio=5.0, label='async')
    """

    _example = "async-linucb"


@dataclass(frozen=True, eq=False)
class Experiment:
    """Every algorithm with every seed, in the same worlds.

    >>> experiment = Experiment(
    ...     "together", horizon=200, seeds=2,
    ...     environment=Environment("linear", clients=4, dim=3, arms=5),
    ...     algorithms=[Algorithm("linucb-alone"), Algorithm("async-linucb", upload_ratio=5.0)],
    ... )
    >>> print(experiment.to_toml())
    name = "together"
    horizon = 200
    seeds = 2
    <BLANKLINE>
    [environment]
    kind = "linear"
    clients = 4
    dim = 3
    arms = 5
    <BLANKLINE>
    [[algorithm]]
    kind = "linucb-alone"
    <BLANKLINE>
    [[algorithm]]
    kind = "async-linucb"
    upload_ratio = 5.0
    <BLANKLINE>
    >>> Experiment.from_toml(experiment.to_toml()) == experiment
    True
    """

    name: str
    """What it is called; names the folder of its results."""
    horizon: int | Sequence[int] | Mapping[str, Any] | None = None
    """Ticks of a run; may be left out where the world is made of data."""
    seeds: int | Sequence[int] | None = None
    """How many runs of each entry, or a list of seeds; ten where nothing is said."""
    _: KW_ONLY
    environment: Environment | Mapping[str, Any]
    """The world."""
    algorithms: Sequence[Algorithm | Mapping[str, Any] | str]
    """What is run."""
    title: str | None = None
    """A line for figures."""
    network: Mapping[str, Any] | None = None
    """Messages that take time, get lost, come twice."""
    rewards: Mapping[str, Any] | None = None
    """Rewards that come late or never."""
    folder: str | os.PathLike[str] | None = None
    """The folder that paths in it are relative to; the current one where nothing is said."""

    def to_dict(self) -> dict[str, Any]:
        """Give the experiment as a dict with the keys of an experiment file."""
        if isinstance(self.algorithms, (str, Mapping, Algorithm)):
            raise InputError("algorithms is one algorithm: make it a list, [Algorithm(...)]")
        keys = {
            "name": self.name,
            "title": self.title,
            "horizon": self.horizon,
            "seeds": self.seeds,
            "environment": self.environment,
            "network": self.network,
            "rewards": self.rewards,
            "algorithm": [{"kind": entry} if isinstance(entry, str) else entry for entry in self.algorithms],
        }
        found: dict[str, Any] = _toml.plain(keys, "")
        return found

    def to_toml(self) -> str:
        """Write the experiment as the text of a file that ``cahoots run`` takes."""
        return _toml.text(self.to_dict())

    @classmethod
    def from_dict(cls, keys: Mapping[str, Any], *, folder: str | os.PathLike[str] | None = None) -> Experiment:
        """Make an experiment of a dict with the keys of an experiment file.

        >>> keys = {"name": "x", "horizon": 10, "environment": {"kind": "arms"}, "algorithm": [{"kind": "ucb-alone"}]}
        >>> Experiment.from_dict(keys).to_dict() == keys
        True
        """
        found: dict[str, Any] = _toml.plain(keys, "")
        unknown = [key for key in found if key not in _KEYS]
        if unknown:
            raise InputError(f"unknown key {unknown[0]!r}: an experiment has {', '.join(_KEYS)}")
        environment, entries = found.get("environment"), found.get("algorithm")
        if not isinstance(environment, dict):
            raise InputError("an experiment needs an environment: a dict with a kind and keys")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise InputError("an experiment needs a list `algorithm`: a dict with a kind and keys for each")
        return cls(
            found.get("name", "experiment"),
            found.get("horizon"),
            found.get("seeds"),
            environment=_named(Environment, environment),
            algorithms=[_named(Algorithm, entry) for entry in entries],
            title=found.get("title"),
            network=found.get("network"),
            rewards=found.get("rewards"),
            folder=folder,
        )

    @classmethod
    def from_toml(cls, text: str, *, folder: str | os.PathLike[str] | None = None) -> Experiment:
        """Read an experiment from the text of an experiment file; paths in it are relative to ``folder``."""
        return cls.from_dict(_cahoots.parse_toml(text, "the text"), folder=folder)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Experiment:
        """Read an experiment file, or the experiment of an earlier run with the seeds that it was run with."""
        kind, text, _, folder = as_spec(path)
        if kind != "manifest":
            return cls.from_toml(text, folder=folder)
        try:
            manifest = json.loads(text)
            source, seeds, folder = manifest["source"], manifest["seeds"], manifest["folder"]
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{os.fspath(path)} is not the manifest of a run") from None
        keys = _cahoots.parse_toml(source, "the manifest's source")
        if list(range(keys["seeds"]) if isinstance(keys.get("seeds"), int) else keys.get("seeds", ())) != seeds:
            # As it was run, whatever its file says.
            keys["seeds"] = seeds
        return cls.from_dict(keys, folder=folder)

    def check(self) -> list[str]:
        """Check everything in it and run nothing; gives the labels of its entries.

        >>> Experiment("x", 10, environment=Environment("arms"), algorithms=["ucb-alone"]).check()
        ['ucb-alone']
        """
        _, labels, _ = _cahoots.check_experiment(as_spec(self), None)
        return labels

    def __eq__(self, other: object) -> bool:
        """Whether both are the same experiment."""
        return isinstance(other, Experiment) and other.to_dict() == self.to_dict()

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Expected:
    """What an experiment will come to; `cahoots.expect` finds out."""

    entries: int
    """Entries."""
    worlds: int
    """Worlds that they are run in."""
    seeds: int
    """Seeds of each."""
    runs: int
    """Runs of all."""
    decisions: int
    """Decisions of all runs."""
    threads: int
    """Runs at a time."""
    seconds: float
    """Seconds that it will take with so many threads, about."""
    bytes_per_run: float
    """Bytes of the largest run, about."""
    bytes: float
    """Bytes of as many as are run at a time."""
    free: int | None
    """Bytes that are free, where the system says."""


ExperimentLike: TypeAlias = Experiment | Mapping[str, Any] | str | os.PathLike[str]
"""Whatever describes an experiment: an object, a dict with the keys of a file, or the path of a file."""


def _named(cls: type[Any], keys: Mapping[str, Any]) -> Any:
    rest = {key: value for key, value in keys.items() if key != "kind"}
    kind = keys.get("kind")
    # A kind that is swept, or missing, is for the laboratory to judge.
    return cls(kind, **rest) if isinstance(kind, str) else dict(keys)


def as_spec(experiment: ExperimentLike) -> Spec:
    """Bring whatever describes an experiment to the one form that the compiled half reads."""
    if isinstance(experiment, Experiment):
        folder = os.path.abspath(experiment.folder or os.curdir)
        return "toml", experiment.to_toml(), experiment.name, folder
    if isinstance(experiment, Mapping):
        return "toml", _toml.text(_toml.plain(experiment, "")), "experiment", os.path.abspath(os.curdir)
    if not isinstance(experiment, (str, os.PathLike)):
        raise InputError(
            f"{type(experiment).__name__} is no experiment: take a cahoots.Experiment, a dict, or the path of a file"
        )
    named = os.fspath(experiment)
    if "\n" in named:
        raise InputError("this is a text, not a path: cahoots.Experiment.from_toml(text) reads it")
    path = Path(named).expanduser()
    if path.is_dir() and (path / "manifest.json").is_file():
        path = path / "manifest.json"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder that holds no run: name a file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file") from None
    kind = "manifest" if path.suffix == ".json" else "toml"
    return kind, text, str(path), str(path.resolve().parent)


def whole(value: Any, name: str, most: int) -> int | None:
    """Check a whole number from 1 on, or None."""
    if value is None:
        return None
    try:
        number = None if isinstance(value, bool) else int(value.__index__())
    except AttributeError:
        number = None
    if number is None or not 1 <= number <= most:
        raise InputError(f"{name} is {value!r}: take a whole number from 1 to {most:,}")
    return number


def run(
    experiment: ExperimentLike,
    *,
    out: str | os.PathLike[str] | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    resume: bool = False,
    force: bool = False,
    per_client: bool = False,
    progress: bool | Watcher | None = None,
) -> Result:
    """Run an experiment: every algorithm with every seed, in the same worlds.

    The same experiment gives the same results, bit for bit, whoever runs it: this function or ``cahoots run``.

    Ctrl-C stops a run and keeps what is finished; the same call with ``resume=True`` does the rest.

    Args:
        experiment: A `cahoots.Experiment`, a dict with the keys of an experiment file, the path of such a file, or that
            of an earlier run (its folder or its manifest.json).
        out: Folder for the results. Without one they live in a temporary folder, as long as the result does.
        seeds: Run each entry with this many seeds, whatever the experiment says.
        jobs: Threads; as many as there are cores where nothing is said. The results do not depend on it.
        resume: Continue the run that ``out`` holds, or let it grow by seeds and entries.
        force: Replace the run that ``out`` holds.
        per_client: Also count client by client.
        progress: False shows nothing; a function is called with a `cahoots.Progress` now and then.

    >>> import cahoots
    >>> result = cahoots.run(
    ...     {
    ...         "name": "first", "horizon": 300, "seeds": 2,
    ...         "environment": {"kind": "linear", "clients": 5, "dim": 3, "arms": 4},
    ...         "algorithm": [{"kind": "linucb-alone"}, {"kind": "linucb-shared"}],
    ...     },
    ...     progress=False,
    ... )
    >>> [row["label"] for row in result.summary]
    ['linucb-alone', 'linucb-shared']
    """
    if resume and force:
        raise InputError("resume=True uses what is there, force=True replaces it: take one of them")
    if resume and out is None:
        raise InputError("resume=True needs out: the folder of the run that goes on")
    seeds, jobs = whole(seeds, "seeds", 1_000_000), whole(jobs, "jobs", 65_535)
    spec = as_spec(experiment)
    start = "resume" if resume else "force" if force else "fresh"
    if out is not None:
        folder = Path(out).expanduser().absolute()
        with watching(progress) as tell:
            _cahoots.run_experiment(spec, folder, start, seeds, jobs, per_client, tell)
        return Result(folder)
    folder = Path(tempfile.mkdtemp(prefix="cahoots-"))
    try:
        with watching(progress) as tell:
            _cahoots.run_experiment(spec, folder, start, seeds, jobs, per_client, tell)
        return Result(folder, temporary=True)
    except BaseException as error:
        _keep_or_remove(folder, error)
        raise


def _keep_or_remove(folder: Path, error: BaseException) -> None:
    """Keep a temporary folder that has finished runs in it, and say so."""
    kept = any((folder / "seeds").glob("*.json"))
    if not kept:
        shutil.rmtree(folder, ignore_errors=True)
    # Inside, the folder is taken for one that the same call would find again.
    note = f"cahoots.run(..., out={str(folder)!r}, resume=True) goes on from there" if kept else "no run was finished"
    if type(error) in (KeyboardInterrupt, CahootsError):
        lines = [line for line in str(error).split("\n") if str(folder) not in line]
        error.args = ("\n".join([*lines, f"finished runs are kept: {note}" if kept else f"stopped: {note}"]),)
    elif hasattr(error, "add_note"):
        notes = getattr(error, "__notes__", [])
        notes[:] = [line for line in notes if str(folder) not in line]
        error.add_note(f"finished runs are kept: {note}" if kept else note)


def expect(experiment: ExperimentLike, *, seeds: int | None = None, jobs: int | None = None) -> Expected:
    """Find out what an experiment will take, without running it: some of its entries are tried for a moment each.

    >>> import cahoots
    >>> keys = {"horizon": 10, "seeds": 3, "environment": {"kind": "arms"}, "algorithm": [{"kind": "ucb-alone"}]}
    >>> cahoots.expect(keys).runs
    3
    """
    seeds, jobs = whole(seeds, "seeds", 1_000_000), whole(jobs, "jobs", 65_535)
    return Expected(**json.loads(_cahoots.expect_experiment(as_spec(experiment), seeds, jobs)))
