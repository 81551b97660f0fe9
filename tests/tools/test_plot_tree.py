import random
import re

import matplotlib.pyplot as plt
import pytest
from forests import learn
from river import datasets

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    inspection,
    plot,
)

pytestmark = pytest.mark.usefixtures("no_figures")


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
