"""Tests of what is odd about a file and its columns, each with the option that helps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

from river_amf.evaluation.streams import MAX_LABELS, ROWS, shorten
from river_amf.evaluation.table_files import Table, iso_dates, numbers, read_dates

_MANY_ROWS = 100  # of which it is odd that all values differ
_ENOUGH_ROWS = 20  # to call an order or many labels odd
_NEARLY = 0.9  # of the values
_FEW = 0.05  # of the rows
_MANY_WORDS = 4  # on average, in a sentence
_MAX_MARKERS = 5  # distinct texts that may mean missing numbers
_MAX_UNITS = 3  # rows of units under the names of columns
_MOST_NAMED = 3  # columns in a note

_LAYOUTS: Sequence[dict[str, tuple[str, str | None]]] = (  # the simplest first
    {"--decimal=,": (",", None), "--thousands=,": (".", ","), '--thousands="\'"': (".", "'")},
    {"--decimal=, --thousands=.": (",", "."), '--decimal=, --thousands="\'"': (",", "'")},
)
_DIGITS = r"(\d{1,3}([,.'\u2019\s]\d{3})+|\d+)?([.,]\d+)?"
_UNIT = r"(?P<unit>\s+\S{1,6}|[kKMBGT]|[^\W\d_]{2,4}|\s*[%‰°€$£¥₹]\w?)?"
_AMOUNT = rf"\(?[-+\u2212]?(([A-Z]{{3}}|[$€£¥₹])\s*)?[-+\u2212]?(?=\.?\d){_DIGITS}{_UNIT}\)?"
_SEPARATED = r"[-+\u2212]?(\d{1,3}([.,'\u2019\s]\d{3})+([.,]\d+)?|\d*,\d+)"
_WORD = r"(\d+|[A-Za-z]{3,9})"
_OTHER_DATE = rf"{_WORD}[-./ ]{_WORD}((, |[-./ ])\d+)?(,? \d\d?:\d\d.*)?|\d\d?:\d\d(:\d\d)?"


class Facts(NamedTuple):
    """The properties of a column that the tests need."""

    table: Table
    name: str
    values: pd.Series  # without missing ones
    texts: pd.Series  # the distinct texts of a category, unless it is one by choice
    odd: pd.Series  # those that are no numbers, or dates


def facts_of(table: Table, name: str, values: pd.Series, kind: str) -> Facts:
    """Return the facts about a column as it is settled."""
    values = values.dropna()
    is_text = kind == "category" and name not in table.texts
    odd = texts = pd.Series(values.unique() if is_text else [], dtype=object)
    if len(texts):
        is_other = numbers(texts, table).isna()
        if is_other.all():
            is_other = iso_dates(texts, table).isna()
            is_other |= is_other.mean() > 0.5  # such as a word among dates
        odd = texts[is_other]
    return Facts(table, name, values, texts, odd)


class _Rule(NamedTuple):
    """What may be odd about columns, and what to say about those that are."""

    test: Callable[[Facts], Any]  # returns an example, or None
    text: str | Callable[[Sequence[Facts]], str]  # with the example of the first, or of all of them


def _written(pattern: str) -> Callable[[Facts], str | None]:
    """Return a test of whether all texts that are no numbers match a pattern."""

    def test(facts: Facts) -> str | None:
        is_meant = len(facts.odd) > 0 and facts.odd.str.fullmatch(pattern).all()
        return facts.odd.iloc[0] if is_meant else None

    return test


def _read(facts: Facts, reader: Callable[..., pd.Series], **layout: Any) -> pd.Series | None:
    """Return texts as they are read in another layout, if all are."""
    table = facts.table._replace(layout=facts.table.layout | layout)
    values = reader(facts.texts, table)
    return values if values.notna().all() else None


def _in_layout(facts: Facts) -> str | None:
    """Return the options by which all texts are numbers."""
    if _written(_SEPARATED)(facts) is None:
        return None
    for group in _LAYOUTS:
        fit = [
            option
            for option, (decimal, thousands) in group.items()
            if _read(facts, numbers, decimal=decimal, thousands=thousands) is not None
        ]
        if fit:
            return " or ".join(fit)
    return None


def _is_amount(facts: Facts) -> str | None:
    example = _written(_AMOUNT)(facts)
    if example is None:
        return None
    units = facts.odd.str.extract(_AMOUNT)["unit"].str.strip()
    return example if units.nunique() <= _MAX_UNITS else None


def _counts_rows(facts: Facts) -> Any:
    values = facts.values
    if len(values) < _MANY_ROWS or not types.is_integer_dtype(values):
        return None
    return values.iloc[0] if (values - values.index).nunique() == 1 else None


def markers(facts: Facts) -> list[str] | None:
    """Return the few texts of a column of numbers, or dates."""
    n_others = len(facts.texts) - len(facts.odd)
    if not 0 < len(facts.odd) <= _MAX_MARKERS or n_others == 0:
        return None
    is_rare = facts.values.isin(facts.odd).mean() <= 1 - _NEARLY
    return facts.odd.tolist() if is_rare or n_others > 2 * len(facts.odd) else None


def _units(facts: Facts) -> str | None:
    """Return the options that skip the first rows, if only these have text among numbers."""
    header = facts.table.header
    if not header or markers(facts) is None:
        return None
    n = facts.values.index[facts.values.isin(facts.odd)].max() + 1
    return f"--header {header} --skip-rows {header + n}" if n <= _MAX_UNITS else None


def remedy(columns: Sequence[Facts]) -> str:
    """Return what the options say that read some texts among numbers as missing, or skip them."""
    skipping = _units(columns[0])
    if skipping:
        return f"{skipping} skips the first rows, which differ from the others"
    texts = dict.fromkeys(text for facts in columns for text in markers(facts) or ())
    return f"--missing={','.join(texts)} reads that as missing"


def _readings(facts: Facts) -> dict[str, pd.Series] | None:
    """Return the dates that texts are, by the option of their order."""
    if _written(_OTHER_DATE)(facts) is None:
        return None
    orders = {"": False, " --day-first": True}
    found = {text: _read(facts, read_dates, day_first=order) for text, order in orders.items()}
    return {text: dates for text, dates in found.items() if dates is not None} or None


def _dates(columns: Sequence[Facts]) -> str:
    """Return the text about columns that look like dates."""
    readings = [_readings(facts) or {} for facts in columns]
    orders = [text for text in readings[0] if all(text in found for found in readings)]
    if len(orders) > 1 and all(found[""].equals(found[orders[1]]) for found in readings):
        orders = [""]
    option = f"--dates={','.join(facts.name for facts in columns)}"
    ways = " or ".join(option + order for order in orders or readings[0])
    return f"values such as {columns[0].odd.iloc[0]!r} look like dates: {ways} reads them as such"


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


def _order(facts: Facts) -> str | None:
    """Return the first of the targets if equal ones come together, and all if they are sorted."""
    values, n = facts.values, facts.values.nunique()
    if len(values) < _ENOUGH_ROWS or n < 2 or (values != values.shift()).sum() != n:
        return None
    is_sorted = values.is_monotonic_increasing or values.is_monotonic_decreasing
    return str(values.iloc[0]) if is_sorted or n <= len(values) / 2 else None


_NUMBERS_AS_TEXT = (
    _Rule(_in_layout, "values such as {example!r} are text: {found} reads them as numbers"),
    _Rule(
        _is_amount,
        "values such as {found!r} are text: write the number alone, as in 2.5 or -2.5, its unit in"
        " the name of the column",
    ),
)
_FEATURES = (
    _Rule(markers, lambda columns: f"numbers (or dates) and some text: {remedy(columns)}"),
    *_NUMBERS_AS_TEXT,
    _Rule(_readings, _dates),
    _Rule(
        _is_sentence,
        "values such as {found!r} look like text: --text takes a column as a bag of words",
    ),
)
_LEFT_OUT = (  # if other features remain
    _Rule(_counts_rows, "counts the rows, from {found}: --drop leaves such columns out"),
    _Rule(
        lambda facts: None if facts.texts.empty else _all_differ(facts),
        "{found} distinct texts, nearly all rows differ: --drop leaves such columns out",
    ),
)
_TARGET = (
    _Rule(
        lambda facts: facts.values.tolist()[0] if facts.values.nunique() == 1 else None,
        "all rows have {found!r}: there is nothing to learn",
    ),
    _Rule(
        _order,
        "rows are sorted by this target, from {found!r} on, so repeating the last one scores well:"
        " --shuffle mixes the rows of a file that has no order",
    ),
    *_NUMBERS_AS_TEXT,
    _Rule(_spellings, "the labels {found} differ in case alone, and are two"),
)
_LABELS = (
    _Rule(_all_differ, "{found} labels, nearly all rows differ: --target names another column"),
)


def on_table(table: Table) -> Iterator[str]:
    """Yield notes on the names of columns and on line breaks in fields."""
    if not table.is_text:
        return
    names, frame = [*table.frame], table.frame
    if table.header and (name := _odd_name(frame)) is not None:
        yield (
            f"names of columns such as {name} look like values: --no-header if the first row is"
            " a sample"
        )
    broken = [
        (row, name)
        for name in names
        for row in np.flatnonzero(["\n" in t for t in frame[name] if t.__class__ is str])
    ]
    if 0 < len(broken) <= max(1, _FEW * len(frame)):
        row, name = min(broken)
        yield (
            f"row {row + 1} has line breaks in its {name!r}, as few rows have: if a quote there is"
            " stray, the rows after it are lost in this field, so remove it from the file"
        )


def _odd_name(frame: pd.DataFrame) -> str | None:
    """Return a name if numbers that do not count are names, or if all names are values."""
    names = [*frame]
    values = [float(name) for name in names if re.fullmatch(r"[-+]?\d+(\.\d+)?|\d*\.\d+", name)]
    if values and not (len(values) > 1 and (np.diff(values) == 1).all()):
        return f"{values[0]:g}"
    are_values = all(frame[name].eq(re.sub(r"\.\d+$", "", name)).any() for name in names)
    return repr(names[0]) if are_values else None


def on_features(columns: Sequence[Facts], n_features: int) -> Iterator[str]:
    """Yield a note for each rule that fits features, the most useful first."""
    found: dict[int, list[tuple[Facts, Any]]] = {}
    rules = (*_FEATURES, *_LEFT_OUT)
    for facts in columns:
        tested = ((n, rule.test(facts)) for n, rule in enumerate(rules))
        hit = next(((n, example) for n, example in tested if example is not None), None)
        if hit is not None:
            found.setdefault(hit[0], []).append((facts, hit[1]))
    n_left_out = sum(len(hits) for n, hits in found.items() if n >= len(_FEATURES))
    for n in sorted(found):
        note = _note(rules[n], found[n])
        yield note if n_left_out < n_features else note.partition(": --drop")[0]


def on_target(facts: Facts, *, are_labels: bool) -> Iterator[str]:
    """Yield the notes on a target."""
    rules = (*_TARGET, *_LABELS) if are_labels else _TARGET
    tested = ((rule, rule.test(facts)) for rule in rules)
    return (_note(rule, [(facts, example)]) for rule, example in tested if example is not None)


def _note(rule: _Rule, hits: Sequence[tuple[Facts, Any]]) -> str:
    """Return the names of columns, and the text about them with the example of the first."""
    columns = [facts for facts, _ in hits]
    names = ", ".join(repr(shorten(facts.name, 40)) for facts in columns[:_MOST_NAMED])
    names += f" and {len(columns) - _MOST_NAMED} more" * (len(columns) > _MOST_NAMED)
    if not isinstance(rule.text, str):
        text = rule.text(columns)
    else:
        found = hits[0][1]
        example = shorten(str(next(iter(columns[0].odd), "")), 60)
        text = rule.text.format(
            found=shorten(found, 60) if isinstance(found, str) else found, example=example
        )
    return f"column{'s' * (len(columns) > 1)} {names}: {text}"


def doubt(facts: Facts, kind: str) -> str | None:
    """Return why values are no labels: quantities as text, or texts of which most rows differ."""
    n, example = facts.values.nunique(), [*facts.values[:1]]
    for rule in _NUMBERS_AS_TEXT:
        if len(facts.texts) > MAX_LABELS and (found := rule.test(facts)) is not None:
            return _note(rule, [(facts, found)])
    is_text = kind in ("category", "date") and facts.name not in facts.table.texts
    if markers(facts) or not is_text or n <= max(_ENOUGH_ROWS, len(facts.values) / 2):
        return None
    return (
        f"column {shorten(facts.name, 40)!r} has {n} labels in {len(facts.values)} rows, such as"
        f" {shorten(str(example[0]), 40)!r}: --target names another column"
    )
