"""Forests as files hold them: JSON, and the arrays of `state.layout`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

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
from river_amf.inputs.categories import Categories, Vocabulary
from river_amf.inputs.encoding import Features
from river_amf.inputs.kinds import shown
from river_amf.inputs.labels import Labels
from river_amf.inputs.sparse_features import SparseFeatures
from river_amf.inputs.targets import Targets
from river_amf.persistence import validation
from river_amf.persistence.validation import require
from river_amf.persistence.values import from_json, to_json
from river_amf.state.arena import Arena
from river_amf.state.layout import PENDING_FIELDS, REGRESSION, Array

Arrays = dict[str, Array]


def schema_to_json(features: Features, labels: Labels | Targets) -> dict[str, Any]:
    """Return features, categories, words, and labels or the origin of targets as JSON.

    A feature is a list of its name, its categories in the order of use, and their codes; both are
    None if it is numeric.
    """
    columns: list[list[Any]] = []
    for name in features:
        coding, categories, codes = features.coding(name), None, None
        if coding is not None:
            what, by_use = f"category of feature {shown(name)}:", coding.by_use()
            categories = [to_json(category, what) for category in by_use]
            codes = [*by_use.values()]
        columns.append([to_json(name, "feature name"), categories, codes])
    schema: dict[str, Any] = {"features": columns}
    if isinstance(labels, Targets):
        schema["origin"] = labels.origin
    else:
        schema["labels"] = [to_json(label, "label") for label in labels]
    if features.vocabulary is not None:
        schema["words"] = [to_json(word, "feature name") for word in features.vocabulary.slots]
    return schema


def schema_from_json(
    schema: dict[str, Any], parameters: Parameters, *, is_trained: bool
) -> tuple[Features, Labels | Targets]:
    """Take the entries of `schema_to_json` out of an object, or raise any error."""
    columns, categories, max_categories = schema.pop("features", []), {}, bound_of(parameters)
    names = _distinct([name for name, _, _ in columns])
    for name, (_, known, codes) in zip(names, columns, strict=True):
        if known is not None:
            are_codes = {*map(type, codes)} == {int} and sorted(codes) == [*range(len(known))]
            require(are_codes, "codes of categories")
            require(max_categories is None or len(known) <= max_categories, "number of categories")
            by_category = dict(zip(_distinct(known), codes, strict=True))
            categories[name] = Categories(max_categories, by_category)
    indices = {name: column for column, name in enumerate(names)}
    is_lenient = is_trained and parameters.on_mismatch == "missing"
    features = Features(is_lenient=is_lenient)
    features = features.replacing(_columns=indices, _categories=categories)
    if is_trained and has_words(parameters):
        words = _distinct(schema.pop("words", []))
        require(categories.keys().isdisjoint(words), "list of words, some of which are categories,")
        features = SparseFeatures.of_file(features, Vocabulary(words), most_columns(parameters))
    if parameters.task == REGRESSION:
        origin = schema.pop("origin", None)
        require(origin is None or type(origin) is float, f"origin {shown(origin)}, not a number,")
        return features, Targets(origin)
    labels = Labels()
    for label in _distinct(schema.pop("labels", [])):
        labels.add(label)
    return features, labels


def _distinct(items: list[Any]) -> list[Hashable]:
    """Return the values of a list, or raise FileError unless all of them are distinct."""
    values = [from_json(item) for item in items]
    require(len(set(values)) == len(values), "list of values, of which some are equal,")
    return values


def engine_to_file(engine: Engine) -> tuple[dict[str, Any], Arrays]:
    """Return an engine as JSON and arrays, without what can be derived from these."""
    # The arrays are views, so the engine must not change while they are used.
    engine.close_gaps()
    features, labels, arena = engine.known
    header = schema_to_json(features, labels)
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
    features, labels = schema_from_json(header, parameters, is_trained=bool(arrays))
    given = header.pop("cautions", [])
    require({*given} <= {FEW_FEATURES, LARGE_NODES}, "warnings given")
    require(not header, f"entries {shown([*header])}")
    engine = Engine()
    arena = _arena_of_file(parameters, features, labels, arrays)
    engine.known, engine.cautions = Known(features, labels, arena), Cautions(given)
    if late and arena is not None:
        validation.check_pending(late, arena)
        engine.late = LateLabels.of_arrays(late)
    return engine


def _arena_of_file(
    parameters: Parameters, features: Features, labels: Labels | Targets, arrays: Arrays
) -> Arena | None:
    """Return the arena of a file, None before the first sample, or raise FileError."""
    if not arrays:
        require(not labels and not features, "labels or features without any trees")
        return None
    is_regression = parameters.task == REGRESSION
    require(labels or not is_regression, "trees without any origin of targets")
    n_classes = max(labels.n_classes, least_classes(parameters))
    require(parameters.n_classes in (None, n_classes), "number of labels")
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
    require(len(whole["trees"]) == parameters.n_estimators, "number of trees")
    columns = np.zeros(0, np.int64)
    if isinstance(features, SparseFeatures):
        columns = features.columns_by_slot
    validation.check(whole, columns)
    return Arena.of(whole)
