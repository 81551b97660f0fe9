"""Importance of features to the trees of a forest."""

import collections
import math
import random

import pandas as pd
import pytest

from river_amf import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor, inspection

VARIANTS = {
    "leaves": (AMFClassifier, {"use_aggregation": False}),
    "pure": (AMFClassifier, {"split_pure": True, "split_intensity": "unit"}),
    "adaptive": (AdaptiveAMFClassifier, {"max_nodes": 15}),
    "regressor": (AMFRegressor, {}),
    "fading regressor": (AMFRegressor, {"fading_factor": 0.7, "split_intensity": "relevance"}),
}
TARGETS = {"up": 1005.0, "down": 1001.0, "flat": 1000.0}


def stream(n_samples=400, seed=3):
    """One informative number and category, noise, and a feature that comes late and has gaps."""
    rng = random.Random(seed)
    for k in range(n_samples):
        x = {"a": rng.random(), "color": rng.choice("rgb"), ("no", 1): rng.random()}
        if k > 150 and rng.random() < 0.7:
            x["late"] = rng.random()
        y = "up" if x["a"] > 0.6 else "down" if x["color"] == "r" else "flat"
        yield x, y


def trained(kind=AMFClassifier, **parameters):
    model = kind(3, seed=5, **parameters)
    for x, y in stream():
        model.learn_one(x, TARGETS[y] if kind is AMFRegressor else y)
    return model


def by_hand(model):
    """Return the shares by a walk over the rows of the tables of nodes, tree by tree."""
    totals = {name: collections.Counter() for name in ("splits", "mass", "impurity")}
    for k in range(len(model)):
        table = inspection.node_table(model, k)
        nodes = {row.node: row for row in table.itertuples()}
        n_splits = sum(row.left >= 0 for row in nodes.values())
        root = next(row for row in nodes.values() if row.parent < 0)

        def impurity(row, root=root):
            if hasattr(row, "std"):  # of targets, it is their variance
                return row.n_samples / root.n_samples * row.std**2
            fractions = [n / row.n_samples for n in row.counts.values()]
            return row.n_samples / root.n_samples * (1 - sum(f * f for f in fractions))

        pending = [(root, 1.0)]
        while pending:
            row, mass = pending.pop()
            if row.left < 0:
                continue
            if model.use_aggregation:
                mass /= 1 + math.exp(min(row.log_odds, 700))
            left, right = nodes[row.left], nodes[row.right]
            totals["splits"][row.feature] += 1 / n_splits
            totals["mass"][row.feature] += mass * row.n_samples / root.n_samples
            decrease = impurity(row) - impurity(left) - impurity(right)
            totals["impurity"][row.feature] += mass * max(decrease, 0.0)
            pending += [(left, mass), (right, mass)]
    return {
        name: {feature: value / sum(total.values()) for feature, value in total.items()}
        for name, total in totals.items()
    }


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS.values(), ids=VARIANTS)
def test_importance_equals_a_walk(kind, parameters):
    model = trained(kind, **parameters)
    table = inspection.feature_importance(model)
    assert table.columns.tolist() == ["splits", "mass", "impurity", "relevance"]
    assert table.index.tolist() == ["a", "color", ("no", 1), "late"]
    for name, expected in by_hand(model).items():
        for feature, value in table[name].items():
            assert value == pytest.approx(expected.get(feature, 0.0), abs=1e-9), (name, feature)
        assert table[name].sum() == pytest.approx(1.0)
    if model.split_intensity == "relevance":
        pd.testing.assert_series_equal(table["relevance"], inspection.feature_relevance(model))
    else:
        assert table["relevance"].isna().all()


def test_importance_without_splits_is_zero():
    model = AMFClassifier()
    assert inspection.feature_importance(model).shape == (0, 4)
    model.learn_one({"a": 1.0}, "b")
    table = inspection.feature_importance(model)
    assert table.loc["a", ["splits", "mass", "impurity"]].tolist() == [0.0, 0.0, 0.0]


def test_relevance_of_a_target():
    model = trained(AMFRegressor, split_intensity="relevance")
    relevance = inspection.feature_relevance(model)
    assert relevance["a"] > 0.5 > 0.1 > relevance[("no", 1)]
    assert inspection.feature_importance(model)["impurity"].idxmax() == "a"
    for kind in (AMFClassifier, AMFRegressor):
        with pytest.raises(ValueError, match="such as an AdaptiveAMF"):
            inspection.feature_relevance(trained(kind))
