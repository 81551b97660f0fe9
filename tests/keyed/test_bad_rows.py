"""Bad input raises an error that says what to do, and leaves all models as they were."""

import pickle

import numpy as np
import pandas as pd
import pytest
from river import base, linear_model

from river_amf import AMFClassifier, AMFRegressor
from river_amf.keyed import KeyedClassifier, KeyedRegressor

FRAME = pd.DataFrame({"user": [*"abcab"], "a": [1.0, 2.0, 3.0, 4.0, 5.0]})
LABELS = [True, False, True, False, True]
FOREST = AMFClassifier(n_estimators=2, seed=1)
LOGISTIC = linear_model.LogisticRegression()


def changed(**columns):
    return FRAME.assign(**columns)


BLOCKS = {
    "not a frame": ([[1, 2]], LABELS, None, TypeError, "X must be a dataframe"),
    "no key": (FRAME[["a"]], LABELS, None, ValueError, r"X lacks the column 'user', .*has \['a'\]"),
    "missing key": (changed(user=["a", "b", None, "a", "b"]), LABELS, None, ValueError,
                    "row 2: column 'user': a key must not be missing"),
    "NaN": (changed(user=[1, 2, 3, np.nan, 1]), LABELS, None, ValueError, "row 3: column 'user'"),
    "a list": (changed(user=["a", "b", [1], "a", "b"]), LABELS, None, TypeError,
               "row 2: column 'user': a key must be text"),
    "few labels": (FRAME, LABELS[:4], None, ValueError, "X has 5 rows, but y has 4 values"),
    "few weights": (FRAME, LABELS, [1.0], ValueError, "X has 5 rows, but w has 1 values"),
    "order": (FRAME, pd.Series(LABELS)[::-1], None, ValueError, "y has the index of X in another"),
    "bad weight": (FRAME, LABELS, [1, 1, -1, 1, 1], ValueError, "row 2: w must be a finite number"),
}  # fmt: skip
OF_FORESTS = {
    "infinite": (changed(a=[1, 2, 3, 4, np.inf]), LABELS, None, ValueError,
                 "row 4: the key 'b': feature 'a': the value inf is infinite"),
    "date": (changed(a=[1, 2, 3, pd.Timestamp(0), 5]), LABELS, None, ValueError,
             "row 3: the key 'a': feature 'a': .*is a date"),
    "kind": (changed(a=[1, 2, 3, "red", 5]), LABELS, None, ValueError, "row 3: the key 'a': "),
    "no label": (FRAME, [*LABELS[:4], None], None, ValueError, "row 4: the key 'b': .*label"),
}  # fmt: skip


def state_of(model):
    return [(text, pickle.dumps(each)) for text, each in model._pool.models.items()]


@pytest.mark.parametrize("method", ["learn_many", "predict_proba_then_learn_many"])
@pytest.mark.parametrize(
    ("factory", "name"),
    [(FOREST, name) for name in BLOCKS | OF_FORESTS] + [(LOGISTIC, name) for name in BLOCKS],
)
def test_a_bad_block_changes_no_model(factory, name, method):
    X, y, w, kind, message = (BLOCKS | OF_FORESTS)[name]
    model = KeyedClassifier(factory, "user")
    model.learn_many(FRAME, LABELS)
    before = dict(state_of(model))
    with pytest.raises(kind, match=message):
        getattr(model, method)(X, y, w)
    assert dict(state_of(model)) == before


@pytest.mark.parametrize("max_models", [None, 1])
def test_forests_check_their_rows_wherever_they_are(max_models):
    model = KeyedRegressor(AMFRegressor(n_estimators=2), "user", max_models=max_models)
    model.learn_many(FRAME, [1.0, 2.0, 3.0, 4.0, 5.0])
    before = {key: pickle.dumps(model[key]) for key in model}
    for bad in (np.nan, np.inf, 1e200, "much"):
        with pytest.raises((TypeError, ValueError), match="row 4: the key 'b': "):
            model.learn_many(FRAME, [1.0, 2.0, 3.0, 4.0, bad])
    assert {key: pickle.dumps(model[key]) for key in model} == before


def test_an_error_of_another_model_reports_whose_rows_they_were():
    model = KeyedClassifier(linear_model.LogisticRegression(), "user")
    with pytest.raises(Exception) as caught:
        model.learn_many(changed(a=[1, "red", 2, 3, 4]), LABELS)
    assert caught.value.__notes__ == ["in the rows of the key 'b'"]


@pytest.mark.parametrize(
    ("x", "kind", "message"),
    [
        ([1], TypeError, "x must be a dict"),
        ({"a": 1}, ValueError, r"x lacks the key 'user', .*it has \['a'\]"),
        ({"user": None}, ValueError, "feature 'user': a key must not be missing, got None"),
        ({"user": float("nan")}, ValueError, "feature 'user': a key must not be missing, got nan"),
        ({"user": ["a"]}, TypeError, "feature 'user': a key must be text, bytes"),
        ({"user": "a", "a": float("inf")}, ValueError, "infinite"),
    ],
)
def test_a_bad_sample_changes_nothing(x, kind, message):
    model = KeyedClassifier(AMFClassifier(seed=1), "user")
    for call in (lambda: model.learn_one(x, True), lambda: model.predict_one(x)):
        with pytest.raises(kind, match=message):
            call()
    assert len(model) == 0
    model.learn_many(FRAME, LABELS)
    before = dict(state_of(model))
    with pytest.raises(kind, match=message):
        model.learn_one(x, True)
    assert dict(state_of(model)) == before


def test_weights_are_refused_by_models_that_take_none():
    model = KeyedClassifier(_Plain(), "user")
    model.learn_one({"user": "a", "a": 1}, True)
    model.learn_one({"user": "a", "a": 1}, True, w=1.0)
    for call in (
        lambda: model.learn_one({"user": "a", "a": 1}, True, w=2.0),
        lambda: model.learn_many(FRAME, LABELS, [1.0] * 5),
    ):
        with pytest.raises(TypeError, match="a _Plain takes no sample weights; leave out w"):
            call()


class _Plain(base.Classifier):
    """A classifier without blocks or weights."""

    def learn_one(self, x, y):
        """Learn nothing."""


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"factory": 3}, "a KeyedClassifier must be a river classifier, .*, got 3 of type int"),
        ({"factory": linear_model.LinearRegression()}, "river classifier, .*a LinearRegression"),
        ({"key": None}, "key must be the name of a feature"),
        ({"key": ["user"]}, "key must be the name of a feature"),
        ({"max_models": 0}, "max_models must be an integer >= 1 or None, got 0"),
        ({"folder": 3}, "folder must be the path of a folder or None, got 3"),
    ],
)
def test_parameters_are_checked(parameters, message):
    good = {"factory": linear_model.LogisticRegression(), "key": "user"}
    with pytest.raises(ValueError, match=message):
        KeyedClassifier(**good | parameters)


def test_a_factory_that_makes_something_else_is_refused_when_it_is_given():
    for made, got in ((linear_model.LinearRegression(), "a LinearRegression"), (3, "3 of type")):
        with pytest.raises(ValueError, match=f"of a KeyedClassifier must be .* it made {got}"):
            KeyedClassifier(lambda made=made: made, "user")
    model = KeyedRegressor(lambda user: LOGISTIC, "user")  # nobody knows before the first key
    with pytest.raises(ValueError, match=r"of a KeyedRegressor .* it made a LogisticRegression"):
        model.learn_one({"user": "a", "a": 1}, True)
    assert len(model) == 0


def test_errors_about_parameters_name_the_class():
    for kind in (KeyedClassifier, KeyedRegressor, type("Mine", (KeyedClassifier,), {})):
        with pytest.raises(TypeError, match=rf"^{kind.__name__}.__init__\(\) missing .* 'key'"):
            kind(LOGISTIC)
