"""A leaf that stays pure for long: the samples it keeps represent all of them."""

import random

import pytest
import tables

from river_amf import AMFClassifier, inspection
from river_amf.engine import settings

LONGEST = 64


@pytest.fixture(autouse=True)
def short_lists(monkeypatch):
    monkeypatch.setattr(settings, "LONGEST_LIST", LONGEST)


def points(n_samples, seed=1):
    generator = random.Random(seed)
    for _ in range(n_samples):
        x = {"a": generator.gauss(0, 1), "b": generator.random(), "c": generator.choice("pqr")}
        if generator.random() < 0.1:
            del x["b"]
        yield x


def pure_forest(n_samples, **parameters):
    model = AMFClassifier(n_estimators=4, seed=1, **parameters)
    for x in points(n_samples):
        model.learn_one(x, "often")
    return model


def longest_list(model):
    arena = model._arena
    trees = zip(arena.nodes["n_rows"], arena.trees["n_nodes"], strict=True)
    return max(lists[:n_nodes].max() for lists, n_nodes in trees)


def test_lists_and_store_stay_short():
    model = AMFClassifier(n_estimators=4, seed=1)
    for x in points(5000):
        model.learn_one(x, "often")
        assert longest_list(model) <= LONGEST
    state = model._arena.__getstate__()
    assert len(state["rows"]) <= 2 * LONGEST  # the trees keep almost the same samples
    assert len(model._arena.rows) <= 8 * LONGEST


def test_a_thinned_leaf_keeps_its_box_and_its_counts():
    model, whole = pure_forest(3000), AMFClassifier(n_estimators=4, seed=1, max_nodes=1)
    for x in points(3000):
        whole.learn_one(x, "often")
    for tree in range(4):
        (leaf,), (one) = (
            inspection.node_table(model, tree).itertuples(),
            inspection.node_table(whole, tree).iloc[0],
        )
        assert leaf.counts == one["counts"] == {"often": 3000.0}
        assert leaf.range_min == one["range_min"]
        assert leaf.range_max == one["range_max"]


def test_what_is_left_of_a_list_stands_for_all_of_it():
    model = pure_forest(3000)
    model.learn_one({"a": 0.1, "b": 0.5, "c": "q"}, "seldom")
    tables.check_log_odds(model, 1e-9)
    for tree in range(4):
        table = inspection.node_table(model, tree)
        assert len(table) > 1
        for row in table.itertuples():
            if row.left >= 0:
                left, right = table.loc[row.left], table.loc[row.right]
                for label in ("often", "seldom"):
                    total = left["counts"][label] + right["counts"][label]
                    assert row.counts[label] == pytest.approx(total, rel=1e-12)
                for name, low in row.range_min.items():
                    ends = [c["range_min"][name] for c in (left, right) if name in c["range_min"]]
                    assert low == min(ends)
        assert table["counts"][tables.root(table)] == {"often": 3000.0, "seldom": 1.0}
