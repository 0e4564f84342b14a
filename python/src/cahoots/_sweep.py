"""Experiments in parts, over the processes and machines of a Ray cluster."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from cahoots import _cahoots
from cahoots._errors import CahootsError, InputError
from cahoots._own_definition import Definition, adopt, exported
from cahoots._progress import Watcher, watching
from cahoots.experiment import ExperimentLike, Spec, as_spec, expect, run, whole
from cahoots.results import Result

_SECONDS_PER_TASK = 5.0
_SECONDS_TO_STOP = 20.0
_MOST_TASKS = 10_000
_PART = re.compile(r"shard-(\d+)-of-(\d+)")


@dataclass(frozen=True)
class _Task:
    """A part of an experiment, as a worker is told of it."""

    spec: Spec
    out: str
    number: int
    of: int
    seeds: int | None
    per_client: bool
    shared_folder: bool
    setup: bytes | None

    def folder(self) -> Path:
        """Where the part lies, in the folder of the whole."""
        return Path(self.out) / f"shard-{self.number:0{len(str(self.of))}d}-of-{self.of}"


@dataclass(frozen=True)
class _Done:
    """What a worker tells of a part: how many runs it holds, and their files where no folder is shared."""

    number: int
    runs: int
    files: dict[str, bytes] | None


def sweep(
    experiment: ExperimentLike,
    *,
    out: str | os.PathLike[str],
    backend: Literal["local", "ray"] = "local",
    jobs: int | None = None,
    shards: int | None = None,
    seeds: int | None = None,
    resume: bool = True,
    per_client: bool = False,
    address: str | None = None,
    retries: int = 3,
    shared_folder: bool = True,
    setup: Callable[[], object] | None = None,
    progress: bool | Watcher | None = None,
) -> Result:
    """Run a large experiment, on this machine or on a Ray cluster, with the same results bit for bit.

    What is finished is kept as soon as it is: the same call goes on where a sweep was stopped or killed. On Ray, the
    runs are grouped into parts that take seconds each; a part is a task with one CPU and one thread. A task whose
    worker dies is tried again, and does only what is missing.

    Args:
        experiment: As `cahoots.run` takes it.
        out: Folder for the results.
        backend: "local": threads of this process. "ray": tasks of a Ray cluster (``pip install "cahoots[ray]"``).
        jobs: Threads, or CPUs of the Ray cluster that is started here; all cores where nothing is said.
        shards: How many parts there are on Ray; as many as make tasks of seconds where nothing is said. The results do
            not depend on it.
        seeds: Run each entry with this many seeds, whatever the experiment says.
        resume: Use what ``out`` holds already; with False, a folder that is not empty is refused. On Ray that is the
            parts of this sweep: one that is finished and has more seeds or entries now is run anew there.
        per_client: Also count client by client.
        address: The Ray cluster to connect to; one that is connected already is used, and otherwise one is started here
            and ended afterwards.
        retries: How often a task is tried again whose worker died or whose disk failed.
        shared_folder: Whether the workers see ``out`` under the same path (one machine, or a network file system). With
            False they work in temporary folders and send the finished records back; what a worker that dies had done of
            its part is then done again.
        setup: Called once in every worker process before its first part. Algorithms and worlds of your own that are
            known here are known there without it.
        progress: As `cahoots.run` takes it; on Ray, decisions are counted part by part.

    >>> import cahoots, tempfile
    >>> keys = {"horizon": 50, "seeds": 2, "environment": {"kind": "arms"}, "algorithm": [{"kind": "ucb-alone"}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(cahoots.sweep(keys, out=folder + "/all", progress=False).summary)
    1
    """
    jobs, shards = whole(jobs, "jobs", 65_535), whole(shards, "shards", _MOST_TASKS)
    seeds = whole(seeds, "seeds", 1_000_000)
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise InputError(f"retries is {retries!r}: take a whole number, 0 or more")
    folder = Path(out).expanduser().absolute()
    if not resume and folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty: choose another out, or resume=True to go on with what is there")
    if backend == "local":
        if parts := _parts(folder):
            raise InputError(
                f'{folder} holds {len(parts)} parts of a sweep on Ray: go on with backend="ray", or choose another out'
            )
        return run(
            experiment, out=folder, seeds=seeds, jobs=jobs, resume=resume, per_client=per_client, progress=progress
        )
    if backend != "ray":
        raise InputError(f'backend is {backend!r}: take "local" or "ray"')
    ray = _import_ray()
    spec = as_spec(experiment)
    count = _count(experiment, folder, shards, seeds, jobs)
    missing = _cahoots.missing_runs(spec, folder, count, seeds, per_client)
    if missing is None:
        # The whole is there: nothing is run, but what is shown of it may be asked for in another way now.
        return run(
            experiment, out=folder, seeds=seeds, jobs=jobs, resume=True, per_client=per_client, progress=progress
        )
    # What is not named in the experiment need not travel, and perhaps could not.
    own = [known for known in exported() if known.name in spec[1]]
    packed = ray.cloudpickle.dumps(partial(_prepare, own, setup)) if own or setup else None
    tasks = [
        _Task(spec, str(folder), number, count, seeds, per_client, shared_folder, packed)
        for number, left in enumerate(missing, start=1)
        if left > 0
    ]
    started = False
    if tasks and not ray.is_initialized():
        started = True
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "warning"}
        if address is None:
            options |= {"num_cpus": jobs, "include_dashboard": False}
        ray.init(address=address, **options)
    try:
        with watching(progress) as tell:
            _work(ray, tasks, retries, sum(missing), tell)
    finally:
        if started:
            ray.shutdown()
    parts = _parts(folder)
    if lost := [task for task in tasks if task.folder() not in parts]:
        raise CahootsError(
            f"{len(lost)} parts are done and not in {folder}: the workers do not share that folder with this process; "
            "shared_folder=False lets them send back what they find"
        )
    _cahoots.merge_parts(parts, folder)
    # All that was in them is in the whole.
    for part in parts:
        shutil.rmtree(part, ignore_errors=True)
    return Result(folder)


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise CahootsError('backend="ray" needs Ray: pip install "cahoots[ray]"') from None
    return ray


def _parts(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and _PART.fullmatch(path.name))


def _count(experiment: ExperimentLike, folder: Path, shards: int | None, seeds: int | None, jobs: int | None) -> int:
    """How many parts there are: as there were when it was stopped, as asked for, or so many that each takes seconds."""
    there = {int(match[2]) for part in _parts(folder) if (match := _PART.fullmatch(part.name))}
    if len(there) > 1 or (there and shards is not None and there != {shards}):
        known = " and ".join(f"of {count}" for count in sorted(there))
        raise InputError(f"{folder} holds parts {known}: take shards={min(there)}, or choose another out")
    if there:
        return there.pop()
    if shards is not None:
        return shards
    expected = expect(experiment, seeds=seeds, jobs=1)
    wanted = math.ceil(expected.seconds / _SECONDS_PER_TASK)
    # No fewer than keep all CPUs at work, no more than there are runs.
    return max(1, min(expected.runs, max(wanted, jobs or os.cpu_count() or 1), _MOST_TASKS))


def _work(
    ray: Any, tasks: list[_Task], retries: int, of_runs: int, tell: Callable[[int, int, int, int], None] | None
) -> None:
    """Do all parts, so many at a time that the cluster has always something to do and never much to remember."""
    if not tasks:
        return
    part = ray.remote(_part).options(
        num_cpus=1, max_retries=retries, retry_exceptions=[CahootsError, OSError], name="cahoots part"
    )
    most = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting, done = list(reversed(tasks)), 0
    flying: dict[Any, _Task] = {}
    try:
        while waiting or flying:
            while waiting and len(flying) < most:
                task = waiting.pop()
                flying[part.remote(task)] = task
            ready, _ = ray.wait(list(flying), num_returns=1, timeout=0.5)
            for reference in ready:
                task = flying.pop(reference)
                finished: _Done = ray.get(reference)
                if finished.files is not None:
                    _unpack(task.folder(), finished.files)
                done += finished.runs
            if tell is not None:
                tell(0, 0, min(done, of_runs), of_runs)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped: finished runs are kept; the same call does the rest") from None
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, (CahootsError, InputError)):
            raise error.cause from None
        raise
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError) as error:
        raise CahootsError(
            f"a worker died more than {retries} times over the same part: {error}\n"
            "finished runs are kept; the same call does the rest"
        ) from None
    finally:
        _stop(ray, list(flying))


def _stop(ray: Any, flying: list[Any]) -> None:
    """End tasks in good order: they keep what is finished, and leave their folders to whoever comes next."""
    if not flying:
        return
    for reference in flying:
        # By force would be quicker, but a task that ends at that very moment then ends this process too.
        ray.cancel(reference, force=False)
    ready, _ = ray.wait(flying, num_returns=len(flying), timeout=_SECONDS_TO_STOP)
    for reference in ready:
        # What they say of it is not news; unheard, it would be shown as an error.
        with contextlib.suppress(Exception):
            ray.get(reference)


def _prepare(own: list[Definition], setup: Callable[[], object] | None) -> None:
    """What a worker does before its first part."""
    adopt(own)
    if setup is not None:
        setup()


_SET_UP: set[str] = set()


def _part(task: _Task) -> _Done:
    """Run a part, or what is missing of it; this is what a worker does."""
    if task.setup is not None:
        _set_up(task.setup)
    if task.shared_folder:
        return _Done(task.number, _in_place(task), None)
    with tempfile.TemporaryDirectory(prefix="cahoots-") as folder:
        path, runs = _cahoots.run_part(task.spec, folder, task.number, task.of, task.seeds, task.per_client)
        found = (file for file in sorted(Path(path).rglob("*")) if file.is_file())
        files = {file.relative_to(path).as_posix(): zlib.compress(file.read_bytes()) for file in found}
    return _Done(task.number, runs, files)


def _in_place(task: _Task) -> int:
    """Run a part in the folder that all share. An earlier attempt that is ending may still hold it for a moment."""
    tries = round(_SECONDS_TO_STOP / 0.1)
    while True:
        try:
            return _cahoots.run_part(task.spec, task.out, task.number, task.of, task.seeds, task.per_client)[1]
        except InputError as error:
            tries -= 1
            if "another run is writing" not in str(error) or tries == 0:
                raise
            time.sleep(0.1)


def _set_up(packed: bytes) -> None:
    name = hashlib.sha256(packed).hexdigest()
    if name not in _SET_UP:
        import pickle

        pickle.loads(packed)()
        _SET_UP.add(name)


def _unpack(folder: Path, files: dict[str, bytes]) -> None:
    """Put the files of a part in place, all or none."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".part-", dir=folder.parent) as begun:
        made = Path(begun) / "part"
        for name, held in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_bytes(zlib.decompress(held))
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
