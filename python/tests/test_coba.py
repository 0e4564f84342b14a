"""Our learners under coba's environments and evaluators."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import ClassVar

import numpy as np
import pytest

import cahoots

coba = pytest.importorskip("coba")
from coba.primitives import Categorical  # noqa: E402

from cahoots.coba import CobaLearner, _flat  # noqa: E402

NAMES = [
    ("linucb-alone", {"alpha": 0.5}),
    ("lints-alone", {}),
    ("lints-alone", {"samples": 10}),
    ("greedy", {}),
    ("epsilon-greedy", {}),
    ("softmax", {}),
    ("igw", {}),
    ("random", {}),
    ("disjoint-linucb", {}),
    ("ucb-alone", {}),
    ("moss-alone", {"pulls": 300}),
    ("kl-ucb-alone", {}),
    ("ts-beta-alone", {}),
    ("exp3-alone", {"mixing": 0.1}),
]


def rewards(result):
    """Mean reward by learner."""
    families = {row["learner_id"]: row["family"] for row in result.learners.to_dicts()}
    seen = {}
    for row in result.interactions.to_dicts():
        seen.setdefault(families[row["learner_id"]], []).append(row["reward"])
    return {family: float(np.mean(values)) for family, values in seen.items()}


def run(environments, *learners, **options):
    return coba.Experiment(environments, list(learners), **options).run(quiet=True)


def bernoulli(index):
    """Three actions that are text, contexts that are categories: the best action is the context's."""
    levels = ["red", "green", "blue"]
    context = levels[index]
    paid = [float(level == context) for level in levels]
    return coba.SimulatedInteraction(
        [Categorical(context, levels), 0.5], [Categorical(level, levels) for level in levels], paid
    )


class Coloured:
    params: ClassVar = {"kind": "coloured"}

    def read(self):
        return (bernoulli(index) for index in np.random.default_rng(6).integers(3, size=300).tolist())


def test_linear_learners_learn_where_coba_s_own_does():
    environments = coba.Environments.from_linear_synthetic(600, n_actions=5, seed=[1, 2]).binary()
    result = run(
        environments,
        coba.RandomLearner(),
        coba.LinUCBLearner(),
        CobaLearner("linucb-alone", alpha=1.0, ridge=1.0),
        CobaLearner("epsilon-greedy"),
    )
    found = rewards(result)
    # The same bounds of the same interactions: the same actions, the same rewards.
    assert found["cahoots.LinUCB"] == found["LinUCB"] > found["Random"] + 0.2
    assert found["cahoots.EpsilonGreedy"] > found["Random"] + 0.1


def test_linucb_is_coba_s_linucb_step_by_step():
    """The same interactions, radius and ridge: the actions of coba's learner, but for its ties, which it draws."""
    ours, theirs = CobaLearner("linucb-alone", alpha=0.5, ridge=1.0), coba.LinUCBLearner(alpha=0.5)
    rng = np.random.default_rng(0)
    same = 0
    for _ in range(400):
        context, actions = rng.normal(size=3).tolist(), rng.normal(size=(4, 2)).tolist()
        action, probability = ours.predict(context, actions)
        expected, _ = theirs.predict(context, actions)
        assert probability == 1.0
        assert ours.score(context, actions, action) == 1.0
        same += action is expected
        reward = float(np.sin(context[0]) * action[0])
        for learner in (ours, theirs):
            learner.learn(context, action, reward, 1.0)
    assert same == 400


@pytest.mark.parametrize(("name", "params"), NAMES, ids=[name + str(params) for name, params in NAMES])
def test_all_run_under_experiments_with_categories(name, params):
    result = run(coba.Environments.from_custom(Coloured()), CobaLearner(name, **params))
    assert len(result.interactions) == 300
    learns = name not in ("random", "ucb-alone", "moss-alone", "kl-ucb-alone", "ts-beta-alone", "exp3-alone")
    (mean,) = rewards(result).values()
    # Who sees the context can be right always; who does not is right a third of the time.
    # Five standard deviations above that third are 0.47.
    assert mean > 0.6 if learns else mean < 0.47


@pytest.mark.parametrize("learner", ["linucb-alone", "disjoint-linucb", "ucb-alone"])
def test_off_policy_batches_and_logged_data(learner):
    # Without features of their own, actions are the same each time.
    fixed = coba.Environments.from_linear_synthetic(200, n_actions=3, n_action_features=0, seed=3)
    logged = fixed.logged(coba.RandomLearner())
    counted = {} if learner == "linucb-alone" else {"arms": 3}
    make = lambda: CobaLearner(learner, **counted)  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for evaluator in (
            coba.SequentialCB(learn="off", eval="ips"),
            coba.SequentialCB(learn="off", eval=None, record="time"),
            coba.RejectionCB(),
        ):
            assert len(coba.Experiment(logged, make(), evaluator).run(quiet=True).interactions) > 0
    one, many = run(fixed, make()), run(fixed.batch(1), make())
    assert len(run(fixed.batch(8), make()).interactions) == 200
    assert rewards(one) == rewards(many)


def test_several_processes_give_what_one_gives():
    environments = coba.Environments.from_linear_synthetic(100, n_actions=3, seed=[1, 2, 3])
    learner = CobaLearner("lints-alone", seed=5)
    alone = coba.Experiment(environments, learner).run(quiet=True)
    spread = coba.Experiment(environments, learner).run(quiet=True, processes=2)
    assert sorted(row["reward"] for row in alone.interactions.to_dicts()) == sorted(
        row["reward"] for row in spread.interactions.to_dicts()
    )
    assert len(spread.interactions) == 300


def test_contexts_and_actions_become_numbers_by_the_stated_rule():
    colour = Categorical("b", ["a", "b", "c"])
    assert _flat(None) == []
    assert _flat(3) == [3.0] and _flat(True) == [1.0]
    assert _flat(colour) == [0.0, 1.0, 0.0]
    assert _flat([1, colour, (2, 3)]) == [1.0, 0.0, 1.0, 0.0, 2.0, 3.0]
    assert _flat(np.arange(2)) == [0.0, 1.0]
    assert _flat("wet") == {"0=wet": 1.0}
    assert _flat([1, "wet"]) == {"0": 1.0, "1=wet": 1.0}
    assert _flat({"x": 2, "y": "wet", "z": (0, 1)}) == {"x": 2.0, "y=wet": 1.0, "z.0": 0.0, "z.1": 1.0}
    with pytest.raises(cahoots.InputError):
        _flat([object()])


def test_sparse_contexts_and_text_are_learned_from():
    learner = CobaLearner("greedy", sparse_dim=64)
    actions = ["left", "right"]
    rng = np.random.default_rng(1)
    right = 0
    for step in range(300):
        side = int(rng.integers(2))
        context = {f"side{side}": 1, "other": float(rng.random())}
        action, _ = learner.predict(context, actions)
        if step >= 200:
            right += action == actions[side]
        # Greedy does not explore: it is shown both.
        for shown, each in enumerate(actions):
            learner.learn(context, each, float(shown == side), 1.0)
    assert right == 100
    with pytest.raises(cahoots.InputError, match="larger sparse_dim"):
        learner.predict({f"new{number}": 1 for number in range(40)}, actions)
    with pytest.raises(cahoots.InputError, match="dense at one time"):
        learner.predict([1.0], [[1.0], [2.0]])


def test_plain_learners_count_actions_and_take_fewer():
    learner = CobaLearner("ucb-alone")
    with pytest.raises(cahoots.InputError, match="not known yet"):
        learner.learn(None, "a", 1.0, 1.0)
    seen = set()
    for _ in range(6):
        action, _ = learner.predict(None, ["a", "b", "c"])
        seen.add(action)
        learner.learn(None, action, 0.5, 1.0)
    assert seen == {"a", "b", "c"}
    assert learner.predict(None, ["c"])[0] == "c"
    assert learner.predict(None, ["c", "b"])[0] in "bc"
    for refused in (lambda: learner.predict(None, ["d"]), lambda: learner.learn(None, "d", 1.0, 1.0)):
        with pytest.raises(cahoots.InputError, match="one more than there are arms"):
            refused()
    named = CobaLearner("ucb-alone", arms=["a", "b"])
    named.learn(None, "b", 1.0, 1.0)
    assert named.predict(None, ["a", "b"])[0] == "a"
    counted = CobaLearner("ucb-alone", arms=2)
    counted.learn(None, "b", 1.0, 1.0)
    assert counted.predict(None, ["a", "b"])[0] == "a"


def test_actions_of_any_kind_come_back_as_they_went():
    for actions in ([[1, 0], [0, 1]], [(1, 0), (0, 1)], [{"x": 1}, {"y": 1}], [1.5, 2.5], ["u", "v"]):
        for name in ("linucb-alone", "disjoint-linucb", "ucb-alone"):
            learner = CobaLearner(name)
            action, _ = learner.predict([1.0, 2.0], actions)
            assert any(action is each for each in actions)
            learner.learn([1.0, 2.0], action, 1.0, 1.0)
            assert 0 <= learner.score([1.0, 2.0], actions, actions[1]) <= 1


def test_only_those_that_can_tell_have_a_score():
    safe = coba.SafeLearner
    assert safe(CobaLearner("linucb-alone")).has_score
    assert safe(CobaLearner("lints-alone", samples=5)).has_score
    assert not safe(CobaLearner("lints-alone")).has_score
    assert not safe(CobaLearner("ts-beta-alone")).has_score
    assert isinstance(CobaLearner("random"), coba.Learner)


def test_copies_learn_on_their_own():
    learner = CobaLearner(cahoots.LinTS(seed=4))

    def steps(learner, count, seed):
        rng = np.random.default_rng(seed)
        taken = []
        for _ in range(count):
            context, actions = rng.normal(size=2).tolist(), rng.normal(size=(3, 2)).tolist()
            action, _ = learner.predict(context, actions)
            taken.append(actions.index(action))
            learner.learn(context, action, action[0], None)
        return taken

    steps(learner, 20, 0)
    twin, other = pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)
    assert steps(twin, 50, 1) == steps(other, 50, 1) == steps(learner, 50, 1)


def test_what_cannot_be_is_refused():
    for make in (
        lambda: CobaLearner("linucb"),
        lambda: CobaLearner("linucb-alone", alfa=1.0),
        lambda: CobaLearner(cahoots.LinUCB(), alpha=1.0),
        lambda: CobaLearner("moss-alone"),
        lambda: CobaLearner("linucb-alone", sparse_dim=0),
        lambda: CobaLearner("linucb-alone").predict([1.0], None),
        lambda: CobaLearner("linucb-alone").predict([1.0], []),
        lambda: CobaLearner("linucb-alone").predict([float("nan")], [1.0, 2.0]),
        lambda: CobaLearner("ucb-alone").predict(None, ["a", "a"]),
        lambda: CobaLearner("linucb-alone").score([1.0], [1.0, 2.0], 3.0),
        lambda: CobaLearner("linucb-alone", features=["x"]).predict(None, [1.0, 2.0]),
    ):
        with pytest.raises(cahoots.InputError):
            make()
