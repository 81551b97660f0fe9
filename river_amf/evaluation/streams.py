"""Streams to evaluate on: files, river's datasets, streams that drift, and any pairs."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from river import base, datasets

from river_amf.evaluation import kinds, targets
from river_amf.evaluation.errors import EvaluationError, StreamFailure, described, suggest
from river_amf.evaluation.files import STANDARD_INPUT, CsvTable, Layout, TypedTable, open_table
from river_amf.evaluation.tracks import BUNDLED, STREAMS, is_regression, name_of, open_dataset
from river_amf.kinds import shown

Label = base.typing.ClfTarget
Target = Label | base.typing.RegTarget
Features = dict[base.typing.FeatureName, Any]
Sample = tuple[Features, Any]  # of which the second is a Target


@dataclass(frozen=True)
class Stream:
    """Labeled samples in order; iterating yields pairs of a feature dict and a label or number.

    Parameters
    ----------
    name
        Name of the stream in reports.
    n_samples
        Number of samples.
    n_numeric
        Number of features that are numbers or booleans.
    n_categorical
        Number of features that are strings.
    samples
        Iterable of `n_samples` pairs (features, label). It must be possible to iterate over it more
        than once.
    n_unlabeled
        Number of rows of a file that are not among the samples because they have no label.
    task
        What to predict: `"classification"` (labels) or `"regression"` (numbers).
    target
        Name of the column to predict, if the samples come from a file.

    Examples
    --------
    >>> from river_amf.evaluation import Stream
    >>> stream = Stream("toy", 2, 1, 0, [({"a": 1.0}, "yes"), ({"a": 2.0}, "no")])
    >>> [y for x, y in stream]
    ['yes', 'no']

    """

    name: str
    n_samples: int
    n_numeric: int
    n_categorical: int
    samples: Iterable[Sample] = field(repr=False)
    n_unlabeled: int = 0
    task: str = targets.CLASSIFICATION
    target: str | None = None

    def __iter__(self) -> Iterator[Sample]:
        """Yield the samples from the beginning."""
        return iter(self.samples)


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
    task: str | None = None,
) -> Stream:
    r"""Open a stream by name, or read a file.

    Columns of text are categorical. An empty field is a missing value, and left out of the feature
    dicts. In a column that otherwise holds numbers alone (or booleans), so is what commonly stands
    for a missing value: whatever `pandas.read_csv` takes for one, such as `NA`, `nan` and `null`,
    and `?`. In columns of text, and in the target, these are values like any other. A column of
    numbers with a few other texts is categorical too, which a warning tells.

    Numbers with fractions, or more than 200 distinct ones in the first 1000 rows, are a target for
    regression; anything else is labels. In regression, what stands for a missing value does so in
    the target too.

    Parameters
    ----------
    source
        A name from `BUNDLED` or `STREAMS`, ignoring case; the path of a file; or `"-"` for standard
        input, which is read to its end. A file is CSV, unless its name ends in `.parquet` or `.pq`
        (which takes pyarrow), or in `.jsonl` or `.ndjson` (a JSON object per line). It is
        decompressed if its name goes on with `.gz`.
    target
        Column to predict (files only). By default the column `target` if there is one, otherwise
        the last column. Rows in which it is missing are left out.
    categorical
        Columns to read as text, even if their values look like numbers (files only).
    limit
        Maximum number of samples to read; `None` reads all of them.
    missing
        The texts that stand for missing values in columns of numbers, instead of the common ones
        (files only).
    separator
        The character between the fields of a CSV file. By default a comma, semicolon or tab,
        whichever the first rows suggest; after the others, numbers may have a decimal comma.
    encoding
        Encoding of a file of text, by default UTF-8.
    no_header
        Whether the first row of a CSV file is a sample. The columns are then named `"0"`, `"1"` and
        so on.
    task
        Whether the target is labels (`"classification"`) or a number (`"regression"`). By default
        its values tell, or the dataset does.

    Returns
    -------
    Stream
        The samples, which can be iterated over more than once.

    Warns
    -----
    UserWarning
        If a tenth of the values of a column, or fewer, are text, and all others are numbers; if all
        values look like numbers, but are none to Python, such as "45%" and "1,234.5"; if the
        header of a CSV file seems to be a sample, because there is a number with a fraction or one
        of the labels in it; or if the first column has no name and numbers the rows.

    Raises
    ------
    EvaluationError
        If there is no such stream, file or column, if the file is not a table of features and
        labels or has more than 100,000 columns, or if options of files are given for a stream that
        is none. Also if a target for regression is not a number, or a named stream is for the other
        task.
    MemoryError
        If the file does not fit into memory.
    ValueError
        If there is no such task.

    Examples
    --------
    >>> from river_amf.evaluation import load_stream
    >>> stream = load_stream("bananas", limit=100)
    >>> stream.name, stream.n_samples, stream.n_numeric
    ('Bananas', 100, 2)
    >>> x, y = next(iter(stream))
    >>> sorted(x), type(y)
    (['1', '2'], <class 'bool'>)

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
    targets.check_task(task)
    if not str(source):  # which Path would take for the current folder
        raise EvaluationError("the stream is '': give the path of a file or the name of a stream")
    dataset = open_dataset(str(source))
    if dataset is None:
        path, layout = Path(source), Layout(separator, encoding, no_header)
        stream, oddities = _load_file(path, target, categorical, limit, missing, layout, task)
        for oddity in oddities:
            warnings.warn(oddity, stacklevel=2)
        return stream
    name = name_of(dataset)
    for option, value in [
        ("a target column", target),
        ("categorical columns", categorical or None),
        ("markers of missing values", missing),
        ("a separator", separator),
        ("an encoding", encoding),
        ("no header", no_header or None),
    ]:
        if value is not None:
            raise EvaluationError(f"{option} can only be chosen for a file, not for {name}")
    own = task_of_dataset(dataset)
    if task not in (None, own):
        raise EvaluationError(f"{name} is a stream for {own}, not for {task}")
    n_samples = dataset.n_samples if limit is None else min(limit, dataset.n_samples)
    samples: Iterable[Sample] = _First(dataset, n_samples)
    if name in BUNDLED:  # read to the end, because only then does river close the file
        samples = list(dataset)[:limit]
    first, _ = next(iter(samples))
    n_categorical = sum(isinstance(value, str) for value in first.values())
    n_numeric = len(first) - n_categorical
    return Stream(name, n_samples, n_numeric, n_categorical, samples, task=own)


def task_of_dataset(dataset: datasets.base.Dataset) -> str:
    """Return the task of a dataset of river's."""
    return targets.REGRESSION if is_regression(dataset) else targets.CLASSIFICATION


@dataclass(frozen=True)
class _First:
    """The first samples of a dataset, generated again for each iteration."""

    dataset: datasets.base.Dataset
    n_samples: int

    def __iter__(self) -> Iterator[Sample]:
        yield from self.dataset.take(self.n_samples)


@dataclass(frozen=True)
class _Rows:
    """The rows of a table as samples, created one at a time."""

    frame: pd.DataFrame
    target: str

    def __iter__(self) -> Iterator[Sample]:
        names = list(self.frame.columns)
        for row in self.frame.itertuples(index=False, name=None):
            # Missing values are NaN here, the only value that differs from itself.
            x: Features = {
                name: value for name, value in zip(names, row, strict=True) if value == value
            }
            y = x.pop(self.target)
            yield x, y


def _load_file(
    path: Path,
    target: str | None,
    categorical: Sequence[str],
    limit: int | None,
    missing: Collection[str] | None,
    layout: Layout,
    task: str | None,
) -> tuple[Stream, list[str]]:
    """Return the samples in a file, and a line for whatever is odd about it."""
    known = kinds.markers(missing)
    _check_path(path)
    table = open_table(path, layout)
    name, columns = table.name, table.columns
    chosen = targets.choose_target(columns, target, name)
    features = [column for column in columns if column != chosen]
    _check_categorical(features, categorical, chosen, name)
    rows = table.read(chosen, categorical, limit)
    if task is None:
        is_short = limit is not None and limit < targets.ROWS
        first = table.labels(chosen, targets.ROWS) if is_short else rows[chosen]
        task = targets.task_of(first.dropna(), known, table.decimal)
    if task == targets.REGRESSION:
        numbers = targets.as_numbers(rows[chosen], chosen, known, table.decimal, name)
        if limit is not None and numbers.count() < limit:  # some are missing, as only now is known
            rows = table.read(chosen, categorical, None)
            numbers = targets.as_numbers(rows[chosen], chosen, known, table.decimal, name)
        rows = rows.assign(**{chosen: numbers})
    frame, n_unlabeled = _with_label(rows, chosen, limit, name)
    if task == targets.CLASSIFICATION:
        frame[chosen] = _labels(frame[chosen], is_complete=not n_unlabeled)
    oddities = table.oddities(frame, is_last_target=target is None and chosen == columns[-1])
    for column in features:
        before = frame[column]
        after, mix = (before, None) if column in categorical else _settled(before, known, table)
        if after is not before:  # because it takes long where there are thousands of columns
            frame[column] = after
        if mix is not None:
            oddities.append(mix.described(column, name))
    _check_finite(frame, name)
    is_text = [
        pd.api.types.infer_dtype(frame[column], skipna=True) == "string" for column in features
    ]
    n_categorical = sum(is_text)
    n_numeric = len(features) - n_categorical
    title = name if str(path) == STANDARD_INPUT else path.name
    samples = _Rows(frame, chosen)
    stream = Stream(title, len(frame), n_numeric, n_categorical, samples, n_unlabeled, task, chosen)
    return stream, oddities


def _check_path(path: Path) -> None:
    if str(path) == STANDARD_INPUT:
        return
    try:
        is_there = path.exists()
    except OSError as error:  # its name is too long, or its folder may not be read
        raise EvaluationError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if not is_there:
        hint = suggest(str(path), (*BUNDLED, *STREAMS))
        raise EvaluationError(f"no stream or file {str(path)!r} ({hint})")
    if not path.is_file():
        advice = "" if path.is_dir() else "; - reads standard input"
        raise EvaluationError(f"{str(path)!r} is not a regular file{advice}")


def _with_label(
    frame: pd.DataFrame, target: str, limit: int | None, name: str
) -> tuple[pd.DataFrame, int]:
    """Return the first rows that have a label, and how many before the last of them have none."""
    if frame.empty:
        raise EvaluationError(f"{name} has a header but no rows")
    is_labeled = frame[target].notna().to_numpy(dtype=bool)
    if not is_labeled.any():
        raise EvaluationError(
            f"no row of {name} has a label: its column {target!r} is empty; target (--target) names"
            " another"
        )
    if limit is not None:
        is_labeled = is_labeled[: int(np.searchsorted(is_labeled.cumsum(), limit)) + 1]
        frame = frame[: len(is_labeled)]
    n_unlabeled = int((~is_labeled).sum())
    return (frame[is_labeled] if n_unlabeled else frame).copy(deep=False), n_unlabeled


def _labels(labels: pd.Series, *, is_complete: bool) -> pd.Series:
    """Return labels as they would be without the rows that have none."""
    if isinstance(labels.dtype, pd.CategoricalDtype):
        labels = labels.astype(labels.cat.categories.dtype)
    if not is_complete and pd.api.types.is_float_dtype(labels) and (labels % 1 == 0).all():
        return labels.astype("int64")
    return labels.infer_objects()


def _settled(
    column: pd.Series, known: kinds.Markers, table: TypedTable | CsvTable
) -> tuple[pd.Series, kinds.Mix | kinds.Unread | None]:
    """Return a feature as numbers, booleans or text, and what text there is among numbers."""
    if table.is_typed:
        column = column.infer_objects()
        if pd.api.types.infer_dtype(column, skipna=True) == "string":
            return column, None  # in quotes, so it is meant as text, whatever it looks like
    return kinds.settle(column, known, table.decimal)


def _check_categorical(
    features: list[str], categorical: Sequence[str], target: str, name: str
) -> None:
    for column in categorical:
        if column == target:
            raise EvaluationError(f"{column!r} is the target of {name}, not a categorical feature")
        if column not in features:
            raise EvaluationError(
                f"{name} has no feature column {column!r} ({suggest(column, features)})"
            )


def _check_finite(frame: pd.DataFrame, name: str) -> None:
    """Raise at the first infinite value; rows are numbered as in the file, from 1."""
    for column in frame.select_dtypes("float"):
        is_infinite = np.isinf(frame[column].to_numpy())
        if is_infinite.any():
            row = frame.index[is_infinite.argmax()] + 1
            raise EvaluationError(
                f"row {row} of {name} has an infinite value in {column!r}, or one that is too large"
                " for float64"
            )


def check_pairs(samples: Iterable[Any]) -> Iterator[Sample]:
    """Yield the samples; raise EvaluationError at one that is not a (features, label) pair."""
    for n, sample in enumerate(samples, start=1):
        if not isinstance(sample, tuple | list) or len(sample) != 2:
            raise EvaluationError(f"sample {n} must be a pair (x, y), got {shown(sample)}")
        x, y = sample
        yield x, y


def read_pairs(samples: Iterable[Any]) -> Iterator[Sample]:
    """Yield the samples; raise StreamFailure at one that is not a pair, or if the stream raises."""
    try:
        yield from check_pairs(samples)
    except (GeneratorExit, KeyboardInterrupt):  # not raised by the stream
        raise
    except EvaluationError as error:
        raise StreamFailure(str(error)) from error
    except BaseException as error:
        raise StreamFailure(f"the stream cannot be read: {described(error)}") from error
