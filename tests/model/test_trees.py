"""A forest is the sequence of its trees, as river's ensembles are, and still one model."""

import random

import numpy as np
import pytest

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection
from river_amf.explain.trees import Tree

FORESTS = [AMFClassifier, AdaptiveAMFClassifier]
both = pytest.mark.parametrize("kind", FORESTS)


def stream(n_samples=300, seed=3):
    rng = random.Random(seed)
    for _ in range(n_samples):
        x = {"a": rng.random(), "b": rng.choice(["red", "green", "blue"]), "c": rng.random()}
        y = "up" if x["a"] + 0.3 * rng.random() > 0.6 else "down" if x["b"] == "red" else "flat"
        if rng.random() < 0.1:
            del x["c"]
        yield x, y


def trained(kind=AMFClassifier, n_samples=300, **parameters):
    model = kind(**{"n_estimators": 4, "seed": 5} | parameters)
    for x, y in stream(n_samples):
        model.learn_one(x, y)
    return model


# The sequence


@both
@pytest.mark.parametrize("n_samples", [0, 1, 300])
def test_it_is_the_sequence_of_its_trees(kind, n_samples):
    model = trained(kind, n_samples)
    assert len(model) == 4 and bool(model)
    trees = list(model)
    assert [tree.index for tree in trees] == [0, 1, 2, 3]
    assert all(type(tree) is Tree and tree.forest is model for tree in trees)
    assert trees == [model[i] for i in range(4)]
    assert [model[-1], model[-4], model[np.int64(2)], model[True]] == [
        trees[k] for k in (3, 0, 2, 1)
    ]
    for part in (slice(None), slice(1, 3), slice(None, None, -2), slice(9, 12), slice(-2, None)):
        assert model[part] == trees[part]
    assert list(reversed(model)) == trees[::-1]
    assert model[2] in model and trees[2] not in trained(kind)
    first, *_, last = model
    assert (first.index, last.index) == (0, 3)
    assert len({*trees, *model}) == 4


@pytest.mark.parametrize("index", [4, -5, 10**30])
def test_an_index_out_of_range_is_an_error(index):
    with pytest.raises(IndexError, match=f"between -4 and 3, got {index}"):
        trained(n_samples=1)[index]


@pytest.mark.parametrize("index", ["a", 1.0, None, (0, 1)])
def test_an_index_that_is_no_number_is_an_error(index):
    with pytest.raises(TypeError, match=r"between -4 and 3, got .* of type"):
        trained(n_samples=1)[index]


@both
def test_trees_agree_with_the_tables(kind):
    model = trained(kind)
    tables = [inspection.node_table(model, tree) for tree in range(4)]
    for tree, table in zip(model, tables, strict=True):
        is_leaf = table["left"] < 0
        assert tree.summary == {
            "n_nodes": len(table),
            "n_branches": int((~is_leaf).sum()),
            "n_leaves": int(is_leaf.sum()),
            "height": int(table["depth"].max()) + 1,
            "n_samples": float(table["n_samples"][table["parent"] < 0].iloc[0]),
            "is_full": False,
        }
        assert tree.summary == {name: getattr(tree, name) for name in tree.summary}
    assert model.n_nodes == sum(tree.n_nodes for tree in model) and type(model.n_nodes) is int
    assert model.n_samples == 300.0


def test_a_tree_shows_itself_as_it_is_now():
    model = AMFClassifier(2, seed=1)
    tree = model[1]
    assert repr(tree) == "Tree 1 of AMFClassifier: 0 nodes, height 0, 0 samples"
    for length in (1.0, 4.0):
        model.learn_one({"length": length}, length > 2)
    assert repr(tree) == "Tree 1 of AMFClassifier: 3 nodes, height 2, 2 samples"
    with pytest.raises(AttributeError):
        tree.index = 0


@pytest.mark.parametrize(
    "parameters",
    [{}, {"fading_factor": 0.5}, {"use_aggregation": False}, {"split_pure": True}],
    ids=["plain", "fading", "leaves", "split_pure"],
)
def test_the_forest_predicts_the_mean_of_its_trees(parameters):
    model = trained(**parameters)
    for x, _ in stream(40, seed=8):
        probas = [tree.predict_proba_one(x) for tree in model]
        whole = model.predict_proba_one(x)
        for proba in probas:
            assert list(proba) == list(whole)
            assert sum(proba.values()) == pytest.approx(1.0, abs=1e-12)
        for label, p in whole.items():
            assert np.mean([proba[label] for proba in probas]) == pytest.approx(p, abs=1e-12)
        tree, proba = model[2], probas[2]
        assert tree.predict_one(x) == max(proba, key=proba.get)


def test_a_tree_without_samples_predicts_nothing_and_checks_what_it_gets():
    assert AMFClassifier()[0].predict_proba_one({"a": 1.0}) == {}
    assert AMFClassifier()[0].predict_one({"a": 1.0}) is None
    for model in (AMFClassifier(), trained()):
        with pytest.raises(TypeError, match="dict"):
            model[0].predict_proba_one([1.0])
        with pytest.raises(ValueError, match="'a'"):
            model[0].predict_proba_one({"a": float("inf")})
