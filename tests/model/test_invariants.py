"""The invariants (a) to (e) (DESIGN.md: invariants), after each sample of generated streams.

All but (d) hold until a tree is full; `test_naive.py` compares full trees with the reference, whose
prunings carry the evidence of splits that were undone.
"""

import math

import naive
import pytest
import tables
from generated import CATEGORIES, NUMBERS, PARAMETERS, streams
from hypothesis import given, settings
from hypothesis import strategies as st

from river_amf import AMFClassifier, inspection

COMPLETE = st.fixed_dictionaries({"a": NUMBERS, "b": NUMBERS, "color": CATEGORIES})


def learnt(stream, **parameters):
    """Yield a forest after each sample of a stream."""
    model = AMFClassifier(seed=1, **parameters)
    for x, y, w in stream:
        model.learn_one(x, y, w)
        yield model


@pytest.mark.slow
@settings(max_examples=60)
@given(streams(max_size=9, weighted=True), PARAMETERS)
def test_a_prediction_is_the_brute_force_average_over_all_prunings(stream, parameters):
    parameters |= {"use_aggregation": True, "vote": "mean"}
    # the table shows only categories learned so far, so query samples learned so far
    for n_learnt, model in enumerate(learnt(stream, n_estimators=1, **parameters), start=1):
        table = inspection.node_table(model)
        if tables.is_full(model, table):
            break
        cells = tables.cells(model, table)
        for x, _, _ in stream[:n_learnt]:
            nodes = tables.path(table, x, model)
            expected = naive.brute_force_prediction(
                cells[nodes[0]], [cells[node] for node in nodes], **tables.aggregation(model)
            )[: len(model._labels)]
            proba = model.predict_proba_one(x)
            assert list(proba.values()) == pytest.approx(
                [p / sum(expected) for p in expected], abs=1e-10
            )


@pytest.mark.slow
@settings(max_examples=60)
@given(streams(), PARAMETERS)
def test_b_every_log_odds_is_its_closed_form(stream, parameters):
    for model in learnt(stream, n_estimators=2, **parameters):
        tables.check_log_odds(model, 1e-9)


@pytest.mark.slow
@settings(max_examples=40)
@given(streams(), PARAMETERS)
def test_c_the_forest_does_no_worse_than_the_best_pruning(stream, parameters):
    parameters["step"] = 1.0
    for model in learnt(stream, n_estimators=1, **parameters):
        table = inspection.node_table(model)
        if tables.is_full(model, table):
            break
        root = tables.cells(model, table)[tables.root(table)]
        best = tables.best_pruning(root, model.split_prior, tables.dirichlet(model))
        assert -tables.log_wbar_root(model, table) <= best + 1e-9


@pytest.mark.parametrize("split_prior", [0.5, 0.8])
def test_c_on_a_frozen_structure_the_log_loss_obeys_the_bound(split_prior):
    samples = [({"a": i * 7 % 11, "b": i * 5 % 13}, "xy"[i * i % 3 > 0]) for i in range(60)]
    model = AMFClassifier(n_estimators=1, n_classes=2, split_prior=split_prior, seed=1)
    for x, y in samples:
        model.learn_one(x, y)
    frozen = inspection.node_table(model)
    before = tables.log_wbar_root(model, frozen)
    loss = 0.0
    for x, y in samples:  # the boxes contain all of them
        loss -= math.log(model.predict_proba_one(x)[y])
        model.learn_one(x, y)
    table = inspection.node_table(model)
    assert table["threshold"].equals(frozen["threshold"])
    root = tables.cells(model, table)[tables.root(table)]
    best = tables.best_pruning(root, split_prior, tables.dirichlet(model))
    assert loss == pytest.approx(before - tables.log_wbar_root(model, table), abs=1e-9)
    assert loss - before <= best + 1e-9


@pytest.mark.slow
@settings(max_examples=60)
@given(streams(), PARAMETERS)
def test_d_structure(stream, parameters):
    for model in learnt(stream, n_estimators=1, **parameters):
        table = inspection.node_table(model)
        if model.max_nodes is not None:
            assert len(table) <= model.max_nodes
        rows = {row.node: row for row in table.itertuples()}
        assert [*rows] == [*range(len(table))]
        assert rows[tables.root(table)].time == 0.0
        for row in rows.values():
            assert sum(row.counts.values()) == pytest.approx(row.n_samples, abs=1e-9)
            if row.left < 0:
                assert row.right < 0 and row.feature is None and math.isnan(row.threshold)
                continue
            check_family(row, rows[row.left], rows[row.right])


def check_family(row, left, right):
    assert left.parent == right.parent == row.node
    assert left.depth == right.depth == row.depth + 1
    assert left.time == right.time > row.time
    for label, count in row.counts.items():
        assert count == pytest.approx(left.counts[label] + right.counts[label], abs=1e-9)
    for side, hull in (("range_min", min), ("range_max", max)):
        of_children = {}
        for child in (left, right):
            for name, value in getattr(child, side).items():
                of_children[name] = hull(value, of_children.get(name, value))
        assert getattr(row, side) == of_children
    # the split separates the boxes of the children
    assert left.range_max[row.feature] <= row.threshold < right.range_min[row.feature]


@pytest.mark.slow
@settings(max_examples=60)
@given(streams(weighted=True), PARAMETERS)
def test_e_a_new_class_midway_equals_knowing_it_from_the_start(stream, parameters):
    parameters["n_classes"] = len({y for _, y, _ in stream})
    (*_, knowing) = learnt(stream, n_estimators=2, **parameters)
    (*_, surprised) = learnt(stream, n_estimators=2, **(parameters | {"n_classes": None}))
    for tree in range(2):
        one, other = (inspection.node_table(model, tree) for model in (knowing, surprised))
        if tables.is_full(knowing, one):
            continue
        for column in ("feature", "threshold", "time", "parent", "counts", "range_min"):
            assert one[column].equals(other[column])
        assert one["log_odds"].to_numpy() == pytest.approx(
            other["log_odds"].to_numpy(), rel=1e-9, abs=1e-9, nan_ok=True
        )


@settings(max_examples=30)
@given(st.lists(st.tuples(COMPLETE, st.sampled_from("xyz"))), PARAMETERS)
def test_weight_two_is_learning_twice(stream, parameters):
    # No values are missing, because samples with gaps follow the weights. The second time nothing
    # splits. Relevance fades with each sample, and uses of categories are counted, whatever its
    # weight.
    parameters.pop("max_categories", None)
    if parameters.get("split_intensity") == "relevance":
        parameters["split_intensity"] = "range"
    twice = AMFClassifier(n_estimators=2, seed=1, **parameters)
    doubled = AMFClassifier(n_estimators=2, seed=1, **parameters)
    for x, y in stream:
        twice.learn_one(x, y)
        twice.learn_one(x, y)
        doubled.learn_one(x, y, w=2.0)
    for tree in range(2):
        one, other = (inspection.node_table(model, tree) for model in (twice, doubled))
        assert one["n_samples"].equals(other["n_samples"])
        assert one["log_odds"].to_numpy() == pytest.approx(
            other["log_odds"].to_numpy(), rel=1e-9, abs=1e-9, nan_ok=True
        )


def test_log_odds_stay_exact_over_thousands_of_easy_samples():
    model = AMFClassifier(n_estimators=2, seed=1)
    for i in range(5000):
        model.learn_one({"a": i % 100, "b": i % 7}, i % 100 < 50)
    assert inspection.node_table(model)["log_odds"].min() < -2000
    tables.check_log_odds(model, 1e-7)
    proba = model.predict_proba_one({"a": 10, "b": 1})
    assert proba[True] > 0.99


@pytest.mark.parametrize("split_prior", [5e-324, 1e-200, 1 - 1e-16])
def test_log_odds_stay_finite_where_the_prior_all_but_forbids_a_split(split_prior):
    # The share of a new parent's ancestors grows by no more than the prior of a split.
    model = AMFClassifier(n_classes=2, split_prior=split_prior, split_intensity="unit", seed=2)
    for i in range(6000):
        model.learn_one({"a": i * 37 % 101 / 100}, i * 37 % 101 > 50)
    for k in range(12):
        model.learn_one({"a": 2.0 ** (k + 4)}, k % 2 == 0)
    tables.check_log_odds(model, 1e-7)


@pytest.mark.parametrize("split_pure", [False, True])
def test_values_next_to_each_other_are_separated(split_pure):
    # no number lies between them: the threshold is the lower one, which goes left
    low, high = 1.0, math.nextafter(1.0, 2.0)
    model = AMFClassifier(n_estimators=20, split_pure=split_pure, seed=1)
    for i in range(20):
        is_high = i % 5 > 0
        model.learn_one({"a": high if is_high else low}, is_high)
    for tree in range(20):
        table = inspection.node_table(model, tree)
        root = table.loc[tables.root(table)]
        assert root["threshold"] == low
        assert table.loc[root["left"], "counts"] == {False: 4.0, True: 0.0}
        assert table.loc[root["right"], "counts"] == {False: 0.0, True: 16.0}


def test_a_pure_cell_has_the_weight_of_its_own_size():
    # that of cells of up to 255 samples is looked up, once it has been worked out
    model = AMFClassifier(n_estimators=2, n_classes=2, seed=1)
    for label, start, n_samples in (("x", 0, 255), ("y", 1, 300), ("x", 1, 1)):
        for i in range(n_samples):
            model.learn_one({"a": start + (i * 37 % 101 + 50) / 202}, label)
    tables.check_log_odds(model, 1e-9)


@pytest.mark.parametrize("dirichlet", [1e-300, 1e-100])
def test_log_odds_are_exact_where_the_prior_all_but_excludes_an_unseen_label(dirichlet):
    model = AMFClassifier(n_estimators=2, n_classes=2, dirichlet=dirichlet, seed=1)
    for i in range(400):
        model.learn_one({"a": i * 37 % 101}, (i * 37 % 101 > 50) ^ (i % 50 == 49))
    tables.check_log_odds(model, 1e-7)


def test_each_tree_parts_the_categories_in_its_own_way():
    model = AMFClassifier(n_estimators=40, seed=1)
    for i in range(16):
        model.learn_one({"letter": "abcdefgh"[i % 8]}, i % 8 < 4)
    parts = set()
    for tree in range(40):
        table = inspection.node_table(model, tree)
        parts.add(frozenset(table["categories_left"][tables.root(table)]))
    assert len(parts) > 7  # an order that all trees share leaves seven
