"""The slow, obvious reference of the forest for numbers.

Trees grow as those of `naive.py` do that split pure cells (`naive_growth.py`). A node keeps every
sample that went through it, and the log of every density that it gave to one; a parent that is
inserted gets a copy of both. All else is recomputed from these lists: sums of targets, faded sums,
the weights of prunings. Only the share of the faded density is defined step by step.

A tree averages its prunings by enumerating them (`enumerates=True`, for small trees) or by the
recursion of context-tree weighting. There are no log-odds, and nothing is handed up a path.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from naive_features import is_missing, is_number
from naive_growth import GrowingForest, GrowingNode, Sample, log_add, sigma
from naive_pending import Pending, row_of
from naive_restarts import RestartingTree
from naive_trends import TrendRow, Trends, Vote, Votes, place_in_range

KAPPA = 1.0  # weight of the parent's estimate
ALPHA = 0.5  # alpha_0, half the weight of sigma^2
SWITCHING = 0.001  # of the fixed share between whole and faded density
SHARE_MEMORY = 500.0  # samples that the running mean of `fading_share` looks back

# sigma^2
KEPT = 0.999  # of the squared errors, per unit of weight
ENOUGH = 20.0  # weight of the squared errors from which on their mean counts
FARTHEST = 5.0  # in sigmas: larger errors count as this
LARGEST_SQUARE = 9.0  # error, in variances, from which on the loss of a tree is 1
LEAST_NOISE = 1e-12  # in variances of the targets
LEAST_VARIANCE = 1e-280  # of the targets: less is none, as its parts would be too small for float64

FARTHEST_TARGET = 1e100  # from the first one


# -------------------------------------------------------------------------------------------------
# What a node predicts
# -------------------------------------------------------------------------------------------------


class Sums(NamedTuple):
    """Weight N of some targets, their mean m, and the sum S of their squares about the mean."""

    weight: float
    mean: float
    squares: float


def sums(targets: Iterable[tuple[float, float]]) -> Sums:
    """Sum up pairs of a target and its weight."""
    pairs = list(targets)
    weight = math.fsum(w for _, w in pairs)
    if weight == 0:
        return Sums(0.0, 0.0, 0.0)
    mean = math.fsum(w * y for y, w in pairs) / weight
    return Sums(weight, mean, math.fsum(w * (y - mean) ** 2 for y, w in pairs))


def weighted_mean(values: Sequence[tuple[float, float]]) -> float:
    """Average values, given with their weights."""
    return math.fsum(w * value for value, w in values) / math.fsum(w for _, w in values)


def powers_added(factor: float, weight: float) -> float:
    """Add up the first `weight` powers of a factor: (1 - factor^w) / (1 - factor)."""
    return -math.expm1(weight * math.log(factor)) / (1.0 - factor)


def fade(values: Sequence[tuple[float, float]], factor: float) -> list[tuple[float, float]]:
    """Give each value, of a weight w, its faded weight: it counts in and fades bit by bit."""
    later = [*accumulate((w for _, w in reversed(values)), initial=0.0)][-2::-1]
    return [
        (value, powers_added(factor, w) * math.exp(after * math.log(factor)))
        for (value, w), after in zip(values, later, strict=True)
    ]


def lgamma_half(alpha: float) -> float:
    """Compute lgamma(alpha + 1/2) - lgamma(alpha), for large alpha by its asymptotic series."""
    if alpha < 30.0:
        return math.lgamma(alpha + 0.5) - math.lgamma(alpha)
    # terms from the Bernoulli numbers; the next one is below 1e-18
    terms = [0.5 * math.log(alpha), -1 / 8 / alpha, 1 / 192 / alpha**3, -1 / 640 / alpha**5]
    terms += [17 / 14336 / alpha**7, -31 / 18432 / alpha**9]
    return math.fsum(terms)


def location(node: Sums, prior_mean: float) -> float:
    """Estimate a target: e = m + kappa (e_par - m) / (kappa + N)."""
    return node.mean + KAPPA * (prior_mean - node.mean) / (KAPPA + node.weight)


def log_density(y: float, node: Sums, prior_mean: float, noise: float) -> float:
    """Log of the predictive density of y, Student's t with 2 alpha degrees of freedom.

    `noise` is sigma^2, the prior guess of the variance.
    """
    n = node.weight
    alpha = ALPHA + n / 2
    beta = ALPHA * noise + node.squares / 2
    beta += KAPPA * n / (KAPPA + n) * (node.mean - prior_mean) ** 2 / 2
    # nu s^2: nu = 2 alpha, squared scale s^2 = beta (kappa + N + 1) / (alpha (kappa + N))
    spread = 2 * beta * (KAPPA + n + 1) / (KAPPA + n)
    off = y - location(node, prior_mean)
    far = abs(off) / math.sqrt(spread)
    kernel = (alpha + 0.5) * (math.log1p(far * far) if far < 1e150 else 2 * math.log(far))
    return lgamma_half(alpha) - 0.5 * math.log(math.pi * spread) - kernel


def squared_scale(node: Sums, prior_mean: float, noise: float) -> float:
    """Squared scale of the predictive density."""
    n = node.weight
    beta = ALPHA * noise + node.squares / 2
    beta += KAPPA * n / (KAPPA + n) * (node.mean - prior_mean) ** 2 / 2
    return beta * (KAPPA + n + 1) / ((ALPHA + n / 2) * (KAPPA + n))


def relevance(
    buckets: Sequence[int],
    values: Sequence[float] | None,
    targets: Sequence[float],
    weights: Sequence[float],
) -> float:
    """Measure how much a feature says of a real target.

    The larger of the squared correlation (of numbers) and the correlation ratio of the target given
    the bucket, less what chance would give.
    """
    pairs = [(y - targets[0], w) for y, w in zip(targets, weights, strict=True)]
    values = None if values is None else [value - values[0] for value in values]
    total_weight, mean, total = sums(pairs)  # of equal targets exactly 0
    if not total > 0:
        return 0.0
    within = 0.0
    for bucket in set(buckets):
        of_bucket = [pair for k, pair in zip(buckets, pairs, strict=True) if k == bucket]
        within += sums(of_bucket).squares
    ratio = min(max(1 - within / total, 0.0), 1.0)
    n_effective = total_weight**2 / math.fsum(w * w for w in weights)
    n_used = len(set(buckets))
    ratio -= (1 - ratio) * (n_used - 1) / max(n_effective - n_used, 1.0)
    correlation = 0.0
    if values is not None:
        _, center, spread = sums(zip(values, weights, strict=True))
        products = math.fsum(
            w * (value - center) * (y - mean) for value, (y, w) in zip(values, pairs, strict=True)
        )
        if spread > 0:
            correlation = products / spread * (products / total)
    return min(max(ratio, correlation, 0.0), 1.0)


@dataclass(eq=False)
class RegressionNode(GrowingNode):
    """A node, with the logs of the densities that it gave to its samples, times their weights.

    `share` is the share q of the faded density.
    """

    log_densities: list[float] = field(default_factory=list, repr=False)
    share: float = 0.5

    def sums(self) -> Sums:
        """Sum up the targets of the samples in the cell."""
        return sums((sample.target, sample.weight) for sample in self.samples)

    def faded_sums(self) -> Sums:
        """Sum up the targets, faded by `fading_factor` for each unit of weight that came later."""
        # A weight counts less if the target was late, as the newest ones will be old by then.
        targets = [(s.target, s.weight / (1 + s.delay)) for s in self.samples]
        return sums(fade(targets, self.forest.fading_factor))

    def laws(self) -> list[tuple[float, Sums]]:
        """List the laws of which the node's is a mix, with their shares."""
        if self.forest.fading_factor is None:
            return [(1.0, self.sums())]
        return [(1 - self.share, self.sums()), (self.share, self.faded_sums())]

    def estimate(self, prior_mean: float) -> float:
        """Estimate a target of the cell; `prior_mean` is the estimate of the parent."""
        return math.fsum(share * location(law, prior_mean) for share, law in self.laws())

    def score(self, sample: Sample, prior_mean: float, noise: float | None) -> tuple[float, float]:
        """Return w log p_v(y), and the share after y; without a noise all densities are 1."""
        y, w = sample.target, sample.weight
        known = noise is not None
        whole = log_density(y, self.sums(), prior_mean, noise) if known else 0.0
        if self.forest.fading_factor is None:
            return w * whole, self.share
        faded = log_density(y, self.faded_sums(), prior_mean, noise) if known else 0.0
        log_stay, log_q = math.log1p(-self.share), math.log(self.share)
        log_p = log_add(log_stay + whole, log_q + faded)
        # q' = q p'^w / ((1 - q) p^w + q p'^w)
        after = sigma((log_q + w * faded) - (log_stay + w * whole))
        return w * log_p, SWITCHING / 2 + (1 - SWITCHING) * after

    def log_w(self) -> float:
        """Log-weight of the node by itself: eta times the sum of its log-densities."""
        return self.forest.step * math.fsum(self.log_densities)

    def weigh(self, log_odds: dict["RegressionNode", float]) -> float:
        """Return log wbar, the weight of all prunings of the subtree.

        Writes the log-odds r_v of each of its nodes against the children, infinite at a leaf.
        """
        own = self.log_w()
        if self.is_leaf():
            log_odds[self] = math.inf
            return self.log_evidence + own
        b = self.forest.split_prior
        below = self.left.weigh(log_odds) + self.right.weigh(log_odds)
        log_odds[self] = math.log1p(-b) - math.log(b) + own - below
        return self.log_evidence + log_add(math.log1p(-b) + own, math.log(b) + below)

    def log_wbar(self) -> float:
        """Log-weight of all prunings of the subtree."""
        return self.weigh({})

    def prunings(self) -> list[tuple[list["RegressionNode"], float]]:
        """List the prunings T of the subtree: leaves of T, and log pi(T) + sum of their log w.

        To that is added the evidence of splits that were undone.
        """
        own = self.log_evidence + self.log_w()
        if self.is_leaf():
            return [([self], own)]
        b = self.forest.split_prior
        cut = ([self], math.log1p(-b) + own)
        return [cut] + [
            (left + right, self.log_evidence + math.log(b) + log_left + log_right)
            for left, log_left in self.left.prunings()
            for right, log_right in self.right.prunings()
        ]


def masses_by_enumeration(path: Sequence[RegressionNode]) -> list[float]:
    """Weigh each node of a path by the prunings of which it is a leaf."""
    prunings = path[0].prunings()
    largest = max(log_weight for _, log_weight in prunings)
    total = math.fsum(math.exp(log_weight - largest) for _, log_weight in prunings)
    return [
        math.fsum(math.exp(weight - largest) for leaves, weight in prunings if node in leaves)
        / total
        for node in path
    ]


def masses_by_recursion(path: Sequence[RegressionNode]) -> list[float]:
    """Weigh each node of a path: it takes its own share of what the nodes above leave."""
    log_odds: dict[RegressionNode, float] = {}
    path[0].weigh(log_odds)
    masses, remaining = [], 1.0
    for node in path:
        masses.append(remaining * sigma(log_odds[node]))
        remaining *= sigma(-log_odds[node])  # zero at the leaf
    return masses


# -------------------------------------------------------------------------------------------------
# The forest
# -------------------------------------------------------------------------------------------------


class RegressionTree(RestartingTree):
    """One tree of a `NaiveRegressor`."""

    node_kind = RegressionNode
    forest: "NaiveRegressor"

    def __init__(self, forest: "NaiveRegressor", random_state: int, tree_key: int) -> None:
        super().__init__(forest, random_state, tree_key)
        self.learnt: list[tuple[float, float]] = []  # targets and weights
        self.errors: list[tuple[float, float]] = []  # squared, with weights; but for the first
        self.fading_share = 0.5

    def after_insertion(self, parent: RegressionNode, below: RegressionNode) -> None:
        """Let a new parent take over from the node below it, which stood in its place."""
        parent.log_densities = list(below.log_densities)
        parent.share = below.share

    def log_odds(self) -> dict[RegressionNode, float]:
        """Return the log-odds of all nodes."""
        found: dict[RegressionNode, float] = {}
        self.root.weigh(found)
        return found

    def log_odds_of(self, node: RegressionNode) -> float:
        """Log-odds r_v of an internal node."""
        return self.log_odds()[node]

    def estimates(self, path: Sequence[RegressionNode]) -> list[float]:
        """Estimate the target by each node of a path, root first."""
        found = [self.targets().mean]
        for node in path:
            found.append(node.estimate(found[-1]))
        return found[1:]

    def masses(self, path: Sequence[RegressionNode]) -> list[float]:
        """Weigh each node of a path; they sum to one."""
        if not self.forest.use_aggregation:
            return [0.0] * (len(path) - 1) + [1.0]
        return masses_by_enumeration(path) if self.forest.enumerates else masses_by_recursion(path)

    def predict(self, values: dict[int, float]) -> tuple[float, float, float]:
        """Predict with the average of all prunings, or with the leaf alone.

        Returns the estimate, the variance of the mix of all laws on the path, and the leaf's mean.
        """
        if self.root is None:
            return 0.0, 0.0, 0.0
        path, center, noise = self.path(values), self.targets().mean, self.noise() or 0.0
        masses, estimates = self.masses(path), self.estimates(path)
        prediction = math.fsum(mass * e for mass, e in zip(masses, estimates, strict=True))
        squares = []
        for mass, node, prior_mean in zip(masses, path, [center, *estimates], strict=False):
            for share, law in node.laws():
                off = location(law, prior_mean) - center
                squares.append(mass * share * (squared_scale(law, prior_mean, noise) + off * off))
        variance = max(math.fsum(squares) - (prediction - center) ** 2, 0.0)
        return prediction, variance, path[-1].sums().mean

    def restart(self, n_learned: int) -> None:
        """Forget everything, sigma^2 included."""
        super().restart(n_learned)
        self.learnt, self.errors = [], []

    def learn(
        self,
        sample: Sample,
        split_intensity: Sequence[float],
        prediction: float,
        predicted_at: int,
    ) -> None:
        """Grow the tree where the sample requires it, then score and count it along its path.

        `prediction` is what the tree predicted when the forest had learned `predicted_at` samples.
        It is scored if the tree had learned some of them since it last began.
        """
        if self.is_outdated():
            self.restart(self.forest.n_learnt)
        if self.root is None:
            self.start()
        noise = self.noise()
        before = self.log_odds()
        path = self.grow(sample, split_intensity)
        prior_means = [self.targets().mean, *self.estimates(path)[:-1]]
        scores = [node.score(sample, e, noise) for node, e in zip(path, prior_means, strict=True)]
        self._note_share(path, self.log_odds() | before, sample.weight)
        for node, (log_p, share) in zip(path, scores, strict=True):
            node.log_densities.append(log_p)
            node.share = share
            node.samples.append(sample)
        if predicted_at > self.restarted_at:
            error = (sample.target - prediction) ** 2
            if self.may_restart():
                loss = 0.0 if noise is None else min(error / noise, LARGEST_SQUARE) / LARGEST_SQUARE
                self.count_loss(loss, sample.weight)
            if noise is not None and self.n_errors() > ENOUGH:
                error = min(error, FARTHEST**2 * noise)
            self.errors.append((error, sample.weight))
        self.learnt.append((sample.target, sample.weight))

    def targets(self) -> Sums:
        """Sum up all targets that the tree has learned."""
        return sums(self.learnt)

    def variance(self) -> float:
        """Variance of the targets learned, 0 if there are none."""
        weight, _, squares = self.targets()
        variance = squares / weight if weight > 0 else 0.0
        return variance if variance >= LEAST_VARIANCE else 0.0

    def _note_share(
        self, path: Sequence[RegressionNode], log_odds: dict[RegressionNode, float], weight: float
    ) -> None:
        """Update the running mean of the share of faded densities in a prediction.

        Nodes that have been there before the growth still have the odds from before it.
        """
        shares = [sigma(log_odds[node]) for node in path]
        if not self.forest.use_aggregation:
            shares = [0.0] * (len(path) - 1) + [1.0]
        part, remaining = 0.0, 1.0
        for node, share in zip(path, shares, strict=True):
            part += remaining * share * node.share
            remaining *= 1 - share
        self.fading_share += min(weight, 1.0) * (part - self.fading_share) / SHARE_MEMORY

    def n_errors(self) -> float:
        """Weight of the squared errors, faded."""
        return math.fsum(w for _, w in fade(self.errors, KEPT))

    def noise(self) -> float | None:
        """Return sigma^2, None if the targets have been equal so far."""
        variance = self.variance()
        if variance == 0:
            return None
        if not self.n_errors() > ENOUGH:
            return variance
        return max(weighted_mean(fade(self.errors, KEPT)), LEAST_NOISE * variance)


class NaiveRegressor(GrowingForest):
    """The Aggregated Mondrian Forest for numbers, with next to nothing incremental in it.

    One tree for each entry of `random_states` (64-bit integers) and `tree_keys` (32-bit integers);
    `trend_key` (64 bits) is that of the cosines. `enumerates` is for small trees; the other
    parameters are those of `AMFRegressor`.
    """

    tree_kind = RegressionTree
    relevance_floor = 0.006

    def __init__(
        self,
        random_states: Iterable[int],
        tree_keys: Iterable[int],
        *,
        enumerates: bool = False,
        step: float = 1.0,
        split_prior: float = 0.5,
        use_aggregation: bool = True,
        max_nodes: int | None = None,
        max_categories: int | None = None,
        split_intensity: str = "range",
        fading_factor: float | None = None,
        drift_threshold: float | None = None,
        vote: str = "learned",
        linear: bool = False,
        recent: str | None = None,
        on_mismatch: str = "raise",
        trend_key: int = 0,
        max_delayed_labels: int = 10_000,
    ) -> None:
        super().__init__(
            random_states,
            tree_keys,
            step=step,
            split_prior=split_prior,
            use_aggregation=use_aggregation,
            split_pure=True,
            max_nodes=max_nodes,
            max_categories=max_categories,
            split_intensity=split_intensity,
            fading_factor=fading_factor,
            drift_threshold=drift_threshold,
            on_mismatch=on_mismatch,
        )
        self.enumerates = enumerates
        self.first_target: float | None = None  # y_0
        has_trend = linear and vote == "learned"
        self.trends = Trends(trend_key) if has_trend else None
        self.vote = Vote(
            is_learned=vote == "learned",
            has_trend=has_trend,
            has_leaves=use_aggregation,
            recent=recent,
        )
        self.pending = Pending(max_delayed_labels)

    def measure(
        self,
        buckets: Sequence[int],
        values: Sequence[float] | None,
        targets: Sequence[float],
        weights: Sequence[float],
    ) -> float:
        """Measure the relevance of a feature to a real target, from 0 to 1."""
        return relevance(buckets, values, targets, weights)

    def fading_share(self) -> float:
        """Return the running share of the faded densities in the predictions."""
        if self.fading_factor is None:
            return 0.0
        return math.fsum(tree.fading_share for tree in self.trees) / len(self.trees)

    def predict_one(self, x: dict[Hashable, Any]) -> float:
        """Predict the mean of the trees; 0 before the first sample."""
        return self._predict(x)[0]

    def predict_quantile_one(self, x: dict[Hashable, Any], q: float) -> float:
        """Predict a number that the target does not exceed with probability q."""
        return self._predict(x, q)[1]

    def predict_interval_one(
        self, x: dict[Hashable, Any], level: float = 0.9
    ) -> tuple[float, float]:
        """Predict the hull of the prediction and the quantiles at both ends of a level."""
        found = self._predict(x, (1 - level) / 2, (1 + level) / 2)
        return min(found), max(found)

    def _predict(self, x: dict[Hashable, Any], *qs: float) -> list[float]:
        """Return the prediction, noted until its target comes, and some quantiles."""
        if self.first_target is None:
            return [0.0, *(math.copysign(math.inf, q - 0.5) if q != 0.5 else 0.0 for q in qs)]
        votes = self._votes(x)._replace(trends=self._trends(self._row(x, self.ranges())))
        said = self.vote.said(votes)
        self.pending.note(row_of(self, x), self.n_learnt, (votes, *said))
        quantiles = [self.vote.quantile(*said, q) for q in qs]
        return [self.first_target + number for number in (said[0], *quantiles)]

    def ranges(self) -> dict[int, tuple[float, float]]:
        """Return the ranges of the numeric columns."""
        return {
            column.index: (column.range.low, column.range.high)
            for column in self.columns.values()
            if not column.is_categorical
        }

    def _row(self, x: dict[Hashable, Any], ranges: Mapping[int, tuple[float, float]]) -> TrendRow:
        """Return a sample as trends take it, given the ranges of its columns."""
        x = self.winsorize(self.without_mismatches(x))
        numbers: dict[int, float | None] = {}
        categories, places = {}, {}
        for name, column in self.columns.items():
            value, j = x.get(name), column.index
            if not column.is_categorical:
                numbers[j] = None if is_missing(value) else float(value)
                if numbers[j] is not None:
                    places[j] = place_in_range(numbers[j], *ranges.get(j, (0.0, 0.0)))
            elif not is_missing(value):
                categories[j] = column.place(value)
        return TrendRow(len(self.columns), numbers, categories, places)

    def _votes(self, x: dict[Hashable, Any]) -> Votes:
        """Return what the trees predict, without trends, and what is recent."""
        votes = zip(
            *(tree.predict(self.encode(x, tree.tree_key)) for tree in self.trees), strict=True
        )
        return Votes(*votes, recent=self.vote.recent())

    def _trends(self, row: TrendRow) -> tuple[float, ...]:
        """Return P_1, P_2 and T, or nothing without trends."""
        return self.trends.predict(row) if self.trends else ()

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn one sample of weight w; a weight of zero changes nothing."""
        if w == 0:
            self.pending.take_back(row_of(self, x), self.n_learnt)
            return
        if not w > 0:
            raise ValueError(f"the weight is {w!r}, it must not be negative")
        self._check_target(y)
        at_once = self.pending.take_back(row_of(self, x), self.n_learnt)
        x = self.without_mismatches(x)
        self.check_features(x)
        self.admit_categories(x)
        votes = self._votes(x)
        is_first = self.first_target is None
        if is_first:
            self.first_target = float(y)
        target, weight = float(y) - self.first_target, float(w)
        filled, tame, ranges = self.filled(x), self.winsorize(x), self.ranges()
        dropped = self.add_values(x)
        # a new feature is used at once, but all is judged by what was before the sample
        row = self._row(tame, ranges)
        votes = votes._replace(trends=self._trends(row))
        near, trend = target, 0.0  # the target, or what is learned of one too far from the trend
        if self.trends:
            near, trend = self.trends.winsorized(row, target), votes.trends[2]
        parts = near, near - trend
        late = self.pending.take(row_of(self, x), self.n_learnt, at_once=at_once)
        delay = self.n_learnt - late.n_learned if late else 0
        said: list[float] = []
        if late:  # whatever is judged is what was predicted then
            votes, *said = late.votes
        if not is_first:
            self.vote.learn(votes, target, weight, delay, said)
        of_trees = list(votes.trees)
        if said and votes.trends:  # the trees will be compared with the residual of now
            of_trees = [p + (votes.trends[2] - trend) * (t % 2) for t, p in enumerate(of_trees)]
        if self.trends:
            self.trends.learn(row, near, weight, is_first=is_first)
            for column in dropped:
                self.trends.forget_feature(column)
        intensities = [self.split_intensities(part) for part in range(2)]
        for t, (tree, prediction) in enumerate(zip(self.trees, of_trees, strict=True)):
            values = self.encode_known(tame, tree.tree_key)
            sample = Sample(dict(x), parts[t % 2], weight, values, delay)
            tree.learn(sample, intensities[t % 2], prediction, self.n_learnt - delay)
        self.observe(filled, parts, weight)

    def _check_target(self, y: Any) -> None:
        if not is_number(y):
            raise TypeError(f"the target is {y!r}, it must be a number")
        if not math.isfinite(y):
            raise ValueError(f"the target is {y!r}, it must be finite")
        if self.first_target is not None and abs(y - self.first_target) > FARTHEST_TARGET:
            raise ValueError(f"the target is {y!r}, too far from the first one")
