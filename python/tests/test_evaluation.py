"""What a policy would have earned: the same numbers from every kind of frame, and refusals that name the column."""

from __future__ import annotations

import contextlib
import copy
import csv
import json
import math
import os
import pickle
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

CONTEXT = ["evening", "mobile", "returning"]


@pytest.fixture(scope="module")
def log() -> dict[str, np.ndarray]:
    return cahoots.data.example_log(3000, seed=5)


def write_csv(path: Path, log: dict[str, np.ndarray]) -> Path:
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(log)
        # repr of a float is the shortest text that is read back as the same number.
        out.writerows(zip(*(column.tolist() for column in log.values()), strict=True))
    return path


def numbers(found: cahoots.Evaluation) -> dict[str, Any]:
    plain = found.to_dict()
    plain.pop("policy")
    return plain


def test_every_kind_of_frame_gives_the_same_bits(log: dict[str, np.ndarray], tmp_path: Path) -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    parquet = pytest.importorskip("pyarrow.parquet")

    class Stream:
        """Whatever speaks Arrow and is of no library that is known."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pyarrow.table(log).__arrow_c_stream__(requested_schema)

    frame = pandas.DataFrame(log)
    file = tmp_path / "log.parquet"
    parquet.write_table(pyarrow.table(log), file)
    record = np.rec.fromarrays(list(log.values()), names=list(log))
    logs = [
        write_csv(tmp_path / "log.csv", log),
        str(file),
        frame,
        frame.astype({"arm": "category", "client": "Int32", "evening": "boolean", "reward": "Float64"}),
        frame.convert_dtypes(dtype_backend="pyarrow"),
        frame.astype({"arm": object, "mobile": object}),
        polars.DataFrame(log),
        polars.DataFrame(log).lazy(),
        polars.DataFrame(log).with_columns(polars.col("arm").cast(polars.Categorical)),
        pyarrow.table(log),
        pyarrow.table(log).to_batches()[0],
        pyarrow.table({**log, "arm": pyarrow.array(log["arm"]).dictionary_encode()}),
        Stream(),
        record,
        {name: column.tolist() for name, column in log.items()},
        {name: column[::-1][::-1] for name, column in log.items()},
    ]
    for policy in ["columns:target_", "logged", "epsilon-greedy:0.1", "linucb-alone"]:
        answers = [numbers(cahoots.evaluate(one, policy, context=CONTEXT)) for one in logs]
        for one, answer in zip(logs, answers, strict=True):
            assert answer == answers[0], (policy, type(one))


def test_the_command_says_the_same(log: dict[str, np.ndarray], tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    candidates = [
        os.environ.get("CAHOOTS_TEST_PROGRAM"),
        root / "target/release/cahoots",
        root / "target/debug/cahoots",
    ]
    program = next((path for path in candidates if path and Path(path).is_file()), None)
    if program is None:
        pytest.skip("no program `cahoots` is built: CAHOOTS_TEST_PROGRAM names one")
    file = write_csv(tmp_path / "log.csv", log)
    for policy in ["columns:target_", "uniform", "best-of-log", "constant:red"]:
        command = [
            program,
            "evaluate",
            file,
            "--policy",
            policy,
            "--context",
            ",".join(CONTEXT),
            "--json",
            "--tau",
            "7",
        ]
        said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        found = cahoots.evaluate(log, policy, context=CONTEXT, tau=7)
        ours = [{**one.__dict__} for one in found.estimates]
        theirs = said["estimates"]
        for one in theirs:
            for name in ("normal", "bootstrap", "anytime"):
                one[name] = tuple(one[name]) if one[name] is not None else None
        assert ours == theirs
        assert found.diagnostics == said["diagnostics"]
        assert (found.logged, found.fitted_on, found.warnings) == (said["logged"], said["fitted_on"], said["warnings"])
    command = [
        program,
        "evaluate",
        file,
        "--policy",
        "linucb-alone",
        "--param",
        "ridge=0.2",
        "--json",
        "--context",
        "evening",
    ]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found = cahoots.evaluate(log, "linucb-alone", params={"ridge": 0.2}, context="evening")
    one = found.estimates[0]
    assert (one.value, one.standard_error, list(one.normal)) == (said["value"], said["standard_error"], said["normal"])
    assert found.diagnostics["quarters"] == said["quarters"]


def test_intervals_hold_the_truth() -> None:
    # The interval at any time holds with 95% and is wide: at most one seed in twenty misses, and this is one on which
    # none does.
    worth = cahoots.data.example_worth()
    log = cahoots.data.example_log(20_000, seed=3)
    for policy, truth in worth.items():
        low, high = cahoots.evaluate(log, policy, context=CONTEXT)["ips"].anytime or (math.nan, math.nan)
        assert low <= truth <= high, policy


def test_probabilities_as_an_array_a_frame_or_a_function(log: dict[str, np.ndarray]) -> None:
    pandas = pytest.importorskip("pandas")
    expected = numbers(cahoots.evaluate(log, "columns:target_", context=CONTEXT))
    arms = ["blue", "green", "grey", "red"]
    array = np.stack([log[f"target_{arm}"] for arm in arms], axis=1)
    other = ["red", "grey", "green", "blue"]

    def mine(frame: Any) -> Any:
        return np.stack([frame[f"target_{arm}"] for arm in arms], axis=1)

    policies = [
        array,
        np.asfortranarray(array),
        array.tolist(),
        pandas.DataFrame(array, columns=arms),
        {arm: log[f"target_{arm}"] for arm in other},
        mine,
    ]
    for policy in policies:
        assert numbers(cahoots.evaluate(log, policy, context=CONTEXT)) == expected
    named = np.stack([log[f"target_{arm}"] for arm in other], axis=1)
    assert numbers(cahoots.evaluate(log, named, arms=other, context=CONTEXT)) == expected
    assert repr(cahoots.evaluate(log, array)).startswith("the policy: 3,000 decisions")
    assert cahoots.evaluate(log, mine).policy == "mine"
    read_only = array.copy()
    read_only.flags.writeable = False
    assert numbers(cahoots.evaluate(log, read_only, context=CONTEXT)) == expected


def test_a_policy_as_the_arms_that_it_takes(log: dict[str, np.ndarray]) -> None:
    pandas = pytest.importorskip("pandas")
    expected = numbers(cahoots.evaluate(log, "constant:red", context=CONTEXT))
    rows = len(log["arm"])
    taken = ["red"] * rows
    for policy in [taken, np.array(taken), pandas.Series(taken), pandas.Series(taken, dtype="category")]:
        found = numbers(cahoots.evaluate(log, policy, context=CONTEXT))
        assert found["estimates"] == expected["estimates"]
    numbered = {**log, "arm": np.unique(log["arm"], return_inverse=True)[1] + 10}
    by_number = cahoots.evaluate(numbered, np.full(rows, 13), context=CONTEXT)
    assert by_number.arms == ["10", "11", "12", "13"]
    assert by_number["ips"] == cahoots.evaluate(log, "constant:red", context=CONTEXT)["ips"]


def refused(log: Any, policy: Any = "uniform", **options: Any) -> str:
    with pytest.raises(cahoots.InputError) as told:
        cahoots.evaluate(log, policy, **options)
    text = str(told.value)
    assert "--" not in text and "/tmp" not in text and ".parquet" not in text, text
    return text


def changed(log: dict[str, np.ndarray], column: str, row: int, value: Any) -> dict[str, Any]:
    cells = log[column].astype(object) if isinstance(value, (str, type(None))) else log[column].copy()
    cells[row] = value
    return {**log, column: cells}


def test_wrong_cells_are_named_with_their_row(log: dict[str, np.ndarray]) -> None:
    cases: list[tuple[str, Any, str]] = [
        ("reward", math.nan, "column `reward` is missing"),
        ("reward", math.inf, "column `reward` is inf"),
        ("reward", None, "column `reward` is missing"),
        ("propensity", 0.0, "a propensity of 0"),
        ("propensity", -0.5, "a propensity of -0.5"),
        ("propensity", 1.5, "a propensity of 1.5"),
        ("propensity", math.nan, "the propensity is missing"),
        ("arm", None, "column `arm` is missing"),
    ]
    for column, value, expected in cases:
        text = refused(changed(log, column, 1234, value))
        assert expected in text and "row 1234" in text, (column, value, text)


def test_wrong_columns_are_named(log: dict[str, np.ndarray]) -> None:
    assert "column `reward` mixes numbers and texts" in refused(changed(log, "reward", 7, "much"))
    assert "did you mean `reward`?" in refused(log, reward="rewards")
    assert "there is no column `weather`" in refused(log, context=["weather"])
    assert "column `arm` is the arm" in refused(log, context=["arm"])
    assert "named twice" in refused(log, context=["evening", "evening"])
    assert "which column is the arm? Say arm=" in refused({name: log[name] for name in ["reward", "propensity"]})
    without = {name: log[name] for name in ["arm", "reward"]}
    assert "propensity=" in refused(without) and "uniform_logging=True" in refused(without)
    assert "column `evening` of the context is missing" in refused(
        changed(log, "evening", 3, math.nan), context="evening"
    )
    times = {**log, "evening": np.arange(len(log["arm"])).astype("datetime64[s]")}
    assert "column `evening` holds times" in refused(times, context="evening")
    assert "more than 64 different words" in refused(
        {**log, "who": np.array([f"u{n}" for n in range(3000)])}, context="who"
    )
    assert "column `reward` has 10 rows" in refused({**log, "reward": log["reward"][:10]})
    assert "column `reward` has the shape" in refused({**log, "reward": log["reward"].reshape(-1, 2)})
    assert "column `reward` holds complex" in refused({**log, "reward": log["reward"].astype(complex)})
    assert "column `evening`, row 0 (from 0) is a object" in refused(
        {**log, "evening": [object()] * 3000}, context="evening"
    )


def test_texts_and_numbers_at_the_edge(log: dict[str, np.ndarray]) -> None:
    halves = log["arm"].astype(object)
    halves[9] = "r\ud800d"
    assert "column 'arm' holds 'r\\ud800d', which has half a character" in refused({**log, "arm": halves})
    assert "half a character" in refused({**log, "x\ud800": log["evening"]}, context="x\ud800")
    assert cahoots.evaluate({**log, "x.y z": log["evening"]}, "uniform", context="x.y z").features == ["x.y z"]
    assert "a feature is 1180591620717411" in refused({**log, "evening": [2**70] * 3000}, context="evening")
    tiny = cahoots.evaluate({**log, "propensity": np.full(3000, 5e-324)}, "uniform", force=True)
    assert "uniform" in repr(tiny) and tiny.warnings
    polars = pytest.importorskip("polars")
    wide = polars.DataFrame(log).with_columns(polars.col("reward").cast(polars.Int128))
    assert numbers(cahoots.evaluate(wide, "uniform")) == numbers(cahoots.evaluate(log, "uniform"))
    assert "context is 3" in refused(log, context=3)
    assert "params is [1]" in refused(log, "linucb-alone", params=[1])
    assert "differ in length" in refused(log, [[1, 2], [3]])
    assert "arms is 'red'" in refused(log, np.ones((3000, 1)), arms="red")


def test_two_columns_of_one_name_are_refused(log: dict[str, np.ndarray]) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(log)
    assert "there are 2 columns `reward`" in refused(pandas.concat([frame, frame[["reward"]]], axis=1))


def test_empty_logs_and_things_that_are_none(log: dict[str, np.ndarray], tmp_path: Path) -> None:
    assert "no decisions" in refused({name: column[:0] for name, column in log.items()})
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert "no decisions" in refused(pandas.DataFrame(log).iloc[:0])
    assert "no decisions" in refused(polars.DataFrame(log)[:0])
    assert "which column is the arm" in refused(pandas.DataFrame())
    for nothing in [None, 3, [1, 2], np.zeros((4, 4)), object(), pandas.Series([1]), polars.Series([1])]:
        assert "give a DataFrame" in refused(nothing)
    assert "is one float" in refused({"arm": 1.0})
    assert "there is no file" in refused("nowhere.csv")
    with pytest.raises(cahoots.InputError, match="has no log in it"):
        cahoots.evaluate(tmp_path, "uniform")


def test_what_the_log_cannot_answer_is_refused_unless_forced(log: dict[str, np.ndarray]) -> None:
    never = {**log, "arm": np.where(log["arm"] == "red", "blue", log["arm"])}
    policy = {"red": np.ones(3000)}
    text = refused(never, policy, arms=["blue", "green", "grey", "red"])
    assert "never shows" in text and "force=True" in text
    found = cahoots.evaluate(never, policy, arms=["blue", "green", "grey", "red"], force=True)
    assert found.warnings and "force=True" in found.warnings[0]
    assert "weigh as much as" in refused({name: column[:60] for name, column in log.items()}, "constant:grey")
    assert "every propensity is 1" in refused({**log, "propensity": np.ones(3000)})
    assert "one arm alone" in refused({**log, "arm": np.full(3000, "red")})


def test_policies_that_are_none(log: dict[str, np.ndarray]) -> None:
    rows = len(log["arm"])
    assert "did you mean `uniform`?" in refused(log, "unifrom")
    assert "has no such arm" in refused(log, "constant:pink")
    assert "must have (3000, 4)" in refused(log, np.full((rows, 3), 1 / 3))
    assert "must have (3000, 4)" in refused(log, np.full((rows - 1, 4), 1 / 4))
    assert "add up to" in refused(log, np.full((rows, 4), 0.3))
    assert "among them" in refused(log, np.tile([1.5, -0.5, 0.0, 0.0], (rows, 1)))
    assert "is missing" in refused(log, np.full((rows, 4), math.nan))
    assert "one number for each row" in refused(log, np.full(rows, 0.3))
    assert "which is no arm" in refused(log, ["pink"] * rows)
    assert "no column of the policy is named like an arm" in refused(log, {"pink": np.ones(rows)})
    assert "has 5 rows" in refused(log, {"red": np.ones(5)})
    assert "gave None" in refused(log, lambda frame: None)
    assert "holds texts" in refused(log, {"red": ["much"] * rows})
    assert "goes with a frame" in refused("log.csv", np.ones((rows, 4)))
    assert "names one of them twice" in refused(log, np.ones((rows, 2)), arms=["red", "red"])

    class MineError(Exception):
        pass

    def mine(frame: Any) -> Any:
        raise MineError("in my own words")

    with pytest.raises(MineError, match="in my own words"):
        cahoots.evaluate(log, mine)


def test_numbers_out_of_range(log: dict[str, np.ndarray]) -> None:
    for option, value in [
        ("folds", 1),
        ("folds", 2.5),
        ("folds", True),
        ("ridge", 0),
        ("ridge", "much"),
        ("confidence", 1.0),
        ("confidence", math.nan),
        ("bootstrap", -1),
        ("seed", -1),
        ("seed", 2**64),
        ("clip", -1.0),
        ("tau", 0),
        ("reward_range", (1, 0)),
        ("reward_range", 3),
        ("least_propensity", 0),
        ("least_effective", math.inf),
        ("estimators", ["ipps"]),
        ("estimators", []),
        ("arm", 3),
        ("arm_features", "all"),
    ]:
        policy = "linucb-alone" if option == "arm_features" else "uniform"
        assert option.removesuffix("s") in refused(log, policy, context=CONTEXT, **{option: value}), option


def test_an_algorithm_that_learns(log: dict[str, np.ndarray]) -> None:
    found = cahoots.evaluate(log, "linucb-alone", context=CONTEXT, params={"ridge": np.float64(0.2)})
    assert found.method == "rejection" and found.diagnostics["taken"] > 50
    assert "rejection" in found.to_pandas().index
    assert "has no parameter `ridg`" in refused(log, "linucb-alone", context=CONTEXT, params={"ridg": 1})
    assert "is for policies that do not learn" in refused(log, "linucb-alone", context=CONTEXT, clip=3)
    assert "is for algorithms" in refused(log, "uniform", params={"ridge": 1})
    assert "has no context" in refused(log, "linucb-alone", arm_features="none")


def test_arms_that_were_not_always_on_offer(log: dict[str, np.ndarray]) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    lists = [sorted({arm, "red", "blue"}) for arm in log["arm"].tolist()]
    texts = np.array(["|".join(names) for names in lists])
    expected = numbers(cahoots.evaluate({**log, "could": texts}, "uniform", offered="could"))
    frames = [
        {**log, "could": lists},
        pandas.DataFrame({**log, "could": pandas.Series(lists)}),
        polars.DataFrame({**log, "could": lists}),
        {**log, "could": [set(names) for names in lists]},
        {**log, "could": [np.array(names) for names in lists]},
    ]
    for frame in frames:
        assert numbers(cahoots.evaluate(frame, "uniform", offered="could")) == expected
    assert "not among those that were offered" in refused({**log, "could": [["pink"]] * 3000}, offered="could")
    assert "has no |" in refused({**log, "could": [["a|b"]] * 3000}, offered="could")


def test_float32_is_read_as_what_it_is(log: dict[str, np.ndarray], tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    narrow = {**log, "propensity": log["propensity"].astype(np.float32), "evening": log["evening"].astype(np.float16)}
    path = tmp_path / "narrow.parquet"
    kept = {name: narrow[name] for name in ("arm", "reward", "propensity")}
    parquet.write_table(pyarrow.table(kept), path)
    assert numbers(cahoots.evaluate(narrow, "uniform")) == numbers(cahoots.evaluate(path, "uniform"))
    assert (
        cahoots.evaluate(narrow, "uniform", context=CONTEXT)["dm"]
        == cahoots.evaluate({**narrow, "evening": log["evening"]}, "uniform", context=CONTEXT)["dm"]
    )


def test_masked_and_whole_number_columns(log: dict[str, np.ndarray]) -> None:
    plain = numbers(cahoots.evaluate(log, "uniform", context=CONTEXT))
    for dtype in (np.uint8, np.int8, np.bool_, np.uint64):
        other = {**log, "reward": log["reward"].astype(dtype), "evening": log["evening"].astype(dtype)}
        assert numbers(cahoots.evaluate(other, "uniform", context=CONTEXT)) == plain, dtype
    masked = np.ma.masked_array(log["reward"], mask=np.arange(3000) == 11)
    assert "row 11 of the frame (from 0): column `reward` is missing" in refused({**log, "reward": masked})


def test_how_it_looks(log: dict[str, np.ndarray]) -> None:
    found = cahoots.evaluate({**log, "arm": np.char.add("<b>", log["arm"])}, "constant:<b>red", context=CONTEXT)
    text, page = repr(found), found._repr_html_()
    assert "3,000 decisions, 4 arms, 3 features" in text and "snips" in text and "effective" in text
    assert "<b>red" not in page and "&lt;b&gt;red" in page and page.count("<tr>") == 6
    table = found.to_pandas()
    assert list(table.index) == ["ips", "snips", "dm", "dr", "switch"]
    assert table.loc["dr", "normal_low"] == found["dr"].normal[0]
    with pytest.raises(KeyError, match="ips, snips"):
        found["drr"]
    few = cahoots.evaluate(log, "uniform", estimators=["dr", "ips"])
    assert [one.estimator for one in few.estimates] == ["ips", "dr"] and few.value == few["dr"].value
    assert pickle.loads(pickle.dumps(found)) == found and copy.deepcopy(found) == found


def test_the_frame_is_left_as_it_was_and_nothing_is_left_behind(
    log: dict[str, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = {name: column.copy() for name, column in log.items()}
    cahoots.evaluate(log, "uniform")
    refused(log, "constant:pink")
    assert list(tmp_path.iterdir()) == []
    assert all(np.array_equal(log[name], column) for name, column in before.items())


def test_threads_run_at_once_and_agree(log: dict[str, np.ndarray]) -> None:
    expected = numbers(cahoots.evaluate(log, "uniform", context=CONTEXT))
    found: list[Any] = []

    def once() -> None:
        found.append(numbers(cahoots.evaluate(log, "uniform", context=CONTEXT)))

    threads = [threading.Thread(target=once) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_ctrl_c_ends_it() -> None:
    code = f"""
import cahoots
log = cahoots.data.example_log(200_000)
print("ready", flush=True)
try:
    while True:
        cahoots.evaluate(log, "epsilon-greedy:0.1", context={CONTEXT!r})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    # A signal that comes while Python cleans up an object is lost with it: people press again, and so does this.
    for _ in range(10):
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
            break
    else:
        process.kill()
    assert process.stdout.read() == "interrupted\n"


def test_a_record_of_decisions_as_a_folder_and_as_a_frame(log: dict[str, np.ndarray], tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = len(log["arm"])
    record = {
        **{name: log[name] for name in ("client", "arm", "propensity", "reward", *CONTEXT)},
        "decision": [f"7-{row}" for row in range(rows)],
        # Rewards that never came are left out.
        "outcome": ["abandoned" if row % 100 == 3 else "rewarded" for row in range(rows)],
        "offered": ["red|green|blue|grey"] * rows,
        "decided": ["alone"] * rows,
        "time": np.arange(rows).astype("datetime64[ms]"),
    }
    record["reward"] = np.where(np.arange(rows) % 100 == 3, np.nan, log["reward"])
    table = pyarrow.table(record)
    for at in (0, 2000):
        parquet.write_table(table[at : at + 2000], tmp_path / f"decisions-0-{at:05}.parquet")
    for policy in ("uniform", "linucb-alone"):
        found = cahoots.evaluate(tmp_path, policy, context=CONTEXT)
        assert found.rows == 2970 and found.unrewarded == 30
        assert cahoots.evaluate(record, policy, context=CONTEXT) == found
        assert cahoots.evaluate(table.to_pandas(), policy, context=CONTEXT) == found
