"""The growth of the reference's trees, which does not depend on what a node predicts.

A node keeps every sample that ever went through it. Given the same random states, the trees draw
the same numbers as the compiled ones. The forests of `naive.py` and `naive_regression.py` derive
from `GrowingNode`, `GrowingTree` and `GrowingForest`.
"""

import functools
import math
import operator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

from naive_aggregation import add_up, masses_by_recursion, sigma, softplus, weigh
from naive_features import MASK32, Columns
from naive_pending import Pending

N_CANDIDATES = 48  # nodes that a full tree considers when it undoes a split
KEPT_WEIGHT = 0.9995  # of the share of each weight in the mean of all, at every later sample
MOST_OPEN = 64  # branches put aside, from which on a prediction takes one way only
MOST_VISITS = 400  # nodes visited, from which on it does so, too
LEAST_MASS = 1e-4  # a branch with less mass below a node ends there
TIE_TOLERANCE = 1.0 + 1e-9  # factor up to which two of them are equal, despite rounding


def relative(weights):
    """Return the last of some weights, divided by the mean of all, so weighted."""
    shares = [v * KEPT_WEIGHT**age for age, v in enumerate(reversed(weights))]
    mean = math.fsum(map(operator.mul, shares, reversed(weights))) / math.fsum(shares)
    return weights[-1] / mean


class RandomStream:
    """MWC64X, a multiply-with-carry generator of 32-bit numbers; `state` is a 64-bit integer."""

    def __init__(self, state):
        self.state = int(state)

    def next32(self):
        low, high = self.state & MASK32, self.state >> 32
        self.state = low * 4294883355 + high
        return low ^ high

    def uniform(self):
        """Draw from [0, 1), with 53 bits."""
        high = self.next32() >> 5
        low = self.next32() >> 6
        return (high * 67108864 + low) / 2**53

    def exponential(self, rate):
        """Draw from the exponential distribution, by inversion of one uniform number."""
        return -math.log1p(-self.uniform()) / rate

    def column(self, lengths, split_intensity):
        """Draw a column with probability proportional to lambda_j times its length."""
        cumulative = cumulative_rates(lengths, split_intensity)
        target = self.uniform() * cumulative[-1]
        candidates = [j for j, length in enumerate(lengths) if length > 0]
        return next((j for j in candidates if cumulative[j] > target), candidates[-1])

    def threshold(self, low, high):
        """Draw from [low, high)."""
        value = low + (high - low) * self.uniform()
        return value if value < high else low


def cumulative_rates(lengths, split_intensity):
    """Sum lambda_j times length over the columns up to each one; the last entry is the rate."""
    terms = (lam * length for lam, length in zip(split_intensity, lengths, strict=True))
    return list(accumulate(terms, initial=0.0))[1:] or [0.0]


@dataclass(eq=False)
class Sample:
    """A sample as a tree sees it: `values` maps each column that is present to a number."""

    target: Any
    weight: float
    values: dict
    lateness: float = 0.0  # of labels at that time


def of_samples(method):
    """Compute what follows from the samples of a node alone once for each number of them."""

    @functools.wraps(method)
    def known(node):
        if node.known.get(method, (None,))[0] != len(node.samples):
            node.known[method] = len(node.samples), method(node)
        return node.known[method][1]

    return known


@dataclass(eq=False)
class GrowingNode:
    """A node, with every sample that ever went through it in order of arrival.

    `feature` is a column index; None at a leaf, like `threshold`, `left` and `right`. `is_open`
    means that a leaf splits by extension, as internal nodes do; a leaf that is not open is paused
    (DESIGN.md: late splitting). `log_evidence` is the log of the factor by which splits that were
    undone multiply wbar (DESIGN.md: budget). `share` is that of the faded estimator.
    """

    forest: Any = field(repr=False)
    time: float
    is_open: bool = False
    samples: list = field(default_factory=list, repr=False)
    feature: int | None = None
    threshold: float | None = None
    left: Any = None
    right: Any = None
    log_evidence: float = 0.0
    share: float = 0.5
    known: dict = field(default_factory=dict, repr=False)

    def is_leaf(self):
        return self.left is None

    @of_samples
    def n_samples(self):
        """Return the total weight of the samples in the cell."""
        return add_up(sample.weight for sample in self.samples)

    @of_samples
    def box(self):
        """Return the smallest and largest value of each column that the cell has seen."""
        return hull(self.samples)

    def goes_left(self, values):
        """Choose the child; without the split feature the heavier one, the left one in a tie."""
        if self.feature in values:
            return values[self.feature] <= self.threshold
        return self.left.n_samples() >= self.right.n_samples()

    def split(self, feature, threshold, left, right):
        self.feature, self.threshold, self.left, self.right = feature, threshold, left, right


def hull(samples):
    """Return the smallest and largest value of each column over the samples that have it."""
    box = {}
    for sample in samples:
        for column, value in sample.values.items():
            low, high = box.get(column, (value, value))
            box[column] = (min(low, value), max(high, value))
    return box


class Visit(NamedTuple):
    """A node that a prediction mixes: the visit above it, its mass, and at a leaf its share."""

    node: Any
    above: Any
    mass: float
    share: float  # 0 where the walk goes on


class GrowingTree:
    node_kind = GrowingNode

    def __init__(self, forest, random_state, tree_key):
        self.forest = forest
        self.random = RandomStream(random_state)
        self.tree_key = int(tree_key)
        self.root = None
        self.entries = []  # the nodes, in the order of the compiled arrays
        self.fading_share = 0.5

    def nodes(self, top=None):
        """List all nodes, or those below one, parents first and left before right."""
        nodes, pending = [], [top or self.root] if self.root else []
        while pending:
            node = pending.pop()
            nodes.append(node)
            if not node.is_leaf():
                pending += [node.right, node.left]
        return nodes

    def budget_spent(self):
        """Return whether two more nodes would exceed `max_nodes` (DESIGN.md: budget)."""
        max_nodes = self.forest.max_nodes
        return max_nodes is not None and len(self.nodes()) + 2 > max_nodes

    def path(self, values):
        """List the nodes that x goes through, from the root to a leaf."""
        nodes = [self.root]
        while not nodes[-1].is_leaf():
            node = nodes[-1]
            nodes.append(node.left if node.goes_left(values) else node.right)
        return nodes

    def log_odds(self):
        """Return the log-odds r_v of all nodes, infinite at leaves."""
        log_odds = {}
        if self.root:
            weigh(self.root, self.node_kind.log_w, self.forest.split_prior, log_odds)
        return log_odds

    def masses(self, path, log_odds=None):
        """Return the mass of each node of a path in a prediction; they sum to one."""
        if not self.forest.use_aggregation:
            return [0.0] * (len(path) - 1) + [1.0]
        return masses_by_recursion(path, log_odds or self.log_odds())

    def visits(self, values, least_mass=LEAST_MASS):
        """List what a prediction mixes: without the split feature, x goes both ways.

        Each takes a share by the samples there, the heavier one first (DESIGN.md: missing values).
        """
        visits, log_odds, n_open = [], self.log_odds(), 0

        def visit(node, above, mass, share):
            nonlocal n_open
            keeps = self.forest.use_aggregation or node.is_leaf()
            r = log_odds[node] if keeps else -math.inf
            rest = mass * sigma(-r)
            ends = node.is_leaf() or (share < 1 and rest < least_mass)
            this = Visit(node, above, mass if ends else mass * sigma(r), share if ends else 0.0)
            visits.append(this)
            if ends:
                return
            goes_left = node.goes_left(values)
            first, other = (node.left, node.right) if goes_left else (node.right, node.left)
            if node.feature in values or n_open >= MOST_OPEN or len(visits) >= MOST_VISITS:
                visit(first, this, rest, share)
                return
            heavier = first.n_samples() / (first.n_samples() + other.n_samples())
            n_open += 1
            visit(first, this, heavier * rest, heavier * share)
            n_open -= 1
            visit(other, this, (1 - heavier) * rest, (1 - heavier) * share)

        visit(self.root, None, 1.0, 1.0)
        return visits

    def novelty(self, values, unseen, split_intensity):
        """Return how new a sample is: how soon it splits off, and from how many samples.

        Of the columns in `unseen` it has a category that was not learned (DESIGN.md: novelty).
        """
        if self.root is None:
            return 1.0
        path, terms, reach = self.path(values), [], 1.0
        for above, node in zip([None, *path], path, strict=False):
            is_paused = node.is_leaf() and not node.is_open and not self.budget_spent()
            box = (above if above and is_paused else node).box()
            distances = self._range_extension(box, values)
            for column in unseen & box.keys():
                distances[column] = 1.0
            rate = cumulative_rates(distances, split_intensity)[-1]
            stays = 1.0
            if rate > 0:
                is_last = node.is_leaf()
                stays = 0.0 if is_last else math.exp(-(node.left.time - node.time) * rate)
            terms.append(reach * (1.0 - stays) * math.log1p(node.n_samples()))
            reach *= stays
        return math.fsum(terms) / math.log1p(self.root.n_samples())

    def after_insertion(self, parent, below):
        """Set what a new parent takes over from the node below it."""
        parent.share = below.share

    def after_expansion(self, top):
        """Set what the new nodes of a leaf that was split late have learned."""

    def grow(self, sample, split_intensity):
        """Change the structure for the sample and return its path, without counting it yet."""
        if self.root is None:
            self.root = self._new_leaf(0.0)
            self.entries = [self.root]
        path, node = [], self.root
        while True:
            is_paused = node.is_leaf() and not node.is_open and not self.budget_spent()
            if is_paused:
                if all(other.target == sample.target for other in node.samples):
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

    def _new_leaf(self, time, samples=()):
        return self.node_kind(self.forest, time, self.forest.split_pure, list(samples))

    def _insert_parent(self, node, above, sample, split_intensity):
        """Split the sample off above the node if its time is early (DESIGN.md: Mondrian growth).

        Returns the new parent and the new leaf, or nothing.
        """
        box = node.box()
        extension = self._range_extension(box, sample.values)
        rate = cumulative_rates(extension, split_intensity)[-1]
        if not rate > 0:
            return []
        split_time = node.time + self.random.exponential(rate)
        if not split_time < (math.inf if node.is_leaf() else node.left.time):
            return []
        if not self.budget_spent():
            self.entries += [None, None]
            entries = [len(self.entries) - 2, len(self.entries) - 1]
        elif (entries := self._undo_least_useful_split(node, above)) is None:
            return []
        feature = self.random.column(extension, split_intensity)
        value, (range_min, range_max) = sample.values[feature], box[feature]
        parent = self.node_kind(self.forest, node.time, samples=list(node.samples))
        leaf = self._new_leaf(split_time)
        node.time = split_time
        if value > range_max:
            parent.split(feature, self.random.threshold(range_max, value), node, leaf)
        else:
            parent.split(feature, self.random.threshold(value, range_min), leaf, node)
        if above is None:
            self.root = parent
        elif above.left is node:
            above.left = parent
        else:
            above.right = parent
        for k, new in zip(entries, (parent, leaf), strict=True):
            self.entries[k] = new
        self.after_insertion(parent, node)
        parent.log_evidence, node.log_evidence = node.log_evidence, 0.0
        return [parent, leaf]

    def _undo_least_useful_split(self, node, above):
        """Make room in a full tree: undo that of some splits into leaves that is missed least.

        `node` is to get a parent, below `above` (DESIGN.md: budget). Returns the entries of the
        leaves that are gone, None if there is no such split.
        """
        log_odds, least_useful, largest = self.log_odds(), None, 0.0
        first = int(self.random.uniform() * len(self.entries))
        for k in range(1, N_CANDIDATES + 1):
            other = self.entries[(first + k) % len(self.entries)]
            if other in (node, above) or other.is_leaf():
                continue
            if other.left.is_leaf() and other.right.is_leaf():
                smaller = min(other.left.n_samples(), other.right.n_samples())
                uselessness = sigma(log_odds[other]) / (1 + smaller)
                if uselessness > largest * TIE_TOLERANCE:
                    least_useful, largest = other, uselessness
        if least_useful is None:
            return None
        entries = [self.entries.index(child) for child in (least_useful.left, least_useful.right)]
        # to the nodes above it, wbar = (1-b) w (1 + exp(-r)) stays as it is
        stays = math.log1p(-self.forest.split_prior) + softplus(-log_odds[least_useful])
        least_useful.log_evidence += stays
        least_useful.split(None, None, None, None)
        least_useful.is_open = True
        return entries

    def _range_extension(self, box, values):
        """Distance of x outside the box in each column; 0 if x or the box has no value there."""
        extension = [0.0] * len(self.forest.columns)
        for column, value in values.items():
            if column in box:
                range_min, range_max = box[column]
                extension[column] = max(range_min - value, value - range_max, 0.0)
        return extension

    def _expand_leaf(self, leaf, newcomer, split_intensity):
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
            self.entries += [left, right]
            path.append(left if on_left[-1] else right)
        return path


def partition(cell, feature, threshold):
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
    """Parameters, features, trees and pending predictions of a naive forest."""

    tree_kind = GrowingTree
    parameters: ClassVar = {
        "step": 1.0,
        "split_prior": 0.5,
        "use_aggregation": True,
        "max_nodes": None,
        "max_categories": None,
        "max_features": None,
        "split_intensity": "range",
        "fading_factor": None,
        "drift_threshold": None,
        "max_delayed_labels": 10_000,
        "on_mismatch": "raise",
    }

    def __init__(self, random_states, tree_keys, **parameters):
        super().__init__()
        assert parameters.keys() <= self.parameters.keys()
        vars(self).update(self.parameters | parameters)
        keys = zip(random_states, tree_keys, strict=True)
        self.trees = [self.tree_kind(self, *of_tree) for of_tree in keys]
        self.pending = Pending(self.max_delayed_labels)
        self.lateness = 0.0  # of labels, as of the last call
        self.is_late = False  # whether the last label was
        self.weights = []
        self.intensities = [[]]  # of the last sample, for each part of the target

    def fading_share(self):
        """Return the running share of the faded estimators in the predictions, 0 without fading."""
        if self.fading_factor is None:
            return 0.0
        return math.fsum(tree.fading_share for tree in self.trees) / len(self.trees)

    def current_lateness(self):
        return self.pending.lateness(self.n_learned)

    def learn_one(self, x, y, w=1.0):
        """Learn one sample of weight w; a weight of zero changes nothing."""
        columns = {column.index: column for column in self.columns.values()}
        self.lateness = self.current_lateness()
        late = self.pending.find(self.pending_row(x), self.n_learned, columns)
        self.is_late = late is not None
        if w > 0:
            self.pending.count_lateness()
            x = self.checked(x)
            self.admit_categories(x)
            self.learn(x, y, self.weigh(float(w)), late)

    def novelty_one(self, x):
        """Return how new a sample is: the mean over the trees, where outliers stay as they are."""
        x = self.filled(self.checked(x))
        unseen = {c.index for name, c in self.columns.items() if c.is_unseen(x[name])}
        novelties = []
        for t, tree in enumerate(self.trees):
            values = self.encode_tame(x, tree.tree_key) | dict.fromkeys(unseen, -1.0)
            intensities = self.intensities[t % len(self.intensities)]
            novelties.append(tree.novelty(values, unseen, intensities))
        return math.fsum(novelties) / len(novelties)

    def weigh(self, w):
        """Return a weight, a relative one for a learned vote."""
        if self.vote == "mean":
            return w
        self.weights.append(w)
        return relative(self.weights)
