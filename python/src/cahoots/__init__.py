"""Federated bandits: simulate them, reproduce papers, run them live."""

from cahoots._cahoots import CahootsError, InputError, __version__
from cahoots.own import Seat, Setting, algorithm, own_names, policy, world

__all__ = [
    "CahootsError",
    "InputError",
    "Seat",
    "Setting",
    "__version__",
    "algorithm",
    "own_names",
    "policy",
    "world",
]
