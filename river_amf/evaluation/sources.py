"""Everything that is accepted as a stream: a name, a path, pairs, or a table."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from river.datasets import base

from river_amf.evaluation.loading import check_task, load_stream
from river_amf.evaluation.models import Task
from river_amf.evaluation.streams import REGRESSION, Sample, Stream, task_of_values
from river_amf.evaluation.tracks import dataset_name, read_dataset
from river_amf.evaluation.usage_errors import EvaluationError, StreamFailure, error_line
from river_amf.inputs import frames
from river_amf.inputs.frames import as_samples
from river_amf.inputs.kinds import shown


def read_source(
    dataset: Any,
    limit: int | None = None,
    task: str | None = None,
    of_models: Task | None = None,
    target: Any = None,
) -> Stream:
    """Return the samples of a dataset; its task is that of the models, if the targets allow it."""
    check_task(task)
    if isinstance(dataset, str | Path):
        is_regression = of_models is not None and of_models.name == REGRESSION
        chosen = task or (REGRESSION if is_regression else None)
        dataset = load_stream(dataset, target, task=chosen, limit=limit)
    elif isinstance(dataset, Stream) and target is not None:
        raise EvaluationError(f"{dataset.name} is a stream, which has its target already")
    is_stream = isinstance(dataset, Stream)
    stream: Stream = dataset.complete() if is_stream else _in_memory(dataset, limit, target)
    if limit is not None and limit < stream.n_samples:
        samples = list(itertools.islice(read_pairs(stream.samples), limit))
        stream = replace(stream, samples=samples)
    if not stream.n_samples:
        raise EvaluationError(
            f"{stream.name} has no samples; note that a generator can be read only once"
        )
    if task is None and of_models is not None:
        # the models decide whether the numbers of pairs are labels
        _, y = next(read_pairs(stream.samples))
        has_column = is_stream or stream.target is not None
        is_settled = stream.task == REGRESSION and has_column
        if not is_settled and not isinstance(y, str | bool | np.bool_):
            task = of_models.name
    return replace(stream, task=task or stream.task)


def reason_of(stream: Stream) -> str:
    """Return why a table is taken for regression, after a comma."""
    if stream.task != REGRESSION or stream.target is None:
        return ""
    _, y = next(iter(stream))
    return f", as {stream.target!r} holds numbers such as {y:g}"


def _in_memory(dataset: Any, limit: int | None, target: Any) -> Stream:
    """Return a stream of a dataset of river, of pairs or of a table."""
    name = dataset_name(dataset)
    is_endless = isinstance(dataset, base.SyntheticDataset) and not dataset.n_samples
    if is_endless and limit is None:
        raise EvaluationError(f"{name} is endless; set a limit")
    if isinstance(dataset, base.Dataset) and target is None:
        return read_dataset(dataset, limit)
    pairs, column = _pairs(dataset, target)
    samples = list(itertools.islice(read_pairs(pairs), limit))
    return Stream(name, samples, task=task_of_values([y for _, y in samples]), target=column)


def _pairs(dataset: Any, target: Any) -> tuple[Iterable[Any], Any]:
    """Return pairs, or the rows of a table as pairs, and the column of the target, if any."""
    X, y, column = dataset, target, None
    if isinstance(dataset, tuple) and len(dataset) == 2 and _table_of(dataset[0]) is not None:
        X, y = dataset
    table = _table_of(X)
    if table is None:
        if y is not None or not isinstance(X, Iterable):
            raise EvaluationError(
                "dataset must be a stream or its name, an iterable of pairs (features, label), or a"
                f" table, with a target if its is not in a column, got {shown(dataset)}"
            )
        return X, None
    if isinstance(table, nw.DataFrame) and (y is None or isinstance(y, str | int)):
        names = table.columns
        column = "target" if y is None and "target" in names else names[-1] if y is None else y
        if column not in names or len(names) < 2:
            raise EvaluationError(
                "a dataframe must have a target column and at least one feature column, got the"
                f" columns {shown(names)} and target={y!r}"
            )
        # by position and in a list, because pandas column names need not be strings
        table, y = table.drop([column]), table[:, names.index(column)].to_list()
    if isinstance(table, nw.DataFrame):
        xs = [*as_samples(table)]
    else:
        xs = table.to_list() if isinstance(table, nw.Series) else frames.read_rows(table)
    targets = y if isinstance(y, list | tuple) else np.asarray(y).tolist()
    if not isinstance(targets, list | tuple) or len(targets) != len(xs):
        raise EvaluationError(f"X has {len(xs)} rows, but the target is not as many values")
    return zip(xs, targets, strict=True), column


def _table_of(X: Any) -> Any:
    """Return a table as a dataframe or series of narwhals, or as a sparse matrix; or None."""
    if frames.is_matrix(X):
        return X
    if isinstance(X, np.ndarray) and X.ndim == 2:
        X = pd.DataFrame(X).infer_objects()
    native = nw.from_native(X, allow_series=True, pass_through=True)
    return native if isinstance(native, nw.DataFrame | nw.Series) else None


def read_pairs(samples: Iterable[Any]) -> Iterator[Sample]:
    """Yield the samples; raise StreamFailure at one that is not a pair, or if the stream raises."""
    try:
        for n, sample in enumerate(samples, start=1):
            if not isinstance(sample, tuple | list) or len(sample) != 2:
                raise StreamFailure(f"sample {n} must be a pair (x, y), got {shown(sample)}")
            x, y = sample
            yield copy.copy(x), y  # as a model may change it
    except EvaluationError:
        raise
    except Exception as error:
        raise StreamFailure(f"the stream cannot be read: {error_line(error)}") from error
