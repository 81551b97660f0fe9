"""Weights of samples are relative with a learned vote (DESIGN.md: sample weights)."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from forests import learn, state_of

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor

RNG = np.random.default_rng(1)
X = pd.DataFrame(RNG.normal(size=(4000, 4)), columns=[*"abcd"])
SCORES = X["a"] - X["b"] + 0.5 * X["c"]
P = 1 / (1 + np.exp(5 - SCORES))
RARE = RNG.random(len(X)) < P  # 2 % are true
TARGETS = SCORES + RNG.normal(size=len(X))
DRAWN = RNG.exponential(size=len(X))
EXTREME = np.array([1e300, 5e-324, 1.0, 1e-300, 3.0])[np.arange(300) % 5]

KINDS = [
    lambda: AMFClassifier(5, vote="learned", seed=1),
    lambda: AdaptiveAMFClassifier(5, seed=1),
    lambda: AMFRegressor(5, seed=1),
    lambda: AdaptiveAMFRegressor(5, seed=1),
]
NAMES = ["learned", "adaptive", "regressor", "adaptive regressor"]
kinds = pytest.mark.parametrize("kind", KINDS, ids=NAMES)
classifiers = pytest.mark.parametrize("kind", KINDS[:2], ids=NAMES[:2])


def predicted(model, weights, n=4000):
    y, weights = (RARE if isinstance(model, AMFClassifier) else TARGETS)[:n], weights[:n]
    if isinstance(model, AMFClassifier):
        return model.predict_proba_then_learn_many(X[:n], y, weights)[True].to_numpy()
    return model.predict_then_learn_many(X[:n], y, weights).to_numpy()


@classifiers
def test_only_ratios_of_class_weights_matter(kind):
    proba, weighted = predicted(kind(), np.where(RARE, 1.0, 0.05)), 20 * P / (20 * P + 1 - P)
    assert proba[100:].mean() == pytest.approx(weighted.mean(), abs=0.03)  # 0.19, of rows 0.02


@kinds
def test_factor_of_weights_changes_nothing(kind):
    ones, others = (predicted(kind(), np.full(500, w), 500) for w in (1.0, 0.3))
    np.testing.assert_array_equal(ones, others)
    drawn, others = (predicted(kind(), scale * DRAWN, 500) for scale in (1.0, 100.0))
    np.testing.assert_allclose(drawn, others, atol=1e-9)


@kinds
def test_extreme_weights_in_blocks_equal_rows(kind):
    rows, model = kind(), kind()
    y = (RARE if isinstance(model, AMFClassifier) else TARGETS)[:300]
    learn(rows, zip(X[:300].to_dict("records"), y.tolist(), EXTREME.tolist(), strict=True))
    model.learn_many(X[:100], y[:100], EXTREME[:100])
    model = pickle.loads(pickle.dumps(model))
    model.learn_many(X[100:300], y[100:300], EXTREME[100:])
    assert state_of(model) == state_of(rows)
    assert math.isfinite(predicted(model, np.ones(9), 9).sum())


def test_heavy_weight_is_limited():
    model = AMFClassifier(1, vote="learned", seed=1)
    for w in [*[1.0] * 5000, 45.0]:
        model.learn_one({"a": 1.0}, True, w)
    assert 5015.0 < model.n_samples < 5023.0
