"""Streams by name, and from files: which columns are features, and what they hold."""

from __future__ import annotations

import itertools
import stat
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from river import datasets
from river.feature_extraction import BagOfWords

from river_amf.evaluation import column_types, live
from river_amf.evaluation.column_types import CLASSIFICATION, REGRESSION, Texts
from river_amf.evaluation.files import STANDARD_INPUT, Layout, Table, read_file
from river_amf.evaluation.streams import Features, Sample, Stream
from river_amf.evaluation.tracks import BUNDLED, STREAMS, dataset_name, is_regression, open_dataset
from river_amf.evaluation.usage_errors import EvaluationError, suggest
from river_amf.inputs import dates, frames

_WORDS: Any = BagOfWords()  # which only takes texts apart here


def load_stream(
    source: str | Path,
    target: str | None = None,
    categorical: Sequence[str] = (),
    limit: int | None = None,
    *,
    missing: Collection[str] | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    no_header: bool = False,
    decimal: str = ".",
    task: str | None = None,
    drop: Sequence[str] = (),
    text: str | None = None,
) -> Stream:
    r"""Open a stream by name, or read a file.

    Columns of text are categorical. Of dates, such as `2024-05-17`, `2024-05-17 13:30` or
    `2024-05-17T13:30:00+02:00` (half past one where it was written), the features are those of
    `river_amf.date_features`, unless they are named in `categorical`. An empty field is a missing
    value, and left out of the feature dicts. In a column that otherwise holds numbers alone (or
    booleans, or dates), so is what commonly stands for a missing value: whatever `pandas.read_csv`
    takes for one, such as `NA`, `nan` and `null`, and `?`. In columns of text, and in the target,
    these are values like any other.

    Numbers with fractions, or more than 50 distinct ones in the first 1000 rows, are a target for
    regression; anything else is labels. In regression, what stands for a missing value does so in
    the target too.

    What cannot be used raises EvaluationError, such as a file of more than 100,000 columns. A
    column of numbers in which a tenth or less is text, or of numbers with commas or a unit, gives a
    UserWarning; so does a column of texts that are all distinct, all numbers, whole sentences or
    dates of another form.

    Parameters
    ----------
    source
        A name from `BUNDLED` or `STREAMS`, ignoring case; the path of a file; or `"-"` for standard
        input, of which the first 1000 rows tell what columns hold and what the target is for; more
        are read as they come. A file is CSV, unless its name ends in `.parquet` or `.pq`
        (which takes pyarrow), or in `.jsonl` or `.ndjson` (a JSON object per line). It is
        decompressed if its name goes on with `.gz`.
    target
        Column to predict (files only). By default the column `target` if there is one, otherwise
        the last column. Rows in which it is missing are left out.
    categorical
        Columns to read as text, even if their values look like numbers (files only).
    limit
        Maximum number of samples; `None` reads all of them. Of a file it is the number of rows, of
        which those without a label are left out.
    missing
        The texts that stand for missing values in columns of numbers, instead of the common ones
        (files only).
    separator
        The character between the fields of a CSV file. By default a comma, semicolon or tab,
        whichever the first rows suggest.
    encoding
        Encoding of a file of text, by default UTF-8.
    no_header
        Whether the first row of a CSV file is a sample. The columns are then named `"0"`, `"1"` and
        so on.
    decimal
        The character before the fraction of a number in a CSV file, a point or a comma.
    task
        Whether the target is labels (`"classification"`) or a number (`"regression"`). By default
        its values tell, or the dataset does.
    drop
        Columns to leave out (files only).
    text
        A column to take apart into a bag of words (files only): a feature `column=word` for each,
        with its count. It is for models with `absent="zero"`, to which any number that is missing
        is 0; `compare` gives it to the forests that go by name.

    Examples
    --------
    >>> from river_amf.evaluation import load_stream
    >>> stream = load_stream("bananas", limit=100)
    >>> stream.name, stream.n_samples, stream.n_numeric
    ('Bananas', 100, 2)

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "table.csv")
    >>> _ = path.write_text("size;color;kind\n1.5;red;a\nNA;NA;b\n2.5;blue;\n")
    >>> stream = load_stream(path)
    >>> list(stream), stream.n_unlabeled
    ([({'size': 1.5, 'color': 'red'}, 'a'), ({'color': 'NA'}, 'b')], 1)

    >>> stream = load_stream(path, "size")
    >>> stream.task, [y for x, y in stream]
    ('regression', [1.5, 2.5])
    """
    column_types.check_task(task)
    if not str(source):  # which Path would take for the current folder
        raise EvaluationError("the stream is '': give the path of a file or the name of a stream")
    dataset = open_dataset(str(source))
    layout = Layout(separator, encoding, no_header, decimal)
    columns = _Columns(target, categorical, drop, text)
    if dataset is None:
        path = Path(source)
        stream, oddities = _load_file(path, columns, limit, missing, layout, task)
        for oddity in oddities:
            warnings.warn(oddity, stacklevel=2)
        return stream
    name = dataset_name(dataset)
    chosen = [option for option, value in columns._asdict().items() if value not in (None, (), [])]
    for option in (*chosen, *(["missing"] if missing is not None else []), *layout.chosen()):
        raise EvaluationError(f"{option} can only be chosen for a file, not for {name}")
    own = task_of_dataset(dataset)
    if task not in (None, own):
        raise EvaluationError(f"{name} is a stream for {own}, not for {task}")
    # bundled ones are read to the end, because only then does river close the file
    samples = list(dataset)[:limit] if name in BUNDLED else _First(dataset, limit)
    n_samples = dataset.n_samples if limit is None else min(limit, dataset.n_samples)
    first, _ = next(iter(samples))
    n_categorical = sum(isinstance(value, str) for value in first.values())
    n_numeric = len(first) - n_categorical
    return Stream(name, n_samples, n_numeric, n_categorical, samples, task=own)


def load_features(
    source: str | Path,
    target: str,
    categorical: Sequence[str] = (),
    missing: Collection[str] | None = None,
    drop: Sequence[str] = (),
    text: str | None = None,
    numeric: Collection[str] = (),
    **layout: Any,
) -> Stream:
    """Read a file as `load_stream` does, but with 0 for the target, which may be absent.

    The columns in `numeric` must hold numbers.
    """
    columns = _Columns(target, categorical, drop, text)
    options = missing, Layout(**layout), CLASSIFICATION
    path = Path(source)
    return _load_file(path, columns, None, *options, needs_target=False, numeric=numeric)[0]


def task_of_dataset(dataset: datasets.base.Dataset) -> str:
    """Return the task of a dataset of river's."""
    return REGRESSION if is_regression(dataset) else CLASSIFICATION


@dataclass(frozen=True)
class _First:
    """The first samples of a dataset, generated again for each iteration."""

    dataset: datasets.base.Dataset
    limit: int | None

    def __iter__(self) -> Iterator[Sample]:
        return itertools.islice(self.dataset, self.limit)


@dataclass(frozen=True)
class _Rows:
    """The rows of a table as samples, created one at a time."""

    frame: pd.DataFrame
    target: str
    text: str | None

    def __iter__(self) -> Iterator[Sample]:
        names = list(self.frame.columns)
        for row in self.frame.itertuples(index=False, name=None):
            # Missing values are NaN here, the only value that differs from itself.
            x: Features = {
                name: value for name, value in zip(names, row, strict=True) if value == value
            }
            yield self.split(x)

    def split(self, x: Features) -> Sample:
        """Take the target from a row, and its text apart."""
        y = x.pop(self.target, 0)  # which lacks only where none is needed
        if self.text is not None:
            counts = _WORDS.transform_one(x.pop(self.text, ""))
            x |= {f"{self.text}={word}": count for word, count in counts.items()}
        return x, y


class _Columns(NamedTuple):
    """The columns that are chosen for something."""

    target: str | None
    categorical: Sequence[str]
    drop: Sequence[str]
    text: str | None

    def texts(self) -> list[str]:
        """Return the columns that are read as text."""
        return [*self.categorical, *([] if self.text is None else [self.text])]

    def among(self, names: list[str]) -> _Columns:
        """Return the columns that there are, and the target, which is added to the names."""
        assert self.target is not None
        names += [self.target] * (self.target not in names)
        categorical = [column for column in self.categorical if column in names]
        drop = [column for column in self.drop if column in names]
        text = self.text if self.text in names else None
        return _Columns(self.target, categorical, drop, text)

    def split(self, names: Sequence[str], name: str) -> tuple[str, list[str]]:
        """Return the target (`target` if there is one, or the last) and the features, or raise."""
        for column in self.drop:
            if column not in names:
                raise EvaluationError(f"{name} has no column {column!r} ({suggest(column, names)})")
        names = [column for column in names if column not in self.drop]
        chosen = self.target
        if chosen is None and names:
            chosen = "target" if "target" in names else names[-1]
        if chosen not in names:
            raise EvaluationError(
                f"{name} has no target column {chosen!r} ({suggest(str(chosen), names)})"
            )
        features = [column for column in names if column != chosen]
        if not features:
            raise EvaluationError(f"{name} has no feature beside its target {chosen!r}")
        for column in self.texts():
            if column == chosen:
                raise EvaluationError(
                    f"{column!r} is the target of {name}, not a categorical feature or a text"
                )
            if column not in features:
                raise EvaluationError(
                    f"{name} has no feature column {column!r} ({suggest(column, features)})"
                )
        return chosen, features


def _load_file(
    path: Path,
    columns: _Columns,
    limit: int | None,
    missing: Collection[str] | None,
    layout: Layout,
    task: str | None,
    *,
    needs_target: bool = True,
    numeric: Collection[str] = (),
) -> tuple[Stream, list[str]]:
    """Return the samples in a file, and a line for whatever is odd about it.

    If no target is needed, it is 0.
    """
    known = column_types.texts_of(missing, layout.decimal)
    if str(path) != STANDARD_INPUT:
        _check_path(path)
    n_rows = None if limit is None else max(limit, column_types.ROWS)
    table = read_file(path, layout, columns.texts(), n_rows, 1 + needs_target)
    name, rows = table.name, table.frame
    names = [*rows.columns]
    if not needs_target:
        columns = columns.among(names)
    target, features = columns.split(names, name)
    rows = rows[[*features, target]] if needs_target else rows[features].assign(**{target: 0})
    is_chosen = task is not None
    if task is None:
        is_quantity = column_types.is_quantity(rows[target].dropna().infer_objects(), known)
        task = REGRESSION if is_quantity else CLASSIFICATION
    frame = _labeled(rows, target, limit, task, known, name)
    n_unlabeled = len(rows[:limit]) - len(frame)
    odd = {target: None if table.is_typed else column_types.label_warning(frame[target], known)}
    if odd[target] and not is_chosen and frame[target].nunique() > column_types.MOST_LABELS:
        advice = "task (--task) 'classification' takes them for labels"
        raise EvaluationError(f"{name}: column {target!r}: {odd[target]}; {advice}")
    for column in features:
        before = frame[column]
        options = table, columns, numeric, known
        after, odd[column] = _settled(before, *options)
        if after is not before:  # it takes long where there are thousands
            frame[column] = after
    _refuse_infinite(frame, name)
    kinds = {
        column: pd.api.types.infer_dtype(frame[column], skipna=True)
        for column in features
        if column != columns.text
    }
    n_categorical = [*kinds.values()].count("string")
    dated = dates.of_frame(frames.read_frame(frame[features])).to_native()
    n_new = len(dated.columns) - len(features)
    if n_new:
        frame = dated.assign(**{target: frame[target]})
    title = name if str(path) == STANDARD_INPUT else path.name
    counts = len(frame), len(kinds) + n_new - n_categorical, n_categorical
    samples = _Rows(frame, target, columns.text)
    stream = Stream(title, *counts, samples, n_unlabeled, task, target, columns.text, kinds)
    if table.later is not None and (limit is None or limit > len(rows)):
        needed = target if needs_target else None
        later = _later(table, samples, kinds, needed, known, has_dates=n_new > 0)
        n_more = None if limit is None else limit - len(rows)
        stream = replace(stream, later=itertools.islice(later, n_more))
    return stream, [f"{name}: column {at!r}: {text}" for at, text in odd.items() if text]


def _labeled(
    rows: pd.DataFrame, target: str, limit: int | None, task: str, known: Texts, name: str
) -> pd.DataFrame:
    """Return the first rows, of those with a target, which is made labels or numbers."""
    frame = rows[:limit].copy(deep=False)
    if frame.empty:
        raise EvaluationError(f"{name} has a header but no rows")
    if task == REGRESSION:
        frame[target] = column_types.as_numbers(frame[target], known, name)
    is_labeled = frame[target].notna().to_numpy(dtype=bool)
    if not is_labeled.any():
        where = "" if limit is None else f" in the first {limit} rows"
        raise EvaluationError(
            f"no row of {name} has a label: its column {target!r} is empty{where}; target"
            " (--target) names another"
        )
    if not is_labeled.all():
        frame = frame[is_labeled].copy(deep=False)
    if task == CLASSIFICATION:
        frame[target] = _labels(frame[target], is_complete=bool(is_labeled.all()))
    return frame


def _settled(
    column: pd.Series, table: Table, columns: _Columns, numeric: Collection[str], known: Texts
) -> tuple[pd.Series, str | None]:
    """Return a feature as numbers, booleans, dates or text, and what is odd about it."""
    if table.is_typed:
        column = column.infer_objects()
    if column.name in columns.texts():
        return column_types.as_text(column), None
    if column.name in numeric:
        return column_types.as_numbers(column, known, table.name, "the model takes numbers"), None
    # in quotes, so it is meant as text, whatever it looks like
    is_meant = table.is_typed and pd.api.types.infer_dtype(column, skipna=True) == "string"
    settled, odd = column_types.settle(column, known, is_text=is_meant)
    if odd is None and not isinstance(column.dtype, pd.CategoricalDtype):
        odd = column_types.oddity(settled)
    return settled, odd


def _refuse_infinite(frame: pd.DataFrame, name: str) -> None:
    for column in map(str, frame.select_dtypes("float")):
        is_infinite = np.isinf(frame[column].to_numpy())
        if is_infinite.any():
            row = frame.index[is_infinite.argmax()] + 1  # as in the file, from 1
            raise EvaluationError(
                f"row {row} of {name} has an infinite value in {column!r}, or one that is too large"
                " for float64"
            )


def _later(
    table: Table,
    first: _Rows,
    kinds: dict[str, str],
    target: str | None,
    known: Texts,
    *,
    has_dates: bool,
) -> Iterator[Sample | None]:
    """Yield the samples on standard input that follow, as they come."""
    holds = dict(kinds)
    if target is not None:
        holds[target] = pd.api.types.infer_dtype(first.frame[target], skipna=True)
    if first.text is not None:
        holds[first.text] = "string"
    assert table.later is not None
    for x in live.samples(table.later, len(table.frame) + 1, holds, target, known):
        if x is not None and has_dates:
            x = dates.date_features(x)
        yield None if x is None else first.split(x)


def _check_path(path: Path) -> None:
    try:
        kind = path.stat().st_mode
    except (FileNotFoundError, ValueError) as error:  # the latter for a zero byte
        hint = "" if path.suffix else f" ({suggest(str(path), (*BUNDLED, *STREAMS))})"
        raise EvaluationError(f"no stream or file {str(path)!r}{hint}") from error
    except OSError as error:  # its name is too long, or its folder may not be read
        raise EvaluationError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if not stat.S_ISREG(kind):
        advice = "" if stat.S_ISDIR(kind) else "; - reads standard input"
        raise EvaluationError(f"{str(path)!r} is not a regular file{advice}")


def _labels(labels: pd.Series, *, is_complete: bool) -> pd.Series:
    """Return labels as they would be without the rows that have none."""
    if isinstance(labels.dtype, pd.CategoricalDtype):
        labels = labels.astype(labels.cat.categories.dtype)
    if not is_complete and pd.api.types.is_float_dtype(labels) and (labels % 1 == 0).all():
        return labels.astype("int64")
    return labels.infer_objects()
