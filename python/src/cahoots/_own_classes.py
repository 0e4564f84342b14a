"""Reads a user's class: what its methods take, what its parameters are, and which code it is."""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from cahoots._errors import InputError

NONE = object()
"""No default."""

_ALSO = {"msg": "message"}
_EVENTS = ("on_start", "on_message", "on_wake", "on_join", "on_leave")
_RESERVED = {
    "kind": "it names the algorithm or world in an experiment",
    "label": "it names an entry of an experiment",
    "code": "it tells one version of your code from another",
    "arrivals": "every world has this key: for another default, set a class attribute `arrivals`",
}


def summary_of(known: type) -> str:
    lines = (known.__dict__.get("__doc__") or "").strip().splitlines()
    return lines[0].strip() if lines else f"{known.__qualname__}, written in Python"


def shown_default(defaults: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = defaults.get(key)
    if hasattr(value, "tolist"):
        value = value.tolist()  # type: ignore[union-attr]
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return {}
    return {} if value is None else {"default": value}


def methods_of(
    name: str, known: type, hooks: Mapping[str, tuple[str, ...]], needs: Sequence[str]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    where = f"{name}: {known.__qualname__}"
    for hook, words in hooks.items():
        function = inspect.getattr_static(known, hook, None)
        if function is None:
            if hook in needs:
                raise InputError(f"{where} needs a method {hook}(self, {', '.join(words[:3])})")
            continue
        if not isinstance(function, types.FunctionType):
            raise InputError(f"{where}.{hook} must be an ordinary method")
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise InputError(f"{where}.{hook} must be an ordinary method: neither async nor with yield")
        takes: list[str] = []
        for parameter in list(inspect.signature(function).parameters.values())[1:]:
            word = _ALSO.get(parameter.name, parameter.name)
            plain = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            if plain and word in words:
                takes.append(word)
            elif parameter.kind == parameter.KEYWORD_ONLY and parameter.default is not parameter.empty:
                continue
            elif plain and parameter.default is not parameter.empty:
                break
            else:
                near = get_close_matches(parameter.name, words, 1)
                help = f"did you mean {near[0]}?" if near else f"it may take {', '.join(words)}"
                raise InputError(f"{where}.{hook} takes `{parameter}`, which is nothing that it can be given: {help}")
        found[hook] = takes
    # A name that is nearly a method's, or another role's, would never be called.
    for attribute in vars(known):
        if attribute.startswith("on_") and attribute not in hooks:
            near = get_close_matches(attribute, _EVENTS, 1)
            if near:
                help = f"did you mean {near[0]}?" if near[0] in hooks else f"there are {', '.join(hooks)}"
                raise InputError(f"{where}.{attribute} would never be called: {help}")
    return found


def parameters_of(name: str, known: type, injected: Sequence[str]) -> list[tuple[str, dict[str, Any] | None, Any]]:
    """Parameters of ``__init__``: name, shape (None for what is injected), default."""
    init = known.__init__  # type: ignore[misc]
    if init is object.__init__:
        return []
    where = f"{name}: {known.__qualname__}.__init__"
    try:
        hints = typing.get_type_hints(init, include_extras=True)
    except Exception as error:
        raise InputError(f"{where} has an annotation that cannot be read: {error}") from error
    found: list[tuple[str, dict[str, Any] | None, Any]] = []
    for parameter in list(inspect.signature(init).parameters.values())[1:]:
        if parameter.name in injected:
            found.append((parameter.name, None, NONE))
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise InputError(f"{where} takes `{parameter}`: name every parameter, so that experiments can set it")
        if parameter.name in _RESERVED and (parameter.name != "arrivals" or "seed" in injected):
            raise InputError(f"{where}: a parameter cannot be called {parameter.name}: {_RESERVED[parameter.name]}")
        default = NONE if parameter.default is parameter.empty else parameter.default
        hint = hints.get(parameter.name, NONE)
        if hint is NONE:
            if default is NONE or default is None:
                raise InputError(
                    f"{where}: say what {parameter.name} is, `{parameter.name}: float` say; "
                    f"what is no parameter is called {' or '.join(injected)}"
                )
            hint = float if isinstance(default, int) and not isinstance(default, bool) else type(default)
        shape = _shape(hint)
        if shape is None:
            raise InputError(
                f"{where}: {parameter.name} cannot be a {hint!r}: parameters are int, float, bool, str, Literal, "
                "lists of these, or dict"
            )
        found.append((parameter.name, shape, default))
    return found


def _shape(hint: Any) -> dict[str, Any] | None:
    """JSON schema of a type; None where it has none."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        inner, words = _shape(arguments[0]), [word for word in arguments[1:] if isinstance(word, str)]
        return inner and {**inner, **({"description": words[0]} if words else {})}
    plain = {bool: "boolean", int: "integer", str: "string"}
    if isinstance(hint, type) and hint in plain:
        return {"type": plain[hint]}
    if hint is float:
        return {"type": "number", "x-infinite": True}
    if origin is Literal and all(isinstance(word, str) for word in arguments):
        return {"enum": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        inner_shapes = [_shape(argument) for argument in arguments if argument is not type(None)]
        if any(inner is None for inner in inner_shapes):
            return None
        return inner_shapes[0] if len(inner_shapes) == 1 else {"anyOf": inner_shapes}
    if hint in (list, tuple):
        return {"type": "array"}
    if origin in (list, tuple, Sequence):
        inner = _shape(arguments[0])
        return inner and {"type": "array", "items": inner}
    if hint is dict or origin is dict:
        return {"type": "object", "additionalProperties": True}
    if hint is np.ndarray or origin is np.ndarray:
        return {"type": "array"}
    return None


# What Python writes into every class, of which none is run.
_NO_CODE = frozenset(
    [
        *("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__firstlineno__", "__slotnames__"),
        *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__static_attributes__"),
        *("__abstractmethods__", "_abc_impl"),
    ]
)

# The flag of types that were not there before any code ran; their module may be anything, for those made by `exec`.
_MADE_BY_CODE = 1 << 9


def fingerprint(classes: Sequence[type], version: str) -> str:
    """A short text that changes when the code does: of the classes, their bases, and the classes in them."""
    digest = blake2b(version.encode(), digest_size=8)
    seen: set[type] = set()
    home = {known.__module__ for known in classes}

    def of_class(known: type) -> None:
        digest.update(known.__qualname__.rpartition(".")[2].encode())
        if known in seen or known.__module__ in ("abc", "typing") or not known.__flags__ & _MADE_BY_CODE:
            return
        seen.add(known)
        for base in known.__mro__[1:]:
            of_class(base)
        for name, value in sorted(vars(known).items()):
            if name not in _NO_CODE:
                digest.update(name.encode())
                of_value(value)

    def of_value(value: object) -> None:
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, property):
            for part in (value.fget, value.fset, value.fdel):
                of_value(part)
        elif isinstance(value, types.FunctionType):
            of_value(value.__defaults__)
            of_value(value.__kwdefaults__)
            of_value(value.__code__)
        elif isinstance(value, types.CodeType):
            digest.update(value.co_code)
            of_value((value.co_names, value.co_varnames, value.co_freevars))
            of_value(value.co_consts)
        elif isinstance(value, type) and value.__module__ in home:
            of_class(value)
        elif isinstance(value, type):
            digest.update(value.__qualname__.encode())
        elif isinstance(value, (list, tuple)):
            digest.update(f"{type(value).__name__} {len(value)}".encode())
            for item in value:
                of_value(item)
        elif isinstance(value, (set, frozenset)):
            digest.update(repr(sorted(map(repr, value))).encode())
        elif isinstance(value, dict):
            for key, item in value.items():
                of_value(key)
                of_value(item)
        elif isinstance(value, np.ndarray):
            digest.update(f"{value.dtype} {value.shape}".encode() + value.tobytes())
        elif isinstance(value, (str, bytes, int, float, complex, bool, type(None), type(...))):
            digest.update(repr(value).encode())
        else:
            # Anything else may say where it lies in memory: only what it is counts.
            digest.update(type(value).__qualname__.encode())
        digest.update(b"\0")

    for known in classes:
        of_class(known)
    return digest.hexdigest()
