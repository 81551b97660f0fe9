"""Features that are there or not: what a missing value counts as (DESIGN.md: missing values)."""

import math
import random
import sys

import pytest
from forests import learn

import river_amf
from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    inspection,
)

CLASSIFIERS = pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])


def visits(n, seed=1):
    """Yield samples with two features that are there or not, and whether each is."""
    rng = random.Random(seed)
    for _ in range(n):
        has_promo, has_error = rng.random() < 0.5, rng.random() < 0.5
        x = {"price": rng.random()}
        x |= {"promo": True} if has_promo else rng.choice([{}, {"promo": None}])
        x |= {"error": "timeout"} if has_error else rng.choice([{}, {"error": math.nan}])
        yield x, has_promo, has_error


# Presence is learned


@CLASSIFIERS
@pytest.mark.parametrize("feature", ["promo", "error"])
def test_presence_predicts_labels(kind, feature):
    model, n_right = kind(seed=1), 0
    for i, (x, *labels) in enumerate(visits(1500)):
        label = labels[feature == "error"]
        n_right += i >= 500 and model.predict_one(x) == label
        model.learn_one(x, label)
    assert n_right > 990


@pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])
def test_presence_predicts_targets(kind):
    model, error = kind(seed=1), 0.0
    for i, (x, has_promo, has_error) in enumerate(visits(1500)):
        target = 3.0 * has_promo + 5.0 * has_error
        error += abs(target - model.predict_one(x)) * (i >= 500)
        model.learn_one(x, target)
    assert error / 1000 < 0.2


@pytest.mark.parametrize(
    "value, expected",
    [
        (1024, 1023.0),
        (True, 1 - 2.0**-10),
        (-0.5, -0.5 - 2.0**-11),
        (0, -(2.0**-10)),
        (5e-324, 5e-324),
        (-sys.float_info.max, -sys.float_info.max),
    ],
)
def test_absence_is_just_below_the_only_value(value, expected):
    samples = [({"a": value, "b": i} if i % 2 == 0 else {"b": i}, i % 2) for i in range(70)]
    model = learn(AMFClassifier(seed=1), samples)
    assert model._arena.stand_ins[0] == expected
    assert model._arena.ranges[:, 0].tolist() == [expected, float(value)]
    absent = [model.predict_proba_one({"b": 3} | x) for x in ({}, {"a": None}, {"a": math.nan})]
    assert absent == [model.predict_proba_one({"b": 3, "a": expected})] * 3


# One more category


@CLASSIFIERS
def test_missing_categories_count_towards_no_limit(kind):
    colors = [None, "red", "tan"]
    samples = [({"color": colors[i % 3]}, i % 3) for i in range(90)]
    model = learn(kind(max_categories=2, seed=1, on_mismatch="missing"), samples)
    assert model._features.categories("color") == {"red": 0, "tan": 1}
    assert [model.predict_one({"color": color}) for color in colors] == [0, 1, 2]
    with pytest.warns(river_amf.MismatchWarning, match="got the number 7"):
        assert model.predict_one({"color": 7}) == 0


# Explanations


@CLASSIFIERS
def test_explanations_show_missing_values(kind):
    samples = [(x, has_promo and has_error) for x, has_promo, has_error in visits(300)]
    model = learn(kind(n_estimators=1, seed=1), samples)
    text = model.debug_one({"price": 0.5})
    assert "missing: " in text
    assert "error not in {(missing)}" in model.debug_one({"promo": 1, "error": "timeout"})
    splits = inspection.node_table(model)["categories_left"].dropna()
    assert any("(missing)" in left for left in splits)
    steps = inspection.path(model, {"price": 0.5}).set_index("feature")["value"]
    assert steps.drop(["price", None], errors="ignore").isna().all()


def test_contributions_show_missing_categories():
    model = learn(AdaptiveAMFClassifier(seed=1), [(x, error) for x, _, error in visits(300)])
    parts = inspection.contributions(model, {"price": 0.5}, label=True)
    assert parts["error"] < -1.0
