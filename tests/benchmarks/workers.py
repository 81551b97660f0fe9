"""A forest over two workers of Ray beside one process. Prints Markdown.

    python tests/benchmarks/workers.py --streams elec2 --trees 20 --rows 10000

Accuracy and log-loss, or R2 and the coverage of intervals of 90 %, of predictions for the next 20
rows; and microseconds a row to predict and learn blocks of 1,000, without the first three. The
speed-up is the median over the runs, which are made in turn.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from streams import available, frame_of, make_parser, print_header, print_row

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor

FORESTS = {
    "elec2": (AMFClassifier, AdaptiveAMFClassifier),
    "regression/bike": (AMFRegressor, AdaptiveAMFRegressor),
}
BLOCK, UNTIMED = 1_000, 3  # rows, blocks


def blocks(X: pd.DataFrame, y: pd.Series, size: int) -> Iterator[tuple[pd.DataFrame, pd.Series]]:
    """Yield the blocks of a stream."""
    for start in range(0, len(X), size):
        yield X[start : start + size], y[start : start + size]


def scores(model: Any, X: pd.DataFrame, y: pd.Series) -> str:
    """Return the two scores of a model along a stream."""
    is_regressor = hasattr(model, "predict_interval_many")
    found: list[Any] = []
    for rows, target in blocks(X, y, 20):
        if is_regressor:
            ends, errors = model.predict_interval_many(rows), model.predict_many(rows) - target
            inside = (ends["lower"] <= target) & (target <= ends["upper"])
            found += zip(1 - errors**2 / y.var(), inside, strict=True)
        elif not (proba := model.predict_proba_many(rows)).empty:
            own = proba.to_numpy()[range(len(rows)), proba.columns.get_indexer(target)]
            hits = proba.idxmax(axis=1) == target
            found += zip(hits, -np.log(np.maximum(own, 1e-7)), strict=True)
        model.learn_many(rows, target)
    return ", ".join(f"{mean:.4f}" for mean in np.mean(found, axis=0))


def us_per_row(model: Any, X: pd.DataFrame, y: pd.Series) -> float:
    """Return the time that predicting and learning a row takes, in microseconds."""
    name = "predict_then_learn_many" if hasattr(model, "predict_interval_many") else ""
    method, times = getattr(model, name or "predict_proba_then_learn_many"), []
    for rows, target in blocks(X, y, BLOCK):
        before = time.perf_counter()
        method(rows, target)
        times.append(time.perf_counter() - before)
    return 1e6 * sum(times[UNTIMED:]) / (len(X) - UNTIMED * BLOCK)


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = make_parser(__doc__, [*FORESTS])
    parser.add_argument("--rows", type=int, help="of each stream (default: all)")
    parser.add_argument("--trees", type=int, nargs="+", default=[20, 100], help="default: 20 100")
    parser.add_argument("--repeats", type=int, default=3, help="default: 3")
    arguments = parser.parse_args(argv)
    from river_amf.ray import DistributedForest  # which the help does not need

    there = available(arguments.streams, arguments.data)
    print_header("stream", "forest", "trees", "one process", "two workers", "us a row", "speed-up")
    for name in there:
        stream = frame_of(name, arguments.data, arguments.rows)
        for model in (kind(n, seed=1) for kind in FORESTS[name] for n in arguments.trees):
            with DistributedForest(model, 2) as forest:
                figures = scores(model.clone(), *stream), scores(forest, *stream)
            pairs = []
            for _ in range(arguments.repeats):
                with DistributedForest(model, 2) as forest:
                    pairs.append([us_per_row(each, *stream) for each in (model.clone(), forest)])
            one, two = (f"{statistics.median(side):.0f}" for side in zip(*pairs, strict=True))
            speed_up = f"{statistics.median(a / b for a, b in pairs):.2f}"
            cells = (type(model).__name__, model.n_estimators, *figures)
            print_row((name, *cells, f"{one}, {two}", speed_up))
    return 0 if there else 1


if __name__ == "__main__":
    sys.exit(main())
