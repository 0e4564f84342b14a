"""Frames of any library as plain columns: what pandas, polars, Arrow and numpy hold, without needing any of them."""

from __future__ import annotations

import datetime
import decimal
import importlib
import math
import numbers
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cahoots import _cahoots
from cahoots._errors import InputError

Bools = NDArray[np.bool_]


class Column(NamedTuple):
    """A column: its name, its cells (an array, or texts), and which cells are missing."""

    name: str
    cells: Any
    missing: Bools | None


class Frame:
    """A frame of any library, column by column. Columns are looked at when they are asked for."""

    def __init__(self, names: list[str], rows: int, columns: Mapping[str, Any]) -> None:
        """Of these columns, which have this many rows."""
        self.names = names
        self.rows = rows
        self._columns = columns

    def column(self, name: str) -> Column:
        """A column as it is written down."""
        if name not in self._columns:
            raise InputError(f"there is no column `{name}`; {_cahoots.column_remedy(name, self.names)}")
        if self.names.count(name) > 1:
            raise InputError(f"there are {self.names.count(name)} columns `{name}`: give each a name of its own")
        column = _column(name, self._columns[name])
        if len(column.cells) != self.rows:
            raise InputError(f"column `{name}` has {len(column.cells)} rows where others have {self.rows}")
        return column

    def write(self, path: Path, names: Sequence[str], more: Sequence[Column] = ()) -> None:
        """Writes columns to a Parquet file, which the same readers read as any file."""
        write(path, [*(self.column(name) for name in names), *more])


def write(path: str | Path, columns: list[Column]) -> None:
    """Writes columns to a Parquet file."""
    try:
        _cahoots.write_frame(path, columns)
    except (TypeError, UnicodeEncodeError):
        # Texts of Python may hold halves of characters, which no file can.
        for name, cells, _ in columns:
            for text in [name, *(cells if isinstance(cells, list) else [])]:
                if any("\ud800" <= letter <= "\udfff" for letter in text or ""):
                    raise InputError(f"column {name!r} holds {text!r}, which has half a character in it") from None
        raise


def of(frame: Any, what: str) -> Frame:
    """The frame that an object is; `what` is what it is called in complaints."""
    module = type(frame).__module__.partition(".")[0]
    if module == "polars" and hasattr(frame, "collect"):
        frame = frame.collect()
    if module == "pandas" and hasattr(frame, "columns"):
        names = [str(name) for name in frame.columns]
        return Frame(names, len(frame), {name: frame.iloc[:, at] for at, name in enumerate(names)})
    if module == "polars" and hasattr(frame, "get_columns"):
        return Frame(list(frame.columns), frame.height, {one.name: one for one in frame.get_columns()})
    if isinstance(frame, Mapping):
        columns = {str(name): cells for name, cells in frame.items()}
        for name, cells in columns.items():
            if isinstance(cells, str) or not hasattr(cells, "__len__") or getattr(cells, "shape", None) == ():
                raise InputError(f"column `{name}` of {what} is one {type(cells).__name__}: give an array, or a list")
        return Frame(list(columns), max((len(cells) for cells in columns.values()), default=0), columns)
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        return Frame(list(frame.dtype.names), len(frame), {name: frame[name] for name in frame.dtype.names})
    table = _arrow(frame, module, what)
    if table is not None:
        names = [str(name) for name in table.column_names]
        return Frame(names, table.num_rows, {name: table.column(at) for at, name in enumerate(names)})
    raise InputError(
        f"{what} is a {type(frame).__name__}: give a DataFrame of pandas or polars, a Table of pyarrow, anything with "
        "__arrow_c_stream__, a dict of arrays, or the path of a file"
    )


def _arrow(frame: Any, module: str, what: str) -> Any:
    """A table of pyarrow, or nothing if the object has none to give."""
    if not hasattr(frame, "__arrow_c_stream__"):
        return None
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
    except ImportError:
        if module == "pyarrow":
            raise
        raise InputError(f"{what} speaks Arrow, which pyarrow reads: pip install pyarrow") from None
    if isinstance(frame, pyarrow.Table):
        return frame
    try:
        return pyarrow.RecordBatchReader.from_stream(frame).read_all()
    except pyarrow.ArrowException:
        # One column and no table.
        return None


def _column(name: str, cells: Any) -> Column:
    module = type(cells).__module__.partition(".")[0]
    if module == "pandas":
        return _pandas(name, cells)
    if module == "polars":
        return _polars(name, cells)
    if module == "pyarrow":
        return _pyarrow(name, cells)
    if isinstance(cells, np.ma.MaskedArray):
        plain = _numpy(name, np.asarray(cells.data))
        return _masked(plain, np.ma.getmaskarray(cells))
    if isinstance(cells, np.ndarray):
        return _numpy(name, cells)
    return _objects(name, list(cells))


def _numpy(name: str, cells: NDArray[Any]) -> Column:
    if cells.ndim != 1:
        raise InputError(f"column `{name}` has the shape {cells.shape}: a column is a list of cells")
    kind = cells.dtype.kind
    if kind == "b":
        return Column(name, cells.astype(np.bool_), None)
    if kind == "i":
        return Column(name, cells.astype(np.int64), None)
    if kind == "u":
        return Column(name, cells.astype(np.uint64), None)
    if kind == "f":
        return Column(name, cells.astype(np.float64), None)
    if kind in "UT":
        return _objects(name, cells.tolist())
    if kind == "O":
        return _objects(name, cells.tolist())
    raise InputError(f"column `{name}` holds {_kind(cells.dtype)}: make numbers or texts of it, or leave it out")


def _kind(dtype: Any) -> str:
    text = str(dtype).lower()
    if text.startswith(("datetime", "timestamp", "date", "time")):
        return f"times ({dtype})"
    return str(dtype)


def _masked(column: Column, missing: NDArray[Any]) -> Column:
    missing = np.asarray(missing, dtype=np.bool_)
    if isinstance(column.cells, list):
        cells = [None if gone else cell for cell, gone in zip(column.cells, missing, strict=True)]
        return Column(column.name, cells, None)
    if column.missing is not None:
        missing = missing | column.missing
    return Column(column.name, column.cells, missing if missing.any() else None)


def _pandas(name: str, series: Any) -> Column:
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        names = _column(name, series.cat.categories.to_series())
        codes = series.cat.codes.to_numpy()
        return _taken(names, codes)
    if isinstance(dtype, np.dtype):
        return _numpy(name, series.to_numpy())
    missing = np.asarray(series.isna(), dtype=np.bool_)
    kind = getattr(dtype, "kind", "O")
    if kind in "biuf":
        wanted = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64}[kind]
        try:
            cells = series.to_numpy(dtype=wanted, na_value=False if kind == "b" else 0)
        except (TypeError, ValueError):
            return _objects(name, series.tolist())
        return _masked(Column(name, np.asarray(cells, dtype=wanted), None), missing)
    if kind in "mM":
        raise InputError(f"column `{name}` holds {_kind(dtype)}: make numbers or texts of it, or leave it out")
    return _objects(name, [None if gone else cell for cell, gone in zip(series.tolist(), missing, strict=True)])


def _taken(names: Column, codes: NDArray[Any]) -> Column:
    """The cells that codes stand for; a code of -1 stands for none."""
    missing = codes < 0
    if isinstance(names.cells, list):
        return Column(names.name, [None if code < 0 else names.cells[code] for code in codes.tolist()], None)
    if len(names.cells) == 0:
        return Column(names.name, [None] * len(codes), None)
    cells = names.cells[np.where(missing, 0, codes)]
    return Column(names.name, cells, missing if missing.any() else None)


def _polars(name: str, series: Any) -> Column:
    dtype = series.dtype
    kind = dtype.base_type().__name__
    # What numpy has no numbers for goes by Python's own.
    if (dtype.is_integer() and "128" not in kind) or dtype.is_float() or kind == "Boolean":
        missing = series.is_null().to_numpy()
        filled = series.fill_null(False if kind == "Boolean" else 0)
        return _masked(_numpy(name, filled.to_numpy()), missing)
    if dtype.is_temporal():
        raise InputError(f"column `{name}` holds {_kind(dtype)}: make numbers or texts of it, or leave it out")
    return _objects(name, series.to_list())


def _pyarrow(name: str, cells: Any) -> Column:
    pyarrow: Any = importlib.import_module("pyarrow")
    of = cells.type
    if pyarrow.types.is_dictionary(of):
        cells = cells.cast(of.value_type)
        of = cells.type
    if pyarrow.types.is_temporal(of):
        raise InputError(f"column `{name}` holds {_kind(of)}: make numbers or texts of it, or leave it out")
    if pyarrow.types.is_integer(of) or pyarrow.types.is_floating(of) or pyarrow.types.is_boolean(of):
        missing = np.asarray(cells.is_null().to_numpy(zero_copy_only=False))
        zero = pyarrow.scalar(False if pyarrow.types.is_boolean(of) else 0).cast(of)
        filled = cells.fill_null(zero).to_numpy(zero_copy_only=False)
        return _masked(_numpy(name, np.asarray(filled)), missing)
    return _objects(name, cells.to_pylist())


def _objects(name: str, cells: list[Any]) -> Column:
    """Cells of any kind: all texts, all numbers, or lists of arms; anything else is refused by name."""
    found: dict[str, Any] = {}
    out: list[Any] = []
    for row, cell in enumerate(cells):
        kind, plain = _cell(name, row, cell)
        if kind:
            found.setdefault(kind, cell)
        out.append(plain)
    kinds = set(found)
    if kinds <= {"text"} or kinds == {"list"}:
        return Column(name, out, None)
    if "text" in kinds or "list" in kinds:
        first, second = list(found.values())[:2]
        raise InputError(
            f"column `{name}` mixes {' and '.join(f'{kind}s' for kind in found)} ({first!r} and {second!r}): "
            "make it one or the other, such as by .astype(str)"
        )
    missing = np.array([cell is None for cell in out], dtype=np.bool_)
    dtype = np.bool_ if kinds == {"truth"} else np.int64 if kinds <= {"truth", "whole number"} else np.float64
    try:
        plain = np.array([0 if cell is None else cell for cell in out], dtype=dtype)
    except OverflowError:
        plain = np.array([0 if cell is None else float(cell) for cell in out], dtype=np.float64)
    return Column(name, plain, missing if missing.any() else None)


def _cell(name: str, row: int, cell: Any) -> tuple[str, Any]:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)) or type(cell).__name__ in ("NAType", "NaTType"):
        return "", None
    if isinstance(cell, str):
        return "text", str(cell)
    if isinstance(cell, (bool, np.bool_)):
        return "truth", bool(cell)
    if isinstance(cell, numbers.Integral):
        return "whole number", int(cell)
    if isinstance(cell, (numbers.Real, decimal.Decimal)) and not isinstance(cell, datetime.timedelta):
        return "number", float(cell)
    listed = _listed(cell)
    if listed is not None:
        return "list", "|".join(_name(name, row, arm) for arm in listed)
    raise InputError(
        f"column `{name}`, row {row} (from 0) is a {type(cell).__name__}: make numbers or texts of it, or leave it out"
    )


def _listed(cell: Any) -> list[Any] | None:
    """The items of a list, a set or an array; nothing if it is none of these."""
    if isinstance(cell, (set, frozenset)):
        return sorted(cell, key=str)
    if isinstance(cell, (list, tuple)):
        return list(cell)
    if hasattr(cell, "tolist") and getattr(cell, "ndim", 1) == 1:
        return list(cell.tolist())
    return None


def _name(column: str, row: int, arm: Any) -> str:
    if isinstance(arm, (bool, np.bool_)):
        text = "true" if arm else "false"
    elif isinstance(arm, numbers.Real) and not isinstance(arm, numbers.Integral) and float(arm).is_integer():
        text = str(int(float(arm)))
    else:
        text = str(arm)
    if "|" in text or not text.strip():
        problem = f"column `{column}`, row {row} (from 0) lists an arm {text!r}"
        raise InputError(f"{problem}: a name is no blank, and has no |")
    return text


def names_of(column: Column) -> list[str | None]:
    """What the cells of a column are called, where they are names: as the readers of files call them."""
    if isinstance(column.cells, list):
        return [None if cell is None else str(cell).strip() for cell in column.cells]
    missing = column.missing if column.missing is not None else np.zeros(len(column.cells), dtype=np.bool_)
    cells = zip(column.cells.tolist(), missing, strict=True)
    return [None if gone else _name(column.name, row, cell) for row, (cell, gone) in enumerate(cells)]
