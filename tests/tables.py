"""A tree as shown by `inspection.node_table`, and how to check it with the oracles of `naive`."""

import math
from collections.abc import Sized
from typing import Any

import naive
import pandas as pd
import pytest

from river_amf import AMFClassifier, inspection, kernels

SIDES = "right", "left"


def n_classes(model: AMFClassifier) -> int:
    """Return the number of classes in the prior: the given number, or of those seen."""
    return model.n_classes or len(model._labels)


def dirichlet(model: AMFClassifier) -> float:
    """Return the Dirichlet parameter in force (DESIGN.md: node prediction)."""
    if model.dirichlet is not None:
        return model.dirichlet
    return 0.5 if n_classes(model) <= 2 else 0.01


def weights(model: AMFClassifier) -> dict[str, float]:
    """Return the parameters of the weights in the form that the oracles take."""
    return {"step": model.step, "dirichlet": dirichlet(model)}


def cells(model: AMFClassifier, table: pd.DataFrame) -> dict[int, naive.Cell]:
    """Return the linked cells of a tree by node, with a count for each class of the prior."""
    unseen = (0.0,) * (n_classes(model) - len(model._labels))
    made = {
        node: naive.Cell((*counts.values(), *unseen))
        for node, counts in zip(table["node"], table["counts"], strict=True)
    }
    for node, left, right in zip(table["node"], table["left"], table["right"], strict=True):
        if left >= 0:
            made[node].left, made[node].right = made[left], made[right]
    return made


def root(table: pd.DataFrame) -> int:
    (node,) = table["node"].to_numpy()[table["parent"].to_numpy() < 0]
    return int(node)


def path(table: pd.DataFrame, x: dict[Any, Any], model: AMFClassifier, tree: int = 0) -> list[int]:
    """Return the nodes that learn x, from the root to a leaf; see `paths`."""
    return paths(table, x, model, tree)[0][1]


def paths(
    table: pd.DataFrame, x: dict[Any, Any], model: AMFClassifier, tree: int = 0
) -> list[tuple[float, list[int]]]:
    """Walk from the root to the leaves of x, by what the table of a tree shows.

    There are several where numbers are missing, each with its share of the samples there; that to
    the heavier children comes first. The table leaves out what missing values count as.
    """
    # arrays, because looking up rows of a dataframe would take most of a test's time
    columns = {name: table[name].to_numpy() for name in table.columns}
    stand_ins = dict(zip(model._features, model._arena.stand_ins.tolist(), strict=False))
    found, pending = [], [(1.0, [root(table)])]
    while pending:
        share, nodes = pending.pop()
        row = {name: values[nodes[-1]] for name, values in columns.items()}
        if row["left"] < 0:
            found.append((share, nodes))
            continue
        value, is_category = x.get(row["feature"]), row["categories_left"] is not None
        is_missing = value is None or value != value
        if is_missing:
            value = stand_ins[row["feature"]]
        if value != value:
            weights = {int(row[side]): columns["n_samples"][row[side]] for side in SIDES}
            for child in sorted(weights, key=weights.__getitem__):  # of equals, the left one last
                pending.append((share * weights[child] / sum(weights.values()), [*nodes, child]))
            continue
        if is_category and is_missing:
            column = model._features.column(row["feature"])
            goes_left = (
                kernels.category_number(model._arena, tree, column, value) <= row["threshold"]
            )
        elif is_category:
            goes_left = value in row["categories_left"]
        else:
            goes_left = value <= row["threshold"]
        pending.append((share, [*nodes, int(row["left"] if goes_left else row["right"])]))
    return found


def is_full(model: AMFClassifier, table: Sized) -> bool:
    """Return whether a tree has no room for a split, so that it may have undone some."""
    return model.max_nodes is not None and len(table) + 2 > model.max_nodes


def check_tree_odds(
    model: AMFClassifier, table: pd.DataFrame, log_w: dict[int, float], tolerance: float
) -> None:
    """Compare the log-odds of a tree with those that follow from log w_v of its nodes.

    r_v = log((1-b)/b) + log w_v - log wbar_left - log wbar_right (DESIGN.md: aggregation).
    """
    log_stop, log_split = math.log1p(-model.split_prior), math.log(model.split_prior)
    log_wbar, log_odds, expected = {}, [], []
    for row in table.sort_values("depth", ascending=False).itertuples():
        if row.left < 0:
            assert math.isnan(row.log_odds)
            log_wbar[row.node] = log_w[row.node]
            continue
        below = log_wbar[row.left] + log_wbar[row.right]
        log_wbar[row.node] = naive.log_add(log_stop + log_w[row.node], log_split + below)
        log_odds.append(row.log_odds)
        expected.append(log_stop - log_split + log_w[row.node] - below)
    assert log_odds == pytest.approx(expected, rel=1e-9, abs=tolerance)


def check_log_odds(model: AMFClassifier, tolerance: float) -> None:
    """Compare all log-odds of a forest, but of full trees, with their closed form."""
    for tree in range(model.n_estimators):
        table = inspection.node_table(model, tree)
        if not is_full(model, table):
            log_w = {
                v: naive.log_w(cell, **weights(model)) for v, cell in cells(model, table).items()
            }
            check_tree_odds(model, table, log_w, tolerance)


def check_structure(table: pd.DataFrame) -> None:
    """Check that the nodes of a tree are linked, and that each is the sum of its children."""
    rows: dict[int, Any] = {row.node: row for row in table.itertuples()}
    assert [*rows] == [*range(len(table))]
    assert rows[root(table)].time == 0.0
    for row in rows.values():
        if row.left < 0:
            assert row.right < 0 and row.feature is None and math.isnan(row.threshold)
            continue
        left, right = rows[row.left], rows[row.right]
        assert left.parent == right.parent == row.node
        assert left.depth == right.depth == row.depth + 1
        assert left.time == right.time >= row.time  # equal if float64 has no time in between
        assert row.n_samples == pytest.approx(left.n_samples + right.n_samples, rel=1e-9)
        for label, count in getattr(row, "counts", {}).items():
            total = left.counts[label] + right.counts[label]
            assert count == pytest.approx(total, rel=1e-9, abs=1e-9)
        for side, hull in (("range_min", min), ("range_max", max)):
            ends: dict[Any, float] = {}
            for child in (left, right):
                for name, value in getattr(child, side).items():
                    ends[name] = hull(value, ends.get(name, value))
            assert getattr(row, side) == ends
        # the split separates the boxes of the children
        assert left.range_max[row.feature] <= row.threshold < right.range_min[row.feature]


def log_wbar_root(model: AMFClassifier, table: pd.DataFrame) -> float:
    """Return log wbar of the root of a tree, computed from its stored log-odds.

    log wbar = log w + log(1-b) + softplus(-r) (DESIGN.md: structural changes).
    """
    made, node = cells(model, table), root(table)
    log_w = naive.log_w(made[node], **weights(model))
    if made[node].left is None:
        return log_w
    odds = table.loc[node, "log_odds"]
    softplus = max(-odds, 0.0) + math.log1p(math.exp(-abs(odds)))
    return log_w + math.log1p(-model.split_prior) + softplus


def best_pruning(cell: naive.Cell, split_prior: float, dirichlet: float) -> float:
    """Return min over prunings T of L(T) - log pi(T), by recursion."""
    loss = naive.loss(cell.counts, dirichlet)
    if cell.left is None or cell.right is None:
        return loss
    below = best_pruning(cell.left, split_prior, dirichlet)
    below += best_pruning(cell.right, split_prior, dirichlet)
    return min(loss - math.log1p(-split_prior), below - math.log(split_prior))
