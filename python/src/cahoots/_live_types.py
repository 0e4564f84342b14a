"""What is asked of a live client and what it tells, and how Python's values become what the compiled half takes."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple, TypeAlias, TypedDict

import numpy as np

# At once: numpy imports it when it is first named, and a fork in that moment would wait for an import that never ends.
import numpy.ma as ma
from numpy.typing import NDArray

from cahoots._errors import InputError

Arm: TypeAlias = "int | str"
"""An arm: its position, counted from 0, where arms were offered by position; its id where they have some."""

Path: TypeAlias = "str | PathLike[str]"

Told: TypeAlias = (
    "tuple[str, Arm, float | None, tuple[float, float] | None, float | None, int, str, list[Any] | None, str | None]"
)
Asked: TypeAlias = (
    "tuple[Any, list[Arm], int | None, int, str | None, bool, list[tuple[str, float | str]] | None, Arm | None]"
)
Credit: TypeAlias = "tuple[str, bool, float, str | None]"

_ID = re.compile(r"[0-9]+-[0-9]+")
_MOST = 2**32 - 1


class ClientOptions(TypedDict, total=False):
    """What `cahoots.Client` takes beside the federation and the client's number."""

    store: Path
    coordinator: Any
    algorithm: str | None
    params: Mapping[str, Any] | None
    setting: Mapping[str, Any] | None
    seed: int
    keys: Path | None
    authorities: Path | None
    invitation: str | None
    plain_text: bool
    sync: str
    tick: float
    expiry: float
    default_reward: float | None
    decisions: Path | Mapping[str, Any] | None
    privacy: Mapping[str, Any] | None
    gain: Mapping[str, Any] | None
    apprentice: Mapping[str, Any] | None
    telemetry: Mapping[str, Any] | None
    limits: Mapping[str, Any] | None
    drain: float | None
    longest_pause: float
    snapshot_every: int


class Ranked(NamedTuple):
    """An arm of a ranking, and what is known of it; `None` where the policy cannot tell.

    >>> import cahoots
    >>> cahoots.Ranked("red", 0.7, (0.2, 0.7), 0.85).probability
    0.85
    """

    arm: Arm
    score: float | None
    interval: tuple[float, float] | None
    probability: float | None


class Drained(NamedTuple):
    """What became of a drain.

    >>> import cahoots
    >>> cahoots.Drained(sent=3, left=0, unconfirmed=0).unconfirmed
    0
    """

    sent: int
    """Observations that were sent."""
    left: int
    """Observations that this algorithm cannot send before their time."""
    unconfirmed: int
    """Messages that the coordinator has not confirmed yet."""


@dataclass(frozen=True)
class Decided:
    """What was decided: the words of `POST /decide`."""

    id: str
    """The decision's name, to be given back with the reward."""
    arm: Arm
    """The arm to take."""
    score: float | None = None
    """What the policy compared arms by."""
    interval: tuple[float, float] | None = None
    """Where it believes the arm's expected reward to lie."""
    probability: float | None = None
    """How likely it was to take this arm of these; `None` where the policy cannot tell."""
    model: int = 0
    """A number that grows whenever what is known does."""
    decided: str = "alone"
    """Who decided: "federated", "alone" or "baseline"."""
    ranking: tuple[Ranked, ...] | None = None
    """With `top`: the arm that is taken, then the others by falling probability."""
    event: str | None = None
    """The app's own name for the decision."""
    _client: Any = field(default=None, repr=False, compare=False)

    @property
    def propensities(self) -> dict[Arm, float]:
        """How likely each ranked arm was to be taken; of the arm that was taken alone where nothing was ranked.

        Raises `InputError` where the policy cannot tell.
        """
        ranking = self.ranking or (Ranked(self.arm, self.score, self.interval, self.probability),)
        told = {ranked.arm: ranked.probability for ranked in ranking if ranked.probability is not None}
        if len(told) < len(ranking):
            raise InputError("this policy cannot tell how likely it was to take an arm: others, as softmax, can")
        return told

    def __getstate__(self) -> dict[str, Any]:
        """What was decided can go anywhere; the client that decided cannot."""
        return {**self.__dict__, "_client": None}

    def _whose(self) -> Any:
        if self._client is None:
            raise InputError(
                f"decision {self.id} was pickled or copied, and has no client any more: give it to the client that "
                "decided, client.reward(decision, value)"
            )
        return self._client


@dataclass(frozen=True)
class Ask:
    """A decision that is asked for, where several are: what `Client.decide` takes.

    >>> import cahoots
    >>> ask = cahoots.Ask([[1.0, 0.0], [0.0, 1.0]], event="visit 17", top=2)
    >>> ask.event
    'visit 17'
    """

    arms: Any = None
    user: int | None = None
    masked: Any = ()
    top: int = 0
    event: str | None = None
    deferred: bool = False
    context: Mapping[str, float | str] | None = None
    baseline: Arm | None = None


def asked(
    arms: Any,
    user: Any = None,
    masked: Any = (),
    top: Any = 0,
    event: Any = None,
    deferred: Any = False,
    context: Any = None,
    baseline: Any = None,
) -> Asked:
    """A decision that is asked for, as the compiled half takes it."""
    offered = offer(arms)
    return (
        offered,
        masks(masked, offered),
        None if user is None else whole("user", user),
        whole("top", top),
        None if event is None else text("event", event),
        bool(deferred),
        None if context is None else known(context),
        None if baseline is None else arm("baseline", baseline),
    )


def asked_all(asks: Iterable[Any]) -> list[Asked]:
    """Several decisions that are asked for: each an `Ask`, or arms."""
    return [
        asked(a.arms, a.user, a.masked, a.top, a.event, a.deferred, a.context, a.baseline)
        if isinstance(a, Ask)
        else asked(a)
        for a in asks
    ]


def whole(name: str, value: Any) -> int:
    """A number from 0 that fits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, not {value!r}") from None
    if not 0 <= number <= _MOST:
        raise InputError(f"{name} must be from 0 to {_MOST}, not {number}")
    return number


def text(name: str, value: Any) -> str:
    """A text that can be written as UTF-8."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text, not {value!r}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name} {value!r} cannot be written as UTF-8: it holds half of a character") from None
    return str(value)


def arm(name: str, value: Any) -> Arm:
    """An arm's id or position."""
    if isinstance(value, str):
        return text(name, value)
    if isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} must name arms by id or position, not by {value!r}")
    return whole(name, value)


def numbers(what: str, value: Any, ndim: int) -> NDArray[np.float64]:
    """An array of so many axes, laid out as the compiled half reads it."""
    if type(value) is not np.ndarray or value.dtype != np.float64:
        if isinstance(value, ma.MaskedArray) and ma.is_masked(value):
            raise InputError(f"{what} has masked entries: fill them, as by .filled(0.0)")
        try:
            value = np.asarray(value)
        except (ValueError, TypeError) as error:
            raise InputError(f"{what} cannot be read as numbers ({error}): give rows of the same length") from None
        if value.dtype == object and all(isinstance(x, (int, float, np.number)) for x in value.flat):
            value = value.astype(np.float64)
        if value.dtype.kind not in "biuf":
            raise InputError(f"{what} must be numbers, not {value.dtype}")
    if value.ndim != ndim:
        expected = "a table with a row for each arm" if ndim == 2 else "one row of numbers"
        raise InputError(f"{what} has shape {value.shape}, where {expected} is expected")
    return np.require(value, np.float64, ["C_CONTIGUOUS", "ALIGNED"])


def _features(id: str, features: Any) -> NDArray[np.float64] | None:
    return None if features is None else numbers(f"features of arm {id!r}", features, 1)


def _named(item: Any) -> tuple[str, NDArray[np.float64] | None]:
    if isinstance(item, Mapping):
        unknown = set(item) - {"id", "features"}
        if unknown or "id" not in item:
            raise InputError(f"an arm is an id, or {{'id': ..., 'features': [...]}}, not {dict(item)!r}")
        id = text("an arm's id", item["id"])
        return (id, _features(id, item.get("features")))
    return (text("an arm's id", item), None)


def _frame(frame: Any) -> Any:
    labels = frame.index
    if type(labels).__name__ == "RangeIndex" and labels.start == 0 and labels.step == 1:
        return numbers("arms", frame.to_numpy(), 2)
    rows = numbers("arms", frame.to_numpy(), 2)
    for label in labels:
        if not isinstance(label, str):
            raise InputError(
                f"the index of arms holds {label!r}, and ids are texts: frame.index = frame.index.astype(str), or "
                "frame.reset_index(drop=True) to offer arms by position"
            )
    return [(text("an arm's id", label), row) for label, row in zip(labels, rows, strict=True)]


def offer(arms: Any) -> Any:
    """Arms on offer: nothing, a number, a table, or a list of (id, features)."""
    if arms is None:
        return None
    if isinstance(arms, (bool, np.bool_, str, bytes, float)):
        raise InputError(f"arms cannot be {arms!r}: give a number of arms, a table of features, or a list of ids")
    if isinstance(arms, (int, np.integer)):
        return whole("arms", arms)
    if isinstance(arms, np.ndarray):
        if arms.ndim == 1 and (
            arms.dtype.kind == "U" or (arms.dtype == object and all(isinstance(x, str) for x in arms))
        ):
            return [_named(item) for item in arms.tolist()]
        return numbers("arms", arms, 2)
    if hasattr(arms, "index") and hasattr(arms, "columns") and hasattr(arms, "to_numpy"):
        return _frame(arms)
    if isinstance(arms, Mapping):
        named = [(text("an arm's id", id), features) for id, features in arms.items()]
        return [(id, _features(id, features)) for id, features in named]
    if hasattr(arms, "__array__") and not isinstance(arms, Sequence) and getattr(arms, "ndim", 2) == 2:
        return numbers("arms", arms, 2)
    try:
        items = list(arms)
    except TypeError:
        raise InputError(f"arms cannot be {type(arms).__name__}: give a table of features, or a list of ids") from None
    if items and all(isinstance(item, (str, Mapping)) for item in items):
        return [_named(item) for item in items]
    return numbers("arms", items, 2)


def masks(masked: Any, offered: Any) -> list[Arm]:
    """Arms that cannot be chosen, from a list of them or from a mask."""
    if masked is None or (isinstance(masked, tuple) and not masked):
        return []
    if isinstance(masked, (str, bytes, int, Mapping)) or not isinstance(masked, Iterable):
        raise InputError(f"masked must be a list of arms, not {masked!r}")
    items = masked.tolist() if isinstance(masked, np.ndarray) else list(masked)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        there_are = len(offered) if isinstance(offered, (list, np.ndarray)) else offered
        if there_are is not None and there_are != len(items):
            raise InputError(f"masked has {len(items)} flags for {there_are} arms: give one for each")
        names: Sequence[Arm] = [name for name, _ in offered] if isinstance(offered, list) else range(len(items))
        return [name for name, flag in zip(names, items, strict=True) if flag]
    return [arm("masked", item) for item in items]


def known(context: Any) -> list[tuple[str, float | str]]:
    """What was known before, for the record: numbers and words."""
    if not isinstance(context, Mapping):
        raise InputError(f"context must be a dict of numbers and words, not {context!r}")
    pairs: list[tuple[str, float | str]] = []
    for key, value in context.items():
        key = text("a key of context", key)
        if isinstance(value, str):
            pairs.append((key, text(f"context[{key!r}]", value)))
            continue
        if not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
            raise InputError(f"context[{key!r}] must be a finite number or a word, not {value!r}")
        pairs.append((key, float(value)))
    return pairs


def which(decision: Any, event: str | None) -> tuple[str, bool]:
    """Which decision is meant, and whether by its event."""
    if event is not None:
        if decision is not None:
            raise InputError("name the decision or its event, not both")
        return (text("event", event), True)
    if isinstance(decision, Decided):
        return (decision.id, False)
    if isinstance(decision, str):
        return (text("the decision", decision), _ID.fullmatch(decision) is None)
    raise InputError(f"which decision? Give what `decide` returned, its id, or the name of its event, not {decision!r}")


def value_of(value: Any) -> float:
    """A reward as a number; whether it can be learned from is the node's to say."""
    if value is None or isinstance(value, (str, bytes, complex)):
        raise InputError(f"a reward must be a number, not {value!r}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"a reward must be a number, not {value!r}") from None


def credit(item: Any) -> Credit:
    """A reward of several: (decision, value), (decision, value, part), or a dict of the words of `POST /reward`."""
    if isinstance(item, Mapping):
        unknown = set(item) - {"id", "event", "reward", "part"}
        if unknown or "reward" not in item or ("id" in item) == ("event" in item):
            raise InputError(
                f"a reward is {{'id' or 'event': ..., 'reward': ...}}, with an optional 'part', not {dict(item)!r}"
            )
        name, event = (item["event"], True) if "event" in item else (item["id"], False)
        value, part = item["reward"], item.get("part")
        of = (text("event" if event else "id", name), event)
    elif isinstance(item, (tuple, list)) and len(item) in (2, 3):
        of = which(item[0], None)
        value, part = item[1], item[2] if len(item) == 3 else None
    else:
        raise InputError(f"a reward is (decision, value) or (decision, value, part), not {item!r}")
    return (*of, value_of(value), None if part is None else text("part", part))


def arrived(arms: Any) -> list[tuple[str, NDArray[np.float64] | None, int | None]]:
    """Arms that are to be registered: {id: features}, {id: number} or a table with ids."""
    if hasattr(arms, "index") and hasattr(arms, "columns"):
        framed = _frame(arms)
        if isinstance(framed, np.ndarray):
            raise InputError("arms that are registered have ids: give the frame an index of texts")
        return [(id, row, None) for id, row in framed]
    if not isinstance(arms, Mapping):
        raise InputError(f"arms that are registered are a dict of id and features, or of id and number, not {arms!r}")
    come: list[tuple[str, NDArray[np.float64] | None, int | None]] = []
    for id, is_ in arms.items():
        id = text("an arm's id", id)
        if isinstance(is_, (int, np.integer)) and not isinstance(is_, bool):
            come.append((id, None, whole(f"the number of arm {id!r}", is_)))
        else:
            come.append((id, numbers(f"features of arm {id!r}", is_, 1), None))
    return come
