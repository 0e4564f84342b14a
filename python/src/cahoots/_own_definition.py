"""What a class said about itself, and what makes clients, servers and worlds of it; the compiled half calls this."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from cahoots import _cahoots
from cahoots._errors import InputError


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


# What `step` of a world may take, in the order in which it is given here.
WORLD_WORDS = ("tick", "users", "rng")


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
    """The class of a name: states refer to it this way, so that classes of notebooks and functions can be restored."""
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

    def __init__(self, name: str, made: object, takes: list[str], seed: int, arms: int, dim: int, noise: float) -> None:
        self._name, self._step = name, getattr(made, "step")  # noqa: B009
        self._places, self._draws = [WORLD_WORDS.index(word) for word in takes], "rng" in takes
        self._arms, self._dim, self._noise = arms, dim, noise
        # Philox counts: each tick has a counter of its own, and setting it is much cheaper than making a generator.
        key = np.frombuffer(blake2b(seed.to_bytes(8, "little"), digest_size=16).digest(), np.uint64)
        self._bits = np.random.Philox(key=key)
        self._rng = np.random.Generator(self._bits)
        self._fresh: Any = dict(self._bits.state)
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


def exported(names: Sequence[str] | None = None) -> list[Definition]:
    """What has been written in Python, of these names or all of it, for another process, which has to :func:`adopt` it.

    Classes of a notebook can be sent where the sender pickles classes whole, as Ray does.

    >>> exported(["nobody"])
    []
    """
    return [known for name, known in _DEFINED.items() if names is None or name in names]


def adopt(definitions: Sequence[Definition]) -> None:
    """Makes known here what another process has :func:`exported`.

    >>> adopt(exported())
    """
    for definition in definitions:
        _cahoots._register(definition)
        _DEFINED[definition.name] = definition


def raise_in(threads: Sequence[int]) -> None:
    """Raises KeyboardInterrupt in threads that run a user's code: signals reach the main thread alone."""
    import ctypes

    for thread in set(threads):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
