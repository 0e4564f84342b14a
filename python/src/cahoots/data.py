"""Data from outside: frames and files of your own as worlds, the papers' datasets, made-up data for a first try."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cahoots import _cahoots, _checks, _frames
from cahoots._errors import CahootsError, InputError
from cahoots._sets import Check, Dataset, check, example_set, load, prepare
from cahoots._told import html_table, in_python, text_table, told_in_python

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Check",
    "Dataset",
    "Description",
    "TableEnvironment",
    "check",
    "describe",
    "example_log",
    "example_set",
    "example_worth",
    "load",
    "prepare",
    "table_environment",
]


class TableEnvironment(dict[str, Any]):
    """The environment of an experiment on a frame of your own: a dict with the keys of `kind = "table"`.

    It stands where any environment stands. The frame is in a Parquet file that its key `file` names; a temporary one is
    there as long as this object is. `rows` is how long a run can be.
    """

    rows: int
    """Rows that can come, each once: the longest horizon."""

    def __init__(
        self, keys: Mapping[str, Any], rows: int = 0, folder: tempfile.TemporaryDirectory[str] | None = None
    ) -> None:
        """Of keys, with the folder that holds their files."""
        super().__init__(keys)
        self.rows = rows
        self._folder = folder

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        """Pickles are plain dicts: whoever reads one does not own the file."""
        return (dict, (dict(self),))

    def __copy__(self) -> TableEnvironment:
        """A copy holds the file, too."""
        return TableEnvironment(self, self.rows, self._folder)

    def __deepcopy__(self, memo: dict[int, Any]) -> TableEnvironment:
        """A copy holds the file, too."""
        return self.__copy__()


def table_environment(
    frame: Any,
    *,
    arms: Any = None,
    folder: str | os.PathLike[str] | None = None,
    **keys: Any,
) -> TableEnvironment:
    """Makes a world of a frame of your own: every row is a decision.

    Parameters
    ----------
    frame
        A DataFrame of pandas or polars, a Table of pyarrow, anything with `__arrow_c_stream__`, a dict of columns, or
        the path of a CSV or Parquet file.
    arms
        A second frame or file with a row of features for each arm, where rows name an arm that was liked (`arm=`).
    folder
        Where the files go, which are then yours to keep; where not given, they are temporary.
    **keys
        The keys of `kind = "table"`: `label`, `client`, `clients`, `context`, `arm`, `reward`, `offered`, `pool`,
        `order`, `missing` and the rest.

    Examples
    --------
    >>> import cahoots
    >>> visits = {"age": [31, 54, 47, 60] * 25, "clinic": ["a", "b"] * 50, "outcome": ["well", "ill"] * 50}
    >>> environment = cahoots.data.table_environment(visits, label="outcome", client="clinic")
    >>> environment["kind"], environment.rows
    ('table', 100)

    """
    keys = _keys(keys)
    held: tempfile.TemporaryDirectory[str] | None = None
    if folder is None:
        held = tempfile.TemporaryDirectory(prefix="cahoots-table-")
        place = Path(held.name)
    else:
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
    roles = [keys[key] for key in _ROLES if key in keys]
    if "clients" not in keys and "client" not in keys:
        keys["clients"] = 10
    file = _file(frame, place / "table.parquet", "the frame", roles, keys)
    environment: dict[str, Any] = {"kind": "table", "file": file}
    if arms is not None:
        environment["form"] = "arms"
        environment["arms_file"] = _file(arms, place / "arms.parquet", "the frame of arms", [], {})
    environment |= keys
    with told_in_python():
        rows = _cahoots.check_table({key: value for key, value in environment.items() if key != "kind"})
    return TableEnvironment(environment, rows, held)


_ROLES = ("label", "client", "arm", "reward", "offered")


def _keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a table, without those that say nothing; roles are names of columns."""
    if "file" in keys or "arms_file" in keys:
        raise InputError("the frame is the file: leave file and arms_file out (arms= takes the features of arms)")
    found = {
        key: list(value) if isinstance(value, tuple) else value for key, value in keys.items() if value is not None
    }
    for key in (*_ROLES, "arm_id"):
        if key in found and not isinstance(found[key], str):
            raise InputError(f"{key} is {found[key]!r}: it names a column")
    if "context" in found and found["context"] != "others":
        found["context"] = _checks.names("context", found["context"])
    return found


def _named(keys: Mapping[str, Any]) -> set[str]:
    """The columns that keys name."""
    context = keys.get("context", "others")
    return {keys[key] for key in _ROLES if key in keys} | (set() if isinstance(context, str) else set(context))


def _file(frame: Any, path: Path, what: str, roles: list[str], keys: Mapping[str, Any]) -> str:
    """The path of a file with the frame in it."""
    if isinstance(frame, (str, os.PathLike)):
        if not Path(frame).is_file():
            raise InputError(f"there is no file {os.fspath(frame)}")
        return str(Path(frame).resolve())
    table = _frames.of(frame, what)
    if table.rows == 0:
        raise InputError(f"{what} has no rows")
    for name in roles:
        table.column(name)
    context = keys.get("context", "others")
    # Columns without a role are not looked at where the context is a list: what cannot be read there does no harm.
    names = table.names if isinstance(context, str) else [name for name in table.names if name in {*roles, *context}]
    if not isinstance(context, str):
        for name in context:
            table.column(name)
    if not path.exists():
        table.write(path, names)
        return str(path.resolve())
    # Another world may read that file.
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        table.write(beside, names)
        if beside.read_bytes() != path.read_bytes():
            raise InputError(f"{path} is there already, with other rows or columns: choose another folder")
    finally:
        beside.unlink(missing_ok=True)
    return str(path.resolve())


@dataclass(frozen=True)
class Description:
    """What is in a table, and what could be made of it."""

    rows: int
    """Rows that could be read."""
    skipped: int
    """Rows with more or fewer cells than the first, which were left out."""
    unread: list[str]
    """Columns that cannot be read."""
    columns: list[dict[str, Any]]
    """What each column holds, and the role that it would have."""
    decisions: int | None
    """How long a run can be."""
    clients: int | None
    """Clients of the world."""
    arms: list[str] | None
    """Names of the first arms."""
    arm_count: int | None
    """How many there are."""
    dim: int | None
    """Features of an arm."""
    most_frequent: tuple[str, float] | None
    """The most frequent label and its share: what is earned without learning."""
    problem: str | None
    """Why no world can be made of it as it is."""
    experiment: str | None
    """An experiment file to begin with (TOML)."""
    environment: dict[str, Any]
    """The keys that fit it, as far as can be told."""

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each column."""
        try:
            import pandas
        except ImportError:
            raise CahootsError("to_pandas needs pandas: pip install 'cahoots[pandas]'") from None
        frame: pandas.DataFrame = pandas.DataFrame(self.columns).set_index("name")
        return frame

    def _summary(self) -> str:
        text = f"{self.rows:,} rows, {len(self.columns)} columns"
        if self.problem is not None:
            return f"{text}. No experiment can be made of it as it is: {self.problem}"
        text += f". As a world: {self.decisions:,} decisions, {self.clients:,} clients, {self.arm_count} arms"
        text += f", {self.dim} features"
        if self.most_frequent is not None:
            text += f"; always answering {self.most_frequent[0]!r} earns {self.most_frequent[1]:.3f}"
        return text

    def _table(self) -> list[list[str]]:
        rows = [["column", "holds", "missing", "different", "from", "to", "becomes"]]
        for column in self.columns:
            role = column["role"] or (f"- ({column['left_out']})" if column["left_out"] else "-")
            ends = ["-" if column[end] is None else f"{column[end]:g}" for end in ("min", "max")]
            distinct = "many" if column["distinct"] is None else str(column["distinct"])
            rows.append([column["name"], column["holds"], str(column["missing"]), distinct, *ends, role])
        return rows

    def __repr__(self) -> str:
        """A table in plain text."""
        return "\n".join([self._summary(), "", *text_table(self._table())])

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        return html_table(self._summary(), self._table())


def describe(table: Any, *, arms: Any = None, **keys: Any) -> Description:
    """Says what would be made of a table: its columns, the roles that fit them, and an experiment to begin with.

    `table` is a path (CSV, Parquet) or a frame, and so is `arms`, with a row of features for each arm, where rows name
    an arm that was liked; keys are those of `kind = "table"` that are known already.

    >>> import cahoots
    >>> visits = {"age": [31, 54, 47, 60] * 25, "clinic": ["a", "b"] * 50, "outcome": ["well", "ill"] * 50}
    >>> found = cahoots.data.describe(visits)
    >>> found.environment["label"], found.clients, found.arms
    ('outcome', 2, ['ill', 'well'])
    """
    name = "table"
    unread: list[str] = []
    keys = _keys(keys)
    with tempfile.TemporaryDirectory(prefix="cahoots-table-") as folder:
        if isinstance(table, (str, os.PathLike)):
            path = _file(table, Path(folder), "the table", [], {})
            name = Path(path).name.partition(".")[0] or name
        else:
            frame = _frames.of(table, "the table")
            columns = []
            for column in frame.names:
                try:
                    columns.append(frame.column(column))
                except InputError:
                    if column in _named(keys):
                        raise
                    unread.append(column)
            path = str(Path(folder) / "table.parquet")
            _frames.write(path, columns)
        given = {**keys, "file": path}
        if arms is not None:
            given["arms_file"] = _file(arms, Path(folder) / "arms.parquet", "the frame of arms", [], {})
        with told_in_python():
            found = _cahoots.describe_table(given, name)
    found["unread"] = [*found["unread"], *unread]
    if found["problem"] is not None:
        found["problem"] = in_python(found["problem"])
    if not isinstance(table, (str, os.PathLike)):
        # The file is gone: it is the frame that the keys go with.
        found["environment"].pop("file", None)
        found["environment"].pop("arms_file", None)
        if found["experiment"] is not None:
            found["experiment"] = re.sub(r'(?m)^(arms_)?file = ".*"$', r'\1file = "FILE"', found["experiment"])
    return Description(**found)


def example_log(rows: int = 10_000, seed: int = 1) -> dict[str, NDArray[Any]]:
    """A log to try `cahoots.evaluate` with, of a small world whose truth is known (`example_worth`).

    >>> import cahoots
    >>> log = cahoots.data.example_log(1000)
    >>> list(log)[:7]
    ['client', 'evening', 'mobile', 'returning', 'arm', 'reward', 'propensity']
    """
    count = _checks.whole("rows", rows, 1, 1_000_000)
    columns = _cahoots.example_log(count, _checks.whole("seed", seed, 0, 2**64 - 1))
    return {name: np.asarray(cells) for name, cells in columns.items()}


def example_worth() -> dict[str, float]:
    """What policies are worth in the world of `example_log`, in truth.

    >>> import cahoots
    >>> round(cahoots.data.example_worth()["uniform"], 4)
    0.3281
    """
    return dict(_cahoots.example_worth())
