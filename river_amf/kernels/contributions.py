"""How much each feature moved what trees predict for a sample (DESIGN.md: contributions)."""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels import steps
from river_amf.kernels.classification.opinion_pool import VOTE_FLOOR
from river_amf.kernels.features.intensity import clip_outliers
from river_amf.kernels.numba_tools.arrays import (
    NONE,
    Array,
    Forest,
    Tree,
    array_at,
    parts_of,
    tree_of,
)
from river_amf.kernels.numba_tools.compilation import choose, hot, quick_kernel
from river_amf.kernels.regression.densities import estimate_of
from river_amf.kernels.tree.estimates import probability
from river_amf.kernels.tree.structure import is_end, next_visit, pass_on
from river_amf.state.layout import LEAF, LOCATION, MEAN


@hot
def add_labels(
    forest: Forest, tree: Tree, index: int, above: float, mass: float, reach: float, parts: Array
) -> float:
    """Add the terms of a node that `mass` reaches to a vote on labels."""
    # The last part is the sum of the terms so far.
    settings, node, last = tree.settings, tree.nodes[index], parts.shape[1] - 1
    learns_vote, parent = settings["learns_vote"], node["parent"]
    for c in range(settings["n_labels"]):
        p = probability(tree, index, c)
        if parent == NONE:
            parts[c, 0] = math.log(p + VOTE_FLOOR) if learns_vote else p
            parts[c, last] = p
            continue
        term = mass * (p - probability(tree, parent, c))
        so_far = parts[c, last]
        parts[c, last] += term
        if learns_vote:
            term = math.log1p(term / (so_far + VOTE_FLOOR))
        parts[c, 1 + tree.nodes[parent]["feature"]] += term
    return 0.0


@hot
def add_target(
    forest: Forest, tree: Tree, index: int, above: float, mass: float, reach: float, parts: Array
) -> float:
    """Do so for an estimate and a leaf's mean, which `reach` of the sample gets to."""
    # `above` is the estimate of the parent, as in `target_trees.take_vote`.
    node, targets, parent = tree.nodes[index], tree.targets, tree.nodes[index]["parent"]
    mean, faded = targets[index, MEAN], tree.faded[index]
    if parent == NONE:
        above = mean
    estimate = estimate_of(tree.settings, node["n_samples"], targets[index], faded, above)
    if parent == NONE:
        parts[LOCATION, 0], parts[LEAF, 0] = estimate, mean
    else:
        place = 1 + tree.nodes[parent]["feature"]
        parts[LOCATION, place] += mass * (estimate - above)
        parts[LEAF, place] += reach * (mean - targets[parent, MEAN])
    return estimate


add_terms = choose(add_labels, add_labels, add_target)


@quick_kernel
def parts_of_trees(forest: Forest, sample: int, parts: int, n_parts: int) -> None:
    """Write the parts of the vote of each tree, but none of a tree that has just restarted."""
    # `sample` is as in learn_sample; `parts` the address of (n_trees, n_columns, n_parts) zeros.
    settings, n_columns = forest.settings, forest.votes.shape[2]
    values, clipped, coded = parts_of(sample, settings["n_features"])
    votes = array_at(parts, (len(forest.trees), n_columns, n_parts), np.float64)
    clip_outliers(forest, values, len(values), clipped)
    for t in range(len(forest.trees)):
        tree, vote = tree_of(forest, t, forest.intensity[0], forest.intensity), votes[t]
        x = steps.seen_by(forest, t, clipped, coded)
        index, above, mass, reach, n_open, n_visits = tree.state["root"], 0.0, 1.0, 1.0, 0, 0
        while index != NONE:
            node = tree.nodes[index]
            n_visits += 1
            above = add_terms(forest, tree, index, above, mass, reach, vote)
            rest = pass_on(settings, node, mass)[1]
            ends = is_end(node, rest, reach)
            branch, at = (rest, above, reach), (n_open, n_visits)
            index, mass, above, reach, n_open = next_visit(
                tree.nodes, node, x, ends, branch, forest.branches[t], at
            )
        vote[:, n_parts - 1] = 0.0
