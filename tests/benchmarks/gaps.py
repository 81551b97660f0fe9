"""Rows without a number that was there, or with a category that was not. Prints Markdown.

    python tests/benchmarks/gaps.py --data FOLDER

The generated streams have three numbers; test-then-train, means over the seeds. Labels depend on
the first number, targets on the first two, and on an effect of each category. The number is missing
from the 3,000th row on (outage), or in one row of twenty; in one row of twenty a new category
begins. For letter one number of five is missing at random; other real streams are as they are.
"""

import numpy as np
import pandas as pd
import streams

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor

BEFORE, ROWS = 3_000, 6_000
CLASSIFIERS = AMFClassifier, AdaptiveAMFClassifier
REGRESSORS = AMFRegressor, AdaptiveAMFRegressor
REAL = "letter", "adult", "airlines", "satimage", "elec2"
LIMIT = 20_000  # rows of a real stream


def scores(model, X, y):
    """Return the log-loss of each row, and whether its label is the most probable."""
    proba = model.predict_proba_then_learn_many(X, y)
    values = np.nan_to_num(proba.to_numpy())
    places = proba.columns.get_indexer(y)
    p = np.maximum(values[np.arange(len(y)), places], 1e-7)
    return -np.log(p), values.argmax(axis=1) == places


def covered(model, X, y):
    """Return whether the 0.9 interval of each row covers its target."""
    hits = []
    for x, target in zip(X.to_dict("records"), y, strict=True):
        interval = model.predict_interval_one(x, 0.9)
        hits.append(interval.lower <= target <= interval.upper)
        model.learn_one(x, target)
    return np.array(hits)


def numbers(rng, n, gaps):
    """Return three numbers of n rows, and the same without the first one in some rows."""
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return X, X.assign(a=X["a"].mask(gaps))


def of_labels(kind, seed, is_outage):
    """Return the log-loss of rows without a number, of the next 300 if it is gone for good."""
    rng, n = np.random.default_rng(seed), BEFORE + 300 if is_outage else ROWS
    gaps = np.arange(n) >= BEFORE if is_outage else rng.random(n) < 0.05
    X, seen = numbers(rng, n, gaps)
    y = rng.random(n) < 1 / (1 + np.exp(4 - 6 * X["a"]))
    rate = y[~gaps].mean()
    base = -np.log(np.where(y[gaps], rate, 1 - rate)).mean()
    return scores(kind(seed=seed), seen, y)[0][gaps].mean(), base


def of_targets(kind, seed, is_outage):
    """Return how many of 200 rows without a number are covered, or of rows with a new category."""
    rng, n = np.random.default_rng(seed), BEFORE + 200 if is_outage else ROWS
    gaps = (np.arange(n) >= BEFORE) & is_outage
    X, seen = numbers(rng, n, gaps)
    y = 2 * X["a"] + X["b"] + rng.normal(0, 0.3, n)
    if not is_outage:
        gaps = rng.random(n) < 0.05
        begun = np.maximum(np.cumsum(gaps), 1)
        codes = np.where(gaps, begun, rng.integers(0, begun))
        seen, y = seen.assign(d=[f"d{k}" for k in codes]), y + rng.normal(0, 2, n)[codes]
    return covered(kind(seed=seed), seen, y)[gaps].mean()


def of_real(kind, seed, name, data):
    X, y = streams.frame_of(name, data, LIMIT)
    if name == "letter":
        X = X.mask(np.random.default_rng(seed).random(X.shape) < 0.2)
    return scores(kind(seed=seed), X, y)[1].mean()


def main(argv: list[str] | None = None) -> int:
    parser = streams.make_parser(__doc__, REAL)
    streams.add_seeds(parser)
    arguments = streams.begin(parser, argv)
    seeds, data = arguments.seeds, arguments.data

    def means(measure, kinds, *rest):
        return [np.mean([measure(kind, seed, *rest) for seed in seeds], axis=0) for kind in kinds]

    streams.print_header("what", "plain", "adaptive", "base rate")
    for is_outage, rows in ((True, "300 rows of an outage"), (False, "rows without a number")):
        (plain, rate), (adaptive, _) = means(of_labels, CLASSIFIERS, is_outage)
        streams.print_row((f"log-loss of {rows}", plain, adaptive, rate))
    for is_outage, rows in ((True, "200 rows of an outage"), (False, "rows with a new category")):
        streams.print_row((f"coverage of {rows}", *means(of_targets, REGRESSORS, is_outage), ""))
    for name in streams.available(arguments.streams, data):
        streams.print_row((f"accuracy on {name}", *means(of_real, CLASSIFIERS, name, data), ""))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
