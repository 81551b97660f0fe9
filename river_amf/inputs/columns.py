"""Encoding of whole blocks, column by column: what `encoding` does for one sample.

All rows are checked before anything changes. The result lists the rows with a new label or new
features, because the forest has to take these in at that row.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.categories import Categories
from river_amf.inputs.encoding import Features, NewFeatures, column_order
from river_amf.inputs.frames import Column
from river_amf.inputs.invalid import InvalidType
from river_amf.inputs.kinds import Number, shown
from river_amf.inputs.labels import Labels
from river_amf.inputs.mismatch import Mismatch, category_before_numbers
from river_amf.inputs.row_problems import NEVER, Problems, first_rows, taken
from river_amf.inputs.targets import Targets

Mismatched = list[tuple[int, Mismatch]]  # by row


def _in_order(found: Mismatched) -> list[Mismatch]:
    """Return them as the rows come, and within a row as the columns do."""
    return [mismatch for _, mismatch in sorted(found, key=operator.itemgetter(0))]


class SchemaChange(NamedTuple):
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
    targets: NDArray[np.float64]  # the index of each row's label, or a number
    schema_changes: list[SchemaChange]  # in order
    categories: list[NewCategory]  # of all features, by row
    full_at: int  # the first row with a category too many, or NEVER; later rows are not encoded
    mismatches: list[Mismatch]  # of all features, by row


def column_part(column: Column, start: int, stop: int) -> Column:
    """Return the rows of a column from `start` to `stop`, with the values that they hold."""
    rows = None if column.rows is None else column.rows[start:stop]
    if column.numbers is not None:
        return column._replace(numbers=column.numbers[start:stop], rows=rows)
    used, codes = np.unique(column.codes[start:stop], return_inverse=True)
    n_missing = int((used < 0).sum())  # at most one code, the first, means missing
    values = [column.values[u] for u in used[n_missing:].tolist()]
    return Column(column.name, None, codes.astype(np.int64) - n_missing, values, rows)


def encode_to_predict(
    columns: list[Column], n_rows: int, features: Features, *, is_fresh: bool
) -> NDArray[np.float64]:
    """Encode a block for prediction, without its unknown features."""
    # Before a forest has learned anything, all columns are checked, as in `Features.check`.
    problems = Problems()
    found: Mismatched = []
    values = np.full((n_rows, len(features)), np.nan)
    for column in columns:
        index = features.column(column.name)
        if index is not None:
            encoded, _ = _encode_known(column, features, np.zeros(n_rows, bool), problems, found)
            values[:, index] = encoded
        elif is_fresh:
            _check_unknown(column, problems)
    problems.raise_first()
    features.warn(_in_order(found))
    return values + 0.0  # -0.0 becomes 0.0, its equal


def encode_to_learn(
    columns: list[Column],
    labels: Column,
    weights: NDArray[np.float64],
    features: Features,
    known_labels: Labels | Targets,
    n_classes: int | None,
    max_categories: int | None = None,
    problems: Problems | None = None,
) -> EncodedBlock:
    """Check and encode a block for learning, where rows of weight 0 will not be learned."""
    # Up to the row where a feature would hold too many categories: then the rarest are forgotten,
    # and those depend on what has been learned by then. `problems` may hold some already.
    problems = problems or Problems()
    mismatches: Mismatched = []
    is_learnt = weights > 0.0
    found = known_labels.find_all(labels, problems)
    encoded: dict[Hashable, NDArray[np.float64]] = {}
    categories: list[NewCategory] = []
    full_at = NEVER
    new: dict[int, NewFeatures] = {}
    rest = features, is_learnt, problems, mismatches
    for column in columns:
        name = column.name
        if features.column(name) is not None:
            encoded[name], added = _encode_known(column, *rest)
            coding = features.coding(name)
        else:
            decision = _decide(column, *rest)
            for row, category in decision.undecided:
                new.setdefault(row, NewFeatures.none()).undecided.append((name, category))
            first = decision.row
            if first == NEVER:
                continue
            change = new.setdefault(first, NewFeatures.none())
            (change.categorical if decision.is_categorical else change.numeric).append(name)
            coding, encoded[name], added = _encode_new(column, decision, max_categories, *rest)
            categories += [
                NewCategory(first, name, own) for own in (coding.codes if coding else [])
            ]
        categories += added
        if coding is not None and len(added) >= coding.n_free:
            full_at = min(full_at, added[coding.n_free - 1].row)
    targets, label_rows = known_labels.encode(labels, found, is_learnt, n_classes, problems)
    problems.raise_first()
    for row in label_rows:
        new.setdefault(row, NewFeatures.none())
    if full_at < NEVER:
        new.setdefault(full_at, NewFeatures.none())
    schema_changes = [SchemaChange(row, label_rows.get(row, []), new[row]) for row in sorted(new)]
    names = list(features)
    for change_ in schema_changes:
        names += sorted(change_.new.numeric + change_.new.categorical, key=column_order)
    matrix = np.full((len(weights), len(names)), np.nan)
    for j, name in enumerate(names):
        if name in encoded:
            matrix[:, j] = encoded[name]
    categories.sort(key=operator.attrgetter("row"))
    wrong = _in_order(mismatches)
    return EncodedBlock(matrix + 0.0, targets, schema_changes, categories, full_at, wrong)


def _check_unknown(column: Column, problems: Problems) -> int:
    """Check a column of an unknown feature, each row on its own; return the first bad row."""
    nobody = Features()
    if column.numbers is not None:
        infinite = np.flatnonzero(np.isinf(column.numbers))
        for row in infinite[:1].tolist():
            problems.try_at(row, nobody.check, {column.name: column.at(row)})
            return int(row)
        return NEVER
    first = first_rows(column.codes, len(column.values), np.arange(len(column.codes)))
    for u in np.argsort(first, kind="stable").tolist():
        row = int(first[u])
        if problems.try_at(row, nobody.check, {column.name: column.values[u]}) is None:
            return row  # what comes later does not matter any more
    return NEVER


def _encode_known(
    column: Column,
    features: Features,
    is_learnt: NDArray[np.bool_],
    problems: Problems,
    mismatches: Mismatched,
) -> tuple[NDArray[np.float64], list[NewCategory]]:
    """Encode a column of a known feature; return it and the new categories to be learned."""
    name = column.name
    coding = features.coding(name)

    def encode(row: int, value: Any) -> Any:
        """Encode a value, whose first row this is, as for a single sample."""
        wrong: list[Mismatch] = []
        code = problems.try_at(row, features.encode_value, name, value, wrong)
        mismatches.extend((row, mismatch) for mismatch in wrong)
        return code

    if column.numbers is not None:
        numbers = column.numbers
        is_bad = np.isinf(numbers)
        if coding is not None:
            is_wrong = ~np.isnan(numbers)
            is_bad |= is_wrong if features.mismatches is None else False
            numbers = np.full(len(numbers), np.nan)
            for row in np.flatnonzero(is_wrong & ~is_bad)[:1].tolist():
                encode(row, column.at(row))
        for row in np.flatnonzero(is_bad)[:1].tolist():
            encode(row, column.at(row))
        return numbers, []
    first = first_rows(column.codes, len(column.values), np.arange(len(column.codes)))
    table = np.full(len(column.values), np.nan)
    for u in np.argsort(first, kind="stable").tolist():
        code = encode(int(first[u]), column.values[u])
        if code is None:  # what comes later does not matter any more
            break
        table[u] = code
    if coding is None or problems.first is not None:
        return taken(table, column.codes, np.nan), []
    is_new = table == coding.next_code
    encoded, added = _code_categories(column, table, is_new, coding, is_learnt)
    if column.rows is not None:  # of types that may not be comparable
        known = Features.of({name: 0}, {name: Categories(None, dict(coding.codes))})
        for row, _, category in added:
            problems.try_at(row, _add_category, known, name, category)
    return encoded, added


def _code_categories(
    column: Column,
    table: NDArray[np.float64],
    is_new: NDArray[np.bool_],
    coding: Categories,
    is_learnt: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], list[NewCategory]]:
    """Give codes to new categories, in the order in which they will be learned."""
    # In rows before a category is first learned, it has the code that would be next at that point.
    learnt = first_rows(column.codes, len(column.values), np.flatnonzero(is_learnt))
    order = [u for u in np.argsort(learnt, kind="stable") if is_new[u] and learnt[u] < NEVER]
    ahead = coding.codes_ahead(len(order) + 1)
    table = table.copy()
    table[order] = ahead[:-1]
    encoded = taken(table, column.codes, np.nan)
    known_from = taken(np.where(is_new, learnt, -1), column.codes, -1)
    early = np.flatnonzero(np.arange(len(encoded)) < known_from)
    encoded[early] = ahead[np.searchsorted(learnt[order], early)]
    added = [NewCategory(int(learnt[u]), column.name, column.at(learnt[u])) for u in order]
    return encoded, added


def _add_category(features: Features, name: Hashable, category: Hashable) -> None:
    """Add a category that should be new, or raise TypeError."""
    if not features.check({name: category}).categories:
        raise InvalidType(
            f"feature {shown(name)}: the value {shown(category)} of type "
            f"{type(category).__name__} is not always equal to the same values"
        )
    features.add_category(name, category)


class _Decision(NamedTuple):
    """Where a block settles the kind of a feature that has no column."""

    row: int  # the first learned row with its value, or NEVER
    is_categorical: bool
    undecided: list[tuple[int, Hashable]]  # the row and category that leave it open, if any


_OPEN = _Decision(NEVER, False, [])


def _decide(
    column: Column,
    features: Features,
    is_learnt: NDArray[np.bool_],
    problems: Problems,
    mismatches: Mismatched,
) -> _Decision:
    """Check a column of an unknown feature, and return which row settles its kind."""
    bad_row = _check_unknown(column, problems)
    before = features.undecided(column.name)

    def is_number_from(row: int) -> _Decision:
        late = [category_before_numbers(column.name, first) for first in before]
        mismatches.extend((row, mismatch) for mismatch in late)
        return _Decision(row, False, undecided)

    undecided: list[tuple[int, Hashable]] = []
    if column.numbers is not None:
        is_there = is_learnt & ~np.isnan(column.numbers)
        if not is_there.any():
            return _OPEN
        return is_number_from(int(is_there.argmax()))
    learnt = first_rows(column.codes, len(column.values), np.flatnonzero(is_learnt))
    for row in np.sort(learnt[learnt < bad_row]).tolist():
        value = column.at(row)
        if isinstance(value, Number):
            return is_number_from(row)
        if features.mismatches is None or (before and value not in {before[0]}):
            return _Decision(row, True, undecided)
        if not before:
            before, undecided = [value], [(row, value)]
    return _Decision(NEVER, False, undecided)


def _encode_new(
    column: Column,
    decision: _Decision,
    max_categories: int | None,
    features: Features,
    is_learnt: NDArray[np.bool_],
    problems: Problems,
    mismatches: Mismatched,
) -> tuple[Categories | None, NDArray[np.float64], list[NewCategory]]:
    """Encode a column of an unknown feature, from the row that settles its kind."""
    # Returns the coding of a categorical feature after that row, its values (NaN before that row),
    # and its other categories.
    name, row = column.name, decision.row
    is_late = np.arange(len(is_learnt)) >= row
    if column.numbers is not None:
        return None, np.where(is_late, column.numbers, np.nan), []
    new = NewFeatures.none()
    if decision.is_categorical:
        new.categorical.append(name)
        new.categories.append((name, column.at(row)))
    else:
        new.numeric.append(name)
    nobody = Features(is_lenient=features.mismatches is not None)
    known = nobody.extended(new, max_categories)  # as they are after this row
    codes = np.where(is_late, column.codes, -1)
    used = np.unique(codes[codes >= 0])
    ranks = np.zeros(len(column.values), np.int64)
    ranks[used] = np.arange(len(used))
    codes = np.where(codes >= 0, ranks[codes], -1)
    late = column._replace(codes=codes, values=[column.values[u] for u in used.tolist()])
    values, added = _encode_known(late, known, is_learnt, problems, mismatches)
    return known.coding(name), values, added
