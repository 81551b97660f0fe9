"""The tasks: classification and regression, and the baselines for each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from river import base

from river_amf import baselines
from river_amf.baselines.river_models import MISSING
from river_amf.evaluation import streams
from river_amf.evaluation.usage_errors import EvaluationError, error_line, suggest
from river_amf.inputs.kinds import shown

Maker = Callable[[], base.Estimator]

FORESTS = ("amf", "adaptive")  # the baselines of every task that are ours


@dataclass(frozen=True)
class Task:
    """Classification or regression."""

    name: str
    kind: type[base.Estimator]  # of its models
    models: Callable[[int | None], Mapping[str, Maker]]  # the baselines by name, for a seed
    descriptions: Mapping[str, str]  # of the baselines
    usual: tuple[str, ...]  # the baselines of a comparison
    naive_baselines: tuple[str, ...]  # baselines that need no features
    reference: tuple[str, ...]  # the ones that are beside all models

    def maker(
        self, name: str, seed: int | None, *, reason: str = "", has_words: bool = False
    ) -> Maker:
        """Return the function that makes a baseline, ignoring case, or raise EvaluationError."""
        # `has_words` is whether what is absent from a sample counts as 0 to our forests.
        makers, name = self.models(seed), name.lower()
        if name in MISSING:
            raise EvaluationError(f"model {name!r} {MISSING[name]}")
        if name not in makers:
            others = [task for task in TASKS.values() if name in task.descriptions]
            what = self._refusal(name, others[0], reason) if others else f"unknown model {name!r}"
            raise EvaluationError(f"{what} ({suggest(name, list(makers))})")
        if not (has_words and name in FORESTS):
            return makers[name]
        if self is REGRESSION:
            raise EvaluationError(
                f"model {name!r} takes bags of words for labels alone, not for numbers: choose"
                " another, such as linear, or drop the text"
            )
        forest: Any = makers[name]()
        return functools.partial(forest.clone, {"absent": "zero"})

    def check(self, name: str, model: Any, reason: str = "") -> None:
        """Raise TypeError if a model is for the other task; `reason` is why it is this one."""
        other = of_models([model])
        if other is not None and other is not self:
            raise TypeError(self._refusal(name, other, reason))

    def _refusal(self, name: str, other: Task, reason: str) -> str:
        return (
            f"model {name!r} is a {other.noun}, but the task is {self.name}{reason}, which needs a"
            f" {self.noun}; task (--task) chooses the other, target (--target) another column"
        )

    @property
    def noun(self) -> str:
        """Name of a model of the task."""
        return self.kind.__name__.lower()

    def make(self, make: Maker) -> base.Estimator:
        """Return a new model, or raise EvaluationError if there is none, or none for the task."""
        try:
            model = make()
            if not isinstance(model, self.kind):
                raise TypeError(f"model must be a river {self.noun}, got {shown(model)}")
        except Exception as error:
            raise EvaluationError(f"cannot be created: {error_line(error)}") from error
        return model


CLASSIFICATION = Task(
    name=streams.CLASSIFICATION,
    kind=base.Classifier,
    models=baselines.classifiers,
    descriptions={name: baselines.DESCRIPTIONS[name] for name in baselines.classifiers()},
    usual=(
        *("last-class", "majority", "gaussian-nb", "knn", "logistic", "hoeffding-gain", "arf"),
        *FORESTS,
    ),
    naive_baselines=("last-class", "majority"),
    reference=("majority",),
)
REGRESSION = Task(
    name=streams.REGRESSION,
    kind=base.Regressor,
    models=baselines.regressors,
    descriptions={name: baselines.DESCRIPTIONS[name] for name in baselines.regressors()},
    usual=("last-value", "mean", "linear", "knn", "hoeffding", "arf", *FORESTS),
    naive_baselines=("last-value", "mean"),
    reference=("mean", "last-value"),
)
TASKS = {task.name: task for task in (CLASSIFICATION, REGRESSION)}


def of_models(models: Iterable[Any]) -> Task | None:
    """Return the task of the first model or class; names have none."""
    for model in models:
        is_kind: Any = issubclass if isinstance(model, type) else isinstance
        for task in TASKS.values():
            if is_kind(model, task.kind):
                return task
    return None
