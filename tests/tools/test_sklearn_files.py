"""Files of the estimators for scikit-learn: what they keep, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from estimators import (
    CLASS_WEIGHTS,
    NUMBERS,
    REGRESSORS,
    WEIGHTS,
    X,
    Y,
    answers,
    error_of_edited,
    every_forest,
    run,
    skewed,
    small,
    targets_of,
)
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError

import river_amf
from river_amf.sklearn import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor

CODES = np.unique(Y, return_inverse=True)[1]
LABELS = {
    "text": Y,
    "objects": Y.astype(object),
    "numbers": CODES,
    "short numbers": CODES.astype(np.int8),
    "truth": Y == "tall",
}


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        *((AMFClassifier, labels) for labels in LABELS.values()),
        (AdaptiveAMFClassifier, Y),
        *((kind, NUMBERS) for kind in REGRESSORS),
    ],
)
def test_a_file_keeps_predictions_classes_and_future(kind, labels, tmp_path):
    estimator = kind(3, shuffle=False) if kind in REGRESSORS else kind(n_classes=4)
    estimator.fit(X[:300], labels[:300]).save(tmp_path / "model.amf")
    twin = river_amf.load(tmp_path / "model.amf")
    assert type(twin) is kind
    assert twin.get_params() == estimator.get_params()
    for _ in range(2):
        if is_regressor(estimator):
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
    estimator, table = small(), pd.DataFrame(X[:9], columns=list("abcd"))
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
def test_what_has_not_learnt_comes_back_so_and_only_as_its_own_class(kind, tmp_path):
    kind(-3).save(tmp_path / "model.amf")
    twin = kind.load(tmp_path / "model.amf")
    assert twin.get_params()["n_estimators"] == -3
    with pytest.raises(NotFittedError):
        twin.predict(X)
    other = AMFClassifier if kind in REGRESSORS else AMFRegressor
    for model in (kind(), getattr(river_amf, kind.__name__)()):
        model.save(tmp_path / "model.amf")
        with pytest.raises(river_amf.persistence.FileError, match=f"holds an {kind.__name__}, no"):
            other.load(tmp_path / "model.amf")


@pytest.mark.parametrize(("x", "y"), [({0: 1.0, "new": 2.0}, "tall"), ({0: 1.0}, ("new", 1))])
def test_what_the_model_has_learnt_by_itself_is_not_saved(x, y, tmp_path):
    estimator = small().fit(X, Y)
    estimator.model_.learn_one({0: 1.0}, "tall")
    estimator.save(tmp_path / "model.amf")
    assert river_amf.load(tmp_path / "model.amf").model_.predict_one({0: 1.0})
    estimator.model_.learn_one(x, y)
    with pytest.raises(ValueError, match=r"new.* directly, which are not among its columns"):
        estimator.save(tmp_path / "model.amf")


def test_a_random_state_is_no_part_of_a_file(tmp_path):
    with pytest.raises(TypeError, match="cannot save random_state RandomState"):
        small(random_state=np.random.RandomState(1)).save(tmp_path / "model.amf")
    assert not any(tmp_path.iterdir())


LIST, PARAMETERS = "item is not a list", "its parameters must be an object with some of "
BESIDES = " besides the columns and classes, cannot be"
# change to the fitted part -> expected in the message
EDITS = {
    "classes in disorder": ({"classes": [["str", "tall"], ["str", "deep"]]}, "order of classes"),
    "classes of two kinds": ({"classes": [["str", "tall"], 1]}, "order of classes cannot be"),
    "no classes": ({"classes": []}, "list of classes cannot be"),
    "other classes": ({"classes": [["str", c] for c in "xyz"]}, BESIDES),
    "tuples as classes": ({"classes": [["tuple", [1]], ["tuple", [2]]]}, "list of classes"),
    "classes that are none": ({"classes": 3}, f"a list with one class per {LIST}"),
    "one entry more": ({"surplus": 1}, "entries ['surplus']"),
    "no model": ({"model": None}, "None in place of an object with 'parameters'"),
    "unknown parameters": ({"parameters": {"timescale": 1}}, PARAMETERS),
    "a parameter of the model": ({"parameters": {"vote": "mean"}}, PARAMETERS),
    "another seed": ({"parameters": {"random_state": 4}}, "random_state of the fitted model"),
    "no seed": ({"parameters": {"random_state": "three"}}, "'three' cannot be used to seed"),
    "parameters that are none": ({"parameters": []}, PARAMETERS),
    "columns that are none": ({"columns": 3}, f"a list with one column per {LIST}"),
    "no columns": ({"columns": []}, "number of columns cannot be"),
    "too few columns": ({"columns": [0, 1, 2]}, f"[3]{BESIDES}"),
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
        (AMFRegressor, *EDITS["too few columns"]),
    ],
)
def test_a_damaged_file_says_so(kind, edit, message, tmp_path):
    estimator, path = small(kind).fit(X, targets_of(kind)), tmp_path / "model.amf"
    assert message in error_of_edited(estimator, lambda h, _: h["fitted"].update(edit), path)


@pytest.mark.parametrize("class_weight", [*CLASS_WEIGHTS.values(), {7: 2.0, True: 1}, {}])
@pytest.mark.parametrize("has_learnt", [False, True])
def test_a_file_keeps_the_weights_of_classes(class_weight, has_learnt, tmp_path):
    estimator = small(class_weight=class_weight)
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


def test_a_file_brings_the_module_that_it_needs_or_says_what_to_install(tmp_path):
    path = str(tmp_path / "model.amf")
    small().fit(X, Y).save(path)
    result = run(f"import river_amf; print(type(river_amf.load({path!r})).__module__)")
    assert result.stdout.strip() == "river_amf.sklearn.classifiers", result.stderr
    for needing in ("import river_amf.sklearn", f"river_amf.load({path!r})"):
        result = run(
            "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.base'] = None;"
            "import river_amf; river_amf.AMFClassifier().learn_one({'a': 1}, 'b');" + needing
        )
        *_, last = result.stderr.splitlines()
        assert last.startswith("ImportError:")
        assert last.endswith('pip install "scikit-learn>=1.6"')
