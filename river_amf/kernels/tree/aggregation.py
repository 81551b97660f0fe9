"""Aggregation: the average over all prunings of a tree (DESIGN.md: aggregation; [CTW])."""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels.lateness import lateness_of, set_fading
from river_amf.kernels.numba_tools.arrays import NONE, Array, Forest, Record, Tree, unsigned
from river_amf.kernels.numba_tools.compilation import allocating, helper, hot, kernel
from river_amf.kernels.tree import estimates, gains
from river_amf.kernels.tree.structure import is_end, is_leaf, next_visit, pass_on, walk_from
from river_amf.state.layout import FADED_COUNTS, FADED_SHARE, FADED_SUM

SAFE = 1e50  # with counts between it and its inverse, products of three quotients stay in range


@hot
def aggregate_upwards(
    tree: Tree, leaf: int, label: int, weight: float, changed: int, log_growth: float
) -> None:
    """Count a sample on its path and update the log-odds, leaf to root (DESIGN.md: learning)."""
    # `changed` is the node below which the structure has changed (or NONE), and exp(log_growth) the
    # factor by which that change alone has multiplied its wbar.
    settings = tree.settings
    growth = 1.0 if changed == NONE else math.exp(log_growth)
    root = tree.nodes[tree.state["root"]]
    smallest = min(settings["dirichlet"], growth)
    largest = max(root["n_samples"], settings["total_dirichlet"], growth)
    is_safe = smallest * SAFE > 1.0 and largest < SAFE
    if weight == 1.0 and settings["step"] == 1.0 and is_safe:
        aggregate_unit_weight(tree, leaf, label, changed, growth)
    else:
        aggregate_any_weight(tree, leaf, label, weight, changed, log_growth)


@hot
def aggregate_unit_weight(tree: Tree, leaf: int, label: int, changed: int, growth: float) -> None:
    """Aggregate upwards for weight 1 and eta 1, where p and g cannot underflow."""
    # With p from before the sample is counted and g from the child: r_v += log p - log g, and then
    # g = sigma(r) p + (1 - sigma(r)) g with the old r.
    a = tree.settings["dirichlet"]
    total = tree.settings["total_dirichlet"]
    follows_gains = tree.settings["relevance"]
    gaining = gains.begin_gains(tree, 1.0) if follows_gains else 0.0
    g = below = 1.0
    faded_share = 0.0
    index = leaf
    while index != NONE:
        node = tree.nodes[unsigned(index)]
        p = (tree.counts[unsigned(index), label] + a) / (node["n_samples"] + total)
        share = 0.0
        if tree.state["fades"]:
            share = tree.faded[unsigned(index), FADED_SHARE]
            p = estimates.learn_faded(tree, tree.faded[unsigned(index)], label, p)
        if is_leaf(node):
            g = p
            faded_share = share
        else:
            own_share, passed_on = estimates.shares(node)
            if follows_gains:
                gains.count_gain(tree, node["feature"], gaining, passed_on, below - p)
            estimates.multiply_odds(node, p / g)
            g = own_share * p + passed_on * g
            if tree.settings["use_aggregation"]:
                faded_share = own_share * share + passed_on * faded_share
        below = p
        if index == changed:
            g *= growth
        tree.counts[unsigned(index), label] += 1.0
        node["n_samples"] += 1.0
        index = node["parent"]
    if tree.state["fades"]:
        estimates.note_share(tree.state, faded_share)


@helper
def aggregate_any_weight(
    tree: Tree, leaf: int, label: int, weight: float, changed: int, log_growth: float
) -> None:
    # r_v += eta log p - log g, and then g = sigma(r) p^eta + (1 - sigma(r)) g with the old r, that
    # is, log g += softplus(new r) - softplus(old r).
    follows_gains = tree.settings["relevance"]
    gaining = gains.begin_gains(tree, weight) if follows_gains else 0.0
    log_g = below = 0.0
    faded_share = 0.0
    index = leaf
    while index != NONE:
        node = tree.nodes[index]
        p = estimates.probability(tree, index, label)
        n_samples = node["n_samples"]
        count = tree.counts[index, label]
        log_p = estimates.log_score(tree.settings, count, n_samples, weight)
        share = 0.0
        if tree.state["fades"]:
            share = tree.faded[index, FADED_SHARE]
            log_p = estimates.learn_faded_weight(tree, tree.faded[index], label, log_p, weight)
        log_p = estimates.tempered(tree.settings, log_p)
        if is_leaf(node):
            log_g = log_p
            faded_share = share
        else:
            own_share, rest = estimates.shares(node)
            if follows_gains:
                gains.count_gain(tree, node["feature"], gaining, rest, below - p)
            if tree.settings["use_aggregation"]:
                faded_share = own_share * share + rest * faded_share
            log_g = score_odds(node, log_p, log_g)
        below = p
        if index == changed:
            log_g += log_growth
        tree.counts[index, label] = count + weight
        node["n_samples"] = n_samples + weight
        index = node["parent"]
    if tree.state["fades"]:
        estimates.note_share(tree.state, faded_share)


@hot
def score_odds(node: Record, log_p: float, log_g: float) -> float:
    """Update a node's log-odds, given eta log p and the log g of the node below; return its own."""
    old = estimates.log_odds_in(node)
    new = old + log_p - log_g
    estimates.set_log_odds(node, new)
    return log_g + (estimates.softplus(new) - estimates.softplus(old))


@hot
def predict_tree(forest: Forest, t: int, x: Array, proba: Array) -> None:
    """Write the tree's prediction for x to `proba`, from root to leaf (DESIGN.md: prediction)."""
    settings, nodes = forest.settings, forest.nodes[t]
    counts, faded, fades = forest.counts[t], forest.faded[t], forest.trees[t]["fades"]
    n_classes = settings["n_classes"]
    total = settings["total_dirichlet"]
    walk = walk_from(forest.trees[t]["root"], 0.0)
    for c in range(n_classes):
        proba[c] = 1.0 / n_classes if walk.node == NONE else 0.0
    prior = 0.0  # what the Dirichlet prior gives to each class
    while walk.node != NONE:
        index = unsigned(walk.node)
        node = nodes[index]
        part, rest = pass_on(settings, node, walk.mass)
        part = walk.mass if is_end(node, rest, walk.reach) else part
        if part > 0.0:
            if fades:
                row = faded[index]
                faded_part = part * row[FADED_SHARE]
                part -= faded_part
                faded_scale = faded_part / (row[FADED_SUM] + total)
                scale = part / (node["n_samples"] + total)
                prior += faded_scale + scale
                for c in range(n_classes):
                    faded_p = faded_scale * row[FADED_COUNTS + c]
                    proba[c] += faded_p + scale * counts[index, c]
            else:
                scale = part / (node["n_samples"] + total)
                prior += scale
                for c in range(n_classes):
                    proba[c] += scale * counts[index, c]
        walk = next_visit(forest, t, x, walk, rest, 0.0)
    prior *= settings["dirichlet"]
    for c in range(n_classes):
        proba[c] += prior


@allocating
def recompute_odds(settings: Record, state: Record, nodes: Array, counts: Array) -> None:
    """Recompute all log-odds of a tree from its counts (DESIGN.md: new labels)."""
    # The walk needs no stack.
    log_wbar = np.empty(state["n_nodes"])
    index = state["root"]
    previous = NONE
    while index != NONE:
        node = nodes[index]
        following = node["parent"]
        if is_leaf(node):
            log_wbar[index] = estimates.log_weight(settings, counts[index], node["n_samples"])
        elif previous == node["right"]:
            log_w = estimates.log_weight(settings, counts[index], node["n_samples"])
            log_children = log_wbar[node["left"]] + log_wbar[node["right"]]
            log_odds = estimates.log_odds_of(settings, log_w, log_children)
            estimates.set_log_odds(node, log_odds)
            log_wbar[index] = log_w - estimates.log_own_surplus(settings, log_odds)
        else:
            following = node["right"] if previous == node["left"] else node["left"]
        previous = index
        index = following


@kernel
def recompute_all_odds(forest: Forest) -> None:
    """Recompute all log-odds, as the number of classes or the Dirichlet parameter has changed."""
    # With fading, they have no closed form.
    for t in range(len(forest.trees)):
        set_fading(forest, t, lateness_of(forest.counters))
        if not forest.trees[t]["fades"]:
            recompute_odds(forest.settings, forest.trees[t], forest.nodes[t], forest.counts[t])
