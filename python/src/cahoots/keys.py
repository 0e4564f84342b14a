"""Certificates for a federation: what the command `cahoots keys` does.

A folder holds the federation's own authority and, for its coordinator and each client, a folder that is copied to where
it runs. Keep the folder itself, `authority-*` above all, to yourself: who has it is everyone.

>>> import tempfile, cahoots
>>> with tempfile.TemporaryDirectory() as folder:
...     cahoots.keys.init(f"{folder}/keys", federation="shops", hosts=["127.0.0.1"]).name
...     cahoots.keys.client(f"{folder}/keys", 3).name
'coordinator'
'client-3'
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cahoots import _cahoots
from cahoots._live_types import whole

__all__ = ["client", "init", "revoke", "rotate", "server", "show"]


def init(folder: str | os.PathLike[str], *, federation: str, hosts: Sequence[str], days: int = 365) -> Path:
    """Makes an authority, and the certificate of a coordinator that clients find under `hosts`.

    Gives the coordinator's folder.
    """
    return _cahoots.keys_init(folder, federation, _hosts(hosts), whole("days", days))


def client(folder: str | os.PathLike[str], client: int, *, days: int = 365) -> Path:
    """Makes a client's certificate, new or renewed; gives its folder."""
    return _cahoots.keys_client(folder, whole("client", client), whole("days", days))


def server(folder: str | os.PathLike[str], *, hosts: Sequence[str] = (), days: int = 365) -> Path:
    """Makes a new certificate for the coordinator, for other hosts where some are given; gives its folder."""
    return _cahoots.keys_server(folder, _hosts(hosts), whole("days", days))


def revoke(folder: str | os.PathLike[str], member: int | str) -> int:
    """None of a member's certificates is believed any more.

    A client's number, or "coordinator". Gives how many there were.
    """
    number = None if member == "coordinator" else whole("member", member)
    return _cahoots.keys_revoke(folder, number)


def rotate(folder: str | os.PathLike[str], *, finish: bool = False) -> int:
    """Makes a new authority beside the old one, which is believed until `finish`.

    Gives how many are not believed any more.
    """
    return _cahoots.keys_rotate(folder, finish)


def show(path: str | os.PathLike[str]) -> str:
    """For whom certificates are, for what, and until when."""
    return _cahoots.keys_show(path)


def _hosts(hosts: Sequence[str]) -> list[str]:
    return [hosts] if isinstance(hosts, str) else list(hosts)
