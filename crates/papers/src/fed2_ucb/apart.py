#!/usr/bin/env python3
"""Fed1-UCB and Fed2-UCB on their authors' synthetic instances, written apart from the Rust: what the claims hold ours against.

    python3 crates/papers/src/fed2_ucb/apart.py 1000

Rules, constants and instances are those of the authors' code (github.com/ShenGroup/FMAB), which needs numpy; this does
not. The sum of n rewards is one draw, and regret counts expectations. Prints mean, deviation and number of runs.
"""
import math
import random
import sys

MEANS = [0.7, 0.71, 0.72, 0.73, 0.74, 0.75, 0.76, 0.765, 0.77, 0.79]
BEST = max(MEANS)
SIGMA = 0.5


def run(draw, horizon, pulls, newcomers, clients_mean, bound):
    """Phases until one arm is left: regret with a loss of 1 per message."""
    active, clients, tick, phase, regret = list(range(len(MEANS))), [], 0, 0, 0.0
    while tick < horizon and len(active) > 1:
        phase += 1
        clients += [([clients_mean(len(clients) + i, arm) for arm in range(len(MEANS))], [0.0] * len(MEANS), [0])
                    for i in range(newcomers(phase))]
        for arm in active:
            now = min(pulls, horizon - tick)
            for own, sums, _ in clients:
                sums[arm] += draw.gauss(now * own[arm], SIGMA * math.sqrt(now))
            regret += len(clients) * now * (BEST - MEANS[arm])
            tick += now
        for _, _, made in clients:
            made[0] += pulls
        if tick == horizon:
            break
        regret += len(clients)
        eta = sum(1 / made[0] for _, _, made in clients) / len(clients) ** 2
        radius = bound(eta, len(clients))
        mean = {arm: sum(sums[arm] / made[0] for _, sums, made in clients) / len(clients) for arm in active}
        active = [arm for arm in active if mean[arm] + radius >= max(mean.values()) - radius]
    if len(active) == 1:
        regret += (horizon - tick) * len(clients) * (BEST - MEANS[active[0]])
    return regret


def approximate(seed, horizon, pulls, spread=0.02, rewards=1.0, most=4094):
    draw, log = random.Random(seed), math.log(horizon)
    here = [0]

    def newcomers(phase):
        new = min(2 ** phase, most - here[0])
        here[0] += new
        return new

    def bound(eta, clients):
        return math.sqrt(rewards * SIGMA ** 2 * eta * log) + math.sqrt(spread ** 2 * log / clients)

    return run(draw, horizon, pulls, newcomers, lambda _, arm: draw.gauss(MEANS[arm], spread), bound)


def exact(seed, clients, pulls, horizon=10 ** 6):
    """One client; five that are best off with two arms each, or ten with one: the averages are those of one."""
    draw, log = random.Random(seed), math.log(horizon)
    factors = {1: lambda m, k: 1.0, 5: lambda m, k: 4.2 if k in (m, 9 - m) else 0.2, 10: lambda m, k: 9.1 if k == m else 0.1}
    return run(draw, horizon, pulls, lambda phase: clients if phase == 1 else 0,
               lambda m, arm: MEANS[arm] * factors[clients](m, arm), lambda eta, _: math.sqrt(4 * SIGMA ** 2 * eta * log))


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    ten_log = math.ceil(10 * math.log(10 ** 6))
    cases = [
        *((f"2^p, T = {t:.0e}", lambda seed, t=t: approximate(seed, t, 100)) for t in (10 ** 4, 10 ** 5, 10 ** 6)),
        ("2^p, T = 1e4, f = 50, constant 2", lambda seed: approximate(seed, 10 ** 4, 50, rewards=2.0)),
        *((f"exact, {m} clients, f = {f}", lambda seed, m=m, f=f: exact(seed, m, f)) for m in (1, 5, 10) for f in (ten_log, 10)),
    ]
    for name, case in cases:
        values = [case(seed) for seed in range(runs)]
        mean = sum(values) / runs
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (runs - 1))
        print(f"{name}: {mean:.1f} (sd {deviation:.1f}), {runs} runs", flush=True)


main()
