"""The compiled forest against the object-per-node reference, fed the same random draws."""

import itertools
import random

import naive
import numpy as np
import pytest
from forests import by_hand
from generated import PARAMETERS, streams
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_additive import N_PARTS

from river_amf import AMFClassifier, inspection
from river_amf.engine.settings import begin

ADAPTIVE = {
    "fading_factor": 0.5,
    "split_intensity": "relevance",
    "split_prior": 0.8,
    "drift_threshold": 5.0,
    "vote": "learned",
    "linear": True,
    "max_nodes": 101,
}
LONGER = {
    "plain": {},
    "pure cells": {"split_pure": True},
    "budget": {"max_nodes": 101},
    "unit": {"split_intensity": "unit", "split_prior": 0.8, "step": 0.5},
    "fading, relevance": {"fading_factor": 0.5, "split_intensity": "relevance"},
    "fading, vote": {"fading_factor": 0.7, "step": 0.5, "vote": "learned"},
    "linear": {"vote": "learned", "linear": True, "max_categories": 5},
    "linear, unit": {"vote": "learned", "linear": True, "split_intensity": "unit"},
    "adaptive": ADAPTIVE,
    "adaptive, pure cells": ADAPTIVE | {"split_pure": True, "n_classes": 5},
}

COUNTS = "bin_counts", "category_counts", "label_counts"
PARTS = "weights", "covariance"

BY_HAND = {"pure cells", "unit", "linear", "linear, unit", "adaptive, pure cells"}


def pair(n_estimators=2, **parameters):
    model = AMFClassifier(n_estimators=n_estimators, seed=5, **parameters)
    arena = begin(model)
    random_states, keys = arena.trees["random_state"].tolist(), arena.trees["key"].tolist()
    linear_keys = arena.linear_models["key"].tolist()
    return model, naive.NaiveForest(random_states, keys, linear_keys=linear_keys, **parameters)


def same_nodes(model, tree, expected, precision):
    """Compare the structure of a tree with that of the reference; yield rows and their nodes."""
    table = inspection.node_table(model, tree).set_index("node")
    names, log_odds, state = list(model._features), expected.log_odds(), model._arena.trees[tree]
    assert state["random_state"] == expected.random.state
    assert state["n_losses"] == pytest.approx(expected.n_losses())
    restarts = expected.n_restarts, expected.restarted_at
    assert (state["n_restarts"], state["restarted_at"]) == restarts
    losses = [expected.recent_loss(), expected.usual_loss()]
    assert [state["recent_loss"], state["usual_loss"]] == pytest.approx(losses, rel=1e-6, abs=1e-9)
    if expected.follows_gains():
        gains = model._arena.gains[tree] / max(state["newest_gain"], 1.0)
        for j in range(len(names)):
            sums = expected.sums_of_gains(j)
            assert gains[:, j] == pytest.approx(sums, rel=1e-6, abs=1e-9)
    assert len(table) == len(log_odds)
    pending = [(int(table.index[table["parent"] < 0][0]), expected.root)] if log_odds else []
    # times follow from relevance, which loses digits where values are next to each other
    of_time = 1e-9 if model.split_intensity == "relevance" else 1e-12
    while pending:
        index, node = pending.pop()
        row = table.loc[index]
        assert row["time"] == pytest.approx(node.time, rel=of_time)
        box = {names[j]: ends for j, ends in node.box().items()}
        assert row["range_min"] == {name: low for name, (low, _) in box.items()}
        assert row["range_max"] == {name: high for name, (_, high) in box.items()}
        if node.is_leaf():
            assert row["left"] < 0
        else:
            assert row["feature"] == names[node.feature]
            assert row["threshold"] == pytest.approx(node.threshold, rel=1e-12, abs=1e-300)
            close = pytest.approx(log_odds[node], rel=precision, abs=precision)
            assert row["log_odds"] == close
            pending += [(int(row["left"]), node.left), (int(row["right"]), node.right)]
        yield row, node


def check_same_tree(model, reference, tree):
    expected = reference.trees[tree]
    for row, node in same_nodes(model, tree, expected, 1e-11):
        counts = node.counts()[: len(row["counts"])]
        assert tuple(row["counts"].values()) == pytest.approx(counts, abs=1e-12)


def check_same_state(model, reference):
    """Compare the state outside the trees: ranges, relevance, votes and share."""
    check_same_features(model, reference, 1e-11)
    arena = model._arena
    if model.vote == "learned":
        assert arena.trees["vote_weight"] == pytest.approx(reference.vote_weights, abs=1e-12)
        n_labels = len(reference.labels)
        assert arena.bias[:n_labels] == pytest.approx(reference.biases, abs=1e-12)
    check_same_linear_models(model, reference)


def check_same_features(model, reference, precision):
    arena = model._arena
    for j, column in enumerate(reference.columns.values()):
        if not column.is_categorical:
            assert tuple(arena.ranges[:, j]) == (column.range.low, column.range.high)
            assert arena.features["credit"][j] == pytest.approx(column.range.credit, abs=1e-12)
        if model.split_intensity == "relevance":
            relevance = column.relevance(reference.n_learned)
            assert arena.features["relevance"][j] == pytest.approx(relevance, abs=precision)
    if model.fading_factor is not None:
        assert model.fading_share == pytest.approx(reference.fading_share(), rel=100 * precision)


def check_same_linear_models(model, reference):
    arena = model._arena
    assert len(arena.linear_models) == len(reference.linear_models.linear_models)
    timescales = reference.linear_models.standards.values()  # a single model takes the first
    for of_timescale, standards in zip(arena.standards, timescales, strict=False):
        for j, standard in standards.items():
            expected = (standard.n, standard.mean, standard.variance)
            assert of_timescale[j].item() == pytest.approx(expected, rel=1e-12)
    linear_models = reference.linear_models.linear_models
    for v, linear_model in enumerate(linear_models):
        assert arena.linear_models["vote_weight"][v] == pytest.approx(
            linear_model.vote_weight, abs=1e-12
        )
    if linear_models:
        perceptron, *_, smooth = linear_models
        for name in ("hidden", "output"):
            weights, squares = getattr(perceptron, name), getattr(perceptron, f"{name}_squares")
            assert getattr(arena, f"{name}_weights")[: len(weights)] == pytest.approx(
                np.array(weights), rel=1e-6, abs=1e-6
            )
            assert getattr(arena, f"{name}_squares")[: len(weights)] == pytest.approx(
                np.array(squares), rel=1e-6
            )
        statistics = [(standard.mean, standard.variance) for standard in smooth.cosines.standards]
        assert pytest.approx(np.array(statistics).reshape(-1, 2), abs=1e-12) == arena.cosines[0].T
        check_same_additive_models(arena, reference)


def check_same_additive_models(arena, reference):
    profiles, linear_models = reference.linear_models.profiles, reference.linear_models
    n_labels, newest = len(reference.labels), arena.counters["newest_profile"][0]
    for j, edges in profiles.edges.items():
        assert arena.edges[j, : len(edges)] == pytest.approx(edges, rel=1e-11, abs=1e-300)
    categorical = np.flatnonzero(arena.is_categorical).tolist()
    counted = {name: np.zeros(getattr(arena, name).shape) for name in COUNTS}
    for (j, index), counts in profiles.counts.items():
        where = "bin_counts", j, N_PARTS if index == "missing" else index
        if j in categorical:
            where = "category_counts", categorical.index(j), 1 + index
        for c, count in counts.items():
            counted[where[0]][where[1:]][c] = count
    counted["label_counts"][:n_labels] = [profiles.totals[c] for c in range(n_labels)]
    for name, counts in counted.items():
        assert getattr(arena, name) / newest == pytest.approx(counts, rel=1e-10, abs=1e-300)
    for name, expert in zip(("additive", "smooth"), linear_models.linear_models[-2:], strict=False):
        weights, covariance = (getattr(arena, f"{name}_{part}") for part in PARTS)
        n = expert.weights.shape[1]
        assert weights[:n_labels, :n] == pytest.approx(expert.weights, abs=1e-10)
        packed = expert.covariance[np.tril_indices(len(expert.covariance))]
        assert covariance[: len(packed)] == pytest.approx(packed, rel=1e-8, abs=1e-10)


def check_same_novelty(model, reference, x):
    for sample in (x, x | {"a": -7.5, "b": 1e12, "c": "new", "color": "new"}, {}):
        assert model.novelty_one(sample) == pytest.approx(reference.novelty_one(sample), abs=1e-9)


def learn_both(model, reference, stream, precision=1e-12):
    """Learn a stream with both, and compare every prediction and all that they hold."""
    for x, y, w in stream:
        expected = reference.predict_proba_one(x)
        assert model.predict_proba_one(x) == pytest.approx(expected, abs=precision)
        check_same_novelty(model, reference, x)
        model.learn_one(x, y, w)
        reference.learn_one(x, y, w)
    for tree in range(model.n_estimators):
        check_same_tree(model, reference, tree)
    check_same_state(model, reference)


@settings(max_examples=100)
@given(streams(max_size=60, weighted=True), PARAMETERS, st.sampled_from([None, 0.3, 0.9]))
def test_any_stream_equals_the_reference(stream, parameters, fading_factor):
    model, reference = pair(fading_factor=fading_factor, **parameters)
    learn_both(model, reference, stream)


def longer_stream():
    """Yield outliers, rare categories, gaps, and a feature that is constant at first."""
    # an outlier or two among the first values; some that are not far outside the range, which they
    # extend; then outliers on both sides
    rare = {30: 1e9, 50: 1e9, 200: 20.0, 201: 300.0, 202: -2000.0, 203: -1e6}
    for i in range(300):
        x = {
            "a": -1e5 if i == 40 else (i * 37 % 101) / 7,
            "b": (i * i) % 53,
            "c": "pqrstuvw"[i * 11 % 8],
            "d": None if i % 3 else i % 17,
            "f": i % 31 if i > 100 else -999.0 if i == 20 else 0.5,
            "e": rare.get(i, 1e9 if i % 71 == 50 else (i * 13 % 89) / 89),
        }
        y = (x["a"] + x["b"] > 30, x["c"] > "s") if i % 9 else (True, True)
        yield x, y, 1.0 if i < 200 else (1.0, 0.5, 2.0, 1.0)[i % 4]


@pytest.mark.parametrize("parameters", by_hand(LONGER, BY_HAND))
def test_longer_stream_equals_the_reference(parameters):
    # long enough for every array to grow several times
    learn_both(*pair(**parameters), longer_stream())


def many_numbers():
    """Yield so many numbers that directions of cosines are scaled down, and terms are shared."""
    for i in range(80):
        x = {f"x{j}": i * (7 + 2 * j) % (29 + j) for j in range(6 if i < 60 else 33)}
        x["kind"] = "pqr"[i % 3]
        yield x, x["x0"] > x["x1"], (1.0, 0.5, 2.0, 0.005)[i % 4]


def test_many_numbers_equal_the_reference():
    learn_both(*pair(vote="learned", linear=True), many_numbers())


def test_many_inputs_equal_the_reference():
    # six categories have 60 profiles each in the end, more than the perceptron has inputs
    rng, names = random.Random(1), "uvwxyz"
    stream = [
        ({n: str(rng.randrange(9)) for n in names} | {"size": i % 7}, i % 60, 1.0)
        for i in range(150)
    ]
    learn_both(*pair(1, vote="learned", linear=True, max_nodes=1), stream)


def test_heavy_samples_equal_the_reference():
    # the sums of gains are scaled down on the way
    stream = ((x, y, 2000.0 * w) for x, y, w in itertools.islice(longer_stream(), 200))
    model, reference = pair(split_intensity="relevance")
    learn_both(model, reference, stream, precision=1e-9)
    assert reference.trees[0].sums_of_gains(0)[1] > 100.0


def test_confident_linear_model_equals_the_reference():
    # by numbers that are clearer than those it has learned from, once wrongly
    model, reference = pair(vote="learned", linear=True, max_nodes=1)
    n_confident = 0
    for i in range(200):
        x = {"a": (6.0 if i % 10 > 7 else 1.0) * (-1) ** i}
        expected = reference.predict_proba_one(x)
        assert model.predict_proba_one(x) == pytest.approx(expected, abs=1e-12)
        for forest in (model, reference):
            forest.learn_one(x, (x["a"] > 0) != (i == 188))
        n_confident += model._arena.votes[2, 0].min() < -7.0
    assert n_confident > 10
    check_same_state(model, reference)


def drifts(n_samples, swap):
    """Yield labels that are swapped at a sample, and follow another feature from 900 on."""
    for i in range(n_samples):
        x = {"a": (i * 37 % 101) / 7, "b": (i * i) % 53, "c": "pqrstuvw"[i * 11 % 8]}
        yield x, (x["a"] > 7) != (i >= swap) if i < 900 else x["b"] % 2 == 0, 1.0


RELEVANCE = {"n_classes": 3, "drift_threshold": 4.0, "split_intensity": "relevance"}


@pytest.mark.parametrize(
    ("parameters", "stream"),
    [
        (RELEVANCE, drifts(330, 302)),
        pytest.param(ADAPTIVE | {"n_classes": 2}, drifts(1100, 450), marks=pytest.mark.soak),
    ],
    ids=["mean", "adaptive"],
)
def test_restarts_equal_the_reference(parameters, stream):
    model, reference = pair(**parameters)
    learn_both(model, reference, stream, precision=1e-11)
    assert [tree.n_restarts > 0 for tree in reference.trees] == [False, True]


def test_many_trees_equal_the_reference():
    learn_both(*pair(n_estimators=12, vote="learned", linear=True), [*longer_stream()][:60])
