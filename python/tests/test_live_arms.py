"""What may be offered to a live client, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_helpers import ARMS

import cahoots

pytest_plugins = ["live_fixtures"]


def test_arms_may_be_any_table_of_numbers(alone: cahoots.Client) -> None:
    pd = pytest.importorskip("pandas")
    alone.reward(alone.decide([[0.0, 1.0]]), 1.0)
    readonly = ARMS.copy()
    readonly.setflags(write=False)
    wide = np.zeros((6, 4))
    wide[::2, ::-2] = ARMS
    unaligned = np.frombuffer(b"\0" + ARMS.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(3, 2)
    tables: list[Any] = [
        ARMS,
        ARMS.tolist(),
        [tuple(row) for row in ARMS],
        list(ARMS),
        np.asfortranarray(ARMS),
        ARMS.astype(np.float32),
        ARMS.astype(">f8"),
        ARMS.astype(object),
        wide[::2, ::-2],
        readonly,
        unaligned,
        pd.DataFrame(ARMS),
        np.ma.masked_array(ARMS),
    ]
    expected = alone.decide(ARMS)
    for table in tables:
        decision = alone.decide(table)
        assert decision.arm == expected.arm, type(table)
        assert decision.score == pytest.approx(expected.score, rel=1e-6)
    whole = alone.decide(np.array([[1, 0], [0, 1]], dtype=np.int8))
    assert whole.arm in (0, 1)


def test_polars_frames_too(alone: cahoots.Client) -> None:
    pl = pytest.importorskip("polars")
    assert alone.decide(pl.DataFrame(ARMS)).arm in range(3)


@pytest.mark.parametrize(
    ("arms", "says"),
    [
        ([[1.0, float("nan")]], "no number"),
        ([[1.0, float("inf")]], "no number"),
        ([[1.0, 2.0, 3.0]], "3 .* features where 2"),
        (np.zeros((4, 1)), "1 .* features where 2"),
        (np.zeros((2, 4)), "4 .* features where 2"),
        (np.zeros((0, 2)), "no arms"),
        (np.zeros((2, 0)), "0 .* features where 2"),
        ([], "shape"),
        ([1.0, 2.0], "shape"),
        (np.zeros((1, 2, 2)), "shape"),
        ([[1.0], [1.0, 2.0]], "same length|cannot be read"),
        ([["a", "b"]], "numbers"),
        (np.array([["1.0", "2.0"]]), "numbers"),
        (np.zeros((2, 2), dtype=complex), "numbers"),
        (np.array([[1.0, None]], dtype=object), "numbers"),
        (np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]), "masked"),
        (3, "features"),
        (-1, "arms must be from 0"),
        (True, "cannot be True"),
        (2.5, "cannot be 2.5"),
        ("red", "cannot be 'red'"),
        (object(), "cannot be object"),
        ({"red": [1.0]}, "red"),
        ({"red": [1.0, float("nan")]}, "no number"),
        ({1: [1.0, 0.0]}, "id"),
        ({"": [1.0, 0.0]}, "empty"),
        ({"\ud800": [1.0, 0.0]}, "UTF-8"),
        (["red", "blue"], "register"),
        ([{"id": "red", "colour": 1}], "colour"),
        (["red", 3], "cannot be read|numbers|shape"),
        (None, "register"),
    ],
)
def test_arms_that_cannot_be_are_refused(alone: cahoots.Client, arms: Any, says: str) -> None:
    with pytest.raises(cahoots.InputError, match=says):
        alone.decide(arms)
    assert alone.status()["decisions"] == 0
    alone.decide(ARMS).reward(1.0)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"user": -1}, "user"),
        ({"user": 1.5}, "user"),
        ({"user": 7}, "user"),
        ({"user": 2**40}, "user"),
        ({"top": -1}, "top"),
        ({"top": 101}, "top"),
        ({"event": 17}, "event"),
        ({"event": ""}, "empty"),
        ({"event": "x" * 257}, "257"),
        ({"masked": [0, 1, 2]}, "arm"),
        ({"masked": [9]}, "masked"),
        ({"masked": ["red"]}, "masked"),
        ({"masked": "red"}, "masked"),
        ({"masked": [True, False]}, "2 flags for 3"),
        ({"masked": [1.5]}, "masked"),
        ({"context": {"hour": float("nan")}}, "hour"),
        ({"context": {"hour": [1]}}, "hour"),
        ({"context": ["hour"]}, "context"),
        ({"baseline": True}, "baseline"),
        ({"baseline": 9}, "baseline"),
    ],
)
def test_other_words_that_cannot_be_are_refused(alone: cahoots.Client, words: dict[str, Any], says: str) -> None:
    with pytest.raises(cahoots.InputError, match=says):
        alone.decide(ARMS, **words)
    assert alone.status()["decisions"] == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), None, "1.0", [1.0, 2.0], 1j, 10**400])
def test_rewards_that_are_no_numbers_are_refused(alone: cahoots.Client, value: Any) -> None:
    decision = alone.decide(ARMS)
    with pytest.raises(cahoots.InputError):
        decision.reward(value)
    assert decision.reward(np.float32(0.5)) == "learned"


def test_masks_are_lists_of_arms_or_flags(alone: cahoots.Client) -> None:
    assert {alone.decide(ARMS, masked=[0, 2]).arm for _ in range(5)} == {1}
    assert alone.decide(ARMS, masked=np.array([True, True, False])).arm == 2
    assert alone.decide({"red": ARMS[0], "blue": ARMS[1]}, masked=[True, False]).arm == "blue"
    assert alone.decide({"red": ARMS[0], "blue": ARMS[1]}, masked=["blue"]).arm == "red"
    with pytest.raises(cahoots.InputError, match="ids"):
        alone.decide({"red": ARMS[0]}, masked=[0])


def test_plain_arms_are_a_number(tmp_path: Path) -> None:
    setting = {"clients": 2, "arms": 4}
    with cahoots.Client("shops", 0, store=tmp_path / "c", algorithm="ucb-alone", setting=setting) as client:
        assert {client.decide(np.int64(4)).arm, client.decide(4).arm} <= set(range(4))
        with pytest.raises(cahoots.InputError, match="4"):
            client.decide(5)
        with pytest.raises(cahoots.InputError, match="no features"):
            client.decide(ARMS)
        assert client.register({"red": 0, "blue": 1, "green": 2, "grey": 3}) == 4
        assert client.arms == {"red": 0, "blue": 1, "green": 2, "grey": 3}
        assert client.decide().arm in client.arms
        assert client.decide(["blue", "green"]).arm in ("blue", "green")
