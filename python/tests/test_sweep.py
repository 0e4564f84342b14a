"""Sweeps: the same bytes from threads and from a Ray cluster, workers killed on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cahoots
from cahoots import _sweep

KEYS: dict[str, Any] = {
    "name": "swept",
    "horizon": 400,
    "seeds": 4,
    "environment": {"kind": "linear", "clients": 4, "dim": [3, 5], "arms": 5},
    "algorithm": [{"kind": "linucb-alone"}, {"kind": "async-linucb", "upload_ratio": [2.0, 20.0]}],
}
RUNS = 4 * 2 * 3


def held(folder: Path) -> dict[str, bytes]:
    """All files of a folder, but how long things took."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "timing.csv")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What one process writes."""
    out = tmp_path_factory.mktemp("local") / "out"
    cahoots.run(KEYS, out=out, progress=False)
    found = held(out)
    assert len([name for name in found if name.startswith("seeds/")]) == RUNS
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers on this machine."""
    ray = pytest.importorskip("ray")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()


def ray_sweep(out: Path, **more: Any) -> dict[str, bytes]:
    cahoots.sweep(KEYS, out=out, backend="ray", **{"progress": False, "shards": 5, **more})
    return held(out)


# Without a cluster


def test_threads_give_the_bytes_of_a_run_and_go_on(tmp_path: Path, local: dict[str, bytes]) -> None:
    out = tmp_path / "out"
    cahoots.sweep(KEYS, out=out, seeds=2, jobs=2, progress=False)
    before = {path: path.stat().st_mtime_ns for path in (out / "seeds").iterdir()}
    cahoots.sweep(KEYS, out=out, jobs=1, progress=False)
    assert held(out) == local and {path: path.stat().st_mtime_ns for path in before} == before
    with pytest.raises(cahoots.InputError, match="is not empty"):
        cahoots.sweep(KEYS, out=out, resume=False)


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    for options, says in [
        ({"backend": "slurm"}, 'take "local" or "ray"'),
        ({"jobs": 0}, "jobs is 0"),
        ({"shards": 0, "backend": "ray"}, "shards is 0"),
        ({"retries": -1, "backend": "ray"}, "retries is -1"),
        ({"retries": 1.5, "backend": "ray"}, "retries is 1.5"),
        ({"seeds": "all"}, "seeds is 'all'"),
    ]:
        with pytest.raises(cahoots.InputError, match=says):
            cahoots.sweep(KEYS, out=tmp_path / "out", **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_ray_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(cahoots.CahootsError, match=r'pip install "cahoots\[ray\]"'):
        cahoots.sweep(KEYS, out=tmp_path / "out", backend="ray")


def test_parts_are_so_many_that_each_takes_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def count(seconds: float, runs: int, jobs: int) -> int:
        def expect(*_: Any, **__: Any) -> Any:
            class Expected:
                pass

            expected: Any = Expected()
            expected.seconds, expected.runs = seconds, runs
            return expected

        monkeypatch.setattr(_sweep, "expect", expect)
        return _sweep._count(KEYS, tmp_path, None, None, jobs)

    assert count(1000.0, 5000, 8) == 200
    assert count(0.1, 5000, 8) == 8, "all CPUs have something to do"
    assert count(1000.0, 24, 8) == 24, "a run is not divided"
    assert count(1e9, 10**7, 8) == 10_000
    assert count(0.0, 1, 8) == 1


def test_parts_of_another_number_are_refused_and_known_ones_taken_up(tmp_path: Path) -> None:
    (tmp_path / "shard-2-of-7").mkdir()
    assert _sweep._count(KEYS, tmp_path, None, None, 2) == 7
    with pytest.raises(cahoots.InputError, match="take shards=7"):
        _sweep._count(KEYS, tmp_path, 5, None, 2)
    with pytest.raises(cahoots.InputError, match='go on with backend="ray"'):
        cahoots.sweep(KEYS, out=tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="folders are not locked there")
def test_a_part_waits_for_an_earlier_attempt_that_is_ending(tmp_path: Path) -> None:
    import fcntl

    spec = cahoots.experiment.as_spec(KEYS)
    task = _sweep._Task(spec, str(tmp_path), 1, 6, None, False, True, None)
    task.folder().mkdir()
    folder = os.open(task.folder(), os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with pytest.raises(cahoots.InputError, match="another run is writing"):
        cahoots._cahoots.run_part(spec, tmp_path, 1, 6, None, False)
    threading.Timer(0.5, os.close, [folder]).start()
    assert _sweep._part(task).runs == RUNS / 6
    assert len(list((task.folder() / "seeds").iterdir())) == RUNS / 6


# On a cluster


@pytest.mark.parametrize("shared", [True, False])
def test_a_cluster_gives_the_bytes_of_one_process(
    shared: bool, tmp_path: Path, local: dict[str, bytes], cluster: Any
) -> None:
    told: list[cahoots.Progress] = []
    assert ray_sweep(tmp_path / "out", shared_folder=shared, progress=told.append) == local
    assert (told[-1].runs, told[-1].of_runs) == (RUNS, RUNS)
    assert cluster.is_initialized(), "a cluster that was there stays"
    # Again: nothing is left to do, and nothing changes.
    assert ray_sweep(tmp_path / "out") == local


def test_as_many_parts_as_are_good_and_clients_one_by_one(tmp_path: Path, cluster: Any) -> None:
    cahoots.run(KEYS, out=tmp_path / "one", per_client=True, progress=False)
    assert ray_sweep(tmp_path / "out", shards=None, per_client=True) == held(tmp_path / "one")
    assert ray_sweep(tmp_path / "many", shards=100, per_client=True) == held(tmp_path / "one")


def test_workers_that_do_not_share_the_folder_are_found_out(tmp_path: Path, cluster: Any) -> None:
    # As another machine would: the part is written, and not here.
    elsewhere, out = str(tmp_path / "elsewhere"), str(tmp_path / "out")

    def setup() -> None:
        import importlib

        inner: Any = importlib.import_module("cahoots._cahoots")
        run_part = inner.run_part

        def part(spec: Any, whole: str, *rest: Any) -> Any:
            # The worker is used again, for other tests.
            return run_part(spec, elsewhere if whole == out else whole, *rest)

        inner.run_part = part

    with pytest.raises(cahoots.CahootsError, match="shared_folder=False"):
        ray_sweep(Path(out), setup=setup)


def test_what_is_written_in_python_goes_along(tmp_path: Path, cluster: Any) -> None:
    @cahoots.policy("swept-first")
    class First:
        def __init__(self, arm: int = 0) -> None:
            self.arm = arm

        def choose(self) -> int:
            return self.arm

        def observe(self, reward: float) -> None:
            pass

    keys = {**KEYS, "algorithm": [{"kind": "swept-first", "arm": [0, 1]}, {"kind": "linucb-alone"}]}
    cahoots.run(keys, out=tmp_path / "one", progress=False)
    cahoots.sweep(keys, out=tmp_path / "parts", backend="ray", shards=3, progress=False)
    assert held(tmp_path / "parts") == held(tmp_path / "one")


def killed_once(marker: Path, when: Callable[[], bool]) -> Callable[[], None]:
    """What a worker is to do before its first part: die, as soon as something holds, if no other has."""
    path = str(marker)

    def setup() -> None:
        def wait() -> None:
            while not when():
                time.sleep(0.001)
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        if when():
            thread.join()

    return setup


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("shared", [True, False])
def test_a_worker_that_is_killed_before_its_part(
    shared: bool, tmp_path: Path, local: dict[str, bytes], cluster: Any
) -> None:
    marker = tmp_path / "killed"
    setup = killed_once(marker, lambda: True)
    assert ray_sweep(tmp_path / "out", setup=setup, shared_folder=shared) == local
    assert marker.exists(), "one was killed"


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_worker_that_is_killed_in_the_middle_of_its_part(tmp_path: Path, cluster: Any) -> None:
    keys = {**KEYS, "horizon": 40_000, "seeds": 2}
    cahoots.run(keys, out=tmp_path / "one", progress=False)
    marker, out = tmp_path / "killed", str(tmp_path / "out")

    def begun() -> bool:
        # A part of several runs has kept one, and not all.
        import glob

        return len(glob.glob(out + "/shard-*/seeds/*.json")) >= 1

    setup = killed_once(marker, begun)
    cahoots.sweep(keys, out=out, backend="ray", shards=2, setup=setup, progress=False)
    assert marker.exists(), "one was killed"
    assert held(Path(out)) == held(tmp_path / "one")


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_sweep_that_failed_goes_on_with_what_is_there(tmp_path: Path, local: dict[str, bytes], cluster: Any) -> None:
    out = tmp_path / "out"

    def die_in_the_last_part() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(cahoots.CahootsError, match=r"worker died more than 0 times(.|\n)*the same call does the rest"):
        ray_sweep(out, retries=0, setup=die_in_the_last_part)
    assert not (out / "summary.json").exists()
    # One part is done elsewhere meanwhile.
    spec = cahoots.experiment.as_spec(KEYS)
    cahoots._cahoots.run_part(spec, out, 2, 5, None, False)
    there = {path.name: path.stat().st_mtime_ns for path in (out / "shard-2-of-5" / "seeds").iterdir()}
    assert there
    told: list[cahoots.Progress] = []
    assert ray_sweep(out, shards=None, progress=told.append) == local
    assert told[-1].of_runs == RUNS - len(there), "a part that is whole is not run again"


def test_what_is_wrong_is_said_once_and_not_tried_again(tmp_path: Path, cluster: Any) -> None:
    with pytest.raises(cahoots.InputError, match="horizont"):
        cahoots.sweep({**KEYS, "horizont": 3}, out=tmp_path / "out", backend="ray", shards=2)
    cahoots.run({**KEYS, "horizon": 401}, out=tmp_path / "other", progress=False)
    before = held(tmp_path / "other")
    with pytest.raises(cahoots.InputError, match="it holds another run"):
        ray_sweep(tmp_path / "other")
    assert held(tmp_path / "other") == before

    def broken() -> None:
        raise cahoots.InputError("mine")

    with pytest.raises(cahoots.InputError, match="mine"):
        ray_sweep(tmp_path / "broken", setup=broken)


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent in another way there")
def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, cluster: Any) -> None:
    keys = {**KEYS, "horizon": 20_000, "seeds": 8}
    out = tmp_path / "out"
    code = (
        "import cahoots, ray, sys\n"
        f"ray.init(address={cluster.get_runtime_context().gcs_address!r}, log_to_driver=False, logging_level='error')\n"
        "def told(progress):\n"
        "    if progress.runs: print('go', flush=True)\n"
        "try:\n"
        f"    cahoots.sweep({keys!r}, out={str(out)!r}, backend='ray', shards=24, progress=told)\n"
        "except KeyboardInterrupt as error:\n"
        "    print(error); sys.exit(130)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate()
    assert line == "go\n" and process.returncode == 130, errors
    assert "the same call does the rest" in rest
    parts = list(out.glob("shard-*-of-24"))
    assert parts and not (out / "summary.json").exists()
    told: list[cahoots.Progress] = []
    cahoots.sweep(keys, out=out, backend="ray", progress=told.append)
    assert told[-1].runs == told[-1].of_runs < 48
    cahoots.run(keys, out=tmp_path / "one", progress=False)
    assert held(out) == held(tmp_path / "one")
