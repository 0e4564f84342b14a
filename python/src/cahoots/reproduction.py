"""The papers' tables and figures, reproduced: what a paper says beside what is measured here."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cahoots import _cahoots, _checks
from cahoots._errors import CahootsError, InputError
from cahoots._told import html_table, text_table

if TYPE_CHECKING:
    import pandas

__all__ = ["Claim", "Reproduction", "papers", "reproduce"]


@dataclass(frozen=True)
class Claim:
    """Something a paper says, beside what is measured here."""

    what: str
    """What it is about."""
    source: str
    """Who says so: the paper, or its authors' code."""
    paper: str
    """What they say."""
    ours: str
    """What is measured here, with its interval."""
    verdict: str
    """`holds`, `does not hold` or `undecided`."""
    mean: float | None
    """The measured mean, where the claim is a number or a difference."""
    ci95: float | None
    """Half the width of its 95% confidence interval."""


@dataclass(frozen=True)
class Reproduction:
    """A table or figure of a paper, run again: its claims and their verdicts."""

    item: str
    """Paper and number."""
    title: str
    """What it shows."""
    quick: bool
    """Whether only few seeds were run."""
    seeds: str
    """How many, in words."""
    claims: list[Claim]
    """Claims and verdicts. One that does not hold is a result, not a failure."""
    notes: list[str]
    """What a reader must know."""
    figures: dict[str, str] = field(repr=False)
    """The figures in the paper's layout, as SVG by name."""
    folder: Path | None
    """Where everything is; None where it was temporary."""

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each claim."""
        try:
            import pandas
        except ImportError:
            raise CahootsError("to_pandas needs pandas: pip install 'cahoots[pandas]'") from None
        frame: pandas.DataFrame = pandas.DataFrame([claim.__dict__ for claim in self.claims])
        return frame

    def _rows(self) -> list[list[str]]:
        rows = [["claim", "paper", "ours (± 95%)", "verdict"]]
        for claim in self.claims:
            paper = claim.paper if claim.source == "paper" else f"{claim.paper} [{claim.source}]"
            rows.append([claim.what, paper, claim.ours, claim.verdict])
        return rows

    def __repr__(self) -> str:
        """A table in plain text."""
        notes = ["", *(f"note: {note}" for note in self.notes)] if self.notes else []
        return "\n".join([f"{self.item}: {self.title} ({self.seeds})", "", *text_table(self._rows()), *notes])

    def _repr_html_(self) -> str:
        """The claims and the figures, for notebooks."""
        heading = f"{self.item}: {self.title} ({self.seeds})"
        return html_table(heading, self._rows(), self.notes, "".join(self.figures.values()))


def papers() -> list[dict[str, Any]]:
    """Every table and figure that can be reproduced, with about how many seconds it takes on one core.

    >>> import cahoots
    >>> "async-linucb/figure-2a" in [item["item"] for item in cahoots.papers()]
    True
    """
    items: list[dict[str, Any]] = _cahoots.paper_items()
    return items


def reproduce(
    name: str,
    *,
    quick: bool = True,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    force: bool = False,
    progress: bool = False,
) -> Reproduction:
    """Runs a table or figure of a paper again, and compares what the paper says with what is measured.

    `name` is one of `cahoots.papers()`. `quick` runs few seeds, for wide intervals; `out` is a folder that keeps
    everything, from which the same call goes on; `data` is the folder of the datasets, for items that read one.
    """
    known = [str(item["item"]) for item in papers()]
    if name not in known:
        begun = [item for item in known if str(name) and item.startswith(str(name))]
        remedy = f"say one of {', '.join(begun)}" if begun else _cahoots.column_remedy(str(name), known)
        raise InputError(f"there is no table or figure {name!r}; {remedy}")
    threads = _checks.whole("jobs", os.cpu_count() or 1 if jobs is None else jobs, 1, 65_535)
    with tempfile.TemporaryDirectory(prefix="cahoots-paper-") as temporary:
        place = Path(temporary) if out is None else Path(out)
        where = None if data is None else Path(data)
        (report,) = _cahoots.reproduce_items(name, place, bool(quick), where, threads, bool(force), not progress)
        folder = Path(report.pop("folder"))
        figures = {figure: (folder / f"{figure}.svg").read_text(encoding="utf-8") for figure in report.pop("figures")}
    claims = [Claim(**claim) for claim in report.pop("claims")]
    return Reproduction(**report, claims=claims, figures=figures, folder=folder if out is not None else None)
