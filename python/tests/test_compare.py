"""The comparison: what it says about arms is right, and nobody is left out. How fast anyone is, is not tested."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import cahoots
from cahoots.compare import compare, libraries, report, table, work
from cahoots.compare.__main__ import main
from cahoots.compare.work import Course, Found, Problem


@pytest.fixture(scope="module")
def quick():
    return compare(quick=True)


def rows(found, name):
    return [row for entry in found["work"] for row in entry["rows"] if row["library"] == name]


def test_all_have_a_row_everywhere(quick):
    assert set(quick["versions"]) == set(libraries.LIBRARIES)
    for entry in quick["work"]:
        assert [row["library"] for row in entry["rows"]] == list(libraries.LIBRARIES)
        for row in entry["rows"]:
            if row["version"] is None:
                assert row["status"] == "not installed"
            elif row["status"] == "measured":
                assert row["microseconds"] > 0 and row["decisions"] > 0
                assert row["ratio"] == pytest.approx(row["microseconds"] / entry["rows"][0]["microseconds"])
            else:
                assert row["status"] == "has none of this kind" and row["library"] not in libraries.PER_ARM


@pytest.mark.parametrize("name", ["cahoots", "numpy"])
def test_ours_and_numpy_take_the_arms_of_the_reference(quick, name):
    assert all(row["differ"] == 0 and row["agreement"] == 1.0 for row in rows(quick, name))


def test_the_algorithm_of_contextualbandits_is_the_same(quick):
    pytest.importorskip("contextualbandits")
    measured = [row for row in rows(quick, "contextualbandits") if row["status"] == "measured"]
    assert len(measured) == 3 and all(row["differ"] == 0 for row in measured)


def test_mabwiser_differs_where_the_ridge_is_not_one_and_only_there():
    """Its untried arms have the inverse ridge I: with a ridge below 1 their bounds are too narrow, and it shows."""
    pytest.importorskip("mabwiser")
    for ridge, differs in ((1.0, False), (0.05, True)):
        problem = Problem(8, 4, alpha=1.0, ridge=ridge, slices=1, length=40)
        course = work.reference(problem)
        found = work.one_at_a_time(problem, ["mabwiser", "cahoots"], course)
        counted = report._agreement(found["mabwiser"], course)
        assert (counted["differ"] > 0) == differs
        assert report._agreement(found["cahoots"], course)["differ"] == 0
        for each in counted["first_that_differ"]:
            assert found["mabwiser"].taken[each["step"]] == each["arm"] != each["reference"]
            assert each["reference"] == course.taken[each["step"]]


def test_river_does_another_thing(quick):
    pytest.importorskip("river")
    measured = [row for row in rows(quick, "river") if row["status"] == "measured"]
    assert any(row["differ"] for row in measured)
    assert all("another bound" in row["note"] for row in measured if row["differ"])


def test_ties_are_nobody_s_fault():
    course = Course(np.array([0, 1, 2, 0]), np.zeros(4), np.array([True, False, False, False]))
    counted = report._agreement(Found([1.0], np.array([5, 1, 0, 0])), course)
    assert counted == {
        "decisions": 3,
        "agreement": pytest.approx(2 / 3),
        "differ": 1,
        "first_that_differ": [{"step": 2, "arm": 0, "reference": 2}],
    }


def test_the_reference_is_not_one_of_those_compared():
    """It finds what a library does wrong: a learner that never learns does not pass for ours."""

    class Stubborn(libraries.Ours):
        def update(self, arm, context, reward):
            pass

    problem = Problem(4, 3, alpha=0.2, ridge=1.0, slices=1, length=60)
    course = work.reference(problem)
    try:
        libraries.LIBRARIES["stubborn"] = Stubborn
        found = work.one_at_a_time(problem, ["stubborn"], course)["stubborn"]
    finally:
        del libraries.LIBRARIES["stubborn"]
    assert report._agreement(found, course)["differ"] > 10


def test_libraries_that_are_not_installed_say_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "mabwiser", None)
    found = compare(quick=True, libraries=["cahoots", "mabwiser"])
    assert found["versions"]["mabwiser"] is None
    assert all(row["status"] == "not installed" for row in rows(found, "mabwiser"))
    assert table(found).count("| mabwiser | not installed | | | |") == len(found["work"])


def test_unknown_libraries_are_refused():
    with pytest.raises(cahoots.InputError, match="'vowpal' is no library"):
        compare(quick=True, libraries=["vowpal"])


def test_libraries_take_turns():
    order = []
    problem = Problem(2, 2, alpha=1.0, ridge=1.0, slices=4, length=3)
    found = {name: Found([], np.zeros(1)) for name in "abc"}
    work._rotate(problem, list("abc"), found, lambda name, first, last: order.append((name, first, last)))
    assert [name for name, _, _ in order] == list("abcbcacababc")
    assert [first for _, first, _ in order] == [0] * 3 + [3] * 3 + [6] * 3 + [9] * 3
    assert all(len(each.micros) == 4 for each in found.values())


def test_the_table_says_what_the_report_says(quick):
    text = table(quick)
    for entry in quick["work"]:
        assert entry["title"] in text
    for row in rows(quick, "cahoots"):
        assert f"{row['decisions']} of {row['decisions']}" in text
    assert quick["date"] in text and f"a {quick['build']} build of Cahoots" in text


def test_figures_have_three_digits_and_no_exponent():
    figures = {1234.5: "1230", 0.01234: "0.0123", 12.345: "12.3", 1.0: "1", 123456.0: "123000"}
    assert {value: report._figure(value) for value in figures} == figures


def test_the_command_writes_json_and_a_file(tmp_path):
    out = tmp_path / "found.json"
    command = [sys.executable, "-m", "cahoots.compare", "--quick", "--json", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(out.read_text(encoding="utf-8"))
    assert json.loads(done.stdout)["versions"]["cahoots"] == cahoots.__version__


def test_a_command_that_is_not_understood_says_so():
    command = [sys.executable, "-m", "cahoots.compare", "--slow"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and "--slow" in done.stderr


def test_a_file_that_cannot_be_written_is_an_error(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("cahoots.compare.__main__.compare", lambda quick: compare(quick=True, libraries=["numpy"]))
    assert main(["--quick", "--out", str(tmp_path / "no" / "such.txt")]) == 1
    assert "such.txt" in capsys.readouterr().err
