"""Trees of a regression, where they differ from those of a classifier (DESIGN.md: real targets)."""

from __future__ import annotations

import math

from river_amf.kernels.features.fading import cleared_sum, decay_of
from river_amf.kernels.numba_tools.arrays import NONE, Array, Forest, Tree, unsigned
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.kernels.regression.densities import estimate_of, score_target, spread_about
from river_amf.kernels.status import ENOUGH_CAPACITY
from river_amf.kernels.tree import estimates, gains, structure
from river_amf.kernels.tree.aggregation import score_odds
from river_amf.kernels.tree.growth import grow
from river_amf.kernels.tree.restarts import count_loss, is_outdated, may_restart, restart_tree
from river_amf.state import layout
from river_amf.state.layout import LEAF, LOCATION, MEAN, SPREAD, SQUARES

ERROR_DECAY = 0.999  # of the squared errors that sigma^2 is the mean of
ENOUGH = 20.0  # weight of these errors; before that, sigma^2 is the variance of the targets
LARGEST_ERROR = 5.0  # in units of sigma; larger ones count as that
LARGEST_SQUARE = 9.0  # of an error, in units of sigma^2 (losses) or of the variance (gains)
LEAST_ERROR_VARIANCE = 1e-12  # of sigma^2, relative to the variance of the targets
NO_VARIANCE = 1e-280  # of the targets; less counts as none, or sigma^2 could be subnormal

# Densities and their quotients are far from the limits of float64 if sigma^2 is at least SMALL
# times the weight of all samples, no density is below TINY, and log_growth is above LEAST_GROWTH.
SMALL = 1e-100
LEAST_LOG_GROWTH = -100.0


@helper
def take_vote(forest: Forest, t: int, x: Array, vote: Array) -> None:
    """Write a tree's prediction, the variance of the mix of its nodes' laws, and its leaf."""
    settings, state, nodes = forest.settings, forest.trees[t], forest.nodes[t]
    targets, faded = forest.targets[t], forest.faded[t]
    root, variance = state["root"], state["variance"]
    vote[LOCATION], vote[SPREAD], vote[LEAF] = 0.0, 0.0, 0.0
    if root == NONE:
        return
    center = targets[root, MEAN]  # whose square, far from 0, would cost digits
    walk = structure.walk_from(root, center)
    location, square = 0.0, 0.0
    while walk.node != NONE:
        index, above = unsigned(walk.node), walk.above
        node, row, faded_row = nodes[index], targets[index], faded[index]
        n = node["n_samples"]
        estimate = estimate_of(settings, n, row, faded_row, above)
        own, rest = structure.pass_on(settings, node, walk.mass)
        if structure.is_end(node, rest, walk.reach):
            own = walk.mass
            vote[LEAF] += walk.reach * row[MEAN]
        if own > 0.0:
            location += own * (estimate - center)
            square += own * spread_about(settings, n, row, faded_row, above, variance, center)
        walk = structure.next_visit(forest, t, x, walk, rest, estimate)
    vote[LOCATION] = center + location
    vote[SPREAD] = max(square - location * location, 0.0)


@helper
def learn_tree(
    forest: Forest, tree: Tree, x: Array, target: float, weight: float, context: Array, row: int
) -> int:
    """Learn a sample in one tree; its capacity has to suffice."""
    if is_outdated(tree.settings, tree.state, context):
        restart_tree(tree.state, tree.links, int(context[layout.SAMPLE_NUMBER]))
    leaf, changed, log_growth = grow(tree, x, row)
    is_unit = weight == 1.0 and tree.settings["step"] == 1.0
    variance, n = tree.state["variance"], tree.nodes[tree.state["root"]]["n_samples"]
    by_logarithms = not is_unit or 0.0 < variance < SMALL * max(n, 1.0)
    fading = weight / (1.0 + context[layout.LATENESS])
    is_safe = score_downwards(tree, x, target, weight, fading, by_logarithms)
    if is_safe and log_growth > LEAST_LOG_GROWTH:
        weigh_upwards(tree, leaf, changed, math.exp(log_growth))
    else:
        weigh_logarithms_upwards(tree, leaf, changed, log_growth, by_logarithms)
    return ENOUGH_CAPACITY


@hot
def score_downwards(
    tree: Tree, x: Array, target: float, weight: float, fading: float, by_logarithms: bool
) -> bool:
    """Score a target at all nodes on its path, root to leaf, and count it there."""
    # Returns whether no score is a logarithm. `fading` is the weight in faded laws.
    settings, nodes, variance = tree.settings, tree.nodes, tree.state["variance"]
    index = tree.state["root"]
    above = tree.targets[index, MEAN]
    mass, faded_share, least = 1.0, 0.0, 1.0
    follows_gains = settings["relevance"]
    gaining = gains.begin_gains(tree, weight) if follows_gains else 0.0
    n_root = nodes[unsigned(index)]["n_samples"]
    target_variance = tree.targets[index, SQUARES] / n_root if n_root > 0.0 else 0.0
    split_by, passed_on, square_above = NONE, 0.0, 0.0
    while True:
        node = nodes[unsigned(index)]
        n, row = node["n_samples"], tree.targets[unsigned(index)]
        faded = tree.faded[unsigned(index)]
        if settings["fades"]:
            own, mass = structure.pass_on(settings, node, mass)
            faded_share += own * faded[layout.FADED_SHARE]
        estimate = estimate_of(settings, n, row, faded, above)
        score = score_target(
            settings, n, row, faded, above, variance, target, weight, fading, by_logarithms
        )
        tree.scores[unsigned(index), 0] = score
        least = min(least, score)
        leaf = structure.is_leaf(node)
        if follows_gains:
            error = target - estimate
            square = 0.0
            if target_variance > NO_VARIANCE:
                square = min(error * error / target_variance, LARGEST_SQUARE)
            if split_by != NONE:
                gains.count_gain(tree, split_by, gaining, passed_on, square_above - square)
            split_by, square_above = node["feature"], square
            passed_on = estimates.shares(node)[1]
        # by the weights from before
        following = NONE if leaf else structure.next_node(nodes, node, x)
        node["n_samples"] = n + weight
        if leaf:
            break
        above = estimate
        index = following
    if settings["fades"]:
        estimates.note_share(tree.state, faded_share)
    return least > 0.0 and not by_logarithms


@hot
def weigh_upwards(tree: Tree, leaf: int, changed: int, growth: float) -> None:
    """Update the odds for a target that has been scored, leaf to root (DESIGN.md: learning)."""
    # As `aggregate_unit_weight` does with labels.
    g = 1.0
    index = leaf
    while index != NONE:
        node, p = tree.nodes[unsigned(index)], tree.scores[unsigned(index), 0]
        if structure.is_leaf(node):
            g = p
        else:
            own_share, rest = estimates.shares(node)
            estimates.multiply_odds(node, p / g)
            g = own_share * p + rest * g
        if index == changed:
            g *= growth
        index = node["parent"]


@helper
def weigh_logarithms_upwards(
    tree: Tree, leaf: int, changed: int, log_growth: float, by_logarithms: bool
) -> None:
    """Do the same where densities may be beyond float64, or for any weight and eta."""
    log_g = 0.0
    index = leaf
    while index != NONE:
        node, score = tree.nodes[index], tree.scores[index, 0]
        log_p = score if by_logarithms or score < 0.0 else math.log(score)
        log_p = estimates.tempered(tree.settings, log_p)
        log_g = log_p if structure.is_leaf(node) else score_odds(node, log_p, log_g)
        if index == changed:
            log_g += log_growth
        index = node["parent"]


@helper
def update_error_variance(
    forest: Forest, t: int, vote: Array, target: float, weight: float, context: Array
) -> None:
    """Update sigma^2 and the losses of a tree, given its prediction for a target just learned."""
    # The prediction is left out if the tree was empty then, or has restarted since.
    state, settings = forest.trees[t], forest.settings
    variance = state["variance"]
    if context[layout.SAMPLE_NUMBER] - context[layout.DELAY] > state["restarted_at"]:
        error = target - vote[LOCATION]
        square = error * error
        if may_restart(settings, t):
            most = LARGEST_SQUARE * variance
            loss = min(square, most) / most if most > 0.0 else 0.0
            count_loss(state, loss, weight, context)
        if state["error_weight"] > ENOUGH and variance > 0.0:
            square = min(square, LARGEST_ERROR * LARGEST_ERROR * variance)
        decay, gain = decay_of(ERROR_DECAY, weight)
        state["error_weight"] = decay * state["error_weight"] + gain
        state["error_squares"] = cleared_sum(decay * state["error_squares"]) + gain * square
    root = state["root"]
    total = forest.targets[t, root, SQUARES] / forest.nodes[t, root]["n_samples"]
    variance = total
    if state["error_weight"] > ENOUGH:
        variance = max(state["error_squares"] / state["error_weight"], LEAST_ERROR_VARIANCE * total)
    state["variance"] = variance if total > NO_VARIANCE else 0.0
