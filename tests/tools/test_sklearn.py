"""Estimators for scikit-learn: bit for bit like river's classes; all of scikit-learn's checks."""

import inspect
import pickle
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from forests import state_of
from sklearn import datasets
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import shuffle
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

import river_amf
from river_amf import date_features, inspection
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


# All checks run for each estimator with its defaults, and those that depend on settings of the
# estimator itself for other settings too; river's checks cover the forest's own parameters.
COMMON = {"max_nodes": 41, "n_jobs": 2, "random_state": np.random.RandomState(5)}
SETTINGS = [
    AMFClassifier(3, n_classes=10, class_weight="balanced", split_pure=True, **COMMON),
    AdaptiveAMFClassifier(n_estimators=3, vote="mean", random_state=1, shuffle=False),
    AMFClassifier(n_estimators=3, absent="zero", random_state=1),
    AMFRegressor(3, **COMMON),
]
OF_SETTINGS = """
    estimator_cloneable estimator_repr get_params_invariance set_params dict_unchanged
    fit_idempotent estimators_pickle classifiers_train classifiers_classes classifiers_one_label
    regressors_train methods_sample_order_invariance methods_subset_invariance n_features_in
    estimator_sparse_tag estimator_sparse_array estimator_sparse_matrix
"""
OF_SETTINGS = {f"check_{name}" for name in OF_SETTINGS.split()}
CHECKS = [*checks_of([kind() for kind in FORESTS]), *checks_of(SETTINGS, OF_SETTINGS)]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


VARIANTS = {
    "default": (AMFClassifier, {}),
    "adaptive": (AdaptiveAMFClassifier, {}),
    "fading": (AMFClassifier, {"fading_factor": 0.7, "n_classes": 9, "split_pure": True}),
    "regressor": (AMFRegressor, {}),
    "adaptive regressor": (AdaptiveAMFRegressor, {}),
    "leaves": (AMFRegressor, {"use_aggregation": False, "max_nodes": 101, "step": 0.5}),
}


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weights"])
@pytest.mark.parametrize(("kind", "parameters"), VARIANTS.values(), ids=VARIANTS)
def test_fit_equals_river_model(kind, parameters, weights):
    y = targets_of(kind)
    scaled = None if weights is None else weights / weights.max()
    assert_learned(small(kind, **parameters).fit(X, y, weights), X, y, scaled)


@pytest.mark.parametrize("size", [1, 30, 1000])
@of_each_task
def test_partial_fit_equals_river_model(kind, size):
    estimator, y = small(kind, shuffle=True), targets_of(kind)
    for start in range(0, len(y), size):
        part = slice(start, start + size)
        if start > 0 or WEIGHTS[part].any():
            estimator.partial_fit(X[part], y[part], sample_weight=WEIGHTS[part])
            estimator = pickle.loads(pickle.dumps(estimator)) if start % 40 == 0 else estimator
    largest = np.maximum.accumulate(WEIGHTS)
    ends = np.minimum(np.arange(len(y)) // size * size + size, len(y)) - 1  # of the blocks
    assert_learned(estimator, X, y, WEIGHTS / largest[ends].clip(1e-9))


@every_forest
def test_shuffle_draws_from_random_state(kind):
    y = targets_of(kind)
    estimator = small(kind, shuffle=True).fit(X, y, WEIGHTS)
    rng, learned = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0,))), WEIGHTS > 0
    order = rng.permutation(np.flatnonzero(learned))  # rows of weight 0 make no difference
    assert_learned(estimator, X[order], y[order], WEIGHTS[order] / WEIGHTS.max())
    few = small(kind, shuffle=True).fit(X[learned], y[learned], WEIGHTS[learned])
    np.testing.assert_array_equal(answers(few, X), answers(estimator, X))
    assert estimator.model_.seed == 3
    twin, other = (clone(estimator).set_params(random_state=seed) for seed in (3, 4))
    np.testing.assert_array_equal(answers(twin.fit(X, y, WEIGHTS), X), answers(estimator, X))
    assert (answers(other.fit(X, y, WEIGHTS), X) != answers(estimator, X)).any()


def test_shuffle_error_names_row_of_caller():
    table = pd.DataFrame({"a": [*map(float, range(30)), []]}, dtype=object)
    estimator = small(shuffle=True).fit(X, Y)
    call = partial(estimator.fit, table, [0, 1] * 15 + [0])
    assert_refused(TypeError, "row 30: feature 'a'", call, estimator)


@libraries
@of_each_task
def test_dataframe_keeps_values(kind, frame):
    columns, y = mixed_columns()
    if kind is AMFRegressor:
        y = np.array(columns["grade"]) + np.array(columns["alive"])
    estimator = small(kind).fit(frame(columns), pd.Series(y, range(len(y))[::-1]))
    assert_learned(estimator, frame(columns), y, rows=rows_of(columns))
    assert estimator.feature_names_in_.tolist() == list(columns)
    shuffled = [small(kind, shuffle=True).fit(make(columns), y) for make in (frame, pd.DataFrame)]
    assert len({state_of(each.model_) for each in shuffled}) == 1


def test_any_table_keeps_values():
    columns, labels = mixed_columns()
    lists = [list(row) for row in zip(*columns.values(), strict=True)]
    table = pd.DataFrame(columns).astype({"color": "category", "grade": "Int64"})
    texts = columns | {"grade": [str(grade) for grade in columns["grade"]]}
    numbered = [dict(enumerate(row)) for row in lists]
    colors = np.array([[str(color)] for color in columns["color"]])
    for values, rows in [
        (table, rows_of(columns)),
        (table.astype({"grade": "category"}), rows_of(texts)),
        (np.array(lists, object), numbered),
        (lists, numbered),
        (colors, [{0: str(color)} for color in columns["color"]]),
    ]:
        assert_learned(small().fit(values, labels), values, labels, rows=rows)


def test_masked_values_are_missing():
    model = small().fit(X[:, :2], X[:, 0] > 0.5)
    masked = np.ma.array(np.nan_to_num(X[:3, :2]), mask=[[0, 0], [0, 1], [1, 0]])
    expected = model.predict_proba(masked.filled(np.nan))
    for rows in (masked, masked.astype(object)):
        np.testing.assert_array_equal(model.predict_proba(rows), expected)


@libraries
@of_each_task
def test_dates_become_numbers(kind, frame):
    days = pd.date_range("2024-01-01", periods=120)
    columns = {"day": days.to_list(), "size": np.arange(120) % 5, "day.": [1.0] * 120}
    y = np.where(days.day_of_week > 4, 2.0, 1.0) if kind is AMFRegressor else days.day_of_week > 4
    table, numbers = frame(columns), date_features(pd.DataFrame(columns))
    estimator, twin = small(kind).fit(table, y), small(kind).fit(numbers, y)
    np.testing.assert_array_equal(answers(estimator, table), answers(twin, numbers))
    assert estimator.feature_names_in_.tolist() == ["day", "size", "day."]
    importances = estimator.feature_importances_
    assert importances.shape == (3,) and importances.argmax() == 0
    assert importances.sum() == pytest.approx(1.0)
    columns["day.month"] = columns["size"]
    with pytest.raises(ValueError, match="'day' is a date, of which a part would be named"):
        small(kind).fit(frame(columns), y)


@libraries
def test_columns_without_names_match_by_position(frame):
    named = frame(dict(zip("abcd", X.T, strict=True)))
    proba = small().fit(X, Y).predict_proba(X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(small().fit(X, Y).predict_proba(named), proba)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(small().fit(named, Y).predict_proba(X), proba)


def test_other_columns_are_refused():
    named, plain = small().fit(pd.DataFrame(X, columns=list("abcd")), Y), small().fit(X, Y)
    for estimator, table, message in [
        (named, pd.DataFrame(X, columns=list("abce")), "feature names should match"),
        (named, pd.DataFrame(X, columns=list("abdc")), "must be in the same order"),
        (plain, X[:, :3], "X has 3 features, but AMFClassifier is expecting 4"),
        (plain, [["x", 1.0, 1.0, 1.0]] * len(Y), "row 0: feature 0 has held numbers so far, got"),
    ]:
        for call in (partial(estimator.predict, table), partial(estimator.partial_fit, table, Y)):
            assert_refused(ValueError, message, call, estimator)


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_sparse_matrix_equals_dense_and_river(kind):
    counts, labels = sparse_block()
    estimators = [small(kind, absent="zero").fit(counts, labels)]
    for convert in (np.asarray, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
        estimator = small(kind, absent="zero")
        for rows in (slice(0, 50), slice(50, None)):
            estimator.partial_fit(convert(counts[rows].toarray()), labels[rows])
        estimators.append(estimator)
    assert len({state_of(estimator) for estimator in estimators}) == 1
    proba = estimators[0].predict_proba(counts)
    model = getattr(river_amf, kind.__name__)(3, absent="zero", seed=3)
    model.learn_many(counts, labels)
    assert (model.predict_proba_many(counts)[estimators[0].classes_].to_numpy() == proba).all()
    rows = [dict(enumerate(row)) for row in counts.toarray().tolist()]
    assert estimators[0].novelty(counts).tolist() == [model.novelty_one(x) for x in rows]
    frame = pd.DataFrame.sparse.from_spmatrix(counts).add_prefix("word ")
    named = small(kind, absent="zero").fit(frame, labels)
    assert (named.predict_proba(frame) == proba).all()
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert (named.predict_proba(counts) == proba).all()
    for bad, message in ((counts[:, :3], "expecting 40 features"), (counts * np.inf, "infinity")):
        assert_refused(ValueError, message, partial(estimators[0].predict, bad), estimators[0])
    advice = r'use absent="zero" or .*OneHotEncoder\(sparse_output=False\)'
    assert_refused(TypeError, advice, partial(small(kind).partial_fit, counts, labels))


@every_forest
def test_parameters_are_those_of_river(kind):
    ours = inspect.signature(kind).parameters
    theirs = inspect.signature(getattr(river_amf, kind.__name__)).parameters
    expected = {"random_state" if name == "seed" else name: p.default for name, p in theirs.items()}
    expected |= {"class_weight": None} if issubclass(kind, AMFClassifier) else {}
    expected |= {"shuffle": True}
    assert [*((name, p.default) for name, p in ours.items())] == [*expected.items()]
    assert kind(2).get_params()["n_estimators"] == 2  # as in scikit-learn's forests
    with pytest.raises(TypeError, match="positional"):
        kind(2, 0.5)


def test_random_state_is_drawn_when_training_starts():
    draws = np.random.RandomState(5)
    expected = [int(draws.randint(np.iinfo(np.int32).max)) for _ in range(2)]
    estimator = AMFClassifier(n_estimators=1, random_state=np.random.RandomState(5))
    assert [estimator.fit(X, Y).model_.seed for _ in range(2)] == expected
    assert estimator.partial_fit(X, Y).model_.seed == expected[1]
    for _ in range(2):
        np.random.seed(5)  # noqa: NPY002
        assert AMFClassifier(n_estimators=1).fit(X, Y).model_.seed == expected[0]


CHANGES = {"n_classes": 5, "step": np.array([1.0, 2.0]), "random_state": np.random.RandomState(3)}


@pytest.mark.parametrize(("name", "value"), CHANGES.items())
def test_changed_parameter_needs_fit(name, value):
    estimator = small().partial_fit(X, Y)
    old = estimator.get_params()[name]
    estimator.set_params(**{name: value})
    call = partial(estimator.partial_fit, X, Y)
    assert_refused(ValueError, f"{name} was changed from {old!r} to .* call fit", call, estimator)
    estimator.set_params(**{name: old}).partial_fit(X, Y)


LABELS = [
    *([3, -1, 3], [True, False, True], [2.0, 1.0, 2.0], np.array(["long", "b", "long"], object)),
    *(pd.Series(["b", "a", "b"], dtype="category"), pd.Series([5, 4, 5], dtype="Int64")),
]


@pytest.mark.parametrize("labels", LABELS, ids=repr)
def test_labels_of_any_type_come_back(labels):
    estimator = small().fit([[1.0], [9.0], [1.0]], labels)
    assert estimator.predict([[1.0]]).tolist() == list(labels)[:1]
    assert estimator.classes_.tolist() == sorted(set(labels))
    assert estimator.predict([[1.0]]).dtype == estimator.classes_.dtype


def test_classes_are_columns_from_the_start():
    estimator = small().partial_fit([[1.0], [1.0]], ["b", "a"], classes=["c", "a", "b", "a"])
    assert estimator.classes_.tolist() == ["a", "b", "c"]
    assert estimator.predict_proba([[1.0]]).tolist() == [[0.5, 0.5, 0.0]]
    assert estimator.predict([[1.0]]).tolist() == ["b"]  # in a tie, the label seen first
    estimator.partial_fit([[2.0]], ["c"], classes=["a", "b", "c"])
    for labels, classes in [(["d"], None), (["a"], ["a", "b"]), (["a"], ["a", "b", "c", "d"])]:
        call = partial(estimator.partial_fit, [[3.0]], labels, classes=classes)
        assert_refused(ValueError, "classes", call, estimator)


def test_classes_may_be_declared_later():
    estimator = small().partial_fit([[1.0], [2.0]], ["m", "m"])
    assert estimator.predict_proba([[1.0]]).tolist() == [[1.0]]
    estimator.partial_fit([[3.0], [4.0]], ["z", "a"])
    assert estimator.classes_.tolist() == ["a", "m", "z"]
    for labels, classes, message in [
        (["a"], ["a", "b"], r"must include those in .*\['a', 'm', 'z'\], got \['a', 'b'\]"),
        ([1], None, r"all strings or all numbers, got \[1\] in addition to \["),
    ]:
        call = partial(estimator.partial_fit, [[1.0]], labels, classes=classes)
        assert_refused(ValueError, message, call, estimator)
    estimator.partial_fit([[1.0]], ["a"], classes=["a", "b", "m", "z"])
    call = partial(estimator.partial_fit, [[1.0]], ["c"])
    message = r"y has the labels \['c'\].* \['a', 'b', 'm', 'z'\]"
    assert_refused(ValueError, message, call, estimator)


def test_labels_equal_in_value_are_one_class():
    estimator = small().partial_fit([[1.0], [2.0]], [1, 0])
    estimator.partial_fit([[1.0], [2.0]], [1.0, 0.0]).partial_fit([[1.0]], [True])
    assert estimator.classes_.tolist() == [0, 1] and estimator.classes_.dtype.kind == "i"
    call = partial(estimator.partial_fit, [[1.0]] * 2, ["a", "b"])
    assert_refused(ValueError, "all strings or all numbers", call, estimator)


ROWS, TWO, ALL = X[:2], ["tall", "new"], ["broad", "deep", "tall"]
BAD_PARAMETERS = [
    *({name: value} for name, value in [("n_classes", 0), ("n_estimators", 2.5), ("step", -1.0)]),
    *({name: value} for name, value in [("vote", "loud"), ("n_jobs", 0), ("shuffle", "no")]),
]
BAD_STATES = [-1, True, "x", 1.5, np.random.default_rng(1)]
MASK = [0, 1]
# the parameters, arguments of `partial_fit`, and words of the message
BAD_CALLS = [
    *((parameters, {}, f"{next(iter(parameters))} must be") for parameters in BAD_PARAMETERS),
    *(({"random_state": bad}, {}, "must be an integer >= 0|used to seed") for bad in BAD_STATES),
    ({"class_weight": "heavy"}, {}, "an instance of 'dict', .*'balanced'.* Got 'heavy'"),
    ({"class_weight": {"tall": "2"}}, {}, "of 'tall': w must be a finite .*, got '2' of type str"),
    ({"class_weight": {"tall": -1.0}}, {}, "of 'tall': w must .* between 0 and 1e\\+300, got -1.0"),
    ({"class_weight": dict.fromkeys(ALL, 0.0)}, {}, "class_weight is zero in all rows"),
    ({"class_weight": {"Tall": 2.0}}, {"classes": ALL}, "not in class_weight"),
    ({"n_classes": 2}, {}, "would be class number 3"),
    ({"n_classes": 2}, {"classes": ALL}, "n_classes=2"),
    *(({}, {"classes": bad}, "classes must be") for bad in ([], 2, "ab", [["a"], ["b"]])),
    ({}, {"classes": [1, 2]}, "all strings or all numbers"),
    ({}, {"X": np.full((len(Y), 4), np.inf)}, "infinity"),
    ({}, {"X": pd.DataFrame(X).head(0), "y": []}, "0 sample"),
    ({}, {"X": pd.DataFrame(index=range(len(Y)))}, "0 feature"),
    ({}, {"X": pd.DataFrame(X, columns=list("abca"))}, "distinct names"),
    ({}, {"y": Y[:1]}, "inconsistent numbers"),
    ({}, {"X": ROWS, "y": np.array(["tall", None], object)}, "missing label"),
    ({}, {"X": ROWS, "y": np.array(["tall", 1], object)}, "all strings or all numbers"),
    ({}, {"X": ROWS, "y": [0.5, 1.5]}, "Unknown label type"),
    ({}, {"X": ROWS, "y": TWO, "sample_weight": [1.0, 1e301]}, "row 1: w must"),
    ({}, {"X": ROWS, "y": TWO, "sample_weight": [1.0]}, "2 rows, but w has 1"),
    ({}, {"X": ROWS, "y": TWO, "sample_weight": [[1.0], [1.0]]}, "one dimension"),
    ({}, {"X": ROWS, "y": TWO, "sample_weight": np.ma.array([1.0, 1.0], mask=MASK)}, "row 1: w"),
]
BAD_TARGETS = [
    *(["1.5", "2.5"], pd.Series([1, None], dtype="Int64"), [1.0, -np.inf], [1.0, 1e200]),
    *([1.0, 1j], np.array([1, 2], "M8[s]")),
]
BAD = [(AMFClassifier, *bad) for bad in BAD_CALLS]
BAD += [(AMFRegressor, {}, {"X": ROWS, "y": y}, None) for y in BAD_TARGETS]
BAD += [(AMFRegressor, {"recent": "up"}, {}, "recent must be")]


@pytest.mark.parametrize(("kind", "parameters", "arguments", "message"), BAD)
def test_refused_call_leaves_no_trace(kind, parameters, arguments, message):
    arguments = {"X": X, "y": targets_of(kind)} | arguments
    estimators = [small(kind, **parameters)]
    if not parameters and "classes" not in arguments:
        estimators.append(small(kind, shuffle=True).fit(X, targets_of(kind)))
    for estimator in estimators:
        for learn in [estimator.partial_fit, *[estimator.fit] * ("classes" not in arguments)]:
            call = partial(learn, **arguments)
            assert_refused((TypeError, ValueError), message, call, estimator)


@of_each_task
def test_first_block_needs_a_weight(kind):
    estimator, y, nothing = small(kind), targets_of(kind), np.zeros(len(Y))
    for learn in (estimator.fit, estimator.partial_fit):
        call = partial(learn, X, y, sample_weight=nothing)
        assert_refused(ValueError, "zero in all rows of the first call", call)
    model = state_of(estimator.fit(X, y).model_)
    assert state_of(estimator.partial_fit(X, y, sample_weight=nothing).model_) == model


@pytest.mark.parametrize("class_weight", [{"tall": 5.0, "deep": 0.5}, {"tall": 5}, "balanced"])
def test_class_weight_is_weight_of_rows(class_weight):
    estimator = small(class_weight=class_weight).fit(X, Y, WEIGHTS)
    is_dict = isinstance(class_weight, dict)
    weights = dict.fromkeys(Y.tolist(), 1.0) | class_weight if is_dict else class_weight
    products = WEIGHTS * compute_sample_weight(weights, Y)
    assert_learned(estimator, X, Y, products / products.max())


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_balanced_weights_find_rare_class(kind):
    # HistGradientBoostingClassifier with the same weights has a balanced accuracy of 0.58 here
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(9000, 5))
    y = rng.random(9000) < 1 / (1 + np.exp(5 - rows @ [1.0, -1.0, 0.5, 0.0, 0.0]))
    model = kind(class_weight="balanced", random_state=1).fit(rows[:6000], y[:6000])
    assert balanced_accuracy_score(y[6000:], model.predict(rows[6000:])) > 0.6


def test_class_weight_may_change():
    estimator = small().partial_fit(X[:100], Y[:100])
    estimator.set_params(class_weight={np.str_("tall"): np.float32(2.0), "deep": 0.0})
    for start in range(100, len(Y), 57):
        part = slice(start, start + 57)
        estimator.partial_fit(X[part], Y[part], sample_weight=WEIGHTS[part])
    factors = WEIGHTS * [{"tall": 2.0, "deep": 0.0}.get(label, 1.0) for label in Y]
    factors[:100] = 1.0
    factors[100:] /= factors.max()  # which the first of the other blocks has
    assert_learned(estimator, X, Y, factors)
    learned = small(class_weight={"deep": 0.0}).partial_fit(X, Y).classes_.tolist()
    assert learned == ["broad", "tall"]  # a class of weight 0 is not seen


def test_balanced_weights_need_fit():
    for estimator in (small(class_weight="balanced"), small(class_weight="balanced").fit(X, Y)):
        call = partial(estimator.partial_fit, X, Y)
        assert_refused(ValueError, "'balanced' needs all rows at once", call, estimator)


TARGETS = {
    "booleans": NUMBERS > 50.0,
    "half floats": NUMBERS.astype(np.float16),
    "decimals": [Decimal(str(y)) for y in NUMBERS],
    "a series of nullable integers": pd.Series(NUMBERS.astype(int), dtype="Int64"),
}


@pytest.mark.parametrize("targets", TARGETS.values(), ids=TARGETS)
def test_targets_are_numbers_of_any_type(targets):
    learned, expected = (
        small(AMFRegressor).fit(X, y).predict(X) for y in (targets, [float(y) for y in targets])
    )
    assert learned.dtype == np.float64 and learned.tolist() == expected.tolist()


@libraries
def test_intervals_and_quantiles_are_those_of_river(frame):
    table = frame(dict(zip("abcd", X.T, strict=True)))
    pipeline = make_pipeline(small(AMFRegressor)).fit(table, NUMBERS)
    model, pandas = pipeline[-1].model_, pd.DataFrame(X, columns=list("abcd"))
    prediction, ends = pipeline.predict(table, interval=0.5)
    assert prediction.tolist() == pipeline.predict(table).tolist()
    assert ends.tolist() == model.predict_interval_many(pandas, 0.5).to_numpy().tolist()
    assert pipeline[-1].predict_interval(table, level=0.5).tolist() == ends.tolist()
    with pytest.raises(ValueError, match="level must be a number strictly between 0 and 1"):
        pipeline[-1].predict_interval(table, 90)
    prediction, quantiles = pipeline.predict(table, quantiles=[0.1, 0.5, 0.9])
    expected = model.predict_quantile_many(pandas, [0.1, 0.5, 0.9]).to_numpy()
    assert quantiles.tolist() == expected.tolist()
    for wrong, message in [
        ({"interval": 90}, "interval must be a number strictly between 0 and 1"),
        ({"quantiles": [0.5, 1.0]}, "quantiles must be a number strictly between 0 and 1"),
        ({"interval": 0.9, "quantiles": [0.5]}, "interval or quantiles, got both"),
    ]:
        with pytest.raises(ValueError, match=message):
            pipeline.predict(table, **wrong)


def test_classifier_in_search_and_calibration():
    numbers, labels = shuffle(*datasets.load_iris(return_X_y=True), random_state=0)
    grid = {"amfclassifier__split_prior": [0.5, 0.9], "amfclassifier__shuffle": [False, True]}
    search = GridSearchCV(make_pipeline(small()), grid, cv=3, scoring="neg_log_loss")
    assert search.fit(numbers, labels).score(numbers, labels) > -0.3
    calibrated = CalibratedClassifierCV(small(), ensemble=False, cv=3)
    assert calibrated.fit(numbers, labels).score(numbers, labels) > 0.9


@every_forest
def test_importances_are_decrease_of_impurity(kind):
    columns, _ = mixed_columns()
    targets = [10.0 * (color == "red") for color in columns["color"]]
    estimator = kind(random_state=1).fit(pd.DataFrame(columns), targets)
    importances = estimator.feature_importances_
    assert importances.sum() == pytest.approx(1.0) and (importances >= 0.0).all()
    assert estimator.feature_names_in_[importances.argmax()] == "color"
    assert importances[list(columns).index("all gone")] == 0.0
    table = inspection.feature_importance(estimator)
    np.testing.assert_array_equal(importances[:5], table["impurity"].reindex(list(columns)[:5]))
    assert SelectFromModel(estimator, prefit=True).get_support().any()


class Interrupt(BaseException):
    def __hash__(self):
        raise self  # as a signal handler may do


@of_each_task
def test_interrupted_fit_changes_nothing(kind):
    table = np.array([[1.0], [2.0], ["a"], [Interrupt()]], object)
    for estimator in (small(kind), small(kind).fit(X, targets_of(kind))):
        assert_refused(Interrupt, None, partial(estimator.fit, table, [1, 2, 1, 2]), estimator)


def test_model_may_learn_directly():
    estimator = small().fit(X, Y)
    estimator.model_.learn_one({0: 1.0, "new": 2.0}, "wide")
    assert estimator.classes_.tolist() == ["broad", "deep", "tall", "wide"]
    assert estimator.predict_proba(X).shape == (len(X), 4)
    assert estimator.feature_importances_.shape == (4,)
    assert (estimator.predict_log_proba(X) == np.log(estimator.predict_proba(X))).all()
