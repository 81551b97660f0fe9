"""A forest is the sequence of its trees, as river's ensembles are, and still one model."""

import forests
import numpy as np
import pytest
from forests import QUESTIONS, STREAM

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection
from river_amf.ensemble import Tree

kinds = pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])


def trained(kind=AMFClassifier, n_samples=300, **parameters):
    samples = [(x, y) for x, y, _ in STREAM[:n_samples]]
    return forests.trained(samples, kind, n_estimators=4, **parameters)


@kinds
@pytest.mark.parametrize("n_samples", [0, 1, 300])
def test_forest_is_the_sequence_of_its_trees(kind, n_samples):
    model = trained(kind, n_samples)
    trees = list(model)
    assert len(model) == 4 and [tree.index for tree in trees] == [0, 1, 2, 3]
    assert all(type(tree) is Tree and tree.forest is model for tree in trees)
    assert trees == [model[i] for i in range(4)] == list(reversed(model))[::-1]
    assert [model[-1], model[-4], model[np.int64(2)]] == [trees[k] for k in (3, 0, 2)]
    for part in (slice(None), slice(1, 3), slice(None, None, -2), slice(9, 12), slice(-2, None)):
        assert model[part] == trees[part]
    assert model[2] in model and trees[2] not in trained(kind)
    assert len({*trees, *model}) == 4


def test_wrong_index_is_an_error():
    wrong = {4: IndexError, -5: IndexError, 10**30: IndexError, "a": TypeError, 1.5: TypeError}
    for index, error in wrong.items():
        with pytest.raises(error):
            trained(n_samples=1)[index]


@kinds
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
            "n_restarts": model._arena.trees["n_restarts"][tree.index],
        }
        assert tree.summary == {name: getattr(tree, name) for name in tree.summary}
    assert model.n_nodes == sum(tree.n_nodes for tree in model) and type(model.n_nodes) is int
    assert model.n_samples == 300.0


def test_repr_of_a_tree_is_that_of_now():
    model = AMFClassifier(n_estimators=2, seed=1)
    tree = model[1]
    assert repr(tree) == "Tree 1 of AMFClassifier: 0 nodes, height 0, 0 samples"
    for length in (1.0, 4.0):
        model.learn_one({"length": length}, length > 2)
    assert repr(tree) == "Tree 1 of AMFClassifier: 3 nodes, height 2, 2 samples"
    with pytest.raises(AttributeError):
        tree.index = 0


def test_forest_predicts_the_mean_of_its_trees():
    model = trained()
    for x in QUESTIONS:
        probas = [tree.predict_proba_one(x) for tree in model]
        whole = model.predict_proba_one(x)
        assert all(list(proba) == list(whole) for proba in probas)
        for label, p in whole.items():
            assert np.mean([proba[label] for proba in probas]) == pytest.approx(p, abs=1e-12)
        assert model[2].predict_one(x) == max(probas[2], key=probas[2].get)


def test_tree_without_samples_predicts_nothing():
    assert AMFClassifier()[0].predict_proba_one({"a": 1.0}) == {}
    assert AMFClassifier()[0].predict_one({"a": 1.0}) is None
    for model in (AMFClassifier(), trained()):
        with pytest.raises(TypeError, match="dict"):
            model[0].predict_proba_one([1.0])
        with pytest.raises(ValueError, match="'fine'"):
            model[0].predict_proba_one({"fine": float("inf")})
