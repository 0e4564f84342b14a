#!/usr/bin/env python3
"""Logs that are made up, and what a second implementation says of them, as JSON.

    pip install numpy scipy obp==0.4.1
    python3 make_fixtures.py > fixtures.json

Estimates are those of the Open Bandit Pipeline (obp); models, standard errors, the choice of SWITCH's threshold, the
confidence sequence and the diagnostics are numpy, written from the papers and not from the Rust code. obp imports torch
for estimators that are not used here: an empty module stands in where there is none.
"""
import json
import math
import sys
from unittest.mock import MagicMock

import numpy as np
import scipy
from scipy.stats import norm

try:
    import torch  # noqa: F401
except ImportError:
    for name in ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils", "torch.utils.data"):
        sys.modules[name] = MagicMock()
    # What is inherited from or asked for by isinstance must be a type.
    stub = sys.modules["torch"]
    stub.nn, stub.utils.data = sys.modules["torch.nn"], sys.modules["torch.utils.data"]
    for place, name in [(stub, "Tensor"), (stub.nn, "Module"), (stub.utils.data, "Dataset")]:
        setattr(place, name, type(name, (), {}))

import obp
from obp.ope.estimators import (
    DirectMethod,
    DoublyRobust,
    InverseProbabilityWeighting,
    SelfNormalizedInverseProbabilityWeighting,
    SwitchDoublyRobust,
)

MASK = (1 << 64) - 1
TAUS = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, math.inf]


def mix(word):
    """Splitmix64."""
    word = (word + 0x9E3779B97F4A7C15) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def part(seed, purpose, row, parts):
    """Which part a row is in."""
    word = mix((row + mix(seed ^ ((purpose * 0x9E3779B97F4A7C15) & MASK))) & MASK)
    return (word * parts) >> 64


def make(rng, rows, arms, positions, dim, binary):
    """A log by a softmax policy, and the probabilities of another. Binary rewards are logged by a policy that is almost
    uniform: weights are small, and sequences narrow."""
    log_scores, target_scores, worth = (rng.normal(size=(positions, arms, dim + 1)) for _ in range(3))
    log = []
    for _ in range(rows):
        x = np.round(rng.normal(size=dim), 6)
        z = np.concatenate([[1.0], x])
        position = int(rng.integers(positions))
        softmax = lambda scores: np.exp(scores) / np.exp(scores).sum()
        p = softmax((0.1 if binary else 0.7) * log_scores[position] @ z)
        target = softmax((0.5 if binary else 1.0) * target_scores[position] @ z)
        target = np.round(target, 9)
        target[-1] = 1.0 - target[:-1].sum()
        arm = int(rng.choice(arms, p=p))
        mean = worth[position, arm] @ z
        reward = float(rng.random() < 1 / (1 + np.exp(-mean))) if binary else float(np.round(mean + rng.normal(), 6))
        log.append(dict(context=x.tolist(), position=position, arm=arm, reward=reward,
                        propensity=float(p[arm]), target=target.tolist()))
    return log


def ridge(rows, arms, positions, dim, lam, low, high):
    """Predictions of a model per arm and position, by normal equations on rewards held against their mean."""
    mean = np.mean([row["reward"] for row in rows]) if rows else (low + high) / 2
    theta = np.zeros((positions, arms, dim + 1))
    for position in range(positions):
        for arm in range(arms):
            mine = [row for row in rows if row["arm"] == arm and row["position"] == position]
            if mine:
                z = np.array([[1.0] + row["context"] for row in mine])
                y = np.array([row["reward"] for row in mine]) - mean
                theta[position, arm] = np.linalg.solve(z.T @ z + lam * np.eye(dim + 1), z.T @ y)
    return lambda x: np.clip(mean + theta @ np.concatenate([[1.0], x]), low, high).T  # (arms, positions)


def sequence(values, low, high, alpha):
    """Waudby-Smith and Ramdas 2023, Theorem 2, with the intersection over time."""
    best, sum_bet, sum_bet_x, penalty = [0.0, 1.0], 0.0, 0.0, 0.0
    past, squares = [], 0.0
    for t, value in enumerate(values, 1):
        x = (value - low) / (high - low)
        mean = (0.5 + sum(past)) / t
        variance = (0.25 + squares) / t
        bet = min(math.sqrt(2 * math.log(2 / alpha) / (variance * t * math.log(1 + t))), 0.5)
        psi = (-math.log(1 - bet) - bet) / 4
        sum_bet += bet
        sum_bet_x += bet * x
        penalty += 4 * (x - mean) ** 2 * psi
        past.append(x)
        squares += (x - (0.5 + sum(past)) / (t + 1)) ** 2
        half = (math.log(2 / alpha) + penalty) / sum_bet
        best = [max(best[0], sum_bet_x / sum_bet - half), min(best[1], sum_bet_x / sum_bet + half)]
    return [low + end * (high - low) for end in best]


def expected(log, arms, positions, dim, seed, folds, lam, tau, clip):
    """All numbers of one case."""
    n = len(log)
    reward = np.array([row["reward"] for row in log])
    action = np.array([row["arm"] for row in log])
    position = np.array([row["position"] for row in log])
    pscore = np.array([row["propensity"] for row in log])
    low, high = reward.min(), reward.max()
    action_dist = np.zeros((n, arms, positions))
    for i, row in enumerate(log):
        action_dist[i, :, :] = 1.0 / arms  # other positions are not looked at
        action_dist[i, :, row["position"]] = row["target"]
    fold = [part(seed, 2, i, folds) for i in range(n)]
    models = [ridge([row for i, row in enumerate(log) if fold[i] != k], arms, positions, dim, lam, low, high)
              for k in range(folds)]
    q = np.array([models[fold[i]](row["context"]) for i, row in enumerate(log)])
    w = action_dist[np.arange(n), action, position] / pscore
    cut = np.minimum(w, clip) if clip else w
    # A propensity that gives the clipped weight: obp then does the rest.
    cut_pscore = action_dist[np.arange(n), action, position] / cut
    common = dict(reward=reward, action=action, position=position, action_dist=action_dist)
    modelled = dict(common, estimated_rewards_by_reg_model=q)
    q_logged = q[np.arange(n), action, position]
    direct = (q[np.arange(n), :, position] * action_dist[np.arange(n), :, position]).sum(axis=1)
    se = lambda values: float(np.std(values, ddof=1) / math.sqrt(n))
    switched = lambda t: direct + np.where(w <= t, w, 0) * (reward - q_logged)
    chosen = tau or min(TAUS, key=lambda t: se(switched(t)) ** 2 + ((high - low) * np.where(w > t, w, 0).mean()) ** 2)
    snips = float((cut * reward).sum() / cut.sum())
    values = {
        "ips": (InverseProbabilityWeighting().estimate_policy_value(**common, pscore=cut_pscore), se(cut * reward)),
        "snips": (SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(**common, pscore=cut_pscore),
                  math.sqrt((cut ** 2 * (reward - snips) ** 2).sum()) / cut.sum()),
        "dm": (DirectMethod().estimate_policy_value(
            action_dist=action_dist, estimated_rewards_by_reg_model=q, position=position), se(direct)),
        "dr": (DoublyRobust().estimate_policy_value(**modelled, pscore=cut_pscore),
               se(direct + cut * (reward - q_logged))),
        "switch": (SwitchDoublyRobust(tau=chosen if math.isfinite(chosen) else 1e300).estimate_policy_value(
            **modelled, pscore=pscore), se(switched(chosen))),
    }
    alpha = 0.05
    z = norm.ppf(1 - alpha / 2)
    most = min(1 / pscore.min(), clip or math.inf)
    room = high - low
    # Predictions from the past alone: models are made anew when the log has grown by half, from 50 rows on.
    model, due, residuals, directs = ridge([], arms, positions, dim, lam, low, high), 50, [], []
    for i, row in enumerate(log):
        at = model(row["context"])[:, row["position"]]
        directs.append(float(at @ np.array(row["target"])))
        residuals.append(row["reward"] - at[row["arm"]])
        if i + 1 >= due:
            model = ridge(log[:i + 1], arms, positions, dim, lam, low, high)
            due = i + 1 + -(-(i + 1) // 2)
    directs, residuals = np.array(directs), np.array(residuals)
    centred, sum_w, sum_wr = [], 0.0, 0.0
    for i in range(n):
        centre = min(max(sum_wr / sum_w if sum_w > 0 else (low + high) / 2, low), high)
        centred.append(cut[i] * (reward[i] - centre) + centre)
        sum_w += cut[i]
        sum_wr += cut[i] * reward[i]
    anytime = {
        "ips": sequence(cut * reward, min(most * low, 0), max(most * high, 0), alpha),
    }
    # A sequence is of one mean: where weights are cut or left out, the models stay in it, and it moves with them.
    if not clip:
        anytime["dr"] = sequence(directs + cut * residuals, low - most * room, high + most * room, alpha)
        anytime["snips"] = sequence(centred, min(low, high - most * room), max(high, low + most * room), alpha)
    if tau and tau >= 1 / pscore.min():
        bound = 1 / pscore.min()
        anytime["switch"] = sequence(directs + w * residuals, low - bound * room, high + bound * room, alpha)
    estimates = {}
    for name, (value, error) in values.items():
        estimates[name] = dict(value=float(value), standard_error=float(error),
                               normal=[float(value - z * error), float(value + z * error)])
        if name in anytime:
            # A policy's worth is a mean of rewards, and lies within their range; a clipped one need not.
            start, end = anytime[name] if clip else (max(anytime[name][0], low), min(anytime[name][1], high))
            estimates[name]["anytime"] = [float(start), float(end)]
    calibration = []
    for place in range(positions):
        rows = position == place
        for arm in range(arms):
            inverse = np.where((action == arm) & rows, 1 / pscore, 0)[rows]
            # The largest standard error that the smallest propensity allows.
            error = math.sqrt((1 / pscore.min() - 1) / rows.sum())
            calibration.append((inverse.mean(), (inverse.mean() - 1) / error))
    worst = max(calibration, key=lambda pair: abs(pair[1]))
    return dict(
        estimates=estimates,
        tau=chosen if math.isfinite(chosen) else None,
        effective=float(w.sum() ** 2 / (w ** 2).sum()),
        mean_weight=float(w.mean()),
        mean_weight_off=float((w.mean() - 1) / se(w)),
        largest_share=float(w.max() / w.sum()),
        weight_quantiles=[float(np.sort(w)[max(math.ceil(at * n), 1) - 1]) for at in (0.5, 0.9, 0.99, 0.999, 1)],
        calibration=[float(worst[0]), float(worst[1])],
    )


def main():
    rng = np.random.default_rng(20261116)
    cases = []
    for name, rows, arms, positions, dim, seed, folds, lam, tau, clip, binary in [
        ("one position", 300, 4, 1, 3, 1, 5, 1.0, 3.0, None, False),
        ("clipped", 300, 4, 1, 3, 1, 5, 1.0, 3.0, 5.0, False),
        ("two positions, tau by its rule", 240, 3, 2, 2, 7, 3, 0.5, None, None, False),
        ("no context", 150, 3, 1, 0, 9, 2, 1.0, 2.0, None, False),
        ("narrow", 700, 2, 1, 1, 3, 4, 1.0, 1.2, None, True),
    ]:
        log = make(rng, rows, arms, positions, dim, binary)
        cases.append(dict(name=name, arms=arms, positions=positions, dim=dim, seed=seed, folds=folds, ridge=lam,
                          stated_tau=tau, clip=clip, log=log,
                          expected=expected(log, arms, positions, dim, seed, folds, lam, tau, clip)))
    versions = dict(python=sys.version.split()[0], numpy=np.__version__, scipy=scipy.__version__, obp=obp.__version__)
    json.dump(dict(made_by="make_fixtures.py", versions=versions, cases=cases), sys.stdout, indent=None, separators=(",", ":"))
    print()
    print("made with", versions, file=sys.stderr)


main()
