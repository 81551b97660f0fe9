"""Deep trees and counts beyond 2^31; parameters of any size; memory for many features."""

import pickle

import numpy as np
import pandas as pd
import pytest
import tables

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection


@pytest.mark.parametrize("weight", [1.0, 2.0**31 + 7])
def test_long_chain_of_splits_is_exact(weight):
    # each sample is nearer to 0 than those before it, so it is split from them near the bottom
    model = AMFClassifier(n_estimators=2, split_pure=True, seed=1)
    for k in range(1074):
        model.learn_one({"a": 2.0**-k}, k % 2 == 0, w=weight)
    assert inspection.node_table(model)["depth"].max() > 500
    for label in (True, False, "third", "fourth"):
        for a in (0.0, 2.0**-500, 1.0):
            assert sum(model.predict_proba_one({"a": a}).values()) == pytest.approx(1.0)
            model.learn_one({"a": a}, label, w=2.5)
    tables.check_log_odds(model, weight / 1e4)  # lgamma of 2^31 a thousand times is less precise
    twin = pickle.loads(pickle.dumps(model))
    assert twin.predict_proba_one({"a": 0.0}) == model.predict_proba_one({"a": 0.0})


EXTREMES = [
    ({"dirichlet": 1e17}, [1.0]),
    ({"dirichlet": 1e300, "step": 1e-300}, [1.0]),
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
    for fading_factor in (5e-324, 1e-10, 0.5, 1 - 1e-16)
    for dirichlet in (1e-300, 1.0, 1e300)
    for weights in ([1.0], [1e300, 1.0], [1e-300])
]


@pytest.mark.parametrize(("parameters", "weights"), EXTREMES, ids=str)
def test_extreme_parameters_give_probabilities(parameters, weights):
    for seed in range(4 if "step" in parameters else 1):
        model = AMFClassifier(n_estimators=2, seed=seed, **parameters)
        for i, (a, b, noise) in enumerate(np.random.default_rng(seed).random((400, 3)).tolist()):
            proba = model.predict_proba_one({"a": a, "b": b})
            assert not proba or sum(proba.values()) == pytest.approx(1.0), seed
            label = int(2 * b) if noise < 0.2 else int(2 * a)
            model.learn_one({"a": a, "b": b}, label, w=weights[i % len(weights)])
        assert model.fading_factor is None or 0.0 <= model.fading_share <= 1.0


SIXTY = {"noise": (20_000, 64e6), "easy": (90_000, 90e6), "rare": (40_000, 64e6)}


@pytest.mark.parametrize("kind", SIXTY)
def test_sixty_features_take_little_memory(kind):
    rng, (n_samples, most_bytes) = np.random.default_rng(0), SIXTY[kind]
    X = pd.DataFrame(rng.normal(size=(n_samples, 60)))
    labels = {
        "noise": rng.integers(0, 2, n_samples),
        "easy": (X[0] > 0).astype(int),  # few splits: lists are long until trees are full
        "rare": (rng.random(n_samples) < 0.02).astype(int),
    }
    model = AdaptiveAMFClassifier(seed=1)
    for start in range(0, n_samples, 1000):
        block = slice(start, start + 1000)
        model.learn_many(X[block], labels[kind][block])
        assert model.memory_usage < most_bytes
