"""A leaf that stays pure for long: the samples that it keeps represent all of them."""

import random

import pytest
import tables

from river_amf import AMFClassifier, inspection
from river_amf.engine import settings

LONGEST = 64


@pytest.fixture(autouse=True)
def short_lists(monkeypatch):
    monkeypatch.setattr(settings, "LONGEST_LIST", LONGEST)


def learn(n_samples, **parameters):
    """Yield a forest after each sample of one label."""
    rng, model = random.Random(1), AMFClassifier(n_estimators=4, seed=1, **parameters)
    for _ in range(n_samples):
        x = {"a": rng.gauss(0, 1), "b": rng.random(), "c": rng.choice("pqr")}
        if rng.random() < 0.1:
            del x["b"]
        model.learn_one(x, "often")
        yield model


def test_lists_and_store_stay_short():
    for model in learn(5000):
        arena = model._arena
        for lists, n_nodes in zip(arena.nodes["n_rows"], arena.trees["n_nodes"], strict=True):
            assert lists[:n_nodes].max() <= LONGEST
    state = arena.used_arrays()
    assert len(state["rows"]) <= 2 * LONGEST  # the trees keep almost the same samples
    assert len(arena.rows) <= 8 * LONGEST


def test_thinned_leaf_keeps_box_and_counts():
    (*_, model), (*_, whole) = learn(3000), learn(3000, max_nodes=1)
    for tree in range(4):
        (leaf,), (expected,) = (
            inspection.node_table(forest, tree).itertuples() for forest in (model, whole)
        )
        assert leaf.counts == expected.counts == {"often": 3000.0}
        assert leaf.range_min == expected.range_min
        assert leaf.range_max == expected.range_max


def test_thinned_list_represents_all_samples():
    (*_, model) = learn(3000)
    model.learn_one({"a": 0.1, "b": 0.5, "c": "q"}, "seldom")
    tables.check_log_odds(model, 1e-9)
    for tree in range(4):
        table = inspection.node_table(model, tree)
        assert len(table) > 1
        tables.check_structure(table)
        assert table["counts"][tables.root(table)] == {"often": 3000.0, "seldom": 1.0}
