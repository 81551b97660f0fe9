"""The law of the trees, over many seeds, against a sampler that draws whole Mondrian trees.

Every seed is fixed, so a test that passes once always passes; a wrong law fails by a wide margin.
"""

import functools
from typing import NamedTuple

import naive
import numpy as np
import pytest
from scipy import stats

from river_amf import AMFClassifier, AMFRegressor

pytestmark = pytest.mark.slow

N_TREES = 3000

# the second label comes late, inside and next to the first one's cell; two rows are equal
ROWS = [(0.1, 0.2), (0.9, 0.3), (0.4, 0.8), (0.4, 0.8), (0.6, 0.1), (0.5, 0.4), (0.2, 0.9)]
LABELS = [0, 0, 0, 0, 0, 1, 1]
IN_ORDER = range(len(ROWS))
# an order that makes all nodes impure early
SHUFFLED = [5, 0, 6, 3, 1, 4, 2]


class Shape(NamedTuple):
    """The properties of a tree that are compared."""

    split_time: float  # of the root
    threshold: float
    feature: int
    n_left: float
    n_leaves: int
    max_depth: int
    second_time: float  # the first split below the root's, infinity if there is none


def shape_of_sample(node):
    leaves, times = [], []
    pending = [node]
    while pending:
        cell = pending.pop()
        if cell.left is None:
            leaves.append(cell.depth)
        else:
            times.append(cell.left.time)
            pending += [cell.left, cell.right]
    second = sorted(times)[1] if len(times) > 1 else np.inf
    return Shape(
        node.left.time,
        node.threshold,
        node.feature,
        node.left.n_samples,
        len(leaves),
        max(leaves),
        second,
    )


def shape_of_tree(arena, tree, stop_if_pure):
    """Read the shape from the arrays; making thousands of tables would take most of the time."""
    nodes = {name: arena.nodes[tree][name].tolist() for name in arena.nodes.dtype.names}
    # real targets have no counts, and cells are never pure
    is_pure = (np.count_nonzero(arena.counts[tree], axis=1) == 1).tolist()
    root = int(arena.trees["root"][tree])
    depths, times = [], []
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        if nodes["left"][node] < 0 or (stop_if_pure and is_pure[node]):
            depths.append(depth)
        else:
            times.append(nodes["split_time"][node])
            pending += [(nodes["left"][node], depth + 1), (nodes["right"][node], depth + 1)]
    return Shape(
        nodes["split_time"][root],
        nodes["threshold"][root],
        nodes["feature"][root],
        nodes["n_samples"][nodes["left"][root]],
        len(depths),
        max(depths),
        sorted(times)[1] if len(times) > 1 else np.inf,
    )


@functools.cache
def online(*order, split_pure=False):
    """Learn the rows in an order, in many trees."""
    model = AMFClassifier(
        n_estimators=N_TREES, split_intensity="unit", seed=7, split_pure=split_pure
    )
    for i in order:
        model.learn_one(dict(enumerate(ROWS[i])), LABELS[i])
    return model._arena


@functools.cache
def online_with_numbers(*order):
    """Learn the rows in an order, with numbers as targets, in many trees."""
    model = AMFRegressor(n_estimators=N_TREES, split_intensity="unit", seed=9)
    for i in order:
        model.learn_one(dict(enumerate(ROWS[i])), 0.5 * LABELS[i])
    return model._arena


def shapes(arena, stop_if_pure=False):
    return [shape_of_tree(arena, tree, stop_if_pure) for tree in range(N_TREES)]


@functools.cache
def drawn(stop_if_pure):
    rng = np.random.default_rng(11)
    trees = (
        naive.sample_mondrian(ROWS, LABELS, rng, stop_if_pure=stop_if_pure) for _ in range(N_TREES)
    )
    return [shape_of_sample(tree) for tree in trees]


def assert_same_law(shapes, others):
    for name, one, other in zip(
        Shape._fields, zip(*shapes, strict=True), zip(*others, strict=True), strict=True
    ):
        if name in ("split_time", "threshold", "second_time"):
            p_value = stats.ks_2samp(one, other).pvalue
        else:
            values = sorted({*one, *other})
            table = np.array([[sample.count(v) for v in values] for sample in (one, other)])
            p_value = stats.chi2_contingency(table).pvalue if len(values) > 1 else 1.0
        assert p_value > 1e-3, name


def test_late_splitting_follows_the_law_of_a_mondrian_tree_cut_at_pure_cells():
    assert_same_law(shapes(online(*IN_ORDER)), drawn(stop_if_pure=True))


def test_the_order_of_samples_does_not_change_the_law():
    assert_same_law(shapes(online(*SHUFFLED)), drawn(stop_if_pure=True))


def test_splitting_always_follows_the_law_of_a_mondrian_tree():
    assert_same_law(shapes(online(*IN_ORDER, split_pure=True)), drawn(stop_if_pure=False))


@pytest.mark.parametrize("order", [IN_ORDER, SHUFFLED])
def test_trees_for_numbers_follow_the_law_of_a_mondrian_tree(order):
    assert_same_law(shapes(online_with_numbers(*order)), drawn(stop_if_pure=False))


def test_late_splitting_follows_the_law_of_splitting_always():
    always = online(*SHUFFLED, split_pure=True)
    assert_same_law(shapes(online(*IN_ORDER)), shapes(always, stop_if_pure=True))
