"""What was found, for people and for programs."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from cahoots._cahoots import __optimised__
from cahoots._errors import InputError
from cahoots.compare import work
from cahoots.compare.libraries import DIFFERS, LIBRARIES, PER_ARM, version
from cahoots.compare.work import Course, Found, Problem

# How many of the arms that differ are listed.
SHOWN = 5


def compare(*, quick: bool = False, libraries: Sequence[str] | None = None) -> dict[str, Any]:
    """Does all of the work and says what was found, as JSON would have it. `quick` is for trying it out: few steps.

    >>> from cahoots.compare import compare
    >>> sorted(compare(quick=True, libraries=["cahoots"]))
    ['build', 'date', 'machine', 'python', 'versions', 'work']
    """
    names = list(LIBRARIES) if libraries is None else list(libraries)
    unknown = [name for name in names if name not in LIBRARIES]
    if unknown:
        raise InputError(f"{unknown[0]!r} is no library that is compared; these are: {', '.join(LIBRARIES)}")
    versions = {name: version(name) for name in names}
    slices, length, rows = (3, 10, 100) if quick else (15, 100, 2000)
    done = []
    for arms, dim in [(5, 4)] if quick else [(10, 10), (10, 50)]:
        one = Problem(arms, dim, alpha=1.0, ridge=1.0, slices=slices, length=length)
        done.append(
            _entry("one at a time, a model for each arm", one, names, versions, work.one_at_a_time, work.reference)
        )
    many = Problem(*((5, 4) if quick else (10, 10)), alpha=1.0, ridge=1.0, slices=2 if quick else 7, length=rows)
    course = work.reference(many)
    done.append(
        _entry(
            f"{rows} logged rows learned, then {rows} decisions, a model for each arm",
            many,
            names,
            versions,
            lambda problem, listed, _: work.in_batches(problem, listed, course),
            lambda problem: work.batch_course(problem, course),
        )
    )
    for arms, dim in [(5, 4)] if quick else [(10, 10), (25, 25)]:
        shared = Problem(arms, dim, alpha=1.0, ridge=1.0, slices=slices, length=length)
        entry = "one at a time, one model over the features of arms"
        done.append(_entry(entry, shared, names, versions, work.per_arm, work.reference_per_arm, list(PER_ARM)))
    # Arms without an observation are where libraries that start from the wrong inverse show it.
    other = Problem(*((5, 4) if quick else (10, 10)), alpha=1.0, ridge=0.1, slices=slices, length=length)
    entry = "one at a time, a model for each arm, ridge 0.1"
    done.append(_entry(entry, other, names, versions, work.one_at_a_time, work.reference))
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "python": platform.python_version(),
        "build": "release" if __optimised__ else "development",
        "versions": versions,
        "work": done,
    }


def _entry(
    title: str,
    problem: Problem,
    names: Sequence[str],
    versions: dict[str, str | None],
    measure: Callable[[Problem, Sequence[str], Course], dict[str, Found]],
    reference: Callable[[Problem], Course],
    offering: Sequence[str] | None = None,
) -> dict[str, Any]:
    able = [name for name in names if offering is None or name in offering]
    course = reference(problem)
    found = measure(problem, [name for name in able if versions[name] is not None], course)
    base = statistics.median(found["cahoots"].micros) if "cahoots" in found else None
    rows = []
    for name in names:
        row: dict[str, Any] = {"library": name, "version": versions[name]}
        if versions[name] is None:
            row["status"] = "not installed"
        elif name not in found:
            row["status"] = "has none of this kind"
        else:
            micros = statistics.median(found[name].micros)
            row["status"] = "measured"
            row["microseconds"] = micros
            row["ratio"] = None if base is None else micros / base
            row.update(_agreement(found[name], course))
            if row["differ"] and name in DIFFERS:
                row["note"] = DIFFERS[name]
        rows.append(row)
    return {
        "title": title,
        "arms": problem.arms,
        "dim": problem.dim,
        "alpha": problem.alpha,
        "ridge": problem.ridge,
        "rows": rows,
    }


def _agreement(found: Found, course: Course) -> dict[str, Any]:
    """With the reference, where it is not indifferent itself."""
    clear = ~course.ties
    wrong = clear & (found.taken != course.taken)
    differ = [
        {"step": int(step), "arm": int(found.taken[step]), "reference": int(course.taken[step])}
        for step in wrong.nonzero()[0]
    ]
    return {
        "decisions": int(clear.sum()),
        "agreement": 1.0 - len(differ) / max(1, int(clear.sum())),
        "differ": len(differ),
        "first_that_differ": differ[:SHOWN],
    }


def _figure(value: float) -> str:
    """Three digits, and no exponent."""
    return f"{float(f'{value:.3g}'):.15g}"


def table(report: dict[str, Any]) -> str:
    """The report in Markdown.

    >>> from cahoots.compare import compare, table
    >>> print(table(compare(quick=True, libraries=["numpy"])).splitlines()[2])
    | library | microseconds per step | times Cahoots | same arms as the reference | |
    """
    lines: list[str] = []
    for entry in report["work"]:
        lines += [
            f"**{entry['title']}** ({entry['arms']} arms, {entry['dim']} features, "
            f"alpha {entry['alpha']:g}, ridge {entry['ridge']:g})",
            "",
            "| library | microseconds per step | times Cahoots | same arms as the reference | |",
            "|---|---:|---:|---|---|",
        ]
        for row in entry["rows"]:
            name = row["library"] if row["version"] is None else f"{row['library']} {row['version']}"
            if row["status"] != "measured":
                lines.append(f"| {name} | {row['status']} | | | |")
                continue
            ratio = "" if row["ratio"] is None else _figure(row["ratio"])
            same = f"{row['decisions'] - row['differ']} of {row['decisions']}"
            shown = [f"step {each['step']}: {each['arm']} for {each['reference']}" for each in row["first_that_differ"]]
            note = "; ".join([*([row["note"]] if "note" in row else []), *shown])
            if row["differ"] > len(shown):
                note += "; ..."
            lines.append(f"| {name} | {_figure(row['microseconds'])} | {ratio} | {same} | {note} |")
        lines.append("")
    # A development build is slower: whoever reads the figures has to know.
    lines.append(
        f"{report['date']}, Python {report['python']}, {report['machine']}, a {report['build']} build of Cahoots"
    )
    return "\n".join(lines)
