"""When trees restart and when they do not; test_naive covers what happens then."""

import numpy as np
import pytest

from river_amf import AdaptiveAMFClassifier
from river_amf.kernels import UNLISTED


def points(n_samples):
    rng = np.random.default_rng(0)
    return [{"a": a, "b": b} for a, b in rng.normal(size=(n_samples, 2)).tolist()]


def learnt(label_of, n_samples=1500, n_estimators=4, **parameters):
    model = AdaptiveAMFClassifier(n_estimators=n_estimators, seed=1, **parameters)
    for x in points(n_samples):
        model.learn_one(x, label_of(x))
    return model


def n_heard(model):
    return model._arena.trees["n_heard"].tolist()


def test_every_second_tree_starts_afresh_when_labels_are_swapped():
    model = learnt(lambda x: x["a"] > 0)
    assert n_heard(model) == [0, 1500, 0, 1500]
    n_nodes = model._arena.trees["n_nodes"].tolist()
    for x in points(100):
        model.learn_one(x, x["a"] <= 0)
    assert all(n < 100 for n in n_heard(model)[1::2])
    for before, now in zip(n_nodes[::2], model._arena.trees["n_nodes"][::2], strict=True):
        assert now >= before
    arena = model._arena  # the lists of the old nodes are gone, too
    for tree, n_nodes in enumerate(arena.trees["n_nodes"]):
        n_listed = (arena.links[tree, : arena.counters["n_rows"][0]] != UNLISTED).sum()
        assert n_listed == arena.nodes["n_rows"][tree, :n_nodes].sum()


def test_no_tree_starts_afresh_before_300_of_its_predictions_are_judged():
    model = learnt(lambda x: x["a"] > 0, n_samples=270, restart_threshold=1.0)
    longest = 0
    for x in points(40):
        model.learn_one(x, x["a"] <= 0)
        longest = max(longest, *n_heard(model))
    assert longest == 300
    assert max(n_heard(model)) < 10


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
    assert n_heard(model)[1::2] == [1500 + n_rare] * 2


@pytest.mark.parametrize("weight", [1e-300, 1e-9])
def test_samples_that_count_for_nothing_restart_no_tree(weight):
    model = learnt(lambda x: x["a"] > 0)
    for x in points(300):
        model.learn_one(x, x["a"] <= 0, w=weight)
    assert n_heard(model)[1::2] == [1800] * 2
