"""A live federation inside a Python process: a client beside an app, and a coordinator for tests and notebooks.

A `Client` is the node that `cahoots client` runs, in this process: no HTTP between the app and it. It decides while
offline, keeps what it has learned in a store, and exchanges with its coordinator when that is there.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar, cast

from cahoots import _cahoots
from cahoots._coordinator import Coordinator
from cahoots._errors import InputError
from cahoots._live_nodes import Node
from cahoots._live_options import over_of, terms_of, tls_of
from cahoots._live_types import (
    Arm,
    Ask,
    Decided,
    Drained,
    Path,
    Ranked,
    Told,
    arrived,
    asked,
    asked_all,
    credit,
    text,
    value_of,
    which,
)

__all__ = ["Ask", "Client", "Coordinator", "Decision", "Drained", "Ranked", "logs"]


class Decision(Decided):
    """What a `Client` decided.

    `id` is to be given back with the reward, `arm` is the arm to take. `score`, `interval` and `probability` say what
    is known of it (`None` where the policy cannot tell), `model` which state of knowledge decided, and `decided` who:
    "federated", "alone" or "baseline". With `top`, `ranking` has the best arms. Decisions can be compared, pickled and
    kept.

    >>> import cahoots
    >>> cahoots.Decision("7-1", 2, probability=0.5).propensities
    {2: 0.5}
    """

    def reward(self, value: float, part: str | None = None) -> str:
        """Gives its reward: `client.reward(decision, value, part)`."""
        return cast(str, self._whose().reward(self, value, part))

    def activate(self) -> str:
        """A deferred decision counts from now on: `client.activate(decision)`."""
        return cast(str, self._whose().activate(self))

    def abandon(self) -> str:
        """Its reward will not come: `client.abandon(decision)`."""
        return cast(str, self._whose().abandon(self))


class Client(Node):
    """A client beside an app: decides, learns, and stays in touch with its coordinator.

    Its state is in the files `store` and `store.*`: whoever opens it again goes on where it was, also after a crash. A
    reward is acknowledged when it is on disk. Calls release the interpreter's lock and may come from any thread; all of
    them share one client. A client belongs to the process that opened it: in a fork, every call raises `CahootsError`.

    With `algorithm`, `params` and `setting` (what the coordinator was given) it decides before it ever reached the
    coordinator; otherwise it is told when it first joins, which `wait` waits for. Without a `coordinator` it learns
    alone.

    >>> import tempfile, cahoots
    >>> terms = {"algorithm": "async-linucb", "setting": {"clients": 2, "dim": 2, "arms": 2}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with cahoots.Client("shops", 0, store=f"{folder}/client-0", **terms) as client:
    ...         decision = client.decide([[1.0, 0.0], [0.0, 1.0]])
    ...         client.reward(decision, 1.0)
    'learned'

    Other keywords are the keys of the file that `cahoots client` takes: `sync` ("disk" or "memory"), `tick`, `expiry`
    (seconds until a decision without a reward is given up, or learned as `default_reward`), `decisions` (a folder for a
    record of decisions, or the keys of `[decisions]`), `privacy`, `gain`, `apprentice`, `telemetry` and `limits`
    (dicts), `drain` (seconds for which `close` sends what is not sent yet). TLS: `keys` is the folder that
    `cahoots.keys.client` makes; who joins by `invitation` needs `authorities` alone.
    """

    _node: _cahoots.LiveClient

    def __init__(
        self,
        federation: str,
        client: int,
        *,
        store: Path,
        coordinator: str | Sequence[str] | Coordinator | None = None,
        algorithm: str | None = None,
        params: Mapping[str, Any] | None = None,
        setting: Mapping[str, Any] | None = None,
        seed: int = 0,
        keys: Path | None = None,
        authorities: Path | None = None,
        invitation: str | None = None,
        plain_text: bool = False,
        sync: str = "disk",
        tick: float = 1.0,
        expiry: float = 3600.0,
        default_reward: float | None = None,
        decisions: Path | Mapping[str, Any] | None = None,
        privacy: Mapping[str, Any] | None = None,
        gain: Mapping[str, Any] | None = None,
        apprentice: Mapping[str, Any] | None = None,
        telemetry: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        drain: float | None = None,
        longest_pause: float = 5.0,
        snapshot_every: int = 1000,
    ) -> None:
        """Opens the store, replays what a kill interrupted, and is ready."""
        if isinstance(decisions, (str, os.PathLike)):
            decisions = {"folder": decisions}
        table = {
            "federation": federation,
            "client": client,
            "store": store,
            "coordinator": coordinator.address if isinstance(coordinator, Coordinator) else coordinator,
            "terms": terms_of(algorithm, params, setting, seed),
            "tls": tls_of(keys, authorities),
            "invitation": invitation,
            "plain_text": plain_text,
            "sync": sync,
            "tick": tick,
            "expiry": expiry,
            "default_reward": default_reward,
            "decisions": decisions,
            "privacy": privacy,
            "gain": gain,
            "apprentice": apprentice,
            "telemetry": telemetry,
            "limits": limits,
            "drain": drain,
            "longest_pause": longest_pause,
            "snapshot_every": snapshot_every,
        }
        self._node = _cahoots.LiveClient.open(table)
        self._opened()

    @classmethod
    def from_file(cls, path: Path, over: Mapping[str, Any] | None = None) -> Client:
        """Opens what `cahoots client PATH` would run: the same file, the same variables and the same checks.

        Variables are such as `CAHOOTS_TICK=0.5`. Values in `over` hold over both, as `--set` does: `{"tick": 0.5,
        "limits.batch": 10}`. Where the file says that the app listens (`http`) is checked and not used: this process is
        the app.
        """
        client = cls.__new__(cls)
        client._node = _cahoots.LiveClient.from_file(path, over_of(over))
        client._opened()
        return client

    # What an app does.

    def decide(
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
    ) -> Decision:
        """Chooses one of `arms`.

        `arms` is a table of features with a row for each arm (an array, a list of lists, or a DataFrame, whose index of
        texts names the arms), a dict of id and features (`None`: as registered), a list of registered ids, a number of
        arms where they have no features, or nothing: all that are registered.

        `masked` arms cannot be chosen this time (arms, or a flag for each); `top` asks for a ranking of so many; under
        the same `event` the same is answered again; a `deferred` decision counts once it is activated; `context` goes
        to the record of decisions alone; `baseline` is what the app would have done itself, where the client is an
        apprentice.
        """
        ask = asked(arms, user, masked, top, event, deferred, context, baseline)
        return decision(Decision, self._node.decide(ask), self)

    def decide_all(self, asks: Iterable[Any]) -> list[Decision]:
        """Takes several decisions, all of them or none: each is an `Ask`, or what `decide` takes as `arms`."""
        return [decision(Decision, told, self) for told in self._node.decide_all(asked_all(asks))]

    def reward(
        self,
        decision: Decided | str | None = None,
        value: float | None = None,
        part: str | None = None,
        *,
        event: str | None = None,
    ) -> str:
        """Learns from a reward; returns when it is on disk.

        The decision is what `decide` returned, its id, or the name of its event (which `event` says without doubt).
        Answers "learned", "repeated" where it had come before, or "kept" until it counts: with the other parts, where
        `part` names one of them, or once the decision is activated.
        """
        name, is_event = which(decision, event)
        return self._node.reward(name, is_event, value_of(value), None if part is None else text("part", part))

    def reward_all(self, rewards: Iterable[Any]) -> list[str | Exception]:
        """Learns from several rewards in one commit: each is (decision, value), (decision, value, part), or a dict.

        Each has an answer of its own in the list, in order: its word, or the exception that says why it was not taken.
        """
        return self._node.reward_all([credit(reward) for reward in rewards])

    def activate(self, decision: Decided | str | None = None, *, event: str | None = None) -> str:
        """A deferred decision counts from now on: "activated", or "repeated"; returns when that is on disk."""
        return self._node.activate(*which(decision, event))

    def abandon(self, decision: Decided | str | None = None, *, event: str | None = None) -> str:
        """A decision's reward will not come: "abandoned", or "repeated"."""
        return self._node.abandon(*which(decision, event))

    def register(self, arms: Any = None, *, retire: Iterable[str] = ()) -> int:
        """Tells of arms that are then known by their ids, and of others that are gone: all of it or nothing.

        They are known over restarts. `arms` is a dict of id and features, or of id and number where arms have no
        features, or a DataFrame with ids as its index. Gives how many are registered.
        """
        if isinstance(retire, str):
            raise InputError("retire must be a list of ids")
        come = [] if arms is None else arrived(arms)
        return self._node.register(come, [text("an arm's id", id) for id in retire])

    @property
    def arms(self) -> dict[str, list[float] | int]:
        """The arms that are registered: features, or numbers, by id."""
        known = self._node.registered()
        return {id: features if features is not None else cast(int, index) for id, features, index in known}

    # What it tells.

    def wait(self, timeout: float = 30.0) -> Client:
        """Waits until the federation's terms are known, so that it can decide; gives the client back."""
        self._node.wait(timeout)
        return self

    def drain(self, timeout: float = 10.0) -> Drained:
        """Sends what has been learned and not sent yet, and waits until the coordinator has it on disk."""
        return Drained(*self._node.drain(timeout))

    def status(self) -> dict[str, Any]:
        """What it is doing: the words of `GET /status`."""
        return cast("dict[str, Any]", json.loads(self._node.status()))

    def gain(self) -> dict[str, Any]:
        """What federation gained it: the words of `GET /gain`."""
        return cast("dict[str, Any]", json.loads(self._node.gain()))

    def privacy(self) -> dict[str, Any]:
        """What the terms promise about users' data, what has been spent, and the most that may be.

        `words` says it in words.
        """
        return cast("dict[str, Any]", json.loads(self._node.privacy()))

    def history(self, window: int | None = None) -> dict[str, Any]:
        """Decisions and rewards in the last `window` seconds, or since it was opened."""
        return cast("dict[str, Any]", json.loads(self._node.history(window)))

    def problems(self) -> list[str]:
        """What someone should look after, and how; empty when all is well."""
        return self._node.problems()

    @property
    def federation(self) -> str:
        """Name of the federation."""
        return self._node.federation

    @property
    def client(self) -> int:
        """The number of this client."""
        return self._node.client

    def close(self, drain: float | None = None) -> None:
        """Stops.

        All that was acknowledged is on disk. With `drain`, first sends for so many seconds what is not sent yet.
        """
        self._node.close(self._node.drains if drain is None else drain)

    def __enter__(self) -> Client:
        """The client itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Closes it."""
        self.close()

    def __del__(self) -> None:
        """Whoever forgets to close it is told, as with files."""
        node = getattr(self, "_node", None)
        if node is not None and not node.is_closed():
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)
            node.close(None)

    def __repr__(self) -> str:
        """Who it is."""
        node = self._node
        where = f" of {node.coordinator}" if node.coordinator else ""
        closed = ", closed" if node.is_closed() else ""
        return f"<cahoots.Client {node.client} in {node.federation!r}{where}, store {os.fspath(node.store)!r}{closed}>"


D = TypeVar("D", bound=Decided)


def decision(kind: type[D], told: Told, client: Any) -> D:
    """What was told, as an object."""
    id, arm, score, interval, probability, model, decided, ranking, event = told
    ranked = None if ranking is None else tuple(Ranked(*one) for one in ranking)
    return kind(id, arm, score, interval, probability, model, decided, ranked, event, client)


def logs(level: str | None = None, format: str | None = None) -> None:
    """Nodes of this process write log lines to stderr from now on.

    `level` is "off", "error", "warn", "info", "debug", "trace" or a filter; without it the variables CAHOOTS_LOG and
    then RUST_LOG say it, and otherwise it is "info". `format` is "text" or "json".

    >>> import cahoots
    >>> cahoots.logs("loud")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    cahoots.InputError: level: "loud" is no level (off, error, warn, info, debug, trace) and no filter, ...
    """
    _cahoots.live_logs(level, format)
