"""Streams from all that is accepted as one: a name, a path, pairs, or a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from river import datasets

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
from river_amf.inputs.frames import as_samples
from river_amf.inputs.kinds import shown


class Source(NamedTuple):
    """The samples, the same for every iteration, the name of the stream and its task."""

    name: str
    n_samples: int
    samples: Iterable[Sample]
    task: Task
    reason: str  # for this task, after a comma
    drifts: tuple[int, ...]  # where it is known to drift
    has_words: bool = False  # of a text, so that what is absent counts as 0
    target: str | None = None  # the name of its column, if it is known


def read_source(
    dataset: Any,
    limit: int | None = None,
    task: Task | None = None,
    of_models: Task | None = None,
    target: Any = None,
) -> Source:
    """Return the samples of anything that is accepted as a dataset, or raise.

    Without a task it is that of the models, or else that which the targets suggest.
    """
    if isinstance(dataset, str | Path):
        chosen = task or (of_models if of_models is REGRESSION else None)
        options: dict[str, Any] = {"task": chosen.name if chosen else None, "limit": limit}
        dataset = load_stream(dataset, target, **options)
        target = None
    if isinstance(dataset, Stream):
        if target is not None:
            raise EvaluationError(f"{dataset.name} is a stream, which has its target already")
        dataset = dataset.complete()
        _check_models(dataset, task, of_models)
    is_named = isinstance(dataset, Stream | DriftStream)
    name = str(dataset.name) if is_named else type(dataset).__name__
    samples: Any = dataset
    if not isinstance(dataset, Stream) or (limit is not None and limit < dataset.n_samples):
        is_endless = isinstance(dataset, datasets.base.SyntheticDataset) and not dataset.n_samples
        if is_endless and limit is None:
            raise EvaluationError(f"{name} is endless; set a limit")
        pairs = read_pairs(_pairs(dataset, target, task, of_models))
        is_file = isinstance(dataset, datasets.base.FileDataset)  # which river closes at its end
        samples = list(pairs)[:limit] if is_file else list(itertools.islice(pairs, limit))
    n_samples = dataset.n_samples if samples is dataset else len(samples)
    if not n_samples:
        raise EvaluationError(f"{name} has no samples; note that a generator can be read only once")
    _, y = next(iter(read_pairs(samples)))
    if task is None and of_models is REGRESSION and isinstance(y, str | bool | np.bool_):
        raise EvaluationError(
            f"{name} holds labels such as {shown(y)}, and the models are regressors: take"
            " classifiers, or let booleans be numbers (task='regression')"
        )
    known = STREAMS.get(name) if isinstance(dataset, Stream) and not dataset.target else dataset
    drifts = known.drifts if isinstance(known, DriftStream) else ()
    return Source(
        name,
        n_samples,
        samples,
        task or of_models or _suggested(dataset, samples),
        reason_of(dataset) if task is None and isinstance(dataset, Stream) else "",
        tuple(place for place in drifts if place < n_samples),
        isinstance(dataset, Stream) and dataset.text is not None,
        dataset.target if isinstance(dataset, Stream) else None,
    )


def _check_models(stream: Stream, task: Task | None, of_models: Task | None) -> None:
    """Raise if classifiers get a stream of numbers that are not declared to be labels."""
    if stream.task == REGRESSION.name and task is None and of_models is CLASSIFICATION:
        raise EvaluationError(
            f"{stream.name} is for regression{reason_of(stream)}, and the models are classifiers:"
            " take regressors, or name the column with the labels (target), or let the numbers be"
            " labels (task='classification')"
        )


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
    return tasks.TASKS[task_of_values([y for _, y in itertools.islice(samples, ROWS)])]


def _pairs(dataset: Any, target: Any, task: Task | None, of_models: Task | None) -> Iterable[Any]:
    """Return the rows of a table as pairs, and pairs as they are, or raise."""
    X, y = dataset, target
    if isinstance(dataset, tuple) and len(dataset) == 2 and _is_table(dataset[0]):
        X, y = dataset
    if not _is_table(X):
        if y is not None or not isinstance(X, Iterable):
            raise EvaluationError(
                "dataset must be a stream or its name, an iterable of pairs (features, label), or a"
                f" table, with a target if its is not in a column, got {shown(dataset)}"
            )
        return X
    if isinstance(X, np.ndarray):
        X = pd.DataFrame(X).infer_objects()
    if sparse_rows.is_matrix(X):
        rows: Any = sparse_rows.read_rows(X)
    else:
        rows = nw.from_native(X, allow_series=True)
        if isinstance(rows, nw.LazyFrame):
            raise TypeError(f"a dataframe must be in memory, got {shown(type(X))}; collect it")
        if isinstance(rows, nw.DataFrame) and (y is None or isinstance(y, str | int)):
            rows, y = _split(rows, y)
            if task is None and of_models is CLASSIFICATION and is_quantity(pd.Series(y).dropna()):
                raise EvaluationError(
                    f"the target holds numbers such as {y[0]}, and the models are classifiers: take"
                    " regressors, or name another column (target), or let the numbers be labels"
                    " (task='classification')"
                )
        rows = as_samples(rows) if isinstance(rows, nw.DataFrame) else rows.to_list()
    targets = y if isinstance(y, list | tuple) else np.asarray(y).tolist()
    xs = list(rows)
    if not isinstance(targets, list | tuple) or len(targets) != len(xs):
        raise EvaluationError(f"X has {len(xs)} rows, but the target is not as many values")
    return list(zip(xs, targets, strict=True))


def _is_table(X: Any) -> bool:
    """Return whether this is a dataframe, a series, a matrix or a two-dimensional array."""
    known = nw.from_native(X, allow_series=True, pass_through=True)
    is_frame = isinstance(known, nw.DataFrame | nw.LazyFrame | nw.Series)
    return is_frame or (isinstance(X, np.ndarray) and X.ndim == 2) or sparse_rows.is_matrix(X)


def _split(frame: nw.DataFrame[Any], target: Any) -> tuple[nw.DataFrame[Any], list[Any]]:
    """Split off a column: the target, the one of this name, or else the last one."""
    names = frame.columns
    if target is None and names:
        target = "target" if "target" in names else names[-1]
    if target not in names or len(names) < 2:
        raise EvaluationError(
            f"a dataframe must have a target column and at least one feature column, got the"
            f" columns {shown(names)} and target={target!r}"
        )
    # by position and in a list, because pandas column names need not be strings
    return frame.drop([target]), frame[:, names.index(target)].to_list()


def read_pairs(samples: Iterable[Any]) -> Iterator[Sample]:
    """Yield the samples; raise StreamFailure at one that is not a pair, or if the stream raises."""
    try:
        for n, sample in enumerate(samples, start=1):
            if not isinstance(sample, tuple | list) or len(sample) != 2:
                raise StreamFailure(f"sample {n} must be a pair (x, y), got {shown(sample)}")
            x, y = sample
            yield x, y
    except (GeneratorExit, KeyboardInterrupt, EvaluationError):
        raise
    except BaseException as error:
        if is_of_handler(error):
            raise
        raise StreamFailure(f"the stream cannot be read: {error_line(error)}") from error
