"""Frames as worlds, tables described, datasets loaded, papers reproduced."""

from __future__ import annotations

import copy
import gc
import math
import os
import pickle
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cahoots


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAHOOTS_CACHE", str(tmp_path / "cache"))


def visits(rows: int = 400) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(3)
    age, smoker = draw.integers(20, 80, rows), draw.random(rows) < 0.3
    outcome = np.where(age + 20 * smoker + draw.normal(0, 8, rows) > 60, "ill", "well")
    return {"age": age, "smoker": smoker, "clinic": draw.choice(["north", "south", "west"], rows), "outcome": outcome}


def test_a_frame_becomes_an_environment_of_any_library() -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    table = visits()
    frames = [
        table,
        pandas.DataFrame(table),
        pandas.DataFrame(table).astype({"clinic": "category", "outcome": "string", "age": "Int64"}),
        polars.DataFrame(table),
        pyarrow.table(table),
    ]
    contents = set()
    for frame in frames:
        environment = cahoots.data.table_environment(frame, label="outcome", client="clinic")
        assert environment["kind"] == "table" and environment.rows == 400
        contents.add(Path(environment["file"]).read_bytes())
    # The same data are the same bytes, and so the same world to every experiment.
    assert len(contents) == 1


def test_the_file_lives_as_long_as_the_environment() -> None:
    environment = cahoots.data.table_environment(visits(), label="outcome")
    file = Path(environment["file"])
    copied = copy.deepcopy({"environment": environment})
    assert copied["environment"] == environment
    plain = pickle.loads(pickle.dumps(environment))
    assert type(plain) is dict and plain == environment
    del environment
    gc.collect()
    assert file.is_file()
    del copied
    gc.collect()
    assert not file.exists()


def test_a_folder_of_ones_own_is_kept(tmp_path: Path) -> None:
    environment = cahoots.data.table_environment(visits(), label="outcome", folder=tmp_path / "mine")
    file = Path(environment["file"])
    del environment
    gc.collect()
    assert file == tmp_path / "mine" / "table.parquet" and file.is_file()


def test_arms_with_features_in_a_second_frame(tmp_path: Path) -> None:
    likes = {"user": ["a", "b"] * 30, "film": ["alien", "brazil", "casablanca"] * 20}
    films = {"film": ["alien", "brazil", "casablanca"], "year": [1979, 1985, 1942]}
    environment = cahoots.data.table_environment(likes, arms=films, arm="film", client="user")
    assert environment["form"] == "arms" and environment.rows == 60
    found = cahoots.data.describe(likes, arms=films, arm="film", client="user")
    assert found.arm_count == 3 and found.clients == 2 and "file" not in found.environment
    with pytest.raises(cahoots.InputError, match="dune"):
        cahoots.data.table_environment({**likes, "film": ["dune"] * 60}, arms=films, arm="film", client="user")


def refused(frame: Any, **keys: Any) -> str:
    with pytest.raises(cahoots.InputError) as told:
        cahoots.data.table_environment(frame, **keys)
    assert "/tmp" not in str(told.value), told.value
    return str(told.value)


def test_wrong_tables_are_refused_by_column() -> None:
    table = visits()
    assert "did you mean `outcome`?" in refused(table, label="outcom")
    assert "it names a column" in refused(table, label=3)
    assert "there is no column `shoe`" in refused(table, label="outcome", context=["shoe"])
    assert "the frame has no rows" in refused({name: cells[:0] for name, cells in table.items()}, label="outcome")
    assert "unknown field `colour`" in refused(table, label="outcome", colour="red")
    assert "leave file" in refused(table, label="outcome", file="x.csv")
    assert "label" in refused(table)
    mixed = table["outcome"].astype(object)
    mixed[3] = 7
    assert "column `outcome` mixes texts and whole numbers" in refused({**table, "outcome": mixed}, label="outcome")
    times = {**table, "when": np.arange(400).astype("datetime64[D]")}
    assert "column `when` holds times" in refused(times, label="outcome")
    assert cahoots.data.table_environment(times, label="outcome", context=("age",)).rows == 400
    assert cahoots.data.table_environment(times, label="outcome", context="age")["context"] == ["age"]
    endless = {**table, "age": np.where(table["age"] > 70, math.inf, table["age"])}
    assert "age" in refused(endless, label="outcome")
    missing = table["outcome"].astype(object)
    missing[5] = None
    assert "outcome" in refused({**table, "outcome": missing}, label="outcome")
    assert cahoots.data.table_environment({**table, "outcome": missing}, label="outcome", missing="skip").rows == 399
    assert "give a DataFrame" in refused([1, 2, 3], label="outcome")
    assert "there is no file" in refused("nowhere.csv", label="outcome")


def test_a_file_is_its_own_table(tmp_path: Path) -> None:
    tomllib = pytest.importorskip("tomllib")
    file = tmp_path / "visits.csv"
    table = visits()
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    file.write_text("\n".join(lines))
    environment = cahoots.data.table_environment(file, label="outcome", client="clinic")
    assert environment["file"] == str(file.resolve()) and environment.rows == 400
    found = cahoots.data.describe(file)
    assert found.experiment is not None
    assert tomllib.loads(found.experiment)["environment"]["file"] == str(file.resolve())
    del environment
    gc.collect()
    assert file.is_file()


def test_a_table_described() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(visits()).assign(when=pandas.Timestamp("2026-11-17"), odd=[1, "a"] * 200)
    found = cahoots.data.describe(table)
    roles = {column["name"]: column["role"] for column in found.columns}
    assert roles == {"age": "context", "smoker": "context", "clinic": "client", "outcome": "label"}
    assert sorted(found.unread) == ["odd", "when"] and found.rows == 400 and found.problem is None
    assert found.arms == ["ill", "well"] and found.most_frequent is not None
    share = max((table.outcome == "ill").mean(), (table.outcome == "well").mean())
    assert found.most_frequent[1] == share
    assert found.experiment is not None and "/tmp" not in found.experiment
    assert "file" not in found.environment
    assert cahoots.data.table_environment(visits(), **found.environment).rows == 400
    assert "clinic" in repr(found) and "<table>" in found._repr_html_()
    assert found.to_pandas().loc["age", "role"] == "context"
    with pytest.raises(cahoots.InputError, match="column `odd` mixes"):
        cahoots.data.describe(table, label="odd")
    logged = cahoots.data.describe(cahoots.data.example_log(200))
    assert logged.problem is not None and "`cahoots.evaluate`" in logged.problem and logged.experiment is None


@pytest.mark.parametrize("name", ["lastfm", "delicious", "delicious-reduced", "hetrec-movielens", "movielens"])
def test_sets_are_loaded_into_arrays(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    cahoots.data.example_set(name, folder)
    music = cahoots.data.load(name, folder)
    assert cahoots.data.load(None, str(folder)).content == music.content
    assert len(music) == len(music.event_items) == music.counts["events"]
    assert music.event_users.max() == len(music.users) - 1 and music.event_items.max() < len(music.items)
    features = music.features(dim=3)
    assert features.shape == (len(music.items), 3) and np.isfinite(features).all()
    # No item is longer than 1, and one of them is.
    assert np.isclose(np.linalg.norm(features, axis=1).max(), 1.0)
    standard = music.features("svd", dim=2)
    assert np.allclose(standard.mean(axis=0), 0) and np.allclose(standard.std(axis=0), 1)
    data, indices, starts = music.word_counts()
    assert len(starts) == len(music.items) + 1 and starts[-1] == len(data) == len(indices)
    assert indices.max() < len(music.words)
    frame = music.to_pandas()
    assert len(frame) == len(music) and set(frame.user) == set(music.users.tolist())
    assert ("time" in frame) == (name != "delicious-reduced")
    assert music.environment(arms=5) == {"kind": "replay", "data": str(folder), "dataset": music.name, "arms": 5}
    features[:] = 0
    assert music.features(dim=3).any(), "an array is the caller's own"


def test_sets_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(cahoots.InputError, match="there is no folder"):
        cahoots.data.load(None, tmp_path / "nowhere")
    with pytest.raises(cahoots.InputError, match="no dataset that is known"):
        cahoots.data.check(tmp_path)
    with pytest.raises(cahoots.InputError, match="did you mean `lastfm`"):
        cahoots.data.load("last.fm", tmp_path)
    cahoots.data.example_set("lastfm", tmp_path / "music")
    music = cahoots.data.load("lastfm", tmp_path / "music")
    with pytest.raises(cahoots.InputError, match="name is 3"):
        cahoots.data.load(3, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(cahoots.InputError, match="it must be a path"):
        cahoots.data.check(3)  # type: ignore[arg-type]
    for dim in (0, -1, 1001, 2.5, True, "three"):
        with pytest.raises(cahoots.InputError, match="dim"):
            music.features(dim=dim)  # type: ignore[arg-type]
    with pytest.raises(cahoots.InputError, match="gob"):
        music.features("pca")
    with pytest.raises(cahoots.InputError, match=r"there is no movies\.csv"):
        cahoots.data.load("ml-20m", tmp_path / "music")
    (tmp_path / "music" / "user_taggedartists.dat").write_text("userID\tartistID\n1\tx\n")
    with pytest.raises(cahoots.InputError, match=r"user_taggedartists\.dat"):
        cahoots.data.check(tmp_path / "music")


def test_features_are_prepared_once(tmp_path: Path) -> None:
    cahoots.data.example_set("lastfm", tmp_path / "music")
    first = cahoots.data.prepare("lastfm", tmp_path / "music", dim=3)
    again = cahoots.data.prepare("lastfm", tmp_path / "music", dim=3)
    assert [one["computed"] for one in first] == [True, True] and [one["computed"] for one in again] == [False, False]
    assert all(Path(one["file"]).is_relative_to(tmp_path / "cache") for one in first)
    assert cahoots.data.prepare("lastfm", tmp_path / "music", features="gob", dim=3, anew=True)[0]["computed"]


def test_open_bandit_is_a_log(tmp_path: Path) -> None:
    cahoots.data.example_set("open-bandit", tmp_path / "clicks")
    assert cahoots.data.check(tmp_path / "clicks").dataset == "open-bandit"
    with pytest.raises(cahoots.InputError, match="log of decisions"):
        cahoots.data.load(None, tmp_path / "clicks")
    found = cahoots.evaluate(tmp_path / "clicks" / "random" / "all", "logged", context="user_feature_0", force=True)
    assert found.positions == 3 and found.rows == 40


def test_papers_are_listed_and_asked_for_by_name() -> None:
    items = cahoots.papers()
    assert {"item", "title", "paper", "quick_seconds", "needs_data"} <= set(items[0])
    with pytest.raises(cahoots.InputError, match="did you mean `async-linucb/figure-2a`"):
        cahoots.reproduce("async-linuc/figure-2a")
    with pytest.raises(cahoots.InputError, match="say one of"):
        cahoots.reproduce("hetofed")
    with pytest.raises(cahoots.InputError, match="jobs"):
        cahoots.reproduce("async-linucb/figure-2a", jobs=0)
    needy = next(item["item"] for item in items if item["needs_data"])
    with pytest.raises(cahoots.InputError, match="reads a dataset"):
        cahoots.reproduce(needy)


def quickest() -> str:
    own = [item for item in cahoots.papers() if not item["needs_data"]]
    return str(min(own, key=lambda item: float(item["quick_seconds"]))["item"])


def test_a_paper_reproduced(tmp_path: Path) -> None:
    found = cahoots.reproduce(quickest(), out=tmp_path / "papers")
    assert found.claims and {claim.verdict for claim in found.claims} <= {"holds", "does not hold", "undecided"}
    assert found.folder is not None and (found.folder / "report.md").is_file()
    assert all("<svg" in figure for figure in found.figures.values())
    assert len(found.to_pandas()) == len(found.claims)
    assert "verdict" in repr(found) and "<table>" in found._repr_html_()
    again = cahoots.reproduce(quickest(), out=tmp_path / "papers")
    assert again.claims == found.claims


def test_ctrl_c_ends_a_reproduction(tmp_path: Path) -> None:
    longest = max((item for item in cahoots.papers() if not item["needs_data"]), key=lambda item: item["seconds"])
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        cahoots.reproduce(longest["item"], quick=False, out=tmp_path / "papers", jobs=1)


def test_a_frame_is_run_like_the_file_that_it_would_be(tmp_path: Path) -> None:
    table = visits(200)
    file = tmp_path / "visits.csv"
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    file.write_text("\n".join(lines))
    keys = {"label": "outcome", "client": "clinic"}
    curves = []
    for environment in [cahoots.data.table_environment(table, **keys), {"kind": "table", "file": str(file), **keys}]:
        algorithms = [{"kind": "linucb-alone"}, {"kind": "async-linucb"}]
        experiment = {"name": "visits", "seeds": 2, "environment": environment, "algorithm": algorithms}
        with cahoots.run(experiment, progress=False) as result:
            assert result.summary[0]["steps"] == 200
            curves.append(result.columns("curves"))
    for name in ("regret", "reward", "transfers", "bytes"):
        assert np.array_equal(curves[0][name], curves[1][name]), name
    assert curves[0]["regret"].max() > 0


def test_a_set_is_replayed(tmp_path: Path) -> None:
    cahoots.data.example_set("lastfm", tmp_path / "music")
    music = cahoots.data.load("lastfm", tmp_path / "music")
    experiment = {"seeds": 1, "environment": music.environment(arms=5, dim=3), "algorithm": [{"kind": "linucb-alone"}]}
    with cahoots.run(experiment, progress=False) as result:
        assert result.summary[0]["steps"] == len(music)
