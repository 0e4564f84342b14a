"""Federated bandits: simulate them, reproduce papers, run them live."""

from cahoots import data
from cahoots._cahoots import CahootsError, InputError, __version__
from cahoots.evaluation import Estimate, Evaluation, evaluate
from cahoots.reproduction import Claim, Reproduction, papers, reproduce

__all__ = [
    "CahootsError",
    "Claim",
    "Estimate",
    "Evaluation",
    "InputError",
    "Reproduction",
    "__version__",
    "data",
    "evaluate",
    "papers",
    "reproduce",
]
