"""Trees of the reference that are split by what splits have gained (DESIGN.md: gains)."""

import math
from itertools import pairwise

from naive_aggregation import fade, sigma
from naive_features import LARGEST
from naive_growth import GrowingTree

KEPT_GAINS = 1 - 1 / 2000  # per unit of weight that comes later
BY_GAINS = 0.8  # share of gains in split intensities
GAIN_FLOOR = 0.0001
FEW = 20.0  # weight of splits that have gained nothing
DOUBT = 2.0  # standard errors


class GainingTree(GrowingTree):
    """A tree that notes for each sample what the splits on its path have gained."""

    def __init__(self, forest, random_state, tree_key):
        super().__init__(forest, random_state, tree_key)
        self.gains = []  # for each sample the feature, share and gain of each split; and its weight
        self.odds = {}  # the log-odds by which the newest sample is learned

    def follows_gains(self):
        return self.forest.split_intensity == "relevance"

    def grow(self, sample, split_intensity):
        """Change the structure by the intensities of this tree; nodes keep their odds until then.

        They lack the growth of what is inserted below them.
        """
        if not self.follows_gains():
            return super().grow(sample, split_intensity)
        before = {node: r for node, r in self.log_odds().items() if r < math.inf}
        path = super().grow(sample, self.own_intensities(split_intensity))
        self.odds = self.log_odds() | before
        return path

    def novelty(self, values, unseen, split_intensity):
        """Return how new a sample is by the intensities of this tree."""
        if self.follows_gains():
            split_intensity = self.own_intensities(split_intensity)
        return super().novelty(values, unseen, split_intensity)

    def own_intensities(self, split_intensity):
        """Mix intensities by relevance with those by gains."""
        columns = self.forest.columns.values()
        sums = [self.sums_of_gains(column.index) for column in columns]
        lowered = [max(gained - DOUBT * math.sqrt(squares), 0.0) for gained, _, squares in sums]
        raised = [GAIN_FLOOR + g / (n + FEW) for g, (_, n, _) in zip(lowered, sums, strict=True)]
        mean = math.fsum(raised) / max(len(raised), 1)
        base = [column.base_intensity("range") for column in columns]
        by_gains = [min(lam * (r / mean), LARGEST) for lam, r in zip(base, raised, strict=True)]
        pairs = zip(split_intensity, by_gains, strict=True)
        return [(1 - BY_GAINS) * by_relevance + BY_GAINS * g for by_relevance, g in pairs]

    def sums_of_gains(self, feature):
        """Sum up what splits by a feature have gained, their shares, and the squares of gains."""
        of_feature = [
            (share, gain, weight)
            for splits, weight in fade(self.gains, KEPT_GAINS)
            for j, share, gain in splits
            if j == feature
        ]
        return (
            math.fsum(w * share * gain for share, gain, w in of_feature),
            math.fsum(w * share for share, _, w in of_feature),
            math.fsum(w * (share * gain) ** 2 for share, gain, w in of_feature),
        )

    def note_gains(self, path, scores, weight):
        """Note how much better each node on a path has predicted a sample than its parent."""
        if self.follows_gains():
            splits = zip(path, pairwise(scores), strict=False)
            gains = [(v.feature, sigma(-self.odds[v]), below - own) for v, (own, below) in splits]
            self.gains.append((gains, weight))
