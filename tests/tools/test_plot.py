"""Pictures of comparisons and importances, and what all pictures share."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from river.preprocessing import StandardScaler

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection, plot
from river_amf.evaluation import Comparison
from river_amf.pages import palette

pytestmark = pytest.mark.usefixtures("no_figures")


def make_comparison(names=("knn", "perceptron", "failed"), floors=()):
    """Make a comparison: the perceptron has no probabilities, and the last model has failed."""
    rows = [
        (name, 100 * n, 0.5 + 0.1 * n + 0.01 * k, np.nan if name == "perceptron" else 0.1 * (k + n))
        for k, name in enumerate(names[:-1])
        for n in range(1, 5)
    ]
    curves = pd.DataFrame(rows, columns=["model", "n_samples", "accuracy", "log-loss"])
    scores = [*(0.7 + 0.02 * k for k in range(len(names) - 1)), np.nan]
    index = pd.Index(names, name="model")
    table = pd.DataFrame({"accuracy": scores, "log-loss": scores}, index=index)
    return Comparison("toy", table, curves, floors)


def learned(names=("a", "b"), labels=(0, 1)):
    model = AMFClassifier(seed=1)
    for k in range(9):
        model.learn_one(dict(zip(names, (k, k % 3), strict=True)), labels[k % 2])
    return model


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("metric", ["accuracy", "log-loss"])
def test_comparison_draws_the_curves(metric):
    comparison = make_comparison()
    ax = plot.comparison(comparison, metric=metric)
    names = ["knn", "perceptron"] if metric == "accuracy" else ["knn"]
    assert [line.get_label() for line in ax.lines] == legend(ax) == names
    for line in ax.lines:
        curve = comparison.curves[comparison.curves["model"] == line.get_label()]
        np.testing.assert_array_equal(line.get_xydata(), curve[["n_samples", metric]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("samples", metric)


def test_comparison_has_the_colors_of_the_page():
    names = [*(f"model {k}" for k in range(9)), "majority", "failed"]
    comparison = make_comparison(names, floors=("majority",))
    ax = plot.comparison(comparison)
    looks = palette.looks(comparison.table["accuracy"].to_dict(), ["majority"])
    drawn = [look.color for name, look in looks.items() if name != "failed"]
    assert [line.get_color() for line in ax.lines] == drawn
    assert legend(ax) == [*names[3:9], "majority"]  # the best six
    assert ax.lines[-1].get_linestyle() == "--"
    errors = palette.looks(comparison.table["accuracy"].to_dict(), smaller_is_better=True)
    assert [name for name, look in errors.items() if look.is_named] == names[:6]


EVIL = "$\\foo$ <b> \x1b[31m"  # a formula that is none, markup, and an escape of terminals


def test_names_are_shown_as_text():
    comparison = make_comparison((EVIL, "other", "failed"))
    model = learned((EVIL, "b"), ("other", EVIL))
    plot.comparison(Comparison(EVIL, comparison.table, comparison.curves))
    plot.tree(model)
    plot.decision_surface(model, resolution=3)
    plot.importance(inspection.feature_importance(model))
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.canvas.draw()
        texts = {text.get_text(): text for text in figure.findobj(matplotlib.text.Text)}
        evil = {text: each for text, each in texts.items() if "foo" in text}
        assert evil and all(text.replace("\n", "").isprintable() for text in texts)
        assert not any(text.get_parse_math() for text in evil.values())


def ticks(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def widths(ax):
    return [bar.get_width() for bar in ax.patches]


def test_importance_has_the_largest_bar_on_top():
    values = {"low": 0.1, ("late", 1): -0.2, "x$_1$": 0.9, "gone": np.nan}
    ax = plot.importance(pd.Series(values, name="impurity"))
    assert (ticks(ax), widths(ax)) == (["x$_1$", "low", "('late', 1)"], [0.9, 0.1, -0.2])
    heights = [bar.get_y() for bar in ax.patches]
    assert heights == sorted(heights) and np.diff(ax.get_ylim()) < 0
    ax.figure.canvas.draw()
    top = plot.importance(pd.Series(np.arange(30.0), [f"f{k}" for k in range(30)]), n_features=3)
    assert ticks(top) == ["f29", "f28", "f27"]
    with pytest.raises(ValueError, match="n_features must be an integer >= 1, got 0"):
        plot.importance(top, n_features=0)


def test_importance_takes_what_inspection_returns():
    X, y = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0, 1.0]}), [0, 0, 1, 1]
    model = AdaptiveAMFClassifier(seed=1)
    model.learn_many(X, y)
    estimator = pytest.importorskip("river_amf.sklearn").AMFClassifier(random_state=1).fit(X, y)
    table, relevance = inspection.feature_importance(model), inspection.feature_relevance(model)
    decrease = "share of the decrease in impurity"
    for drawn, expected, title in (
        (model, table["impurity"], decrease),
        (table, table["impurity"], decrease),
        (estimator, inspection.feature_importance(estimator)["impurity"], decrease),
        (table["splits"], table["splits"], "share of the splits"),
        (relevance, relevance, "relevance: from 0, for none, to 1"),
        (table["mass"].rename("$my$ own\x1b"), table["mass"], "$my$ own\\x1b"),
    ):
        ax = plot.importance(drawn)
        assert (widths(ax), ax.get_xlabel()) == (sorted(expected, reverse=True), title)
    with pytest.raises(TypeError, match="for a pipeline, pass its last step"):
        plot.importance(StandardScaler() | AMFClassifier())


@pytest.mark.parametrize("name", plot.__all__)
def test_pictures_are_drawn_on_axes(name):
    draw, data = getattr(plot, name), make_comparison() if name == "comparison" else learned()
    ax = plt.figure().add_subplot()
    assert draw(data, ax=ax) is ax
    assert plt.get_fignums() == [1]
    assert draw(data).figure is plt.figure(2)
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, got int"):
        draw(data, ax=5)
    assert plt.get_fignums() == [1, 2]


FAILED = make_comparison(["failed"])


@pytest.mark.parametrize(
    ("draw", "data", "error", "message"),
    [
        (plot.comparison, FAILED, ValueError, "comparison has no accuracy to draw"),
        (plot.importance, {"a": 1.0}, TypeError, "must come from inspection.*, got dict"),
        (plot.importance, FAILED.table, TypeError, "must come from inspection.*, got DataFrame"),
        (plot.importance, pd.Series([], dtype=float), ValueError, "no features to draw"),
        (plot.importance, pd.Series({"a": np.nan}), ValueError, "no features to draw"),
    ],
)
def test_nothing_to_draw_is_an_error(draw, data, error, message):
    with pytest.raises(error, match=message):
        draw(data)
    with pytest.raises(ValueError, match="metric must be one of accuracy, log-loss, got 'kappa'"):
        plot.comparison(make_comparison(), metric="kappa")
    assert not plt.get_fignums()
