"""What the tests of estimators share: data, scikit-learn's checks, files and processes."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import RegressorMixin, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import river_amf
from river_amf.persistence import container
from river_amf.sklearn import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
)

# skipped unless scipy accepts all arrays, as in the last test of all checks
SKIPPED = {"check_array_api_input"}
# a row of weight 2 is not two rows: trees grow with each row that comes
FAILED = {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}


def checks_of(estimators, slow, names=None):
    """Return scikit-learn's checks, or those with certain names, as test cases; some are slow."""
    settings = "" if names is None else " with settings"
    for estimator, check in parametrize_with_checks(estimators).args[1]:
        name = getattr(check, "func", check).__name__
        if name not in SKIPPED and (names is None or name in names):
            marks = [pytest.mark.slow] * isinstance(estimator, slow)
            if name in FAILED and not isinstance(estimator, OnlineDummyClassifier):
                marks.append(pytest.mark.xfail(strict=True, reason="the order of rows matters"))
            kind = type(estimator).__name__
            yield pytest.param(estimator, check, id=f"{kind}{settings}-{name}", marks=marks)


def mixed_columns(n_rows=300):
    """Columns of every kind that a dataframe may have, as lists."""
    rng = np.random.default_rng(5)
    days = [None, "2020-01-01", "2021-01-01"]
    columns = {
        "length": [None if rng.random() < 0.2 else float(v) for v in rng.normal(size=n_rows)],
        "color": [["red", "tan", None][k] for k in rng.integers(3, size=n_rows)],
        "alive": [bool(v) for v in rng.integers(2, size=n_rows)],
        "grade": [int(v) for v in rng.integers(5, size=n_rows)],
        "day": [days[k] for k in rng.integers(3, size=n_rows)],
        "all gone": [None] * n_rows,
    }
    return columns, np.where(np.array(columns["alive"]), "yes", "no")


def polars_frame(columns):
    """Return columns as a dataframe of polars."""
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(columns):
    """Return columns as a table of pyarrow."""
    return pytest.importorskip("pyarrow").table(columns)


LIBRARIES = {"pandas": pd.DataFrame, "polars": polars_frame, "pyarrow": arrow_table}
libraries = pytest.mark.parametrize("frame", LIBRARIES.values(), ids=LIBRARIES)


def rows_of(X):
    """Return a table as one dict per row."""
    return pd.DataFrame(X).to_dict("records")


def as_seen(estimator):
    """Return all attributes of an estimator in a form that can be compared."""
    return {
        name: pickle.dumps(value) if name == "model_" else repr(value)
        for name, value in vars(estimator).items()
    }


def error_of_edited(estimator, edit, path):
    """Return the error for the file of an estimator after its parts have been edited."""
    header, arrays = estimator._to_file()
    edit(header, arrays)
    kind = {"river_amf": "0.1", "kind": estimator._file_kind}
    with path.open("wb") as file:
        container.write(file, kind | {"model": header}, arrays)
    with pytest.raises(river_amf.persistence.FileError, match="is damaged: ") as caught:
        river_amf.load(path)
    return str(caught.value)


def run(code, **environment):
    """Run code in a process of its own."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment, check=False
    )


CLASSIFIERS = [AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier]
REGRESSORS = [AMFRegressor, AdaptiveAMFRegressor]
every_kind = pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
every_forest = pytest.mark.parametrize("kind", [*CLASSIFIERS[:2], *REGRESSORS])
of_each_task = pytest.mark.parametrize("kind", [AMFClassifier, AMFRegressor])
# the adaptive forest is a forest with other parameters and inherits everything else
both_kinds = pytest.mark.parametrize("kind", [AMFClassifier, OnlineDummyClassifier])


def small(kind=AMFClassifier, **parameters):
    """Make an estimator, if it is a forest a small one that learns rows in order."""
    if kind is not OnlineDummyClassifier:
        parameters = {"n_estimators": 3, "random_state": 3, "shuffle": False} | parameters
    return kind(**parameters)


def make_block(n_rows=400, seed=7):
    """Rows of four numbers, some missing, with labels of three classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = np.array(["tall", "broad", "deep"])[np.argmax(X[:, :3], axis=1)]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.choice([0.0, 0.3, 1.0, 2.0], n_rows)


X, Y, WEIGHTS = make_block()
NUMBERS = np.nan_to_num(X) @ [3.0, -1.0, 0.0, 0.0] + 50.0


def targets_of(kind):
    """Return what an estimator learns of the rows."""
    return NUMBERS if issubclass(kind, RegressorMixin) else Y


def answers(estimator, X):
    """Return probabilities, or the numbers that a regressor predicts."""
    return estimator.predict(X) if is_regressor(estimator) else estimator.predict_proba(X)


def river_twin(estimator):
    """Make the equivalent river model."""
    own = {"random_state": "seed", "class_weight": None, "shuffle": None}
    pairs = ((own.get(name, name), value) for name, value in estimator.get_params().items())
    kind = getattr(river_amf, type(estimator).__name__)
    return kind(**{name: value for name, value in pairs if name is not None})


def learn_rows(twin, rows, targets, weights=None):
    """Feed the river model one dict after another."""
    weights = np.ones(len(targets)) if weights is None else weights
    for x, label, w in zip(rows, np.asarray(targets).tolist(), weights.tolist(), strict=True):
        twin.learn_one(x, label, w=w)
    return twin


def assert_same(estimator, twin, X, rows):
    """Check that the estimator predicts bit for bit like the river model, row by row."""
    if is_regressor(estimator):
        assert estimator.predict(X).tolist() == [twin.predict_one(x) for x in rows]
        for level in (0.5, 0.9):
            intervals = [twin.predict_interval_one(x, level) for x in rows]
            expected = [[interval.lower, interval.upper] for interval in intervals]
            assert estimator.predict_interval(X, level).tolist() == expected
        return
    proba = [twin.predict_proba_one(x) for x in rows]
    expected = [[p.get(label, 0.0) for label in estimator.classes_.tolist()] for p in proba]
    np.testing.assert_array_equal(estimator.predict_proba(X), expected)
    if not isinstance(estimator, OnlineDummyClassifier):
        assert estimator.predict(X).tolist() == [twin.predict_one(x) for x in rows]


def assert_refused(error, match, call, *estimators):
    """Check the error of a call, and that it leaves estimators as they were."""
    before = [*map(as_seen, estimators)]
    with pytest.raises(error, match=match):
        call()
    assert [*map(as_seen, estimators)] == before


def skewed(n_rows=400):
    """Two overlapping classes, one of them rare."""
    rng = np.random.default_rng(2)
    labels = np.where(rng.random(n_rows) < 0.1, "rare", "usual")
    return (rng.normal(size=n_rows) + 1.5 * (labels == "rare"))[:, None], labels


CLASS_WEIGHTS = {
    "of all": {"rare": 5.0, "usual": 0.5},
    "of one": {"rare": 5},
    "numpy's": {np.str_("rare"): np.float32(5.0)},
    "balanced": "balanced",
}


def sparse_block(n_rows=200, n_columns=40):
    """Return counts of words, most of them 0, and labels that depend on some of them."""
    counts = scipy.sparse.csr_array(scipy.sparse.random(n_rows, n_columns, 0.1, random_state=1))
    return counts, np.array(["ham", "spam"])[(counts[:, :3].sum(axis=1) > 0).astype(int)]
