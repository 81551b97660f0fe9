"""Fading: shares and odds equal replays of each node's samples, and the forest forgets."""

import math
import random

import naive
import numpy as np
import pandas as pd
import pytest
import tables
from forests import learn
from generated import CATEGORIES, NUMBERS, PARAMETERS
from hypothesis import given, settings
from hypothesis import strategies as st

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection
from river_amf.state import layout

COMPLETE = st.fixed_dictionaries({"a": NUMBERS, "b": NUMBERS, "color": CATEGORIES})
WEIGHTS = st.sampled_from([1.0, 1.0, 1.0, 0.5, 2.0])
STREAMS = st.lists(st.tuples(COMPLETE, st.sampled_from("xyz"), WEIGHTS), min_size=1, max_size=30)


def replay(model, tree, node, samples):
    """Compare the counts of a node with those of its samples; return log w."""
    counts = [0.0] * model.n_classes, [0.0] * model.n_classes
    mixture = naive.Mixture(*counts, 0.0, 0.5, model.dirichlet, model.fading_factor)
    log_p = [mixture.learn(model._labels.index[y], w) for _, y, w in samples]
    faded = model._arena.faded[tree, node]
    assert faded[layout.FADED_SHARE] == pytest.approx(mixture.share, rel=1e-10)
    assert faded[layout.FADED_SUM] == pytest.approx(mixture.faded_total, rel=1e-10)
    faded_counts = faded[layout.FADED_COUNTS :][:3]
    assert faded_counts == pytest.approx(mixture.faded_counts, rel=1e-10, abs=1e-300)
    return mixture, model.step * math.fsum(log_p)


@settings(max_examples=50)
@given(STREAMS, PARAMETERS, st.sampled_from([0.3, 0.6, 0.95]))
def test_shares_counts_and_odds_equal_replays(stream, parameters, fading_factor):
    # Invariant (b) with fading (DESIGN.md: invariants). Nothing is missing, so the table shows
    # which samples a node has learned; with n_classes given, no prior changes midway.
    parameters |= {"n_classes": 3, "dirichlet": 0.2, "max_categories": None, "vote": "mean"}
    model = AMFClassifier(n_estimators=2, fading_factor=fading_factor, seed=1, **parameters)
    learn(model, stream)
    for tree in range(2):
        table = inspection.node_table(model, tree)
        samples = {node: [] for node in table["node"]}
        for sample in stream:
            for node in tables.path(table, sample[0], model, tree):
                samples[node].append(sample)
        log_w = {}
        for node, counts in zip(table["node"], table["counts"], strict=True):
            mixture, log_w[node] = replay(model, tree, node, samples[node])
            # weights are multiples of 1/2, whose sums are exact
            assert [*counts.values()] == mixture.counts[: len(model._labels)]
        if not tables.is_full(model, table):
            tables.check_tree_odds(model, table, log_w, 1e-9)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (AMFClassifier, {"fading_factor": 0.5}),
        (AMFClassifier, {"fading_factor": 0.7, "max_nodes": 255}),
        (AdaptiveAMFClassifier, {}),
    ],
)
def test_forest_forgets_swapped_labels(kind, parameters):
    rng, hits, shares = random.Random(1), [], []
    model = kind(n_estimators=5, seed=1, **parameters)
    assert model.fading_share == 0.5
    for i in range(2800):
        x = {"a": rng.random(), "b": rng.gauss(0, 1), "c": rng.random()}
        y = (x["a"] > 0.5) ^ (i >= 2000)
        hits.append(model.predict_one(x) == y)
        model.learn_one(x, y, w=(1.0, 0.4, 3.0)[i % 3])
        shares.append(model.fading_share)
    before, after = np.mean(hits[1500:2000]), np.mean(hits[2300:])
    assert before > 0.85
    assert after > before - 0.1
    assert all(0.0 <= share <= 1.0 for share in shares)
    assert max(shares[2000:2500]) > shares[1999] + 0.1


def test_fading_share_is_nan_without_fading():
    model = AMFClassifier(vote="learned")
    model.learn_one({"a": 1.0}, "x")
    assert math.isnan(model.fading_share)


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
