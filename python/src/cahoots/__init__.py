"""Federated bandits: simulate them, reproduce papers, run them live."""

from cahoots._cahoots import CahootsError, InputError, __version__
from cahoots.own import Rng, Seat, Setting, Step, algorithm, own_names, policy, world

__all__ = [
    "CahootsError",
    "InputError",
    "Rng",
    "Seat",
    "Setting",
    "Step",
    "__version__",
    "algorithm",
    "own_names",
    "policy",
    "world",
]
