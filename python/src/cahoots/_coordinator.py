"""A coordinator in this process."""

from __future__ import annotations

import html
import json
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Mapping
from pathlib import Path as FilePath
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from cahoots import _cahoots
from cahoots._live_nodes import Node
from cahoots._live_options import algorithm_of, over_of, setting_of, tls_of
from cahoots._live_types import Path, whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cahoots._live_types import ClientOptions
    from cahoots.live import Client


class Coordinator(Node):
    """A coordinator that runs in this process, for tests and notebooks: what `cahoots serve` runs, with its page.

    >>> import cahoots
    >>> with cahoots.Coordinator("async-linucb", {"ratio": 1.0}, clients=2, dim=2, arms=2) as hub:
    ...     with hub.client(0) as client:
    ...         decision = client.decide([[1.0, 0.0], [0.0, 1.0]])
    ...         client.reward(decision, 1.0)
    ...         client.drain().unconfirmed
    ...     hub.status()["observations"]
    'learned'
    0
    1

    Without a `store` it keeps its state, and that of the clients it makes, in a temporary folder, which goes when it is
    closed. Other keywords are the keys of the file that `cahoots serve` takes; `setting` has what its `[setting]` has
    beside clients, dim and arms, such as `reward_range`.
    """

    _node: _cahoots.LiveCoordinator

    def __init__(
        self,
        algorithm: str,
        params: Mapping[str, Any] | None = None,
        *,
        clients: int,
        arms: int,
        dim: int = 0,
        setting: Mapping[str, Any] | None = None,
        seed: int = 0,
        federation: str = "federation",
        store: Path | None = None,
        listen: str = "127.0.0.1:0",
        http: str | None = "127.0.0.1:0",
        token: str | None = None,
        keys: Path | None = None,
        admit: str | None = None,
        plain_text: bool = False,
        sync: str | None = None,
        tick: float = 1.0,
        limits: Mapping[str, Any] | None = None,
        plan: Mapping[str, Any] | None = None,
        warm_start: Mapping[str, Any] | None = None,
        snapshot_every: int = 1000,
    ) -> None:
        """Opens the store, and listens."""
        table = {
            "federation": federation,
            "algorithm": algorithm_of(algorithm, params),
            "setting": setting_of({**(setting or {}), "clients": clients, "dim": dim, "arms": arms}),
            "seed": seed,
            "listen": listen,
            "http": "none" if http is None else http,
            "token": token,
            "tls": tls_of(keys, None),
            "admit": admit,
            "plain_text": plain_text,
            "tick": tick,
            "limits": limits,
            "plan": plan,
            "warm_start": warm_start,
            "snapshot_every": snapshot_every,
        }
        folder = tempfile.mkdtemp(prefix="cahoots-") if store is None else None
        table["store"] = store if folder is None else os.path.join(folder, "coordinator.store")
        # What nobody will open again need not wait for the disk.
        table["sync"] = sync or ("disk" if folder is None else "memory")
        try:
            self._begin(_cahoots.LiveCoordinator.open(table), folder)
        except BaseException:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise

    @classmethod
    def from_file(cls, path: Path, over: Mapping[str, Any] | None = None) -> Coordinator:
        """Starts what `cahoots serve PATH` would run: the same file, the same variables and the same checks.

        Values in `over` hold over both, as `--set` does: `{"listen": "127.0.0.1:0"}`.
        """
        coordinator = cls.__new__(cls)
        coordinator._begin(_cahoots.LiveCoordinator.from_file(path, over_of(over)), None)
        return coordinator

    def _begin(self, node: _cahoots.LiveCoordinator, folder: str | None) -> None:
        self._node = node
        self._folder = folder
        self._clients: weakref.WeakSet[Client] = weakref.WeakSet()
        self._opened()

    @property
    def address(self) -> str:
        """Where clients find it: what they are given as `coordinator`."""
        return self._node.address

    @property
    def page(self) -> str | None:
        """Where its page is, to be opened in a browser."""
        return self._node.page

    @property
    def federation(self) -> str:
        """Name of the federation."""
        return self._node.federation

    @property
    def terms(self) -> dict[str, Any]:
        """What it was given as `algorithm`, `params`, `setting` and `seed`.

        A client that is given the same decides before it joins.
        """
        return cast("dict[str, Any]", _without_none(json.loads(self._node.terms)))

    def options(self, client: int) -> dict[str, Any]:
        """What `cahoots.Client` or `cahoots.AsyncClient` takes to be this federation's client of this number."""
        if self.closed:
            # It says whether it is closed, or another process's.
            self.status()
        folder = self._folder or os.path.dirname(os.path.abspath(self._node.store))
        return {
            "federation": self.federation,
            "client": whole("client", client),
            "coordinator": self.address,
            "store": os.path.join(folder, f"client-{client}.store"),
            "sync": "disk" if self._folder is None else "memory",
        }

    def client(self, client: int, *, wait: float = 30.0, **options: Unpack[ClientOptions]) -> Client:
        """Client number `client`, connected, in this process too; `options` are those of `cahoots.Client`.

        Its store is beside the coordinator's unless `store` names another. Waits for up to `wait` seconds until it has
        joined.
        """
        from cahoots.live import Client

        made = Client(**{**self.options(client), **options})
        self._clients.add(made)
        try:
            return made.wait(wait)
        except BaseException:
            made.close()
            raise

    def status(self) -> dict[str, Any]:
        """What it is doing: the words of `GET /status`."""
        return cast("dict[str, Any]", self._order("status"))

    def members(self) -> list[dict[str, Any]]:
        """Who ever joined, and is not forgotten."""
        return cast("list[dict[str, Any]]", self._order("members"))

    def model(self) -> dict[str, Any]:
        """What was learned, with intervals and in words: the words of `GET /model`."""
        return cast("dict[str, Any]", json.loads(self._node.model()))

    def history(self, window: float | None = None) -> dict[str, Any]:
        """How it went in the last `window` seconds, or since it was started."""
        return cast("dict[str, Any]", json.loads(self._node.history(window)))

    def journal(self, client: int | None = None, most: int = 200) -> list[dict[str, Any]]:
        """What happened, to one client or at all, newest first."""
        number = None if client is None else whole("client", client)
        return cast("list[dict[str, Any]]", json.loads(self._node.journal(number, whole("most", most))))

    def params(self, **changes: Any) -> dict[str, Any]:
        """The parameters and the number of their version, after these have changed, here and at every client."""
        return cast("dict[str, Any]", json.loads(self._node.params(changes)))

    def versions(self) -> list[dict[str, Any]]:
        """Every version of the parameters that is on record, the oldest first."""
        return cast("list[dict[str, Any]]", self._order("history")["versions"])

    def revert(self, version: int | None = None) -> dict[str, Any]:
        """An earlier version of the parameters holds again, as a new version; without a number, the one before."""
        return cast("dict[str, Any]", self._order("revert", version=version))

    def invite(self, client: int, days: float = 7.0) -> str:
        """Grants a number to whoever comes with what this gives, once: a client's `invitation`. It is shown once."""
        return cast(str, self._order("invite", client=whole("client", client), days=float(days))["invitation"])

    def uninvite(self, client: int) -> int:
        """Takes back the invitations to a number that nobody has used; gives how many."""
        return cast(int, self._order("uninvite", client=whole("client", client))["withdrawn"])

    def remove(self, client: int, *, forget: bool = False) -> None:
        """A client leaves for good; with `forget`, what it contributed is taken out again, where the algorithm can."""
        self._order("remove", client=whole("client", client), forget=forget)

    def release(self, client: int) -> None:
        """A client's number is free again."""
        self._order("release", client=whole("client", client))

    def restore(self, client: int) -> None:
        """A quarantined client is believed again."""
        self._order("restore", client=whole("client", client))

    def backup(self, path: Path) -> FilePath:
        """Copies the store, as it is now, to another path."""
        return FilePath(self._order("backup", to=os.path.abspath(path))["copied"])

    def close(self) -> None:
        """Stops, and so do the clients that it made; what was acknowledged is on disk, but for what was temporary."""
        if self._node.is_closed():
            return
        for client in list(self._clients):
            client.close()
        try:
            self._node.close()
        finally:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _order(self, order: str, **words: Any) -> Any:
        return json.loads(self._node.order(json.dumps({"do": order, **words})))

    def __enter__(self) -> Coordinator:
        """The coordinator itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Closes it."""
        self.close()

    def __del__(self) -> None:
        """Whoever forgets to close it is told, as with files."""
        node = getattr(self, "_node", None)
        if node is not None and not node.is_closed():
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)
            self.close()

    def __repr__(self) -> str:
        """Which it is."""
        closed = ", closed" if self._node.is_closed() else ""
        page = f", page {self.page}" if self.page else ""
        return f"<cahoots.Coordinator of {self.federation!r} at {self.address}{page}{closed}>"

    def _repr_html_(self) -> str:
        """Which it is, with its page to be opened from a notebook."""
        at = html.escape(self.page or "")
        page = f' <a href="{at}" target="_blank">page</a>' if at.startswith("http") and not self.closed else ""
        return f"<code>{html.escape(repr(self))}</code>{page}"


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return value
