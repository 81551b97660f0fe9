"""What it takes to spread a forest over workers of Ray. Prints Markdown.

    python tests/benchmarks/cluster.py
    python tests/benchmarks/cluster.py --streams elec2 --rows 10000

`DistributedForest` with one and two workers beside one process with one and two threads, 100 trees,
in blocks of 1,000 rows: learning, and predicting and learning. A run learns all rows in turn with
the others, each in new processes, and a ratio is the median over the runs.
"""

import gc
import itertools
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
from streams import available, frame_of, make_parser, print_header, print_row

from river_amf import AdaptiveAMFClassifier, AMFClassifier

STREAMS = ("letter", "elec2")
FORESTS = {"AMFClassifier": AMFClassifier, "AdaptiveAMFClassifier": AdaptiveAMFClassifier}
N_TREES, BLOCK = 100, 1_000
UNTIMED = 3  # blocks

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


def blocks(frame: Frame) -> Iterator[Frame]:
    """Yield the blocks of a stream."""
    X, y = frame
    for start in range(0, len(X), BLOCK):
        yield X[start : start + BLOCK], y[start : start + BLOCK]


def seconds(model: Any, way: Run, frame: Frame) -> float:
    """Run a new model along a stream; return the time for all but the first rows."""
    # With these come the workers, and in each of them the kernels from the cache.
    for X, y in itertools.islice(blocks(frame), UNTIMED):
        way(model, X, y)
    model.predict_many(frame[0][:1])
    gc.collect()
    start = time.perf_counter()
    for X, y in itertools.islice(blocks(frame), UNTIMED, None):
        way(model, X, y)
    if isinstance(model, over_ray().DistributedForest):
        model.predict_many(frame[0][:1])  # waits for what is on its way
    return time.perf_counter() - start


def alone(forest: str, way: Run, frame: Frame, n_jobs: int) -> float:
    """Run a forest in a new process, as workers are: memory that was used before is faster."""
    model = FORESTS[forest](n_estimators=N_TREES, seed=1, n_jobs=n_jobs)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(seconds, (model, way, frame))


def spread(forest: str, way: Run, frame: Frame, n_workers: int) -> float:
    """Run a forest over workers."""
    model = FORESTS[forest](n_estimators=N_TREES, seed=1)
    with (
        connected(),
        over_ray().DistributedForest(model, n_workers, block_size=BLOCK) as distributed,
    ):
        return seconds(distributed, way, frame)


def print_forest(forest: str, name: str, frame: Frame, repeats: int) -> None:
    """Print the rows of the table for a forest on a stream, the ways in turn."""
    for what, way in WAYS.items():
        runs = [
            [run(forest, way, frame, n) for run in (alone, spread) for n in (1, 2)]
            for _ in range(repeats)
        ]
        ratios = zip(*([times[0] / each for each in times[1:]] for times in runs), strict=True)
        cells = [f"{statistics.median(ratio):.2f}" for ratio in ratios]
        us = 1e6 * statistics.median(times[0] for times in runs) / (len(frame[0]) - UNTIMED * BLOCK)
        print_row((forest, name, what, f"{us:.0f}", *cells))


def main(argv: list[str] | None = None) -> int:
    """Print the tables; returns the exit status."""
    parser = make_parser(__doc__, STREAMS)
    parser.add_argument("--rows", type=int, default=20_000, help="of a stream, over 3,000")
    parser.add_argument("--repeats", type=int, default=5, help="default: 5")
    arguments = parser.parse_args(argv)
    there = available(arguments.streams, arguments.data)
    ways = ("two threads", "one worker", "two workers")
    print_header("forest", "stream", "", "us per row, one process", *ways)
    for name in there:
        frame = frame_of(name, arguments.data, arguments.rows)
        for forest in FORESTS:
            print_forest(forest, name, frame, arguments.repeats)
    return 0 if there else 1


if __name__ == "__main__":
    sys.exit(main())
