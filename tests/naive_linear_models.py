"""The slow, obvious reference of the linear experts (DESIGN.md: linear experts).

A linear expert is a multinomial logistic regression that learns the stream beside the trees. It
keeps its weights by the name of their input: one that is new has weight 0. What is defined step by
step (means, variances, weights) is updated in place, one number at a time.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from river_amf.state.arena import draw_directions, draw_phases

# standardisation
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


def clipped(value: float, largest: float) -> float:
    """Move a value into [-largest, largest]."""
    return min(max(value, -largest), largest)


class Standard:
    """The running mean and variance of an input, by which it is standardised."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.n = 0
        self.mean = 0.0
        self.variance = 0.0

    def is_constant(self) -> bool:
        """Whether all values were equal, as far as rounding lets us tell."""
        return not self.variance > LEAST_VARIANCE * self.mean * self.mean

    def z(self, value: float) -> float:
        """Standardise a value; that of a constant is 0."""
        if self.is_constant():
            return 0.0
        return clipped((value - self.mean) / math.sqrt(self.variance), LARGEST_INPUT)

    def add(self, value: float) -> None:
        """Count a value."""
        self.n += 1
        if self.n == 1:
            self.mean = value
            return
        a = max(1 / self.n, self.rate)
        deviation = self.deviation(value)
        self.mean += a * deviation
        self.variance = (1 - a) * (self.variance + a * deviation * deviation)

    def deviation(self, value: float) -> float:
        """Return by how much a value differs from the mean."""
        return value - self.mean


class NumberStandard(Standard):
    """That of a numeric feature, whose values may be missing, silent for long, or absurd."""

    def z(self, value: float | None) -> float:
        """Standardise a value; a missing one is 0."""
        return 0.0 if value is None else super().z(value)

    def add(self, value: float | None) -> None:
        """Count a value unless it is missing."""
        if value is None:
            return
        super().add(value)
        if self.variance <= SILENT:
            self.variance = 0.0
        if abs(self.mean) <= SILENT:
            self.mean = 0.0

    def deviation(self, value: float) -> float:
        """Return by how much a value differs from the mean, at most ten standard deviations."""
        deviation = super().deviation(value)
        if self.n > TRUSTED + 1 and not self.is_constant():  # n includes this value
            deviation = clipped(deviation, FARTHEST * math.sqrt(self.variance))
        return clipped(deviation, LARGEST_DEVIATION)


class CosineStandard(Standard):
    """That of a cosine, which rounding alone can move by 1e-15."""

    def is_constant(self) -> bool:
        """Whether the cosine has hardly moved."""
        return not self.variance > LEAST_SPREAD


@dataclass(frozen=True)
class Row:
    """A sample without outliers, as linear experts take it.

    `numbers` has all numeric columns known by now, with None where the sample has no value;
    `categories` has the places of the categories in the categorical columns that are present.
    """

    n_columns: int
    numbers: Mapping[int, float | None]
    categories: Mapping[int, int]


def log_softmax(scores: Sequence[float]) -> list[float]:
    """Return log(exp(s_c) / sum_k exp(s_k)) without overflow."""
    largest = max(scores)
    log_sum = math.log(math.fsum(math.exp(s - largest) for s in scores))
    return [s - largest - log_sum for s in scores]


class LinearModel:
    """A multinomial logistic regression, learned by AdaGrad whose sums of squares fade."""

    def __init__(self) -> None:
        self.vote_weight = FIRST_WEIGHT
        self.weights: dict[tuple[int, Hashable], float] = defaultdict(float)
        self.squares: dict[tuple[int, Hashable], float] = defaultdict(lambda: 1.0)

    def step(self, row: Row) -> float:
        """Return h."""
        return LINEAR_STEP * min(1.0, math.sqrt(FEW_INPUTS / max(row.n_columns, 1)))

    def inputs(self, row: Row, z: Mapping[int, float]) -> dict[Hashable, float]:
        """Return the inputs of a sample by name; z holds its standardised numbers by column."""
        one_hot = dict.fromkeys(row.categories.items(), 1.0)  # by column and place
        return {"intercept": 1.0, **z, **one_hot}

    def log_proba(self, inputs: Mapping[Hashable, float], n_labels: int) -> list[float]:
        """Return l_c, the log-probability of each label seen so far."""
        return log_softmax(
            [
                math.fsum(self.weights.get((c, i), 0.0) * u for i, u in inputs.items())
                for c in range(n_labels)
            ]
        )

    def learn(
        self, row: Row, z: Mapping[int, float], label: int, weight: float, n_labels: int
    ) -> None:
        """Take a step along the gradient of the log-probability of a label."""
        inputs = self.inputs(row, z)
        present = {i: u for i, u in inputs.items() if u != 0}
        for c, log_p in enumerate(self.log_proba(inputs, n_labels)):
            gradient = math.exp(log_p) - (c == label)
            if abs(gradient) < LEAST_GRADIENT:
                continue
            gradient *= min(weight, 1.0)
            for i, u in present.items():
                squares = FADING * self.squares[c, i] + (gradient * u) ** 2
                self.squares[c, i] = max(squares, LEAST_SQUARES)
                self.weights[c, i] -= self.step(row) * gradient * u / math.sqrt(self.squares[c, i])


class CosineModel(LinearModel):
    """The same on cosines of the numbers in random directions, which are drawn from its key."""

    def __init__(self, key: int) -> None:
        super().__init__()
        self.key = key
        self.phases = [float(phase) for phase in draw_phases(key, N_COSINES)]
        self.directions: dict[int, list[float]] = {}
        self.standards = [CosineStandard(SLOW) for _ in range(N_COSINES)]

    def step(self, row: Row) -> float:
        """Return h."""
        return COSINE_STEP

    def cosines(self, z: Mapping[int, float]) -> list[float]:
        """Return h_k = cos(phi_k + t sum_j z_j W_jk)."""
        for j in z:
            if j not in self.directions:
                row = draw_directions(self.key, j, N_COSINES)
                self.directions[j] = [float(component) for component in row]
        d = max(len(z), 1)
        t = WIDTH * math.sqrt(min(d, FEW_FEATURES) / d)
        return [
            math.cos(phase + t * math.fsum(z_j * self.directions[j][k] for j, z_j in z.items()))
            for k, phase in enumerate(self.phases)
        ]

    def inputs(self, row: Row, z: Mapping[int, float]) -> dict[Hashable, float]:
        """Return 1 and the standardised cosines."""
        standardised = {
            k: standard.z(h)
            for k, (standard, h) in enumerate(zip(self.standards, self.cosines(z), strict=True))
        }
        return {"intercept": 1.0, **standardised}

    def learn(
        self, row: Row, z: Mapping[int, float], label: int, weight: float, n_labels: int
    ) -> None:
        """Take a step, then count the cosines."""
        super().learn(row, z, label, weight, n_labels)
        for standard, h in zip(self.standards, self.cosines(z), strict=True):
            standard.add(h)


class LinearModels:
    """All linear experts of a forest, and the standards that they share.

    `keys` has one for each, of which that of the first is not used, or is empty.
    """

    def __init__(self, keys: Sequence[int]) -> None:
        self.timescales: list[float] = [SLOW, SLOW, FAST] if keys else []
        self.linear_models: list[LinearModel] = [CosineModel(key) for key in keys]
        self.linear_models[:1] = [LinearModel()] if keys else []
        self.standards: dict[float, dict[int, NumberStandard]] = {SLOW: {}, FAST: {}}

    def z(self, row: Row, timescale: float) -> dict[int, float]:
        """Standardise the numbers of a sample, by column."""
        known, fresh = self.standards[timescale], NumberStandard(timescale)
        return {j: known.get(j, fresh).z(value) for j, value in row.numbers.items()}

    def log_votes(self, row: Row, n_labels: int) -> list[list[float]]:
        """Return max(l_c, -7) of each linear expert, for the labels seen so far."""
        votes = []
        for linear_model, timescale in zip(self.linear_models, self.timescales, strict=True):
            log_p = linear_model.log_proba(
                linear_model.inputs(row, self.z(row, timescale)), n_labels
            )
            votes.append([max(of_label, LEAST_LOG_P) for of_label in log_p])
        return votes

    def learn(self, row: Row, label: int, weight: float, n_labels: int) -> None:
        """Let each linear expert learn the sample, then count its numbers."""
        for linear_model, timescale in zip(self.linear_models, self.timescales, strict=True):
            linear_model.learn(row, self.z(row, timescale), label, weight, n_labels)
        for timescale, standards in self.standards.items():
            for j, value in row.numbers.items():
                standards.setdefault(j, NumberStandard(timescale)).add(value)

    def forget_feature(self, column: int) -> None:
        """Start afresh with the mean and variance of a feature whose outliers were dropped."""
        for timescale, standards in self.standards.items():
            standards[column] = NumberStandard(timescale)
