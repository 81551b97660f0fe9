"""The inside of regressors: tables of nodes, paths and linear weights, and trees."""

import math
import random

import numpy as np
import pytest
from forests import QUESTIONS, learn
from regressors import NUMBERS, trained

from river_amf import AdaptiveAMFRegressor, AMFRegressor, inspection
from river_amf.explain import experts
from river_amf.explain.linear_weights import weights_of

SETTINGS = {
    "leaves alone": {"use_aggregation": False},
    "fading": {"fading_factor": 0.6},
    "budget": {"max_nodes": 31, "step": 2.0, "split_intensity": "relevance"},
}
settings = pytest.mark.parametrize("parameters", SETTINGS.values(), ids=SETTINGS)


@settings
def test_nodes_have_the_moments_of_their_samples(parameters):
    model = AMFRegressor(3, seed=5, vote="mean", **parameters)  # or weights are relative
    names = ["fine", "coarse", "color"]  # without gaps, so that cells never change
    samples = [(x, *more) for x, *more in NUMBERS[:200] if [*x] == names and x["color"]]
    learn(model, samples)
    for tree in range(3):
        table = inspection.node_table(model, tree).set_index("node")
        inside = {node: [] for node in table.index}
        for x, y, w in samples:
            for node in inspection.path(model, x, tree)["node"]:
                inside[node].append((y, w))
        for node, row in table.iterrows():
            targets, weights = map(np.array, zip(*inside[node], strict=True))
            mean = np.average(targets, weights=weights)
            variance = np.average((targets - mean) ** 2, weights=weights)
            assert row["n_samples"] == pytest.approx(weights.sum())
            assert row["mean"] == pytest.approx(mean, abs=1e-9)
            assert row["std"] == pytest.approx(math.sqrt(variance), abs=1e-6)


@settings
def test_paths_add_up_to_predictions(parameters):
    model = trained(NUMBERS[:200], vote="mean", **parameters)
    for x in QUESTIONS:
        of_trees = []
        for tree in range(3):
            steps = inspection.path(model, x, tree)
            assert steps.mass.sum() == pytest.approx(1.0)
            of_trees.append((steps.mass * steps.estimate).sum())
            assert model[tree].predict_one(x) == pytest.approx(of_trees[-1], abs=1e-9)
        assert model.predict_one(x) == pytest.approx(np.mean(of_trees), abs=1e-9)


def test_tables_are_empty_before_the_first_sample():
    model = AdaptiveAMFRegressor(2)
    assert inspection.node_table(model).columns[10:12].tolist() == ["mean", "std"]
    assert inspection.path(model, {}).columns[-3:].tolist() == ["mean", "std", "estimate"]
    assert inspection.node_table(model).empty and inspection.path(model, {}).empty
    assert inspection.feature_importance(model).empty and inspection.linear_weights(model).empty
    assert [tree.predict_one({"a": 1.0}) for tree in model] == [0.0, 0.0]


def test_trees_of_regressors_have_no_probabilities():
    with pytest.raises(AttributeError, match="a tree of a regressor has no prob"):
        trained(NUMBERS[:9])[0].predict_proba_one({})


def test_linear_weights_of_trends():
    model = AdaptiveAMFRegressor(2, seed=1)
    rng = random.Random(1)
    for _ in range(600):
        x = {"a": rng.gauss(7, 2), "idle": rng.gauss(0, 1), "color": rng.choice(["red", "tan"])}
        model.learn_one(x, 1000.0 + 3.0 * (x["a"] - 7) / 2 + 10.0 * (x["color"] == "red"))
    table = inspection.linear_weights(model)
    assert table.columns.tolist() == ["linear_model", "feature", "input", "weight"]
    pairs = table[["linear_model", "feature", "input"]].values.tolist()
    fast = [("a", "value"), ("a", "profile"), ("color", "profile")]
    fast += [("idle", "value"), ("idle", "profile")]
    expected = [["fast", None, None], *(["fast", *pair] for pair in fast), ["smooth", None, None]]
    assert pairs == [*expected, ["smooth", "a", "value"], ["smooth", "idle", "value"]]
    weights = table.set_index(["linear_model", "feature", "input"])["weight"]
    assert weights["fast"].iloc[0] == pytest.approx(1005.0, abs=5.0)
    steep = weights["fast", "a", "value"] + weights["fast", "a", "profile"] / 2
    assert 1.0 < steep < 5.0
    assert abs(weights["fast", "idle", "value"]) < 0.3
    assert weights["fast", "color", "profile"] > 1.0


def test_inputs_that_share_terms_add_up():
    model, rng = AdaptiveAMFRegressor(2, seed=1), random.Random(1)
    rows = [
        {j: rng.gauss(0, 1) if j % 3 else rng.choice("ab") for j in range(70)} for _ in range(9)
    ]
    for x in rows:
        model.learn_one(x, 100.0 + x[1] + x[65] + (x[0] == "a") + (x[66] == "b"))
    origin, counters = model._labels.origin, model._arena.counters[0]
    bounds = counters["least_target"] + origin, counters["largest_target"] + origin
    for x in rows:
        outputs = model._engine.expert_outputs(x, has_parts=True)
        table = weights_of(model, outputs)
        sums = (table.weight * table.value).groupby(table.linear_model).sum()
        sums = sums.clip(*bounds)  # as trends are, to the range of what they have learned
        expected = experts.stacks(model._arena, outputs)["trend"].voters
        for trend in ("fast", "smooth"):
            assert sums[trend] == pytest.approx(expected[trend] + origin, abs=1e-9)
