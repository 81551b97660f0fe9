import math
import random

import generated
import numpy as np
import pytest
import tables
from hypothesis import given, settings
from hypothesis import strategies as st

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection, layout, paths

FLOOR = 0.001  # what a learned vote adds to the probabilities (README, the learned vote)
EXACT = 1e-12

PARAMETERS = {
    "as it is": {},
    "all classes given": {"n_classes": 5},
    "leaves alone": {"use_aggregation": False},
    "budget": {"max_nodes": 31},
    "pure cells split": {"split_pure": True},
    "unit intensity": {"split_intensity": "unit"},
    "relevance": {"split_intensity": "relevance"},
    "fading": {"fading_factor": 0.5},
    "fading, leaves alone": {"fading_factor": 0.5, "use_aggregation": False},
    "learned vote": {"vote": "learned"},
    "learned vote, classes given": {"vote": "learned", "n_classes": 5},
    "large step": {"step": 20.0},
    "small step": {"step": 1e-3, "split_prior": 0.01},
}


def stream(n, labels="abc", seed=1):
    """A stream of numbers, outliers, categories and missing values; the label depends on two."""
    rng = random.Random(seed)
    for i in range(n):
        x = {"size": rng.gauss(0, 1), "color": rng.choice("rgby"), ("late", 1): rng.random()}
        y = labels[(x["size"] > 0) + (x["color"] in "rg")] if len(labels) == 3 else labels[0]
        if i < 40:
            del x["late", 1]
        if i % 7 == 0:
            del x["size"]
        if i % 11 == 0:
            x["color"] = None
        if i % 50 == 49:
            x["size"] = rng.choice([-999.0, 1e9])
        yield x, y


QUESTIONS = [
    *(x for x, _ in stream(60, seed=2)),
    {},
    {"size": -1e300, "color": "mauve"},
    {"size": 25.0},  # outside the range, yet no outlier
    {"unknown": 1.0},
]


def learn(model, samples):
    for x, y, *w in samples:
        model.learn_one(x, y, *w)
    return model


def encode(model, x):
    model.predict_proba_one(x)
    return model._features.encode(x).values[0].copy()


def mixed(steps, n_classes):
    """What a tree predicts: the mix of its nodes, or nothing but the prior."""
    if not steps:
        return np.full(n_classes, 1 / n_classes)
    return sum(step.mass * step.proba for step in steps)


def combined(model, of_trees):
    """What a forest predicts, from what its trees do: by the mean, or by the learned vote."""
    n_labels = len(model._labels)
    of_trees = np.array(of_trees)[:, :n_labels]
    if model.vote == "mean":
        proba = of_trees.sum(axis=0)
    else:
        arena = model._arena
        log_p = arena.bias[:n_labels] + arena.trees["vote_weight"] @ np.log(of_trees + FLOOR)
        proba = np.exp(log_p - log_p.max())
    return proba / proba.sum()


def assert_walks_explain(model, questions):
    arena, trees = model._arena, np.arange(model.n_estimators)
    n_classes = tables.n_classes(model)
    for x in questions:
        values = encode(model, x)
        walks = [paths.walk(arena, tree, values) for tree in trees.tolist()]
        of_trees = [mixed(steps, n_classes) for steps in walks]
        proba = combined(model, of_trees)
        np.testing.assert_allclose(
            proba, [*model.predict_proba_one(x).values()], rtol=0, atol=EXACT
        )
        samples = np.tile(values, (len(trees), 1))
        together = paths.predict(arena, trees, samples, model.use_aggregation)
        np.testing.assert_allclose(together, of_trees, rtol=0, atol=EXACT)
        for steps in filter(None, walks):
            assert sum(step.mass for step in steps) == pytest.approx(1.0, abs=EXACT)


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS.keys())
@pytest.mark.parametrize("labels", ["abc", "a"])
def test_the_nodes_on_the_paths_mix_to_the_prediction(parameters, labels):
    model = AMFClassifier(n_estimators=3, seed=1, **parameters)
    assert_walks_explain(learn(model, stream(400, labels)), QUESTIONS)


def test_they_do_with_all_that_adapts():
    model = learn(AdaptiveAMFClassifier(n_estimators=4, seed=1, restart_threshold=1.0), stream(800))
    model = learn(model, ((x, {"a": "b", "b": "c", "c": "a"}[y]) for x, y in stream(800)))
    assert_walks_explain(model, QUESTIONS)


def test_a_tree_that_has_started_afresh_knows_nothing():
    model = learn(AMFClassifier(n_estimators=2, seed=1), stream(100))
    model._arena.trees["root"][1] = -1
    model._arena.trees["n_nodes"][1] = 0
    assert_walks_explain(model, QUESTIONS[:5])
    values = encode(model, {})
    assert paths.walk(model._arena, 1, values) == []
    depths = paths.weighted_depths(model._arena, values)
    assert depths[0] >= 0.0 and math.isnan(depths[1])


@settings(max_examples=60)
@given(
    generated.streams(),
    generated.PARAMETERS,
    st.sampled_from([None, 0.4]),
)
def test_they_do_on_any_stream(samples, parameters, fading_factor):
    model = AMFClassifier(n_estimators=2, seed=1, fading_factor=fading_factor, **parameters)
    learn(model, samples)
    assert_walks_explain(model, [{}, *(x for x, _, _ in samples)])


@pytest.mark.parametrize("parameters", [{}, {"max_nodes": 101}, {"fading_factor": 0.5}])
def test_a_walk_goes_where_the_table_of_nodes_says(parameters):
    model = learn(AMFClassifier(n_estimators=2, seed=1, **parameters), stream(400))
    outliers = (-999.0, 1e9, -1e300, 25.0)
    questions = [x for x in QUESTIONS if x.get("size") not in outliers]
    known = [x for x in questions if x.get("color") in (None, *"rgby")]
    assert len(known) > 50
    for tree in range(2):
        table = inspection.node_table(model, tree)
        for x in known:
            steps = paths.walk(model._arena, tree, encode(model, x))
            assert [step.node for step in steps] == tables.path(table, x)
            for step in steps[:-1]:
                row = table.loc[step.node]
                assert list(model._features)[step.feature] == row["feature"]
                assert (step.threshold, step.n_samples) == (row["threshold"], row["n_samples"])
                assert [*step.counts] == [*row["counts"].values()]
                assert math.isnan(step.value) == (x.get(row["feature"]) is None)


def test_a_value_that_equals_a_threshold_goes_left_as_in_the_prediction():
    model = learn(AMFClassifier(n_estimators=1, seed=1), stream(400))
    table = inspection.node_table(model)
    thresholds = table.loc[table["feature"] == "size", "threshold"]
    assert len(thresholds) > 10
    met = 0
    for threshold in thresholds:
        x = {"size": threshold, "color": "r"}
        assert_walks_explain(model, [x])
        for step in paths.walk(model._arena, 0, encode(model, x)):
            if step.value == step.threshold:
                assert step.goes == "left"
                met += 1
    assert met


def test_outliers_go_where_the_ends_of_the_range_do():
    model = learn(AMFClassifier(n_estimators=3, seed=1), stream(400))
    low, high = model._arena.ranges[:, model._features.column("size")]
    for tree in range(3):
        for value, end in [(1e9, high), (-1e300, low)]:
            far, near = (
                paths.walk(model._arena, tree, encode(model, {"size": size, "color": "r"}))
                for size in (value, float(end))
            )
            assert [step.node for step in far] == [step.node for step in near]
            is_size = {step.feature: step.value for step in far}
            assert is_size[model._features.column("size")] == end


def test_many_samples_walk_as_each_does_alone():
    model = learn(AMFClassifier(n_estimators=3, seed=1, fading_factor=0.5), stream(400))
    values = np.array([encode(model, x) for x in QUESTIONS])
    for aggregated in (True, False):
        for tree in range(3):
            trees = np.full(len(values), tree)
            together = paths.predict(model._arena, trees, values, aggregated)
            for row, alone in zip(together, values, strict=True):
                steps = paths.walk(model._arena, tree, alone)
                expected = mixed(steps, 3) if aggregated else steps[-1].proba
                np.testing.assert_allclose(row, expected, rtol=0, atol=EXACT)


@pytest.mark.parametrize("use_aggregation", [True, False])
def test_the_weighted_depth_is_that_of_the_steps(use_aggregation):
    model = AMFClassifier(n_estimators=3, seed=1, use_aggregation=use_aggregation)
    learn(model, stream(300))
    for x in QUESTIONS:
        depths = paths.weighted_depths(model._arena, encode(model, x))
        for tree in range(3):
            steps = paths.walk(model._arena, tree, encode(model, x))
            expected = sum(depth * step.mass for depth, step in enumerate(steps))
            assert depths[tree] == pytest.approx(expected, abs=1e-9)
            if not use_aggregation:
                assert depths[tree] == len(steps) - 1


@pytest.mark.parametrize("scale", [0, -1, 1, -2, 2, -3, 3, -6, 6, -5000, 5000])
@pytest.mark.parametrize("odds", [1e-70, 0.3, 1.0, 7.0, 1e70])
def test_shares_are_those_of_the_log_odds(odds, scale):
    nodes = np.zeros(1, layout.NODE)
    nodes["odds"], nodes["odds_scale"] = odds, scale
    log_odds = math.log(odds) + scale * 512 * math.log(2)
    assert paths.log_odds(nodes)[0] == pytest.approx(log_odds, rel=1e-14)
    share, rest = (float(part[0]) for part in paths.own_shares(nodes))
    for part, sign in ((share, 1), (rest, -1)):
        expected = math.exp(min(sign * log_odds, 0.0)) / (1.0 + math.exp(-abs(log_odds)))
        assert part == pytest.approx(expected, rel=1e-11, abs=1e-300)


def test_leaves_have_no_odds_whatever_their_record_holds():
    nodes = np.zeros(2, layout.NODE)
    nodes["left"], nodes["odds"] = -1, [math.nan, 0.0]
    assert [part.tolist() for part in paths.own_shares(nodes)] == [[1.0, 1.0], [0.0, 0.0]]
    assert np.isnan(paths.log_odds(nodes)).all()
