"""When trees restart and when they do not; the naive references cover what happens then."""

import math

import numpy as np
import pandas as pd
import pytest

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor
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
    restarts = [tree.n_restarts for tree in model]
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
def test_restarts_are_counted(vote):
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
    assert [tree.n_restarts for tree in model] == restarts.tolist()
    assert model.n_restarts == sum(restarts)


@pytest.mark.parametrize("predicts", [False, True])
@pytest.mark.parametrize("kind", [AdaptiveAMFClassifier, AdaptiveAMFRegressor])
def test_each_restart_is_logged_once(kind, predicts, caplog):
    rows = points(6000)
    labels = [(x["a"] > 0) is (k // 1000 % 2 == 0) for k, x in enumerate(rows)]
    model, block = (kind(6, seed=1, n_jobs=n) for n in (1, 2))
    expected, before = [], np.zeros(6)
    caplog.set_level("INFO", "river_amf")
    for x, y in zip(rows, labels, strict=True):
        if predicts:
            model.predict_one(x)
        model.learn_one(x, y)
        counts = model._arena.trees["n_restarts"].copy()
        for tree in np.flatnonzero(counts > before).tolist():
            n_learned = int(model._arena.trees["restarted_at"][tree])
            assert n_learned in (model.n_samples, model.n_samples - 1)
            expected.append(f"tree {tree} restarted after {n_learned} samples")
        before = counts
    assert len(expected) == model.n_restarts > 6
    assert caplog.messages == expected
    caplog.clear()
    learn_many = block.predict_then_learn_many if predicts else block.learn_many
    learn_many(pd.DataFrame(rows), labels)
    assert caplog.messages == expected
    assert {(record.name, record.levelname) for record in caplog.records} == {("river_amf", "INFO")}


def test_draft_of_a_block_logs_no_restart(caplog):
    caplog.set_level("INFO", "river_amf")
    model, rows = AdaptiveAMFClassifier(4, absent="zero", max_words=4, seed=1), points(1500)
    # a word that is forgotten becomes a category: all rows are learned in a copy first
    for k in range(9):
        rows[k][f"word {k}"] = 1.0
    rows[-1]["word 0"] = "red"
    X, y = pd.DataFrame(rows).fillna(0.0), [(x["a"] > 0) is (k < 800) for k, x in enumerate(rows)]
    model.learn_many(X, y)
    assert len(caplog.messages) == model.n_restarts > 0
