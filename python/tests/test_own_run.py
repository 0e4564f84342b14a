"""One's own algorithms and worlds through `cahoots.run`: one table, resumed, interrupted, failed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from own_helpers import LINEAR
from test_own_algorithms import async_lin_ucb, lin_ucb
from test_own_worlds import linear_world

import cahoots
from cahoots import InputError

pytestmark = pytest.mark.skipif(not hasattr(cahoots, "run"), reason="the package cannot run experiments yet")


def experiment(environment, *algorithms, horizon=200, seeds=2):
    return {
        "name": "own",
        "horizon": horizon,
        "seeds": seeds,
        "environment": environment,
        "algorithm": [{"kind": kind} if isinstance(kind, str) else kind for kind in algorithms],
    }


def run(*arguments, out=None, resume=False, **more):
    return cahoots.run(experiment(*arguments, **more), out=out, resume=resume, progress=False)


def files(folder):
    """Everything that a run is compared by: how long it took is not part of it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted((folder / "seeds").rglob("*"))
        if path.is_file()
    }


def test_ours_and_ones_own_stand_in_one_table(tmp_path):
    async_lin_ucb("r-async")
    lin_ucb("r-linucb")
    linear_world("r-world")
    algorithms = ("r-async", {"kind": "r-linucb", "alpha": [0.5, 1]}, "async-linucb", "random")
    result = run({"kind": "r-world", "clients": [2, 5]}, *algorithms, out=tmp_path / "one")
    rows = result.summary
    assert [row["label"] for row in rows[:5]] == [
        "r-async clients=2",
        "r-linucb alpha=0.5 clients=2",
        "r-linucb alpha=1 clients=2",
        "async-linucb clients=2",
        "random clients=2",
    ]
    assert len(rows) == 10 and all(row["regret_mean"] > 0 for row in rows)
    assert rows[0]["uploads_mean"] > 0 and rows[1]["uploads_mean"] == 0
    again = run({"kind": "r-world", "clients": [2, 5]}, *algorithms, out=tmp_path / "two")
    assert again.summary == rows
    assert files(tmp_path / "one") == files(tmp_path / "two") != {}


def versioned(body):
    space: dict = {}
    exec(f"class Versioned:\n    def choose(self, arms):\n        {body}\n", space)
    cahoots.policy("r-versioned")(space["Versioned"])


def test_more_seeds_are_added_and_other_code_is_not_mixed_in(tmp_path):
    versioned("return 0")
    run(LINEAR, "r-versioned", out=tmp_path / "grown", seeds=1)
    run(LINEAR, "r-versioned", out=tmp_path / "grown", seeds=3, resume=True)
    run(LINEAR, "r-versioned", out=tmp_path / "whole", seeds=3)
    assert files(tmp_path / "grown") == files(tmp_path / "whole") != {}
    versioned("return 1")
    with pytest.raises(InputError, match="code"):
        run(LINEAR, "r-versioned", out=tmp_path / "grown", seeds=3, resume=True)
    versioned("return 0")
    run(LINEAR, "r-versioned", out=tmp_path / "grown", seeds=3, resume=True)


class Broken(Exception):
    pass


def test_a_failure_keeps_what_is_done_and_shows_the_users_error(tmp_path):
    state = {"runs": 0, "broken": True}

    @cahoots.policy("r-broken")
    class Fails:
        def __init__(self, seat):
            if seat.client == 0:
                state["runs"] += 1

        def choose(self, arms, rng):
            # The first object is made when the experiment is read.
            if state["broken"] and state["runs"] == 3:
                raise Broken("in the second run")
            return rng.integers(len(arms))

    with pytest.raises(Broken, match="in the second run"):
        run(LINEAR, "r-broken", out=tmp_path / "out", seeds=3)
    assert len([name for name in files(tmp_path / "out") if name.endswith(".json")]) == 1
    state["broken"] = False
    result = run(LINEAR, "r-broken", out=tmp_path / "out", seeds=3, resume=True)
    assert result.summary[0]["seeds"] == 3


def test_ctrl_c_within_a_world_in_python_keeps_finished_seeds_and_resumes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import sys, time
            from pathlib import Path
            import numpy as np
            import cahoots

            folder, slow = Path(sys.argv[1]), sys.argv[2] == "slow"
            made = 0

            @cahoots.world("r-slow")
            class Slow:
                def __init__(self, seed):
                    self.clients, self.arms, self.number = 2, 3, seed

                def step(self, tick, users, rng):
                    if globals()["slow"] and self.number == 1 and tick == 50:
                        (folder / "there").touch()
                        while True:
                            pass
                    return None, rng.random((len(users), 3)), None

            experiment = {
                "name": "slow", "horizon": 100, "seeds": 3,
                "environment": {"kind": "r-slow"}, "algorithm": [{"kind": "random"}],
            }
            try:
                cahoots.run(experiment, out=folder / "out", resume=(folder / "out").exists(), progress=False)
            except KeyboardInterrupt as stopped:
                print("stopped", stopped)
            else:
                print("done")
            """
        )
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(program), str(tmp_path)]
    process = subprocess.Popen([*command, "slow"], stdout=subprocess.PIPE, text=True, env=env)
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "there").exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert said.startswith("stopped") and "1 of 3 runs are kept" in said
    kept = files(tmp_path / "out")
    assert len([name for name in kept if name.endswith(".json")]) == 1
    done = subprocess.run([*command, "quick"], capture_output=True, text=True, env=env, timeout=60)
    assert done.stdout == "done\n", done.stderr
    assert kept.items() <= files(tmp_path / "out").items()


def test_numbers_of_ones_own_are_columns(tmp_path):
    @cahoots.algorithm("r-levels")
    class Levels:
        class Client:
            def choose(self):
                return 0

            def observe(self, reward, step):
                step.count("pulls")

        class Server:
            def on_message(self): ...

    result = run(LINEAR, "r-levels", out=tmp_path / "out")
    assert np.array_equal(result.columns()["metrics.pulls"], [200.0])
