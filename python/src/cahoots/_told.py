"""What is said to people: tables in text and in HTML, and the command's complaints in the words of Python."""

from __future__ import annotations

import contextlib
import html
import re
from collections.abc import Iterable, Iterator

from cahoots._errors import InputError


def text_table(rows: list[list[str]]) -> list[str]:
    """Lines of a table, the first row with the titles."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def html_table(heading: str, rows: list[list[str]], notes: Iterable[str] = (), after: str = "") -> str:
    """A table for notebooks; `after` is HTML as it is, all else is text."""
    head, *body = rows
    titles = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    below = "".join(f"<div>{html.escape(note)}</div>" for note in notes)
    return (
        f"<div><div><b>{html.escape(heading)}</b></div>"
        f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>{below}{after}</div>"
    )


_PLACE = re.compile(r"\S*cahoots-(?:log|table)-\S*\.parquet(?:, row group \d+, row (\d+))?")
_FLAG = re.compile(r"--([a-z][a-z-]+)(?: (COLUMNS?|N|P|WEIGHT|DIR|FILE)\b| (blocks|none|same)\b)?")


def in_python(text: str) -> str:
    """What the command says, in the words of Python: rows for lines of a file, arguments for options."""

    def place(match: re.Match[str]) -> str:
        return f"row {int(match[1]) - 1} of the frame (from 0)" if match[1] else "the frame"

    def flag(match: re.Match[str]) -> str:
        name = match[1].replace("-", "_")
        if match[3]:
            return f'{name}="{match[3]}"'
        return f"{name}=True" if name in ("force", "uniform_logging") else f"{name}="

    text = _FLAG.sub(flag, _PLACE.sub(place, text))
    text = text.replace("`cahoots evaluate`", "`cahoots.evaluate`")
    return text.replace("`cahoots data describe FILE`", "`cahoots.data.describe`")


@contextlib.contextmanager
def told_in_python() -> Iterator[None]:
    """Complaints from inside this are told in the words of Python."""
    try:
        yield
    except InputError as error:
        raise InputError(in_python(str(error))) from None
