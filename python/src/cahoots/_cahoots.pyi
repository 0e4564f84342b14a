"""
The compiled half of the package. Its stubs are made from this list (`maturin generate-stubs`).
"""

from _typeshed import Incomplete, SupportsGetItem
from os import PathLike
from pathlib import Path
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["__optimised__", "__version__", "Decision", "LiveClient", "LiveCoordinator", "LoadedSet", "Rng", "SoloLearner", "Step", "Table", "_interrupt", "_register", "_registered", "_running", "_simulate", "check_experiment", "check_set", "check_table", "column_remedy", "describe_algorithms", "describe_environments", "describe_table", "evaluate_log", "example_log", "example_set", "example_worth", "expect_experiment", "keys_client", "keys_init", "keys_revoke", "keys_rotate", "keys_server", "keys_show", "live_algorithms", "live_logs", "load_set", "merge_parts", "missing_runs", "paper_items", "parse_toml", "prepare_set", "read_table", "reproduce_items", "run_experiment", "run_part", "survey_log", "t_quantile", "usual_columns", "write_frame"]

__optimised__: Final[bool]
__version__: Final[str]

@final
class Decision:
    """
    A decision: the arm, and what the learner can say about it. Hand it back to `update` with its reward.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, arm: SupportsIndex, probability: SupportsFloat | SupportsIndex | None, score: SupportsFloat | SupportsIndex | None, interval: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex] | None, number: SupportsIndex, features: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> Decision: ...
    def __reduce__(self, /) -> tuple[Any, tuple[int, float | None, float | None, tuple[float, float] | None, int, list[float]]]: ...
    def __repr__(self, /) -> str: ...
    @property
    def arm(self, /) -> int:
        """
        Position of the arm among those that were offered.
        """
    @property
    def features(self, /) -> Incomplete:
        """
        Features of the arm (of the context, where arms have none of their own).
        """
    @property
    def interval(self, /) -> tuple[float, float] | None:
        """
        Where the learner believes the arm's mean reward to lie.
        """
    @property
    def number(self, /) -> int:
        """
        The how manyth decision of its learner this is.
        """
    @property
    def probability(self, /) -> float | None:
        """
        How likely the learner was to take this arm, with what it knew; None where it cannot tell.
        """
    @property
    def score(self, /) -> float | None:
        """
        What the arms were compared by; None where they were not.
        """

@final
class LiveClient:
    """
    A client that runs in this process.
    """
    def abandon(self, /, text: str, event: bool) -> str:
        """
        A decision is given up: "abandoned" or "repeated".
        """
    def activate(self, /, text: str, event: bool) -> str:
        """
        A deferred decision counts from now on: "activated" or "repeated", once that is on disk.
        """
    @property
    def batch(self, /) -> int:
        """
        Decisions, or rewards, in one call.
        """
    @property
    def client(self, /) -> int: ...
    def close(self, /, drain: SupportsFloat | SupportsIndex | None) -> None:
        """
        Writes a snapshot and stops, once other threads' calls have ended; before that, sends for so many seconds what is not
        sent. Does nothing where it is closed, or another process's.
        """
    @property
    def coordinator(self, /) -> str | None: ...
    def decide(self, /, asked: tuple) -> tuple:
        """
        One decision; see [`Offer::read`].
        """
    def decide_all(self, /, asked: SupportsGetItem[int, tuple]) -> list[tuple]:
        """
        Several decisions: all of them, or none.
        """
    def drain(self, /, timeout: SupportsFloat | SupportsIndex) -> tuple[int, int, int]:
        """
        Sends what is not sent yet, and waits until the coordinator has it: sent, left, unconfirmed.
        """
    @property
    def drains(self, /) -> float | None:
        """
        Seconds for which what is unsent is sent when it closes, as its file says.
        """
    @property
    def federation(self, /) -> str: ...
    @staticmethod
    def from_file(path: str | PathLike[str], over: SupportsGetItem[int, tuple[str, str]]) -> LiveClient:
        """
        Opens what `cahoots client` would open: a file, variables over it, and values over both.
        """
    def gain(self, /) -> str:
        """
        What federation gained it, in JSON.
        """
    def history(self, /, window: SupportsIndex | None) -> str:
        """
        Decisions and rewards over time, in JSON.
        """
    def is_closed(self, /) -> bool:
        """
        Is it closed, or another process's?
        """
    @staticmethod
    def open(keys: dict) -> LiveClient:
        """
        Opens what a table of a file's keys says; without `coordinator` it keeps to itself.
        """
    def privacy(self, /) -> str:
        """
        What is promised, spent and allowed of its users' privacy, in JSON.
        """
    def problems(self, /) -> list[str]:
        """
        What someone should look after.
        """
    def register(self, /, arms: SupportsGetItem[int, tuple[str, Incomplete | None, SupportsIndex | None]], retire: SupportsGetItem[int, str]) -> int:
        """
        Arms that are then known by their ids, and others that are gone; gives how many there are, once that is on disk.
        """
    def registered(self, /) -> list[tuple[str, list[float] | None, int | None]]:
        """
        All arms that are registered: id, features, number.
        """
    def reward(self, /, text: str, event: bool, value: SupportsFloat | SupportsIndex, part: str | None) -> str:
        """
        A reward or a part of one, once it is on disk: "learned", "kept" or "repeated".
        """
    def reward_all(self, /, rewards: SupportsGetItem[int, tuple[str, bool, SupportsFloat | SupportsIndex, str | None]]) -> list[Any]:
        """
        Several rewards, each with an answer of its own: its word, or the exception.
        """
    def status(self, /) -> str:
        """
        What it is doing, in JSON.
        """
    @property
    def store(self, /) -> Path: ...
    def wait(self, /, timeout: SupportsFloat | SupportsIndex) -> None:
        """
        Waits until the federation's terms are known.
        """

@final
class LiveCoordinator:
    """
    A coordinator that runs in this process.
    """
    @property
    def address(self, /) -> str: ...
    def close(self, /) -> None:
        """
        Writes a snapshot and stops. Does nothing where it is closed, or another process's.
        """
    @property
    def federation(self, /) -> str: ...
    @staticmethod
    def from_file(path: str | PathLike[str], over: SupportsGetItem[int, tuple[str, str]]) -> LiveCoordinator:
        """
        Starts what `cahoots serve` would start: a file, variables over it, and values over both.
        """
    def history(self, /, window: SupportsFloat | SupportsIndex | None) -> str:
        """
        How it went in the last so many seconds, in JSON.
        """
    def is_closed(self, /) -> bool:
        """
        Is it closed, or another process's?
        """
    def journal(self, /, client: SupportsIndex | None, most: SupportsIndex) -> str:
        """
        What happened, newest first, in JSON.
        """
    def model(self, /) -> str:
        """
        What was learned, in JSON.
        """
    @staticmethod
    def open(keys: dict) -> LiveCoordinator:
        """
        Starts what a table of a file's keys says.
        """
    def order(self, /, order: str) -> str:
        """
        Does what whoever runs it asks for: an order in JSON, answered in JSON.
        """
    @property
    def page(self, /) -> str | None: ...
    def params(self, /, set: dict) -> str:
        """
        The parameters, after these have been changed, in JSON.
        """
    @property
    def store(self, /) -> Path: ...
    @property
    def terms(self, /) -> str:
        """
        The algorithm, its parameters, the setting and the seed as they were given, in JSON.
        """

@final
class LoadedSet:
    """
    A set in memory.
    """
    @property
    def content(self, /) -> str: ...
    @property
    def counts(self, /) -> list[tuple[str, int]]: ...
    def events(self, /) -> tuple[Incomplete, Incomplete, Incomplete]:
        """
        Number of the user, number of the item, time; event by event.
        """
    def features(self, /, name: str, dim: SupportsIndex) -> Incomplete:
        """
        Features of the items, a row each.
        """
    @property
    def items(self, /) -> Incomplete: ...
    @property
    def licence(self, /) -> str: ...
    @property
    def name(self, /) -> str: ...
    @property
    def timed(self, /) -> bool: ...
    @property
    def title(self, /) -> str: ...
    @property
    def users(self, /) -> Incomplete: ...
    def word_counts(self, /) -> tuple[Incomplete, Incomplete, Incomplete]:
        """
        How often each word was said of each item, as the three arrays of a sparse matrix by rows.
        """
    @property
    def words(self, /) -> list[str]: ...

@final
class Rng:
    """
    Random numbers of one call. The same seed and the same decision give the same draws.
    """
    def choice(self, /, n: SupportsIndex, p: SupportsGetItem[int, SupportsFloat | SupportsIndex] | None = None) -> int:
        """
        A whole number below n: each as likely, or with the probabilities `p`, which must add up to 1.
        """
    def generator(self, /) -> Any:
        """
        A numpy generator that is seeded from this stream, for what is not here. Making one takes about as long as ten calls.
        """
    def integers(self, /, low: SupportsIndex, high: SupportsIndex | None = None) -> int:
        """
        A whole number in low..high (0..low where high is left out), each as likely.
        """
    def normal(self, /, loc: SupportsFloat | SupportsIndex = 0.0, scale: SupportsFloat | SupportsIndex = 1.0, size: SupportsIndex | None = None) -> Any:
        """
        Normal with mean `loc` and standard deviation `scale`: one number, or an array of `size`.
        """
    def random(self, /, size: SupportsIndex | None = None) -> Any:
        """
        Uniform in [0, 1): one number, or an array of `size`.
        """
    def standard_normal(self, /, size: SupportsIndex | None = None) -> Any:
        """
        Standard normal: one number, or an array of `size`.
        """
    def uniform(self, /, low: SupportsFloat | SupportsIndex = 0.0, high: SupportsFloat | SupportsIndex = 1.0, size: SupportsIndex | None = None) -> Any:
        """
        Uniform in [low, high): one number, or an array of `size`.
        """

@final
class SoloLearner:
    """
    The compiled half of the classes in `cahoots.learners`.
    """
    def __new__(cls, /, kind: str, params: str, dim: SupportsIndex, arms: SupportsIndex, seed: SupportsIndex, state: bytes | None = None) -> SoloLearner:
        """
        `params` is JSON; `dim` is 0 for plain arms; `state` is what `state()` gave.
        """
    def coefficients(self, /) -> Incomplete | None:
        """
        Coefficients of the model, or of each arm's; None where there is none.
        """
    def counts(self, /) -> tuple[int, int]:
        """
        Decisions and observations so far.
        """
    def decide(self, /, arms: Any | None = None, masked: Any | None = None) -> Decision:
        """
        Decides once.
        """
    def decide_many(self, /, arms: Any) -> tuple[Incomplete, Incomplete, Incomplete, Incomplete]:
        """
        Decides many times with what is known now: arms (n, k, d), contexts (n, d), or n for plain arms.
        """
    def odds(self, /, arms: Any | None = None, masked: Any | None = None) -> Incomplete | None:
        """
        How likely the next decision is to take each arm; None where that is not known.
        """
    def scores(self, /, arms: Any | None = None) -> tuple[Incomplete, Incomplete]:
        """
        For each arm what it would be compared by, and the mean reward that is expected; NaN where there is none.
        """
    def state(self, /) -> bytes:
        """
        All that it needs to go on bit for bit.
        """
    def update(self, /, decision: Decision, reward: SupportsFloat | SupportsIndex) -> None:
        """
        Learns from the reward of a decision.
        """
    def update_logged(self, /, reward: SupportsFloat | SupportsIndex, arm: SupportsIndex = 0, features: Any | None = None, probability: SupportsFloat | SupportsIndex | None = None) -> None:
        """
        Learns from what this learner need not have decided.
        """
    def update_many(self, /, rewards: Any, arms: Any | None = None, features: Any | None = None, probabilities: Any | None = None) -> None:
        """
        Learns from many observations, in their order: all of them or, where one is refused, none.
        """

@final
class Step:
    """
    The step that a client or a server is taking. Calling it sends.
    """
    def __call__(self, /, message: Any, to: Any | None = None, *, scalars: SupportsIndex | None = None, control: bool = False) -> None: ...
    def count(self, /, name: str, value: SupportsFloat | SupportsIndex = 1.0) -> None:
        """
        Counts something under a name of one's own: it adds up, over all clients.
        """
    def level(self, /, name: str, value: SupportsFloat | SupportsIndex) -> None:
        """
        A value under a name of one's own, for the table of results; the last one counts.
        """
    def rounds(self, /, count: SupportsIndex = 1) -> None:
        """
        Synchronous rounds were held; they add up.
        """
    def send(self, /, message: Any, to: Any | None = None, *, scalars: SupportsIndex | None = None, control: bool = False) -> None:
        """
        Sends a message: a client to the server; the server to a client or a list of clients (`to`). It is made bytes at once. The
        numbers in it are counted unless `scalars` says how many there are; `control` is for signals that carry no statistics,
        which are shown and never charged.
        """
    @property
    def tick(self, /) -> int:
        """
        The present tick.
        """
    def wake_at(self, /, tick: SupportsIndex) -> None:
        """
        Asks for one call of `on_wake`, at this tick; replaces an earlier wish. A tick that is not after the present one means
        the next.
        """

@final
class Table:
    """
    A table of results. Whatever reads Arrow takes it as it is: `polars.DataFrame(table)`, `pyarrow.table(table)`.
    """
    def __arrow_c_schema__(self, /) -> "object":
        """
        The types of the columns, as the Arrow C data interface has them.
        """
    def __arrow_c_stream__(self, /, requested_schema: "object" = None) -> "object":
        """
        A stream of the Arrow C data interface.
        """
    def __len__(self, /) -> int:
        """
        How many rows there are.
        """
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    def columns(self, /) -> dict:
        """
        Columns by name: arrays of numpy, and lists where there are texts, or flags that are not known. A number that is
        not known is NaN.
        """

def _interrupt(stop: bool) -> None:
    """
    Ends all that runs of what has been written in Python (`true`), or lets what begins from now on run (`false`).
    """

def _register(definition: Any) -> None:
    """
    Takes in what `cahoots.own` has made of a class.
    """

def _registered() -> list[tuple[str, bool]]:
    """
    The names of what has been written in Python, and whether each is a world.
    """

def _running() -> int:
    """
    How many threads run what has been written in Python.
    """

def _simulate(text: str, *, restore: bool = False, encode: bool = False) -> str:
    """
    Runs the experiment of this text and gives what the runs gave, as JSON. `restore` saves and restores every machine after each
    of its steps, `encode` sends all messages as bytes; neither changes a result.
    """

def check_experiment(spec: tuple[str, str, str, str | PathLike[str]], seeds: SupportsIndex | None) -> tuple[str, list[str], list[int]]:
    """
    Reads and checks an experiment, and runs nothing: its name, the labels of its entries, its seeds.
    """

def check_set(dir: str) -> dict:
    """
    What a folder holds, against what is known of the set.
    """

def check_table(keys: dict) -> int:
    """
    Reads a table as a run would; gives its rows, which is how long a run can be.
    """

def column_remedy(name: str, known: SupportsGetItem[int, str]) -> str:
    """
    What to say of a name that is none of those that are known.
    """

def describe_algorithms() -> str:
    """
    All algorithms, as JSON.
    """

def describe_environments() -> str:
    """
    All worlds, as JSON.
    """

def describe_table(keys: dict, name: str) -> dict:
    """
    What is in a table, which roles its columns could have, and an experiment to begin with.
    """

def evaluate_log(path: str | PathLike[str], policy: str, options: Incomplete) -> dict:
    """
    The answer, as a dict.
    """

def example_log(rows: SupportsIndex, seed: SupportsIndex) -> dict:
    """
    A log as columns: who, the context, arm, reward, propensity, and the probabilities of a policy.
    """

def example_set(name: str, folder: str | PathLike[str]) -> None:
    """
    Writes a small made-up set in the form of a known one.
    """

def example_worth() -> list[tuple[str, float]]:
    """
    What policies are worth there, in truth.
    """

def expect_experiment(spec: tuple[str, str, str, str | PathLike[str]], seeds: SupportsIndex | None, jobs: SupportsIndex | None) -> str:
    """
    What an experiment will come to, as JSON.
    """

def keys_client(folder: str | PathLike[str], client: SupportsIndex, days: SupportsIndex) -> Path:
    """
    A certificate for a client, new or renewed; gives its folder.
    """

def keys_init(folder: str | PathLike[str], federation: str, hosts: SupportsGetItem[int, str], days: SupportsIndex) -> Path:
    """
    An authority, and the coordinator's certificate; gives the coordinator's folder.
    """

def keys_revoke(folder: str | PathLike[str], client: SupportsIndex | None) -> int:
    """
    A member's certificates are not believed any more (without a number, the coordinator's); gives how many there were.
    """

def keys_rotate(folder: str | PathLike[str], finish: bool) -> int:
    """
    A new authority, or the end of a rotation; gives how many authorities are not believed any more.
    """

def keys_server(folder: str | PathLike[str], hosts: SupportsGetItem[int, str], days: SupportsIndex) -> Path:
    """
    A new certificate for the coordinator; gives its folder.
    """

def keys_show(path: str | PathLike[str]) -> str:
    """
    For whom certificates are, for what, and until when.
    """

def live_algorithms() -> list[str]:
    """
    Names of the algorithms that can be deployed.
    """

def live_logs(filter: str | None, format: str | None) -> None:
    """
    Nodes write log lines to stderr from now on.
    """

def load_set(name: str | None, dir: str) -> LoadedSet:
    """
    Reads a set.
    """

def merge_parts(parts: SupportsGetItem[int, str | PathLike[str]], out: str | PathLike[str]) -> tuple[Path, list[str]]:
    """
    Puts parts together.
    """

def missing_runs(spec: tuple[str, str, str, str | PathLike[str]], out: str | PathLike[str], of: SupportsIndex, seeds: SupportsIndex | None, per_client: bool) -> list[int] | None:
    """
    How many runs each of so many parts still lacks, in the folder of the whole; none where the whole is there already. A
    folder that holds another run is refused before anything is done.
    """

def paper_items() -> list[dict]:
    """
    Everything that can be reproduced.
    """

def parse_toml(text: str, name: str) -> Any:
    """
    A TOML text as a dict.
    """

def prepare_set(name: str, dir: str, variants: SupportsGetItem[int, str], dim: SupportsIndex, anew: bool) -> list[dict]:
    """
    Computes features of a set's items and keeps them where experiments look for them.
    """

def read_table(path: str | PathLike[str]) -> Table:
    """
    Reads a Parquet file of a folder of results.
    """

def reproduce_items(name: str, out: str | PathLike[str], quick: bool, data: str | PathLike[str] | None, jobs: SupportsIndex, force: bool, quiet: bool) -> list[dict]:
    """
    Runs what a name stands for; what was run before is not run again.
    """

def run_experiment(spec: tuple[str, str, str, str | PathLike[str]], out: str | PathLike[str], start: str, seeds: SupportsIndex | None, jobs: SupportsIndex | None, per_client: bool, progress: Any | None) -> tuple[Path, list[str]]:
    """
    Runs an experiment; gives the folder and what a reader must know.
    """

def run_part(spec: tuple[str, str, str, str | PathLike[str]], out: str | PathLike[str], number: SupportsIndex, of: SupportsIndex, seeds: SupportsIndex | None, per_client: bool) -> tuple[Path, int]:
    """
    Runs one of several parts of an experiment in one thread, or what is missing of it; gives its folder and how many
    runs it holds.
    """

def survey_log(path: str | PathLike[str], options: Incomplete) -> list[str]:
    """
    The arms of a log, in the order in which a policy's probabilities are named.
    """

def t_quantile(n: SupportsIndex) -> float:
    """
    The 97.5 % quantile of Student's t for a mean of `n` values.
    """

def usual_columns() -> list[list[str]]:
    """
    The columns that are looked for where none are named: of arms, rewards, propensities, clients.
    """

def write_frame(path: str | PathLike[str], columns: SupportsGetItem[int, tuple[str, Incomplete | SupportsGetItem[int, str | None], Incomplete | None]]) -> None:
    """
    Writes columns to a Parquet file; a mask says which cells are missing. The same columns are the same bytes.
    """
