"""The vote of the trees, and the losses of each tree (DESIGN.md: learned vote, restarts).

A learned vote is a logarithmic opinion pool (Genest, Zidek, 1986) whose weights follow the gradient
of the logarithmic loss, as in the geometric mixing of Mattern (2013): with weights v_t for tree t
and beta_c for class c, log P(c) = beta_c + sum_t v_t log(p_t(c) + 0.001) + const. The linear
models enter with the logarithms of their own probabilities, clipped to at least -7. An array of
votes is (voters, samples, classes), first trees, then linear models, of which that of the words is
last; for a learned vote it holds logarithms.
"""

from __future__ import annotations

import math

from river_amf.kernels.numba_tools.arrays import Array, Forest, Record
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.kernels.tree.aggregation import predict_tree
from river_amf.kernels.tree.estimates import slowed
from river_amf.kernels.tree.gains import FORGETTING
from river_amf.kernels.tree.restarts import count_loss, is_outdated, may_restart, restart_tree
from river_amf.state.layout import DELAY, PENDING_SLOT, RESTARTED, SAMPLE_NUMBER

VOTE_FLOOR = 0.001  # added to the probabilities before a learned vote takes logarithms
VOTE_RATE = 0.002
LINEAR_FLOOR = -7.0  # of the logarithms of a linear model; that of the trees is about the same
LINEAR_RATE = 0.01
WORDS_RATE = 0.1  # of the linear model of the words, which is right long before the trees are
BIAS_RATE = 0.02


@helper
def take_vote(forest: Forest, t: int, x: Array, vote: Array) -> None:
    """Write a tree's prediction, or its logarithm log p_t(c) for a learned vote."""
    predict_tree(forest, t, x, vote)
    if forest.settings[0]["learns_vote"]:
        for c in range(forest.settings[0]["n_labels"]):
            vote[c] = math.log(vote[c] + VOTE_FLOOR)


@hot
def mean_votes(settings: Record, votes: Array, i: int, proba: Array) -> None:
    """Write the forest's probabilities of the labels seen so far, as the mean of the votes."""
    n_labels = settings["n_labels"]
    for c in range(n_labels):
        proba[c] = 0.0
    for t in range(len(votes)):
        for c in range(n_labels):
            proba[c] += votes[t, i, c]
    normalize(proba, n_labels)


@hot
def normalize(proba: Array, n_labels: int) -> None:
    """Normalize the probabilities of the labels seen so far to a sum of 1."""
    total = 0.0
    for c in range(n_labels):
        total += proba[c]
    for c in range(n_labels):
        proba[c] /= total


@helper
def pool_votes(forest: Forest, votes: Array, i: int, context: Array, proba: Array) -> None:
    """Write the forest's probabilities of the labels seen so far, as the pool of the votes."""
    n_labels, n_trees = forest.settings[0]["n_labels"], len(forest.trees)
    largest = -math.inf
    for c in range(n_labels):
        log_p = forest.bias[c]
        for t in range(n_trees):
            log_p += forest.trees[t]["vote_weight"] * votes[t, i, c]
        for v in range(len(forest.linear_models)):
            log_vote = max(votes[n_trees + v, i, c], LINEAR_FLOOR)
            log_p += forest.linear_models[v]["vote_weight"] * log_vote
        if forest.settings[0]["has_sparse_expert"]:
            log_vote = max(votes[len(votes) - 1, i, c], LINEAR_FLOOR)
            log_p += forest.counters[0]["sparse_weight"] * log_vote
        proba[c] = log_p
        largest = max(largest, log_p)
    for c in range(n_labels):
        proba[c] = math.exp(proba[c] - largest)
    normalize(proba, n_labels)


@helper
def learn_vote(
    forest: Forest, votes: Array, i: int, target: float, weight: float, context: Array
) -> None:
    """Follow the gradient of log P(y): v_t += rate (log p_t(y) - E_P log p_t), likewise beta."""
    n_labels, n_trees = forest.settings[0]["n_labels"], len(forest.trees)
    label = int(target)
    proba = forest.pooled
    pool_votes(forest, votes, i, context, proba)
    trust = slowed(weight, context)
    for t in range(n_trees):
        if context[RESTARTED + t] > 0.0:
            continue
        gradient = votes[t, i, label]
        for c in range(n_labels):
            gradient -= proba[c] * votes[t, i, c]
        forest.trees[t]["vote_weight"] += VOTE_RATE * trust * gradient
    for v in range(len(forest.linear_models)):
        gradient = gradient_of(votes[n_trees + v, i], proba, label, n_labels)
        forest.linear_models[v]["vote_weight"] += LINEAR_RATE * trust * gradient
    if forest.settings[0]["has_sparse_expert"]:
        gradient = gradient_of(votes[len(votes) - 1, i], proba, label, n_labels)
        forest.counters[0]["sparse_weight"] += WORDS_RATE * trust * gradient
    for c in range(n_labels):
        forest.bias[c] -= BIAS_RATE * trust * proba[c]
    forest.bias[label] += BIAS_RATE * trust


@hot
def gradient_of(vote: Array, proba: Array, label: int, n_labels: int) -> float:
    """Return the derivative of log P(y) by the weight of a linear model."""
    gradient = max(vote[label], LINEAR_FLOOR)
    for c in range(n_labels):
        gradient -= proba[c] * max(vote[c], LINEAR_FLOOR)
    return gradient


@hot
def recall_vote(forest: Forest, v: int, vote: Array, context: Array) -> None:
    """Write a vote as it was when the sample was predicted; labels unknown then get a p of 0."""
    settings, slot = forest.settings[0], int(context[PENDING_SLOT])
    n_known = forest.pending[slot]["n_known"]
    for c in range(n_known):
        vote[c] = forest.pending_votes[slot, v, c]
    of_tree = math.log(VOTE_FLOOR) if settings["learns_vote"] else 0.0
    for c in range(n_known, settings["n_labels"]):
        vote[c] = of_tree if v < len(forest.trees) else LINEAR_FLOOR


@helper
def count_tree_loss(
    forest: Forest, t: int, vote: Array, target: float, weight: float, context: Array
) -> None:
    """Count the loss of a tree, one minus p(label), and restart it if it is outdated."""
    # If the label is late, the vote may be that of a tree that has restarted since.
    state, settings = forest.trees[t], forest.settings[0]
    if not may_restart(settings, t):
        return
    if context[DELAY] > 0.0 and context[SAMPLE_NUMBER] - context[DELAY] < state["restarted_at"]:
        context[RESTARTED + t] = 1.0
        return
    p = vote[int(target)]
    count_loss(state, 1.0 - (math.exp(p) - VOTE_FLOOR if settings["learns_vote"] else p), weight)
    if is_outdated(settings, state):
        links = forest.links[t, : forest.counters[0]["n_rows"]]
        restart_tree(state, links, int(context[SAMPLE_NUMBER]) + 1)
        state["newest_gain"] = FORGETTING
