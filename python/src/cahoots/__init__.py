"""Federated bandits: simulate them, reproduce papers, run them live."""

from cahoots._cahoots import CahootsError, InputError, __version__
from cahoots.learners import (
    IGW,
    KLUCB,
    MOSS,
    UCB,
    DisjointLinUCB,
    EpsilonGreedy,
    Exp3,
    Greedy,
    LinTS,
    LinUCB,
    Random,
    Softmax,
    ThompsonBeta,
)

__all__ = [
    "IGW",
    "KLUCB",
    "MOSS",
    "UCB",
    "CahootsError",
    "DisjointLinUCB",
    "EpsilonGreedy",
    "Exp3",
    "Greedy",
    "InputError",
    "LinTS",
    "LinUCB",
    "Random",
    "Softmax",
    "ThompsonBeta",
    "__version__",
]
