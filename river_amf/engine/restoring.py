"""The content of copies, pickles and files: a header, and the arrays of `state.layout`.

Files and pickles may be those of another release, so what follows from the parameters is not in
them. In files the header is JSON and everything is checked; copies and pickles hold any labels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from river_amf.engine.engine import Engine
from river_amf.engine.growth import Learned
from river_amf.engine.settings import Parameters, bound_of, least_classes, schema_of, settings_of
from river_amf.inputs.categories import Categories
from river_amf.inputs.kinds import shown
from river_amf.inputs.labels import Labels, Targets
from river_amf.inputs.schema import Schema
from river_amf.persistence import validation
from river_amf.persistence.validation import require
from river_amf.persistence.values import from_json
from river_amf.state.arena import Arena
from river_amf.state.layout import REGRESSION, Array

Arrays = dict[str, Array]


def _same(value: Any, _: str = "") -> Any:
    return value


def header_of(schema: Schema, write: Callable[[Any, str], Any] = _same) -> dict[str, Any]:
    """Return features, categories, words, and labels or the origin of targets."""
    # A feature is a list of its name, its categories in the order of use, and their codes; both are
    # None if it is numeric. `write` makes JSON of a value, or any other form.
    columns: list[list[Any]] = []
    for name in schema:
        coding, categories, codes = schema.coding(name), None, None
        if coding is not None:
            what, by_use = f"category of feature {shown(name)}:", coding.by_use()
            categories = [write(category, what) for category in by_use]
            codes = [*by_use.values()]
        columns.append([write(name, "feature name"), categories, codes])
    header: dict[str, Any] = {"features": columns}
    if isinstance(schema.labels, Targets):
        header["origin"] = schema.labels.origin
    else:
        header["labels"] = [write(label, "label") for label in schema.labels]
    if schema.words is not None:
        header["words"] = [write(word, "feature name") for word in schema.words]
    return header


def _schema_of(
    header: dict[str, Any], parameters: Parameters, read: Callable[[Any], Any], *, is_trained: bool
) -> Schema:
    """Take the entries of `header_of` out of a header, or raise any error."""
    columns, codings, bound = header.pop("features", []), {}, bound_of(parameters)
    names = _distinct(read, [name for name, _, _ in columns])
    for name, (_, categories, codes) in zip(names, columns, strict=True):
        if categories is not None:
            are_codes = {*map(type, codes)} == {int} and sorted(codes) == [*range(len(codes))]
            require(are_codes, "codes of categories")
            require(bound is None or len(codes) <= bound, "number of categories")
            by_category = dict(zip(_distinct(read, categories), codes, strict=True))
            codings[name] = Categories(bound, by_category)
    labels: Labels | Targets = Labels()
    if parameters._task == REGRESSION:
        origin = header.pop("origin", None)
        require(origin is None or type(origin) is float, f"origin {shown(origin)}, not a number,")
        labels = Targets(origin)
    for label in _distinct(read, header.pop("labels", [])) if isinstance(labels, Labels) else []:
        labels.add(label)
    if not is_trained:
        require(not labels and not columns, "labels or features without any trees")
        return Schema(labels)
    schema = schema_of(parameters, labels, set())
    if schema.words is not None:
        schema.add_words(_distinct(read, header.pop("words", [])))
        is_sound = codings.keys().isdisjoint(schema.words)
        require(is_sound, "list of words, some of which are categories,")
    columns = {name: column for column, name in enumerate(names)}
    schema = schema.replacing(_columns=columns, _categories=codings)
    require(schema.n_free >= 0, "number of features")
    return schema


def _distinct(read: Callable[[Any], Any], items: list[Any]) -> list[Hashable]:
    """Return the values of a list, or raise FileError unless all of them are distinct."""
    values = [*map(read, items)]
    require(len(set(values)) == len(values), "list of values, of which some are equal,")
    return values


def content_of(
    engine: Engine, write: Callable[[Any, str], Any] = _same
) -> tuple[dict[str, Any], Arrays]:
    """Return what an engine has learned, which later changes do not affect; for files in JSON."""
    return header_of(engine.schema, write), engine.used_arrays()


def engine_of(
    parameters: Parameters, header: dict[str, Any], arrays: Arrays, *, is_file: bool = False
) -> Engine:
    """Return an engine with this content, or raise any error; that of a file is checked."""
    engine, read = Engine(), from_json if is_file else _same
    schema = _schema_of(header, parameters, read, is_trained=bool(arrays))
    require(not header, f"entries {shown([*header])}")
    whole = _whole(parameters, schema, arrays) if arrays else {}
    if is_file and arrays:
        validation.check(whole, schema.columns_by_index)
    engine.learned = Learned(schema, Arena(whole) if arrays else None)
    engine.starts = [0] * (len(schema.labels) == 1)  # of more labels the order is not known
    return engine


def _whole(parameters: Parameters, schema: Schema, arrays: Arrays) -> Arrays:
    """Return all arrays of an arena from those of a copy or file, or raise FileError."""
    labels = schema.labels
    require(labels or parameters._task != REGRESSION, "trees without any origin of targets")
    n_classes = max(labels.n_classes, least_classes(parameters))
    require(parameters.n_classes in (None, n_classes), "number of labels")
    settings, is_categorical = settings_of(parameters, n_classes), schema.is_categorical
    settings["n_labels"] = labels.n_classes
    settings["n_features"] = len(schema)
    settings["n_numeric"] = len(schema) - sum(is_categorical)
    settings["has_categories"] = any(is_categorical)
    settings["n_words"] = schema.n_indices
    settings["n_codes"] = schema.n_codes
    derived = {"settings": settings, "is_categorical": np.array(is_categorical, np.uint8)}
    whole = validation.whole(arrays, derived)
    require(len(whole["trees"]) == parameters.n_estimators, "number of trees")
    return whole
