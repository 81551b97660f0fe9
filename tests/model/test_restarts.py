"""When trees restart and when they do not; the naive references cover what happens then."""

import math

import numpy as np
import pytest

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.kernels import UNLISTED


def points(n_samples):
    rng = np.random.default_rng(0)
    return [{"a": a, "b": b} for a, b in rng.normal(size=(n_samples, 2)).tolist()]


def learnt(label_of, n_samples=1500, n_estimators=4, **parameters):
    model = AdaptiveAMFClassifier(n_estimators=n_estimators, seed=1, **parameters)
    for x in points(n_samples):
        model.learn_one(x, label_of(x))
    return model


def n_losses(model):
    return model._arena.trees["n_losses"].tolist()


def test_every_second_tree_starts_afresh_when_labels_are_swapped():
    model = learnt(lambda x: x["a"] > 0)
    assert n_losses(model) == [0, 1500, 0, 1500]
    n_nodes = model._arena.trees["n_nodes"].tolist()
    for x in points(100):
        model.learn_one(x, x["a"] <= 0)
    assert all(n < 100 for n in n_losses(model)[1::2])
    for before, now in zip(n_nodes[::2], model._arena.trees["n_nodes"][::2], strict=True):
        assert now >= before
    arena = model._arena  # the lists of the old nodes are gone, too
    for tree, n_nodes in enumerate(arena.trees["n_nodes"]):
        n_listed = (arena.links[tree, : arena.counters["n_rows"][0]] != UNLISTED).sum()
        assert n_listed == arena.nodes["n_rows"][tree, :n_nodes].sum()


def test_no_tree_starts_afresh_before_300_of_its_predictions_are_judged():
    model = learnt(lambda x: x["a"] > 0, n_samples=270, drift_threshold=1.0)
    longest = 0
    for x in points(40):
        model.learn_one(x, x["a"] <= 0)
        longest = max(longest, *n_losses(model))
    assert longest == 300
    assert max(n_losses(model)) < 10


def test_a_single_tree_never_starts_afresh():
    model = learnt(lambda x: x["a"] > 0, n_estimators=1)
    for x in points(300):
        model.learn_one(x, x["a"] <= 0)
    assert model._arena.nodes["n_samples"][0, model._arena.trees["root"][0]] == 1800


@pytest.mark.parametrize("n_rare", [1, 2])
def test_a_rare_label_restarts_no_tree(n_rare):
    model = learnt(lambda x: False)
    for x in points(n_rare):
        model.learn_one(x, True)
    assert n_losses(model)[1::2] == [1500 + n_rare] * 2


@pytest.mark.parametrize("threshold", [2.0, 4.0])
def test_the_moment_of_a_restart_is_that_of_the_formula(threshold):
    labels = [i % 7 == 0 for i in range(500)] + [True] * 60
    model = AMFClassifier(
        2, max_nodes=1, drift_threshold=threshold, n_classes=2, dirichlet=0.5, seed=1
    )
    counts, recent, usual = [1.5, 0.5], 0.0, 0.0  # of a single leaf, with what it adds to each
    later = [bool(label) for label in labels[1:]]
    model.learn_one({}, False)
    for n, label in enumerate(later, start=1):
        loss = 1.0 - counts[label] / sum(counts)
        recent += (loss - recent) * max(0.02, 1 / n)
        usual += (loss - usual) * max(0.001, 1 / n)
        error = np.sqrt(usual * (1.0 - usual) * 0.02 / 1.98)
        model.learn_one({}, label)
        if n > 300 and recent - usual > threshold * error:
            break
        assert model.n_drifts_detected() == 0, n
        counts[label] += 1.0
    assert n > 500 and model.n_drifts_detected(1) == 1


# Regressors


def flipped(n_flips, n_each=800):
    """Yield points with targets whose sign flips again and again."""
    for k, x in enumerate(points(n_each * (n_flips + 1))):
        yield x, (1000.0 + 5.0 * (math.sin(3.0 * x["a"]) + (x["b"] > 0)) * (-1) ** (k // n_each))


@pytest.mark.parametrize("parameters", [{}, {"linear": False}], ids=str)
def test_odd_trees_of_regressors_restart(parameters):
    model = AdaptiveAMFRegressor(4, seed=1, **parameters)
    for k, (x, y) in enumerate(flipped(2), start=1):
        model.learn_one(x, y)
        assert all(tree.n_nodes > 0 for tree in model)
        assert model[0].n_samples == model[2].n_samples == k
    restarts = [model.n_drifts_detected(tree) for tree in range(4)]
    assert restarts[::2] == [0, 0] and min(restarts[1::2]) >= 1
    assert max(model[1].n_samples, model[3].n_samples) < 1600


@pytest.mark.parametrize("threshold", [2.0, 4.0])
def test_restarts_of_regressors_follow_the_formula(threshold):
    targets = [float(i % 7) for i in range(500)] + [20.0 + i % 3 for i in range(60)]
    model = AMFRegressor(2, max_nodes=1, vote="mean", drift_threshold=threshold, seed=1)
    model.learn_one({}, targets[0])
    variance = weight = squares = recent = usual = 0.0
    for n, y in enumerate(targets[1:], start=1):
        error = y - np.mean(targets[:n])
        loss = min(error**2 / variance, 9.0) / 9.0 if variance > 0.0 else 0.0
        recent += (loss - recent) * max(0.02, 1 / n)
        usual += (loss - usual) * max(0.001, 1 / n)
        limit = 25.0 * variance if weight > 20.0 else np.inf
        weight, squares = 0.999 * weight + 1.0, 0.999 * squares + min(error**2, limit)
        variance = squares / weight if weight > 20.0 else np.var(targets[: n + 1])
        model.learn_one({}, y)
        assert model._arena.trees["variance"] == pytest.approx(variance)
        assert model.n_drifts_detected() == 0, n
        surplus = threshold * np.sqrt(usual * (1.0 - usual) * 0.02 / 1.98)
        if n > 300 and recent - usual > max(surplus, 0.05):
            break
    assert 500 < n < 550
    for y in (3.0, 5.0):  # only these are left in the tree
        model.learn_one({}, y)
    assert model.n_drifts_detected(1) == model.n_drifts_detected() == 1
    assert (model[1].n_samples, model[1].predict_one({})) == (2.0, 4.0)
    assert model._arena.trees["variance"][1] == pytest.approx(1.0)


@pytest.mark.parametrize("unit", [0.0, 1e-150])
def test_targets_that_do_not_vary_have_no_loss(unit):
    model = AdaptiveAMFRegressor(2, drift_threshold=1e-300, seed=1)
    for i, x in enumerate(points(700)):
        model.learn_one(x, unit * (i % 5) * (i // 350))
    assert model._arena.trees["n_losses"].tolist() == [0, 699]
    assert model._arena.trees["recent_loss"].tolist() == [0.0, 0.0]
    model.learn_one({"a": 0.0}, 1.0)
    assert math.isfinite(model.predict_one({"a": 0.0}))


# How often


def swapped(n_swaps, n_each=1500):
    """Points with labels that are swapped again and again."""
    for k, x in enumerate(points(n_each * (n_swaps + 1))):
        yield x, (x["a"] > 0) is (k // n_each % 2 == 0)


def restarts_seen(n_swaps, **parameters):
    """Return a forest, and the restarts of each tree that show along its stream."""
    model = AdaptiveAMFClassifier(4, seed=1, **parameters)
    seen, before = np.zeros(4, int), np.zeros(4)
    for x, y in swapped(n_swaps):
        model.learn_one(x, y)
        losses = np.array(n_losses(model))
        seen += losses < before
        before = losses
    return model, seen.tolist()


@pytest.mark.parametrize("vote", ["mean", "learned"])
def test_restarts_are_counted_as_drifts_by_tree_and_in_all(vote):
    model, seen = restarts_seen(2, vote=vote)
    assert seen[::2] == [0, 0] and min(seen[1::2]) >= 2
    assert [model.n_drifts_detected(tree_id) for tree_id in range(4)] == seen
    assert model.n_drifts_detected(tree_id=None) == model.n_drifts_detected() == sum(seen)


@pytest.mark.parametrize("kind", [AMFClassifier, AMFRegressor])
def test_without_restarts_there_are_no_drifts(kind):
    model = kind(seed=1)
    assert model.n_drifts_detected() == 0
    model.learn_one({"a": 1.0}, True)
    assert model.n_drifts_detected() == model.n_drifts_detected(9) == 0


def test_the_drifts_of_a_tree_that_is_not_there_are_an_error():
    with pytest.raises(IndexError, match="tree must be between 0 and 9, got 10"):
        AMFClassifier().n_drifts_detected(10)
    with pytest.raises(TypeError, match="tree must be an integer between 0 and 9, got 'a'"):
        AMFClassifier().n_drifts_detected("a")
