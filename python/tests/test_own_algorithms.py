"""Policies and whole algorithms written in Python, beside those in Rust."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import weakref
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pytest
from own_helpers import ARMS, LINEAR, ledger, simulate

import cahoots
from cahoots import InputError, _cahoots, own


def lin_ucb(name):
    @cahoots.policy(name)
    class LinUCB:
        """One LinUCB per client."""

        def __init__(self, setting, ridge: float = 0.1, alpha: float = 0.5):
            self.alpha = alpha
            self.gram = ridge * np.eye(setting.dim)
            self.moment = np.zeros(setting.dim)

        def choose(self, arms):
            inverse = np.linalg.inv(self.gram)
            width = np.sqrt(np.einsum("ki,ij,kj->k", arms, inverse, arms))
            return np.argmax(arms @ (inverse @ self.moment) + self.alpha * width)

        def observe(self, context, reward):
            self.gram += np.outer(context, context)
            self.moment += reward * context

    return LinUCB


def async_lin_ucb(name):
    """An upload when the determinant has grown by a ratio, answered with all that is known."""

    @cahoots.algorithm(name)
    class AsyncLinUCB:
        class Client:
            def __init__(self, setting, ridge: float = 0.1, alpha: float = 0.5, ratio: float = 2.0):
                self.ridge, self.alpha, self.ratio = ridge, alpha, ratio
                self.gram, self.moment = np.zeros((setting.dim,) * 2), np.zeros(setting.dim)
                self.new_gram, self.new_moment = self.gram.copy(), self.moment.copy()
                self.fresh()

            def fresh(self):
                gram = self.gram + self.ridge * np.eye(len(self.moment))
                self.inverse, self.logdet = np.linalg.inv(gram), np.linalg.slogdet(gram)[1]
                self.theta = self.inverse @ self.moment

            def choose(self, arms):
                width = np.sqrt(np.einsum("ki,ij,kj->k", arms, self.inverse, arms))
                return int(np.argmax(arms @ self.theta + self.alpha * width))

            def observe(self, context, reward, send):
                self.new_gram += np.outer(context, context)
                self.new_moment += reward * context
                whole = self.gram + self.new_gram + self.ridge * np.eye(len(context))
                if np.linalg.slogdet(whole)[1] - self.logdet > np.log(self.ratio):
                    send((self.new_gram, self.new_moment))
                    self.new_gram, self.new_moment = np.zeros_like(self.gram), np.zeros_like(self.moment)

            def on_message(self, message):
                self.gram, self.moment = message
                self.fresh()

        class Server:
            def __init__(self, setting):
                self.gram, self.moment = np.zeros((setting.dim,) * 2), np.zeros(setting.dim)

            def on_message(self, sender, message, send):
                self.gram, self.moment = self.gram + message[0], self.moment + message[1]
                send((self.gram, self.moment), to=sender)

    return AsyncLinUCB


def test_a_linucb_in_python_does_what_linucb_alone_does():
    lin_ucb("t-linucb")
    ours = {"kind": "linucb-alone", "radius": {"fixed": 0.5}}
    runs = simulate(LINEAR, "t-linucb", ours, horizon=600, seeds=3)
    for mine, theirs in zip(runs[::2], runs[1::2], strict=True):
        assert mine["ledger"]["regret"] == pytest.approx(theirs["ledger"]["regret"], rel=1e-12)
        assert mine["ledger"]["reward"] == pytest.approx(theirs["ledger"]["reward"], rel=1e-12)
        assert mine["ledger"]["uploads"] == 0


def test_a_federation_in_python_learns_together_and_its_messages_are_charged():
    async_lin_ucb("t-async")
    lin_ucb("t-linucb")
    ours = {"kind": "async-linucb", "radius": {"fixed": 0.5}}
    runs = simulate({**LINEAR, "clients": 10}, "t-async", ours, "t-linucb", horizon=2000, seeds=2)
    for mine, theirs, alone in zip(runs[::3], runs[1::3], runs[2::3], strict=True):
        traffic = mine["ledger"]
        assert traffic["uploads"] == traffic["downloads"] > 20
        assert traffic["scalars"] == 2 * traffic["uploads"] * (4 * 4 + 4)
        # Eight bytes each, and little else: as comparable with ours as can be.
        assert 8 * traffic["scalars"] < traffic["bytes"] < 11 * traffic["scalars"]
        (release,) = traffic["releases"]
        assert (release["fact"]["mechanism"], release["times"]) == ("none", traffic["uploads"]), "it is on record"
        assert mine["ledger"]["regret"] < 0.6 * alone["ledger"]["regret"]
        assert theirs["ledger"]["regret"] < 0.6 * alone["ledger"]["regret"]


def test_machines_restored_after_every_step_go_on_bit_for_bit():
    async_lin_ucb("t-async")
    lin_ucb("t-linucb")
    more = {"horizon": 150, "rewards": {"delay": 7}}
    for algorithm in ("t-async", "t-linucb"):
        straight = simulate(LINEAR, algorithm, **more)
        assert simulate(LINEAR, algorithm, **more) == straight, "the same seed, the same run"
        assert simulate(LINEAR, algorithm, restore=True, encode=True, **more) == straight


def test_states_of_classes_that_nobody_can_import_are_pickled():
    kept = lin_ucb("t-linucb")
    definition = own.Definition("t-linucb", "algorithm", "", "{}", "", {}, {}, classes={"client": kept})
    machine = kept(cahoots.Setting(1, 2, 3, (), 10, 0.1))
    copy = pickle.loads(definition.dumps(machine))
    assert type(copy) is kept and np.array_equal(copy.gram, machine.gram) and copy.gram is not machine.gram


def test_methods_are_given_what_they_name():
    seen = {}

    @cahoots.algorithm("t-names")
    class Names:
        class Client:
            def __init__(self, seat, setting, size: int = 3):
                self.size = size
                seen["seat"], seen["setting"] = seat, setting

            def choose(self, user, rng, arms):
                seen["arms"], seen["user"] = arms, user
                return (user + rng.integers(1)) % 6, 1.0

            def commit(self, arm, context):
                seen["commit"] = arm, context

            def observe(self, tick, reward, context, arm, user, step, rng):
                seen["observe"] = tick, reward, context, arm, user
                seen["draw"] = rng.random()
                step.send({"a": [1.0, 2], "b": "text", "c": None, "d": True, "e": np.float32(3), "f": np.ones(4)})
                step.count("sent")
                step.level("size", self.size)

            def on_start(self, tick):
                seen["start"] = tick

            def on_message(self, sender, msg):
                seen["answer"] = sender, msg

        class Server:
            def on_start(self, step):
                step.wake_at(5)

            def on_join(self, client):
                seen.setdefault("joined", []).append(client)

            def on_wake(self, tick, step):
                seen["wake"] = tick
                step.rounds(2)

            def on_message(self, sender, message, send):
                seen["message"] = sender, message
                send("hello", to={sender}, control=True)
                send((1, 2), to=sender, scalars=50)

    result = ledger(LINEAR, "t-names", horizon=20)
    assert seen["seat"].clients == 3 and seen["setting"] == cahoots.Setting(3, 6, 4, (), 20, 0.1)
    arms = seen["arms"]
    assert arms.shape == (6, 4) and arms.dtype == np.float64 and arms.flags.c_contiguous and not arms.flags.writeable
    tick, reward, context, arm, user = seen["observe"]
    assert tick == 20 and isinstance(reward, float) and arm == user == seen["user"]
    assert np.array_equal(context, arms[arm]) and np.array_equal(seen["commit"][1], context)
    assert 0 <= seen["draw"] < 1 and seen["start"] == 0 and seen["wake"] == 5
    assert sorted(seen["joined"]) == [0, 1, 2]
    assert seen["message"][0] == user and seen["answer"] == (None, (1, 2))
    assert result["uploads"] == 20 and result["downloads"] == 20 and result["control_messages"] == 20
    assert result["scalars"] == 20 * (2 + 1 + 4) + 20 * 50
    assert result["rounds"] == 2 and result["metrics"] == {"sent": 20.0, "size": 3.0}


def test_arms_without_features_are_counted():
    @cahoots.policy("t-count")
    class Count:
        def choose(self, arms, rng):
            assert arms == 5
            return rng.choice(arms), 1 / arms

        def observe(self, arm, context, reward):
            assert 0 <= arm < 5 and context is None and reward in (0.0, 1.0)

    assert ledger(ARMS, "t-count")["steps"] == 800


def test_features_of_ones_own_come_after_the_shared_ones():
    @cahoots.policy("t-split")
    class Split:
        def __init__(self, seat, setting):
            self.dim = seat.dim + seat.local_dim
            assert seat.local_dim == setting.local_dims[seat.client] > 0

        def choose(self, arms):
            assert arms.shape[1] == self.dim
            return 1

        def observe(self, context):
            assert context.shape == (self.dim,)

    assert ledger({"kind": "split", "clients": 2}, "t-split", horizon=30)["steps"] == 30


def test_what_was_offered_can_be_kept():
    @cahoots.policy("t-keeps")
    class Keeps:
        def __init__(self):
            self.kept, self.copies = [], []

        def choose(self, arms):
            self.kept.append(arms[0])
            self.copies.append(arms[0].copy())
            return 0

        def observe(self):
            assert np.array_equal(self.kept, self.copies)

    ledger(LINEAR, "t-keeps")


def test_parameters_come_from_the_constructor_and_are_swept():
    @cahoots.policy("t-params")
    class Params:
        def __init__(
            self,
            epsilon: float = 0.1,
            often: int = 3,
            how: Literal["slow", "quick"] = "slow",
            sizes: list[float] = (1, 2),  # type: ignore[assignment]
            limit: float = float("inf"),
            maybe: float | None = None,
            on: Annotated[bool, "Whether it is on."] = True,
            untyped=2,
        ):
            assert isinstance(epsilon, float) and type(often) is int and maybe in (None, 0.5)
            assert list(sizes) == [1.0, 2.0] and limit == float("inf") and on is True and untyped == 2
            self.arm = {"slow": 0, "quick": 1}[how]

        def choose(self):
            return self.arm

    runs = simulate(LINEAR, {"kind": "t-params", "epsilon": [0, 0.5, 1], "how": ["slow", "quick"], "maybe": 0.5})
    assert len(runs) == 6 and len({run["key"] for run in runs}) == 6
    params = runs[0]["params"]
    assert (params["epsilon"], params["often"], params["limit"], params["maybe"]) == (0.0, 3, "inf", 0.5)
    assert runs[0]["label"] == "t-params epsilon=0 how=slow"
    assert "maybe" not in simulate(LINEAR, "t-params")[0]["params"]
    assert isinstance(simulate(LINEAR, {"kind": "t-params", "epsilon": 1})[0]["params"]["epsilon"], float)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"epsilo": 1}, "did you mean `epsilon`"),
        ({"epsilon": "x"}, "must be a number"),
        ({"often": 1.5}, "must be a whole number"),
        ({"how": "slw"}, 'did you mean "slow"'),
        ({"code": "x"}, "unknown key `code`"),
        ({"on": 3}, "must be true or false"),
    ],
)
def test_wrong_parameters_are_refused_with_the_remedy(keys, says):
    @cahoots.policy("t-strict")
    class Strict:
        def __init__(
            self, must: int, epsilon: float = 0.1, often: int = 3, how: Literal["slow", "q"] = "slow", on: bool = True
        ):
            pass

        def choose(self):
            return 0

    with pytest.raises(InputError, match="`must` is missing"):
        simulate(LINEAR, "t-strict")
    with pytest.raises(InputError) as error:
        simulate(LINEAR, {"kind": "t-strict", "must": 1, **keys})
    assert says in str(error.value)


class Lonely:
    def observe(self, reward): ...


class Misspelt:
    def choose(self, arm): ...


class Variadic:
    def choose(self, *arms): ...


class Async:
    async def choose(self, arms): ...


class Unannotated:
    def __init__(self, epsilon): ...

    def choose(self): ...


class OddType:
    def __init__(self, epsilon: complex = 1j): ...

    def choose(self): ...


class Unreadable:
    def __init__(self, epsilon: Nowhere = 1): ...  # type: ignore[name-defined]  # noqa: F821

    def choose(self): ...


class AnyKeyword:
    def __init__(self, **params): ...

    def choose(self): ...


class Reserved:
    def __init__(self, label: str = ""): ...

    def choose(self): ...


class Sends:
    def choose(self): ...

    def observe(self, reward, send): ...


class NotCalled:
    def choose(self): ...

    def on_mesage(self, message): ...


class NotHere:
    def choose(self): ...

    def on_message(self, message): ...


class NotAMethod:
    choose = 3


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (Lonely, "needs a method choose(self, arms, rng, user)"),
        (Misspelt, "did you mean arms"),
        (Variadic, "`*arms`"),
        (Async, "neither async"),
        (Unannotated, "`epsilon: float`"),
        (OddType, "epsilon cannot be a"),
        (Unreadable, "Nowhere"),
        (AnyKeyword, "name every parameter"),
        (Reserved, "cannot be called label"),
        (Sends, "`send`"),
        (NotCalled, "on_mesage would never be called"),
        (NotHere, "on_message would never be called"),
        (NotAMethod, "must be an ordinary method"),
        (lambda: 0, "is for classes"),
    ],
)
def test_classes_that_cannot_be_run_are_refused_at_once(known, says):
    with pytest.raises(InputError) as error:
        cahoots.policy("t-refused")(known)
    assert says in str(error.value) and "t-refused" in str(error.value)
    assert "t-refused" not in cahoots.own_names()[0]


def test_names():
    class First:
        def choose(self):
            return 0

    for name in ("linucb-alone", "linear"):
        with pytest.raises(InputError, match="a name of ours"):
            cahoots.policy(name)(First)
    for name in ("", "a b", 'x"y', "a\nb"):
        with pytest.raises(InputError, match="is no name"):
            cahoots.policy(name)(First)
    with pytest.raises(InputError, match="give it a name"):
        cahoots.policy(First)(First)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs a class Client"):
        cahoots.algorithm("t-empty")(First)
    assert cahoots.policy("t-first")(First) is First
    assert "t-first" in cahoots.own_names()[0]


def test_experiments_that_name_nobody_say_who_is_near():
    lin_ucb("t-linucb")
    with pytest.raises(InputError, match="t-linucb"):
        simulate(LINEAR, "t-linuc")


def versions(*bodies):
    runs = []
    for body in bodies:
        space: dict = {}
        exec(f"class Versioned:\n    def choose(self, arms, rng):\n        {body}\n", space)
        cahoots.policy("t-versioned")(space["Versioned"])
        runs.append(simulate(LINEAR, "t-versioned")[0])
    return runs


def test_a_name_given_again_is_the_later_one_and_no_run_of_the_earlier_is_taken_for_it():
    zero, one, again, remark = versions("return 0", "return 1", "return 0", "return 0  # a remark")
    assert zero["ledger"]["regret"] != one["ledger"]["regret"]
    assert zero["key"] != one["key"] and zero["params"]["code"] != one["params"]["code"]
    assert again == zero and remark["key"] == zero["key"]
    others = versions("return int(0.5)", "return int(0.25)", "return (lambda: 0)()", "return (lambda: 1)()")
    assert len({run["key"] for run in others}) == 4


def test_bases_attributes_defaults_and_versions_are_code():
    def key(helps="return 1", level=1.0, default=2, version=""):
        space: dict = {}
        lines = f"""
            class Base:
                def help(self):
                    {helps}
            class Own(Base):
                level = {level}
                def __init__(self, size: int = 1): ...
                def choose(self, arms):
                    return self.help() * 0
                def more(self, by={default}): ...
        """
        exec(textwrap.dedent(lines), space)
        cahoots.policy("t-coded", version=version)(space["Own"])
        return simulate(LINEAR, "t-coded")[0]["key"]

    keys = [key(), key(helps="return 2"), key(level=1.5), key(default=3), key(version="2")]
    assert len(set(keys)) == 5 and key() == keys[0]


def python(program, **environment):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    run = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(run, capture_output=True, text=True, env=env, timeout=60)


def test_the_fingerprint_is_the_same_in_another_process():
    program = """
        from cahoots._own_classes import fingerprint
        class P:
            words = {"a", "b", "c", "d"}
            def choose(self, arms, rng):
                return 0 if "x" in {"x", "y", "z", "w"} else sum(i for i in range(3))
        print(fingerprint([P], ""))
    """
    said = {python(program, PYTHONHASHSEED=seed).stdout for seed in ("1", "2", "3")}
    assert len(said) == 1 and len(said.pop().strip()) == 16


def test_what_is_written_here_can_be_sent_to_another_process(tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle")
    async_lin_ucb("t-async")
    linear = simulate(LINEAR, "t-async", horizon=100, restore=True)
    (tmp_path / "sent").write_bytes(cloudpickle.dumps(own.exported(["t-async"])))
    done = python(
        f"""
        import pickle, sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        from pathlib import Path
        from cahoots import own
        from own_helpers import LINEAR, simulate
        own.adopt(pickle.loads(Path({str(tmp_path / "sent")!r}).read_bytes()))
        print(simulate(LINEAR, "t-async", horizon=100, restore=True))
        """
    )
    assert done.stdout.strip() == str(linear), done.stderr


RETURNS = [-1, 6, 2**70, 1.0, "1", None, True, (1,), (1, 2, 3), (1, 1.5), (1, 0.0), (1, float("nan")), (9, 0.5), [1]]


@pytest.mark.parametrize("returned", [*RETURNS, np.array([1, 2])], ids=repr)
def test_wrong_choices_say_what_choose_must_return(returned):
    @cahoots.policy("t-wrong")
    class Wrong:
        def choose(self):
            return returned

    with pytest.raises(InputError, match='choose of "t-wrong" must return the index of an arm, from 0 to 5'):
        simulate(LINEAR, "t-wrong")


@pytest.mark.parametrize(
    "returned", [np.int64(2), np.uint8(2), np.array(2), (2, 0.5), (np.int32(2), np.float32(0.5)), (2, 1)]
)
def test_right_choices_come_in_many_types(returned):
    @cahoots.policy("t-right")
    class Right:
        def choose(self):
            return returned

    @cahoots.policy("t-two")
    class Two:
        def choose(self):
            return 2

    mine, plain = simulate(LINEAR, "t-right", "t-two")
    assert mine["ledger"]["regret"] == plain["ledger"]["regret"]


class MyOwnError(Exception):
    pass


@pytest.mark.parametrize("where", ["__init__", "choose", "observe", "on_message", "on_start", "on_wake", "on_join"])
def test_an_error_shows_the_users_traceback(where):
    def fail(here):
        if here == where:
            raise MyOwnError(f"in {here}")

    @cahoots.algorithm("t-fails")
    class Fails:
        class Client:
            def __init__(self):
                fail("__init__")

            def choose(self):
                fail("choose")
                return 0

            def observe(self, send):
                fail("observe")
                send(1)

        class Server:
            def on_start(self, step):
                step.wake_at(3)
                fail("on_start")

            def on_wake(self):
                fail("on_wake")

            def on_join(self):
                fail("on_join")

            def on_message(self):
                fail("on_message")

    with pytest.raises(MyOwnError, match=f"in {where}") as raised:
        simulate(LINEAR, "t-fails")
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert frames[-1].name == "fail" and frames[-2].name == where and frames[-1].filename == __file__
    if sys.version_info >= (3, 11) and where != "__init__":
        assert any("t-fails" in note for note in raised.value.__notes__)


def test_nothing_is_printed_when_user_code_fails():
    done = python(
        """
        import cahoots
        from cahoots import _cahoots
        @cahoots.policy("p")
        class P:
            def choose(self): raise KeyError("mine")
        try:
            _cahoots._simulate('name="x"\\nhorizon=5\\n[environment]\\nkind="linear"\\n[[algorithm]]\\nkind="p"')
        except KeyError: print("caught")
        """
    )
    assert (done.stdout, done.stderr) == ("caught\n", "")


def refusal(client, server=None):
    class Client:
        def choose(self):
            return 0

        def observe(self, send):
            client(send)

    class Server:
        def on_message(self, sender, message, send):
            if server:
                server(sender, send)

    cahoots.algorithm("t-sends")(type("Whole", (), {"Client": Client, "Server": Server}))
    with pytest.raises(InputError) as error:
        simulate(LINEAR, "t-sends")
    return str(error.value)


def test_wrong_messages_and_receivers():
    def one(send):
        send(1)

    assert "can be pickled" in refusal(lambda send: send(lambda: 0))
    assert "can be pickled" in refusal(lambda send: send(threading.Lock()))
    assert "writes to the server alone" in refusal(lambda send: send(1, to=2))
    assert "say to whom" in refusal(one, lambda sender, send: send(1))
    assert "there is no client 3" in refusal(one, lambda sender, send: send(1, to=3))
    assert "there is no client -1" in refusal(one, lambda sender, send: send(1, to=-1))
    assert "a client's number" in refusal(one, lambda sender, send: send(1, to="all"))
    assert "a client's number" in refusal(one, lambda sender, send: send(1, to=[0.5]))
    # A list that sends while it is read: refused or not, nothing may hang.
    assert "there is no client 9" in refusal(one, lambda sender, send: send(1, to=(send(2, to=n) or n for n in (0, 9))))

    @cahoots.algorithm("t-nobody")
    class Nobody:
        class Client:
            def choose(self):
                return 0

            def observe(self, send):
                send(1)

    with pytest.raises(InputError, match="nobody listens"):
        simulate(LINEAR, "t-nobody")


def test_what_belongs_to_a_call_is_of_no_use_after_it():
    kept = {}

    @cahoots.algorithm("t-after")
    class After:
        class Client:
            def choose(self, rng):
                kept["rng"] = rng
                if "send" in kept:
                    with pytest.raises(InputError, match="this step is over"):
                        kept["send"](1)
                return 0

            def observe(self, send):
                kept["send"] = send
                with pytest.raises(InputError, match="a call that is over"):
                    kept["rng"].random()

        class Server:
            def on_message(self): ...

    ledger(LINEAR, "t-after")
    with pytest.raises(InputError, match="a call that is over"):
        kept["rng"].random()
    with pytest.raises(InputError, match="this step is over"):
        kept["send"].wake_at(3)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(kept["rng"])


def test_a_message_is_what_it_was_when_it_was_sent():
    @cahoots.algorithm("t-aliased")
    class Aliased:
        class Client:
            def __init__(self):
                self.sums = np.zeros(2)
                self.sent = 0.0

            def choose(self):
                return 0

            def observe(self, send):
                self.sent = self.sums[0]
                send(self.sums)
                self.sums += 1

            def on_message(self, message):
                assert message[0] == self.sent and message is not self.sums
                message += 100

        class Server:
            def on_message(self, sender, message, send):
                send(message, to=sender)
                message += 5

    assert ledger({**LINEAR, "clients": 1}, "t-aliased")["downloads"] == 200


class Word(str):
    pass


@dataclass
class Pair:
    one: float
    other: list


DEEP: list = []
for _ in range(40):
    DEEP = [DEEP]
SENT = [
    None,
    True,
    (),
    [],
    {},
    3,
    -(2**63),
    2**80,
    -0.0,
    float("inf"),
    "text \u00e9 \U0001f600",
    "\ud800",
    b"bytes",
    {"a": (1, [2.5, None]), 3: {"b": "c"}, (1, 2): {4}},
    np.float64(0.5),
    np.int8(3),
    Word("mine"),
    Pair(0.5, [1]),
    DEEP,
    np.arange(6.0).reshape(2, 3),
    np.arange(6),
    np.zeros((0, 3)),
    np.array(2.5),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(12.0).reshape(3, 4)[::2, 1::2],
    np.arange(4, dtype=np.float32),
    np.arange(4, dtype=">f8"),
    np.ma.masked_array([1.0, 2.0], [True, False]),
    np.array(["a", "b"]),
    np.array([1.0, np.nan]),
    (np.ones(2), {"x": np.ones((2, 2))}),
]


def same(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if isinstance(one, np.ma.MaskedArray) and not np.array_equal(one.mask, other.mask):
            return False
        numbers = one.dtype.kind == "f"
        return one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other, equal_nan=numbers)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    return one == other and repr(one) == repr(other)


@pytest.mark.parametrize("encode", [False, True])
def test_messages_arrive_as_they_were_sent(encode):
    arrived = []

    @cahoots.algorithm("t-post")
    class Post:
        class Client:
            def choose(self):
                return 0

            def observe(self, send):
                for message in SENT:
                    send(message)

        class Server:
            def on_message(self, message):
                arrived.append(message)

    ledger(LINEAR, "t-post", horizon=1, encode=encode)
    wrong = [pair for pair in zip(SENT, arrived, strict=True) if not same(*pair)]
    assert wrong == []
    assert all(array.flags.writeable for array in arrived if isinstance(array, np.ndarray))


def test_a_message_in_itself_does_not_end_the_process():
    loop: list = []
    loop.append(loop)

    @cahoots.algorithm("t-loop")
    class Loop:
        class Client:
            def choose(self):
                return 0

            def observe(self, send):
                send(loop)

        class Server:
            def on_message(self, message):
                assert isinstance(message[0], list)

    assert ledger(LINEAR, "t-loop", horizon=3)["uploads"] == 3


def test_state_that_cannot_be_pickled_is_said_when_it_has_to_be():
    @cahoots.policy("t-unpicklable")
    class Unpicklable:
        def __init__(self):
            self.lock = threading.Lock()

        def choose(self):
            return 0

    assert ledger(LINEAR, "t-unpicklable")["steps"] == 200
    with pytest.raises(InputError, match="what Unpicklable keeps in self cannot be pickled"):
        ledger(LINEAR, "t-unpicklable", restore=True)


def test_draws_follow_from_the_seed_and_have_their_laws():
    draws: dict = {}

    @cahoots.policy("t-draws")
    class Draws:
        def choose(self, arms, rng):
            draws.setdefault("random", []).append(rng.random())
            draws.setdefault("normal", []).extend(rng.normal(2.0, 3.0, 50))
            draws.setdefault("uniform", []).append(rng.uniform(-1, 1))
            draws.setdefault("integers", []).append(rng.integers(2, 5))
            draws.setdefault("choice", []).append(rng.choice(3, p=[0.2, 0.0, 0.8]))
            draws.setdefault("numpy", []).append(rng.generator().random())
            assert isinstance(rng.standard_normal(), float) and rng.random(4).shape == (4,)
            for wrong in (lambda: rng.integers(0), lambda: rng.choice(2, p=[0.5, 0.6]), lambda: rng.choice(0)):
                with pytest.raises(InputError):
                    wrong()
            return 0

    n = 400
    ledger(LINEAR, "t-draws", horizon=n)
    first = {key: list(values) for key, values in draws.items()}
    # Five standard errors each.
    assert abs(np.mean(first["random"]) - 0.5) < 5 * np.sqrt(1 / 12 / n)
    assert abs(np.mean(first["normal"]) - 2) < 5 * 3 / np.sqrt(50 * n)
    assert abs(np.std(first["normal"]) - 3) < 5 * 3 / np.sqrt(2 * 50 * n)
    assert set(first["integers"]) == {2, 3, 4} and set(first["choice"]) == {0, 2}
    assert abs(np.mean(np.equal(first["choice"], 2)) - 0.8) < 5 * np.sqrt(0.16 / n)
    assert -1 <= min(first["uniform"]) < -0.9 and len(set(first["numpy"])) == n
    draws.clear()
    ledger(LINEAR, "t-draws", horizon=n)
    assert draws == first


def test_lost_rewards_are_abandoned_and_late_ones_come():
    seen = {"observe": 0, "abandon": 0}

    @cahoots.policy("t-late")
    class Late:
        def choose(self):
            return 1

        def observe(self, arm, context):
            assert arm == 1 and context.shape == (4,)
            seen["observe"] += 1

        def abandon(self, arm, context):
            assert arm == 1 and context.shape == (4,)
            seen["abandon"] += 1

    result = ledger(LINEAR, "t-late", horizon=400, rewards={"delay": 5, "loss": 0.3, "patience": 8})
    assert seen["abandon"] == result["abandoned"] > 50 and seen["observe"] > 150


def test_a_learner_for_all_clients():
    @cahoots.policy("t-central")
    class Central:
        seating = "central"

        def __init__(self):
            self.users = set()

        def choose(self, user):
            self.users.add(user)
            return 0

        def observe(self, tick):
            assert tick < 200 or self.users == {0, 1, 2}

    assert ledger(LINEAR, "t-central")["steps"] == 200
    Central.seating = "round"
    with pytest.raises(InputError, match="seating must be"):
        cahoots.policy("t-central")(Central)


def test_dataclasses_are_classes_too():
    @cahoots.policy("t-data")
    @dataclass
    class Data:
        setting: cahoots.Setting
        arm: int = 2

        def choose(self):
            return self.arm

    runs = simulate(LINEAR, {"kind": "t-data", "arm": [0, 1]})
    assert runs[0]["ledger"]["regret"] != runs[1]["ledger"]["regret"]


def test_one_thread_runs_what_python_is_part_of():
    lin_ucb("t-linucb")
    assert simulate(LINEAR, "t-linucb")[0]["alone"] is True
    assert simulate(LINEAR, "random")[0]["alone"] is False


def test_other_threads_go_on_meanwhile_and_two_runs_do_not_mix():
    async_lin_ucb("t-async")
    expected = simulate(LINEAR, "t-async", horizon=300)
    results, ticks, stop = {}, [], threading.Event()

    def count():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0.001)

    def run(number):
        results[number] = simulate(LINEAR, "t-async", horizon=300)

    counter = threading.Thread(target=count)
    runners = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in (counter, *runners):
        thread.start()
    for thread in runners:
        thread.join()
    stop.set()
    counter.join()
    assert all(results[number] == expected for number in range(3))
    assert len(ticks) > 2


def test_errors_of_several_threads_reach_their_own():
    @cahoots.policy("t-mine")
    class Mine:
        def __init__(self, number: int = 0):
            self.number = number

        def choose(self):
            raise MyOwnError(self.number)

    caught = {}

    def run(number):
        try:
            simulate(LINEAR, {"kind": "t-mine", "number": number})
        except MyOwnError as error:
            caught[number] = error.args[0]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert caught == {number: number for number in range(8)}


def test_a_run_can_be_interrupted_within_a_call():
    begun, ended = threading.Event(), []

    @cahoots.policy("t-endless")
    class Endless:
        def choose(self):
            begun.set()
            while True:
                pass

    def run():
        try:
            simulate(LINEAR, "t-endless")
        except BaseException as error:
            ended.append(type(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert begun.wait(20)
    try:
        _cahoots._interrupt(True)
        thread.join(20)
        assert ended == [KeyboardInterrupt]
        lin_ucb("t-linucb")
        with pytest.raises(KeyboardInterrupt):
            simulate(LINEAR, "t-linucb")
    finally:
        _cahoots._interrupt(False)
    assert ledger(LINEAR, "t-linucb")["steps"] == 200


def test_objects_are_let_go_when_a_run_is_over():
    alive = []

    class Token:
        pass

    @cahoots.policy("t-memory")
    class Memory:
        def __init__(self):
            self.token = Token()
            alive.append(weakref.ref(self.token))

        def choose(self):
            return 0

    ledger(LINEAR, "t-memory")
    gc.collect()
    assert len(alive) >= 3 and all(reference() is None for reference in alive)
