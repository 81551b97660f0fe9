"""Streams and forests for the tests of partitions."""

import numpy as np
import pandas as pd

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
)

CLASSIFIERS = {
    "classifier": AMFClassifier(n_estimators=3, seed=1),
    "adaptive": AdaptiveAMFClassifier(n_estimators=3, seed=2),
}
WORDS = {"words": AdaptiveAMFClassifier(absent="zero", n_estimators=3, seed=5)}
REGRESSORS = {
    "regressor": AMFRegressor(n_estimators=3, seed=3),
    "adaptive regressor": AdaptiveAMFRegressor(n_estimators=4, seed=4),
}


def _features(n_rows):
    draw = np.random.default_rng(7)
    a = draw.normal(size=n_rows)
    return a, pd.DataFrame(
        {
            "a": np.where(draw.random(n_rows) < 0.1, np.nan, a),
            "b": draw.integers(0, 5, n_rows),
            "c": draw.choice(["red", "green", "blue", None], n_rows),
        }
    )


def _weights(n_rows):
    return np.random.default_rng(8).choice([0.0, 1.0, 1.0, 2.5], n_rows)


def labelled(n_rows):
    """Return features, labels of which some come late, and weights."""
    a, X = _features(n_rows)
    y = np.where(a + X["b"] / 4 > 0.5, "high", "low").astype(object)
    y[n_rows // 3 :: 5] = "late"
    y[n_rows // 2 :: 7] = "later"
    return X, y, _weights(n_rows)


def numbered(n_rows):
    """Return features, targets and weights."""
    a, X = _features(n_rows)
    return X, 100 + 3 * a + X["b"].to_numpy() ** 2, _weights(n_rows)


def blocks_of(X, y, w, size):
    """Yield a stream in blocks."""
    for start in range(0, len(X), size):
        own = slice(start, start + size)
        yield X[own], y[own], w[own]
