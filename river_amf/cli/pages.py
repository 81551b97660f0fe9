"""The page that `river-amf evaluate` and `river-amf compare` write."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import pandas as pd
from river import base

from river_amf.emphasis import role_of
from river_amf.evaluation import EvaluationError, Report, Stream
from river_amf.evaluation.comparison import roles_of, table_of
from river_amf.evaluation.prequential import TestThenTrain
from river_amf.evaluation.recording import Recorder
from river_amf.evaluation.report import recorded
from river_amf.evaluation.runs import INTERRUPTED, OK, Run
from river_amf.evaluation.scores import Metrics
from river_amf.evaluation.sources import drifts_of
from river_amf.evaluation.streams import Label, Sample
from river_amf.evaluation.tasks import Task


def check_pages() -> None:
    """Raise EvaluationError if plotly is missing."""
    if importlib.util.find_spec("plotly") is None:
        raise EvaluationError('--html needs plotly (the extra html): pip install "plotly>=6"')


class Evaluated(NamedTuple):
    """A model that has run along a stream, and how it was judged."""

    name: str
    model: base.Estimator
    loop: TestThenTrain
    recorder: Recorder


def report_of(
    evaluated: Evaluated, stream: Stream, task: Task, metrics: Metrics, positive: Label | None
) -> Report:
    """Return the report of a model, beside those that look at no features, which are run here."""
    name, model, loop, recorder = evaluated
    recorder.close()
    is_complete = loop.n_samples == stream.n_samples
    status = OK if is_complete else f"{INTERRUPTED} after {loop.n_samples} samples"
    runs = _floors(evaluated, stream, task, metrics, positive)
    own = {"n_samples": loop.n_samples, **loop.figures(), "status": status}
    recorders = {name: recorder} | {
        other: run.recorder for other, run in runs.items() if run.recorder is not None
    }
    table = pd.concat([pd.DataFrame([own], index=pd.Index([name], name="model")), table_of(runs)])
    return Report(
        name=stream.name,
        task=task.name,
        drifts=tuple(place for place in drifts_of(stream) if place < stream.n_samples),
        table=table,
        roles={name: role_of(model), **roles_of(runs)},
        floors=task.floors,
        **recorded(recorders, recorder.steps),
    )


def _floors(
    evaluated: Evaluated, stream: Stream, task: Task, metrics: Metrics, positive: Label | None
) -> Mapping[str, Run]:
    """Run the models that look at no features over the samples that the model has learned."""
    n_samples = evaluated.loop.n_samples
    runs: dict[str, Run] = {}
    for name in task.floors:
        if name != evaluated.name:
            runs[name] = Run(metrics, n_samples, positive, task, evaluated.recorder.steps)
            runs[name].go(task.maker(name, None), _First(stream, n_samples))
    return runs


class _First(Iterable[Sample]):
    """The first samples of a stream, as often as they are asked for."""

    def __init__(self, stream: Stream, n_samples: int) -> None:
        self._stream, self._n_samples = stream, n_samples

    def __iter__(self) -> Iterator[Sample]:
        return itertools.islice(self._stream, self._n_samples)
