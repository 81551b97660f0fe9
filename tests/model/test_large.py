"""Depth 10 000 and counts beyond 2^31, built by hand; wide streams; parameters of any size."""

import math
import pickle

import naive
import numpy as np
import pandas as pd
import pytest
import tables

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection, kernels

DEPTH = 10_000
MANY = 2**31 + 7


def deep_forest(n_samples=1.0):
    """Make a tree that is one long chain: node 2k splits at k, its left child is the leaf 2k + 1.

    Each leaf holds a point and `n_samples` samples of it, of label True where k is even.
    """
    model = AMFClassifier(n_estimators=1, seed=1, split_intensity="unit")
    model.learn_one({"a": 0.0}, True)
    model.learn_one({"a": 0.0}, False)
    arena = model._arena
    while arena.nodes.shape[1] < 2 * DEPTH + 10:
        arena = arena.grow_nodes().grow_boxes()
        model._engine.learned = model._engine.learned._replace(arena=arena)
    tree, nodes, counts, boxes = arena.trees[0], arena.nodes[0], arena.counts[0], arena.boxes[0]
    n_nodes = 2 * DEPTH + 1
    nodes[:n_nodes] = np.zeros((), nodes.dtype)
    nodes["left"][:n_nodes] = nodes["right"][:n_nodes] = nodes["feature"][:n_nodes] = kernels.NONE
    nodes["split_time"][:n_nodes] = math.inf
    nodes["slot"][:n_nodes] = np.arange(n_nodes)
    k = np.arange(DEPTH)
    above, leaf, below = 2 * k, 2 * k + 1, 2 * k + 2
    nodes["threshold"][above], nodes["feature"][above] = k + 0.5, 0
    nodes["split_time"][above] = (k + 1.0) / DEPTH
    nodes["left"][above], nodes["right"][above] = leaf, below
    nodes["parent"][leaf] = nodes["parent"][below] = above
    nodes["parent"][0] = kernels.NONE
    points = np.arange(DEPTH + 1)
    leaves = np.append(leaf, 2 * DEPTH)
    counts[:n_nodes] = 0.0
    counts[leaves, points % 2] = n_samples
    boxes[leaves, :, 0] = points[:, None]
    for label in (0, 1):  # what is in all leaves from the k-th on
        counts[above, label] = counts[leaves, label][::-1].cumsum()[:0:-1]
    boxes[above, 0, 0], boxes[above, 1, 0] = k, DEPTH
    nodes["n_samples"][:n_nodes] = counts[:n_nodes].sum(axis=1)
    tree["root"], tree["n_nodes"], tree["n_boxes"] = 0, n_nodes, n_nodes
    arena.counters["n_stored"] = MANY
    kernels.recompute_all_odds(arena.address)
    return model


def closed_form(model):
    """Compute the log-odds of the chain from its counts, bottom up."""
    table = inspection.node_table(model)
    cells = tables.cells(model, table)
    parameters = tables.aggregation(model)
    weights = {"step": parameters["step"], "dirichlet": parameters["dirichlet"]}
    prior = math.log1p(-model.split_prior) - math.log(model.split_prior)
    left, right = (dict(zip(table["node"], table[side], strict=True)) for side in ("left", "right"))
    node, path = tables.root(table), []
    while left[node] >= 0:
        path.append(node)
        node = int(right[node])
    log_wbar = naive.log_w(cells[node], **weights)
    odds = {}
    for node in reversed(path):
        log_wbar += naive.log_w(cells[int(left[node])], **weights)
        own = naive.log_w(cells[node], **weights)
        odds[node] = prior + own - log_wbar
        log_wbar = naive.log_add(
            math.log1p(-model.split_prior) + own, math.log(model.split_prior) + log_wbar
        )
    return odds, table


def check_odds(odds, table, tolerance):
    """Compare the log-odds of the chain with their closed form."""
    found = dict(zip(table["node"], table["log_odds"], strict=True))
    expected = pytest.approx([*odds.values()], rel=1e-9, abs=tolerance)
    assert [found[node] for node in odds] == expected


@pytest.mark.parametrize("n_samples", [1.0, float(MANY)])
def test_a_chain_of_ten_thousand_splits(n_samples):
    model = deep_forest(n_samples)
    rows = [{"a": float(k)} for k in (0, 1, DEPTH // 2, DEPTH - 1, DEPTH)] * 3
    for i, x in enumerate(rows):
        proba = model.predict_proba_one(x)
        assert sum(proba.values()) == pytest.approx(1.0)
        model.learn_one(x, bool(i % 2), w=1.0 if i % 3 else 2.5)
    odds, table = closed_form(model)
    assert table["depth"].max() == DEPTH
    # lgamma of 2^31 times ten thousand is not more precise
    check_odds(odds, table, n_samples / 1e3)
    twin = pickle.loads(pickle.dumps(model))
    assert twin.predict_proba_one(rows[0]) == model.predict_proba_one(rows[0])


def test_a_new_class_reaches_the_bottom_of_it():
    model = deep_forest()
    for label in ("third", "fourth"):
        model.learn_one({"a": float(DEPTH)}, label)
    check_odds(*closed_form(model), 1e-6)


EXTREMES = [
    ({"dirichlet": 1e17}, [1.0]),
    ({"dirichlet": 1e300, "step": 1e-300}, [1.0]),
    ({"dirichlet": 1e-300}, [1.0]),
    ({"n_classes": 100, "dirichlet": 1.0}, [1e17] * 100 + [1.0] * 300),
    ({"step": 1e300}, [1e8]),
    ({"step": 1e300}, [1e15, 1.0]),
    ({"step": 1e15}, [1e300]),
    ({"step": 1e300, "dirichlet": 1e9}, [1e9, 1e-300]),
    ({"step": 1e9, "dirichlet": 1e300}, [1e300, 1e9]),
    ({"step": 1e300, "dirichlet": 1e9, "fading_factor": 0.5}, [1e300, 1e-9]),
    ({"step": 5e-324, "dirichlet": 1e-300}, [5e-324, 1.0]),
    ({"split_prior": 1 - 1e-16, "step": 1e10}, [1e-300, 1.0]),
    ({"split_prior": 5e-324, "dirichlet": 1e-200}, [1e-300, 1.0]),
] + [  # what overflows is often a product of extremes
    ({"fading_factor": fading_factor, "dirichlet": dirichlet}, weights)
    for fading_factor in (5e-324, 1e-300, 1e-10, 0.5, 1 - 1e-16)
    for dirichlet in (1e-300, 1e-30, 1.0, 1e17, 1e300)
    for weights in ([1.0], [1e300, 1.0], [1e-300], [0.3, 1e6])
]


@pytest.mark.parametrize(("parameters", "weights"), EXTREMES, ids=str)
def test_parameters_and_weights_of_any_size_give_probabilities(parameters, weights):
    # It used to run forever: odds that had become 0 or infinite were scaled again and again.
    for seed in range(4 if "step" in parameters else 1):
        model = AMFClassifier(n_estimators=2, seed=seed, **parameters)
        generator = np.random.default_rng(seed)
        for i, (a, b, noise) in enumerate(generator.random((400, 3)).tolist()):
            label = int(2 * b) if noise < 0.2 else int(2 * a)
            proba = model.predict_proba_one({"a": a, "b": b})
            assert not proba or sum(proba.values()) == pytest.approx(1.0), seed
            model.learn_one({"a": a, "b": b}, label, w=weights[i % len(weights)])
        assert model.fading_factor is None or 0.0 <= model.fading_share <= 1.0


@pytest.mark.parametrize("kind", ["noise", "easy", "rare"])
def test_the_adaptive_forest_stays_below_64_mb_with_sixty_features(kind):
    rng = np.random.default_rng(0)
    n_samples = 40_000 if kind == "rare" else 20_000
    x = rng.normal(size=(n_samples, 60))
    labels = {
        "noise": rng.integers(0, 2, n_samples),
        "easy": (x[:, 0] > 0).astype(int),  # few splits, and so many samples in lists
        "rare": (rng.random(n_samples) < 0.02).astype(int),
    }
    frame = pd.DataFrame(x, columns=[f"f{j}" for j in range(60)])
    model = AdaptiveAMFClassifier(seed=1)
    for start in range(0, n_samples, 1000):
        part = slice(start, start + 1000)
        model.learn_many(frame[part], labels[kind][part])
        assert model.memory_usage < 64e6
