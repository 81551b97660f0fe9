import itertools
import random
import re

import matplotlib.pyplot as plt
import pytest
from river import datasets, preprocessing

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    inspection,
    plot,
)

pytestmark = pytest.mark.usefixtures("no_figures")


def learn(model, samples):
    for x, y in samples:
        model.learn_one(x, y)
    return model


def mixed(n=300, labels="abc"):
    rng = random.Random(1)
    for _ in range(n):
        x = {"size": rng.random(), "color": rng.choice(["red", "green", "blue", "yellow"])}
        yield x, labels[(x["size"] > 0.5) + (x["color"] in ("red", "green"))]


@pytest.fixture
def bananas():
    return learn(AMFClassifier(n_estimators=2, seed=1), datasets.Bananas().take(200))


def boxes(ax):
    """Return the boxes by node."""
    found = {}
    for patch in ax.patches:
        match = re.fullmatch(r"node (\d+)", patch.get_gid() or "")
        if match:
            found[int(match[1])] = patch
    return found


def texts(ax):
    """Return the lines of text in the boxes by node."""
    return {
        int(text.get_gid().split()[1]): text.get_text().splitlines()
        for text in ax.texts
        if text.get_gid()
    }


def shown(model, tree, max_depth):
    table = inspection.node_table(model, tree).set_index("node")
    return table[table["depth"] <= max_depth]


@pytest.mark.parametrize(("max_depth", "tree"), [(0, 0), (1, 1), (4, 0), (100, 1)])
def test_there_is_a_box_for_each_node_down_to_the_depth(bananas, tree, max_depth):
    ax = plot.tree(bananas, tree, max_depth, ax=plt.subplots()[1])
    table = shown(bananas, tree, max_depth)
    assert sorted(boxes(ax)) == sorted(texts(ax)) == sorted(table.index)
    lefts = {node: box.get_x() for node, box in boxes(ax).items()}
    assert all(lefts[node] == depth for node, depth in table["depth"].items())


def test_no_two_boxes_overlap_and_a_parent_is_between_its_children(bananas):
    ax = plot.tree(bananas, max_depth=100, ax=plt.subplots()[1])
    table = inspection.node_table(bananas).set_index("node")
    found = boxes(ax)
    by_depth = {}
    for node, box in found.items():
        by_depth.setdefault(box.get_x(), []).append(box)
        assert box.get_width() < 1.0
        if table.loc[node, "left"] >= 0:
            left, right = (found[table.loc[node, side]].get_y() for side in ("left", "right"))
            assert left < box.get_y() < right
    for column in by_depth.values():
        tops = sorted(box.get_y() for box in column)
        height = column[0].get_height()
        assert all(b - a > height for a, b in itertools.pairwise(tops))
    for box in found.values():
        left, right = ax.get_xlim()
        bottom, top = ax.get_ylim()
        assert left < box.get_x() and box.get_x() + box.get_width() < right
        assert top < box.get_y() and box.get_y() + box.get_height() < bottom  # the axis is inverted


@pytest.mark.parametrize("use_aggregation", [True, False])
def test_a_box_shows_split_counts_and_shares(use_aggregation):
    model = AMFClassifier(n_estimators=1, seed=1, use_aggregation=use_aggregation)
    learn(model, datasets.Bananas().take(200))
    written = texts(plot.tree(model))
    table = shown(model, 0, 4)
    for node, row in table.iterrows():
        split, counts, shares = written[node]
        expected = [f"{label} {row['counts'][label]:.0f}" for label in (False, True)]
        assert counts == ", ".join(text for text in expected if not text.endswith(" 0"))
        if row["left"] < 0:
            assert split == "leaf"
            assert shares.startswith("share 1.00, mass ")
        else:
            feature, threshold = split.split(" <= ")
            assert feature == str(row["feature"])
            width = row["range_max"][row["feature"]] - row["range_min"][row["feature"]]
            assert float(threshold) == pytest.approx(row["threshold"], abs=0.011 * width)
            assert use_aggregation or shares == "share 0.00, mass 0.00"


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_the_shares_and_masses_are_those_of_the_path(kind):
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


def test_what_is_below_the_depth_is_counted(bananas):
    ax = plot.tree(bananas, max_depth=2)
    table = inspection.node_table(bananas).set_index("node")
    more = [text.get_text() for text in ax.texts if text.get_text().startswith("+")]
    assert len(more) == sum((table["depth"] == 2) & (table["left"] >= 0)) > 1
    assert sum(int(re.findall(r"\d+", text)[0]) for text in more) == sum(table["depth"] > 2)
    for text in ax.texts:
        if text.get_text().startswith("+"):
            assert text.get_position()[0] < ax.get_xlim()[1]
    everything = plot.tree(bananas, max_depth=100, ax=plt.subplots()[1])
    assert not any(text.get_text().startswith("+") for text in everything.texts)


def targets(n=200, scale=1.0, offset=0.0):
    rng = random.Random(1)
    for _ in range(n):
        x = {"size": rng.random(), "color": rng.choice("rgb")}
        yield x, offset + scale * (x["size"] + (x["color"] == "r") + rng.gauss(0.0, 0.1))


@pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])
def test_a_box_of_a_regressor_shows_mean_and_deviation(kind):
    model = learn(kind(n_estimators=1, seed=1), targets())
    ax = plot.tree(model, max_depth=3)
    written, table, found = texts(ax), shown(model, 0, 3), boxes(ax)
    assert sorted(written) == sorted(table.index)
    bars = {p.get_gid(): p for p in ax.patches if p.get_gid() and p.get_gid().count(" ") == 2}
    low, high = (table["mean"] - table["std"]).min(), (table["mean"] + table["std"]).max()
    for node, row in table.iterrows():
        mean, std, n = re.fullmatch(r"(\S+) ± (\S+) \((\d+)\)", written[node][1]).groups()
        assert float(mean) == pytest.approx(row["mean"], abs=0.0011 * (high - low))
        assert float(std) == pytest.approx(row["std"], abs=0.0011 * (high - low))
        assert int(n) == row["n_samples"]
        box, bar, tick = found[node], bars[f"node {node} std"], bars[f"node {node} mean"]
        scale = box.get_width() / (high - low)
        start = box.get_x() + scale * (row["mean"] - row["std"] - low)
        assert (bar.get_x(), bar.get_width()) == pytest.approx((start, 2 * scale * row["std"]))
        assert abs(tick.get_x() - box.get_x() - scale * (row["mean"] - low)) <= tick.get_width()
        edge = box.get_x() + box.get_width() + 1e-9
        assert all(b.get_x() + b.get_width() <= edge for b in (bar, tick))
    title = ax.get_title(loc="left")
    ends = re.fullmatch(r"mean ± standard deviation .*; bars from (\S+) to (\S+)", title).groups()
    assert [float(end) for end in ends] == pytest.approx([low, high], abs=0.0011 * (high - low))


def test_a_categorical_split_names_categories_that_go_left():
    model = learn(AMFClassifier(n_estimators=1, seed=1), mixed())
    written, table = texts(plot.tree(model)), shown(model, 0, 4)
    splits = table[table["feature"] == "color"]
    assert len(splits)
    for node, row in splits.iterrows():
        text = written[node][0]
        assert re.fullmatch(r"color in \{.*\}", text)
        named = set(re.findall(r"'(\w+)'", text))
        assert named <= row["categories_left"]
        more = re.search(r"\+(\d+)", text)
        assert len(named) + (int(more[1]) if more else 0) == len(row["categories_left"])


def test_texts_fit_into_their_boxes_by_default_and_in_small_axes():
    samples = [
        ({"a feature with a long name": x["size"], "another, a category": x["color"]}, f"label {y}")
        for x, y in mixed(labels=["first of all", "second", "the third one"])
    ]
    model = learn(AMFClassifier(n_estimators=1, seed=1), samples)
    for ax in (None, plt.subplots(figsize=(6, 4))[1]):
        ax = plot.tree(model, ax=ax)
        ax.figure.canvas.draw()
        found = boxes(ax)
        for text in ax.texts:
            if text.get_gid():
                inner = text.get_window_extent()
                outer = found[int(text.get_gid().split()[1])].get_window_extent()
                assert outer.x0 < inner.x0 < inner.x1 < outer.x1, text.get_text()
                assert outer.y0 < inner.y0 < inner.y1 < outer.y1, text.get_text()


def test_one_node_is_a_tree():
    model = AMFClassifier(n_estimators=1)
    model.learn_one({"a": 1.0}, "$x$")
    ax = plot.tree(model)
    assert texts(ax) == {0: ["leaf", "$x$ 1", "share 1.00, mass 1.00"]}
    ax.figure.canvas.draw()
    written = [*ax.texts, *ax.get_legend().get_texts()]
    assert not any(text.get_parse_math() for text in written if "$" in text.get_text())


def test_bad_arguments_are_errors_and_make_no_figure(bananas):
    with pytest.raises(ValueError, match="max_depth must be an integer >= 0, got -1"):
        plot.tree(bananas, max_depth=-1)
    with pytest.raises(IndexError, match="tree must be between 0 and 1, got 2"):
        plot.tree(bananas, 2)
    with pytest.raises(TypeError, match=r"model must be a forest, got Pipeline"):
        plot.tree(preprocessing.StandardScaler() | bananas)
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, got int"):
        plot.tree(bananas, ax=5)
    with pytest.raises(ValueError, match="tree 0 has no nodes"):
        plot.tree(AMFClassifier())
    assert not plt.get_fignums()
