"""Experiments from Python: what they are made of, what comes out, and what happens when they are stopped."""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cahoots
from cahoots import _cahoots, _toml

EXAMPLES = Path(__file__).parents[2] / "examples"

KEYS: dict[str, Any] = {
    "name": "both",
    "horizon": 300,
    "seeds": 3,
    "environment": {"kind": "linear", "clients": 4, "dim": 3, "arms": 5},
    "algorithm": [{"kind": "linucb-alone"}, {"kind": "async-linucb", "upload_ratio": [2.0, float("inf")]}],
}

# Long enough to be stopped on the way, whatever the machine: it is stopped when the first of its runs is finished.
LONG: dict[str, Any] = {
    "name": "long",
    "horizon": 60_000,
    "seeds": 12,
    "environment": {"kind": "linear", "clients": 4, "dim": 5, "arms": 5},
    "algorithm": [{"kind": "linucb-alone"}],
}


def held(folder: Path, *, but: tuple[str, ...] = ("timing.csv",)) -> dict[str, bytes]:
    """All files of a folder, but how long things took."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in but)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def run(experiment: Any, out: Path, **more: Any) -> dict[str, bytes]:
    cahoots.run(experiment, out=out, progress=False, **more)
    return held(out)


# What an experiment is made of


def test_what_numpy_and_pandas_make_of_numbers_is_written_as_they_are() -> None:
    pandas = pytest.importorskip("pandas")
    keys = {
        "a": np.float64(0.1),
        "b": np.int32(7),
        "c": np.bool_(True),
        "d": np.array([1.5, float("inf")]),
        "e": (1, 2),
        "f": None,
        "g": Path("x") / "y",
        "h": pandas.Series([1, 2]),
        "i": np.array(3.0),
        "j": range(3),
        "k": np.arange(6.0)[::2],
        "l": True,
        "m": {"x": {"deep": 1, "gone": None}},
        "n": -0.0,
        "o": 1e-300,
        "p": np.str_("text"),
        "q": [[1, 2], [3]],
        "strange key": 'quote " backslash \\ newline \n tab \t bell \x07 del \x7f é 漢 \U0001f600',
    }
    text = _toml.text(_toml.plain(keys, ""))
    found = _cahoots.parse_toml(text, "test")
    wanted = {
        "a": 0.1,
        "b": 7,
        "c": True,
        "d": [1.5, float("inf")],
        "e": [1, 2],
        "g": os.path.join("x", "y"),
        "h": [1, 2],
        "i": 3.0,
        "j": [0, 1, 2],
        "k": [0.0, 2.0, 4.0],
        "l": True,
        "m": {"x": {"deep": 1}},
        "n": -0.0,
        "o": 1e-300,
        "p": "text",
        "q": [[1, 2], [3]],
        "strange key": keys["strange key"],
    }
    assert found == wanted
    assert {key: type(value) for key, value in found.items()} == {key: type(value) for key, value in wanted.items()}


@pytest.mark.parametrize("value", [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 123456789.123456789, 1e22, -2.5e-7])
def test_every_bit_of_a_number_is_written(value: float) -> None:
    assert _cahoots.parse_toml(_toml.text({"x": value}), "test")["x"].hex() == value.hex()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "horizon is NaN"),
        (np.float32("nan"), "horizon is NaN"),
        ([1, None], r"horizon\[1\] is None"),
        (2**63, "63 bits"),
        ({1, 2}, "set is nothing"),
        (b"bytes", "bytes is nothing"),
        (1 + 2j, "complex is nothing"),
        (np.array([1 + 2j]), r"horizon\[0\]: complex is nothing"),
        ({1: 2}, "keys are texts"),
        ("\ud800", "half a character"),
        (object(), "object is nothing"),
        (np.array(["2026-01-01"], dtype="datetime64[D]"), "date is nothing"),
    ],
)
def test_what_an_experiment_cannot_hold_is_refused_by_name(value: Any, says: str) -> None:
    with pytest.raises(cahoots.InputError, match=says):
        cahoots.run({**KEYS, "horizon": value})


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({**KEYS, "horizont": 3}, "did you mean `horizon`"),
        ({**KEYS, "algorithm": [{"kind": "async-linucp"}]}, 'did you mean "async-linucb"'),
        ({**KEYS, "algorithm": []}, "algorithm"),
        ({**KEYS, "horizon": -1}, "horizon"),
        ({**KEYS, "horizon": 1.5e3}, "horizon"),
        ({**KEYS, "horizon": True}, "horizon"),
        ({**KEYS, "environment": {"kind": "linear", "clients": "four"}}, "clients"),
        ({}, "empty"),
    ],
)
def test_a_wrong_experiment_is_refused_with_its_remedy(keys: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(cahoots.InputError, match=says):
        cahoots.run(keys, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_no_experiment_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for what, says in [
        (3, "int is no experiment"),
        (None, "NoneType is no experiment"),
        (tmp_path / "absent.toml", "there is no file"),
        (tmp_path, "holds no run"),
        (tmp_path / "bytes.toml", "not a text file"),
        ('name = "x"\nhorizon = 3', "from_toml"),
        ([KEYS], "list is no experiment"),
    ]:
        with pytest.raises(cahoots.InputError, match=says):
            cahoots.run(what)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seeds": 0}, "seeds is 0"),
        ({"seeds": True}, "seeds is True"),
        ({"seeds": 2.5}, "seeds is 2.5"),
        ({"seeds": "3"}, "seeds is '3'"),
        ({"jobs": 0}, "jobs is 0"),
        ({"jobs": -1}, "jobs is -1"),
        ({"resume": True}, "needs out"),
        ({"resume": True, "force": True, "out": "x"}, "take one of them"),
        ({"progress": 3}, "progress is 3"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(cahoots.InputError, match=says):
        cahoots.run(KEYS, **options)


def test_an_object_a_dict_a_file_and_a_manifest_are_the_same(tmp_path: Path) -> None:
    typed = cahoots.Experiment(
        "both",
        np.int64(300),
        seeds=3,
        environment=cahoots.Environment("linear", clients=4, dim=3, arms=5),
        algorithms=["linucb-alone", cahoots.Algorithm("async-linucb", upload_ratio=np.array([2.0, np.inf]))],
    )
    assert typed == cahoots.Experiment.from_dict(KEYS)
    assert cahoots.Experiment.from_toml(typed.to_toml()).to_dict() == typed.to_dict()
    (tmp_path / "both.toml").write_text(typed.to_toml(), encoding="utf-8")
    results = [run(typed, tmp_path / "0"), run(KEYS, tmp_path / "1"), run(str(tmp_path / "both.toml"), tmp_path / "2")]
    mixed = {
        **KEYS,
        "environment": typed.environment,
        "algorithm": [cahoots.Algorithm(**one) for one in KEYS["algorithm"]],
    }
    assert cahoots.Experiment.from_dict(mixed) == typed
    results += [run(tmp_path / "0" / "manifest.json", tmp_path / "3"), run(tmp_path / "0", tmp_path / "4", jobs=1)]
    for result in results:
        result.pop("manifest.json")
    assert "curves.parquet" in results[0] and len([name for name in results[0] if name.startswith("seeds/")]) == 9
    assert all(result == results[0] for result in results[1:])
    assert cahoots.Experiment.load(tmp_path / "both.toml") == typed
    assert cahoots.Experiment.load(tmp_path / "0") == typed
    run(typed, tmp_path / "5", seeds=2)
    assert cahoots.Experiment.load(tmp_path / "5" / "manifest.json").seeds == [0, 1]
    (tmp_path / "other.json").write_text('{"x": 1}')
    for read in (cahoots.Experiment.load, cahoots.run):
        with pytest.raises(cahoots.InputError, match=r"other\.json is not"):
            read(tmp_path / "other.json")


def test_objects_say_what_is_wrong_with_them() -> None:
    world = cahoots.Environment("arms")
    with pytest.raises(cahoots.InputError, match="make it a list"):
        cahoots.Experiment("x", 10, environment=world, algorithms=cahoots.Algorithm("ucb-alone")).check()  # type: ignore[arg-type]
    with pytest.raises(cahoots.InputError, match="name it by a text"):
        cahoots.Environment(3)  # type: ignore[arg-type]
    with pytest.raises(cahoots.InputError, match="unknown key 'algorithms'"):
        cahoots.Experiment.from_dict({**KEYS, "algorithms": []})
    with pytest.raises(cahoots.InputError, match="not TOML"):
        cahoots.Experiment.from_toml("name =")
    assert cahoots.Algorithm("a", x=np.arange(2)) == cahoots.Algorithm("a", x=[0, 1])
    assert cahoots.Algorithm("a", x=[0, 1]) != cahoots.Environment("a", x=[0, 1])


def test_paths_in_an_experiment_are_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.csv").write_text("x,y,label\n" + "".join(f"{i % 7},{i % 3},{'ab'[i % 2]}\n" for i in range(60)))
    keys: dict[str, Any] = {"name": "t", "seeds": 1, "algorithm": [{"kind": "linucb-alone"}]}
    keys["environment"] = {"kind": "table", "file": "rows.csv", "label": "label"}
    (tmp_path / "t.toml").write_text(_toml.text(keys), encoding="utf-8")
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cahoots.run(tmp_path / "t.toml", progress=False).summary[0]["steps"] == 60
    with pytest.raises(cahoots.InputError, match=r"rows\.csv"):
        cahoots.run(keys, progress=False)
    monkeypatch.chdir(tmp_path)
    assert cahoots.run(keys, progress=False).summary[0]["steps"] == 60


# What comes out


def test_the_command_gives_the_same_bytes(tmp_path: Path) -> None:
    program = os.environ.get("CAHOOTS_TEST_PROGRAM")
    if not program:
        pytest.skip("CAHOOTS_TEST_PROGRAM does not name the cahoots program to compare with")
    own = run(KEYS, tmp_path / "own", per_client=True)
    (tmp_path / "both.toml").write_text(cahoots.Experiment.from_dict(KEYS).to_toml(), encoding="utf-8")
    command: list[Any] = [
        program,
        "run",
        tmp_path / "both.toml",
        "--out",
        tmp_path / "theirs",
        "--per-client",
        "--quiet",
    ]
    subprocess.run(command, check=True, capture_output=True)
    theirs = held(tmp_path / "theirs")
    # The manifest says who ran it, and from where.
    own.pop("manifest.json")
    theirs.pop("manifest.json")
    assert {"summary.csv", "summary.json", "curves.parquet", "clients.parquet", "regret.svg"} <= own.keys()
    assert len([name for name in own if name.startswith("seeds/")]) == 9
    assert own.keys() == theirs.keys()
    assert [name for name in own if own[name] != theirs[name]] == []
    assert cahoots.load(tmp_path / "theirs").summary == cahoots.load(tmp_path / "own").summary


@pytest.mark.parametrize("name", ["faulty-network", "skewed-arrivals"])
def test_the_command_gives_the_same_bytes_for_files_that_come_with_it(name: str, tmp_path: Path) -> None:
    program, file = os.environ.get("CAHOOTS_TEST_PROGRAM"), EXAMPLES / f"{name}.toml"
    if not program:
        pytest.skip("CAHOOTS_TEST_PROGRAM does not name the cahoots program to compare with")
    own = run(file, tmp_path / "own", seeds=1)
    command: list[Any] = [program, "run", file, "--out", tmp_path / "theirs", "--seeds", "1", "--quiet"]
    subprocess.run(command, check=True, capture_output=True)
    theirs = held(tmp_path / "theirs")
    own.pop("manifest.json")
    theirs.pop("manifest.json")
    assert own == theirs and "curves.parquet" in own


def test_a_run_grows_and_is_not_done_twice(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(KEYS, out, seeds=2)
    before = {path: path.stat().st_mtime_ns for path in (out / "seeds").iterdir()}
    assert len(before) == 6
    with pytest.raises(cahoots.InputError, match="resume=True to run what is new, or force=True"):
        cahoots.run(KEYS, out=out)
    with pytest.raises(cahoots.InputError, match=r"holds another run(.|\n)*choose another out, or force=True"):
        cahoots.run({**KEYS, "horizon": 301}, out=out)
    grown = run(KEYS, out, resume=True)
    assert grown == run(KEYS, tmp_path / "at once")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert run({**KEYS, "horizon": 301}, out, force=True) != grown


def test_a_folder_that_is_none_or_taken_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(cahoots.InputError, match="is a file: name a folder"):
        cahoots.run(KEYS, out=tmp_path / "file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    with pytest.raises(cahoots.InputError, match="holds no run"):
        cahoots.run(KEYS, out=tmp_path / "full")
    assert held(tmp_path) == {"file": b"mine", "full/mine": b"mine"}


def test_a_temporary_folder_lives_as_long_as_its_result() -> None:
    result = cahoots.run(KEYS, progress=False)
    folder = result.folder
    assert folder.is_dir()
    del result
    gc.collect()
    assert not folder.exists()
    with cahoots.run(KEYS, progress=False) as result:
        assert result.folder.is_dir()
    assert not result.folder.exists()
    with pytest.raises(cahoots.InputError, match="there is no file"):
        result.table()


# Threads and processes


def test_other_threads_go_on_meanwhile_and_two_runs_do_not_disturb_each_other(tmp_path: Path) -> None:
    keys = {**LONG, "seeds": 3}
    alone = run(keys, tmp_path / "alone")
    threads = [threading.Thread(target=run, args=(keys, tmp_path / name)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    turns = 0
    while any(thread.is_alive() for thread in threads):
        turns += 1
        time.sleep(0.001)
    # Had the interpreter been held, this thread would have had a turn at the beginning and one at the end.
    assert turns > 5
    assert held(tmp_path / "a") == held(tmp_path / "b") == alone


def _in_a_process(out: str) -> None:
    run(KEYS, Path(out))


@pytest.mark.parametrize("way", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_that_are_forked_and_spawned(way: str, tmp_path: Path) -> None:
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {way}")
    result = cahoots.run(KEYS, progress=False)
    process = multiprocessing.get_context(way).Process(target=_in_a_process, args=(str(tmp_path / "child"),))  # type: ignore[attr-defined]
    process.start()
    process.join()
    assert process.exitcode == 0
    assert held(tmp_path / "child") == held(result.folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_ends_leaves_the_folder_of_its_parent() -> None:
    code = (
        "import cahoots, os, sys\n"
        f"result = cahoots.run({LONG!r}, seeds=1, progress=False)\n"
        "child = os.fork()\n"
        "if child == 0: sys.exit(0)\n"
        "os.waitpid(child, 0)\n"
        "assert result.folder.is_dir()\n"
        "print(result.folder)\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists(), "and it goes with the parent"


# Stopped on the way

_STOPPED = """
import cahoots, sys
def told(progress):
    if progress.runs >= 1:
        print("go", flush=True)
try:
    cahoots.run({keys!r}, {out} jobs=1, progress=told)
except KeyboardInterrupt as error:
    print(error, flush=True)
    sys.exit(130)
"""


def stopped(out: str) -> str:
    """Run in a process of its own, with Ctrl-C after the first run; gives what it said."""
    code = _STOPPED.format(keys=LONG, out=out)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.send_signal(signal.SIGINT)
    said = process.stdout.read()
    process.stdout.close()
    assert process.wait() == 130, said
    return said.replace("go\n", "")


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent in another way there")
def test_ctrl_c_keeps_what_is_finished_and_resume_does_the_rest(tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = stopped(f"out={str(out)!r},")
    kept = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (out / "seeds").glob("*.json")}
    assert 1 <= len(kept) < 12
    assert f"{len(kept)} of 12 runs are kept in {out}" in said and "resume=True does the rest" in said
    with pytest.raises(cahoots.InputError, match="holds no finished run"):
        cahoots.load(out)
    told: list[cahoots.Progress] = []
    cahoots.run(LONG, out=out, resume=True, progress=told.append)
    assert told[-1].runs == told[-1].of_runs == 12 - len(kept), "what was kept is not done again"
    assert {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in kept} == kept
    assert held(out) == run(LONG, tmp_path / "uninterrupted")


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent in another way there")
def test_ctrl_c_without_a_folder_says_which_one_holds_what_is_finished() -> None:
    said = stopped("")
    folder = Path(said.split("out='")[1].split("'")[0])
    try:
        assert "resume=True" in said and folder.is_dir()
        assert cahoots.run(LONG, out=folder, resume=True, progress=False).summary[0]["seeds"] == 12
    finally:
        shutil.rmtree(folder)


def test_a_failing_watcher_stops_the_run_and_keeps_what_is_finished(tmp_path: Path) -> None:
    class Mine(Exception):
        pass

    def told(progress: cahoots.Progress) -> None:
        if progress.runs >= 1:
            raise Mine

    with pytest.raises(Mine):
        cahoots.run(LONG, out=tmp_path / "out", jobs=1, progress=told)
    assert 1 <= len(list((tmp_path / "out" / "seeds").glob("*.json"))) < 12


def test_what_a_run_without_a_folder_leaves_when_it_cannot_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(cahoots.InputError):
        cahoots.run({**KEYS, "horizon": 0})
    assert list(tmp_path.iterdir()) == []


# Progress


def test_progress_counts_up_to_the_end() -> None:
    told: list[cahoots.Progress] = []
    cahoots.run(KEYS, progress=told.append)
    assert (told[-1].runs, told[-1].of_runs) == (9, 9)
    assert told[-1].decisions == told[-1].of_decisions == 9 * 300 and told[-1].share == 1.0
    assert [one.decisions for one in told] == sorted(one.decisions for one in told)


class _Stream:
    def __init__(self, terminal: bool) -> None:
        self.written = ""
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> None:
        self.written += text

    def flush(self) -> None:
        pass


def test_a_bar_in_a_terminal_and_nothing_where_nothing_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Stream(terminal=True)
    monkeypatch.setattr(sys, "stderr", terminal)
    cahoots.run(KEYS, progress=False)
    assert terminal.written == ""
    cahoots.run(KEYS)
    assert "100%  9 of 9 runs" in terminal.written and terminal.written.endswith("\r\x1b[K")


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    log = _Stream(terminal=False)
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setattr("cahoots._progress._BETWEEN_LINES", 0.0)
    cahoots.run(KEYS)
    assert log.written.endswith("100%  9 of 9 runs\n") and "\r" not in log.written


def test_a_notebook_gets_one_output_that_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    shown: list[str] = []

    class Handle:
        def update(self, thing: Any) -> None:
            shown.append(thing.data)

    monkeypatch.setattr("cahoots._progress.in_notebook", lambda: True)
    monkeypatch.setattr(display, "display", lambda thing, display_id: Handle())
    cahoots.run(KEYS)
    assert any("9 of 9 runs" in text and "<progress" in text for text in shown) and shown[-1] == ""


def test_no_stream_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert len(cahoots.run(KEYS).summary) == 3


# What there is


def test_what_there_is_to_run_is_listed_with_its_keys() -> None:
    kinds = cahoots.algorithms()
    assert "async-linucb" in kinds.names and kinds["async-linucb"]["upload_ratio"].purpose
    assert kinds[0].name == kinds.names[0] and len(kinds[:2]) == 2
    assert "async-linucb" in repr(kinds) and "<table>" in kinds._repr_html_()
    assert "upload_ratio" in repr(kinds["async-linucb"]) and "upload_ratio" in kinds["async-linucb"]._repr_html_()
    with pytest.raises(cahoots.InputError, match="there is no environment 'lineal'"):
        cahoots.environments()["lineal"]
    with pytest.raises(cahoots.InputError, match="has no key 'x'"):
        kinds["async-linucb"]["x"]
    world = cahoots.Environment("linear")
    assert len(cahoots.Experiment("x", 5, environment=world, algorithms=kinds.names[:2]).check()) == 2


def test_what_it_will_take_is_known_before_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = cahoots.expect(KEYS, seeds=5, jobs=1)
    assert (expected.entries, expected.runs, expected.decisions, expected.threads) == (3, 15, 4500, 1)
    assert expected.seconds > 0 and list(tmp_path.iterdir()) == []


# Code of one's own

_OWN = """
import os, sys, time
import cahoots
flag, out, resume = sys.argv[1], sys.argv[2], sys.argv[3] == "resume"

@cahoots.policy("waits")
class Waits:
    def __init__(self, setting):
        self.pulls = 0

    def choose(self, arms, rng):
        self.pulls += 1
        # From the second run on, until someone says go.
        while self.pulls == 20 and os.listdir(out + "/seeds") and not os.path.exists(flag):
            print("waiting", flush=True)
            time.sleep(0.05)
        return int(rng.integers(len(arms)))

    def observe(self, arm, reward):
        pass

keys = {
    "name": "own", "horizon": 200, "seeds": 3,
    "environment": {"kind": "linear", "clients": 2, "dim": 3, "arms": 4},
    "algorithm": [{"kind": "waits"}, {"kind": "linucb-alone"}],
}
try:
    cahoots.run(keys, out=out, resume=resume, progress=False)
except KeyboardInterrupt as error:
    print(error, flush=True)
    sys.exit(130)
"""


@pytest.mark.skipif(not hasattr(cahoots, "policy"), reason="this build has no algorithms written in Python")
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent in another way there")
def test_ctrl_c_inside_code_of_ones_own_keeps_what_is_finished(tmp_path: Path) -> None:
    script, flag = tmp_path / "own.py", tmp_path / "go"
    script.write_text(_OWN, encoding="utf-8")
    command = [sys.executable, str(script), str(flag)]
    out = tmp_path / "out"
    process = subprocess.Popen([*command, str(out), "fresh"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    said = process.stdout.read()
    process.stdout.close()
    assert process.wait() == 130 and "resume=True does the rest" in said
    kept = {path: path.stat().st_mtime_ns for path in (out / "seeds").glob("*.json")}
    assert 1 <= len(kept) < 6 and f"{len(kept)} of 6 runs are kept in {out}" in said
    flag.touch()
    subprocess.run([*command, str(out), "resume"], check=True)
    subprocess.run([*command, str(tmp_path / "at once"), "fresh"], check=True)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert held(out) == held(tmp_path / "at once")


@pytest.mark.skipif(not hasattr(cahoots, "policy"), reason="this build has no algorithms written in Python")
def test_what_code_of_ones_own_raises_is_what_is_raised(tmp_path: Path) -> None:
    policy: Any = getattr(cahoots, "policy")  # noqa: B009

    class Mine(Exception):
        pass

    @policy("raises-in-a-run")  # type: ignore[untyped-decorator, unused-ignore]
    class Raises:
        def __init__(self, setting: Any) -> None:
            self.pulls = 0

        def choose(self, arms: Any) -> int:
            self.pulls += 1
            if self.pulls > 10:
                raise Mine("on the way")
            return 0

        def observe(self, arm: int, reward: float) -> None:
            pass

    keys = {**KEYS, "algorithm": [{"kind": "linucb-alone"}, {"kind": "raises-in-a-run"}]}
    with pytest.raises(Mine, match="on the way") as raised:
        cahoots.run(keys, out=tmp_path / "out", progress=False)
    assert raised.traceback[-1].name == "choose"
    assert len(list((tmp_path / "out" / "seeds").glob("*.json"))) == 1
    if sys.version_info >= (3, 11):
        assert any("1 of 6 runs are kept" in note and "resume=True" in note for note in raised.value.__notes__)
