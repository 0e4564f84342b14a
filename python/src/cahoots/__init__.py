"""Federated bandits: simulate them, reproduce papers, run them live."""

from cahoots import keys
from cahoots._cahoots import CahootsError, InputError, __version__
from cahoots.aio import AsyncClient, AsyncDecision
from cahoots.live import Ask, Client, Coordinator, Decision, Drained, Ranked, logs

__all__ = [
    "Ask",
    "AsyncClient",
    "AsyncDecision",
    "CahootsError",
    "Client",
    "Coordinator",
    "Decision",
    "Drained",
    "InputError",
    "Ranked",
    "__version__",
    "keys",
    "logs",
]
