"""What a live client and a coordinator are given: files, keywords, keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_helpers import ARMS, SETTING, TERMS, eventually

import cahoots

pytest_plugins = ["live_fixtures"]


# Who is who.


def test_certificates_and_what_is_not_let_in(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    coordinator = cahoots.keys.init(folder, federation="shops", hosts=["127.0.0.1"])
    mine, other = cahoots.keys.client(folder, 0), cahoots.keys.client(folder, 1)
    with pytest.raises(cahoots.InputError, match="already"):
        cahoots.keys.init(folder, federation="shops", hosts=["127.0.0.1"])
    assert "client 0" in cahoots.keys.show(mine) or "client/0" in cahoots.keys.show(mine)
    given: dict[str, Any] = {"clients": 3, "dim": 2, "arms": 3, "federation": "shops"}
    with cahoots.Coordinator("async-linucb", {"ratio": 1.0}, keys=coordinator, **given) as hub:
        assert hub.address.startswith("https://127.0.0.1:")
        with hub.client(0, keys=mine) as client:
            client.decide(ARMS).reward(1.0)
            assert client.drain(60).unconfirmed == 0 and hub.status()["observations"] == 1
        with pytest.raises(cahoots.InputError, match="tls"):
            hub.client(1)
        with pytest.raises(cahoots.InputError, match="no folder"):
            hub.client(1, keys=folder / "client-9")
        with cahoots.Client(**hub.options(2), keys=other, longest_pause=0.1) as client:
            eventually(lambda: any("certificate" in problem for problem in client.problems()))
            assert not client.status()["joined"]
        assert cahoots.keys.revoke(folder, 1) == 1
        with cahoots.Client(**hub.options(1), keys=other, longest_pause=0.1) as client:
            eventually(lambda: any("revoked" in problem for problem in client.problems()))


def test_invitations(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    coordinator = cahoots.keys.init(folder, federation="shops", hosts=["127.0.0.1"])
    given: dict[str, Any] = {"clients": 3, "dim": 2, "arms": 3, "federation": "shops", "admit": "tokens"}
    authorities = folder / "authorities.pem"
    with cahoots.Coordinator("async-linucb", {"ratio": 1.0}, keys=coordinator, **given) as hub:
        invitation = hub.invite(2)
        with hub.client(2, authorities=authorities, invitation=invitation) as client:
            assert client.decide(ARMS).arm in range(3)
        with hub.client(2, authorities=authorities) as client:
            assert client.status()["joined"], "its secret is in its store"
        hub.invite(0)
        assert hub.uninvite(0) == 1
        with pytest.raises(cahoots.InputError, match="invitation"):
            hub.client(0, authorities=authorities, invitation="please")


def test_plain_text_does_not_leave_this_machine(tmp_path: Path) -> None:
    with pytest.raises(cahoots.InputError, match="without encryption"):
        cahoots.Client("shops", 0, store=tmp_path / "c", coordinator="http://192.0.2.1:7700")
    with pytest.raises(cahoots.InputError, match="without encryption"):
        cahoots.Coordinator("random", clients=2, arms=2, listen="0.0.0.0:0")
    assert list(tmp_path.iterdir()) == []


# What is given.


def test_a_client_from_the_file_of_the_command(
    hub: cahoots.Coordinator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "client.toml"
    file.write_text(
        f'federation = "federation"\ncoordinator = "{hub.address}"\nclient = 1\nstore = "c1.store"\ndrain = 30\n'
        "[limits]\nbatch = 5\n"
    )
    with cahoots.Client.from_file(file) as client:
        client.wait().decide(ARMS).reward(1.0)
        assert (tmp_path / "c1.store").exists() and client.client == 1
        with pytest.raises(cahoots.InputError, match=r"limits.batch"):
            client.decide_all([ARMS] * 6)
    assert hub.status()["observations"] == 1, "it was drained"
    monkeypatch.setenv("CAHOOTS_LIMITS__BATCH", "7")
    with cahoots.Client.from_file(str(file), over={"store": tmp_path / "other", "client": 2}) as client:
        assert client.client == 2 and len(client.wait().decide_all([ARMS] * 6)) == 6
    monkeypatch.delenv("CAHOOTS_LIMITS__BATCH")
    file.write_text(file.read_text().replace("drain", "drane"))
    with pytest.raises(cahoots.InputError, match=r"client.toml:5.*did you mean `drain`"):
        cahoots.Client.from_file(file)
    with pytest.raises(cahoots.InputError, match="missing"):
        cahoots.Client.from_file(tmp_path / "missing.toml")


def test_a_coordinator_from_the_file_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(
        'federation = "shops"\nlisten = "127.0.0.1:0"\nstore = "hub.store"\n'
        "[setting]\nusers = 2\ndim = 2\narms = 3\n[algorithm]\nkind = 'async-linucb'\nratio = 1.0\n"
    )
    with cahoots.Coordinator.from_file(file) as hub:
        with hub.client(0, drain=30.0) as client:
            client.decide(ARMS).reward(1.0)
        with pytest.raises(cahoots.CahootsError, match="in use"):
            cahoots.Coordinator.from_file(file)
        assert hub.backup(tmp_path / "copy").exists()
    with cahoots.Coordinator.from_file(file, over={"http": "none"}) as hub:
        assert hub.page is None and hub.status()["observations"] == 1
    with pytest.raises(cahoots.InputError, match="port"):
        cahoots.Coordinator.from_file(file, over={"listen": "127.0.0.1"})


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"tick": 0}, "tick"),
        ({"tick": float("nan")}, "tick"),
        ({"expiry": -1}, "expiry"),
        ({"sync": "soon"}, "soon"),
        ({"client": -1}, "-1"),
        ({"client": "one"}, "one"),
        ({"coordinator": "127.0.0.1:7700"}, "http"),
        ({"coordinator": "https://127.0.0.1:7700"}, "keys"),
        ({"privacy": {"max_epsilon": -1}}, "max_epsilon"),
        ({"privacy": {"max_epsilonn": 1}}, "max_epsilonn"),
        ({"gain": {"confidence": 2.0}}, "confidence"),
        ({"limits": {"batch": 0}}, "batch"),
        ({"limits": object()}, "limits"),
        ({"telemetry": {"share": ["everything"]}}, "everything"),
        ({"decisions": {"folder": "x", "rotate_rows": 0}}, "rotate_rows"),
        ({"invitation": "please"}, "invitation"),
        ({"setting": None}, "setting"),
        ({"setting": {"clients": 3}}, "arms"),
        ({"setting": {**SETTING, "colour": 1}}, "colour"),
        ({"algorithm": None}, "algorithm"),
        ({"algorithm": "async-linucbb"}, "written in Python"),
        ({"algorithm": int}, "cannot be deployed"),
        ({"params": {"ratio": -1.0}}, "ratio"),
        ({"params": {"kind": "random"}}, "kind"),
        ({"params": {1: 2}}, "keys are texts"),
        ({"params": {"ratio": 2**80}}, "too large"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_leaves_no_store(tmp_path: Path, words: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"federation": "shops", "client": 0, "store": tmp_path / "c", **TERMS, **words}
    with pytest.raises(cahoots.InputError, match=says):
        cahoots.Client(**given)
    assert list(tmp_path.iterdir()) == []


def test_terms_that_promise_too_little_are_refused(tmp_path: Path) -> None:
    with pytest.raises(cahoots.InputError, match="promise no privacy"):
        cahoots.Client("shops", 0, store=tmp_path / "c", privacy={"max_epsilon": 1.0}, **TERMS)


def test_a_coordinator_says_what_is_wrong_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    class Mine: ...

    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ("mine", {}, "written in Python"),
        (Mine, {}, "cannot be deployed"),
        ("async-linucb", {"dim": 0}, "arms with features"),
        ("async-linucb", {"listen": "nowhere"}, "listen"),
        ("async-linucb", {"admit": "certificates"}, "tls"),
        ("async-linucb", {"http": "0.0.0.0:0"}, "token"),
        ("async-linucb", {"limits": {"hello": -1}}, "limit"),
    ]
    for algorithm, words, says in wrong:
        with pytest.raises(cahoots.InputError, match=says):
            cahoots.Coordinator(algorithm, **{"clients": 2, "dim": 2, "arms": 2, **words})
    assert list(tmp_path.iterdir()) == []


def test_numpy_values_and_paths_are_as_good_as_numbers_and_texts(tmp_path: Path) -> None:
    setting = {"clients": np.int64(2), "dim": np.int32(2), "arms": 3, "reward_range": np.array([0.0, 1.0])}
    client = cahoots.Client(
        "shops", np.int64(1), store=tmp_path / "c", tick=np.float32(0.5), algorithm="async-linucb", setting=setting
    )
    with client, pytest.raises(cahoots.InputError, match="reward_range"):
        client.decide(ARMS).reward(2.0)
