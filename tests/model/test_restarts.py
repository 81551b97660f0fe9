"""When trees restart and when they do not; the naive references cover what happens then."""

import math

import numpy as np
import pytest

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.kernels import UNLISTED


def points(n_samples):
    rng = np.random.default_rng(0)
    return [{"a": a, "b": b} for a, b in rng.normal(size=(n_samples, 2)).tolist()]


def learned(label_of, n_samples=1500, n_estimators=4, **parameters):
    model = AdaptiveAMFClassifier(n_estimators=n_estimators, seed=1, **parameters)
    for x in points(n_samples):
        model.learn_one(x, label_of(x))
    return model


def n_losses(model):
    return model._arena.trees["n_losses"].tolist()


def test_restarts_need_300_losses():
    model, longest = learned(lambda x: x["a"] > 0, n_samples=270, drift_threshold=1.0), 0
    for x in points(40):
        model.learn_one(x, x["a"] <= 0)
        longest = max(longest, *n_losses(model))
    assert longest == 300 and max(n_losses(model)) < 10


def test_single_trees_never_restart():
    model = learned(lambda x: x["a"] > 0, n_estimators=1)
    for x in points(300):
        model.learn_one(x, x["a"] <= 0)
    assert model[0].n_samples == 1800


def test_rare_labels_restart_no_tree():
    model = learned(lambda x: False)
    for x in points(2):
        model.learn_one(x, True)
    assert n_losses(model)[1::2] == [1502] * 2


@pytest.mark.parametrize("parameters", [{}, {"linear": False}], ids=str)
def test_odd_trees_of_regressors_restart(parameters):
    model = AdaptiveAMFRegressor(4, seed=1, **parameters)
    for k, x in enumerate(points(2400)):  # the sign of the targets is flipped twice
        y = 5.0 * (math.sin(3.0 * x["a"]) + (x["b"] > 0))
        model.learn_one(x, 1000.0 + (-y if 800 <= k < 1600 else y))
        assert all(tree.n_nodes > 0 for tree in model)
    assert model[0].n_samples == model[2].n_samples == 2400
    restarts = [model.n_drifts_detected(tree) for tree in range(4)]
    assert restarts[::2] == [0, 0] and min(restarts[1::2]) >= 1
    assert max(model[1].n_samples, model[3].n_samples) < 1600


@pytest.mark.parametrize("unit", [0.0, 1e-150])
def test_constant_targets_have_no_loss(unit):
    model = AdaptiveAMFRegressor(2, drift_threshold=1e-300, seed=1)
    for i, x in enumerate(points(700)):
        model.learn_one(x, unit * (i % 5) * (i // 350))
    assert model._arena.trees["n_losses"].tolist() == [0, 699]
    assert model._arena.trees["recent_loss"].tolist() == [0.0, 0.0]
    model.learn_one({"a": 0.0}, 1.0)
    assert math.isfinite(model.predict_one({"a": 0.0}))


@pytest.mark.parametrize("vote", ["mean", "learned"])
def test_restarts_are_counted_as_drifts(vote):
    model = AdaptiveAMFClassifier(4, seed=1, vote=vote)
    restarts, before = np.zeros(4, int), np.zeros(4)
    for k, x in enumerate(points(4500)):
        model.learn_one(x, (x["a"] > 0) is (k // 1500 % 2 == 0))
        losses = np.array(n_losses(model))
        restarts += losses < before
        before = losses
    assert restarts[::2].tolist() == [0, 0] and min(restarts[1::2]) >= 2
    arena = model._arena  # the lists of the old nodes are gone
    for tree, n_nodes in enumerate(arena.trees["n_nodes"]):
        n_listed = (arena.links[tree, : arena.counters["n_rows"][0]] != UNLISTED).sum()
        assert n_listed == arena.nodes["n_rows"][tree, :n_nodes].sum()
    assert [model.n_drifts_detected(tree_id) for tree_id in range(4)] == restarts.tolist()
    assert model.n_drifts_detected(tree_id=None) == model.n_drifts_detected() == sum(restarts)


@pytest.mark.parametrize("kind", [AMFClassifier, AMFRegressor])
def test_forests_without_restarts_have_no_drifts(kind):
    model = kind(seed=1)
    assert model.n_drifts_detected() == 0
    model.learn_one({"a": 1.0}, True)
    assert model.n_drifts_detected() == model.n_drifts_detected(9) == 0
    with pytest.raises(IndexError, match="tree must be between 0 and 9, got 10"):
        model.n_drifts_detected(10)
    with pytest.raises(TypeError):
        model.n_drifts_detected("a")
