"""A live client among threads, signals, forks and kills."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
from pathlib import Path

import pytest
from live_helpers import ARMS, TERMS, eventually, script

import cahoots

pytest_plugins = ["live_fixtures"]


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
