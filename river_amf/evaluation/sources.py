"""Whatever is accepted as a stream: a name, a path, a dataframe, (X, y), or pairs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from river import datasets

from river_amf.evaluation.errors import EvaluationError
from river_amf.evaluation.rows import iter_samples
from river_amf.evaluation.streams import Sample, Stream, check_pairs, load_stream, read_pairs
from river_amf.evaluation.tracks import DriftStream
from river_amf.kinds import shown


class Source(NamedTuple):
    """The samples, the same for every iteration, and the name of the stream."""

    name: str
    n_samples: int
    samples: Iterable[Sample]


def read_source(dataset: Any, limit: int | None) -> Source:
    """Return the samples of anything that is accepted as a dataset, or raise."""
    if isinstance(dataset, str | Path):
        dataset = load_stream(dataset, limit=limit)
    is_named = isinstance(dataset, Stream | DriftStream)
    name = dataset.name if is_named else type(dataset).__name__
    if isinstance(dataset, Stream) and (limit is None or limit >= dataset.n_samples):
        source = Source(name, dataset.n_samples, dataset)
    else:
        samples = _keep(dataset, limit)
        source = Source(name, len(samples), samples)
    if not source.n_samples:
        raise EvaluationError(f"{name} has no samples; note that a generator can be read only once")
    return source


def iter_source(dataset: Any) -> Iterator[Sample]:
    """Return the samples of anything that is accepted as a dataset, to be read once, or raise."""
    if isinstance(dataset, str | Path):
        dataset = load_stream(dataset)
    return check_pairs(_samples_of(dataset, "take as many samples as you need, as in take(1000)"))


def _keep(dataset: Any, limit: int | None) -> list[Sample]:
    """Return the samples in a list."""
    # A generator can be read only once, and an unseeded river generator differs every time.
    samples = _samples_of(dataset, None if limit else "set a limit")
    is_file = isinstance(dataset, datasets.base.FileDataset)
    if is_file and not isinstance(dataset, datasets.base.RemoteDataset):
        return list(read_pairs(samples))[:limit]  # to the end, where river closes the file
    return list(itertools.islice(read_pairs(samples), limit))


def _samples_of(dataset: Any, advice: str | None) -> Iterable[Any]:
    """Return the rows of a dataframe, or samples; raise with the advice if they are endless."""
    is_endless = isinstance(dataset, datasets.base.SyntheticDataset) and dataset.n_samples is None
    if is_endless and advice:
        raise EvaluationError(f"{type(dataset).__name__} is endless; {advice}")
    samples = iter_samples(dataset)
    if not isinstance(samples, Iterable):
        raise EvaluationError(
            "dataset must be a stream or its name, an iterable of pairs (features, label),"
            f" a dataframe, or a tuple (X, y), got {shown(dataset)}"
        )
    return samples
