"""Federated bandits: simulate them, reproduce papers, run them live."""

from cahoots._cahoots import CahootsError, InputError, __version__
from cahoots._kinds import Kind, Kinds, Parameter, algorithms, environments
from cahoots._progress import Progress
from cahoots._sweep import sweep
from cahoots.experiment import Algorithm, Environment, Expected, Experiment, expect, run
from cahoots.results import Result, load

__all__ = [
    "Algorithm",
    "CahootsError",
    "Environment",
    "Expected",
    "Experiment",
    "InputError",
    "Kind",
    "Kinds",
    "Parameter",
    "Progress",
    "Result",
    "__version__",
    "algorithms",
    "environments",
    "expect",
    "load",
    "run",
    "sweep",
]
