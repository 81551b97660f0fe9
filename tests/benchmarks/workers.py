"""A forest over two workers of Ray beside one process. Prints Markdown.

    python tests/benchmarks/workers.py --streams elec2 --trees 20 --rows 10000

Accuracy and log-loss, or R2 and the coverage of intervals of 90 %, of predictions for the next 20
rows. Then both learn the stream again in turn, in blocks of 1,000 rows: microseconds a row, and the
speed-up, medians over the blocks.
"""

import sys
import time
from typing import Any

import numpy as np
import pandas as pd
from streams import available, frame_of, make_parser, print_header, print_row

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor

FORESTS = {
    "elec2": (AMFClassifier, AdaptiveAMFClassifier),
    "regression/bike": (AMFRegressor, AdaptiveAMFRegressor),
}


def scores(model: Any, X: pd.DataFrame, y: pd.Series) -> str:
    """Return the two scores of a model along a stream."""
    parts: list[Any] = []
    for start in range(0, len(X), 20):
        rows, target = X[start : start + 20], y[start : start + 20]
        if hasattr(model, "predict_interval_many"):
            ends, errors = model.predict_interval_many(rows), model.predict_many(rows) - target
            inside = (ends["lower"] <= target) & (target <= ends["upper"])
            parts += zip(1 - errors**2 / y.var(), inside, strict=True)
        elif start:
            proba = model.predict_proba_many(rows).reindex(columns=y.unique(), fill_value=0.0)
            shares = proba.to_numpy()[range(len(rows)), proba.columns.get_indexer(target)]
            hits = proba.idxmax(axis=1) == target
            parts += zip(hits, -np.log(np.maximum(shares, 1e-7)), strict=True)
        model.learn_many(rows, target)
    return ", ".join(f"{mean:.4f}" for mean in np.mean(parts, axis=0))


def seconds(models: list[Any], X: pd.DataFrame, y: pd.Series) -> np.ndarray[Any, Any]:
    """Return the time to predict and learn each block, of shape (n_blocks, n_models)."""
    is_regressor = hasattr(models[0], "predict_interval_many")
    name = "predict_then_learn_many" if is_regressor else "predict_proba_then_learn_many"
    times = []
    for start in range(0, len(X), 1_000):
        for model in models:
            before = time.perf_counter()
            getattr(model, name)(X[start : start + 1_000], y[start : start + 1_000])
            times.append(time.perf_counter() - before)
    return np.reshape(times, (-1, len(models)))


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = make_parser(__doc__, [*FORESTS])
    parser.add_argument("--rows", type=int, help="of each stream (default: all)")
    parser.add_argument("--trees", type=int, nargs="+", default=[20, 100], help="default: 20 100")
    arguments = parser.parse_args(argv)
    from river_amf.ray import DistributedForest  # which the help does not need

    there = available(arguments.streams, arguments.data)
    print_header("stream", "forest", "trees", "one process", "two workers", "us a row", "speed-up")
    for name in there:
        stream = frame_of(name, arguments.data, arguments.rows)
        for model in (kind(n, seed=1) for kind in FORESTS[name] for n in arguments.trees):
            with DistributedForest(model, 2) as one, DistributedForest(model, 2) as two:
                cells = [scores(each, *stream) for each in (model.clone(), one)]
                times = seconds([model.clone(), two], *stream)
            us = ", ".join(f"{1e3 * median:.0f}" for median in np.median(times, axis=0))
            speed_up = f"{np.median(times[:, 0] / times[:, 1]):.2f}"
            print_row((name, type(model).__name__, model.n_estimators, *cells, us, speed_up))
    return 0 if there else 1


if __name__ == "__main__":
    sys.exit(main())
