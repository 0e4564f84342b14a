"""A live client and a coordinator in this process: what an app may rely on."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_helpers import ARMS, TERMS, eventually, script

import cahoots

pytest_plugins = ["live_fixtures"]


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
