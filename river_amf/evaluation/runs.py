"""Several models over one stream: all see the same samples, and each predicts before it learns."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import math
import pickle
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, cast

from river import base, compose
from tqdm import tqdm

from river_amf import kernels
from river_amf.baselines.river_models import make_baseline
from river_amf.evaluation import tasks
from river_amf.evaluation.loading import check_task
from river_amf.evaluation.metrics import Metric, check_labels, name_metrics
from river_amf.evaluation.prequential import (
    even_checkpoints,
    progress_bar,
    test_then_train,
    warm_up_model,
)
from river_amf.evaluation.recording import Recorder, Steps
from river_amf.evaluation.scores import Metrics, Scores
from river_amf.evaluation.sources import Source, read_pairs, read_source
from river_amf.evaluation.streams import Sample
from river_amf.evaluation.tasks import Maker, Task
from river_amf.evaluation.usage_errors import (
    EvaluationError,
    StreamFailure,
    error_line,
    ignored_errors,
    is_of_handler,
)
from river_amf.inputs.kinds import printable, shown
from river_amf.parameters import flag, integer, positive

Model = base.Classifier | base.Regressor | Maker | str

ALL = "all"  # the models of a task
OK = "ok"
NOT_RUN = "not run"
INTERRUPTED = "interrupted"
OUT_OF_TIME = "time limit"

_LONGEST_STATUS = 200  # characters; some error messages run to pages
_WINDOWS = 30  # by default, approximately


class Run:
    """The run of one model over a stream, and its results."""

    # status: "ok", or why the run is incomplete.
    # figures: the metrics over the samples learned, us_per_sample and memory; NaN where unknown,
    #     and all NaN if the model failed.
    # rows: for each window, the number of samples at its end, and its metrics.
    # described: the model as code, empty if it could not be made.
    # recorder: what is recorded in these steps, None without, and before there is a model.
    def __init__(
        self, metrics: Metrics, task: Task, window: int, steps: Steps | None = None, delay: int = 0
    ) -> None:
        self.scores = Scores(metrics, has_windows=True)
        self.recorder: Recorder | None = None
        self.rows: list[tuple[float, ...]] = []
        self.status, self.described = NOT_RUN, ""
        self.figures = dict.fromkeys((*metrics, "us_per_sample", "memory"), math.nan)
        self._options = task, window, steps, delay

    @property
    def n_samples(self) -> int:
        """Number of samples learned."""
        return self.scores.n_samples

    def go(
        self,
        make: Maker,
        samples: Iterable[Sample],
        time_limit: float | None = None,
        bar: tqdm[Any] | None = None,
    ) -> None:
        """Run the model; its errors go to the status, Ctrl-C and StreamFailure are raised."""
        # make is called twice, for a warm-up and for the run. The time limit, in seconds, applies
        # to each of them and is checked between samples.
        task, window, steps, delay = self._options
        watched = _Watched(samples, time_limit, bar)
        model: Any = None
        try:
            with ignored_errors():  # which the run itself meets again
                warm_up_model(task.made(make), _Watched(samples, time_limit))
            model = task.made(make)
            with ignored_errors():  # models of river are as they are
                self.described = describe(model)
            self.recorder = None if steps is None else Recorder(model, steps)
            for step in test_then_train(model, watched, delay):
                self.scores.add(step)
                if self.recorder is not None:
                    self.recorder.learned(step)
                if step.n % window == 0:
                    self._close_window()
            self._close_window()
            self.figures = self.scores.figures(model) if self.n_samples else self.figures
            self.status = OK
            if watched.is_late:
                self.status = (
                    f"{OUT_OF_TIME} of {time_limit:g} s reached after {self.n_samples} samples"
                )
        except KeyboardInterrupt:
            self._close_window()
            with ignored_errors():  # from a model whose size cannot be measured
                self.figures = self.scores.figures(model) if self.n_samples else self.figures
            self.status = f"{INTERRUPTED} after {self.n_samples} samples"
            raise
        except StreamFailure:
            raise
        except BaseException as error:  # even SystemExit only fails this model
            if is_of_handler(error):
                raise
            self.status = _describe_failure(error, watched.n_begun)
        finally:
            if self.recorder is not None:
                self.recorder.close()

    def _close_window(self) -> None:
        """Add the row of the current window, if it has any samples."""
        if self.n_samples > (self.rows[-1][0] if self.rows else 0):
            self.rows.append((self.n_samples, *self.scores.window().values()))


def has_failed(status: str) -> bool:
    """Return whether a status is that of a model that failed."""
    return status not in (OK, NOT_RUN) and not status.startswith((OUT_OF_TIME, INTERRUPTED))


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
    kind = type(model)
    defaults = {name: each.default for name, each in inspect.signature(kind).parameters.items()}
    with suppress(Exception):  # of a class that needs arguments
        defaults = {name: getattr(kind(), name, None) for name in defaults}
    values = {name: describe(getattr(model, name, None)) for name in defaults}
    given = [f"{n}={text}" for n, text in values.items() if text != describe(defaults[n])]
    return f"{kind.__name__}({', '.join(given)})"


class _Watched:
    """The samples, counted, until the time is up."""

    def __init__(
        self, samples: Iterable[Sample], time_limit: float | None, bar: tqdm[Any] | None = None
    ) -> None:
        self._samples = samples
        self._time_limit = math.inf if time_limit is None else time_limit
        self._bar = bar
        self.n_begun = 0
        self.is_late = False

    def __iter__(self) -> Iterator[Sample]:
        start = time.perf_counter()
        for x, y in read_pairs(self._samples):
            if time.perf_counter() - start >= self._time_limit:
                self.is_late = True
                return
            self.n_begun += 1
            yield copy.copy(x), y  # a copy, because a model may change its sample
            if self._bar is not None:
                self._bar.update()
        self.is_late = time.perf_counter() - start > self._time_limit


def _describe_failure(error: BaseException, n: int) -> str:
    """Return one line on what went wrong at sample n, where 0 means before the first sample."""
    cause = error.__cause__ if isinstance(error, EvaluationError) else None
    where = f"sample {n}" if n else "cannot be created"
    text = " ".join(f"{where}: {error_line(error if cause is None else cause)}".split())
    return text if len(text) <= _LONGEST_STATUS else f"{text[:_LONGEST_STATUS]}..."


class Ran(NamedTuple):
    """The stream and the runs of the models by name; for a report, more about them."""

    source: Source
    runs: dict[str, Run]
    floors: tuple[str, ...]  # the names of those that look at no features
    steps: Steps | None  # when they are recorded, for a report
    seed: int | None = None
    delay: int = 0
    repeats: dict[str, list[Run]] | None = None  # the runs with different seeds


def run_models(
    dataset: Any,
    models: Mapping[str, Model] | Iterable[Model] | Model | None,
    metrics: Iterable[Metric] | None = None,
    *,
    target: Any = None,
    window: int | None = None,
    time_limit: float | None = None,
    limit: int | None = None,
    seed: int | None = None,
    progress: bool = False,
    task: str | None = None,
    delay: int = 0,
    seeds: int | None = None,
    is_report: bool = False,
) -> Ran:
    """Run models over one stream; the parameters are those of `compare`, or of `report`."""
    integer(1, optional=True)("window", window)
    integer(1, optional=True)("limit", limit)
    integer(0)("delay", delay)
    integer(2, optional=True)("seeds", seeds)
    positive(optional=True)("time_limit", time_limit)
    flag("progress", progress)
    check_task(task)
    is_all = isinstance(models, str) and models == ALL
    given = None if models is None or is_all else _given(models)
    of_models = None if given is None else tasks.of_models(given.values())
    chosen = None if task is None else tasks.TASKS[task]
    source = read_source(dataset, limit, chosen, of_models, target)
    check_delay(delay, source.n_samples)
    if given is None:
        usual = tasks.FORESTS if is_report else source.task.usual
        given = {name: name for name in (source.task.descriptions if is_all else usual)}
    reference = source.task.floors if is_report else source.task.reference
    given |= {name: name for name in reference if name not in given}
    by_name = {name: model.lower() for name, model in given.items() if isinstance(model, str)}
    floors = tuple(name for name in source.task.floors if by_name.get(name) == name)
    makers = _makers(given, source, seed, seeds)
    named = name_metrics(source.task.table, () if metrics is None else metrics, source.task.name)
    check_labels(source.samples, named.values(), source.name)
    steps = Steps(source.n_samples, window) if is_report else None
    window = window or even_checkpoints(source.n_samples, _WINDOWS).step
    options = named, source.task, int(window), steps, delay
    repeats = {name: [Run(*options) for _ in its] for name, its in makers.items()}
    if time_limit is not None:
        kernels.warm_up()  # which takes long, and must not count
    n_runs = sum(map(len, repeats.values()))
    with (
        progress_bar(n_runs * source.n_samples, is_shown=progress) as bar,
        suppress(KeyboardInterrupt),  # the table reports it
    ):
        each = [(name, make) for name, its in makers.items() for make in its]
        all_runs = itertools.chain.from_iterable(repeats.values())
        for done, ((name, make), run) in enumerate(zip(each, all_runs, strict=True), start=1):
            bar.set_description(printable(name))
            run.go(make, source.samples, time_limit, bar)
            bar.update(done * source.n_samples - bar.n)  # the samples that the model skipped
    runs = {name: its[0] for name, its in repeats.items()}
    return Ran(source, runs, floors, steps, seed, delay, None if seeds is None else repeats)


def check_delay(delay: int, n_samples: int) -> None:
    """Raise EvaluationError if no label would come before the end of the stream."""
    if delay >= max(n_samples, 2):
        raise EvaluationError(
            f"delay must be less than the number of samples, {n_samples}, got {delay}"
        )


def _given(models: Any) -> dict[str, Any]:
    """Return the models by the names that they have in the table, or raise."""
    named: dict[str, Any] = {}
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
        if len(named) < len(models):
            raise ValueError(f"models must have different names, got {shown([*models])}")
    elif isinstance(models, str | base.Base) or callable(models):
        named = {_model_name(models): models}
    elif isinstance(models, Iterable):
        for model in models:
            name = _model_name(model)
            numbers = itertools.count(2)
            while name in named:
                name = f"{_model_name(model)} {next(numbers)}"
            named[name] = model
    else:
        raise TypeError(
            "models must be a model, the name of one, or a dict or list of these, 'all' or None,"
            f" got {shown(models)}"
        )
    if not named:
        raise ValueError("models is empty; pass None to run the usual baselines")
    for name, model in named.items():
        if not isinstance(model, str) and tasks.of_model(model) is None and not callable(model):
            raise TypeError(
                f"model {name!r} must be a river classifier or regressor, or a function that"
                f" returns one, or the name of a baseline, got {shown(model)}"
            )
    return named


def _model_name(model: Any) -> str:
    """Return the name of a model in a list: its class, function, or the steps of a pipeline."""
    if isinstance(model, str):
        return model.lower()
    if isinstance(model, compose.Pipeline):
        return str(model)
    if isinstance(model, functools.partial):
        is_baseline = model.func is make_baseline
        return str(model.args[1]) if is_baseline else _model_name(model.func)
    return str(getattr(model, "__name__", type(model).__name__))


def _makers(
    models: Mapping[str, Any], source: Source, seed: int | None, seeds: int | None
) -> dict[str, list[Maker]]:
    """Return functions that make each model, by name; raise for one that is for another task.

    There is one, or one for each of so many seeds if a model depends on it.
    """
    first = 0 if seed is None else seed
    makers: dict[str, list[Maker]] = {}
    for name, model in models.items():
        if not isinstance(model, str):
            source.task.check(name, model, source.reason)
        makers[name] = [
            _maker(model, source, each)
            for each in ([seed] if seeds is None else range(first, first + seeds))
        ]
        if seeds is not None and _are_same(*makers[name][:2]):
            del makers[name][1:]
    return makers


def _maker(model: Any, source: Source, seed: int | None) -> Maker:
    """Return a function that makes a model with a seed, or with its own if that is None."""
    if isinstance(model, str):
        return source.task.maker(model, seed, source.reason, has_words=source.has_words)
    if not isinstance(model, base.Base):
        return cast(Maker, model)
    takes_seed = seed is not None and "seed" in inspect.signature(type(model)).parameters
    clone: Any = model.clone
    return functools.partial(clone, {"seed": seed} if takes_seed else None)


def _are_same(one: Maker, other: Maker) -> bool:
    """Return whether two functions make the same model, whatever the seed."""
    with ignored_errors():  # a model that cannot be made will fail again, where it is reported
        return pickle.dumps(one()) == pickle.dumps(other())
    return False
