"""Surfaces: each pixel is what the model predicts there."""

import itertools
import math
import pickle
import random

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from river import datasets, linear_model, naive_bayes, neighbors, preprocessing
from river.datasets import synth

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    inspection,
    plot,
    sklearn,
)

pytestmark = pytest.mark.usefixtures("no_figures")

BANANAS = [({1: x["1"], 2: x["2"]}, y) for x, y in datasets.Bananas().take(150)]
NUMBERS = [({1: x[0], 2: x[3]}, y) for x, y in synth.Friedman(seed=4).take(150)]


def three_labels(n=200):
    rng = random.Random(1)
    for _ in range(n):
        x = {"a": rng.random(), "b": rng.random(), "c": rng.choice("rg")}
        yield x, ["z", "x", "y"][(x["a"] > 0.5) + (x["b"] > 0.5)]


def learn(model, samples):
    for x, y in samples:
        model.learn_one(x, y)
    return model


def pixels(ax, names, resolution):
    """Yield each pixel and the features at its center."""
    mesh = ax.collections[0]
    picture = mesh.get_array().reshape(resolution, resolution, -1)
    corners = mesh.get_coordinates()
    centers = 0.5 * (corners[:-1, :-1] + corners[1:, 1:])
    for i, j in itertools.product(range(resolution), repeat=2):
        yield picture[i, j], dict(zip(names, centers[i, j].tolist(), strict=True))


def legend(ax):
    colors = [to_rgb(patch.get_facecolor()) for patch in ax.get_legend().get_patches()]
    return dict(zip([t.get_text() for t in ax.get_legend().get_texts()], colors, strict=True))


@pytest.mark.parametrize(
    ("model", "names", "samples"),
    [
        (AMFClassifier(n_estimators=4, seed=1), (1, 2), BANANAS),
        (preprocessing.StandardScaler() | AMFClassifier(seed=1), (1, 2), BANANAS),
        (naive_bayes.GaussianNB(), (1, 2), BANANAS),
        (linear_model.PAClassifier(), (1, 2), BANANAS),  # without probabilities
        (AdaptiveAMFClassifier(n_estimators=4, seed=1), ("a", "b"), [*three_labels()]),
    ],
)
def test_surface_of_a_classifier(model, names, samples):
    model = learn(model.clone(), samples)
    before = pickle.dumps(model)
    ax = plot.decision_surface(model, names, samples, resolution=9)
    assert pickle.dumps(model) == before
    colors = legend(ax)
    assert [*colors] == sorted({str(y) for _, y in samples})
    chance = 1 / len(colors)
    for pixel, x in pixels(ax, names, 9):
        try:
            proba = model.predict_proba_one(x)
        except NotImplementedError:
            proba = {model.predict_one(x): 1.0}
        best = max(proba, key=proba.get)
        strength = 0.7 * (proba[best] - chance) / (1 - chance)
        expected = strength * (1 - np.array(colors[str(best)]))
        np.testing.assert_allclose(1 - pixel, expected, atol=1e-6)
    points = ax.collections[1]
    np.testing.assert_allclose(points.get_offsets(), [[x[k] for k in names] for x, _ in samples])
    assert [to_rgb(c) for c in points.get_facecolors()] == [colors[str(y)] for _, y in samples]
    assert (ax.get_xlabel(), ax.get_ylabel()) == tuple(map(str, names))


@pytest.mark.parametrize(
    "model",
    [
        AMFRegressor(n_estimators=4, seed=1),
        AdaptiveAMFRegressor(n_estimators=4, seed=1),
        preprocessing.StandardScaler() | AMFRegressor(n_estimators=2, seed=1),
        neighbors.KNNRegressor(),
    ],
)
def test_surface_of_a_regressor(model):
    model = learn(model.clone(), NUMBERS)
    before = pickle.dumps(model)
    ax = plot.decision_surface(model, samples=NUMBERS, resolution=8)
    assert pickle.dumps(model) == before
    for pixel, x in pixels(ax, (1, 2), 8):
        assert pixel[0] == pytest.approx(model.predict_one(x), abs=1e-9)
    mesh, points = ax.collections
    assert mesh.colorbar.ax.get_ylabel() == "prediction"
    np.testing.assert_array_equal(points.get_array(), [y for _, y in NUMBERS])
    assert points.norm is mesh.norm


def test_surface_takes_forests_and_features_as_they_are():
    X, y = pd.DataFrame([x for x, _ in NUMBERS]), [y for _, y in NUMBERS]
    estimator = sklearn.AMFRegressor(n_estimators=2, random_state=1).fit(X.to_numpy(), y)
    ax = plot.decision_surface(estimator, resolution=4)
    for pixel, x in pixels(ax, (0, 1), 4):
        assert pixel[0] == pytest.approx(estimator.predict([[x[0], x[1]]])[0])
    model = learn(AMFClassifier(seed=1), three_labels())
    table = inspection.feature_importance(model)
    ax = plot.decision_surface(model, table["mass"].nlargest(2).index, resolution=3)
    assert {ax.get_xlabel(), ax.get_ylabel()} == {"a", "b"}
    low, high = model._arena.ranges[:, model._features.column(ax.get_xlabel())]
    left, right = ax.get_xlim()
    assert left < low < high < right < high + 0.5 * (high - low)


def test_samples_without_both_features_have_no_point():
    model = learn(AMFClassifier(n_estimators=4, seed=1), BANANAS)
    gaps = [({1: 0.0}, True), ({1: math.nan, 2: 1.0}, True)]
    samples = [*BANANAS, *gaps, ({1: 0.0, 2: 0.5}, "new")]
    ax = plot.decision_surface(model, samples=samples, resolution=5)
    there = [*BANANAS, samples[-1]]
    np.testing.assert_array_equal(ax.collections[1].get_offsets(), [[x[1], x[2]] for x, _ in there])
    assert sorted(legend(ax)) == ["False", "True", "new"]
    flat = learn(AMFClassifier(seed=1), [({"a": 2.0, "b": i}, i > 2) for i in range(5)])
    left, right = plot.decision_surface(flat, resolution=5).get_xlim()
    assert left < 2.0 < right


class Silent(linear_model.LinearRegression):
    def predict_one(self, x):
        return None


FOREST = learn(AMFClassifier(seed=1), three_labels())


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (FOREST, {}, ValueError, r"two different names, .* got \['a', 'b', 'c'\]"),
        (FOREST, {"features": ["a", "a"]}, ValueError, r"two different names, .* got \['a', 'a'\]"),
        (FOREST, {"features": ["a", "d"]}, ValueError, "'d' has no known numbers; pass samples"),
        (FOREST, {"features": ["a", "c"]}, ValueError, "'c' has no known numbers"),
        (FOREST, {"features": "ac", "samples": three_labels(5)}, ValueError, "'c': .* not a plain"),
        (FOREST, {"features": "ab", "resolution": 1}, ValueError, "resolution must be an integer"),
        (FOREST, {"samples": [([1, 2], 1)]}, TypeError, "samples must be pairs of a dict and"),
        (FOREST[0], {}, TypeError, "a river classifier or regressor, got Tree"),
        (AMFRegressor(), {"samples": NUMBERS}, ValueError, "has not learned any samples yet"),
        (Silent(), {"samples": NUMBERS}, ValueError, "has not learned any samples yet"),
        (naive_bayes.GaussianNB(), {"samples": NUMBERS}, ValueError, "has not learned any samples"),
    ],
)
def test_surface_of_bad_arguments_is_an_error(model, options, error, message):
    with pytest.raises(error, match=message):
        plot.decision_surface(model, **options)
    assert not plt.get_fignums()
