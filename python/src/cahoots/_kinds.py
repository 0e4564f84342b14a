"""What there is to run, and where: algorithms and environments with their keys."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from cahoots import _cahoots
from cahoots._errors import InputError


@dataclass(frozen=True)
class Parameter:
    """A key of an algorithm or an environment."""

    name: str
    """What to write."""
    default: Any
    """What holds when it is not given; None where nothing does."""
    required: bool
    """Whether it must be given."""
    range: str
    """What it takes, in words."""
    purpose: str
    """What it is for."""


@dataclass(frozen=True)
class Kind:
    """An algorithm or an environment: its name, what it is, and its keys.

    >>> import cahoots
    >>> cahoots.algorithms()["async-linucb"]["upload_ratio"].required
    False
    """

    name: str
    """What ``Algorithm`` or ``Environment`` is given."""
    summary: str
    """What it is, in a line."""
    parameters: tuple[Parameter, ...]
    """Its keys."""

    def __getitem__(self, name: str) -> Parameter:
        """Give the parameter of this name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        names = ", ".join(parameter.name for parameter in self.parameters)
        raise InputError(f"{self.name} has no key {name!r}; there are: {names}")

    def __repr__(self) -> str:
        """Name, summary and keys, a line each."""
        width = max((len(parameter.name) for parameter in self.parameters), default=0)
        keys = (f"  {parameter.name:<{width}}  {_default(parameter)}" for parameter in self.parameters)
        return "\n".join([f"{self.name}: {self.summary}", *keys])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{title}</th>" for title in ("name", "default", "purpose", "range"))
        rows = (
            _row([parameter.name, _default(parameter), parameter.purpose, parameter.range])
            for parameter in self.parameters
        )
        name, summary = html.escape(self.name), html.escape(self.summary)
        return (
            f"<p><b>{name}</b>: {summary}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        )


class Kinds(Sequence[Kind]):
    """A list of algorithms or environments; by place or by name.

    >>> import cahoots
    >>> cahoots.environments()["linear"].name
    'linear'
    """

    def __init__(self, kinds: Sequence[Kind], what: str) -> None:
        """Make a list of these; ``what`` they are is for messages."""
        self._kinds = tuple(kinds)
        self._what = what

    @overload
    def __getitem__(self, key: int | str) -> Kind: ...

    @overload
    def __getitem__(self, key: slice) -> Kinds: ...

    def __getitem__(self, key: int | str | slice) -> Kind | Kinds:
        """One by place or name, or several by a slice."""
        if isinstance(key, slice):
            return Kinds(self._kinds[key], self._what)
        if isinstance(key, str):
            for kind in self._kinds:
                if kind.name == key:
                    return kind
            raise InputError(f"there is no {self._what} {key!r}; there are: {', '.join(self.names)}")
        return self._kinds[key]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._kinds)

    def __iter__(self) -> Iterator[Kind]:
        """One after the other."""
        return iter(self._kinds)

    def __contains__(self, item: object) -> bool:
        """Whether there is one of this name, or this one."""
        return item in self.names or item in self._kinds

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [kind.name for kind in self._kinds]

    def __repr__(self) -> str:
        """Names and summaries, a line each."""
        width = max((len(kind.name) for kind in self._kinds), default=0)
        return "\n".join(f"{kind.name:<{width}}  {kind.summary}" for kind in self._kinds)

    def _repr_html_(self) -> str:
        rows = (_row([kind.name, kind.summary]) for kind in self._kinds)
        head = f"<tr><th>{html.escape(self._what)}</th><th>what it is</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def algorithms() -> Kinds:
    """List the algorithms that an experiment may name, with their parameters.

    >>> import cahoots
    >>> "async-linucb" in cahoots.algorithms().names
    True
    """
    return _read(_cahoots.describe_algorithms(), "algorithm")


def environments() -> Kinds:
    """List the worlds that an experiment may name, with their keys.

    >>> import cahoots
    >>> "linear" in cahoots.environments().names
    True
    """
    return _read(_cahoots.describe_environments(), "environment")


def _read(text: str, what: str) -> Kinds:
    def kind(about: dict[str, Any]) -> Kind:
        parameters = tuple(Parameter(**parameter) for parameter in about["parameters"])
        return Kind(about["name"], about["summary"], parameters)

    return Kinds([kind(about) for about in json.loads(text)], what)


def _default(parameter: Parameter) -> str:
    if parameter.default is None:
        return "required" if parameter.required else "-"
    return parameter.default if isinstance(parameter.default, str) else json.dumps(parameter.default)


def _row(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f'<td style="text-align: left">{html.escape(cell)}</td>' for cell in cells) + "</tr>"
