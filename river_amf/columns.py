"""Encoding of whole blocks, column by column: what `encoding` does for one sample.

All rows are checked before anything changes. The result says which rows contain a new label or new
features, because the forest has to take these in at that row.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf.encoding import Features, Labels, NewFeatures, column_order, shown
from river_amf.frames import Column

Rows = NDArray[np.int64]
NEVER = np.iinfo(np.int64).max  # the number of a row that does not exist


class Arrival(NamedTuple):
    """A row with a label or features that were unknown before."""

    row: int
    label: list[Hashable]  # at most one
    new: NewFeatures


class NewCategory(NamedTuple):
    """A category that was unknown before, and the first row that has it and will be learned."""

    row: int
    feature: Hashable
    category: Hashable


class EncodedBlock(NamedTuple):
    """A block in the form that the kernels take, and what is new in it."""

    values: NDArray[np.float64]  # (n_rows, n_features)
    labels: Rows  # the index of each row's label
    arrivals: list[Arrival]  # in order
    categories: list[NewCategory]  # of all features, by row


class _Problems:
    """The errors in a block; the one in the first row is raised."""

    def __init__(self) -> None:
        self.first: tuple[int, Exception] | None = None

    def try_at(self, row: int, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function; if it raises an error, keep it with its row."""
        try:
            return call(*arguments)
        except Exception as error:
            if self.first is None or row < self.first[0]:
                self.first = row, error

    def raise_first(self) -> None:
        """Raise the error of the first row, if there is one."""
        if self.first is not None:
            row, error = self.first
            for kind in (TypeError, ValueError):
                if isinstance(error, kind):
                    raise kind(f"row {row}: {error}") from None
            raise error  # of a value's own methods


def encode_to_predict(
    columns: list[Column], n_rows: int, features: Features, *, is_fresh: bool
) -> NDArray[np.float64]:
    """Encode a block for prediction, without its unknown features."""
    # Before a forest has learned anything, all columns are checked, as in `Features.check`.
    problems = _Problems()
    values = np.full((n_rows, len(features)), np.nan)
    for column in columns:
        index = features.column(column.name)
        if index is not None:
            encoded, _ = _encode_known(column, features, np.zeros(n_rows, bool), problems)
            values[:, index] = encoded
        elif is_fresh:
            _check_unknown(column, problems)
    problems.raise_first()
    return values + 0.0  # -0.0 becomes 0.0, its equal


def encode_to_learn(
    columns: list[Column],
    labels: Column,
    weights: NDArray[np.float64],
    features: Features,
    known_labels: Labels,
    n_classes: int | None,
) -> EncodedBlock:
    """Check and encode a block for learning, where rows of weight 0 will not be learned."""
    problems = _Problems()
    is_learnt = weights > 0.0
    found = _find_labels(labels, known_labels, problems)
    encoded: dict[Hashable, NDArray[np.float64]] = {}
    categories: list[NewCategory] = []
    new: dict[int, NewFeatures] = {}
    for column in columns:
        name = column.name
        if features.column(name) is not None:
            encoded[name], added = _encode_known(column, features, is_learnt, problems)
            categories += added
            continue
        first, is_categorical, values, added = _encode_new(column, is_learnt, problems)
        if first == NEVER:
            continue
        encoded[name] = values
        arrival = new.setdefault(first, NewFeatures([], [], []))
        (arrival.categorical if is_categorical else arrival.numeric).append(name)
        categories += added
    label_indices, label_rows = _encode_labels(
        labels, found, is_learnt, known_labels, n_classes, problems
    )
    problems.raise_first()
    for row in label_rows:
        new.setdefault(row, NewFeatures([], [], []))
    arrivals = [Arrival(row, label_rows.get(row, []), new[row]) for row in sorted(new)]
    names = list(features)
    for arrival_ in arrivals:
        names += sorted(arrival_.new.numeric + arrival_.new.categorical, key=column_order)
    matrix = np.full((len(weights), len(names)), np.nan)
    for j, name in enumerate(names):
        if name in encoded:
            matrix[:, j] = encoded[name]
    categories.sort(key=operator.attrgetter("row"))
    return EncodedBlock(matrix + 0.0, label_indices, arrivals, categories)


def _first_rows(codes: Rows, n_values: int, rows: Rows) -> Rows:
    """Return the first of `rows` that holds each value, or NEVER."""
    first = np.full(n_values, NEVER)
    backwards = rows[::-1]
    coded = codes[backwards]
    first[coded[coded >= 0]] = backwards[coded >= 0]
    return first


def _taken(table: NDArray[Any], codes: Rows, missing: float) -> NDArray[Any]:
    """Return the entry of a table for each code, or `missing` for -1."""
    if not len(table):
        return np.full(len(codes), missing)
    return np.where(codes >= 0, table[codes], missing)


def _check_unknown(column: Column, problems: _Problems) -> None:
    """Check a column of an unknown feature, each row on its own."""
    nobody = Features()
    if column.numbers is not None:
        infinite = np.flatnonzero(np.isinf(column.numbers))
        for row in infinite[:1].tolist():
            value = float(column.numbers[row]) if column.rows is None else column.rows[row]
            problems.try_at(row, nobody.check, {column.name: value})
        return
    first = _first_rows(column.codes, len(column.values), np.arange(len(column.codes)))
    for value, row in zip(column.values, first.tolist(), strict=True):
        problems.try_at(row, nobody.check, {column.name: value})


def _encode_known(
    column: Column, features: Features, is_learnt: NDArray[np.bool_], problems: _Problems
) -> tuple[NDArray[np.float64], list[NewCategory]]:
    """Encode a column of a known feature; return it and the new categories to be learned."""
    name = column.name
    codes = features.categories(name)
    if column.numbers is not None:
        is_bad = np.isinf(column.numbers) if codes is None else ~np.isnan(column.numbers)
        for row in np.flatnonzero(is_bad)[:1].tolist():
            value = float(column.numbers[row]) if column.rows is None else column.rows[row]
            problems.try_at(row, features.encode_value, name, value)
        return column.numbers, []
    first = _first_rows(column.codes, len(column.values), np.arange(len(column.codes)))
    table = np.array(
        [
            problems.try_at(row, features.encode_value, name, value)
            for value, row in zip(column.values, first.tolist(), strict=True)
        ],
        dtype=np.float64,
    )
    if codes is None or problems.first is not None:
        return _taken(table, column.codes, np.nan), []
    is_new = table == len(codes)
    encoded, added = _code_categories(column, table, is_new, len(codes), is_learnt)
    if column.rows is not None:  # of types that may not be comparable
        known = Features.of({name: 0}, {name: codes.copy()})
        for row, _, category in added:
            problems.try_at(row, _add_category, known, name, category)
    return encoded, added


def _code_categories(
    column: Column,
    table: NDArray[np.float64],
    is_new: NDArray[np.bool_],
    n_known: int,
    is_learnt: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], list[NewCategory]]:
    """Give codes to new categories, in the order in which they will be learned."""
    # In rows before a category is first learned, it has the code that would be next at that point.
    learnt = _first_rows(column.codes, len(column.values), np.flatnonzero(is_learnt))
    order = [u for u in np.argsort(learnt, kind="stable") if is_new[u] and learnt[u] < NEVER]
    table = table.copy()
    table[order] = n_known + np.arange(len(order))
    encoded = _taken(table, column.codes, np.nan)
    known_from = _taken(np.where(is_new, learnt, -1), column.codes, -1)
    early = np.flatnonzero(np.arange(len(encoded)) < known_from)
    encoded[early] = n_known + np.searchsorted(learnt[order], early)
    added = [NewCategory(int(learnt[u]), column.name, column.at(learnt[u])) for u in order]
    return encoded, added


def _add_category(features: Features, name: Hashable, category: Hashable) -> None:
    """Add a category that should be new, or raise TypeError."""
    if not features.check({name: category}).categories:
        raise TypeError(
            f"feature {shown(name)}: the value {shown(category)} of type "
            f"{type(category).__name__} is not always equal to the same values"
        )
    features.add_category(name, category)


def _add_label(labels: Labels, label: Hashable) -> None:
    """Add a label that should be new, or raise TypeError."""
    if labels.find(label) is not None:
        raise TypeError(
            f"label {shown(label)} of type {type(label).__name__} is not always equal to the same "
            "labels"
        )
    labels.add(label)


def _encode_new(
    column: Column, is_learnt: NDArray[np.bool_], problems: _Problems
) -> tuple[int, bool, NDArray[np.float64], list[NewCategory]]:
    """Encode a column of an unknown feature, from the first learned row that has it."""
    # Returns that row (or NEVER), whether the feature is categorical, its values (NaN before that
    # row), and its categories.
    _check_unknown(column, problems)
    rows = np.arange(len(is_learnt))
    if column.numbers is not None:
        is_there = is_learnt & ~np.isnan(column.numbers)
        first = int(is_there.argmax()) if is_there.any() else NEVER
        return first, False, np.where(rows >= first, column.numbers, np.nan), []
    is_there = is_learnt & (column.codes >= 0)
    if not is_there.any():
        return NEVER, False, np.empty(0), []
    first = int(is_there.argmax())
    late = column._replace(codes=np.where(rows >= first, column.codes, -1))
    new = problems.try_at(first, Features().check, {column.name: column.at(first)})
    if new is None:
        return NEVER, False, np.empty(0), []
    features = Features().extended(new)  # as they are after the first of these rows
    used = np.unique(late.codes[late.codes >= 0])
    ranks = np.zeros(len(column.values), np.int64)
    ranks[used] = np.arange(len(used))
    codes = np.where(late.codes >= 0, ranks[late.codes], -1)
    late = late._replace(codes=codes, values=[column.values[u] for u in used.tolist()])
    values, added = _encode_known(late, features, is_learnt, problems)
    categories = [NewCategory(first, *pair) for pair in new.categories] + added
    return first, bool(new.categorical), values, categories


def _find_labels(column: Column, labels: Labels, problems: _Problems) -> list[int | None]:
    """Return the index of each of a column's labels: -1 for new ones, None for unhashable ones."""

    def find(label: Hashable) -> int:
        index = labels.find(label)
        return -1 if index is None else index

    first = _first_rows(column.codes, len(column.values), np.arange(len(column.codes)))
    return [
        problems.try_at(row, find, value)
        for value, row in zip(column.values, first.tolist(), strict=True)
    ]


def _encode_labels(
    column: Column,
    found: list[int | None],
    is_learnt: NDArray[np.bool_],
    labels: Labels,
    n_classes: int | None,
    problems: _Problems,
) -> tuple[Rows, dict[int, list[Hashable]]]:
    """Return the index of each row's label, and the new labels by the row of their first use."""
    n_rows = len(column.codes)
    missing = np.flatnonzero(column.codes < 0)
    for row in missing[:1].tolist():
        label = None if column.rows is None else column.rows[row]
        problems.try_at(row, labels.check_new, label, n_classes)
    is_new = np.array([index == -1 for index in found], dtype=bool)
    learnt = _first_rows(column.codes, len(column.values), np.flatnonzero(is_learnt))
    order = [int(u) for u in np.argsort(learnt, kind="stable") if is_new[u] and learnt[u] < NEVER]
    if n_classes is not None:
        n_free = max(n_classes - len(labels), 0)
        admitted = order[:n_free]
        last = learnt[admitted[-1]] if admitted else -1
        full_after = last if len(admitted) == n_free else NEVER
        rows = np.arange(n_rows)
        comes_new = _taken(np.where(is_new, learnt, -1), column.codes, -1) >= rows
        for row in np.flatnonzero(comes_new & (rows > full_after))[:1].tolist():
            full = Labels()
            for label in [*labels, *(column.at(learnt[u]) for u in admitted)]:
                full.add(label)
            problems.try_at(row, full.check_new, column.at(row), n_classes)
    if column.rows is not None:  # of types that may not be comparable
        known = labels.copy()
        for u in order:
            problems.try_at(int(learnt[u]), _add_label, known, column.at(learnt[u]))
    indices = np.array([-1 if index is None else index for index in found], dtype=np.int64)
    indices[order] = len(labels) + np.arange(len(order))
    by_row = {int(learnt[u]): [column.at(learnt[u])] for u in order}
    return _taken(indices, column.codes, -1).astype(np.int64), by_row
