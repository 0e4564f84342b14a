# ruff: noqa: D102, D107
"""What a call from the simulator into Python costs, net of what the called code does.

A learner that does nothing is run beside the same simulation with a learner in Rust that does next to nothing, and the
difference is divided by the calls. Run it with a release build: ``python bench/crossing.py``. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

import cahoots
from cahoots import _cahoots


def experiment(world: str, algorithm: str, horizon: int) -> str:
    """One run of one algorithm in one world."""
    return f'name = "crossing"\nhorizon = {horizon}\nseeds = 1\n{world}\n[[algorithm]]\n{algorithm}\n'


def best(runs: Sequence[Callable[[], object]], times: int) -> list[float]:
    """Seconds of the quickest of several runs each, taken in turn, so that a busy machine is busy for all of them."""
    taken: list[list[float]] = [[] for _ in runs]
    for _ in range(times):
        for run, own in zip(runs, taken, strict=True):
            begun = time.perf_counter()
            run()
            own.append(time.perf_counter() - begun)
    return [min(own) for own in taken]


@cahoots.policy("bench-choose")
class Choose:
    """Only chooses."""

    def choose(self, arms):
        return 0


@cahoots.policy("bench-choose-nothing")
class ChooseNothing:
    """Only chooses, and does not look at the arms."""

    def choose(self):
        return 0


@cahoots.policy("bench-both")
class Both:
    """Chooses and observes."""

    def choose(self, arms):
        return 0

    def observe(self, context, reward):
        pass


@cahoots.policy("bench-rng")
class Draws:
    """Draws once."""

    def choose(self, arms, rng):
        rng.random()
        return 0


@cahoots.policy("bench-generator")
class Generates:
    """Makes a numpy generator."""

    def choose(self, arms, rng):
        rng.generator()
        return 0


@cahoots.algorithm("bench-messages")
class Messages:
    """A message and an answer for every decision."""

    class Client:
        """Sends an array."""

        def __init__(self, setting):
            self.sums = np.zeros(setting.dim)

        def choose(self):
            return 0

        def observe(self, send):
            send(self.sums)

        def on_message(self, message):
            pass

    class Server:
        """Answers."""

        def on_message(self, sender, message, send):
            send(message, to=sender)


@cahoots.world("bench-world")
class World:
    """Nothing is drawn."""

    def __init__(self, clients: int = 1, arms: int = 10, dim: int = 8):
        self.clients, self.arms, self.dim = clients, arms, dim
        self.contexts, self.means = np.ones((clients, arms, dim)), np.zeros((clients, arms))

    def step(self, users):
        return self.contexts[users], self.means[users], None


@cahoots.world("bench-world-rng")
class WorldRng(World):
    """The same, with a generator."""

    def step(self, users, rng):
        return self.contexts[users], self.means[users], None


def main() -> None:
    """Prints a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--horizon", type=int, default=20_000)
    arguments.add_argument("--times", type=int, default=5)
    given = arguments.parse_args()
    horizon, times = given.horizon, given.times

    def seconds(*cases: tuple[str, str], ticks: int) -> list[float]:
        texts = [experiment(world, algorithm, ticks) for world, algorithm in cases]
        return best([lambda text=text: _cahoots._simulate(text) for text in texts], times)  # type: ignore[misc]

    linear = '[environment]\nkind = "linear"\nclients = 1\narms = 10\ndim = 8'
    rows = [
        ("choose()", "bench-choose-nothing"),
        ("choose(arms), 10 arms of 8 features", "bench-choose"),
        ("the same, and observe(context, reward)", "bench-both"),
        ("choose(arms, rng) with one draw", "bench-rng"),
        ("choose(arms, rng) with rng.generator()", "bench-generator"),
        ("choose(), a message of 8 numbers, its answer", "bench-messages"),
    ]
    kinds = ["random", *(kind for _, kind in rows)]
    base, *others = seconds(*((linear, f'kind = "{kind}"') for kind in kinds), ticks=horizon)
    print(f"{'a learner, per decision':46} ns more than `random` in Rust, which takes {base / horizon * 1e9:.0f}")
    for (what, _), whole in zip(rows, others, strict=True):
        print(f"{what:46} {(whole - base) / horizon * 1e9:10.0f}")
    ticks = max(horizon // 10, 100)
    print(f"\n{'a world, per tick':46} ns, decisions and all")
    for clients in (1, 100):
        keys = f'clients = {clients}\narms = 10\ndim = 8\narrivals = "all"'
        kinds = ["linear", "bench-world", "bench-world-rng"]
        cases = ((f'[environment]\nkind = "{kind}"\n{keys}', 'kind = "random"') for kind in kinds)
        for kind, whole in zip(kinds, seconds(*cases, ticks=ticks), strict=True):
            print(f"{kind + f', {clients} clients':46} {whole / ticks * 1e9:10.0f}")


if __name__ == "__main__":
    main()
