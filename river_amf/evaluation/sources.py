"""Whatever is accepted as a stream: a name, a path, a dataframe, (X, y), or pairs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from river import base, datasets

from river_amf.evaluation import targets, tasks
from river_amf.evaluation.errors import EvaluationError
from river_amf.evaluation.rows import iter_samples
from river_amf.evaluation.streams import (
    Sample,
    Stream,
    check_pairs,
    load_stream,
    read_pairs,
    task_of_dataset,
)
from river_amf.evaluation.tasks import CLASSIFICATION, REGRESSION, Task
from river_amf.evaluation.tracks import STREAMS, DriftStream
from river_amf.kinds import shown


class Source(NamedTuple):
    """The samples, the same for every iteration, the name of the stream and its task."""

    name: str
    n_samples: int
    samples: Iterable[Sample]
    task: Task
    reason: str  # for this task, after a comma
    drifts: tuple[int, ...]  # where it is known to drift


def read_source(
    dataset: Any, limit: int | None, task: Task | None = None, of_models: Task | None = None
) -> Source:
    """Return the samples of anything that is accepted as a dataset, or raise.

    Without a task it is that of the models, or else that which the targets suggest.
    """
    if isinstance(dataset, str | Path):
        dataset = _load(dataset, limit, task, of_models)
    if isinstance(dataset, Stream) and task is None and of_models is not None:
        _check_fits(dataset, of_models)
    asks = task is None and of_models is CLASSIFICATION
    is_named = isinstance(dataset, Stream | DriftStream)
    name = dataset.name if is_named else type(dataset).__name__
    n_samples, samples = 0, dataset
    if isinstance(dataset, Stream) and (limit is None or limit >= dataset.n_samples):
        n_samples = dataset.n_samples
    else:
        samples = _keep(dataset, limit, asks=asks)
        n_samples = len(samples)
    if not n_samples:
        raise EvaluationError(f"{name} has no samples; note that a generator can be read only once")
    reason = reason_of(dataset) if task is None and isinstance(dataset, Stream) else ""
    if task is None and of_models is REGRESSION:
        _check_numbers(samples, name)
    chosen = task or of_models or _suggested(dataset, samples)
    drifts = tuple(place for place in drifts_of(dataset) if place < n_samples)
    return Source(name, n_samples, samples, chosen, reason, drifts)


def drifts_of(dataset: Any) -> tuple[int, ...]:
    """Return where a stream is known to drift: only those of `STREAMS` and their like tell."""
    if isinstance(dataset, Stream) and dataset.target is None:
        dataset = STREAMS.get(dataset.name)
    return dataset.drifts if isinstance(dataset, DriftStream) else ()


def iter_source(dataset: Any, model: base.Estimator | None = None) -> Iterator[Sample]:
    """Return the samples of anything that is accepted as a dataset, to be read once, or raise."""
    of_models = tasks.of_model(model)
    if isinstance(dataset, str | Path):
        dataset = load_for(dataset, model)
    advice = "take as many samples as you need, as in take(1000)"
    return check_pairs(_samples_of(dataset, advice, asks=of_models is not REGRESSION))


def load_for(source: str | Path, model: base.Estimator | None) -> Stream:
    """Open a stream by name or path, for a model."""
    return _load(source, None, None, tasks.of_model(model))


def _load(
    source: str | Path, limit: int | None, task: Task | None, of_models: Task | None
) -> Stream:
    """Open a stream by name or path, with the target as regressors need it."""
    chosen = task or (of_models if of_models is REGRESSION else None)
    stream = load_stream(source, limit=limit, task=chosen.name if chosen else None)
    if task is None and of_models is not None:
        _check_fits(stream, of_models)
    return stream


def _check_fits(stream: Stream, task: Task) -> None:
    """Raise if models for labels get a stream of numbers that nobody has said are labels."""
    if task is CLASSIFICATION and stream.task == REGRESSION.name:
        raise EvaluationError(
            f"{stream.name} is for regression{reason_of(stream)}, and the models are classifiers:"
            " take regressors, or name the column with the labels (target), or let the numbers be"
            " labels (task='classification')"
        )


def _check_numbers(samples: Iterable[Sample], name: str) -> None:
    """Raise if models for numbers get labels that nobody has said are numbers."""
    for _, y in samples:
        if isinstance(y, str | bool | np.bool_):
            raise EvaluationError(
                f"{name} holds labels such as {shown(y)}, and the models are regressors: take"
                " classifiers, or let booleans be numbers (task='regression')"
            )
        return


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
    first = [y for _, y in itertools.islice(samples, targets.ROWS)]
    return tasks.TASKS[targets.task_of_values(first)]


def _keep(dataset: Any, limit: int | None, *, asks: bool) -> list[Sample]:
    """Return the samples in a list."""
    # A generator can be read only once, and an unseeded river generator differs every time.
    samples = _samples_of(dataset, None if limit else "set a limit", asks=asks)
    is_file = isinstance(dataset, datasets.base.FileDataset)
    if is_file and not isinstance(dataset, datasets.base.RemoteDataset):
        return list(read_pairs(samples))[:limit]  # to the end, where river closes the file
    return list(itertools.islice(read_pairs(samples), limit))


def _samples_of(dataset: Any, advice: str | None, *, asks: bool) -> Iterable[Any]:
    """Return the rows of a dataframe, or samples; raise with the advice if they are endless.

    `asks` is whether to raise if the labels of a dataframe are a quantity.
    """
    is_endless = isinstance(dataset, datasets.base.SyntheticDataset) and dataset.n_samples is None
    if is_endless and advice:
        raise EvaluationError(f"{type(dataset).__name__} is endless; {advice}")
    samples = iter_samples(dataset, asks=asks)
    if not isinstance(samples, Iterable):
        raise EvaluationError(
            "dataset must be a stream or its name, an iterable of pairs (features, label),"
            f" a dataframe, or a tuple (X, y), got {shown(dataset)}"
        )
    return samples
