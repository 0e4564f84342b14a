"""One's own ideas in thirty lines: policies, whole algorithms and worlds written in Python.

A class gets a name by a decorator and can then be named in any experiment, beside the algorithms and worlds that come
with Cahoots. Methods are given what their parameters are named after, in any order; what a method does not name is
not made.

A policy is a client on its own:

>>> import cahoots
>>> @cahoots.policy("docs-greedy")
... class Greedy:
...     '''The best arm so far; now and then any.'''
...
...     def __init__(self, setting, epsilon: float = 0.1):
...         self.epsilon = epsilon
...         self.sums = [0.0] * setting.arms
...         self.pulls = [0] * setting.arms
...
...     def choose(self, arms, rng):  # arms: how many there are; with features, an array with a row each
...         if rng.random() < self.epsilon:
...             return rng.integers(arms)
...         means = [s / n if n else 9.0 for s, n in zip(self.sums, self.pulls)]
...         return max(range(arms), key=means.__getitem__)
...
...     def observe(self, arm, reward):
...         self.sums[arm] += reward
...         self.pulls[arm] += 1

Keyword parameters of ``__init__`` are the algorithm's parameters: an experiment may set and sweep them, and a
misspelt one is refused with the nearest name. Everything a class keeps is saved by pickling it.
"""

from __future__ import annotations

import atexit
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from cahoots import _cahoots
from cahoots._cahoots import Rng, Step
from cahoots._errors import InputError
from cahoots._own_classes import NONE, fingerprint, methods_of, parameters_of, shown_default, summary_of
from cahoots._own_definition import WORLD_WORDS, Definition, Seat, Setting, adopt, exported

__all__ = [
    "Definition",
    "Rng",
    "Seat",
    "Setting",
    "Step",
    "adopt",
    "algorithm",
    "exported",
    "own_names",
    "policy",
    "world",
]

C = TypeVar("C")

_STEP = ("tick", "rng", "send", "step")
_DECISION = ("arm", "context", "user", *_STEP)
_CLIENT: dict[str, tuple[str, ...]] = {
    "choose": ("arms", "rng", "user"),
    "observe": ("reward", *_DECISION),
    "commit": _DECISION,
    "abandon": _DECISION,
    "on_start": _STEP,
    "on_message": ("message", "sender", *_STEP),
    "on_wake": _STEP,
}
_SERVER: dict[str, tuple[str, ...]] = {
    "on_start": _STEP,
    "on_message": ("message", "sender", *_STEP),
    "on_wake": _STEP,
    "on_join": ("client", *_STEP),
    "on_leave": ("client", *_STEP),
}
# Whoever is alone has nobody to write to, and is not woken.
_POLICY = {
    name: tuple(word for word in words if word not in ("send", "step"))
    for name, words in _CLIENT.items()
    if name in ("choose", "observe", "commit", "abandon")
}
_WORLD: dict[str, tuple[str, ...]] = {"step": WORLD_WORDS}


def policy(name: str, *, version: str = "") -> Callable[[type[C]], type[C]]:
    """Makes a class an algorithm whose clients are on their own: each decides by what it has seen itself.

    The class has ``choose`` and ``observe``; ``abandon`` (a reward that never comes) and ``commit`` (the decision is
    taken) are there for those who need them. ``choose`` returns the index of an arm, or the index and the probability
    it was drawn with.

    - ``__init__`` may take ``setting`` (:class:`Setting`) and ``seat`` (:class:`Seat`); all else are parameters.
    - ``choose`` may take ``arms`` (a read-only array with a row per arm; the number of arms where they have no
      features), ``rng`` and ``user``.
    - ``observe`` may take ``arm``, ``context`` (the features of the arm that was chosen), ``reward``, ``user``,
      ``tick``, ``rng``.

    ``rng`` is light and has numpy's names: ``random``, ``uniform``, ``normal``, ``standard_normal``, ``integers``,
    ``choice(n, p)``; ``rng.generator()`` is a numpy generator, for more. All draws follow from the run's seed.

    An object is also made when an experiment is read, to see whether it can be: what ``__init__`` refuses is refused
    before anything runs.

    Runs of other code are never taken for runs of this one: the code of the class and its bases is part of what a run
    is known by. Where it calls functions elsewhere, raise ``version`` when they change.

    >>> import cahoots
    >>> @cahoots.policy("docs-first")
    ... class First:
    ...     def choose(self, arms):
    ...         return 0
    """

    def take(known: type[C]) -> type[C]:
        _need_class(name, "policy", known)
        _define(name, "algorithm", known, {"client": (known, _POLICY, ("choose",))}, version)
        return known

    return take


def algorithm(name: str, *, version: str = "") -> Callable[[type[C]], type[C]]:
    """Makes a class with the classes ``Client`` and ``Server`` in it an algorithm, with messages of its own.

    A client is written like a :func:`policy`, and its methods other than ``choose`` may also take ``send``:
    ``send(message)`` writes to the server, whose ``on_message`` may take ``sender`` (the client's number),
    ``message`` and ``send``: ``send(message, to=client)``. A message is any object that can be pickled; it is charged
    with the numbers in it, or with ``scalars=``, and with its bytes. ``control=True`` marks a signal without
    statistics, which is not charged.

    ``send`` (also called ``step``) does more: ``send.wake_at(tick)`` asks for a call of ``on_wake``,
    ``send.level(name, value)`` and ``send.count(name)`` make columns of one's own, ``send.rounds()`` counts
    synchronous rounds. ``on_start`` comes first; a server's ``on_join`` and ``on_leave`` take ``client``.

    Messages leave as they are: nothing written this way claims to protect anybody's privacy.

    >>> import cahoots
    >>> @cahoots.algorithm("docs-federation")
    ... class Federation:
    ...     class Client:
    ...         def __init__(self, setting, every: int = 10):
    ...             self.every, self.sums, self.new = every, [[0.0, 0] for _ in range(setting.arms)], []
    ...
    ...         def choose(self, arms):
    ...             return max(range(arms), key=lambda arm: self.sums[arm][0] / (self.sums[arm][1] or 1e-9))
    ...
    ...         def observe(self, arm, reward, send):
    ...             self.new.append((arm, reward))
    ...             if len(self.new) == self.every:
    ...                 send(self.new)
    ...                 self.new = []
    ...
    ...         def on_message(self, message):
    ...             self.sums = message
    ...
    ...     class Server:
    ...         def __init__(self, setting):
    ...             self.sums = [[0.0, 0] for _ in range(setting.arms)]
    ...
    ...         def on_message(self, sender, message, send):
    ...             for arm, reward in message:
    ...                 self.sums[arm][0] += reward
    ...                 self.sums[arm][1] += 1
    ...             send(self.sums, to=sender)
    """

    def take(known: type[C]) -> type[C]:
        _need_class(name, "algorithm", known)
        client, server = getattr(known, "Client", None), getattr(known, "Server", None)
        if not isinstance(client, type):
            raise InputError(f"{name}: an algorithm needs a class Client in it (and a class Server, if clients send)")
        if server is not None and not isinstance(server, type):
            raise InputError(f"{name}: Server must be a class")
        roles: dict[str, tuple[type, dict[str, tuple[str, ...]], tuple[str, ...]]]
        roles = {"client": (client, _CLIENT, ("choose",))}
        if server is not None:
            roles["server"] = (server, _SERVER, ("on_message",))
        _define(name, "algorithm", known, roles, version)
        return known

    return take


def world(name: str, *, version: str = "") -> Callable[[type[C]], type[C]]:
    """Makes a class a world that any algorithm can be run in.

    ``__init__`` may take ``seed`` and ``horizon``; all else are keys of the environment. It sets ``self.clients``,
    ``self.arms``, where arms have features ``self.dim``, and, if it likes, ``self.reward_noise`` (0.1).

    ``step`` is called once per tick, for all clients that act in it, and may take ``tick``, ``users`` (their numbers,
    an array of length n) and ``rng`` (a numpy generator that follows from seed and tick alone, so that all algorithms
    meet the same world). It returns ``(contexts, means, rewards)``: features (n, arms, dim) or ``None``; expected
    rewards (n, arms), by which regret is measured; and rewards (n, arms), or the deviation of normal noise around the
    means, or ``None`` for ``self.reward_noise``.

    Who acts when is said by the key ``arrivals``, as in all worlds: one client per tick, unless the experiment or a
    class attribute ``arrivals`` says otherwise.

    >>> import cahoots, numpy as np
    >>> @cahoots.world("docs-coins")
    ... class Coins:
    ...     arrivals = "all"
    ...
    ...     def __init__(self, seed, clients: int = 3, arms: int = 5):
    ...         self.clients, self.arms = clients, arms
    ...         self.biases = np.random.default_rng(seed).random(arms)
    ...
    ...     def step(self, users, rng):
    ...         means = np.tile(self.biases, (len(users), 1))
    ...         return None, means, rng.random(means.shape) < means
    """

    def take(known: type[C]) -> type[C]:
        _need_class(name, "world", known)
        _define(name, "world", known, {"world": (known, _WORLD, ("step",))}, version)
        return known

    return take


def own_names() -> tuple[list[str], list[str]]:
    """Names of the algorithms and of the worlds that were written in Python.

    >>> import cahoots
    >>> algorithms, worlds = cahoots.own_names()
    """
    known = _cahoots._registered()
    return [name for name, is_world in known if not is_world], [name for name, is_world in known if is_world]


def _need_class(name: object, what: str, known: object) -> None:
    if not isinstance(name, str):
        raise InputError(f'give it a name: @cahoots.{what}("my-{what}")')
    allowed = name and all(c.isascii() and (c.isalnum() or c in "-_.") for c in name)
    if not allowed:
        raise InputError(f"{name!r} is no name: use letters, digits, - and _")
    if not isinstance(known, type):
        raise InputError(f"{name}: @cahoots.{what} is for classes, not for a {type(known).__name__}")


def _define(
    name: str,
    sort: Literal["algorithm", "world"],
    whole: type,
    roles: Mapping[str, tuple[type, dict[str, tuple[str, ...]], tuple[str, ...]]],
    version: str,
) -> None:
    methods = {role: methods_of(name, known, hooks, needs) for role, (known, hooks, needs) in roles.items()}
    injected = ("seed", "horizon") if sort == "world" else ("setting", "seat")
    properties: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    takes: dict[str, list[str]] = {}
    required: list[str] = []
    stated: dict[str, str] = {}
    for role, (known, _, _) in roles.items():
        takes[role] = []
        for parameter, shape, default in parameters_of(name, known, injected):
            takes[role].append(parameter)
            if shape is None:
                continue
            if stated.setdefault(parameter, repr((shape, default))) != repr((shape, default)):
                raise InputError(f"{name}: {parameter} is one thing in Client and another in Server")
            properties[parameter] = shape
            if default is NONE:
                required.append(parameter)
            elif default is not None:
                defaults[parameter] = default
    seating = getattr(whole, "seating", "per-client")
    if seating not in ("per-client", "central", "per-host"):
        raise InputError(f'{name}: seating must be "per-client", "central" or "per-host", not {seating!r}')
    shown = {key: {**shape, **shown_default(defaults, key)} for key, shape in properties.items()}
    schema = {
        "type": "object",
        "properties": shown,
        "required": [key for key in dict.fromkeys(required) if key not in defaults],
        "additionalProperties": False,
    }
    definition = Definition(
        name=name,
        sort=sort,
        summary=summary_of(whole),
        schema=json.dumps(schema),
        code=fingerprint([whole, *(known for known, _, _ in roles.values())], version),
        defaults=defaults,
        roles=methods,
        seating=seating,
        arrivals=getattr(whole, "arrivals", "uniform") if sort == "world" else "uniform",
        classes={role: known for role, (known, _, _) in roles.items()},
        takes=takes,
    )
    adopt([definition])


@atexit.register
def _leave() -> None:
    """End what still runs of a user's code before the interpreter does: cut off within, it would abort the process."""
    until = time.monotonic() + 5.0
    while _cahoots._running() and time.monotonic() < until:
        _cahoots._interrupt(True)
        time.sleep(0.02)
