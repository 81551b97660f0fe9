"""Several models over one stream: all see the same samples, and each predicts before it learns."""

from __future__ import annotations

import functools
import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from river import base, compose
from tqdm import tqdm

from river_amf.baselines.river_models import make_baseline
from river_amf.evaluation import tasks
from river_amf.evaluation.loading import check_task
from river_amf.evaluation.metrics import Metric, make_metrics
from river_amf.evaluation.prequential import (
    Step,
    even_checkpoints,
    test_then_train,
    warm_up_model,
)
from river_amf.evaluation.recording import Recorder, Steps, number_of
from river_amf.evaluation.scores import Metrics, Scores
from river_amf.evaluation.sources import Source, read_pairs, read_source
from river_amf.evaluation.streams import Sample, shorten
from river_amf.evaluation.tasks import Maker
from river_amf.evaluation.usage_errors import EvaluationError, StreamFailure, error_line
from river_amf.inputs.kinds import printable, shown
from river_amf.parameters import flag, integer

Model = base.Classifier | base.Regressor | Maker | str

OK = "ok"
NOT_RUN = "not run"
INTERRUPTED = "interrupted"

_WINDOWS = 30  # by default, approximately


@dataclass
class Run:
    """The run of one model over a stream, and its results."""

    metrics: Metrics
    window: int | None = None  # of rows, None for none
    steps: Steps | None = None  # of what is recorded, None for nothing
    delay: int = 0
    status: str = NOT_RUN  # "ok", or why the run is incomplete
    described: str = ""  # the model as code
    n_samples: int = 0
    rows: list[dict[str, float]] = field(default_factory=list)  # n_samples and metrics of windows
    recorder: Recorder | None = None

    def __post_init__(self) -> None:
        # the metrics and costs over the samples learned; NaN if the model failed
        self.figures = dict.fromkeys((*self.metrics, "us_per_sample", "memory"), math.nan)
        self._seconds, self._scores = 0.0, Scores(self.metrics)
        self._in_window = Scores(self.metrics if self.window else {})

    def go(
        self, make: Maker, samples: Iterable[Sample], on_step: Callable[[Step], object] = id
    ) -> None:
        """Make a model and run it, and call a function after each step.

        Errors of the model and of the stream are raised, and so is Ctrl-C.
        """
        try:
            model = make()
            self.described = describe(model)
            self.recorder = None if self.steps is None else Recorder(model, self.steps)
            self.status = INTERRUPTED
            for step in test_then_train(model, samples, self.delay):
                self._add(step)
                on_step(step)
            self.status = OK
        except Exception as error:
            text = str(error) if isinstance(error, EvaluationError) else error_line(error)
            self.status = shorten(" ".join(text.split()))
            raise
        finally:
            if self.recorder is not None:
                self.recorder.end_step()
            if self.status == INTERRUPTED:
                self.status += f" after {self.n_samples} samples"
            if self.n_samples and not has_failed(self.status):
                self.measure(model)
                self._close_window()

    def measure(self, model: Any) -> dict[str, float]:
        """Return the figures after the last step."""
        us, memory = 1e6 * self._seconds / self.n_samples, number_of(model, "_raw_memory_usage")
        self.figures = {**self._scores.get(), "us_per_sample": us, "memory": memory}
        return self.figures

    def _add(self, step: Step) -> None:
        """Score and record a step."""
        self.n_samples = step.n
        self._seconds += step.seconds
        self._scores.add(step)
        self._in_window.add(step)
        if self.recorder is not None:
            self.recorder.learned(step)
        if self.window and step.n % self.window == 0:
            self._close_window()

    def _close_window(self) -> None:
        """Add the row of the current window, if it has any samples."""
        if self.window and (not self.rows or self.n_samples > self.rows[-1]["n_samples"]):
            self.rows.append({"n_samples": self.n_samples, **self._in_window.get()})
            self._in_window = Scores(self.metrics)


def has_failed(status: str) -> bool:
    """Return whether a status is that of a model that failed."""
    return status not in (OK, NOT_RUN) and not status.startswith(INTERRUPTED)


def describe(model: Any) -> str:
    """Return a model as code, with the parameters that differ from their defaults.

    >>> from river import linear_model, preprocessing
    >>> describe(preprocessing.StandardScaler() | linear_model.LogisticRegression(l2=0.1))
    'StandardScaler() | LogisticRegression(l2=0.1)'
    """
    if isinstance(model, compose.Pipeline):
        return " | ".join(map(describe, model.steps.values()))
    if isinstance(model, compose.TransformerUnion):
        return f"({' + '.join(map(describe, model.transformers.values()))})"
    if not isinstance(model, base.Base):
        return str(getattr(model, "__name__", shown(model)))
    kind, usual = type(model), None
    with suppress(Exception):  # of a class that needs arguments
        usual = kind()
    texts = {
        name: [describe(getattr(each, name, None)) for each in (model, usual)]
        for name in inspect.signature(kind).parameters
    }
    given = [f"{name}={text}" for name, (text, default) in texts.items() if text != default]
    return f"{kind.__name__}({', '.join(given)})"


def attempt(
    run: Run, make: Maker, samples: Iterable[Sample], on_step: Callable[[Step], object] = id
) -> None:
    """Run a model after a copy is warmed up; its errors go to the status."""
    with suppress(Exception):  # which the run itself meets again
        warm_up_model(make(), read_pairs(samples))
    try:
        run.go(make, read_pairs(samples), on_step)
    except Exception as error:
        if isinstance(error, StreamFailure):
            raise


class Ran(NamedTuple):
    """The stream and the runs of the models by name; and how they were run."""

    source: Source
    runs: Mapping[str, Run]
    floors: tuple[str, ...]  # the names of those that look at no features
    seed: int | None = None
    interrupt: KeyboardInterrupt | None = None  # which ended the runs early


def run_models(
    dataset: Any,
    models: Mapping[str, Model] | Iterable[Model] | Model | None,
    metrics: Iterable[Metric] | None = None,
    *,
    target: Any = None,
    window: int | None = None,
    limit: int | None = None,
    seed: int | None = None,
    progress: bool = False,
    task: str | None = None,
    delay: int = 0,
    is_report: bool = False,
) -> Ran:
    """Run models over one stream; the parameters are those of `compare`, or of `report`."""
    integer(1, optional=True)("window", window)
    integer(1, optional=True)("limit", limit)
    integer(0)("delay", delay)
    flag("progress", progress)
    check_task(task)
    given = {} if models is None else _by_name(models)
    chosen = None if task is None else tasks.TASKS[task]
    source = read_source(dataset, limit, chosen, tasks.of_models(given.values()), target)
    stream = source.stream
    check_delay(delay, stream.n_samples)
    usual = tasks.FORESTS if is_report else source.task.usual
    reference = source.task.floors if is_report else source.task.reference
    names = reference if given else (*usual, *reference)
    given |= {name: name for name in names if name not in given}
    for name, model in given.items():
        source.task.check(name, model, source.reason)
    makers = {
        name: functools.partial(source.task.made, _maker(model, source, seed))
        for name, model in given.items()
    }
    named = make_metrics(metrics or (), source.task.name, stream.samples, stream.name)
    steps = Steps(stream.n_samples, window) if is_report else None
    options = window or even_checkpoints(stream.n_samples, _WINDOWS).step, steps, delay
    runs = {name: Run(named, *options) for name in makers}
    interrupt = None
    try:
        for name, make in makers.items():
            shown_as: Any = {"desc": printable(name), "total": stream.n_samples, "leave": False}
            with tqdm(**shown_as, disable=not progress) as bar:
                attempt(runs[name], make, stream.samples, functools.partial(_advance, bar))
    except KeyboardInterrupt as error:  # the table reports it
        interrupt = error
    floors = tuple(name for name in source.task.floors if given.get(name) == name)
    return Ran(source, runs, floors, seed, interrupt)


def _advance(bar: tqdm[Any], _: Step) -> None:
    bar.update()


def check_delay(delay: int, n_samples: int) -> None:
    """Raise EvaluationError if no label would come before the end."""
    if delay >= max(n_samples, 2):
        raise EvaluationError(
            f"delay must be less than the number of samples, {n_samples}, got {delay}"
        )


def _by_name(models: Any) -> dict[str, Any]:
    """Return the models by the names that they have in the table, or raise."""
    if isinstance(models, str | base.Base) or callable(models):
        models = [models]
    if not isinstance(models, Iterable):
        raise TypeError(
            "models must be a model, the name of one, or a dict or list of these, or None, got"
            f" {shown(models)}"
        )
    if not isinstance(models, Mapping):
        models, counts = list(models), Counter[str]()
        names = [*map(_name_of, models)]
        for place, name in enumerate(names):
            counts[name] += 1
            names[place] += f" {counts[name]}" * (counts[name] > 1)
        models = dict(zip(names, models, strict=True))
    if not models:
        raise ValueError("models is empty; pass None to run the usual baselines")
    named = {str(name): m.lower() if isinstance(m, str) else m for name, m in models.items()}
    if len(named) < len(models):
        raise ValueError(f"models must have different names, got {shown([*models])}")
    return named


def _name_of(model: Any) -> str:
    """Return the name of a model in a list: its class, function, or the steps of a pipeline."""
    if isinstance(model, str):
        return model.lower()
    if isinstance(model, compose.Pipeline):
        return str(model)
    if isinstance(model, functools.partial):
        is_baseline = model.func is make_baseline
        return str(model.args[1]) if is_baseline else _name_of(model.func)
    return str(getattr(model, "__name__", type(model).__name__))


def _maker(model: Any, source: Source, seed: int | None) -> Maker:
    """Return a function that makes a model with a seed, or with its own if that is None."""
    if isinstance(model, str):
        has_words = source.stream.text is not None
        return source.task.maker(model, seed, source.reason, has_words=has_words)
    if not isinstance(model, base.Base):
        return cast(Maker, model) if callable(model) else lambda: model
    takes_seed = seed is not None and "seed" in inspect.signature(type(model)).parameters
    clone: Any = model.clone
    return functools.partial(clone, {"seed": seed} if takes_seed else None)
