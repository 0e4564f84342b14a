"""Learners of linear models."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from cahoots._cahoots import Decision
from cahoots._errors import InputError
from cahoots.learners.base import Arms, Form
from cahoots.learners.steps import Decisions, Learner

Radius = float | Literal["log-det", "count"]


class LinUCB(Learner):
    """The arm of the highest upper confidence bound, by one ridge regression over the features of arms.

    `alpha` (or `radius`, which is the same with a number) is a fixed confidence radius: an arm's score is its estimate
    plus alpha times sqrt(x' V^-1 x), where V = ridge I + sum of x x'. Without one, the radius is that of the theory for
    rewards of sub-Gaussian scale `reward_noise` (0.1 when absent): from the determinant of V (``radius="log-det"``) or
    from the number of observations (``"count"``). With `epsilon`, any arm is taken with that probability.

    >>> import numpy as np, cahoots
    >>> rng = np.random.default_rng(0)
    >>> truth, learner = np.array([0.9, -0.2, 0.1]), cahoots.LinUCB(alpha=0.5, ridge=1.0)
    >>> for _ in range(200):
    ...     arms = rng.normal(size=(5, 3))
    ...     decision = learner.decide(arms)
    ...     learner.update(decision, arms[decision.arm] @ truth)
    >>> np.abs(learner.coef_ - truth).max() < 0.05
    np.True_
    """

    _kind = "linucb-alone"

    def __init__(
        self,
        dim: int | None = None,
        *,
        alpha: float | None = None,
        ridge: float = 0.1,
        radius: Radius | None = None,
        failure_prob: float = 0.1,
        reward_noise: float | None = None,
        epsilon: float | None = None,
        seed: int = 0,
    ) -> None:
        """With features of `dim` numbers; the first use tells where it is not given."""
        self.dim = dim
        self.alpha = alpha
        self.ridge = ridge
        self.radius = radius
        self.failure_prob = failure_prob
        self.reward_noise = reward_noise
        self.epsilon = epsilon
        self.seed = seed
        self._start()

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        alpha, radius = settings.pop("alpha"), settings.pop("radius")
        if alpha is not None and radius is not None:
            raise InputError("give alpha or radius, not both: alpha is a radius that is a number")
        return {
            **settings,
            "radius": _radius("alpha" if radius is None else "radius", alpha if radius is None else radius),
        }


class LinTS(Learner):
    """Linear Thompson sampling: the best arm of a model drawn from N(estimate, sampling_scale^2 V^-1).

    `sampling_scale` is `reward_noise` when absent, and that is 0.1. With `samples`, so many models are drawn and then
    one of them, so that the probability of the arm can be stated; otherwise `Decision.probability` is None.

    >>> import cahoots
    >>> learner = cahoots.LinTS(dim=2, sampling_scale=0.5, seed=7)
    >>> learner.decide([[1.0, 0.0], [0.0, 1.0]]).probability is None
    True
    >>> learner = cahoots.LinTS(dim=2, samples=100)
    >>> learner.probabilities([[1.0, 0.0], [0.0, 1.0]]).sum().item()
    1.0
    """

    _kind = "lints-alone"

    def __init__(
        self,
        dim: int | None = None,
        *,
        sampling_scale: float | None = None,
        ridge: float = 0.1,
        reward_noise: float | None = None,
        samples: int | None = None,
        epsilon: float | None = None,
        seed: int = 0,
    ) -> None:
        """With features of `dim` numbers; the first use tells where it is not given."""
        self.dim = dim
        self.sampling_scale = sampling_scale
        self.ridge = ridge
        self.reward_noise = reward_noise
        self.samples = samples
        self.epsilon = epsilon
        self.seed = seed
        self._start()


class DisjointLinUCB(Learner):
    """A LinUCB for each arm (Li et al. 2010, Algorithm 1): all arms see one context, each has a model of its own.

    `arms` is their number or a list of labels; `decide` and `update` speak of positions, `fit` and `predict` of labels.
    `alpha` is 1 + sqrt(ln(2 / failure_prob) / 2) when absent.

    >>> import cahoots
    >>> learner = cahoots.DisjointLinUCB(arms=["tea", "coffee"], alpha=0.1)
    >>> learner.partial_fit(["tea", "coffee"], [0.0, 1.0], [[1.0, 0.5], [1.0, 0.5]]).predict([[1.0, 0.5]])
    array(['coffee'], dtype='<U6')
    >>> decision = learner.decide([1.0, 0.5])
    >>> decision.arm, learner.labels[decision.arm]
    (1, 'coffee')
    >>> learner.update(decision, reward=1.0)
    """

    _kind = "disjoint-linucb"

    def __init__(
        self,
        arms: Arms,
        dim: int | None = None,
        *,
        alpha: float | None = None,
        ridge: float = 1.0,
        failure_prob: float = 0.1,
        seed: int = 0,
    ) -> None:
        """For these arms, with contexts of `dim` numbers; the first use tells where that is not given."""
        self.arms = arms
        self.dim = dim
        self.alpha = alpha
        self.ridge = ridge
        self.failure_prob = failure_prob
        self.seed = seed
        self._start()

    @property
    def _form(self) -> Form:
        return "context"

    def decide(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, context: ArrayLike | None = None, *, masked: Sequence[bool] | None = None
    ) -> Decision:
        """Decides in a context ``(d,)``.

        >>> import cahoots
        >>> cahoots.DisjointLinUCB(arms=3).decide([0.1, 0.2]).arm
        0
        """
        core = self._core
        if core is None:
            core = self._begin(context)
        return core.decide(context, masked)

    def decide_many(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, contexts: ArrayLike | int
    ) -> Decisions:
        """Decides in many contexts ``(n, d)`` with what is known now.

        >>> import numpy as np, cahoots
        >>> len(cahoots.DisjointLinUCB(arms=3).decide_many(np.ones((7, 2))))
        7
        """
        return super().decide_many(contexts)

    def update(
        self,
        what: Decision | ArrayLike | int,
        reward: float,
        context: ArrayLike | None = None,
        *,
        probability: float | None = None,
    ) -> None:
        """Learns from a reward: of a decision, or of the arm at a position in a context.

        >>> import cahoots
        >>> learner = cahoots.DisjointLinUCB(arms=3)
        >>> learner.update(2, 1.0, context=[0.1, 0.2])
        >>> learner.observations
        1
        """
        if type(what) is Decision:
            if context is not None:
                raise InputError("a decision knows its context: leave it out")
            super().update(what, reward)
            return
        core = self._begin(context) if self._core is None else self._core
        arm = what if type(what) is int and what >= 0 else self._position(what)
        core.update_logged(reward, arm, context, probability)

    def update_many(
        self,
        what: Decisions | ArrayLike,
        rewards: ArrayLike,
        contexts: ArrayLike | None = None,
        *,
        probabilities: ArrayLike | None = None,
    ) -> None:
        """Learns from many rewards in their order: of decisions, or of arms, by position, in contexts ``(n, d)``.

        >>> import cahoots
        >>> learner = cahoots.DisjointLinUCB(arms=3)
        >>> learner.update_many([0, 1], [1.0, 0.0], [[0.1, 0.2], [0.3, 0.4]])
        >>> learner.observations
        2
        """
        if isinstance(what, Decisions):
            if contexts is not None:
                raise InputError("decisions know their contexts: leave them out")
            self._update_decisions(what, rewards)
            return
        core = self._begin(contexts) if self._core is None else self._core
        core.update_many(rewards, what, contexts, probabilities)

    def partial_fit(self, decisions: Any, rewards: ArrayLike, contexts: ArrayLike | None = None) -> DisjointLinUCB:
        """Learns from logged decisions (labels of arms), their rewards and their contexts ``(n, d)``, in their order.

        >>> import cahoots
        >>> learner = cahoots.DisjointLinUCB(arms=["a", "b"])
        >>> learner.partial_fit(["a", "b"], [1.0, 0.0], [[0.1, 0.2], [0.3, 0.4]]).observations
        2
        """
        if contexts is None:
            raise InputError("contexts are expected, shape (n, d)")
        self.update_many(self._positions(decisions), rewards, contexts)
        return self

    def predict(self, contexts: ArrayLike | None = None) -> Any:
        """Labels of the arms taken in contexts ``(n, d)``, an array; for one context ``(d,)`` a label.

        >>> import cahoots
        >>> cahoots.DisjointLinUCB(arms=["a", "b"]).predict([0.1, 0.2])
        'a'
        """
        if contexts is None or len(np.shape(contexts)) < 2:
            return self.labels[self.decide(contexts).arm]
        return _array(self.labels)[self.decide_many(contexts).arm]

    def predict_expectations(self, contexts: ArrayLike | None = None) -> Any:
        """Upper confidence bounds by label: a dict for one context ``(d,)``, a list of dicts for contexts ``(n, d)``.

        >>> import cahoots
        >>> cahoots.DisjointLinUCB(arms=["a", "b"], alpha=2.0).predict_expectations([1.0, 0.0])
        {'a': 2.0, 'b': 2.0}
        """
        if contexts is None or len(np.shape(contexts)) < 2:
            return dict(zip(self.labels, self._expectations(contexts).tolist(), strict=True))
        return [self.predict_expectations(context) for context in np.asarray(contexts)]


def _radius(name: str, radius: Any) -> Any:
    """As the compiled learner reads it."""
    if radius is None or radius in ("log-det", "count"):
        return radius
    if isinstance(radius, str | bool | np.bool_):
        raise InputError(f"{name} must be a number of at least 0, 'log-det' or 'count', not {radius!r}")
    try:
        number = float(radius)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number of at least 0, 'log-det' or 'count', not {radius!r}") from error
    if not (0 <= number < float("inf")):
        raise InputError(f"{name} must be a number of at least 0, not {number}")
    return {"fixed": number}


def _array(labels: list[Hashable]) -> Any:
    """Labels in an array: of their own type where they share one."""
    if all(isinstance(label, str) for label in labels) or all(type(label) in (int, float) for label in labels):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
