"""A live client for asyncio: the same words, as coroutines."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from cahoots._errors import CahootsError
from cahoots._live_types import (
    Arm,
    Credit,
    Decided,
    Drained,
    Path,
    asked,
    asked_all,
    credit,
    text,
    value_of,
    which,
)
from cahoots.live import Client, decision

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cahoots._live_types import ClientOptions

__all__ = ["AsyncClient", "AsyncDecision"]

T = TypeVar("T")


class AsyncDecision(Decided):
    """What an `AsyncClient` decided: a `Decision` whose methods are coroutines.

    >>> import cahoots
    >>> cahoots.AsyncDecision("7-1", "red", probability=0.85).propensities
    {'red': 0.85}
    """

    async def reward(self, value: float, part: str | None = None) -> str:
        """Gives its reward: `await client.reward(decision, value, part)`."""
        return cast(str, await self._whose().reward(self, value, part))

    async def activate(self) -> str:
        """A deferred decision counts from now on: `await client.activate(decision)`."""
        return cast(str, await self._whose().activate(self))

    async def abandon(self) -> str:
        """Its reward will not come: `await client.abandon(decision)`."""
        return cast(str, await self._whose().abandon(self))


class _Waiting:
    """Rewards of one event loop that wait for their commit."""

    def __init__(self) -> None:
        self.rewards: list[tuple[Credit, asyncio.Future[str]]] = []
        self.giving: asyncio.Task[None] | None = None


class AsyncClient:
    """A `cahoots.Client` for asyncio: it takes the same and says the same.

    It is opened by `async with`, or by `await client.open()`.

    The loop goes on while it decides or waits for the disk. Rewards that are given at the same time share a commit: a
    thousand of them cost about as much as a few.

    >>> import asyncio, tempfile, cahoots
    >>> async def visits(folder):
    ...     setting = {"clients": 2, "dim": 2, "arms": 2}
    ...     async with cahoots.AsyncClient(
    ...         "shops", 0, store=f"{folder}/client-0", algorithm="async-linucb", setting=setting
    ...     ) as client:
    ...         decisions = [await client.decide([[1.0, 0.0], [0.0, 1.0]]) for _ in range(3)]
    ...         return await asyncio.gather(*(decision.reward(1.0) for decision in decisions))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(visits(folder))
    ['learned', 'learned', 'learned']

    A task that is cancelled while its reward waits for the disk does not know whether it was taken: give it again, it
    counts once.
    """

    def __init__(self, federation: str, client: int, **options: Unpack[ClientOptions]) -> None:
        """Takes what `cahoots.Client` takes; nothing is opened yet."""
        self._begin(lambda: Client(federation, client, **options))

    @classmethod
    def from_file(cls, path: Path, over: Mapping[str, Any] | None = None) -> AsyncClient:
        """What `cahoots client PATH` would run; see `cahoots.Client.from_file`. Nothing is opened yet."""
        made = cls.__new__(cls)
        made._begin(lambda: Client.from_file(path, over))
        return made

    def _begin(self, make: Callable[[], Client]) -> None:
        self._make = make
        self._client: Client | None = None
        self._waiting: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = weakref.WeakKeyDictionary()
        # Rewards have a thread of their own, whoever may wait long has the loop's: neither keeps decisions waiting.
        self._others = ThreadPoolExecutor(4, "cahoots-async")
        self._rewards = ThreadPoolExecutor(1, "cahoots-rewards")

    async def open(self) -> AsyncClient:
        """Opens the store, replays what a kill interrupted, and is ready."""
        if self._client is None:
            self._client = await asyncio.get_running_loop().run_in_executor(self._others, self._make)
        return self

    @property
    def sync(self) -> Client:
        """The client underneath, for code that may block."""
        if self._client is None:
            raise CahootsError("this client is not open yet: `async with client:`, or `await client.open()`")
        return self._client

    async def _call(self, call: Callable[[Client], T]) -> T:
        client = self.sync
        if client.closed:
            # Its threads are gone, or are another process's: the client says which.
            return call(client)
        return await asyncio.get_running_loop().run_in_executor(self._others, call, client)

    async def _wait(self, call: Callable[[Client], T]) -> T:
        return await asyncio.to_thread(call, self.sync)

    async def decide(
        self,
        arms: Any = None,
        *,
        user: int | None = None,
        masked: Iterable[Arm] | Iterable[bool] = (),
        top: int = 0,
        event: str | None = None,
        deferred: bool = False,
        context: Mapping[str, float | str] | None = None,
        baseline: Arm | None = None,
    ) -> AsyncDecision:
        """Chooses one of `arms`; see `cahoots.Client.decide`."""
        ask = asked(arms, user, masked, top, event, deferred, context, baseline)
        told = await self._call(lambda client: client._node.decide(ask))
        return decision(AsyncDecision, told, self)

    async def decide_all(self, asks: Iterable[Any]) -> list[AsyncDecision]:
        """Takes several decisions, all of them or none; see `cahoots.Client.decide_all`."""
        all_asked = asked_all(asks)
        all_told = await self._call(lambda client: client._node.decide_all(all_asked))
        return [decision(AsyncDecision, told, self) for told in all_told]

    async def reward(
        self,
        decision: Decided | str | None = None,
        value: float | None = None,
        part: str | None = None,
        *,
        event: str | None = None,
    ) -> str:
        """Learns from a reward; returns when it is on disk; see `cahoots.Client.reward`."""
        given: Credit = (*which(decision, event), value_of(value), None if part is None else text("part", part))
        client = self.sync
        if client.closed:
            return client._node.reward(*given)
        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault(loop, _Waiting())
        answer: asyncio.Future[str] = loop.create_future()
        waiting.rewards.append((given, answer))
        if waiting.giving is None or waiting.giving.done():
            waiting.giving = loop.create_task(self._give(client, waiting))
        return await answer

    async def _give(self, client: Client, waiting: _Waiting) -> None:
        """Gives what waits, a commit at a time, until nothing does."""
        loop, most = asyncio.get_running_loop(), client._node.batch
        while waiting.rewards:
            batch, waiting.rewards = waiting.rewards[:most], waiting.rewards[most:]
            try:
                rewards = [given for given, _ in batch]
                answers = await loop.run_in_executor(self._rewards, client._node.reward_all, rewards)
            except asyncio.CancelledError:
                for _, answer in batch + waiting.rewards:
                    answer.cancel()
                waiting.rewards = []
                raise
            except Exception as error:
                answers = [error] * len(batch)
            for (_, answer), said in zip(batch, answers, strict=True):
                if answer.done():
                    continue
                if isinstance(said, Exception):
                    answer.set_exception(said)
                else:
                    answer.set_result(said)

    async def reward_all(self, rewards: Iterable[Any]) -> list[str | Exception]:
        """Learns from several rewards in one commit; see `cahoots.Client.reward_all`."""
        credits = [credit(reward) for reward in rewards]
        return await self._call(lambda client: client._node.reward_all(credits))

    async def activate(self, decision: Decided | str | None = None, *, event: str | None = None) -> str:
        """A deferred decision counts from now on; see `cahoots.Client.activate`."""
        return await self._call(lambda client: client.activate(decision, event=event))

    async def abandon(self, decision: Decided | str | None = None, *, event: str | None = None) -> str:
        """A decision's reward will not come; see `cahoots.Client.abandon`."""
        return await self._call(lambda client: client.abandon(decision, event=event))

    async def register(self, arms: Any = None, *, retire: Iterable[str] = ()) -> int:
        """Tells of arms that are then known by their ids; see `cahoots.Client.register`."""
        return await self._call(lambda client: client.register(arms, retire=retire))

    async def wait(self, timeout: float = 30.0) -> AsyncClient:
        """Waits until the federation's terms are known."""
        await self._wait(lambda client: client.wait(timeout))
        return self

    async def drain(self, timeout: float = 10.0) -> Drained:
        """Sends what has not been sent yet, and waits until the coordinator has it on disk."""
        return await self._wait(lambda client: client.drain(timeout))

    async def status(self) -> dict[str, Any]:
        """What it is doing."""
        return await self._call(Client.status)

    async def gain(self) -> dict[str, Any]:
        """What federation gained it."""
        return await self._call(Client.gain)

    async def privacy(self) -> dict[str, Any]:
        """What is promised, spent and allowed of its users' privacy."""
        return await self._call(Client.privacy)

    async def close(self, drain: float | None = None) -> None:
        """Stops, once what was given is on disk; with `drain`, first sends for so many seconds what is not sent yet."""
        client = self._client
        if client is None or client.closed:
            return
        waiting = self._waiting.get(asyncio.get_running_loop())
        if waiting is not None and waiting.giving is not None:
            await asyncio.wait([waiting.giving])
        await self._call(lambda client: client.close(drain))
        self._others.shutdown(wait=False)
        self._rewards.shutdown(wait=False)

    async def __aenter__(self) -> AsyncClient:
        """The client itself, open."""
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Closes it."""
        await self.close()

    def __reduce__(self) -> NoReturn:
        """Neither a store nor threads can be pickled."""
        raise TypeError(
            "an AsyncClient cannot be pickled or copied: it holds a store and threads of this process. Open one in the "
            "process that uses it, each with a store of its own"
        )

    def __repr__(self) -> str:
        """Who it is."""
        return (
            "<cahoots.AsyncClient, not open>"
            if self._client is None
            else repr(self._client).replace("Client", "AsyncClient", 1)
        )
