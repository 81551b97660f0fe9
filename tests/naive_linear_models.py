"""The slow, obvious reference of the perceptron, and of what other experts share with it.

See DESIGN.md: perceptron, standards, random Fourier features.
"""

import math

import numpy as np

from river_amf.state.draws import draw_directions, draw_phases, draw_weights

# standardization
SLOW, FAST = 0.001, 0.03  # rates of the two timescales
LARGEST_INPUT = 4.0
LEAST_VARIANCE = 1e-28  # in squares of the mean: with less, a feature is constant
SILENT = 1e-290  # smaller means and variances become 0, before they are too small for float64
TRUSTED = 20  # after so many values, one of them may not be too far from the mean
FARTHEST = 10.0  # in standard deviations
LARGEST_DEVIATION = 1e150  # its square is still finite

# cosines
N_COSINES = 100
FEW_SAMPLES = 50  # before these, there are no cosines
LEAST_SPREAD = 1e-20  # of a cosine: with less variance, it is constant
FEW_FEATURES = 8  # with more, the directions become shorter

# perceptron
N_UNITS = 64
MOST_INPUTS = 256
FIRST_BIAS = np.float32(0.1)
FIRST_SPREAD = 0.01  # of the weights of a label
HIDDEN_STEP, OUTPUT_STEP = np.float32(0.1), np.float32(0.2)
FADING = np.float32(0.999)  # of the sums of squared gradients
LEAST_SQUARES = np.float32(1e-30)
LEAST_GRADIENT = 0.01  # labels with a smaller one take no step

# vote
LEAST_LOG_P = -7.0
FIRST_WEIGHT = 0.1
LINEAR_RATE = 0.01


def clipped(value, largest):
    """Move a value into [-largest, largest]."""
    return min(max(value, -largest), largest)


class NumberStandard:
    """The running mean and variance of a numeric feature, which may be missing or of any size."""

    def __init__(self, rate):
        self.rate = rate
        self.n = 0
        self.mean = self.variance = 0.0

    def is_constant(self):
        """Return whether all values were equal, up to rounding."""
        return not self.variance > LEAST_VARIANCE * self.mean * self.mean

    def z(self, value):
        """Standardize a value; a missing one, and that of a constant, is 0."""
        if value is None or self.is_constant():
            return 0.0
        return clipped((value - self.mean) / math.sqrt(self.variance), LARGEST_INPUT)

    def add(self, value):
        """Count a value unless it is missing."""
        if value is None:
            return
        self.n += 1
        if self.n == 1:
            self.mean = value
        else:
            a, deviation = max(1 / self.n, self.rate), self.deviation(value)
            self.mean += a * deviation
            self.variance = (1 - a) * (self.variance + a * deviation * deviation)
        if self.variance <= SILENT:
            self.variance = 0.0
        if abs(self.mean) <= SILENT:
            self.mean = 0.0

    def deviation(self, value):
        """Return the difference of a value from the mean, at most ten standard deviations."""
        deviation = value - self.mean
        if self.n > TRUSTED + 1 and not self.is_constant():  # n includes this value
            deviation = clipped(deviation, FARTHEST * math.sqrt(self.variance))
        return clipped(deviation, LARGEST_DEVIATION)


class CosineStandard(NumberStandard):
    """That of a cosine, which rounding alone can move by 1e-15."""

    def deviation(self, value):
        """Return the difference of a value from the mean."""
        return value - self.mean

    def is_constant(self):
        """Return whether the cosine has hardly moved."""
        return not self.variance > LEAST_SPREAD


def log_softmax(scores):
    """Return log(exp(s_c) / sum_k exp(s_k)) without overflow."""
    largest = max(scores)
    log_sum = math.log(math.fsum(math.exp(s - largest) for s in scores))
    return [s - largest - log_sum for s in scores]


class Perceptron:
    """One layer of rectified linear units, in float32, learned by AdaGrad whose squares fade.

    The first input and the first unit are 1. The other inputs have numbers, in the order in which
    they came: those of a number are z at both timescales, those of a category its profiles.
    """

    def __init__(self, key, profiles):
        self.key, self.profiles = key, profiles
        self.vote_weight = FIRST_WEIGHT
        self.numbers = {}  # by column, and timescale or label
        self.hidden, self.output = [np.zeros(N_UNITS, np.float32)], []
        self.hidden_squares, self.output_squares = [ones(N_UNITS)], []

    def grow(self, row, n_labels):
        """Draw the first weights of new inputs and labels."""
        n_profiles = n_labels if n_labels > 2 else 1  # those of two labels are opposite
        for j in range(row.n_columns):
            for part in (SLOW, FAST) if j in row.numbers else range(n_profiles):
                self.numbers.setdefault((j, part), len(self.numbers))
        n_inputs = len(self.numbers)
        drawn = draw_weights(self.key, 0, min(n_inputs, MOST_INPUTS))
        for first in drawn[len(self.hidden) - 1 :]:
            self.hidden.append((math.sqrt(2 / n_inputs) * first).astype(np.float32))
            self.hidden_squares.append(ones(N_UNITS))
        for c in range(len(self.output), n_labels):
            self.output.append((FIRST_SPREAD * draw_weights(self.key, 1 + c, 1)[0]).astype("f4"))
            self.output[c][0] = 0
            self.output_squares.append(ones(N_UNITS))

    def inputs(self, row, z):
        """Return the inputs; those beyond the 256th are added to the first ones."""
        inputs = [1.0, *[0.0] * (len(self.hidden) - 1)]
        terms = self.profiles.terms(row, len(self.output))
        for (j, part), number in self.numbers.items():
            value = z[part].get(j, 0.0) if j in row.numbers else terms[part, j]
            inputs[1 + number % MOST_INPUTS] += value
        return np.array(inputs, np.float32)

    def units(self, inputs):
        """Return the values of the hidden units."""
        units = np.full(N_UNITS, FIRST_BIAS)
        for x, weights in zip(inputs, self.hidden, strict=True):
            units += x * weights
        return np.append(ones(1), np.maximum(units[1:], 0))

    def log_proba(self, inputs, n_labels):
        """Return l_c, the log-probability of each label seen so far."""
        units, scores = self.units(inputs), []
        for weights in self.output:
            sums = np.zeros(4, np.float32)
            for products in (weights * units).reshape(-1, 4):
                sums += products
            scores.append(float((sums[0] + sums[1]) + (sums[2] + sums[3])))
        return log_softmax(scores)

    def learn(self, row, z, label, weight, n_labels):
        """Take a step along the gradient of the log-probability of a label."""
        inputs = self.inputs(row, z)
        units, back = self.units(inputs), np.zeros(N_UNITS, np.float32)
        for c, log_p in enumerate(self.log_proba(inputs, n_labels)):
            gradient = math.exp(log_p) - (c == label)
            if abs(gradient) < LEAST_GRADIENT:
                continue
            slope = np.float32(weight * gradient)
            back += slope * self.output[c]
            take_step(self.output[c], self.output_squares[c], OUTPUT_STEP, slope * units, units > 0)
        learns = (units > 0) & (back != 0) & (np.arange(N_UNITS) > 0)
        for i, x in enumerate(inputs):
            if x != 0:
                gradients = np.where(learns, x * back, np.float32(0))
                take_step(self.hidden[i], self.hidden_squares[i], HIDDEN_STEP, gradients, learns)


def ones(n):
    """Return ones in float32."""
    return np.ones(n, np.float32)


def take_step(weights, squares, step, gradients, learns):
    """Move weights by a step, and count the squares of the gradients of those that learn."""
    faded = np.maximum(FADING * squares + gradients * gradients, LEAST_SQUARES)
    squares[:] = np.where(learns, faded, squares)
    weights -= step * gradients / np.sqrt(squares)


class Cosines:
    """Cosines of standardized numbers in random directions, which are drawn from a key."""

    def __init__(self, key, n, scale):
        self.key, self.n, self.scale = key, n, scale
        self.phases, self.directions = draw_phases(key, n), {}
        self.standards = [CosineStandard(SLOW) for _ in range(n)]

    def at(self, z):
        """Return h_k = cos(phi_k + t sum_j z_j W_jk); z holds numbers by column."""
        turns = np.zeros(self.n)
        for j, z_j in z.items():
            if j not in self.directions:
                self.directions[j] = draw_directions(self.key, j, self.n)
            turns += z_j * self.directions[j]
        d = max(len(z), 1)
        t = self.scale * math.sqrt(min(d, FEW_FEATURES) / d)
        return np.cos(self.phases + t * turns).tolist()

    def standardized(self, z):
        return [standard.z(h) for standard, h in zip(self.standards, self.at(z), strict=True)]

    def add(self, z):
        """Count the cosines."""
        for standard, h in zip(self.standards, self.at(z), strict=True):
            standard.add(h)
