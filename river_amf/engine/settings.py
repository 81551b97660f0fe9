"""Settings, limits and the first arena of a forest, which follow from its parameters."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.inputs.labels import Labels, Targets
from river_amf.inputs.schema import Schema
from river_amf.parameters import Parameters as Parameters
from river_amf.parameters import automatic_dirichlet
from river_amf.state import layout
from river_amf.state.arena import Arena, first_arena, set_prior

# The maximum number of samples that a pure leaf keeps (or eight per feature, if that is more). To
# split it takes milliseconds, and gives the weights of its children to a few percent.
LONGEST_LIST = 2048
SHORTER_LIST = 512  # lower bound of that maximum if max_nodes limits the memory

FIRST_ERRORS = 10.0  # weight of the normal law that the counts of errors begin with
FIRST_LINEAR_WEIGHT = 0.1  # weight in the vote that a linear model begins with
FIRST_PLAIN_SHARE = 0.2  # of plain trees, where labels are late

NO_LIMIT = 2**31 - 1  # 32-bit links


def begin(parameters: Parameters) -> Arena:
    n_trees = parameters.n_estimators
    n_linear_models, n_trends = n_experts_of(parameters)
    sequence = np.random.SeedSequence(parameters.seed)
    numbers = sequence.generate_state(2 * n_trees + n_linear_models + n_trends, np.uint64)
    tree_states, others = numbers[: 2 * n_trees], numbers[2 * n_trees :]
    trees = np.zeros(n_trees, layout.TREE)
    trees["random_state"], trees["key"] = tree_states[::2], tree_states[1::2] >> np.uint64(32)
    trees["root"] = kernels.NONE
    trees["faded_share"] = 0.5
    trees["vote_weight"] = 1.0 / n_trees
    linear_models = np.zeros(n_linear_models, layout.LINEAR_MODEL)
    linear_models["key"] = others[:n_linear_models]
    linear_models["vote_weight"] = FIRST_LINEAR_WEIGHT
    trends = np.zeros(n_trends, layout.TREND)
    trends["key"] = others[n_linear_models:]
    settings = settings_of(parameters, least_classes(parameters))
    arena = first_arena(settings, trees, linear_models, trends)
    arena.counters["newest_profile"] = 1.0
    arena.counters["newest_lateness"], arena.counters["plain_share"] = -1.0, FIRST_PLAIN_SHARE
    arena.counters["lateness"] = -1.0 if settings["max_delayed_labels"][0] else 0.0
    arena.errors[:] = first_errors(len(arena.errors))
    arena.counters["sparse_weight"] = kernels.FIRST_SPARSE_WEIGHT if has_words(parameters) else 0.0
    return arena


def least_classes(parameters: Parameters) -> int:
    """Return the number of classes that a forest counts before it has seen any."""
    return 0 if parameters._task == layout.REGRESSION else parameters.n_classes or 1


@functools.cache
def first_errors(n_bins: int) -> NDArray[Any]:
    """Return how many errors a regression counts in each bin before the first: a normal law."""
    # Bins are uniform on u / (1 + |u|), where u is an error in units of its scale.
    if not n_bins:
        return np.zeros(0)
    with np.errstate(divide="ignore"):
        position = np.linspace(-1.0, 1.0, n_bins + 1)
        ends = position / (1.0 - np.abs(position))
    below = [0.5 * math.erfc(-end / math.sqrt(2.0)) for end in ends.tolist()]
    return FIRST_ERRORS * np.diff(below)


def has_linear_models(parameters: Parameters) -> bool:
    return bool(parameters.linear) and parameters.vote == "learned"


def n_experts_of(parameters: Parameters) -> tuple[int, int]:
    """Return the number of linear models of a classifier, and of trends of a regressor."""
    if not has_linear_models(parameters):
        return 0, 0
    if parameters._task == layout.REGRESSION:
        return 0, layout.N_TRENDS
    return 1 + layout.N_ADDITIVE, 0


def settings_of(parameters: Parameters, n_classes: int) -> NDArray[Any]:
    settings = np.zeros(1, layout.SETTINGS)
    settings["is_regression"] = parameters._task == layout.REGRESSION
    settings["largest_total"] = largest_total(parameters)
    settings["weighs_relatively"] = parameters.vote == "learned"
    settings["step"] = parameters.step
    settings["log_split"] = math.log(parameters.split_prior)
    settings["log_stop"] = math.log1p(-parameters.split_prior)
    if parameters._task == layout.CLASSIFICATION:
        set_prior(settings, n_classes, dirichlet_of(parameters, n_classes))
    settings["max_nodes"] = min(parameters.max_nodes or NO_LIMIT, NO_LIMIT)
    settings["longest_list"] = LONGEST_LIST
    if parameters.max_nodes is not None:
        shorter = max(SHORTER_LIST, parameters.max_nodes // 8)
        settings["longest_list"] = min(LONGEST_LIST, shorter)
    settings["use_aggregation"] = parameters.use_aggregation
    settings["fades"] = parameters.fading_factor is not None
    settings["fading_factor"] = parameters.fading_factor or 0.0
    settings["split_pure"] = parameters.split_pure
    settings["range_intensity"] = parameters.split_intensity != "unit"
    settings["relevance"] = parameters.split_intensity == "relevance"
    settings["drift_threshold"] = parameters.drift_threshold or 0.0
    settings["scores_trees"] = parameters.drift_threshold is not None
    settings["learns_vote"] = parameters.vote == "learned"
    if parameters._task == layout.REGRESSION:  # errors of trees and of the forest always count
        settings["scores_trees"] = settings["learns_vote"] = True
        settings["is_stacked"] = parameters.vote == "learned"
    settings["max_delayed_labels"] = most_pending(parameters)
    if settings["is_stacked"][0]:
        settings["has_leaves"] = parameters.use_aggregation  # without it, trees are leaves
        settings["n_recent"] = 0 if parameters.recent is None else layout.N_RECENT_ERRORS
        settings["has_last"] = parameters.recent == "target"
    settings["n_linear_models"], settings["n_trends"] = n_experts_of(parameters)
    settings["n_tree_targets"] = 2 if settings["n_trends"][0] else 1
    settings["n_words"] = has_words(parameters)
    settings["max_split_words"] = most_columns(parameters)
    settings["has_sparse_expert"] = has_words(parameters) and has_linear_models(parameters)
    return settings


def largest_total(parameters: Parameters) -> float:
    """Return what the weights of all samples may sum to."""
    is_bounded = parameters.vote == "mean"  # else weights are relative
    return layout.LARGEST_TOTALS[parameters._task] if is_bounded else sys.float_info.max


def schema_of(parameters: Parameters, labels: Labels | Targets, warned: set[Hashable]) -> Schema:
    return Schema(
        labels,
        max_categories=bound_of(parameters),
        max_features=most_features(parameters),
        n_classes=parameters.n_classes,
        max_split_words=most_columns(parameters) if has_words(parameters) else None,
        fills_mismatches=parameters.on_mismatch == "missing",
        warned=warned,
    )


def most_pending(parameters: Parameters) -> int:
    """Return how many predictions are kept for delayed labels, 0 if it makes no difference."""
    learns = parameters._task == layout.REGRESSION or parameters.vote == "learned"
    is_scored = learns or parameters.drift_threshold is not None
    return min(int(parameters.max_delayed_labels), NO_LIMIT) if is_scored else 0


def has_words(parameters: Parameters) -> bool:
    """Return whether an absent number counts as 0, so that numeric features are words."""
    return parameters.absent == "zero"


def most_columns(parameters: Parameters) -> int:
    """Return how many features the trees may see if there are words."""
    # Words with columns are never forgotten, and make up half of all words at most.
    bound = parameters.max_words
    return min(int(parameters.max_split_words), NO_LIMIT if bound is None else int(bound) // 2)


def most_features(parameters: Parameters) -> int:
    bound, most_words = parameters.max_features, parameters.max_words
    if bound is None or not has_words(parameters) or most_words is None:
        return NO_LIMIT if bound is None else int(bound)
    return min(int(bound), int(most_words))  # so that words are ignored before any is forgotten


def bound_of(parameters: Parameters) -> int | None:
    """Return the maximum number of categories of a feature, or None if there is no limit."""
    bound = parameters.max_categories
    return None if bound is None or bound >= NO_LIMIT else int(bound)


def dirichlet_of(parameters: Parameters, n_classes: int) -> float:
    return float(parameters.dirichlet or automatic_dirichlet(n_classes))
