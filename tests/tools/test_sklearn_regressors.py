"""The regressors for scikit-learn: bit for bit like river's classes; all of scikit-learn's checks.

What they share with the classifiers (locks, drafts, names of columns) is tested in `test_sklearn`.
"""

import copy
import inspect
import pickle
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from estimators import LIBRARIES, as_seen, checks_of, error_of_edited, mixed_columns, rows_of, run
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

import river_amf
from river_amf import inspection
from river_amf.persistence import container
from river_amf.sklearn import AdaptiveAMFRegressor, AMFClassifier, AMFRegressor

FOREST = partial(AMFRegressor, n_estimators=3, random_state=3)
VARIANTS = {
    "default": (AMFRegressor, {}),
    "adaptive": (AdaptiveAMFRegressor, {}),
    "leaves alone": (AMFRegressor, {"use_aggregation": False, "max_nodes": 101, "step": 0.5}),
    "fading": (AMFRegressor, {"fading_factor": 0.7, "split_intensity": "relevance"}),
}
variants = pytest.mark.parametrize(("kind", "parameters"), VARIANTS.values(), ids=VARIANTS)
# the adaptive forest is a forest with other parameters and inherits everything else
every_kind = pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])


def make_block(n_rows=400, seed=7):
    """Rows of four numbers, some missing, with targets that depend on two of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = 50.0 + 3.0 * X[:, 0] - np.abs(X[:, 1]) + 0.1 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.choice([0.0, 0.3, 1.0, 2.0], n_rows)


X, Y, WEIGHTS = make_block()


def river_twin(estimator):
    """Make the equivalent river model."""
    parameters = estimator.get_params()
    parameters["seed"] = parameters.pop("random_state")
    return getattr(river_amf, type(estimator).__name__)(**parameters)


def learn_rows(twin, rows, targets, weights=None):
    """Feed the river model one dict after another."""
    weights = np.ones(len(targets)) if weights is None else weights
    for x, target, w in zip(rows, targets, weights.tolist(), strict=True):
        twin.learn_one(x, target, w=w)
    return twin


def assert_same(estimator, twin, X, rows):
    """Check that the estimator predicts bit for bit like the river model, row by row."""
    assert estimator.predict(X).tolist() == [twin.predict_one(x) for x in rows]
    for level in (0.5, 0.9):
        intervals = [twin.predict_interval_one(x, level) for x in rows]
        expected = [[interval.lower, interval.upper] for interval in intervals]
        assert estimator.predict_interval(X, level).tolist() == expected


# scikit-learn's own checks


# All checks run for each estimator with its defaults, and for another one those that depend on
# settings of the estimator itself.
OTHER = AMFRegressor(3, max_nodes=41, n_jobs=2, random_state=np.random.RandomState(5))
OF_SETTINGS = {
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_set_params",
    "check_dict_unchanged",
    "check_fit_idempotent",
    "check_estimators_pickle",
    "check_regressors_train",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
}
SLOW = AdaptiveAMFRegressor
ALL_CHECKS = [
    *checks_of([AMFRegressor(), AdaptiveAMFRegressor()], SLOW),
    *checks_of([OTHER], SLOW, OF_SETTINGS),
]


@pytest.mark.parametrize(("estimator", "check"), ALL_CHECKS)
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


def test_the_checks_named_here_are_among_scikit_learn_s():
    assert {case.id.rpartition("-")[2] for case in ALL_CHECKS} >= OF_SETTINGS


@pytest.mark.slow
def test_no_check_is_skipped_where_scipy_takes_all_arrays():
    result = run(
        "from sklearn.utils.estimator_checks import check_estimator;"
        "from river_amf.sklearn import AMFRegressor, AdaptiveAMFRegressor;"
        "kinds = AMFRegressor, AdaptiveAMFRegressor;"
        "done = [check for kind in kinds for check in check_estimator(kind(), on_skip=None)];"
        "print(len(done) >= 100, *{check['status'] for check in done})",
        SCIPY_ARRAY_API="1",
    )
    assert result.stdout.split() == ["True", "passed"], result.stderr


# Bit for bit like river's classes


@variants
def test_fit_predicts_as_river_s_model_row_by_row(kind, parameters):
    estimator = kind(n_estimators=3, random_state=3, **parameters).fit(X, Y)
    twin = learn_rows(river_twin(estimator), rows_of(X), Y)
    assert_same(estimator, twin, X, rows_of(X))


@variants
@pytest.mark.parametrize("size", [30, 400])
def test_the_cuts_of_partial_fit_do_not_matter_and_weights_count(kind, parameters, size):
    estimator = kind(n_estimators=3, random_state=3, **parameters)
    for start in range(0, len(Y), size):
        part = slice(start, start + size)
        estimator.partial_fit(X[part], Y[part], sample_weight=WEIGHTS[part])
    twin = learn_rows(river_twin(estimator), rows_of(X), Y, WEIGHTS)
    assert_same(estimator, twin, X, rows_of(X))


@pytest.mark.parametrize("library", LIBRARIES)
def test_dataframes_go_to_the_model_as_they_are(library):
    columns, _ = mixed_columns()
    targets = np.array(columns["grade"]) + np.array(columns["alive"])
    rows = rows_of(columns)
    table = LIBRARIES[library](columns)
    estimator = FOREST().fit(table, targets)
    assert_same(estimator, learn_rows(river_twin(estimator), rows, targets), table, rows)
    assert estimator.feature_names_in_.tolist() == list(columns)


def test_columns_without_known_names_are_told_by_position():
    named = pd.DataFrame(X).add_prefix("x")
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        predicted = FOREST().fit(named, Y).predict(X)
    assert predicted.tolist() == FOREST().fit(X, Y).predict(X).tolist()


def test_fit_takes_no_weights_and_predict_gives_no_deviation():
    assert not has_fit_parameter(AMFRegressor(), "sample_weight")
    assert [*inspect.signature(AMFRegressor.predict).parameters] == ["self", "X"]
    estimator = FOREST().fit(X, Y)
    assert estimator.score(X, Y) == r2_score(Y, estimator.predict(X)) > 0.5


def test_the_number_of_threads_does_not_matter_and_may_change_at_any_time():
    estimator, twin = FOREST(n_jobs=2), FOREST(n_jobs=None)
    estimator.partial_fit(X[:200], Y[:200]).set_params(n_jobs=3).predict(X)
    assert estimator.model_.n_jobs == 3
    estimator.set_params(n_jobs=1).partial_fit(X[200:], Y[200:])
    twin.partial_fit(X, Y)
    assert estimator.predict(X).tolist() == twin.predict(X).tolist()


# Intervals


def test_intervals_are_rows_of_two_ends_around_the_prediction():
    estimator = FOREST().fit(X, Y)
    ends = estimator.predict_interval(X)
    assert ends.shape == (len(X), 2) and ends.dtype == np.float64
    assert ends.tolist() == estimator.predict_interval(X, level=0.9).tolist()
    wide, narrow = (estimator.predict_interval(X, level) for level in (0.99, 0.5))
    assert (wide[:, 0] < narrow[:, 0]).all() and (narrow[:, 1] < wide[:, 1]).all()
    predicted = estimator.predict(X)
    assert ((wide[:, 0] < predicted) & (predicted < wide[:, 1])).all()


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 90, np.nan, "0.9", None])
def test_a_level_that_is_none_is_refused(level):
    estimator = FOREST().fit(X, Y)
    with pytest.raises((TypeError, ValueError), match="level must be"):
        estimator.predict_interval(X, level)


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


def test_a_column_of_targets_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning):
        estimator = FOREST().fit(X, Y[:, None])
    assert estimator.predict(X).tolist() == FOREST().fit(X, Y).predict(X).tolist()


TWO = X[:2]
BAD_CALLS = {
    "infinity": (np.array([[np.inf] * 4]), [1.0], {}),
    "sparse": (scipy.sparse.csr_array(np.ones((1, 4))), [1.0], {}),
    "other lengths": (TWO, [1.0], {}),
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
    "a negative weight": (TWO, [1.0, 2.0], {"sample_weight": [1.0, -1.0]}),
    "a huge weight": (TWO, [1.0, 2.0], {"sample_weight": [1.0, 1e301]}),
    "other weights": (TWO, [1.0, 2.0], {"sample_weight": [1.0]}),
}


@pytest.mark.parametrize(("table", "targets", "others"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_refused_block_leaves_the_estimator_as_it_was(table, targets, others):
    for estimator in (FOREST(), FOREST().fit(X, Y)):
        before = as_seen(estimator)
        with pytest.raises((TypeError, ValueError)):
            estimator.partial_fit(table, targets, **others)
        assert as_seen(estimator) == before


MESSAGES = {
    "text": (["1.5"], TypeError, "y must be numbers, got an array of <U3"),
    "dates": (np.array([1], "M8[s]"), TypeError, r"y must be numbers, got an array of datetime"),
    "masked": (np.ma.array([1.0], mask=[1]), ValueError, "y has a masked target"),
    "complex": ([1j], ValueError, "Complex data not supported"),
    "NaN": ([np.nan], ValueError, "Input y contains NaN"),
}


@pytest.mark.parametrize(("targets", "error", "message"), MESSAGES.values(), ids=MESSAGES)
def test_what_is_wrong_with_a_target_is_said(targets, error, message):
    with pytest.raises(error, match=message):
        FOREST().fit(X[:1], targets)


def test_the_first_block_needs_a_weight_and_a_later_one_may_have_none():
    estimator = FOREST()
    with pytest.raises(ValueError, match="sample_weight is zero everywhere; in the first call"):
        estimator.partial_fit(X, Y, sample_weight=np.zeros(len(Y)))
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    model = pickle.dumps(estimator.fit(X, Y).model_)
    estimator.partial_fit(X, Y, sample_weight=np.zeros(len(Y)))
    assert pickle.dumps(estimator.model_) == model


def test_a_fit_that_fails_leaves_the_old_forest():
    estimator = FOREST().fit(pd.DataFrame(X).add_prefix("x"), Y)
    before = as_seen(estimator)
    with pytest.raises(ValueError, match="infinity"):
        estimator.fit(np.full((3, 2), np.inf), [0, 1, 2])
    assert as_seen(estimator) == before


def test_where_memory_runs_out_the_estimator_goes_on(monkeypatch):
    estimator = FOREST().fit(X[:50], Y[:50])
    learn_many = river_amf.AMFRegressor.learn_many

    def stop_late(model, table, targets, weights):
        learn_many(model, table, targets, weights)
        raise MemoryError

    monkeypatch.setattr(river_amf.AMFRegressor, "learn_many", stop_late)
    with pytest.raises(MemoryError):
        estimator.partial_fit(X[50:], Y[50:])
    with pytest.raises(MemoryError):
        FOREST().fit(X, Y)
    monkeypatch.undo()
    assert estimator.predict(X).tolist() == FOREST().fit(X, Y).predict(X).tolist()


# Parameters


@every_kind
def test_parameters_and_defaults_are_those_of_river_s_class(kind):
    ours = inspect.signature(kind).parameters
    theirs = inspect.signature(getattr(river_amf, kind.__name__)).parameters
    assert list(ours) == ["random_state" if name == "seed" else name for name in theirs]
    assert [p.default for p in ours.values()] == [p.default for p in theirs.values()]
    assert issubclass(kind, RegressorMixin) and issubclass(kind, BaseEstimator)
    assert kind(2).get_params()["n_estimators"] == 2
    with pytest.raises(TypeError, match="positional"):
        kind(2, 0.5)


@pytest.mark.parametrize(
    ("name", "value"), [("n_estimators", 2.5), ("step", -1.0), ("vote", "loud"), ("trend", "up")]
)
def test_parameters_are_checked_when_learning_starts(name, value):
    estimator = AMFRegressor(**{name: value})
    for learn in (estimator.fit, estimator.partial_fit):
        with pytest.raises(ValueError, match=f"{name} must be"):
            learn(X, Y)
        with pytest.raises(NotFittedError):
            estimator.predict(X)


def test_a_changed_parameter_is_refused_by_partial_fit_and_taken_by_fit():
    estimator = FOREST().partial_fit(X, Y)
    before = as_seen(estimator.set_params(split_prior=0.7))
    message = r"split_prior was changed from 0\.5 to 0\.7 .* call fit to start over"
    with pytest.raises(ValueError, match=message):
        estimator.partial_fit(X, Y)
    assert as_seen(estimator) == before
    assert as_seen(estimator.fit(X, Y)) == as_seen(FOREST(split_prior=0.7).fit(X, Y))


# Importances


@every_kind
def test_importances_of_features_are_the_decrease_of_variance_by_column(kind):
    columns, _ = mixed_columns()
    targets = [10.0 * (color == "red") for color in columns["color"]]
    estimator = kind(random_state=1).fit(pd.DataFrame(columns), targets)
    importances = estimator.feature_importances_
    assert importances.sum() == pytest.approx(1.0) and (importances >= 0.0).all()
    assert estimator.feature_names_in_[importances.argmax()] == "color"
    assert importances[list(columns).index("all gone")] == 0.0
    table = inspection.feature_importance(estimator)
    np.testing.assert_array_equal(importances[:5], table["impurity"].reindex(list(columns)[:5]))
    assert SelectFromModel(estimator, prefit=True).get_support().tolist().count(True) >= 1


def test_there_are_no_importances_before_training_or_without_splits():
    assert not hasattr(AMFRegressor(), "feature_importances_")
    assert AMFRegressor().fit([[1.0, 2.0]], [1.0]).feature_importances_.tolist() == [0.0, 0.0]


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


@every_kind
def test_copies_and_texts(kind):
    estimator = kind(n_estimators=3, random_state=1).fit(X, Y)
    assert clone(estimator).get_params() == estimator.get_params()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        clone(estimator).predict(X)
    for twin in (copy.deepcopy(estimator), pickle.loads(pickle.dumps(estimator))):
        again = copy.deepcopy(estimator).partial_fit(X, Y)
        assert twin.partial_fit(X, Y).predict(X).tolist() == again.predict(X).tolist()
    assert repr(estimator) == f"{kind.__name__}(n_estimators=3, random_state=1)"


# Files


@every_kind
def test_a_file_keeps_predictions_and_future(kind, tmp_path):
    table = pd.DataFrame(X).add_prefix("x")
    estimator = kind(n_estimators=3).fit(table[:300], Y[:300])
    estimator.save(tmp_path / "model.amf")
    twin = river_amf.load(tmp_path / "model.amf")
    assert type(twin) is kind
    assert twin.get_params() == estimator.get_params()
    assert twin.feature_names_in_.tolist() == estimator.feature_names_in_.tolist()
    for _ in range(2):
        assert twin.n_features_in_ == 4
        assert twin.predict(table).tolist() == estimator.predict(table).tolist()
        ends = estimator.predict_interval(table)
        assert twin.predict_interval(table).tolist() == ends.tolist()
        for each in (twin, estimator):
            each.partial_fit(table[300:], Y[300:], sample_weight=WEIGHTS[300:])


@every_kind
def test_what_has_not_learnt_comes_back_so(kind, tmp_path):
    kind(n_estimators=-3).save(tmp_path / "model.amf")
    twin = kind.load(tmp_path / "model.amf")
    assert twin.n_estimators == -3
    with pytest.raises(NotFittedError):
        twin.predict(X)


def test_a_file_of_a_classifier_is_none_of_a_regressor(tmp_path):
    AMFClassifier().save(tmp_path / "model.amf")
    with pytest.raises(river_amf.persistence.FileError, match="holds an AMFClassifier, no"):
        AMFRegressor.load(tmp_path / "model.amf")
    river_amf.AMFRegressor().save(tmp_path / "model.amf")
    with pytest.raises(river_amf.persistence.FileError, match="holds an AMFRegressor, no"):
        AMFRegressor.load(tmp_path / "model.amf")


def test_what_the_model_has_learnt_by_itself_is_not_saved(tmp_path):
    estimator = FOREST().fit(X, Y)
    estimator.model_.learn_one({0: 1.0}, -3.0)
    estimator.save(tmp_path / "model.amf")
    estimator.model_.learn_one({0: 1.0, "new": 2.0}, 3.0)
    with pytest.raises(ValueError, match=r"'new'\] directly, which are not among its columns; "):
        estimator.save(tmp_path / "model.amf")


# change to the fitted part -> expected in the message
EDITS = {
    "one entry more": ({"surplus": 1}, "entries ['surplus']"),
    "classes": ({"classes": [1, 2]}, "entries ['classes']"),
    "no model": ({"model": None}, "None in place of an object with 'parameters'"),
    "other parameters": ({"parameters": {}}, "n_estimators of the fitted model cannot be"),
    "unknown parameters": ({"parameters": {"pace": 1}}, "unknown parameters ['pace']"),
    "no columns": ({"columns": []}, "number of columns cannot be"),
    "too few columns": ({"columns": [0, 1, 2]}, "[3] besides the columns, cannot be"),
    "names that are no texts": ({"names": True}, "names of columns cannot be"),
    "a flag that is none": ({"names": 0}, "flags cannot be"),
}


@pytest.mark.parametrize(("edit", "message"), EDITS.values(), ids=EDITS)
def test_a_damaged_file_says_so(edit, message, tmp_path):
    path = tmp_path / "model.amf"
    said = error_of_edited(FOREST().fit(X, Y), lambda h, _: h["fitted"].update(edit), path)
    assert message in said


def test_what_a_file_lacks_has_its_default(tmp_path):
    estimator, path = AMFRegressor().fit(X, Y), tmp_path / "model.amf"
    header, arrays = estimator._to_file()
    for entry in (header, header["fitted"], header["fitted"]["model"]):
        seed = entry["parameters"].get("seed")  # has no default
        entry["parameters"] = {} if seed is None else {"seed": seed}
    del header["parameters"], header["fitted"]["parameters"], header["fitted"]["names"]
    entries = {"river_amf": "0.1", "kind": AMFRegressor._file_kind, "model": header}
    container.write(str(path), entries, arrays)
    assert river_amf.load(path).predict(X).tolist() == estimator.predict(X).tolist()
    river_amf.load(path).save(path)
    assert container.read(str(path))[0]["model"] == estimator._to_file()[0]
