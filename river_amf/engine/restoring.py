"""The arena of a forest that is read from a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.engine.settings import Parameters, least_classes, settings_of
from river_amf.inputs.encoding import Features
from river_amf.inputs.labels import Labels
from river_amf.inputs.sparse_features import SparseFeatures
from river_amf.inputs.targets import Targets
from river_amf.persistence import validation
from river_amf.state.arena import Arena
from river_amf.state.layout import REGRESSION


def arena_of_file(
    parameters: Parameters,
    features: Features,
    labels: Labels | Targets,
    arrays: dict[str, NDArray[Any]],
) -> Arena | None:
    """Return the arena of a file, None before the first sample, or raise FileError."""
    validation.require(arrays or not labels, "labels without any trees")
    validation.require(arrays or not features, "features without any trees")
    if not arrays:
        return None
    is_known = labels or parameters.task != REGRESSION
    validation.require(is_known, "trees without any origin of targets")
    n_classes = max(labels.n_classes, least_classes(parameters))
    validation.require(parameters.n_classes in (None, n_classes), "number of labels")
    settings = _settings_of_file(parameters, features, labels.n_classes, n_classes)
    own = {
        "settings": settings,
        "is_categorical": np.array(features.is_categorical, np.uint8),
    }
    whole = validation.whole(arrays, own)
    validation.require(whole["trees"].shape == (parameters.n_estimators,), "number of trees")
    validation.check(whole, features.next_codes)
    if isinstance(features, SparseFeatures):
        are_words = [features.coding(word) is None for word in features.vocabulary.slots]
        validation.require(all(are_words), "words, which are categories")
        validation.check_words(whole, features.columns_by_slot)
    return Arena.of(whole)


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
    settings["n_codes"] = features.n_codes
    return settings
