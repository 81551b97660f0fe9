"""Pictures of comparisons and importances, and what all pictures share."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from river.preprocessing import StandardScaler

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection, plot
from river_amf.evaluation import Comparison
from river_amf.pages import charts

pytestmark = pytest.mark.usefixtures("no_figures")


def make_comparison(names=("knn", "perceptron", "failed"), naive=()):
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
    return Comparison("toy", table, curves, naive)


def learned(names=("a", "b"), labels=(0, 1)):
    model = AdaptiveAMFClassifier(seed=1)
    for k in range(9):
        model.learn_one(dict(zip(names, (k, k % 3), strict=True)), labels[k % 2])
    return model


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(("metric", "n_models"), [("accuracy", 11), ("log-loss", 3)])
def test_comparison_draws_curves_in_page_colors(metric, n_models):
    names = ["perceptron", *(f"model {k}" for k in range(n_models - 2)), "failed"]
    comparison = make_comparison(names, naive=names[-2:-1])
    ax = plot.comparison(comparison, metric=metric)
    is_error = metric == "log-loss"
    looks = charts.looks(
        comparison.table[metric].to_dict(), names[-2:-1], smaller_is_better=is_error
    )
    absent = {"failed", *["perceptron"] * is_error}
    drawn = {name: look for name, look in looks.items() if name not in absent}
    assert [line.get_color() for line in ax.lines] == [look.color for look in drawn.values()]
    for name, line in zip(drawn, ax.lines, strict=True):
        curve = comparison.curves[comparison.curves["model"] == name]
        np.testing.assert_array_equal(line.get_xydata(), curve[["n_samples", metric]])
    assert legend(ax) == [*drawn] and len({*looks.values()}) == len(looks)
    assert ax.lines[-1].get_linestyle() == "--"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("samples", metric)


EVIL = "$\\foo$ <b> \x1b[31m"  # a formula that is none, markup, and an escape of terminals


def test_names_are_shown_as_text():
    comparison = make_comparison((EVIL, "other", "failed"))
    model = learned((EVIL, "b"), ("other", EVIL))
    plot.comparison(Comparison(EVIL, comparison.table, comparison.curves))
    plot.tree(model)
    plot.decision_surface(model, resolution=3)
    plot.importance(model)
    plot.contributions(inspection.contributions(model, {EVIL: 1.0}))
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.canvas.draw()
        texts = {text.get_text(): text for text in figure.findobj(matplotlib.text.Text)}
        evil = {text: drawn for text, drawn in texts.items() if "foo" in text}
        assert evil and all(text.replace("\n", "").isprintable() for text in texts)
        assert not any(text.get_parse_math() for text in evil.values())


def test_importance_draws_the_largest_on_top():
    table = inspection.feature_importance(learned())
    for measure in table:
        ax = plot.importance(learned(), measure)
        expected = table[measure].sort_values(ascending=False)
        assert [bar.get_width() for bar in ax.patches] == expected.tolist()
        assert [label.get_text() for label in ax.get_yticklabels()] == [*expected.index]
        heights = [bar.get_y() for bar in ax.patches]
        assert heights == sorted(heights) and np.diff(ax.get_ylim()) < 0
    assert len(plot.importance(learned(), n_features=1).patches) == 1


def test_contributions_are_drawn_by_size():
    parts = pd.Series({"baseline": 9.0, "a": 0.5, "b": -2.0, ("c", 1): 0.0, "rest": 0.1})
    ax = plot.contributions(parts)
    assert [bar.get_width() for bar in ax.patches] == [-2.0, 0.5, 0.1, 0.0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b", "a", "rest", "('c', 1)"]
    left, right, *_ = [bar.get_facecolor() for bar in ax.patches]
    assert left != right
    assert ax.get_xlabel() == "contribution\nbaseline 9\nsum 7.6"
    ax = plot.contributions(parts.rename("contribution (log-odds)"), n_features=2)
    assert ax.get_xlabel().startswith("contribution (log-odds)\n")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b", "a", "2 others"]
    assert ax.patches[2].get_width() == pytest.approx(0.1)


@pytest.mark.parametrize("name", plot.__all__)
def test_pictures_are_drawn_on_axes(name):
    draw, data = getattr(plot, name), make_comparison() if name == "comparison" else learned()
    if name == "contributions":
        data = inspection.contributions(data, {"a": 0.5})
    ax = plt.figure().add_subplot()
    assert draw(data, ax=ax) is ax
    assert draw(data).figure is plt.figure(2)
    assert plt.get_fignums() == [1, 2]


PIPELINE = StandardScaler() | AMFClassifier()


@pytest.mark.parametrize(
    ("draw", "data", "options", "message"),
    [
        (plot.comparison, make_comparison(), {"metric": "kappa"}, "one of accuracy, log-loss, got"),
        (plot.importance, learned(), {"measure": "fame"}, "measure must be 'splits' or 'mass' or"),
        (plot.importance, learned(), {"n_features": 0}, "n_features must be an integer >= 1"),
        (plot.importance, AMFClassifier(), {}, "nothing yet"),
        (plot.contributions, pd.Series({"baseline": 0.0}), {}, "parts has no features"),
        (plot.importance, PIPELINE, {}, "for a pipeline, pass its last step"),
        (plot.tree, learned(), {"max_depth": -1}, "max_depth must be an integer >= 0, got -1"),
        (plot.tree, learned(), {"tree": 10}, "tree must be between 0 and 9, got 10"),
        (plot.tree, AMFClassifier(), {}, "tree 0 has no nodes"),
        (plot.tree, PIPELINE, {}, "a forest, got Pipeline"),
    ],
)
def test_nothing_to_draw_is_an_error(draw, data, options, message):
    with pytest.raises((TypeError, ValueError, IndexError), match=message):
        draw(data, **options)
    assert not plt.get_fignums()
