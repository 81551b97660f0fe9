"""The growth of the reference's trees, which does not depend on what a node predicts.

A node keeps every sample that ever went through it. Given the same random states, the trees draw
the same numbers as the compiled ones. Kinds of forests derive from `GrowingNode`, `GrowingTree` and
`GrowingForest`.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from naive_features import MASK32, Columns

N_IN_A_ROW = 48  # nodes among which a full tree looks for a split to undo
MORE = 1.0 + 1e-9  # a split is less useful than another if it is so by this factor


def add_up(values: Iterable[float]) -> float:
    """Sum from left to right, rounding each time as compiled code does (`sum` may compensate)."""
    total = 0.0
    for value in values:
        total += value
    return total


class RandomStream:
    """MWC64X, a multiply-with-carry generator of 32-bit numbers; `state` is a 64-bit integer."""

    def __init__(self, state: int) -> None:
        self.state = int(state)

    def next32(self) -> int:
        """Draw 32 random bits."""
        low, high = self.state & MASK32, self.state >> 32
        self.state = low * 4294883355 + high
        return low ^ high

    def uniform(self) -> float:
        """Draw from [0, 1), with 53 bits."""
        high = self.next32() >> 5
        low = self.next32() >> 6
        return (high * 67108864 + low) / 2**53

    def exponential(self, rate: float) -> float:
        """Draw from the exponential distribution, by inversion of one uniform number."""
        return -math.log1p(-self.uniform()) / rate

    def column(self, lengths: Sequence[float], split_intensity: Sequence[float]) -> int:
        """Draw a column with probability proportional to lambda_j times its length."""
        cumulative = cumulative_rates(lengths, split_intensity)
        target = self.uniform() * cumulative[-1]
        candidates = [j for j, length in enumerate(lengths) if length > 0]
        return next((j for j in candidates if cumulative[j] > target), candidates[-1])

    def threshold(self, low: float, high: float) -> float:
        """Draw from [low, high)."""
        value = low + (high - low) * self.uniform()
        return value if value < high else low


def cumulative_rates(lengths: Sequence[float], split_intensity: Sequence[float]) -> list[float]:
    """Sum lambda_j times length over the columns up to each one; the last entry is the rate."""
    terms = (lam * length for lam, length in zip(split_intensity, lengths, strict=True))
    return list(accumulate(terms, initial=0.0))[1:] or [0.0]


def log_add(a: float, b: float) -> float:
    """Compute log(exp(a) + exp(b)) without overflow."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def softplus(x: float) -> float:
    """Compute log(1 + exp(x)) without overflow."""
    return log_add(0.0, x)


def sigma(x: float) -> float:
    """Compute 1 / (1 + exp(-x)) without overflow."""
    return math.exp(-softplus(-x))


@dataclass(eq=False)
class Sample:
    """A sample as a tree sees it: `values` maps each column that is present to a number."""

    x: dict[Hashable, Any]
    target: Any
    weight: float
    values: dict[int, float]
    delay: int = 0  # of the target, since it was predicted


@dataclass(eq=False)
class GrowingNode:
    """A node, with every sample that ever went through it in order of arrival.

    `feature` is a column index; None at a leaf, like `threshold`, `left` and `right`. `is_open`
    means that a leaf splits by extension, as internal nodes do; a leaf that is not open is paused
    (DESIGN.md: late splitting). `log_evidence` is the log of the factor by which splits that were
    undone multiply wbar (DESIGN.md: budget).
    """

    forest: Any = field(repr=False)
    time: float
    is_open: bool = False
    samples: list[Sample] = field(default_factory=list, repr=False)
    feature: int | None = None
    threshold: float | None = None
    left: Any = None
    right: Any = None
    log_evidence: float = 0.0

    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return self.left is None

    def children_time(self) -> float:
        """Creation time that the children share; infinite at a leaf."""
        return math.inf if self.is_leaf() else self.left.time

    def n_samples(self) -> float:
        """Total weight of the samples in the cell."""
        return add_up(sample.weight for sample in self.samples)

    def box(self) -> dict[int, tuple[float, float]]:
        """Smallest and largest value of each column that the cell has seen."""
        return hull(self.samples)

    def is_pure_with(self, target: Any) -> bool:
        """Whether no sample of the cell has another target."""
        return all(sample.target == target for sample in self.samples)

    def goes_left(self, values: dict[int, float]) -> bool:
        """Choose the child; without the split feature the heavier one, the left one in a tie."""
        if self.feature in values:
            return values[self.feature] <= self.threshold
        return self.left.n_samples() >= self.right.n_samples()

    def split(self, feature: int, threshold: float, left: Any, right: Any) -> None:
        """Make the node internal."""
        self.feature, self.threshold, self.left, self.right = feature, threshold, left, right


def hull(samples: Iterable[Sample]) -> dict[int, tuple[float, float]]:
    """Smallest and largest value of each column over the samples that have it."""
    box: dict[int, tuple[float, float]] = {}
    for sample in samples:
        for column, value in sample.values.items():
            low, high = box.get(column, (value, value))
            box[column] = (min(low, value), max(high, value))
    return box


class GrowingTree:
    """One tree of a naive forest, with its own random numbers."""

    node_kind: type[GrowingNode]

    def __init__(self, forest: "GrowingForest", random_state: int, tree_key: int) -> None:
        self.forest = forest
        self.random = RandomStream(random_state)
        self.tree_key = tree_key
        self.root: Any = None
        self.places: list[Any] = []  # the nodes, in the order of the compiled arrays

    def start(self) -> None:
        """Make the root, which has no samples yet."""
        self.root = self._new_leaf(0.0)
        self.places = [self.root]

    def nodes(self) -> list[GrowingNode]:
        """List all nodes, parents first and left before right."""
        found, waiting = [], [self.root] if self.root else []
        while waiting:
            node = waiting.pop()
            found.append(node)
            if not node.is_leaf():
                waiting += [node.right, node.left]
        return found

    def budget_spent(self) -> bool:
        """Tell whether two more nodes would exceed `max_nodes` (DESIGN.md: budget)."""
        max_nodes = self.forest.max_nodes
        return max_nodes is not None and len(self.nodes()) + 2 > max_nodes

    def path(self, values: dict[int, float]) -> list[GrowingNode]:
        """List the nodes that x goes through, from the root to a leaf."""
        nodes = [self.root]
        while not nodes[-1].is_leaf():
            node = nodes[-1]
            nodes.append(node.left if node.goes_left(values) else node.right)
        return nodes

    def log_odds_of(self, node: Any) -> float:
        """Log-odds r_v of an internal node for itself against its children."""
        raise NotImplementedError

    def after_insertion(self, parent: Any, below: Any) -> None:
        """Set what a new parent takes over from the node below it."""

    def after_expansion(self, top: Any) -> None:
        """Set what the new nodes of a leaf that was split late have learned."""

    def grow(self, sample: Sample, split_intensity: Sequence[float]) -> list[GrowingNode]:
        """Change the structure for the sample and return its path, without counting it yet."""
        path: list[GrowingNode] = []
        node = self.root
        while True:
            if self._is_paused(node):
                if node.is_pure_with(sample.target):
                    return [*path, node]
                below = self._expand_leaf(node, sample, split_intensity)
                self.after_expansion(node)
                return path + below
            above = path[-1] if path else None
            inserted = self._insert_parent(node, above, sample, split_intensity)
            if inserted:
                return path + inserted
            path.append(node)
            if node.is_leaf():
                return path
            node = node.left if node.goes_left(sample.values) else node.right

    def _new_leaf(self, time: float, samples: Iterable[Sample] = ()) -> GrowingNode:
        return self.node_kind(self.forest, time, self.forest.split_pure, list(samples))

    def _is_paused(self, node: GrowingNode) -> bool:
        return node.is_leaf() and not node.is_open and not self.budget_spent()

    def _insert_parent(
        self,
        node: GrowingNode,
        above: GrowingNode | None,
        sample: Sample,
        split_intensity: Sequence[float],
    ) -> list[GrowingNode]:
        """Split the sample off above the node if the draw says so (DESIGN.md: Mondrian growth).

        Returns the new parent and the new leaf, or nothing.
        """
        box = node.box()
        extension = self._range_extension(box, sample.values)
        rate = cumulative_rates(extension, split_intensity)[-1]
        if not rate > 0:
            return []
        split_time = node.time + self.random.exponential(rate)
        if not split_time < node.children_time():
            return []
        undone = self._least_useful_split(node, above) if self.budget_spent() else None
        if self.budget_spent() and undone is None:
            return []
        places = self._undo_split(undone) if undone else self._new_places()
        feature = self.random.column(extension, split_intensity)
        value, (range_min, range_max) = sample.values[feature], box[feature]
        parent = self.node_kind(self.forest, node.time, samples=list(node.samples))
        leaf = self._new_leaf(split_time)
        node.time = split_time
        if value > range_max:
            parent.split(feature, self.random.threshold(range_max, value), node, leaf)
        else:
            parent.split(feature, self.random.threshold(value, range_min), leaf, node)
        self._replace(above, node, parent)
        for place, new in zip(places, (parent, leaf), strict=True):
            self.places[place] = new
        self.after_insertion(parent, node)
        parent.log_evidence, node.log_evidence = node.log_evidence, 0.0
        return [parent, leaf]

    def _new_places(self) -> list[int]:
        """Return the places of two new nodes."""
        self.places += [None, None]
        return [len(self.places) - 2, len(self.places) - 1]

    def _least_useful_split(
        self, node: GrowingNode, above: GrowingNode | None
    ) -> GrowingNode | None:
        """Return that of some splits into leaves which the tree can best do without, if any.

        `node` is to get a parent, below `above` (DESIGN.md: budget).
        """
        n_nodes = len(self.places)
        place = int(self.random.uniform() * n_nodes)
        found, largest = None, 0.0
        for k in range(1, N_IN_A_ROW + 1):
            other = self.places[(place + k) % n_nodes]
            if other in (node, above) or other.is_leaf():
                continue
            if other.left.is_leaf() and other.right.is_leaf():
                smaller = min(other.left.n_samples(), other.right.n_samples())
                uselessness = sigma(self.log_odds_of(other)) / (1 + smaller)
                if uselessness > largest * MORE:
                    found, largest = other, uselessness
        return found

    def _undo_split(self, node: GrowingNode) -> list[int]:
        """Make a node a leaf again, and return the places of its leaves.

        To the nodes above it, wbar = (1-b) w (1 + exp(-r)) stays as it is.
        """
        b = self.forest.split_prior
        places = [self.places.index(child) for child in (node.left, node.right)]
        node.log_evidence += math.log1p(-b) + softplus(-self.log_odds_of(node))
        node.feature = node.threshold = node.left = node.right = None
        node.is_open = True
        return places

    def _range_extension(
        self, box: dict[int, tuple[float, float]], values: dict[int, float]
    ) -> list[float]:
        """Distance of x outside the box in each column; 0 if x or the box has no value there."""
        extension = [0.0] * len(self.forest.columns)
        for column, value in values.items():
            if column in box:
                range_min, range_max = box[column]
                extension[column] = max(range_min - value, value - range_max, 0.0)
        return extension

    def _replace(self, above: GrowingNode | None, old: GrowingNode, new: GrowingNode) -> None:
        if above is None:
            self.root = new
        elif above.left is old:
            above.left = new
        else:
            above.right = new

    def _expand_leaf(
        self, leaf: GrowingNode, newcomer: Sample, split_intensity: Sequence[float]
    ) -> list[GrowingNode]:
        """Draw the splits that a paused leaf has put off (DESIGN.md: late splitting).

        Returns the newcomer's path from the leaf downwards.
        """
        path = [leaf]
        while path[-1].samples:  # otherwise the newcomer is alone, in a leaf that stays paused
            node = path[-1]
            cell = [*node.samples, newcomer]
            box = hull(cell)
            sides = [0.0] * len(self.forest.columns)
            for column, (range_min, range_max) in box.items():
                sides[column] = range_max - range_min
            rate = cumulative_rates(sides, split_intensity)[-1]
            if not rate > 0 or self.budget_spent():
                node.is_open = True
                return path
            split_time = node.time + self.random.exponential(rate)
            feature = self.random.column(sides, split_intensity)
            threshold = self.random.threshold(*box[feature])
            on_left = partition(cell, feature, threshold)
            stored = list(zip(node.samples, on_left, strict=False))  # without the newcomer
            left = self._new_leaf(split_time, [s for s, is_left in stored if is_left])
            right = self._new_leaf(split_time, [s for s, is_left in stored if not is_left])
            node.split(feature, threshold, left, right)
            self.places += [left, right]
            path.append(left if on_left[-1] else right)
        return path


def partition(cell: Sequence[Sample], feature: int, threshold: float) -> list[bool]:
    """Return for each sample of a cell whether it goes left.

    Samples that lack the feature join the heavier side of those that have it, left in a tie.
    """
    having = [sample for sample in cell if feature in sample.values]
    left_weight = add_up(s.weight for s in having if s.values[feature] <= threshold)
    right_weight = add_up(s.weight for s in having if s.values[feature] > threshold)
    left_is_heavier = left_weight >= right_weight
    return [
        sample.values[feature] <= threshold if feature in sample.values else left_is_heavier
        for sample in cell
    ]


class GrowingForest(Columns):
    """What all kinds of naive forests share: parameters, trees, features."""

    tree_kind: type[GrowingTree]

    def __init__(
        self,
        random_states: Iterable[int],
        tree_keys: Iterable[int],
        *,
        step: float,
        split_prior: float,
        use_aggregation: bool,
        split_pure: bool,
        max_nodes: int | None,
        fading_factor: float | None,
        drift_threshold: float | None,
        **of_columns: Any,
    ) -> None:
        super().__init__(**of_columns)
        if fading_factor is not None and not 0 < fading_factor < 1:
            raise ValueError(f"fading_factor is {fading_factor!r}, not between 0 and 1")
        self.step = step
        self.split_prior = split_prior
        self.use_aggregation = use_aggregation
        self.split_pure = split_pure
        self.max_nodes = max_nodes
        self.fading_factor = fading_factor
        self.drift_threshold = drift_threshold
        self.trees = [
            self.tree_kind(self, int(random_state), int(tree_key))
            for random_state, tree_key in zip(random_states, tree_keys, strict=True)
        ]
