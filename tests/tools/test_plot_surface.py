"""Surfaces: each pixel is what the model predicts there."""

import contextlib
import itertools
import math
import pickle
import random

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from forests import learn
from matplotlib.colors import to_rgb
from river import datasets, linear_model, naive_bayes, neighbors, preprocessing
from river.datasets import synth

from river_amf import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor, plot, sklearn

pytestmark = pytest.mark.usefixtures("no_figures")

BANANAS = [({1: x["1"], 2: x["2"]}, y) for x, y in datasets.Bananas().take(150)]
NUMBERS = [({1: x[0], 2: x[3]}, y) for x, y in synth.Friedman(seed=4).take(150)]


def three_labels(n=200):
    rng = random.Random(1)
    for _ in range(n):
        x = {"a": rng.random(), "b": rng.random(), "c": rng.choice("rg")}
        yield x, ["z", "x", "y"][(x["a"] > 0.5) + (x["b"] > 0.5)]


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


def scaled(model):
    return preprocessing.StandardScaler() | model


def drawn(model, samples):
    """Return the trained model, the names of the axes, and the axes; the model must not change."""
    model, names = learn(model.clone(), samples), [*samples[0][0]][:2]
    before = pickle.dumps(model)
    ax = plot.decision_surface(model, names, samples, resolution=9)
    assert pickle.dumps(model) == before
    points = ax.collections[1].get_offsets()
    np.testing.assert_allclose(points, [[x[k] for k in names] for x, _ in samples])
    assert [ax.get_xlabel(), ax.get_ylabel()] == [*map(str, names)]
    return model, names, ax


@pytest.mark.parametrize(
    ("model", "samples"),
    [
        (AMFClassifier(n_estimators=4, seed=1), BANANAS),
        (scaled(AMFClassifier(seed=1)), BANANAS),
        (linear_model.PAClassifier(), BANANAS),  # without probabilities
        (AdaptiveAMFClassifier(n_estimators=4, seed=1), [*three_labels()]),
    ],
)
def test_surface_colors_are_of_labels(model, samples):
    model, names, ax = drawn(model, samples)
    colors = legend(ax)
    assert [*colors] == sorted({str(y) for _, y in samples})
    points = ax.collections[1].get_facecolors()
    assert [to_rgb(color) for color in points] == [colors[str(y)] for _, y in samples]
    for pixel, x in pixels(ax, names, 9):
        proba = {model.predict_one(x): 1.0}
        with contextlib.suppress(NotImplementedError):
            proba = model.predict_proba_one(x)
        best, chance = max(proba, key=proba.get), 1 / len(colors)
        strength = 0.7 * (proba[best] - chance) / (1 - chance)
        expected = strength * (1 - np.array(colors[str(best)]))
        np.testing.assert_allclose(1 - pixel, expected, atol=1e-6)


@pytest.mark.parametrize(
    "model", [AMFRegressor(4, seed=1), scaled(AMFRegressor(2, seed=1)), neighbors.KNNRegressor()]
)
def test_surface_values_are_predicted_targets(model):
    model, names, ax = drawn(model, NUMBERS)
    mesh, points = ax.collections
    for pixel, x in pixels(ax, names, 9):
        assert pixel[0] == pytest.approx(model.predict_one(x), abs=1e-9)
    assert mesh.colorbar.ax.get_ylabel() == "prediction" and points.norm is mesh.norm
    np.testing.assert_array_equal(points.get_array(), [y for _, y in NUMBERS])


def test_surface_of_estimators_and_range_of_forests():
    X, y = pd.DataFrame([x for x, _ in NUMBERS]), [y for _, y in NUMBERS]
    estimator = sklearn.AMFRegressor(n_estimators=2, random_state=1).fit(X.to_numpy(), y)
    for pixel, x in pixels(plot.decision_surface(estimator, resolution=4), (0, 1), 4):
        assert pixel[0] == pytest.approx(estimator.predict([[x[0], x[1]]])[0])
    ax = plot.decision_surface(FOREST, ["a", "b"], resolution=3)
    low, high = FOREST._arena.ranges[:, FOREST._features.column("a")]
    left, right = ax.get_xlim()
    assert left < low < high < right < high + 0.5 * (high - low)


def test_sample_without_both_features_has_no_point():
    model = learn(AMFClassifier(n_estimators=4, seed=1), BANANAS)
    gaps = [({1: 0.0}, True), ({1: math.nan, 2: 1.0}, True)]
    samples = [*BANANAS, *gaps, ({1: 0.0, 2: 0.5}, "new")]
    ax = plot.decision_surface(model, samples=samples, resolution=5)
    there = [*BANANAS, samples[-1]]
    np.testing.assert_array_equal(ax.collections[1].get_offsets(), [[x[1], x[2]] for x, _ in there])
    assert sorted(legend(ax)) == ["False", "True", "new"]


FOREST = learn(AMFClassifier(seed=1), three_labels())


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (FOREST, {}, ValueError, r"two different names, got \['a', 'b', 'c'\]"),
        (FOREST, {"features": ["a", "d"]}, ValueError, "'d' has no numbers so far; pass samples"),
        (FOREST, {"features": ["a", "c"]}, ValueError, "'c' has no numbers"),
        (FOREST, {"features": "ac", "samples": three_labels(5)}, ValueError, "'c': .* not a plain"),
        (FOREST, {"features": "ab", "resolution": 1}, ValueError, "resolution must be an integer"),
        (FOREST[0], {}, TypeError, "a river classifier or regressor, got Tree"),
        (naive_bayes.GaussianNB(), {"samples": NUMBERS}, ValueError, "has not learned any samples"),
    ],
)
def test_surface_of_bad_arguments_is_refused(model, options, error, message):
    with pytest.raises(error, match=message):
        plot.decision_surface(model, **options)
    assert not plt.get_fignums()
