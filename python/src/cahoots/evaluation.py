"""What a policy would have earned on what another one logged."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cahoots import _cahoots, _checks, _frames, _policies
from cahoots._errors import CahootsError, InputError
from cahoots._told import html_table, in_python, text_table, told_in_python

if TYPE_CHECKING:
    import pandas

__all__ = ["Estimate", "Evaluation", "evaluate"]

ESTIMATORS = ("ips", "snips", "dm", "dr", "switch")


@dataclass(frozen=True)
class Estimate:
    """What one estimator says of a policy's reward per decision.

    Intervals are pairs (from, to). `normal` and `bootstrap` hold as logs grow; `anytime` holds for every length of the
    log and for all at once. An interval that there is none of is None.
    """

    estimator: str
    value: float
    standard_error: float
    normal: tuple[float, float]
    bootstrap: tuple[float, float] | None
    anytime: tuple[float, float] | None
    tau: float | None
    assumes: str


@dataclass(frozen=True)
class Evaluation:
    """What a policy would have earned, how sure one can be of it, and whether the log can answer.

    >>> import cahoots
    >>> log = cahoots.data.example_log(2000)
    >>> found = cahoots.evaluate(log, "uniform", context=["evening", "mobile", "returning"])
    >>> [one.estimator for one in found.estimates]
    ['ips', 'snips', 'dm', 'dr', 'switch']
    >>> low, high = found["dr"].normal
    >>> low < found["dr"].value < high
    True
    """

    policy: str
    """The policy, as it was named."""
    method: str
    """`weights` for a policy that does not learn, `rejection` for an algorithm that does."""
    confidence: float
    """Intervals are to hold with this probability."""
    rows: int
    """Decisions of the log."""
    arms: list[str]
    """Names of the arms."""
    positions: int
    """Positions that arms were shown in."""
    features: list[str]
    """Names of the features of a context."""
    unrewarded: int
    """Decisions without a reward, which were left out."""
    logged: float
    """Mean reward of the decisions that were evaluated, as logged."""
    estimates: list[Estimate]
    """One for each estimator."""
    diagnostics: dict[str, Any] = field(repr=False)
    """Whether the log can answer: effective sample size, weights, overlap; for an algorithm, what it learned from."""
    fitted_on: int
    """Decisions that the policy was made from, where it was; they are not evaluated."""
    warnings: list[str]
    """What is to be known before it is believed."""

    def __getitem__(self, estimator: str) -> Estimate:
        """The estimate of an estimator."""
        for one in self.estimates:
            if one.estimator == estimator:
                return one
        there = ", ".join(one.estimator for one in self.estimates)
        raise KeyError(f"there is no estimate {estimator!r}; there are: {there}")

    @property
    def value(self) -> float:
        """The estimate to begin with: doubly robust where there is one, else the first."""
        names = [one.estimator for one in self.estimates]
        return self.estimates[names.index("dr") if "dr" in names else 0].value

    def to_dict(self) -> dict[str, Any]:
        """All of it, as plain dicts and lists."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["estimates"] = [dict(one.__dict__) for one in self.estimates]
        return plain

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each estimator.

        >>> import cahoots
        >>> found = cahoots.evaluate(cahoots.data.example_log(500), "logged")
        >>> bool(found.to_pandas().loc["ips", "value"] == found.logged)
        True
        """
        try:
            import pandas
        except ImportError:
            raise CahootsError("to_pandas needs pandas: pip install 'cahoots[pandas]'") from None
        rows = []
        for one in self.estimates:
            row: dict[str, Any] = {"value": one.value, "standard_error": one.standard_error}
            for name in ("normal", "bootstrap", "anytime"):
                low, high = getattr(one, name) or (math.nan, math.nan)
                row |= {f"{name}_low": low, f"{name}_high": high}
            row["tau"] = math.nan if one.tau is None else one.tau
            rows.append(row)
        index = pandas.Index([one.estimator for one in self.estimates], name="estimator")
        frame: pandas.DataFrame = pandas.DataFrame(rows, index=index)
        return frame

    def _heading(self) -> str:
        text = f"{self.policy}: {self.rows:,} decisions, {len(self.arms)} arms"
        if self.positions > 1:
            text += f" in {self.positions} positions"
        if self.features:
            text += f", {len(self.features)} features"
        text += f"; logged: {self.logged:.4f} per decision"
        if self.fitted_on:
            text += f"; made from {self.fitted_on:,} of them, evaluated on the others"
        if self.unrewarded:
            text += f"; {self.unrewarded:,} without a reward left out"
        return text

    def _table(self) -> list[list[str]]:
        percent = f"{100 * self.confidence:g}%"
        intervals = ("normal", "bootstrap", "anytime")
        shown = [name for name in intervals if any(getattr(one, name) for one in self.estimates)]
        titles = {"normal": "normal", "bootstrap": "bootstrap", "anytime": "at any time"}
        rows = [["estimator", "value", "standard error", *(f"{percent}, {titles[name]}" for name in shown)]]
        for one in self.estimates:
            known = 0 < one.standard_error < math.inf
            digits = min(8, max(0, 1 - math.floor(math.log10(one.standard_error)))) if known else 4
            name = one.estimator if one.tau is None else f"{one.estimator}, tau {one.tau:g}"
            row = [name, f"{one.value:,.{digits}f}", f"{one.standard_error:,.{digits}f}"]
            for interval in shown:
                ends = getattr(one, interval)
                row.append("-" if ends is None else f"{ends[0]:,.{digits}f} to {ends[1]:,.{digits}f}")
            rows.append(row)
        return rows

    def _notes(self) -> list[str]:
        seen = self.diagnostics
        if self.method == "rejection":
            quarters = ", ".join(f"{value:.4f}" for value in seen["quarters"])
            first = f"{seen['taken']:,} of {seen['events']:,} decisions were its own; by quarters: {quarters}"
        else:
            first = (
                f"effective: {seen['effective']:,.1f} of {seen['rows']:,} decisions; "
                f"weights: mean {seen['mean_weight']:.4f}, largest {seen['weight_quantiles'][-1]:.4g}"
            )
        return [first, *(f"warning: {warning}" for warning in self.warnings)]

    def __repr__(self) -> str:
        """A table in plain text."""
        return "\n".join([self._heading(), "", *text_table(self._table()), "", *self._notes()])

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        return html_table(self._heading(), self._table(), self._notes())


def evaluate(
    log: Any,
    policy: Any,
    *,
    params: Mapping[str, Any] | None = None,
    arm: str | None = None,
    reward: str | None = None,
    propensity: str | None = None,
    uniform_logging: bool = False,
    context: str | Sequence[str] | None = None,
    client: str | None = None,
    position: str | None = None,
    offered: str | None = None,
    arms: Sequence[Any] | None = None,
    arm_features: str | None = None,
    estimators: Sequence[str] | None = None,
    clip: float | None = None,
    tau: float | None = None,
    folds: int = 5,
    ridge: float = 1.0,
    confidence: float = 0.95,
    bootstrap: int = 1000,
    seed: int = 1,
    reward_range: tuple[float, float] | None = None,
    least_propensity: float | None = None,
    least_effective: float = 50.0,
    force: bool = False,
) -> Evaluation:
    """Estimates what a policy would have earned, from decisions that another policy made and logged.

    The numbers are those of `cahoots evaluate`, bit for bit. What the log cannot answer is refused (`InputError`).

    Parameters
    ----------
    log
        A DataFrame of pandas or polars, a Table of pyarrow, anything with `__arrow_c_stream__`, a dict of columns, or a
        path: CSV and its relatives, Parquet, a folder of a client's record of decisions, a folder of the Open Bandit
        Dataset. A frame is written to a temporary Parquet file, which the reader of files reads.
    policy
        `"logged"`, `"uniform"`, `"constant:ARM"`, `"columns:PREFIX"`, `"best-of-log"`, `"greedy-linear"`,
        `"epsilon-greedy:E"`, or the name of an algorithm that learns. Or what the policy does in each row: an array of
        probabilities (rows x arms, columns in the order of `arms`), a frame or dict of them by arm, or a column of the
        arms that it takes. Or a function that is called once, with the log, and gives one of these.
    params
        Parameters of an algorithm.
    arm, reward, propensity, client, position, offered
        Names of columns; where not given, the usual ones are looked for. `offered` lists the arms that could be taken:
        lists, or texts with `|` between names.
    uniform_logging
        Every arm was as likely as every other.
    context
        Columns of what was known before the decision.
    arms
        The arms that an array of probabilities has columns for; where not given, those of the log, numbers in the order
        of numbers and texts in that of letters.
    arm_features
        How the context becomes features of arms, for algorithms: `"none"`, `"same"` or `"blocks"`.
    estimators
        Those that are shown, of `ips`, `snips`, `dm`, `dr`, `switch`; all where not given.
    clip, tau, folds, ridge, confidence, bootstrap, seed, reward_range, least_propensity, least_effective, force
        As the options of the command.

    Examples
    --------
    >>> import cahoots
    >>> log = cahoots.data.example_log(5000)
    >>> found = cahoots.evaluate(log, "constant:red", context=["evening", "mobile", "returning"])
    >>> low, high = found["ips"].anytime
    >>> low < cahoots.data.example_worth()["constant:red"] < high
    True

    A policy of your own, as probabilities of the arms (blue, green, grey, red) in each row:

    >>> import numpy as np
    >>> probabilities = np.where(log["evening"][:, None] == 1, [0.1, 0.2, 0.1, 0.6], [0.7, 0.1, 0.1, 0.1])
    >>> found = cahoots.evaluate(log, probabilities, context=["evening"])
    >>> found.warnings
    []

    """
    options: dict[str, Any] = {
        "arm": _checks.text("arm", arm),
        "reward": _checks.text("reward", reward),
        "propensity": _checks.text("propensity", propensity),
        "client": _checks.text("client", client),
        "position": _checks.text("position", position),
        "offered": _checks.text("offered", offered),
        "uniform_logging": bool(uniform_logging),
        "context": _checks.names("context", context),
        "arm_features": _checks.text("arm_features", arm_features),
        "clip": _checks.number("clip", clip, above=0.0),
        "tau": _checks.number("tau", tau, above=0.0, finite=False),
        "folds": _checks.whole("folds", folds, 2, 100),
        "ridge": _checks.number("ridge", ridge, above=0.0),
        "confidence": _checks.number("confidence", confidence, above=0.0, below=1.0),
        "bootstrap": _checks.whole("bootstrap", bootstrap, 0, 1_000_000),
        "seed": _checks.whole("seed", seed, 0, 2**64 - 1),
        "reward_range": _checks.ends(reward_range),
        "least_propensity": _checks.number("least_propensity", least_propensity, above=0.0, below=1.0),
        "least_effective": _checks.number("least_effective", least_effective, above=0.0),
        "force": bool(force),
        "params": _checks.table("params", params),
    }
    shown = _shown(estimators)
    with contextlib.ExitStack() as stack, told_in_python():
        if isinstance(log, (str, os.PathLike)):
            path = Path(log)
            if not isinstance(policy, str):
                raise InputError(
                    "a policy that is no name goes with a frame: read the file first, such as by pandas.read_parquet"
                )
            if not path.exists():
                raise InputError(f"there is no file or folder {path}")
            named = policy
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cahoots-log-")))
            path = folder / "log.parquet"
            frame = _frames.of(log, "the log")
            columns = _policies.columns_of(frame, options, policy)
            frame.write(path, columns)
            named = policy if isinstance(policy, str) else getattr(policy, "__name__", "the policy")
            if not isinstance(policy, str):
                prefix, probabilities = _policies.given(log, policy, frame, columns, path, options, arms)
                path = folder / "log-and-policy.parquet"
                frame.write(path, columns, probabilities)
                policy = f"columns:{prefix}"
        answer = _cahoots.evaluate_log(path, policy, options)
    answer["estimates"] = [Estimate(**one) for one in answer["estimates"]]
    answer["warnings"] = [in_python(warning) for warning in answer["warnings"]]
    if shown is not None and answer["method"] == "weights":
        answer["estimates"] = [one for one in answer["estimates"] if one.estimator in shown]
    return Evaluation(policy=named, confidence=options["confidence"], **answer)


def _shown(estimators: Sequence[str] | None) -> set[str] | None:
    if estimators is None:
        return None
    asked = [estimators] if isinstance(estimators, str) else list(estimators)
    for one in asked:
        if one not in ESTIMATORS:
            raise InputError(f"there is no estimator {one!r}; there are: {', '.join(ESTIMATORS)}")
    if not asked:
        raise InputError("estimators names none: leave it out for all")
    return set(asked)
