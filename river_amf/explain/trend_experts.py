"""The voters of a regressor and the inputs of its trends (DESIGN.md: trends, stacks).

All predictions are relative to the first target.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf.explain.linear_experts import ExpertOutputs, Input
from river_amf.inputs.schema import Schema
from river_amf.kernels.regression.target_pool import DOUBT, MARGIN, OF_LAST, OF_TRENDS, OF_VOTERS
from river_amf.kernels.regression.trends import FAST_TERMS, SMOOTH_TERMS
from river_amf.state.arena import Arena
from river_amf.state.layout import LEAF, LOCATION, MOST_SLOTS, N_TRENDS, N_WAVES

Array = NDArray[Any]

NAMES = FAST, SMOOTH = "fast", "smooth"
VALUE, PROFILE, COSINES = "value", "profile", "cosines"  # kinds of inputs


class Stack(NamedTuple):
    """Voters with a base: the prediction is the base, plus weights times distances from it."""

    base: float
    voters: dict[str, float]  # predictions by name
    weights: Array  # of the voters, perhaps followed by some that are not used

    def predict(self) -> float:
        """Return the prediction, which is within half a range around the range of the voters."""
        p = self.base + sum(
            weight * (voter - self.base)
            for voter, weight in zip(self.voters.values(), self.weights, strict=False)
        )
        ends = [self.base, *self.voters.values()]
        margin = MARGIN * (max(ends) - min(ends))
        return float(min(max(p, min(ends) - margin), max(ends) + margin))


def learns_residual(arena: Arena, tree: int) -> bool:
    """Return whether a tree learns the residual of the trend instead of the target."""
    return bool(arena.capacities["tree_target"] > 1 and tree % 2 == 1)


def of_trees(arena: Arena, outputs: ExpertOutputs, which: int = LOCATION) -> NDArray[np.float64]:
    """Return the predictions of trees or leaves, with the trend where they learn residuals."""
    votes: NDArray[np.float64] = outputs.votes[: len(arena.trees), which].copy()
    if arena.capacities["tree_target"] > 1:
        votes[1::2] += outputs.votes[len(arena.trees) + N_TRENDS, LOCATION]
    return votes


def stacks(arena: Arena, outputs: ExpertOutputs) -> dict[str, Stack]:
    """Return the stacks of a forest by name.

    `voters` combines trees and trends, `last` the last target with all of them, and `trend` the
    trends, as far as the forest has them.
    """
    settings, counters, weights = arena.settings[0], arena.counters[0], arena.stack_weights
    votes = outputs.votes[len(arena.trees) :, LOCATION].tolist()
    trends = dict(zip(NAMES, votes, strict=False)) if len(arena.trends) else {}
    result = {}
    if settings["is_stacked"]:
        even, odd = _groups(of_trees(arena, outputs))
        base = 0.5 * (even + odd)
        voters = {"even trees": even, "odd trees": odd}
        if settings["n_recent"]:
            fast = _mean(counters["fast_errors"], counters["fast_weight"])
            slow = _mean(counters["slow_errors"], counters["slow_weight"])
            voters |= {"mean, corrected fast": base + fast, "mean, corrected slowly": base + slow}
        voters |= {f"{name} trend": p for name, p in trends.items()}
        if settings["has_leaves"]:
            leaves, stack = of_trees(arena, outputs, LEAF), arena.stacks[OF_VOTERS]
            even, odd = _groups(leaves)
            unit = _mean(stack["error_squares"], stack["weight"])
            agreement = unit / (unit + DOUBT * leaves.var()) if unit > 0.0 else 0.0
            agreed = base + agreement * (0.5 * (even + odd) - base)
            voters |= {"even leaves": even, "odd leaves": odd, "leaves that agree": agreed}
        result["voters"] = Stack(base, voters, weights[OF_VOTERS])
        if settings["has_last"]:
            together = {"all voters": result["voters"].predict()}
            result["last"] = Stack(float(counters["last_target"]), together, weights[OF_LAST])
    if trends:
        base = sum(trends.values()) / len(trends)
        trends["mean of recent targets"] = float(counters["target_mean"])
        result["trend"] = Stack(base, trends, weights[OF_TRENDS])
    return result


def _groups(votes: NDArray[np.float64]) -> tuple[float, float]:
    """Return the means of the trees with even and with odd indices; one tree counts as both."""
    return float(votes[::2].mean()), float(votes[min(1, len(votes) - 1) :: 2].mean())


def _mean(total: float, weight: float) -> float:
    return float(total / weight) if weight > 0.0 else 0.0


def inputs(arena: Arena, features: Schema, outputs: ExpertOutputs | None = None) -> Iterator[Input]:
    """Yield the inputs of the trends, with their values in a sample."""
    # With a sample, all random Fourier features are one input. Features that share a slot enter it
    # with either sign; the sum of their profiles has the name of the first of them.
    if not len(arena.trends):
        return
    n = min(len(features), MOST_SLOTS)
    values, profiles = np.full((2, len(features)), math.nan)
    if outputs is not None:
        values, profiles = outputs.standardised[0], np.zeros(len(features))
        profiles[:n] = outputs.terms[FAST_TERMS, 2 : 2 + 2 * n : 2]
    waves = slice(1, 1 + N_WAVES)
    for trend, weights, first, step in (
        (FAST, arena.fast[0], 1, 2),
        (SMOOTH, arena.smooth[0], 1 + N_WAVES, 1),
    ):
        yield (trend, None, None, float(weights[0]), 1.0)
        if trend == SMOOTH and outputs is not None:
            added = weights[waves] @ outputs.terms[SMOOTH_TERMS, waves]
            yield (trend, None, COSINES, float(added), 1.0)
        for j, name in enumerate(features):
            sign, k = (-1.0) ** (j // MOST_SLOTS), first + step * (j % MOST_SLOTS)
            if not features.is_categorical[j]:
                yield (trend, name, VALUE, float(sign * weights[k]), float(values[j]))
            if trend == FAST:
                yield (trend, name, PROFILE, float(sign * weights[k + 1]), float(profiles[j]))
