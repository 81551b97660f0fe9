"""The law of the trees, over many seeds, against a sampler that draws Mondrian trees in one go.

Every seed is fixed, so a test that passes once passes always; a wrong law fails by far.
"""

from typing import NamedTuple

import naive
import numpy as np
import pytest
from scipy import stats

from river_amf import AMFClassifier, inspection

pytestmark = pytest.mark.slow

N_TREES = 3000

# the second label comes late, inside and beside the first one's cell; two rows coincide
ROWS = [(0.1, 0.2), (0.9, 0.3), (0.4, 0.8), (0.4, 0.8), (0.6, 0.1), (0.5, 0.4), (0.2, 0.9)]
LABELS = [0, 0, 0, 0, 0, 1, 1]
# and an order in which all nodes are impure early
SHUFFLED = [5, 0, 6, 3, 1, 4, 2]


class Shape(NamedTuple):
    """What is compared of a tree."""

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


def shape_of_table(table):
    root = table.index[table["parent"] < 0][0]
    left = table["left"][root]
    times = sorted(table.loc[table["left"][table["left"] >= 0], "time"])
    return Shape(
        table["time"][left],
        table["threshold"][root],
        table["feature"][root],
        table["n_samples"][left],
        int((table["left"] < 0).sum()),
        int(table["depth"].max()),
        times[1] if len(times) > 1 else np.inf,
    )


def without_pure_splits(table):
    """Cut a tree that split pure cells at once back to where they became pure."""
    is_pure = np.array([sum(n > 0 for n in counts.values()) == 1 for counts in table["counts"]])
    parent = table["parent"].to_numpy()
    kept = (parent < 0) | ~is_pure[parent]
    return table.assign(left=table["left"].where(~is_pure, -1))[kept]


def online(order, **parameters):
    model = AMFClassifier(n_estimators=N_TREES, split_intensity="unit", seed=7, **parameters)
    for i in order:
        model.learn_one(dict(enumerate(ROWS[i])), LABELS[i])
    return [inspection.node_table(model, tree) for tree in range(N_TREES)]


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


@pytest.fixture(scope="module")
def late():
    return online(range(len(ROWS)))


def test_late_splitting_follows_the_law_of_a_mondrian_tree_cut_at_pure_cells(late):
    assert_same_law([shape_of_table(table) for table in late], drawn(stop_if_pure=True))


def test_the_order_of_samples_does_not_change_the_law():
    shapes = [shape_of_table(table) for table in online(SHUFFLED)]
    assert_same_law(shapes, drawn(stop_if_pure=True))


def test_splitting_always_follows_the_law_of_a_mondrian_tree():
    tables = online(range(len(ROWS)), split_pure=True)
    assert_same_law([shape_of_table(table) for table in tables], drawn(stop_if_pure=False))


def test_late_splitting_follows_the_law_of_splitting_always(late):
    always = [without_pure_splits(t) for t in online(SHUFFLED, split_pure=True)]
    shapes = [shape_of_table(table) for table in late]
    assert_same_law(shapes, [shape_of_table(table) for table in always])


def test_the_comparison_tells_a_wrong_law():
    with pytest.raises(AssertionError):
        assert_same_law(drawn(stop_if_pure=True), drawn(stop_if_pure=False))
