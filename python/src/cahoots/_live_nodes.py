"""Nodes of this process: closed when the interpreter ends, let go of when it forks."""

from __future__ import annotations

import atexit
import os
import weakref
from contextlib import suppress
from typing import Any, NoReturn

_open: weakref.WeakSet[Any] = weakref.WeakSet()


class Node:
    """What clients and coordinators have in common: a store, and threads, of one process."""

    _node: Any
    _store: str

    def _opened(self) -> None:
        # Links are followed: the system names open files by where they are.
        self._store = os.path.realpath(self._node.store)
        _open.add(self)

    def close(self) -> None:
        """Stops; all that was acknowledged is on disk."""
        self._node.close()

    @property
    def closed(self) -> bool:
        """Is it closed? In a fork it is: a node is of the process that opened it."""
        return bool(self._node.is_closed())

    def __reduce__(self) -> NoReturn:
        """Neither a store nor threads can be pickled."""
        name = type(self).__name__
        raise TypeError(
            f"a {name} cannot be pickled or copied: it holds a store and threads of this process. Open one in the "
            f"process that uses it (cahoots.{name}.from_file, or cahoots.{name}(...) there), with a store of its own"
        )

    def _let_go(self) -> None:
        """Closes a fork's copies of the store's files: they would keep it locked after the parent is gone."""
        with suppress(OSError):
            for number in os.listdir("/proc/self/fd"):
                with suppress(OSError):
                    path = os.readlink(f"/proc/self/fd/{number}")
                    if path == self._store or path.startswith(f"{self._store}."):
                        os.close(int(number))


def _close_all() -> None:
    for node in list(_open):
        # The interpreter ends: nobody is left to be told.
        with suppress(Exception):
            node.close()


def _forked() -> None:
    for node in list(_open):
        node._let_go()
    _open.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
