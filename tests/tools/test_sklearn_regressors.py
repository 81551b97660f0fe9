"""The regressors for scikit-learn: intervals and targets.

What they share with the classifiers is tested in `test_sklearn`.
"""

from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from estimators import as_seen
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from river_amf.sklearn import AMFRegressor

FOREST = partial(AMFRegressor, n_estimators=3, random_state=3)


def make_block(n_rows=400, seed=7):
    """Rows of four numbers, some missing, with targets that depend on two of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = 50.0 + 3.0 * X[:, 0] - np.abs(X[:, 1]) + 0.1 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.choice([0.0, 0.3, 1.0, 2.0], n_rows)


X, Y, WEIGHTS = make_block()


# Intervals


def test_intervals_are_rows_of_two_ends_around_the_prediction():
    estimator = FOREST().fit(X, Y)
    ends = estimator.predict_interval(X)
    assert ends.shape == (len(X), 2) and ends.dtype == np.float64
    assert ends.tolist() == estimator.predict_interval(X, level=0.9).tolist()
    wide, narrow = (estimator.predict_interval(X, level) for level in (0.99, 0.5))
    assert (wide[:, 0] < narrow[:, 0]).all() and (narrow[:, 1] < wide[:, 1]).all()
    predicted = estimator.predict(X)
    assert estimator.score(X, Y) == r2_score(Y, predicted) > 0.5
    assert ((wide[:, 0] < predicted) & (predicted < wide[:, 1])).all()


def test_predictions_come_with_intervals_also_from_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), FOREST()).fit(X, Y - 50.0)
    forest, scaled = pipeline[-1], pipeline[:-1].transform(X)
    prediction, ends = pipeline.predict(X, interval=0.5)
    assert prediction.tolist() == pipeline.predict(X).tolist()
    assert ends.tolist() == forest.predict_interval(scaled, 0.5).tolist()
    _, bounded = pipeline.predict(X, interval=0.5, lower=0.0)
    assert ends.min() < 0.0 == bounded.min()
    assert bounded.tolist() == np.maximum(ends, 0.0).tolist()
    assert bounded.tolist() == forest.predict_interval(scaled, 0.5, lower=0.0).tolist()
    with pytest.raises(ValueError, match="interval must be a number strictly between 0 and 1"):
        pipeline.predict(X, interval=90)
    with pytest.raises(ValueError, match="lower must be a number"):
        pipeline.predict(X, interval=0.9, lower=None)


# Targets


TARGETS = {
    "booleans": Y > 50.0,
    "integers": Y.astype(int),
    "small integers": Y.astype(np.uint8),
    "half floats": Y.astype(np.float16),
    "a list": Y.tolist(),
    "decimals": [Decimal(str(y)) for y in Y],
    "fractions": [Fraction(int(y * 8), 8) for y in Y],
    "a series": pd.Series(Y, index=range(100, 100 + len(Y))),
    "a series of nullable integers": pd.Series(Y.astype(int), dtype="Int64"),
}


@pytest.mark.parametrize("targets", TARGETS.values(), ids=TARGETS)
def test_targets_are_numbers_of_any_type(targets):
    estimator = FOREST().fit(X, targets)
    expected = FOREST().fit(X, [float(y) for y in targets])
    assert estimator.predict(X).dtype == np.float64
    assert estimator.predict(X).tolist() == expected.predict(X).tolist()


TWO = X[:2]
BAD_CALLS = {
    "text": (TWO, ["1.5", "2.5"], {}),
    "text among numbers": (TWO, np.array([1.5, "2.5"], object), {}),
    "a missing target": (TWO, np.array([1.0, None], object), {}),
    "a target that is not available": (TWO, pd.Series([1, None], dtype="Int64"), {}),
    "a NaN target": (TWO, [1.0, np.nan], {}),
    "an infinite target": (TWO, [1.0, -np.inf], {}),
    "a target far away": (TWO, [1.0, 1e200], {}),
    "an integer far away": (TWO, [1, 10**400], {}),
    "a masked target": (TWO, np.ma.array([1.0, 2.0], mask=[0, 1]), {}),
    "complex targets": (TWO, [1.0, 1j], {}),
    "dates as targets": (TWO, np.array([1, 2], "M8[s]"), {}),
    "durations as targets": (TWO, np.array([1, 2], "m8[s]"), {}),
    "two targets": (TWO, [[0.0, 1.0], [1.0, 0.0]], {}),
    "no target": (TWO, None, {}),
}


@pytest.mark.parametrize(("table", "targets", "others"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_refused_block_leaves_the_estimator_as_it_was(table, targets, others):
    for estimator in (FOREST(), FOREST().fit(X, Y)):
        before = as_seen(estimator)
        with pytest.raises((TypeError, ValueError)):
            estimator.partial_fit(table, targets, **others)
        assert as_seen(estimator) == before


# Inside scikit-learn


def test_pipelines_cross_validation_search_and_scaled_targets():
    numbers, targets = load_diabetes(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), FOREST())
    score = cross_val_score(pipeline, numbers, targets, cv=3).mean()
    assert score > 0.2
    grid = {"amfregressor__split_prior": [0.5, 0.9], "amfregressor__n_estimators": [1, 5]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(numbers, targets)
    assert set(search.best_params_) == set(grid)
    scaled = TransformedTargetRegressor(pipeline, transformer=StandardScaler())
    assert cross_val_score(scaled, numbers, targets, cv=3).mean() == pytest.approx(score, abs=0.01)
