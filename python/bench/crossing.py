"""What a call from the simulator into Python costs, net of what the called code does.

A learner that does nothing is run beside the same simulation with a learner in Rust that does next to nothing, and the
difference is divided by the calls. Run it with a release build: ``python bench/crossing.py``. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

import cahoots
from cahoots import _cahoots


def experiment(world: str, algorithm: str, horizon: int) -> str:
    """One run of one algorithm in one world."""
    return f'name = "crossing"\nhorizon = {horizon}\nseeds = 1\n{world}\n[[algorithm]]\n{algorithm}\n'


def best(run: Callable[[], object], times: int) -> float:
    """Seconds of the quickest of several runs."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begun)
    return min(taken)


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

    def seconds(world: str, algorithm: str, ticks: int = horizon) -> float:
        text = experiment(world, algorithm, ticks)
        return best(lambda: json.loads(_cahoots._simulate(text)), times)

    linear = '[environment]\nkind = "linear"\nclients = 1\narms = 10\ndim = 8'
    base = seconds(linear, 'kind = "random"')
    print(f"{'what':44} ns per decision, net")
    rows = [
        ("choose()", 'kind = "bench-choose-nothing"'),
        ("choose(arms), 10 arms of 8 features", 'kind = "bench-choose"'),
        ("the same, and observe(context, reward)", 'kind = "bench-both"'),
        ("choose(arms, rng) with one draw", 'kind = "bench-rng"'),
        ("choose(arms, rng) with rng.generator()", 'kind = "bench-generator"'),
        ("a message of 8 numbers and its answer", 'kind = "bench-messages"'),
    ]
    for what, algorithm in rows:
        net = (seconds(linear, algorithm) - base) / horizon
        print(f"{what:44} {net * 1e9:10.0f}")
    ticks = max(horizon // 10, 100)
    print(f"\n{'a world':44} ns per tick, all of it")
    for clients in (1, 100):
        keys = f'clients = {clients}\narms = 10\ndim = 8\narrivals = "all"'
        for kind in ("linear", "bench-world", "bench-world-rng"):
            whole = seconds(f'[environment]\nkind = "{kind}"\n{keys}', 'kind = "random"', ticks) / ticks
            print(f"{kind + f', {clients} clients':44} {whole * 1e9:10.0f}")


if __name__ == "__main__":
    main()
