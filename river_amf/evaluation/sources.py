"""Streams from all that is accepted as one: a name, a path, pairs, or a table.

The rows of a table come as blocks for a forest, or as samples for river.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base, datasets

from river_amf.evaluation import tasks
from river_amf.evaluation.loading import load_stream, task_of_dataset
from river_amf.evaluation.streams import ROWS, Sample, Stream, is_quantity, task_of_values
from river_amf.evaluation.tasks import CLASSIFICATION, REGRESSION, Task
from river_amf.evaluation.tracks import STREAMS, DriftStream
from river_amf.evaluation.usage_errors import (
    EvaluationError,
    StreamFailure,
    error_line,
    is_of_handler,
)
from river_amf.inputs import sparse_rows
from river_amf.inputs.frames import as_samples, read_vector
from river_amf.inputs.kinds import shown

_Column = NDArray[Any]

_ROWS_AT_ONCE = 4096  # that are made into Python objects


class Source(NamedTuple):
    """The samples, the same for every iteration, the name of the stream and its task."""

    name: str
    n_samples: int
    samples: Iterable[Sample]
    task: Task
    reason: str  # for this task, after a comma
    drifts: tuple[int, ...]  # where it is known to drift
    has_words: bool = False  # of a text, so that what is absent counts as 0


def read_source(
    dataset: Any, limit: int | None, task: Task | None = None, of_models: Task | None = None
) -> Source:
    """Return the samples of anything that is accepted as a dataset, or raise.

    Without a task it is that of the models, or else that which the targets suggest.
    """
    dataset = _opened(dataset, limit, task, of_models)
    if isinstance(dataset, Stream):
        dataset = dataset.complete()
    name = dataset.name if isinstance(dataset, Stream | DriftStream) else type(dataset).__name__
    samples: Iterable[Sample]
    if isinstance(dataset, Stream) and (limit is None or limit >= dataset.n_samples):
        n_samples, samples = dataset.n_samples, dataset
    else:
        needs_labels = task is None and of_models is CLASSIFICATION
        kept = _keep(dataset, limit, needs_labels=needs_labels)
        n_samples, samples = len(kept), kept
    if not n_samples:
        raise EvaluationError(f"{name} has no samples; note that a generator can be read only once")
    if task is None and of_models is REGRESSION:
        _, y = next(iter(samples))
        if isinstance(y, str | bool | np.bool_):
            raise EvaluationError(
                f"{name} holds labels such as {shown(y)}, and the models are regressors: take"
                " classifiers, or let booleans be numbers (task='regression')"
            )
    reason = reason_of(dataset) if task is None and isinstance(dataset, Stream) else ""
    chosen = task or of_models or _suggested(dataset, samples)
    known = STREAMS.get(name) if isinstance(dataset, Stream) and not dataset.target else dataset
    drifts = known.drifts if isinstance(known, DriftStream) else ()
    drifts = tuple(place for place in drifts if place < n_samples)
    has_words = isinstance(dataset, Stream) and dataset.text is not None
    return Source(name, n_samples, samples, chosen, reason, drifts, has_words)


def load_for(source: str | Path, model: base.Estimator | None) -> Stream:
    """Open a stream by name or path, for a model."""
    stream: Stream = _opened(source, None, None, tasks.of_model(model))
    return stream


def _opened(dataset: Any, limit: int | None, task: Task | None, of_models: Task | None) -> Any:
    """Return the stream of a name or path, with the target as regressors need it, or the dataset.

    Raise if models for labels get a stream of numbers that are not declared to be labels.
    """
    if isinstance(dataset, str | Path):
        chosen = task or (of_models if of_models is REGRESSION else None)
        dataset = load_stream(dataset, limit=limit, task=chosen.name if chosen else None)
    is_of_numbers = isinstance(dataset, Stream) and dataset.task == REGRESSION.name
    if is_of_numbers and task is None and of_models is CLASSIFICATION:
        raise EvaluationError(
            f"{dataset.name} is for regression{reason_of(dataset)}, and the models are classifiers:"
            " take regressors, or name the column with the labels (target), or let the numbers be"
            " labels (task='classification')"
        )
    return dataset


def reason_of(stream: Stream) -> str:
    """Return why a file is taken for regression, after a comma."""
    if stream.task != REGRESSION.name or stream.target is None:
        return ""
    _, y = next(iter(stream))
    return f", as {stream.target!r} holds numbers such as {y:g}"


def _suggested(dataset: Any, samples: Iterable[Sample]) -> Task:
    """Return the task that a stream has, or that its first targets suggest."""
    if isinstance(dataset, Stream):
        return tasks.TASKS[dataset.task]
    if isinstance(dataset, datasets.base.Dataset):
        return tasks.TASKS[task_of_dataset(dataset)]
    first = [y for _, y in itertools.islice(samples, ROWS)]
    return tasks.TASKS[task_of_values(first)]


def _keep(dataset: Any, limit: int | None, *, needs_labels: bool) -> list[Sample]:
    """Return the samples in a list."""
    # A generator can be read only once, and an unseeded river generator differs every time.
    samples = _samples_of(dataset, None if limit else "set a limit", needs_labels=needs_labels)
    is_file = isinstance(dataset, datasets.base.FileDataset)
    if is_file and not isinstance(dataset, datasets.base.RemoteDataset):
        return list(read_pairs(samples))[:limit]  # to the end, where river closes the file
    return list(itertools.islice(read_pairs(samples), limit))


def _samples_of(dataset: Any, advice: str | None, *, needs_labels: bool) -> Iterable[Any]:
    """Return the rows of a dataframe, or samples; raise with the advice if they are endless.

    `needs_labels` is whether to raise if the labels of a dataframe are a quantity.
    """
    is_endless = isinstance(dataset, datasets.base.SyntheticDataset) and dataset.n_samples is None
    if is_endless and advice:
        raise EvaluationError(f"{type(dataset).__name__} is endless; {advice}")
    samples = iter_samples(dataset, needs_labels=needs_labels)
    if not isinstance(samples, Iterable):
        raise EvaluationError(
            "dataset must be a stream or its name, an iterable of pairs (features, label),"
            f" a dataframe, or a tuple (X, y), got {shown(dataset)}"
        )
    return samples


@dataclass(frozen=True)
class Table:
    """Rows of features in a dataframe, with their labels and perhaps weights."""

    X: nw.DataFrame[Any]
    y: _Column
    w: _Column | None

    def __len__(self) -> int:
        return len(self.X)

    def blocks(self, length: int, step: float = 0) -> Iterator[Table]:
        """Yield blocks of at most `length` rows; one ends at each multiple of a whole step > 0."""
        is_count = step > 0 and step % 1 == 0
        start = 0
        while start < len(self):
            end = min(start + length, len(self))
            if is_count:
                end = min(end, start - start % int(step) + int(step))
            w = None if self.w is None else self.w[start:end]
            yield Table(self.X[start:end], self.y[start:end], w)
            start = end

    def native(self) -> tuple[Any, Any, Any]:
        """Return X, y and w as they were given, for the methods of a forest."""
        return self.X.to_native(), self.y, self.w

    def labels(self) -> list[Any]:
        """Return the labels as native Python objects."""
        labels: list[Any] = self.y.tolist()
        return labels

    def samples(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows one by one, as samples for river."""
        for block in self.blocks(_ROWS_AT_ONCE):
            yield from _labeled_samples(as_samples(block.X), block.y, block.w)


def iter_samples(dataset: Any, *, needs_labels: bool = False) -> Iterable[Any]:
    """Return the rows of a dataframe, sparse matrix or series as samples, others unchanged.

    `needs_labels` is as in `read_table`.
    """
    table = read_table(dataset, needs_labels=needs_labels)
    if table is not None:
        return table.samples()
    X = dataset[0] if isinstance(dataset, tuple) and dataset else None
    series = nw.from_native(X, series_only=True, pass_through=True)
    if sparse_rows.is_matrix(X):
        rows = sparse_rows.read_rows(X)
        return _labeled_samples(rows.samples(), *_labels_and_weights(dataset, rows.n_rows))
    if isinstance(series, nw.Series):
        return _labeled_samples(series.to_list(), *_labels_and_weights(dataset, len(series)))
    samples: Iterable[Any] = dataset
    return samples


def _labeled_samples(xs: Iterable[Any], y: _Column, w: _Column | None) -> Iterator[tuple[Any, ...]]:
    """Yield samples for river, with their weights if there are any."""
    columns = [y.tolist()]
    if w is not None:
        columns.append([{"w": weight} for weight in w.tolist()])
    return zip(xs, *columns, strict=True)


def read_table(dataset: Any, *, needs_labels: bool = False) -> Table | None:
    """Return the table for a dataframe or a tuple with one, or None for anything else.

    `needs_labels` is whether to raise if the label column of a dataframe is a quantity. In a tuple,
    a two-dimensional array will do; its columns are named 0, 1, 2 and so on.
    """
    parts = dataset if isinstance(dataset, tuple) else (dataset,)
    if isinstance(dataset, tuple) and parts and isinstance(parts[0], np.ndarray):
        if parts[0].ndim != 2:
            raise ValueError(
                f"X must be a dataframe or a two-dimensional array, got shape {parts[0].shape}"
            )
        parts = (pd.DataFrame(parts[0]).infer_objects(), *parts[1:])
    frame = nw.from_native(parts[0], pass_through=True) if parts else None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"a dataframe must be in memory, got a lazy one of type {type(parts[0]).__name__}; "
            "collect it first"
        )
    if not isinstance(frame, nw.DataFrame):
        return None
    if not isinstance(dataset, tuple):
        return _split_label(frame, needs_labels=needs_labels)
    labels, weights = _labels_and_weights(parts, len(frame))
    if not frame.columns:
        raise ValueError("X must have at least one feature, but has no columns")
    return Table(frame, labels, weights)


def _labels_and_weights(parts: tuple[Any, ...], n_rows: int) -> tuple[_Column, _Column | None]:
    """Return the y and w of a tuple (X, y) or (X, y, w), or raise."""
    if len(parts) not in (2, 3):
        raise ValueError(f"a tuple must be (X, y) or (X, y, w), got {len(parts)} elements")
    y = _as_column("y", parts[1], n_rows)
    w = parts[2] if len(parts) == 3 else None
    return y, None if w is None else _as_column("w", w, n_rows)


def _split_label(frame: nw.DataFrame[Any], *, needs_labels: bool) -> Table:
    """Split the labels off a dataframe: the column `target`, or else the last one."""
    names = frame.columns
    if len(names) < 2:
        raise ValueError(
            "a dataframe must have a label column and at least one feature column, "
            f"got the columns {shown(names)}; pass (X, y) if the labels are elsewhere"
        )
    label = names.index("target") if "target" in names else len(names) - 1
    first = pd.Series(frame[:ROWS, label].to_list()).dropna()
    if needs_labels and is_quantity(first):
        raise ValueError(
            f"{first.nunique()} distinct labels in {len(first)} rows: is {shown(names[label])} the"
            f" target? They are numbers such as {first.iloc[0]}; pass (X, y), with this column or"
            " another as y, or take a regressor"
        )
    # By position and in a list, because pandas column names need not be strings.
    return Table(frame.drop([names[label]]), _as_column("y", frame[:, label], len(frame)), None)


def _as_column(name: str, values: Any, n_rows: int) -> NDArray[Any]:
    """Return labels or weights as an array, of objects if not of numbers or booleans; or raise."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series | np.ndarray | list):
        series = nw.from_native(read_vector(name, values, n_rows), pass_through=True)
    if isinstance(series, nw.Series):
        is_plain = series.dtype.is_numeric() or series.dtype == nw.Boolean
        series = series.to_numpy() if is_plain and not series.null_count() else series.to_list()
    if isinstance(series, np.ndarray) and series.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got an array of shape {series.shape}")
    if len(series) != n_rows:
        raise ValueError(
            f"{name} must have one value per row of X: X has {n_rows} rows, {name} has"
            f" {len(series)} values"
        )
    if isinstance(series, list):
        return np.fromiter(series, object, n_rows)
    column: NDArray[Any] = series
    return column


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
