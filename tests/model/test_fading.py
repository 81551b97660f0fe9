"""Fading: shares and odds equal replays of each node's samples, and the forest forgets."""

import math
import random

import naive
import numpy as np
import pandas as pd
import pytest
import tables
from generated import CATEGORIES, NUMBERS
from hypothesis import given, settings
from hypothesis import strategies as st

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection
from river_amf.state import layout

COMPLETE = st.fixed_dictionaries({"a": NUMBERS, "b": NUMBERS, "color": CATEGORIES})
WEIGHTS = st.sampled_from([1.0, 1.0, 1.0, 0.5, 2.0])
PARAMETERS = st.fixed_dictionaries(
    {"fading_factor": st.sampled_from([0.3, 0.6, 0.95])},
    optional={
        "split_pure": st.booleans(),
        "max_nodes": st.sampled_from([3, 7, 15]),
        "split_prior": st.sampled_from([0.2, 0.8]),
        "step": st.sampled_from([0.5, 2.0]),
        "split_intensity": st.sampled_from(["unit", "relevance"]),
        "vote": st.just("learned"),
    },
)


def replay(model, samples):
    """Return the mixture after these samples, and log w."""
    counts = [0.0] * model.n_classes, [0.0] * model.n_classes
    mixture = naive.Mixture(*counts, 0.0, 0.5, model.dirichlet, model.fading_factor)
    log_p = [mixture.learn(model._labels.index[y], w) for _, y, w in samples]
    return mixture, model.step * math.fsum(log_p)


@settings(max_examples=50)
@given(st.lists(st.tuples(COMPLETE, st.sampled_from("xyz"), WEIGHTS), max_size=30), PARAMETERS)
def test_shares_counts_and_odds_equal_replays(stream, parameters):
    # Invariant (b) with fading (DESIGN.md: invariants). Nothing is missing, so the table shows
    # which samples a node has learned; with n_classes given, no prior changes midway.
    model = AMFClassifier(n_estimators=2, n_classes=3, dirichlet=0.2, seed=1, **parameters)
    for x, y, w in stream:
        model.learn_one(x, y, w=w)
    for tree in range(2 if stream else 0):
        table = inspection.node_table(model, tree)
        samples = {node: [] for node in table["node"]}
        for sample in stream:
            for node in tables.path(table, sample[0], model, tree):
                samples[node].append(sample)
        rows = {row.node: row for row in table.itertuples()}
        check_subtree(model, tree, rows, samples, tables.root(table))


def check_subtree(model, tree, rows, samples, node):
    """Compare a node and everything below it with replays; return log wbar."""
    row, faded = rows[node], model._arena.faded[tree, node]
    mixture, log_w = replay(model, samples[node])
    # weights are multiples of 1/2, whose sums are exact
    assert [*row.counts.values()] == mixture.counts[: len(model._labels)]
    assert faded[layout.FADED_SHARE] == pytest.approx(mixture.share, rel=1e-10)
    assert faded[layout.FADED_SUM] == pytest.approx(mixture.faded_total, rel=1e-10)
    faded_counts = faded[layout.FADED_COUNTS :][:3]
    assert faded_counts == pytest.approx(mixture.faded_counts, rel=1e-10, abs=1e-300)
    if row.left < 0:
        return log_w
    below = sum(check_subtree(model, tree, rows, samples, child) for child in (row.left, row.right))
    b = model.split_prior
    expected = math.log1p(-b) - math.log(b) + log_w - below
    if not tables.is_full(model, rows):
        assert row.log_odds == pytest.approx(expected, rel=1e-9, abs=1e-9)
    return naive.log_add(math.log1p(-b) + log_w, math.log(b) + below)


def drifting(n_samples, concept, drift):
    """Yield samples whose labels are swapped at a drift."""
    rng = random.Random(1)
    for i in range(n_samples):
        x = {"a": rng.random(), "b": rng.gauss(0, 1), "c": rng.random()}
        yield x, concept(x) ^ (i >= drift)


def half(x):
    return x["a"] > 0.5


def xor(x):
    return (x["a"] > 0.5) ^ (x["b"] > 0.3)


@pytest.mark.parametrize(("concept", "n_skipped"), [(half, 300), (xor, 1000)])
@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (AMFClassifier, {"fading_factor": 0.5}),
        (AMFClassifier, {"fading_factor": 0.7, "max_nodes": 255}),
        (AdaptiveAMFClassifier, {}),
    ],
)
def test_forest_forgets_swapped_labels(kind, parameters, concept, n_skipped):
    model, hits = kind(n_estimators=5, seed=1, **parameters), []
    for x, y in drifting(2500 + n_skipped, concept, 2000):
        hits.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    before, after = np.mean(hits[1500:2000]), np.mean(hits[2000 + n_skipped :])
    assert before > 0.85
    assert after > before - 0.1


@pytest.mark.parametrize("use_aggregation", [True, False])
def test_fading_share_rises_after_drift(use_aggregation):
    model = AdaptiveAMFClassifier(n_estimators=3, seed=1, use_aggregation=use_aggregation)
    assert model.fading_share == 0.5
    shares = []
    for i, (x, y) in enumerate(drifting(3500, xor, 3000)):
        model.learn_one(x, y, w=(1.0, 0.4, 3.0)[i % 3])
        shares.append(model.fading_share)
    assert all(0.0 <= share <= 1.0 for share in shares)
    assert max(shares[3000:]) > shares[2999] + 0.1


def test_fading_share_is_nan_without_fading():
    model = AMFClassifier(vote="learned", split_intensity="relevance")
    assert math.isnan(model.fading_share)
    model.learn_one({"a": 1.0}, "x")
    assert math.isnan(model.fading_share)


@pytest.mark.parametrize("weight", [1e-9, 1e-12])
def test_tiny_weights_fade(weight):
    # f <- gamma^w f + (1 - gamma^w) / (1 - gamma)
    model = AMFClassifier(n_estimators=1, n_classes=2, max_nodes=1, fading_factor=0.5, seed=1)
    model.learn_one({}, "x", w=weight)
    expected = -math.expm1(weight * math.log(0.5)) / 0.5
    assert model._arena.faded[0, 0, layout.FADED_SUM] == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize(("fading_factor", "weight"), [(0.4, 1.0), (0.9, 1.0), (0.9, 0.5)])
def test_absent_label_fades_to_zero(fading_factor, weight):
    # not to a denormal number, which would take a hundred times as long to compute with
    model = AMFClassifier(n_estimators=1, max_nodes=1, fading_factor=fading_factor, seed=1)
    model.learn_one({"a": 1.0}, "gone")
    block, labels = pd.DataFrame({"a": np.ones(1000)}), [f"{i % 2}" for i in range(1000)]
    for _ in range(20):
        model.learn_many(block, labels, [weight] * 1000)
        faded = model._arena.faded[0, 0, layout.FADED_COUNTS :]
        assert ((faded == 0.0) | (faded > 2.3e-308)).all()
    assert faded[0] == 0.0
    assert 0.0 < model.predict_proba_one({"a": 1.0})["gone"] < 0.01
