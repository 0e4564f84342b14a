"""Parameters of learners, their compiled half, and copies of them."""

from __future__ import annotations

import inspect
import json
import math
import operator
import threading
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cahoots._cahoots import SoloLearner
from cahoots._errors import InputError

Form = Literal["per-arm", "context", "plain"]
Floats = NDArray[np.float64]
Arms = int | Sequence[Hashable]
B = TypeVar("B", bound="Base")
MOST_ARMS = 1 << 24

# The first use of a learner whose dim is not known yet makes its model: by one thread.
_beginning = threading.Lock()


class Base:
    """What all learners have in common.

    Parameters are attributes, as scikit-learn has them: `get_params`, `set_params` and `sklearn.base.clone` work. One
    that is changed after something was learned holds from the next `fit` or `reset` on, and until then the learner
    refuses to go on: no model is a mixture of two settings.
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

    def set_params(self: B, **params: Any) -> B:
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
        return None if dim is None else whole("dim", dim, 1)

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
            return list(range(whole("arms", arms, 1, MOST_ARMS)))
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
        return len(self.labels) if arms is None or hasattr(arms, "__len__") else whole("arms", arms, 1, MOST_ARMS)

    def _make(self, dim: int, state: bytes | None = None) -> SoloLearner:
        settings = {name: value for name, value in self._settings().items() if value is not None}
        for name, value in settings.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise InputError(f"{name} must be a finite number, not {value}")
        try:
            params = json.dumps(settings, default=_plain)
        except (TypeError, ValueError) as error:
            raise InputError(f"{type(self).__name__}: {error}") from error
        seed = whole("seed", self.seed, 0, (1 << 64) - 1)
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
                    "parameters were changed after something was learned: reset() or fit(...) starts anew with them"
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

    def reset(self: B) -> B:
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

    def __sklearn_tags__(self) -> Any:
        """For scikit-learn, which asks every estimator; asked by nobody else."""
        from sklearn.base import BaseEstimator  # type: ignore[import-untyped]

        return BaseEstimator().__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        """For scikit-learn's `check_is_fitted`."""
        return self.observations > 0

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
        rows: Floats | None = None if self._core is None else self._core.coefficients()
        if rows is None:
            raise AttributeError("there is no linear model here, or none yet")
        return rows if self._form == "context" else rows[0]

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
            if not (
                value is listed[name].default
                or (type(value) is type(listed[name].default) and value == listed[name].default)
            )
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in said.items())})"


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
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
