"""Streams for partitioned forests, and such forests in one process."""

import numpy as np
import pandas as pd

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    frames,
    sparse_rows,
)
from river_amf.partitions import Dealer, Partition, mean_numbers, mean_proba, new_partitions
from river_amf.settings import has_words

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


class Together:
    """What `PartitionedForest` does, with all partitions in this process."""

    def __init__(self, model, n_partitions):
        self._model = model
        self._dealer = Dealer(model, n_partitions)
        self._partitions = [Partition(state) for state in new_partitions(model, n_partitions)]

    @property
    def models(self):
        """The forests."""
        return [partition.model for partition in self._partitions]

    def _deal(self, X, y, w):
        frame = self._model._frame_of(X)
        table = sparse_rows.read_rows(X) if has_words(self._model) else frames.read_columns(frame)
        weights = frames.read_weights(w, len(frame))
        return self._dealer.deal(table, self._model._read_labels(y, len(frame)), weights)

    def learn(self, X, y, w=None):
        """Learn a block."""
        block = self._deal(X, y, w).block
        for partition in self._partitions:
            assert partition.learn(block) is None

    def answer_and_learn(self, X, y, w=None):
        """Predict and learn a block; return probabilities and labels, or numbers."""
        dealt = self._deal(X, y, w)
        answers = [p.answer_and_learn(dealt.block, 0.0) for p in self._partitions]
        if self._dealer.labels.width != len(dealt.labels):  # of a regressor
            return mean_numbers(answers, len(X))
        proba = mean_proba(answers, dealt.labels, len(X))
        proba[dealt.n_known == 0] = np.nan
        return proba, dealt.labels
