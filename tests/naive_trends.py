"""The slow, obvious reference of the trends, stacks and intervals of regressors.

Trends are ridge regressions that forget, by recursive least squares; a stack combines voters;
recent errors give intervals. All sums are updated sample by sample, in plain numpy. Targets are
differences from the first one.
"""

import math
from statistics import NormalDist, pvariance
from typing import NamedTuple

import numpy as np
from naive_additive import grown, moved_inputs, with_evidence
from naive_aggregation import fading
from naive_features import N_PARTS
from naive_linear_models import FEW_SAMPLES, SLOW, Cosines, NumberStandard, clipped
from naive_pending import ERRORS_KEPT, slowed, slowed_decay

# inputs
N_COSINES = 200
SCALE = 0.25  # of the directions of cosines
N_OWN = 64  # columns beyond them are folded
LARGEST_PROFILE = 4.0
PROFILE_DECAY = 0.9995

# ridges
FIRST_DECAY, SECOND_DECAY = 0.99, 0.9998
PROFILE_WEIGHT_DECAY = 0.999
VARIANCE_OF_CONSTANT = 1000.0

# winsorizing
ERROR_DECAY = 0.995
SIZE_DECAY = 0.999
FARTHEST = 3.0  # in sizes
LARGEST_STEP = 1e5  # in median steps

# stacks
STACK_DECAY = 0.999
STACK_RIDGE = 5.0
LEAST_SQUARE = 1e-290
RECENT_DECAYS = 0.3, 0.8
MEAN_DECAY = 0.9995
LEAF_VARIANCE_PENALTY = 4.0  # of the variance between leaves

# intervals
N_BINS = 128
BIN_DECAY = 0.995
KIND_DECAY = 0.9995  # of the squared errors of a kind of samples
LARGEST_OF_KIND = 10.0  # in root mean squares
NORMAL_WEIGHT = 10.0
LEAST_SPREAD = 1e-12  # of a tree, in mean squared errors


class FadedMean:
    """A faded weighted sum, and the sum of the weights."""

    def __init__(self, decay):
        self.decay = decay
        self.total = self.weight = 0.0

    def add(self, value, w):
        kept, added = fading(self.decay, w)
        self.total = kept * self.total + added * value
        self.weight = kept * self.weight + added

    def mean(self):
        """Return the mean, 0 before the first value."""
        return self.total / self.weight if self.weight > 0 else 0.0


def cleared(number):
    """Return a number that shrinks, or 0 if it would be subnormal soon."""
    return number if number > 1e-290 else 0.0


class Sizes:
    """The size that about one error in 700 exceeds: it doubles then, and fades."""

    def __init__(self):
        self.size = self.target = self.median_step = 0.0

    def winsorized(self, error, target, w):
        """Count an error, and limit it to three sizes."""
        step, self.target = abs(target - self.target), target
        growth = 2 ** min(w, 1)
        if step > 0:
            factor = growth if step > self.median_step else 1 / growth
            self.median_step = cleared(self.median_step * factor) if self.median_step else step
        self.size = cleared(self.size * SIZE_DECAY**w)
        if abs(error) > self.size and step <= LARGEST_STEP * self.median_step:
            self.size = growth * self.size or abs(error)
        return self.limited(error)

    def limited(self, error):
        """Limit a number alike."""
        return clipped(error, FARTHEST * self.size) if self.size > 0 else error


class Profiles:
    """The mean target at values like those of a sample, by column."""

    def __init__(self):
        self.means = {}  # N and M, by column and knot
        self.weight = self.mean = self.squares = 0.0

    def knots(self, row, column):
        """Return the knots of a sample's value, with their shares."""
        if column in row.categories:
            return {row.categories[column]: 1.0}
        if row.numbers.get(column) is None:
            return {}
        position = row.positions[column]
        k = min(math.floor(position), N_PARTS - 1)
        return {k: 1 - (position - k), k + 1: position - k}

    def inputs(self, row):
        deviation = math.sqrt(self.squares / self.weight) if self.weight > 0 else 0.0
        inputs = []
        for column in range(row.n_columns):
            e = 0.0
            for knot, share in self.knots(row, column).items():
                n, mean = self.means.get((column, knot), (0.0, 0.0))
                e += share * (n / (n + 1) * (mean - self.mean))
            inputs.append(clipped(e / deviation, LARGEST_PROFILE) if deviation > 0 else 0.0)
        return inputs

    def learn(self, row, target, w):
        """Count a target at the knots of its sample."""
        kept, added = fading(PROFILE_DECAY, w)
        for entry in self.means.values():
            entry[0] *= kept
        for column in range(row.n_columns):
            for knot, share in self.knots(row, column).items():
                if share > 0:
                    entry = self.means.setdefault((column, knot), [0.0, 0.0])
                    entry[0] += added * share
                    entry[1] += added * share / entry[0] * (target - entry[1])
        self.weight = kept * self.weight + added
        off = target - self.mean
        self.mean += added / self.weight * off
        self.squares = kept * self.squares + added * off * (target - self.mean)


class Trend:
    """A ridge regression that forgets, with a growing number of inputs."""

    def __init__(self, decay):
        self.decay = decay
        self.weights, self.covariance = np.zeros(0), np.zeros((0, 0))
        self.low = self.high = 0.0

    def predict(self, inputs):
        """Predict, within the range of the targets so far; new inputs count for 0."""
        prediction = float(self.weights @ inputs[: len(self.weights)])
        return min(max(prediction, self.low), self.high)

    def learn(self, inputs, target, w, lateness):
        """Take a step of recursive least squares."""
        self.weights = np.pad(self.weights, (0, len(inputs) - len(self.weights)))
        self.low, self.high = min(self.low, target), max(self.high, target)
        before = grown(self.covariance, len(inputs), VARIANCE_OF_CONSTANT)
        v = before @ inputs
        self.weights += w / (1 + w * (inputs @ v)) * (target - self.weights @ inputs) * v
        kept = slowed_decay(self.decay, lateness) ** w
        self.covariance = with_evidence(before, inputs, w, kept, VARIANCE_OF_CONSTANT)


class Stack:
    """A linear combination of the differences between voters and a base: a faded ridge."""

    def __init__(self, n_voters):
        self.products = np.zeros((n_voters, n_voters))  # C
        self.moments, self.weights = np.zeros(n_voters), np.zeros(n_voters)  # c and a
        self.squares = FadedMean(ERROR_DECAY)  # Q and W
        self.sizes = Sizes()

    def predict(self, base, voters):
        """Predict, not far outside of the range of the voters."""
        low, high = min(base, *voters), max(base, *voters)
        slack = (high - low) / 2
        prediction = base + float(self.weights @ [v - base for v in voters])
        return min(max(prediction, low - slack), high + slack)

    def learn(self, base, voters, error, last, w, lateness):
        """Learn the error of the base; the unit are recent errors, of which `last` is one."""
        self.squares.add(last**2, w)
        if self.squares.mean() > LEAST_SQUARE:
            unit = math.sqrt(self.squares.mean())
            d = np.array([(v - base) / unit for v in voters])
            kept, added = fading(slowed_decay(STACK_DECAY, lateness), w)
            self.products = kept * self.products + added * np.outer(d, d)
            self.moments = kept * self.moments + added * d * (error / unit)
            for k in range(len(voters)):
                rest = self.moments[k] - STACK_RIDGE * self.weights[k]
                rest -= self.products[k] @ self.weights
                self.weights[k] += rest / (self.products[k, k] + STACK_RIDGE)


def folded(values):
    """Fold the values of columns into 64 inputs, every other time with the opposite sign."""
    inputs = [0.0] * min(len(values), N_OWN)
    for j, value in enumerate(values):
        inputs[j % N_OWN] += value if (j // N_OWN) % 2 == 0 else -value
    return inputs


class Trends:
    """Two ridge regressions, and the stack that combines them."""

    def __init__(self, key):
        self.standards = {}
        self.profiles = Profiles()
        self.cosines, self.n_learned = Cosines(key, 0, SCALE), 0
        self.first = Trend(FIRST_DECAY)
        self.second = Trend(SECOND_DECAY)
        self.stack = Stack(3)

    def z(self, row):
        """Standardize the numbers of a sample, by column; missing values are 0."""
        new = NumberStandard(SLOW)
        return {j: self.standards.get(j, new).z(value) for j, value in row.numbers.items()}

    def inputs(self, row):
        of_numbers = self.z(row)
        z = folded([of_numbers.get(j, 0.0) for j in range(row.n_columns)])
        e = folded(self.profiles.inputs(row))
        first = [1.0] + [value for pair in zip(z, e, strict=True) for value in pair]
        return np.array(first), np.array([1.0, *self.cosines.standardized(of_numbers), *z])

    def predict(self, row):
        """Return P_1, P_2 and T."""
        return self._predictions(*self.inputs(row))

    def _predictions(self, first, second):
        p1, p2 = self.first.predict(first), self.second.predict(second)
        return p1, p2, self.stack.predict((p1 + p2) / 2, [p1, p2, self.profiles.mean])

    def learn(self, row, target, w, lateness, *, is_first):
        """Learn a winsorized target; the stack does not learn the first one."""
        inputs = self.inputs(row)
        p1, p2, trend = self._predictions(*inputs)
        base, voters = (p1 + p2) / 2, [p1, p2, self.profiles.mean]
        if not is_first:
            self.stack.learn(base, voters, target - base, target - trend, w, lateness)
        for ridge, of_ridge in zip((self.first, self.second), inputs, strict=True):
            ridge.learn(of_ridge, target, w, lateness if ridge is self.first else 0.0)
        self.first.weights[2::2] *= PROFILE_WEIGHT_DECAY**w
        self.profiles.learn(row, target, w)
        self.cosines.add(self.z(row))
        self.n_learned += 1
        if self.n_learned == FEW_SAMPLES:
            self.cosines, ridge = Cosines(self.cosines.key, N_COSINES, SCALE), self.second
            kept = [0, *range(1 + N_COSINES, len(inputs[1]) + N_COSINES)]
            moved = ridge.weights, ridge.covariance, kept, 1 + kept[-1], VARIANCE_OF_CONSTANT
            ridge.weights, ridge.covariance = moved_inputs(*moved)
        for j, value in row.numbers.items():
            self.standards.setdefault(j, NumberStandard(SLOW)).add(value)

    def forget_feature(self, column):
        """Restart with a feature whose outliers were dropped."""
        self.standards[column] = NumberStandard(SLOW)
        for key in [key for key in self.profiles.means if key[0] == column]:
            del self.profiles.means[key]


class Votes(NamedTuple):
    """The predictions for a sample, and what was recent then; odd trees and leaves without T."""

    trees: tuple
    variances: tuple
    leaves: tuple = ()
    trends: tuple = ()  # P_1, P_2, T
    recent: list = (0.0, 0.0, 0.0)  # r_1, r_2 and the last target
    surprises: set = frozenset()

    def with_trend(self, tree_votes):
        """Add T to the predictions of odd trees."""
        trend = self.trends[2] if self.trends else 0.0
        return [p + trend * (t % 2) for t, p in enumerate(tree_votes)]


class Vote:
    """The combination of the trees: their mean, or a stack of all experts."""

    def __init__(self, *, is_learned, has_trend=False, has_leaves=False, recent=None):
        self.is_learned = is_learned
        self.has_leaves = has_leaves
        self.has_recent = recent is not None
        self.has_last = is_learned and recent == "target"
        self.stack = Stack(3 + 2 * self.has_recent + 2 * has_trend + 3 * has_leaves)
        self.last_stack = Stack(1)  # from the last target to all others
        self.errors = [FadedMean(decay) for decay in RECENT_DECAYS]
        self.mean = FadedMean(MEAN_DECAY)  # of the targets
        self.last = 0.0
        self.bins = normal_bins()
        self.squares = {kind: FadedMean(KIND_DECAY) for kind in ("all", "new", "gap")}
        self.targets = [0.0]  # so far, less the first

    def recent(self, lateness):
        """Return the means of recent errors, as far as they count, and the last target."""
        kept = math.exp(-lateness / ERRORS_KEPT)
        return [*(kept * errors.mean() for errors in self.errors), self.last]

    def base(self, votes):
        """Return the mean of the means of even and odd trees, or of all trees."""
        tree_votes = votes.with_trend(votes.trees)
        if not self.is_learned:
            return math.fsum(tree_votes) / len(tree_votes)
        return math.fsum(groups(tree_votes)) / 2

    def voters(self, votes):
        base = self.base(votes)
        voters = groups(votes.with_trend(votes.trees))
        if self.has_recent:
            voters += [base + correction for correction in votes.recent[:2]]
        voters += votes.trends[:2]
        if self.has_leaves:
            leaves = votes.with_trend(votes.leaves)
            voters += groups(leaves)
            squares = self.stack.squares.mean()
            doubt = LEAF_VARIANCE_PENALTY * pvariance(leaves)
            agreement = squares / (squares + doubt) if squares > 0 else 0.0
            voters.append(base + agreement * (math.fsum(groups(leaves)) / 2 - base))
        return [*voters, self.mean.mean()]

    def of_voters(self, votes):
        """Predict, without the last target."""
        base = self.base(votes)
        return self.stack.predict(base, self.voters(votes)) if self.is_learned else base

    def scale(self, votes, prediction):
        """Return the scale of the error: the geometric mean of those that the trees give."""
        least = LEAST_SPREAD * self.stack.squares.mean()
        squares = [
            max(v + (location - prediction) ** 2, least)
            for location, v in zip(votes.with_trend(votes.trees), votes.variances, strict=True)
        ]
        if min(squares) == 0:
            return 0.0
        return math.exp(math.fsum(math.log(square) for square in squares) / len(squares) / 2)

    def quantile(self, prediction, scale, q):
        """Return a quantile of the target, given the prediction and the scale of its error."""
        number = prediction + scale * error_at(self.bins, q)
        if len(self.targets) < 20 and q != 0.5:  # too few errors
            least, largest = min(self.targets), max(self.targets)
            margin = (largest - least) / 2 if len(self.targets) > 1 else math.inf
            number = min(number, least - margin) if q < 0.5 else max(number, largest + margin)
        return number

    def law(self, votes):
        prediction = self.of_voters(votes)
        if self.has_last:
            prediction = self.last_stack.predict(votes.recent[2], [prediction])
        return prediction, self.scale(votes, prediction) * self.widening(votes.surprises)

    def widening(self, kinds):
        """Return the factor of the scale of a sample of some kinds, given the errors of such."""
        usual = self.squares["all"].mean()
        ratios = [self.squares[kind].mean() / usual for kind in kinds] if usual > 0 else []
        return math.sqrt(max([1.0, *ratios]))

    def learn(self, votes, target, w, delay, law, lateness):
        """Learn a target that was predicted: now, or with this location and scale before."""
        self.targets.append(target)
        p = self.of_voters(votes)
        prediction, scale = law or self.law(votes)
        off = target - prediction
        w_error, by_itself = slowed(w, delay), self.scale(votes, prediction)
        if len(self.targets) > 20 and (by_itself > 0 or off == 0):
            square, usual = (off / by_itself) ** 2 if off else 0.0, self.squares["all"].mean()
            for kind in ("all", *votes.surprises):
                limited = min(square, LARGEST_OF_KIND**2 * usual) if usual > 0 else square
                self.squares[kind].add(limited, w_error)
        if scale > 0 or off == 0:  # an error without a scale has no unit
            u = off / scale if off else 0.0
            s = u / (1 + abs(u))
            kept, added = fading(BIN_DECAY, w_error)
            self.bins = kept * self.bins
            self.bins[min(math.floor(N_BINS // 2 * (s + 1)), N_BINS - 1)] += added
        base = self.base(votes)
        error = self.stack.sizes.winsorized(target - base, target, w)
        if self.is_learned:
            self.stack.learn(base, self.voters(votes), error, error, w, lateness)
        else:
            self.stack.squares.add(error**2, w)
        for errors in self.errors:
            errors.add(error, w)
        self.mean.add(base + error, w)
        if self.has_last:
            last, sizes = votes.recent[2], self.last_stack.sizes
            error = sizes.winsorized(target - last, target, w)
            distance = sizes.limited(p - last)
            self.last_stack.learn(0.0, [distance], error, error, w, lateness)
            self.last = target


def groups(tree_votes):
    """Return the means of even and of odd trees, the same of an only tree."""
    even, odd = tree_votes[::2], tree_votes[1::2]
    mean = math.fsum(even) / len(even)
    return [mean, math.fsum(odd) / len(odd) if odd else mean]


def normal_bins():
    """Return the first bins: those of a normal law, of weight 10."""
    ends = (k / (N_BINS // 2) - 1 for k in range(1, N_BINS))
    below = [0.0, *(NormalDist().cdf(s / (1 - abs(s))) for s in ends), 1.0]
    return NORMAL_WEIGHT * np.diff(below)


def error_at(bins, share):
    """Return the scaled error that a share of the errors does not exceed."""
    wanted = share * float(bins.sum())
    below, k = 0.0, 0
    while k < N_BINS - 1 and below + bins[k] < wanted:
        below += float(bins[k])
        k += 1
    inside = (wanted - below) / float(bins[k]) if bins[k] > 0 else 0.0
    s = (k + inside) / (N_BINS // 2) - 1
    s = clipped(s, 1 - 1 / (2 * N_BINS))
    return s / (1 - abs(s))
