"""The slow, obvious reference for everything compiled.

Three independent parts:

- `Cell` and the functions on it: the average over prunings (DESIGN.md: aggregation) of any tree
  given as nested counts, by the recursion of context-tree weighting and by brute force;
- `NaiveForest`: the online forest with an object per node. A node keeps every sample that ever went
  through it, and everything else is recomputed from that list. Only what is defined step by step is
  updated in place: with fading, the share and the log-odds of a node; the range of a feature; the
  weights of the learned vote and its linear experts (`naive_linear_models.py`). Given the same
  random states, it draws the same numbers as the compiled forest, so trees can be compared node by
  node. Its features are in `naive_features.py`, the growth of its trees in `naive_growth.py`,
  their restarts in `naive_restarts.py`: the forest of `naive_regression.py` shares all three;
- `sample_mondrian`: Mondrian trees drawn all at once on given rows, to compare distributions.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from naive_features import is_missing
from naive_growth import (
    GrowingForest,
    GrowingNode,
    Sample,
    add_up,
    log_add,
    sigma,
    softplus,
)
from naive_linear_models import LEAST_LOG_P, LINEAR_RATE, LinearModels, Row
from naive_pending import DELAY_SCALE, Pending, row_of
from naive_restarts import RestartingTree

# -------------------------------------------------------------------------------------------------
# Constants, which might still be tuned
# -------------------------------------------------------------------------------------------------

# fading
SWITCHING = 0.001  # alpha of the fixed share between the two estimators of a node
SHARE_MEMORY = 500.0  # samples that the running mean of `fading_share` looks back

# relevance
ONE_CLASS = 1e-12  # if G is this close to 1, there is nothing to explain

# learned vote
VOTE_FLOOR = 1e-3  # FLOOR, added to each probability of a tree
VOTE_RATE = 0.002  # RATE_V
BIAS_RATE = 0.02  # RATE_B

# -------------------------------------------------------------------------------------------------
# Aggregation on plain cells
# -------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Cell:
    """A node as the aggregation sees it: one count per class, and two children or none.

    Cells are compared by identity. The number of classes C is the length of `counts`. A factor of
    exp(`log_evidence`) is what splits that were undone leave to wbar (DESIGN.md: budget).
    """

    counts: tuple[float, ...]
    left: "Cell | None" = None
    right: "Cell | None" = None
    log_evidence: float = 0.0


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

    wbar_v = w_v at a leaf, (1-b) w_v + b wbar_left wbar_right elsewhere (DESIGN.md: aggregation),
    times the evidence of splits that were undone.
    """
    own = log_w(cell, step=step, dirichlet=dirichlet)
    if cell.left is None:
        return cell.log_evidence + own
    below = add_up(
        log_wbar(child, split_prior=split_prior, step=step, dirichlet=dirichlet)
        for child in (cell.left, cell.right)
    )
    total = log_add(math.log1p(-split_prior) + own, math.log(split_prior) + below)
    return cell.log_evidence + total


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
    (DESIGN.md: aggregation); it sums to one, but for the evidence of splits that were undone.
    """
    evidence = cell.log_evidence
    if cell.left is None:
        yield [cell], evidence
        return
    yield [cell], evidence + math.log1p(-split_prior)
    for left_leaves, left_log_pi in prunings(cell.left, split_prior=split_prior):
        for right_leaves, right_log_pi in prunings(cell.right, split_prior=split_prior):
            log_pi = evidence + math.log(split_prior) + left_log_pi + right_log_pi
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
            log_q = [cell.log_evidence + own + p for p in log_p]
        else:
            sibling = cell.right if below is cell.left else cell.left
            beside = log_wbar(sibling, split_prior=split_prior, step=step, dirichlet=dirichlet)
            keep, split = math.log1p(-split_prior) + own, math.log(split_prior) + beside
            keep, split = keep + cell.log_evidence, split + cell.log_evidence
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
# The forest
# -------------------------------------------------------------------------------------------------


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


@dataclass(eq=False)
class Node(GrowingNode):
    """A node, and what it predicts.

    `share` and `odds` are used only with fading: the share q of the faded counts, and the log-odds
    r of an internal node, which then do not follow from the counts.
    """

    share: float = 0.5
    odds: float = math.inf

    def counts(self) -> tuple[float, ...]:
        """Total weight of each of the C classes in the cell, labels in order of appearance."""
        by_label = dict.fromkeys(self.forest.labels, 0.0)
        for sample in self.samples:
            by_label[sample.target] += sample.weight
        unseen = self.forest.n_classes() - len(by_label)
        return (*by_label.values(), *[0.0] * unseen)

    def cell(self) -> Cell:
        """Copy the subtree for the functions on cells."""
        children = () if self.is_leaf() else (self.left.cell(), self.right.cell())
        return Cell(self.counts(), *children, log_evidence=self.log_evidence)

    def loss(self) -> float:
        """Cumulative loss L_v."""
        return loss(self.counts(), self.forest.current_dirichlet())

    def log_wbar(self) -> float:
        """Log-weight of all prunings of the subtree."""
        return log_wbar(self.cell(), **self.forest.aggregation())

    def log_odds(self) -> float:
        """Log-odds r_v, from the counts if they do not fade; infinite at a leaf."""
        if self.is_leaf():
            return math.inf
        if self.forest.fading_factor is not None:
            return self.odds
        return closed_form_log_odds(self.cell(), **self.forest.aggregation())

    def mixture(self) -> Mixture:
        """Whole and faded counts from the samples, and the share as learned."""
        mixture = self.forest.fresh_mixture()
        for sample in self.samples:
            mixture.count(self.forest.labels.index(sample.target), sample.weight)
        mixture.share = self.share  # C and a may have changed in between
        return mixture

    def replay(self) -> tuple[float, float]:
        """Learn the samples from a fresh state and return its share and log w_v = eta sum log P."""
        mixture = self.forest.fresh_mixture()
        number = self.forest.labels.index
        log_p = [mixture.learn(number(sample.target), sample.weight) for sample in self.samples]
        return mixture.share, self.forest.step * add_up(log_p)


class NaiveTree(RestartingTree):
    """One tree of a `NaiveForest`, with its own random numbers."""

    node_kind = Node
    forest: "NaiveForest"

    def __init__(self, forest: "NaiveForest", random_state: int, tree_key: int) -> None:
        super().__init__(forest, random_state, tree_key)
        self.fading_share = 0.5
        self.log_growth: dict[Node, float] = {}

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
            self.start()
        # log of the factor by which the change of structure multiplies a node's wbar
        self.log_growth = {}
        path = self.grow(sample, split_intensity)
        if self.forest.fading_factor is not None:
            self._learn_fading(path, sample)
        for node in path:
            node.samples.append(sample)

    def log_odds_of(self, node: Node) -> float:
        """Log-odds r_v of an internal node."""
        return node.log_odds()

    def _predict_fading(self, path: Sequence[Node]) -> list[float]:
        """Mix the path's predictions: each node takes its own share of what remains."""
        if not self.forest.use_aggregation:
            return path[-1].mixture().predict()
        prediction = [0.0] * self.forest.n_classes()
        remaining = 1.0
        for node in path:
            own = sigma(node.log_odds())
            of_node = node.mixture().predict()
            mass = remaining * own
            prediction = [p + mass * n for p, n in zip(prediction, of_node, strict=True)]
            remaining *= sigma(-node.log_odds())  # zero at the leaf, whose odds are infinite
        return prediction

    def _learn_fading(self, path: Sequence[Node], sample: Sample) -> float:
        """Update shares and odds from the leaf upwards (DESIGN.md: learning).

        Returns the root's log g, the growth of its wbar without the part due to structure.
        """
        label = self.forest.labels.index(sample.target)
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

    def after_insertion(self, parent: Node, below: Node) -> None:
        """Let a new parent take over from the node below it (DESIGN.md: structural changes)."""
        if self.forest.fading_factor is None:
            return
        b = self.forest.split_prior
        # rho = log w - log wbar of the node below
        rho = 0.0 if below.is_leaf() else -math.log1p(-b) - softplus(-below.odds)
        parent.share = below.share
        parent.odds = rho + math.log1p(-b) - math.log(b)
        self.log_growth[parent] = log_add(math.log1p(-b) + rho, math.log(b))

    def after_expansion(self, top: Node) -> None:
        """Set the shares and odds of the nodes of an expansion; the top node keeps its share."""
        if self.forest.fading_factor is None:
            return
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


class NaiveForest(GrowingForest):
    """The Aggregated Mondrian Forest of DESIGN.md, with next to nothing incremental in it.

    One tree for each entry of `random_states` (64-bit integers) and `tree_keys` (32-bit integers);
    `linear_keys` (64-bit integers) are those of the linear experts. The other parameters are those
    of `AMFClassifier`.
    """

    tree_kind = NaiveTree

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
        drift_threshold: float | None = None,
        vote: str = "mean",
        linear: bool = False,
        on_mismatch: str = "raise",
        linear_keys: Sequence[int] = (),
        max_delayed_labels: int = 10_000,
    ) -> None:
        if vote not in ("mean", "learned"):
            raise ValueError(f"vote is {vote!r}, not 'mean' or 'learned'")
        if (linear and vote == "learned") != bool(linear_keys):
            raise ValueError("linear_keys has the keys of the linear models of a learned vote")
        super().__init__(
            random_states,
            tree_keys,
            step=step,
            split_prior=split_prior,
            use_aggregation=use_aggregation,
            split_pure=split_pure,
            max_nodes=max_nodes,
            max_categories=max_categories,
            split_intensity=split_intensity,
            fading_factor=fading_factor,
            drift_threshold=drift_threshold,
            on_mismatch=on_mismatch,
        )
        self.given_n_classes = n_classes
        self.dirichlet = dirichlet
        self.vote = vote
        self.labels: list[Hashable] = []
        judges = vote == "learned" or drift_threshold is not None
        self.pending = Pending(max_delayed_labels if judges else 0)
        self.vote_weights = [1 / len(self.trees)] * len(self.trees)
        self.linear_models = LinearModels(linear_keys)
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
            self.pending.take_back(row_of(self, x), self.n_learnt)
            return
        if not w > 0:
            raise ValueError(f"the weight is {w!r}, it must not be negative")
        self._check_label(y)
        at_once = self.pending.take_back(row_of(self, x), self.n_learnt)
        x = self.without_mismatches(x)
        self.check_features(x)
        self.admit_categories(x)
        if y not in self.labels:
            self.labels.append(y)
            self.biases.append(0.0)
            if self.given_n_classes is None:  # odds without fading follow from the counts alone
                for node in (node for tree in self.trees for node in tree.nodes()):
                    node.log_evidence = 0.0
        label = self.labels.index(y)
        of_trees = []
        if self.vote == "learned":
            of_trees = [tree.predict(self.encode(x, tree.tree_key)) for tree in self.trees]
        filled, tame = self.filled(x), self.winsorize(x)
        dropped = self.add_values(x)
        late = self.pending.take(row_of(self, x), self.n_learnt, at_once=at_once)
        old = [
            t for t, tree in enumerate(self.trees) if late and late.n_learned < tree.restarted_at
        ]
        delay = self.n_learnt - late.n_learned if late else 0
        if late:
            n_new = len(self.labels) - len(late.votes[0][0])
            of_trees = [[*vote, *[0.0] * n_new] for vote in late.votes[0]]
        if self.vote == "learned":
            # a new feature is used at once, but standardised by what was before the sample
            row = self._row(tame)
            log_votes = self._other_votes(row)
            if late:
                log_votes = [[*vote, *[LEAST_LOG_P] * n_new] for vote in late.votes[1]]
            trust = min(float(w), 1.0) / (1 + delay / DELAY_SCALE)
            self._learn_vote(of_trees, log_votes, label, trust, old)
            self.linear_models.learn(row, label, float(w), len(self.labels))
            for column in dropped:
                self.linear_models.forget_feature(column)
        intensities = self.split_intensities()
        for t, tree in enumerate(self.trees):
            values = self.encode_known(tame, tree.tree_key)
            proba = tree.predict(values) if self.drift_threshold else []
            proba = of_trees[t] if late else proba
            tree.learn(Sample(dict(x), y, float(w), values), intensities)
            if tree.may_restart() and t not in old:
                tree.count_loss(1.0 - proba[label], float(w))
                if tree.is_outdated():
                    tree.restart(self.n_learnt + 1)
        self.observe(filled, (y,), float(w))

    def measure(
        self,
        buckets: Sequence[int],
        values: Sequence[float] | None,
        targets: Sequence[Hashable],
        weights: Sequence[float],
    ) -> float:
        """Measure the relevance of a feature to the label, from 0 to 1 (DESIGN.md: relevance)."""
        tau = corrected_tau(buckets, targets, weights)
        return tau if values is None else max(correlation_ratio(values, targets, weights), tau)

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
        row = self._row(self.winsorize(self.without_mismatches(x)))
        others = self._other_votes(row)
        votes = [vote[: len(self.labels)] for vote in of_trees], others
        self.pending.note(row_of(self, x), self.n_learnt, votes)
        if self.vote == "learned":
            pooled = self._pool([*self._log_votes(of_trees), *others])
            return dict(zip(self.labels, pooled, strict=True))
        of_classes = [math.fsum(p) / len(self.trees) for p in zip(*of_trees, strict=True)]
        seen = of_classes[: len(self.labels)]
        return {label: p / math.fsum(seen) for label, p in zip(self.labels, seen, strict=True)}

    def _log_votes(self, of_trees: Sequence[Sequence[float]]) -> list[list[float]]:
        """l_t(c) = log(p_t(c) + FLOOR) of each tree, for the labels seen so far."""
        n_seen = len(self.labels)
        return [[math.log(p + VOTE_FLOOR) for p in of_tree[:n_seen]] for of_tree in of_trees]

    def _other_votes(self, row: Row) -> list[list[float]]:
        """Return max(log p, -7) of the linear experts."""
        return self.linear_models.log_votes(row, len(self.labels))

    def _pool(self, votes: Sequence[Sequence[float]]) -> list[float]:
        """Pool the votes of experts i: softmax of z_c = beta_c + sum_i v_i l_i(c)."""
        weights = self.vote_weights + [
            linear_model.vote_weight for linear_model in self.linear_models.linear_models
        ]
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
        others: Sequence[Sequence[float]],
        label: int,
        trust: float,
        old: Sequence[int],
    ) -> None:
        """Move the weights along the gradient of the log-probability of the label.

        Those of trees that have started afresh since they predicted, `old`, stay as they are.
        """
        of_trees = self._log_votes(of_trees)
        pooled = self._pool([*of_trees, *others])

        def gradient(votes: Sequence[float]) -> float:
            expected = math.fsum(p * vote for p, vote in zip(pooled, votes, strict=True))
            return votes[label] - expected

        for t, votes in enumerate(of_trees):
            self.vote_weights[t] += VOTE_RATE * trust * gradient(votes) * (t not in old)
        for linear_model, votes in zip(self.linear_models.linear_models, others, strict=True):
            linear_model.vote_weight += LINEAR_RATE * trust * gradient(votes)
        for c, p in enumerate(pooled):
            self.biases[c] += BIAS_RATE * trust * ((c == label) - p)

    def _row(self, x: dict[Hashable, Any]) -> Row:
        """Return a sample without outliers, as linear experts take it."""
        numbers: dict[int, float | None] = {}
        categories: dict[int, int] = {}
        for name, column in self.columns.items():
            value = x.get(name)
            if not column.is_categorical:
                numbers[column.index] = None if is_missing(value) else float(value)
            elif not is_missing(value):
                categories[column.index] = column.place(value)
        return Row(len(self.columns), numbers, categories)

    def _check_label(self, y: Hashable) -> None:
        if is_missing(y):
            raise ValueError(f"the label is {y!r}, it must be neither None nor NaN")
        if y not in self.labels and len(self.labels) == self.given_n_classes:
            raise ValueError(f"label {y!r} is one more than n_classes={self.given_n_classes}")


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
