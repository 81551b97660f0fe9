"""Streams to evaluate on: CSV files, river's datasets, streams that drift, and any pairs."""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base, datasets

from river_amf.evaluation.errors import EvaluationError, StreamFailure, described, suggest
from river_amf.evaluation.tracks import BUNDLED, STREAMS, DriftStream, open_dataset
from river_amf.kinds import shown

Label = base.typing.ClfTarget
Features = dict[base.typing.FeatureName, Any]
Sample = tuple[Features, Label]

_MAX_COLUMNS = 100_000  # pandas takes about a millisecond for each, and every node room for each
_LONGEST_HEADER = 2**26  # bytes to look for columns in, if a file has no line breaks


@dataclass(frozen=True)
class Stream:
    """Labeled samples in order; iterating yields pairs of a feature dict and a label.

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

    def __iter__(self) -> Iterator[Sample]:
        """Yield the samples from the beginning."""
        return iter(self.samples)


def load_stream(
    source: str,
    target: str | None = None,
    categorical: Sequence[str] = (),
    limit: int | None = None,
) -> Stream:
    """Open a stream by name, or read a CSV file.

    In a CSV file, text columns are categorical, and only an empty field is a missing value; missing
    values are left out of the feature dicts.

    Parameters
    ----------
    source
        A name from `BUNDLED` or `STREAMS`, ignoring case, or the path of a CSV file in UTF-8. A
        file whose name ends in `.gz` is decompressed.
    target
        Column with the labels (CSV files only). By default the column `target` if there is one,
        otherwise the last column.
    categorical
        Columns to read as text, even if their values look like numbers (CSV files only).
    limit
        Maximum number of samples to read; `None` reads all of them.

    Returns
    -------
    Stream
        The samples, which can be iterated over more than once.

    Raises
    ------
    EvaluationError
        If there is no such stream, file or column, if the file is not a table of features and
        labels or has more than 100,000 columns, or if `target` or `categorical` is given for a
        stream that is not a CSV file.
    MemoryError
        If the file does not fit into memory.

    Examples
    --------
    >>> from river_amf.evaluation import load_stream
    >>> stream = load_stream("bananas", limit=100)
    >>> stream.name, stream.n_samples, stream.n_numeric
    ('Bananas', 100, 2)
    >>> x, y = next(iter(stream))
    >>> sorted(x), type(y)
    (['1', '2'], <class 'bool'>)

    """
    if not source:  # which Path would take for the current folder
        raise EvaluationError(
            "the stream is '': give the path of a CSV file or the name of a stream"
        )
    dataset = open_dataset(source)
    if dataset is None:
        return _load_csv(Path(source), target, categorical, limit)
    name = dataset.name if isinstance(dataset, DriftStream) else type(dataset).__name__
    if target is not None or categorical:
        option = "categorical columns" if target is None else "a target column"
        raise EvaluationError(f"{option} can only be chosen for a CSV file, not for {name}")
    n_samples = dataset.n_samples if limit is None else min(limit, dataset.n_samples)
    samples: Iterable[Sample] = _First(dataset, n_samples)
    if name in BUNDLED:  # read to the end, because only then does river close the file
        samples = list(dataset)[:limit]
    return Stream(name, n_samples, dataset.n_features, 0, samples)


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


def _load_csv(
    path: Path, target: str | None, categorical: Sequence[str], limit: int | None
) -> Stream:
    try:
        is_there = path.exists()
    except OSError as error:  # its name is too long, or its folder may not be read
        raise EvaluationError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if not is_there:
        hint = suggest(str(path), (*BUNDLED, *STREAMS))
        raise EvaluationError(f"no stream or file {str(path)!r} ({hint})")
    if not path.is_file():
        raise EvaluationError(f"{str(path)!r} is not a regular file")
    columns = _read_header(path)
    target = _choose_target(columns, target, path)
    _check_categorical(columns, categorical, target, path)
    types = dict.fromkeys(categorical, str)
    frame = _read_table(path, names=columns, header=0, nrows=limit, dtype=types)
    _check_values(frame, target, path)
    features = [frame[column] for column in columns if column != target]
    kinds = [pd.api.types.infer_dtype(feature, skipna=True) for feature in features]
    n_categorical = kinds.count("string")
    n_numeric = len(kinds) - n_categorical
    return Stream(path.name, len(frame), n_numeric, n_categorical, _Rows(frame, target))


def _read_table(path: Path, **options: Any) -> pd.DataFrame:
    """Read a CSV file; only empty fields are missing, and no field is dropped silently."""
    with _reading(path), warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        table: pd.DataFrame = pd.read_csv(
            path,
            compression="gzip" if _is_gzipped(path) else None,
            index_col=False,
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
            **options,
        )
    return table


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise EvaluationError for whatever is wrong with a file."""
    try:
        yield
    except pd.errors.ParserWarning as error:
        raise EvaluationError(f"{path} has a row with more fields than its header") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        if "out of memory" in str(error):  # which pandas raises as a ValueError
            raise MemoryError(f"cannot read {path}") from error
        reason = getattr(error, "strerror", None) or error
        raise EvaluationError(f"cannot read {path} as CSV: {reason}") from error


def _is_gzipped(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _read_header(path: Path) -> list[str]:
    _check_width(path)
    first_row = _read_table(path, header=None, nrows=1, dtype=str).fillna("")
    columns: list[str] = first_row.iloc[0].tolist()
    column, occurrences = Counter(columns).most_common(1)[0]
    if occurrences > 1:
        raise EvaluationError(f"{path} has more than one column named {column!r}")
    if len(columns) == 1:
        raise EvaluationError(
            f"{path} has only one column, {columns[0]!r}: are its fields separated by commas?"
        )
    return columns


def _check_width(path: Path) -> None:
    """Raise if a file has too many columns, before pandas spends minutes on them."""
    with _reading(path), gzip.open(path) if _is_gzipped(path) else open(path, "rb") as file:
        n_columns = file.readline(_LONGEST_HEADER).count(b",") + 1
    if n_columns > _MAX_COLUMNS:
        raise EvaluationError(
            f"{path} has {n_columns} columns; at most {_MAX_COLUMNS} can be read, because each one"
            " takes room in every node of a tree"
        )


def _choose_target(columns: list[str], target: str | None, path: Path) -> str:
    if target is None:
        return "target" if "target" in columns else columns[-1]
    if target not in columns:
        raise EvaluationError(
            f"{path} has no target column {target!r} ({suggest(target, columns)})"
        )
    return target


def _check_categorical(
    columns: list[str], categorical: Sequence[str], target: str, path: Path
) -> None:
    features = [column for column in columns if column != target]
    for column in categorical:
        if column == target:
            raise EvaluationError(f"{column!r} is the target of {path}, not a categorical feature")
        if column not in features:
            raise EvaluationError(
                f"{path} has no feature column {column!r} ({suggest(column, features)})"
            )


def _check_values(frame: pd.DataFrame, target: str, path: Path) -> None:
    """Raise unless the table has rows, every row has a label and every number is finite."""
    if frame.empty:
        raise EvaluationError(f"{path} has a header but no rows")
    row = _first_row(frame[target].isna().to_numpy())
    if row is not None:
        raise EvaluationError(f"row {row} of {path} has no label: its field {target!r} is empty")
    for column in frame.select_dtypes("float"):
        row = _first_row(np.isinf(frame[column].to_numpy()))
        if row is not None:
            raise EvaluationError(f"row {row} of {path} has an infinite value in {column!r}")


def _first_row(holds: NDArray[np.bool_]) -> int | None:
    """Return the number, from 1, of the first row where the condition holds, or None."""
    return int(holds.argmax()) + 1 if holds.any() else None


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
