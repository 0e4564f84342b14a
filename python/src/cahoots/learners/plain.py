"""Learners of plain arms: the same each time, without features."""

from __future__ import annotations

import math

from cahoots._errors import InputError
from cahoots.learners.base import Arms, Form
from cahoots.learners.steps import Learner


class _Plain(Learner):
    """Plain arms."""

    arms: Arms

    @property
    def _form(self) -> Form:
        return "plain"


class UCB(_Plain):
    """UCB1: the highest mean + scale sqrt(ln t / n); sqrt(2) is Auer's for rewards in [0, 1].

    >>> import cahoots
    >>> learner = cahoots.UCB(arms=["tea", "coffee"])
    >>> learner.fit(["tea", "coffee"], [0.2, 0.9]).predict()
    'coffee'
    """

    _kind = "ucb-alone"

    def __init__(self, arms: Arms, *, scale: float = math.sqrt(2.0), seed: int = 0) -> None:
        """For these arms: their number or their labels."""
        self.arms = arms
        self.scale = scale
        self.seed = seed
        self._start()


class KLUCB(_Plain):
    """KL-UCB for rewards in [0, 1]: the largest q with n d(mean, q) <= ln t + confidence_constant ln ln t.

    >>> import cahoots
    >>> cahoots.KLUCB(arms=2).fit([0, 1], [0.0, 1.0]).predict()
    1
    """

    _kind = "kl-ucb-alone"

    def __init__(self, arms: Arms, *, confidence_constant: float = 0.0, seed: int = 0) -> None:
        """For these arms: their number or their labels."""
        self.arms = arms
        self.confidence_constant = confidence_constant
        self.seed = seed
        self._start()


class MOSS(_Plain):
    """MOSS (Audibert and Bubeck 2009), which has to know how many `pulls` it will make.

    >>> import cahoots
    >>> cahoots.MOSS(arms=2, pulls=1000).fit([0, 1], [0.0, 1.0]).predict()
    1
    """

    _kind = "moss-alone"

    def __init__(self, arms: Arms, pulls: int, *, seed: int = 0) -> None:
        """For these arms: their number or their labels."""
        self.arms = arms
        self.pulls = pulls
        self.seed = seed
        self._start()

    def _given_dim(self) -> int | None:
        if self.pulls is None:
            raise InputError("pulls: say how many decisions this learner will make")
        return super()._given_dim()


class ThompsonBeta(_Plain):
    """Thompson sampling with Beta posteriors, for rewards in [0, 1]: one between is a coin of that probability.

    With `samples`, all arms are drawn so many times and then one of the winners, so that its probability can be stated.

    >>> import cahoots
    >>> cahoots.ThompsonBeta(arms=2, seed=3).fit([0, 1] * 50, [0.0, 1.0] * 50).predict()
    1
    """

    _kind = "ts-beta-alone"

    def __init__(self, arms: Arms, *, samples: int | None = None, seed: int = 0) -> None:
        """For these arms: their number or their labels."""
        self.arms = arms
        self.samples = samples
        self.seed = seed
        self._start()


class Exp3(_Plain):
    """Exp3 (Auer et al. 2002), for rewards in [0, 1] that nobody need have drawn.

    `mixing` is gamma, the share of arms at random; from `pulls`, how many decisions it will make, when absent. A reward
    is divided by the probability of its arm: that of the decision, the one that is given to `update`, or the present
    one.

    >>> import cahoots
    >>> learner = cahoots.Exp3(arms=2, mixing=0.1)
    >>> learner.probabilities()
    array([0.5, 0.5])
    """

    _kind = "exp3-alone"

    def __init__(self, arms: Arms, *, mixing: float | None = None, pulls: int | None = None, seed: int = 0) -> None:
        """For these arms: their number or their labels."""
        self.arms = arms
        self.mixing = mixing
        self.pulls = pulls
        self.seed = seed
        self._start()

    def _given_dim(self) -> int | None:
        if self.mixing is None and self.pulls is None:
            raise InputError("give mixing, or pulls: how many decisions this learner will make")
        return super()._given_dim()
