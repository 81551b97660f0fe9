import itertools
import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
from river import conf, linear_model, naive_bayes, neighbors, preprocessing

from river_amf import AdaptiveAMFRegressor, AMFClassifier, AMFRegressor, plot, sklearn
from river_amf.evaluation import STREAMS

pytestmark = pytest.mark.usefixtures("no_figures")

SAMPLES = [({1: x[0], 2: x[3]}, y) for x, y in STREAMS["friedman"].take(150)]


def learn(model, samples=SAMPLES):
    for x, y in samples:
        model.learn_one(x, y)
    return model


def jackknife():
    return conf.RegressionJackknife(
        preprocessing.StandardScaler() | linear_model.LinearRegression()
    )


@pytest.fixture
def forest():
    return learn(AMFRegressor(n_estimators=4, seed=1))


def grid(ax):
    """Return the points at the centers of the pixels, with their indices."""
    (image,) = ax.images
    n_rows, n_columns = image.get_array().shape
    left, right, bottom, top = image.get_extent()
    for i in range(n_rows):
        for j in range(n_columns):
            x = left + (j + 0.5) * (right - left) / n_columns
            y = bottom + (i + 0.5) * (top - bottom) / n_rows
            yield i, j, {1: x, 2: y}


@pytest.mark.parametrize(
    "model",
    [
        AMFRegressor(n_estimators=4, seed=1),
        AdaptiveAMFRegressor(n_estimators=4, seed=1),
        preprocessing.StandardScaler() | AMFRegressor(n_estimators=2, seed=1),
        jackknife(),
        neighbors.KNNRegressor(),
    ],
)
def test_the_surface_is_the_prediction(model):
    model = learn(model.clone())
    ax = plot.regression_surface(model, samples=SAMPLES, resolution=8)
    (image,) = ax.images
    for i, j, x in grid(ax):
        assert image.get_array()[i, j] == pytest.approx(model.predict_one(x), abs=1e-9)
    assert image.origin == "lower"
    assert image.colorbar.ax.get_ylabel() == "prediction"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("1", "2")


@pytest.mark.parametrize("level", [None, 0.9, 0.5])
@pytest.mark.parametrize("scale", [False, True])
def test_a_forest_shows_how_wide_its_intervals_are_at_any_level(level, scale):
    forest = AMFRegressor(n_estimators=4, seed=1)
    model = learn(preprocessing.StandardScaler() | forest if scale else forest)
    options = {"width": True, "level": level, "resolution": 6}
    ax = plot.regression_surface(model, samples=SAMPLES, **options)
    (image,) = ax.images
    for i, j, x in grid(ax):
        seen = model.transform_one(x) if scale else x
        interval = forest.predict_interval_one(seen, 0.9 if level is None else level)
        assert image.get_array()[i, j] == pytest.approx(interval.width, abs=1e-9)
    names = {None: "the interval", 0.9: "the 90 % interval", 0.5: "the 50 % interval"}
    assert image.colorbar.ax.get_ylabel() == f"width of {names[level]}"
    assert image.cmap.name != plot.regression_surface(model, (1, 2), SAMPLES).images[0].cmap.name


def test_intervals_of_river_have_a_width_too():
    model = learn(jackknife())
    ax = plot.regression_surface(model, samples=SAMPLES, width=True, resolution=4)
    widths = [model.predict_one(x, with_interval=True).width for *_, x in grid(ax)]
    np.testing.assert_allclose(ax.images[0].get_array().ravel(), widths)


def test_samples_have_the_colours_of_their_targets(forest):
    samples = [*SAMPLES, ({1: 0.5}, 3.0), ({1: 0.5, 2: math.nan}, 3.0), ({1: 0.1, 2: 0.2}, 1e9)]
    ax = plot.regression_surface(forest, samples=samples, resolution=5)
    (points,), (image,) = ax.collections, ax.images
    there = [*SAMPLES, samples[-1]]
    np.testing.assert_array_equal(points.get_offsets(), [[x[1], x[2]] for x, _ in there])
    low, high = image.get_clim()
    assert (low, high) == (image.get_array().min(), image.get_array().max())
    colors = image.cmap(image.norm([y for _, y in there]))
    np.testing.assert_array_equal(points.get_facecolors(), colors)
    ax = plot.regression_surface(forest, samples=samples, width=True, resolution=5)
    assert len(np.unique(ax.collections[0].get_facecolors(), axis=0)) == 1


def surface(model, **options):
    return plot.regression_surface(model, resolution=5, **options).images[0].get_array()


@pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])
def test_trees_are_drawn_alone_and_together(kind):
    vote = "mean" if kind is AMFRegressor else "learned"
    model = learn(kind(n_estimators=4, seed=1, vote=vote))
    alone = [surface(model, trees=tree) for tree in range(4)]
    ax = plot.regression_surface(model, trees=3, resolution=5)
    for i, j, x in grid(ax):
        assert alone[3][i, j] == pytest.approx(model[3].predict_one(x), abs=1e-9)
    assert all(np.abs(one - other).max() > 0.1 for one, other in itertools.pairwise(alone))
    np.testing.assert_allclose(surface(model, trees=[1, 2]), np.mean(alone[1:3], axis=0))
    leaves = learn(kind(n_estimators=4, use_aggregation=False, seed=1, vote=vote))
    assert np.abs(surface(model, aggregated=False) - surface(model)).max() > 0.1
    if vote == "mean":  # trees do not depend on the vote
        np.testing.assert_allclose(surface(model, trees=range(4)), surface(model))
        np.testing.assert_allclose(surface(model, aggregated=False), surface(leaves))
        np.testing.assert_allclose(
            surface(model, trees=2, aggregated=False), surface(leaves, trees=2)
        )


def test_a_fitted_estimator_of_scikit_learn_is_drawn_as_its_forest():
    X, y = [[x[1], x[2]] for x, _ in SAMPLES], [y for _, y in SAMPLES]
    estimator = sklearn.AMFRegressor(n_estimators=2, random_state=1).fit(X, y)
    ax = plot.regression_surface(estimator, resolution=4)
    (image,) = ax.images
    points = [[x[1], x[2]] for *_, x in grid(ax)]
    np.testing.assert_allclose(image.get_array().ravel(), estimator.predict(points))
    plot.regression_surface(estimator, width=True, resolution=4)


def test_other_features_are_fixed_or_missing():
    samples = [({**x, "c": c}, y + 10 * (c == "r")) for x, y in SAMPLES for c in "rg"]
    model = learn(AMFRegressor(n_estimators=3, seed=1), samples)
    for fixed in (None, {"c": "r"}):
        ax = plot.regression_surface(model, (1, 2), fixed=fixed, resolution=4)
        for i, j, x in grid(ax):
            expected = model.predict_one({**x, **(fixed or {})})
            assert ax.images[0].get_array()[i, j] == pytest.approx(expected, abs=1e-9)


def test_each_kind_of_model_has_its_function(forest):
    classifier = learn(naive_bayes.GaussianNB(), [(x, y > 14) for x, y in SAMPLES])
    for model in (classifier, preprocessing.StandardScaler() | AMFClassifier()):
        with pytest.raises(TypeError, match=r"must be a regressor, got .*; decision_surface draws"):
            plot.regression_surface(model, samples=SAMPLES)
    for model in (forest, jackknife(), preprocessing.StandardScaler() | forest):
        with pytest.raises(TypeError, match=r"a classifier, got .*; regression_surface draws"):
            plot.decision_surface(model, samples=SAMPLES)


def test_a_model_that_has_learnt_nothing_is_an_error():
    class Silent(linear_model.LinearRegression):
        def predict_one(self, x):
            return None

    for model in (AMFRegressor(), Silent()):
        with pytest.raises(ValueError, match="model has not learned any samples yet"):
            plot.regression_surface(model, samples=SAMPLES, resolution=3)


def test_bad_arguments_are_errors_and_make_no_figure(forest):
    draw = plot.regression_surface
    with pytest.raises(IndexError, match="tree must be between 0 and 3, got 4"):
        draw(forest, trees=[0, 4])
    with pytest.raises(ValueError, match="resolution must be an integer >= 2, got 1"):
        draw(forest, resolution=1)
    with pytest.raises(ValueError, match="width must be True or False, got 'x'"):
        draw(forest, width="x")
    with pytest.raises(ValueError, match=r"level must be None without width, got 0\.9"):
        draw(forest, level=0.9)
    with pytest.raises(ValueError, match="level must be"):
        draw(forest, width=True, level=1.5)
    with pytest.raises(ValueError, match="trees and aggregated must be None with width"):
        draw(forest, width=True, trees=0)
    with pytest.raises(ValueError, match="features: 'd' is not one of"):
        draw(forest, (1, "d"))
    with pytest.raises(TypeError, match="model must give intervals"):
        draw(learn(neighbors.KNNRegressor()), samples=SAMPLES, width=True)
    with pytest.raises(TypeError, match="model must be a forest if trees or aggregated is given"):
        draw(jackknife(), samples=SAMPLES, trees=0)
    with pytest.raises(TypeError, match="samples must have numbers as targets, got 'high'"):
        draw(forest, samples=[({1: 0.5, 2: 0.5}, "high")])
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, got int"):
        draw(forest, ax=5)
    assert not plt.get_fignums()


def test_it_draws_on_the_axes_that_it_is_given(forest):
    ax = plt.subplots()[1]
    assert plot.regression_surface(forest, resolution=3, ax=ax) is ax
    assert plt.get_fignums() == [1]
    assert len(ax.figure.axes) == 2  # with the color bar
