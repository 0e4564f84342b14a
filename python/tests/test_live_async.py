"""The same client for asyncio."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cahoots

TERMS: dict[str, Any] = {
    "algorithm": "async-linucb",
    "params": {"ratio": 1.0},
    "setting": {"clients": 3, "dim": 2, "arms": 3},
}
ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 120))


def test_a_thousand_rewards_at_once_share_commits(tmp_path: Path) -> None:
    async def work() -> None:
        with cahoots.Coordinator("async-linucb", {"ratio": 1.0}, clients=3, dim=2, arms=3) as hub:
            options = hub.options(0) | {"store": tmp_path / "c", "sync": "disk"}
            async with cahoots.AsyncClient(**options) as client:
                await client.wait()
                decisions = await client.decide_all([ARMS] * 1000)
                given: list[int] = []
                reward_all = client.sync._node.reward_all

                class Counting:
                    def __getattr__(self, name: str) -> Any:
                        return getattr(node, name)

                    def reward_all(self, rewards: list[Any]) -> Any:
                        given.append(len(rewards))
                        return reward_all(rewards)

                node = client.sync._node
                client.sync._node = Counting()  # type: ignore[assignment]
                words = await asyncio.gather(*(client.reward(decision, 0.5) for decision in decisions))
                assert words == ["learned"] * 1000
                assert sum(given) == 1000 and len(given) < 50
                client.sync._node = node
                assert (await client.drain(60)).unconfirmed == 0
                assert hub.status()["observations"] == 1000

    run(work())


def test_each_reward_has_its_own_answer(tmp_path: Path) -> None:
    async def work() -> None:
        async with cahoots.AsyncClient("shops", 0, store=tmp_path / "c", limits={"batch": 7}, **TERMS) as client:
            decisions = [await client.decide(ARMS) for _ in range(20)]
            rewards = [client.reward(decision, 1.0) for decision in decisions]
            rewards += [client.reward("visit 9", 1.0), client.reward(decisions[0], 0.25), client.reward("1-1", 1.0)]
            answers = await asyncio.gather(*rewards, return_exceptions=True)
            assert answers[:20] == ["learned"] * 20
            assert all(isinstance(answer, cahoots.InputError) for answer in answers[20:])
            with pytest.raises(cahoots.InputError):
                await client.reward(decisions[0], float("nan"))
            word, refused = await client.reward_all([(decisions[1], 1.0), ("visit 9", 1.0)])
            assert word == "repeated" and isinstance(refused, cahoots.InputError)

    run(work())


def test_all_of_its_words(tmp_path: Path) -> None:
    async def work() -> None:
        client = cahoots.AsyncClient("shops", 0, store=tmp_path / "c", **TERMS)
        with pytest.raises(cahoots.CahootsError, match="not open"):
            await client.decide(ARMS)
        assert "not open" in repr(client)
        async with client:
            assert await client.register({"red": [1.0, 0.0], "blue": [0.0, 1.0]}) == 2
            decision = await client.decide(["red", "blue"], event="visit", top=2, deferred=True)
            assert decision.arm in ("red", "blue") and sum(decision.propensities.values()) == pytest.approx(1.0)
            assert await client.decide(event="visit") == decision
            assert [await decision.reward(0.5), await decision.activate(), await decision.activate()] == [
                "kept",
                "activated",
                "repeated",
            ]
            other = await client.decide(ARMS)
            assert await other.abandon() == "abandoned"
            assert (await client.status())["open_decisions"] == 0
            assert "words" in await client.gain() and "words" in await client.privacy()
            assert await client.wait() is client
            with pytest.raises(cahoots.InputError, match=r"3 .* features where 2"):
                await client.decide([[1.0, 2.0, 3.0]])
            with pytest.raises(cahoots.InputError, match="none of them was taken"):
                await client.decide_all([ARMS, [[1.0]]])
            for thing in (client,):
                with pytest.raises(TypeError, match="cannot be pickled"):
                    pickle.dumps(thing)
            assert pickle.loads(pickle.dumps(decision)) == decision
            assert "AsyncClient 0" in repr(client)
        with pytest.raises(cahoots.CahootsError, match="closed"):
            await client.decide(ARMS)
        with pytest.raises(cahoots.CahootsError, match="closed"):
            await client.reward(decision, 0.5)
        await client.close()

    run(work())


def test_what_was_given_is_on_disk_when_it_is_closed(tmp_path: Path) -> None:
    async def work() -> list[str]:
        client = await cahoots.AsyncClient("shops", 0, store=tmp_path / "c", **TERMS).open()
        decisions = await client.decide_all([ARMS] * 100)
        given = [asyncio.ensure_future(client.reward(decision, 1.0)) for decision in decisions]
        await asyncio.sleep(0)
        await client.close()
        assert await asyncio.gather(*given) == ["learned"] * 100
        return [decision.id for decision in decisions]

    ids = run(work())
    with cahoots.Client("shops", 0, store=tmp_path / "c", **TERMS) as client:
        assert set(client.reward_all([(id, 1.0) for id in ids])) == {"repeated"}


def test_a_reward_that_is_cancelled_counts_once_when_it_is_given_again(tmp_path: Path) -> None:
    async def work() -> None:
        async with cahoots.AsyncClient("shops", 0, store=tmp_path / "c", **TERMS) as client:
            decisions = await client.decide_all([ARMS] * 50)
            given = [asyncio.ensure_future(client.reward(decision, 1.0)) for decision in decisions]
            await asyncio.sleep(0)
            for task in given[::2]:
                task.cancel()
            await asyncio.gather(*given, return_exceptions=True)
            again = await asyncio.gather(*(client.reward(decision, 1.0) for decision in decisions))
            assert set(again) <= {"learned", "repeated"} and set(again[1::2]) == {"repeated"}
            assert (await client.status())["rewards"] == 50

    run(work())


def test_loops_of_several_threads_may_share_one(tmp_path: Path) -> None:
    client = cahoots.AsyncClient("shops", 0, store=tmp_path / "c", **TERMS)
    run(client.open())
    answers: list[str] = []

    async def visits() -> None:
        for _ in range(5):
            decisions = await client.decide_all([ARMS] * 20)
            answers.extend(await asyncio.gather(*(decision.reward(1.0) for decision in decisions)))

    threads = [threading.Thread(target=run, args=(visits(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["learned"] * 300
    run(client.close())


def test_the_loop_goes_on_meanwhile(tmp_path: Path) -> None:
    async def work() -> None:
        nowhere: dict[str, Any] = {"coordinator": "http://127.0.0.1:9", "sync": "memory"}
        async with cahoots.AsyncClient("shops", 0, store=tmp_path / "c", **nowhere, **TERMS) as client:
            await (await client.decide(ARMS)).reward(1.0)
            drains = [asyncio.ensure_future(client.drain(600)) for _ in range(12)]
            assert await (await client.decide(ARMS)).reward(1.0) == "learned"
            assert not any(drain.done() for drain in drains)
            await client.close()
            ended = await asyncio.gather(*drains, return_exceptions=True)
            assert all(isinstance(error, cahoots.CahootsError) for error in ended)

    run(work())


def test_from_the_file_of_the_command(tmp_path: Path) -> None:
    async def work() -> None:
        with cahoots.Coordinator("async-linucb", {"ratio": 1.0}, clients=3, dim=2, arms=3) as hub:
            file = tmp_path / "client.toml"
            file.write_text(f'federation = "federation"\ncoordinator = "{hub.address}"\nclient = 1\nstore = "c"\n')
            async with cahoots.AsyncClient.from_file(file, over={"tick": 0.5}) as client:
                await (await (await client.wait()).decide(ARMS)).reward(1.0)
                assert (await client.drain(60)).unconfirmed == 0
            assert hub.status()["observations"] == 1

    run(work())
