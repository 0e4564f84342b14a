"""Learners on their own: against numpy, through copies, with careless input, from threads and processes."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import cahoots
from cahoots.learners import Decision, Decisions

PLAIN = {
    "UCB": lambda **k: cahoots.UCB(arms=4, **k),
    "KLUCB": lambda **k: cahoots.KLUCB(arms=4, **k),
    "MOSS": lambda **k: cahoots.MOSS(arms=4, pulls=500, **k),
    "ThompsonBeta": lambda **k: cahoots.ThompsonBeta(arms=4, **k),
    "Exp3": lambda **k: cahoots.Exp3(arms=4, pulls=500, **k),
    "Greedy": lambda **k: cahoots.Greedy(arms=4, **k),
    "EpsilonGreedy": lambda **k: cahoots.EpsilonGreedy(arms=4, **k),
    "Softmax": lambda **k: cahoots.Softmax(arms=4, **k),
    "IGW": lambda **k: cahoots.IGW(arms=4, **k),
    "Random": lambda **k: cahoots.Random(arms=4, **k),
}
FEATURES = {
    "LinUCB": lambda **k: cahoots.LinUCB(**k),
    "LinUCB epsilon": lambda **k: cahoots.LinUCB(epsilon=0.2, radius="count", **k),
    "LinTS": lambda **k: cahoots.LinTS(**k),
    "LinTS samples": lambda **k: cahoots.LinTS(samples=30, **k),
    "Greedy": lambda **k: cahoots.Greedy(**k),
    "EpsilonGreedy": lambda **k: cahoots.EpsilonGreedy(**k),
    "Softmax": lambda **k: cahoots.Softmax(**k),
    "IGW": lambda **k: cahoots.IGW(**k),
    "Random": lambda **k: cahoots.Random(**k),
}
CONTEXT = {"DisjointLinUCB": lambda **k: cahoots.DisjointLinUCB(arms=["a", "b", "c"], alpha=0.4, **k)}
ALL = {
    **{f"plain {name}": make for name, make in PLAIN.items()},
    **{f"features {name}": make for name, make in FEATURES.items()},
    **{f"context {name}": make for name, make in CONTEXT.items()},
}
DIM = 5


def offered(name, rng):
    if name.startswith("plain"):
        return None
    return rng.normal(size=DIM) if name.startswith("context") else rng.normal(size=(6, DIM))


def play(learner, name, steps, seed=0):
    """Arms, probabilities and scores of some steps, with rewards that follow from arm and step."""
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(steps):
        decision = learner.decide(offered(name, rng))
        reward = float(rng.random() < 0.2 + 0.1 * decision.arm)
        learner.update(decision, reward)
        seen.append((decision.arm, decision.probability, decision.score, decision.interval))
    return seen


class NumpyLinUCB:
    """Written from the paper: solve, do not update an inverse."""

    def __init__(self, dim, alpha, ridge):
        self.gram, self.moment, self.alpha = ridge * np.eye(dim), np.zeros(dim), alpha

    def bounds(self, arms):
        means = arms @ np.linalg.solve(self.gram, self.moment)
        widths = np.einsum("kd,dk->k", arms, np.linalg.solve(self.gram, arms.T))
        return means + self.alpha * np.sqrt(widths)

    def update(self, x, reward):
        self.gram += np.outer(x, x)
        self.moment += reward * x


def test_linucb_takes_the_arms_that_numpy_takes():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=8) / np.sqrt(8)
    ours, theirs = cahoots.LinUCB(alpha=0.7, ridge=0.5), NumpyLinUCB(8, 0.7, 0.5)
    taken = np.zeros(10, dtype=int)
    for _ in range(4000):
        arms = rng.normal(size=(10, 8))
        decision, bounds = ours.decide(arms), theirs.bounds(arms)
        assert decision.arm == int(bounds.argmax())
        assert decision.score == pytest.approx(bounds.max(), abs=1e-9)
        assert decision.probability == 1.0
        reward = arms[decision.arm] @ truth + 0.1 * rng.normal()
        ours.update(decision, reward)
        theirs.update(arms[decision.arm], reward)
        taken[decision.arm] += 1
    assert (taken > 100).all()
    np.testing.assert_allclose(ours.coef_, np.linalg.solve(theirs.gram, theirs.moment), atol=1e-10)
    np.testing.assert_allclose(ours.predict_expectations(arms), theirs.bounds(arms), atol=1e-9)


def test_disjoint_linucb_takes_the_arms_that_numpy_takes():
    rng = np.random.default_rng(2)
    truth = rng.normal(size=(4, 6)) / np.sqrt(6)
    ours = cahoots.DisjointLinUCB(arms=4, alpha=0.5, ridge=2.0)
    theirs = [NumpyLinUCB(6, 0.5, 2.0) for _ in range(4)]
    for step in range(2500):
        context = rng.normal(size=6)
        bounds = np.array([model.bounds(context[None])[0] for model in theirs])
        decision = ours.decide(context)
        assert decision.arm == int(bounds.argmax()), step
        reward = truth[decision.arm] @ context + 0.1 * rng.normal()
        if step % 2:
            ours.update(decision, reward)
        else:
            ours.update(decision.arm, reward, context=context)
        theirs[decision.arm].update(context, reward)
    np.testing.assert_allclose(ours.coef_, [np.linalg.solve(model.gram, model.moment) for model in theirs], atol=1e-10)
    assert ours.predict_expectations(context) == pytest.approx(
        {arm: model.bounds(context[None])[0] for arm, model in enumerate(theirs)}, abs=1e-9
    )


def test_ucb1_takes_the_arms_that_its_formula_takes():
    rng, learner = np.random.default_rng(3), cahoots.UCB(arms=5)
    counts, sums = np.zeros(5), np.zeros(5)
    for step in range(2000):
        decision = learner.decide()
        if counts.min() == 0:
            expected = int(counts.argmin())
        else:
            expected = int((sums / counts + np.sqrt(2 * np.log(counts.sum()) / counts)).argmax())
        assert decision.arm == expected, step
        reward = float(rng.random() < 0.3 + 0.1 * decision.arm)
        learner.update(decision, reward)
        counts[decision.arm] += 1
        sums[decision.arm] += reward


@pytest.mark.parametrize("name", ALL)
def test_batches_are_single_steps_in_a_row(name):
    one, many = ALL[name](seed=5), ALL[name](seed=5)
    rng = np.random.default_rng(4)
    for _ in range(3):
        arms = [offered(name, rng) for _ in range(20)]
        singles = [one.decide(each) for each in arms]
        batch = many.decide_many(20 if arms[0] is None else np.stack(arms))
        assert batch.arm.tolist() == [decision.arm for decision in singles]
        assert len(batch) == 20
        stated = [np.nan if d.probability is None else d.probability for d in singles]
        np.testing.assert_array_equal(batch.probability, stated)
        scores = [np.nan if d.score is None else d.score for d in singles]
        np.testing.assert_array_equal(batch.score, scores)
        np.testing.assert_array_equal(batch.features, [d.features for d in singles])
        rewards = rng.integers(0, 2, size=20)
        for decision, reward in zip(singles, rewards, strict=True):
            one.update(decision, reward)
        many.update_many(batch, rewards)
    assert one._core.state() == many._core.state()
    assert one.observations == 60


@pytest.mark.parametrize("name", ALL)
def test_what_was_logged_teaches_as_much_as_what_was_decided(name):
    """Features, positions and labels instead of decisions: the same state, the count of decisions aside."""
    decided, told, fitted = (ALL[name](seed=6) for _ in range(3))
    rng = np.random.default_rng(5)
    log = []
    for _ in range(30):
        decision = decided.decide(offered(name, rng))
        reward = float(rng.integers(0, 2))
        decided.update(decision, reward)
        log.append((decision.arm, reward, decision.features, decision.probability))
    arms, rewards, features, probabilities = zip(*log, strict=True)
    stated = None if None in probabilities else list(probabilities)
    for arm, reward, x, probability in log:
        if name.startswith("plain"):
            told.update(arm, reward, probability=probability)
        elif name.startswith("context"):
            told.update(arm, reward, x)
        else:
            told.update(x, reward)
    if name.startswith("plain"):
        fitted.update_many(arms, rewards, probabilities=stated)
    elif name.startswith("context"):
        fitted.fit([decided.labels[arm] for arm in arms], rewards, features)
    else:
        fitted.fit(None, rewards, features)
    assert told._core.state() == fitted._core.state()
    if not name.startswith("plain"):
        np.testing.assert_array_equal(told.coef_, decided.coef_) if "Random" not in name else None
    told.decide_many(30 if name.startswith("plain") else np.stack([offered(name, rng) for _ in range(30)]))
    if name != "plain ThompsonBeta":
        assert told._core.state() == decided._core.state()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL, "deepcopy", "copy"])
def test_copies_go_on_bit_for_bit(name, protocol):
    learner = ALL[name](seed=7)
    play(learner, name, 40)
    if protocol == "deepcopy":
        twin = copy.deepcopy(learner)
    elif protocol == "copy":
        twin = copy.copy(learner)
    else:
        twin = pickle.loads(pickle.dumps(learner, protocol))
    assert twin.get_params() == learner.get_params()
    assert play(twin, name, 60, seed=1) == play(learner, name, 60, seed=1)
    assert twin._core.state() == learner._core.state()
    twin.reset()
    assert learner.observations == 100 and twin.observations == 0


def test_a_decision_outlives_a_pickle_and_says_what_it_is():
    learner = cahoots.LinUCB(dim=3)
    decision = learner.decide(np.eye(3))
    again = pickle.loads(pickle.dumps(decision))
    assert again == decision and isinstance(again, Decision)
    assert copy.deepcopy(decision) == decision
    np.testing.assert_array_equal(again.features, [1.0, 0.0, 0.0])
    assert repr(again).startswith("Decision(arm=0, probability=1.0, score=")
    learner.update(again, 1.0)
    assert learner.observations == 1


@pytest.mark.parametrize("name", ALL)
def test_sklearn_clones_what_was_not_learned(name):
    clone = pytest.importorskip("sklearn.base").clone
    learner = ALL[name](seed=3)
    fresh = play(ALL[name](seed=3), name, 30)
    play(learner, name, 50)
    twin = clone(learner)
    assert twin.get_params() == learner.get_params() and twin.observations == 0
    assert play(twin, name, 30) == fresh


def test_parameters_that_change_hold_from_the_next_fit_on():
    learner = cahoots.LinUCB(dim=2, alpha=1.0)
    learner.set_params(alpha=2.0)
    assert learner.decide(np.eye(2)).score == pytest.approx(2.0 / np.sqrt(0.1))
    learner.update([1.0, 0.0], 1.0)
    learner.alpha = 3.0
    for use in (
        lambda: learner.decide(np.eye(2)),
        lambda: learner.update([1.0, 0.0], 1.0),
        lambda: learner.partial_fit(None, [1.0], [[1.0, 0.0]]),
        lambda: pickle.loads(pickle.dumps(learner)).decide(np.eye(2)),
    ):
        with pytest.raises(cahoots.InputError, match="changed after"):
            use()
    assert learner.fit(None, [0.0], [[1.0, 0.0]]).decide(np.eye(2)).score == pytest.approx(3.0 / np.sqrt(0.1))
    with pytest.raises(cahoots.InputError, match="has no parameter 'alfa'"):
        learner.set_params(alfa=1.0)
    with pytest.raises(cahoots.InputError):
        learner.set_params(alpha=-1.0)
    assert learner.alpha == 3.0 and learner.observations == 1


def test_what_is_as_always_is_not_repeated():
    assert repr(cahoots.LinUCB()) == "LinUCB()"
    assert repr(cahoots.LinUCB(3, alpha=1.0, seed=9)) == "LinUCB(dim=3, alpha=1.0, seed=9)"
    assert repr(cahoots.MOSS(["a", "b"], 10)) == "MOSS(arms=['a', 'b'], pulls=10)"


@pytest.mark.parametrize(
    "make",
    [
        lambda: cahoots.LinUCB(dim=0),
        lambda: cahoots.LinUCB(dim=2.5),
        lambda: cahoots.LinUCB(dim=True),
        lambda: cahoots.LinUCB(dim=10**9),
        lambda: cahoots.LinUCB(alpha=float("nan")),
        lambda: cahoots.LinUCB(alpha=-0.1),
        lambda: cahoots.LinUCB(alpha="wide"),
        lambda: cahoots.LinUCB(alpha=True),
        lambda: cahoots.LinUCB(alpha=1.0, radius="count"),
        lambda: cahoots.LinUCB(radius="logdet"),
        lambda: cahoots.LinUCB(ridge=0.0),
        lambda: cahoots.LinUCB(ridge=float("inf")),
        lambda: cahoots.LinUCB(ridge="0.1"),
        lambda: cahoots.LinUCB(ridge=[0.1]),
        lambda: cahoots.LinUCB(ridge=object()),
        lambda: cahoots.LinUCB(failure_prob=1.0),
        lambda: cahoots.LinUCB(seed=-1),
        lambda: cahoots.LinUCB(seed=1.5),
        lambda: cahoots.LinUCB(seed=1 << 64),
        lambda: cahoots.LinTS(samples=0),
        lambda: cahoots.EpsilonGreedy(epsilon=1.1),
        lambda: cahoots.EpsilonGreedy(dim=3, arms=3),
        lambda: cahoots.Softmax(temperature=0.0),
        lambda: cahoots.UCB(arms=0),
        lambda: cahoots.UCB(arms=-3),
        lambda: cahoots.UCB(arms=[]),
        lambda: cahoots.UCB(arms=["a", "a"]),
        lambda: cahoots.UCB(arms=[["a"], ["b"]]),
        lambda: cahoots.UCB(arms="abc"),
        lambda: cahoots.UCB(arms=None),
        lambda: cahoots.UCB(arms=10**12),
        lambda: cahoots.MOSS(3, 0),
        lambda: cahoots.MOSS(3, None),
        lambda: cahoots.Exp3(3),
        lambda: cahoots.Exp3(3, mixing=0.0),
        lambda: cahoots.DisjointLinUCB(arms=2, alpha=-1.0),
    ],
)
def test_parameters_that_cannot_be_are_refused_when_they_are_given(make):
    with pytest.raises(cahoots.InputError):
        make()


def test_sklearn_sees_what_was_fitted():
    validation = pytest.importorskip("sklearn.utils.validation")
    learner = cahoots.Greedy(dim=2)
    with pytest.raises(pytest.importorskip("sklearn.exceptions").NotFittedError):
        validation.check_is_fitted(learner)
    validation.check_is_fitted(learner.fit(None, [1.0], [[1.0, 0.0]]))


def test_numpy_numbers_are_numbers():
    learner = cahoots.LinUCB(np.int64(2), alpha=np.float32(0.5), ridge=np.float64(1.0), seed=np.uint8(3))
    assert learner.decide(np.eye(2)).score == pytest.approx(0.5)


SAME = np.random.default_rng(8).normal(size=(4, 6)).round(2)


@pytest.mark.parametrize(
    "arms",
    [
        np.asfortranarray(SAME),
        np.stack([SAME, SAME * 2])[:, ::1][0],
        np.repeat(SAME, 2, axis=1)[:, ::2],
        np.flip(np.flip(SAME)),
        SAME.tolist(),
        SAME.astype(">f8"),
        SAME.astype(np.longdouble),
        np.frombuffer(b"\0" + SAME.tobytes(), dtype=np.uint8)[1:].view("f8").reshape(4, 6),
        SAME.view(np.recarray).view(np.ndarray),
    ],
    ids=["fortran", "view", "strided", "reversed", "lists", "big endian", "longdouble", "unaligned", "view of view"],
)
def test_the_layout_of_an_array_does_not_matter(arms):
    learner = cahoots.LinUCB(alpha=0.3)
    expected = cahoots.LinUCB(alpha=0.3)
    for step in range(5):
        ours, theirs = learner.decide(arms), expected.decide(SAME)
        assert (ours.arm, ours.score) == (theirs.arm, theirs.score)
        np.testing.assert_array_equal(ours.features, SAME[ours.arm])
        learner.update(ours, float(step % 2))
        expected.update(theirs.features, step % 2)
    many = np.asarray(arms)[None] if not isinstance(arms, list) else [arms]
    assert learner.decide_many(many).arm.tolist() == expected.decide_many(SAME[None]).arm.tolist()


def test_small_types_read_only_arrays_and_frames_are_read():
    learner = cahoots.LinUCB(dim=6, alpha=0.3)
    frozen = SAME.copy()
    frozen.flags.writeable = False
    arm = learner.decide(frozen).arm
    assert learner.decide(SAME.astype(np.float32)).arm == arm
    assert learner.decide((SAME * 100).astype(np.int16)).arm == cahoots.LinUCB(dim=6, alpha=0.3).decide(SAME * 100).arm
    assert learner.decide(SAME > 0).arm == cahoots.LinUCB(dim=6, alpha=0.3).decide((SAME > 0).astype(float)).arm
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(SAME, columns=list("abcdef"))
    assert learner.decide(frame).arm == arm
    learner.update(frame.iloc[arm], 1.0)
    learner.update_many(frame, pandas.Series([1, 0, 1, 0]))
    assert learner.observations == 5
    labelled = cahoots.DisjointLinUCB(arms=pandas.Index(["x", "y"]))
    labelled.fit(pandas.Series(["x", "y", "x", "y"]), pandas.Series([0.0, 1, 0, 1]), frame)
    assert set(labelled.predict(frame)) <= {"x", "y"}


BAD = {
    "nan": np.array([[0.0, 1.0], [np.nan, 0.0]]),
    "inf": np.array([[0.0, np.inf]]),
    "huge": np.array([[0.0, 1e200]]),
    "flat": np.array([1.0, 2.0]),
    "scalar": 3.0,
    "deep": np.zeros((2, 2, 2)),
    "wide": np.zeros((2, 3)),
    "no arms": np.zeros((0, 2)),
    "text": np.array([["a", "b"]]),
    "objects": np.array([[object(), 1.0]]),
    "complex": np.array([[1j, 0.0]]),
    "ragged": [[1.0, 2.0], [1.0]],
    "none": None,
    "dates": np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("known", [True, False], ids=["dim", "no dim"])
def test_arms_that_cannot_be_are_refused_and_change_nothing(bad, known):
    learner = cahoots.LinUCB(dim=2 if known else None)
    if bad == "wide" and not known:
        pytest.skip("three features are as good as two where none are known")
    with pytest.raises(cahoots.InputError):
        learner.decide(BAD[bad])
    with pytest.raises(cahoots.InputError):
        learner.decide_many(BAD["deep"] * np.nan if bad == "deep" else BAD[bad])
    with pytest.raises(cahoots.InputError):
        learner.probabilities(BAD[bad])
    if known:
        assert learner._core.state() == cahoots.LinUCB(dim=2)._core.state()
    assert learner.observations == 0


def test_errors_say_where():
    learner = cahoots.LinUCB(dim=2)
    hidden = np.ma.masked_array(np.eye(2), mask=[[False, False], [False, True]])
    with pytest.raises(cahoots.InputError, match=r"arms\[1, 1\] is NaN"):
        learner.decide(hidden)
    assert learner.decide(np.ma.masked_array(np.eye(2))).arm == 0
    with pytest.raises(cahoots.InputError, match=r"arms\[1, 0\] is NaN"):
        learner.decide(BAD["nan"])
    with pytest.raises(cahoots.InputError, match=r"shape \(k, 2\), not \(2, 3\)|shape \(n, 2\), not \(2, 3\)"):
        learner.decide(np.zeros((2, 3)))
    with pytest.raises(cahoots.InputError, match=r"rewards\[2\] is inf"):
        learner.update_many(np.zeros((3, 2)), [1.0, 2.0, np.inf])
    with pytest.raises(cahoots.InputError, match="one-hot"):
        learner.decide(BAD["text"])


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -1e31])
def test_rewards_that_cannot_be_are_refused(reward):
    for learner, what in ((cahoots.LinUCB(dim=2), [0.5, 0.5]), (cahoots.UCB(arms=2), 1)):
        with pytest.raises(cahoots.InputError):
            learner.update(what, reward)
        with pytest.raises(cahoots.InputError):
            learner.update_many([what], [reward])
        assert learner.observations == 0
    with pytest.raises(TypeError):
        cahoots.UCB(arms=2).update(1, "good")


def test_rewards_that_would_be_clipped_are_refused():
    for learner in (cahoots.ThompsonBeta(2), cahoots.KLUCB(2), cahoots.Exp3(2, mixing=0.1)):
        with pytest.raises(cahoots.InputError, match="from 0 to 1, not 5: scale"):
            learner.update(0, 5)
        with pytest.raises(cahoots.InputError, match="from 0 to 1, not -1: scale"):
            learner.update_many([0, 1], [1.0, -1.0])
        assert learner.observations == 0


def test_observations_that_do_not_fit_each_other_are_refused_whole():
    linear, disjoint, plain = cahoots.LinUCB(dim=2), cahoots.DisjointLinUCB(arms=2, dim=2), cahoots.UCB(arms=2)
    ones = np.ones((3, 2))
    other = cahoots.LinUCB(dim=3).decide(np.eye(3))
    for refused in (
        lambda: linear.update_many(ones, [1.0, 2.0]),
        lambda: linear.update_many(ones[0], [1.0]),
        lambda: linear.update_many(ones, [[1.0], [2.0], [3.0]]),
        lambda: linear.update(ones, 1.0),
        lambda: linear.update(other, 1.0),
        lambda: linear.partial_fit([0, 1, 0], [1.0, 2.0, 3.0], ones),
        lambda: linear.partial_fit([0, 1, 5], [1.0, 2.0, 3.0], np.ones((3, 2, 2))),
        lambda: linear.partial_fit([0, 1, -1], [1.0, 2.0, 3.0], np.ones((3, 2, 2))),
        lambda: linear.partial_fit([0, 1], [1.0, 2.0, 3.0], np.ones((3, 2, 2))),
        lambda: linear.partial_fit(None, [1.0]),
        lambda: disjoint.update_many([0, 1, 2], [1.0, 2.0, 3.0], ones),
        lambda: disjoint.update_many([0, 1, -1], [1.0, 2.0, 3.0], ones),
        lambda: disjoint.update_many([0.0, 1.0, 1.0], [1.0, 2.0, 3.0], ones),
        lambda: disjoint.update_many([0, 1], [1.0, 2.0, 3.0], ones),
        lambda: disjoint.update_many([0, 1, 1], [1.0, 2.0, 3.0]),
        lambda: disjoint.update(2, 1.0, [1.0, 1.0]),
        lambda: disjoint.update(1, 1.0),
        lambda: disjoint.update(linear.decide(ones), 1.0, [1.0, 1.0]),
        lambda: disjoint.partial_fit(["x"], [1.0], ones[:1]),
        lambda: disjoint.decide(ones),
        lambda: plain.update(2, 1.0),
        lambda: plain.update(-1, 1.0),
        lambda: plain.update(True, 1.0),
        lambda: plain.update(0.5, 1.0),
        lambda: plain.update(linear.decide(ones), 1.0),
        lambda: plain.update(cahoots.UCB(arms=9).decide(masked=[True] * 8 + [False]), 1.0),
        lambda: plain.update(0, 1.0, probability=0.0),
        lambda: plain.update_many([0], [1.0], probabilities=[1.5]),
        lambda: plain.decide(ones),
        lambda: plain.predict(ones),
        lambda: plain.partial_fit([0], [1.0], ones),
        lambda: plain.decide_many(ones),
        lambda: plain.decide_many(-1),
        lambda: plain.decide(masked=[True]),
        lambda: plain.decide(masked=[True, True]),
        lambda: plain.decide(masked=["yes", "no"]),
    ):
        with pytest.raises(cahoots.InputError):
            refused()
    assert linear.observations == disjoint.observations == plain.observations == 0


def test_states_of_another_learner_are_refused():
    learner = cahoots.UCB(arms=3)
    kept = learner.__getstate__()
    for state in (b"", b"CHSN", kept["_state"][:-1], kept["_state"] + b"\0", cahoots.UCB(arms=4)._core.state()):
        with pytest.raises(cahoots.InputError):
            cahoots.UCB.__new__(cahoots.UCB).__setstate__({**kept, "_state": state})


def test_masked_arms_are_not_taken():
    rng = np.random.default_rng(9)
    for name, make in ALL.items():
        learner = make(seed=1)
        for _ in range(40):
            count = len(learner.labels) or 6
            masked = rng.random(count) < 0.6
            masked[rng.integers(count)] = False
            assert not masked[learner.decide(offered(name, rng), masked=masked).arm]
            stated = learner.probabilities(offered(name, rng), masked=masked.tolist())
            assert stated is None or (stated[masked] == 0).all()


def chi_square(counts, expected):
    """And the value that it exceeds with probability one in a million, by Laurent and Massart (2000), Lemma 1."""
    used = expected > 0
    assert counts[~used].sum() == 0
    statistic = ((counts[used] - expected[used]) ** 2 / expected[used]).sum()
    degrees, x = used.sum() - 1, np.log(1e6)
    return statistic, degrees + 2 * np.sqrt(degrees * x) + 2 * x


DRAWS = {
    **{f"plain {name}": PLAIN[name] for name in ("Exp3", "EpsilonGreedy", "Softmax", "IGW", "Random")},
    **{f"features {name}": FEATURES[name] for name in ("EpsilonGreedy", "Softmax", "IGW", "Random", "LinUCB epsilon")},
}


@pytest.mark.parametrize("name", DRAWS)
def test_arms_are_taken_as_often_as_is_stated(name):
    rng, learner, count = np.random.default_rng(10), DRAWS[name](seed=2), 20_000
    play(learner, name, 100)
    arms = offered(name, rng)
    stated = learner.probabilities(arms)
    assert stated.sum() == pytest.approx(1.0) and stated.max() < 1
    drawn = learner.decide_many(count if arms is None else np.broadcast_to(arms, (count, *arms.shape)))
    statistic, bound = chi_square(np.bincount(drawn.arm, minlength=len(stated)), count * stated)
    assert statistic < bound
    np.testing.assert_array_equal(drawn.probability, stated[drawn.arm])


def test_the_probabilities_that_thompson_sampling_states_are_those_it_has():
    """Of many models one: over decisions, the stated probability of an arm averages to how often it is taken."""
    learner, count = cahoots.LinTS(samples=20, sampling_scale=0.5, seed=4), 4000
    learner.update_many(np.eye(3), [0.3, 0.2, 0.1])
    stated, taken = np.zeros(3), np.zeros(3)
    spread = np.zeros(3)
    for _ in range(count):
        odds = learner.probabilities(np.eye(3))
        stated += odds
        spread += odds * (1 - odds)
        decision = learner.decide(np.eye(3))
        assert decision.probability == odds[decision.arm]
        taken[decision.arm] += 1
    # Given the odds, each draw is independent: five standard deviations.
    assert (np.abs(taken - stated) < 5 * np.sqrt(spread)).all()
    assert cahoots.LinTS(dim=3).probabilities(np.eye(3)) is None


def test_many_contexts_are_as_one_by_one_whatever_their_number():
    rng = np.random.default_rng(14)
    for arms in (1, 3, 9):
        learner = cahoots.DisjointLinUCB(arms, alpha=0.3)
        learner.update_many(rng.integers(arms, size=40), rng.normal(size=40), rng.normal(size=(40, DIM)))
        for count in (1, 7, 8, 255, 256, 257, 600):
            contexts = rng.normal(size=(count, DIM))
            batch, twin = learner.decide_many(contexts), copy.deepcopy(learner)
            singles = [twin.decide(context) for context in contexts]
            assert batch.arm.tolist() == [single.arm for single in singles]
            assert batch.score.tolist() == [single.score for single in singles]


def test_seeds_differ_and_repeat():
    def drawn(seed):
        return cahoots.Random(arms=10, seed=seed).decide_many(50).arm.tolist()

    assert drawn(1) == drawn(1) != drawn(2)
    assert max(drawn(1)) < 10


def test_several_learners_at_once_are_each_by_themselves():
    def work(seed, seen):
        seen[seed] = play(cahoots.LinTS(seed=seed), "features LinTS", 300, seed)

    alone, together = {}, {}
    for seed in range(4):
        work(seed, alone)
    threads = [threading.Thread(target=work, args=(seed, together)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert alone == together


def test_one_learner_in_many_threads_loses_nothing():
    learner, rng = cahoots.LinUCB(alpha=0.5), np.random.default_rng(12)
    arms, x, rewards = rng.normal(size=(50, 8, 40)), rng.normal(size=(100, 40)), rng.normal(size=100)
    failures = []

    def work():
        try:
            for _ in range(20):
                batch = learner.decide_many(arms)
                learner.update_many(batch, np.ones(len(batch)))
                learner.update_many(x, rewards)
                learner.update(learner.decide(arms[0]), 1.0)
                learner.probabilities(arms[1])
                pickle.loads(pickle.dumps(learner)).decide(arms[0])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert learner.observations == 4 * 20 * 151
    assert learner._core.counts()[0] == 4 * 20 * 51


def test_the_interpreter_is_free_while_many_decisions_are_made():
    """Another thread makes progress during one call."""
    learner, steps, done = cahoots.LinUCB(dim=64), [], threading.Event()
    arms = np.random.default_rng(13).normal(size=(400, 50, 64))

    def count():
        while not done.is_set():
            steps.append(time.perf_counter())

    counter = threading.Thread(target=count)
    counter.start()
    try:
        while not steps:
            pass
        for _ in range(20):
            steps.clear()
            begun = time.perf_counter()
            learner.decide_many(arms)
            took = time.perf_counter() - begun
            # In its midst: at its end the other thread has its turn in any case.
            midst = [step for step in steps if 0.25 * took < step - begun < 0.75 * took]
            if midst:
                break
        assert midst, "in none of many calls"
    finally:
        done.set()
        counter.join()


INTERRUPTED = """
import threading, _thread, cahoots
learner = cahoots.ThompsonBeta(arms=50, samples=600)
threading.Timer(0.3, _thread.interrupt_main).start()
try:
    learner.decide_many(10_000_000)
except KeyboardInterrupt:
    decided = learner._core.counts()[0]
    assert 0 < decided < 10_000_000, decided
    learner.update(learner.decide(), 1.0)
    print("went on")
"""


def test_ctrl_c_ends_a_long_batch_and_the_learner_goes_on():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "went on\n", done.stderr


def elsewhere(pickled, seed):
    learner = pickle.loads(pickled)
    return play(learner, "features LinTS", 50, seed), learner


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_go_on_where_this_one_was(method):
    learner = cahoots.LinTS(seed=21)
    play(learner, "features LinTS", 30)
    pickled = pickle.dumps(learner)
    with multiprocessing.get_context(method).Pool(2) as pool:
        (seen, there), (again, _) = pool.starmap(elsewhere, [(pickled, 3), (pickled, 3)])
    assert seen == again == play(learner, "features LinTS", 50, 3)
    assert there._core.state() == learner._core.state()


def test_fit_and_predict_speak_in_labels():
    contexts = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    learner = cahoots.DisjointLinUCB(arms=[("a", 1), None, "c"], alpha=0.0)
    learner.fit([("a", 1), None, None, ("a", 1)], [1.0, 1.0, 0.0, 0.0], contexts)
    assert learner.predict(contexts).tolist() == [("a", 1), None, ("a", 1), None]
    assert learner.predict(contexts[0]) == ("a", 1)
    expected = learner.predict_expectations(contexts[:2])
    assert expected[0] == pytest.approx({("a", 1): 0.5, None: 0.0, "c": 0.0})
    assert expected[1] == pytest.approx({("a", 1): 0.0, None: 0.5, "c": 0.0})
    again = learner.fit([("a", 1)], [0.0], contexts[:1])
    assert again is learner and learner.observations == 1


def test_learners_that_compare_nothing_expect_nothing():
    assert all(np.isnan(value) for value in cahoots.Random(arms=2).predict_expectations().values())
    seen = cahoots.ThompsonBeta(arms=2).fit([0, 0, 1], [1.0, 0.0, 1.0]).predict_expectations()
    assert seen == {0: 0.5, 1: 1.0}
    assert np.isnan(cahoots.UCB(arms=2).predict_expectations()[0])


def test_many_are_kept_as_one_thing():
    decisions = cahoots.LinUCB().decide_many(np.ones((3, 2, 4)))
    assert isinstance(decisions, Decisions) and decisions.features.shape == (3, 4)
    assert len(cahoots.LinUCB(dim=4).decide_many(np.ones((0, 2, 4)))) == 0
    assert len(cahoots.UCB(arms=2).decide_many(0)) == 0


CLASSES = [
    cahoots.LinUCB,
    cahoots.LinTS,
    cahoots.DisjointLinUCB,
    cahoots.Greedy,
    cahoots.EpsilonGreedy,
    cahoots.Softmax,
    cahoots.IGW,
    cahoots.Random,
    cahoots.UCB,
    cahoots.KLUCB,
    cahoots.MOSS,
    cahoots.ThompsonBeta,
    cahoots.Exp3,
]
# Other policies of the linear kit have classes of their own, or none: these keys are not theirs.
ELSEWHERE = {"policy", "fidelity", "perturbation", "temperature", "gap_weight", "gap_exponent"}
NOT_HERE = {
    "linucb-alone": ELSEWHERE | {"sampling_scale", "samples"},
    "lints-alone": ELSEWHERE | {"failure_prob", "radius"},
}


def keys_of(kind):
    """Keys and defaults from the tables beside the algorithms."""
    tables = Path(__file__).parents[2] / "crates" / "algorithms" / "src"
    if not tables.is_dir():
        pytest.skip("the tables of parameters are in the repository alone")
    for path in tables.glob("*/PARAMETERS.md"):
        for part in re.split(r"(?m)^(?=`[a-z0-9-]+`:$)", path.read_text(encoding="utf-8")):
            if part.startswith(f"`{kind}`:"):
                return dict(re.findall(r"(?m)^\| `(\w+)` \| `?([^`|]*?)`? \|", part))
    raise AssertionError(f"no table of {kind}")


@pytest.mark.parametrize("learner", CLASSES)
def test_parameters_have_the_names_and_defaults_of_the_algorithm(learner):
    listed = inspect.signature(learner).parameters
    keys = keys_of(learner._kind)
    assert set(keys) - NOT_HERE.get(learner._kind, set()) <= set(listed)
    assert set(listed) - set(keys) <= {"dim", "arms", "seed", *({"alpha"} if learner is cahoots.LinUCB else ())}
    for name in set(keys) & set(listed):
        default = listed[name].default
        if keys[name] == "-":
            assert default is None or (learner is cahoots.MOSS and default is inspect.Parameter.empty)
        else:
            assert default == float(keys[name])
