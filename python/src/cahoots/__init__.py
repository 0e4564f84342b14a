"""Federated bandits: simulate them, reproduce papers, run them live."""

from cahoots import data, keys
from cahoots._cahoots import __version__
from cahoots._errors import CahootsError, InputError
from cahoots._kinds import Kind, Kinds, Parameter, algorithms, environments
from cahoots._progress import Progress
from cahoots._sweep import sweep
from cahoots.aio import AsyncClient, AsyncDecision
from cahoots.evaluation import Estimate, Evaluation, evaluate
from cahoots.experiment import Algorithm, Environment, Expected, Experiment, expect, run
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
from cahoots.live import Ask, Client, Coordinator, Decision, Drained, Ranked, logs
from cahoots.own import Rng, Seat, Setting, Step, algorithm, own_names, policy, world
from cahoots.reproduction import Claim, Reproduction, papers, reproduce
from cahoots.results import Result, load

__all__ = [
    "IGW",
    "KLUCB",
    "MOSS",
    "UCB",
    "Algorithm",
    "Ask",
    "AsyncClient",
    "AsyncDecision",
    "CahootsError",
    "Claim",
    "Client",
    "Coordinator",
    "Decision",
    "DisjointLinUCB",
    "Drained",
    "Environment",
    "EpsilonGreedy",
    "Estimate",
    "Evaluation",
    "Exp3",
    "Expected",
    "Experiment",
    "Greedy",
    "InputError",
    "Kind",
    "Kinds",
    "LinTS",
    "LinUCB",
    "Parameter",
    "Progress",
    "Random",
    "Ranked",
    "Reproduction",
    "Result",
    "Rng",
    "Seat",
    "Setting",
    "Softmax",
    "Step",
    "ThompsonBeta",
    "__version__",
    "algorithm",
    "algorithms",
    "data",
    "environments",
    "evaluate",
    "expect",
    "keys",
    "load",
    "logs",
    "own_names",
    "papers",
    "policy",
    "reproduce",
    "run",
    "sweep",
    "world",
]
