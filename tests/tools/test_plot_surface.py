import math
import random
from collections import UserDict

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from river import datasets, dummy, naive_bayes, preprocessing

from river_amf import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor, plot
from river_amf.explain import paths
from river_amf.plot.axes import label_colors

pytestmark = pytest.mark.usefixtures("no_figures")

SAMPLES = [({1: x["1"], 2: x["2"]}, y) for x, y in datasets.Bananas().take(150)]


def learn(model, samples):
    for x, y in samples:
        model.learn_one(x, y)
    return model


def three_labels(n=200):
    rng = random.Random(1)
    for _ in range(n):
        x = {"a": rng.random(), "b": rng.random(), "c": rng.choice("rg")}
        yield x, ["z", "x", "y"][(x["a"] > 0.5) + (x["b"] > 0.5)]


@pytest.fixture
def bananas():
    return learn(AMFClassifier(n_estimators=4, seed=1), SAMPLES)


def grid(ax):
    """Return the points at the centers of the pixels, with their indices."""
    (image,) = ax.images
    n_rows, n_columns = image.get_array().shape[:2]
    left, right, bottom, top = image.get_extent()
    for i in range(n_rows):
        for j in range(n_columns):
            x = left + (j + 0.5) * (right - left) / n_columns
            y = bottom + (i + 0.5) * (top - bottom) / n_rows
            yield i, j, x, y


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
    surface = ax.images[0].get_array()
    assert surface.shape == (12, 12)
    for i, j, x, y in grid(ax):
        assert surface[i, j] == pytest.approx(model.predict_proba_one({1: x, 2: y})[True], abs=1e-9)
    assert [*legend(ax)] == ["False", "True"]
    assert (ax.images[0].origin, ax.images[0].get_clim()) == ("lower", (0.0, 1.0))


def test_its_colours_go_from_one_label_over_white_to_the_other(bananas):
    image = plot.decision_surface(bananas, resolution=5).images[0]
    colors = label_colors([False, True])
    for value, label in ((0.0, False), (1.0, True)):
        color = np.array(image.cmap(image.norm(value))[:3])
        assert np.argmin([np.abs(color - to_rgb(c)).sum() for c in colors.values()]) == label
    assert image.cmap(0.5)[:3] == pytest.approx((1.0, 1.0, 1.0), abs=0.01)


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier, naive_bayes.GaussianNB])
def test_of_more_labels_a_point_has_the_colour_of_the_most_probable_the_paler_the_less_so(kind):
    samples = [({"a": x["a"], "b": x["b"]}, y) for x, y in three_labels()]
    model = learn(kind(), samples)
    ax = plot.decision_surface(model, samples=samples, resolution=9)
    picture, colors = ax.images[0].get_array(), legend(ax)
    assert picture.shape == (9, 9, 3)
    assert [*colors] == ["x", "y", "z"]
    paleness = {}
    for i, j, x, y in grid(ax):
        proba = model.predict_proba_one({"a": x, "b": y})
        best = max(proba, key=proba.get)
        lack = 1.0 - picture[i, j]
        full = 1.0 - np.array(colors[best])
        strength = lack.sum() / full.sum()
        np.testing.assert_allclose(lack, strength * full, atol=1e-9)
        assert strength == pytest.approx(0.7 * 1.5 * (proba[best] - 1 / 3), abs=1e-6)
        paleness.setdefault(best, []).append(strength)
    assert len(paleness) == 3


def test_one_label_has_one_colour():
    model = learn(AMFClassifier(seed=1), [({"a": i, "b": i}, "only") for i in range(3)])
    ax = plot.decision_surface(model, resolution=4)
    assert len(np.unique(ax.images[0].get_array().reshape(-1, 3), axis=0)) == 1
    assert [*legend(ax)] == ["only"]


@pytest.mark.parametrize(
    ("kind", "trees", "aggregated"),
    [
        (AMFClassifier, 0, True),
        (AMFClassifier, 3, False),
        (AMFClassifier, [1, 2], True),
        (AMFClassifier, range(4), False),
        (AMFClassifier, range(4), True),
        (AdaptiveAMFClassifier, [1, 2], True),
        (AdaptiveAMFClassifier, 3, False),
    ],
)
def test_trees_are_drawn_as_they_walk_one_point_after_the_other(kind, trees, aggregated):
    model = learn(kind(n_estimators=4, seed=1), SAMPLES)
    ax = plot.decision_surface(model, trees=trees, aggregated=aggregated, resolution=6)
    chosen = [trees] if isinstance(trees, int) else trees
    for i, j, x, y in grid(ax):
        values = model._features.encode({1: x, 2: y}).values[0]
        expected = 0.0
        for tree in chosen:
            steps = paths.walk(model._arena, tree, values)
            proba = sum(s.mass * s.own.proba for s in steps) if aggregated else steps[-1].own.proba
            expected += proba[[*model._labels].index(True)] / len(chosen)
        assert ax.images[0].get_array()[i, j] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
@pytest.mark.parametrize("use_aggregation", [True, False])
def test_all_trees_are_the_forest_if_they_predict_as_it_does(kind, use_aggregation):
    model = learn(kind(n_estimators=3, seed=1, use_aggregation=use_aggregation), SAMPLES)
    other = learn(kind(n_estimators=3, seed=1), SAMPLES)
    surfaces = {
        aggregated: plot.decision_surface(model, aggregated=aggregated, resolution=8)
        .images[0]
        .get_array()
        for aggregated in (None, True, False)
    }
    np.testing.assert_allclose(surfaces[None], surfaces[use_aggregation], atol=1e-12)
    assert abs(surfaces[True] - surfaces[False]).max() > 0.01
    if kind is AMFClassifier:  # its trees do not depend on the vote
        whole = plot.decision_surface(other, resolution=8).images[0].get_array()
        np.testing.assert_allclose(whole, surfaces[True], atol=1e-12)


def test_with_classes_not_seen_yet_the_others_sum_to_one():
    model = learn(AMFClassifier(n_estimators=2, seed=1, n_classes=3), [({"a": 1, "b": 1}, "x")])
    model.learn_one({"a": 2, "b": 2}, "y")
    by_trees = plot.decision_surface(model, trees=range(2), resolution=4).images[0].get_array()
    whole = plot.decision_surface(model, resolution=4).images[0].get_array()
    np.testing.assert_allclose(by_trees, whole, atol=1e-12)


def test_samples_are_points_in_the_colours_of_their_labels(bananas):
    ax = plot.decision_surface(bananas, samples=SAMPLES, resolution=5)
    (points,) = ax.collections
    np.testing.assert_array_equal(points.get_offsets(), [[x[1], x[2]] for x, _ in SAMPLES])
    colors = legend(ax)
    for color, (_, y) in zip(points.get_facecolors(), SAMPLES, strict=True):
        assert to_rgb(color) == colors[str(y)]
    left, right = ax.get_xlim()
    assert all(left < x[1] < right for x, _ in SAMPLES)


def test_a_sample_without_a_value_has_no_point_and_an_unknown_label_a_colour_of_its_own(bananas):
    samples = [({1: 0.0, 2: 0.5}, "new"), ({1: 0.0}, True), ({1: math.nan, 2: 1.0}, True)]
    samples.append(({1: 1.0, 2: 1.0}, False))
    ax = plot.decision_surface(bananas, samples=samples, resolution=5)
    assert ax.collections[0].get_offsets().tolist() == [[0.0, 0.5], [1.0, 1.0]]
    assert sorted(legend(ax)) == ["False", "True", "new"]
    assert len({*legend(ax).values()}) == 3
    assert ax.images[0].get_array().shape == (5, 5)


def test_a_value_of_the_wrong_kind_has_no_point_if_the_forest_takes_it_as_missing(bananas):
    dirty = [({1: "N/A", 2: 0.5}, True), ({1: 0.5, 2: None}, True)]
    model = learn(AMFClassifier(n_estimators=4, on_mismatch="missing", seed=1), SAMPLES)
    ax = plot.decision_surface(model, samples=[*SAMPLES, *dirty], resolution=5)
    expected = plot.decision_surface(bananas, samples=SAMPLES, resolution=5)
    np.testing.assert_array_equal(ax.images[0].get_array(), expected.images[0].get_array())
    points, expected_points = (a.collections[0].get_offsets() for a in (ax, expected))
    np.testing.assert_array_equal(points, expected_points)
    with pytest.raises(ValueError, match="feature 1 is categorical; it must be numeric"):
        plot.decision_surface(bananas, samples=[*SAMPLES, *dirty], resolution=5)
    mappings = [(UserDict(x), y) for x, y in SAMPLES]
    again = plot.decision_surface(bananas, samples=mappings, resolution=5)
    np.testing.assert_array_equal(again.collections[0].get_offsets(), expected_points)


def test_without_samples_the_surface_covers_what_the_forest_has_seen(bananas):
    ax = plot.decision_surface(bananas, resolution=5)
    left, right, bottom, top = ax.images[0].get_extent()
    low, high = bananas._arena.ranges
    assert left < low[0] < high[0] < right < high[0] + 0.5 * (high[0] - low[0])
    assert bottom < low[1] < high[1] < top
    assert not ax.collections


def test_a_feature_of_one_value_has_a_width():
    model = learn(AMFClassifier(seed=1), [({"a": 2.0, "b": i}, i > 2) for i in range(5)])
    left, right, *_ = plot.decision_surface(model, resolution=5).images[0].get_extent()
    assert left < 2.0 < right


def test_axes_are_named_by_the_features_as_they_are(bananas):
    samples = [({"$a$": i, ("b", 1): i % 3}, "$c$") for i in range(5)]
    ax = plot.decision_surface(learn(AMFClassifier(seed=1), samples), ["$a$", ("b", 1)])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$a$", "('b', 1)")
    texts = [ax.xaxis.label, ax.yaxis.label, *ax.get_legend().get_texts()]
    assert not any(text.get_parse_math() for text in texts)
    ax = plot.decision_surface(bananas, features=(2, 1), resolution=3)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("2", "1")


@pytest.mark.parametrize("fixed", [None, {"c": "r"}, {"c": "g"}])
def test_other_features_are_fixed_or_missing(fixed):
    model = learn(AMFClassifier(n_estimators=3, seed=1), three_labels())
    for options in ({}, {"trees": range(3)}):
        ax = plot.decision_surface(model, ("a", "b"), fixed=fixed, resolution=7, **options)
        colors = legend(ax)
        for i, j, x, y in grid(ax):
            proba = model.predict_proba_one({"a": x, "b": y, **(fixed or {})})
            full = 1.0 - np.array(colors[max(proba, key=proba.get)])
            strength = 0.7 * 1.5 * (max(proba.values()) - 1 / 3)
            expected = 1.0 - strength * full
            np.testing.assert_allclose(ax.images[0].get_array()[i, j], expected, atol=1e-6)


@pytest.mark.parametrize(
    "convert", [lambda X: X, pd.DataFrame.to_numpy, lambda X: X.to_dict("records")]
)
@pytest.mark.parametrize("draw", ["decision_surface", "regression_surface"])
def test_data_in_the_place_of_features_get_advice(draw, convert):
    X, y = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]}), [0, 1]
    model = (AMFClassifier if draw == "decision_surface" else AMFRegressor)(seed=1)
    model.learn_many(X, y)
    with pytest.raises(TypeError, match=r"pass data as samples.*zip\(X.to_dict\('records'\), y\)"):
        getattr(plot, draw)(model, convert(X), y)
    getattr(plot, draw)(model, samples=zip(X.to_dict("records"), y, strict=True))


def test_more_features_than_two_must_be_chosen_from():
    model = learn(AMFClassifier(seed=1), three_labels())
    with pytest.raises(ValueError, match=r"two different names, got \['a', 'b', 'c'\]; choose two"):
        plot.decision_surface(model)
    with pytest.raises(ValueError, match=r"must be two different names, got \['a'\]"):
        plot.decision_surface(model, ["a"])
    with pytest.raises(ValueError, match=r"'d' is not one of \['a', 'b', 'c'\]"):
        plot.decision_surface(model, ["a", "d"])
    with pytest.raises(ValueError, match="feature 'c' is categorical"):
        plot.decision_surface(model, ["a", "c"])
    with pytest.raises(ValueError, match=r"must be two different names, got \['a', 'a'\]"):
        plot.decision_surface(model, ["a", "a"])
    with pytest.raises(ValueError, match=r"fixed: 'd' is not one of \['a', 'b', 'c'\]"):
        plot.decision_surface(model, ["a", "b"], fixed={"d": 1})
    with pytest.raises(ValueError, match="aggregated must be True or False, got 'x'"):
        plot.decision_surface(model, ["a", "b"], aggregated="x")
    with pytest.raises(ValueError, match="fixed: 'a' is on an axis"):
        plot.decision_surface(model, ["a", "b"], fixed={"a": 1})
    with pytest.raises(ValueError, match="feature 'c' is categorical"):
        plot.decision_surface(naive_bayes.GaussianNB(), ["a", "c"], three_labels(5))


def test_a_classifier_without_samples_has_nothing_to_be_drawn_over():
    with pytest.raises(ValueError, match=r"different names, got \[\]; name them, and pass samples"):
        plot.decision_surface(naive_bayes.GaussianNB())
    with pytest.raises(ValueError, match="feature 'a' has no known values; pass samples"):
        plot.decision_surface(naive_bayes.GaussianNB(), ["a", "b"])


@pytest.mark.parametrize("options", [{}, {"trees": 0}, {"samples": SAMPLES}])
def test_a_model_that_has_learnt_nothing_is_an_error(options):
    with pytest.raises(ValueError, match="model has not learned any samples yet"):
        plot.decision_surface(AMFClassifier(), resolution=3, **options)
    with pytest.raises(ValueError, match="model has not learned any samples yet"):
        plot.decision_surface(naive_bayes.GaussianNB(), samples=SAMPLES, resolution=3)


@pytest.mark.parametrize("options", [{"trees": 0}, {"aggregated": True}])
def test_only_forests_have_trees(options):
    model = preprocessing.StandardScaler() | learn(AMFClassifier(seed=1), SAMPLES[:5])
    for other in (model, dummy.PriorClassifier()):
        with pytest.raises(TypeError, match="model must be a forest if trees or aggregated"):
            plot.decision_surface(other, samples=SAMPLES, resolution=3, **options)


def test_bad_arguments_are_errors_and_make_no_figure(bananas):
    with pytest.raises(IndexError, match="tree must be between 0 and 3, got 4"):
        plot.decision_surface(bananas, trees=[0, 4])
    with pytest.raises(TypeError):
        plot.decision_surface(bananas, trees="01")
    with pytest.raises(ValueError, match="trees must contain at least one index"):
        plot.decision_surface(bananas, trees=[])
    with pytest.raises(ValueError, match="feature 2: the value inf is infinite"):
        plot.decision_surface(bananas, samples=[({1: 0.0, 2: math.inf}, True)])
    with pytest.raises(ValueError, match="resolution must be an integer >= 2, got 1"):
        plot.decision_surface(bananas, resolution=1)
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, got int"):
        plot.decision_surface(bananas, ax=5)
    assert not plt.get_fignums()


def test_it_draws_on_the_axes_that_it_is_given(bananas):
    ax = plt.subplots()[1]
    assert plot.decision_surface(bananas, resolution=3, ax=ax) is ax
