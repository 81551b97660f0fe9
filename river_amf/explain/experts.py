"""The votes of experts for a sample, as kernels leave them (DESIGN.md: learned vote, stacks)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.kernels.regression.target_pool import DOUBT, MARGIN, OF_LAST, OF_TRENDS, OF_VOTERS
from river_amf.state.arena import Arena
from river_amf.state.layout import LEAF, LOCATION, N_TRENDS

Array = NDArray[Any]

LOGISTIC, WORDS = "logistic", "words"  # a classifier's linear models on features
FAST, SMOOTH = "fast", "smooth"  # a regressor's
ADDITIVE = "additive", "smooth additive"


class ExpertOutputs(NamedTuple):
    """The inputs and votes of the experts for a sample."""

    values: Array  # the encoded sample, of shape (n_features,)
    words: Array  # rows of slot and value, of shape (n_words, 2)
    votes: Array  # of shape (n_voters, n_classes); for a learned vote logarithms
    standardised: Array  # inputs of linear models, (n_timescales, n_features)
    terms: Array  # inputs of trends, see `kernels.regression.trends`
    additive_inputs: Array  # see `kernels.classification.additive_models`
    answer: Any  # the prediction of the forest


def vote_weights(arena: Arena) -> dict[str, float]:
    """Return the weights of linear models in the vote, in the order of votes."""
    others = ["fast cosines"] * (len(arena.linear_models) > 3)
    names = [LOGISTIC, *others, *ADDITIVE] if len(arena.linear_models) else []
    weights = dict(zip(names, arena.linear_models["vote_weight"].tolist(), strict=True))
    if arena.settings["has_sparse_expert"][0]:
        weights[WORDS] = float(arena.counters["sparse_weight"][0])
    return weights


def predictions(arena: Arena, outputs: ExpertOutputs) -> NDArray[np.float64]:
    """Return the probabilities by trees and linear models, a row for each of them."""
    votes = outputs.votes[:, : int(arena.settings["n_labels"][0])]
    if arena.settings["learns_vote"][0]:
        votes = np.exp(votes)
        votes[: len(arena.trees)] -= kernels.VOTE_FLOOR
    return votes


class Stack(NamedTuple):
    """Voters with a base: the prediction is the base, plus weights times distances from it.

    Predictions of a regressor are relative to the first target here.
    """

    base: float
    voters: dict[str, float]  # predictions by name
    weights: Array  # of the voters, perhaps followed by some that are not used

    def predict(self) -> float:
        """Return the prediction, which is within half a range around the range of the voters."""
        votes = np.array([*self.voters.values()])
        p = self.base + self.weights[: len(votes)] @ (votes - self.base)
        low, high = min(self.base, votes.min()), max(self.base, votes.max())
        margin = MARGIN * (high - low)
        return float(min(max(p, low - margin), high + margin))


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
    trends = dict(zip((FAST, SMOOTH), votes, strict=False)) if len(arena.trends) else {}
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
