"""Words: numeric features of which an absent one is 0 (DESIGN.md: words)."""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels.classification.softmax import TINY_ERROR
from river_amf.kernels.numba_tools.arrays import Array, Forest, Record, array_at
from river_amf.kernels.numba_tools.compilation import helper, hot, view
from river_amf.state.layout import CHOSEN

CONSTANT = 0  # the index of the constant 1

WORD_STEP = 0.1
FIRST_VOTE = 0.5  # weight of the linear model in a learned vote, at first
LARGEST_WORD_INPUT = 10.0  # inputs are clipped to it

LARGEST_VALUE = 1e140  # so that sums of squares stay finite
FEW_USES = 20.0  # after these, an outlier is clipped to LARGEST_INPUT before it is counted

LEAST_USES = 5.0  # of a word that gets a column because it is informative
SURPRISE = 11.0  # by which its chi^2 exceeds chance, in roots of its degrees of freedom
COMMON_SHARE = 0.5  # share of samples from which on a word is an ordinary number
LEAST_SAMPLES = 20.0  # before so many, no word is


@view
def words_of(address: int, width: int, has_words: bool) -> Array:
    """Return the words of a sample as rows of index and value, none if the forest has none."""
    start = address + 24 * width
    n_words = int(array_at(start, (1,), np.float64)[0]) if has_words else 0
    return array_at(start + 8, (n_words, 2), np.float64)


@hot
def input_of(word: Record, value: float) -> float:
    """Return a value in root mean squares of the word's values, 1 or -1 for the first."""
    scale = math.sqrt(word["squares"] / word["weight"]) if word["squares"] > 0.0 else abs(value)
    return min(max(value / scale, -LARGEST_WORD_INPUT), LARGEST_WORD_INPUT)


@helper
def predict_sparse(forest: Forest, words: Array, vote: Array) -> None:
    """Write the scores of the linear model of the words for the labels seen so far."""
    n_labels = forest.settings["n_labels"]
    for c in range(n_labels):
        vote[c] = forest.word_weights[CONSTANT, c]
    for i in range(len(words)):
        index = int(words[i, 0])
        value = input_of(forest.words[index], words[i, 1])
        for c in range(n_labels):
            vote[c] += forest.word_weights[index, c] * value


@helper
def learn_sparse(forest: Forest, words: Array, vote: Array, label: int, weight: float) -> None:
    """Learn a sample in the linear model of the words, given its prediction: a step of AdaGrad."""
    n_labels = forest.settings["n_labels"]
    errors = forest.pooled
    for c in range(n_labels):
        errors[c] = math.exp(vote[c]) - (c == label)
    for i in range(-1, len(words)):
        index, value = CONSTANT, 1.0
        if i >= 0:
            index = int(words[i, 0])
            value = input_of(forest.words[index], words[i, 1])
        for c in range(n_labels):
            if abs(errors[c]) >= TINY_ERROR:
                gradient = weight * errors[c] * value
                forest.word_squares[index, c] += gradient * gradient
                step = WORD_STEP * gradient / math.sqrt(forest.word_squares[index, c])
                forest.word_weights[index, c] -= step


@helper
def count_words(forest: Forest, words: Array, label: int, weight: float) -> None:
    """Count the words of a sample that is learned, and choose those that are to have a column."""
    settings, counters = forest.settings, forest.counters
    capped = min(weight, 1.0)
    count_word(forest, CONSTANT, 1.0, label, capped)
    for i in range(len(words)):
        count_word(forest, int(words[i, 0]), words[i, 1], label, capped)
    for i in range(len(words)):
        if settings["n_features"] + counters["n_chosen"] >= settings["max_split_words"]:
            return
        word = forest.words[int(words[i, 0])]
        if word["column"] == 0 and is_informative(forest, int(words[i, 0])):
            word["column"] = CHOSEN
            counters["n_chosen"] += 1


@hot
def count_word(forest: Forest, index: int, value: float, label: int, capped: float) -> None:
    word = forest.words[index]
    largest = LARGEST_VALUE
    if word["weight"] > FEW_USES:
        scale = math.sqrt(word["squares"] / word["weight"])
        largest = min(LARGEST_WORD_INPUT * scale, largest) if scale > 0.0 else largest
    value = min(max(value, -largest), largest)
    word["uses"] += 1
    word["weight"] += capped
    word["squares"] += capped * value * value
    forest.word_sums[index, label] += capped * value


@hot
def is_informative(forest: Forest, index: int) -> bool:
    """Return whether a word is a number, or goes with the label beyond chance."""
    # n eta^2, where eta^2 is the share of the value's variance that lies between the labels, is
    # Pearson's chi^2 if a word is there or not. By chance it is about k, plus or minus sqrt(2 k).
    word, n = forest.words[index], forest.words[CONSTANT]["weight"]
    if n >= LEAST_SAMPLES and word["weight"] >= COMMON_SHARE * n:
        return True
    if word["weight"] < LEAST_USES:
        return False
    total, between, n_labels = 0.0, 0.0, 0
    for c in range(forest.settings["n_labels"]):
        size, label_sum = forest.word_sums[CONSTANT, c], forest.word_sums[index, c]
        if size > 0.0:
            n_labels += 1
            total += label_sum
            between += label_sum * label_sum / size
    by_mean = total * total / n
    k = n_labels - 1.0
    return n * (between - by_mean) > (k + SURPRISE * math.sqrt(k)) * (word["squares"] - by_mean)
