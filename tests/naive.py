"""The slow, obvious reference for everything compiled.

Three independent parts:

- `Cell` and the functions on it: the average over prunings (DESIGN.md: aggregation) of any tree
  given as nested counts, by the recursion of context-tree weighting and by brute force;
- `NaiveForest`: the online forest with an object per node. A node keeps every sample that ever went
  through it, and everything else is recomputed from that list. Only what is defined step by step
  is updated in place: with fading, the share and the log-odds of a node; the range of a feature;
  the weights of the learned vote and its linear voices (`naive_voices.py`). Given the same random
  states, it draws the same numbers as the compiled forest, so trees can be compared node by node;
- `sample_mondrian`: Mondrian trees drawn all at once on given rows, to compare distributions.
"""

import math
import numbers
import sys
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from naive_voices import VOICE_RATE, Row, Voices

# -------------------------------------------------------------------------------------------------
# Constants, which might still be tuned
# -------------------------------------------------------------------------------------------------

# fading
SWITCHING = 0.001  # alpha of the fixed share between the two estimators of a node
SHARE_MEMORY = 500.0  # samples that the running mean of `fading_share` looks back

# observed range of a numeric feature
RECENT = 64  # values kept until outliers among them are dropped
FAR = 30.0  # in widths of the range: values further out are outliers
MAX_DROPPED = 2  # maximum number of values dropped at each end
CREDIT_NEEDED = 5.0  # this many far values in quick succession are believed
CREDIT_LOST = 0.05  # per value inside the range

# relevance
RELEVANCE_FLOOR = 0.003  # EPS
RELEVANCE_MEMORY = 400.0  # delta = 1 - 1 / RELEVANCE_MEMORY
LARGEST_TRUST = 1e6  # upper bound for a sample in the statistics of relevance
N_BINS = 16  # for the values of a number
N_BUCKETS = 64  # for the categories of a feature
ONE_CLASS = 1e-12  # if G is this close to 1, there is nothing to explain

# learned vote
RECENT_RATE = 0.02  # of the mean of a tree's recent losses
USUAL_RATE = 0.001
LEAST_HEARD = 300  # number of losses before a tree may restart
LEAST_VARIANCE = 0.001  # of a loss
LEAST_SURPLUS = 0.05
VOTE_FLOOR = 1e-3  # FLOOR, added to each probability of a tree
VOTE_RATE = 0.002  # RATE_V
BIAS_RATE = 0.02  # RATE_B

# -------------------------------------------------------------------------------------------------
# Aggregation on plain cells
# -------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Cell:
    """A node as the aggregation sees it: one count per class, and two children or none.

    Cells are compared by identity. The number of classes C is the length of `counts`.
    """

    counts: tuple[float, ...]
    left: "Cell | None" = None
    right: "Cell | None" = None


def add_up(values: Iterable[float]) -> float:
    """Sum from left to right, rounding each time as compiled code does (`sum` may compensate)."""
    total = 0.0
    for value in values:
        total += value
    return total


def log_add(a: float, b: float) -> float:
    """Compute log(exp(a) + exp(b)) without overflow."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def softplus(x: float) -> float:
    """Compute log(1 + exp(x)) without overflow."""
    return log_add(0.0, x)


def sigma(x: float) -> float:
    """Compute 1 / (1 + exp(-x)) without overflow."""
    return math.exp(-softplus(-x))


def node_prediction(counts: Sequence[float], dirichlet: float) -> list[float]:
    """Predict from one node: p_v(c) = (n_v(c) + a) / (N_v + C a) (DESIGN.md: node prediction)."""
    total = add_up(counts) + len(counts) * dirichlet
    return [(count + dirichlet) / total for count in counts]


def loss(counts: Sequence[float], dirichlet: float) -> float:
    """Cumulative loss L_v of a node, in closed form (DESIGN.md: cumulative loss)."""
    prior = len(counts) * dirichlet
    of_labels = [math.lgamma(count + dirichlet) - math.lgamma(dirichlet) for count in counts]
    return math.lgamma(add_up(counts) + prior) - math.lgamma(prior) - add_up(of_labels)


def log_w(cell: Cell, *, step: float, dirichlet: float) -> float:
    """Log-weight of the node by itself: log w_v = -eta L_v (DESIGN.md: aggregation)."""
    return -step * loss(cell.counts, dirichlet)


def log_wbar(cell: Cell, *, split_prior: float, step: float, dirichlet: float) -> float:
    """Log-weight of all prunings of the subtree.

    wbar_v = w_v at a leaf, (1-b) w_v + b wbar_left wbar_right elsewhere (DESIGN.md: aggregation).
    """
    own = log_w(cell, step=step, dirichlet=dirichlet)
    if cell.left is None:
        return own
    below = add_up(
        log_wbar(child, split_prior=split_prior, step=step, dirichlet=dirichlet)
        for child in (cell.left, cell.right)
    )
    return log_add(math.log1p(-split_prior) + own, math.log(split_prior) + below)


def closed_form_log_odds(cell: Cell, *, split_prior: float, step: float, dirichlet: float) -> float:
    """Log-odds of an internal node for itself against its children; infinite at a leaf.

    r_v = log((1-b)/b) + log w_v - log wbar_left - log wbar_right (DESIGN.md: aggregation). A leaf
    takes all the mass that reaches it, hence the infinity.
    """
    if cell.left is None:
        return math.inf
    below = add_up(
        log_wbar(child, split_prior=split_prior, step=step, dirichlet=dirichlet)
        for child in (cell.left, cell.right)
    )
    own = log_w(cell, step=step, dirichlet=dirichlet)
    return math.log1p(-split_prior) - math.log(split_prior) + own - below


def prunings(cell: Cell, *, split_prior: float) -> Iterator[tuple[list[Cell], float]]:
    """Enumerate all prunings T of a small tree as (leaves of T, log pi(T)).

    pi(T) = b^(internal nodes of T) (1-b)^(leaves of T that are not leaves of the full tree)
    (DESIGN.md: aggregation); it sums to one.
    """
    if cell.left is None:
        yield [cell], 0.0
        return
    yield [cell], math.log1p(-split_prior)
    for left_leaves, left_log_pi in prunings(cell.left, split_prior=split_prior):
        for right_leaves, right_log_pi in prunings(cell.right, split_prior=split_prior):
            log_pi = math.log(split_prior) + left_log_pi + right_log_pi
            yield left_leaves + right_leaves, log_pi


def brute_force_prediction(
    cell: Cell, path: Sequence[Cell], *, split_prior: float, step: float, dirichlet: float
) -> list[float]:
    """Average the predictions of all prunings, each weighted by pi(T) exp(-eta L(T)).

    `path` lists the cells that x goes through, from `cell` to a leaf. In any pruning T, exactly one
    of them is a leaf, and it makes T's prediction.
    """
    log_weights, predictions = [], []
    for leaves, log_pi in prunings(cell, split_prior=split_prior):
        total_loss = add_up(loss(leaf.counts, dirichlet) for leaf in leaves)
        (own_leaf,) = (leaf for leaf in leaves if leaf in path)
        log_weights.append(log_pi - step * total_loss)
        predictions.append(node_prediction(own_leaf.counts, dirichlet))
    largest = max(log_weights)
    weights = [math.exp(log_weight - largest) for log_weight in log_weights]
    return [
        math.fsum(w * p for w, p in zip(weights, of_class, strict=True)) / math.fsum(weights)
        for of_class in zip(*predictions, strict=True)
    ]


def aggregated_prediction(
    path: Sequence[Cell], *, split_prior: float, step: float, dirichlet: float
) -> list[float]:
    """Average the predictions of all prunings by recursion, for trees of any size.

    With q_v(c) = w_v p_v(c) at the leaf and (1-b) w_v p_v(c) + b q_child(c) wbar_sibling above, the
    average is q_root(c) / wbar_root: wbar after one more sample of class c, for eta = 1.
    """
    log_q: list[float] = []
    below = None
    for cell in reversed(path):
        own = log_w(cell, step=step, dirichlet=dirichlet)
        log_p = [math.log(p) for p in node_prediction(cell.counts, dirichlet)]
        if below is None:
            log_q = [own + p for p in log_p]
        else:
            sibling = cell.right if below is cell.left else cell.left
            beside = log_wbar(sibling, split_prior=split_prior, step=step, dirichlet=dirichlet)
            keep, split = math.log1p(-split_prior) + own, math.log(split_prior) + beside
            log_q = [log_add(keep + p, split + q) for p, q in zip(log_p, log_q, strict=True)]
        below = cell
    total = log_wbar(path[0], split_prior=split_prior, step=step, dirichlet=dirichlet)
    return [math.exp(q - total) for q in log_q]


# -------------------------------------------------------------------------------------------------
# Fading: two estimators in one node
# -------------------------------------------------------------------------------------------------


def log_whole(counts: Sequence[float], label: int, weight: float, dirichlet: float) -> float:
    """Increment of -L_v by one more sample (DESIGN.md: sample weights).

    It is log p_v(y) if the weight is one.
    """
    own, total = counts[label] + dirichlet, add_up(counts) + len(counts) * dirichlet
    if weight == 1:
        return math.log(own / total)
    of_label = math.lgamma(own + weight) - math.lgamma(own)
    return of_label - (math.lgamma(total + weight) - math.lgamma(total))


@dataclass
class Mixture:
    """Whole and faded counts of a node, and the share q of the faded ones (DESIGN.md: fading).

    The faded total F is kept separately, not summed up from the f.
    """

    counts: list[float]
    faded_counts: list[float]
    faded_total: float
    share: float
    dirichlet: float
    fading_factor: float

    def faded_prediction(self) -> list[float]:
        """Predict with the faded counts alone: (f(c) + a) / (F + C a)."""
        total = self.faded_total + len(self.faded_counts) * self.dirichlet
        return [(count + self.dirichlet) / total for count in self.faded_counts]

    def predict(self) -> list[float]:
        """Mix the predictions of the two estimators."""
        whole, faded = node_prediction(self.counts, self.dirichlet), self.faded_prediction()
        q = self.share
        return [(1 - q) * w + q * f for w, f in zip(whole, faded, strict=True)]

    def learn(self, label: int, weight: float) -> float:
        """Count a sample; return log P of its label before that."""
        whole = log_whole(self.counts, label, weight, self.dirichlet)
        faded = weight * math.log(self.faded_prediction()[label])
        log_p = log_add(math.log1p(-self.share) + whole, math.log(self.share) + faded)
        # Herbster and Warmuth's fixed share: q <- alpha/2 + (1-alpha) q P_faded / P
        after = math.exp(math.log(self.share) + faded - log_p)
        self.share = SWITCHING / 2 + (1 - SWITCHING) * after
        self.count(label, weight)
        return log_p

    def count(self, label: int, weight: float) -> None:
        """Count a sample without changing the share."""
        # f <- gamma^w f, then add the sum of the first w powers of gamma to the label's count
        kept = self.fading_factor**weight
        added = 1.0
        if weight != 1:
            log_kept = weight * math.log(self.fading_factor)
            added = -math.expm1(log_kept) / (1 - self.fading_factor)
        self.faded_counts = [kept * count for count in self.faded_counts]
        self.faded_counts[label] += added
        self.faded_total = kept * self.faded_total + added
        self.counts[label] += weight


# -------------------------------------------------------------------------------------------------
# Random numbers
# -------------------------------------------------------------------------------------------------

MASK32 = 0xFFFFFFFF


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


def fmix32(h: int) -> int:
    """Scramble 32 bits (the finalizer of MurmurHash3)."""
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK32
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK32
    return h ^ h >> 16


def category_number(code: int, column: int, tree_key: int) -> float:
    """Place a category in [0, 1), differently in each tree and column (DESIGN.md: categories)."""
    salt = fmix32(int(tree_key) ^ (column * 0x9E3779B9 & MASK32))
    return fmix32(fmix32(code) ^ salt) / 2**32


# -------------------------------------------------------------------------------------------------
# The forest
# -------------------------------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """Whether a value is a number (including bool and numpy scalars), not a category."""
    return isinstance(value, numbers.Real | np.bool_)


def is_missing(value: Any) -> bool:
    """Tell None and NaN from values (DESIGN.md: missing values)."""
    return value is None or (is_number(value) and math.isnan(value))


class ObservedRange:
    """Range of the values of a numeric feature, without outliers.

    The first `RECENT` values are kept, and then the far ones among them are dropped; if almost all
    of them are equal, it waits for more. Once the range is settled, a far value counts only if
    several come in quick succession; until then it is suspect.
    """

    def __init__(self) -> None:
        self.low = math.inf
        self.high = -math.inf
        self.recent: list[float] = []
        self.credit = 0.0
        self.is_settled = False

    def width(self) -> float:
        """Width of the range."""
        return self.high - self.low

    def extend(self, value: float) -> None:
        """Extend the range to include the value."""
        self.low, self.high = min(self.low, value), max(self.high, value)

    def is_far(self, value: float) -> bool:
        """Whether a value might be an outlier."""
        outside = max(self.low - value, value - self.high)
        return self.is_settled and outside > FAR * self.width()

    def draw_in(self, value: float) -> float:
        """Winsorize: move a far value to the end of the range."""
        return min(max(value, self.low), self.high) if self.is_far(value) else value

    def add(self, value: float) -> tuple[bool, bool]:
        """Add a value; return whether it is suspect, and whether earlier ones were dropped."""
        dropped = False
        if not self.is_settled:
            self.recent.append(value)
            self.extend(value)
            if len(self.recent) == RECENT:
                dropped = self._judge()
        elif self.low <= value <= self.high:
            self.credit = max(0.0, self.credit - CREDIT_LOST)
        elif self.is_far(value):
            self.credit += 1
            if self.credit >= CREDIT_NEEDED:
                self.credit = 0.0
                self.extend(value)
        else:
            self.extend(value)
        return not self.low <= value <= self.high, dropped

    def _judge(self) -> bool:
        """Drop the outliers among the recent values; return whether there were any."""
        kept = without_outliers(self.recent)
        dropped = kept[0] > self.low or kept[-1] < self.high
        if dropped:
            self.low, self.high = kept[0], kept[-1]
        core = sorted(self.recent)[MAX_DROPPED:-MAX_DROPPED]
        self.is_settled = core[0] < core[-1]
        if not self.is_settled:
            self.recent = [self.low, self.high]
        return dropped


def without_outliers(values: Iterable[float]) -> list[float]:
    """Sort the values, and drop the few at each end that lie far from all others."""
    values = sorted(values)
    width = values[-1 - MAX_DROPPED] - values[MAX_DROPPED]
    if width == 0:
        return values
    n_low = max(
        (k for k in range(1, MAX_DROPPED + 1) if values[k] - values[k - 1] > FAR * width), default=0
    )
    n_high = max(
        (k for k in range(1, MAX_DROPPED + 1) if values[-k] - values[-k - 1] > FAR * width),
        default=0,
    )
    return values[n_low : len(values) - n_high]


@dataclass(eq=False)
class Observation:
    """A value in the statistics of a feature; `number` counts the samples learned, from 1."""

    number: int
    value: Any
    label: Hashable
    weight: float
    bucket: int


def correlation_ratio(
    values: Sequence[float], labels: Sequence[Hashable], weights: Sequence[float]
) -> float:
    """Fraction of the values' variance that the classes explain, eta^2 = 1 - within / total."""

    def scatter(v: np.ndarray, w: np.ndarray) -> float:
        return float(np.sum(w * (v - np.sum(w * v) / np.sum(w)) ** 2))

    v, w = np.array(values, dtype=float), np.array(weights, dtype=float)
    with np.errstate(all="ignore"):  # values like 1e200
        v = v - v[0]  # equal values then stay exactly equal
        total = scatter(v, w)
        if total == 0 or not math.isfinite(total):
            return 0.0
        within = 0.0
        for label in dict.fromkeys(labels):
            of_class = np.array([other == label for other in labels])
            within += scatter(v[of_class], w[of_class])
    return min(max(1 - within / total, 0.0), 1.0)


def corrected_tau(
    buckets: Sequence[int], labels: Sequence[Hashable], weights: Sequence[float]
) -> float:
    """Goodman and Kruskal's tau of the label given the bucket, corrected for small samples."""
    w = np.array(weights, dtype=float)
    rows = {bucket: k for k, bucket in enumerate(dict.fromkeys(buckets))}
    classes = {label: c for c, label in enumerate(dict.fromkeys(labels))}
    table = np.zeros((len(rows), len(classes)))
    for bucket, label, weight in zip(buckets, labels, w, strict=True):
        table[rows[bucket], classes[label]] += weight
    of_bucket, of_class, total = table.sum(axis=1), table.sum(axis=0), table.sum()
    known = float(np.sum(of_class**2) / total**2)  # G
    if known >= 1 - ONE_CLASS:
        return 0.0
    explained = float(np.sum(table**2 / of_bucket[:, None]) / total)  # E
    tau = (explained - known) / (1 - known)
    n_effective = float(total**2 / np.sum(w**2))
    n_buckets = len(rows)
    return max(0.0, tau - (1 - tau) * (n_buckets - 1) / max(n_effective - n_buckets, 1.0))


class Column:
    """A feature's column: all values seen so far except missing ones, in order of arrival.

    The first value decides once and for all whether the column is numeric or categorical. In a
    categorical column, numbers are categories too; in a numeric one, a category is an error.
    """

    def __init__(
        self, name: Hashable, index: int, first_value: Any, max_categories: int | None
    ) -> None:
        self.name = name
        self.max_categories = max_categories
        self.codes: dict[Any, int] = {}  # of the categories known, in order of arrival
        self.uses: dict[Any, int] = {}
        self.given: list[int] = []  # all codes ever given
        self.first_free = 0  # the codes below are from before the rarest were last forgotten
        self.index = index
        self.is_categorical = not is_number(first_value)
        self.values: list[Any] = []
        self.range = ObservedRange()
        self.is_suspect = False  # the latest value
        self.observations: list[Observation] = []

    def check(self, value: Any) -> None:
        """Raise ValueError for a category in a numeric column."""
        if not self.is_categorical and not is_number(value):
            raise ValueError(f"feature {self.name!r} is numeric, got {value!r}: give a number")

    def add(self, value: Any) -> bool:
        """Add a value that the trees are about to learn; return whether outliers were dropped."""
        self.values.append(value)
        if self.is_categorical:
            self._add_category(value)
            return False
        self.is_suspect, dropped = self.range.add(float(value))
        if dropped:
            self.observations = []
        return dropped

    def observe(self, number: int, value: Any, label: Hashable, weight: float) -> None:
        """Add the latest value to the statistics of relevance once its sample has been learned."""
        if not self.is_suspect:
            self.observations.append(Observation(number, value, label, weight, self.bucket(value)))

    def _add_category(self, value: Any) -> None:
        """Count a category; if there is one too many, forget the rarest."""
        bound = self.max_categories
        if value not in self.codes:
            self.given.append(self.next_code())
            self.codes[value] = self.given[-1]
            if bound is not None and len(self.codes) > bound:
                *others, _newest = self.codes
                number = {category: i for i, category in enumerate(others)}
                others.sort(key=lambda category: (self.uses[category], number[category]))
                for category in others[: len(others) - bound // 2]:
                    del self.codes[category], self.uses[category]
                for category in self.uses:
                    self.uses[category] //= 2
                # the next codes begin at a multiple of bound + 1 that exceeds all others
                self.first_free = (max(self.given) // (bound + 1) + 1) * (bound + 1)
        self.uses[value] = self.uses.get(value, 0) + 1

    def next_code(self) -> int:
        """Return the code of the next new category.

        With a bound, it differs from those of all known categories, modulo bound + 1.
        """
        bound = self.max_categories
        if bound is None:
            return len(self.codes)
        taken = {code % (bound + 1) for code in self.codes.values()}
        code = self.first_free
        while code % (bound + 1) in taken:
            code += 1
        return code

    def draw_in(self, value: Any, kind: str) -> Any:
        """Move an outlier to the end of the range, unless the intensity is "unit"."""
        if self.is_categorical or kind == "unit":
            return value
        return self.range.draw_in(float(value))

    def encode(self, value: Any, tree_key: int) -> float:
        """Turn a value into a tree's number; an unseen category gets the next free code."""
        if not self.is_categorical:
            return float(value)
        return category_number(self.code(value), self.index, tree_key)

    def code(self, value: Any) -> int:
        """Return the code of a category, for an unseen one the next that is free."""
        return self.codes[value] if value in self.codes else self.next_code()

    def base_intensity(self, kind: str) -> float:
        """lambda_j before relevance: 1, or one over the range (DESIGN.md: split intensity)."""
        if kind == "unit" or self.is_categorical:
            return 1.0
        width = min(self.range.width(), sys.float_info.max)
        return min(1.0 / width, sys.float_info.max) if width > 0 else 0.0

    def relevance(self, n_learnt: int) -> float:
        """Tell how much the feature says of the label, from 0 to 1 (DESIGN.md: relevance)."""
        if not self.observations:
            return 0.0
        remembered = 1 - 1 / RELEVANCE_MEMORY
        weights = [
            min(o.weight, LARGEST_TRUST) * remembered ** (n_learnt - o.number)
            for o in self.observations
        ]
        labels = [o.label for o in self.observations]
        tau = corrected_tau([o.bucket for o in self.observations], labels, weights)
        if self.is_categorical:
            return tau
        values = [float(o.value) for o in self.observations]
        return max(correlation_ratio(values, labels, weights), tau)

    def bucket(self, value: Any) -> int:
        """Return the bucket of a category (by its code) or a number (by its place in the range)."""
        if self.is_categorical:
            return self.codes[value] % N_BUCKETS
        if self.range.width() == 0:
            return 0
        place = (value - self.range.low) * self.base_intensity("range") * N_BINS
        return int(place) if place < N_BINS else N_BINS - 1


@dataclass(eq=False)
class Sample:
    """A labeled sample as a tree sees it: `values` maps each column that is present to a number."""

    x: dict[Hashable, Any]
    label: Hashable
    weight: float
    values: dict[int, float]


@dataclass(eq=False)
class Node:
    """A node, with every sample that ever went through it in order of arrival.

    `feature` is a column index; None at a leaf, like `threshold`, `left` and `right`. `is_open`
    means that a leaf splits by extension, as internal nodes do; a leaf that is not open is paused
    (DESIGN.md: late splitting).

    `share` and `odds` are used only with fading: the share q of the faded counts, and the log-odds
    r of an internal node, which then do not follow from the counts.
    """

    forest: "NaiveForest" = field(repr=False)
    time: float
    is_open: bool = False
    samples: list[Sample] = field(default_factory=list, repr=False)
    feature: int | None = None
    threshold: float | None = None
    left: "Node | None" = None
    right: "Node | None" = None
    share: float = 0.5
    odds: float = math.inf

    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return self.left is None

    def children_time(self) -> float:
        """Creation time that the children share; infinite at a leaf."""
        return math.inf if self.is_leaf() else self.left.time

    def counts(self) -> tuple[float, ...]:
        """Total weight of each of the C classes in the cell, labels in order of appearance."""
        by_label = dict.fromkeys(self.forest.labels, 0.0)
        for sample in self.samples:
            by_label[sample.label] += sample.weight
        unseen = self.forest.n_classes() - len(by_label)
        return (*by_label.values(), *[0.0] * unseen)

    def n_samples(self) -> float:
        """Total weight of the samples in the cell."""
        return add_up(sample.weight for sample in self.samples)

    def box(self) -> dict[int, tuple[float, float]]:
        """Smallest and largest value of each column that the cell has seen."""
        return hull(self.samples)

    def is_pure_with(self, label: Hashable) -> bool:
        """Whether no sample of the cell has another label."""
        return all(sample.label == label for sample in self.samples)

    def cell(self) -> Cell:
        """Copy the subtree for the functions on cells."""
        if self.is_leaf():
            return Cell(self.counts())
        return Cell(self.counts(), self.left.cell(), self.right.cell())

    def loss(self) -> float:
        """Cumulative loss L_v."""
        return loss(self.counts(), self.forest.current_dirichlet())

    def log_wbar(self) -> float:
        """Log-weight of all prunings of the subtree."""
        return log_wbar(self.cell(), **self.forest.aggregation())

    def log_odds(self) -> float:
        """Log-odds r_v, from the counts if they do not fade; infinite at a leaf."""
        if self.forest.fading_factor is not None:
            return self.odds
        return closed_form_log_odds(self.cell(), **self.forest.aggregation())

    def mixture(self) -> Mixture:
        """Whole and faded counts from the samples, and the share as learned."""
        mixture = self.forest.fresh_mixture()
        for sample in self.samples:
            mixture.count(self.forest.labels.index(sample.label), sample.weight)
        mixture.share = self.share  # C and a may have changed in between
        return mixture

    def replay(self) -> tuple[float, float]:
        """Learn the samples from a fresh state and return its share and log w_v = eta sum log P."""
        mixture = self.forest.fresh_mixture()
        number = self.forest.labels.index
        log_p = [mixture.learn(number(sample.label), sample.weight) for sample in self.samples]
        return mixture.share, self.forest.step * add_up(log_p)

    def goes_left(self, values: dict[int, float]) -> bool:
        """Choose the child; without the split feature the heavier one, the left one in a tie."""
        if self.feature in values:
            return values[self.feature] <= self.threshold
        return self.left.n_samples() >= self.right.n_samples()

    def split(self, feature: int, threshold: float, left: "Node", right: "Node") -> None:
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


def running_mean(values: Sequence[tuple[float, float]], rate: float) -> float:
    """Mean in which each new value has the weight `rate`, or more as long as there are few."""
    mean = 0.0
    for n, (value, trust) in enumerate(values, start=1):
        mean += trust * (value - mean) * max(rate, 1 / n)
    return mean


class NaiveTree:
    """One tree of a `NaiveForest`, with its own random numbers."""

    def __init__(self, forest: "NaiveForest", random_state: int, tree_key: int) -> None:
        self.forest = forest
        self.random = RandomStream(random_state)
        self.tree_key = tree_key
        self.root: Node | None = None
        self.fading_share = 0.5
        self.losses: list[tuple[float, float]] = []
        self.n_restarts = 0
        self.log_growth: dict[Node, float] = {}

    def nodes(self) -> list[Node]:
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

    def path(self, values: dict[int, float]) -> list[Node]:
        """List the nodes that x goes through, from the root to a leaf."""
        nodes = [self.root]
        while not nodes[-1].is_leaf():
            node = nodes[-1]
            nodes.append(node.left if node.goes_left(values) else node.right)
        return nodes

    def predict(self, values: dict[int, float]) -> list[float]:
        """Predict the C classes with the average of all prunings, or with the leaf alone."""
        if self.root is None:
            return [1.0 / self.forest.n_classes()] * self.forest.n_classes()
        nodes = self.path(values)
        if self.forest.fading_factor is not None:
            return self._predict_fading(nodes)
        if not self.forest.use_aggregation:
            return node_prediction(nodes[-1].counts(), self.forest.current_dirichlet())
        cells = [self.root.cell()]
        for parent, child in pairwise(nodes):
            cells.append(cells[-1].left if child is parent.left else cells[-1].right)
        return aggregated_prediction(cells, **self.forest.aggregation())

    def learn(self, sample: Sample, split_intensity: Sequence[float]) -> None:
        """Grow the tree where the sample requires it, then count the sample along its path."""
        if self.root is None:
            self.root = self._new_leaf(0.0)
        # log of the factor by which the change of structure multiplies a node's wbar
        self.log_growth = {}
        path = self._grow(sample, split_intensity)
        if self.forest.fading_factor is not None:
            self._learn_fading(path, sample)
        for node in path:
            node.samples.append(sample)

    def judge(self, loss: float, weight: float) -> None:
        """Restart if the losses are far higher than usual."""
        self.losses.append((loss, min(weight, 1.0)))
        recent = running_mean(self.losses, RECENT_RATE)
        usual = running_mean(self.losses, USUAL_RATE)
        variance = max(usual * (1 - usual), LEAST_VARIANCE) * RECENT_RATE / (2 - RECENT_RATE)
        surplus = max(self.forest.restart_threshold * math.sqrt(variance), LEAST_SURPLUS)
        if len(self.losses) > LEAST_HEARD and recent - usual > surplus:
            self.root, self.losses = None, []
            self.n_restarts += 1

    def _predict_fading(self, path: Sequence[Node]) -> list[float]:
        """Mix the path's predictions: each node takes its own share of what remains."""
        if not self.forest.use_aggregation:
            return path[-1].mixture().predict()
        prediction = [0.0] * self.forest.n_classes()
        remaining = 1.0
        for node in path:
            own = sigma(node.odds)
            of_node = node.mixture().predict()
            mass = remaining * own
            prediction = [p + mass * n for p, n in zip(prediction, of_node, strict=True)]
            remaining *= sigma(-node.odds)  # zero at the leaf, whose odds are infinite
        return prediction

    def _learn_fading(self, path: Sequence[Node], sample: Sample) -> float:
        """Update shares and odds from the leaf upwards (DESIGN.md: learning).

        Returns the root's log g, the growth of its wbar without the part due to structure.
        """
        label = self.forest.labels.index(sample.label)
        log_g = part = 0.0
        for node in reversed(path):
            mixture = node.mixture()
            q = mixture.share
            log_p = self.forest.step * mixture.learn(label, sample.weight)
            if node.is_leaf():
                log_g, part = log_p, q
            else:
                r = node.odds
                if self.forest.use_aggregation:  # otherwise the leaf alone predicts
                    part = sigma(r) * q + sigma(-r) * part
                node.odds = r + log_p - log_g
                log_g = log_add(-softplus(-r) + log_p, -softplus(r) + log_g)
            node.share = mixture.share
            log_g += self.log_growth.get(node, 0.0)
        self.fading_share += min(sample.weight, 1.0) * (part - self.fading_share) / SHARE_MEMORY
        return log_g

    def _new_leaf(self, time: float, samples: Iterable[Sample] = ()) -> Node:
        return Node(self.forest, time, self.forest.split_pure, list(samples))

    def _is_paused(self, node: Node) -> bool:
        return node.is_leaf() and not node.is_open and not self.budget_spent()

    def _grow(self, sample: Sample, split_intensity: Sequence[float]) -> list[Node]:
        """Change the structure for the sample and return its path, without counting it yet."""
        path: list[Node] = []
        node = self.root
        while True:
            if self._is_paused(node):
                if node.is_pure_with(sample.label):
                    return [*path, node]
                below = self._expand_leaf(node, sample, split_intensity)
                if self.forest.fading_factor is not None:
                    self._fade_expansion(node)
                return path + below
            above = path[-1] if path else None
            inserted = self._insert_parent(node, above, sample, split_intensity)
            if inserted:
                return path + inserted
            path.append(node)
            if node.is_leaf():
                return path
            node = node.left if node.goes_left(sample.values) else node.right

    def _insert_parent(
        self, node: Node, above: Node | None, sample: Sample, split_intensity: Sequence[float]
    ) -> list[Node]:
        """Split the sample off above the node if the draw says so (DESIGN.md: Mondrian growth).

        Returns the new parent and the new leaf, or nothing.
        """
        box = node.box()
        extension = self._range_extension(box, sample.values)
        rate = cumulative_rates(extension, split_intensity)[-1]
        if self.budget_spent() or not rate > 0:
            return []
        split_time = node.time + self.random.exponential(rate)
        if not split_time < node.children_time():
            return []
        feature = self.random.column(extension, split_intensity)
        value, (range_min, range_max) = sample.values[feature], box[feature]
        parent = Node(self.forest, node.time, samples=list(node.samples))
        leaf = self._new_leaf(split_time)
        node.time = split_time
        if value > range_max:
            parent.split(feature, self.random.threshold(range_max, value), node, leaf)
        else:
            parent.split(feature, self.random.threshold(value, range_min), leaf, node)
        self._replace(above, node, parent)
        if self.forest.fading_factor is not None:
            self._fade_parent(parent, node)
        return [parent, leaf]

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

    def _replace(self, above: Node | None, old: Node, new: Node) -> None:
        if above is None:
            self.root = new
        elif above.left is old:
            above.left = new
        else:
            above.right = new

    def _expand_leaf(
        self, leaf: Node, newcomer: Sample, split_intensity: Sequence[float]
    ) -> list[Node]:
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
            path.append(left if on_left[-1] else right)
        return path

    def _fade_parent(self, parent: Node, below: Node) -> None:
        """Let a new parent take over from the node below it (DESIGN.md: structural changes)."""
        b = self.forest.split_prior
        # rho = log w - log wbar of the node below
        rho = 0.0 if below.is_leaf() else -math.log1p(-b) - softplus(-below.odds)
        parent.share = below.share
        parent.odds = rho + math.log1p(-b) - math.log(b)
        self.log_growth[parent] = log_add(math.log1p(-b) + rho, math.log(b))

    def _fade_expansion(self, top: Node) -> None:
        """Set the shares and odds of the nodes of an expansion; the top node keeps its share."""
        share = top.share
        log_wbar = self._fade_subtree(top)
        top.share = share
        _, log_w = top.replay()
        self.log_growth[top] = log_wbar - log_w

    def _fade_subtree(self, node: Node) -> float:
        """Set shares and odds of a subtree by replays, bottom up; return its log wbar."""
        node.share, log_w = node.replay()
        if node.is_leaf():
            return log_w
        b = self.forest.split_prior
        below = self._fade_subtree(node.left) + self._fade_subtree(node.right)
        node.odds = math.log1p(-b) - math.log(b) + log_w - below
        return log_add(math.log1p(-b) + log_w, math.log(b) + below)


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


class NaiveForest:
    """The Aggregated Mondrian Forest of DESIGN.md, with next to nothing incremental in it.

    One tree for each entry of `random_states` (64-bit integers) and `tree_keys` (32-bit integers);
    `voice_keys` (64-bit integers) are those of the linear voices. The other parameters are those of
    `AMFClassifier`.
    """

    def __init__(
        self,
        random_states: Iterable[int],
        tree_keys: Iterable[int],
        *,
        n_classes: int | None = None,
        step: float = 1.0,
        split_prior: float = 0.5,
        use_aggregation: bool = True,
        dirichlet: float | None = None,
        split_pure: bool = False,
        max_nodes: int | None = None,
        max_categories: int | None = None,
        split_intensity: str = "range",
        fading_factor: float | None = None,
        restart_threshold: float | None = None,
        vote: str = "mean",
        linear: str | None = None,
        on_mismatch: str = "raise",
        voice_keys: Sequence[int] = (),
    ) -> None:
        if on_mismatch not in ("raise", "missing"):
            raise ValueError(f"on_mismatch is {on_mismatch!r}, not 'raise' or 'missing'")
        if split_intensity not in ("unit", "range", "relevance"):
            raise ValueError(
                f"split_intensity is {split_intensity!r}, not 'unit', 'range' or 'relevance'"
            )
        if fading_factor is not None and not 0 < fading_factor < 1:
            raise ValueError(f"fading_factor is {fading_factor!r}, not between 0 and 1")
        if vote not in ("mean", "learned"):
            raise ValueError(f"vote is {vote!r}, not 'mean' or 'learned'")
        if linear == "auto":
            linear = "cosines" if vote == "learned" else None
        if linear is not None and vote != "learned":
            raise ValueError(f"linear is {linear!r}, which needs vote='learned'")
        self.given_n_classes = n_classes
        self.step = step
        self.split_prior = split_prior
        self.use_aggregation = use_aggregation
        self.dirichlet = dirichlet
        self.split_pure = split_pure
        self.max_nodes = max_nodes
        self.max_categories = max_categories
        self.split_intensity = split_intensity
        self.fading_factor = fading_factor
        self.restart_threshold = restart_threshold
        self.vote = vote
        self.on_mismatch = on_mismatch
        self.first_categories: dict[Hashable, Any] = {}  # of features that might still be numeric
        self.n_learnt = 0
        self.labels: list[Hashable] = []
        self.columns: dict[Hashable, Column] = {}
        self.trees = [
            NaiveTree(self, int(random_state), int(tree_key))
            for random_state, tree_key in zip(random_states, tree_keys, strict=True)
        ]
        self.vote_weights = [1 / len(self.trees)] * len(self.trees)
        self.voices = Voices(linear, voice_keys)
        self.biases: list[float] = []

    def n_classes(self) -> int:
        """Count the classes of the prior: those given, or those seen so far."""
        return len(self.labels) if self.given_n_classes is None else self.given_n_classes

    def current_dirichlet(self) -> float:
        """Dirichlet parameter a: as given, or 0.5 up to two classes and 0.01 beyond."""
        if self.dirichlet is not None:
            return self.dirichlet
        return 0.5 if self.n_classes() <= 2 else 0.01

    def aggregation(self) -> dict[str, float]:
        """Parameters of the functions on cells."""
        return {
            "split_prior": self.split_prior,
            "step": self.step,
            "dirichlet": self.current_dirichlet(),
        }

    def fresh_mixture(self) -> Mixture:
        """Make the mixture of a node that has seen nothing."""
        whole, faded = [0.0] * self.n_classes(), [0.0] * self.n_classes()
        return Mixture(whole, faded, 0.0, 0.5, self.current_dirichlet(), self.fading_factor)

    def learn_one(self, x: dict[Hashable, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn one sample of weight w; a weight of zero changes nothing."""
        if w == 0:
            return
        if not w > 0:
            raise ValueError(f"the weight is {w!r}, it must not be negative")
        self._check_label(y)
        x = self.without_mismatches(x, learns=True)
        self._check_features(x)
        if y not in self.labels:
            self.labels.append(y)
            self.biases.append(0.0)
        label = self.labels.index(y)
        of_trees = []
        if self.vote == "learned":
            of_trees = [tree.predict(self.encode(x, tree.tree_key)) for tree in self.trees]
        tame = self.draw_in(x)
        dropped = self._add_values(x)
        if self.vote == "learned":
            # voices hear a new feature at once, but standardise by what was before the sample
            row = self._row(tame)
            self._learn_vote(of_trees, self.voices.log_votes(row, len(self.labels)), label, w)
            self.voices.learn(row, label, float(w), len(self.labels))
            for column in dropped:
                self.voices.forget_feature(column)
        intensities = self.split_intensities()
        for t, tree in enumerate(self.trees):
            values = self._encode(tame, tree.tree_key)
            proba = tree.predict(values) if self.restart_threshold else []
            tree.learn(Sample(dict(x), y, float(w), values), intensities)
            if self.restart_threshold and t % 2 == 1:
                tree.judge(1.0 - proba[label], float(w))
        self.n_learnt += 1
        for name, column in self.columns.items():
            if not is_missing(x.get(name)):
                column.observe(self.n_learnt, x[name], y, float(w))

    def split_intensities(self) -> list[float]:
        """lambda_j of each column, by ranges up to now and by relevance up to the last sample."""
        columns = self.columns.values()
        base = [column.base_intensity(self.split_intensity) for column in columns]
        if self.split_intensity != "relevance" or not base:
            return base
        raised = [RELEVANCE_FLOOR + column.relevance(self.n_learnt) for column in columns]
        mean = math.fsum(raised) / len(raised)
        return [
            min(lam * (r / mean), sys.float_info.max) for lam, r in zip(base, raised, strict=True)
        ]

    def fading_share(self) -> float:
        """Return the running share of the faded counts in the predictions, 0 without fading."""
        if self.fading_factor is None:
            return 0.0
        return math.fsum(tree.fading_share for tree in self.trees) / len(self.trees)

    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """Let the trees vote; return probabilities of the labels seen so far, which sum to one."""
        if not self.labels:
            return {}
        of_trees = [tree.predict(self.encode(x, tree.tree_key)) for tree in self.trees]
        if self.vote == "learned":
            row = self._row(self.draw_in(self.without_mismatches(x, learns=False)))
            of_voices = self.voices.log_votes(row, len(self.labels))
            pooled = self._pool([*self._log_votes(of_trees), *of_voices])
            return dict(zip(self.labels, pooled, strict=True))
        of_classes = [math.fsum(p) / len(self.trees) for p in zip(*of_trees, strict=True)]
        seen = of_classes[: len(self.labels)]
        return {label: p / math.fsum(seen) for label, p in zip(self.labels, seen, strict=True)}

    def _log_votes(self, of_trees: Sequence[Sequence[float]]) -> list[list[float]]:
        """l_t(c) = log(p_t(c) + FLOOR) of each tree, for the labels seen so far."""
        n_seen = len(self.labels)
        return [[math.log(p + VOTE_FLOOR) for p in of_tree[:n_seen]] for of_tree in of_trees]

    def _pool(self, votes: Sequence[Sequence[float]]) -> list[float]:
        """Pool the votes of trees and voices i: softmax of z_c = beta_c + sum_i v_i l_i(c)."""
        weights = self.vote_weights + [voice.vote_weight for voice in self.voices.voices]
        by_class = zip(*votes, strict=True)
        z = [
            bias + math.fsum(v * vote for v, vote in zip(weights, of_class, strict=True))
            for bias, of_class in zip(self.biases, by_class, strict=True)
        ]
        exps = [math.exp(of_class - max(z)) for of_class in z]
        return [e / math.fsum(exps) for e in exps]

    def _learn_vote(
        self,
        of_trees: Sequence[Sequence[float]],
        of_voices: Sequence[Sequence[float]],
        label: int,
        w: float,
    ) -> None:
        """Move the vote's weights along the gradient of the log-probability of the label."""
        weight = min(float(w), 1.0)
        of_trees = self._log_votes(of_trees)
        pooled = self._pool([*of_trees, *of_voices])

        def gradient(votes: Sequence[float]) -> float:
            expected = math.fsum(p * vote for p, vote in zip(pooled, votes, strict=True))
            return weight * (votes[label] - expected)

        for t, votes in enumerate(of_trees):
            self.vote_weights[t] += VOTE_RATE * gradient(votes)
        for voice, votes in zip(self.voices.voices, of_voices, strict=True):
            voice.vote_weight += VOICE_RATE * gradient(votes)
        for c, p in enumerate(pooled):
            self.biases[c] += BIAS_RATE * weight * ((c == label) - p)

    def _row(self, x: dict[Hashable, Any]) -> Row:
        """Make what voices hear of a sample without outliers."""
        numbers: dict[int, float | None] = {}
        categories: dict[int, int] = {}
        for name, column in self.columns.items():
            value = x.get(name)
            if not column.is_categorical:
                numbers[column.index] = None if is_missing(value) else float(value)
            elif not is_missing(value):
                categories[column.index] = column.code(value)
        return Row(numbers, categories)

    def encode(self, x: dict[Hashable, Any], tree_key: int) -> dict[int, float]:
        """Map the column of each known feature that is present in x to a tree's number."""
        x = self.without_mismatches(x, learns=False)
        self._check_features(x)
        return self._encode(self.draw_in(x), tree_key)

    def draw_in(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Move the outliers of a sample to the ends of the ranges."""
        return {
            name: self.columns[name].draw_in(value, self.split_intensity)
            if name in self.columns and not is_missing(value)
            else value
            for name, value in x.items()
        }

    def _encode(self, x: dict[Hashable, Any], tree_key: int) -> dict[int, float]:
        return {
            column.index: column.encode(x[name], tree_key)
            for name, column in self.columns.items()
            if not is_missing(x.get(name))
        }

    def without_mismatches(self, x: dict[Hashable, Any], *, learns: bool) -> dict[Hashable, Any]:
        """Leave out values of the wrong kind, if they count as missing (DESIGN.md: kinds)."""
        if self.on_mismatch == "raise":
            return x
        fitting = {}
        for name, value in x.items():
            if is_missing(value):
                continue
            if name in self.columns:
                fits = self.columns[name].is_categorical != is_number(value)
            else:
                first = self.first_categories.get(name)
                fits = is_number(value) or (first is not None and first != value)
                if learns:
                    self.first_categories.setdefault(name, value)
            if fits:
                fitting[name] = value
        return fitting

    def _check_label(self, y: Hashable) -> None:
        if is_missing(y):
            raise ValueError(f"the label is {y!r}, it must be neither None nor NaN")
        if y not in self.labels and len(self.labels) == self.given_n_classes:
            raise ValueError(f"label {y!r} is one more than n_classes={self.given_n_classes}")

    def _check_features(self, x: dict[Hashable, Any]) -> None:
        for name, value in x.items():
            if name in self.columns and not is_missing(value):
                self.columns[name].check(value)

    def _add_values(self, x: dict[Hashable, Any]) -> list[int]:
        """Add the values of x; return the columns whose first outliers were dropped.

        The order of new columns does not depend on that of the dict.
        """
        dropped = []
        present = {name: value for name, value in x.items() if not is_missing(value)}
        for name in sorted(present, key=lambda name: (type(name).__name__, repr(name))):
            if name not in self.columns:
                self.columns[name] = Column(
                    name, len(self.columns), present[name], self.max_categories
                )
            if self.columns[name].add(present[name]):
                dropped.append(self.columns[name].index)
        return dropped


# -------------------------------------------------------------------------------------------------
# Mondrian trees drawn all at once
# -------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class MondrianNode:
    """A node of a tree drawn all at once; the children's `time` is its split time."""

    time: float
    n_samples: int
    depth: int
    feature: int | None = None
    threshold: float | None = None
    left: "MondrianNode | None" = None
    right: "MondrianNode | None" = None


def sample_mondrian(
    rows: Sequence[Sequence[float]],
    labels: Sequence[Hashable],
    rng: np.random.Generator,
    *,
    stop_if_pure: bool,
    time: float = 0.0,
    depth: int = 0,
) -> MondrianNode:
    """Draw a Mondrian tree of infinite lifetime and unit intensity on the rows.

    It recurses on the box of the rows (Lakshminarayanan et al., 2014, algorithm 2). Cells whose
    rows are all equal are not split, nor, with `stop_if_pure`, are cells with a single label. Rows
    have no missing values. `time` and `depth` are those of the top node.
    """
    rows, labels = np.asarray(rows, dtype=float), np.asarray(labels)
    node = MondrianNode(time, len(rows), depth)
    low, high = rows.min(axis=0), rows.max(axis=0)
    rate = (high - low).sum()
    if rate == 0 or (stop_if_pure and len(np.unique(labels)) == 1):
        return node
    split_time = time + rng.exponential(1.0 / rate)
    node.feature = int(rng.choice(len(low), p=(high - low) / rate))
    node.threshold = float(rng.uniform(low[node.feature], high[node.feature]))
    on_left = rows[:, node.feature] <= node.threshold
    node.left, node.right = (
        sample_mondrian(
            rows[side],
            labels[side],
            rng,
            stop_if_pure=stop_if_pure,
            time=split_time,
            depth=depth + 1,
        )
        for side in (on_left, ~on_left)
    )
    return node
