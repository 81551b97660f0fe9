"""How much each feature moved a prediction, written by what predicts (DESIGN.md: contributions).

The *parts* of a vote sum to it. They are a baseline, one of each feature and of each word without
a column, and a rest, which is 0 here. An array of parts is one of votes in which samples are parts,
followed by five more rows.
"""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels import steps
from river_amf.kernels.classification import additive_models, perceptron, sparse_model
from river_amf.kernels.classification.opinion_pool import VOTE_FLOOR
from river_amf.kernels.features.intensity import clip_outliers
from river_amf.kernels.features.standardization import share_cosines, take_arguments
from river_amf.kernels.numba_tools.arrays import (
    NONE,
    Array,
    Forest,
    Tree,
    array_at,
    dot,
    inputs_of,
    rows_of_sample,
    tree_of,
)
from river_amf.kernels.numba_tools.compilation import (
    allocating,
    choose,
    helper,
    hot,
    nothing,
    quick_kernel,
)
from river_amf.kernels.regression import target_pool, trends
from river_amf.kernels.regression.densities import estimate_of
from river_amf.kernels.tree.estimates import probability
from river_amf.kernels.tree.structure import next_visit, pass_on, walk_from
from river_amf.state import layout
from river_amf.state.layout import LEAF, LOCATION, MEAN, MOST_TERMS, MOST_TREND_FEATURES, N_TRENDS

# The rows behind those of voters: of the prediction of a regressor; profiles, by label; and of each
# stack the voters, as part 0, and the base, as part 1.
OF_FOREST, PROFILES, STACKS = 0, 1, 2
N_MORE = 5


@hot
def add_labels(
    forest: Forest, tree: Tree, index: int, above: float, mass: float, reach: float, parts: Array
) -> float:
    """Add the terms of a node that `mass` reaches to a vote on labels."""
    # The last part is the sum of the terms so far.
    settings, node, last = tree.settings, tree.nodes[index], len(parts) - 1
    learns_vote, parent = settings["learns_vote"], node["parent"]
    for c in range(settings["n_labels"]):
        p = probability(tree, index, c)
        if parent == NONE:
            parts[0, c] = math.log(p + VOTE_FLOOR) if learns_vote else p
            parts[last, c] = p
            continue
        term = mass * (p - probability(tree, parent, c))
        so_far = parts[last, c]
        parts[last, c] += term
        if learns_vote:
            term = math.log1p(term / (so_far + VOTE_FLOOR))
        parts[1 + tree.nodes[parent]["feature"], c] += term
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
        parts[0, LOCATION], parts[0, LEAF] = estimate, mean
    else:
        part = 1 + tree.nodes[parent]["feature"]
        parts[part, LOCATION] += mass * (estimate - above)
        parts[part, LEAF] += reach * (mean - targets[parent, MEAN])
    return estimate


add_terms = choose(add_labels, add_labels, add_target)


@hot
def subtract_baseline(parts: Array, part: int, n: int) -> None:
    """Turn the votes of a part together with the baseline into those of the part."""
    for c in range(n if part > 0 else 0):
        parts[part, c] -= parts[0, c]


@allocating
def add_linear_models(forest: Forest, sample: int, output: int, parts: Array) -> None:
    n_trees, n_voters, settings = len(forest.trees), len(forest.votes), forest.settings
    n_features, n_labels = settings["n_features"], settings["n_labels"]
    if len(forest.linear_models) > 0:
        standardized, perceptron_inputs, inputs, _ = inputs_of(output, forest)
        z, scale = standardized[0], additive_models.COSINE_SCALE
        units = np.zeros((2, layout.N_UNITS))
        arguments, cosines = inputs[additive_models.RAW], inputs[additive_models.COSINES]
        perceptron.take_arguments(forest, perceptron_inputs, units[0])
        take_arguments(forest, 0, scale, z, 0, n_features, arguments)
        for part in range(1 + n_features):
            j = part - 1
            share_cosines(forest, 0, scale, z, j, arguments, cosines)
            additive_models.take_inputs(forest, standardized, j, part, perceptron_inputs, inputs)
            for c in range(n_labels if j >= 0 else 0):
                profile = inputs[layout.N_COMMON + c, j % MOST_TERMS]
                parts[n_voters + PROFILES, part, c] = profile
            perceptron.take_arguments(forest, perceptron_inputs, units[1])
            perceptron.share_units(forest, units[0], units[1], parts[n_trees, part])
            for k in range(layout.N_ADDITIVE):
                vote = parts[n_trees + 1 + k, part]
                additive_models.predict_additive(forest, k, inputs, vote)
            for v in range(n_trees, n_trees + 1 + layout.N_ADDITIVE):
                subtract_baseline(parts[v], part, n_labels)
    if settings["has_sparse_expert"]:
        words, word_parts = sparse_model.words_of(sample, n_features, True), parts[n_voters - 2]
        sparse_model.predict_sparse(forest, words[:0], word_parts[0])
        next_part = 1 + n_features
        for i in range(len(words)):
            part = forest.words[int(words[i, 0])]["column"]
            if part <= 0:
                part = next_part
                next_part += 1
            sparse_model.predict_sparse(forest, words[i : i + 1], word_parts[part])
            subtract_baseline(word_parts, part, n_labels)


@helper
def add_trends(forest: Forest, sample: int, output: int, parts: Array) -> None:
    """Write the parts of trends, of their stack, and of the prediction of a regressor."""
    n_trees, n_voters, votes = len(forest.trees), len(forest.votes), forest.votes
    x = rows_of_sample(sample, forest.settings["n_features"])[1]
    stack_parts = parts[n_voters + STACKS :]
    if len(forest.trends) > 0:
        standardized, _, _, all_terms = inputs_of(output, forest)
        terms, z, scale = all_terms[0], standardized[0], trends.COSINE_SCALE
        arguments, cosines = terms[trends.RAW], terms[trends.SMOOTH_TERMS, 1:]
        take_arguments(forest, 0, scale, z, 0, len(x), arguments)
        for part in range(1 + len(x)):
            j = part - 1
            share_cosines(forest, 0, scale, z, j, arguments, cosines)
            trends.take_terms(forest, x, z, j, part, terms)
            if j >= 0:
                profile = terms[trends.FAST_TERMS, 2 + 2 * (j % MOST_TREND_FEATURES)]
                parts[n_voters + PROFILES, part, 0] = profile
            for k in range(N_TRENDS):
                parts[n_trees + k, part, LOCATION] = trends.predict_trend(forest, k, terms)
                subtract_baseline(parts[n_trees + k], part, 1)
        stack = stack_parts[target_pool.OF_TRENDS]
        stack[1, 0] = trends.take_voters(forest, votes, 0, stack[0])
    recent = target_pool.recent_values(forest, forest.context[layout.LATENESS])
    share, stack = target_pool.agreement(forest, votes, 0), stack_parts[target_pool.OF_VOTERS]
    stack[1, 0] = target_pool.mean_of_trees(forest, votes, 0)
    target_pool.take_voters(forest, votes, 0, stack[1, 0], recent, share, stack[0])
    stack = stack_parts[target_pool.OF_LAST]
    stack[0, 0] = target_pool.combined(forest, votes, 0, recent, forest.pooled)
    stack[1, 0] = recent[2]
    for part in range(parts.shape[1] - 1):
        add_stacks(forest, parts, part, recent, share)
        recent = 0.0, 0.0, 0.0  # constants are part of the baseline


@helper
def add_stacks(
    forest: Forest, parts: Array, part: int, recent: target_pool.Recent, share: float
) -> None:
    """Write a part of what stacks make of their voters, without bounds."""
    voters, weights = forest.pooled, forest.stack_weights
    if len(forest.trends) > 0:
        p = trends.take_voters(forest, parts, part, voters)
        p = unbounded(weights[target_pool.OF_TRENDS], voters, trends.N_VOTERS, part, p)
        parts[len(forest.trees) + N_TRENDS, part, LOCATION] = p
    p = target_pool.mean_of_trees(forest, parts, part)
    if forest.settings["is_stacked"]:
        target_pool.take_voters(forest, parts, part, p, recent, share, voters)
        n = target_pool.n_voters_of(forest)
        p = unbounded(weights[target_pool.OF_VOTERS], voters, n, part, p)
    parts[len(forest.votes) + OF_FOREST, part, LOCATION] = target_pool.with_last(forest, p, recent)


@hot
def unbounded(weights: Array, voters: Array, n: int, part: int, base: float) -> float:
    if part > 0:
        voters[n - 1] = 0.0  # the mean of the targets, which is a constant
    target_pool.stacked(weights, voters, n, base)  # makes them distances from the base
    return base + dot(weights, voters, n)


add_experts = choose(nothing, add_linear_models, add_trends)


@quick_kernel
def parts_of_sample(forest: Forest, sample: int, output: int, parts: int, n_parts: int) -> None:
    """Write the parts of all votes for a sample that has just been predicted."""
    # `sample` and `output` are as in predict_sample, except that this writes to the inputs in
    # `output`; `parts` is the address of (n_voters + N_MORE, n_parts, n_columns) zeros.
    settings = forest.settings
    values, clipped, coded = rows_of_sample(sample, settings["n_features"])
    shape = len(forest.votes) + N_MORE, n_parts, forest.votes.shape[2]
    all_parts = array_at(parts, shape, np.float64)
    clip_outliers(forest, values, len(values), clipped)
    for t in range(len(forest.trees)):
        tree, vote = tree_of(forest, t, forest.intensity[0], forest.intensity), all_parts[t]
        x = steps.seen_by(forest, t, clipped, coded)
        walk = walk_from(tree.state["root"], 0.0)
        for c in range(vote.shape[1] if walk.node == NONE else 0):  # it has just restarted
            vote[0, c] = forest.votes[t, 0, c]
        while walk.node != NONE:
            above = add_terms(forest, tree, walk.node, walk.above, walk.mass, walk.reach, vote)
            rest = pass_on(settings, tree.nodes[walk.node], walk.mass)[1]
            walk = next_visit(forest, t, x, walk, rest, above)
        vote[n_parts - 1] = 0.0
    add_experts(forest, sample, output, all_parts)
