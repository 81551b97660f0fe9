"""Walks: the nodes on a path equal those of the reference, and their mix is the prediction."""

import math
import random

import generated
import naive
import numpy as np
import pytest
import tables
from forests import pickled
from hypothesis import given, settings
from hypothesis import strategies as st
from test_naive import pair

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection
from river_amf.engine import blocks
from river_amf.explain import linear_experts, paths
from river_amf.state import arena as state

LINEAR_FLOOR = -7.0  # least of what it takes for the log-probabilities of linear models
VOTE_FLOOR = 0.001  # what a learned vote adds to the probabilities (README, the learned vote)
EXACT = 1e-12
OF_POOL = ("learns_vote", "n_linear_models", "has_sparse_expert")  # settings

PARAMETERS = {
    "as it is": {},
    "classes given, learned vote": {"n_classes": 5, "vote": "learned"},
    "leaves alone, budget": {"use_aggregation": False, "max_nodes": 31},
    "pure cells split, unit intensity": {"split_pure": True, "split_intensity": "unit"},
    "relevance, large step": {"split_intensity": "relevance", "step": 20.0},
    "fading, learned vote": {"fading_factor": 0.5, "vote": "learned"},
    "fading, leaves alone": {"fading_factor": 0.5, "use_aggregation": False},
    "small step": {"step": 1e-3, "split_prior": 0.01, "max_nodes": 31},
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
    return model._features.encode_any(x).values[0].copy()


def own_of(model, tree, steps):
    """Return the probabilities that the nodes on a path predict by themselves."""
    return paths.own_predictions(model._arena, tree, steps["node"])


def mixed(model, tree, steps):
    """Return what a tree predicts: the mix of its nodes, or just the prior."""
    n_classes = tables.n_classes(model)
    if not len(steps):
        return np.full(n_classes, 1 / n_classes)
    return steps["mass"] @ own_of(model, tree, steps)


def combined(model, of_trees, x=None):
    """Return what a forest predicts, given its trees' predictions: their mean or learned vote.

    Linear models, if there are any, are asked for the sample x.
    """
    n_labels = len(model._labels)
    of_trees = np.array(of_trees)[:, :n_labels]
    if model.vote == "mean":
        proba = of_trees.sum(axis=0)
    else:
        arena = model._arena
        log_p = arena.bias[:n_labels] + arena.trees["vote_weight"] @ np.log(of_trees + VOTE_FLOOR)
        if weights := [*linear_experts.vote_weights(arena).values()]:
            of_others = model._engine.expert_outputs(x).votes[len(of_trees) :, :n_labels]
            log_p += weights @ np.maximum(of_others, LINEAR_FLOOR)
        proba = np.exp(log_p - log_p.max())
    return proba / proba.sum()


def predicted(model, values, aggregated, without=()):
    """Let a forest predict encoded samples; return the votes of its trees, and the answers.

    `without` names settings, such as that of the learned vote, that are switched off.
    """
    engine, n = model._engine.reader(), len(values)
    engine.arena.settings["use_aggregation"] = aggregated
    for name in without:
        engine.arena.settings[name] = 0
    answers = np.zeros((n, len(model._labels)))
    block = state.Block(np.array(values), np.zeros(n), np.zeros(n), answers)
    blocks.predict_encoded(engine, block, 1)
    assert block.votes.shape[1:] == (n, tables.n_classes(model))  # in one chunk
    return block.votes[: model.n_estimators], block.answers


def assert_walks_explain(model, questions):
    arena, trees = model._arena, range(model.n_estimators)
    values = [encode(model, x) for x in questions]
    votes, _ = predicted(model, values, model.use_aggregation, OF_POOL)
    for x, alone, as_forest in zip(questions, values, votes.swapaxes(0, 1), strict=True):
        walks = [paths.walk(arena, tree, alone) for tree in trees]
        of_trees = [mixed(model, tree, walks[tree]) for tree in trees]
        proba = combined(model, of_trees, x)
        np.testing.assert_allclose(
            proba, [*model.predict_proba_one(x).values()], rtol=0, atol=EXACT
        )
        np.testing.assert_allclose(as_forest, of_trees, rtol=0, atol=EXACT)
        for steps in filter(len, walks):
            assert steps["mass"].sum() == pytest.approx(1.0, abs=EXACT)


def assert_is_step(step, node, values, shares):
    """Compare a row of `inspection.path` with a node of the reference of given share and mass."""
    forest = node.forest
    assert (step.share, step.mass) == pytest.approx(shares, rel=1e-9, abs=EXACT)
    assert step.n_samples == node.n_samples()
    assert [*step.counts.values()] == [*node.counts()][: len(step.counts)]
    proba = naive.node_prediction(node.counts(), forest.current_dirichlet())
    if forest.fading_factor is not None:
        proba = node.mixture().predict()
    own = [*step.proba.values()]
    np.testing.assert_allclose(own, proba[: len(own)], rtol=0, atol=EXACT)
    if node.is_leaf():
        assert (step.feature, step.goes) == (None, None)
        assert math.isnan(step.threshold)
    else:
        names = {column.index: name for name, column in forest.columns.items()}
        assert (step.feature, step.threshold) == (
            names[node.feature],
            pytest.approx(node.threshold),
        )
        assert step.goes == ("left" if node.goes_left(values) else "right")


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
def test_the_steps_are_those_of_the_reference(parameters):
    model, reference = pair(**parameters)
    for sample in stream(80):
        model.learn_one(*sample)
        reference.learn_one(*sample)
    for x in QUESTIONS[::5] + QUESTIONS[-4:]:
        encoded = encode(model, x)
        for t, tree in enumerate(reference.trees):
            values = reference.encode(x, tree.tree_key)
            walk = paths.walk(model._arena, t, encoded)
            np.testing.assert_allclose(
                mixed(model, t, walk), tree.predict(values), rtol=0, atol=EXACT
            )
            remaining = 1.0
            nodes = tree.path(values)
            seen = [values.get(node.feature, math.nan) for node in nodes]
            np.testing.assert_array_equal(walk["value"], seen)
            steps = inspection.path(model, x, t).itertuples()
            for step, node in zip(steps, nodes, strict=True):
                odds = math.inf if node.is_leaf() else node.log_odds()
                if not model.use_aggregation and not node.is_leaf():
                    odds = -math.inf
                share = naive.sigma(odds)
                assert_is_step(step, node, values, (share, remaining * share))
                remaining *= naive.sigma(-odds)


def test_the_nodes_on_the_paths_mix_to_the_prediction_with_all_that_adapts():
    model = AdaptiveAMFClassifier(n_estimators=4, seed=1, drift_threshold=1.0)
    model = learn(model, stream(800))
    model = learn(model, ((x, {"a": "b", "b": "c", "c": "a"}[y]) for x, y in stream(800)))
    assert_walks_explain(model, QUESTIONS)


def test_a_tree_that_has_started_afresh_knows_nothing():
    model = learn(AMFClassifier(n_estimators=2, seed=1), stream(100))
    model._arena.trees["root"][1] = -1
    model._arena.trees["n_nodes"][1] = 0
    assert_walks_explain(model, QUESTIONS[:5])
    assert inspection.path(model, {}, 1).empty


@settings(max_examples=40)
@given(
    generated.streams(),
    generated.PARAMETERS,
    st.sampled_from([None, 0.4]),
)
def test_they_do_on_any_stream(samples, parameters, fading_factor):
    model = AMFClassifier(n_estimators=2, seed=1, fading_factor=fading_factor, **parameters)
    learn(model, samples)
    assert_walks_explain(model, [{}, *(x for x, _, _ in samples)])


def test_outliers_go_where_the_ends_of_the_range_do():
    model = learn(AMFClassifier(n_estimators=3, seed=1), stream(400))
    low, high = model._arena.ranges[:, model._features.column("size")]
    for tree in range(3):
        for value, end in [(1e9, high), (-1e300, low)]:
            far, near = (
                paths.walk(model._arena, tree, encode(model, {"size": size, "color": "r"}))
                for size in (value, float(end))
            )
            assert far["node"].tolist() == near["node"].tolist()
            features = model._arena.nodes["feature"][tree, far["node"]]
            is_size = dict(zip(features, far["value"], strict=True))
            assert is_size[model._features.column("size")] == end


@pytest.mark.parametrize("vote", ["mean", "learned"])
def test_trees_predict_by_all_prunings_or_by_leaves_alone_whatever_the_forest_does(vote):
    model = AMFClassifier(n_estimators=3, seed=1, fading_factor=0.5, vote=vote)
    learn(model, stream(400))
    before = pickled(model)
    values = [encode(model, x) for x in QUESTIONS]
    for aggregated in (True, False):
        votes, _ = predicted(model, values, aggregated, OF_POOL)
        _, forest = predicted(model, values, aggregated)
        for i, alone in enumerate(values):
            walks = [paths.walk(model._arena, tree, alone) for tree in range(3)]
            expected = [
                mixed(model, tree, steps) if aggregated else own_of(model, tree, steps)[-1]
                for tree, steps in enumerate(walks)
            ]
            np.testing.assert_allclose(votes[:, i], expected, rtol=0, atol=EXACT)
            np.testing.assert_allclose(forest[i], combined(model, expected), rtol=0, atol=EXACT)
    assert pickled(model) == before


@pytest.fixture
def one_split():
    """Make a tree of three nodes; return the arena, the record of the root, and a walk."""
    model = AMFClassifier(n_estimators=1, seed=1)
    learn(model, [({"a": 1.0}, "x"), ({"a": 4.0}, "y")])
    arena = model._arena
    assert arena.trees["n_nodes"][0] == 3
    root = arena.nodes[0, arena.trees["root"][0] :][:1]
    return arena, root, lambda: paths.walk(arena, 0, np.array([1.0]))


@pytest.mark.parametrize("odds", [1e-70, 0.3, 1.0, 7.0, 1e70])
def test_shares_are_those_of_the_log_odds(one_split, odds):
    _, root, walk = one_split
    for scale in (0, -1, 1, -2, 2, -3, 3, -6, 6, -5000, 5000):
        root["odds"], root["odds_scale"] = odds, scale
        log_odds = math.log(odds) + scale * 512 * math.log(2)
        assert paths.log_odds(root)[0] == pytest.approx(log_odds, rel=1e-14), scale
        first, second = walk()
        for part, sign in ((first["share"], 1), (first["mass"], 1), (second["mass"], -1)):
            expected = math.exp(min(sign * log_odds, 0.0)) / (1.0 + math.exp(-abs(log_odds)))
            assert part == pytest.approx(expected, rel=1e-11, abs=1e-300), scale
