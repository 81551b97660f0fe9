"""Trees that restart once they predict far worse than they used to (DESIGN.md: restarts).

A loss is between 0 and 1: one minus the probability of the label, or a squared error relative to
its variance. `count_tree_loss` and `update_error_variance` count it.
"""

from __future__ import annotations

import math

from river_amf.kernels.lateness import slowed_rate
from river_amf.kernels.numba_tools.arrays import NONE, UNLISTED, Array, Record
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.state.layout import DELAY, LATENESS

RECENT_RATE = 0.02  # of the running mean of a tree's recent losses
USUAL_RATE = 0.001  # of the long-run mean of its losses
LEAST_LOSSES = 300  # the number of losses before a tree may restart
LEAST_LOSS_VARIANCE = 0.001  # of a loss
LEAST_LOSS_SURPLUS = 0.05  # of the recent mean over the long-run mean: about three misses in a row


@hot
def may_restart(settings: Record, t: int) -> bool:
    # Trees with even indices never do, as the drift may be less than it seems.
    return settings["drift_threshold"] > 0.0 and t % 2 == 1


@hot
def recent_rate(context: Array) -> float:
    lateness = context[LATENESS] if context[DELAY] > 0.0 else 0.0
    return max(slowed_rate(RECENT_RATE, lateness), USUAL_RATE)


@hot
def count_loss(state: Record, loss: float, weight: float, context: Array) -> None:
    capped = min(weight, 1.0)
    n_losses = state["n_losses"] + capped
    recent, usual = state["recent_loss"], state["usual_loss"]
    recent += (loss - recent) * max(capped * recent_rate(context), capped / n_losses)
    usual += (loss - usual) * max(capped * USUAL_RATE, capped / n_losses)
    state["n_losses"] = n_losses
    state["recent_loss"], state["usual_loss"] = recent, usual


@hot
def is_outdated(settings: Record, state: Record, context: Array) -> bool:
    """Return whether the recent losses of a tree are far above its usual ones."""
    # By drift_threshold standard errors, and by more than a few rare labels would cause.
    if state["n_losses"] <= LEAST_LOSSES:
        return False
    recent, usual, rate = state["recent_loss"], state["usual_loss"], recent_rate(context)
    variance = max(usual * (1.0 - usual), LEAST_LOSS_VARIANCE) * rate / (2.0 - rate)
    surplus = max(settings["drift_threshold"] * math.sqrt(variance), LEAST_LOSS_SURPLUS)
    return recent - usual > surplus


@helper
def restart_tree(state: Record, links: Array, n_learned: int) -> None:
    state["root"] = NONE
    state["n_nodes"] = 0
    state["n_boxes"] = 0
    state["n_losses"] = 0
    state["n_restarts"] += 1
    state["restarted_at"] = n_learned
    state["recent_loss"] = 0.0
    state["usual_loss"] = 0.0
    state["variance"] = 0.0
    state["error_weight"] = 0.0
    state["error_squares"] = 0.0
    for row in range(len(links)):
        links[row] = UNLISTED
