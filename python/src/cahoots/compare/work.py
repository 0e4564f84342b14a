"""What there is to do, and how it is timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cahoots.compare.libraries import LIBRARIES, PER_ARM, Model, PerArm

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

# Bounds that differ by less are a tie, and anyone may take either.
TIE = 1e-9


@dataclass(frozen=True)
class Problem:
    """Contexts, and what happened in them."""

    arms: int
    dim: int
    alpha: float
    ridge: float
    slices: int
    length: int
    seed: int = 7

    def contexts(self) -> Floats:
        """One for each step."""
        rng = np.random.default_rng(self.seed)
        scale = float(np.sqrt(self.dim))
        return rng.normal(size=(self.slices * self.length, self.dim)) / scale

    def offered(self) -> Floats:
        """Features of arms for each step."""
        rng = np.random.default_rng(self.seed)
        scale = float(np.sqrt(self.dim))
        return rng.normal(size=(self.slices * self.length, self.arms, self.dim)) / scale

    def reward(self, rng: np.random.Generator, chance: float) -> float:
        """0 or 1, which all libraries take."""
        return float(rng.random() < 1.0 / (1.0 + np.exp(-3.0 * chance)))


@dataclass
class Course:
    """What the reference takes and learns from, step by step; ties are where several arms are as good."""

    taken: Places
    rewards: Floats
    ties: NDArray[np.bool_]


def reference(problem: Problem) -> Course:
    """LinUCB with a model for each arm by normal equations, solved anew each time."""
    contexts, rng = problem.contexts(), np.random.default_rng(problem.seed + 1)
    truth = rng.normal(size=(problem.arms, problem.dim))
    gram = np.broadcast_to(problem.ridge * np.eye(problem.dim), (problem.arms, problem.dim, problem.dim)).copy()
    moment = np.zeros((problem.arms, problem.dim))
    course = _course(len(contexts))
    for step, x in enumerate(contexts):
        solved = np.linalg.solve(gram, np.stack([moment, np.broadcast_to(x, moment.shape)], axis=-1))
        bounds = solved[..., 0] @ x + problem.alpha * np.sqrt(solved[..., 1] @ x)
        # All have to begin from an observation: some libraries decide nothing before.
        arm = 0 if step == 0 else int(bounds.argmax())
        reward = problem.reward(rng, truth[arm] @ x)
        _note(course, step, arm, reward, bounds)
        gram[arm] += np.outer(x, x)
        moment[arm] += reward * x
    return course


def reference_per_arm(problem: Problem) -> Course:
    """LinUCB with one model over the features of arms, the same way."""
    offered, rng = problem.offered(), np.random.default_rng(problem.seed + 1)
    truth = rng.normal(size=problem.dim)
    gram, moment = problem.ridge * np.eye(problem.dim), np.zeros(problem.dim)
    course = _course(len(offered))
    for step, arms in enumerate(offered):
        widths = np.einsum("kd,dk->k", arms, np.linalg.solve(gram, arms.T))
        bounds = arms @ np.linalg.solve(gram, moment) + problem.alpha * np.sqrt(widths)
        arm = int(bounds.argmax())
        reward = problem.reward(rng, truth @ arms[arm])
        _note(course, step, arm, reward, bounds)
        gram += np.outer(arms[arm], arms[arm])
        moment += reward * arms[arm]
    return course


def _course(steps: int) -> Course:
    return Course(np.zeros(steps, dtype=np.int64), np.zeros(steps), np.zeros(steps, dtype=np.bool_))


def _note(course: Course, step: int, arm: int, reward: float, bounds: Floats) -> None:
    course.taken[step], course.rewards[step] = arm, reward
    course.ties[step] = (bounds > bounds.max() - TIE).sum() > 1 or step == 0


@dataclass
class Found:
    """Of one library: microseconds per step, slice by slice, and the arms that it would have taken."""

    micros: list[float]
    taken: Places


def one_at_a_time(problem: Problem, names: Sequence[str], course: Course) -> dict[str, Found]:
    """Decide, then learn, step by step: a model for each arm."""
    contexts = problem.contexts()
    models = {name: LIBRARIES[name](problem.arms, problem.dim, problem.alpha, problem.ridge) for name in names}
    prepared = {name: model.prepare(contexts) for name, model in models.items()}
    found = {name: Found([], np.full(len(contexts), -1)) for name in names}
    arms, rewards = course.taken.tolist(), course.rewards.tolist()
    for name, model in models.items():
        model.update(arms[0], prepared[name][0], rewards[0])

    def work(name: str, first: int, last: int) -> None:
        model: Model = models[name]
        offered, taken = prepared[name], found[name].taken
        # The first observation is known to all.
        for step in range(max(first, 1), last):
            taken[step] = model.decide(offered[step])
            model.update(arms[step], offered[step], rewards[step])

    _rotate(problem, names, found, work)
    return found


def per_arm(problem: Problem, names: Sequence[str], course: Course) -> dict[str, Found]:
    """Decide, then learn, step by step: one model over the features of arms."""
    offered = list(problem.offered())
    models: dict[str, PerArm] = {name: PER_ARM[name](problem.dim, problem.alpha, problem.ridge) for name in names}
    found = {name: Found([], np.full(len(offered), -1)) for name in names}
    arms, rewards = course.taken.tolist(), course.rewards.tolist()

    def work(name: str, first: int, last: int) -> None:
        model, taken = models[name], found[name].taken
        for step in range(first, last):
            taken[step] = model.decide(offered[step])
            model.update(offered[step][arms[step]], rewards[step])

    _rotate(problem, names, found, work)
    return found


def in_batches(problem: Problem, names: Sequence[str], course: Course) -> dict[str, Found]:
    """Learn from all that was logged, then decide for as many contexts; anew in every slice."""
    contexts = problem.contexts()
    logged, asked = contexts[: problem.length], contexts[-problem.length :]
    arms, rewards = course.taken[: problem.length], course.rewards[: problem.length]
    found = {name: Found([], np.full(problem.length, -1)) for name in names}

    def work(name: str, first: int, last: int) -> None:
        model = LIBRARIES[name](problem.arms, problem.dim, problem.alpha, problem.ridge)
        model.fit(arms, logged, rewards)
        found[name].taken[:] = np.asarray(model.predict(asked))

    _rotate(problem, names, found, work)
    return found


def batch_course(problem: Problem, course: Course) -> Course:
    """What the reference takes for the contexts that are asked about."""
    contexts = problem.contexts()
    logged, asked = contexts[: problem.length], contexts[-problem.length :]
    arms, rewards = course.taken[: problem.length], course.rewards[: problem.length]
    bounds = np.zeros((len(asked), problem.arms))
    for arm in range(problem.arms):
        own = logged[arms == arm]
        gram = own.T @ own + problem.ridge * np.eye(problem.dim)
        theta = np.linalg.solve(gram, own.T @ rewards[arms == arm])
        widths = np.einsum("nd,dn->n", asked, np.linalg.solve(gram, asked.T))
        bounds[:, arm] = asked @ theta + problem.alpha * np.sqrt(widths)
    ties = (bounds > bounds.max(axis=1, keepdims=True) - TIE).sum(axis=1) > 1
    return Course(bounds.argmax(axis=1), np.zeros(len(asked)), ties)


def _rotate(
    problem: Problem, names: Sequence[str], found: dict[str, Found], work: Callable[[str, int, int], Any]
) -> None:
    """Slice by slice, each time with another library first."""
    for turn in range(problem.slices):
        for name in [*names[turn % len(names) :], *names[: turn % len(names)]]:
            first = turn * problem.length
            begun = time.perf_counter()
            work(name, first, first + problem.length)
            found[name].micros.append((time.perf_counter() - begun) / problem.length * 1e6)
