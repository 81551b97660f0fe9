"""Blocks by columns: find the rows that are read one by one, and encode the ordinary ones.

A row is *special* if it has a new feature or label, or a value, label or target that is not
plainly right. Of ordinary rows, at most categories are new.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.cautions import Mismatches, warn_of_unknown
from river_amf.inputs.frames import Column
from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import is_missing
from river_amf.inputs.schema import Schema

Mask = NDArray[np.bool_]


class NewCategory(NamedTuple):
    """A category that was unknown before, and the first of some rows that has it."""

    row: int
    column: int
    feature: Hashable
    category: Hashable


def is_there(column: Column) -> Mask:
    if column.numbers is not None:
        return ~np.isnan(column.numbers)
    return _by_value(column, [not is_missing(value) for value in column.values])


def is_special(column: Column, schema: Schema) -> Mask:
    """Return which rows of a column hold a value that its feature does not plainly take."""
    # Without a column, each value is special, as it may give the feature one, or a warning.
    if not schema.is_known(column.name):
        return is_there(column) & (not schema.ignores_new)
    if column.numbers is not None:
        is_categorical = schema.coding(column.name) is not None
        return is_there(column) if is_categorical else np.isinf(column.numbers)
    return _by_value(column, [not _is_plain(schema, column.name, v) for v in column.values])


def _is_plain(schema: Schema, name: Hashable, value: Any) -> bool:
    """Return whether a value has one meaning for certain in a feature seen before."""
    coding = schema.coding(name)
    mismatches: Mismatches = {}
    try:
        code = schema.encode_value(name, value, mismatches)
    except INVALID:
        return False
    is_new = coding is not None and code == coding.next_code
    return not mismatches and (not is_new or type(value) in (str, bytes))


def _by_value(column: Column, by_value: Sequence[bool]) -> Mask:
    """Return a property of distinct values for each row."""
    mask: Mask = np.array(by_value, bool)[column.codes]
    return mask


def encode_to_learn(
    columns: Sequence[Column], rows: range, schema: Schema
) -> tuple[NDArray[np.float64], list[NewCategory]]:
    """Encode ordinary rows, up to one with a category that is checked, or one too many."""
    # They are returned with the new categories, in the order of rows and of their codes to come.
    values = np.full((len(rows), len(schema)), np.nan)
    new: list[NewCategory] = []
    stop = len(rows)
    for column in columns:
        index = schema.column(column.name)
        if index is None:
            continue
        if column.numbers is not None:
            values[:, index] = column.numbers[rows.start : rows.stop]
            continue
        used, first, codes = np.unique(
            column.codes[rows.start : rows.stop], return_index=True, return_inverse=True
        )
        coding, some = schema.coding(column.name), [column.values[u] for u in used.tolist()]
        if coding is None:
            table = np.array([schema.encode_value(column.name, value, {}) for value in some])
        else:
            table = np.array(
                [math.nan if is_missing(v) else coding.codes.get(v, -1.0) for v in some]
            )
            unknown = np.flatnonzero(table < 0)
            unknown = unknown[np.argsort(first[unknown])]
            if len(unknown) > coding.n_ordinary:
                stop = min(stop, int(first[unknown[coding.n_ordinary]]))
                unknown = unknown[: coding.n_ordinary]
            table[unknown] = coding.next_code + np.arange(len(unknown))
            new += [
                NewCategory(int(first[u]), index, column.name, some[u]) for u in unknown.tolist()
            ]
        values[:, index] = table[codes]
    new = sorted((each for each in new if each.row < stop), key=lambda each: each.row)
    return values[:stop] + 0.0, new  # -0.0 becomes 0.0


def encode_to_predict(
    columns: Sequence[Column], n_rows: int, schema: Schema
) -> tuple[NDArray[np.float64], Mask]:
    """Encode rows without unknown features; return which of them are special, too."""
    warn_of_unknown([column.name for column in columns], schema)
    values, are_special = np.full((n_rows, len(schema)), np.nan), np.zeros(n_rows, bool)
    for column in columns:
        index = schema.column(column.name)
        if index is None:
            continue
        special = is_special(column, schema)
        are_special |= special
        if column.numbers is not None:
            values[:, index] = column.numbers
        else:
            table = np.full(len(column.values), np.nan)
            for u in np.unique(column.codes[~special]).tolist():
                table[u] = schema.encode_value(column.name, column.values[u], {})
            values[:, index] = table[column.codes]
    return values + 0.0, are_special
