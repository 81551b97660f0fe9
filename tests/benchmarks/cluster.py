"""What it takes to spread a forest over workers of Ray. Prints Markdown.

    python tests/benchmarks/cluster.py                   # all parts
    python tests/benchmarks/cluster.py figures           # or one: kills
    python tests/benchmarks/cluster.py --streams elec2 --rows 10000

- `figures`: `DistributedForest` with one and two workers beside one process with one and two
  threads, 100 trees, in blocks of 1,000 rows: learning, and predicting and learning. A run learns
  all rows in turn with the others, each in new processes, and a ratio is the median over the runs.
- `kills`: ten times, at random moments, a worker is killed, and the gathered model is compared with
  that of one process.
"""

import gc
import itertools
import multiprocessing
import os
import pickle
import random
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import command
import numpy as np
import pandas as pd
from streams import DATA, available, frame_of

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier

STREAMS_OF = {"figures": ("letter", "elec2"), "kills": ()}
FORESTS = {"AMFClassifier": AMFClassifier, "AdaptiveAMFClassifier": AdaptiveAMFClassifier}
N_TREES, BLOCK = 100, 1_000
WARM_UP = 3_000  # rows
KILLS, KILL_ROWS = 10, 100_000

Frame = tuple[pd.DataFrame, pd.Series]
Run = Callable[[Any, pd.DataFrame, pd.Series], object]


def over_ray() -> Any:
    """Return the package that needs Ray; the help of this script does not."""
    from river_amf import ray

    return ray


@contextmanager
def connected() -> Iterator[None]:
    """Start Ray, and end it with all its processes, which would disturb what comes next."""
    import ray

    over_ray().connect()
    try:
        yield
    finally:
        ray.shutdown()


def learn(model: Any, X: pd.DataFrame, y: pd.Series) -> None:
    """Learn a block."""
    model.learn_many(X, y)


def predict_then_learn(model: Any, X: pd.DataFrame, y: pd.Series) -> None:
    """Predict a block, row by row, and learn it."""
    model.predict_proba_then_learn_many(X, y)


WAYS: dict[str, Run] = {"learn": learn, "predict, learn": predict_then_learn}


def blocks(frame: Frame, size: int) -> Iterator[Frame]:
    """Yield the blocks of a stream."""
    X, y = frame
    for start in range(0, len(X), size):
        yield X[start : start + size], y[start : start + size]


def n_untimed(size: int) -> int:
    """Return the number of blocks before anything is timed."""
    return max(WARM_UP // size, 1)


def seconds(model: Any, way: Run, frame: Frame, size: int) -> float:
    """Run a new model along a stream; return the time for all but the first rows."""
    # With these come the workers, and in each of them the kernels from the cache.
    n_first = n_untimed(size)
    for X, y in itertools.islice(blocks(frame, size), n_first):
        way(model, X, y)
    model.predict_many(frame[0][:1])
    gc.collect()
    start = time.perf_counter()
    for X, y in itertools.islice(blocks(frame, size), n_first, None):
        way(model, X, y)
    if isinstance(model, over_ray().DistributedForest):
        model.predict_many(frame[0][:1])  # waits for what is on its way
    return time.perf_counter() - start


def alone(forest: str, n_trees: int, way: Run, frame: Frame, size: int, n_jobs: int) -> float:
    """Run a forest in a new process, as workers are: memory that was used before is faster."""
    model = FORESTS[forest](n_estimators=n_trees, seed=1, n_jobs=n_jobs)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(seconds, (model, way, frame, size))


def in_turn(
    forest: str, n_trees: int, way: Run, frame: Frame, size: int, repeats: int
) -> dict[str, float]:
    """Return the median time of one process, and the median ratios of the other ways to it."""
    what = forest, n_trees, way, frame, size
    times: dict[str, list[float]] = {"one": [], "two threads": [], "one worker": [], "two": []}
    for _ in range(repeats):
        times["one"].append(alone(*what, 1))
        times["two threads"].append(alone(*what, 2))
        for name, n_workers in (("one worker", 1), ("two", 2)):
            model = FORESTS[forest](n_estimators=n_trees, seed=1)
            with (
                connected(),
                over_ray().DistributedForest(model, n_workers, block_size=size) as spread,
            ):
                times[name].append(seconds(spread, way, frame, size))
    one = times.pop("one")
    ratios = {
        name: statistics.median(a / b for a, b in zip(one, own, strict=True))
        for name, own in times.items()
    }
    return {"seconds": statistics.median(one), **ratios}


def row(forest: str, n_trees: int, name: str, frame: Frame, size: int, repeats: int) -> None:
    """Print the rows of a table for a forest on a stream."""
    for what, way in WAYS.items():
        got = in_turn(forest, n_trees, way, frame, size, repeats)
        n_rows = len(frame[0]) - n_untimed(size) * size
        print(
            f"| {forest} | {name} | {n_trees} | {size} | {what} | "
            f"{1e6 * got['seconds'] / n_rows:.0f} | {got['two threads']:.2f} | "
            f"{got['one worker']:.2f} | {got['two']:.2f} |",
            flush=True,
        )


HEAD = (
    "| forest | stream | trees | block | | us per row, one process | two threads | one worker "
    "| two workers |\n|---|---|---|---|---|---|---|---|---|"
)


class Killer(threading.Thread):
    """Kills one of a forest's workers from time to time."""

    def __init__(self, forest: Any, seconds: float, seed: int) -> None:
        super().__init__(daemon=True)
        self.n_killed = 0
        self._forest, self._seconds, self._dice = forest, seconds, random.Random(seed)
        self._is_over = threading.Event()

    def run(self) -> None:
        """Kill at random moments, most of them within the seconds that the stream takes."""
        while self.n_killed < KILLS:
            if self._is_over.wait(self._dice.uniform(0.02, 0.18) * self._seconds):
                return
            try:
                os.kill(self._dice.choice(self._forest._engine.processes()), signal.SIGKILL)
            except (ProcessLookupError, RuntimeError):
                continue
            self.n_killed += 1

    def end(self) -> None:
        """Kill no more."""
        self._is_over.set()
        self.join()


def timed(one: Any, frame: Frame, calm: float | None, seed: int) -> tuple[Any, float, int]:
    """Learn a stream with two workers; return the model, the seconds, and the number of kills."""
    start = time.perf_counter()
    with over_ray().DistributedForest(one, 2, checkpoint_every=20_000) as forest:
        killer = Killer(forest, calm or 0.0, seed)
        if calm is not None:
            killer.start()
        for X, y in blocks(frame, BLOCK):
            forest.learn_many(X, y)
        gathered = forest.gather()
        took = time.perf_counter() - start
        if calm is not None:
            killer.end()
    return gathered, took, killer.n_killed


def kills(n_rows: int, seed: int) -> bool:
    """Kill workers while a stream is learned, and compare the models; return if all are equal."""
    print("| forest | rows | kills | equal | seconds | without kills |\n|---|---|---|---|---|---|")
    numbers = np.random.default_rng(seed)
    X = pd.DataFrame(numbers.normal(size=(n_rows, 5)), columns=list("abcde"))
    y = pd.Series(X["a"] + np.sin(3 * X["b"]) + 0.1 * numbers.normal(size=n_rows))
    labels = (y > 0).astype(str)
    are_equal = True
    for one, targets in (
        (AMFClassifier(seed=1), labels),
        (AdaptiveAMFClassifier(seed=1), labels),
        (AdaptiveAMFRegressor(seed=1), y),
    ):
        _, calm, _ = timed(one, (X, targets), None, seed)
        gathered, took, n_killed = timed(one, (X, targets), calm, seed)
        one.learn_many(X, targets)
        is_equal = pickle.dumps(gathered) == pickle.dumps(one)
        are_equal &= is_equal
        print(
            f"| {type(one).__name__} | {n_rows} | {n_killed} | {'yes' if is_equal else 'NO'} "
            f"| {took:.0f} | {calm:.0f} |",
            flush=True,
        )
    print(flush=True)
    return are_equal


def main(argv: list[str] | None = None) -> int:
    """Print the tables; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_parts(parser, STREAMS_OF)
    command.add_streams(parser, DATA)
    parser.add_argument(
        "--rows", type=command.whole, default=20_000, metavar="N", help="of a stream"
    )
    parser.add_argument("--repeats", type=command.whole, default=5, metavar="N", help="default: 5")
    parser.add_argument("--seed", type=command.whole, default=1, metavar="N", help="of the kills")
    arguments = parser.parse_args(argv)
    command.match_parts(parser, arguments, STREAMS_OF)
    there = available(arguments.streams, arguments.data)
    parts = command.parts_left(arguments.parts, STREAMS_OF, there)
    if not parts:
        return 1
    missed: list[str] = []
    for part in parts:
        if part == "kills":
            with connected():
                if not kills(KILL_ROWS, arguments.seed):
                    missed.append("equal models")
            continue
        print(HEAD)
        for name in (each for each in STREAMS_OF[part] if each in there):
            frame = frame_of(name, arguments.data, arguments.rows)
            for forest in FORESTS:
                row(forest, N_TREES, name, frame, BLOCK, arguments.repeats)
        print(flush=True)
    return command.verdict(missed)


if __name__ == "__main__":
    command.run(main)
