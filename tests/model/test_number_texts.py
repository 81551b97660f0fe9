"""A feature whose categories are all numbers is warned of, once."""

import warnings

import pandas as pd
import pytest

from river_amf import AMFClassifier, AMFRegressor


def messages(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught]


def by_rows(model, texts):
    for text in texts:
        model.learn_one({"a": text, "b": "x" + text}, 1.0)


def at_once(model, texts):
    X = pd.DataFrame({"a": texts, "b": ["x" + text for text in texts]})
    model.learn_many(X, pd.Series([1.0] * len(texts)))


@pytest.mark.parametrize("learn", [by_rows, at_once])
@pytest.mark.parametrize("make", [AMFClassifier, AMFRegressor])
def test_numbers_as_texts_are_warned_of_once(make, learn):
    model = make(n_estimators=2, seed=1)
    numbers = [f"{i / 4}" for i in range(60)]
    assert messages(lambda: learn(model, numbers[:19])) == []
    (message,) = messages(lambda: learn(model, numbers))
    assert message.startswith("feature 'a' holds categories, but its first 20 are all numbers")
    assert "such as '4.75': pass float(value)" in message
    assert messages(lambda: learn(model, [str(i) for i in range(100, 130)])) == []
    mixed = make(n_estimators=2, seed=1)
    assert messages(lambda: learn(mixed, [*numbers[:10], "none", *numbers[10:]])) == []


def test_a_warning_that_is_raised_changes_nothing():
    model, twin = (AMFClassifier(n_estimators=2, seed=1) for _ in range(2))
    for each in (model, twin):
        by_rows(each, [str(i) for i in range(19)])
    with pytest.raises(UserWarning, match="feature 'a'"):
        model.learn_one({"a": "19", "b": "y"}, 2.0)
    assert model.predict_proba_one({"a": "3"}) == twin.predict_proba_one({"a": "3"})
    assert model.n_samples == twin.n_samples == 19
