"""Surfaces: each pixel is what the model predicts there, one point after the other."""

import itertools
import math
import random

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from river import conf, datasets, dummy, linear_model, naive_bayes, neighbors, preprocessing

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    plot,
    sklearn,
)
from river_amf.evaluation import STREAMS
from river_amf.explain import paths
from river_amf.plot.axes import label_colors

pytestmark = pytest.mark.usefixtures("no_figures")

SAMPLES = [({1: x["1"], 2: x["2"]}, y) for x, y in datasets.Bananas().take(150)]
NUMBERS = [({1: x[0], 2: x[3]}, y) for x, y in STREAMS["friedman"].take(150)]


def learn(model, samples):
    for x, y in samples:
        model.learn_one(x, y)
    return model


def three_labels(n=200):
    rng = random.Random(1)
    for _ in range(n):
        x = {"a": rng.random(), "b": rng.random(), "c": rng.choice("rg")}
        yield x, ["z", "x", "y"][(x["a"] > 0.5) + (x["b"] > 0.5)]


def jackknife():
    return conf.RegressionJackknife(
        preprocessing.StandardScaler() | linear_model.LinearRegression()
    )


@pytest.fixture
def bananas():
    return learn(AMFClassifier(n_estimators=4, seed=1), SAMPLES)


@pytest.fixture
def forest():
    return learn(AMFRegressor(n_estimators=4, seed=1), NUMBERS)


def points(ax, names=(1, 2)):
    """Yield each pixel and the features at its center."""
    (image,) = ax.images
    picture = image.get_array()
    n_rows, n_columns = picture.shape[:2]
    left, right, bottom, top = image.get_extent()
    for i, j in itertools.product(range(n_rows), range(n_columns)):
        x = left + (j + 0.5) * (right - left) / n_columns
        y = bottom + (i + 0.5) * (top - bottom) / n_rows
        yield picture[i, j], dict(zip(names, (x, y), strict=True))


def check(ax, predict):
    """Compare each pixel with a prediction."""
    for pixel, x in points(ax):
        assert pixel == pytest.approx(predict(x), abs=1e-9)


def surface(model, **options):
    return plot.regression_surface(model, **{"resolution": 6, **options}).images[0].get_array()


def legend(ax):
    colors = [to_rgb(patch.get_facecolor()) for patch in ax.get_legend().get_patches()]
    return dict(zip([t.get_text() for t in ax.get_legend().get_texts()], colors, strict=True))


@pytest.mark.parametrize(
    "model",
    [
        AMFClassifier(n_estimators=4, seed=1),
        AdaptiveAMFClassifier(n_estimators=4, seed=1),
        AMFClassifier(n_estimators=2, seed=1, n_classes=4, use_aggregation=False),
        naive_bayes.GaussianNB(),
        preprocessing.StandardScaler() | AMFClassifier(n_estimators=2, seed=1),
    ],
)
def test_the_surface_is_the_probability_of_the_second_label(model):
    model = learn(model.clone(), SAMPLES)
    ax = plot.decision_surface(model, samples=SAMPLES, resolution=12)
    check(ax, lambda x: model.predict_proba_one(x)[True])
    (image,) = ax.images
    assert image.get_array().shape == (12, 12)
    assert (image.origin, image.get_clim()) == ("lower", (0.0, 1.0))
    assert [*legend(ax)] == ["False", "True"]
    for value, (label, color) in zip((0.0, 1.0), label_colors([False, True]).items(), strict=True):
        shade = 1 - np.array(image.cmap(value)[:3])  # of the label's color
        np.testing.assert_allclose(
            shade / shade.max(), (c := 1 - np.array(to_rgb(color))) / max(c), atol=0.02
        )
        assert label == bool(value)
    assert image.cmap(0.5)[:3] == pytest.approx((1.0, 1.0, 1.0), abs=0.01)


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
def test_the_surface_of_a_regressor_is_its_prediction(model):
    model = learn(model.clone(), NUMBERS)
    ax = plot.regression_surface(model, samples=NUMBERS, resolution=8)
    check(ax, model.predict_one)
    assert ax.images[0].origin == "lower"
    assert ax.images[0].colorbar.ax.get_ylabel() == "prediction"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("1", "2")


@pytest.mark.parametrize("fixed", [None, {"c": "r"}, {"c": "g"}])
@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier, naive_bayes.GaussianNB])
def test_of_more_labels_a_point_has_the_colour_of_the_most_probable_the_paler_the_less_so(
    kind, fixed
):
    samples = [*three_labels()]
    if kind is naive_bayes.GaussianNB:  # which takes numbers alone
        samples, fixed = [({"a": x["a"], "b": x["b"]}, y) for x, y in samples], None
    model = learn(kind(), samples)
    ax = plot.decision_surface(model, ("a", "b"), samples, fixed=fixed, resolution=9)
    colors = legend(ax)
    assert [*colors] == ["x", "y", "z"]
    for pixel, x in points(ax, "ab"):
        proba = model.predict_proba_one({**x, **(fixed or {})})
        best = max(proba, key=proba.get)
        strength = 0.7 * 1.5 * (proba[best] - 1 / 3)
        np.testing.assert_allclose(
            1.0 - pixel, strength * (1.0 - np.array(colors[best])), atol=1e-6
        )


@pytest.mark.parametrize(
    ("kind", "trees", "aggregated"),
    [
        (AMFClassifier, 0, True),
        (AMFClassifier, [1, 2], True),
        (AMFClassifier, range(4), False),
        (AdaptiveAMFClassifier, [1, 2], True),
        (AdaptiveAMFClassifier, 3, False),
    ],
)
def test_trees_are_drawn_as_they_walk_one_point_after_the_other(kind, trees, aggregated):
    model = learn(kind(n_estimators=4, seed=1), SAMPLES)
    ax = plot.decision_surface(model, trees=trees, aggregated=aggregated, resolution=6)
    chosen = [trees] if isinstance(trees, int) else trees
    for pixel, x in points(ax):
        values = model._features.encode(x).values[0]
        expected = 0.0
        for tree in chosen:
            steps = paths.walk(model._arena, tree, values)
            own = paths.own_predictions(model._arena, tree, steps["node"])
            proba = steps["mass"] @ own if aggregated else own[-1]
            expected += proba[[*model._labels].index(True)] / len(chosen)
        assert pixel == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])
def test_trees_of_a_regressor_are_drawn_alone_or_by_their_leaves(kind):
    given = {"vote": "mean"} if kind is AMFRegressor else {}
    model = learn(kind(n_estimators=4, seed=1, **given), NUMBERS)
    leaves = learn(kind(n_estimators=4, use_aggregation=False, seed=1, **given), NUMBERS)
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(surface(model, aggregated=True), surface(model), **close)
    np.testing.assert_allclose(surface(leaves, aggregated=False), surface(leaves), **close)
    alone = [surface(model, trees=tree) for tree in range(4)]
    np.testing.assert_allclose(surface(model, trees=[1, 2]), np.mean(alone[1:3], axis=0), **close)
    if kind is AMFRegressor:
        check(plot.regression_surface(model, trees=3, resolution=5), model[3].predict_one)


@pytest.mark.parametrize("level", [None, 0.9, 0.5])
@pytest.mark.parametrize("scale", [False, True])
def test_a_forest_shows_how_wide_its_intervals_are_at_any_level(level, scale):
    forest = AMFRegressor(n_estimators=4, seed=1)
    model = learn(preprocessing.StandardScaler() | forest if scale else forest, NUMBERS)
    options = {"width": True, "level": level, "resolution": 6}
    ax = plot.regression_surface(model, samples=NUMBERS, **options)

    def width(x):
        seen = model.transform_one(x) if scale else x
        return forest.predict_interval_one(seen, 0.9 if level is None else level).width

    check(ax, width)
    names = {None: "the interval", 0.9: "the 90 % interval", 0.5: "the 50 % interval"}
    assert ax.images[0].colorbar.ax.get_ylabel() == f"width of {names[level]}"
    assert len(np.unique(ax.collections[0].get_facecolors(), axis=0)) == 1
    other = plot.regression_surface(model, (1, 2), NUMBERS, resolution=2).images[0]
    assert ax.images[0].cmap.name != other.cmap.name


def test_samples_are_points_in_the_colours_of_their_labels(bananas):
    gaps = [({1: 0.0}, True), ({1: math.nan, 2: 1.0}, True)]  # have no point
    samples = [*SAMPLES, *gaps, ({1: 0.0, 2: 0.5}, "new")]
    ax = plot.decision_surface(bananas, samples=samples, resolution=5)
    (drawn,) = ax.collections
    there = [*SAMPLES, samples[-1]]
    np.testing.assert_array_equal(drawn.get_offsets(), [[x[1], x[2]] for x, _ in there])
    colors = legend(ax)
    assert sorted(colors) == ["False", "True", "new"] and len({*colors.values()}) == 3
    assert [to_rgb(c) for c in drawn.get_facecolors()] == [colors[str(y)] for _, y in there]
    left, right = ax.get_xlim()
    assert all(left < x[1] < right for x, _ in SAMPLES)
    assert ax.images[0].get_array().shape == (5, 5)


def test_without_samples_the_surface_covers_what_the_forest_has_seen(bananas):
    ax = plot.decision_surface(bananas, features=(2, 1), resolution=5)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("2", "1")
    left, right, bottom, top = ax.images[0].get_extent()
    low, high = bananas._arena.ranges
    assert left < low[1] < high[1] < right < high[1] + 0.5 * (high[1] - low[1])
    assert bottom < low[0] < high[0] < top
    assert not ax.collections
    flat = learn(AMFClassifier(seed=1), [({"a": 2.0, "b": i}, i > 2) for i in range(5)])
    left, right, *_ = plot.decision_surface(flat, resolution=5).images[0].get_extent()
    assert left < 2.0 < right


def test_a_fitted_estimator_of_scikit_learn_is_drawn_as_its_forest():
    X, y = [[x[1], x[2]] for x, _ in NUMBERS], [y for _, y in NUMBERS]
    estimator = sklearn.AMFRegressor(n_estimators=2, random_state=1).fit(X, y)
    ax = plot.regression_surface(estimator, resolution=4)
    check(ax, lambda x: estimator.predict([[x[1], x[2]]])[0])
    plot.regression_surface(estimator, width=True, resolution=4)


@pytest.mark.parametrize("make", [pd.DataFrame, np.array, list])
def test_x_and_y_in_the_order_of_scikit_learn_are_an_error_that_says_what_is_right(bananas, make):
    X, y = [[x[1], x[2]] for x, _ in SAMPLES], [y for _, y in SAMPLES]
    message = r"samples pairs .* samples=zip\(X.to_dict\('records'\), y\), or of arrays"
    for arguments in ((make(X), y), (make(X),), (None, make(X)), (None, y)):
        with pytest.raises(TypeError, match=message):
            plot.decision_surface(bananas, *arguments)
    frame = pd.DataFrame(X, columns=[1, 2])
    rows = [*zip(map(dict, map(enumerate, np.array(X))), y, strict=True)]
    of_arrays = learn(AMFClassifier(seed=1), rows)
    pairs = zip(frame.to_dict("records"), y, strict=True)
    for model, samples in ((bananas, pairs), (of_arrays, rows)):
        ax = plot.decision_surface(model, samples=samples, resolution=3)
        assert len(ax.collections[0].get_offsets()) == len(SAMPLES)


@pytest.mark.parametrize(
    ("features", "fixed", "message"),
    [
        (None, None, r"two different names, got \['a', 'b', 'c'\]; choose two"),
        (["a"], None, r"must be two different names, got \['a'\]"),
        (["a", "a"], None, r"must be two different names, got \['a', 'a'\]"),
        (["a", "d"], None, r"'d' is not one of \['a', 'b', 'c'\]"),
        (["a", "c"], None, "feature 'c' is categorical"),
        (["a", "b"], {"d": 1}, r"fixed: 'd' is not one of \['a', 'b', 'c'\]"),
        (["a", "b"], {"a": 1}, "fixed: 'a' is on an axis"),
    ],
)
def test_features_that_cannot_be_axes_are_errors(features, fixed, message):
    model = learn(AMFClassifier(seed=1), three_labels())
    with pytest.raises(ValueError, match=message):
        plot.decision_surface(model, features, fixed=fixed)


def test_a_model_without_samples_or_knowledge_is_an_error():
    bayes = naive_bayes.GaussianNB()
    with pytest.raises(ValueError, match=r"different names, got \[\]; name them, and pass samples"):
        plot.decision_surface(bayes)
    with pytest.raises(ValueError, match="feature 'a' has no known values; pass samples"):
        plot.decision_surface(bayes, ["a", "b"])
    with pytest.raises(ValueError, match="feature 'c' is categorical"):
        plot.decision_surface(bayes, ["a", "c"], three_labels(5))

    class Silent(linear_model.LinearRegression):
        def predict_one(self, x):
            return None

    for model, options in itertools.product(
        (AMFClassifier(), bayes, AMFRegressor(), Silent()), ({}, {"trees": 0})
    ):
        is_forest = isinstance(model, AMFClassifier | AMFRegressor)
        if is_forest or not options:
            draw = (
                plot.decision_surface
                if hasattr(model, "predict_proba_one")
                else plot.regression_surface
            )
            with pytest.raises(ValueError, match="model has not learned any samples yet"):
                draw(model, samples=SAMPLES, resolution=3, **options)


@pytest.mark.parametrize("options", [{"trees": 0}, {"aggregated": True}])
def test_only_forests_have_trees(options, forest, bananas):
    models = (preprocessing.StandardScaler() | bananas, dummy.PriorClassifier(), jackknife())
    for model in models:
        draw = plot.regression_surface if model is models[2] else plot.decision_surface
        with pytest.raises(TypeError, match="model must be a forest if trees or aggregated"):
            draw(model, samples=SAMPLES, resolution=3, **options)


def test_each_kind_of_model_has_its_function(forest):
    classifier = learn(naive_bayes.GaussianNB(), [(x, y > 14) for x, y in NUMBERS])
    for model in (classifier, preprocessing.StandardScaler() | AMFClassifier()):
        with pytest.raises(TypeError, match=r"must be a regressor, got .*; decision_surface draws"):
            plot.regression_surface(model, samples=NUMBERS)
    for model in (forest, jackknife(), preprocessing.StandardScaler() | forest):
        with pytest.raises(TypeError, match=r"a classifier, got .*; regression_surface draws"):
            plot.decision_surface(model, samples=NUMBERS)


@pytest.mark.parametrize("draw", [plot.decision_surface, plot.regression_surface])
def test_bad_arguments_are_errors_and_make_no_figure(draw, bananas, forest):
    model = bananas if draw is plot.decision_surface else forest
    for options, error, message in [
        ({"trees": [0, 4]}, IndexError, "tree must be between 0 and 3, got 4"),
        ({"trees": "01"}, TypeError, "tree"),
        ({"trees": []}, ValueError, "trees must contain at least one index"),
        ({"aggregated": "x"}, ValueError, "aggregated must be True or False, got 'x'"),
        ({"samples": [({1: 0.0, 2: math.inf}, 1)]}, ValueError, "the value inf is infinite"),
        ({"resolution": 1}, ValueError, "resolution must be an integer >= 2, got 1"),
        ({"ax": 5}, TypeError, "ax must be a matplotlib Axes, got int"),
    ]:
        with pytest.raises(error, match=message):
            draw(model, **options)
    assert not plt.get_fignums()
    ax = plt.subplots()[1]
    assert draw(model, resolution=3, ax=ax) is ax
    assert plt.get_fignums() == [1]
    assert len(ax.figure.axes) == 1 + (model is forest)  # with the color bar


def test_bad_arguments_of_intervals_and_targets_are_errors(forest):
    tree = learn(neighbors.KNNRegressor(), NUMBERS)
    for model, options, error, message in [
        (forest, {"width": "x"}, ValueError, "width must be True or False, got 'x'"),
        (forest, {"level": 0.9}, ValueError, r"level must be None without width, got 0\.9"),
        (forest, {"width": True, "level": 1.5}, ValueError, "level must be"),
        (forest, {"width": True, "trees": 0}, ValueError, "must be None with width"),
        (tree, {"width": True, "samples": NUMBERS}, TypeError, "model must give intervals"),
        (forest, {"samples": [({1: 0.5, 2: 0.5}, "high")]}, TypeError, "as targets, got 'high'"),
    ]:
        with pytest.raises(error, match=message):
            plot.regression_surface(model, **options)
    assert not plt.get_fignums()
