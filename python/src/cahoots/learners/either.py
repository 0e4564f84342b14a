"""Learners that take either kind of arms: features per arm, or plain arms."""

from __future__ import annotations

from cahoots._errors import InputError
from cahoots.learners.base import Arms, Form
from cahoots.learners.steps import Learner


class _Either(Learner):
    """Features per arm, or plain arms where `arms` is given."""

    dim: int | None
    arms: Arms | None

    @property
    def _form(self) -> Form:
        return "per-arm" if self.arms is None else "plain"

    def _given_dim(self) -> int | None:
        if self.arms is not None and self.dim is not None:
            raise InputError("give arms (plain arms) or dim (features per arm), not both")
        return super()._given_dim()


class Greedy(_Either):
    """The arm of the highest estimate, always: by a ridge regression over features, or by mean rewards of plain arms.

    >>> import cahoots
    >>> learner = cahoots.Greedy(arms=2)
    >>> learner.update_many([0, 1], [0.0, 1.0])
    >>> learner.decide().arm
    1
    """

    _kind = "greedy"

    def __init__(self, *, ridge: float = 0.1, dim: int | None = None, arms: Arms | None = None, seed: int = 0) -> None:
        """Features of `dim` numbers (the first use tells, where neither is given), or plain `arms`."""
        self.ridge = ridge
        self.dim = dim
        self.arms = arms
        self.seed = seed
        self._start()


class EpsilonGreedy(_Either):
    """The arm of the highest estimate, and with probability `epsilon` any arm.

    >>> import cahoots
    >>> learner = cahoots.EpsilonGreedy(epsilon=0.2, arms=2)
    >>> learner.update_many([0, 1], [0.0, 1.0])
    >>> learner.probabilities()
    array([0.1, 0.9])
    """

    _kind = "epsilon-greedy"

    def __init__(
        self,
        *,
        epsilon: float = 0.1,
        ridge: float = 0.1,
        dim: int | None = None,
        arms: Arms | None = None,
        seed: int = 0,
    ) -> None:
        """Features of `dim` numbers (the first use tells, where neither is given), or plain `arms`."""
        self.epsilon = epsilon
        self.ridge = ridge
        self.dim = dim
        self.arms = arms
        self.seed = seed
        self._start()


class Softmax(_Either):
    """Arms as likely as exp(estimate / temperature); with probability `epsilon` any arm.

    >>> import cahoots
    >>> learner = cahoots.Softmax(temperature=0.5, arms=2)
    >>> learner.update_many([0, 1], [0.0, 1.0])
    >>> learner.probabilities().round(3)
    array([0.119, 0.881])
    """

    _kind = "softmax"

    def __init__(
        self,
        *,
        temperature: float = 0.1,
        epsilon: float = 0.0,
        ridge: float = 0.1,
        dim: int | None = None,
        arms: Arms | None = None,
        seed: int = 0,
    ) -> None:
        """Features of `dim` numbers (the first use tells, where neither is given), or plain `arms`."""
        self.temperature = temperature
        self.epsilon = epsilon
        self.ridge = ridge
        self.dim = dim
        self.arms = arms
        self.seed = seed
        self._start()


class IGW(_Either):
    """Inverse-gap weighting (SquareCB): 1 / (k + gamma gap) for each arm but the best, which has the rest; after n
    observations gamma is gap_weight n^gap_exponent.

    >>> import cahoots
    >>> learner = cahoots.IGW(gap_weight=2.0, gap_exponent=0.0, arms=2)
    >>> learner.update_many([0, 1], [0.0, 1.0])
    >>> learner.probabilities()
    array([0.25, 0.75])
    """

    _kind = "igw"

    def __init__(
        self,
        *,
        gap_weight: float = 10.0,
        gap_exponent: float = 0.5,
        epsilon: float = 0.0,
        ridge: float = 0.1,
        dim: int | None = None,
        arms: Arms | None = None,
        seed: int = 0,
    ) -> None:
        """Features of `dim` numbers (the first use tells, where neither is given), or plain `arms`."""
        self.gap_weight = gap_weight
        self.gap_exponent = gap_exponent
        self.epsilon = epsilon
        self.ridge = ridge
        self.dim = dim
        self.arms = arms
        self.seed = seed
        self._start()


class Random(_Either):
    """Any arm, each as likely: what everything else must beat.

    >>> import cahoots
    >>> cahoots.Random(arms=4).decide().probability
    0.25
    """

    _kind = "random"

    def __init__(self, *, dim: int | None = None, arms: Arms | None = None, seed: int = 0) -> None:
        """Features of `dim` numbers (the first use tells, where neither is given), or plain `arms`."""
        self.dim = dim
        self.arms = arms
        self.seed = seed
        self._start()
