"""Models as a comparison takes them, by name or as objects, and the two tasks that they are for."""

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from river import base, compose

from river_amf import baselines
from river_amf.baselines.river_models import MISSING, make_baseline
from river_amf.evaluation import streams
from river_amf.evaluation.usage_errors import EvaluationError, error_line, suggest
from river_amf.inputs.kinds import shown
from river_amf.state.layout import CLASSIFICATION, REGRESSION, Task

Maker = Callable[[], base.Estimator]
Model = base.Classifier | base.Regressor | Maker | str

FORESTS = ("amf", "adaptive")  # the baselines of every task that are ours


@dataclass(frozen=True)
class ModelsOfTask:
    """The models of a task, and its baselines."""

    task: Task
    kind: type[base.Estimator]  # of its models
    models: Callable[[int | None], Mapping[str, Maker]]  # the baselines by name, for a seed
    usual: tuple[str, ...]  # the baselines of a comparison
    naive_baselines: tuple[str, ...]  # those that use no features, part of every comparison

    def maker(self, name: str, model: Any, stream: streams.Stream, seed: int | None) -> Maker:
        """Return a function that makes a model, with a seed if that is not None."""
        other = task_of_models([model])
        if other not in (self, None):
            raise EvaluationError(self._refusal(name, other, stream))
        if isinstance(model, str):
            make = self._baseline(model.lower(), stream, seed)
        elif isinstance(model, base.Base):
            takes_seed = seed is not None and "seed" in inspect.signature(type(model)).parameters
            clone: Any = model.clone
            make = functools.partial(clone, {"seed": seed} if takes_seed else None)
        else:
            make = cast(Maker, model) if callable(model) else lambda: model
        return functools.partial(self._make, make)

    def _baseline(self, name: str, stream: streams.Stream, seed: int | None) -> Maker:
        makers = self.models(seed)
        if name in MISSING:
            raise EvaluationError(f"model {name!r} {MISSING[name]}")
        if name not in makers:
            others = [other for other in TASKS.values() if name in other.models(seed)]
            what = self._refusal(name, others[0], stream) if others else f"unknown model {name!r}"
            raise EvaluationError(f"{what} ({suggest(name, list(makers))})")
        if stream.text is None or name not in FORESTS:
            return makers[name]
        if self.task == REGRESSION:
            raise EvaluationError(
                f"model {name!r} takes bags of words for labels alone, not for numbers: choose"
                " another, such as linear, or drop the text"
            )
        forest: Any = makers[name]()
        return functools.partial(forest.clone, {"absent": "zero"})

    def _refusal(self, name: str, other: Any, stream: streams.Stream) -> str:
        reason = ""
        if self.task == REGRESSION and stream.target is not None:
            reason = f", as {stream.target!r} holds numbers such as {stream.targets[0]:g}"
        return (
            f"model {name!r} is a {other.noun}, but the task is {self.task}{reason}, which needs a"
            f" {self.noun}; task (--task) chooses the other, target (--target) another column"
        )

    @property
    def noun(self) -> str:
        return self.kind.__name__.lower()

    def _make(self, make: Maker) -> base.Estimator:
        try:
            model = make()
            if not isinstance(model, self.kind):
                raise TypeError(f"model must be a river {self.noun}, got {shown(model)}")
        except Exception as error:
            raise EvaluationError(f"cannot be created: {error_line(error)}") from error
        return model


_CLASSIFIERS = ModelsOfTask(
    CLASSIFICATION,
    base.Classifier,
    baselines.classifiers,
    ("last-class", "majority", "gaussian-nb", "knn", "logistic", "hoeffding-gain", "arf", *FORESTS),
    ("last-class", "majority"),
)
_REGRESSORS = ModelsOfTask(
    REGRESSION,
    base.Regressor,
    baselines.regressors,
    ("last-value", "mean", "linear", "knn", "hoeffding", "arf", *FORESTS),
    ("last-value", "mean"),
)
TASKS = {models.task: models for models in (_CLASSIFIERS, _REGRESSORS)}


def task_of_models(models: Iterable[Any]) -> ModelsOfTask | None:
    """Return the task of the first model or class; names have none."""
    for model in models:
        is_kind: Any = issubclass if isinstance(model, type) else isinstance
        for task in TASKS.values():
            if is_kind(model, task.kind):
                return task
    return None


def by_name(models: Any) -> dict[str, Any]:
    """Return the models by the names that they have in the table, or raise."""
    if isinstance(models, str | base.Base) or callable(models):
        models = [models]
    if not isinstance(models, Iterable):
        wanted = "a model, the name of one, or a dict or list of these, or None"
        raise EvaluationError(f"models must be {wanted}, got {shown(models)}")
    if not isinstance(models, Mapping):
        models, counts, unnamed = {}, Counter[str](), models
        for model in unnamed:
            counts[name := _name_of(model)] += 1
            models[f"{name} {counts[name]}" if counts[name] > 1 else name] = model
    if not models:
        raise EvaluationError("models is empty; pass None to run the usual baselines")
    named = {str(name): m.lower() if isinstance(m, str) else m for name, m in models.items()}
    if len(named) < len(models):
        raise EvaluationError(f"models must have different names, got {shown([*models])}")
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
