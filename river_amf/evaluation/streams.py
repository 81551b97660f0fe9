"""Streams to evaluate on: files, river's datasets, streams that drift, and any pairs."""

from __future__ import annotations

import itertools
import stat
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from river import base, datasets
from river.feature_extraction import BagOfWords

from river_amf.evaluation import column_types, live
from river_amf.evaluation.column_types import CLASSIFICATION, REGRESSION
from river_amf.evaluation.files import STANDARD_INPUT, Layout, read_file
from river_amf.evaluation.tracks import BUNDLED, STREAMS, dataset_name, is_regression, open_dataset
from river_amf.evaluation.usage_errors import (
    EvaluationError,
    StreamFailure,
    error_line,
    is_of_handler,
    suggest,
)
from river_amf.inputs import dates, frames
from river_amf.inputs.kinds import shown

Label = base.typing.ClfTarget
Target = Label | base.typing.RegTarget
_WORDS: Any = BagOfWords()  # which only takes texts apart here

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
        Number of samples, without those that are yet to come.
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
    text
        Name of the column that is a bag of words, whose absent features count as 0.
    kinds
        What the other features are, by name, if the samples come from a file: `"string"`,
        `"boolean"`, `"integer"`, `"floating"` or another name that pandas infers.
    later
        Samples that follow on standard input, as they come, None for rows without a label; they can
        be read only once.

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
    task: str = CLASSIFICATION
    target: str | None = None
    text: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict, repr=False)
    later: Iterator[Sample | None] | None = field(default=None, repr=False)

    def __iter__(self) -> Iterator[Sample]:
        """Yield the samples from the beginning."""
        yield from self.samples
        if self.later is not None:
            yield from filter(None, self.later)

    def kept(self) -> Stream:
        """Return the stream with all of its samples, which can be read more than once.

        >>> load_stream("Bananas", limit=9).kept().n_samples
        9
        """
        if self.later is None:
            return self
        later = list(self.later)
        samples = [*self.samples, *filter(None, later)]
        n_unlabeled = self.n_unlabeled + later.count(None)
        n_samples = len(samples)
        return replace(
            self, samples=samples, n_samples=n_samples, n_unlabeled=n_unlabeled, later=None
        )


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

    Columns of text are categorical. Of dates, such as `2024-05-17` or `2024-05-17 13:30`, the
    features are those of `river_amf.date_features`, unless they are named in `categorical`. An
    empty field is a missing value, and left out of the feature dicts. In a column that otherwise
    holds numbers alone (or booleans, or dates), so is what commonly stands for a missing value:
    whatever `pandas.read_csv` takes for one, such as `NA`, `nan` and `null`, and `?`. In columns of
    text, and in the target, these are values like any other.

    Numbers with fractions, or more than 50 distinct ones in the first 1000 rows, are a target for
    regression; anything else is labels. In regression, what stands for a missing value does so in
    the target too.

    What cannot be used raises EvaluationError, such as a file of more than 100,000 columns. A
    column of numbers in which a tenth or less is text, or of numbers with a decimal comma, gives a
    UserWarning; so does a column of texts that are all distinct, all numbers, whole sentences or
    amounts of money.

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
        for column in (*self.categorical, *([] if self.text is None else [self.text])):
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
    texts = {*columns.categorical, *([] if columns.text is None else [columns.text])}
    name, rows, is_typed, later = read_file(path, layout, [*texts], n_rows, 1 + needs_target)
    names = [*rows.columns]
    if not needs_target:
        columns = columns.among(names)
    chosen, features = columns.split(names, name)
    rows = rows[[*features, chosen]] if needs_target else rows[features].assign(**{chosen: 0})
    if task is None:
        is_quantity = column_types.is_quantity(rows[chosen].dropna().infer_objects(), known)
        task = REGRESSION if is_quantity else CLASSIFICATION
    frame = rows[:limit].copy(deep=False)
    if frame.empty:
        raise EvaluationError(f"{name} has a header but no rows")
    if task == REGRESSION:
        frame[chosen] = column_types.as_numbers(frame[chosen], known, name)
    is_labeled = frame[chosen].notna().to_numpy(dtype=bool)
    n_unlabeled = int((~is_labeled).sum())
    if n_unlabeled == len(frame):
        where = "" if limit is None else f" in the first {limit} rows"
        raise EvaluationError(
            f"no row of {name} has a label: its column {chosen!r} is empty{where}; target"
            " (--target) names another"
        )
    if n_unlabeled:
        frame = frame[is_labeled].copy(deep=False)
    if task == CLASSIFICATION:
        frame[chosen] = _labels(frame[chosen], is_complete=not n_unlabeled)
    oddities = {chosen: None if is_typed else column_types.label_warning(frame[chosen], known)}
    for column in features:
        before = frame[column].infer_objects() if is_typed else frame[column]
        # in quotes, so it is meant as text, whatever it looks like
        is_meant = is_typed and pd.api.types.infer_dtype(before, skipna=True) == "string"
        if column in texts:
            frame[column] = column_types.as_text(before)
            continue
        if column in numeric:
            frame[column] = column_types.as_numbers(before, known, name, "the model takes numbers")
            continue
        after, oddities[column] = column_types.settle(before, known, is_text=is_meant)
        if is_typed or after is not before:  # it takes long where there are thousands
            frame[column] = after
        if not isinstance(before.dtype, pd.CategoricalDtype):
            oddities[column] = oddities.get(column) or column_types.oddity(after)
    for column in map(str, frame.select_dtypes("float")):
        is_infinite = np.isinf(frame[column].to_numpy())
        if is_infinite.any():
            row = frame.index[is_infinite.argmax()] + 1  # as in the file, from 1
            raise EvaluationError(
                f"row {row} of {name} has an infinite value in {column!r}, or one that is too large"
                " for float64"
            )
    kinds = {
        column: pd.api.types.infer_dtype(frame[column], skipna=True)
        for column in features
        if column != columns.text
    }
    n_categorical = [*kinds.values()].count("string")
    dated = dates.of_frame(frames.read_frame(frame[features])).to_native()
    n_new = len(dated.columns) - len(features)
    if n_new:
        frame = dated.assign(**{chosen: frame[chosen]})
    title = name if str(path) == STANDARD_INPUT else path.name
    counts = len(frame), len(kinds) + n_new - n_categorical, n_categorical
    samples = _Rows(frame, chosen, columns.text)
    stream = Stream(title, *counts, samples, n_unlabeled, task, chosen, columns.text, kinds)
    if later is not None and (limit is None or limit > len(rows)):
        label = {chosen: pd.api.types.infer_dtype(frame[chosen], skipna=True)}
        holds = {**kinds, **(label if needs_target else {})}
        holds |= {} if columns.text is None else {columns.text: "string"}
        coming = itertools.islice(later, None if limit is None else limit - len(rows))
        needed = chosen if needs_target else None
        read = live.samples(coming, len(rows) + 1, holds, needed, known)
        as_read = dates.date_features if n_new else dict
        split = (None if x is None else samples.split(as_read(x)) for x in read)
        stream = replace(stream, later=split)
    return stream, [f"{name}: column {at!r}: {text}" for at, text in oddities.items() if text]


def _check_path(path: Path) -> None:
    try:
        kind = path.stat().st_mode
    except (FileNotFoundError, ValueError) as error:  # the latter for a zero byte
        hint = suggest(str(path), (*BUNDLED, *STREAMS))
        raise EvaluationError(f"no stream or file {str(path)!r} ({hint})") from error
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
        if is_of_handler(error):
            raise
        raise StreamFailure(f"the stream cannot be read: {error_line(error)}") from error
