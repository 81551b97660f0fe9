"""Walks: the nodes on a path equal those of the reference, and their mix is the prediction."""

import math
import random

import generated
import numpy as np
import pytest
import tables
from forests import learn
from hypothesis import given, settings
from hypothesis import strategies as st
from test_naive import LONGER, pair

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection
from river_amf.explain import paths

EXACT = 1e-12

PARAMETERS = LONGER | {
    "leaf alone, budget": {"use_aggregation": False, "max_nodes": 31},
    "fading, leaf alone": {"fading_factor": 0.5, "use_aggregation": False},
    "relevance, large step": {"split_intensity": "relevance", "step": 20.0},
    "small step": {"step": 1e-3, "split_prior": 0.01, "max_nodes": 31},
}


def stream(n, seed=1):
    """Yield numbers, outliers, categories and missing values; the label depends on two."""
    rng = random.Random(seed)
    for i in range(n):
        x = {"size": rng.gauss(0, 1), "color": rng.choice("rgby"), ("late", 1): rng.random()}
        y = "abc"[(x["size"] > 0) + (x["color"] in "rg")]
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


def encode(model, x):
    model.predict_proba_one(x)
    return model._features.encode_any(x).values[0].copy()


def mixed(model, tree, steps):
    """Return what a tree predicts: the mix of its nodes, or the prior if it has none."""
    if not len(steps):
        return np.full(tables.n_classes(model), 1 / tables.n_classes(model))
    return steps["mass"] @ paths.own_predictions(model._arena, tree, steps["node"])


def assert_walks_explain(model, questions):
    """Check that nodes mix to what the kernels predict by each tree."""
    for x in questions:
        values = encode(model, x)
        for tree in model:
            steps = paths.walk(model._arena, tree.index, values)
            expected = mixed(model, tree.index, steps)[: len(model._labels)]
            proba = [*tree.predict_proba_one(x).values()]
            assert proba == pytest.approx(expected / expected.sum(), abs=EXACT)
            assert not len(steps) or steps["mass"].sum() == pytest.approx(1.0, abs=EXACT)


def assert_is_step(step, visit, values, fades):
    """Compare a row of `inspection.path` with a visit of the reference."""
    node = visit.node
    assert step.n_samples == node.n_samples()
    assert [*step.counts.values()] == [*node.counts()][: len(step.counts)]
    proba = node.predict(fades)[: len(step.proba)]
    assert [*step.proba.values()] == pytest.approx(proba, abs=EXACT)
    if node.is_leaf():
        assert (step.feature, step.goes) == (None, None)
        assert math.isnan(step.threshold)
    else:
        names = {column.index: name for name, column in node.forest.columns.items()}
        assert step.feature == names[node.feature]
        assert step.threshold == pytest.approx(node.threshold)
        goes = "left" if node.goes_left(values) else "right"
        goes = goes if node.feature in values else "both"
        assert step.goes == (None if visit.share else goes)  # hardly any mass is left


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
def test_steps_equal_the_reference(parameters):
    model, reference = pair(**parameters)
    for forest in (model, reference):
        learn(forest, stream(80))
    for x in QUESTIONS[::5] + QUESTIONS[-4:]:
        encoded = encode(model, x)
        for t, tree in enumerate(reference.trees):
            values = reference.encode(x, tree.tree_key)
            walk = paths.walk(model._arena, t, encoded)
            assert mixed(model, t, walk) == pytest.approx(tree.predict(values), abs=EXACT)
            visits = tree.visits(values)
            nodes = [visit.node for visit in visits]
            seen = [values.get(node.feature, math.nan) for node in nodes]
            np.testing.assert_array_equal(walk["value"], seen)
            steps = inspection.path(model, x, t).itertuples()
            depths = {None: -1}
            for step, visit in zip(steps, visits, strict=True):
                depths[visit.node] = depths[visit.above and visit.above.node] + 1
                assert step.depth == depths[visit.node]
                assert step.mass == pytest.approx(visit.mass, rel=1e-9, abs=EXACT)
                assert_is_step(step, visit, values, tree.fades())


@settings(max_examples=40)
@given(generated.streams(), generated.PARAMETERS, st.sampled_from([None, 0.4]))
def test_paths_mix_to_the_prediction(samples, parameters, fading_factor):
    model = AMFClassifier(n_estimators=2, seed=1, fading_factor=fading_factor, **parameters)
    learn(model, samples)
    assert_walks_explain(model, [{}, *(x for x, _, _ in samples)])


def test_paths_mix_to_the_prediction_after_a_drift():
    model = AdaptiveAMFClassifier(n_estimators=4, seed=1, drift_threshold=1.0)
    model = learn(model, stream(800))
    model = learn(model, ((x, {"a": "b", "b": "c", "c": "a"}[y]) for x, y in stream(800)))
    assert_walks_explain(model, QUESTIONS)


@pytest.mark.parametrize("odds", [1e-70, 0.3, 1.0, 7.0, 1e70])
def test_shares_follow_from_odds_of_any_scale(odds):
    model = AMFClassifier(n_estimators=1, seed=1)
    arena = learn(model, [({"a": 1.0}, "x"), ({"a": 4.0}, "y")])._arena
    assert arena.trees["n_nodes"][0] == 3
    root = arena.nodes[0, arena.trees["root"][0] :][:1]
    for scale in (0, -1, 1, -2, 2, -3, 3, -6, 6, -5000, 5000):
        root["odds"], root["odds_scale"] = odds, scale
        log_odds = math.log(odds) + scale * 512 * math.log(2)
        assert paths.log_odds(root)[0] == pytest.approx(log_odds, rel=1e-14), scale
        first, second = paths.walk(arena, 0, np.array([1.0]))
        for part, sign in ((first["share"], 1), (first["mass"], 1), (second["mass"], -1)):
            expected = math.exp(min(sign * log_odds, 0.0)) / (1.0 + math.exp(-abs(log_odds)))
            assert part == pytest.approx(expected, rel=1e-11, abs=1e-300), scale
