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
IN_ORDER = tuple(range(len(ROWS)))
# an order that makes all nodes impure early
SHUFFLED = (5, 0, 6, 3, 1, 4, 2)


class Shape(NamedTuple):
    """The properties of a tree that are compared."""

    split_time: float  # of the root
    threshold: float
    feature: int
    n_left: float
    n_leaves: int
    max_depth: int
    second_time: float  # the first split below the root's, infinity if there is none


def shape_of(root, times, depths):
    second_time = sorted(times)[1] if len(times) > 1 else np.inf
    return Shape(*root, len(depths), max(depths), second_time)


def shape_of_sample(root):
    depths, times, pending = [], [], [root]
    while pending:
        cell = pending.pop()
        if cell.left is None:
            depths.append(cell.depth)
        else:
            times.append(cell.left.time)
            pending += [cell.left, cell.right]
    return shape_of(
        (root.left.time, root.threshold, root.feature, root.left.n_samples), times, depths
    )


def shape_of_tree(arena, tree, stop_if_pure):
    """Read the shape from the arrays; making thousands of tables would take most of the time."""
    left, right, split_times = (arena.nodes[tree][n] for n in ("left", "right", "split_time"))
    # targets have no counts, and cells are never pure
    is_pure = np.count_nonzero(arena.counts[tree], axis=1) == 1
    root = int(arena.trees["root"][tree])
    depths, times, pending = [], [], [(root, 0)]
    while pending:
        node, depth = pending.pop()
        if left[node] < 0 or (stop_if_pure and is_pure[node]):
            depths.append(depth)
        else:
            times.append(split_times[node])
            pending += [(left[node], depth + 1), (right[node], depth + 1)]
    row = arena.nodes[tree][root]
    n_left = arena.nodes[tree]["n_samples"][left[root]]
    return shape_of((row["split_time"], row["threshold"], row["feature"], n_left), times, depths)


@functools.cache
def arena_of(kind, order, split_pure):
    """Learn the rows in an order, in many trees."""
    parameters = {"split_pure": split_pure} if kind is AMFClassifier else {}
    model = kind(n_estimators=N_TREES, split_intensity="unit", seed=7, **parameters)
    for i in order:
        model.learn_one(dict(enumerate(ROWS[i])), LABELS[i])
    return model._arena


def shapes(order, kind=AMFClassifier, split_pure=False, stop_if_pure=False):
    arena = arena_of(kind, order, split_pure)
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


@pytest.mark.parametrize("order", [IN_ORDER, SHUFFLED])
@pytest.mark.parametrize(
    ("kind", "split_pure"), [(AMFClassifier, False), (AMFClassifier, True), (AMFRegressor, True)]
)
def test_trees_follow_law_of_mondrian_trees(kind, split_pure, order):
    # late splitting: those cut at pure cells
    assert_same_law(shapes(order, kind, split_pure), drawn(stop_if_pure=not split_pure))


def test_late_splitting_follows_law_of_splitting_pure():
    assert_same_law(shapes(IN_ORDER), shapes(SHUFFLED, split_pure=True, stop_if_pure=True))
