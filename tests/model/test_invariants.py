"""The invariants (a) to (e) (DESIGN.md: invariants), after each sample of generated streams.

All but (d) hold until a tree is full; `test_naive.py` compares full trees with the reference, whose
prunings carry the evidence of splits that were undone.
"""

import math

import naive
import pytest
import tables
from generated import PARAMETERS, PARAMETERS_OF_NUMBERS, streams, streams_of_numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from river_amf import AMFClassifier, AMFRegressor, inspection


def learn(stream, kind=AMFClassifier, n_estimators=1, **parameters):
    """Yield a forest after each sample of a stream."""
    model = kind(seed=1, n_estimators=n_estimators, **parameters)
    for sample in stream:
        model.learn_one(*sample)
        yield model


@pytest.mark.slow
@settings(max_examples=60)
@given(streams(max_size=9, weighted=True), PARAMETERS)
def test_prediction_is_average_of_all_prunings(stream, parameters):
    # (a)
    parameters |= {"use_aggregation": True, "vote": "mean"}
    # the table shows only categories learned so far, so query samples learned so far
    for n_learned, model in enumerate(learn(stream, **parameters), start=1):
        table = inspection.node_table(model)
        if tables.is_full(model, table):
            break
        cells = tables.cells(model, table)
        for x, _, _ in stream[:n_learned]:
            shares, paths = zip(*tables.paths(table, x, model), strict=True)
            law = tables.weights(model) | {"split_prior": model.split_prior}
            along = [
                naive.brute_force_prediction(cells[nodes[0]], [cells[v] for v in nodes], **law)
                for nodes in paths
            ]
            expected = naive.mix(shares, along)[: len(model._labels)]
            proba = model.predict_proba_one(x)
            # each branch may end where less than 1e-4 of the mass is left
            cut = 1e-4 * len(paths) if len(paths) > 1 else 0.0
            assert list(proba.values()) == pytest.approx(
                [p / sum(expected) for p in expected], abs=1e-10 + cut
            )


@pytest.mark.slow
@settings(max_examples=60)
@given(streams(), PARAMETERS)
def test_log_odds_equal_closed_form(stream, parameters):
    # (b)
    for model in learn(stream, n_estimators=2, **parameters):
        tables.check_log_odds(model, 1e-9)


def best_loss(model, table):
    root = tables.cells(model, table)[tables.root(table)]
    return tables.best_pruning(root, model.split_prior, tables.dirichlet(model))


@pytest.mark.slow
@settings(max_examples=40)
@given(streams(), PARAMETERS)
def test_weight_of_tree_is_at_least_best_pruning(stream, parameters):
    # (c)
    for model in learn(stream, **parameters | {"step": 1.0}):
        table = inspection.node_table(model)
        if tables.is_full(model, table):
            break
        assert -tables.log_wbar_root(model, table) <= best_loss(model, table) + 1e-9


@pytest.mark.parametrize("split_prior", [0.5, 0.8])
def test_log_loss_on_frozen_structure_is_bounded(split_prior):
    # (c)
    samples = [({"a": i * 7 % 11, "b": i * 5 % 13}, "xy"[i * i % 3 > 0]) for i in range(60)]
    (*_, model) = learn(samples, n_classes=2, split_prior=split_prior)
    frozen = inspection.node_table(model)
    before = tables.log_wbar_root(model, frozen)
    loss = 0.0
    for x, y in samples:  # the boxes contain all of them
        loss -= math.log(model.predict_proba_one(x)[y])
        model.learn_one(x, y)
    table = inspection.node_table(model)
    assert table["threshold"].equals(frozen["threshold"])
    assert loss == pytest.approx(before - tables.log_wbar_root(model, table), abs=1e-9)
    assert loss - before <= best_loss(model, table) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("is_regressor", [False, True])
@settings(max_examples=60)
@given(data=st.data())
def test_nodes_are_linked_and_sums_of_children(is_regressor, data):
    # (d)
    if is_regressor:
        kind, parameters = AMFRegressor, data.draw(PARAMETERS_OF_NUMBERS)
        stream = data.draw(streams_of_numbers(targets=("plain", "ties")))
    else:
        kind, parameters, stream = AMFClassifier, data.draw(PARAMETERS), data.draw(streams())
    for model in learn(stream, kind, **parameters):
        table = inspection.node_table(model)
        assert len(table) <= (model.max_nodes or math.inf)
        if len(table):
            tables.check_structure(table)


@pytest.mark.slow
@settings(max_examples=60)
@given(streams(weighted=True), PARAMETERS)
def test_new_class_equals_class_from_start(stream, parameters):
    # (e)
    n_classes = len({y for _, y, _ in stream})
    (*_, model) = learn(stream, n_estimators=2, **parameters | {"n_classes": n_classes})
    (*_, other) = learn(stream, n_estimators=2, **parameters | {"n_classes": None})
    for tree in range(2):
        table, expected = (inspection.node_table(forest, tree) for forest in (other, model))
        if tables.is_full(model, table):
            continue
        for column in ("feature", "threshold", "time", "parent", "counts", "range_min"):
            assert table[column].equals(expected[column])
        log_odds = pytest.approx(expected["log_odds"].to_numpy(), 1e-9, 1e-9, nan_ok=True)
        assert table["log_odds"].to_numpy() == log_odds


EASY = [({"a": i % 100, "b": i % 7}, i % 100 < 50) for i in range(5000)]
POINTS = [i * 37 % 101 for i in range(6000)]
SIZES = (("x", 0, 255), ("y", 1, 300), ("x", 1, 1))
RARE_SPLITS = [({"a": v / 100}, v > 50) for v in POINTS]
RARE_SPLITS += [({"a": 2.0 ** (k + 4)}, k % 2 == 0) for k in range(12)]
NOISY = [({"a": v}, (v > 50) ^ (i % 50 == 49)) for i, v in enumerate(POINTS[:400])]
PURE = [({"a": s + (v + 50) / 202}, y) for y, s, n in SIZES for v in POINTS[:n]]
STREAMS = {  # parameters, samples, tolerance
    "easy samples": ({}, EASY, 1e-7),
    # the share of a new parent's ancestors grows by no more than the prior of a split
    **{
        f"split prior {b}": ({"split_prior": b, "split_intensity": "unit"}, RARE_SPLITS, 1e-7)
        for b in (5e-324, 1e-200, 1 - 1e-16)
    },
    **{f"dirichlet {a}": ({"dirichlet": a}, NOISY, 1e-7) for a in (1e-300, 1e-100)},
    # the weight of a pure cell of up to 255 samples is looked up
    "pure cells": ({}, PURE, 1e-9),
}


@pytest.mark.parametrize("name", STREAMS)
def test_log_odds_are_exact_at_extremes(name):
    parameters, samples, tolerance = STREAMS[name]
    (*_, model) = learn(samples, n_estimators=4, n_classes=2, **parameters)
    tables.check_log_odds(model, tolerance)
    if name == "easy samples":
        assert inspection.node_table(model)["log_odds"].min() < -2000
        assert model.predict_proba_one({"a": 10, "b": 1})[True] > 0.99


@pytest.mark.parametrize("split_pure", [False, True])
def test_adjacent_values_are_separated(split_pure):
    # no number lies between them: the threshold is the lower one, which goes left
    low, high = 1.0, math.nextafter(1.0, 2.0)
    samples = [({"a": high if i % 5 > 0 else low}, i % 5 > 0) for i in range(20)]
    (*_, model) = learn(samples, n_estimators=20, split_pure=split_pure)
    for tree in range(20):
        table = inspection.node_table(model, tree)
        root = table.loc[tables.root(table)]
        assert root["threshold"] == low
        assert table.loc[root["left"], "counts"] == {False: 4.0, True: 0.0}
        assert table.loc[root["right"], "counts"] == {False: 0.0, True: 16.0}
