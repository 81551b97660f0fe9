"""Additive experts and trends: covariances that stay sound, and what they are good for.

`test_naive.py`, `test_naive_regression.py` and `test_late_labels.py` compare them with a slow
reference.
"""

import math
import pickle
import random

import numpy as np
import pandas as pd
import pytest

from river_amf import AMFClassifier, AMFRegressor
from river_amf.state.arena import Arena

PARAMETERS = {"n_estimators": 1, "max_nodes": 1, "vote": "learned", "linear": True, "seed": 1}
CLASSIFIER, REGRESSOR = (kind(**PARAMETERS) for kind in (AMFClassifier, AMFRegressor))
TRENDS = "fast", "smooth"
BOTH = pytest.mark.parametrize("model", [CLASSIFIER, REGRESSOR], ids=["classifier", "regressor"])


def covariances_of(model):
    """Return the names of covariances, and the largest variance of a constant."""
    if isinstance(model, AMFRegressor):
        return ("fast_covariance", "smooth_covariance"), 1000.0
    return ("additive_covariance", "smooth_covariance"), 1.0


def whole(packed):
    """Return a symmetric matrix, given its rows up to the diagonal."""
    n = math.isqrt(2 * len(packed))
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = packed
    return matrix + np.tril(matrix, -1).T


def check_is_sound(model):
    """Check that covariances are positive definite, and that no variance exceeds the first."""
    names, largest = covariances_of(model)
    for name in names:
        matrix = whole(model._arena.used_arrays()[name])
        variances = np.array([largest, *[0.1] * (len(matrix) - 1)])
        assert (np.diag(matrix) <= variances * (1.0 + 1e-12)).all()
        eigenvalues = np.linalg.eigvalsh(matrix)
        assert eigenvalues[0] > 1e-9 and eigenvalues[-1] < 20.0 + largest


def odd_rows(n, rng):
    """Return numbers that are collinear, constant, or vanish; labels; and weights."""
    a, b = rng.normal(size=(2, n))
    x = {"a": a, "twice": 2 * a, "sum": a + b, "constant": np.full(n, 7.0)}
    x |= {"vanishes": np.where(np.arange(n) < 2000, rng.normal(size=n), np.nan)}
    x |= {"rare": np.where(rng.random(n) < 0.001, 1e6, 0.0), "kind": rng.choice([*"pqr"], n)}
    y = (a + b + rng.normal(size=n) > 0).astype(int) + (rng.random(n) < 0.05)
    return pd.DataFrame(x), pd.Series(y), rng.choice([1.0, 1.0, 0.1, 20.0], n)


def content(model):
    """Return the bytes of all that a model has learned."""
    return {name: array.tobytes() for name, array in model._engine.used_arrays().items()}


@BOTH
def test_cosines_come_in_one_step(model, monkeypatch):
    X, y, w = odd_rows(90, np.random.default_rng(0))
    expected, interrupted = model.clone(), model.clone()
    expected.learn_many(X, y, w)
    for n in (49, 50, 51):
        halves = model.clone()
        halves.learn_many(X[:n], y[:n], w[:n])
        assert bool(halves._arena.cosines.size) == (n >= 50)
        for twin in (pickle.loads(pickle.dumps(halves)), halves):
            for row in range(n, 90):
                twin.learn_one(X.iloc[row].to_dict(), y[row], w[row])
            assert content(twin) == content(expected)
    with_cosines = Arena.with_cosines

    def breaking(arena):
        larger = with_cosines(arena)
        if larger is not arena:
            monkeypatch.setattr(Arena, "with_cosines", with_cosines)
            raise KeyboardInterrupt
        return larger

    monkeypatch.setattr(Arena, "with_cosines", breaking)
    with pytest.raises(KeyboardInterrupt):
        for row in range(90):
            interrupted.learn_one(X.iloc[row].to_dict(), y[row], w[row])
    interrupted.learn_many(X[50:], y[50:], w[50:])
    assert content(interrupted) == content(expected)


@BOTH
@pytest.mark.parametrize("n_blocks", [1, pytest.param(250, marks=pytest.mark.soak)])
def test_covariances_stay_positive_definite(model, n_blocks):
    model, rng = model.clone(), np.random.default_rng(1)
    for _ in range(n_blocks):
        model.learn_many(*odd_rows(4000, rng))
    check_is_sound(model)
    for name in ["additive_weights", "smooth_weights", "bin_counts", "label_counts", *TRENDS]:
        assert np.isfinite(getattr(model._arena, name)).all()


@BOTH
@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e300])
def test_extreme_weights_leave_covariances_sound(model, weight):
    model, rng = model.clone(), np.random.default_rng(2)
    x, y, w = odd_rows(300, rng)
    w[100:110] = weight
    model.learn_many(x, y, w)
    check_is_sound(model)
    assert math.isfinite(model.predict_one(x.iloc[0].to_dict()))


@BOTH
@pytest.mark.parametrize("forged", [-1.0, math.nan, math.inf, 0.0])
def test_unsound_covariance_begins_anew(model, forged):
    model, rng = model.clone(), random.Random(1)
    for i in range(400):
        if i == 200:
            for name in covariances_of(model)[0]:
                getattr(model._arena, name)[:] = forged
        a = rng.gauss(0, 1)
        model.learn_one({"a": a, "b": rng.random()}, rng.random() < (0.9 if a > 0 else 0.1))
    check_is_sound(model)


def test_additive_experts_learn_many_weak_features():
    # of which each goes with the label a little; no tree can split on all of them
    rng, correct = np.random.default_rng(3), {}
    x = rng.normal(size=(3000, 12))
    y = np.abs(x).sum(axis=1) + 0.5 * rng.normal(size=3000) > 9.6
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(12)])
    for is_linear in (False, True):
        model = AMFClassifier(n_estimators=5, vote="learned", linear=is_linear, seed=1)
        proba = model.predict_proba_then_learn_many(frame, pd.Series(y))[True].to_numpy()
        correct[is_linear] = ((proba > 0.5) == y)[1000:].mean()
    assert correct[True] > correct[False] + 0.1
