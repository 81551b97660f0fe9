"""The slow, obvious reference of the additive experts (DESIGN.md: additive experts).

An additive expert is a multinomial logistic regression on terms of single features, learned by
Newton steps with the covariance of its weights. Matrices are whole, and counts are by name.
"""

import itertools
import math
from collections import defaultdict

import numpy as np
from naive_aggregation import fading
from naive_linear_models import (
    FAST,
    FEW_SAMPLES,
    FIRST_WEIGHT,
    LEAST_GRADIENT,
    LEAST_LOG_P,
    N_COSINES,
    SLOW,
    Cosines,
    NumberStandard,
    Perceptron,
    log_softmax,
)

# profiles
N_PARTS = 16
EDGE_STEP = 1.5  # in standard deviations, at first
COUNT_DECAY = 0.9995
PRIOR = 5.0  # samples of the overall frequencies in each bin
LEAST_SHARE = 1e-4  # of a label

# experts
N_TERMS = 32
COSINES_OF_TERM = 12
SCALE = 0.25  # of the directions of cosines
EVIDENCE_DECAY = 0.9998
VARIANCE, VARIANCE_OF_CONSTANT = 0.1, 1.0
LEAST_CURVATURE = 0.001


def log_odds(p):
    """Return log(p / (1 - p)) of a probability that is moved away from 0 and 1."""
    p = min(max(p, LEAST_SHARE), 1 - LEAST_SHARE)
    return math.log(p / (1 - p))


def with_evidence(covariance, x, h, kept, of_constant):
    """Return (S^-1 + h x x')^-1 / kept, scaled so that no variance exceeds the first."""
    v = covariance @ x
    after = (covariance - h / (1 + h * (x @ v)) * np.outer(v, v)) / kept
    scale = np.sqrt(np.minimum(1, first_variances(len(x), of_constant) / np.diag(after)))
    return scale[:, None] * after * scale


def grown(covariance, n, of_constant):
    n_before, result = len(covariance), np.diag(first_variances(n, of_constant))
    result[:n_before, :n_before] = covariance
    return result


def moved_inputs(weights, covariance, starts, n, of_constant):
    """Return weights and their covariance with n inputs, those there are at these indices."""
    result, starts = np.zeros((*weights.shape[:-1], n)), np.array(starts)
    result[..., starts[: weights.shape[-1]]] = weights
    if not len(covariance):
        return result, covariance
    after, starts = grown(covariance[:0, :0], n, of_constant), starts[: len(covariance)]
    after[np.ix_(starts, starts)] = covariance
    return result, after


def first_variances(n, of_constant):
    return np.array([of_constant, *[VARIANCE] * (n - 1)])


class LabelProfiles:
    """How frequent the labels are at values like those of a sample, by column."""

    def __init__(self, standards):
        self.standards = standards  # the slow ones, by column
        self.edges = {}
        self.counts = defaultdict(lambda: defaultdict(float))  # by column and bin, and label
        self.totals = defaultdict(float)

    def bin_of(self, row, j):
        """Return the bin of a value, None if it is not in any."""
        if j in row.categories:
            return j, row.categories[j]
        if j not in row.numbers:
            return None
        value, standard = row.numbers[j], self.standards.get(j, NumberStandard(SLOW))
        if value is None:
            return j, "missing"
        if standard.n == 0:
            return None
        return j, sum(e <= value for e in self.edges[j]) if standard.n >= N_PARTS - 1 else 0

    def terms(self, row, n_labels):
        """Return T_j(c): the log-odds of a label in the bin less those overall."""
        total = math.fsum(self.totals.values()) + n_labels
        terms = np.zeros((n_labels, row.n_columns))
        for j in range(row.n_columns):
            counts = self.counts.get(self.bin_of(row, j), {})
            n = math.fsum(counts.values())
            for c in range(n_labels if n else 0):
                share = (self.totals[c] + 1) / total
                in_bin = (counts.get(c, 0.0) + PRIOR * share) / (n + PRIOR)
                terms[c, j] = log_odds(in_bin) - log_odds(share)
        return terms

    def learn(self, row, label, w):
        """Count a label in all bins, and move the edges of bins."""
        kept, added = fading(COUNT_DECAY, w)
        for counts in [self.totals, *self.counts.values()]:
            for c in counts:
                counts[c] *= kept
        self.totals[label] += added
        for j in range(row.n_columns):
            found = self.bin_of(row, j)
            if found is None and j in row.numbers:  # the first value, or the first once more
                for key in [key for key in self.counts if key[0] == j]:
                    del self.counts[key]
                self.edges[j], found = [], (j, 0)
            if found is not None:
                self.counts[found][label] += added
            if row.numbers.get(j) is not None:
                self.move_edges(j, row.numbers[j])

    def move_edges(self, j, value):
        """Move the edges so that a share k / 16 of the values is below the k-th."""
        edges, standard = self.edges[j], self.standards.get(j, NumberStandard(SLOW))
        if len(edges) < N_PARTS - 1:
            self.edges[j] = sorted([*edges, value])
            return
        step = EDGE_STEP * max(1 / (standard.n + 1), SLOW) * math.sqrt(standard.variance)
        for k, edge in enumerate(edges):
            edges[k] += step * ((k + 1) / N_PARTS - (value < edge))


class AdditiveModel:
    """An additive expert, with cosines if it gets a key for them, but not in the first samples.

    Its inputs are 1, and for each term z, T and, with cosines, 12 of them, up to 100.
    """

    def __init__(self, profiles, key=None):
        self.vote_weight = FIRST_WEIGHT
        self.profiles = profiles
        self.key, self.n_learned, self.cosines = key, 0, Cosines(0, 0, SCALE)
        self.weights = np.zeros((0, 1))
        self.covariance = np.zeros((0, 0))  # of the weights that have learned

    def starts(self, n_terms):
        """Return the index of z in each term, and the number of inputs; T comes next to z."""
        n = self.cosines.n
        return [1 + 2 * q + min(COSINES_OF_TERM * q, n) for q in range(n_terms + 1)]

    def grow(self, row, n_labels):
        """Begin with the inputs of new columns, and with new labels."""
        *starts, n = self.starts(min(row.n_columns, N_TERMS))
        n_before, n_new = len(self.weights), n - self.weights.shape[1]
        self.weights = np.pad(self.weights, ((0, n_labels - n_before), (0, n_new)))
        for start in starts:
            self.weights[0 if start >= n - n_new else n_before :, start + 1] = 1 / len(starts)

    def inputs(self, row, z):
        *starts, n = self.starts(min(row.n_columns, N_TERMS))
        inputs = np.zeros((max(len(self.weights), 1), n))
        inputs[:, 0] = 1
        terms = self.profiles.terms(row, len(inputs))
        for j in range(row.n_columns):
            start = starts[j % N_TERMS]
            inputs[:, start] += z[SLOW].get(j, 0.0)
            inputs[:, start + 1] += terms[:, j]
        cosines = iter(self.cosines.standardized(z[SLOW]))
        for start, following in itertools.pairwise([*starts, n]):
            for i in range(start + 2, following):
                inputs[:, i] = next(cosines)
        return inputs

    def log_proba(self, inputs, n_labels):
        """Return l_c, the log-probability of each label seen so far."""
        return log_softmax([float(self.weights[c] @ inputs[c]) for c in range(n_labels)])

    def learn(self, row, z, label, weight, n_labels):
        """Take a Newton step for each label that is not certain."""
        inputs, before = self.inputs(row, z), self.covariance
        for c, log_p in enumerate(self.log_proba(inputs, n_labels)):
            p, x = math.exp(log_p), inputs[c]
            error = (c == label) - p
            if abs(error) < LEAST_GRADIENT:
                continue
            h = weight * max(p * (1 - p), LEAST_CURVATURE)
            if len(before) < len(x):
                before = self.covariance = grown(before, len(x), VARIANCE_OF_CONSTANT)
            v = before @ x
            self.weights[c] += v * (weight * error / (1 + h * (x @ v)))
            if c == label:
                kept = EVIDENCE_DECAY**weight
                self.covariance = with_evidence(before, x, h, kept, VARIANCE_OF_CONSTANT)
        self.cosines.add(z[SLOW])
        self.n_learned += 1
        if self.n_learned == FEW_SAMPLES and self.key is not None:
            self.cosines = Cosines(self.key, N_COSINES, SCALE)
            *starts, n = self.starts(self.weights.shape[1] // 2)
            starts = [0, *(start + i for start in starts for i in (0, 1))]
            moved = moved_inputs(self.weights, self.covariance, starts, n, VARIANCE_OF_CONSTANT)
            self.weights, self.covariance = moved


class LinearModels:
    """All experts of a forest, and the standards that they share.

    `keys` has one for each, or is empty: the perceptron, and two additive ones.
    """

    def __init__(self, keys):
        self.standards = {SLOW: {}, FAST: {}}
        self.profiles = LabelProfiles(self.standards[SLOW])
        self.linear_models = []
        if keys:
            self.linear_models = [Perceptron(keys[0], self.profiles)]
            self.linear_models += [AdditiveModel(self.profiles, key) for key in (None, keys[-1])]

    def z(self, row):
        """Standardize the numbers of a sample, by timescale and column."""
        return {
            timescale: {
                j: standards.get(j, NumberStandard(timescale)).z(value)
                for j, value in row.numbers.items()
            }
            for timescale, standards in self.standards.items()
        }

    def log_votes(self, row, n_labels):
        """Return max(l_c, -7) of each linear expert, for the labels seen so far."""
        votes = []
        for linear_model in self.linear_models:
            linear_model.grow(row, n_labels)
            log_p = linear_model.log_proba(linear_model.inputs(row, self.z(row)), n_labels)
            votes.append([max(of_label, LEAST_LOG_P) for of_label in log_p])
        return votes

    def learn(self, row, label, weight, n_labels):
        """Let each linear expert learn the sample, then count its numbers and categories."""
        for linear_model in self.linear_models:
            linear_model.learn(row, self.z(row), label, weight, n_labels)
        self.profiles.learn(row, label, weight)
        for timescale, standards in self.standards.items():
            for j, value in row.numbers.items():
                standards.setdefault(j, NumberStandard(timescale)).add(value)

    def forget_feature(self, column):
        """Restart the mean and variance of a feature whose outliers were dropped."""
        for timescale, standards in self.standards.items():
            standards[column] = NumberStandard(timescale)
