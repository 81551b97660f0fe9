"""Estimators for scikit-learn: bit for bit like river's classes; all of scikit-learn's checks."""

import copy
import inspect
import itertools
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from estimators import LIBRARIES, as_seen, checks_of, error_of_edited, mixed_columns, rows_of, run
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils import shuffle
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

import river_amf
from river_amf import inspection, plot
from river_amf import sklearn as face
from river_amf.persistence import container
from river_amf.sklearn import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
)

FOREST = partial(AMFClassifier, n_estimators=3, random_state=3)
VARIANTS = {
    "default": (AMFClassifier, {}),
    "adaptive": (AdaptiveAMFClassifier, {}),
    "n_classes": (AMFClassifier, {"n_classes": 9, "step": 0.5}),
    "leaves alone": (AMFClassifier, {"use_aggregation": False, "max_nodes": 101}),
    "fading": (AMFClassifier, {"fading_factor": 0.7, "split_pure": True}),
    "regressor": (AMFRegressor, {}),
    "adaptive regressor": (AdaptiveAMFRegressor, {}),
    "leaves": (AMFRegressor, {"use_aggregation": False, "max_nodes": 101, "step": 0.5}),
    "fading regressor": (AMFRegressor, {"fading_factor": 0.7, "split_intensity": "relevance"}),
}
variants = pytest.mark.parametrize(("kind", "parameters"), VARIANTS.values(), ids=VARIANTS)
CLASSIFIERS = [AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier]
REGRESSORS = [AMFRegressor, AdaptiveAMFRegressor]
every_classifier = pytest.mark.parametrize("kind", CLASSIFIERS)
every_kind = pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
every_forest = pytest.mark.parametrize("kind", [*CLASSIFIERS[:2], *REGRESSORS])
of_each_task = pytest.mark.parametrize("kind", [AMFClassifier, AMFRegressor])
# the adaptive forest is a forest with other parameters and inherits everything else
both_kinds = pytest.mark.parametrize("kind", [AMFClassifier, OnlineDummyClassifier])


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


libraries = pytest.mark.parametrize("frame", LIBRARIES.values(), ids=LIBRARIES)


def river_twin(estimator):
    """Make the equivalent river model."""
    parameters = estimator.get_params()
    parameters.pop("class_weight", None)
    if "random_state" in parameters:
        parameters["seed"] = parameters.pop("random_state")
    return getattr(river_amf, type(estimator).__name__)(**parameters)


def learn_rows(twin, rows, targets, weights=None):
    """Feed the river model one dict after another."""
    weights = np.ones(len(targets)) if weights is None else weights
    for x, label, w in zip(rows, targets.tolist(), weights.tolist(), strict=True):
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


# scikit-learn's own checks


# All checks run for each estimator with its defaults. Those that depend on settings of the
# estimator itself run for other settings too; river's checks cover the forest's own parameters.
AS_THEY_ARE = [kind() for kind in (*CLASSIFIERS, *REGRESSORS)]
VARIANTS_CHECKED = [
    AMFClassifier(
        3,
        n_classes=10,
        class_weight="balanced",
        split_pure=True,
        max_nodes=41,
        n_jobs=2,
        random_state=np.random.RandomState(5),
    ),
    AdaptiveAMFClassifier(n_estimators=3, vote="mean", random_state=1),
    AMFClassifier(n_estimators=3, absent="zero", random_state=1),
    OnlineDummyClassifier(10, dirichlet=1.0),
    AMFRegressor(3, max_nodes=41, n_jobs=2, random_state=np.random.RandomState(5)),
]
OF_SETTINGS = {
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_set_params",
    "check_dict_unchanged",
    "check_fit_idempotent",
    "check_estimators_pickle",
    "check_classifiers_train",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_regressors_train",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_estimator_sparse_tag",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
}
# the fast lane skips the adaptive forests, which only inherit
SLOW = AdaptiveAMFClassifier, AdaptiveAMFRegressor
ALL_CHECKS = [*checks_of(AS_THEY_ARE, SLOW), *checks_of(VARIANTS_CHECKED, SLOW, OF_SETTINGS)]


@pytest.mark.parametrize(("estimator", "check"), ALL_CHECKS)
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


def test_the_checks_named_here_are_among_scikit_learn_s():
    assert {case.id.rpartition("-")[2] for case in ALL_CHECKS} >= OF_SETTINGS


# Bit for bit like the river classes


@variants
def test_fit_predicts_as_river_s_model_row_by_row(kind, parameters):
    y = targets_of(kind)
    estimator = kind(n_estimators=3, random_state=3, **parameters).fit(X, y)
    twin = learn_rows(river_twin(estimator), rows_of(X), y)
    assert_same(estimator, twin, X, rows_of(X))


@pytest.mark.parametrize(
    ("variant", "size"),
    [("default", size) for size in (1, 7, 100, 1000)]
    + [("regressor", 400)]
    + [(variant, 30) for variant in VARIANTS if variant != "default"],
)
def test_the_cuts_of_partial_fit_do_not_matter_and_weights_count(variant, size):
    kind, parameters = VARIANTS[variant]
    y = targets_of(kind)
    estimator = kind(n_estimators=3, random_state=3, **parameters)
    for start in range(0, len(Y), size):
        part = slice(start, start + size)
        weights = WEIGHTS[part]
        if start == 0 and not weights.any():
            continue
        estimator.partial_fit(X[part], y[part], sample_weight=weights)
    twin = learn_rows(river_twin(estimator), rows_of(X), y, WEIGHTS)
    assert_same(estimator, twin, X, rows_of(X))


@pytest.mark.parametrize(
    ("kind", "library"),
    [
        *itertools.product([AMFClassifier, AMFRegressor], LIBRARIES),
        (OnlineDummyClassifier, "polars"),
    ],
)
def test_dataframes_go_to_the_model_as_they_are(kind, library):
    frame = LIBRARIES[library]
    columns, labels = mixed_columns()
    if kind is AMFRegressor:
        labels = np.array(columns["grade"]) + np.array(columns["alive"])
    rows = rows_of(columns)
    estimator = clone(kind())
    if kind is not OnlineDummyClassifier:
        estimator.set_params(random_state=3, n_estimators=3)
    estimator.fit(frame(columns), labels)
    twin = learn_rows(river_twin(estimator), rows, labels)
    assert_same(estimator, twin, frame(columns), rows)
    assert estimator.feature_names_in_.tolist() == list(columns)
    assert estimator.n_features_in_ == len(columns)


def test_categorical_dtypes_are_categories():
    columns, labels = mixed_columns()
    table = pd.DataFrame(columns).astype({"color": "category", "grade": "Int64"})
    estimator = FOREST().fit(table, labels)
    twin = learn_rows(river_twin(estimator), rows_of(columns), labels)
    assert_same(estimator, twin, table, rows_of(columns))
    table = table.astype({"grade": "category"})
    rows = rows_of(columns | {"grade": [str(grade) for grade in columns["grade"]]})
    estimator = FOREST().fit(table, labels)
    twin = learn_rows(river_twin(estimator), rows, labels)
    assert_same(estimator, twin, table, rows)


def test_dates_are_refused_with_what_to_do_instead():
    table = pd.DataFrame({"day": pd.date_range("2020", periods=4)})
    with pytest.raises(ValueError, match=r"feature 'day'.* convert it to a number"):
        FOREST().fit(table, [0, 1, 0, 1])


def test_a_value_of_the_wrong_kind_may_count_as_missing():
    table = pd.DataFrame({"temp": ["N/A", *range(50), "?"]}, dtype=object)
    labels = [i % 50 > 25 for i in range(52)]
    with pytest.raises(ValueError, match="feature 'temp' has held categories"):
        FOREST().fit(table, labels)
    estimator = FOREST(on_mismatch="missing")
    with pytest.warns(river_amf.MismatchWarning, match="feature 'temp'") as caught:
        estimator.fit(table, labels)
        estimator.predict(table)
    assert len(caught) == 1
    twin = FOREST().fit(table.replace({"temp": ["N/A", "?"]}, None), labels)
    np.testing.assert_array_equal(
        estimator.predict_proba(table[1:-1]), twin.predict_proba(table[1:-1])
    )


def test_arrays_and_lists_of_objects_keep_their_types():
    columns, labels = mixed_columns()
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    array = np.empty((len(rows), len(columns)), object)
    array[:] = rows
    for table in (array, rows):
        estimator = FOREST().fit(table, labels)
        dicts = [dict(enumerate(row)) for row in rows]
        assert_same(estimator, learn_rows(river_twin(estimator), dicts, labels), table, dicts)


def test_categories_may_be_an_array_of_text():
    colors = np.array([["red"], ["tan"], ["red"], ["blue"]])
    estimator = FOREST().fit(colors, [1, 0, 1, 0])
    assert estimator.predict(colors).tolist() == [1, 0, 1, 0]


def test_columns_of_integer_names_are_told_by_their_names():
    table = pd.DataFrame(X, columns=[30, 20, 100, 3])
    estimator = FOREST().fit(table, Y)
    twin = learn_rows(river_twin(estimator), table.to_dict("records"), Y)
    assert_same(estimator, twin, table, table.to_dict("records"))
    proba = estimator.predict_proba(table)
    np.testing.assert_array_equal(estimator.predict_proba(table[[3, 20, 30, 100]]), proba)
    np.testing.assert_array_equal(estimator.predict_proba(X), proba)  # an array, by position


@libraries
def test_columns_without_known_names_are_told_by_position(frame):
    names = ["a", "b", "c", "d"]
    named = frame(dict(zip(names, X.T, strict=True)))
    proba = FOREST().fit(X, Y).predict_proba(X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(FOREST().fit(X, Y).predict_proba(named), proba)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(FOREST().fit(named, Y).predict_proba(X), proba)


@of_each_task
def test_the_number_of_threads_does_not_matter_and_may_change_at_any_time(kind):
    y = targets_of(kind)
    estimator, twin = (kind(3, random_state=3, n_jobs=n_jobs) for n_jobs in (2, None))
    estimator.partial_fit(X[:200], y[:200]).set_params(n_jobs=3).predict(X[:200])
    assert estimator.model_.n_jobs == 3
    estimator.set_params(n_jobs=1).partial_fit(X[200:], y[200:])
    assert estimator.model_.n_jobs == 1
    twin.partial_fit(X, y)
    np.testing.assert_array_equal(answers(estimator, X), answers(twin, X))


def test_no_number_of_threads_is_one_as_in_scikit_learn(tmp_path):
    estimator, twin = FOREST(n_jobs=None), FOREST()
    np.testing.assert_array_equal(estimator.fit(X, Y).predict(X), twin.fit(X, Y).predict(X))
    assert (estimator.n_jobs, estimator.model_.n_jobs) == (None, 1)
    estimator.partial_fit(X, Y).save(tmp_path / "model.amf")
    loaded = river_amf.load(tmp_path / "model.amf")
    assert (loaded.n_jobs, clone(loaded).n_jobs, loaded.model_.n_jobs) == (None, None, 1)
    estimator.set_params(n_jobs=2).predict(X)
    estimator.set_params(n_jobs=None).predict(X)
    assert estimator.model_.n_jobs == 1
    np.testing.assert_array_equal(loaded.predict_proba(X), estimator.predict_proba(X))


def test_the_label_seen_first_is_predicted_in_a_tie_and_of_a_dummy_the_first_of_classes():
    forest = FOREST().fit([[1.0], [1.0]], ["b", "a"])
    assert forest.predict_proba([[1.0]]).tolist() == [[0.5, 0.5]]
    assert forest.predict([[1.0]]).tolist() == ["b"] == [forest.model_.predict_one({0: 1.0})]
    assert OnlineDummyClassifier().fit([[1.0], [1.0]], ["b", "a"]).predict([[1]]) == ["a"]


@pytest.mark.parametrize(
    ("n_classes", "dirichlet", "size"),
    [(None, None, 1), (7, None, 64), (None, 0.3, 400), (7, 0.3, 9)],
)
def test_the_dummy_counts_as_river_s_row_by_row(n_classes, dirichlet, size):
    weights = WEIGHTS * np.random.default_rng(0).random(len(WEIGHTS))
    weights[0] = 0.1
    estimator = OnlineDummyClassifier(n_classes, dirichlet)
    for start in range(0, len(Y), size):
        part = slice(start, start + size)
        estimator.partial_fit(X[part], Y[part], sample_weight=weights[part])
    twin = learn_rows(river_twin(estimator), rows_of(X), Y, weights)
    assert_same(estimator, twin, X, rows_of(X))
    assert estimator.model_.counts == twin.counts
    fitted = OnlineDummyClassifier(n_classes, dirichlet).fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(fitted.predict_proba(X), estimator.predict_proba(X))


def test_a_bad_label_leaves_a_dummy_as_it_was_and_pickles_are_its_only_files():
    estimator = OnlineDummyClassifier(n_classes=2).partial_fit([[1], [1]], ["a", "b"])
    before = as_seen(estimator)
    with pytest.raises(ValueError, match="label 'c' would be class number 3"):
        estimator.partial_fit([[1], [1]], ["a", "c"])
    assert as_seen(estimator) == before
    assert not hasattr(estimator, "save")


def test_fit_takes_weights_where_the_order_of_rows_does_not_matter():
    for kind in (AMFClassifier, AdaptiveAMFClassifier):
        assert not has_fit_parameter(kind(), "sample_weight")
    assert has_fit_parameter(OnlineDummyClassifier(), "sample_weight")


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_a_dummy_takes_bags_of_words(kind):
    words = kind(np.eye(len(X)))
    estimator = OnlineDummyClassifier().fit(words, Y).partial_fit(words, Y)
    dense = OnlineDummyClassifier().fit(X, Y).partial_fit(X, Y)
    assert np.array_equal(estimator.predict_proba(words), dense.predict_proba(X))
    with pytest.raises(ValueError, match="features"):
        estimator.predict(words.tocsr()[:, :3])


def test_a_dummy_looks_at_no_value():
    columns = {"a": [np.inf, None, 1.0], "b": [{}, "x", 3]}
    estimator = OnlineDummyClassifier().fit(pd.DataFrame(columns, dtype=object), [0, 1, 1])
    assert estimator.predict(pd.DataFrame(columns)).tolist() == [1, 1, 1]
    assert OnlineDummyClassifier().fit([[np.inf]], ["a"]).predict(np.array([[np.inf]])) == ["a"]


# Parameters


@every_kind
def test_parameters_and_defaults_are_those_of_river_s_class(kind):
    ours = inspect.signature(kind).parameters
    theirs = inspect.signature(getattr(river_amf, kind.__name__)).parameters
    names = ["random_state" if name == "seed" else name for name in theirs]
    own = ["class_weight"] * issubclass(kind, AMFClassifier)
    mixin = RegressorMixin if kind in REGRESSORS else ClassifierMixin
    assert list(ours) == names + own
    defaults = [p.default for p in theirs.values()]
    assert [p.default for p in ours.values()] == defaults + [None] * len(own)
    assert issubclass(kind, mixin) and issubclass(kind, BaseEstimator)


def test_the_number_of_trees_may_be_given_by_position_as_of_scikit_learn_s_forests():
    for kind in (AMFClassifier, AdaptiveAMFClassifier, *REGRESSORS):
        assert kind(2).get_params()["n_estimators"] == 2
        with pytest.raises(TypeError, match="positional"):
            kind(2, 0.5)
    assert OnlineDummyClassifier(2).get_params()["n_classes"] == 2


BAD_PARAMETERS = {
    "n_classes": 0,
    "n_estimators": 2.5,
    "step": -1.0,
    "split_prior": 1.0,
    "vote": "loud",
    "n_jobs": 0,
}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        *((AMFClassifier, name, value) for name, value in BAD_PARAMETERS.items()),
        (AMFRegressor, "vote", "loud"),
        (AMFRegressor, "trend", "up"),
    ],
)
def test_parameters_are_checked_when_learning_starts(kind, name, value):
    estimator = kind(**{name: value})
    assert estimator.set_params(**{name: value}).get_params()[name] == value
    for learn in (estimator.fit, estimator.partial_fit):
        with pytest.raises(ValueError, match=f"{name} must be"):
            learn(X, targets_of(kind))
        with pytest.raises(NotFittedError):
            estimator.predict(X)


def test_a_seed_that_is_none_is_refused():
    for seed in (-1, True, "x", 1.5, np.random.default_rng(1)):
        with pytest.raises(ValueError, match=r"must be an integer >= 0|cannot be used to seed"):
            AMFClassifier(random_state=seed).fit(X, Y)


def test_an_integer_is_drawn_of_a_random_state():
    draws = np.random.RandomState(5)
    expected = [int(draws.randint(np.iinfo(np.int32).max)) for _ in range(2)]
    estimator = AMFClassifier(n_estimators=1, random_state=np.random.RandomState(5))
    assert [estimator.fit(X, Y).model_.seed for _ in range(2)] == expected
    estimator.partial_fit(X, Y)
    assert estimator.model_.seed == expected[1]


def test_without_a_seed_numpy_s_global_one_is_drawn_of():
    seeds = []
    for _ in range(2):
        np.random.seed(5)  # noqa: NPY002
        seeds.append(AMFClassifier(n_estimators=1).fit(X, Y).model_.seed)
    assert seeds[0] == seeds[1]


CHANGES = {
    "n_classes": 5,
    "n_estimators": 4,
    "split_prior": 0.7,
    "max_nodes": 100,
    "use_aggregation": False,
    "vote": "learned",
    "random_state": 4,
}


@pytest.mark.parametrize(("name", "value"), CHANGES.items(), ids=CHANGES)
def test_a_changed_parameter_is_refused_by_partial_fit_and_taken_by_fit(name, value):
    estimator = FOREST().partial_fit(X, Y)
    old = estimator.get_params()[name]
    before = as_seen(estimator.set_params(**{name: value}))
    message = f"{name} was changed from {old!r} to {value!r} .* call fit to start over"
    with pytest.raises(ValueError, match=message):
        estimator.partial_fit(X, Y)
    assert as_seen(estimator) == before
    estimator.set_params(**{name: old}).partial_fit(X, Y)
    assert as_seen(estimator.set_params(**{name: value}).fit(X, Y)) == as_seen(
        FOREST(**{name: value}).fit(X, Y)
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("step", np.array([1.0, 2.0])), ("random_state", np.random.RandomState(3)), ("vote", None)],
)
def test_whatever_a_parameter_is_changed_to_it_is_refused(name, value):
    estimator = FOREST().partial_fit(X, Y)
    estimator.set_params(**{name: value})
    with pytest.raises(ValueError, match=f"{name} was changed"):
        estimator.partial_fit(X, Y)


def test_an_equal_parameter_is_no_change():
    estimator = FOREST().partial_fit(X, Y)
    estimator.set_params(n_estimators=np.int64(3), step=1, random_state=np.int32(3))
    estimator.partial_fit(X, Y)


def test_a_bad_number_of_threads_is_refused_at_once():
    estimator = FOREST().partial_fit(X, Y).set_params(n_jobs=0)
    for call in (lambda: estimator.partial_fit(X, Y), lambda: estimator.predict(X)):
        with pytest.raises(ValueError, match="n_jobs must be"):
            call()
    np.testing.assert_array_equal(
        estimator.set_params(n_jobs=1).predict(X), FOREST().fit(X, Y).predict(X)
    )


def test_fit_starts_afresh():
    estimator = FOREST().partial_fit(X[:, :2], np.arange(len(X)) % 5, classes=range(9))
    estimator.set_params(step=0.5).fit(pd.DataFrame(X).add_prefix("x"), Y)
    twin = FOREST(step=0.5).fit(pd.DataFrame(X).add_prefix("x"), Y)
    assert as_seen(estimator) == as_seen(twin)
    estimator.fit(X, Y)
    assert not hasattr(estimator, "feature_names_in_")


# Classes


def test_columns_are_the_classes_in_order_and_sum_to_one():
    estimator = FOREST().fit(X, Y)
    proba = estimator.predict_proba(X)
    assert estimator.classes_.tolist() == ["broad", "deep", "tall"]
    assert np.abs(proba.sum(axis=1) - 1.0).max() < 1e-9
    predicted = estimator.classes_.searchsorted(estimator.predict(X))
    np.testing.assert_array_equal(proba[np.arange(len(X)), predicted], proba.max(axis=1))
    assert estimator.score(X, Y) == accuracy_score(Y, estimator.predict(X)) > 0.7


def test_labels_of_any_type_come_back():
    for labels in (
        [3, -1, 3],
        [True, False, True],
        [2.0, 1.0, 2.0],
        ["b", "a", "b"],
        np.array(["long", "b", "long"], object),
        pd.Series(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Series([5, 4, 5], dtype="Int64"),
    ):
        for kind in (AMFClassifier, OnlineDummyClassifier):
            estimator = kind().fit([[1.0], [9.0], [1.0]], labels)
            assert estimator.predict([[1.0]]).tolist() == list(labels)[:1], (kind, labels)
            assert estimator.classes_.tolist() == sorted(set(labels)), (kind, labels)


@both_kinds
def test_given_classes_are_the_columns_from_the_start(kind):
    estimator = kind().partial_fit([[1.0]], ["b"], classes=["c", "a", "b", "a"])
    assert estimator.classes_.tolist() == ["a", "b", "c"]
    assert estimator.predict_proba([[1.0]]).tolist() == [[0.0, 1.0, 0.0]]
    estimator.partial_fit([[2.0]], ["c"], classes=["a", "b", "c"])
    before = as_seen(estimator)
    for labels, classes in [(["d"], None), (["a"], ["a", "b"]), (["a"], ["a", "b", "c", "d"])]:
        with pytest.raises(ValueError, match="classes"):
            estimator.partial_fit([[3.0]], labels, classes=classes)
        assert as_seen(estimator) == before


@both_kinds
def test_without_given_classes_more_may_come_and_be_given_late(kind):
    estimator = kind().partial_fit([[1.0], [2.0]], ["m", "m"])
    assert estimator.predict_proba([[1.0]]).tolist() == [[1.0]]
    estimator.partial_fit([[3.0], [4.0]], ["z", "a"])
    assert estimator.classes_.tolist() == ["a", "m", "z"]
    assert (estimator.predict_proba([[1.0]]) > 0).all()
    with pytest.raises(
        ValueError, match=r"classes must include those in .*\['a', 'm', 'z'\], got \['a', 'b'\]"
    ):
        estimator.partial_fit([[1.0]], ["a"], classes=["a", "b"])
    estimator.partial_fit([[1.0]], ["a"], classes=["a", "b", "m", "z"])
    with pytest.raises(ValueError, match=r"y has the labels \['c'\].* \['a', 'b', 'm', 'z'\]"):
        estimator.partial_fit([[1.0]], ["c"])


def test_a_label_without_weight_is_not_seen():
    estimator = FOREST().partial_fit(X[:3], ["a", "b", "c"], sample_weight=[1.0, 0.0, 2.0])
    assert estimator.classes_.tolist() == ["a", "c"]
    estimator.partial_fit(X[:1], ["b"], sample_weight=[0.0])
    assert estimator.classes_.tolist() == ["a", "c"]


@pytest.mark.parametrize(("first", "second"), [([1, 2], ["a"]), (["a", "b"], [1]), ([True], ["a"])])
def test_strings_among_numbers_are_refused(first, second):
    estimator = OnlineDummyClassifier().partial_fit(X[: len(first)], first)
    with pytest.raises(
        ValueError, match=r"all strings or all numbers, got \[.*\] in addition to \["
    ):
        estimator.partial_fit(X[:1], second)


def test_labels_equal_in_value_are_one_class_whatever_their_type():
    estimator = FOREST().partial_fit([[1.0], [2.0]], [1, 0])
    estimator.partial_fit([[1.0], [2.0]], [1.0, 0.0]).partial_fit([[1.0]], [True])
    assert estimator.classes_.dtype.kind == "i"
    estimator.partial_fit([[1.0]], [2.0])
    assert estimator.classes_.tolist() == [0, 1, 2]


@both_kinds
def test_one_label_more_than_n_classes_is_refused(kind):
    with pytest.raises(ValueError, match="label 'deep' would be class number 3, but n_classes=2"):
        kind(n_classes=2).fit(X[:3], ["tall", "broad", "deep"])
    with pytest.raises(ValueError, match=r"classes has 3 labels, .* n_classes=2"):
        kind(n_classes=2).partial_fit(X[:1], ["tall"], classes=["tall", "broad", "deep"])
    assert kind(n_classes=2).fit(X[:2], ["tall", "broad"]).predict_proba(X).shape == (len(X), 2)


def test_classes_that_are_none_are_refused():
    for classes in ([], 2, "ab", [["a"], ["b"]], [1, 2]):
        estimator = FOREST()
        with pytest.raises(ValueError, match=r"classes must be|all strings or all numbers"):
            estimator.partial_fit(X, Y, classes=classes)
        with pytest.raises(NotFittedError):
            estimator.predict(X)


def test_small_blocks_of_many_classes_are_no_regression():
    rng = np.random.default_rng(0)
    estimator = FOREST()
    for _ in range(3):
        estimator.partial_fit(rng.random((30, 2)), rng.permutation(30), classes=np.arange(40))
    assert estimator.predict_proba([[0.5, 0.5]]).shape == (1, 40)


# Rejected input leaves no trace

BAD_CALLS = {
    "infinity": (np.array([[np.inf] * 4]), ["tall"], {}),
    "infinity in a list": ([[np.inf] * 4], ["tall"], {}),
    "something unhashable": (np.array([[{}, 1.0, 1.0, 1.0]]), ["tall"], {}),
    "one dimension": (np.ones(4), ["tall"], {}),
    "no rows": (np.ones((0, 4)), [], {}),
    "no rows in a dataframe": (pd.DataFrame(X).head(0), [], {}),
    "no columns": (pd.DataFrame(index=[0]), ["tall"], {}),
    "sparse": (scipy.sparse.csr_array(np.ones((1, 4))), ["tall"], {}),
    "complex": (np.ones((1, 4)) * 1j, ["tall"], {}),
    "two of a name": (pd.DataFrame(X[:1], columns=list("abca")), ["tall"], {}),
    "other lengths": (X[:2], ["tall"], {}),
    "a missing label": (X[:2], np.array(["tall", None], object), {}),
    "a NaN label": (X[:2], [1.0, np.nan], {}),
    "mixed labels": (X[:2], np.array(["tall", 1], object), {}),
    "a regression": (X[:2], [0.5, 1.5], {}),
    "two targets": (X[:2], [[0, 1], [1, 0]], {}),
    "no target": (X[:2], None, {}),
    "a negative weight": (X[:2], ["tall", "new"], {"sample_weight": [1.0, -1.0]}),
    "a huge weight": (X[:2], ["tall", "new"], {"sample_weight": [1.0, 1e301]}),
    "a NaN weight": (X[:2], ["tall", "new"], {"sample_weight": [1.0, np.nan]}),
    "other weights": (X[:2], ["tall", "new"], {"sample_weight": [1.0]}),
    "weights in a table": (X[:2], ["tall", "new"], {"sample_weight": [[1.0], [1.0]]}),
}


@pytest.mark.parametrize(("table", "labels", "others"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_refused_block_leaves_the_estimator_as_it_was(table, labels, others):
    for estimator in (FOREST(), FOREST().fit(X, Y)):
        before = as_seen(estimator)
        with pytest.raises((TypeError, ValueError)):
            estimator.partial_fit(table, labels, **others)
        assert as_seen(estimator) == before


# Sparse matrices


def sparse_block(n_rows=200, n_columns=40):
    """Return counts of words, most of them 0, and labels that depend on some of them."""
    counts = scipy.sparse.csr_array(scipy.sparse.random(n_rows, n_columns, 0.1, random_state=1))
    return counts, np.array(["ham", "spam"])[(counts[:, :3].sum(axis=1) > 0).astype(int)]


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_sparse_matrices_are_what_they_hold(kind, tmp_path):
    counts, labels = sparse_block()
    estimators = [kind(3, absent="zero", random_state=1).fit(counts, labels)]
    for convert in (np.asarray, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
        estimator = kind(3, absent="zero", random_state=1)
        for rows in (slice(0, 50), slice(50, None)):
            dense = counts[rows].toarray()
            estimator.partial_fit(convert(dense), labels[rows])
        estimators.append(estimator)
    contents = [pickle.dumps(estimator) for estimator in estimators]
    assert contents == contents[:1] * 4
    proba = estimators[0].predict_proba(counts)
    assert (estimators[0].predict_proba(counts.toarray()) == proba).all()
    model = river_amf_of(kind)
    model.learn_many(counts, labels)
    assert (model.predict_proba_many(counts)[estimators[0].classes_].to_numpy() == proba).all()
    path = tmp_path / "model.amf"
    estimators[0].save(path)
    assert (kind.load(path).predict_proba(counts) == proba).all()
    names = [f"word {k}" for k in range(counts.shape[1])]
    frame = pd.DataFrame.sparse.from_spmatrix(counts, columns=names)
    named = kind(3, absent="zero", random_state=1).fit(frame, labels)
    assert (named.predict_proba(frame) == proba).all()
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert (named.predict_proba(counts) == proba).all()


def river_amf_of(kind):
    """Return the river model of the same name, with the settings of the test above."""
    return getattr(river_amf, kind.__name__)(3, absent="zero", seed=1)


def test_a_sparse_matrix_is_refused_with_advice_unless_absent_is_zero():
    counts, labels = sparse_block()
    for call in (FOREST().fit, FOREST().partial_fit):
        with pytest.raises(TypeError, match=r'sparse matrix, .*use absent="zero"'):
            call(counts, labels)
    estimator = FOREST(absent="zero").fit(counts, labels)
    with pytest.raises(ValueError, match="expecting 40 features"):
        estimator.predict(counts[:, :3])
    with pytest.raises(ValueError, match="infinity"):
        estimator.predict(counts * np.inf)


def test_a_word_where_numbers_were_is_refused():
    estimator = FOREST().fit(X, Y)
    before = as_seen(estimator)
    for call in (estimator.predict, lambda table: estimator.partial_fit(table, ["tall"])):
        with pytest.raises(ValueError, match="row 0: feature 0 has held numbers so far, got 'x'"):
            call([["x", 1.0, 1.0, 1.0]])
    assert as_seen(estimator) == before


@of_each_task
def test_the_first_block_needs_a_weight_and_a_later_one_may_have_none(kind):
    estimator, y = kind(3), targets_of(kind)
    with pytest.raises(ValueError, match=r"sample_weight is zero everywhere.*in the first call"):
        estimator.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    model = pickle.dumps(estimator.fit(X, y).model_)
    estimator.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    assert pickle.dumps(estimator.model_) == model


@of_each_task
def test_a_fit_that_fails_leaves_the_old_forest(kind):
    estimator = kind(3).fit(pd.DataFrame(X).add_prefix("x"), targets_of(kind))
    before = as_seen(estimator)
    with pytest.raises(ValueError, match="infinity"):
        estimator.fit(np.full((3, 2), np.inf), [0, 1, 2])
    assert as_seen(estimator) == before


def test_where_memory_runs_out_the_columns_are_still_those_of_the_model(monkeypatch):
    estimator = FOREST().fit(X[:50], Y[:50])
    learn_many = river_amf.AMFClassifier.learn_many

    def stop_late(model, table, labels, weights):
        learn_many(model, table, labels, weights)
        raise MemoryError

    monkeypatch.setattr(river_amf.AMFClassifier, "learn_many", stop_late)
    with pytest.raises(MemoryError):
        estimator.partial_fit(X[50:60], ["another"] * 10)
    assert estimator.predict_proba(X).shape == (len(X), 4)
    monkeypatch.setattr(river_amf.AMFClassifier, "learn_many", None)
    before = as_seen(estimator)
    with pytest.raises(TypeError):
        estimator.partial_fit(X[50:60], ["still another"] * 10)
    assert as_seen(estimator) == before


@both_kinds
def test_nothing_is_predicted_before_fit(kind):
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(kind(), method)(X)


def test_other_features_are_refused_in_scikit_learn_s_words():
    estimator = FOREST().fit(pd.DataFrame(X, columns=list("abcd")), Y)
    for call in (estimator.predict, lambda X: estimator.partial_fit(X, Y)):
        with pytest.raises(ValueError, match="feature names should match"):
            call(pd.DataFrame(X, columns=list("abce")))
        with pytest.raises(ValueError, match="must be in the same order"):
            call(pd.DataFrame(X, columns=list("abdc")))
    estimator = FOREST().fit(X, Y)
    for call in (estimator.predict, lambda X: estimator.partial_fit(X, Y)):
        with pytest.raises(ValueError, match="X has 3 features, but AMFClassifier is expecting 4"):
            call(X[:, :3])


@of_each_task
def test_a_column_of_targets_is_taken_with_a_warning(kind):
    y, twin = targets_of(kind), kind(3, random_state=3)
    with pytest.warns(DataConversionWarning):
        estimator = kind(3, random_state=3).fit(X, y[:, None])
    np.testing.assert_array_equal(estimator.predict(X), twin.fit(X, y).predict(X))


# Inside scikit-learn


IRIS = shuffle(*load_iris(return_X_y=True), random_state=0)


def test_pipelines_cross_validation_and_search():
    numbers, labels = IRIS
    pipeline = make_pipeline(StandardScaler(), FOREST())
    assert cross_val_score(pipeline, numbers, labels, cv=3).mean() > 0.9
    grid = {"amfclassifier__split_prior": [0.5, 0.9], "amfclassifier__n_estimators": [1, 5]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_log_loss").fit(numbers, labels)
    assert set(search.best_params_) == set(grid)
    assert search.score(numbers, labels) > -0.3


@pytest.mark.parametrize("ensemble", [True, False])
def test_calibration(ensemble):
    numbers, labels = IRIS
    calibrated = CalibratedClassifierCV(FOREST(), ensemble=ensemble, cv=3).fit(numbers, labels)
    assert calibrated.score(numbers, labels) > 0.9


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_columns_of_several_kinds_behind_a_transformer(output):
    if output == "polars":
        pytest.importorskip("polars")
    columns, labels = mixed_columns()
    table = pd.DataFrame(columns)
    transformer = ColumnTransformer(
        [
            ("scaled", MinMaxScaler(), ["length"]),
            ("one-hot", OneHotEncoder(sparse_output=False), ["alive"]),
        ],
        remainder="passthrough",
    ).set_output(transform=output)
    pipeline = make_pipeline(transformer, FOREST()).fit(table, labels)
    assert pipeline.score(table, labels) > 0.9
    assert hasattr(pipeline[-1], "feature_names_in_") == (output != "default")
    assert pipeline.n_features_in_ == 6


@every_kind
def test_copies_and_texts(kind):
    name = "n_estimators" if kind in REGRESSORS else "n_classes"
    estimator, y = kind(**{name: 3}), targets_of(kind)
    assert clone(estimator.fit(X, y)).get_params() == estimator.get_params()
    with pytest.raises(NotFittedError):
        clone(estimator).predict(X)
    for twin in (copy.deepcopy(estimator), pickle.loads(pickle.dumps(estimator))):
        twin.partial_fit(X, y)
        again = copy.deepcopy(estimator).partial_fit(X, y)
        np.testing.assert_array_equal(answers(twin, X), answers(again, X))
    assert repr(estimator) == f"{kind.__name__}({name}=3)"
    assert kind.__name__ in estimator._repr_html_()


def test_a_random_state_survives_a_pickle():
    estimator = FOREST(random_state=np.random.RandomState(1)).fit(X, Y)
    pickle.loads(pickle.dumps(estimator)).partial_fit(X, Y)


# Files


LABELS = {
    "text": Y,
    "objects": Y.astype(object),
    "numbers": np.unique(Y, return_inverse=True)[1],
    "short numbers": np.unique(Y, return_inverse=True)[1].astype(np.int8),
    "truth": Y == "tall",
    "targets": NUMBERS,
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((AMFClassifier, name) for name in LABELS if name != "targets"),
        (AdaptiveAMFClassifier, "text"),
        *((kind, "targets") for kind in REGRESSORS),
    ],
)
def test_a_file_keeps_predictions_classes_and_future(kind, name, tmp_path):
    labels = LABELS[name]
    estimator = kind(3) if kind in REGRESSORS else kind(n_classes=4)
    estimator.fit(X[:300], labels[:300]).save(tmp_path / "model.amf")
    twin = river_amf.load(tmp_path / "model.amf")
    assert type(twin) is kind
    assert twin.get_params() == estimator.get_params()
    for _ in range(2):
        if kind in REGRESSORS:
            ends = estimator.predict_interval(X)
            np.testing.assert_array_equal(twin.predict_interval(X), ends)
        else:
            assert twin.classes_.dtype == estimator.classes_.dtype
            np.testing.assert_array_equal(twin.classes_, estimator.classes_)
        assert twin.n_features_in_ == 4
        np.testing.assert_array_equal(answers(twin, X), answers(estimator, X))
        predicted = twin.predict(X)
        assert predicted.tolist() == estimator.predict(X).tolist()
        assert [*map(type, predicted)] == [*map(type, estimator.predict(X))]
        for each in (twin, estimator):
            each.partial_fit(X[300:], labels[300:], sample_weight=WEIGHTS[300:])


def test_a_file_keeps_names_given_classes_and_parameters_that_have_changed(tmp_path):
    estimator = FOREST()
    table = pd.DataFrame(X[:9], columns=list("abcd"))
    estimator.partial_fit(table, Y[:9], classes=["broad", "deep", "tall", "wide"])
    estimator.set_params(n_classes=7).save(tmp_path / "model.amf")
    twin = AMFClassifier.load(tmp_path / "model.amf")
    np.testing.assert_array_equal(twin.feature_names_in_, estimator.feature_names_in_)
    np.testing.assert_array_equal(twin.predict_proba(table), estimator.predict_proba(table))
    with pytest.raises(ValueError, match="n_classes was changed from None to 7"):
        twin.partial_fit(table, Y[:9])
    twin.set_params(n_classes=None)
    with pytest.raises(ValueError, match="not among the given classes"):
        twin.partial_fit(table, ["narrow"] * 9)


@every_forest
def test_what_has_not_learnt_comes_back_so(kind, tmp_path):
    kind(-3).save(tmp_path / "model.amf")
    twin = kind.load(tmp_path / "model.amf")
    assert twin.get_params()["n_estimators"] == -3
    with pytest.raises(NotFittedError):
        twin.predict(X)


@pytest.mark.parametrize(
    ("saved", "kind"),
    [
        (river_amf.AMFClassifier, AMFClassifier),
        (river_amf.AMFRegressor, AMFRegressor),
        (AMFClassifier, AMFRegressor),
    ],
)
def test_a_file_of_another_class_is_refused(saved, kind, tmp_path):
    saved().save(tmp_path / "model.amf")
    with pytest.raises(river_amf.persistence.FileError, match=f"holds an {saved.__name__}, no"):
        kind.load(tmp_path / "model.amf")


@pytest.mark.parametrize(("x", "y"), [({0: 1.0, "new": 2.0}, "tall"), ({0: 1.0}, ("new", 1))])
def test_what_the_model_has_learnt_by_itself_is_not_saved(x, y, tmp_path):
    estimator = FOREST().fit(X, Y)
    estimator.model_.learn_one({0: 1.0}, "tall")
    estimator.save(tmp_path / "model.amf")
    assert river_amf.load(tmp_path / "model.amf").model_.predict_one({0: 1.0})
    estimator.model_.learn_one(x, y)
    with pytest.raises(ValueError, match=r"new.* directly, which are not among its columns"):
        estimator.save(tmp_path / "model.amf")


def test_a_random_state_is_no_part_of_a_file(tmp_path):
    with pytest.raises(TypeError, match="cannot save random_state RandomState"):
        FOREST(random_state=np.random.RandomState(1)).save(tmp_path / "model.amf")
    assert not any(tmp_path.iterdir())


# change to the fitted part -> expected in the message
EDITS = {
    "classes in disorder": ({"classes": [["str", "tall"], ["str", "deep"]]}, "order of classes"),
    "classes of two kinds": ({"classes": [["str", "tall"], 1]}, "order of classes cannot be"),
    "no classes": ({"classes": []}, "list of classes cannot be"),
    "other classes": (
        {"classes": [["str", c] for c in "xyz"]},
        " besides the columns and classes, cannot be",
    ),
    "tuples as classes": ({"classes": [["tuple", [1]], ["tuple", [2]]]}, "list of classes"),
    "classes that are none": ({"classes": 3}, "a list with one class per item is not a list"),
    "one entry more": ({"surplus": 1}, "entries ['surplus']"),
    "no model": ({"model": None}, "None in place of an object with 'parameters'"),
    "unknown parameters": (
        {"parameters": {"timescale": 1}},
        "its parameters must be an object with some of ",
    ),
    "parameters that are none": (
        {"parameters": []},
        "its parameters must be an object with some of ",
    ),
    "columns that are none": ({"columns": 3}, "a list with one column per item is not a list"),
    "no columns": ({"columns": []}, "number of columns cannot be"),
    "too few columns": ({"columns": [0, 1, 2]}, "[3] besides the columns and classes, cannot be"),
    "other columns": ({"columns": ["a", "b", "c", "d"]}, "[0, 1, 2, 3] besides the columns"),
    "a column twice": ({"columns": [0, 1, 2, 3, 3]}, "a column appears twice"),
    "names that are no texts": ({"names": True}, "names of columns cannot be"),
    "a flag that is none": ({"names": 0}, "flags cannot be"),
    "another flag that is none": ({"has_all_classes": "yes"}, "flags cannot be"),
}


@pytest.mark.parametrize(
    ("kind", "edit", "message"),
    [
        *((AMFClassifier, *edit) for edit in EDITS.values()),
        (AMFRegressor, {"classes": [1, 2]}, "entries ['classes']"),
        (AMFRegressor, *EDITS["no model"]),
        (AMFRegressor, {"columns": [0, 1, 2]}, "[3] besides the columns and classes, cannot be"),
    ],
)
def test_a_damaged_file_says_so(kind, edit, message, tmp_path):
    estimator = kind(3).fit(X, targets_of(kind))
    said = error_of_edited(estimator, lambda h, _: h["fitted"].update(edit), tmp_path / "model.amf")
    assert message in said


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("vote", "mean", "its parameters must be an object with some of "),
        ("random_state", 4, "random_state of the fitted model cannot be"),
        ("random_state", "three", "'three' cannot be used to seed"),
    ],
)
def test_fitted_parameters_that_are_not_the_model_s_are_refused(name, value, message, tmp_path):
    def edit(header, _):
        header["fitted"]["parameters"][name] = value

    assert message in error_of_edited(FOREST().fit(X, Y), edit, tmp_path / "model.amf")


def test_a_file_that_lacks_something_names_it(tmp_path):
    for name in ("classes", "columns", "model"):

        def edit(header, _, name=name):
            del header["fitted"][name]

        said = error_of_edited(FOREST().fit(X, Y), edit, tmp_path / "model.amf")
        assert said.endswith(f"its header lacks {name!r}")


@every_forest
def test_what_a_file_lacks_has_its_default(kind, tmp_path):
    estimator, path = kind().fit(X, targets_of(kind)), tmp_path / "model.amf"
    header, arrays = estimator._to_file()
    for entry in (header, header["fitted"], header["fitted"]["model"]):
        seed = entry["parameters"].get("seed")  # has no default
        entry["parameters"] = {} if seed is None else {"seed": seed}
    del header["parameters"], header["fitted"]["parameters"]
    del header["fitted"]["names"]
    header["fitted"].pop("has_all_classes", None)
    entries = {"river_amf": "0.1", "kind": kind._file_kind, "model": header}
    with path.open("wb") as file:
        container.write(file, entries, arrays)
    assert (answers(river_amf.load(path), X) == answers(estimator, X)).all()
    river_amf.load(path).save(path)
    with path.open("rb") as file:
        assert container.read(file)[0]["model"] == estimator._to_file()[0]


def forget(header, arrays):
    header["fitted"]["model"] = {"parameters": header["fitted"]["model"]["parameters"]}
    header["fitted"]["model"] |= {"labels": [], "features": []}
    arrays.clear()


def add_class(header, _):
    header["fitted"]["classes"].append(["str", "wide"])


def add_array(_, arrays):
    arrays["counts"] = np.zeros((1, 1, 3))


@pytest.mark.parametrize(
    ("is_fitted", "edit", "message"),
    [
        (True, forget, "learned nothing"),
        (True, add_class, "number of classes"),
        (False, add_array, "entries ['counts']"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(is_fitted, edit, message, tmp_path):
    estimator = FOREST(n_classes=3)
    if is_fitted:
        estimator.fit(X, Y)
    assert message in error_of_edited(estimator, edit, tmp_path / "model.amf")


# The module


@pytest.mark.slow
def test_without_scikit_learn_the_package_works_and_the_module_says_what_to_install():
    result = run(
        "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.base'] = None;"
        "import river_amf; river_amf.AMFClassifier().learn_one({'a': 1}, 'b');"
        "import river_amf.sklearn"
    )
    *_, last = result.stderr.splitlines()
    assert last.startswith("ImportError:")
    assert last.endswith('pip install "scikit-learn>=1.6"')


@pytest.mark.slow
def test_a_file_brings_the_module_that_it_needs(tmp_path):
    path = str(tmp_path / "model.amf")
    FOREST().fit(X, Y).save(path)
    result = run(f"import river_amf; print(type(river_amf.load({path!r})).__module__)")
    assert result.stdout.strip() == "river_amf.sklearn.classifiers", result.stderr
    result = run(
        "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.base'] = None;"
        f"import river_amf; river_amf.load({path!r})"
    )
    assert result.stderr.strip().endswith('pip install "scikit-learn>=1.6"')


@pytest.mark.slow
def test_no_check_is_skipped_where_scipy_takes_all_arrays():
    result = run(
        "from sklearn.utils.estimator_checks import check_estimator;"
        "from river_amf.sklearn import *;"
        "kinds = AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier;"
        "kinds += AMFRegressor, AdaptiveAMFRegressor;"
        "done = [check for kind in kinds for check in check_estimator(kind(), on_skip=None)];"
        "print(len(done) > 250, *{check['status'] for check in done})",
        SCIPY_ARRAY_API="1",
    )
    assert result.stdout.split() == ["True", "passed"], result.stderr


def test_the_public_names_are_the_estimators():
    classifiers = {"AMFClassifier", "AdaptiveAMFClassifier", "OnlineDummyClassifier"}
    assert {*face.__all__} == classifiers | {"AMFRegressor", "AdaptiveAMFRegressor"}


# Masked arrays and odd weights


def masked_toy(mask):
    """Return an estimator that has learned, and rows with values behind a mask."""
    rng = np.random.default_rng(3)
    X = rng.random((40, 2))
    model = AMFClassifier(n_estimators=2, random_state=1).partial_fit(X, X[:, 0] > 0.5)
    return model, np.ma.array(X[:3], mask=mask)


def test_masked_values_are_missing():
    model, X = masked_toy([[0, 0], [0, 1], [1, 0]])
    expected = model.predict_proba(X.filled(np.nan))
    for rows in (X, list(X), X.astype(object), X.tolist()):
        np.testing.assert_array_equal(model.predict_proba(rows), expected)
    twin = pickle.loads(pickle.dumps(model))
    model.partial_fit(X, [True, False, True])
    twin.partial_fit(X.filled(np.nan), [True, False, True])
    assert pickle.dumps(model.model_) == pickle.dumps(twin.model_)
    integers = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    expected = model.predict_proba([[1, None], [3, 4]])
    np.testing.assert_array_equal(model.predict_proba(integers), expected)


def assert_refused_by_partial_fit(model, error, word, X, y, **more):
    """Check the error, and that the estimator is as it was."""
    before = pickle.dumps(model)
    with pytest.raises(error, match=word):
        model.partial_fit(X, y, **more)
    assert pickle.dumps(model) == before


def test_masked_labels_and_weights_are_refused():
    model, X = masked_toy(np.ma.nomask)
    good, mask = [True, False, True], [0, 0, 1]
    for y in (np.ma.array(good, mask=mask), [True, False, np.ma.masked]):
        assert_refused_by_partial_fit(model, ValueError, "y has a masked label", X, y)
        with pytest.raises(ValueError, match="masked"):
            OnlineDummyClassifier().fit(X, y)
    classes = {"classes": np.ma.array(good, mask=mask)}
    assert_refused_by_partial_fit(model, ValueError, "masked", X, good, **classes)
    for w in (np.ma.array([1.0] * 3, mask=mask), [1.0, 1.0, np.ma.masked]):
        more = {"sample_weight": w}
        assert_refused_by_partial_fit(model, ValueError, "masked weight", X, good, **more)
    model.partial_fit(X, np.ma.array(good), sample_weight=np.ma.array([1.0] * 3))


def test_weights_that_are_complex_or_times_are_refused():
    model, X = masked_toy(np.ma.nomask)
    weights = [[1, 1, 1j], np.array([1, 1, 1], complex), np.array([1, 1, 1], "m8[s]")]
    for w in [*weights, np.array([1, 1, 1], "M8[s]")]:
        more = {"sample_weight": w}
        error = (TypeError, ValueError)
        assert_refused_by_partial_fit(model, error, "weight|omplex", X, [True] * 3, **more)


def test_durations_are_no_numbers_among_labels():
    rng = np.random.default_rng(3)
    X = rng.random((4, 2))
    model = AMFClassifier(n_estimators=2, random_state=1).partial_fit(X, [0, 1, 0, 1])
    for dtype in ("m8[s]", "M8[s]"):
        y = np.array([1, 2, 1, 2], dtype)
        assert_refused_by_partial_fit(model, ValueError, "all strings or all numbers", X, y)


# What scikit-learn's forests have


@every_classifier
def test_log_probabilities_are_the_logarithms_of_the_probabilities(kind):
    estimator = kind().partial_fit(X, Y, classes=["broad", "deep", "never", "tall"])
    log_proba = estimator.predict_log_proba(X)
    assert (log_proba[:, 2] == -np.inf).all()
    np.testing.assert_array_equal(np.exp(log_proba[:, 2]), 0.0)
    np.testing.assert_allclose(np.exp(log_proba), estimator.predict_proba(X), rtol=1e-12)
    with pytest.raises(NotFittedError):
        kind().predict_log_proba(X)


@every_forest
def test_importances_of_features_are_the_decrease_of_impurity_by_column(kind):
    columns, _ = mixed_columns()
    targets = [10.0 * (color == "red") for color in columns["color"]]
    estimator = kind(random_state=1).fit(pd.DataFrame(columns), targets)
    importances = estimator.feature_importances_
    assert importances.shape == (estimator.n_features_in_,)
    assert importances.sum() == pytest.approx(1.0) and (importances >= 0.0).all()
    assert estimator.feature_names_in_[importances.argmax()] == "color"
    assert importances[list(columns).index("all gone")] == 0.0
    table = inspection.feature_importance(estimator)
    np.testing.assert_array_equal(importances[:5], table["impurity"].reindex(list(columns)[:5]))
    assert SelectFromModel(estimator, prefit=True).get_support().tolist().count(True) >= 1


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_scikit_learn_measures_permutation_importance(kind):
    X = np.random.default_rng(1).random((200, 2))
    estimator = kind(random_state=1).fit(X, X[:, 1] > 0.5)
    noise, signal = permutation_importance(estimator, X, X[:, 1] > 0.5).importances_mean
    assert signal > 0.3 > 0.05 > noise


def test_there_are_no_importances_before_training_or_of_a_dummy():
    assert not hasattr(AMFClassifier(), "feature_importances_")
    with pytest.raises(NotFittedError):
        _ = AMFClassifier().feature_importances_
    assert not hasattr(OnlineDummyClassifier().fit(X, Y), "feature_importances_")
    for forest in (AMFClassifier(), AMFRegressor()):
        assert forest.fit([[1.0, 2.0]], [1]).feature_importances_.tolist() == [0.0, 0.0]


def test_a_feature_whose_kind_is_open_has_no_importance_yet():
    table = pd.DataFrame({"temp": ["N/A"] * 20, "size": [*range(20)]}).astype({"temp": object})
    estimator = AMFClassifier(random_state=1, on_mismatch="missing", class_weight="balanced")
    estimator.fit(table, [i > 9 for i in range(20)])
    assert estimator.feature_importances_.tolist() == [0.0, 1.0]


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


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS.values(), ids=CLASS_WEIGHTS)
def test_weights_of_classes_are_weights_of_rows(class_weight):
    rows, labels = skewed()
    estimator = FOREST(class_weight=class_weight).fit(rows, labels)
    weights = compute_sample_weight(
        class_weight if class_weight == "balanced" else {"usual": 1.0} | class_weight, labels
    )
    twin = learn_rows(river_twin(estimator), rows_of(rows), labels, weights)
    assert_same(estimator, twin, rows, rows_of(rows))
    plain = FOREST().fit(rows, labels)
    assert (estimator.predict(rows) == "rare").sum() > (plain.predict(rows) == "rare").sum()


def test_partial_fit_multiplies_weights_of_classes_by_those_of_rows():
    estimator = FOREST(class_weight={"tall": 2.0, "deep": 0.0})
    for start in range(0, len(Y), 57):
        part = slice(start, start + 57)
        estimator.partial_fit(X[part], Y[part], sample_weight=WEIGHTS[part])
    factors = np.array([{"tall": 2.0, "deep": 0.0}.get(label, 1.0) for label in Y])
    twin = learn_rows(river_twin(estimator), rows_of(X), Y, WEIGHTS * factors)
    assert estimator.classes_.tolist() == ["broad", "tall"]
    assert_same(estimator, twin, X, rows_of(X))


def test_weights_of_classes_may_change_between_blocks():
    estimator = FOREST().partial_fit(X[:200], Y[:200])
    estimator.set_params(class_weight={"tall": 3.0}).partial_fit(X[200:], Y[200:])
    weights = np.where((Y == "tall") & (np.arange(len(Y)) >= 200), 3.0, 1.0)
    assert_same(estimator, learn_rows(river_twin(estimator), rows_of(X), Y, weights), X, rows_of(X))


BAD_CLASS_WEIGHTS = [
    ("heavy", "'class_weight' .* must be an instance of 'dict', .*'balanced'.* Got 'heavy'"),
    ([1.0, 2.0], "'class_weight' .* must be an instance of 'dict', .*Got \\[1.0, 2.0\\]"),
    ({"tall": "2"}, "class_weight of 'tall': w must be a finite number .*, got '2' of type str"),
    ({"tall": -1.0}, "of 'tall': w must .* between 0 and 1e\\+300, got -1.0"),
    ({"tall": np.nan}, "of 'tall': w must .*, got nan"),
    ({"tall": 10**400}, "of 'tall': w must .*, got 10+"),
    ({"Tall": 2.0}, "classes, \\['broad', 'deep', 'tall'\\], are not in class_weight"),
    (dict.fromkeys(["tall", "broad", "deep"], 0.0), "or class_weight is"),
]


@pytest.mark.parametrize(("class_weight", "message"), BAD_CLASS_WEIGHTS)
def test_bad_weights_of_classes_are_refused(class_weight, message):
    estimator = FOREST(class_weight=class_weight)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)
    with pytest.raises(ValueError, match=message):
        estimator.partial_fit(X, Y, classes=["broad", "deep", "tall"])
    assert not hasattr(estimator, "model_")


def test_weights_whose_product_is_too_large_are_refused():
    estimator = FOREST(class_weight={"tall": 1e300}).partial_fit(X, Y, sample_weight=WEIGHTS / 1e9)
    more = {"sample_weight": np.full(len(Y), 1e300)}
    assert_refused_by_partial_fit(estimator, ValueError, "w must be a finite", X, Y, **more)


def test_balanced_weights_are_refused_by_partial_fit():
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows at once"):
        FOREST(class_weight="balanced").partial_fit(X, Y)
    estimator = FOREST(class_weight="balanced").fit(X, Y)
    assert_refused_by_partial_fit(estimator, ValueError, "balanced", X, Y)


def test_a_fold_without_a_class_that_has_a_weight_is_fine():
    weights = {"tall": 2.0, "broad": 1.0, "deep": 1.0}
    FOREST(class_weight=weights).fit(X[Y != "tall"], Y[Y != "tall"])


@pytest.mark.parametrize("class_weight", [*CLASS_WEIGHTS.values(), {7: 2.0, True: 1}, {}])
@pytest.mark.parametrize("has_learnt", [False, True])
def test_a_file_keeps_the_weights_of_classes(class_weight, has_learnt, tmp_path):
    estimator = FOREST(class_weight=class_weight)
    if has_learnt:
        rows, labels = skewed()
        estimator.set_params(class_weight=None).partial_fit(rows, labels)
        estimator.set_params(class_weight=class_weight)
    estimator.save(tmp_path / "model.amf")
    twin = AMFClassifier.load(tmp_path / "model.amf")
    assert twin.get_params() == estimator.get_params()
    assert clone(twin).class_weight == class_weight
    if has_learnt and isinstance(class_weight, dict) and 7 not in class_weight:
        for each in (estimator, twin):
            each.partial_fit(rows, labels)
        np.testing.assert_array_equal(twin.predict_proba(rows), estimator.predict_proba(rows))


@pytest.mark.parametrize(
    "entry",
    [
        3,
        {},
        {"classes": ["a"]},
        {"classes": ["a"], "weights": []},
        {"classes": ["a", "a"], "weights": [1.0, 1.0]},
        {"classes": ["a"], "weights": [-1.0]},
        {"classes": ["a"], "weights": ["1"]},
        {"classes": ["a"], "weights": [1.0], "more": 1},
    ],
)
def test_a_file_with_unsound_weights_of_classes_is_refused(entry, tmp_path):
    estimator = FOREST(class_weight={"a": 1.0})
    path = tmp_path / "model.amf"
    error_of_edited(estimator, lambda header, _: header.update(class_weight=entry), path)


# Pictures of estimators


def test_pictures_take_estimators_as_well_as_their_forests():
    estimator = AMFClassifier(2, random_state=1).fit(X[:, :2], Y)
    for draw in (plot.tree, lambda model, ax: plot.decision_surface(model, resolution=9, ax=ax)):
        ours, theirs = Figure().subplots(1, 2)
        draw(estimator, ax=ours)
        draw(estimator.model_, ax=theirs)
        assert [text.get_text() for text in ours.texts] == [t.get_text() for t in theirs.texts]
        for image, other in zip(ours.images, theirs.images, strict=True):
            np.testing.assert_array_equal(image.get_array(), other.get_array())
        with pytest.raises(NotFittedError):
            draw(AMFClassifier(), ax=ours)
