"""Voices: linear models that a learned vote hears beside the trees (DESIGN.md: linear voices).

Each is a multinomial logistic regression, learned by gradient steps whose sizes adapt to each
weight as in AdaGrad (Duchi, Hazan, Singer, 2011), except that squared gradients fade. The first
voice hears the standardised features and the categories; any others hear cosines.
"""

from __future__ import annotations

import math

from river_amf.kernels.arrays import FOREST, Array, Forest
from river_amf.kernels.compilation import helper, hot
from river_amf.kernels.cosines import count_cosines, take_cosines
from river_amf.kernels.parts import INTEGER, MATRIX, NO_VALUE, NUMBER, ROW, part
from river_amf.layout import N_CODES, N_COSINES

LOGISTIC = 0  # the voice that hears the features
STEP, COSINE_STEP = 0.3, 0.1
KEPT_SQUARES = 0.999  # of the sum of squared gradients, at each step
LEAST_SQUARES = 1e-100
TINY_ERROR = 0.01  # labels whose probability is off by less take no step


@part(NO_VALUE, FOREST, INTEGER, ROW, ROW, MATRIX, ROW)
def hear_voice(
    forest: Forest, v: int, x: Array, standardised: Array, inputs: Array, vote: Array
) -> None:
    """Write the inputs of a voice, and its log p(c) for the labels seen so far."""
    own = inputs[0]
    own[0] = 1.0
    n_features = forest.settings[0]["n_features"]
    if v == LOGISTIC:
        for j in range(n_features):
            own[1 + j] = standardised[j]
    else:
        take_cosines(forest, v - 1, standardised, inputs[1], own)
    n_inputs = 1 + (n_features if v == LOGISTIC else N_COSINES)
    n_labels = forest.settings[0]["n_labels"]
    for c in range(n_labels):
        vote[c] = dot(forest.voice_weights[v, c], own, n_inputs)
    if v == LOGISTIC and forest.settings[0]["has_categories"]:
        n_before = 0
        for j in range(n_features):
            if forest.is_categorical[j]:
                if not math.isnan(x[j]):
                    weights = forest.category_weights[n_before, int(x[j]) % N_CODES]
                    for c in range(n_labels):
                        vote[c] += weights[c]
                n_before += 1
    log_softmax(vote, n_labels)


@hot
def hear_voices(forest: Forest, x: Array, standardised: Array, inputs: Array, votes: Array) -> None:
    """Let all voices hear a single sample, and write their votes after those of the trees."""
    for v in range(len(forest.voices)):
        vote = votes[len(forest.trees) + v, 0]
        hear_voice(forest, v, x, standardised[pace_of(v)], inputs[v], vote)


@hot
def pace_of(v: int) -> int:
    """The pace at which the inputs of a voice are standardised."""
    return max(v - 1, 0)


@hot
def dot(a: Array, b: Array, n: int) -> float:
    """The scalar product of the first n values, in four sums that the processor adds at once."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(whole, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@hot
def log_softmax(scores: Array, n: int) -> None:
    """Turn the first n scores into logarithms of probabilities."""
    largest = -math.inf
    for c in range(n):
        largest = max(largest, scores[c])
    total = 0.0
    for c in range(n):
        total += math.exp(scores[c] - largest)
    offset = largest + math.log(total)
    for c in range(n):
        scores[c] -= offset


@part(NO_VALUE, FOREST, INTEGER, ROW, MATRIX, ROW, INTEGER, NUMBER)
def teach_voice(
    forest: Forest, v: int, x: Array, inputs: Array, vote: Array, label: int, weight: float
) -> None:
    """Learn a sample in a voice that has just heard it."""
    trust, n_features = min(weight, 1.0), forest.settings[0]["n_features"]
    step, n_inputs = (STEP, 1 + n_features) if v == LOGISTIC else (COSINE_STEP, 1 + N_COSINES)
    for c in range(forest.settings[0]["n_labels"]):
        error = math.exp(vote[c]) - (c == label)
        if abs(error) < TINY_ERROR:
            continue
        error *= trust
        weights, squares = forest.voice_weights[v, c], forest.voice_squares[v, c]
        for i in range(n_inputs):
            value = inputs[0, i]
            gradient = error * value
            square = max(KEPT_SQUARES * squares[i] + gradient * gradient, LEAST_SQUARES)
            squares[i] = square if value != 0.0 else squares[i]
            weights[i] -= step * gradient / math.sqrt(square)
        if v == LOGISTIC and forest.settings[0]["has_categories"]:
            teach_categories(forest, x, c, error)
    if v > LOGISTIC:
        count_cosines(forest, v - 1, inputs[1], forest.voices[v]["n_learned"])
        forest.voices[v]["n_learned"] += 1


@helper
def teach_categories(forest: Forest, x: Array, c: int, error: float) -> None:
    """Take a step in the weights of the sample's categories for one label."""
    n_before = 0
    for j in range(forest.settings[0]["n_features"]):
        if forest.is_categorical[j]:
            if not math.isnan(x[j]):
                k = int(x[j]) % N_CODES
                square = KEPT_SQUARES * forest.category_squares[n_before, k, c] + error * error
                forest.category_squares[n_before, k, c] = square
                forest.category_weights[n_before, k, c] -= STEP * error / math.sqrt(square)
            n_before += 1


@hot
def teach_voices(
    forest: Forest, x: Array, inputs: Array, votes: Array, label: int, weight: float
) -> None:
    """Learn a single sample in all voices, which have just heard it."""
    for v in range(len(forest.voices)):
        vote = votes[len(forest.trees) + v, 0]
        teach_voice(forest, v, x, inputs[v], vote, label, weight)


@hot
def copy_inputs(inputs: Array, out: Array) -> None:
    """Copy the inputs of all voices."""
    for v in range(len(inputs)):
        for i in range(inputs.shape[2]):
            out[v, 0, i] = inputs[v, 0, i]
            out[v, 1, i] = inputs[v, 1, i]
