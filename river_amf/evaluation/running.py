"""Several models over one stream: all see the same samples, and each predicts before it learns."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, cast

from river import base, compose

from river_amf.evaluation import targets, tasks
from river_amf.evaluation.metrics import Metric, name_metrics
from river_amf.evaluation.prequential import even_checkpoints, progress_bar
from river_amf.evaluation.recording import Steps
from river_amf.evaluation.runs import Run
from river_amf.evaluation.sources import Source, read_source
from river_amf.evaluation.streams import Label
from river_amf.evaluation.tasks import Maker, Task, positive_label
from river_amf.kinds import shown
from river_amf.parameters import flag, integer
from river_amf.parameters import positive as positive_number

Model = base.Classifier | base.Regressor | Maker | str

_WINDOWS = 30  # by default, approximately


class Ran(NamedTuple):
    """The stream and the runs of the models by name; how they are recorded, if they are."""

    source: Source
    runs: dict[str, Run]
    steps: Steps | None


def run_models(
    dataset: Any,
    models: Mapping[str, Model] | Iterable[Model] | None,
    metrics: Iterable[Metric] | None,
    *,
    positive: Label | None,
    window: int | None,
    time_limit: float | None,
    limit: int | None,
    seed: int | None,
    progress: bool,
    task: str | None,
    is_report: bool = False,
) -> Ran:
    """Run models over one stream; the parameters are those of `compare`, or of `report`."""
    integer(1, optional=True)("window", window)
    integer(1, optional=True)("limit", limit)
    positive_number(optional=True)("time_limit", time_limit)
    flag("progress", progress)
    targets.check_task(task)
    chosen = None if task is None else tasks.TASKS[task]
    given = None if models is None else _given(models)
    of_models = None if given is None else tasks.of_models(given.values())
    source = read_source(dataset, limit, chosen, of_models)
    if is_report:
        given = _with_floors(given, source.task)
    makers = _makers(given, source, seed)
    named = name_metrics(source.task.table, () if metrics is None else metrics, source.task.name)
    label = positive_label(source.task, source.samples, named.values(), source.name, positive)
    steps = Steps(source.n_samples, window) if is_report else None
    window = window or even_checkpoints(source.n_samples, _WINDOWS).step
    runs = {name: Run(named, int(window), label, source.task, steps) for name in makers}
    if time_limit is not None:
        _compile_kernels(source.task)
    with (
        progress_bar(len(runs) * source.n_samples, is_shown=progress) as bar,
        suppress(KeyboardInterrupt),  # the table reports it
    ):
        for done, (name, run) in enumerate(runs.items(), start=1):
            bar.set_description(name)
            run.go(makers[name], source.samples, time_limit, bar)
            bar.update(done * source.n_samples - bar.n)  # the samples that the model skipped
    return Ran(source, runs, steps)


def _with_floors(models: Mapping[str, Any] | None, task: Task) -> dict[str, Any]:
    """Return the models, by default our forests, and what any model should beat."""
    chosen = dict.fromkeys(tasks.FORESTS) if models is None else models
    names = [*chosen, *(name for name in task.floors if name not in chosen)]
    return {name: chosen.get(name) or name for name in names}


def _compile_kernels(task: Task) -> None:
    """Compile our kernels now: it takes long, and must not count toward the time limit."""
    forest = task.forest(n_estimators=1)
    for target in (False, True):
        forest.learn_one({"a": 0.0}, target)
        forest.predict_one({"a": 0.0})


def _given(models: Any) -> dict[str, Any]:
    """Return the models by the names that they have in the table, or raise."""
    if isinstance(models, Mapping):
        _check_names(list(models))
        named = {str(name): model for name, model in models.items()}
    elif isinstance(models, Iterable) and not isinstance(models, str | base.Base):
        named = {}
        for model in models:
            named[_new_name(_name(model), named)] = model
    else:
        raise TypeError(f"models must be a dict or list of models, or None, got {shown(models)}")
    if not named:
        raise ValueError("models is empty; pass None to run all baselines")
    for name, model in named.items():
        if isinstance(model, str):
            tasks.check_name(model)
        elif tasks.of_model(model) is None and not callable(model):
            raise TypeError(
                f"model {name!r} must be a river classifier or regressor, or a function that"
                f" returns one, or the name of a baseline, got {shown(model)}"
            )
    return named


def _makers(models: Mapping[str, Any] | None, source: Source, seed: int | None) -> dict[str, Maker]:
    """Return a function that makes each model, by name; raise for one that is for another task."""
    task = source.task
    if models is None:
        return dict(task.models(seed))
    makers: dict[str, Maker] = {}
    for name, model in models.items():
        if isinstance(model, str):
            makers[name] = task.maker(model, seed, source.reason)
        else:
            task.check(name, model, source.reason)
            makers[name] = cast(Maker, model.clone if isinstance(model, base.Base) else model)
    return makers


def _check_names(names: list[Any]) -> None:
    """Raise ValueError if two names are the same text in the table."""
    for place, name in enumerate(names):
        for other in names[:place]:
            if str(other) == str(name):
                raise ValueError(
                    f"models {other!r} and {name!r} would both be named {str(name)!r} in the"
                    " table; give each model its own name"
                )


def _name(model: Any) -> str:
    """Return the name of a model in a list: its class, function, or the steps of a pipeline."""
    if isinstance(model, str):
        return model.lower()
    if isinstance(model, compose.Pipeline):
        return str(model)
    return str(getattr(model, "__name__", type(model).__name__))


def _new_name(name: str, known: Container[str]) -> str:
    """Return the name, with a number from 2 on if it is taken."""
    numbered = (f"{name} {number}" for number in itertools.count(2))
    return next(new for new in itertools.chain([name], numbered) if new not in known)
