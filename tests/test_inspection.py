import math

import pytest
import tables
from river import preprocessing

from river_amf import AMFClassifier, inspection


@pytest.fixture
def mixed():
    """A forest of mixed features, some of them missing."""
    model = AMFClassifier(n_estimators=2, seed=1)
    for i in range(80):
        x = {"size": i * 7 % 31, "color": "rgby"[i * 3 % 4], ("late", 1): i if i > 40 else None}
        if i % 5 == 0:
            del x["size"]
        model.learn_one(x, ["low", "high"][x["color"] in "rg"] if i % 7 else "odd")
    return model


def test_it_has_one_row_a_node_and_the_columns_of_the_documentation(mixed):
    table = inspection.node_table(mixed, tree=1)
    columns = """
        node parent left right depth feature threshold time n_samples log_odds counts
        range_min range_max categories_left
    """
    assert " ".join(table.columns) == " ".join(columns.split())
    assert len(table) == mixed._arena.trees["n_nodes"][1]
    assert table["node"].tolist() == list(range(len(table)))
    for column in table.columns:
        assert f"`{column}`" in inspection.node_table.__doc__


def test_boxes_of_waiting_leaves_are_those_of_their_samples():
    model = AMFClassifier(n_estimators=1, seed=1)
    for value in (3.0, 1.0, 2.0):
        model.learn_one({"a": value, "b": None}, "same")
    table = inspection.node_table(model)
    assert len(table) == 1
    assert table["range_min"][0] == {"a": 1.0}
    assert table["range_max"][0] == {"a": 3.0}


def test_a_categorical_split_names_the_categories_that_go_left(mixed):
    for tree in range(2):
        table = inspection.node_table(mixed, tree)
        splits = table[table["feature"] == "color"]
        assert len(splits) > 0
        for left in splits["categories_left"]:
            assert 0 < len(left) < 4 and left < {"r", "g", "b", "y"}
        others = table[table["feature"] != "color"]
        assert others["categories_left"].isna().all()


def test_the_path_by_the_table_ends_in_a_leaf_that_has_seen_the_sample(mixed):
    table = inspection.node_table(mixed)
    for i in range(41, 80):
        x = {"size": i * 7 % 31, "color": "rgby"[i * 3 % 4], ("late", 1): i}
        if i % 5:
            leaf = table.loc[tables.path(table, x)[-1]]
            assert leaf["range_min"]["size"] <= x["size"] <= leaf["range_max"]["size"]


def test_leaves_have_neither_split_nor_odds(mixed):
    table = inspection.node_table(mixed)
    leaves = table[table["left"] < 0]
    assert (leaves["right"] == -1).all()
    assert leaves["feature"].isna().all()
    assert leaves["threshold"].isna().all() and leaves["log_odds"].isna().all()
    assert not table.loc[table["left"] >= 0, "log_odds"].isna().any()


def test_counts_name_every_label_seen(mixed):
    table = inspection.node_table(mixed)
    assert all(list(counts) == ["odd", "low", "high"] for counts in table["counts"])
    assert math.isclose(sum(table["counts"][tables.root(table)].values()), 80)


def test_a_forest_without_samples_has_an_empty_table():
    table = inspection.node_table(AMFClassifier())
    assert len(table) == 0 and "log_odds" in table


@pytest.mark.parametrize("tree", [-1, 2])
def test_a_tree_that_is_not_there_is_an_error(mixed, tree):
    with pytest.raises(IndexError, match=rf"between 0 and 1, got {tree}"):
        inspection.node_table(mixed, tree)


def test_looking_changes_nothing(mixed):
    before = mixed._arena.nodes.tobytes()
    table = inspection.node_table(mixed)
    table.loc[0, "time"] = -1.0
    assert mixed._arena.nodes.tobytes() == before


def test_a_pipeline_is_told_where_its_forest_is(mixed):
    with pytest.raises(TypeError, match=r"got Pipeline; .* pipeline\['AMFClassifier'\]"):
        inspection.node_table(preprocessing.StandardScaler() | mixed)


@pytest.mark.parametrize("tree", [1.5, "0", None])
@pytest.mark.parametrize("has_learnt", [False, True])
def test_a_tree_that_is_no_number_is_an_error(mixed, tree, has_learnt):
    with pytest.raises(TypeError):
        inspection.node_table(mixed if has_learnt else mixed.clone(), tree)
