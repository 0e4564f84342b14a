"""What careless users did, and what became of it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cahoots

ARMS = {
    "name": "careless",
    "horizon": 50,
    "environment": {"kind": "arms", "arms": 3},
    "algorithm": [{"kind": "ucb-alone"}],
}

ENDS = """
import threading, time, cahoots

@cahoots.policy("endless")
class Endless:
    def __init__(self, setting): pass
    def choose(self): return 0
    def observe(self): pass

keys = {"name": "endless", "horizon": 10**9, "environment": {"kind": "arms"}, "algorithm": [{"kind": "endless"}]}
threading.Thread(target=lambda: cahoots.run(keys, progress=False), daemon=True).start()
while not cahoots._cahoots._running():
    time.sleep(0.01)
time.sleep(0.2)
print("the end")
"""


def test_a_program_ends_while_its_own_code_runs_in_a_thread(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=120, check=False, env=_env(tmp_path)
    )
    assert (ended.returncode, ended.stdout) == (0, "the end\n"), ended.stderr


def _env(folder: Path) -> dict[str, str]:
    import os

    return {**os.environ, "TMPDIR": str(folder)}


def test_more_numbers_than_fit_into_memory_are_refused() -> None:
    @cahoots.policy("greedy-for-numbers")
    class Greedy:
        def __init__(self, setting: Any) -> None:
            pass

        def choose(self, rng: Any) -> int:
            rng.random(10**15)
            return 0

        def observe(self) -> None:
            pass

    with pytest.raises(cahoots.InputError, match="do not fit into memory"):
        cahoots.run({**ARMS, "algorithm": [{"kind": "greedy-for-numbers"}]}, progress=False)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"clients": 0, "dim": 2, "arms": 2}, "clients is 0"),
        ({"clients": 2, "dim": 10**6, "arms": 2}, "dim is 1000000"),
        ({"clients": 2, "dim": 2, "arms": 2**40}, "arms is"),
    ],
)
def test_a_federation_that_cannot_be_is_refused(setting: dict[str, int], says: str) -> None:
    with pytest.raises(cahoots.InputError, match=says):
        cahoots.Coordinator("async-linucb", **setting)


def test_a_misspelt_parameter_of_a_live_federation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(cahoots.InputError, match="did you mean 'ratio'"):
        cahoots.Coordinator("async-linucb", {"rato": 5.0}, clients=2, dim=2, arms=2)
    setting = {"clients": 2, "dim": 2, "arms": 2}
    with pytest.raises(cahoots.InputError, match="did you mean 'scale'"):
        cahoots.Client("shops", 0, store=tmp_path / "s", algorithm="ucb-alone", params={"scal": 1.0}, setting=setting)


def test_a_folder_is_one_world_s(tmp_path: Path) -> None:
    def rows(shift: int) -> dict[str, list[Any]]:
        return {"label": ["a", "b"] * 20, "x": [float(number + shift) for number in range(40)]}

    def world(shift: int) -> Any:
        return cahoots.data.table_environment(rows(shift), label="label", folder=tmp_path)

    world(0)
    world(0)
    with pytest.raises(cahoots.InputError, match="choose another folder"):
        world(1)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_objects_that_are_numbers_are_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.get_dummies(pandas.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}))
    plain = frame.to_numpy(dtype=float)
    assert cahoots.LinUCB().decide(frame).arm == cahoots.LinUCB().decide(plain).arm
    with pytest.raises(cahoots.InputError, match="must be an array of numbers"):
        cahoots.LinUCB().decide(np.array([["1.0", 2.0]], dtype=object))


def test_what_is_masked_is_not_known() -> None:
    hidden = np.ma.masked_array([[100, 2], [3, 4]], mask=[[1, 0], [0, 0]])
    with pytest.raises(cahoots.InputError, match=r"is (NaN|nan)"):
        cahoots.LinUCB().decide(hidden)


def test_labels_may_be_an_array() -> None:
    assert cahoots.UCB(np.array(["a", "b"])).predict() in ("a", "b")


def test_a_run_that_finished_nothing_says_so() -> None:
    @cahoots.policy("raises-at-once")
    class Raises:
        def __init__(self, setting: Any) -> None:
            pass

        def choose(self, rng: Any) -> int:
            raise RuntimeError("no")

        def observe(self) -> None:
            pass

    with pytest.raises(RuntimeError) as raised:
        cahoots.run({**ARMS, "algorithm": [{"kind": "raises-at-once"}]}, progress=False)
    notes = "\n".join(getattr(raised.value, "__notes__", []))
    assert "no run was finished" in notes or sys.version_info < (3, 11)
    assert tempfile.gettempdir() + "/cahoots-" not in notes and "resume=True" not in notes, notes


def test_labels_are_drawn_as_they_stand(tmp_path: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    keys = {**ARMS, "title": "$\\frac{$", "seeds": 2, "algorithm": [{"kind": "ucb-alone", "label": "_hidden"}]}
    figure, axes = pyplot.subplots()
    with cahoots.run(keys, progress=False) as result:
        result.plot(ax=axes)
        with pytest.raises(cahoots.InputError, match="a list of labels"):
            result.plot(ax=axes, entries="ucb-alone")
    figure.savefig(tmp_path / "figure.png")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["\u200b_hidden"]
    pyplot.close(figure)
