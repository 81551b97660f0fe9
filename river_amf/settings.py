"""What follows from the parameters of a forest: its settings, its limits, and how it begins."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from river_amf import budget, kernels, layout, state
from river_amf.budget import Known, Limits
from river_amf.encoding import Features
from river_amf.parameters import automatic_dirichlet
from river_amf.state import Arena
from river_amf.words import Bounds

# The maximum number of samples that a pure leaf keeps (or eight per feature, if that is more).
# Splitting a leaf of that size takes milliseconds, and determines the weights of its children to a
# few percent.
LONGEST_LIST = 2048
SHORTER_LIST = 512  # lower bound of that maximum where max_nodes is set, so memory is limited

SCALE_OF_VOICES, SCALE_OF_TRENDS = 0.5, 0.25  # of the distances that cosines see
FIRST_ERRORS = 10.0  # weight of a normal law in the counts of errors, at first
VOICE_WEIGHT = 0.1  # of a voice in the vote, at first

NO_LIMIT = 2**31 - 1  # 32-bit links


class Parameters(Protocol):
    """The parameters that an engine reads from a model."""

    task: ClassVar[int]  # CLASSIFICATION or REGRESSION
    n_classes: int | None
    n_estimators: int
    step: float
    split_prior: float
    use_aggregation: bool
    dirichlet: float | None
    split_pure: bool
    max_nodes: int | None
    max_categories: int | None
    max_bytes: int | None
    absent: str
    max_columns: int
    max_vocabulary: int | None
    split_intensity: str
    fading_factor: float | None
    restart_threshold: float | None
    vote: str
    linear: str | None
    trend: str | None
    on_mismatch: str
    n_jobs: int
    seed: int | None


def begin(parameters: Parameters) -> Arena:
    """Return the arena of a forest that has not learned any samples."""
    check_together(parameters)
    n_trees = parameters.n_estimators
    n_voices = n_voices_of(parameters)
    sequence = np.random.SeedSequence(parameters.seed)
    n_trends = n_trends_of(parameters)
    numbers = sequence.generate_state(2 * n_trees + n_voices + n_trends, np.uint64)
    of_trees, others = numbers[: 2 * n_trees], numbers[2 * n_trees :]
    trees = np.zeros(n_trees, layout.TREE)
    trees["random_state"], trees["key"] = of_trees[::2], of_trees[1::2] >> np.uint64(32)
    trees["root"] = kernels.NONE
    trees["faded_share"] = 0.5
    trees["vote_weight"] = 1.0 / n_trees
    voices = np.zeros(n_voices, layout.VOICE)
    voices["key"], voices["vote_weight"] = others[:n_voices], VOICE_WEIGHT
    trends = np.zeros(n_trends, layout.TREND)
    trends["key"], trends["newest_weight"] = others[n_voices:], 1.0
    arena = Arena(settings_of(parameters, least_classes(parameters)), trees, voices, trends)
    arena.counters["newest_profile"] = 1.0
    arena.errors[:] = first_errors(len(arena.errors))
    arena.counters["words_vote"] = kernels.FIRST_VOTE_OF_WORDS if has_words(parameters) else 0.0
    return arena


def least_classes(parameters: Parameters) -> int:
    """Return the number of classes that a forest counts before it has seen any."""
    return 0 if parameters.task == layout.REGRESSION else parameters.n_classes or 1


def first_errors(n_bins: int) -> NDArray[Any]:
    """Return how many errors a regression counts in each bin before the first: a normal law."""
    # Bins are uniform on u / (1 + |u|), where u is an error in units of its scale.
    if not n_bins:
        return np.zeros(0)
    with np.errstate(divide="ignore"):
        place = np.linspace(-1.0, 1.0, n_bins + 1)
        ends = place / (1.0 - np.abs(place))
    below = [0.5 * math.erfc(-end / math.sqrt(2.0)) for end in ends.tolist()]
    return FIRST_ERRORS * np.diff(below)


def n_voices_of(parameters: Parameters) -> int:
    """Return how many linear models are heard beside the trees, or raise ValueError."""
    # First the one on the features, then those on cosines.
    if parameters.linear is not None and parameters.vote != "learned":
        if parameters.linear == "auto":
            return 0
        raise ValueError(
            f"linear={parameters.linear!r} needs vote='learned', which weighs the linear models "
            f"against the trees; got vote={parameters.vote!r}"
        )
    # Cosines tell nothing of words.
    automatic = 1 if has_words(parameters) else 3
    return {None: 0, "logistic": 1, "cosines": 3, "auto": automatic}[parameters.linear]


def settings_of(parameters: Parameters, n_classes: int) -> NDArray[Any]:
    """Return the settings that follow from the parameters and the number of classes."""
    settings = np.zeros(1, layout.SETTINGS)
    settings["task"] = parameters.task
    settings["largest_total"] = layout.LARGEST_TOTALS[parameters.task]
    settings["step"] = parameters.step
    settings["log_split"] = math.log(parameters.split_prior)
    settings["log_stop"] = math.log1p(-parameters.split_prior)
    if parameters.task == layout.CLASSIFICATION:
        state.set_prior(settings, n_classes, dirichlet_of(parameters, n_classes))
    settings["max_nodes"] = min(parameters.max_nodes or NO_LIMIT, NO_LIMIT)
    settings["longest_list"] = LONGEST_LIST
    if parameters.max_nodes is not None:
        shorter = max(SHORTER_LIST, parameters.max_nodes // 8)
        settings["longest_list"] = min(LONGEST_LIST, shorter)
    settings["period"] = (bound_of(parameters) or -1) + 1
    settings["use_aggregation"] = parameters.use_aggregation
    settings["fades"] = parameters.fading_factor is not None
    settings["fading_factor"] = parameters.fading_factor or 0.0
    settings["split_pure"] = parameters.split_pure
    settings["range_intensity"] = parameters.split_intensity != "unit"
    settings["relevance"] = parameters.split_intensity == "relevance"
    settings["restart_threshold"] = parameters.restart_threshold or 0.0
    settings["judges_trees"] = parameters.restart_threshold is not None
    settings["learns_vote"] = parameters.vote == "learned"
    if parameters.task == layout.REGRESSION:  # errors of trees and of the forest always count
        settings["judges_trees"] = settings["learns_vote"] = True
        settings["is_stacked"] = parameters.vote == "learned"
    settings["n_voices"] = n_voices_of(parameters)
    settings["n_trends"] = n_trends_of(parameters)
    settings["n_aims"] = 2 if settings["n_trends"][0] else 1
    settings["cosine_scale"] = SCALE_OF_TRENDS if settings["n_trends"][0] else SCALE_OF_VOICES
    settings["n_words"] = has_words(parameters)
    settings["max_columns"] = most_columns(parameters)
    settings["hears_words"] = has_words(parameters) and n_voices_of(parameters) > 0
    return settings


def has_words(parameters: Parameters) -> bool:
    """Whether an absent number counts as 0, so that numeric features are words."""
    return parameters.absent == "zero"


def most_columns(parameters: Parameters) -> int:
    """Return how many features the trees may see if there are words."""
    # Words with columns are never forgotten, and make up half of all words at most.
    bound = parameters.max_vocabulary
    return min(int(parameters.max_columns), NO_LIMIT if bound is None else int(bound) // 2)


def bounds_of_words(parameters: Parameters, settings: NDArray[Any], n_labels: int) -> Bounds:
    """Return how many words there may be, given the number of labels."""
    if parameters.max_bytes is None:
        return Bounds(parameters.max_vocabulary)
    n_classes = max(n_labels, int(settings["n_classes"][0]))
    most = budget.most_words(settings, parameters.max_bytes, n_classes)
    n_text = budget.bytes_of_words(settings, parameters.max_bytes) // 2
    return Bounds(min(most, parameters.max_vocabulary or most), n_text)


def bound_of(parameters: Parameters) -> int | None:
    """Return the maximum number of categories of a feature, or None if there is no limit."""
    bounds = [NO_LIMIT]
    if parameters.max_categories is not None:
        bounds.append(int(parameters.max_categories))
    if parameters.max_bytes is not None:
        bounds.append(budget.most_categories(parameters.max_bytes))
    return None if min(bounds) == NO_LIMIT else min(bounds)


def check_together(parameters: Parameters) -> None:
    """Raise ValueError for parameters that are valid alone, but not together."""
    n_voices_of(parameters)
    _check_bytes(parameters)


def _check_bytes(parameters: Parameters) -> None:
    """Raise ValueError if not even an empty forest fits into `max_bytes`."""
    if parameters.max_bytes is None:
        return
    n_classes = least_classes(parameters)
    settings = settings_of(parameters, n_classes)
    least = budget.least_bytes(settings, parameters.n_estimators, n_classes)
    if parameters.max_bytes < least:
        is_regression = parameters.task == layout.REGRESSION
        of_classes = "" if is_regression else f" and n_classes={parameters.n_classes}"
        raise ValueError(
            f"max_bytes must be at least {least} for n_estimators={parameters.n_estimators}"
            f"{of_classes}, got {parameters.max_bytes}"
        )


def n_trends_of(parameters: Parameters) -> int:
    """Return how many trends a regression has."""
    return 0 if parameters.trend is None else layout.N_TRENDS


def known_of(
    settings: NDArray[Any],
    parameters: Parameters,
    features: Features,
    n_classes: int,
    n_slots: int,
    text: int,
) -> Known:
    """Return what a forest knows, rounded up."""
    period = int(settings["period"][0])
    n_counted = sum(features.is_categorical) if period else 0
    n_categorical = sum(features.is_categorical)
    known = Known(len(features), n_categorical, n_classes, n_counted, n_slots, text)
    return known.rounded(period, parameters.n_classes)


def limits_of(settings: NDArray[Any], parameters: Parameters, known: Known) -> Limits:
    """Return the limits that follow from `max_bytes`."""
    assert parameters.max_bytes is not None
    return budget.limits_of(
        settings, parameters.n_estimators, parameters.max_bytes, parameters.max_nodes, known
    )


def are_in_effect(settings: NDArray[Any], limits: Limits) -> bool:
    """Whether these limits are those in effect."""
    return all(settings[name][0] == limit for name, limit in limits._asdict().items())


def dirichlet_of(parameters: Parameters, n_classes: int) -> float:
    """Return the Dirichlet parameter in effect for a number of classes."""
    if parameters.dirichlet is None:
        return automatic_dirichlet(n_classes)
    return float(parameters.dirichlet)
