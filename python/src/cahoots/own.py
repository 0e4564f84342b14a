"""One's own ideas in thirty lines: policies, whole algorithms and worlds written in Python.

A class gets a name by a decorator and can then be named in any experiment, beside the algorithms and worlds that come with
Cahoots. Methods are given what their parameters are named after, in any order; what a method does not name is not made.

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

Keyword parameters of ``__init__`` are the algorithm's parameters: an experiment may set and sweep them, and a misspelt one is
refused with the nearest name. Everything a class keeps is saved by pickling it.
"""

from __future__ import annotations

import inspect
import io
import json
import pickle
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import blake2b
from typing import Any, Literal, TypeVar

import numpy as np

from cahoots import _cahoots
from cahoots._errors import InputError

__all__ = ["Seat", "Setting", "algorithm", "own_names", "policy", "world"]

C = TypeVar("C")


@dataclass(frozen=True)
class Setting:
    """What is known before anything is learned; ``setting`` in ``__init__``.

    >>> Setting(clients=3, arms=5, dim=2, local_dims=(), horizon=100, reward_noise=0.1).arms
    5
    """

    clients: int
    """Clients of the federation."""
    arms: int
    """Arms offered per decision."""
    dim: int
    """Features of an arm that all clients share; 0 where arms have none."""
    local_dims: tuple[int, ...]
    """Features of a client's own, per client; empty where there are none."""
    horizon: int
    """Ticks."""
    reward_noise: float
    """Scale of the reward noise."""


@dataclass(frozen=True)
class Seat:
    """One machine's place in the federation; ``seat`` in ``__init__``.

    >>> Seat(client=None, clients=3, dim=2, local_dim=0).client is None
    True
    """

    client: int | None
    """Number of this client, from 0; ``None`` at the server's seat."""
    clients: int
    """Clients of the federation."""
    dim: int
    """Features of an arm that all clients share."""
    local_dim: int
    """Features of this client's own: they come after the shared ones."""


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
_WORLD = {"step": ("tick", "users", "rng")}
_ALSO = {"msg": "message"}
_RESERVED = {
    "kind": "it names the algorithm or world in an experiment",
    "label": "it names an entry of an experiment",
    "code": "it tells one version of your code from another",
    "arrivals": "every world has this key: for another default, set a class attribute `arrivals`",
}


@dataclass
class Definition:
    """What a class said about itself, as the compiled half reads it."""

    name: str
    sort: Literal["algorithm", "world"]
    summary: str
    schema: str
    code: str
    defaults: dict[str, Any]
    roles: dict[str, dict[str, list[str]]]
    seating: str = "per-client"
    arrivals: Any = "uniform"
    classes: dict[str, type] = field(default_factory=dict)
    takes: dict[str, list[str]] = field(default_factory=dict)

    def build(
        self, role: str, seat: Mapping[str, Any], setting: Mapping[str, Any], params: Mapping[str, Any]
    ) -> object:
        """A client or a server."""
        given = {"seat": Seat(**seat), "setting": Setting(**setting), **params}
        return self.classes[role](**{name: given[name] for name in self.takes[role] if name in given})

    def build_world(self, seed: int, horizon: int, params: Mapping[str, Any]) -> tuple[int, int, int, float, object]:
        """A world: clients, arms, features, noise, and what gives a tick."""
        given = {"seed": seed, "horizon": horizon, **params}
        made = self.classes["world"](**{name: given[name] for name in self.takes["world"] if name in given})
        clients, arms, dim = (
            self._count(made, "clients", 1, None),
            self._count(made, "arms", 1, None),
            self._count(made, "dim", 0, 0),
        )
        noise = getattr(made, "reward_noise", 0.1)
        if isinstance(noise, bool) or not isinstance(noise, (int, float)) or not 0 <= noise < 1e30:
            raise InputError(f"{self.name}: self.reward_noise must be a number of at least 0, not {noise!r}")
        step = _Steps(self.name, made, self.roles["world"]["step"], seed, arms, dim, float(noise))
        return clients, arms, dim, float(noise), step

    def dumps(self, machine: object) -> bytes:
        """The state of a client or a server, as bytes that ``pickle.loads`` reads."""
        out = io.BytesIO()
        try:
            _Pickler(out, self).dump(machine)
        except Exception as error:
            raise InputError(
                f"{self.name}: what {type(machine).__name__} keeps in self cannot be pickled: {error}"
            ) from error
        return out.getvalue()

    def _count(self, made: object, what: str, least: int, default: int | None) -> int:
        value = getattr(made, what, default)
        if value is None:
            raise InputError(f"{self.name}: set self.{what} in __init__, a whole number")
        try:
            number = int(value.__index__())
        except (AttributeError, TypeError):
            number = least - 1
        if isinstance(value, bool) or not least <= number < 2**31:
            raise InputError(f"{self.name}: self.{what} must be a whole number of at least {least}, not {value!r}")
        return number


_DEFINED: dict[str, Definition] = {}


def _class_of(name: str, role: str) -> type:
    """The class of a name: states refer to classes this way, so that those of notebooks and functions can be restored."""
    return _DEFINED[name].classes[role]


class _Pickler(pickle.Pickler):
    def __init__(self, out: io.BytesIO, definition: Definition) -> None:
        super().__init__(out, protocol=5)
        self._roles = {id(known): (definition.name, role) for role, known in definition.classes.items()}

    def reducer_override(self, obj: object) -> Any:
        place = self._roles.get(id(obj)) if isinstance(obj, type) else None
        return NotImplemented if place is None else (_class_of, place)


_FLOAT = np.dtype(np.float64)


class _Steps:
    """Asks a world for a tick, and makes plain arrays of its answer."""

    def __init__(
        self, name: str, made: object, takes: list[str], seed: int, arms: int, dim: int, noise: float
    ) -> None:
        self._name, self._step = name, getattr(made, "step")  # noqa: B009
        self._places, self._draws = [_WORLD["step"].index(word) for word in takes], "rng" in takes
        self._arms, self._dim, self._noise = arms, dim, noise
        # Philox counts: each tick has a counter of its own, and setting it is much cheaper than making a generator.
        key = np.frombuffer(blake2b(seed.to_bytes(8, "little"), digest_size=16).digest(), np.uint64)
        self._bits = np.random.Philox(key=key)
        self._rng = np.random.Generator(self._bits)
        self._fresh: dict[str, Any] = dict(self._bits.state)
        self._counter = np.zeros(4, np.uint64)
        self._fresh["state"] = {"counter": self._counter, "key": key}

    def __call__(self, tick: int, users: np.ndarray[Any, Any]) -> tuple[Any, Any, Any, float]:
        given = (tick, users, self._at(tick) if self._draws else None)
        answer = self._step(*[given[place] for place in self._places])
        if not isinstance(answer, tuple) or len(answer) != 3:
            features = "contexts" if self._dim else "None"
            raise self._wrong(f"a tuple ({features}, means, rewards)", answer)
        contexts, means, rewards = answer
        shape = (len(users), self._arms)
        if self._dim:
            contexts = self._array("contexts", contexts, (*shape, self._dim))
        elif contexts is not None:
            raise self._wrong("None in place of contexts, since self.dim is not set", contexts)
        means = self._array("means", means, shape)
        if rewards is None:
            return contexts, means, None, self._noise
        if not isinstance(rewards, bool) and isinstance(rewards, (int, float)):
            if not 0 <= rewards < 1e30:
                raise self._wrong("a deviation of at least 0, or an array of rewards", rewards)
            return contexts, means, None, float(rewards)
        return contexts, means, self._array("rewards", rewards, shape), 0.0

    def _at(self, tick: int) -> np.random.Generator:
        """The generator of a tick: the same for every algorithm, whatever it does."""
        self._counter[2] = tick
        self._bits.state = self._fresh
        return self._rng

    def _array(self, what: str, value: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        if type(value) is np.ndarray and value.shape == shape and value.dtype is _FLOAT and value.flags.c_contiguous:
            return value
        try:
            array = np.asarray(value)
            array = array.astype(np.float64, order="C", casting="same_kind", copy=False)
        except (TypeError, ValueError) as error:
            raise self._wrong(f"{what} that are numbers", value) from error
        if array.shape != shape:
            try:
                array = np.ascontiguousarray(np.broadcast_to(array, shape))
            except ValueError:
                axes = ("clients that act", "arms", "features")
                said = ", ".join(f"{size} {axis}" for size, axis in zip(shape, axes, strict=False))
                raise InputError(
                    f"step of {self._name!r} must return {what} of shape {shape} ({said}), not {array.shape}"
                ) from None
        return np.ascontiguousarray(array)

    def _wrong(self, wanted: str, got: object) -> InputError:
        return InputError(f"step of {self._name!r} must return {wanted}; it returned {repr(got)[:100]}")


def policy(name: str, *, version: str = "") -> Callable[[type[C]], type[C]]:
    """Makes a class an algorithm whose clients are on their own: each decides by what it has seen itself.

    The class has ``choose`` and ``observe``; ``abandon`` (a reward that never comes) and ``commit`` (the decision is taken) are
    there for those who need them. ``choose`` returns the index of an arm, or the index and the probability it was drawn with.

    - ``__init__`` may take ``setting`` (:class:`Setting`) and ``seat`` (:class:`Seat`); all else are parameters.
    - ``choose`` may take ``arms`` (a read-only array with a row per arm; the number of arms where they have no features),
      ``rng`` and ``user``.
    - ``observe`` may take ``arm``, ``context`` (the features of the arm that was chosen), ``reward``, ``user``, ``tick``, ``rng``.

    ``rng`` is light and has numpy's names: ``random``, ``uniform``, ``normal``, ``standard_normal``, ``integers``,
    ``choice(n, p)``; ``rng.generator()`` is a numpy generator, for more. All draws follow from the run's seed.

    Runs of other code are never taken for runs of this one: the code of the class and its bases is part of what a run is known
    by. Where it calls functions elsewhere, raise ``version`` when they change.

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
    ``send(message)`` writes to the server, whose ``on_message`` may take ``sender`` (the client's number), ``message`` and
    ``send``: ``send(message, to=client)``. A message is any object that can be pickled; it is charged with the numbers in it,
    or with ``scalars=``, and with its bytes. ``control=True`` marks a signal without statistics, which is not charged.

    ``send`` (also called ``step``) does more: ``send.wake_at(tick)`` asks for a call of ``on_wake``, ``send.level(name, value)``
    and ``send.count(name)`` make columns of one's own, ``send.rounds()`` counts synchronous rounds. ``on_start`` comes first;
    a server's ``on_join`` and ``on_leave`` take ``client``.

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

    ``__init__`` may take ``seed`` and ``horizon``; all else are keys of the environment. It sets ``self.clients``, ``self.arms``,
    where arms have features ``self.dim``, and, if it likes, ``self.reward_noise`` (0.1).

    ``step`` is called once per tick, for all clients that act in it, and may take ``tick``, ``users`` (their numbers, an array
    of length n) and ``rng`` (a numpy generator that follows from seed and tick alone, so that all algorithms meet the same
    world). It returns ``(contexts, means, rewards)``: features (n, arms, dim) or ``None``; expected rewards (n, arms), by which
    regret is measured; and rewards (n, arms), or the deviation of normal noise around the means, or ``None`` for
    ``self.reward_noise``.

    Who acts when is said by the key ``arrivals``, as in all worlds: one client per tick, unless the experiment or a class
    attribute ``arrivals`` says otherwise.

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


def _raise_in(threads: Sequence[int]) -> None:
    """Raises KeyboardInterrupt in threads that run a user's code: signals reach the main thread alone."""
    import ctypes

    for thread in set(threads):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))


def exported(names: Sequence[str] | None = None) -> list[Definition]:
    """What has been written in Python, of these names or all of it, for another process: a worker calls :func:`adopt` with it.

    Classes of a notebook can be sent where the sender pickles classes whole, as Ray does.
    """
    return [known for name, known in _DEFINED.items() if names is None or name in names]


def adopt(definitions: Sequence[Definition]) -> None:
    """Makes known here what another process has :func:`exported`."""
    for definition in definitions:
        _cahoots._register(definition)
        _DEFINED[definition.name] = definition


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
    methods = {role: _methods(name, known, hooks, needs) for role, (known, hooks, needs) in roles.items()}
    injected = ("seed", "horizon") if sort == "world" else ("setting", "seat")
    properties: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    takes: dict[str, list[str]] = {}
    required: list[str] = []
    stated: dict[str, str] = {}
    for role, (known, _, _) in roles.items():
        takes[role] = []
        for parameter, shape, default in _parameters(name, known, injected):
            takes[role].append(parameter)
            if shape is None:
                continue
            if stated.setdefault(parameter, repr((shape, default))) != repr((shape, default)):
                raise InputError(f"{name}: {parameter} is one thing in Client and another in Server")
            properties[parameter] = shape
            if default is _NONE:
                required.append(parameter)
            elif default is not None:
                defaults[parameter] = default
    seating = getattr(whole, "seating", "per-client")
    if seating not in ("per-client", "central", "per-host"):
        raise InputError(f'{name}: seating must be "per-client", "central" or "per-host", not {seating!r}')
    shown = {key: {**shape, **_shown_default(defaults, key)} for key, shape in properties.items()}
    schema = {
        "type": "object",
        "properties": shown,
        "required": [key for key in dict.fromkeys(required) if key not in defaults],
        "additionalProperties": False,
    }
    definition = Definition(
        name=name,
        sort=sort,
        summary=_summary(whole),
        schema=json.dumps(schema),
        code=_fingerprint([whole, *(known for known, _, _ in roles.values())], version),
        defaults=defaults,
        roles=methods,
        seating=seating,
        arrivals=getattr(whole, "arrivals", "uniform") if sort == "world" else "uniform",
        classes={role: known for role, (known, _, _) in roles.items()},
        takes=takes,
    )
    adopt([definition])


_NONE = object()


def _summary(known: type) -> str:
    lines = (known.__dict__.get("__doc__") or "").strip().splitlines()
    return lines[0].strip() if lines else f"{known.__qualname__}, written in Python"


def _shown_default(defaults: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = defaults.get(key)
    if hasattr(value, "tolist"):
        value = value.tolist()  # type: ignore[union-attr]
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return {}
    return {} if value is None else {"default": value}


def _methods(
    name: str, known: type, hooks: Mapping[str, tuple[str, ...]], needs: Sequence[str]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    where = f"{name}: {known.__qualname__}"
    for hook, words in hooks.items():
        function = inspect.getattr_static(known, hook, None)
        if function is None:
            if hook in needs:
                raise InputError(f"{where} needs a method {hook}(self, {', '.join(words[:3])})")
            continue
        if not isinstance(function, types.FunctionType):
            raise InputError(f"{where}.{hook} must be an ordinary method")
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise InputError(f"{where}.{hook} must be an ordinary method: neither async nor with yield")
        takes: list[str] = []
        for parameter in list(inspect.signature(function).parameters.values())[1:]:
            word = _ALSO.get(parameter.name, parameter.name)
            plain = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            if plain and word in words:
                takes.append(word)
            elif parameter.kind == parameter.KEYWORD_ONLY and parameter.default is not parameter.empty:
                continue
            elif plain and parameter.default is not parameter.empty:
                break
            else:
                near = get_close_matches(parameter.name, words, 1)
                help = f"did you mean {near[0]}?" if near else f"it may take {', '.join(words)}"
                raise InputError(f"{where}.{hook} takes `{parameter}`, which is nothing that it can be given: {help}")
        found[hook] = takes
    # A name that is nearly a method's would never be called.
    for attribute in vars(known):
        if attribute.startswith("on_") and attribute not in hooks and callable(getattr(known, attribute)):
            near = get_close_matches(attribute, hooks, 1)
            help = f"did you mean {near[0]}?" if near else f"there are {', '.join(hooks)}"
            raise InputError(f"{where}.{attribute} would never be called: {help}")
    return found


def _parameters(
    name: str, known: type, injected: Sequence[str]
) -> list[tuple[str, dict[str, Any] | None, Any]]:
    """Parameters of ``__init__``: name, shape (None for what is injected), default."""
    init = known.__init__  # type: ignore[misc]
    if init is object.__init__:
        return []
    where = f"{name}: {known.__qualname__}.__init__"
    try:
        hints = typing.get_type_hints(init, include_extras=True)
    except Exception as error:
        raise InputError(f"{where} has an annotation that cannot be read: {error}") from error
    found: list[tuple[str, dict[str, Any] | None, Any]] = []
    for parameter in list(inspect.signature(init).parameters.values())[1:]:
        if parameter.name in injected:
            found.append((parameter.name, None, _NONE))
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise InputError(f"{where} takes `{parameter}`: name every parameter, so that experiments can set it")
        if parameter.name in _RESERVED and (parameter.name != "arrivals" or "seed" in injected):
            raise InputError(f"{where}: a parameter cannot be called {parameter.name}: {_RESERVED[parameter.name]}")
        default = _NONE if parameter.default is parameter.empty else parameter.default
        hint = hints.get(parameter.name, _NONE)
        if hint is _NONE:
            if default is _NONE or default is None:
                raise InputError(
                    f"{where}: say what {parameter.name} is, `{parameter.name}: float` say; "
                    f"what is no parameter is called {' or '.join(injected)}"
                )
            hint = float if isinstance(default, int) and not isinstance(default, bool) else type(default)
        shape = _shape(hint)
        if shape is None:
            raise InputError(
                f"{where}: {parameter.name} cannot be a {hint!r}: parameters are int, float, bool, str, Literal, lists of "
                "these, or dict"
            )
        found.append((parameter.name, shape, default))
    return found


def _shape(hint: Any) -> dict[str, Any] | None:
    """JSON schema of a type; None where it has none."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        inner, words = _shape(arguments[0]), [word for word in arguments[1:] if isinstance(word, str)]
        return inner and {**inner, **({"description": words[0]} if words else {})}
    plain = {bool: "boolean", int: "integer", str: "string"}
    if isinstance(hint, type) and hint in plain:
        return {"type": plain[hint]}
    if hint is float:
        return {"type": "number", "x-infinite": True}
    if origin is Literal and all(isinstance(word, str) for word in arguments):
        return {"enum": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        inner_shapes = [_shape(argument) for argument in arguments if argument is not type(None)]
        if any(inner is None for inner in inner_shapes):
            return None
        return inner_shapes[0] if len(inner_shapes) == 1 else {"anyOf": inner_shapes}
    if hint in (list, tuple):
        return {"type": "array"}
    if origin in (list, tuple, Sequence):
        inner = _shape(arguments[0])
        return inner and {"type": "array", "items": inner}
    if hint is dict or origin is dict:
        return {"type": "object", "additionalProperties": True}
    if hint is np.ndarray or origin is np.ndarray:
        return {"type": "array"}
    return None


# What Python writes into every class, of which none is run.
_NO_CODE = frozenset(
    "__module__ __dict__ __weakref__ __doc__ __qualname__ __firstlineno__ __static_attributes__ __annotations__ "
    "__annotate__ __annotate_func__ __annotations_cache__ __abstractmethods__ __slotnames__ _abc_impl".split()
)

# The flag of types that were not there before any code ran; their module may be anything, for those made by `exec`.
_MADE_BY_CODE = 1 << 9


def _fingerprint(classes: Sequence[type], version: str) -> str:
    """A short text that changes when the code does: of the classes, their bases, and the classes in them."""
    digest = blake2b(version.encode(), digest_size=8)
    seen: set[type] = set()
    home = {known.__module__ for known in classes}

    def of_class(known: type) -> None:
        digest.update(known.__qualname__.rpartition(".")[2].encode())
        if known in seen or known.__module__ in ("abc", "typing") or not known.__flags__ & _MADE_BY_CODE:
            return
        seen.add(known)
        for base in known.__mro__[1:]:
            of_class(base)
        for name, value in sorted(vars(known).items()):
            if name not in _NO_CODE:
                digest.update(name.encode())
                of_value(value)

    def of_value(value: object) -> None:
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, property):
            for part in (value.fget, value.fset, value.fdel):
                of_value(part)
        elif isinstance(value, types.FunctionType):
            of_value(value.__defaults__)
            of_value(value.__kwdefaults__)
            of_value(value.__code__)
        elif isinstance(value, types.CodeType):
            digest.update(value.co_code)
            of_value((value.co_names, value.co_varnames, value.co_freevars))
            of_value(value.co_consts)
        elif isinstance(value, type) and value.__module__ in home:
            of_class(value)
        elif isinstance(value, type):
            digest.update(value.__qualname__.encode())
        elif isinstance(value, (list, tuple)):
            digest.update(f"{type(value).__name__} {len(value)}".encode())
            for item in value:
                of_value(item)
        elif isinstance(value, (set, frozenset)):
            digest.update(repr(sorted(map(repr, value))).encode())
        elif isinstance(value, dict):
            for key, item in value.items():
                of_value(key)
                of_value(item)
        elif isinstance(value, np.ndarray):
            digest.update(f"{value.dtype} {value.shape}".encode() + value.tobytes())
        elif isinstance(value, (str, bytes, int, float, complex, bool, type(None), type(...))):
            digest.update(repr(value).encode())
        else:
            # Anything else may say where it lies in memory: only what it is counts.
            digest.update(type(value).__qualname__.encode())
        digest.update(b"\0")

    for known in classes:
        of_class(known)
    return digest.hexdigest()
