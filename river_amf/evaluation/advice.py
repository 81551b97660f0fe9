"""What is odd about the columns of a file, and the option that helps: a table of tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

from river_amf.evaluation.streams import MAX_LABELS, ROWS, shorten
from river_amf.evaluation.table_files import Layout
from river_amf.evaluation.typed_columns import Column, numbers, read_dates

_MANY_ROWS = 100  # of which it is odd that all values differ
_NEARLY = 0.9  # of the values
_MANY_WORDS = 4  # on average, in a sentence
_MAX_MARKERS = 5  # distinct texts that may stand for missing numbers

_UNIT = r"([A-Z]{3}|[$€£¥₹%])"
_AMOUNT = rf"[-+]?{_UNIT}\s*[-+]?\d[\d.,']*|[-+]?\d[\d.,']*\s*{_UNIT}"
_COMMAS = r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?"
_POINTS = r"[-+]?\d{1,3}(\.\d{3})+(,\d+)?"
_COMMA = r"[-+]?\d*,\d+"
_OTHER_DATE = r"(\d{4}[-./]\d\d?[-./]\d\d?|\d\d?[-./](\d\d?|[A-Za-z]{3})[-./](\d\d){1,2})([ T].*)?"


class _Facts(NamedTuple):
    """What the tests need of a column."""

    values: pd.Series  # without missing ones
    texts: pd.Series  # the distinct texts
    odd: pd.Series  # those that are no numbers, or dates
    is_quoted: bool
    decimal: str


_Test = Callable[[_Facts], Any]  # returns an example, or None


def _written(pattern: str, decimal: str = ".,") -> _Test:
    """Return a test of whether all texts that are no numbers match a pattern."""

    def test(facts: _Facts) -> str | None:
        is_meant = len(facts.odd) > 0 and facts.decimal in decimal
        return facts.odd.iloc[0] if is_meant and facts.odd.str.fullmatch(pattern).all() else None

    return test


def _counts_rows(facts: _Facts) -> Any:
    values = facts.values
    if len(values) < _MANY_ROWS or not types.is_integer_dtype(values):
        return None
    return values.iloc[0] if (values - values.index).nunique() == 1 else None


def _markers(facts: _Facts) -> str | None:
    """Return the few texts of a column that else holds numbers, or dates, with commas."""
    n_others = len(facts.texts) - len(facts.odd)
    if not 0 < len(facts.odd) <= _MAX_MARKERS or n_others == 0:
        return None
    is_rare = facts.values.isin(facts.odd).mean() <= 1 - _NEARLY
    return ",".join(facts.odd) if is_rare or n_others > 2 * len(facts.odd) else None


def _quoted_numbers(facts: _Facts) -> str | None:
    is_number = facts.is_quoted and len(facts.texts) > 1 and facts.odd.empty
    return facts.texts.iloc[0] if is_number else None


def _is_sentence(facts: _Facts) -> str | None:
    if facts.odd.empty or len(facts.texts) <= len(facts.values) / 2:
        return None
    n_words = facts.texts[:ROWS].str.count(r"\S+").mean()
    return facts.odd.iloc[0] if n_words >= _MANY_WORDS else None


def _all_differ(facts: _Facts) -> int | None:
    n, n_values = facts.values.nunique(), len(facts.values)
    return n if n_values >= _MANY_ROWS and n > _NEARLY * n_values else None


def _spellings(facts: _Facts) -> str | None:
    by_letters = facts.texts.groupby(facts.texts.str.casefold(), sort=False)
    return next((" and ".join(map(repr, g[:2])) for _, g in by_letters if len(g) > 1), None)


_NUMBERS_AS_TEXT = (
    *(
        (
            _written(pattern, decimal),
            f"values such as {{!r}} are text: {option} reads them as numbers",
        )
        for pattern, decimal, option in (
            (_COMMAS, ".", "--thousands=, (or, before a fraction, --decimal=,)"),
            (_POINTS, ",", "--thousands=."),
            (_POINTS, ".", "--decimal=, --thousands=."),
            (_COMMA, ".", "--decimal=,"),
        )
    ),
    (
        _written(_AMOUNT),
        "amounts such as {!r} are text: write the number alone, its unit in the name of the column",
    ),
)
_FEATURES = (
    (_counts_rows, "it counts the rows, from {}: --drop leaves it out"),
    *_NUMBERS_AS_TEXT,
    (_markers, "it holds numbers (or dates) and some text: --missing={} reads that as missing"),
    (
        _quoted_numbers,
        "its texts are numbers, such as {!r}, but categories: write them without quotes if they"
        " are numbers",
    ),
    (
        _written(_OTHER_DATE),
        "values such as {!r} look like dates: written as 2024-05-17 or 2024-05-17 13:30 they are"
        " read as such",
    ),
    (
        _is_sentence,
        "values such as {!r} look like text: --text takes a column as a bag of words",
    ),
    (
        lambda facts: None if facts.texts.empty else _all_differ(facts),
        "{} distinct texts, nearly all rows differ: --drop leaves it out",
    ),
)
_LABELS = (
    *_NUMBERS_AS_TEXT,
    (_spellings, "the labels {} differ in case alone, and are two"),
    (_all_differ, "{} labels, nearly all rows differ: --target names another column"),
)


def on_feature(column: Column, layout: Layout) -> str | None:
    """Return what is odd about a feature, if anything."""
    return _first(_FEATURES, _facts(column, layout))


def on_labels(labels: Column, layout: Layout) -> tuple[str | None, bool]:
    """Return what is odd about labels, and whether they are many numbers that are not read so."""
    facts = _facts(labels, layout)
    are_numbers = _first(_NUMBERS_AS_TEXT, facts) is not None
    return _first(_LABELS, facts), are_numbers and len(facts.texts) > MAX_LABELS


def on_names(names: Sequence[str]) -> str | None:
    """Return a hint if the names of columns are numbers, but do not count."""
    found = [float(name) for name in names if re.fullmatch(r"[-+]?\d+(\.\d+)?|\d*\.\d+", name)]
    if not found or (len(found) > 1 and (np.diff(found) == 1).all()):
        return None
    return (
        f"names of columns such as {found[0]:g} are numbers: --no-header if the first row is data"
    )


def markers_of(column: Column, layout: Layout) -> str | None:
    """Return the few texts of a column that otherwise holds numbers, with commas."""
    return _markers(_facts(column, layout))


def _facts(column: Column, layout: Layout) -> _Facts:
    odd = texts = column.texts.drop_duplicates()
    if len(texts):
        is_other = numbers(texts, layout).isna()
        if is_other.all():
            is_other = read_dates(texts, layout).isna()
            is_other |= is_other.mean() > 0.5  # such as a word among dates
        odd = texts[is_other]
    return _Facts(column.values.dropna(), texts, odd, column.is_quoted, layout["decimal"])


def _first(rows: Sequence[tuple[_Test, str]], facts: _Facts) -> str | None:
    """Return the text of the first row whose test finds an example."""
    for test, text in rows:
        example = test(facts)
        if example is not None:
            return text.format(shorten(example, 60) if isinstance(example, str) else example)
    return None
