"""Learners for coba: its environments and evaluators drive ours (``pip install coba``).

>>> import coba
>>> from cahoots.coba import CobaLearner
>>> environments = coba.Environments.from_linear_synthetic(100, n_actions=3, seed=1)
>>> result = coba.Experiment(environments, [CobaLearner("linucb-alone", alpha=0.5)]).run(quiet=True)
>>> len(result.interactions)
100

How contexts and actions become numbers:

* a number is itself, True and False are 1 and 0;
* a category of coba's (`Categorical`) is one-hot over its levels; coba's evaluators do that before a learner sees it;
* text is a feature of its own, 1 where it occurs;
* sequences are taken apart, however deep; mappings are sparse, each key a feature.

Learners with features per arm are given the interactions that `features` names, as coba's own linear learners are: by
default a constant, the action's features and all products of the context's with the action's. With sparse features or
text the columns of the model are given out in the order in which features first occur, and there are `sparse_dim` of
them. `DisjointLinUCB` is given the context alone; it and learners of plain arms tell actions apart by equality. There
are as many arms as ``arms=`` says, or as the first decision offers; a later one may offer fewer.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cahoots._errors import InputError
from cahoots.learners import Learner, either, linear, plain
from cahoots.learners.base import whole

try:
    from coba.encodings import InteractionsEncoder  # type: ignore[import-untyped]
    from coba.primitives import Categorical, Dense, Sparse, is_batch  # type: ignore[import-untyped]
    from coba.primitives import Learner as CobaProtocol
except ImportError as error:  # pragma: no cover
    raise ImportError("cahoots.coba needs coba: pip install coba") from error

_CLASSES: dict[str, type[Learner]] = {
    learner._kind: learner
    for module in (either, linear, plain)
    for learner in vars(module).values()
    if isinstance(learner, type) and issubclass(learner, Learner) and hasattr(learner, "_kind")
}

Encoded = list[float] | dict[str, float]


class CobaLearner:
    """One of our learners, as coba expects learners to be.

    `learner` is the name of an algorithm that works alone (``"linucb-alone"``, ``"ucb-alone"``, ...) with its
    parameters, or a learner, which is copied. Plain arms need not be counted: the first decision shows how many there
    are.

    >>> from cahoots.coba import CobaLearner
    >>> CobaLearner("epsilon-greedy", epsilon=0.2, seed=3).params
    {'family': 'cahoots.EpsilonGreedy', 'epsilon': 0.2, 'ridge': 0.1, 'seed': 3, 'features': [1, 'a', 'ax']}
    """

    def __init__(
        self,
        learner: str | Learner,
        *,
        features: Sequence[str | float] = (1, "a", "ax"),
        sparse_dim: int = 256,
        **params: Any,
    ) -> None:
        """Of this kind; `features` and `sparse_dim` as the module says."""
        self._made: Learner | None
        if isinstance(learner, Learner):
            if params:
                raise InputError(f"the learner has its parameters: leave out {', '.join(params)}")
            self._template = copy.deepcopy(learner).reset()
            self._made = self._template
        else:
            if learner not in _CLASSES:
                raise InputError(f"{learner!r} is no learner that works alone; these do: {', '.join(sorted(_CLASSES))}")
            kind = _CLASSES[learner]
            counted = "arms" in params or not issubclass(kind, plain._Plain | linear.DisjointLinUCB)
            try:
                self._template = kind(**params) if counted else kind(arms=2, **params)  # type: ignore[call-arg]
            except TypeError as error:
                raise InputError(f"{kind.__name__}: {error}") from error
            self._made = self._template if counted else None
        self._counted = self._made is not None
        self._form = self._template._form
        self._features = list(features)
        self._encoder = InteractionsEncoder(self._features)
        self._sparse_dim = whole("sparse_dim", sparse_dim, 1)
        self._sparse: bool | None = None
        self._columns: dict[str, int] = {}
        self._places: dict[Any, int] = {}
        if self._counted and self._form != "per-arm":
            labels = self._template.labels
            # Labels are actions; a mere number of arms leaves it to the first decision which is which.
            if not hasattr(getattr(self._template, "arms"), "__index__"):  # noqa: B009
                self._places = {_key(label): place for place, label in enumerate(labels)}

    @property
    def params(self) -> dict[str, Any]:
        """What coba's tables say of it."""
        given = {name: value for name, value in self._template.get_params().items() if value is not None}
        if not self._counted:
            given.pop("arms")
        own = {"features": self._features} if self._form == "per-arm" else {}
        return {"family": f"cahoots.{type(self._template).__name__}", **given, **own}

    def score(self, context: Any, actions: Any, action: Any) -> float:
        """The probability with which `action` would be taken."""
        if isinstance(self._template, linear.LinTS | plain.ThompsonBeta) and self._template.samples is None:
            # coba asks whether there is a `score` by looking for that word.
            raise NotImplementedError("`score` needs probabilities: give the learner samples=, or leave `score` alone")
        offered = self._actions(context, actions)
        place = next((place for place, each in enumerate(offered) if each is action or each == action), None)
        if place is None:
            raise InputError(f"{action!r} is not among the actions")
        learner, arms, masked, places = self._offer(context, offered)
        odds = learner.probabilities(arms, masked=masked)
        assert odds is not None
        return float(odds[places[place]])

    def predict(self, context: Any, actions: Any) -> tuple[Any, float | None]:
        """An action, and the probability with which it was taken (None where the learner cannot tell)."""
        offered = self._actions(context, actions)
        learner, arms, masked, places = self._offer(context, offered)
        decision = learner.decide(arms, masked=masked)
        return offered[places.index(decision.arm)], decision.probability

    def learn(self, context: Any, action: Any, reward: float, probability: float | None = None) -> None:
        """Learns from the reward of an action."""
        if is_batch(context) or is_batch(action):
            raise InputError("one at a time: coba unpacks batches itself")
        if self._form == "per-arm":
            self._learner(1).update(self._row(self._interactions(context, action)), reward)
            return
        if self._made is None:
            raise InputError("how many actions there are is not known yet: decide first, or say arms=")
        place = self._place(_key(action))
        if self._form == "context":
            assert isinstance(self._made, linear.DisjointLinUCB)
            self._made.update(place, reward, self._row(_flat(context)), probability=probability)
        else:
            self._made.update(place, reward, probability=probability)

    def _actions(self, context: Any, actions: Any) -> list[Any]:
        if is_batch(context) or is_batch(actions):
            raise InputError("one at a time: coba unpacks batches itself")
        offered = [] if actions is None else list(actions)
        if not offered:
            raise InputError("actions are expected: at least one, and not a continuum of them")
        return offered

    def _offer(self, context: Any, actions: list[Any]) -> tuple[Learner, Any, list[bool] | None, list[int]]:
        """The learner, what it is offered, what it is not, and at which of its places the actions are."""
        if self._form == "per-arm":
            rows = np.stack([self._row(self._interactions(context, action)) for action in actions])
            return self._learner(len(actions)), rows, None, list(range(len(actions)))
        keys = [_key(action) for action in actions]
        learner = self._learner(len(keys))
        if len(set(keys)) < len(keys):
            raise InputError("some actions are alike: learners of plain arms tell them apart by equality")
        count, places = learner._count(), [self._place(key) for key in keys]
        masked = None if len(places) == count else [place not in places for place in range(count)]
        arms = self._row(_flat(context)) if self._form == "context" else None
        return learner, arms, masked, places

    def _place(self, key: Any) -> int:
        """Places are given out in the order in which actions first occur."""
        place = self._places.get(key)
        if place is None:
            place = len(self._places)
            if self._made is None or place >= self._made._count():
                raise InputError(
                    f"the action {key!r} is one more than there are arms ({place}): say how many with arms="
                )
            self._places[key] = place
        return place

    def _learner(self, actions: int) -> Learner:
        if self._made is None:
            self._made = type(self._template)(**{**self._template.get_params(), "arms": actions})
        return self._made

    def _interactions(self, context: Any, action: Any) -> Encoded:
        x, a = _flat(context), _flat(action)
        # No context: only what is said of actions, as coba's own learners do.
        encoder: Any = self._encoder
        encoded: Encoded = encoder.encode(x=x, a=a)
        return encoded

    def _row(self, encoded: Encoded) -> Any:
        """Numbers by column."""
        sparse = isinstance(encoded, dict)
        if self._sparse is None:
            self._sparse = sparse
        if self._sparse != sparse:
            raise InputError("features are dense at one time and sparse (or text) at another: encode them alike")
        if not isinstance(encoded, dict):
            if not encoded:
                raise InputError("there are no features to learn from: take a learner of plain arms (ucb-alone)")
            return np.array(encoded, dtype=float)
        row = np.zeros(self._sparse_dim)
        for name, value in encoded.items():
            column = self._columns.setdefault(name, len(self._columns))
            if column >= self._sparse_dim:
                del self._columns[name]
                raise InputError(f"more than {self._sparse_dim} different features: give a larger sparse_dim")
            row[column] = value
        return row

    def __repr__(self) -> str:
        """As it would be written."""
        if self._counted:
            return f"CobaLearner({self._template!r})"
        given = {name: value for name, value in self.params.items() if name not in ("family", "features")}
        return (
            f"CobaLearner({self._template._kind!r}, {', '.join(f'{name}={value!r}' for name, value in given.items())})"
        )


CobaProtocol.register(CobaLearner)


def _flat(value: Any) -> Encoded:
    """The numbers of a context or an action, by the rule of this module."""
    if isinstance(value, Mapping | Sparse):
        named: dict[str, float] = {}
        for key, each in value.items():
            _add(named, str(key), each)
        return named
    flat: list[float] = []
    try:
        _extend(flat, value)
        return flat
    except _Text:
        named = {}
        items = [value] if isinstance(value, str) else list(value)
        for place, each in enumerate(items):
            _add(named, str(place), each)
        return named


class _Text(Exception):
    """Text among what was thought to be numbers."""


def _extend(flat: list[float], value: Any) -> None:
    if value is None:
        return
    if isinstance(value, Categorical):
        flat.extend(map(float, value.as_onehot))
    elif isinstance(value, str | Mapping):
        raise _Text
    elif isinstance(value, Dense | np.ndarray | Sequence):
        for each in value:
            _extend(flat, each)
    else:
        flat.append(_number(value))


def _add(named: dict[str, float], name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, str):
        named[f"{name}={value}"] = 1.0
    elif isinstance(value, Mapping):
        for key, each in value.items():
            _add(named, f"{name}.{key}", each)
    elif isinstance(value, Dense | np.ndarray | Sequence):
        for place, each in enumerate(value):
            _add(named, f"{name}.{place}", each)
    else:
        named[name] = _number(value)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{value!r} is no number, category, text, sequence or mapping of them") from error


def _key(action: Any) -> Any:
    """What actions are told apart by."""
    if isinstance(action, Mapping | Sparse):
        return frozenset((key, _key(value)) for key, value in action.items())
    if isinstance(action, np.ndarray):
        return _key(action.tolist())
    if isinstance(action, Dense | list | tuple) and not isinstance(action, str):
        return tuple(_key(each) for each in action)
    return action
