"""Worlds written in Python, under algorithms in Rust and in Python."""

from __future__ import annotations

import threading
import time
import traceback

import numpy as np
import pytest
from own_helpers import ledger, simulate

import cahoots
from cahoots import InputError, _cahoots

RANDOM = "random"


def linear_world(name, calls=None):
    @cahoots.world(name)
    class Linear:
        """One parameter for all."""

        def __init__(self, seed, clients: int = 4, arms: int = 6, dim: int = 3, reward_noise: float = 0.1):
            self.clients, self.arms, self.dim, self.reward_noise = clients, arms, dim, reward_noise
            theta = np.random.default_rng(seed).normal(size=dim)
            self.theta = theta / np.linalg.norm(theta)

        def step(self, tick, users, rng):
            contexts = rng.normal(size=(len(users), self.arms, self.dim))
            contexts /= np.linalg.norm(contexts, axis=2, keepdims=True)
            if calls is not None:
                calls.append((tick, users.tolist(), contexts[0, 0, 0]))
            return contexts, contexts @ self.theta, None

    return Linear


def made(name="t-made", step=None, init=None, **attributes):
    """A world of one step function."""

    def start(self):
        self.clients, self.arms = 2, 3
        if init:
            init(self)

    known = type("Made", (), {"__init__": start, "step": step, **attributes})
    cahoots.world(name)(known)
    return {"kind": name}


def test_algorithms_in_rust_learn_in_a_world_in_python():
    linear_world("w-linear")
    algorithms = ("linucb-alone", "async-linucb", "linucb-shared", RANDOM)
    runs = simulate({"kind": "w-linear", "arrivals": "all"}, *algorithms, horizon=300, seeds=2)
    for seed in range(2):
        alone, together, shared, at_random = (run["ledger"]["regret"] for run in runs[4 * seed : 4 * seed + 4])
        assert shared < alone < at_random and together < at_random
        assert all(run["ledger"]["steps"] == 1200 for run in runs)
    assert simulate({"kind": "w-linear", "arrivals": "all"}, *algorithms, horizon=300, seeds=2) == runs


def test_learners_in_python_meet_worlds_in_python():
    linear_world("w-linear")

    @cahoots.policy("w-greedy")
    class Greedy:
        def __init__(self, setting):
            self.gram, self.moment = 0.1 * np.eye(setting.dim), np.zeros(setting.dim)

        def choose(self, arms):
            return np.argmax(arms @ np.linalg.solve(self.gram, self.moment))

        def observe(self, context, reward):
            self.gram += np.outer(context, context)
            self.moment += reward * context

    mine, at_random = simulate({"kind": "w-linear"}, "w-greedy", RANDOM, horizon=400)
    assert mine["ledger"]["regret"] < 0.5 * at_random["ledger"]["regret"]
    assert simulate({"kind": "w-linear"}, "w-greedy", horizon=400, restore=True)[0]["ledger"] == mine["ledger"]


def test_a_world_is_asked_once_per_tick_and_is_the_same_for_all():
    calls: list = []
    linear_world("w-calls", calls)
    simulate({"kind": "w-calls", "arrivals": "all"}, RANDOM, horizon=50)
    first = list(calls)
    assert [(tick, users) for tick, users, _ in first] == [(tick, [0, 1, 2, 3]) for tick in range(1, 51)]
    assert len({draw for _, _, draw in first}) == 50, "each tick has draws of its own"
    calls.clear()
    simulate({"kind": "w-calls", "arrivals": "all"}, "async-linucb", horizon=50)
    assert calls == first
    calls.clear()
    simulate({"kind": "w-calls", "arrivals": {"participation": 0.5}}, RANDOM, horizon=50, seeds=2)
    assert 0 < len(calls) <= 100 and all(users == sorted(set(users)) for _, users, _ in calls)
    assert calls[0][2] != calls[len(calls) // 2 + 1][2]
    calls.clear()
    simulate({"kind": "w-calls"}, RANDOM, horizon=50)
    assert all(len(users) == 1 for _, users, _ in calls) and len(calls) == 50


def test_keys_are_swept_and_checked():
    linear_world("w-linear")
    runs = simulate({"kind": "w-linear", "dim": [2, 5], "reward_noise": 0}, RANDOM)
    assert [run["label"] for run in runs] == ["random dim=2", "random dim=5"]
    keys = runs[0]["environment"]
    assert keys["dim"] == 2 and keys["clients"] == 4 and keys["arrivals"] == "uniform" and len(keys["code"]) == 16
    assert keys["reward_noise"] == 0.0 and isinstance(keys["reward_noise"], float)
    for keys, says in [
        ({"clints": 3}, "did you mean `clients`"),
        ({"arms": "x"}, "must be a whole number"),
        ({"arrivals": "al"}, 'did you mean "all"'),
        ({"arrivals": {"zipf": -1}}, "out of range"),
        ({"code": "x"}, "unknown key `code`"),
    ]:
        with pytest.raises(InputError) as error:
            simulate({"kind": "w-linear", **keys}, RANDOM)
        assert says in str(error.value)


def test_the_key_of_a_run_follows_the_worlds_code():
    def key(body):
        space: dict = {}
        exec(
            "class W:\n    def __init__(self):\n        self.clients, self.arms = 2, 2\n"
            f"    def step(self, users):\n        return None, [[{body}]], None\n",
            space,
        )
        cahoots.world("w-versioned")(space["W"])
        return simulate({"kind": "w-versioned"}, RANDOM)[0]["key"]

    assert key("0.1, 0.2") != key("0.1, 0.3") and key("0.1, 0.2") == key("0.1, 0.2")


def test_rewards_are_given_or_drawn_around_the_means():
    def drawn(self, users):
        means = np.tile([0.0, 1.0, 2.0], (len(users), 1))
        return None, means, means + 10

    environment = made(step=drawn, arrivals="all")
    result = ledger(environment, RANDOM, horizon=500)
    assert result["steps"] == 1000
    assert result["regret"] == pytest.approx(2000 - (result["reward"] - 10_000))

    def noisy(self, users):
        return None, np.zeros((len(users), 3)), 2

    squares = []

    @cahoots.policy("w-squares")
    class Squares:
        def choose(self):
            return 0

        def observe(self, reward):
            squares.append(reward**2)

    ledger(made(step=noisy, arrivals="all"), "w-squares", horizon=2000)
    assert abs(np.mean(squares) - 4) < 5 * 4 * np.sqrt(2 / 4000)
    squares.clear()
    ledger(made(step=lambda self, users: (None, np.zeros((len(users), 3)), 0)), "w-squares")
    assert set(squares) == {0.0}


@pytest.mark.parametrize(
    "means",
    [
        np.float32([[0.5, 1, 1.5]] * 2),
        np.asfortranarray([[0.5, 1, 1.5]] * 2),
        np.array([[0.5, 9, 1, 9, 1.5, 9]] * 4)[::2, ::2],
        [[0.5, 1, 1.5]] * 2,
        np.array([0.5, 1, 1.5]),
        np.array([[0.5, 1, 1.5]]),
        np.float16([[0.5, 1, 1.5]] * 2),
    ],
    ids=["float32", "fortran", "strided", "lists", "one row", "broadcast", "float16"],
)
def test_arrays_come_in_many_layouts(means):
    if isinstance(means, np.ndarray):
        means.flags.writeable = False
    environment = made(step=lambda self: (None, means, 0.0), arrivals="all")
    plain = made("t-plain", step=lambda self: (None, np.array([[0.5, 1, 1.5]] * 2), 0.0), arrivals="all")
    assert ledger(environment, RANDOM)["reward"] == ledger(plain, RANDOM)["reward"] > 0


def test_pandas_frames_and_whole_numbers_are_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[0, 1, 2]] * 2)
    assert ledger(made(step=lambda self: (None, frame, 0.0), arrivals="all"), RANDOM)["regret"] > 0
    coins = np.array([[True, False, True]] * 2)
    assert ledger(made(step=lambda self: (None, frame, coins), arrivals="all"), RANDOM)["reward"] > 0


GOOD = np.zeros((2, 3))
BAD = [
    (None, "a tuple"),
    (GOOD, "a tuple"),
    ((None, GOOD), "a tuple"),
    ([None, GOOD, None], "a tuple"),
    ((GOOD, GOOD, None), "None in place of contexts"),
    ((None, None, None), "means that are numbers"),
    ((None, "x", None), "means that are numbers"),
    ((None, [[1, 2, 3], [1, 2]], None), "means that are numbers"),
    ((None, GOOD.astype(complex), None), "means that are numbers"),
    ((None, GOOD.astype(object), None), "means that are numbers"),
    ((None, GOOD.T, None), "means of shape (2, 3) (2 clients that act, 3 arms), not (3, 2)"),
    ((None, np.zeros((2, 3, 1)), None), "means of shape (2, 3)"),
    ((None, np.full((2, 3), np.nan), None), "means with a NaN"),
    ((None, np.full((2, 3), np.inf), None), "means with a inf"),
    ((None, np.full((2, 3), 1e200), None), "at most"),
    ((None, GOOD, np.full((2, 3), np.nan)), "rewards with a NaN"),
    ((None, GOOD, -1), "a deviation of at least 0"),
    ((None, GOOD, float("nan")), "a deviation of at least 0"),
    ((None, GOOD, "x"), "rewards that are numbers"),
    ((None, GOOD, np.zeros((2, 4))), "rewards of shape (2, 3)"),
]


@pytest.mark.parametrize(("answer", "says"), BAD, ids=range(len(BAD)))
def test_wrong_answers_say_what_step_must_return(answer, says):
    with pytest.raises(InputError) as error:
        simulate(made(step=lambda self: answer, arrivals="all"), RANDOM)
    assert says in str(error.value) and "step of 't-made'" in str(error.value).replace('"', "'")


def test_contexts_must_be_there_where_there_are_features():
    def features(self):
        self.dim = 4

    for contexts, says in [
        (None, "contexts that are numbers"),
        (np.zeros((2, 3, 5)), "contexts of shape (2, 3, 4) (2 clients that act, 3 arms, 4 features), not (2, 3, 5)"),
        (np.full((2, 3, 4), np.nan), "contexts with a NaN"),
    ]:
        with pytest.raises(InputError) as error:
            simulate(made(step=lambda self, c=contexts: (c, GOOD, None), init=features, arrivals="all"), RANDOM)
        assert says in str(error.value)


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({"clients": None}, "set self.clients"),
        ({"clients": 0}, "self.clients must be a whole number of at least 1, not 0"),
        ({"clients": 2.5}, "self.clients must be"),
        ({"clients": True}, "self.clients must be"),
        ({"arms": -1}, "self.arms must be"),
        ({"dim": "x"}, "self.dim must be"),
        ({"reward_noise": float("nan")}, "self.reward_noise must be"),
        ({"reward_noise": -1}, "self.reward_noise must be"),
    ],
)
def test_worlds_say_who_is_in_them(attributes, says):
    def init(self):
        vars(self).update(attributes)

    with pytest.raises(InputError, match=says):
        simulate(made(step=lambda self: (None, GOOD, None), init=init), RANDOM)


def test_numpy_numbers_and_class_attributes_will_do():
    def init(self):
        self.clients, self.arms = np.int64(2), np.uint8(3)

    assert ledger(made(step=lambda self: (None, [[0, 0, 0]], None), init=init), RANDOM)["steps"] == 200


def test_classes_that_cannot_be_worlds_are_refused_at_once():
    class Empty:
        pass

    class Names:
        def step(self, user): ...

    class Arrivals:
        def __init__(self, arrivals: str = "all"): ...

        def step(self): ...

    class Law:
        arrivals = "sometimes"

        def step(self): ...

    for known, says in [
        (Empty, "needs a method step"),
        (Names, "did you mean users"),
        (Arrivals, "cannot be called arrivals"),
        (Law, "arrivals"),
    ]:
        with pytest.raises(InputError, match=says):
            cahoots.world("w-refused")(known)
    with pytest.raises(InputError, match="a name of ours"):
        cahoots.world("linear")(linear_world("w-linear"))
    assert "w-refused" not in cahoots.own_names()[1] and "w-linear" in cahoots.own_names()[1]


class WorldError(Exception):
    pass


def test_an_error_shows_the_users_traceback():
    def fail(self, tick=None):
        raise WorldError("mine")

    for environment in (made(step=fail), made(step=lambda self: (None, GOOD, None), init=fail)):
        with pytest.raises(WorldError, match="mine") as raised:
            simulate(environment, RANDOM)
        frames = traceback.extract_tb(raised.value.__traceback__)
        assert frames[-1].name == "fail" and frames[-1].filename == __file__


def test_a_world_can_be_interrupted_within_a_step():
    begun, ended = threading.Event(), []

    def slow(self):
        begun.set()
        for _ in range(2000):
            time.sleep(0.01)
        return None, GOOD, None

    def run():
        try:
            simulate(environment, RANDOM)
        except BaseException as error:
            ended.append(type(error))

    environment = made(step=slow)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert begun.wait(20)
    try:
        _cahoots._interrupt(True)
        thread.join(15)
        assert ended == [KeyboardInterrupt]
    finally:
        _cahoots._interrupt(False)


def test_worlds_in_python_have_late_and_lost_rewards_too():
    linear_world("w-linear")
    more = {"horizon": 300, "rewards": {"delay": 5, "loss": 0.2, "patience": 9}, "network": {"delay": 2}}
    result = ledger({"kind": "w-linear"}, "async-linucb", **more)
    assert result["abandoned"] > 20 and result["steps"] == 300
