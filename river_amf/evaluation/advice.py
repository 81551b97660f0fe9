"""Tests of what is odd about the columns of a file, each with the option that helps."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

from river_amf.evaluation.streams import MAX_LABELS, ROWS, shorten
from river_amf.evaluation.table_files import Table, numbers, read_dates

_MANY_ROWS = 100  # of which it is odd that all values differ
_NEARLY = 0.9  # of the values
_MANY_WORDS = 4  # on average, in a sentence
_MAX_MARKERS = 5  # distinct texts that may mean missing numbers

_UNIT = r"([A-Z]{3}|[$€£¥₹%])"
_AMOUNT = rf"[-+]?{_UNIT}\s*[-+]?\d[\d.,']*|[-+]?\d[\d.,']*\s*{_UNIT}"
_SEPARATED = r"[-+]?(\d{1,3}([.,]\d{3})+([.,]\d+)?|\d*,\d+)"
_OTHER_DATE = r"(\d{4}[-./]\d\d?[-./]\d\d?|\d\d?[-./](\d\d?|[A-Za-z]{3})[-./](\d\d){1,2})([ T].*)?"


class Facts(NamedTuple):
    """The properties of a column that the tests need."""

    values: pd.Series  # without missing ones
    texts: pd.Series  # the distinct texts of a category, unless it is declared one
    odd: pd.Series  # those that are no numbers, or dates


def facts_of(table: Table, name: str, values: pd.Series, kind: str) -> Facts:
    """Return the facts about a column as it is settled."""
    values = values.dropna()
    is_declared = isinstance(table.frame[name].dtype, pd.CategoricalDtype)
    is_text = kind == "category" and not is_declared
    odd = texts = pd.Series(values.unique() if is_text else [], dtype=object)
    if len(texts):
        is_other = numbers(texts, table).isna()
        if is_other.all():
            is_other = read_dates(texts, table).isna()
            is_other |= is_other.mean() > 0.5  # such as a word among dates
        odd = texts[is_other]
    return Facts(values, texts, odd)


_Test = Callable[[Facts], Any]  # returns an example, or None


def _written(pattern: str) -> _Test:
    """Return a test of whether all texts that are no numbers match a pattern."""

    def test(facts: Facts) -> str | None:
        is_meant = len(facts.odd) > 0 and facts.odd.str.fullmatch(pattern).all()
        return facts.odd.iloc[0] if is_meant else None

    return test


def _counts_rows(facts: Facts) -> Any:
    values = facts.values
    if len(values) < _MANY_ROWS or not types.is_integer_dtype(values):
        return None
    return values.iloc[0] if (values - values.index).nunique() == 1 else None


def markers(facts: Facts) -> str | None:
    """Return the few texts of a column of numbers, or dates, with commas."""
    n_others = len(facts.texts) - len(facts.odd)
    if not 0 < len(facts.odd) <= _MAX_MARKERS or n_others == 0:
        return None
    is_rare = facts.values.isin(facts.odd).mean() <= 1 - _NEARLY
    return ",".join(facts.odd) if is_rare or n_others > 2 * len(facts.odd) else None


def _is_sentence(facts: Facts) -> str | None:
    if facts.odd.empty or len(facts.texts) <= len(facts.values) / 2:
        return None
    n_words = facts.texts[:ROWS].str.count(r"\S+").mean()
    return facts.odd.iloc[0] if n_words >= _MANY_WORDS else None


def _all_differ(facts: Facts) -> int | None:
    n, n_values = facts.values.nunique(), len(facts.values)
    return n if n_values >= _MANY_ROWS and n > _NEARLY * n_values else None


def _spellings(facts: Facts) -> str | None:
    by_letters = facts.texts.groupby(facts.texts.str.casefold(), sort=False)
    return next((" and ".join(map(repr, g[:2])) for _, g in by_letters if len(g) > 1), None)


_NUMBERS_AS_TEXT = (
    (
        _written(_SEPARATED),
        "values such as {!r} are text: --decimal=, or --thousands=, (or both, as --decimal=,"
        " --thousands=.) reads them as numbers",
    ),
    (
        _written(_AMOUNT),
        "amounts such as {!r} are text: write the number alone, its unit in the name of the column",
    ),
)
_FEATURES = (
    (_counts_rows, "it counts the rows, from {}: --drop leaves it out"),
    *_NUMBERS_AS_TEXT,
    (markers, "it holds numbers (or dates) and some text: --missing={} reads that as missing"),
    (
        _written(_OTHER_DATE),
        "values such as {!r} look like dates: written as 2024-05-17 or 2024-05-17 13:30 they are"
        " read as such",
    ),
    (_is_sentence, "values such as {!r} look like text: --text takes a column as a bag of words"),
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


def on_feature(facts: Facts) -> str | None:
    """Return the advice on a feature, if anything is odd about it."""
    return _first(_FEATURES, facts)


def on_labels(facts: Facts) -> tuple[str | None, bool]:
    """Return the advice on labels, if any, and whether they seem to be quantities as text."""
    are_numbers = _first(_NUMBERS_AS_TEXT, facts) is not None
    return _first(_LABELS, facts), are_numbers and len(facts.texts) > MAX_LABELS


def _first(rows: Sequence[tuple[_Test, str]], facts: Facts) -> str | None:
    """Return the text of the first row whose test finds an example."""
    for test, text in rows:
        example = test(facts)
        if example is not None:
            return text.format(shorten(example, 60) if isinstance(example, str) else example)
    return None


def on_names(names: Sequence[str]) -> str | None:
    """Return a hint if the names of columns are numbers, but do not count."""
    values = [float(name) for name in names if re.fullmatch(r"[-+]?\d+(\.\d+)?|\d*\.\d+", name)]
    if not values or (len(values) > 1 and (np.diff(values) == 1).all()):
        return None
    return (
        f"names of columns such as {values[0]:g} are numbers: --no-header if the first row is data"
    )
