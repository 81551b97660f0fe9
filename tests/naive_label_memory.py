"""The slow, obvious reference of the experts on the labels alone (DESIGN.md: label memory).

Nothing is counted: each prediction goes through all labels so far.
"""

import math
from collections.abc import Sequence

FACTORS = (0.3, 0.8, 0.98)  # by which frequencies fade
TRANSITION_FACTOR = 0.998
PSEUDO_COUNT = 0.1
N_ROWS = 64  # last labels that are told apart

STEP = 0.04
FADING = 0.9999  # of the sums of squared gradients


class LabelMemory:
    """Experts that know the labels so far and nothing else."""

    def __init__(self, *, is_there: bool) -> None:
        n_experts = (len(FACTORS) + 1) * is_there
        self.history: list[tuple[int, float]] = []  # labels and weights
        self.vote_weights = [0.0] * n_experts
        self.squares = [1.0] * n_experts

    def log_votes(self, n_labels: int) -> list[list[float]]:
        """Return log p(c) of each expert on the next label."""
        if not self.vote_weights:
            return []
        votes = [self._log_shares(self.history, factor, n_labels) for factor in FACTORS]
        rows = [0, *((1 + label) % N_ROWS for label, _ in self.history)]  # what came before each
        after = [sample for row, sample in zip(rows, self.history, strict=False) if row == rows[-1]]
        return [*votes, self._log_shares(after, TRANSITION_FACTOR, n_labels)]

    @staticmethod
    def _log_shares(
        samples: Sequence[tuple[int, float]], factor: float, n_labels: int
    ) -> list[float]:
        """Return the logarithm of the share of each label among samples, the oldest one first."""
        counts, kept = [PSEUDO_COUNT] * n_labels, 1.0
        for label, trust in reversed(samples):
            counts[label] += trust * kept
            kept *= 1 - trust * (1 - factor)
        return [math.log(count / math.fsum(counts)) for count in counts]

    def learn(self, label: int, weight: float) -> None:
        """Note a label."""
        self.history.append((label, min(weight, 1.0)))

    def step(self, k: int, gradient: float, trust: float) -> None:
        """Move the weight of an expert along the gradient."""
        self.squares[k] = FADING * self.squares[k] + gradient**2
        self.vote_weights[k] += STEP * trust * gradient / math.sqrt(self.squares[k])
