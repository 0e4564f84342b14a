"""The steps of a learner: decide, learn, and what users of MABWiser and scikit-learn expect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cahoots._cahoots import Decision
from cahoots._errors import InputError
from cahoots.learners.base import Base, Floats, whole

L = TypeVar("L", bound="Learner")


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


class Learner(Base):
    """What all learners do; `cahoots.learners` says which there are."""

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
            features: ArrayLike = what
            core = self._begin(features) if core is None else core
            core.update_logged(reward, 0, features, probability)

    def _position(self, arm: Any) -> int:
        return whole("arm", arm, 0, self._count() - 1)

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
        """Learns from many rewards, in their order. If one is refused, none is learned from; Ctrl-C may come between.

        `what` are the decisions, or what was pulled: features ``(n, d)``, or positions ``(n,)`` where arms are plain.

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

    def probabilities(self, arms: ArrayLike | None = None, *, masked: Sequence[bool] | None = None) -> Floats | None:
        """How likely the next decision is to take each arm; None where the learner cannot tell (Thompson sampling
        without `samples`). Changes nothing.

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

        Where arms have features, `contexts` are either those of the arms that were pulled, ``(n, d)`` with
        ``decisions=None``, or of all that were offered, ``(n, k, d)`` with positions as decisions.

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
            raise InputError(
                "contexts are expected: the features of the arms, (n, d) of those pulled or (n, k, d) of all"
            )
        shape = np.shape(contexts)
        if len(shape) == 3:
            arms = np.asarray(decisions)
            if arms.shape != (shape[0],) or arms.dtype.kind not in "iu":
                raise InputError(f"decisions must be {shape[0]} positions of arms, whole numbers")
            if shape[0] and not (arms.min() >= 0 and arms.max() < shape[1]):
                raise InputError(f"decisions must lie between 0 and {shape[1] - 1}, the positions of the arms offered")
            contexts = np.asarray(contexts)[np.arange(shape[0]), arms]
        elif decisions is not None:
            raise InputError(
                f"{type(self).__name__} has one model for all arms: with contexts of shape (n, d), the features of the "
                "arms that were pulled, decisions is None. For one context that all arms see and a model for each arm, "
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
        if contexts is not None and len(np.shape(contexts)) == 3:
            return self.decide_many(contexts).arm
        return self.decide(contexts).arm

    def predict_expectations(self, contexts: ArrayLike | None = None) -> Any:
        """What arms are compared by (bounds for learners that are optimistic), or mean rewards for learners that draw;
        NaN for arms of which nothing is known. A dict by label for plain arms, an array where arms have features.

        >>> import cahoots
        >>> cahoots.Greedy(arms=["a", "b"]).fit(["a", "a", "b"], [1.0, 0.0, 0.3]).predict_expectations()
        {'a': 0.5, 'b': 0.3}
        """
        if self._form == "plain":
            if contexts is not None:
                raise InputError(f"{type(self).__name__} has plain arms: leave contexts out, or take DisjointLinUCB")
            return dict(zip(self.labels, self._expectations(None).tolist(), strict=True))
        if contexts is not None and len(np.shape(contexts)) == 3:
            rows = [self._expectations(arms) for arms in np.asarray(contexts)]
            return np.stack(rows) if rows else np.empty(np.shape(contexts)[:2])
        return self._expectations(contexts)

    def _expectations(self, arms: ArrayLike | None) -> Floats:
        core = self._begin(arms) if self._core is None else self._core
        scores: Floats
        means: Floats
        scores, means = core.scores(arms)
        known: Floats = np.where(np.isnan(scores), means, scores)
        return known
