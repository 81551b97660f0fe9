"""A perceptron beside the trees, with one layer of rectified linear units (DESIGN.md: perceptron).

Its first input and its first unit are 1. All arithmetic is float32, in the order written here.
"""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels.classification.softmax import TINY_ERROR
from river_amf.kernels.numba_tools.arrays import Array, Forest, Single
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.state.layout import N_UNITS

ZERO, ONE = np.float32(0.0), np.float32(1.0)
HIDDEN_STEP, OUTPUT_STEP = np.float32(0.1), np.float32(0.2)
FIRST_BIAS = np.float32(0.1)  # of all units
KEPT_SQUARES = np.float32(0.999)  # of the sum of squared gradients, at each step
LEAST_SQUARES = np.float32(1e-30)
HIDDEN, BACK, KEPT = 0, 1, 2  # rows of scratch space


@helper
def run_units(forest: Forest, inputs: Array) -> None:
    hidden = forest.units[HIDDEN]
    inputs[0] = 1.0
    for a in range(N_UNITS):
        hidden[a] = FIRST_BIAS
    for i in range(len(inputs)):
        x, weights = np.float32(inputs[i]), forest.hidden_weights[i]
        for a in range(N_UNITS if x != ZERO else 0):
            hidden[a] += x * weights[a]
    for a in range(N_UNITS):
        hidden[a] = hidden[a] if hidden[a] > ZERO else ZERO
    hidden[0] = ONE


@helper
def predict_perceptron(forest: Forest, vote: Array) -> None:
    """Write the scores of the labels seen so far, given the hidden units."""
    hidden = forest.units[HIDDEN]
    for c in range(forest.settings["n_labels"]):
        weights, s0, s1, s2, s3 = forest.output_weights[c], ZERO, ZERO, ZERO, ZERO
        for a in range(0, N_UNITS, 4):
            s0 += weights[a] * hidden[a]
            s1 += weights[a + 1] * hidden[a + 1]
            s2 += weights[a + 2] * hidden[a + 2]
            s3 += weights[a + 3] * hidden[a + 3]
        vote[c] = (s0 + s1) + (s2 + s3)


@helper
def take_arguments(forest: Forest, inputs: Array, out: Array) -> None:
    """Write what inputs but the first add to the arguments of the units, in float64."""
    for a in range(N_UNITS):
        out[a] = 0.0
    for i in range(1, len(inputs)):
        for a in range(N_UNITS if inputs[i] != 0.0 else 0):
            out[a] += inputs[i] * np.float64(forest.hidden_weights[i, a])


@helper
def share_units(forest: Forest, total: Array, own: Array, vote: Array) -> None:
    """Write the scores if the units only have the share of a feature in what moves them."""
    # With u its part of s: f(b) + (u / s) (f(b + s) - f(b)), where f(t) = max(t, 0).
    n_labels = forest.settings["n_labels"]
    for c in range(n_labels):
        vote[c] = np.float64(forest.output_weights[c, 0])
    for a in range(1, N_UNITS):
        first = np.float64(FIRST_BIAS) + np.float64(forest.hidden_weights[0, a])
        s, unit = total[a], max(first, 0.0)
        if s != 0.0:
            unit += own[a] / s * (max(first + s, 0.0) - unit)
        for c in range(n_labels):
            vote[c] += unit * np.float64(forest.output_weights[c, a])


@helper
def learn_perceptron(forest: Forest, inputs: Array, vote: Array, label: int, weight: float) -> None:
    hidden, back, kept = forest.units[HIDDEN], forest.units[BACK], forest.units[KEPT]
    for a in range(N_UNITS):
        back[a] = ZERO
    for c in range(forest.settings["n_labels"]):
        error = math.exp(vote[c]) - (c == label)
        if abs(error) < TINY_ERROR:
            continue
        slope = np.float32(weight * error)
        weights, squares = forest.output_weights[c], forest.output_squares[c]
        for a in range(N_UNITS):
            back[a] += slope * weights[a]
            gradient = slope * hidden[a]
            square = faded_square(squares[a], KEPT_SQUARES, gradient)
            square = square if hidden[a] > ZERO else squares[a]
            squares[a] = square
            weights[a] -= OUTPUT_STEP * gradient / np.sqrt(square)
    for a in range(N_UNITS):
        back[a] = back[a] if hidden[a] > ZERO and a > 0 else ZERO
        kept[a] = KEPT_SQUARES if back[a] != ZERO else ONE
    for i in range(len(inputs)):
        x = np.float32(inputs[i])
        weights, squares = forest.hidden_weights[i], forest.hidden_squares[i]
        for a in range(N_UNITS if x != ZERO else 0):
            gradient = x * back[a]
            square = faded_square(squares[a], kept[a], gradient)
            squares[a] = square
            weights[a] -= HIDDEN_STEP * gradient / np.sqrt(square)


@hot
def faded_square(square: Single, kept: Single, gradient: Single) -> Single:
    square = kept * square + gradient * gradient
    return square if square > LEAST_SQUARES else LEAST_SQUARES
