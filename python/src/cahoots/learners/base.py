"""What all learners have in common."""

from __future__ import annotations

import inspect
import json
import math
import operator
import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cahoots._cahoots import SoloLearner
from cahoots._errors import InputError
from cahoots._cahoots import Decision

Form = Literal["per-arm", "context", "plain"]
Floats = NDArray[np.float64]
L = TypeVar("L", bound="Learner")
MOST_ARMS = 1 << 24

# The first use of a learner whose dim is not known yet makes its model: by one thread.
_beginning = threading.Lock()


@dataclass(frozen=True)
class Decisions:
    """Many decisions: an entry of each array for each of them. Hand them back to `update_many` with their rewards."""

    arm: NDArray[np.int64]
    """Positions of the arms."""
    probability: Floats
    """How likely each arm was; NaN where that is not known."""
    score: Floats
    """What arms were compared by; NaN where they were not."""
    features: Floats
    """Features of the arms that were chosen, or the contexts, shape (n, d)."""

    def __len__(self) -> int:
        """How many."""
        return len(self.arm)


class Learner:
    """What all learners have in common; `cahoots.learners` says which there are.

    Parameters are attributes, as scikit-learn has them: `get_params`, `set_params` and `sklearn.base.clone` work. One that
    is changed after something was learned holds from the next `fit` or `reset` on, and until then the learner refuses to go
    on: no model is a mixture of two settings.
    """

    _kind: ClassVar[str]
    seed: int
    _core: SoloLearner | None
    _stale: bool
    _dim: int | None

    # Parameters

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        names = cls.__dict__.get("_names")
        if names is None:
            names = tuple(name for name in inspect.signature(cls).parameters)
            cls._names = names  # type: ignore[attr-defined]
        return tuple(names)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name; `deep` is there for scikit-learn and changes nothing.

        >>> import cahoots
        >>> cahoots.Greedy(arms=3).get_params()
        {'ridge': 0.1, 'dim': None, 'arms': 3, 'seed': 0}
        """
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self: L, **params: Any) -> L:
        """Changes parameters. What was learned is given up with the next `fit` or `reset`, which has to come first.

        >>> import cahoots
        >>> cahoots.EpsilonGreedy(arms=3).set_params(epsilon=0.3)
        EpsilonGreedy(epsilon=0.3, arms=3)
        """
        unknown = [name for name in params if name not in self._parameters()]
        if unknown:
            raise InputError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {', '.join(self._parameters())}"
            )
        before = self.get_params(deep=False)
        try:
            for name, value in params.items():
                object.__setattr__(self, name, value)
            self._check()
        except Exception:
            for name, value in before.items():
                object.__setattr__(self, name, value)
            raise
        self._changed()
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        """A parameter that is assigned is a parameter that is set."""
        if "_core" in self.__dict__ and name in self._parameters():
            self.set_params(**{name: value})
        else:
            object.__setattr__(self, name, value)

    def _changed(self) -> None:
        core = self._core
        self._stale = self._stale or (core is not None and core.counts()[1] > 0)
        self._core, self._dim = None, None
        if not self._stale:
            self._start()

    def _settings(self) -> dict[str, Any]:
        """What the compiled learner is told, by its names."""
        own = ("dim", "arms", "seed")
        return {name: value for name, value in self.get_params().items() if name not in own}

    # The compiled half

    @property
    def _form(self) -> Form:
        return "per-arm"

    def _given_dim(self) -> int | None:
        """Features, where they are known: 0 for plain arms."""
        if self._form == "plain":
            return 0
        dim = getattr(self, "dim", None)
        return None if dim is None else _whole("dim", dim, 1)

    @property
    def labels(self) -> list[Hashable]:
        """What `fit` and `predict` call the arms; empty where every decision brings its own.

        >>> import cahoots
        >>> cahoots.UCB(arms=["tea", "coffee"]).labels
        ['tea', 'coffee']
        """
        arms = getattr(self, "arms", None)
        if arms is None:
            return []
        if isinstance(arms, str | bytes) or not (hasattr(arms, "__len__") or hasattr(arms, "__index__")):
            raise InputError(f"arms must be their number or a list of labels, not {arms!r}")
        if not hasattr(arms, "__len__"):
            return list(range(_whole("arms", arms, 1, MOST_ARMS)))
        labels = np.asarray(arms).tolist() if isinstance(arms, np.ndarray) else list(arms)
        try:
            distinct = len(set(labels))
        except TypeError as error:
            raise InputError("labels of arms must be hashable: strings, numbers, tuples") from error
        if not labels or distinct < len(labels):
            raise InputError("give each arm a label of its own, and at least one arm")
        return labels

    def _count(self) -> int:
        """How many arms there are, where they are always the same: without a list of a million labels."""
        arms = getattr(self, "arms", None)
        return len(self.labels) if arms is None or not hasattr(arms, "__index__") else _whole("arms", arms, 1, MOST_ARMS)

    def _make(self, dim: int, state: bytes | None = None) -> SoloLearner:
        settings = {name: value for name, value in self._settings().items() if value is not None}
        for name, value in settings.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise InputError(f"{name} must be a finite number, not {value}")
        try:
            params = json.dumps(settings, default=_plain)
        except (TypeError, ValueError) as error:
            raise InputError(f"{type(self).__name__}: {error}") from error
        seed = _whole("seed", self.seed, 0, (1 << 64) - 1)
        return SoloLearner(self._kind, params, dim, self._count(), seed, state)

    def _check(self) -> None:
        """Refuses parameters that cannot be, before anything is learned."""
        dim = self._given_dim()
        self._make(1 if dim is None else dim)

    def _start(self) -> None:
        """The last line of every constructor."""
        object.__setattr__(self, "_core", None)
        self._stale = False
        self._dim = self._given_dim()
        self._core = self._make(1 if self._dim is None else self._dim)
        if self._dim is None:
            self._core = None

    def _begin(self, offered: ArrayLike | None) -> SoloLearner:
        """The compiled half, made when the first features show how many there are."""
        with _beginning:
            if self._core is not None:
                return self._core
            if self._stale:
                raise InputError(
                    "parameters were changed after something was learned: call reset() or fit(...) to start anew with them"
                )
            if offered is None:
                raise InputError("features are expected: an array whose last axis are the features")
            try:
                shape = np.shape(offered)
            except ValueError as error:
                raise InputError(f"features must be an array of numbers: {error}") from error
            if not shape or shape[-1] == 0:
                raise InputError(f"features must have a last axis with at least one feature, not shape {shape}")
            self._core, self._dim = self._make(shape[-1]), shape[-1]
            return self._core

    def reset(self: L) -> L:
        """Forgets all that was learned.

        >>> import cahoots
        >>> learner = cahoots.UCB(arms=2)
        >>> learner.update(0, 1.0)
        >>> learner.reset().observations
        0
        """
        self._start()
        return self

    @property
    def observations(self) -> int:
        """How many rewards it has learned from."""
        return 0 if self._core is None else self._core.counts()[1]

    @property
    def n_features_in_(self) -> int:
        """Features of an arm or of a context, known from the first use on; 0 for plain arms."""
        if self._dim is None:
            raise AttributeError("n_features_in_ is known from the first use on, or with dim=")
        return self._dim

    @property
    def coef_(self) -> Floats:
        """Coefficients of the model, shape (d,), or of each arm's, shape (k, d).

        >>> import cahoots
        >>> learner = cahoots.LinUCB(dim=2, ridge=1.0)
        >>> learner.update([1.0, 0.0], 1.0)
        >>> learner.coef_
        array([0.5, 0. ])
        """
        rows = None if self._core is None else self._core.coefficients()
        if rows is None:
            raise AttributeError("there is no linear model here, or none yet")
        return rows if self._form == "context" else rows[0]

    # One at a time

    def decide(self, arms: ArrayLike | None = None, *, masked: Sequence[bool] | None = None) -> Decision:
        """Decides among arms: features ``(k, d)``, or nothing for plain arms. Masked arms are not chosen.

        >>> import cahoots
        >>> cahoots.LinUCB(dim=2).decide([[1, 0], [0, 1]], masked=[True, False]).arm
        1
        """
        core = self._core
        if core is None:
            core = self._begin(arms)
        return core.decide(arms, masked)

    def update(self, what: Decision | ArrayLike | int, reward: float, *, probability: float | None = None) -> None:
        """Learns from a reward. `what` is the decision, or what was pulled: the features ``(d,)`` of the arm, or its
        position where arms are plain. Each call is one observation, whoever decided; `probability` is what the arm was
        taken with, where that is known (`Exp3` alone asks).

        >>> import cahoots
        >>> learner = cahoots.LinUCB(dim=2)
        >>> learner.update([0.5, 0.5], 1.0)
        >>> learner.observations
        1
        """
        core = self._core
        if type(what) is Decision:
            if core is None:
                core = self._begin(what.features)
            core.update(what, reward)
        elif self._form == "plain":
            core = self._begin(None) if core is None else core
            arm = what if type(what) is int and what >= 0 else self._position(what)
            core.update_logged(reward, arm, None, probability)
        else:
            core = self._begin(what) if core is None else core  # type: ignore[arg-type]
            core.update_logged(reward, 0, what, probability)

    def _position(self, arm: Any) -> int:
        return _whole("arm", arm, 0, self._count() - 1)

    # Many at a time

    def decide_many(self, arms: ArrayLike | int) -> Decisions:
        """Decides many times with what is known now: arms ``(n, k, d)``, or how many times where arms are plain.

        >>> import numpy as np, cahoots
        >>> cahoots.LinUCB(dim=3).decide_many(np.ones((5, 2, 3))).arm
        array([0, 0, 0, 0, 0])
        """
        core = self._begin(arms) if self._core is None else self._core
        return Decisions(*core.decide_many(arms))

    def update_many(
        self, what: Decisions | ArrayLike, rewards: ArrayLike, *, probabilities: ArrayLike | None = None
    ) -> None:
        """Learns from many rewards, in their order; if one is refused, none is learned from. `what` are the decisions, or
        what was pulled: features ``(n, d)``, or positions ``(n,)`` where arms are plain.

        >>> import cahoots
        >>> learner = cahoots.UCB(arms=3)
        >>> learner.update_many([0, 1, 2, 1], [0.1, 0.9, 0.2, 0.8])
        >>> learner.decide().arm
        1
        """
        if isinstance(what, Decisions):
            self._update_decisions(what, rewards)
        elif self._form == "plain":
            core = self._begin(None) if self._core is None else self._core
            core.update_many(rewards, what, None, probabilities)
        else:
            core = self._begin(what) if self._core is None else self._core
            core.update_many(rewards, None, what, probabilities)

    def _update_decisions(self, decisions: Decisions, rewards: ArrayLike) -> None:
        core = self._begin(decisions.features) if self._core is None else self._core
        features = None if self._form == "plain" else decisions.features
        core.update_many(rewards, decisions.arm, features, decisions.probability)

    def probabilities(
        self, arms: ArrayLike | None = None, *, masked: Sequence[bool] | None = None
    ) -> Floats | None:
        """How likely the next decision is to take each arm; None where the learner cannot tell (Thompson sampling without
        `samples`). Changes nothing.

        >>> import cahoots
        >>> cahoots.Random(arms=4).probabilities()
        array([0.25, 0.25, 0.25, 0.25])
        """
        core = self._begin(arms) if self._core is None else self._core
        return core.odds(arms, masked)

    # MABWiser's and scikit-learn's habits

    def fit(self: L, decisions: Any, rewards: ArrayLike, contexts: ArrayLike | None = None) -> L:
        """Forgets, then learns from what was logged: see `partial_fit`.

        >>> import cahoots
        >>> cahoots.UCB(arms=["a", "b"]).fit(["a", "b", "b"], [1.0, 0.0, 0.0]).predict()
        'a'
        """
        return self.reset().partial_fit(decisions, rewards, contexts)

    def partial_fit(self: L, decisions: Any, rewards: ArrayLike, contexts: ArrayLike | None = None) -> L:
        """Learns from logged decisions (labels of arms) and their rewards, in their order.

        Where arms have features, `contexts` are either those of the arms that were pulled, ``(n, d)`` with ``decisions=None``,
        or of all that were offered, ``(n, k, d)`` with positions as decisions.

        >>> import numpy as np, cahoots
        >>> offered = np.eye(2)[None].repeat(3, axis=0)
        >>> cahoots.LinUCB().partial_fit([0, 1, 1], [1.0, 0.2, 0.1], offered).observations
        3
        """
        if self._form == "plain":
            if contexts is not None:
                raise InputError(f"{type(self).__name__} has plain arms: leave contexts out, or take DisjointLinUCB")
            self.update_many(self._positions(decisions), rewards)
            return self
        if contexts is None:
            raise InputError("contexts are expected: the features of the arms, (n, d) of those pulled or (n, k, d) of all")
        shape = np.shape(contexts)
        if len(shape) == 3:
            arms = np.asarray(decisions)
            if arms.shape != (shape[0],) or arms.dtype.kind not in "iu":
                raise InputError(f"decisions must be {shape[0]} positions of arms, whole numbers")
            if shape[0] and not (0 <= arms.min() and arms.max() < shape[1]):
                raise InputError(f"decisions must lie between 0 and {shape[1] - 1}, the positions of the arms offered")
            contexts = np.asarray(contexts)[np.arange(shape[0]), arms]
        elif decisions is not None:
            raise InputError(
                f"{type(self).__name__} has one model for all arms: with contexts of shape (n, d), the features of the "
                "arms that were pulled, decisions is None. For one context that all arms see, and a model for each arm, "
                "take DisjointLinUCB"
            )
        self.update_many(contexts, rewards)
        return self

    def _positions(self, decisions: Any) -> NDArray[np.int64]:
        places = {label: place for place, label in enumerate(self.labels)}
        listed = decisions.tolist() if hasattr(decisions, "tolist") else list(decisions)
        try:
            return np.array([places[label] for label in listed], dtype=np.int64)
        except (KeyError, TypeError) as error:
            raise InputError(f"no arm is called {error.args[0]!r}; arms are {self.labels!r}") from error

    def predict(self, contexts: ArrayLike | None = None) -> Any:
        """The arm that the learner takes now; it counts as a decision, so that one that draws draws anew next time.

        Plain arms: a label. Features: a position for ``(k, d)``, an array of them for ``(n, k, d)``.

        >>> import numpy as np, cahoots
        >>> cahoots.LinUCB().predict(np.eye(3))
        0
        """
        if self._form == "plain":
            if contexts is not None:
                raise InputError(f"{type(self).__name__} has plain arms: leave contexts out, or take DisjointLinUCB")
            return self.labels[self.decide().arm]
        if len(np.shape(contexts)) == 3 and contexts is not None:
            return self.decide_many(contexts).arm
        return self.decide(contexts).arm

    def predict_expectations(self, contexts: ArrayLike | None = None) -> Any:
        """What arms are compared by (bounds for learners that are optimistic), or their mean rewards for learners that draw;
        NaN for arms of which nothing is known. A dict by label for plain arms, an array where arms have features.

        >>> import cahoots
        >>> cahoots.Greedy(arms=["a", "b"]).fit(["a", "a", "b"], [1.0, 0.0, 0.3]).predict_expectations()
        {'a': 0.5, 'b': 0.3}
        """
        if self._form == "plain":
            if contexts is not None:
                raise InputError(f"{type(self).__name__} has plain arms: leave contexts out, or take DisjointLinUCB")
            return dict(zip(self.labels, self._expectations(None).tolist(), strict=True))
        if len(np.shape(contexts)) == 3 and contexts is not None:
            rows = [self._expectations(arms) for arms in np.asarray(contexts)]
            return np.stack(rows) if rows else np.empty(np.shape(contexts)[:2])
        return self._expectations(contexts)

    def _expectations(self, arms: ArrayLike | None) -> Floats:
        core = self._begin(arms) if self._core is None else self._core
        scores, means = core.scores(arms)
        known: Floats = np.where(np.isnan(scores), means, scores)
        return known

    # Copies

    def __getstate__(self) -> dict[str, Any]:
        """All of it: what was learned goes on bit for bit."""
        kept = {name: value for name, value in self.__dict__.items() if name != "_core"}
        core = self._core
        kept["_state"] = None if core is None else core.state()
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """As it was."""
        kept = dict(kept)
        state = kept.pop("_state")
        self.__dict__.update(kept)
        object.__setattr__(self, "_core", None)
        if state is not None and self._dim is not None:
            self._core = self._make(self._dim, state)

    def __repr__(self) -> str:
        """As it would be written, without what is as always."""
        listed = inspect.signature(type(self)).parameters
        said = {
            name: value
            for name, value in self.get_params().items()
            if not (value is listed[name].default or (type(value) is type(listed[name].default) and value == listed[name].default))
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in said.items())})"


def _whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number in these bounds."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, not {value!r}") from None
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InputError(f"{name} must be {bounds}, not {number}")
    return number


def _plain(value: Any) -> Any:
    """What JSON does not know: numpy's numbers."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is no number that a parameter can have")
