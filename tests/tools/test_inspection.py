import math
import re

import naive
import numpy as np
import pytest
import tables
from forests import state_of
from river import preprocessing
from sklearn.exceptions import NotFittedError

from river_amf import (
    AdaptiveAMFClassifier,
    AMFClassifier,
    AMFRegressor,
    MismatchWarning,
    inspection,
    sklearn,
)


@pytest.fixture
def mixed():
    """Return a forest of mixed features, some of them missing."""
    model = AMFClassifier(n_estimators=2, seed=1)
    for i in range(80):
        x = {"size": i * 7 % 31, "color": "rgby"[i * 3 % 4], ("late", 1): i if i > 40 else None}
        if i % 5 == 0:
            del x["size"]
        model.learn_one(x, ["low", "high"][x["color"] in "rg"] if i % 7 else "odd")
    return model


NODES = """
    node parent left right depth feature threshold time n_samples log_odds counts
    range_min range_max categories_left
"""
STEPS = """
    node depth feature threshold categories_left value goes share mass n_samples counts proba
"""


def test_columns_are_documented(mixed):
    nodes = inspection.node_table(mixed, tree=1)
    steps = inspection.path(mixed, {"size": 3, "color": "r"}, tree=1)
    assert nodes["node"].tolist() == [*range(mixed[1].n_nodes)]
    for table, columns, function in [
        (nodes, NODES, inspection.node_table),
        (steps, STEPS, inspection.path),
    ]:
        assert table.columns.tolist() == columns.split()
        assert all(f"`{column}`" in function.__doc__ for column in table.columns)


def test_categorical_splits_name_categories_left(mixed):
    table = inspection.node_table(mixed)
    is_split = table["feature"] == "color"
    assert is_split.any() and table["categories_left"][~is_split].isna().all()
    for left in table["categories_left"][is_split]:
        assert 0 < len(left) < 4 and left < {"r", "g", "b", "y"}


def test_pipelines_are_refused_with_a_hint(mixed):
    with pytest.raises(TypeError, match=r"got Pipeline; .* pipeline\['AMFClassifier'\]"):
        inspection.node_table(preprocessing.StandardScaler() | mixed)


def test_estimators_have_tables_of_forests():
    X, y = [[1.0], [2.0], [4.0]], [0, 1, 1]
    estimator = sklearn.AdaptiveAMFClassifier(2, random_state=1).fit(X, y)
    for look in (
        inspection.node_table,
        inspection.feature_relevance,
        inspection.feature_importance,
        inspection.linear_weights,
        lambda model: inspection.path(model, {0: 1.0}),
    ):
        assert look(estimator).equals(look(estimator.model_))
        with pytest.raises(NotFittedError):
            look(sklearn.AMFClassifier())


@pytest.mark.parametrize("is_trained", [False, True])
def test_index_of_tree_is_checked(mixed, is_trained):
    model = mixed if is_trained else mixed.clone()
    for tree in (-1, 2):
        with pytest.raises(IndexError, match=rf"between 0 and 1, got {tree}"):
            inspection.node_table(model, tree)
    with pytest.raises(TypeError):
        inspection.node_table(model, 1.0)


@pytest.mark.parametrize("tree", [0, 1])
def test_path_agrees_with_node_table(mixed, tree):
    table = inspection.node_table(mixed, tree)
    for i in range(80):
        x = {"size": i * 7 % 31, "color": "rgby"[i * 3 % 4], ("late", 1): i if i % 3 else None}
        steps = inspection.path(mixed, x, tree)
        ways = [nodes for _, nodes in tables.paths(table, x, mixed, tree)]
        assert steps["node"].tolist() == [*dict.fromkeys(node for nodes in ways for node in nodes)]
        rows = table.loc[steps["node"]]
        for column in ("depth", "feature", "n_samples", "counts", "categories_left"):
            assert [*steps[column]] == [*rows[column]]
        np.testing.assert_array_equal(steps["threshold"], rows["threshold"])
        inner = ~steps["feature"].isna().to_numpy()
        shares = [naive.sigma(r) for r in rows["log_odds"][inner]]
        np.testing.assert_allclose(steps["share"][inner], shares, atol=1e-12)
        assert [*steps["value"]] == [x.get(feature) for feature in steps["feature"]]
        assert (steps["share"][~inner] == 1.0).all() and steps["threshold"][~inner].isna().all()
        assert ((steps["goes"] == "both") == (steps["value"].isna() & inner)).all()
    assert {("late", 1), "size", "color"} <= {*table["feature"]}


@pytest.mark.parametrize("is_trained", [True, False])
def test_path_of_bad_sample_raises_as_prediction(mixed, is_trained):
    model = mixed if is_trained else mixed.clone()
    for x in ({"size": math.inf}, {"size": []}, 5):
        with pytest.raises((TypeError, ValueError)) as expected:
            model.predict_proba_one(x)
        with pytest.raises(expected.type, match=re.escape(str(expected.value))):
            inspection.path(model, x)


def test_path_takes_mismatches_as_missing():
    model = AMFClassifier(n_estimators=2, on_mismatch="missing", seed=1)
    for i in range(40):
        model.learn_one({"size": i % 7, "color": "rg"[i % 2], "open": "N/A"}, i % 7 > 3)
    dirty, clean = {"size": "N/A", "color": 3, "open": "?"}, {}
    with pytest.warns(MismatchWarning):
        model.predict_one(dirty)
    assert inspection.path(model, dirty).equals(inspection.path(model, clean))
    assert set(inspection.path(model, dirty)["value"]) == {None}
    assert model.debug_one(dirty) == model.debug_one(clean)


def test_tables_change_nothing(mixed):
    before = state_of(mixed)
    steps, nodes = inspection.path(mixed, {"size": 3}), inspection.node_table(mixed)
    for table, column in [(steps, "counts"), (steps, "proba"), (nodes, "counts")]:
        table[column][0]["odd"] = -1.0
    assert state_of(mixed) == before


def test_linear_weights_of_words_and_columns():
    model = AdaptiveAMFClassifier(n_estimators=2, seed=1, absent="zero")
    for i in range(200):
        model.learn_one({"good" if i % 2 else "bad": 1, f"rare {i % 90}": 1, "tone": "dry"}, i % 2)
    table = inspection.linear_weights(model)
    words = table[table.linear_model == "words"].set_index(["feature", "label"]).weight
    assert words["good", 1] > 0.5 > -0.5 > words["good", 0]
    assert words["bad", 0] > 0.5 > -0.5 > words["bad", 1]
    assert len(words) == 2 * (1 + 2 + 90)
    additive = table[table.linear_model == "additive"]
    assert set(additive.feature) == {None, *model._features}


def test_linear_weights_need_linear_models():
    table = inspection.linear_weights(AdaptiveAMFClassifier())
    assert len(table) == 0 and table.weight.dtype == np.float64
    assert [*table] == ["linear_model", "feature", "input", "label", "weight"]
    for model in (AMFRegressor(), AdaptiveAMFClassifier(vote="mean")):
        with pytest.raises(ValueError, match=r"linear=.* and vote=.*AdaptiveAMF"):
            inspection.linear_weights(model)
    with pytest.raises(TypeError, match="forest"):
        inspection.linear_weights({})
