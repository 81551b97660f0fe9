"""How experts are combined: weights in the vote, and stacks (DESIGN.md: learned vote, stacks)."""

from typing import NamedTuple

from river_amf.kernels import STACKS
from river_amf.kernels.regression.target_pool import OF_LAST, OF_TRENDS, OF_VOTERS
from river_amf.outputs.votes import ExpertOutputs
from river_amf.state.arena import Arena
from river_amf.state.layout import Array

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

    Predictions of a regressor are relative to the first target here.
    """

    base: float
    voters: dict[str, float]  # predictions by name
    weights: Array  # of the voters, perhaps followed by some that are not used


def stacks(arena: Arena, outputs: ExpertOutputs) -> dict[str, Stack]:
    """Return the stacks of a forest by name, as they predict a sample.

    `voters` combines trees and trends, `last` the last target with all of them, and `trend` the
    trends, as far as the forest has them.
    """
    settings, trends = arena.settings[0], [FAST, SMOOTH] if len(arena.trends) else []
    names, mean = {}, "mean of recent targets"
    if settings["is_stacked"]:
        recent = ["mean, corrected fast", "mean, corrected slowly"] * bool(settings["n_recent"])
        trend_votes = [f"{name} trend" for name in trends]
        leaves = ["even leaves", "odd leaves", "leaves that agree"] * settings["has_leaves"]
        voters = ["even trees", "odd trees", *recent, *trend_votes, *leaves, mean]
        names["voters"] = OF_VOTERS, voters
    if settings["has_last"]:
        names["last"] = OF_LAST, ["all voters"]
    if trends:
        names["trend"] = OF_TRENDS, [*trends, mean]
    found = {}
    for name, (k, voters) in names.items():
        values, (base, *_) = outputs.parts[len(outputs.votes) + STACKS + k, :2].tolist()
        found[name] = Stack(base, dict(zip(voters, values, strict=False)), arena.stack_weights[k])
    return found
