"""The slow, obvious reference of the linear experts (DESIGN.md: linear experts).

A linear expert is a multinomial logistic regression that learns the stream beside the trees. It
keeps its weights by the name of their input: one that is new has weight 0. What is defined step by
step (means, variances, weights) is updated in place, one number at a time.
"""

import math
from collections import defaultdict

import numpy as np

from river_amf.state.arena import draw_directions, draw_phases

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
LEAST_SPREAD = 1e-20  # of a cosine: with less variance, it is constant
WIDTH = 0.5  # standard deviation of the directions
FEW_FEATURES = 8  # with more, the directions become shorter

# learning
FADING = 0.999  # of the sums of squared gradients
LEAST_SQUARES = 1e-100
LEAST_GRADIENT = 0.01  # labels with a smaller one take no step
LINEAR_STEP, COSINE_STEP = 0.3, 0.1
FEW_INPUTS = 12  # with more features, the steps on them become shorter

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


class LinearModel:
    """A multinomial logistic regression, learned by AdaGrad whose sums of squares fade."""

    def __init__(self):
        self.vote_weight = FIRST_WEIGHT
        self.weights = defaultdict(float)
        self.squares = defaultdict(lambda: 1.0)

    def grow(self, n_columns, n_labels):
        """Begin with new columns and labels: their weights are 0."""

    def step(self, row):
        return LINEAR_STEP * min(1.0, math.sqrt(FEW_INPUTS / max(row.n_columns, 1)))

    def inputs(self, row, z):
        one_hot = dict.fromkeys(row.categories.items(), 1.0)  # by column and place
        return {"intercept": 1.0, **z, **one_hot}

    def log_proba(self, inputs, n_labels):
        """Return l_c, the log-probability of each label seen so far."""
        return log_softmax(
            [
                math.fsum(self.weights.get((c, i), 0.0) * u for i, u in inputs.items())
                for c in range(n_labels)
            ]
        )

    def learn(self, row, z, label, weight, n_labels):
        """Take a step along the gradient of the log-probability of a label."""
        inputs = self.inputs(row, z)
        present = {i: u for i, u in inputs.items() if u != 0}
        for c, log_p in enumerate(self.log_proba(inputs, n_labels)):
            gradient = math.exp(log_p) - (c == label)
            if abs(gradient) < LEAST_GRADIENT:
                continue
            gradient *= weight
            for i, u in present.items():
                squares = FADING * self.squares[c, i] + (gradient * u) ** 2
                self.squares[c, i] = max(squares, LEAST_SQUARES)
                self.weights[c, i] -= self.step(row) * gradient * u / math.sqrt(self.squares[c, i])


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


class CosineModel(LinearModel):
    """The same on cosines of the numbers."""

    def __init__(self, key):
        super().__init__()
        self.cosines = Cosines(key, N_COSINES, WIDTH)

    def step(self, row):
        return COSINE_STEP

    def inputs(self, row, z):
        return {"intercept": 1.0, **dict(enumerate(self.cosines.standardized(z)))}

    def learn(self, row, z, label, weight, n_labels):
        """Take a step, then count the cosines."""
        super().learn(row, z, label, weight, n_labels)
        self.cosines.add(z)
