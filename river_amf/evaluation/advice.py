"""Notes on what is odd about a file and its columns, each with the option that helps."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

from river_amf.evaluation.columns import settle
from river_amf.evaluation.streams import MAX_LABELS, ROWS, Stream
from river_amf.evaluation.table_files import Table, numbers_among
from river_amf.evaluation.usage_errors import option
from river_amf.inputs import texts
from river_amf.outputs.printing import shorten
from river_amf.state.layout import CLASSIFICATION, REGRESSION, Task

_MANY_ROWS = 100  # rows in which it is odd that all values differ
_ENOUGH_ROWS = 20  # to call an order or many labels odd
_NEARLY = 0.9  # of the values
_SAME = 0.99999  # correlation with a target, at which a number is a copy
_SURE = 10  # numbers that may be labels or codes without a doubt
_MOST_BROKEN = 0.05  # of the rows
_MANY_WORDS = 4  # on average, in a sentence
_MAX_MARKERS = 5  # distinct texts that may mean missing numbers
_MAX_UNITS = 3  # of a column, or rows of them under the names of columns
_MOST_NAMED = 3  # columns in a note

# marks of decimals and of thousands, the simplest first
_LAYOUTS = (((",", ""), (".", ","), (".", "'")), ((",", "."), (",", "'")))


class Facts(NamedTuple):
    """The properties of a column that the rules need."""

    table: Table
    name: str
    values: pd.Series  # without missing ones
    texts: pd.Series  # the distinct texts of a category, unless it is one by choice
    odd: pd.Series  # those that are no numbers, or dates
    task: Task | None = None
    target: pd.Series | None = None  # of the table, for features

    @property
    def example(self) -> str:
        """The first of these."""
        return shorten(self.odd.iloc[0], 60)


def facts_of(table: Table, name: str, values: pd.Series, kind: str, *beside: Any) -> Facts:
    """Return the facts about a column as it is settled, and beside it a task and a target."""
    values = values.dropna()
    is_text = kind == "category" and name not in table.texts
    odd = distinct = pd.Series(values.unique() if is_text else [], dtype=object)
    if len(distinct):
        is_other = texts.numbers(distinct, table.layout).isna()
        if is_other.all():
            is_other = texts.iso_dates(distinct, table.layout).isna()
            is_other |= is_other.mean() > 0.5  # such as a word among dates
        odd = distinct[is_other]
    return Facts(table, name, values, distinct, odd, *beside)


# Rules: what is odd about each of some columns, or None

_Columns = Sequence[Facts]
_Rule = Callable[[_Columns], str | None]


def _match(columns: _Columns, pattern: str) -> bool:
    return all(len(c.odd) > 0 and c.odd.str.fullmatch(pattern).all() for c in columns)


def _are_read(columns: _Columns, reader: Callable[..., pd.Series], **layout: object) -> bool:
    """Return whether all texts are read in another layout."""
    return all(reader(c.texts, c.table.layout | layout).notna().all() for c in columns)


def _units(columns: _Columns) -> str | None:
    header = columns[0].table.header
    if not header or _markers(columns) is None:
        return None
    n_rows = max(c.values.index[c.values.isin(c.odd)].max() + 1 for c in columns)
    text = "the first rows have text where others have numbers"
    skips = f": --header {header} --skip-rows {header + n_rows} skips them"
    return text + skips if n_rows <= _MAX_UNITS else None


def _markers(columns: _Columns) -> str | None:
    for c in columns:
        n_others = len(c.texts) - len(c.odd)
        is_rare = c.values.isin(c.odd).mean() <= 1 - _NEARLY or n_others > 2 * len(c.odd)
        is_rare |= not c.odd.str.contains(r"\w").any()  # such as a point
        if not (0 < len(c.odd) <= _MAX_MARKERS and n_others and is_rare):
            return None
    odd = dict.fromkeys(text for c in columns for text in c.odd)
    return f"numbers (or dates) and some text: {option('missing', odd)} reads that as missing"


def _separated(columns: _Columns) -> str | None:
    for group in _LAYOUTS if _match(columns, texts.SEPARATED) else ():
        ways = [
            " ".join(["--decimal=,"] * (decimal == ",") + [option("thousands", mark)] * bool(mark))
            for decimal, mark in group
            if _are_read(columns, texts.numbers, decimal=decimal, thousands=mark)
        ]
        if ways:
            reads = " or ".join(ways)
            return f"values such as {columns[0].example!r} are text: {reads} reads them"
    return None


def _amounts(columns: _Columns) -> str | None:
    is_odd = _match(columns, texts.AMOUNT) and not _separated(columns)
    if not is_odd or columns[0].odd.str.extract(texts.AMOUNT)["unit"].nunique() > _MAX_UNITS:
        return None
    helps = "write the number alone, as in 2.5 or -2.5, its unit in the name of the column"
    return f"values such as {columns[0].example!r} are text: {helps}"


def _dates(columns: _Columns) -> str | None:
    fit = [
        way
        for way in ("", " --day-first")
        if _match(columns, texts.OTHER_DATE)
        and _are_read(columns, texts.read_dates, day_first=bool(way), date_format=None)
    ]
    if not fit:
        return None
    has_order = any(re.match(r"\d\d?[-./ ]\d", c.example) for c in columns)
    named = option("dates", [c.name for c in columns])
    ways = " or ".join(named + way for way in (fit if has_order else fit[:1]))
    return f"values such as {columns[0].example!r} look like dates: {ways} reads them"


def _durations(columns: _Columns) -> str | None:
    if not _match(columns, texts.DURATION):
        return None
    example = columns[0].example
    return f"values such as {example!r} are durations: write numbers, as of hours, instead"


def _mostly(columns: _Columns) -> str | None:
    c = columns[0]
    n_odd = int(c.values.isin(c.odd).sum())
    if not n_odd or len(c.texts) - len(c.odd) <= _SURE or 2 * n_odd > len(c.values):
        return None
    helps = "write them as the others, or leave them empty"
    if len(c.odd) <= _MAX_MARKERS:
        helps = f"{option('missing', c.odd)} reads these as missing"
    text = f"mostly numbers (or dates), but {n_odd} of {len(c.values)} values are text"
    return f"{text}, such as {c.example!r}: {helps}"


def _sentences(columns: _Columns) -> str | None:
    c = columns[0]
    is_text = len(c.odd) > 0 and len(c.texts) > len(c.values) / 2
    if not is_text or c.texts[:ROWS].str.count(r"\S+").mean() < _MANY_WORDS:
        return None
    takes = f": {option('text', c.name)} takes a column as a bag of words"
    return f"values such as {c.example!r} look like text" + takes * (c.task != REGRESSION)


def _copies(columns: _Columns) -> str | None:
    c = columns[0]
    if c.target is None or not all(_is_copy(c, c.values[:n]) for n in (ROWS, len(c.values))):
        return None
    return "a copy of the target" if c.task == CLASSIFICATION else "the target times a constant"


def _is_copy(c: Facts, values: pd.Series) -> bool:
    """Return whether values determine a target: one for each label, or all on a line."""
    assert c.target is not None
    pairs = pd.DataFrame({"x": values, "y": c.target.reindex(values.index)}).dropna()
    n, n_targets = pairs.nunique()
    if len(pairs) < _ENOUGH_ROWS:
        return False
    if c.task == CLASSIFICATION:
        return 1 < n == n_targets == len(pairs.drop_duplicates()) <= len(pairs) / 2
    is_number = types.is_numeric_dtype(pairs["x"]) and min(n, n_targets) > 2
    return is_number and bool(abs(np.corrcoef(pairs.to_numpy(float).T)[0, 1]) > _SAME)


def _counters(columns: _Columns) -> str | None:
    values = columns[0].values
    is_long = len(values) >= _MANY_ROWS and types.is_integer_dtype(values)
    is_counter = is_long and (values - values.index).nunique() == 1
    return f"counts the rows, from {values.iloc[0]}" if is_counter else None


def _ids(columns: _Columns) -> str | None:
    n, n_values = columns[0].values.nunique(), len(columns[0].values)
    is_id = len(columns[0].texts) > 0 and n_values >= _MANY_ROWS and n > _NEARLY * n_values
    return f"{n} distinct texts, nearly all rows differ" if is_id else None


def _task(columns: _Columns) -> str | None:
    (_, _, values, *_, task, _), n = columns[0], columns[0].values.nunique()
    is_number = types.is_numeric_dtype(values) and not types.is_bool_dtype(values)
    if task is None or not is_number or not _SURE < n <= MAX_LABELS or (values % 1).any():
        return None
    span = f"{n} integers from {values.min():g} to {values.max():g}"
    if task == CLASSIFICATION:
        return f"{span} are taken as labels: --task regression predicts numbers"
    return f"{span} are taken as numbers: --task classification takes them as labels"


def _order(columns: _Columns) -> str | None:
    values, n = columns[0].values, columns[0].values.nunique()
    first = values.tolist()[0]
    if n == 1:
        return f"all rows have {first!r}"
    is_sorted = values.is_monotonic_increasing or values.is_monotonic_decreasing
    is_grouped = (values != values.shift()).sum() == n and (is_sorted or n <= len(values) / 2)
    if len(values) < _ENOUGH_ROWS or not is_grouped:
        return None
    why = f"rows are sorted by this target, from {first!r} on, so repeating the last one"
    return f"{why} scores well: --shuffle mixes the rows of a file that has no order"


def _spellings(columns: _Columns) -> str | None:
    labels, folded = columns[0].texts, columns[0].texts.str.casefold()
    both = " and ".join(map(repr, labels[folded.isin(folded[folded.duplicated()][:1])][:2]))
    return f"the labels {both} differ in case alone, and are two" if both else None


def _unlike(columns: _Columns) -> str | None:
    values, n = columns[0].values, columns[0].values.nunique()
    is_text = not types.is_numeric_dtype(values) and columns[0].name not in columns[0].table.texts
    if not is_text or among_numbers(columns[0]) or n <= max(_ENOUGH_ROWS, len(values) / 2):
        return None
    example = shorten(str(values.iloc[0]), 40)
    return f"{n} labels in {len(values)} rows, such as {example!r}: --target names another column"


_AS_TEXT = (_separated, _amounts)
_FEATURES = (_units, _markers, *_AS_TEXT, _dates, _durations, _mostly)
_DROPPED = (_copies, _counters, _ids)
_TARGET = (_task, _order, *_AS_TEXT, _unlike, _spellings)


def notes(table: Table, stream: Stream, target: Facts) -> Iterator[str]:
    rows: Any = stream.samples
    features = [
        facts_of(table, name, rows.frame[name], kind, stream.task, rows.targets)
        for name, kind in stream.kinds.items()
        if name in rows.frame  # dates are several columns
    ]
    yield from _on_table(table)
    yield from (_note([target], rule) for rule in _TARGET if rule([target]))
    yield from _on_features(features, len(stream.kinds))


def _on_features(columns: _Columns, n_features: int) -> Iterator[str]:
    """Yield a note for each rule that fits features, the most useful first."""
    found: dict[Any, list[Facts]] = {rule: [] for rule in (*_FEATURES, _sentences, *_DROPPED)}
    for facts in columns:
        if (rule := next((rule for rule in found if rule([facts])), None)) is not None:
            found[rule].append(facts)
    dropped = {*_DROPPED, *([_sentences] if columns and columns[0].task == REGRESSION else [])}
    is_any_left = sum(len(found[rule]) for rule in dropped) < n_features
    for rule, odd in found.items():
        if odd:
            drops = f": {option('drop', [c.name for c in odd])} leaves them out"
            yield _note(odd, rule) + drops * (rule in dropped and is_any_left)


def among_numbers(facts: Facts) -> str | None:
    """Return what helps with the texts of a column that is mostly numbers, if it is one."""
    return _first_of((_units, _markers, _mostly), facts)


def help_with(table: Table, column: pd.Series) -> str:
    """Return what helps to read a column as numbers or dates, after a semicolon, if anything."""
    facts = facts_of(table, str(column.name), *settle(column, table))
    is_read = len(facts.texts) and _are_read([facts], texts.numbers, decimal=".")
    found = "--decimal=. reads them" if is_read else _first_of(_FEATURES, facts)
    return f"; {found}" if found else ""


def doubt(facts: Facts) -> str | None:
    """Return why values are no labels: quantities as text, or texts of which most rows differ."""
    found = _first_of((*_AS_TEXT * (len(facts.texts) > MAX_LABELS), _unlike), facts)
    return found and f"column {shorten(facts.name, 40)!r}: {found}"


def _first_of(rules: Iterable[_Rule], facts: Facts) -> str | None:
    return next(filter(None, (rule([facts]) for rule in rules)), None)


def _note(columns: _Columns, rule: _Rule) -> str:
    names = ", ".join(repr(shorten(c.name, 40)) for c in columns[:_MOST_NAMED])
    names += f" and {len(columns) - _MOST_NAMED} more" * (len(columns) > _MOST_NAMED)
    return f"column{'s' * (len(columns) > 1)} {names}: {rule(columns) or rule(columns[:1])}"


def _on_table(table: Table) -> Iterator[str]:
    frame, names = table.frame, [*table.frame] if table.is_text else []
    numeric = numbers_among(names)
    are_values = all(frame[name].eq(re.sub(r"\.\d+$", "", name)).any() for name in names)
    if table.header and (are_values or numeric):
        name = names[0] if are_values else f"{numeric[0]:g}"
        yield f"names of columns such as {name!r} look like values: --no-header takes them as such"
    else:
        yield from table.notes
    words = frame[[name for name in names if not types.is_numeric_dtype(frame[name])]]
    broken = words.map(lambda text: type(text) is str and "\n" in text)
    if 0 < broken.to_numpy().sum() <= max(1, _MOST_BROKEN * len(frame)):
        row: Any = broken.any(axis="columns").idxmax()
        yield (
            f"row {row + 1} has line breaks in its {broken.loc[row].idxmax()!r}, as few rows have:"
            " if a stray quote hides the rows after it, --no-quotes takes quotes as they are"
        )
