"""Pictures of comparisons, importances and trees, and what all pictures share."""

import random
import re

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from forests import learn
from river import datasets
from river.preprocessing import StandardScaler

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    inspection,
    plot,
)
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


@pytest.fixture
def bananas():
    return learn(AMFClassifier(n_estimators=2, seed=1), datasets.Bananas().take(200))


def boxes(ax):
    return {int(p.get_gid()[5:]): p for p in ax.patches if re.fullmatch(r"node \d+", p.get_gid())}


def texts(ax):
    return {int(t.get_gid()[5:]): t.get_text().splitlines() for t in ax.texts if t.get_gid()}


def shown(model, tree, max_depth):
    table = inspection.node_table(model, tree).set_index("node")
    return table[table["depth"] <= max_depth]


@pytest.mark.parametrize(("max_depth", "tree"), [(0, 0), (1, 1), (4, 0), (100, 1)])
def test_tree_has_a_box_for_each_node_to_the_depth(bananas, tree, max_depth):
    ax = plot.tree(bananas, tree, max_depth, ax=plt.subplots()[1])
    depths = shown(bananas, tree, max_depth)["depth"].to_dict()
    assert {node: box.get_x() for node, box in boxes(ax).items()} == depths
    assert sorted(texts(ax)) == sorted(depths)


@pytest.mark.parametrize("use_aggregation", [True, False])
def test_box_shows_split_counts_and_shares(use_aggregation):
    model = AMFClassifier(n_estimators=1, seed=1, use_aggregation=use_aggregation)
    learn(model, datasets.Bananas().take(200))
    written = texts(plot.tree(model))
    for node, row in shown(model, 0, 4).iterrows():
        split, counts, shares = written[node]
        expected = [f"{label} {n:.0f}" for label, n in sorted(row["counts"].items()) if n]
        assert counts == ", ".join(expected)
        if row["left"] < 0:
            assert split == "leaf" and shares.startswith("share 1.00, mass ")
            continue
        feature, threshold = split.split(" <= ")
        assert feature == str(row["feature"])
        width = row["range_max"][row["feature"]] - row["range_min"][row["feature"]]
        assert float(threshold) == pytest.approx(row["threshold"], abs=0.011 * width)
        assert use_aggregation or shares == "share 0.00, mass 0.00"


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_shares_and_masses_equal_path(kind):
    samples = list(datasets.Bananas().take(200))
    model = learn(kind(n_estimators=1, seed=1), samples)
    written = texts(plot.tree(model, max_depth=100, ax=plt.subplots()[1]))
    seen = set()
    for x, _ in samples:
        for step in inspection.path(model, x).itertuples():
            shown = re.fullmatch(r"share (\d\.\d\d), mass (\d\.\d\d)", written[step.node][2])
            expected = (step.share, step.mass)
            assert tuple(map(float, shown.groups())) == pytest.approx(expected, abs=0.005 + 1e-9)
            seen.add(step.node)
    assert len(seen) > 20


def targets():
    rng = random.Random(1)
    for _ in range(200):
        x = {"size": rng.random(), "color": rng.choice("rgb")}
        yield x, x["size"] + (x["color"] == "r") + rng.gauss(0.0, 0.1)


@pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])
def test_box_of_regressor_shows_mean_and_deviation(kind):
    model = learn(kind(n_estimators=1, seed=1), targets())
    ax = plot.tree(model, max_depth=3)
    written, table = texts(ax), shown(model, 0, 3)
    assert sorted(written) == sorted(table.index)
    for node, row in table.iterrows():
        mean, std, n = re.fullmatch(r"(\S+) ± (\S+) \((\d+)\)", written[node][1]).groups()
        assert (float(mean), float(std)) == pytest.approx((row["mean"], row["std"]), rel=0.005)
        assert int(n) == row["n_samples"]
