"""The tasks: what is predicted, by which models, and how it is scored."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from river import base
from river.metrics import MAE, R2, RMSE, Accuracy, CohenKappa

from river_amf import baselines
from river_amf.baselines.river_models import MISSING
from river_amf.evaluation import streams
from river_amf.evaluation.metrics import Coverage, Kinds, LogLoss, Width, known_metrics
from river_amf.evaluation.usage_errors import EvaluationError, suggest
from river_amf.inputs.kinds import shown

Maker = Callable[[], base.Estimator]


@dataclass(frozen=True)
class Task:
    """Classification or regression."""

    name: str
    kind: type[base.Estimator]  # of its models
    noun: str  # for one of them
    models: Callable[[int | None], Mapping[str, Maker]]  # the baselines by name, for a seed
    descriptions: Mapping[str, str]  # of the baselines
    default: str  # the baseline that `river-amf evaluate` runs
    table: Kinds  # the metrics of every table, by column
    usual: tuple[str, ...]  # the baselines of a comparison
    floors: tuple[str, ...]  # baselines that need no features, which others should beat
    reference: tuple[str, ...]  # those of them that are always beside other models

    def check(self, name: str, model: Any, reason: str = "") -> None:
        """Raise TypeError if a model is for the other task; the reason says why it is this one."""
        other = of_model(model)
        if other is not None and other is not self:
            raise TypeError(self._refusal(name, other, reason))

    def maker(
        self, name: str, seed: int | None, reason: str = "", *, has_words: bool = False
    ) -> Maker:
        """Return the function that makes a baseline, ignoring case, or raise EvaluationError.

        `has_words` is whether what is absent from a sample counts as 0 to our forests.
        """
        known, name = self.models(seed), name.lower()
        if name in known:
            make = known[name]
            if not has_words or name not in FORESTS:
                return make
            if self is REGRESSION:
                raise EvaluationError(
                    f"model {name!r} takes bags of words for labels alone, not for numbers: name"
                    " others, such as linear, or drop the text"
                )
            return functools.partial(_for_words, make)
        for other in TASKS.values():
            if name in other.descriptions:
                raise EvaluationError(
                    f"{self._refusal(name, other, reason)} ({suggest(name, list(known))})"
                )
        if name in MISSING:
            raise EvaluationError(f"model {name!r} {MISSING[name]}")
        raise EvaluationError(f"unknown model {name!r} ({suggest(name, list(known))})")

    def made(self, make: Maker) -> base.Estimator:
        """Return a new model, or raise TypeError if it is none for the task."""
        model = make()
        if not isinstance(model, self.kind):
            raise TypeError(f"model must be a river {self.noun}, got {shown(model)}")
        return model

    def _refusal(self, name: str, other: Task, reason: str) -> str:
        return (
            f"model {name!r} is a {other.noun}, but the task is {self.name}{reason}, which needs a"
            f" {self.noun}; task (--task) chooses the other, target (--target) another column"
        )


CLASSIFICATION = Task(
    name=streams.CLASSIFICATION,
    kind=base.Classifier,
    noun="classifier",
    models=baselines.classifiers,
    descriptions=baselines.DESCRIPTIONS,
    default="adaptive",
    table={"accuracy": Accuracy, "kappa": CohenKappa, "log-loss": LogLoss},
    usual=(
        *("last-class", "majority", "gaussian-nb", "knn", "logistic", "hoeffding-gain", "arf"),
        *("amf", "adaptive"),
    ),
    floors=("last-class", "majority"),
    reference=("majority",),
)
REGRESSION = Task(
    name=streams.REGRESSION,
    kind=base.Regressor,
    noun="regressor",
    models=baselines.regressors,
    descriptions=baselines.REGRESSOR_DESCRIPTIONS,
    default="adaptive",
    table={"MAE": MAE, "RMSE": RMSE, "R2": R2, "coverage": Coverage, "width": Width},
    usual=("last-value", "mean", "linear", "knn", "hoeffding", "arf", "amf", "adaptive"),
    floors=("last-value", "mean"),
    reference=("mean", "last-value"),
)

FORESTS = ("amf", "adaptive")  # baselines of every task that are ours
TASKS = {task.name: task for task in (CLASSIFICATION, REGRESSION)}


def _for_words(make: Maker) -> base.Estimator:
    """Return a new forest to which absent features are 0."""
    model: base.Estimator = make().clone({"absent": "zero"})
    return model


def of_model(model: Any) -> Task | None:
    """Return the task of a model, None if it is of neither kind.

    >>> from river import compose, linear_model
    >>> of_model(compose.Pipeline(linear_model.LinearRegression())).name
    'regression'
    """
    return next((task for task in TASKS.values() if isinstance(model, task.kind)), None)


def of_models(models: Iterable[Any]) -> Task | None:
    """Return the task of models, functions and names, None if that is open.

    The first model tells. If there are functions alone, classes do that agree.
    """
    models = list(models)
    for model in models:
        task = of_model(model)
        if task is not None:
            return task
    classes = [model for model in models if isinstance(model, type)]
    of_classes = {
        task.name for task in TASKS.values() for each in classes if issubclass(each, task.kind)
    }
    return TASKS[of_classes.pop()] if len(of_classes) == 1 else None


def smaller_is_better(column: str) -> bool:
    """Whether a column of a table, such as a metric of river, is an error or a cost.

    >>> [smaller_is_better(column) for column in ("accuracy", "log-loss", "MAE", "R2", "memory")]
    [False, True, True, False, True]
    """
    if column in ("us_per_sample", "memory"):
        return True
    known: dict[str, Any] = {}
    for task in TASKS.values():
        known |= {**known_metrics(task.name), **task.table}
    return column in known and not known[column]().bigger_is_better
