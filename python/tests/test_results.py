"""Results: tables for pandas, polars and Arrow, figures, pages, folders."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cahoots

KEYS: dict[str, Any] = {
    "name": "shown",
    "title": "Title with <tags> & more",
    "horizon": 400,
    "seeds": 3,
    "environment": {"kind": "linear", "clients": 4, "dim": 3, "arms": 5},
    "algorithm": [
        {"kind": "linucb-alone", "label": "<script>alert('x')</script>"},
        {"kind": "async-linucb", "upload_ratio": [2.0, 20.0, float("inf")]},
    ],
}
TABLES = ["summary", "curves", "clients"]


@pytest.fixture(scope="module")
def result() -> Iterator[cahoots.Result]:
    with cahoots.run(KEYS, per_client=True, progress=False) as result:
        yield result


@pytest.mark.parametrize("what", TABLES)
def test_tables_are_what_another_reader_finds_in_the_files(result: cahoots.Result, what: Any) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    theirs = parquet.read_table(result.folder / f"{what}.parquet")
    ours = pyarrow.table(result.table(what))
    assert ours.column_names == theirs.column_names == result.table(what).column_names
    assert ours.num_rows == theirs.num_rows == len(result.table(what)) > 0
    for name in theirs.column_names:
        assert ours[name].to_pylist() == theirs[name].to_pylist(), name
    if what != "clients":
        assert ours["params.upload_ratio"].null_count > 0, "what is not known is not known"


@pytest.mark.parametrize("what", TABLES)
def test_pandas_and_polars_get_the_same(result: cahoots.Result, what: Any) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    pandas, polars = result.to_pandas(what), result.to_polars(what)
    assert list(pandas.columns) == polars.columns and len(pandas) == polars.height
    for name in polars.columns:
        ours = [None if value is None or value != value else value for value in pandas[name].tolist()]
        assert ours == polars[name].to_list(), name


def test_the_summary_is_the_same_everywhere(result: cahoots.Result) -> None:
    frame = result.to_pandas()
    assert frame["regret_mean"].tolist() == [row["regret_mean"] for row in result.summary]
    assert frame["label"].tolist() == [row["label"] for row in result.summary]
    curves = result.columns("curves")
    last = curves["tick"] == 400
    for entry, row in enumerate(result.summary):
        ends = curves["regret"][last & (curves["entry"] == entry)]
        assert len(ends) == 3 and ends.mean() == pytest.approx(row["regret_mean"], rel=1e-12)
    clients = result.columns("clients")
    assert clients["steps"].dtype == np.int64 and clients["steps"].sum() == 4 * 3 * 400


def test_pandas_does_without_pyarrow() -> None:
    keys = {**KEYS, "title": "x", "algorithm": [{"kind": "linucb-alone"}]}
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        f"import cahoots; print(len(cahoots.run({keys!r}, progress=False).to_pandas('curves')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 3 * 400


def test_an_arrow_stream_can_be_taken_again_left_alone_and_outlives_its_folder() -> None:
    polars = pytest.importorskip("polars")
    result = cahoots.run(KEYS, progress=False)
    table = result.table("curves")
    capsules = [table.__arrow_c_stream__() for _ in range(3)] + [table.__arrow_c_schema__()]
    assert all("arrow" in repr(capsule) for capsule in capsules)
    del capsules, result
    gc.collect()
    first, second = polars.DataFrame(table), polars.DataFrame(table)
    del table
    gc.collect()
    assert first.equals(second) and first.height == 4 * 3 * 400


def test_what_is_not_there_is_said(result: cahoots.Result) -> None:
    with cahoots.run(KEYS, progress=False) as without, pytest.raises(cahoots.InputError, match="per_client=True"):
        without.to_pandas("clients")
    with pytest.raises(cahoots.InputError, match="take one of summary, curves, clients"):
        result.table("curve")  # type: ignore[arg-type]


@pytest.mark.parametrize("module", ["pandas", "polars", "matplotlib"])
def test_what_is_not_installed_is_named(module: str, result: cahoots.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    extra = {"matplotlib": "plot"}.get(module, module)
    calls: dict[str, Any] = {"pandas": result.to_pandas, "polars": result.to_polars, "matplotlib": result.plot}
    with pytest.raises(cahoots.CahootsError, match=rf'pip install "cahoots\[{extra}\]"'):
        calls[module]()


def test_a_page_is_escaped_and_a_text_is_aligned(result: cahoots.Result) -> None:
    page = result._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page and "Title with &lt;tags&gt; &amp; more" in page
    assert page.count("<tr>") == 5
    lines = repr(result).splitlines()
    assert lines[0] == "Title with <tags> & more (mean over 3 seeds ± 95% confidence)"
    assert len({len(line) for line in lines[2:7]}) == 1
    assert "±" in lines[3]


# Folders


def test_saved_loaded_pickled_and_copied(result: cahoots.Result, tmp_path: Path) -> None:
    saved = result.save(tmp_path / "saved")
    for other in [saved, cahoots.load(tmp_path / "saved"), cahoots.Result.load(str(tmp_path / "saved"))]:
        assert other.summary == result.summary and other.seeds == [0, 1, 2] and other.name == "shown"
        assert other.warnings == result.warnings and repr(other) == repr(result)
    with pytest.raises(cahoots.InputError, match="not an empty folder"):
        result.save(tmp_path / "saved")
    assert pickle.loads(pickle.dumps(saved)).folder == saved.folder
    ways: list[Any] = [lambda one: pickle.loads(pickle.dumps(one)), copy.copy, copy.deepcopy]
    for way in ways:
        other = way(result)
        assert other.folder != result.folder and len(other.table("curves")) == len(result.table("curves"))
        folder = other.folder
        del other
        gc.collect()
        assert not folder.exists() and result.folder.exists()
    saved.close()
    assert (tmp_path / "saved").is_dir(), "a folder that was asked for stays"


def test_a_saved_run_is_a_run_that_grows(result: cahoots.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "saved")
    grown = cahoots.run(KEYS, out=tmp_path / "saved", seeds=4, resume=True, per_client=True, progress=False)
    assert grown.seeds == [0, 1, 2, 3]


def test_folders_that_hold_nothing_or_half_of_it(result: cahoots.Result, tmp_path: Path) -> None:
    with pytest.raises(cahoots.InputError, match="there is no folder"):
        cahoots.load(tmp_path / "absent")
    with pytest.raises(cahoots.InputError, match=r"holds no finished run: summary\.json is not there"):
        cahoots.load(tmp_path)
    result.save(tmp_path / "broken")
    curves = tmp_path / "broken" / "curves.parquet"
    whole = curves.read_bytes()
    for cut in [0, 3, 100, len(whole) // 2, len(whole) - 1]:
        curves.write_bytes(whole[:cut])
        with pytest.raises(cahoots.CahootsError, match=r"cannot read .*curves\.parquet"):
            cahoots.load(tmp_path / "broken").table("curves")
    (tmp_path / "broken" / "summary.json").write_text("[{")
    with pytest.raises(cahoots.CahootsError, match="cannot be read"):
        cahoots.load(tmp_path / "broken")


# Figures


@pytest.fixture
def ax() -> Iterator[Any]:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


@pytest.mark.parametrize("y", ["regret", "reward", "transfers", "bytes"])
def test_lines_are_means_and_bands_are_intervals_of_student(result: cahoots.Result, ax: Any, y: str) -> None:
    assert result.plot(y=y, ax=ax) is ax
    frame = result.to_pandas("curves")
    assert [line.get_label() for line in ax.get_lines()] == [row["label"] for row in result.summary]
    drawn: list[tuple[Any, Any]] = list(zip(ax.get_lines(), ax.collections, strict=True))
    for entry, (line, band) in enumerate(drawn):
        groups = frame[frame["entry"] == entry].groupby("tick")[y]
        mean, half = groups.mean(), 4.302652729911275 * groups.std(ddof=1) / math.sqrt(3)
        np.testing.assert_array_equal(line.get_xdata(), mean.index)
        np.testing.assert_allclose(line.get_ydata(), mean, rtol=1e-12)
        top = {x: max(v for u, v in band.get_paths()[0].vertices if u == x) for x in (1.0, 200.0, 400.0)}
        for x, reached in top.items():
            assert reached == pytest.approx(mean[x] + half[x], rel=1e-9)
    assert ax.get_title() == result.title and ax.get_ylabel()


def test_over_messages_over_a_parameter_and_a_few_entries(result: cahoots.Result, ax: Any) -> None:
    label = result.summary[1]["label"]
    result.plot("transfers", "regret", ax=ax, entries=[label], band=False)
    (line,) = ax.get_lines()
    assert not ax.collections and line.get_xdata()[-1] == pytest.approx(result.summary[1]["transfers_mean"])
    ax.clear()
    result.plot("params.upload_ratio", "regret", ax=ax)
    (line, *_) = ax.get_lines()
    # Infinity is no place on an axis, and the first entry has no such parameter.
    assert list(line.get_xdata()) == [2.0, 20.0]
    assert list(line.get_ydata()) == [row["regret_mean"] for row in result.summary[1:3]]


def test_a_single_seed_has_no_band(ax: Any) -> None:
    with cahoots.run(KEYS, seeds=1, progress=False) as result:
        result.plot(ax=ax)
        assert len(ax.get_lines()) == 4 and not ax.collections
        assert "one seed" in repr(result)


def test_a_wrong_name_draws_nothing(result: cahoots.Result, ax: Any) -> None:
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    for options, says in [
        ({"y": "regrets"}, "y is 'regrets': take one of regret"),
        ({"x": "time"}, r"x is 'time': take one of tick.*params\.upload_ratio"),
        ({"x": "label"}, "x is 'label'"),
        ({"entries": ["nobody"]}, "there is no entry 'nobody'"),
        ({"x": "params.upload_ratio", "entries": [result.summary[0]["label"]]}, "has a number"),
    ]:
        with pytest.raises(cahoots.InputError, match=says):
            result.plot(**options)  # type: ignore[arg-type]
    assert pyplot.get_fignums() == before and not ax.get_lines()


def test_without_axes_the_current_ones_are_taken(result: cahoots.Result, ax: Any) -> None:
    assert result.plot() is ax


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = cahoots.run(KEYS, progress=False)
    assert len(list(tmp_path.iterdir())) == 1
    shutil.rmtree(result.folder)
    result.close()
    del result
    gc.collect()
    assert list(tmp_path.iterdir()) == []
