"""Learners on their own: one model, no federation, no server.

Three forms of arms, and every learner says which it takes:

* **features per arm** (`LinUCB`, `LinTS`, `Greedy`, `EpsilonGreedy`, `Softmax`, `IGW`): each decision offers an array
  ``(k, d)``, a row of features for each arm; one model serves all arms, and arms may differ from decision to decision.
* **a context and arms by label** (`DisjointLinUCB`): each decision offers one context ``(d,)`` that all arms see; there
  is a model for each arm. This is MABWiser's form.
* **plain arms** (`UCB`, `KLUCB`, `MOSS`, `ThompsonBeta`, `Exp3`; `Greedy`, `EpsilonGreedy`, `Softmax`, `IGW` and
  `Random` with ``arms=``): the same arms each time, without features.

`decide` and `update` are the two steps, in positions of arms; `decide_many` and `update_many` do many of them in one
call, without holding the interpreter. `fit`, `partial_fit`, `predict` and `predict_expectations` are what users of
MABWiser and scikit-learn expect, in labels. Learners are copied, cloned and pickled; a pickle goes on bit for bit.

>>> import numpy as np, cahoots
>>> learner = cahoots.LinUCB(alpha=1.0)
>>> arms = np.array([[1.0, 0.0], [0.0, 1.0]])
>>> decision = learner.decide(arms)
>>> learner.update(decision, reward=0.2)
>>> learner.decide(arms).arm
1
"""

from cahoots._cahoots import Decision
from cahoots.learners.either import IGW, EpsilonGreedy, Greedy, Random, Softmax
from cahoots.learners.linear import DisjointLinUCB, LinTS, LinUCB
from cahoots.learners.plain import KLUCB, MOSS, UCB, Exp3, ThompsonBeta
from cahoots.learners.steps import Decisions, Learner

__all__ = [
    "IGW",
    "KLUCB",
    "MOSS",
    "UCB",
    "Decision",
    "Decisions",
    "DisjointLinUCB",
    "EpsilonGreedy",
    "Exp3",
    "Greedy",
    "Learner",
    "LinTS",
    "LinUCB",
    "Random",
    "Softmax",
    "ThompsonBeta",
]
