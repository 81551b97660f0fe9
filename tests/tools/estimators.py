"""What the tests of estimators share: data, scikit-learn's checks, and the river models."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from forests import state_of
from sklearn.base import is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import river_amf
from river_amf.sklearn import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
)

FORESTS = [AMFClassifier, AdaptiveAMFClassifier, AMFRegressor, AdaptiveAMFRegressor]
every_forest = pytest.mark.parametrize("kind", FORESTS)
# the adaptive forest is a forest with other parameters and inherits everything else
of_each_task = pytest.mark.parametrize("kind", [AMFClassifier, AMFRegressor])

# a row of weight 2 is not two rows: trees grow with each row that comes
FAILED = {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}


def checks_of(estimators, names=None):
    for estimator, check in parametrize_with_checks(estimators).args[1]:
        name = getattr(check, "func", check).__name__
        if names is None or name in names:
            reason = "the order of rows matters"
            marks = [pytest.mark.xfail(strict=True, reason=reason)] * (name in FAILED)
            settings = "" if names is None else " with settings"
            kind = type(estimator).__name__
            yield pytest.param(estimator, check, id=f"{kind}{settings}-{name}", marks=marks)


def make_block(n_rows=400, seed=7):
    """Rows of four numbers, some missing, with labels of three classes, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = np.array(["tall", "broad", "deep"])[np.argmax(X[:, :3], axis=1)]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.choice([0.0, 0.3, 1.0, 2.0], n_rows)


X, Y, WEIGHTS = make_block()
NUMBERS = np.nan_to_num(X) @ [3.0, -1.0, 0.0, 0.0] + 50.0


def mixed_columns(n_rows=300):
    """Columns of every kind that a dataframe may have, as lists, and labels."""
    rng = np.random.default_rng(5)
    days = [None, "2020-01-01", "2021-01-01"]
    columns = {
        "length": [None if rng.random() < 0.2 else float(v) for v in rng.normal(size=n_rows)],
        "color": [["red", "tan", None][k] for k in rng.integers(3, size=n_rows)],
        "alive": rng.integers(2, size=n_rows).astype(bool).tolist(),
        "grade": rng.integers(5, size=n_rows).tolist(),
        "day": [days[k] for k in rng.integers(3, size=n_rows)],
        "all gone": [None] * n_rows,
    }
    return columns, np.where(np.array(columns["alive"]), "yes", "no")


def sparse_block(n_rows=200, n_columns=40):
    """Return counts of words, most of them 0, and labels that depend on some of them."""
    counts = scipy.sparse.csr_array(scipy.sparse.random(n_rows, n_columns, 0.1, random_state=1))
    return counts, np.array(["ham", "spam"])[(counts[:, :3].sum(axis=1) > 0).astype(int)]


LIBRARIES = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "pyarrow": lambda columns: pytest.importorskip("pyarrow").table(columns),
}
libraries = pytest.mark.parametrize("frame", LIBRARIES.values(), ids=LIBRARIES)


def small(kind=AMFClassifier, **parameters):
    return kind(**{"n_estimators": 3, "random_state": 3, "shuffle": False} | parameters)


def targets_of(kind):
    return NUMBERS if issubclass(kind, AMFRegressor) else Y


def answers(estimator, X):
    """Return probabilities, or the predictions of a regressor and their intervals, as an array."""
    if is_regressor(estimator):
        return np.column_stack(estimator.predict(X, interval=0.8))
    return estimator.predict_proba(X)


def rows_of(X):
    return pd.DataFrame(X).to_dict("records")


def as_seen(estimator):
    """Return all attributes of an estimator in a form that can be compared."""
    return {
        name: state_of(value) if name == "model_" else repr(value)
        for name, value in vars(estimator).items()
    }


def assert_refused(error, match, call, *estimators):
    before = [*map(as_seen, estimators)]
    with pytest.raises(error, match=match):
        call()
    assert [*map(as_seen, estimators)] == before


def assert_learned(estimator, X, targets, weights=None, rows=None):
    """Check that an estimator predicts like a river model that has learned one dict by another."""
    parameters = estimator.get_params()
    for name in {"class_weight", "shuffle"} & {*parameters}:
        del parameters[name]
    parameters["seed"] = parameters.pop("random_state")
    twin = getattr(river_amf, type(estimator).__name__)(**parameters)
    rows = rows_of(X) if rows is None else rows
    weights = np.ones(len(targets)) if weights is None else weights
    for x, y, w in zip(rows, np.asarray(targets).tolist(), weights.tolist(), strict=True):
        twin.learn_one(x, y, w=w)
    predictions = [twin.predict_one(x) for x in rows]
    assert estimator.predict(X).tolist() == predictions
    assert estimator.novelty(X).tolist() == [twin.novelty_one(x) for x in rows]
    if is_regressor(estimator):
        ends = [twin.predict_interval_one(x, 0.8) for x in rows]
        expected = [[y, end.lower, end.upper] for y, end in zip(predictions, ends, strict=True)]
    else:
        proba = [twin.predict_proba_one(x) for x in rows]
        expected = [[p.get(label, 0.0) for label in estimator.classes_.tolist()] for p in proba]
    np.testing.assert_array_equal(answers(estimator, X), expected)
