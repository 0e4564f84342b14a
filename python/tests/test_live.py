"""A live client and a coordinator in this process: what an app may rely on."""

from __future__ import annotations

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cahoots

SETTING = {"clients": 3, "dim": 2, "arms": 3}
TERMS: dict[str, Any] = {"algorithm": "async-linucb", "params": {"ratio": 1.0}, "setting": SETTING}
ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


@pytest.fixture
def hub() -> Iterator[cahoots.Coordinator]:
    with cahoots.Coordinator("async-linucb", {"ratio": 1.0}, clients=3, dim=2, arms=3) as hub:
        yield hub


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[cahoots.Client]:
    """A client without a coordinator."""
    with cahoots.Client("shops", 0, store=tmp_path / "alone", sync="memory", **TERMS) as client:
        yield client


def eventually(holds: Callable[[], Any], seconds: float = 60.0) -> Any:
    until = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < until, "it never came about"
        time.sleep(0.01)
    return found


def script(body: str, *arguments: Any) -> subprocess.Popen[str]:
    """A process of its own that runs this."""
    folder = str(Path(cahoots.__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(body), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": folder},
    )


# Learning together.


def test_three_clients_learn_from_each_other(hub: cahoots.Coordinator) -> None:
    with hub.client(0) as first, hub.client(1) as second, hub.client(2) as third:
        for _ in range(40):
            for client in (first, second):
                decision = client.decide(ARMS)
                assert client.reward(decision, 1.0 if decision.arm == 1 else 0.0) == "learned"
        assert first.drain().unconfirmed == 0 and second.drain().unconfirmed == 0
        assert hub.status()["observations"] == 80
        # The third has seen nothing itself: its first reward brings it what the others know.
        third.decide([[0.1, 0.0], [0.0, 0.0]]).reward(0.0)
        eventually(lambda: third.status()["downloads"] > 0)
        decision = third.decide(ARMS)
        assert decision.arm == 1 and decision.decided == "federated"
        weights = [weight["value"] for weight in hub.model()["models"][0]["weights"]]
        assert weights[1] > weights[0]
        assert {member["client"] for member in hub.members()} == {0, 1, 2}


def test_a_killed_client_goes_on_and_every_acknowledged_reward_is_merged_once(
    hub: cahoots.Coordinator, tmp_path: Path
) -> None:
    body = """
        import sys, cahoots
        address, store, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
        with cahoots.Client("federation", 1, store=store, coordinator=address, longest_pause=0.1).wait() as client:
            for number in range(count):
                decision = client.decide([[1.0, 0.0], [0.0, 1.0]], event=f"visit {number}")
                print(number, decision.arm, client.reward(decision, 0.5), flush=True)
            client.drain(60)
        print("done", flush=True)
    """
    count, killed_after = 60, [15, 40]
    acknowledged: dict[int, str] = {}
    for stop in [*killed_after, None]:
        process = script(body, hub.address, tmp_path / "client", count)
        assert process.stdout is not None
        before = dict(acknowledged)
        for line in process.stdout:
            if line == "done\n":
                break
            number, arm, word = line.split()
            if int(number) in before:
                assert (arm, word) == (before[int(number)], "repeated"), "it was acknowledged before the kill"
            acknowledged[int(number)] = arm
            if stop is not None and int(number) == stop:
                process.send_signal(signal.SIGKILL)
                break
        _, errors = process.communicate()
        assert process.returncode == (0 if stop is None else -signal.SIGKILL), errors
    assert sorted(acknowledged) == list(range(count))
    status = hub.status()
    assert status["observations"] == count and status["not_merged"] == 0


def test_decisions_offline_then_the_coordinator_comes(tmp_path: Path) -> None:
    given = {**TERMS, "params": {"ratio": 1.0, "policy": "greedy"}}
    where: dict[str, Any] = {"store": tmp_path / "hub", "sync": "memory", "federation": "shops"}

    def make(listen: str) -> cahoots.Coordinator:
        return cahoots.Coordinator("async-linucb", given["params"], clients=3, dim=2, arms=3, listen=listen, **where)

    with make("127.0.0.1:0") as hub:
        address = hub.address
    client = cahoots.Client(
        "shops", 0, store=tmp_path / "client", coordinator=address, longest_pause=0.05, sync="memory", **given
    )
    with client:
        for _ in range(5):
            assert client.decide(ARMS).decided == "alone"
            assert client.decide(ARMS).reward(1.0) == "learned"
        assert client.drain(0.05).unconfirmed > 0, "there is nobody"
        with make(address.removeprefix("http://")) as hub:
            assert client.drain(60).unconfirmed == 0
            assert hub.status()["observations"] == 5
            assert hub.terms == {**hub.terms, "algorithm": "async-linucb"}


def test_who_does_not_know_the_terms_says_so(tmp_path: Path) -> None:
    with cahoots.Client("shops", 0, store=tmp_path / "c", coordinator="http://127.0.0.1:9") as client:
        with pytest.raises(cahoots.CahootsError, match="wait"):
            client.decide(ARMS)
        with pytest.raises(cahoots.CahootsError, match=r"not known after 0.2 s"):
            client.wait(0.2)
        with pytest.raises(cahoots.InputError, match="timeout"):
            client.wait(float("nan"))


# Propensities.


def test_propensities_add_up_to_one_and_are_the_frequencies(tmp_path: Path) -> None:
    terms = {**TERMS, "params": {"ratio": 1.0, "policy": "softmax", "temperature": 0.5}}
    with cahoots.Client("shops", 0, store=tmp_path / "c", sync="memory", **terms) as client:
        for only, reward in [(0, 1.0), (1, 0.2), (2, 0.5)] * 3:
            client.decide(ARMS, masked=[other for other in range(3) if other != only]).reward(reward)
        ranked = client.decide(ARMS, top=3)
        assert ranked.ranking is not None and ranked.ranking[0].arm == ranked.arm
        assert sum(ranked.propensities.values()) == pytest.approx(1.0, abs=1e-12)
        assert ranked.propensities[ranked.arm] == ranked.probability
        with pytest.raises(cahoots.InputError, match="cannot tell"):
            _ = cahoots.Decision("1-1", 0).propensities
        count = 4000
        taken: Counter[Any] = Counter()
        for _ in range(count // 500):
            for decision in client.decide_all([ARMS] * 500):
                assert decision.probability == pytest.approx(ranked.propensities[decision.arm], abs=1e-12)
                taken[decision.arm] += 1
        for arm, probability in ranked.propensities.items():
            # Five standard deviations of a binomial count.
            band = 5 * (count * probability * (1 - probability)) ** 0.5
            assert abs(taken[arm] - count * probability) < band


# What arms may be.


def test_arms_may_be_any_table_of_numbers(alone: cahoots.Client) -> None:
    pd = pytest.importorskip("pandas")
    alone.reward(alone.decide([[0.0, 1.0]]), 1.0)
    readonly = ARMS.copy()
    readonly.setflags(write=False)
    wide = np.zeros((6, 4))
    wide[::2, ::-2] = ARMS[:, ::-1][:, ::-1]
    unaligned = np.frombuffer(b"\0" + ARMS.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(3, 2)
    tables: list[Any] = [
        ARMS,
        ARMS.tolist(),
        [tuple(row) for row in ARMS],
        list(ARMS),
        np.asfortranarray(ARMS),
        ARMS.astype(np.float32),
        ARMS.astype(">f8"),
        ARMS.astype(object),
        ARMS[::-1][::-1],
        readonly,
        unaligned,
        pd.DataFrame(ARMS),
        np.ma.masked_array(ARMS),
    ]
    expected = alone.decide(ARMS)
    for table in tables:
        decision = alone.decide(table)
        assert decision.arm == expected.arm, type(table)
        assert decision.score == pytest.approx(expected.score, rel=1e-6)
    strided = alone.decide(wide[::2, ::-2])
    assert strided.arm in range(3)
    whole = alone.decide(np.array([[1, 0], [0, 1]], dtype=np.int8))
    assert whole.arm in (0, 1)


def test_polars_frames_too(alone: cahoots.Client) -> None:
    pl = pytest.importorskip("polars")
    assert alone.decide(pl.DataFrame(ARMS)).arm in range(3)


@pytest.mark.parametrize(
    ("arms", "says"),
    [
        ([[1.0, float("nan")]], "no number"),
        ([[1.0, float("inf")]], "no number"),
        ([[1.0, 2.0, 3.0]], "3 .* features where 2"),
        (np.zeros((4, 1)), "1 .* features where 2"),
        (np.zeros((2, 4)), "4 .* features where 2"),
        (np.zeros((0, 2)), "no arms"),
        (np.zeros((2, 0)), "0 .* features where 2"),
        ([], "shape"),
        ([1.0, 2.0], "shape"),
        (np.zeros((1, 2, 2)), "shape"),
        ([[1.0], [1.0, 2.0]], "same length|cannot be read"),
        ([["a", "b"]], "numbers"),
        (np.array([["1.0", "2.0"]]), "numbers"),
        (np.zeros((2, 2), dtype=complex), "numbers"),
        (np.array([[1.0, None]], dtype=object), "numbers"),
        (np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]), "masked"),
        (3, "features"),
        (-1, "arms must be from 0"),
        (True, "cannot be True"),
        (2.5, "cannot be 2.5"),
        ("red", "cannot be 'red'"),
        (object(), "cannot be object"),
        ({"red": [1.0]}, "red"),
        ({"red": [1.0, float("nan")]}, "no number"),
        ({1: [1.0, 0.0]}, "id"),
        ({"": [1.0, 0.0]}, "empty"),
        ({"\ud800": [1.0, 0.0]}, "UTF-8"),
        (["red", "blue"], "register"),
        ([{"id": "red", "colour": 1}], "colour"),
        (["red", 3], "cannot be read|numbers|shape"),
        (None, "register"),
    ],
)
def test_arms_that_cannot_be_are_refused(alone: cahoots.Client, arms: Any, says: str) -> None:
    with pytest.raises(cahoots.InputError, match=says):
        alone.decide(arms)
    assert alone.status()["decisions"] == 0
    alone.decide(ARMS).reward(1.0)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"user": -1}, "user"),
        ({"user": 1.5}, "user"),
        ({"user": 7}, "user"),
        ({"user": 2**40}, "user"),
        ({"top": -1}, "top"),
        ({"top": 101}, "top"),
        ({"event": 17}, "event"),
        ({"event": ""}, "empty"),
        ({"event": "x" * 257}, "257"),
        ({"masked": [0, 1, 2]}, "arm"),
        ({"masked": [9]}, "masked"),
        ({"masked": ["red"]}, "masked"),
        ({"masked": "red"}, "masked"),
        ({"masked": [True, False]}, "2 flags for 3"),
        ({"masked": [1.5]}, "masked"),
        ({"context": {"hour": float("nan")}}, "hour"),
        ({"context": {"hour": [1]}}, "hour"),
        ({"context": ["hour"]}, "context"),
        ({"baseline": True}, "baseline"),
        ({"baseline": 9}, "baseline"),
    ],
)
def test_other_words_that_cannot_be_are_refused(alone: cahoots.Client, words: dict[str, Any], says: str) -> None:
    with pytest.raises(cahoots.InputError, match=says):
        alone.decide(ARMS, **words)
    assert alone.status()["decisions"] == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), None, "1.0", [1.0, 2.0], 1j, 10**400])
def test_rewards_that_are_no_numbers_are_refused(alone: cahoots.Client, value: Any) -> None:
    decision = alone.decide(ARMS)
    with pytest.raises(cahoots.InputError):
        decision.reward(value)
    assert decision.reward(np.float32(0.5)) == "learned"


def test_masks_are_lists_of_arms_or_flags(alone: cahoots.Client) -> None:
    assert {alone.decide(ARMS, masked=[0, 2]).arm for _ in range(5)} == {1}
    assert alone.decide(ARMS, masked=np.array([True, True, False])).arm == 2
    assert alone.decide({"red": ARMS[0], "blue": ARMS[1]}, masked=[True, False]).arm == "blue"
    assert alone.decide({"red": ARMS[0], "blue": ARMS[1]}, masked=["blue"]).arm == "red"
    with pytest.raises(cahoots.InputError, match="ids"):
        alone.decide({"red": ARMS[0]}, masked=[0])


def test_plain_arms_are_a_number(tmp_path: Path) -> None:
    setting = {"clients": 2, "arms": 4}
    with cahoots.Client("shops", 0, store=tmp_path / "c", algorithm="ucb-alone", setting=setting) as client:
        assert {client.decide(np.int64(4)).arm, client.decide(4).arm} <= set(range(4))
        with pytest.raises(cahoots.InputError, match="4"):
            client.decide(5)
        with pytest.raises(cahoots.InputError, match="no features"):
            client.decide(ARMS)
        assert client.register({"red": 0, "blue": 1, "green": 2, "grey": 3}) == 4
        assert client.arms == {"red": 0, "blue": 1, "green": 2, "grey": 3}
        assert client.decide().arm in client.arms
        assert client.decide(["blue", "green"]).arm in ("blue", "green")


# Names of the app's own.


def test_registered_arms_are_known_over_restarts(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")

    def opened() -> cahoots.Client:
        return cahoots.Client("shops", 0, store=tmp_path / "c", **TERMS)

    with opened() as client:
        frame = pd.DataFrame(ARMS, index=["red", "blue", "green"])
        assert client.register(frame) == 3
        with pytest.raises(cahoots.InputError):
            client.register({"grey": [1.0]}, retire=["red"])
        assert client.register({"grey": np.array([0.5, 0.5], dtype=np.float32)}, retire=["red"]) == 3
        with pytest.raises(cahoots.InputError, match="red"):
            client.decide(["red"])
        with pytest.raises(cahoots.InputError, match="list of ids"):
            client.register(retire="blue")
        for wrong in ([1], {"x": None}, pd.DataFrame(ARMS), {"x": True}):
            with pytest.raises(cahoots.InputError):
                client.register(wrong)
    with opened() as client:
        assert set(client.arms) == {"blue", "green", "grey"} and client.arms["grey"] == [0.5, 0.5]
        assert client.decide().arm in client.arms
        assert client.decide(["blue", "grey"]).arm in ("blue", "grey")
        mixed = client.decide([{"id": "new", "features": [0.0, 1.0]}, "blue"], top=2)
        assert set(mixed.propensities) == {"new", "blue"}
        assert client.decide(frame).arm in frame.index
        with pytest.raises(cahoots.InputError, match="astype"):
            client.decide(pd.DataFrame(ARMS, index=[7, 8, 9]))


def test_an_event_is_answered_again_the_same(alone: cahoots.Client) -> None:
    first = alone.decide(ARMS, event="visit 17", top=3)
    assert first.event == "visit 17"
    assert alone.decide(ARMS, event="visit 17", top=3) == first
    assert alone.decide(event="visit 17") == first, "it need not be offered again"
    assert alone.reward("visit 17", 1.0) == "learned"
    assert alone.reward(event="visit 17", value=1.0) == "repeated"
    assert alone.reward(first.id, 1.0) == "repeated"
    with pytest.raises(cahoots.InputError, match="already has"):
        alone.reward(first, 0.5)
    with pytest.raises(cahoots.InputError, match="unknown"):
        alone.reward("visit 18", 1.0)
    # An event may look like an id; then it takes the keyword.
    looks = alone.decide(ARMS, event="12-34")
    with pytest.raises(cahoots.InputError, match="event="):
        alone.reward("12-34", 1.0)
    assert alone.reward(event="12-34", value=1.0) == "learned"
    with pytest.raises(cahoots.InputError, match="not both"):
        alone.reward(looks, 1.0, event="12-34")
    with pytest.raises(cahoots.InputError, match="which decision"):
        alone.reward(17, 1.0)  # type: ignore[arg-type]


def test_parts_deferrals_and_what_is_given_up(alone: cahoots.Client) -> None:
    decision = alone.decide(ARMS, event="visit")
    assert [decision.reward(0.25, "click"), decision.reward(0.25, "click"), decision.reward(0.5)] == [
        "kept",
        "repeated",
        "learned",
    ]
    with pytest.raises(cahoots.InputError, match="cart"):
        decision.reward(0.25, "cart")
    ahead = alone.decide(ARMS, event="mail", deferred=True)
    assert [ahead.reward(1.0), ahead.activate(), ahead.activate(), ahead.reward(1.0)] == [
        "kept",
        "activated",
        "repeated",
        "repeated",
    ]
    gone = alone.decide(ARMS)
    assert [gone.abandon(), alone.abandon(gone.id)] == ["abandoned", "repeated"]
    with pytest.raises(cahoots.InputError, match="unknown"):
        gone.reward(1.0)
    assert alone.status()["open_decisions"] == 0


def test_batches_are_all_or_none(alone: cahoots.Client) -> None:
    asks = [cahoots.Ask(ARMS, event="row 1"), cahoots.Ask(ARMS, masked=[0], top=2), ARMS, {"red": [1.0, 0.0]}]
    for wrong, says in [(np.zeros((2, 4)), "decision 4 of the 5"), ([[float("nan"), 0.0]], "none of them was taken")]:
        with pytest.raises(cahoots.InputError, match=says):
            alone.decide_all([*asks, wrong])
        assert alone.status()["open_decisions"] == 0
    decisions = alone.decide_all(asks)
    assert [decision.event for decision in decisions] == ["row 1", None, None, None]
    assert decisions[3].arm == "red" and len(alone.decide_all(np.stack([ARMS, ARMS]))) == 2
    with pytest.raises(cahoots.InputError):
        alone.decide_all([])
    answers = alone.reward_all(
        [
            (decisions[1], 0.5),
            {"event": "row 1", "reward": 1.0},
            ("row 9", 1.0),
            {"id": "nonsense", "reward": 1.0},
            (decisions[2], float("nan")),
            (decisions[3], 0.25, "click"),
        ]
    )
    words = [answer if isinstance(answer, str) else type(answer).__name__ for answer in answers]
    assert words == ["learned", "learned", "InputError", "InputError", "InputError", "kept"]
    assert "row 9" in str(answers[2]) and alone.reward_all(zip(decisions[1:2], [0.5], strict=True)) == ["repeated"]
    for wrong_item in [("x",), {"reward": 1.0}, {"id": "1-1", "event": "e", "reward": 1.0}, 7]:
        with pytest.raises(cahoots.InputError, match="a reward is"):
            alone.reward_all([wrong_item])


def test_users_of_one_client(tmp_path: Path) -> None:
    setting = {"users": 3, "hosts": [0, 0, 1], "dim": 2, "arms": 3}
    with cahoots.Client("shops", 0, store=tmp_path / "c", algorithm="club", setting=setting) as client:
        assert client.decide(ARMS, user=np.uint8(1)).reward(1.0) == "learned"
        with pytest.raises(cahoots.InputError, match="user"):
            client.decide(ARMS, user=2)


def test_what_expires_is_learned_as_the_default(tmp_path: Path) -> None:
    client = cahoots.Client(
        "shops", 0, store=tmp_path / "c", tick=0.01, expiry=0.02, default_reward=0.0, sync="memory", **TERMS
    )
    with client:
        client.decide(ARMS)
        status = eventually(lambda: (status := client.status())["open_decisions"] == 0 and status)
        assert status["rewards"] == 1 and status["reward_sum"] == 0.0


def test_the_record_of_decisions_can_be_read(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "record"
    record = {"folder": folder, "rotate_rows": 3}
    with cahoots.Client("shops", 0, store=tmp_path / "c", decisions=record, **TERMS) as client:
        taken = []
        for number in range(4):
            taken.append(client.decide({"red": ARMS[0], "blue": ARMS[1]}, context={"hour": number, "device": "phone"}))
            taken[-1].reward(0.25 * number)
            eventually(lambda: client.status()["decision_log"]["rows"] == len(taken))
        eventually(lambda: client.status()["decision_log"]["files"] == 1)
    [table] = folder.glob("*.parquet")
    rows = parquet.read_table(table).to_pylist()
    assert [row["decision"] for row in rows] == [decision.id for decision in taken[:3]]
    [row] = [json.loads(line) for line in next(folder.glob("*.rows")).read_text().splitlines()]
    assert (row["decision"], row["arm"], row["reward"]) == (taken[3].id, taken[3].arm, 0.75)
    assert row["context"] == {"hour": 3.0, "device": "phone"} and row["propensity"] == taken[3].probability


def test_an_apprentice_takes_what_the_app_would_do(tmp_path: Path) -> None:
    apprentice = {"explore": 0.0001, "reward_range": [0.0, 1.0]}
    with cahoots.Client("shops", 0, store=tmp_path / "c", apprentice=apprentice, **TERMS) as client:
        with pytest.raises(cahoots.InputError, match="baseline"):
            client.decide(ARMS)
        decisions = [client.decide(ARMS, baseline=2) for _ in range(20)]
        assert sum(decision.decided == "baseline" and decision.arm == 2 for decision in decisions) >= 15
        assert client.status()["apprentice"] is not None


# Threads.


def test_many_threads_decide_and_reward_at_once(hub: cahoots.Coordinator) -> None:
    ids: list[str] = []
    failures: list[BaseException] = []
    with hub.client(0) as client:

        def visits() -> None:
            try:
                for _ in range(50):
                    decision = client.decide(ARMS)
                    assert decision.reward(0.5) == "learned"
                    ids.append(decision.id)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=visits) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert len(set(ids)) == 400
        assert client.drain(60).unconfirmed == 0
        assert hub.status()["observations"] == 400


def unreachable(tmp_path: Path) -> cahoots.Client:
    """A client with something to send, and nobody to send it to."""
    client = cahoots.Client("shops", 0, store=tmp_path / "c", coordinator="http://127.0.0.1:9", sync="memory", **TERMS)
    client.decide(ARMS).reward(1.0)
    return client


def test_others_go_on_while_one_waits_and_closing_ends_the_wait(tmp_path: Path) -> None:
    client = unreachable(tmp_path)
    ended: list[BaseException] = []
    begun = threading.Event()

    def drain() -> None:
        begun.set()
        try:
            client.drain(600)
        except cahoots.CahootsError as error:
            ended.append(error)

    thread = threading.Thread(target=drain)
    thread.start()
    begun.wait()
    assert client.decide(ARMS).reward(1.0) == "learned"
    assert thread.is_alive()
    client.close()
    thread.join(60)
    assert not thread.is_alive() and "closed" in str(ended[0])
    with pytest.raises(cahoots.CahootsError, match="closed"):
        client.decide(ARMS)
    client.close()
    assert client.closed and "closed" in repr(client)


def test_ctrl_c_ends_a_drain_and_nothing_else(tmp_path: Path) -> None:
    with unreachable(tmp_path) as client:
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            client.drain(600)
        timer.join()
        assert client.decide(ARMS).reward(1.0) == "learned"
        assert client.status()["unconfirmed"] > 0


def test_it_can_be_closed_while_threads_use_it(alone: cahoots.Client) -> None:
    counted: list[int] = []

    def visits() -> None:
        count = 0
        try:
            while True:
                alone.decide(ARMS).reward(0.5)
                count += 1
        except cahoots.CahootsError as error:
            assert "closed" in str(error)
        counted.append(count)

    threads = [threading.Thread(target=visits) for _ in range(4)]
    for thread in threads:
        thread.start()
    eventually(lambda: alone.status()["rewards"] > 20)
    alone.close()
    for thread in threads:
        thread.join(60)
    assert len(counted) == 4 and sum(counted) > 20


# Processes.


def test_a_fork_is_told_and_leaves_its_parents_node_alone(tmp_path: Path) -> None:
    body = """
        import os, sys, warnings, cahoots
        warnings.simplefilter("error", ResourceWarning)
        folder = sys.argv[1]
        terms = dict(algorithm="async-linucb", params={"ratio": 1.0}, setting={"clients": 2, "dim": 2, "arms": 2})
        arms = [[1.0, 0.0], [0.0, 1.0]]
        hub = cahoots.Coordinator("async-linucb", {"ratio": 1.0}, clients=2, dim=2, arms=2)
        client = hub.client(0)
        decision = client.decide(arms)
        child = os.fork()
        if child == 0:
            calls = [lambda: client.decide(arms), lambda: client.reward(decision, 1.0), client.status, hub.status]
            for call in [*calls, client.drain]:
                try:
                    call()
                except cahoots.CahootsError as error:
                    assert "fork" in str(error) and str(os.getppid()) in str(error), error
                else:
                    raise SystemExit("a fork used it")
            assert client.closed and hub.closed
            client.close()
            hub.close()
            with cahoots.Client("mine", 0, store=folder + "/mine", **terms) as mine:
                mine.decide(arms).reward(1.0)
            # All that ends an interpreter: destructors, atexit.
            del client, hub, decision
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert os.path.isdir(os.path.dirname(client._store)), "the fork took the folder along"
        assert client.reward(decision, 1.0) == "learned"
        assert client.drain(60).unconfirmed == 0 and hub.status()["observations"] == 1
        client.close()
        hub.close()
        print("well")
    """
    process = script(body, tmp_path)
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "well\n"), errors


def test_a_fork_while_threads_are_at_work_does_not_hang(tmp_path: Path) -> None:
    body = """
        import os, sys, threading, cahoots
        setting = {"clients": 1, "dim": 2, "arms": 2}
        given = dict(algorithm="async-linucb", setting=setting, sync="memory")
        client = cahoots.Client("shops", 0, store=sys.argv[1], **given)
        ended = threading.Event()
        def visits():
            while not ended.is_set():
                client.decide([[1.0, 0.0], [0.0, 1.0]]).reward(0.5)
        threads = [threading.Thread(target=visits) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(4):
            child = os.fork()
            if child == 0:
                try:
                    client.decide([[1.0, 0.0]])
                except cahoots.CahootsError:
                    with cahoots.Coordinator("random", clients=1, arms=2) as hub, hub.client(0) as own:
                        own.decide(2).reward(1.0)
                    sys.exit(0)
                os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
        ended.set()
        for thread in threads:
            thread.join()
        client.close()
        print("well")
    """
    process = script(body, tmp_path / "c")
    try:
        out, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "well\n"), errors


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="files of a process are listed in /proc")
def test_a_fork_that_outlives_its_parent_does_not_keep_the_store(tmp_path: Path) -> None:
    body = """
        import os, sys, time, cahoots
        client = cahoots.Client("shops", 0, store=sys.argv[1], algorithm="async-linucb",
                                params={"ratio": 1.0}, setting={"clients": 3, "dim": 2, "arms": 3})
        client.decide([[1.0, 0.0]], event="visit").reward(1.0)
        child = os.fork()
        if child == 0:
            print(os.getpid(), flush=True)
        time.sleep(600)
    """
    store = tmp_path / "client"
    process = script(body, store)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        with pytest.raises(cahoots.CahootsError, match="in use"):
            cahoots.Client("shops", 0, store=store, **TERMS)
        process.kill()
        process.wait()
        with cahoots.Client("shops", 0, store=store, **TERMS) as client:
            assert client.reward("visit", 1.0) == "repeated"
    finally:
        os.kill(child, signal.SIGKILL)
        process.communicate()


def _spawned(store: str, events: list[str]) -> list[str]:
    with cahoots.Client("shops", 1, store=store, **TERMS) as client:
        return [client.decide(ARMS, event=event).reward(1.0) for event in events]


def test_processes_that_start_afresh_may_open_their_own(alone: cahoots.Client, tmp_path: Path) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(_spawned, str(tmp_path / "theirs"), ["a", "b"]).result(60) == ["learned", "learned"]
    assert alone.decide(ARMS).reward(1.0) == "learned"


def test_an_interpreter_that_ends_without_closing_loses_nothing(tmp_path: Path) -> None:
    body = """
        import sys, threading, cahoots
        hub = cahoots.Coordinator("async-linucb", {"ratio": 1.0}, clients=3, dim=2, arms=3)
        client = cahoots.Client("federation", 0, store=sys.argv[1], coordinator=hub).wait()
        print(client.decide([[1.0, 0.0]], event="visit").reward(1.0), hub._folder, flush=True)
        def forever():
            while True:
                client.decide([[1.0, 0.0]]).reward(1.0)
        threading.Thread(target=forever, daemon=True).start()
    """
    process = script(body, tmp_path / "c")
    out, errors = process.communicate(timeout=120)
    word, folder = out.split()
    assert (process.returncode, word) == (0, "learned"), errors
    assert "anicked" not in errors and "Fatal" not in errors, errors
    assert not os.path.exists(folder)
    with cahoots.Client("federation", 0, store=tmp_path / "c") as client:
        assert client.reward("visit", 1.0) == "repeated"


def test_a_store_in_use_is_refused(alone: cahoots.Client, tmp_path: Path) -> None:
    with pytest.raises(cahoots.CahootsError, match="in use"):
        cahoots.Client("shops", 0, store=tmp_path / "alone", **TERMS)
    alone.close()
    with pytest.raises(cahoots.CahootsError, match="belongs to"):
        cahoots.Client("shops", 1, store=tmp_path / "alone", **TERMS)
    with cahoots.Client("shops", 0, store=tmp_path / "alone", **TERMS) as client:
        assert client.decide(ARMS).arm in range(3)


def test_nodes_cannot_be_pickled_and_decisions_can(hub: cahoots.Coordinator, alone: cahoots.Client) -> None:
    for node in (hub, alone):
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="Open one in the process"):
                way(node)
    decision = alone.decide(ARMS, top=2, event="visit")
    again = pickle.loads(pickle.dumps(decision))
    assert again == decision and hash(again) == hash(decision)
    with pytest.raises(cahoots.InputError, match=r"client.reward\(decision"):
        again.reward(1.0)
    assert alone.reward(again, 1.0) == "learned"


def test_who_forgets_to_close_is_warned(tmp_path: Path) -> None:
    client = cahoots.Client("shops", 0, store=tmp_path / "c", **TERMS)
    decision = client.decide(ARMS, event="visit")
    decision.reward(1.0)
    with pytest.warns(ResourceWarning, match="not closed"):
        del client, decision
    with cahoots.Client("shops", 0, store=tmp_path / "c", **TERMS) as client:
        assert client.reward("visit", 1.0) == "repeated"


# Who is who.


def test_certificates_and_what_is_not_let_in(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    coordinator = cahoots.keys.init(folder, federation="shops", hosts=["127.0.0.1"])
    mine, other = cahoots.keys.client(folder, 0), cahoots.keys.client(folder, 1)
    with pytest.raises(cahoots.InputError, match="already"):
        cahoots.keys.init(folder, federation="shops", hosts=["127.0.0.1"])
    assert "client 0" in cahoots.keys.show(mine) or "client/0" in cahoots.keys.show(mine)
    given: dict[str, Any] = {"clients": 3, "dim": 2, "arms": 3, "federation": "shops"}
    with cahoots.Coordinator("async-linucb", {"ratio": 1.0}, keys=coordinator, **given) as hub:
        assert hub.address.startswith("https://127.0.0.1:")
        with hub.client(0, keys=mine) as client:
            client.decide(ARMS).reward(1.0)
            assert client.drain(60).unconfirmed == 0 and hub.status()["observations"] == 1
        with pytest.raises(cahoots.InputError, match="tls"):
            hub.client(1)
        with pytest.raises(cahoots.InputError, match="no folder"):
            hub.client(1, keys=folder / "client-9")
        with cahoots.Client(**hub.options(2), keys=other, longest_pause=0.1) as client:
            eventually(lambda: any("certificate" in problem for problem in client.problems()))
            assert not client.status()["joined"]
        assert cahoots.keys.revoke(folder, 1) == 1
        with cahoots.Client(**hub.options(1), keys=other, longest_pause=0.1) as client:
            eventually(lambda: any("revoked" in problem for problem in client.problems()))


def test_invitations(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    coordinator = cahoots.keys.init(folder, federation="shops", hosts=["127.0.0.1"])
    given: dict[str, Any] = {"clients": 3, "dim": 2, "arms": 3, "federation": "shops", "admit": "tokens"}
    authorities = folder / "authorities.pem"
    with cahoots.Coordinator("async-linucb", {"ratio": 1.0}, keys=coordinator, **given) as hub:
        invitation = hub.invite(2)
        with hub.client(2, authorities=authorities, invitation=invitation) as client:
            assert client.decide(ARMS).arm in range(3)
        with hub.client(2, authorities=authorities) as client:
            assert client.status()["joined"], "its secret is in its store"
        hub.invite(0)
        assert hub.uninvite(0) == 1
        with pytest.raises(cahoots.InputError, match="invitation"):
            hub.client(0, authorities=authorities, invitation="please")


def test_plain_text_does_not_leave_this_machine(tmp_path: Path) -> None:
    with pytest.raises(cahoots.InputError, match="without encryption"):
        cahoots.Client("shops", 0, store=tmp_path / "c", coordinator="http://192.0.2.1:7700")
    with pytest.raises(cahoots.InputError, match="without encryption"):
        cahoots.Coordinator("random", clients=2, arms=2, listen="0.0.0.0:0")
    assert list(tmp_path.iterdir()) == []


# What is given.


def test_a_client_from_the_file_of_the_command(
    hub: cahoots.Coordinator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "client.toml"
    file.write_text(
        f'federation = "federation"\ncoordinator = "{hub.address}"\nclient = 1\nstore = "c1.store"\ndrain = 30\n'
        "[limits]\nbatch = 5\n"
    )
    with cahoots.Client.from_file(file) as client:
        client.wait().decide(ARMS).reward(1.0)
        assert (tmp_path / "c1.store").exists() and client.client == 1
        with pytest.raises(cahoots.InputError, match=r"limits.batch"):
            client.decide_all([ARMS] * 6)
    assert hub.status()["observations"] == 1, "it was drained"
    monkeypatch.setenv("CAHOOTS_LIMITS__BATCH", "7")
    with cahoots.Client.from_file(str(file), over={"store": tmp_path / "other", "client": 2}) as client:
        assert client.client == 2 and len(client.wait().decide_all([ARMS] * 6)) == 6
    monkeypatch.delenv("CAHOOTS_LIMITS__BATCH")
    file.write_text(file.read_text().replace("drain", "drane"))
    with pytest.raises(cahoots.InputError, match=r"client.toml:5.*did you mean `drain`"):
        cahoots.Client.from_file(file)
    with pytest.raises(cahoots.InputError, match="missing"):
        cahoots.Client.from_file(tmp_path / "missing.toml")


def test_a_coordinator_from_the_file_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(
        'federation = "shops"\nlisten = "127.0.0.1:0"\nstore = "hub.store"\n'
        "[setting]\nusers = 2\ndim = 2\narms = 3\n[algorithm]\nkind = 'async-linucb'\nratio = 1.0\n"
    )
    with cahoots.Coordinator.from_file(file) as hub:
        with hub.client(0, drain=30.0) as client:
            client.decide(ARMS).reward(1.0)
        with pytest.raises(cahoots.CahootsError, match="in use"):
            cahoots.Coordinator.from_file(file)
        assert hub.backup(tmp_path / "copy").exists()
    with cahoots.Coordinator.from_file(file, over={"http": "none"}) as hub:
        assert hub.page is None and hub.status()["observations"] == 1
    with pytest.raises(cahoots.InputError, match="port"):
        cahoots.Coordinator.from_file(file, over={"listen": "127.0.0.1"})


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"tick": 0}, "tick"),
        ({"tick": float("nan")}, "tick"),
        ({"expiry": -1}, "expiry"),
        ({"sync": "soon"}, "soon"),
        ({"client": -1}, "-1"),
        ({"client": "one"}, "one"),
        ({"coordinator": "127.0.0.1:7700"}, "http"),
        ({"coordinator": "https://127.0.0.1:7700"}, "keys"),
        ({"privacy": {"max_epsilon": -1}}, "max_epsilon"),
        ({"privacy": {"max_epsilonn": 1}}, "max_epsilonn"),
        ({"gain": {"confidence": 2.0}}, "confidence"),
        ({"limits": {"batch": 0}}, "batch"),
        ({"limits": object()}, "limits"),
        ({"telemetry": {"share": ["everything"]}}, "everything"),
        ({"decisions": {"folder": "x", "rotate_rows": 0}}, "rotate_rows"),
        ({"invitation": "please"}, "invitation"),
        ({"setting": None}, "setting"),
        ({"setting": {"clients": 3}}, "arms"),
        ({"setting": {**SETTING, "colour": 1}}, "colour"),
        ({"algorithm": None}, "algorithm"),
        ({"algorithm": "async-linucbb"}, "written in Python"),
        ({"algorithm": int}, "cannot be deployed"),
        ({"params": {"ratio": -1.0}}, "ratio"),
        ({"params": {"kind": "random"}}, "kind"),
        ({"params": {1: 2}}, "keys are texts"),
        ({"params": {"ratio": 2**80}}, "too large"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_leaves_no_store(tmp_path: Path, words: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"federation": "shops", "client": 0, "store": tmp_path / "c", **TERMS, **words}
    with pytest.raises(cahoots.InputError, match=says):
        cahoots.Client(**given)
    assert list(tmp_path.iterdir()) == []


def test_terms_that_promise_too_little_are_refused(tmp_path: Path) -> None:
    with pytest.raises(cahoots.InputError, match="promise no privacy"):
        cahoots.Client("shops", 0, store=tmp_path / "c", privacy={"max_epsilon": 1.0}, **TERMS)


def test_a_coordinator_says_what_is_wrong_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    class Mine: ...

    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ("mine", {}, "written in Python"),
        (Mine, {}, "cannot be deployed"),
        ("async-linucb", {"dim": 0}, "arms with features"),
        ("async-linucb", {"listen": "nowhere"}, "listen"),
        ("async-linucb", {"admit": "certificates"}, "tls"),
        ("async-linucb", {"http": "0.0.0.0:0"}, "token"),
        ("async-linucb", {"limits": {"hello": -1}}, "limit"),
    ]
    for algorithm, words, says in wrong:
        with pytest.raises(cahoots.InputError, match=says):
            cahoots.Coordinator(algorithm, **{"clients": 2, "dim": 2, "arms": 2, **words})
    assert list(tmp_path.iterdir()) == []


def test_numpy_values_and_paths_are_as_good_as_numbers_and_texts(tmp_path: Path) -> None:
    setting = {"clients": np.int64(2), "dim": np.int32(2), "arms": 3, "reward_range": np.array([0.0, 1.0])}
    client = cahoots.Client(
        "shops", np.int64(1), store=tmp_path / "c", tick=np.float32(0.5), algorithm="async-linucb", setting=setting
    )
    with client, pytest.raises(cahoots.InputError, match="reward_range"):
        client.decide(ARMS).reward(2.0)


# What a coordinator tells and does.


def test_a_coordinator_is_watched_and_run(hub: cahoots.Coordinator) -> None:
    assert hub.page is not None
    with urllib.request.urlopen(f"{hub.page}/status") as answer:
        assert json.load(answer)["federation"] == hub.federation == "federation"
    assert f'<a href="{hub.page}"' in hub._repr_html_() and "<cahoots" not in hub._repr_html_()
    with hub.client(0) as client:
        assert hub.params()["params"]["ratio"] == 1.0
        assert hub.params(ratio=2.0)["version"] == 1
        eventually(lambda: client.status()["params_version"] == 1)
        assert hub.revert()["params"]["ratio"] == 1.0
        assert [version["version"] for version in hub.versions()] == [0, 1, 2]
        with pytest.raises(cahoots.InputError, match="ratio"):
            hub.params(ratio=-1.0)
        with pytest.raises(cahoots.InputError, match="ratios"):
            hub.params(ratios=1.0)
        client.decide(ARMS).reward(1.0)
        client.drain(60)
        assert any(entry["client"] == 0 for entry in hub.journal())
        assert hub.journal(client=2) == [] and hub.history()
        hub.remove(0, forget=True)
        assert hub.status()["observations"] == 0 and hub.status()["removed"] == 1
        eventually(client.problems)
    with pytest.raises(cahoots.InputError, match="client"):
        hub.remove(-1)
    with pytest.raises((cahoots.InputError, cahoots.CahootsError)):
        hub.remove(99)


def test_a_coordinator_takes_its_clients_and_its_folder_along() -> None:
    hub = cahoots.Coordinator("async-linucb", clients=2, dim=2, arms=3)
    client = hub.client(0)
    folder = os.path.dirname(client._store)
    assert os.path.isdir(folder)
    hub.close()
    assert client.closed and hub.closed and not os.path.exists(folder)
    hub.close()
    for call in (hub.status, lambda: hub.client(1)):
        with pytest.raises(cahoots.CahootsError, match="closed"):
            call()
    assert not os.path.exists(folder)


def test_a_number_is_its_first_stores(hub: cahoots.Coordinator, tmp_path: Path) -> None:
    taken = pytest.raises(cahoots.CahootsError, match="already taken by another store")
    with hub.client(0), cahoots.Client(**hub.options(0) | {"store": tmp_path / "other"}) as other, taken:
        other.wait(60)
    with pytest.raises(cahoots.CahootsError, match="99"):
        hub.client(99, wait=60)


def test_a_client_that_knows_the_terms_before_it_joins(hub: cahoots.Coordinator, tmp_path: Path) -> None:
    given = hub.options(2) | {"store": tmp_path / "c"}
    with cahoots.Client(**given, **hub.terms) as client:
        client.decide(ARMS, event="at once").reward(1.0)
        assert client.drain(60).unconfirmed == 0
        assert hub.status()["observations"] == 1
    # Other terms than those that it joined under are refused.
    with pytest.raises(cahoots.InputError, match="differ"):
        cahoots.Client(**given, **(hub.terms | {"seed": 7}))


def test_nodes_log_where_that_is_asked_for(tmp_path: Path) -> None:
    body = """
        import sys, cahoots
        cahoots.logs("info", "json")
        cahoots.Client("shops", 0, store=sys.argv[1]).close()
    """
    process = script(body, tmp_path / "c")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and "store opened" in json.loads(errors.splitlines()[0])["message"]
    with pytest.raises(cahoots.InputError, match="loud"):
        cahoots.logs("loud")
    with pytest.raises(cahoots.InputError, match="xml"):
        cahoots.logs("info", "xml")


def test_what_the_documentation_shows_is_so() -> None:
    import doctest

    import cahoots._coordinator
    import cahoots._live_types
    import cahoots.aio
    import cahoots.live

    for module in (cahoots._coordinator, cahoots._live_types, cahoots.aio, cahoots.keys, cahoots.live):
        found = doctest.testmod(module)
        assert found.failed == 0 and found.attempted > 0, module
