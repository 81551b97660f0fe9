"""The tables of a report: runs of models along one stream."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from river_amf.pages.charts import Look, looks

Tables = Mapping[str, pd.DataFrame]  # by the name of the model


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """The tables of runs of several models along one stream."""

    name: str
    task: str
    window: int
    drifts: Sequence[int]
    table: pd.DataFrame
    curves: pd.DataFrame
    relevance: Tables
    contributions: Tables
    reliability: Tables
    labels: Tables
    confusion: Tables
    points: Tables
    latest: Tables
    naive_baselines: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    columns: pd.DataFrame | None = None

    @property
    def measure(self) -> str:
        """Column by which models are ranked."""
        return "MAE" if self.is_regression else "accuracy"

    @property
    def is_regression(self) -> bool:
        """Whether the task is regression."""
        return self.task == "regression"

    @property
    def models(self) -> list[str]:
        """Names of the models that have learned a sample, in the order of the table."""
        return [name for name in self.table.index if name in set(self.curves["model"])]

    @cached_property
    def looks(self) -> dict[str, Look]:
        """Style of each model, in the order of drawing."""
        scores = {name: float(self.table[self.measure].get(name, math.nan)) for name in self.models}
        naive_baselines = [name for name in self.naive_baselines if name in scores]
        return looks(scores, naive_baselines, smaller_is_better=self.is_regression)

    @property
    def colored(self) -> list[str]:
        """Names of the models with a color, which look at features, in the order of the table."""
        named = [name for name in self.models if self.looks[name].is_named]
        return [name for name in named if name not in self.naive_baselines]

    def curve(self, model: str, column: str) -> pd.Series | None:
        """Return a column of `curves` for one model, by `n_samples` and without NaN, or None.

        >>> from river_amf import evaluation
        >>> evaluation.report("Bananas", ["amf"], limit=3).curve("amf", "accuracy").index.tolist()
        [2, 3]
        """
        if column not in self.curves:
            return None
        rows = self.curves[self.curves["model"] == model]
        values = rows.set_index("n_samples")[column].dropna()
        return values if len(values) else None
