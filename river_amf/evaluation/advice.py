"""What is odd about the columns of a file, and the option that helps: a table of tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

from river_amf.evaluation.streams import MAX_LABELS, ROWS
from river_amf.evaluation.typed_columns import Column, Reading, read_dates

_LONGEST = 200  # characters of a note
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
    """A column, and what the tests need of it."""

    column: Column
    values: pd.Series  # without missing ones
    texts: pd.Series  # the distinct texts
    odd: pd.Series  # those that are no numbers
    reading: Reading

    def all_match(self, pattern: str) -> bool:
        """Return whether all texts that are no numbers match a pattern."""
        return len(self.odd) > 0 and all(re.fullmatch(pattern, text) for text in self.odd)


class _Row(NamedTuple):
    """A row of the table: a test, which returns an example or None, and a text with it."""

    test: Callable[[_Facts], Any]
    text: str


def _example(test: Callable[[_Facts], bool]) -> Callable[[_Facts], str | None]:
    """Return a test whose example is the first text that is no number."""
    return lambda facts: str(facts.odd.iloc[0]) if len(facts.odd) and test(facts) else None


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
    share = float(facts.column.values.isin(facts.odd).sum()) / len(facts.values)
    is_few = n_others > 2 * len(facts.odd) or share <= 1 - _NEARLY
    return ",".join(facts.odd) if is_few else None


def _quoted_numbers(facts: _Facts) -> str | None:
    is_number = facts.column.is_quoted and len(facts.texts) > 1 and not len(facts.odd)
    return str(facts.texts.iloc[0]) if is_number else None


def _is_sentence(facts: _Facts) -> bool:
    n_words = facts.texts[:ROWS].str.count(r"\S+").mean()
    return len(facts.texts) > len(facts.values) / 2 and bool(n_words >= _MANY_WORDS)


def _all_differ(facts: _Facts) -> int | None:
    n, n_values = facts.values.nunique(), len(facts.values)
    return n if n_values >= _MANY_ROWS and n > _NEARLY * n_values else None


def _spellings(facts: _Facts) -> str | None:
    first: dict[str, str] = {}
    for text in facts.texts:
        if first.setdefault(text.casefold(), text) != text:
            return f"{first[text.casefold()]!r} and {text!r}"
    return None


def _written(pattern: str, decimal: str = ".,") -> Callable[[_Facts], str | None]:
    """Return a test of numbers that are written in a way that is not read as numbers."""
    return _example(lambda facts: facts.reading.decimal in decimal and facts.all_match(pattern))


_NUMBERS_AS_TEXT = (
    _Row(
        _written(_COMMAS, "."),
        "values such as {!r} are text: --thousands=, reads them as numbers (if the comma is before"
        " a fraction: --decimal=,)",
    ),
    _Row(
        _written(_POINTS, ","),
        "values such as {!r} are text: --thousands=. reads them as numbers",
    ),
    _Row(
        _written(_POINTS, "."),
        "values such as {!r} are text: --decimal=, --thousands=. reads them as numbers",
    ),
    _Row(_written(_COMMA, "."), "values such as {!r} are text: --decimal=, reads them as numbers"),
    _Row(
        _written(_AMOUNT),
        "amounts such as {!r} are text: write the number alone, its unit in the name of the column",
    ),
)
_FEATURES = (
    _Row(_counts_rows, "it counts the rows, from {}: --drop leaves it out"),
    *_NUMBERS_AS_TEXT,
    _Row(_markers, "it holds numbers (or dates) and some text: --missing={} reads that as missing"),
    _Row(
        _quoted_numbers,
        "its texts are numbers, such as {!r}, but categories: write them without quotes if they"
        " are numbers",
    ),
    _Row(
        _example(lambda facts: facts.all_match(_OTHER_DATE)),
        "values such as {!r} look like dates: written as 2024-05-17 or 2024-05-17 13:30 they are"
        " read as such",
    ),
    _Row(
        _example(_is_sentence),
        "values such as {!r} look like text: --text takes a column as a bag of words",
    ),
    _Row(
        lambda facts: _all_differ(facts) if len(facts.texts) else None,
        "{} distinct texts, nearly all rows differ: --drop leaves it out",
    ),
)
_LABELS = (
    *_NUMBERS_AS_TEXT,
    _Row(_spellings, "the labels {} differ in case alone, and are two"),
    _Row(_all_differ, "{} labels, nearly all rows differ: --target names another column"),
)


def on_feature(column: Column, reading: Reading) -> str | None:
    """Return what is odd about a feature, if anything."""
    return _first(_FEATURES, _facts(column, reading)) if column.kind != "date" else None


def on_labels(labels: Column, reading: Reading) -> tuple[str | None, bool]:
    """Return what is odd about labels, and whether they are many numbers that are not read so."""
    facts = _facts(labels, reading)
    are_numbers = _first(_NUMBERS_AS_TEXT, facts) is not None
    return _first(_LABELS, facts), are_numbers and len(facts.texts) > MAX_LABELS


def on_names(names: Sequence[str]) -> str | None:
    """Return a hint if the names of columns are numbers, but do not count."""
    numbers = [float(name) for name in names if re.fullmatch(r"[-+]?\d+(\.\d+)?|\d*\.\d+", name)]
    if not numbers or (len(numbers) > 1 and (np.diff(numbers) == 1).all()):
        return None
    return (
        f"names of columns such as {numbers[0]:g} are numbers: --no-header if the first row is data"
    )


def markers_of(column: Column, reading: Reading) -> str | None:
    """Return the few texts of a column that otherwise holds numbers, with commas."""
    return _markers(_facts(column, reading))


def shorten(text: str, length: int = _LONGEST) -> str:
    """Return a text without its middle, if it is too long."""
    half = (length - 3) // 2
    return text if len(text) <= length else f"{text[:half]}...{text[-half:]}"


def _facts(column: Column, reading: Reading) -> _Facts:
    texts = column.texts
    is_other = reading.numbers(texts).isna() if len(texts) else pd.Series(dtype=bool)
    if len(texts) and is_other.all():
        is_other = read_dates(texts).isna()
        is_other |= bool(is_other.mean() > 0.5)  # such as a word among dates
    odd = texts[is_other.to_numpy(dtype=bool)]
    return _Facts(column, column.values.dropna(), texts, odd, reading)


def _first(rows: Sequence[_Row], facts: _Facts) -> str | None:
    """Return the text of the first row whose test finds an example."""
    for test, text in rows:
        example = test(facts)
        if example is not None:
            return text.format(shorten(example, 60) if isinstance(example, str) else example)
    return None
