"""Forests as files hold them: JSON, and the arrays of `state.layout`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.engine.cautions import FEW_FEATURES, LARGE_NODES, Cautions
from river_amf.engine.forest_engine import Engine
from river_amf.engine.known import Known
from river_amf.engine.late_labels import LateLabels
from river_amf.engine.settings import (
    Parameters,
    bound_of,
    has_words,
    least_classes,
    most_columns,
    settings_of,
)
from river_amf.inputs.encoding import Features
from river_amf.inputs.kinds import shown
from river_amf.inputs.labels import Labels
from river_amf.inputs.sparse_features import SparseFeatures
from river_amf.inputs.targets import Targets
from river_amf.persistence import validation, values
from river_amf.state.arena import Arena
from river_amf.state.layout import PENDING_FIELDS, REGRESSION

Arrays = dict[str, NDArray[Any]]


def engine_to_file(engine: Engine) -> tuple[dict[str, Any], Arrays]:
    """Return an engine as JSON and arrays, without what can be derived from these."""
    # The arrays are views, so the engine must not change while they are used.
    features, labels, arena = engine.known
    header = values.schema_to_json(features, labels)
    if engine.cautions.given:
        header["cautions"] = sorted(engine.cautions.given)
    if arena is None:
        return header, {}
    arrays = arena.used_arrays()
    del arrays["settings"], arrays["is_categorical"]
    late = engine.late.arrays(arena) if engine.late.waiting else {}
    return header, arrays | late


def engine_of_file(parameters: Parameters, header: dict[str, Any], arrays: Arrays) -> Engine:
    """Return the engine of a file, or raise FileError or another error if it is not sound."""
    late = {name: arrays.pop(name) for name in PENDING_FIELDS if name in arrays}
    features, labels = values.schema_from_json(
        header,
        bound_of(parameters),
        most_columns(parameters) if has_words(parameters) and arrays else None,
        is_regression=parameters.task == REGRESSION,
        is_lenient=parameters.on_mismatch == "missing" and bool(arrays),  # else set up later
    )
    given = header.pop("cautions", [])
    validation.require({*given} <= {FEW_FEATURES, LARGE_NODES}, "warnings given")
    validation.require(not header, f"entries {shown([*header])}")
    engine = Engine()
    arena = _arena_of_file(parameters, features, labels, arrays)
    engine.known, engine.cautions = Known(features, labels, arena), Cautions(given)
    if late:
        validation.check_pending(late, arena)
        engine.late = LateLabels.of_arrays(late)
    return engine


def _arena_of_file(
    parameters: Parameters, features: Features, labels: Labels | Targets, arrays: Arrays
) -> Arena | None:
    """Return the arena of a file, None before the first sample, or raise FileError."""
    if not arrays:
        validation.require(not labels and not features, "labels or features without any trees")
        return None
    is_regression = parameters.task == REGRESSION
    validation.require(labels or not is_regression, "trees without any origin of targets")
    n_classes = max(labels.n_classes, least_classes(parameters))
    validation.require(parameters.n_classes in (None, n_classes), "number of labels")
    settings, vocabulary = settings_of(parameters, n_classes), features.vocabulary
    settings["n_labels"] = labels.n_classes
    settings["n_features"] = len(features)
    settings["n_numeric"] = len(features) - sum(features.is_categorical)
    settings["has_categories"] = any(features.is_categorical)
    settings["n_words"] = 0 if vocabulary is None else vocabulary.n_slots
    settings["n_codes"] = features.n_codes
    is_categorical = np.array(features.is_categorical, np.uint8)
    own = {"settings": settings, "is_categorical": is_categorical}
    whole = validation.whole(arrays, own)
    validation.require(len(whole["trees"]) == parameters.n_estimators, "number of trees")
    columns = np.zeros(0, np.int64)
    if isinstance(features, SparseFeatures):
        columns = features.columns_by_slot
    validation.check(whole, columns)
    return Arena.of(whole)
