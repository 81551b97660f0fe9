"""Trees of the reference that restart (DESIGN.md: restarts), given their losses from 0 to 1."""

import math

from naive_gains import GainingTree
from naive_pending import slowed_rate

RECENT_RATE = 0.02  # of the mean of a tree's recent losses
USUAL_RATE = 0.001
LEAST_LOSSES = 300  # number of losses before a tree may restart
LEAST_VARIANCE = 0.001  # of a loss
LEAST_SURPLUS = 0.05


def running_mean(values):
    """Return the mean in which a new value has its rate as weight, or more while there are few."""
    mean = n = 0.0
    for value, capped, rate in values:
        n += capped
        mean += capped * (value - mean) * max(rate, 1 / n)
    return mean


class RestartingTree(GainingTree):
    """A tree that restarts if it has an odd index and the forest has a `drift_threshold`."""

    def __init__(self, forest, random_state, tree_key):
        super().__init__(forest, random_state, tree_key)
        self.losses = []  # each with its weight, at most 1, and the rate of recent ones
        self.n_restarts = 0
        self.restarted_at = 0  # how many samples the forest had learned

    def may_restart(self):
        threshold = self.forest.drift_threshold
        return threshold is not None and self.forest.trees.index(self) % 2 == 1

    def recent_rate(self):
        """Return the rate of the mean of recent losses."""
        lateness = self.forest.lateness if self.forest.is_late else 0.0
        return max(slowed_rate(RECENT_RATE, lateness), USUAL_RATE)

    def add_loss(self, loss, weight):
        self.losses.append((loss, min(weight, 1.0), self.recent_rate()))

    def n_losses(self):
        """Return the number of losses, each counted by its weight."""
        return math.fsum(capped for _, capped, _ in self.losses)

    def recent_loss(self):
        return running_mean(self.losses)

    def usual_loss(self):
        return running_mean((loss, capped, USUAL_RATE) for loss, capped, _ in self.losses)

    def is_outdated(self):
        """Return whether the losses are far higher than usual."""
        if self.n_losses() <= LEAST_LOSSES:
            return False
        recent, usual = self.recent_loss(), self.usual_loss()
        rate = self.recent_rate()
        variance = max(usual * (1 - usual), LEAST_VARIANCE) * rate / (2 - rate)
        surplus = max(self.forest.drift_threshold * math.sqrt(variance), LEAST_SURPLUS)
        return recent - usual > surplus

    def restart(self, n_learned):
        """Forget everything, after so many samples of the forest."""
        self.root, self.losses = None, []
        self.n_restarts += 1
        self.restarted_at = n_learned
