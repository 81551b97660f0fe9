"""The vote of the trees, and trees that restart (DESIGN.md: learned vote, restarts).

A learned vote is a logarithmic opinion pool (Genest, Zidek, 1986) whose weights follow the gradient
of the logarithmic loss, as in the geometric mixing of Mattern (2013): with weights v_t for tree t
and beta_c for class c, log P(c) = beta_c + sum_t v_t log(p_t(c) + 0.001) + const. The voices of
`voices` enter with the logarithms of their own probabilities, cut off at -7. An array of votes is
(voters, samples, classes), trees first; for a learned vote it holds logarithms.
"""

from __future__ import annotations

import math

from river_amf.kernels.aggregation import predict_tree
from river_amf.kernels.arrays import FOREST, NONE, UNLISTED, Array, Forest, Record
from river_amf.kernels.compilation import helper, hot
from river_amf.kernels.parts import INTEGER, NO_VALUE, NUMBER, ROW, VOTES, part
from river_amf.kernels.structure import number_of
from river_amf.layout import CLASSIFICATION

VOTE_FLOOR = 0.001  # added to the probabilities before a learned vote takes logarithms
VOTE_RATE = 0.002
VOICE_FLOOR = -7.0  # of the logarithms of a voice; that of the trees is about the same
VOICE_RATE = 0.01
WORDS_RATE = 0.1  # of the voice of the words, which is right long before the trees are
BIAS_RATE = 0.02

RECENT_RATE = 0.02  # of the running mean of a tree's recent losses
USUAL_RATE = 0.001  # of the long-run mean of its losses
LEAST_HEARD = 300  # the number of predictions before a tree may be restarted
LEAST_VARIANCE = 0.001  # of a loss
LEAST_SURPLUS = 0.05  # of the recent mean over the long-run mean: about three misses in a row


@part(NO_VALUE, FOREST, INTEGER, ROW, ROW, task=CLASSIFICATION)
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
    normalise(proba, n_labels)


@hot
def normalise(proba: Array, n_labels: int) -> None:
    """Normalize the probabilities of the labels seen so far to a sum of 1."""
    total = 0.0
    for c in range(n_labels):
        total += proba[c]
    for c in range(n_labels):
        proba[c] /= total


@part(NO_VALUE, FOREST, VOTES, INTEGER, ROW, task=CLASSIFICATION)
def pool_votes(forest: Forest, votes: Array, i: int, proba: Array) -> None:
    """Write the forest's probabilities of the labels seen so far, as the pool of the votes."""
    n_labels, n_trees = forest.settings[0]["n_labels"], len(forest.trees)
    largest = -math.inf
    for c in range(n_labels):
        log_p = forest.bias[c]
        for t in range(n_trees):
            log_p += forest.trees[t]["vote_weight"] * votes[t, i, c]
        for v in range(len(forest.voices)):
            heard = max(votes[n_trees + v, i, c], VOICE_FLOOR)
            log_p += forest.voices[v]["vote_weight"] * heard
        if forest.settings[0]["hears_words"]:
            heard = max(votes[len(votes) - 1, i, c], VOICE_FLOOR)
            log_p += forest.counters[0]["words_vote"] * heard
        proba[c] = log_p
        largest = max(largest, log_p)
    for c in range(n_labels):
        proba[c] = math.exp(proba[c] - largest)
    normalise(proba, n_labels)


@part(NO_VALUE, FOREST, VOTES, INTEGER, NUMBER, NUMBER, task=CLASSIFICATION)
def learn_vote(forest: Forest, votes: Array, i: int, target: float, weight: float) -> None:
    """Follow the gradient of log P(y): v_t += rate (log p_t(y) - E_P log p_t), likewise beta."""
    n_labels, n_trees = forest.settings[0]["n_labels"], len(forest.trees)
    label = int(target)
    proba = forest.pooled
    pool_votes(forest, votes, i, proba)
    trust = min(weight, 1.0)
    for t in range(n_trees):
        gradient = votes[t, i, label]
        for c in range(n_labels):
            gradient -= proba[c] * votes[t, i, c]
        forest.trees[t]["vote_weight"] += VOTE_RATE * trust * gradient
    for v in range(len(forest.voices)):
        gradient = gradient_of(votes[n_trees + v, i], proba, label, n_labels)
        forest.voices[v]["vote_weight"] += VOICE_RATE * trust * gradient
    if forest.settings[0]["hears_words"]:
        gradient = gradient_of(votes[len(votes) - 1, i], proba, label, n_labels)
        forest.counters[0]["words_vote"] += WORDS_RATE * trust * gradient
    for c in range(n_labels):
        forest.bias[c] -= BIAS_RATE * trust * proba[c]
    forest.bias[label] += BIAS_RATE * trust


@hot
def gradient_of(vote: Array, proba: Array, label: int, n_labels: int) -> float:
    """The derivative of log P(y) by the weight of a voice."""
    gradient = max(vote[label], VOICE_FLOOR)
    for c in range(n_labels):
        gradient -= proba[c] * max(vote[c], VOICE_FLOOR)
    return gradient


@hot
def copy_votes(votes: Array, out: Array) -> None:
    """Copy the votes on a sample."""
    for t in range(len(votes)):
        for c in range(votes.shape[2]):
            out[t, 0, c] = votes[t, 0, c]


@part(NO_VALUE, FOREST, INTEGER, ROW, NUMBER, NUMBER, task=CLASSIFICATION)
def judge_tree(forest: Forest, t: int, vote: Array, target: float, weight: float) -> None:
    """Restart a tree with an odd index once it predicts far worse than it used to."""
    # That is the case when the running mean of its recent losses, 1 - p(label), exceeds the long-
    # run mean by restart_threshold standard errors, and by more than a few rare labels would cause.
    # The other trees are never restarted, as the drift may be less than it seems.
    state, settings = forest.trees[t], forest.settings[0]
    if number_of(settings, t) % 2 == 0:
        return
    p = vote[int(target)]
    loss = 1.0 - (math.exp(p) - VOTE_FLOOR if settings["learns_vote"] else p)
    n_heard = state["n_heard"] + 1
    recent = state["recent_loss"]
    usual = state["usual_loss"]
    trust = min(weight, 1.0)
    recent += trust * (loss - recent) * max(RECENT_RATE, 1.0 / n_heard)
    usual += trust * (loss - usual) * max(USUAL_RATE, 1.0 / n_heard)
    variance = max(usual * (1.0 - usual), LEAST_VARIANCE) * RECENT_RATE / (2.0 - RECENT_RATE)
    state["n_heard"] = n_heard
    state["recent_loss"], state["usual_loss"] = recent, usual
    surplus = max(settings["restart_threshold"] * math.sqrt(variance), LEAST_SURPLUS)
    if n_heard > LEAST_HEARD and recent - usual > surplus:
        restart_tree(forest, t)


@helper
def restart_tree(forest: Forest, t: int) -> None:
    """Make a tree forget everything that it has learned."""
    state = forest.trees[t]
    state["root"] = NONE
    state["n_nodes"] = 0
    state["n_boxes"] = 0
    state["n_heard"] = 0
    state["n_restarts"] += 1
    state["recent_loss"] = 0.0
    state["usual_loss"] = 0.0
    for row in range(forest.links.shape[1]):
        forest.links[t, row] = UNLISTED
