"""Results of an experiment: tables, curves, figures."""

from __future__ import annotations

import html
import json
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cahoots import _cahoots
from cahoots._errors import CahootsError, InputError

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.axes import Axes

What = Literal["summary", "curves", "clients"]
"""A table of a result: a row per entry, per point of a curve, or per client of a run."""

_TABLES = ("summary", "curves", "clients")


class Result:
    """What a run left behind, in a folder.

    `summary` has a row per entry; `to_pandas`, `to_polars` and `table` give it, the curves of all runs, and, where they
    were counted, the clients. A result without a folder of its own has a temporary one, which goes when it does: `save`
    keeps it.

    >>> import cahoots
    >>> keys = {"horizon": 50, "seeds": 2, "environment": {"kind": "arms"}, "algorithm": [{"kind": "ucb-alone"}]}
    >>> with cahoots.run(keys, progress=False) as result:
    ...     result.summary[0]["seeds"], sorted(result.columns("curves"))[:3]
    (2, ['algorithm', 'bytes', 'entry'])
    """

    def __init__(self, folder: str | os.PathLike[str], *, temporary: bool = False) -> None:
        """Read the results in a folder; `cahoots.load` says more kindly what is missing."""
        self.folder: Path = Path(folder)
        """Where it is."""
        self._temporary = temporary
        try:
            self.summary: list[dict[str, Any]] = json.loads((self.folder / "summary.json").read_text(encoding="utf-8"))
            """One row per entry: means over the seeds and how sure they are."""
            self.manifest: dict[str, Any] = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
            """All it takes to run it again."""
        except FileNotFoundError as error:
            raise InputError(
                f"{self.folder} holds no finished run: {Path(error.filename).name} is not there; "
                "cahoots.run(..., out=folder, resume=True) finishes one that was stopped"
            ) from None
        except ValueError as error:
            raise CahootsError(f"the results in {self.folder} cannot be read: {error}") from None
        kept = self.folder / "warnings.txt"
        self.warnings: list[str] = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
        """What a reader of the summary must know."""
        self._close = weakref.finalize(self, _remove, str(self.folder), os.getpid()) if temporary else None

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Result:
        """Read the results that a folder holds."""
        path = Path(folder).expanduser().absolute()
        if not path.is_dir():
            raise InputError(f"there is no folder {path}")
        return cls(path)

    @property
    def name(self) -> str:
        """What the experiment is called."""
        return str(self.manifest["name"])

    @property
    def title(self) -> str:
        """Its line for figures, or its name."""
        return str(self.manifest.get("title") or self.name)

    @property
    def seeds(self) -> list[int]:
        """The seeds of its runs."""
        return list(self.manifest["seeds"])

    def table(self, what: What = "summary") -> _cahoots.Table:
        """Give a table as Arrow: whatever reads ``__arrow_c_stream__`` takes it (polars, pyarrow, duckdb).

        "summary" has a row per entry, "curves" a row per point of a run, "clients" a row per client of a run.
        """
        if what not in _TABLES:
            raise InputError(f"there is no table {what!r}: take one of {', '.join(_TABLES)}")
        path = self.folder / f"{what}.parquet"
        if what == "clients" and not path.exists() and self.folder.exists():
            raise InputError("clients were not counted: run it with per_client=True (and resume=True, if it has run)")
        return _cahoots.read_table(path)

    def columns(self, what: What = "summary") -> dict[str, Any]:
        """Give a table as a dict of numpy arrays; texts, which may be missing, are lists."""
        return self.table(what).columns()

    def to_pandas(self, what: What = "summary") -> pandas.DataFrame:
        """Give a table as a frame of pandas; pyarrow is not needed."""
        try:
            import pandas
        except ImportError:
            raise CahootsError('this needs pandas: pip install "cahoots[pandas]"') from None
        frame: pandas.DataFrame = pandas.DataFrame(self.columns(what))
        return frame

    def to_polars(self, what: What = "summary") -> polars.DataFrame:
        """Give a table as a frame of polars."""
        try:
            import polars
        except ImportError:
            raise CahootsError('this needs polars: pip install "cahoots[polars]"') from None
        return polars.DataFrame(self.table(what))

    def plot(
        self,
        x: str = "tick",
        y: str = "regret",
        *,
        ax: Axes | None = None,
        entries: list[str] | None = None,
        band: bool = True,
    ) -> Axes:
        """Draw means over the seeds with 95 % confidence bands (Student's t), one line per entry.

        Args:
            x: "tick", "transfers" or "bytes"; or a parameter of the summary such as "params.upload_ratio", for how each
                entry ended.
            y: "regret", "reward", "transfers" or "bytes".
            ax: Where to draw; the current axes of pyplot where nothing is said.
            entries: Labels of the entries to draw; all where nothing is said.
            band: Whether to draw how sure the means are.
        """
        from cahoots import _plot

        return _plot.draw(self, x, y, ax, entries, band)

    def save(self, folder: str | os.PathLike[str]) -> Result:
        """Keep the results in a folder, which must not be there or be empty; gives the result that is there then."""
        target = Path(folder).expanduser().absolute()
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InputError(f"{target} is not an empty folder: choose another")
        shutil.copytree(self.folder, target, dirs_exist_ok=True)
        return Result(target)

    def close(self) -> None:
        """Remove the folder if it is a temporary one; a folder that was asked for stays."""
        if self._close is not None:
            self._close()

    def __enter__(self) -> Result:
        """Use it in a ``with`` block, at whose end it is closed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it: by its folder, or with all that is in it if that is a temporary one."""
        if not self._temporary:
            return Result, (self.folder,)
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return _unpacked, ({path.relative_to(self.folder).as_posix(): path.read_bytes() for path in files},)

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        with_reward = any(row.get("normalised_reward_mean") is not None for row in self.summary)
        head = ["entry", "decisions", "regret", "reward", "times random", "transfers", "sent"]
        if not with_reward:
            head.remove("times random")
        rows = []
        for row in self.summary:
            cells = [str(row["label"]), f"{row['steps']:,}", _plus_minus(row["regret_mean"], row["regret_ci95"])]
            cells.append(_plus_minus(row["reward_mean"], row["reward_ci95"]))
            if with_reward:
                cells.append(_plus_minus(row.get("normalised_reward_mean"), row.get("normalised_reward_ci95")))
            cells += [f"{row['transfers_mean']:,.0f}", _bytes(row["bytes_mean"])]
            rows.append(cells)
        return head, rows

    def _over(self) -> str:
        count = len(self.seeds)
        return "one seed" if count == 1 else f"mean over {count} seeds ± 95% confidence"

    def __repr__(self) -> str:
        """A table for people."""
        head, rows = self._rows()
        widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
        lines = [
            "   ".join(
                cell.ljust(width) if place == 0 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in [head, *rows]
        ]
        told = [f"warning: {line}" for line in self.warnings]
        return "\n".join([f"{self.title} ({self._over()})", "", *lines, *([""] if told else []), *told])

    def _repr_html_(self) -> str:
        head, rows = self._rows()
        heading = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        body = "".join(
            "<tr>"
            + f'<td style="text-align: left">{html.escape(row[0])}</td>'
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
            + "</tr>"
            for row in rows
        )
        told = "".join(f"<p>warning: {html.escape(line)}</p>" for line in self.warnings)
        return (
            f"<p><b>{html.escape(self.title)}</b> ({html.escape(self._over())})</p>"
            f"<table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>{told}"
        )


def load(folder: str | os.PathLike[str]) -> Result:
    """Read the results that a folder holds, whoever ran it: ``cahoots.run(..., out=folder)`` or the command.

    >>> import cahoots, tempfile
    >>> keys = {"horizon": 50, "seeds": 2, "environment": {"kind": "arms"}, "algorithm": [{"kind": "ucb-alone"}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = cahoots.run(keys, progress=False).save(folder + "/run")
    ...     cahoots.load(folder + "/run").summary == saved.summary
    True
    """
    return Result.load(folder)


def _remove(folder: str, owner: int) -> None:
    # A process that was forked has the same object, and not the same folder to clean up.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _unpacked(files: dict[str, bytes]) -> Result:
    folder = Path(tempfile.mkdtemp(prefix="cahoots-"))
    for name, held in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(held)
    return Result(folder, temporary=True)


def _plus_minus(mean: float | None, half: float | None) -> str:
    if mean is None:
        return "-"
    if not half:
        return f"{mean:,.4g}" if abs(mean) < 1000 else f"{mean:,.0f}"
    decimals = 0
    while decimals < 4 and half * 10**decimals < 9.95:
        decimals += 1
    return f"{mean:,.{decimals}f} ± {half:,.{decimals}f}"


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
