"""The vote of the trees, and the losses of each tree (DESIGN.md: learned vote, restarts).

An array of votes is (voters, samples, classes), first trees, then linear models, of which that of
the words is last; for a learned vote it holds logarithms.
"""

from __future__ import annotations

import math

from river_amf.kernels.lateness import slowed
from river_amf.kernels.numba_tools.arrays import Array, Forest, Record
from river_amf.kernels.numba_tools.compilation import extra, helper, hot
from river_amf.kernels.tree.aggregation import predict_tree
from river_amf.kernels.tree.gains import FORGETTING
from river_amf.kernels.tree.restarts import count_loss, is_outdated, may_restart, restart_tree
from river_amf.state.layout import DELAY, HAS_RESTARTED, LATENESS, PENDING_SLOT, SAMPLE_NUMBER

VOTE_FLOOR = 0.001  # added to the probabilities before a learned vote takes logarithms
VOTE_RATE = 0.002
FEW_TREES = 10  # with more, what their weights have in common is learned no faster
LINEAR_FLOOR = -7.0  # of the logarithms of a linear model; that of the trees is about the same
LINEAR_RATE = 0.01
WORDS_RATE = 0.1  # of the linear model of the words, which is right long before the trees are
BIAS_RATE = 0.02
LEAST_POOLED = 1e-9  # a label that was unknown then has a p of 0
PLAIN_RATE = 1.0 / 30.0  # exponent of likelihoods, as labels of a batch are not independent
PLAIN_SWITCHING = 0.0005  # how far the share of plain trees is pulled toward 1/2 at each late label


@helper
def take_vote(forest: Forest, t: int, x: Array, vote: Array) -> None:
    """Write a tree's prediction, or its logarithm log p_t(c) for a learned vote."""
    predict_tree(forest, t, x, vote)
    if forest.settings["learns_vote"]:
        for c in range(forest.settings["n_labels"]):
            vote[c] = math.log(vote[c] + VOTE_FLOOR)


@hot
def mean_votes(settings: Record, votes: Array, i: int, proba: Array) -> None:
    n_labels = settings["n_labels"]
    for c in range(n_labels):
        proba[c] = 0.0
    for t in range(len(votes)):
        for c in range(n_labels):
            proba[c] += votes[t, i, c]
    normalize(proba, n_labels)


@hot
def normalize(proba: Array, n_labels: int) -> None:
    total = 0.0
    for c in range(n_labels):
        total += proba[c]
    for c in range(n_labels):
        proba[c] /= total


@helper
def pool_votes(forest: Forest, votes: Array, i: int, context: Array, proba: Array) -> None:
    n_labels, n_trees = forest.settings["n_labels"], len(forest.trees)
    for c in range(n_labels):
        log_p = forest.bias[c]
        for t in range(n_trees):
            log_p += forest.trees[t]["vote_weight"] * votes[t, i, c]
        for v in range(len(forest.linear_models)):
            log_vote = max(votes[n_trees + v, i, c], LINEAR_FLOOR)
            log_p += forest.linear_models[v]["vote_weight"] * log_vote
        if forest.settings["has_sparse_expert"]:
            log_vote = max(votes[len(votes) - 2, i, c], LINEAR_FLOOR)
            log_p += forest.counters["sparse_weight"] * log_vote
        proba[c] = log_p
    exponentiate(proba, n_labels)


@helper
def plain_votes(forest: Forest, votes: Array, i: int, proba: Array) -> None:
    """Write the geometric mean of the trees with even indices."""
    n_labels, n_trees = forest.settings["n_labels"], len(forest.trees)
    for c in range(n_labels):
        proba[c] = 0.0
        for t in range(0, n_trees, 2):
            proba[c] += 2.0 / (n_trees + n_trees % 2) * votes[t, i, c]
    exponentiate(proba, n_labels)


@hot
def exponentiate(proba: Array, n_labels: int) -> None:
    """Turn logarithms into probabilities."""
    largest = -math.inf
    for c in range(n_labels):
        largest = max(largest, proba[c])
    for c in range(n_labels):
        proba[c] = math.exp(proba[c] - largest)
    normalize(proba, n_labels)


@helper
def answer_votes(forest: Forest, votes: Array, i: int, context: Array, proba: Array) -> None:
    """Write the forest's probabilities: the pool, mixed with plain trees while labels are late."""
    n_labels, plain = forest.settings["n_labels"], forest.pooled
    pool_votes(forest, votes, i, context, proba)
    for c in range(n_labels):
        votes[len(votes) - 1, i, c] = proba[c]
    if context[LATENESS] > 0.0:
        share = forest.counters["plain_share"]
        plain_votes(forest, votes, i, plain)
        for c in range(n_labels):
            proba[c] += share * (plain[c] - proba[c])


@helper
def learn_plain_share(forest: Forest, votes: Array, i: int, label: int, weight: float) -> None:
    """Learn from a late label how well plain trees have predicted, compared with the pool."""
    # By the fixed share of Herbster and Warmuth [HW].
    counters, plain = forest.counters, forest.pooled
    plain_votes(forest, votes, i, plain)
    share, pooled = counters["plain_share"], max(votes[len(votes) - 1, i, label], LEAST_POOLED)
    share *= math.pow(plain[label] / pooled, PLAIN_RATE * weight)
    share /= share + 1.0 - counters["plain_share"]
    counters["plain_share"] = share + PLAIN_SWITCHING * (0.5 - share)


@helper
def learn_vote(
    forest: Forest, votes: Array, i: int, target: float, weight: float, context: Array
) -> None:
    """Follow the gradient of log P(y), log p_t(y) - E_P log p_t for tree t, likewise for beta."""
    n_labels, n_trees = forest.settings["n_labels"], len(forest.trees)
    label = int(target)
    if context[DELAY] > 0.0:
        learn_plain_share(forest, votes, i, label, weight)
    proba = forest.pooled
    pool_votes(forest, votes, i, context, proba)
    slowed_weight = slowed(weight, context)
    # v_t += rate (s^2 mean + s (gradient_t - mean))
    s, total = math.sqrt(min(1.0, FEW_TREES / n_trees)), 0.0
    for t in range(n_trees):
        if context[HAS_RESTARTED + t] > 0.0:
            continue
        gradient = votes[t, i, label]
        for c in range(n_labels):
            gradient -= proba[c] * votes[t, i, c]
        forest.trees[t]["vote_weight"] += VOTE_RATE * slowed_weight * s * gradient
        total += gradient
    for t in range(n_trees):
        if not context[HAS_RESTARTED + t] > 0.0:
            forest.trees[t]["vote_weight"] += (
                VOTE_RATE * slowed_weight * (s * s - s) * total / n_trees
            )
    for v in range(len(forest.linear_models)):
        gradient = gradient_of(votes[n_trees + v, i], proba, label, n_labels)
        forest.linear_models[v]["vote_weight"] += LINEAR_RATE * slowed_weight * gradient
    if forest.settings["has_sparse_expert"]:
        gradient = gradient_of(votes[len(votes) - 2, i], proba, label, n_labels)
        forest.counters["sparse_weight"] += WORDS_RATE * slowed_weight * gradient
    for c in range(n_labels):
        forest.bias[c] -= BIAS_RATE * slowed_weight * proba[c]
    forest.bias[label] += BIAS_RATE * slowed_weight


@hot
def gradient_of(vote: Array, proba: Array, label: int, n_labels: int) -> float:
    """Return the derivative of log P(y) by the weight of a linear model."""
    gradient = max(vote[label], LINEAR_FLOOR)
    for c in range(n_labels):
        gradient -= proba[c] * max(vote[c], LINEAR_FLOOR)
    return gradient


@extra
@hot
def recall_vote(forest: Forest, v: int, vote: Array, context: Array) -> None:
    """Write a vote as it was when the sample was predicted; labels unknown then get a p of 0."""
    settings, slot = forest.settings, int(context[PENDING_SLOT])
    n_known = forest.pending[slot]["n_known"]
    for c in range(n_known):
        vote[c] = forest.pending_votes[slot, v, c]
    unknown_log = math.log(VOTE_FLOOR) if settings["learns_vote"] else 0.0
    for c in range(n_known, settings["n_labels"]):
        vote[c] = unknown_log if v < len(forest.trees) else LINEAR_FLOOR


@helper
def count_tree_loss(
    forest: Forest, t: int, vote: Array, target: float, weight: float, context: Array
) -> None:
    """Count the loss of a tree, one minus p(label), and restart it if it is outdated."""
    # If the label is late, the vote may be that of a tree that has restarted since.
    state, settings = forest.trees[t], forest.settings
    if not may_restart(settings, t):
        return
    if context[DELAY] > 0.0 and context[SAMPLE_NUMBER] - context[DELAY] < state["restarted_at"]:
        context[HAS_RESTARTED + t] = 1.0
        return
    p = vote[int(target)]
    p = math.exp(p) - VOTE_FLOOR if settings["learns_vote"] else p
    count_loss(state, 1.0 - p, weight, context)
    if is_outdated(settings, state, context):
        links = forest.links[t, : forest.counters["n_rows"]]
        restart_tree(state, links, int(context[SAMPLE_NUMBER]) + 1)
        state["newest_gain"] = FORGETTING
