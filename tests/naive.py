"""The slow, obvious reference for everything compiled.

Three independent parts:

- `Cell` and the functions on it: the average over prunings of any tree given as nested counts;
- `NaiveForest`: the online forest with an object per node. A node keeps every sample that ever went
  through it, and everything else is recomputed from that list. Only what is defined step by step is
  updated in place: with fading, the share and the log-odds of a node; the range of a feature; the
  weights of the learned vote and its linear experts (`naive_linear_models.py`). Given the same
  random states, it draws the same numbers as the compiled forest, so trees can be compared node by
  node. Features, growth, aggregation, restarts and delayed labels are in files of their own, which
  the forest of `naive_regression.py` uses, too;
- `sample_mondrian`: Mondrian trees drawn all at once on rows, to compare distributions.
"""

import math
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
from naive_additive import LinearModels
from naive_aggregation import (
    add_up,
    fading,
    log_add,
    masses_by_enumeration,
    mix,
    sigma,
    softplus,
    weigh,
)
from naive_growth import GrowingForest, GrowingNode, Sample
from naive_linear_models import LEAST_LOG_P, LINEAR_RATE, log_softmax
from naive_pending import slowed
from naive_restarts import RestartingTree

SWITCHING = 0.001  # alpha of the fixed share between the two estimators of a node
SHARE_MEMORY = 500.0  # samples that the running mean of `fading_share` looks back
ONE_CLASS = 1e-12  # if G is this close to 1, there is nothing to explain
VOTE_FLOOR = 1e-3  # FLOOR, added to each probability of a tree
PLAIN_RATE = 1 / 30  # exponent of the likelihoods of plain trees and pool
PLAIN_SWITCHING = 0.0005
FIRST_PLAIN_SHARE = 0.2
LEAST_POOLED = 1e-9
VOTE_RATE = 0.002  # RATE_V
FEW_TREES = 10
BIAS_RATE = 0.02  # RATE_B


# Aggregation on plain cells


@dataclass(eq=False)
class Cell:
    """A node as the aggregation sees it: one count per class of the prior, and two children."""

    counts: tuple
    left: "Cell | None" = None
    right: "Cell | None" = None
    log_evidence: float = 0.0


def node_prediction(counts, dirichlet):
    """Predict from one node: p_v(c) = (n_v(c) + a) / (N_v + C a) (DESIGN.md: node prediction)."""
    total = add_up(counts) + len(counts) * dirichlet
    return [(count + dirichlet) / total for count in counts]


def loss(counts, dirichlet):
    """Return the cumulative loss L_v of a node, in closed form (DESIGN.md: cumulative loss)."""
    prior = len(counts) * dirichlet
    of_labels = [math.lgamma(count + dirichlet) - math.lgamma(dirichlet) for count in counts]
    return math.lgamma(add_up(counts) + prior) - math.lgamma(prior) - add_up(of_labels)


def log_w(cell, *, step, dirichlet):
    """Return the log-weight of the node by itself: log w_v = -eta L_v (DESIGN.md: aggregation)."""
    return -step * loss(cell.counts, dirichlet)


def brute_force_prediction(cell, path, *, split_prior, step, dirichlet):
    """Average the predictions of all prunings, each weighted by pi(T) exp(-eta L(T)).

    `path` lists the cells that x goes through, from `cell` to a leaf. In any pruning T, exactly one
    of them is a leaf, and it makes T's prediction.
    """
    assert path[0] is cell
    masses = masses_by_enumeration(
        path, lambda v: log_w(v, step=step, dirichlet=dirichlet), split_prior
    )
    return mix(masses, [node_prediction(v.counts, dirichlet) for v in path])


# Fading: two estimators in one node


def log_whole(counts, label, weight, dirichlet):
    """Return the increment of -L_v by one more sample (DESIGN.md: sample weights).

    It is log p_v(y) if the weight is one.
    """
    of_label, total = counts[label] + dirichlet, add_up(counts) + len(counts) * dirichlet
    if weight == 1:
        return math.log(of_label / total)
    gain = math.lgamma(of_label + weight) - math.lgamma(of_label)
    return gain - (math.lgamma(total + weight) - math.lgamma(total))


@dataclass
class Mixture:
    """Whole and faded counts of a node, and the share q of the faded ones (DESIGN.md: fading).

    The faded total F is kept separately, not summed up from the f.
    """

    counts: list
    faded_counts: list
    faded_total: float
    share: float
    dirichlet: float
    fading_factor: float

    def faded_prediction(self):
        """Predict with the faded counts alone: (f(c) + a) / (F + C a)."""
        total = self.faded_total + len(self.faded_counts) * self.dirichlet
        return [(count + self.dirichlet) / total for count in self.faded_counts]

    def predict(self):
        """Mix the predictions of the two estimators."""
        whole, faded = node_prediction(self.counts, self.dirichlet), self.faded_prediction()
        return mix([1 - self.share, self.share], [whole, faded])

    def learn(self, label, weight):
        """Count a sample; return log P of its label before that."""
        whole = log_whole(self.counts, label, weight, self.dirichlet)
        faded = weight * math.log(self.faded_prediction()[label])
        log_p = log_add(math.log1p(-self.share) + whole, math.log(self.share) + faded)
        # Herbster and Warmuth's fixed share: q <- alpha/2 + (1-alpha) q P_faded / P
        after = math.exp(math.log(self.share) + faded - log_p)
        self.share = SWITCHING / 2 + (1 - SWITCHING) * after
        self.count(label, weight)
        return log_p

    def count(self, label, weight):
        """Count a sample without changing the share."""
        self.fade(label, weight)
        self.counts[label] += weight

    def fade(self, label, weight):
        """Count a sample in the faded counts alone."""
        kept, added = fading(self.fading_factor, weight)
        self.faded_counts = [kept * count for count in self.faded_counts]
        self.faded_counts[label] += added
        self.faded_total = kept * self.faded_total + added


# The forest


def corrected_tau(buckets, labels, weights):
    """Return Goodman and Kruskal's tau of the label given the bucket, less what is by chance."""
    w = np.array(weights, dtype=float)
    rows = {bucket: k for k, bucket in enumerate(dict.fromkeys(buckets))}
    classes = {label: c for c, label in enumerate(dict.fromkeys(labels))}
    table = np.zeros((len(rows), len(classes)))
    for bucket, label, weight in zip(buckets, labels, w, strict=True):
        table[rows[bucket], classes[label]] += weight
    of_bucket, of_class, total = table.sum(axis=1), table.sum(axis=0), table.sum()
    by_chance = float(np.sum(of_class**2) / total**2)  # G
    if by_chance >= 1 - ONE_CLASS:
        return 0.0
    explained = float(np.sum(table**2 / of_bucket[:, None]) / total)  # E
    tau = (explained - by_chance) / (1 - by_chance)
    n_effective = float(total**2 / np.sum(w**2))
    n_buckets = len(rows)
    return max(0.0, tau - (1 - tau) * (n_buckets - 1) / max(n_effective - n_buckets, 1.0))


def relevance(buckets, values, labels, weights):
    """Return the relevance of a feature to the label, from 0 to 1 (DESIGN.md: relevance)."""
    return corrected_tau(buckets, labels, weights)


@dataclass(eq=False)
class Node(GrowingNode):
    """A node, and what it predicts.

    `odds` is used only with fading: the log-odds r of an internal node, which then do not follow
    from the counts. `faded` are the samples in the faded counts.
    """

    odds: float = math.inf
    faded: list = field(default_factory=list, repr=False)

    def counts(self):
        """Return the total weight of each of the C classes, labels in order of appearance."""
        by_label = dict.fromkeys(self.forest.labels, 0.0)
        for sample in self.samples:
            by_label[sample.target] += sample.weight
        unseen = self.forest.size_of_prior() - len(by_label)
        return (*by_label.values(), *[0.0] * unseen)

    def log_w(self):
        """Return the log-weight of the node by itself, without fading."""
        return -self.forest.step * loss(self.counts(), self.forest.dirichlet_in_force())

    def mixture(self):
        """Return whole and faded counts from the samples, and the share as learned."""
        mixture = self.forest.empty_mixture()
        mixture.counts = list(self.counts())
        for sample in self.faded:
            mixture.fade(self.forest.labels.index(sample.target), sample.weight)
        mixture.share = self.share  # C and a may have changed in between
        return mixture

    def predict(self, fades):
        """Predict the C classes by this node alone, given whether its tree fades."""
        if fades:
            return self.mixture().predict()
        return node_prediction(self.counts(), self.forest.dirichlet_in_force())

    def replay(self):
        """Learn the samples from the first; return the share and log w_v = eta sum log P."""
        mixture = self.forest.empty_mixture()
        number = self.forest.labels.index
        log_p = [mixture.learn(number(sample.target), sample.weight) for sample in self.samples]
        return mixture.share, self.forest.step * add_up(log_p)


class NaiveTree(RestartingTree):
    node_kind = Node

    def fades(self):
        """Return whether the tree fades: with an even index only while labels come at once."""
        is_odd = self.forest.trees.index(self) % 2 == 1
        return self.forest.fading_factor is not None and (is_odd or self.forest.lateness == 0)

    def log_odds(self):
        """Return the log-odds of all nodes: from the counts, or as they were learned."""
        if self.forest.fading_factor is None:
            return super().log_odds()
        return {node: math.inf if node.is_leaf() else node.odds for node in self.nodes()}

    def predict(self, values):
        """Predict the C classes with the average of all prunings, or with the leaf alone."""
        if self.root is None:
            return [1.0 / self.forest.size_of_prior()] * self.forest.size_of_prior()
        visits = self.visits(values)
        return mix(
            [visit.mass for visit in visits], [visit.node.predict(self.fades()) for visit in visits]
        )

    def learn(self, sample, split_intensity):
        """Grow the tree where the sample requires it, then count the sample along its path."""
        # log of the factor by which the change of structure multiplies a node's wbar
        self.log_growth = {}
        path = self.grow(sample, split_intensity)
        label = self.forest.labels.index(sample.target)
        self.note_gains(path, (node.predict(self.fades())[label] for node in path), sample.weight)
        if self.forest.fading_factor is not None:
            self._learn_fading(path, sample)
        for node in path:
            node.samples.append(sample)

    def _learn_fading(self, path, sample):
        """Update shares and odds from the leaf upwards (DESIGN.md: learning)."""
        label = self.forest.labels.index(sample.target)
        log_g = part = 0.0
        for node in reversed(path):
            mixture, q = node.mixture(), 0.0
            if self.fades():
                q = mixture.share
                log_p = self.forest.step * mixture.learn(label, sample.weight)
                node.faded.append(sample)
            else:
                counts, a = node.counts(), self.forest.dirichlet_in_force()
                log_p = self.forest.step * log_whole(counts, label, sample.weight, a)
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
        if self.fades():
            self.fading_share += (part - self.fading_share) / SHARE_MEMORY

    def after_insertion(self, parent, below):
        """Let a new parent take over from the node below it (DESIGN.md: structural changes)."""
        super().after_insertion(parent, below)
        parent.faded = list(below.faded)
        b = self.forest.split_prior
        # rho = log w - log wbar of the node below
        rho = 0.0 if below.is_leaf() else -math.log1p(-b) - softplus(-below.odds)
        parent.odds = rho + math.log1p(-b) - math.log(b)
        self.log_growth[parent] = log_add(math.log1p(-b) + rho, math.log(b))

    def after_expansion(self, top):
        """Set the shares and odds of the nodes of an expansion; the top node keeps its share."""
        if self.forest.fading_factor is None:
            return
        log_odds, b = {}, self.forest.split_prior
        if not self.fades():
            log_wbar = weigh(top, Node.log_w, b, log_odds)
            self.log_growth[top] = log_wbar - top.log_w()
        else:
            replays, share = {node: node.replay() for node in self.nodes(top)}, top.share
            log_wbar = weigh(top, lambda v: replays[v][1], b, log_odds)
            for node, (replayed_share, _) in replays.items():
                if node is not top:
                    node.share, node.faded = replayed_share, list(node.samples)
            top.share = share
            self.log_growth[top] = log_wbar - replays[top][1]
        for node in self.nodes(top):
            node.odds = log_odds[node]

    def recompute_odds(self):
        """Make the odds follow from the counts, which a new label has changed."""
        log_odds = {}
        for node in self.nodes():
            node.log_evidence = 0.0
        if self.root:
            weigh(self.root, Node.log_w, self.forest.split_prior, log_odds)
        for node, r in log_odds.items():
            node.odds = r


class NaiveForest(GrowingForest):
    """The Aggregated Mondrian Forest of DESIGN.md, with next to nothing incremental in it.

    One tree for each entry of `random_states` (64-bit integers) and `tree_keys` (32-bit integers);
    `linear_keys` (64-bit integers) are those of the linear experts. The other parameters are those
    of `AMFClassifier`.
    """

    tree_kind = NaiveTree
    measure = staticmethod(relevance)
    parameters = GrowingForest.parameters | {
        "n_classes": None,
        "dirichlet": None,
        "split_pure": False,
        "vote": "mean",
        "linear": False,
        "linear_keys": (),
    }

    def __init__(self, random_states, tree_keys, **parameters):
        super().__init__(random_states, tree_keys, **parameters)
        if self.vote == "mean" and self.drift_threshold is None:
            self.pending.most = 0
        self.labels = []
        self.vote_weights = [1 / len(self.trees)] * len(self.trees)
        self.linear_models = LinearModels(self.linear_keys)
        self.biases = []
        self.plain_share = FIRST_PLAIN_SHARE

    def size_of_prior(self):
        """Return C, the number of classes of the prior: `n_classes`, or those seen so far."""
        return len(self.labels) if self.n_classes is None else self.n_classes

    def dirichlet_in_force(self):
        """Return a: the parameter, or 0.5 up to two classes and 0.01 beyond."""
        if self.dirichlet is not None:
            return self.dirichlet
        return 0.5 if self.size_of_prior() <= 2 else 0.01

    def empty_mixture(self):
        whole, faded = [0.0] * self.size_of_prior(), [0.0] * self.size_of_prior()
        return Mixture(whole, faded, 0.0, 0.5, self.dirichlet_in_force(), self.fading_factor)

    def learn(self, x, y, w, late):
        """Learn a sample that has been checked, given its prediction if the label is late."""
        if y not in self.labels:
            self.labels.append(y)
            self.biases.append(0.0)
            if self.n_classes is None:
                for tree in (tree for tree in self.trees if not tree.fades()):
                    tree.recompute_odds()
        label = self.labels.index(y)
        tree_votes = []
        if self.vote == "learned":
            tree_votes = [tree.predict(self.encode(x, tree.tree_key)) for tree in self.trees]
        filled, tame = self.filled(x), self.winsorize(x)
        forgotten = self.add_values(x)
        delay = self.n_learned - late.n_learned if late else 0
        restarted = [late is not None and late.n_learned < t.restarted_at for t in self.trees]
        if late:
            n_new = len(self.labels) - len(late.votes[0][0])
            tree_votes = [[*vote, *[0.0] * n_new] for vote in late.votes[0]]
        if self.vote == "learned":
            # a new feature is used at once, but standardized by what was before the sample
            row = self.row(tame, {})
            log_votes = self.linear_models.log_votes(row, len(self.labels))
            if late:
                log_votes = [[*vote, *[LEAST_LOG_P] * n_new] for vote in late.votes[1]]
                self._learn_plain_share(tree_votes, late.votes[2], label, w)
            slowed_weight = slowed(w, delay)
            self._learn_vote(tree_votes, log_votes, label, slowed_weight, restarted)
            self.linear_models.learn(row, label, w, len(self.labels))
            for column in forgotten:
                self.linear_models.forget_feature(column)
        self.intensities = [self.split_intensities()]
        for t, tree in enumerate(self.trees):
            values = self.encode_tame(tame, tree.tree_key)
            has_loss = tree.may_restart() and not restarted[t]
            if has_loss:
                proba = tree_votes[t] if late else tree.predict(values)
            tree.learn(Sample(y, w, values), self.intensities[0])
            if has_loss:
                tree.add_loss(1.0 - proba[label], w)
                if tree.is_outdated():
                    tree.restart(self.n_learned + 1)
                    tree.gains = []
        self.observe(filled, (y,), w)

    def predict_proba_one(self, x):
        """Pool the trees; return probabilities of the labels seen so far, which sum to one."""
        if not self.labels:
            return {}
        n_labels, self.lateness = len(self.labels), self.current_lateness()
        tree_votes = [tree.predict(self.encode(x, tree.tree_key))[:n_labels] for tree in self.trees]
        row = self.row(self.winsorize(self.checked(x)), {})
        others = self.linear_models.log_votes(row, n_labels)
        pooled = self._pool([*self._log_votes(tree_votes), *others])
        self.pending.note(self.pending_row(x), self.n_learned, (tree_votes, others, pooled))
        if self.vote == "learned" and self.lateness > 0:
            plain, share = self._plain(tree_votes), self.plain_share
            pooled = mix([1 - share, share], [pooled, plain])
        if self.vote == "mean":
            sums = [math.fsum(p) for p in zip(*tree_votes, strict=True)]
            pooled = [p / math.fsum(sums) for p in sums]
        return dict(zip(self.labels, pooled, strict=True))

    def _log_votes(self, tree_votes):
        """Return l_t(c) = log(p_t(c) + FLOOR) of each tree, for the labels seen so far."""
        n_labels = len(self.labels)
        return [[math.log(p + VOTE_FLOOR) for p in of_tree[:n_labels]] for of_tree in tree_votes]

    def _pool(self, votes):
        """Pool the votes of experts i: softmax of z_c = beta_c + sum_i v_i l_i(c)."""
        experts = self.linear_models.linear_models
        weights = self.vote_weights + [expert.vote_weight for expert in experts]
        z = [
            bias + math.fsum(v * vote[c] for v, vote in zip(weights, votes, strict=True))
            for c, bias in enumerate(self.biases)
        ]
        return [math.exp(log_p) for log_p in log_softmax(z)]

    def _plain(self, tree_votes):
        votes = self._log_votes(tree_votes[::2])
        means = [math.fsum(of_class) / len(votes) for of_class in zip(*votes, strict=True)]
        return [math.exp(log_p) for log_p in log_softmax(means)]

    def _learn_plain_share(self, tree_votes, pooled, label, w):
        """Move the share of the plain trees by Bayes' rule and then toward 1/2."""
        then = max(pooled[label], LEAST_POOLED) if label < len(pooled) else LEAST_POOLED
        ratio = (self._plain(tree_votes)[label] / then) ** (PLAIN_RATE * w)
        q = self.plain_share * ratio / (self.plain_share * ratio + 1 - self.plain_share)
        self.plain_share = PLAIN_SWITCHING / 2 + (1 - PLAIN_SWITCHING) * q

    def _learn_vote(self, tree_votes, others, label, slowed_weight, restarted):
        """Move the weights along the gradient of the log-probability of the label.

        Those of trees that have restarted since they predicted stay as they are.
        """
        tree_votes = self._log_votes(tree_votes)
        pooled = self._pool([*tree_votes, *others])

        def gradient(votes):
            return votes[label] - math.fsum(p * v for p, v in zip(pooled, votes, strict=True))

        gradients = [gradient(v) * (not r) for v, r in zip(tree_votes, restarted, strict=True)]
        mean, slowed = math.fsum(gradients) / len(tree_votes), min(1, FEW_TREES / len(tree_votes))
        for t, g in enumerate(gradients):
            step = slowed * mean + math.sqrt(slowed) * (g - mean)
            self.vote_weights[t] += VOTE_RATE * slowed_weight * step * (not restarted[t])
        for expert, votes in zip(self.linear_models.linear_models, others, strict=True):
            expert.vote_weight += LINEAR_RATE * slowed_weight * gradient(votes)
        for c, p in enumerate(pooled):
            self.biases[c] += BIAS_RATE * slowed_weight * ((c == label) - p)


# Mondrian trees drawn all at once


def sample_mondrian(rows, labels, rng, *, stop_if_pure, time=0.0, depth=0):
    """Draw a Mondrian tree of infinite lifetime and unit intensity on the rows.

    It recurses on the box of the rows (Lakshminarayanan et al., 2014, algorithm 2). Cells whose
    rows are all equal are not split, nor, with `stop_if_pure`, are cells with a single label. Rows
    have no missing values. `time` and `depth` are those of the top node; its split
    time is the `time` of its children.
    """
    rows, labels = np.asarray(rows, dtype=float), np.asarray(labels)
    node = SimpleNamespace(time=time, n_samples=len(rows), depth=depth, left=None, right=None)
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
