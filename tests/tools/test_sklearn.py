"""Estimators for scikit-learn: bit for bit like river's classes; all of scikit-learn's checks."""

import inspect
import itertools
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from estimators import (
    CLASS_WEIGHTS,
    CLASSIFIERS,
    LIBRARIES,
    REGRESSORS,
    WEIGHTS,
    X,
    Y,
    answers,
    as_seen,
    assert_refused,
    assert_same,
    both_kinds,
    checks_of,
    every_forest,
    every_kind,
    learn_rows,
    libraries,
    mixed_columns,
    of_each_task,
    river_twin,
    rows_of,
    run,
    skewed,
    small,
    sparse_block,
    targets_of,
)
from sklearn import datasets
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

import river_amf
from river_amf import date_features, inspection
from river_amf.sklearn import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
)

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
    AdaptiveAMFClassifier(n_estimators=3, vote="mean", random_state=1, shuffle=False),
    AMFClassifier(n_estimators=3, absent="zero", random_state=1),
    OnlineDummyClassifier(10, dirichlet=1.0),
    AMFRegressor(3, max_nodes=41, n_jobs=2, random_state=np.random.RandomState(5)),
]
OF_SETTINGS = """
    estimator_cloneable estimator_repr get_params_invariance set_params dict_unchanged
    fit_idempotent estimators_pickle classifiers_train classifiers_classes classifiers_one_label
    regressors_train methods_sample_order_invariance methods_subset_invariance n_features_in
    estimator_sparse_tag estimator_sparse_array estimator_sparse_matrix
"""
OF_SETTINGS = {f"check_{name}" for name in OF_SETTINGS.split()}
# the fast lane skips the adaptive forests, which only inherit
SLOW = AdaptiveAMFClassifier, AdaptiveAMFRegressor
ALL_CHECKS = [*checks_of(AS_THEY_ARE, SLOW), *checks_of(VARIANTS_CHECKED, SLOW, OF_SETTINGS)]


@pytest.mark.parametrize(("estimator", "check"), ALL_CHECKS)
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


@pytest.mark.soak
def test_no_other_check_fails_or_is_skipped_where_scipy_takes_all_arrays():
    result = run(
        "from sklearn.utils.estimator_checks import check_estimator;"
        "from river_amf.sklearn import *;"
        "kinds = AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier;"
        "kinds += AMFRegressor, AdaptiveAMFRegressor;"
        "done = [c for k in kinds for c in check_estimator(k(), on_skip=None, on_fail=None)];"
        "print(len(done) > 250, *{c['check_name'] for c in done if c['status'] != 'passed'})",
        SCIPY_ARRAY_API="1",
    )
    expected = ["True", "check_sample_weight_equivalence_on_dense_data"]
    assert result.stdout.split() == expected, result.stderr


# Bit for bit like the river classes


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
    "dummy": (OnlineDummyClassifier, {}),
    "dummy with classes": (OnlineDummyClassifier, {"n_classes": 7, "dirichlet": 0.3}),
}


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS.values(), ids=VARIANTS)
def test_fit_predicts_as_river_s_model_row_by_row_with_and_without_weights(kind, parameters):
    assert has_fit_parameter(kind(), "sample_weight")
    for weights in (None, WEIGHTS):
        estimator = small(kind, **parameters).fit(X, targets_of(kind), weights)
        twin = learn_rows(river_twin(estimator), rows_of(X), targets_of(kind), weights)
        assert_same(estimator, twin, X, rows_of(X))


@pytest.mark.parametrize(
    ("variant", "size"),
    [("default", size) for size in (1, 7, 100, 1000)]
    + [("regressor", 400), ("dummy with classes", 9)]
    + [(variant, 30) for variant in VARIANTS if variant != "default"],
)
def test_the_cuts_of_partial_fit_do_not_matter_and_weights_count(variant, size):
    kind, parameters = VARIANTS[variant]
    y = targets_of(kind)
    estimator = small(kind, **parameters)
    for start in range(0, len(Y), size):
        part = slice(start, start + size)
        if start > 0 or WEIGHTS[part].any():
            estimator.set_params(**{} if kind is OnlineDummyClassifier else {"shuffle": True})
            estimator.partial_fit(X[part], y[part], sample_weight=WEIGHTS[part])
    twin = learn_rows(river_twin(estimator), rows_of(X), y, WEIGHTS)
    assert_same(estimator, twin, X, rows_of(X))


# The order of rows


SORTED = {"wine": (AdaptiveAMFClassifier, 0.95), "diabetes": (AdaptiveAMFRegressor, 0.4)}


@pytest.mark.parametrize("name", SORTED)
def test_rows_sorted_by_their_target_are_learned_in_random_order(name):
    kind, least = SORTED[name]
    rows, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.argsort(y, kind="stable")
    rows, y = rows[order], y[order]
    assert kind(random_state=1).fit(rows, y).score(rows, y) > least
    assert kind(random_state=1, shuffle=False).fit(rows, y).score(rows, y) < 0.5


@every_forest
def test_the_order_is_drawn_from_random_state_apart_from_the_forest_s_seed(kind):
    y = targets_of(kind)
    estimator = small(kind, shuffle=True).fit(X, y, WEIGHTS)
    order = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0,))).permutation(len(y))
    twin = learn_rows(river_twin(estimator), rows_of(X[order]), y[order], WEIGHTS[order])
    assert_same(estimator, twin, X, rows_of(X))
    assert estimator.model_.seed == 3
    np.testing.assert_array_equal(
        answers(estimator, X), answers(clone(estimator).fit(X, y, WEIGHTS), X)
    )
    other = small(kind, shuffle=True, random_state=4).fit(X, y, WEIGHTS)
    assert (answers(other, X) != answers(estimator, X)).any()


@every_forest
def test_an_index_of_pandas_means_nothing(kind):
    y, order = targets_of(kind), range(len(X))[::-1]
    found = small(kind).fit(pd.DataFrame(X), pd.Series(y, order), pd.Series(WEIGHTS, order))
    expected = small(kind).fit(pd.DataFrame(X), y, WEIGHTS)
    np.testing.assert_array_equal(answers(found, X), answers(expected, X))


@libraries
def test_dataframes_and_sparse_matrices_are_shuffled_as_arrays_are(frame):
    expected = small(shuffle=True).fit(X, Y).predict_proba(X)
    table = frame({f"x{j}": column for j, column in enumerate(X.T)})
    np.testing.assert_array_equal(small(shuffle=True).fit(table, Y).predict_proba(table), expected)
    counts, labels = sparse_block()
    found = [
        pickle.dumps(small(absent="zero", shuffle=True).fit(rows, labels).model_)
        for rows in (counts, counts.toarray())
    ]
    assert found[0] == found[1]


def test_an_error_names_the_row_of_the_caller_and_shuffle_is_checked():
    table = pd.DataFrame({"a": [*map(float, range(30)), []]}, dtype=object)
    estimator = small(shuffle=True).fit(X, Y)
    assert_refused(
        TypeError, "row 30: feature 'a'", lambda: estimator.fit(table, [0, 1] * 15 + [0]), estimator
    )
    for learn in (small(shuffle="no").fit, small(shuffle=None).partial_fit):
        with pytest.raises(ValueError, match="shuffle must be True or False"):
            learn(X, Y)


# Tables


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
    estimator = small(kind).fit(frame(columns), labels)
    twin = learn_rows(river_twin(estimator), rows, labels)
    assert_same(estimator, twin, frame(columns), rows)
    assert estimator.feature_names_in_.tolist() == list(columns)
    assert estimator.n_features_in_ == len(columns)


def test_columns_of_any_dtype_arrays_and_lists_of_objects_keep_their_values():
    columns, labels = mixed_columns()
    lists = [list(row) for row in zip(*columns.values(), strict=True)]
    array = np.empty((len(lists), len(columns)), object)
    array[:] = lists
    table = pd.DataFrame(columns).astype({"color": "category", "grade": "Int64"})
    texts = columns | {"grade": [str(grade) for grade in columns["grade"]]}
    numbered = [dict(enumerate(row)) for row in lists]
    colors = np.array([[str(color)] for color in columns["color"]])
    for given, rows in [
        (table, rows_of(columns)),
        (table.astype({"grade": "category"}), rows_of(texts)),
        (array, numbered),
        (lists, numbered),
        (colors, [{0: str(color)} for color in columns["color"]]),
    ]:
        estimator = small().fit(given, labels)
        assert_same(estimator, learn_rows(river_twin(estimator), rows, labels), given, rows)


@libraries
@of_each_task
def test_dates_become_their_numbers(kind, frame, tmp_path):
    days = pd.date_range("2024-01-01", periods=120)
    columns = {"day": days.to_list(), "size": np.arange(120) % 5, "day.": [1.0] * 120}
    y = np.where(days.day_of_week > 4, 2.0, 1.0) if kind is AMFRegressor else days.day_of_week > 4
    table = frame(columns)
    estimator = small(kind).fit(table, y)
    twin = small(kind).fit(date_features(pd.DataFrame(columns)), y)
    found = answers(estimator, table)
    np.testing.assert_array_equal(found, answers(twin, date_features(pd.DataFrame(columns))))
    assert estimator.feature_names_in_.tolist() == ["day", "size", "day."]
    importances = estimator.feature_importances_
    assert importances.shape == (3,) and importances.argmax() == 0
    assert importances.sum() == pytest.approx(1.0)
    estimator.save(tmp_path / "model.amf")
    loaded = river_amf.load(tmp_path / "model.amf")
    found = answers(loaded.partial_fit(table, y), table)
    np.testing.assert_array_equal(found, answers(estimator.partial_fit(table, y), table))


def test_dates_in_arrays_become_numbers_and_names_that_clash_are_refused():
    days = pd.date_range("2024-01-01", periods=30).to_numpy()
    weekend = pd.DatetimeIndex(days).day_of_week > 4
    assert small().fit(days[:, None], weekend).score(days[:, None], weekend) > 0.9
    table = pd.DataFrame({"day": days, "day.month": 1.0})
    with pytest.raises(ValueError, match="'day' is a date, of which a part would be named"):
        small().fit(table, weekend)


@libraries
def test_columns_without_known_names_are_told_by_position(frame):
    named = frame(dict(zip(["a", "b", "c", "d"], X.T, strict=True)))
    proba = small().fit(X, Y).predict_proba(X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(small().fit(X, Y).predict_proba(named), proba)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(small().fit(named, Y).predict_proba(X), proba)


def test_other_features_are_refused_in_scikit_learn_s_words():
    named, plain = small().fit(pd.DataFrame(X, columns=list("abcd")), Y), small().fit(X, Y)
    for estimator, table, message in [
        (named, pd.DataFrame(X, columns=list("abce")), "feature names should match"),
        (named, pd.DataFrame(X, columns=list("abdc")), "must be in the same order"),
        (plain, X[:, :3], "X has 3 features, but AMFClassifier is expecting 4"),
        (plain, [["x", 1.0, 1.0, 1.0]] * len(Y), "row 0: feature 0 has held numbers so far, got"),
    ]:
        assert_refused(ValueError, message, partial(estimator.predict, table), estimator)
        assert_refused(ValueError, message, partial(estimator.partial_fit, table, Y), estimator)


# The dummy


def test_the_label_seen_first_is_predicted_in_a_tie_and_of_a_dummy_the_first_of_classes():
    forest = small().fit([[1.0], [1.0]], ["b", "a"])
    assert forest.predict_proba([[1.0]]).tolist() == [[0.5, 0.5]]
    assert forest.predict([[1.0]]).tolist() == ["b"] == [forest.model_.predict_one({0: 1.0})]
    assert OnlineDummyClassifier().fit([[1.0], [1.0]], ["b", "a"]).predict([[1]]) == ["a"]


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_a_dummy_takes_bags_of_words(kind):
    words = kind(np.eye(len(X)))
    estimator = OnlineDummyClassifier().fit(words, Y).partial_fit(words, Y)
    dense = OnlineDummyClassifier().fit(X, Y).partial_fit(X, Y)
    assert np.array_equal(estimator.predict_proba(words), dense.predict_proba(X))
    with pytest.raises(ValueError, match="features"):
        estimator.predict(words.tocsr()[:, :3])


# Parameters


@every_kind
def test_parameters_and_defaults_are_those_of_river_s_class(kind):
    ours = inspect.signature(kind).parameters
    theirs = inspect.signature(getattr(river_amf, kind.__name__)).parameters
    expected = {"random_state" if name == "seed" else name: p.default for name, p in theirs.items()}
    expected |= {"class_weight": None} if issubclass(kind, AMFClassifier) else {}
    expected |= {} if kind is OnlineDummyClassifier else {"shuffle": True}
    assert {name: p.default for name, p in ours.items()} == expected
    assert list(ours) == list(expected)
    assert issubclass(kind, RegressorMixin if kind in REGRESSORS else ClassifierMixin)
    assert issubclass(kind, BaseEstimator)
    first = next(iter(expected))
    assert kind(2).get_params()[first] == 2  # as in scikit-learn's forests
    if kind is not OnlineDummyClassifier:
        with pytest.raises(TypeError, match="positional"):
            kind(2, 0.5)


BAD_PARAMETERS = {"n_classes": 0, "n_estimators": 2.5, "step": -1.0, "split_prior": 1.0}
BAD_PARAMETERS |= {"vote": "loud", "n_jobs": 0}


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


def test_a_seed_is_an_integer_or_drawn_whenever_training_starts():
    for seed in (-1, True, "x", 1.5, np.random.default_rng(1)):
        with pytest.raises(ValueError, match=r"must be an integer >= 0|cannot be used to seed"):
            AMFClassifier(random_state=seed).fit(X, Y)
    draws = np.random.RandomState(5)
    expected = [int(draws.randint(np.iinfo(np.int32).max)) for _ in range(2)]
    estimator = AMFClassifier(n_estimators=1, random_state=np.random.RandomState(5))
    assert [estimator.fit(X, Y).model_.seed for _ in range(2)] == expected
    assert estimator.partial_fit(X, Y).model_.seed == expected[1]
    pickle.loads(pickle.dumps(estimator)).partial_fit(X, Y)
    seeds = []
    for _ in range(2):
        np.random.seed(5)  # noqa: NPY002
        seeds.append(AMFClassifier(n_estimators=1).fit(X, Y).model_.seed)
    assert seeds == expected[:1] * 2


CHANGES = [("n_classes", 5), ("n_estimators", 4), ("max_nodes", 100), ("use_aggregation", False)]
CHANGES += [("vote", "learned"), ("random_state", 4)]
ODD_CHANGES = [("step", np.array([1.0, 2.0])), ("vote", None)]
ODD_CHANGES += [("random_state", np.random.RandomState(3))]


@pytest.mark.parametrize(("name", "value"), CHANGES + ODD_CHANGES)
def test_a_changed_parameter_is_refused_by_partial_fit_and_taken_by_fit(name, value):
    estimator = small().partial_fit(X, Y)
    old = estimator.get_params()[name]
    estimator.set_params(**{name: value})
    call = partial(estimator.partial_fit, X, Y)
    assert_refused(ValueError, f"{name} was changed from {old!r} to .* call fit", call, estimator)
    estimator.set_params(**{name: old}).partial_fit(X, Y)
    if (name, value) in CHANGES:
        twin = small(**{name: value}).fit(X, Y)
        assert as_seen(estimator.set_params(**{name: value}).fit(X, Y)) == as_seen(twin)


# Classes


OF_ANY_TYPE = [
    [3, -1, 3],
    [True, False, True],
    [2.0, 1.0, 2.0],
    ["b", "a", "b"],
    np.array(["long", "b", "long"], object),
    pd.Series(["b", "a", "b"]),
    pd.Series(["b", "a", "b"], dtype="category"),
    pd.Series([5, 4, 5], dtype="Int64"),
]


@both_kinds
def test_labels_of_any_type_come_back(kind):
    for labels in OF_ANY_TYPE:
        estimator = kind().fit([[1.0], [9.0], [1.0]], labels)
        assert estimator.predict([[1.0]]).tolist() == list(labels)[:1], labels
        assert estimator.classes_.tolist() == sorted(set(labels)), labels


@both_kinds
def test_given_classes_are_the_columns_from_the_start(kind):
    estimator = kind().partial_fit([[1.0]], ["b"], classes=["c", "a", "b", "a"])
    assert estimator.classes_.tolist() == ["a", "b", "c"]
    assert estimator.predict_proba([[1.0]]).tolist() == [[0.0, 1.0, 0.0]]
    estimator.partial_fit([[2.0]], ["c"], classes=["a", "b", "c"])
    for labels, classes in [(["d"], None), (["a"], ["a", "b"]), (["a"], ["a", "b", "c", "d"])]:
        call = partial(estimator.partial_fit, [[3.0]], labels, classes=classes)
        assert_refused(ValueError, "classes", call, estimator)
    for classes in ([], 2, "ab", [["a"], ["b"]], [1, 2]):
        call = partial(kind().partial_fit, X, Y, classes=classes)
        assert_refused(ValueError, r"classes must be|all strings or all numbers", call)


@both_kinds
def test_without_given_classes_more_may_come_and_be_given_late(kind):
    estimator = kind().partial_fit([[1.0], [2.0]], ["m", "m"])
    assert estimator.predict_proba([[1.0]]).tolist() == [[1.0]]
    estimator.partial_fit([[3.0], [4.0]], ["z", "a"])
    assert estimator.classes_.tolist() == ["a", "m", "z"]
    assert (estimator.predict_proba([[1.0]]) > 0).all()
    for labels, classes, message in [
        (["a"], ["a", "b"], r"must include those in .*\['a', 'm', 'z'\], got \['a', 'b'\]"),
        ([1], None, r"all strings or all numbers, got \[1\] in addition to \["),
    ]:
        call = partial(estimator.partial_fit, [[1.0]], labels, classes=classes)
        assert_refused(ValueError, message, call, estimator)
    estimator.partial_fit([[1.0]], ["a"], classes=["a", "b", "m", "z"])
    with pytest.raises(ValueError, match=r"y has the labels \['c'\].* \['a', 'b', 'm', 'z'\]"):
        estimator.partial_fit([[1.0]], ["c"])


def test_labels_equal_in_value_are_one_class_whatever_their_type():
    estimator = small().partial_fit([[1.0], [2.0]], [1, 0])
    estimator.partial_fit([[1.0], [2.0]], [1.0, 0.0]).partial_fit([[1.0]], [True])
    assert estimator.classes_.dtype.kind == "i"
    estimator.partial_fit([[1.0]], [2.0])
    assert estimator.classes_.tolist() == [0, 1, 2]
    for known in ([1, 2], [True]):
        with pytest.raises(ValueError, match="all strings or all numbers"):
            OnlineDummyClassifier().partial_fit(X[: len(known)], known).partial_fit(X[:1], ["a"])
    for dtype in ("m8[s]", "M8[s]"):  # nor are durations numbers
        call = partial(estimator.partial_fit, [[1.0]] * 2, np.array([1, 2], dtype))
        assert_refused(ValueError, "all strings or all numbers", call, estimator)


@both_kinds
def test_one_label_more_than_n_classes_is_refused(kind):
    with pytest.raises(ValueError, match="label 'deep' would be class number 3, but n_classes=2"):
        small(kind, n_classes=2).fit(X[:3], ["tall", "broad", "deep"])
    with pytest.raises(ValueError, match=r"classes has 3 labels, .* n_classes=2"):
        kind(n_classes=2).partial_fit(X[:1], ["tall"], classes=["tall", "broad", "deep"])
    estimator = small(kind, n_classes=2).fit(X[:2], ["tall", "broad"])
    assert estimator.predict_proba(X).shape == (len(X), 2)
    call = partial(estimator.partial_fit, X[:2], ["tall", "deep"])
    assert_refused(ValueError, "label 'deep' would be class number 3", call, estimator)
    assert hasattr(estimator, "save") == (kind is AMFClassifier)  # pickles are a dummy's only files


# Rejected input leaves no trace


ONE, TWO = ["tall"], ["tall", "new"]
BAD_CALLS = {
    "infinity": (np.array([[np.inf] * 4]), ONE, None),
    "infinity in a list": ([[np.inf] * 4], ONE, None),
    "something unhashable": (np.array([[{}, 1.0, 1.0, 1.0]]), ONE, None),
    "one dimension": (np.ones(4), ONE, None),
    "no rows": (np.ones((0, 4)), [], None),
    "no rows in a dataframe": (pd.DataFrame(X).head(0), [], None),
    "no columns": (pd.DataFrame(index=[0]), ONE, None),
    "sparse": (scipy.sparse.csr_array(np.ones((1, 4))), ONE, None),
    "complex": (np.ones((1, 4)) * 1j, ONE, None),
    "two of a name": (pd.DataFrame(X[:1], columns=list("abca")), ONE, None),
    "other lengths": (X[:2], ONE, None),
    "a missing label": (X[:2], np.array(["tall", None], object), None),
    "a NaN label": (X[:2], [1.0, np.nan], None),
    "mixed labels": (X[:2], np.array(["tall", 1], object), None),
    "a regression": (X[:2], [0.5, 1.5], None),
    "two targets": (X[:2], [[0, 1], [1, 0]], None),
    "no target": (X[:2], None, None),
    "a masked label": (X[:2], np.ma.array(TWO, mask=[0, 1]), None),
    "a masked label in a list": (X[:2], ["tall", np.ma.masked], None),
    "a negative weight": (X[:2], TWO, [1.0, -1.0]),
    "a huge weight": (X[:2], TWO, [1.0, 1e301]),
    "a NaN weight": (X[:2], TWO, [1.0, np.nan]),
    "other weights": (X[:2], TWO, [1.0]),
    "weights in a table": (X[:2], TWO, [[1.0], [1.0]]),
    "a masked weight": (X[:2], TWO, np.ma.array([1.0, 1.0], mask=[0, 1])),
    "a masked weight in a list": (X[:2], TWO, [1.0, np.ma.masked]),
    "a complex weight": (X[:2], TWO, [1, 1j]),
    "durations as weights": (X[:2], TWO, np.array([1, 1], "m8[s]")),
    "dates as weights": (X[:2], TWO, np.array([1, 1], "M8[s]")),
}
MASKED_CLASSES = {"classes": np.ma.array(["a", "tall"], mask=[1, 0])}


@pytest.mark.parametrize(("table", "labels", "weights"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_refused_block_leaves_the_estimator_as_it_was(table, labels, weights):
    for estimator in (small(), small(shuffle=True).fit(X, Y)):
        for learn in (estimator.fit, estimator.partial_fit):
            call = partial(learn, table, labels, sample_weight=weights)
            assert_refused((TypeError, ValueError), None, call, estimator)
    assert_refused(ValueError, "masked", partial(estimator.partial_fit, X, Y, **MASKED_CLASSES))
    if "masked" in str(table) + str(labels):
        with pytest.raises(ValueError, match="y has a masked label"):
            OnlineDummyClassifier().fit(table, labels)


def test_masked_values_are_missing():
    model = small().fit(X[:, :2], X[:, 0] > 0.5)
    masked = np.ma.array(np.nan_to_num(X[:3, :2]), mask=[[0, 0], [0, 1], [1, 0]])
    expected = model.predict_proba(masked.filled(np.nan))
    for rows in (masked, list(masked), masked.astype(object), masked.tolist()):
        np.testing.assert_array_equal(model.predict_proba(rows), expected)
    twin = pickle.loads(pickle.dumps(model))
    y, weights = np.ma.array([True, False, True]), np.ma.array([1.0] * 3)
    model.partial_fit(masked, y, sample_weight=weights)
    twin.partial_fit(masked.filled(np.nan), [True, False, True])
    assert pickle.dumps(model.model_) == pickle.dumps(twin.model_)
    integers = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    expected = model.predict_proba([[1, None], [3, 4]])
    np.testing.assert_array_equal(model.predict_proba(integers), expected)


@of_each_task
def test_the_first_block_needs_a_weight_and_a_later_one_may_have_none(kind):
    estimator, y = small(kind), targets_of(kind)
    for learn in (estimator.fit, estimator.partial_fit):
        with pytest.raises(ValueError, match=r"sample_weight is zero everywhere.*in the first"):
            learn(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    model = pickle.dumps(estimator.fit(pd.DataFrame(X).add_prefix("x"), y).model_)
    estimator.partial_fit(pd.DataFrame(X).add_prefix("x"), y, sample_weight=np.zeros(len(y)))
    assert pickle.dumps(estimator.model_) == model
    call = partial(estimator.fit, np.full((3, 2), np.inf), [0, 1, 2])
    assert_refused(ValueError, "infinity", call, estimator)  # the old forest stays


@of_each_task
def test_a_column_of_targets_is_taken_with_a_warning(kind):
    y = targets_of(kind)
    with pytest.warns(DataConversionWarning):
        estimator = small(kind).fit(X, y[:, None])
    np.testing.assert_array_equal(estimator.predict(X), small(kind).fit(X, y).predict(X))


# Sparse matrices


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_sparse_matrices_are_what_they_hold(kind, tmp_path):
    counts, labels = sparse_block()
    estimators = [small(kind, absent="zero").fit(counts, labels)]
    for convert in (np.asarray, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
        estimator = small(kind, absent="zero")
        for rows in (slice(0, 50), slice(50, None)):
            estimator.partial_fit(convert(counts[rows].toarray()), labels[rows])
        estimators.append(estimator)
    contents = [pickle.dumps(estimator) for estimator in estimators]
    assert contents == contents[:1] * 4
    proba = estimators[0].predict_proba(counts)
    assert (estimators[0].predict_proba(counts.toarray()) == proba).all()
    model = river_twin(estimators[0])
    model.learn_many(counts, labels)
    assert (model.predict_proba_many(counts)[estimators[0].classes_].to_numpy() == proba).all()
    estimators[0].save(tmp_path / "model.amf")
    assert (kind.load(tmp_path / "model.amf").predict_proba(counts) == proba).all()
    names = [f"word {k}" for k in range(counts.shape[1])]
    frame = pd.DataFrame.sparse.from_spmatrix(counts, columns=names)
    named = small(kind, absent="zero").fit(frame, labels)
    assert (named.predict_proba(frame) == proba).all()
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert (named.predict_proba(counts) == proba).all()


def test_a_sparse_matrix_is_refused_with_advice_unless_absent_is_zero():
    counts, labels = sparse_block()
    for call in (small().fit, small().partial_fit):
        with pytest.raises(TypeError, match=r'sparse matrix, .*use absent="zero"'):
            call(counts, labels)
    estimator = small(absent="zero").fit(counts, labels)
    for bad, message in ((counts[:, :3], "expecting 40 features"), (counts * np.inf, "infinity")):
        with pytest.raises(ValueError, match=message):
            estimator.predict(bad)


# Inside scikit-learn


def test_pipelines_cross_validation_search_and_calibration():
    numbers, labels = shuffle(*datasets.load_iris(return_X_y=True), random_state=0)
    pipeline = make_pipeline(StandardScaler(), small())
    assert cross_val_score(pipeline, numbers, labels, cv=3).mean() > 0.9
    grid = {"amfclassifier__split_prior": [0.5, 0.9], "amfclassifier__shuffle": [False, True]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_log_loss").fit(numbers, labels)
    assert set(search.best_params_) == set(grid)
    assert search.score(numbers, labels) > -0.3
    for ensemble in (True, False):
        calibrated = CalibratedClassifierCV(small(), ensemble=ensemble, cv=3)
        assert calibrated.fit(numbers, labels).score(numbers, labels) > 0.9


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
    if kind in CLASSIFIERS:
        rows = np.random.default_rng(1).random((200, 2))
        estimator = kind(random_state=1).fit(rows, rows[:, 1] > 0.5)
        found = permutation_importance(estimator, rows, rows[:, 1] > 0.5).importances_mean
        assert found[1] > 0.3 > 0.05 > found[0]


# Weights of classes


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS.values(), ids=CLASS_WEIGHTS)
def test_weights_of_classes_are_weights_of_rows(class_weight):
    rows, labels = skewed()
    estimator = small(class_weight=class_weight).fit(rows, labels, WEIGHTS)
    is_dict = isinstance(class_weight, dict)
    given = {"usual": 1.0} | class_weight if is_dict else class_weight
    weights = compute_sample_weight(given, labels)
    twin = learn_rows(river_twin(estimator), rows_of(rows), labels, WEIGHTS * weights)
    assert_same(estimator, twin, rows, rows_of(rows))
    n_rare, n_plain = (
        (small(class_weight=each).fit(rows, labels).predict(rows) == "rare").sum()
        for each in (class_weight, None)
    )
    assert n_rare > n_plain


def test_partial_fit_multiplies_weights_of_classes_which_may_change_by_those_of_rows():
    estimator = small().partial_fit(X[:100], Y[:100])
    estimator.set_params(class_weight={"tall": 2.0, "deep": 0.0})
    for start in range(100, len(Y), 57):
        part = slice(start, start + 57)
        estimator.partial_fit(X[part], Y[part], sample_weight=WEIGHTS[part])
    factors = WEIGHTS * [{"tall": 2.0, "deep": 0.0}.get(label, 1.0) for label in Y]
    factors[:100] = 1.0
    twin = learn_rows(river_twin(estimator), rows_of(X), Y, factors)
    assert_same(estimator, twin, X, rows_of(X))
    weights = {"tall": 2.0, "broad": 1.0, "deep": 0.0}
    found = small(class_weight=weights).partial_fit(X, Y).classes_.tolist()
    assert found == ["broad", "tall"]  # a class of weight 0 is not seen
    small(class_weight=weights).fit(X[Y != "tall"], Y[Y != "tall"])  # nor need all be there


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
    estimator = small(class_weight=class_weight)
    for call in (estimator.fit, partial(estimator.partial_fit, classes=["broad", "deep", "tall"])):
        with pytest.raises(ValueError, match=message):
            call(X, Y)
    assert not hasattr(estimator, "model_")


def test_weights_whose_product_is_too_large_and_balanced_ones_of_parts_are_refused():
    estimator = small(class_weight={"tall": 1e300}).partial_fit(X, Y, sample_weight=WEIGHTS / 1e9)
    call = partial(estimator.partial_fit, X, Y, sample_weight=np.full(len(Y), 1e300))
    assert_refused(ValueError, "w must be a finite", call, estimator)
    for estimator in (small(class_weight="balanced"), small(class_weight="balanced").fit(X, Y)):
        call = partial(estimator.partial_fit, X, Y)
        assert_refused(ValueError, "'balanced' needs all rows at once", call, estimator)
