"""The slow, obvious reference of what a forest for numbers has beside its trees.

Trends are ridge regressions, solved by Gauss-Seidel with a few coordinates a sample; a stack lets
voters meet; errors of late give intervals. All sums are updated sample by sample, in plain numpy.
Targets are differences from the first one.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, pvariance
from typing import NamedTuple

import numpy as np
from naive_linear_models import FEW_FEATURES, SLOW, CosineStandard, NumberStandard, clipped
from naive_pending import DELAY_SCALE

from river_amf.state.arena import draw_directions, draw_phases

# inputs
N_COSINES = 200
SCALE = 0.25  # of the directions of cosines
N_SLOTS = 64  # columns beyond them are folded
N_PARTS = 16  # of a feature's range; profiles are interpolated between their ends
LARGEST_PROFILE = 4.0
PROFILE_DECAY = 0.9995

# ridges
FIRST_DECAY, FIRST_RIDGE = 0.99, 1.0
SECOND_DECAY, SECOND_RIDGE = 0.9998, 10.0
RIDGE_OF_CONSTANT = 0.001
N_COORDINATES = 64  # of a ridge that are solved for after each sample

# winsorizing
ERROR_DECAY = 0.99
ENOUGH = 20.0
FARTHEST = 10.0

# stacks
STACK_DECAY = 0.999
STACK_RIDGE = 5.0
LEAST_SQUARE = 1e-290
RECENT_DECAYS = 0.3, 0.8
DOUBT = 4.0  # of the variance between leaves

# intervals
N_BINS = 128
BIN_DECAY = 0.995
NORMAL_WEIGHT = 10.0
LEAST_SPREAD = 1e-12  # of a tree, in mean squared errors


def fading(decay: float, weight: float) -> tuple[float, float]:
    """Return what a sample makes of a faded sum, and what it counts."""
    return decay**weight, -math.expm1(weight * math.log(decay)) / (1 - decay)


class FadedMean:
    """A faded weighted sum, and the sum of the weights."""

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self.total = self.weight = 0.0

    def add(self, value: float, w: float) -> None:
        """Count a value of weight w."""
        kept, added = fading(self.decay, w)
        self.total = kept * self.total + added * value
        self.weight = kept * self.weight + added

    def mean(self) -> float:
        """Return the mean, 0 before the first value."""
        return self.total / self.weight if self.weight > 0 else 0.0

    def winsorized(self, error: float) -> float:
        """Limit an error to ten times the root of the mean of those squared before."""
        if self.weight > ENOUGH and self.total > 0:
            return clipped(error, FARTHEST * math.sqrt(self.mean()))
        return error


@dataclass(frozen=True)
class TrendRow:
    """A sample without outliers, as trends take it.

    `numbers` has all numeric columns, with None where the sample has no value; `categories` the
    places of the categories in the columns that are present. `places` has the place in [0, 16] of
    each number in its range from before the sample, 0 if there is none.
    """

    n_columns: int
    numbers: Mapping[int, float | None]
    categories: Mapping[int, int]
    places: Mapping[int, float]


def place_in_range(value: float, low: float, high: float) -> float:
    """Return where in its range a number is, from 0 to 16."""
    width = high - low
    if not (width > 0 and math.isfinite(width)):
        return 0.0
    return min(max(N_PARTS * ((value - low) / width), 0.0), float(N_PARTS))


class Profiles:
    """What the target is on average at values like those of a sample, by column."""

    def __init__(self) -> None:
        self.means: dict[tuple[int, int], list[float]] = {}  # N and M, by column and slot
        self.weight = self.mean = self.squares = 0.0

    def slots(self, row: TrendRow, column: int) -> dict[int, float]:
        """Return the slots of a sample's value, with their shares."""
        if column in row.categories:
            return {row.categories[column]: 1.0}
        if row.numbers.get(column) is None:
            return {}
        place = row.places[column]
        k = min(math.floor(place), N_PARTS - 1)
        return {k: 1 - (place - k), k + 1: place - k}

    def inputs(self, row: TrendRow) -> list[float]:
        """Return e_j of each column, in standard deviations of the target."""
        deviation = math.sqrt(self.squares / self.weight) if self.weight > 0 else 0.0
        found = []
        for column in range(row.n_columns):
            e = 0.0
            for slot, share in self.slots(row, column).items():
                n, mean = self.means.get((column, slot), (0.0, 0.0))
                e += share * (n / (n + 1) * (mean - self.mean))
            found.append(clipped(e / deviation, LARGEST_PROFILE) if deviation > 0 else 0.0)
        return found

    def learn(self, row: TrendRow, target: float, w: float) -> None:
        """Count a target in the slots of its sample."""
        kept, added = fading(PROFILE_DECAY, w)
        for own in self.means.values():
            own[0] *= kept
        for column in range(row.n_columns):
            for slot, share in self.slots(row, column).items():
                if share > 0:
                    own = self.means.setdefault((column, slot), [0.0, 0.0])
                    own[0] += added * share
                    own[1] += added * share / own[0] * (target - own[1])
        self.weight = kept * self.weight + added
        off = target - self.mean
        self.mean += added / self.weight * off
        self.squares = kept * self.squares + added * off * (target - self.mean)


class Ridge:
    """A faded ridge regression whose weights follow by coordinate descent."""

    def __init__(self, decay: float, ridge: float) -> None:
        self.decay = decay
        self.ridge = ridge
        self.products = np.zeros((0, 0))  # A
        self.moments = np.zeros(0)  # b
        self.weights = np.zeros(0)
        self.at = 0
        self.low = self.high = 0.0

    def predict(self, inputs: np.ndarray) -> float:
        """Predict, within the range of the targets so far; new inputs count for 0."""
        prediction = float(self.weights @ inputs[: len(self.weights)])
        return min(max(prediction, self.low), self.high)

    def learn(self, inputs: np.ndarray, target: float, w: float) -> None:
        """Count a sample, and solve for the next coordinates."""
        new = len(inputs) - len(self.weights)
        self.products = np.pad(self.products, (0, new))
        self.moments, self.weights = np.pad(self.moments, (0, new)), np.pad(self.weights, (0, new))
        self.low, self.high = min(self.low, target), max(self.high, target)
        kept, added = fading(self.decay, w)
        self.products = kept * self.products + added * np.outer(inputs, inputs)
        self.moments = kept * self.moments + added * inputs * target
        for _ in range(min(N_COORDINATES, len(inputs))):
            j, self.at = self.at, (self.at + 1) % len(inputs)
            ridge = self.ridge if j > 0 else RIDGE_OF_CONSTANT
            residual = self.moments[j] - ridge * self.weights[j] - self.products[j] @ self.weights
            self.weights[j] += residual / (self.products[j, j] + ridge)


class Stack:
    """A linear combination of what voters add to a base."""

    def __init__(self, n_voters: int) -> None:
        self.products = np.zeros((n_voters, n_voters))  # C
        self.moments = np.zeros(n_voters)  # c
        self.weights = np.zeros(n_voters)  # a
        self.squares = FadedMean(ERROR_DECAY)  # Q and W

    def say(self, base: float, voters: Sequence[float]) -> float:
        """Predict, not far outside of what the voters say."""
        low, high = min(base, *voters), max(base, *voters)
        slack = (high - low) / 2
        prediction = base + math.fsum(
            float(a) * (v - base) for a, v in zip(self.weights, voters, strict=True)
        )
        return min(max(prediction, low - slack), high + slack)

    def learn(
        self, base: float, voters: Sequence[float], error: float, judged: float, w: float
    ) -> None:
        """Learn the error of the base; the unit are errors of late, of which `judged` is one."""
        self.squares.add(judged**2, w)
        if self.squares.mean() <= LEAST_SQUARE:
            return
        unit = math.sqrt(self.squares.mean())
        inputs = np.array([(v - base) / unit for v in voters])
        kept, added = fading(STACK_DECAY, w)
        self.products = kept * self.products + added * np.outer(inputs, inputs)
        self.moments = kept * self.moments + added * inputs * (error / unit)
        for k in range(len(inputs)):
            residual = self.moments[k] - STACK_RIDGE * self.weights[k]
            residual -= self.products[k] @ self.weights
            self.weights[k] += residual / (self.products[k, k] + STACK_RIDGE)


def folded(values: Sequence[float]) -> list[float]:
    """Fold the values of columns into 64 slots, every other time with the opposite sign."""
    slots = [0.0] * min(len(values), N_SLOTS)
    for j, value in enumerate(values):
        slots[j % N_SLOTS] += value if (j // N_SLOTS) % 2 == 0 else -value
    return slots


class Trends:
    """Two ridge regressions, and the stack in which they meet."""

    def __init__(self, key: int) -> None:
        self.key = key
        self.standards: dict[int, NumberStandard] = {}
        self.profiles = Profiles()
        self.phases = draw_phases(key, N_COSINES)
        self.directions: dict[int, np.ndarray] = {}
        self.cosine_standards = [CosineStandard(SLOW) for _ in range(N_COSINES)]
        self.first = Ridge(FIRST_DECAY, FIRST_RIDGE)
        self.second = Ridge(SECOND_DECAY, SECOND_RIDGE)
        self.stack = Stack(3)

    def z(self, row: TrendRow) -> list[float]:
        """Standardise the numbers of a sample; categories and missing values are 0."""
        fresh = NumberStandard(SLOW)
        return [
            self.standards.get(j, fresh).z(row.numbers.get(j)) if j in row.numbers else 0.0
            for j in range(row.n_columns)
        ]

    def cosines(self, row: TrendRow) -> np.ndarray:
        """Return the cosines of a sample, not yet standardised."""
        z, n = self.z(row), len(row.numbers)
        scale = SCALE * math.sqrt(min(n, FEW_FEATURES) / n) if n else 0.0
        turns = np.zeros(N_COSINES)
        for j in row.numbers:
            if j not in self.directions:
                self.directions[j] = draw_directions(self.key, j, N_COSINES)
            turns += z[j] * self.directions[j]
        return np.cos(self.phases + scale * turns)

    def inputs(self, row: TrendRow) -> tuple[np.ndarray, np.ndarray]:
        """Return the inputs of the two ridges."""
        z, e = folded(self.z(row)), folded(self.profiles.inputs(row))
        first = [1.0] + [value for pair in zip(z, e, strict=True) for value in pair]
        standardised = [
            standard.z(h)
            for standard, h in zip(self.cosine_standards, self.cosines(row), strict=True)
        ]
        return np.array(first), np.array([1.0, *standardised, *z])

    def predict(self, row: TrendRow) -> tuple[float, float, float]:
        """Return P_1, P_2 and T."""
        return self._predictions(*self.inputs(row))

    def _predictions(self, first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
        p1, p2 = self.first.predict(first), self.second.predict(second)
        return p1, p2, self.stack.say((p1 + p2) / 2, [p1, p2, self.profiles.mean])

    def winsorized(self, row: TrendRow, target: float) -> float:
        """Draw in a target that is too far from T."""
        trend = self.predict(row)[2]
        return trend + self.stack.squares.winsorized(target - trend)

    def learn(self, row: TrendRow, target: float, w: float, *, is_first: bool) -> None:
        """Learn a winsorized target; the stack does not learn the first one."""
        inputs = self.inputs(row)
        p1, p2, trend = self._predictions(*inputs)
        base, voters = (p1 + p2) / 2, [p1, p2, self.profiles.mean]
        cosines = self.cosines(row)
        if not is_first:
            self.stack.learn(base, voters, target - base, target - trend, w)
        for ridge, of_ridge in zip((self.first, self.second), inputs, strict=True):
            ridge.learn(of_ridge, target, w)
        self.profiles.learn(row, target, w)
        for j, value in row.numbers.items():
            self.standards.setdefault(j, NumberStandard(SLOW)).add(value)
        for standard, h in zip(self.cosine_standards, cosines, strict=True):
            standard.add(float(h))

    def forget_feature(self, column: int) -> None:
        """Start afresh with a feature whose outliers were dropped."""
        self.standards[column] = NumberStandard(SLOW)
        for place in [place for place in self.profiles.means if place[0] == column]:
            del self.profiles.means[place]


class Votes(NamedTuple):
    """What was predicted for a sample, and what was recent then; odd trees and leaves without T."""

    trees: Sequence[float]
    variances: Sequence[float]
    leaves: Sequence[float] = ()
    trends: Sequence[float] = ()  # P_1, P_2, T
    recent: Sequence[float] = (0.0, 0.0, 0.0)  # r_1, r_2 and the last target

    def with_trend(self, of_trees: Sequence[float]) -> list[float]:
        """Add T to the predictions of odd trees."""
        trend = self.trends[2] if self.trends else 0.0
        return [own + trend * (t % 2) for t, own in enumerate(of_trees)]


class Vote:
    """How the trees meet: the mean of them, or a stack of all experts there are."""

    def __init__(
        self,
        *,
        is_learned: bool,
        has_trend: bool = False,
        has_leaves: bool = False,
        recent: str | None = None,
    ) -> None:
        self.is_learned = is_learned
        self.has_leaves = has_leaves
        self.has_recent = recent is not None
        self.has_last = is_learned and recent == "target"
        self.stack = Stack(2 + 2 * self.has_recent + 2 * has_trend + 3 * has_leaves)
        self.last_stack = Stack(1)  # from the last target to all others
        self.errors = [FadedMean(decay) for decay in RECENT_DECAYS]
        self.last = 0.0
        self.bins = normal_bins()
        self.targets = [0.0]  # so far, less the first

    def recent(self) -> list[float]:
        """Return the means of recent errors, and the last target."""
        return [*(errors.mean() for errors in self.errors), self.last]

    def base(self, votes: Votes) -> float:
        """Return the mean of the means of even and odd trees, or of all trees."""
        of_trees = votes.with_trend(votes.trees)
        if not self.is_learned:
            return math.fsum(of_trees) / len(of_trees)
        return math.fsum(groups(of_trees)) / 2

    def voters(self, votes: Votes) -> list[float]:
        """List the voters' predictions."""
        base = self.base(votes)
        found = groups(votes.with_trend(votes.trees))
        if self.has_recent:
            found += [base + correction for correction in votes.recent[:2]]
        found += votes.trends[:2]
        if self.has_leaves:
            leaves = votes.with_trend(votes.leaves)
            found += groups(leaves)
            squares = self.stack.squares.mean()
            doubt = DOUBT * pvariance(leaves)
            agreement = squares / (squares + doubt) if squares > 0 else 0.0
            found.append(base + agreement * (math.fsum(groups(leaves)) / 2 - base))
        return found

    def of_voters(self, votes: Votes) -> float:
        """Predict, without the last target."""
        base = self.base(votes)
        return self.stack.say(base, self.voters(votes)) if self.is_learned else base

    def predict(self, votes: Votes) -> float:
        """Predict."""
        p = self.of_voters(votes)
        return self.last_stack.say(votes.recent[2], [p]) if self.has_last else p

    def scale(self, votes: Votes, prediction: float) -> float:
        """Return the scale of the error: the geometric mean of those that the trees give."""
        least = LEAST_SPREAD * self.stack.squares.mean()
        squares = [
            max(v + (location - prediction) ** 2, least)
            for location, v in zip(votes.with_trend(votes.trees), votes.variances, strict=True)
        ]
        if min(squares) == 0:
            return 0.0
        return math.exp(math.fsum(math.log(square) for square in squares) / len(squares) / 2)

    def quantile(self, prediction: float, scale: float, q: float) -> float:
        """Return a quantile of the target, given the prediction and the scale of its error."""
        found = prediction + scale * error_at(self.bins, q)
        if len(self.targets) < 20 and q != 0.5:  # too few errors to go by
            least, largest = min(self.targets), max(self.targets)
            margin = (largest - least) / 2 if len(self.targets) > 1 else math.inf
            found = min(found, least - margin) if q < 0.5 else max(found, largest + margin)
        return found

    def said(self, votes: Votes) -> tuple[float, float]:
        """Return the prediction and the scale of its error."""
        prediction = self.predict(votes)
        return prediction, self.scale(votes, prediction)

    def learn(
        self, votes: Votes, target: float, w: float, delay: int = 0, said: Sequence[float] = ()
    ) -> None:
        """Learn a target that was predicted: now, or with this location and scale before."""
        self.targets.append(target)
        p = self.of_voters(votes)
        prediction, scale = said or self.said(votes)
        off = target - prediction
        if scale > 0 or off == 0:  # an error without a scale tells nothing
            u = off / scale if off else 0.0
            s = u / (1 + abs(u))
            kept, added = fading(BIN_DECAY, w / (1 + delay / DELAY_SCALE))
            self.bins = kept * self.bins
            self.bins[min(math.floor(N_BINS // 2 * (s + 1)), N_BINS - 1)] += added
        base = self.base(votes)
        error = self.stack.squares.winsorized(target - base)
        if self.is_learned:
            self.stack.learn(base, self.voters(votes), error, error, w)
        else:
            self.stack.squares.add(error**2, w)
        for errors in self.errors:
            errors.add(error, w)
        if self.has_last:
            last, limit = votes.recent[2], self.last_stack.squares.winsorized
            distance, error = limit(p - last), limit(target - last)
            self.last_stack.learn(0.0, [distance], error, error, w)
            self.last = target


def groups(of_trees: Sequence[float]) -> list[float]:
    """Return the means of even and of odd trees, the same of an only tree."""
    even, odd = of_trees[::2], of_trees[1::2]
    mean = math.fsum(even) / len(even)
    return [mean, math.fsum(odd) / len(odd) if odd else mean]


def normal_bins() -> np.ndarray:
    """Return the first bins: those of a normal law, of weight 10."""
    ends: Iterable[float] = (k / (N_BINS // 2) - 1 for k in range(1, N_BINS))
    below = [0.0, *(NormalDist().cdf(s / (1 - abs(s))) for s in ends), 1.0]
    return NORMAL_WEIGHT * np.diff(below)


def error_at(bins: np.ndarray, share: float) -> float:
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
