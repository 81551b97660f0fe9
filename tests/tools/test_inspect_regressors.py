"""The inside of regressors: tables of nodes and paths, trees, and explanations as text."""

import math
import random
import re

import numpy as np
import pytest

from river_amf import AdaptiveAMFRegressor, AMFRegressor, inspection
from river_amf.explain import trend_experts

SETTINGS = {
    "as it is": {},
    "leaves alone": {"use_aggregation": False},
    "fading": {"fading_factor": 0.6},
    "budget": {"max_nodes": 31},
    "large step, relevance": {"step": 2.0, "split_intensity": "relevance"},
}
settings = pytest.mark.parametrize("parameters", SETTINGS.values(), ids=SETTINGS)


def stream(n_samples=200, seed=1):
    """Yield numbers, categories and gaps, with targets and weights."""
    rng = random.Random(seed)
    for _ in range(n_samples):
        x = {"size": rng.gauss(0, 1), "color": rng.choice(["red", "tan"]), "rest": rng.random()}
        y = 500.0 + 20.0 * (x["size"] > 0) + (x["color"] == "red") + rng.gauss(0, 1)
        if rng.random() < 0.2:
            del x["size"]
        yield x, y, rng.choice([1.0, 2.0, 0.5])


QUESTIONS = [*(x for x, _, _ in stream(20, seed=2)), {}, {"size": 1e9}, {"color": "new"}]


def trained(kind=AMFRegressor, **parameters):
    model = kind(**({"n_estimators": 3, "seed": 5} | parameters))
    for x, y, w in stream():
        model.learn_one(x, y, w=w)
    return model


@settings
def test_means_and_deviations_of_nodes_are_those_of_the_samples_in_their_cells(parameters):
    model = AMFRegressor(3, seed=5, **parameters)
    samples = [(x, y, w) for x, y, w in stream() if "size" in x]  # so that cells never change
    for x, y, w in samples:
        model.learn_one(x, y, w=w)
    for tree in range(3):
        table = inspection.node_table(model, tree).set_index("node")
        assert [name for name in table.columns if name in ("mean", "std")] == ["mean", "std"]
        assert "counts" not in table.columns
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
def test_the_nodes_on_the_paths_mix_to_the_predictions_of_trees_and_forest(parameters):
    model = trained(vote="mean", **parameters)
    for x in QUESTIONS:
        of_trees = []
        for tree in range(3):
            steps = inspection.path(model, x, tree)
            assert steps.mass.sum() == pytest.approx(1.0)
            of_trees.append((steps.mass * steps.estimate).sum())
            assert model[tree].predict_one(x) == pytest.approx(of_trees[-1], abs=1e-9)
        assert model.predict_one(x) == pytest.approx(np.mean(of_trees), abs=1e-9)


@pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])
def test_before_the_first_sample_tables_are_empty_and_trees_predict_0(kind):
    model = kind(2)
    assert inspection.node_table(model).columns[10:12].tolist() == ["mean", "std"]
    assert inspection.path(model, {}).columns[-3:].tolist() == ["mean", "std", "estimate"]
    assert inspection.node_table(model).empty and inspection.path(model, {}).empty
    assert inspection.feature_importance(model).empty
    assert inspection.weighted_depth(model, {}).isna().all()
    assert [tree.predict_one({"a": 1.0}) for tree in model] == [0.0, 0.0]
    assert model.debug_one({}).startswith("No sample has been learned yet")


def test_a_tree_of_a_regressor_has_no_probabilities():
    with pytest.raises(AttributeError, match="a tree of AMFRegressor predicts a number, not"):
        trained()[0].predict_proba_one({})


# Explanations


@settings
def test_an_explanation_has_the_numbers_of_the_tables(parameters):
    model = trained(**parameters)
    for x in QUESTIONS:
        text = model.debug_one(x, tree=1)
        predicted = float(re.search(r"^Prediction: (\S+)$", text, re.MULTILINE)[1])
        assert predicted == pytest.approx(model.predict_one(x), abs=0.1)
        ends = re.search(r"90 % interval from (\S+) to (\S+)$", text, re.MULTILINE).groups()
        interval = model.predict_interval_one(x)
        assert [*map(float, ends)] == pytest.approx([interval.lower, interval.upper], abs=0.1)
        votes = re.findall(r"^ +(\d) +(\S+) +\S+ +(\S+)$", text, re.MULTILINE)
        depths = inspection.weighted_depth(model, x)
        for tree, of_tree, depth in votes:
            expected = model[int(tree)].predict_one(x)
            assert float(of_tree) == pytest.approx(expected, abs=0.1)
            assert depth == f"{depths[int(tree)]:.2f}"
        assert len(votes) == 3
        lines = text.split("Path in tree 1")[1].splitlines()[2:-2]
        steps = inspection.path(model, x, 1)
        assert len(lines) == len(steps)
        for line, step in zip(lines, steps.itertuples(), strict=True):
            node, share, mass, estimate, n, mean, std, *split = line.split()
            assert (int(node), float(n)) == (step.node, pytest.approx(step.n_samples))
            assert (share, mass) == (f"{step.share:.4f}", f"{step.mass:.4f}")
            shown = [float(estimate), float(mean), float(std)]
            assert shown == pytest.approx([step.estimate, step.mean, step.std], abs=0.1)
            assert " ".join(split) == "leaf" or step.feature in " ".join(split)


# Trends and stacks


ADAPTIVE = {
    "as it is": {},
    "without a trend": {"trend": None},
    "the last target": {"recent": "target"},
    "the mean of trees": {"vote": "mean"},
    "one tree": {"n_estimators": 1},
}
adaptive = pytest.mark.parametrize("parameters", ADAPTIVE.values(), ids=ADAPTIVE)


def listened(model, x):
    """Return the arena of a model, and the outputs of its experts for a sample."""
    return model._arena, model._engine.expert_outputs(x)


def together(stack):
    """Return what a stack predicts, unless it goes beyond its bounds."""
    return stack.base + sum(v.weight * (v.prediction - stack.base) for v in stack.voters)


@adaptive
def test_voters_meet_in_the_prediction(parameters):
    model = trained(AdaptiveAMFRegressor, **parameters)
    origin = model._labels.origin
    for x in QUESTIONS[:20]:
        arena, used = listened(model, x)
        of_trees = [tree.predict_one(x) for tree in model]
        stack = trend_experts.stack_of_voters(arena, used)
        if model.vote == "mean":
            assert stack is None
            assert model.predict_one(x) == pytest.approx(np.mean(of_trees), abs=1e-9)
            continue
        even, odd = np.mean(of_trees[::2]), np.mean(of_trees[1::2] or of_trees)
        found = [voter.prediction + origin for voter in stack.voters]
        assert found[:2] == pytest.approx([even, odd], abs=1e-9)
        assert stack.base + origin == pytest.approx((even + odd) / 2, abs=1e-9)
        n_recent = 0 if model.recent is None else 2
        n_others = 2 * (model.trend is not None) + 3 * model.use_aggregation
        assert len(stack.voters) == 2 + n_recent + n_others
        last = trend_experts.stack_of_last(arena, stack)
        assert (last is not None) == (model.recent == "target")
        for each in [stack] if last is None else [last]:
            p, ends = together(each), [*(v.prediction for v in each.voters), each.base]
            margin = 0.5 * (max(ends) - min(ends))
            p = min(max(p, min(ends) - margin), max(ends) + margin)
            assert model.predict_one(x) == pytest.approx(p + origin, abs=1e-9)


@adaptive
def test_inputs_add_up_to_the_predictions_of_the_trends(parameters):
    model = trained(AdaptiveAMFRegressor, **parameters)
    for x in QUESTIONS:
        arena, used = listened(model, x)
        rows = list(trend_experts.sample_inputs(arena, model._features, used))
        stack = trend_experts.stack_of_trends(arena, used)
        if model.trend is None:
            assert rows == [] and stack is None
            continue
        least, largest = (float(arena.counters[f"{end}_target"][0]) for end in ("least", "largest"))
        for voter in stack.voters[:2]:
            added = sum(part for each, _, part in rows if each.trend == voter.name)
            clipped = min(max(added, least), largest)
            assert voter.prediction == pytest.approx(clipped, abs=1e-9)
        trend = used.votes[len(arena.trees) + 2, 0]
        margin = 0.5 * np.ptp([stack.base, *(voter.prediction for voter in stack.voters)])
        assert trend == pytest.approx(together(stack), abs=2.0 * margin + 1e-9)


def test_linear_weights_of_a_regressor_are_those_of_its_trends():
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


def test_without_a_trend_there_are_no_linear_weights():
    for model in (AMFRegressor(), AdaptiveAMFRegressor(trend=None)):
        with pytest.raises(ValueError, match="trend=None, but only a regressor with a trend, such"):
            inspection.linear_weights(model)
    assert inspection.linear_weights(AdaptiveAMFRegressor()).empty


@adaptive
def test_an_explanation_has_voters_trees_trends_and_paths(parameters):
    model = trained(AdaptiveAMFRegressor, **({"n_estimators": 4} | parameters))
    n_trees, x = model.n_estimators, {"size": 0.5, "color": "red"}
    text = model.debug_one(x, tree=n_trees - 1)
    parts = text.split("\n\n")
    titles = [part.splitlines()[0] for part in parts]
    expected = [f"Prediction: {titles[0].split()[1]}"]
    if model.vote == "learned":
        stack = "base + sum of weight x (voter - base))"
        if model.recent == "target":
            expected.append(f"Voters (together they predict {stack}")
            expected.append(f"Last target, which is the base (the forest predicts {stack}")
        else:
            expected.append(f"Voters (the forest predicts {stack}")
        expected.append("Trees")
    else:
        expected.append("Trees (the forest predicts their mean)")
    if model.trend:
        expected.append(titles[len(expected)])
        assert expected[-1].startswith("Trend (base + sum of weight x (voter - base);")
        expected.append(titles[len(expected)])
        assert expected[-1].startswith("Inputs of the trends (")
    path = f"Path in tree {n_trees - 1}, of {model[-1].n_nodes} nodes"
    learns_rest = model.trend and n_trees > 1
    expected.append(path + ", which learns the residual of the trend" * bool(learns_rest))
    assert titles[: len(expected)] == expected
    shown = float(titles[0].split()[1])
    assert shown == pytest.approx(model.predict_one(x), abs=0.1)
    votes = re.findall(r"^ +(\d) +(\S+) +\S+ +\S+$", text, re.MULTILINE)
    assert [float(p) for _, p in votes] == pytest.approx(
        [tree.predict_one(x) for tree in model], abs=0.1
    )
    if model.trend:
        inputs = parts[titles.index(expected[-2])].splitlines()[2:]
        products = [float(line.split()[-1]) for line in inputs]
        arena, used = listened(model, x)
        added = sum(part for *_, part in trend_experts.sample_inputs(arena, model._features, used))
        assert sum(products) == pytest.approx(added, abs=0.1)
    estimates = inspection.path(model, x, n_trees - 1)
    if learns_rest:
        assert estimates["estimate"].abs().max() < 100.0 < model.predict_one(x)
