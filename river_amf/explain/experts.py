"""How experts are combined: weights in the vote, and stacks (DESIGN.md: learned vote, stacks)."""

import math
from typing import NamedTuple

import numpy as np

from river_amf.kernels.lateness import ERRORS_KEPT
from river_amf.kernels.regression.target_pool import (
    LEAF_VARIANCE_PENALTY,
    MARGIN,
    OF_LAST,
    OF_TRENDS,
    OF_VOTERS,
)
from river_amf.outputs.votes import of_trees
from river_amf.state.arena import Arena
from river_amf.state.layout import LATENESS, LEAF, LOCATION, N_TRENDS, Array

PERCEPTRON, WORDS = "perceptron", "words"  # a classifier's, beside additive experts
FAST, SMOOTH = "fast", "smooth"  # a regressor's
ADDITIVE = "additive", "smooth additive"


def vote_weights(arena: Arena) -> dict[str, float]:
    """Return the weights of the experts of a classifier in the vote, in the order of votes."""
    names = [PERCEPTRON, *ADDITIVE] if len(arena.linear_models) else []
    weights = dict(zip(names, arena.linear_models["vote_weight"].tolist(), strict=True))
    if arena.settings["has_sparse_expert"][0]:
        weights[WORDS] = float(arena.counters["sparse_weight"][0])
    return weights


class Stack(NamedTuple):
    """Voters with a base: the prediction is the base, plus weights times distances from it.

    Predictions of a regressor are relative to the first target here. Each has one or more parts
    that sum to it: constants are part of the first, and the last has what clipping leaves.
    """

    base: Array
    voters: dict[str, Array]  # predictions by name
    weights: Array  # of the voters, perhaps followed by some that are not used

    def predict(self) -> Array:
        """Return the prediction, which is within half a range around the range of the voters."""
        votes = np.array([*self.voters.values()])
        p = self.base + self.weights[: len(votes)] @ (votes - self.base)
        low, *_, high = sorted([self.base.sum(), *votes.sum(axis=1)])
        margin = MARGIN * (high - low)
        return within(p, low - margin, high + margin)


def within(parts: Array, low: float, high: float) -> Array:
    """Return the parts of a prediction that is clipped."""
    total, clipped = parts.sum(), parts.copy()
    clipped[-1] += min(max(total, low), high) - total
    return clipped


def stacks(arena: Arena, votes: Array) -> dict[str, Stack]:
    """Return the stacks of a forest by name, given the parts of its votes along a last axis.

    `voters` combines trees and trends, `last` the last target with all of them, and `trend` the
    trends, as far as the forest has them.
    """
    settings, counters, weights = arena.settings[0], arena.counters[0], arena.stack_weights
    one = np.eye(1, votes.shape[-1])[0]  # the parts of a constant
    of_trends = votes[len(arena.trees) :, LOCATION]
    trends = dict(zip((FAST, SMOOTH), of_trends, strict=False)) if len(arena.trends) else {}
    result = {}
    if settings["is_stacked"]:
        even, odd = _groups(of_trees(arena, votes))
        base = 0.5 * (even + odd)
        voters = {"even trees": even, "odd trees": odd}
        if settings["n_recent"]:
            kept = math.exp(-arena.context[LATENESS] / ERRORS_KEPT)  # of that prediction
            fast = kept * _mean(counters["fast_errors"], counters["fast_weight"])
            slow = kept * _mean(counters["slow_errors"], counters["slow_weight"])
            voters |= {"mean, corrected fast": base + fast * one}
            voters |= {"mean, corrected slowly": base + slow * one}
        voters |= {f"{name} trend": p for name, p in trends.items()}
        if settings["has_leaves"]:
            leaves, stack = of_trees(arena, votes, LEAF), arena.stacks[OF_VOTERS]
            even, odd = _groups(leaves)
            unit = _mean(stack["error_squares"], stack["weight"])
            doubt = LEAF_VARIANCE_PENALTY * leaves.sum(axis=1).var()
            agreement = unit / (unit + doubt) if unit > 0.0 else 0.0
            agreed = base + agreement * (0.5 * (even + odd) - base)
            voters |= {"even leaves": even, "odd leaves": odd, "leaves that agree": agreed}
        mean = _mean(counters["stacked_targets"], counters["stacked_weight"])
        voters |= {"mean of recent targets": mean * one}
        result["voters"] = Stack(base, voters, weights[OF_VOTERS])
        if settings["has_last"]:
            together = {"all voters": result["voters"].predict()}
            result["last"] = Stack(counters["last_target"] * one, together, weights[OF_LAST])
    if trends:
        base = sum(trends.values()) / N_TRENDS
        trends["mean of recent targets"] = counters["target_mean"] * one
        result["trend"] = Stack(base, trends, weights[OF_TRENDS])
    return result


def _groups(votes: Array) -> tuple[Array, Array]:
    """Return the means of the trees with even and with odd indices; one tree counts as both."""
    return votes[::2].mean(axis=0), votes[min(1, len(votes) - 1) :: 2].mean(axis=0)


def _mean(total: float, weight: float) -> float:
    return float(total / weight) if weight > 0.0 else 0.0
