"""How each library does the work. What a user of the library would write, without detours."""

from __future__ import annotations

import importlib
import importlib.metadata
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import cahoots

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class Model(Protocol):
    """A LinUCB with a model for each arm."""

    def prepare(self, contexts: Floats) -> list[Any]:
        """Contexts in the form in which a user of the library has them; not timed."""
        ...

    def decide(self, context: Any) -> int:
        """The arm that it would take."""
        ...

    def update(self, arm: int, context: Any, reward: float) -> None:
        """Learns from one reward."""
        ...

    def fit(self, arms: Places, contexts: Floats, rewards: Floats) -> None:
        """Learns from all of them."""
        ...

    def predict(self, contexts: Floats) -> Any:
        """The arms that it would take."""
        ...


class Ours:
    """`cahoots.DisjointLinUCB`."""

    def __init__(self, arms: int, dim: int, alpha: float, ridge: float) -> None:
        """A new one."""
        self.learner = cahoots.DisjointLinUCB(arms, dim, alpha=alpha, ridge=ridge)

    def prepare(self, contexts: Floats) -> list[Any]:
        """Rows."""
        return list(contexts)

    def decide(self, context: Any) -> int:
        """One."""
        return self.learner.decide(context).arm

    def update(self, arm: int, context: Any, reward: float) -> None:
        """One."""
        self.learner.update(arm, reward, context)

    def fit(self, arms: Places, contexts: Floats, rewards: Floats) -> None:
        """All."""
        self.learner.update_many(arms, rewards, contexts)

    def predict(self, contexts: Floats) -> Any:
        """All."""
        return self.learner.decide_many(contexts).arm


class Numpy:
    """By hand and with care: inverses in one array, rank-one updates in place, no loop over arms."""

    def __init__(self, arms: int, dim: int, alpha: float, ridge: float) -> None:
        """A new one."""
        self.alpha, self.ridge = alpha, ridge
        self.inverse = np.broadcast_to(np.eye(dim) / ridge, (arms, dim, dim)).copy()
        self.theta = np.zeros((arms, dim))

    def prepare(self, contexts: Floats) -> list[Any]:
        """Rows."""
        return list(contexts)

    def decide(self, context: Any) -> int:
        """One."""
        widths = (self.inverse @ context) @ context
        return int((self.theta @ context + self.alpha * np.sqrt(widths)).argmax())

    def update(self, arm: int, context: Any, reward: float) -> None:
        """One, by Sherman and Morrison."""
        inverse = self.inverse[arm]
        direction = inverse @ context
        scale = 1.0 + context @ direction
        error = reward - self.theta[arm] @ context
        self.theta[arm] += direction * (error / scale)
        inverse -= np.outer(direction, direction / scale)

    def fit(self, arms: Places, contexts: Floats, rewards: Floats) -> None:
        """All, arm by arm."""
        for arm in range(len(self.theta)):
            own = contexts[arms == arm]
            self.inverse[arm] = np.linalg.inv(own.T @ own + self.ridge * np.eye(contexts.shape[1]))
            self.theta[arm] = self.inverse[arm] @ (own.T @ rewards[arms == arm])

    def predict(self, contexts: Floats) -> Any:
        """All."""
        widths = np.einsum("knd,nd->nk", contexts @ self.inverse, contexts)
        return (contexts @ self.theta.T + self.alpha * np.sqrt(widths)).argmax(axis=1)


class MabWiser:
    """MABWiser's `LearningPolicy.LinUCB`, which has to be fit before it predicts."""

    def __init__(self, arms: int, dim: int, alpha: float, ridge: float) -> None:
        """A new one."""
        mab = importlib.import_module("mabwiser.mab")
        policy = mab.LearningPolicy.LinUCB(alpha=alpha, l2_lambda=ridge)
        self.mab: Any = mab.MAB(list(range(arms)), policy, seed=1)
        self.begun = False

    def prepare(self, contexts: Floats) -> list[Any]:
        """Arrays of one row."""
        return [context[None] for context in contexts]

    def decide(self, context: Any) -> int:
        """One."""
        return int(self.mab.predict(context))

    def update(self, arm: int, context: Any, reward: float) -> None:
        """One."""
        learn = self.mab.partial_fit if self.begun else self.mab.fit
        learn([arm], [reward], context)
        self.begun = True

    def fit(self, arms: Places, contexts: Floats, rewards: Floats) -> None:
        """All."""
        self.mab.fit(arms, rewards, contexts)

    def predict(self, contexts: Floats) -> Any:
        """All."""
        return self.mab.predict(contexts)


class ContextualBandits:
    """`contextualbandits.online.LinUCB` in double precision, with rank-one updates and no intercept."""

    def __init__(self, arms: int, dim: int, alpha: float, ridge: float) -> None:
        """A new one."""
        online = importlib.import_module("contextualbandits.online")
        self.policy: Any = online.LinUCB(
            arms, alpha=alpha, lambda_=ridge, fit_intercept=False, use_float=False, method="sm", random_state=1, njobs=1
        )

    def prepare(self, contexts: Floats) -> list[Any]:
        """Arrays of one row."""
        return [context[None].copy() for context in contexts]

    def decide(self, context: Any) -> int:
        """One."""
        return int(self.policy.predict(context)[0])

    def update(self, arm: int, context: Any, reward: float) -> None:
        """One."""
        self.policy.partial_fit(context, np.array([arm]), np.array([reward]))

    def fit(self, arms: Places, contexts: Floats, rewards: Floats) -> None:
        """All."""
        self.policy.fit(contexts, arms, rewards)

    def predict(self, contexts: Floats) -> Any:
        """All."""
        return self.policy.predict(contexts)


class River:
    """`river.bandit.LinUCBDisjoint`, whose bound is mean + sqrt(1 / beta + x' S x), without alpha; row by row."""

    def __init__(self, arms: int, dim: int, alpha: float, ridge: float) -> None:
        """A new one."""
        bandit = importlib.import_module("river.bandit")
        self.policy: Any = bandit.LinUCBDisjoint(alpha=1.0 / ridge, beta=1.0, seed=1)
        self.arms = list(range(arms))

    def prepare(self, contexts: Floats) -> list[Any]:
        """Dicts by name of feature."""
        return [dict(enumerate(context)) for context in contexts.tolist()]

    def decide(self, context: Any) -> int:
        """One."""
        return int(self.policy.pull(self.arms, context))

    def update(self, arm: int, context: Any, reward: float) -> None:
        """One."""
        self.policy.update(arm, context, reward)

    def fit(self, arms: Places, contexts: Floats, rewards: Floats) -> None:
        """All, one at a time: there is no other way."""
        for arm, context, reward in zip(arms.tolist(), self.prepare(contexts), rewards.tolist(), strict=True):
            self.policy.update(arm, context, reward)

    def predict(self, contexts: Floats) -> Any:
        """All, one at a time."""
        return [self.decide(context) for context in self.prepare(contexts)]


class OursPerArm:
    """`cahoots.LinUCB`: one model over the features of arms."""

    def __init__(self, dim: int, alpha: float, ridge: float) -> None:
        """A new one."""
        self.learner = cahoots.LinUCB(dim, alpha=alpha, ridge=ridge)

    def decide(self, arms: Floats) -> int:
        """One."""
        return self.learner.decide(arms).arm

    def update(self, context: Floats, reward: float) -> None:
        """One."""
        self.learner.update(context, reward)


class NumpyPerArm:
    """The same by hand and with care."""

    def __init__(self, dim: int, alpha: float, ridge: float) -> None:
        """A new one."""
        self.alpha = alpha
        self.inverse, self.theta = np.eye(dim) / ridge, np.zeros(dim)

    def decide(self, arms: Floats) -> int:
        """One."""
        widths = np.einsum("kd,kd->k", arms @ self.inverse, arms)
        return int((arms @ self.theta + self.alpha * np.sqrt(widths)).argmax())

    def update(self, context: Floats, reward: float) -> None:
        """One, by Sherman and Morrison."""
        direction = self.inverse @ context
        scale = 1.0 + context @ direction
        self.theta += direction * ((reward - self.theta @ context) / scale)
        self.inverse -= np.outer(direction, direction / scale)


PerArm = OursPerArm | NumpyPerArm

LIBRARIES: dict[str, Callable[[int, int, float, float], Model]] = {
    "cahoots": Ours,
    "numpy": Numpy,
    "mabwiser": MabWiser,
    "contextualbandits": ContextualBandits,
    "river": River,
}
PER_ARM: dict[str, Callable[[int, float, float], PerArm]] = {"cahoots": OursPerArm, "numpy": NumpyPerArm}

# In what an algorithm differs from the others', for whoever reads the column of agreement.
DIFFERS = {
    "river": "another bound: mean + sqrt(1/beta + x'Sx), without alpha",
    "mabwiser": "starts an arm's inverse at ridge I, where I / ridge is meant",
}


def version(name: str) -> str | None:
    """Of an installed library; None where it is not installed, or cannot be imported."""
    if name == "cahoots":
        return str(cahoots.__version__)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
        return importlib.metadata.version(name)
    except Exception:
        return None
