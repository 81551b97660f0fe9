"""The slow, obvious reference of the forest for real targets.

Trees grow as those of `naive.py` do that split pure cells (`naive_growth.py`). A node keeps every
sample that went through it, and the log of every density that it gave to one; a parent that is
inserted gets a copy of both. All else is recomputed from these lists: sums of targets, faded sums,
the weights of prunings. Only the share of the faded density is defined step by step.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from naive_aggregation import fade, log_add, sigma
from naive_growth import GrowingForest, GrowingNode, Sample, of_samples
from naive_restarts import RestartingTree
from naive_trends import Trends, Vote, Votes

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

# late targets
FAR_OFF = 4.0  # in scales: one so far from its prediction was missed
JUMP = 3  # missed ones, on balance, from which on the level has jumped


class Sums(NamedTuple):
    """Weight N of some targets, their mean m, and the sum S of their squares about the mean."""

    weight: float
    mean: float
    squares: float


def sums(pairs):
    """Sum up pairs of a target and its weight."""
    pairs = list(pairs)
    weight = math.fsum(w for _, w in pairs)
    if weight == 0:
        return Sums(0.0, 0.0, 0.0)
    mean = math.fsum(w * y for y, w in pairs) / weight
    if len({y for y, _ in pairs}) == 1:
        mean = pairs[0][0]  # so that equal targets have a variance of 0
    return Sums(weight, mean, math.fsum(w * (y - mean) ** 2 for y, w in pairs))


def lgamma_half(alpha):
    """Compute lgamma(alpha + 1/2) - lgamma(alpha), for large alpha by its asymptotic series."""
    if alpha < 30.0:
        return math.lgamma(alpha + 0.5) - math.lgamma(alpha)
    # terms from the Bernoulli numbers; the next one is below 1e-18
    terms = [0.5 * math.log(alpha), -1 / 8 / alpha, 1 / 192 / alpha**3, -1 / 640 / alpha**5]
    terms += [17 / 14336 / alpha**7, -31 / 18432 / alpha**9]
    return math.fsum(terms)


def location(node, prior_mean):
    """Estimate a target: e = m + kappa (e_par - m) / (kappa + N)."""
    return node.mean + KAPPA * (prior_mean - node.mean) / (KAPPA + node.weight)


def spread(node, prior_mean, noise):
    """Return nu s^2 of the predictive density: 2 beta (kappa + N + 1) / (kappa + N).

    `noise` is sigma^2, the prior guess of the variance.
    """
    n = node.weight
    beta = ALPHA * noise + node.squares / 2
    beta += KAPPA * n / (KAPPA + n) * (node.mean - prior_mean) ** 2 / 2
    return 2 * beta * (KAPPA + n + 1) / (KAPPA + n)


def log_density(y, node, prior_mean, noise):
    """Return the log density of y: Student's t with nu = 2 alpha degrees of freedom."""
    alpha = ALPHA + node.weight / 2
    nu_s2 = spread(node, prior_mean, noise)
    far = abs(y - location(node, prior_mean)) / math.sqrt(nu_s2)
    kernel = (alpha + 0.5) * (math.log1p(far * far) if far < 1e150 else 2 * math.log(far))
    return lgamma_half(alpha) - 0.5 * math.log(math.pi * nu_s2) - kernel


def squared_scale(node, prior_mean, noise):
    """Return the squared scale s^2 of the predictive density."""
    return spread(node, prior_mean, noise) / (2 * ALPHA + node.weight)


def relevance(buckets, values, targets, weights):
    """Return the relevance of a feature to a real target, from 0 to 1.

    The larger of the squared correlation (of numbers) and the correlation ratio of the target given
    the bucket, less what chance would give.
    """
    pairs = [(y - targets[0], w) for y, w in zip(targets, weights, strict=True)]
    total_weight, mean, total = sums(pairs)  # of equal targets exactly 0
    if not total > 0:
        return 0.0
    within = 0.0
    for bucket in set(buckets):
        within += sums(pair for k, pair in zip(buckets, pairs, strict=True) if k == bucket).squares
    ratio = min(max(1 - within / total, 0.0), 1.0)
    n_effective = total_weight**2 / math.fsum(w * w for w in weights)
    n_used = len(set(buckets))
    ratio -= (1 - ratio) * (n_used - 1) / max(n_effective - n_used, 1.0)
    correlation = 0.0
    if values is not None:
        values = [value - values[0] for value in values]
        _, center, of_values = sums(zip(values, weights, strict=True))
        products = math.fsum(
            w * (value - center) * (y - mean) for value, (y, w) in zip(values, pairs, strict=True)
        )
        if of_values > 0:
            correlation = products / of_values * (products / total)
    return min(max(ratio, correlation, 0.0), 1.0)


@dataclass(eq=False)
class RegressionNode(GrowingNode):
    """A node, with the logs of the densities that it gave to its samples, times their weights."""

    log_densities: list = field(default_factory=list, repr=False)

    @of_samples
    def sums(self):
        """Sum up the targets of the samples in the cell."""
        return sums((sample.target, sample.weight) for sample in self.samples)

    @of_samples
    def faded_sums(self):
        """Sum up the targets, faded by `fading_factor` for each unit of weight that came later."""
        # A weight counts less if targets are late, as the newest ones will be old by then.
        targets = [(s.target, s.weight / (1 + s.lateness)) for s in self.samples]
        return sums(fade(targets, self.forest.fading_factor))

    def laws(self):
        """List the laws of which the node's is a mix, with their shares."""
        if self.forest.fading_factor is None:
            return [(1.0, self.sums())]
        return [(1 - self.share, self.sums()), (self.share, self.faded_sums())]

    def estimate(self, prior_mean):
        """Estimate a target of the cell; `prior_mean` is the estimate of the parent."""
        return math.fsum(share * location(law, prior_mean) for share, law in self.laws())

    def score(self, sample, prior_mean, noise):
        """Return w log p_v(y), and the share after y; without a noise all densities are 1."""
        logs = [
            0.0 if noise is None else log_density(sample.target, law, prior_mean, noise)
            for _, law in self.laws()
        ]
        w = sample.weight
        if self.forest.fading_factor is None:
            return w * logs[0], self.share
        whole, faded = logs
        log_stay, log_q = math.log1p(-self.share), math.log(self.share)
        log_p = log_add(log_stay + whole, log_q + faded)
        # q' = q p'^w / ((1 - q) p^w + q p'^w)
        after = sigma((log_q + w * faded) - (log_stay + w * whole))
        return w * log_p, SWITCHING / 2 + (1 - SWITCHING) * after

    def log_w(self):
        """Return the log-weight of the node by itself: eta times the sum of its log-densities."""
        return self.forest.step * math.fsum(self.log_densities)


class RegressionTree(RestartingTree):
    node_kind = RegressionNode

    def __init__(self, forest, random_state, tree_key):
        super().__init__(forest, random_state, tree_key)
        self.learned = []  # targets and weights
        self.errors = []  # squared, with weights; but for the first

    def after_insertion(self, parent, below):
        """Let a new parent take over from the node below it, which stood in its place."""
        super().after_insertion(parent, below)
        parent.log_densities = list(below.log_densities)

    def prior_means(self, path):
        """Return the mean of all targets, and the estimate of each node of a path, root first."""
        estimates = [sums(self.learned).mean]
        for node in path:
            estimates.append(node.estimate(estimates[-1]))
        return estimates

    def predict(self, values):
        """Predict with the average of all prunings, or with the leaf alone.

        Returns the estimate, the variance of the mix of all laws, and the mean of the leaves.
        """
        if self.root is None:
            return 0.0, 0.0, 0.0
        noise, center = self.noise() or 0.0, sums(self.learned).mean
        estimates, parts, squares, leaves = {None: center}, [], [], []
        for visit in self.visits(values):
            node, prior_mean = visit.node, estimates[visit.above and visit.above.node]
            estimates[node] = node.estimate(prior_mean)
            parts.append(visit.mass * estimates[node])
            for share, law in node.laws():
                off = location(law, prior_mean) - center
                square = squared_scale(law, prior_mean, noise) + off * off
                squares.append(visit.mass * share * square)
            leaves.append(visit.share * node.sums().mean)
        prediction = math.fsum(parts)
        variance = max(math.fsum(squares) - (prediction - center) ** 2, 0.0)
        return prediction, variance, math.fsum(leaves)

    def restart(self, n_learned):
        """Forget everything, sigma^2 included."""
        super().restart(n_learned)
        self.learned, self.errors = [], []

    def learn(self, sample, split_intensity, prediction, predicted_at):
        """Grow the tree where the sample requires it, then score and count it along its path.

        `prediction` is that of the tree when the forest had learned `predicted_at` samples. It is
        scored if the tree had learned some of them since it last began.
        """
        if self.is_outdated():
            self.restart(self.forest.n_learned)
        noise = self.noise()
        before = self.log_odds()
        path = self.grow(sample, split_intensity)
        scores = [
            node.score(sample, prior_mean, noise)
            for node, prior_mean in zip(path, self.prior_means(path), strict=False)
        ]
        self.note_gains(path, self.gain_scores(sample.target, path), sample.weight)
        # nodes that were there before the growth still have the odds from before it
        masses = self.masses(path, self.log_odds() | before)
        share = math.fsum(mass * node.share for mass, node in zip(masses, path, strict=True))
        self.fading_share += (share - self.fading_share) / SHARE_MEMORY
        for node, (log_p, share) in zip(path, scores, strict=True):
            node.log_densities.append(log_p)
            node.share = share
            node.samples.append(sample)
        if predicted_at > self.restarted_at:
            error = (sample.target - prediction) ** 2
            if self.may_restart():
                loss = 0.0 if noise is None else min(error / noise, LARGEST_SQUARE) / LARGEST_SQUARE
                self.add_loss(loss, sample.weight)
            if noise is not None and self.mean_error()[0] > ENOUGH:
                error = min(error, FARTHEST**2 * noise)
            self.errors.append((error, sample.weight))
        self.learned.append((sample.target, sample.weight))

    def gain_scores(self, target, path):
        """Score the estimates of a path: minus the squared error, in variances of the targets."""
        variance = self.variance()
        for estimate in self.prior_means(path)[1:]:
            square = (target - estimate) ** 2
            has_scale = variance >= LEAST_VARIANCE
            yield -min(square / variance, LARGEST_SQUARE) if has_scale else 0.0

    def variance(self):
        weight, _, squares = sums(self.learned)
        return squares / weight if weight > 0 else 0.0

    def noise(self):
        """Return sigma^2, None if the targets have been equal so far."""
        variance = self.variance()
        if variance < LEAST_VARIANCE:
            return None
        weight, mean = self.mean_error()
        return max(mean, LEAST_NOISE * variance) if weight > ENOUGH else variance

    def mean_error(self):
        """Return the weight of the squared errors, faded, and their mean."""
        errors = fade(self.errors, KEPT)
        weight = math.fsum(w for _, w in errors)
        return weight, math.fsum(w * e for e, w in errors) / weight if errors else 0.0


class NaiveRegressor(GrowingForest):
    """The Aggregated Mondrian Forest for real targets, with next to nothing incremental in it.

    One tree for each entry of `random_states` (64-bit integers) and `tree_keys` (32-bit integers);
    `trend_key` (64 bits) is that of the cosines. The other parameters are those of `AMFRegressor`.
    """

    tree_kind = RegressionTree
    measure = staticmethod(relevance)
    relevance_floor = 0.006
    split_pure = True
    parameters = GrowingForest.parameters | {
        "vote": "learned",
        "linear": False,
        "recent": None,
        "trend_key": 0,
    }

    def __init__(self, random_states, tree_keys, **parameters):
        super().__init__(random_states, tree_keys, **parameters)
        self.first_target = None  # y_0
        self.n_jumped = 0  # late targets far above their predictions, less those far below
        has_trend = self.linear and self.vote == "learned"
        self.trends = Trends(self.trend_key) if has_trend else None
        self.stack = Vote(
            is_learned=self.vote == "learned",
            has_trend=has_trend,
            has_leaves=self.use_aggregation,
            recent=self.recent,
        )

    def predict_one(self, x):
        """Predict the mean of the trees; 0 before the first sample."""
        return self._predict(x)[0]

    def predict_quantile_one(self, x, q):
        """Predict a number that the target does not exceed with probability q."""
        return self._predict(x, q)[1]

    def predict_interval_one(self, x, level=0.9):
        """Predict the hull of the prediction and the quantiles at both ends of a level."""
        numbers = self._predict(x, (1 - level) / 2, (1 + level) / 2)
        return min(numbers), max(numbers)

    def _predict(self, x, *qs):
        """Return the prediction, noted until its target comes, and some quantiles."""
        if self.first_target is None:
            return [0.0, *(math.copysign(math.inf, q - 0.5) if q != 0.5 else 0.0 for q in qs)]
        self.lateness = self.current_lateness()
        tame = self.winsorize(self.checked(x))
        votes = self._votes(x)._replace(trends=self._trends(self.row(tame, self.positions(tame))))
        law = self.stack.law(votes)
        level = round(abs(1 - 2 * qs[0]), 9) if qs else 0.0
        self.pending.note(self.pending_row(x), self.n_learned, (votes, *law), level)
        quantiles = [self.stack.quantile(*law, q) for q in qs]
        return [self.first_target + number for number in (law[0], *quantiles)]

    def _votes(self, x):
        """Return the predictions of the trees, without trends, and what is recent."""
        tree_votes = [tree.predict(self.encode(x, tree.tree_key)) for tree in self.trees]
        surprises, recent = self.surprises(x), self.stack.recent(self.lateness)
        return Votes(*zip(*tree_votes, strict=True), recent=recent, surprises=surprises)

    def _trends(self, row):
        """Return P_1, P_2 and T, or nothing without trends."""
        return self.trends.predict(row) if self.trends else ()

    def learn(self, x, y, w, late):
        """Learn a sample that has been checked, given its prediction if the target is late."""
        is_first = self.first_target is None
        if is_first:
            self.first_target = float(y)
        target = float(y) - self.first_target
        if late and self.has_jumped(target, late.votes):
            late, self.lateness, self.is_late = None, 0.0, False
        votes = self._votes(x)
        filled, tame = self.filled(x), self.winsorize(x)
        positions = self.positions(tame)
        forgotten = self.add_values(x)
        # a new feature is used at once, but all is scored by what was before the sample
        row = self.row(tame, positions)
        votes = votes._replace(trends=self._trends(row))
        near, trend = target, 0.0  # the target, or what is learned of one too far from the trend
        if self.trends:
            trend = votes.trends[2]
            near = trend + self.trends.stack.sizes.winsorized(target - trend, target, w)
        parts = near, near - trend
        delay = self.n_learned - late.n_learned if late else 0
        law = None
        if late:  # what is scored is the prediction of the time
            surprises, (votes, *law) = votes.surprises, late.votes
            votes = votes._replace(surprises=surprises)
        if not is_first:
            self.stack.learn(votes, target, w, delay, law, self.lateness)
        tree_votes = list(votes.trees)
        if late and votes.trends:  # the trees are compared with the residual of now
            tree_votes = [p + (votes.trends[2] - trend) * (t % 2) for t, p in enumerate(tree_votes)]
        if self.trends:
            self.trends.learn(row, near, w, self.lateness, is_first=is_first)
            for column in forgotten:
                self.trends.forget_feature(column)
        self.intensities = [self.split_intensities(part) for part in range(2)]
        for t, (tree, prediction) in enumerate(zip(self.trees, tree_votes, strict=True)):
            values = self.encode_tame(tame, tree.tree_key)
            sample = Sample(parts[t % 2], w, values, self.lateness)
            tree.learn(sample, self.intensities[t % 2], prediction, self.n_learned - delay)
        self.observe(filled, parts, w)

    def current_lateness(self):
        return super().current_lateness() if abs(self.n_jumped) < JUMP else 0.0

    def has_jumped(self, target, then):
        """Count a late target that was far from its prediction; return whether there are many."""
        _, prediction, scale = then
        off = target - prediction
        if abs(off) > FAR_OFF * scale:
            self.n_jumped += math.copysign(1, off)
        else:
            self.n_jumped -= (self.n_jumped > 0) - (self.n_jumped < 0)
        return abs(self.n_jumped) >= JUMP
