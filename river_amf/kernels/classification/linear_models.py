"""Linear models that a learned vote combines with the trees (DESIGN.md: linear experts).

Each is a multinomial logistic regression, learned by gradient steps whose sizes adapt to each
weight as in AdaGrad (Duchi, Hazan, Singer, 2011), except that squared gradients fade. The first
model takes the standardized features and the categories; any others take cosines.
"""

from __future__ import annotations

import math

from river_amf.kernels.features.quantiles import place_of
from river_amf.kernels.features.standardization import count_cosines, take_cosines
from river_amf.kernels.numba_tools.arrays import NONE, Array, Forest, dot
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.state.layout import N_COSINES

LOGISTIC = 0  # the linear model that takes the features
STEP, COSINE_STEP = 0.3, 0.1
COSINE_SCALE = 0.5
FEW_FEATURES = 12  # with more of them, the steps of their weights are shorter
KEPT_SQUARES = 0.999  # of the sum of squared gradients, at each step
LEAST_SQUARES = 1e-100
TINY_ERROR = 0.01  # labels whose probability is off by less take no step


@helper
def run_linear_model(
    forest: Forest,
    v: int,
    x: Array,
    standardized: Array,
    inputs: Array,
    votes: Array,
    i: int,
    predicts: bool,
    label: int,
    weight: float,
) -> None:
    """Predict a sample with a linear model if it has not been, and learn it if it has a label."""
    vote = votes[len(forest.trees) + v, i]
    if predicts:
        timescale = 0 if v == LOGISTIC else 1
        predict_linear_model(forest, v, x, standardized[timescale], inputs[v], vote)
    if label != NONE:
        learn_linear_model(forest, v, x, inputs[v], vote, label, weight)


@helper
def predict_linear_model(
    forest: Forest, v: int, x: Array, standardized: Array, inputs: Array, vote: Array
) -> None:
    """Write the inputs of a linear model, and its log p(c) for the labels seen so far."""
    settings = forest.settings[0]
    n_labels, n_features = settings["n_labels"], settings["n_features"]
    terms, n_inputs = inputs[0], 1 + n_features
    terms[0] = 1.0
    if v == LOGISTIC:
        for j in range(n_features):
            terms[1 + j] = standardized[j]
    else:
        n_inputs = 1 + N_COSINES
        take_cosines(forest, v - 1, COSINE_SCALE, standardized, inputs[1], terms, 1)
    for c in range(n_labels):
        vote[c] = dot(forest.linear_coefficients[v, c], terms, n_inputs)
    n_before = 0  # categorical features before this one
    for j in range(n_features if v == LOGISTIC and settings["has_categories"] else 0):
        if forest.is_categorical[j]:
            if not math.isnan(x[j]):
                k = place_of(x[j])
                is_learned = k < forest.category_weights.shape[1]
                for c in range(n_labels if is_learned else 0):
                    vote[c] += forest.category_weights[n_before, k, c]
            n_before += 1
    log_softmax(vote, n_labels)


@hot
def log_softmax(scores: Array, n: int) -> None:
    """Turn the first n scores into logarithms of probabilities."""
    largest = -math.inf
    for c in range(n):
        largest = scores[c] if scores[c] > largest else largest
    total = 0.0
    for c in range(n):
        total += math.exp(scores[c] - largest)
    offset = largest + math.log(total)
    for c in range(n):
        scores[c] -= offset


@helper
def learn_linear_model(
    forest: Forest, v: int, x: Array, inputs: Array, vote: Array, label: int, weight: float
) -> None:
    """Learn a sample in a linear model that has just predicted it."""
    settings = forest.settings[0]
    n_labels, n_features = settings["n_labels"], settings["n_features"]
    step, n_inputs = COSINE_STEP, 1 + N_COSINES
    if v == LOGISTIC:  # (DESIGN.md: linear experts)
        n_inputs = 1 + n_features
        step = STEP * math.sqrt(FEW_FEATURES / max(n_features, FEW_FEATURES))
    for c in range(n_labels):
        error = math.exp(vote[c]) - (c == label)
        if abs(error) < TINY_ERROR:
            continue
        error *= weight
        weights, squares = forest.linear_coefficients[v, c], forest.linear_squares[v, c]
        for i in range(n_inputs):
            value = inputs[0, i]
            gradient = error * value
            square = faded_square(squares[i], gradient)
            squares[i] = square if value != 0.0 else squares[i]
            weights[i] -= step * gradient / math.sqrt(square)
        n_before = 0
        for j in range(n_features if v == LOGISTIC and settings["has_categories"] else 0):
            if forest.is_categorical[j]:
                if not math.isnan(x[j]):
                    k = place_of(x[j])
                    weights = forest.category_weights[n_before, k]
                    squares = forest.category_squares[n_before, k]
                    squares[c] = faded_square(squares[c], error)
                    weights[c] -= step * error / math.sqrt(squares[c])
                n_before += 1
    if v > LOGISTIC:
        n_learned = forest.linear_models[v]["n_learned"]
        count_cosines(forest, v - 1, inputs[1], n_learned)
        forest.linear_models[v]["n_learned"] = n_learned + 1


@hot
def faded_square(square: float, gradient: float) -> float:
    """Return a sum of squared gradients, after one more."""
    square = KEPT_SQUARES * square + gradient * gradient
    return square if square > LEAST_SQUARES else LEAST_SQUARES
