"""Inputs of the trends of a regressor, and weights of its voters (DESIGN.md: trends, stacks).

For tables and texts. The first target is subtracted from all numbers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf.explain.linear_experts import ExpertOutputs
from river_amf.inputs.encoding import Features
from river_amf.kernels.regression.target_pool import (
    DOUBT,
    MARGIN,
    OF_LAST,
    OF_TRENDS,
    OF_VOTERS,
)
from river_amf.kernels.regression.trends import FAST_TERMS, SMOOTH_TERMS
from river_amf.state.arena import Arena
from river_amf.state.layout import LEAF, LOCATION, MOST_SLOTS, N_TRENDS, N_WAVES

Array = NDArray[Any]

NAMES = FAST, SMOOTH = "fast", "smooth"
VALUE, PROFILE, COSINES = "value", "profile", "cosines"  # kinds of inputs


class Voter(NamedTuple):
    """A voter of a stack."""

    name: str
    prediction: float
    weight: float


class Stack(NamedTuple):
    """Voters with a base: the prediction is the base, plus weights times distances from it."""

    base: float
    voters: list[Voter]


class Input(NamedTuple):
    """An input of a trend."""

    trend: str
    feature: Hashable | None  # None for the constant 1 and for random Fourier features
    kind: str | None  # VALUE, PROFILE or COSINES, None for the constant
    weight: float


def learns_rest(arena: Arena, tree: int) -> bool:
    """Whether a tree learns the residual of the trend instead of the target."""
    return bool(arena.capacities["tree_target"] > 1 and tree % 2 == 1)


def of_trees(arena: Arena, outputs: ExpertOutputs, which: int = LOCATION) -> NDArray[np.float64]:
    """Return what trees or leaves predict, the trend included where it belongs to them."""
    votes: NDArray[np.float64] = outputs.votes[: len(arena.trees), which].copy()
    if arena.capacities["tree_target"] > 1:
        votes[1::2] += outputs.votes[len(arena.trees) + N_TRENDS, LOCATION]
    return votes


def stack_of_voters(arena: Arena, outputs: ExpertOutputs) -> Stack | None:
    """Return the stack of trees and trends, or None if the forest predicts the mean of trees."""
    settings, counters = arena.settings[0], arena.counters[0]
    if not settings["is_stacked"]:
        return None
    even, odd = _groups(of_trees(arena, outputs))
    base = 0.5 * (even + odd)
    predictions = {"even trees": even, "odd trees": odd}
    if settings["n_recent"]:
        fast = _mean(counters["fast_errors"], counters["fast_weight"])
        slow = _mean(counters["slow_errors"], counters["slow_weight"])
        predictions["mean, corrected fast"] = base + fast
        predictions["mean, corrected slowly"] = base + slow
    predictions |= {f"{name} trend": p for name, p in _predictions(arena, outputs).items()}
    if settings["has_leaves"]:
        leaves = of_trees(arena, outputs, LEAF)
        even, odd = _groups(leaves)
        stack = arena.stacks[OF_VOTERS]
        unit = _mean(stack["error_squares"], stack["weight"])
        agreement = unit / (unit + DOUBT * leaves.var()) if unit > 0.0 else 0.0
        agreed = base + agreement * (0.5 * (even + odd) - base)
        predictions |= {"even leaves": even, "odd leaves": odd, "leaves that agree": agreed}
    return _stack(arena, OF_VOTERS, base, predictions)


def stack_of_last(arena: Arena, voters: Stack) -> Stack | None:
    """Return the stack of the last target with the others, or None if that is no expert."""
    if not arena.settings["has_last"][0]:
        return None
    last = float(arena.counters["last_target"][0])
    return _stack(arena, OF_LAST, last, {"all voters": predicted(voters)})


def predicted(stack: Stack) -> float:
    """Return what a stack predicts: within half a range around the range of its voters."""
    ends = [stack.base, *(voter.prediction for voter in stack.voters)]
    low, high = min(ends), max(ends)
    margin = MARGIN * (high - low)
    p = stack.base + sum(voter.weight * (voter.prediction - stack.base) for voter in stack.voters)
    return min(max(p, low - margin), high + margin)


def _groups(votes: NDArray[np.float64]) -> tuple[float, float]:
    """Return the means of the trees with even and with odd indices, or twice that of the only."""
    return float(votes[::2].mean()), float(votes[min(1, len(votes) - 1) :: 2].mean())


def stack_of_trends(arena: Arena, outputs: ExpertOutputs) -> Stack | None:
    """Return the stack that gives the trend, or None without one."""
    predictions = _predictions(arena, outputs)
    if not predictions:
        return None
    base = sum(predictions.values()) / len(predictions)
    predictions |= {"mean of recent targets": float(arena.counters["target_mean"][0])}
    return _stack(arena, OF_TRENDS, base, predictions)


def _mean(total: float, weight: float) -> float:
    return float(total / weight) if weight > 0.0 else 0.0


def _predictions(arena: Arena, outputs: ExpertOutputs) -> dict[str, float]:
    """Return what each trend predicts."""
    own = outputs.votes[len(arena.trees) :, LOCATION].tolist()
    return dict(zip(NAMES, own, strict=False)) if len(arena.trends) else {}


def _stack(arena: Arena, which: int, base: float, predictions: dict[str, float]) -> Stack:
    weights = arena.stack_weights[which].tolist()
    voters = zip(predictions.items(), weights, strict=False)
    return Stack(base, [Voter(name, p, weight) for (name, p), weight in voters])


def inputs(arena: Arena, features: Features) -> Iterator[Input]:
    """Yield the inputs of the trends that are of single features, and their weights."""
    # Features that share a slot enter with either sign.
    if not len(arena.trends):
        return
    fast, smooth = arena.fast[0], arena.smooth[0]
    yield Input(FAST, None, None, float(fast[0]))
    for j, name in enumerate(features):
        slot, sign = j % MOST_SLOTS, -1.0 if j // MOST_SLOTS % 2 else 1.0
        if not features.is_categorical[j]:
            yield Input(FAST, name, VALUE, sign * float(fast[1 + 2 * slot]))
        yield Input(FAST, name, PROFILE, sign * float(fast[2 + 2 * slot]))
    yield Input(SMOOTH, None, None, float(smooth[0]))
    for j, name in enumerate(features):
        slot, sign = j % MOST_SLOTS, -1.0 if j // MOST_SLOTS % 2 else 1.0
        if not features.is_categorical[j]:
            yield Input(SMOOTH, name, VALUE, sign * float(smooth[1 + N_WAVES + slot]))


def sample_inputs(
    arena: Arena, features: Features, outputs: ExpertOutputs
) -> Iterator[tuple[Input, float, float]]:
    """Yield the inputs that the trends take of a sample, their values and what they add.

    All random Fourier features are one input. So are features that share a slot, under the name of
    the first.
    """
    if not len(arena.trends):
        return
    fast, smooth = arena.fast[0], arena.smooth[0]
    of_fast, of_smooth = outputs.terms[FAST_TERMS], outputs.terms[SMOOTH_TERMS]
    names = [*features][:MOST_SLOTS]
    yield _input(FAST, None, None, fast[0], 1.0)
    for slot, name in enumerate(names):
        for kind, k in ((VALUE, 1 + 2 * slot), (PROFILE, 2 + 2 * slot)):
            yield _input(FAST, name, kind, fast[k], of_fast[k])
    yield _input(SMOOTH, None, None, smooth[0], 1.0)
    waves = slice(1, 1 + N_WAVES)
    of_waves = float(smooth[waves] @ of_smooth[waves])
    yield Input(SMOOTH, None, COSINES, math.nan), math.nan, of_waves
    for slot, name in enumerate(names):
        k = 1 + N_WAVES + slot
        yield _input(SMOOTH, name, VALUE, smooth[k], of_smooth[k])


def _input(
    trend: str, feature: Hashable | None, kind: str | None, weight: float, value: float
) -> tuple[Input, float, float]:
    """Return an input with its value and what it adds."""
    return Input(trend, feature, kind, float(weight)), float(value), float(weight * value)
