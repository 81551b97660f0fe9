"""The arena of a forest that is read from a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf import pruning
from river_amf.encoding import Features
from river_amf.labels import Labels
from river_amf.layout import REGRESSION
from river_amf.persistence import soundness, target_soundness
from river_amf.settings import Parameters, known_of, least_classes, limits_of, settings_of
from river_amf.sparse import SparseFeatures
from river_amf.state import Arena
from river_amf.targets import Targets


def arena_of_file(
    parameters: Parameters,
    features: Features,
    labels: Labels | Targets,
    arrays: dict[str, NDArray[Any]],
) -> Arena | None:
    """Return the arena of a file, None before the first sample, or raise FileError."""
    soundness.demand(arrays or not labels, "labels without any trees")
    soundness.demand(arrays or not features, "features without any trees")
    if not arrays:
        return None
    is_known = labels or parameters.task != REGRESSION
    soundness.demand(is_known, "trees without any origin of targets")
    n_classes = max(labels.count_with([]), least_classes(parameters))
    soundness.demand(parameters.n_classes in (None, n_classes), "number of labels")
    settings = _settings_of_file(parameters, features, labels.count_with([]), n_classes)
    limits = None
    if parameters.max_bytes is not None:
        text, n_slots = next(features.growing([]))
        text += labels.text_with([])
        known = known_of(settings, parameters, features, n_classes, n_slots, text)
        limits = limits_of(settings, parameters, known)
        # a file of another release may hold more, which is cut below
        soundness.demand("trees" in arrays, "list of arrays")
        most = int(arrays["trees"]["n_nodes"].max(initial=0)) + 2
        settings["max_nodes"] = min(max(limits.max_nodes, most), settings["max_nodes"][0])
    own = {
        "settings": settings,
        "is_categorical": np.array(features.is_categorical, np.uint8),
    }
    whole = soundness.whole(arrays, own)
    soundness.demand(whole["trees"].shape == (parameters.n_estimators,), "number of trees")
    soundness.check(whole, features.next_codes)
    if parameters.task == REGRESSION:
        target_soundness.check(whole)
    if isinstance(features, SparseFeatures):
        are_words = [features.coding(word) is None for word in features.vocabulary.slots]
        soundness.demand(all(are_words), "words, which are categories")
        soundness.check_words(whole, features.columns_by_slot)
    arena = Arena.of(whole)
    return arena if limits is None else pruning.within(arena, limits)


def _settings_of_file(
    parameters: Parameters, features: Features, n_labels: int, n_classes: int
) -> NDArray[Any]:
    """Return the settings of a forest that knows these features, and so many labels."""
    settings = settings_of(parameters, n_classes)
    settings["n_labels"] = n_labels
    settings["n_features"] = len(features)
    settings["n_numeric"] = len(features) - sum(features.is_categorical)
    settings["has_categories"] = any(features.is_categorical)
    if features.vocabulary is not None:
        settings["n_words"] = features.vocabulary.n_slots
    if settings["period"][0]:
        settings["n_counted"] = sum(features.is_categorical)
        settings["n_slots"] = features.n_slots
    return settings
