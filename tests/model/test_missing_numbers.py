"""A prediction goes both ways where a number is missing, within the bounds of the reference."""

import random

import naive_growth
import naive_regression
import pytest
from forests import learn
from test_naive import pair

from river_amf import AMFClassifier, AMFRegressor
from river_amf.engine.settings import begin


def pair_of_regressors(n_estimators, **parameters):
    model = AMFRegressor(n_estimators, seed=5, **parameters)
    trees = begin(model).trees
    keys = trees["random_state"].tolist(), trees["key"].tolist()
    return model, naive_regression.NaiveRegressor(*keys, **parameters)


def wide(rng):
    """Return a sample that trees split in all directions, so that they have hundreds of leaves."""
    return {name: rng.random() for name in "abc"}


def deep(rng):
    """Return a number of any scale, so that splits cut off the largest ones."""
    return {"a": 2.0 ** rng.randint(0, 250)}


BOUNDS = [(wide, 500, "MOST_VISITS"), (deep, 250, "MOST_OPEN")]


@pytest.mark.parametrize("is_regressor", [False, True])
@pytest.mark.parametrize(("sample", "n", "bound"), BOUNDS)
def test_walks_have_the_bounds_of_the_reference(monkeypatch, sample, n, bound, is_regressor):
    rng = random.Random(1)
    parameters = {"use_aggregation": False, "vote": "mean", "split_intensity": "unit"}
    parameters |= {} if is_regressor else {"split_pure": True}
    model, reference = (pair_of_regressors if is_regressor else pair)(1, **parameters)
    for _ in range(n):
        x, y = sample(rng), rng.random() if is_regressor else rng.choice("xy")
        model.learn_one(x, y)
        reference.learn_one(x, y)
    predict = "predict_one" if is_regressor else "predict_proba_one"
    for x in ({}, {"b": 0.5}, {"a": 0.5}):
        assert getattr(model, predict)(x) == pytest.approx(getattr(reference, predict)(x))
    n_visits = len(reference.trees[0].visits({}))
    monkeypatch.setattr(naive_growth, bound, 10**9)
    assert len(reference.trees[0].visits({})) > n_visits


def test_prediction_without_a_number_is_the_base_rate():
    rng = random.Random(1)
    numbers = [rng.random() for _ in range(1500)]
    samples = [({"a": a, "b": rng.random()}, a < 0.27) for a in numbers]
    model = learn(AMFClassifier(seed=1), samples)
    for b in (0.1, 0.5, 0.9):
        assert model.predict_proba_one({"b": b})[True] == pytest.approx(0.27, abs=0.05)
