"""What a missing value counts as, and predictions that go both ways where a number is missing.

See DESIGN.md: missing values.
"""

import math
import random
import sys

import naive_growth
import pytest
import test_naive
import test_naive_regression
from forests import learn

import river_amf
from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection


def wide(rng):
    """Return a sample that trees split in all directions, so that they have hundreds of leaves."""
    return {name: rng.random() for name in "abc"}


def deep(rng):
    """Return a number of any scale, so that splits cut off the largest ones."""
    return {"a": 2.0 ** rng.randint(0, 250)}


BOUNDS = [(wide, 250, "MOST_VISITS"), (deep, 125, "MOST_OPEN")]


@pytest.mark.parametrize("is_regressor", [False, True])
@pytest.mark.parametrize(("sample", "n", "bound"), BOUNDS)
def test_walks_have_the_bounds_of_the_reference(monkeypatch, sample, n, bound, is_regressor):
    rng = random.Random(1)
    parameters = {"use_aggregation": False, "vote": "mean", "split_intensity": "unit"}
    parameters |= {} if is_regressor else {"split_pure": True}
    naive = test_naive_regression if is_regressor else test_naive
    model, reference = naive.pair(1, **parameters)
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


@CLASSIFIERS
@pytest.mark.parametrize("feature", ["promo", "error"])
def test_presence_predicts_labels(kind, feature):
    model, n_right = kind(seed=1), 0
    for i, (x, *labels) in enumerate(visits(1500)):
        label = labels[feature == "error"]
        n_right += i >= 500 and model.predict_one(x) == label
        model.learn_one(x, label)
    assert n_right > 990


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


@CLASSIFIERS
def test_missing_categories_count_towards_no_limit(kind):
    colors = [None, "red", "tan"]
    samples = [({"color": colors[i % 3]}, i % 3) for i in range(90)]
    model = learn(kind(max_categories=2, seed=1, on_mismatch="missing"), samples)
    assert model._features.categories("color") == {"red": 0, "tan": 1}
    assert [model.predict_one({"color": color}) for color in colors] == [0, 1, 2]
    with pytest.warns(river_amf.MismatchWarning, match="got the number 7"):
        assert model.predict_one({"color": 7}) == 0


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
