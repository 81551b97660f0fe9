"""The tables of a report: runs of models along one stream."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from river_amf.pages.charts import Look, looks, plotly_text

Tables = Mapping[str, pd.DataFrame]  # by the name of the model

_N_MOMENTS = 6  # dates on the axis along the stream
_LEAST = 20  # samples before a model can be said to be behind
_OTHERS = "`river-amf compare` shows what other models do"
_TO_TRY = {
    "last-value": "adaptive with recent='target' (--recent target) learns from the last ones; where"
    " rows have no order, --shuffle mixes them",
    "last-class": "labels may come in runs; where rows have no order, --shuffle mixes them",
    "majority": f"MacroF1 (--metrics MacroF1) shows what it knows of rare labels, and {_OTHERS}",
}


def drawn(records: Records, model: str, column: str) -> pd.Series | None:
    """Return a curve without a last window of a few samples, whose mean is noise."""
    values = records.curve(model, column)
    if values is None or len(values) < 2 or column.startswith("cumulative"):
        return values
    return values[:-1] if 2 * np.diff(values.index[-2:])[0] < records.window else values


def x_axis(records: Records, **layout: Any) -> dict[str, Any]:
    """Return the layout of the axis along the stream, with dates if there are some."""
    if (dates := records.moments) is not None:
        layout |= {"title": {"text": plotly_text(str(dates.name))}}
        layout |= {"tickvals": [*dates.index], "ticktext": [*dates]}
    return {"xaxis": layout}


def moments_of(kinds: Mapping[str, str], samples: Iterable[Any]) -> pd.Series | None:
    """Return the dates of some samples by their numbers, if those of a column are in order."""
    for name in [name for name, kind in kinds.items() if kind == "date"]:
        days = pd.Series([x.get(f"{name}.days", np.nan) for x, _ in samples])
        if days.is_monotonic_increasing:  # and none is missing
            positions = np.unique(np.linspace(0, len(days) - 1, _N_MOMENTS, dtype=int))
            is_short = bool(days.iloc[-1] - days.iloc[0] < _N_MOMENTS)
            form = "%Y-%m-%d" + " %H:%M" * is_short
            dates = pd.to_datetime(days[positions], unit="D").dt.strftime(form)
            return dates.set_axis(positions + 1).rename(name)
    return None


def not_ahead(table: pd.DataFrame, naive_baselines: Sequence[str], recent: str | None = "") -> str:
    """Return a sentence if no model is better than a naive baseline, and what to try; or else ''.

    `table` has the results of models by name, with the number of samples and MAE or accuracy;
    `recent` is the parameter of the model.
    """
    measure, sign, form = ("MAE", 1, ".5g") if "MAE" in table else ("accuracy", -1, ".4f")
    scores = table[measure][table["n_samples"] == table["n_samples"].max()].dropna()
    models = scores.index.difference(naive_baselines, sort=False)
    naive = scores.index.difference(models, sort=False)
    if not len(models) or not len(naive) or table["n_samples"].max() < _LEAST:
        return ""
    best, other = ((sign * scores[names]).idxmin() for names in (models, naive))
    if sign * scores[best] < sign * scores[other]:
        return ""
    figures = f"{measure} {scores[best]:{form}} and {scores[other]:{form}}"
    sentence = f"{best} is not ahead of {other}, which looks at no features ({figures})"
    return f"{sentence}: {_TO_TRY.get('' if recent == 'target' else str(other), _OTHERS)}."


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
    errors: Collection[str] = ()
    columns: pd.DataFrame | None = None
    moments: pd.Series | None = None  # dates of some samples, by their numbers

    @property
    def measure(self) -> str:
        """Column by which models are ranked."""
        return "MAE" if self.is_regression else "accuracy"

    @property
    def is_regression(self) -> bool:
        return self.task == "regression"

    @property
    def models(self) -> list[str]:
        return [name for name in self.table.index if name in set(self.curves["model"])]

    @cached_property
    def looks(self) -> dict[str, Look]:
        scores = {name: float(self.table[self.measure].get(name, math.nan)) for name in self.models}
        naive_baselines = [name for name in self.naive_baselines if name in scores]
        return looks(scores, naive_baselines, smaller_is_better=self.is_regression)

    @property
    def colored(self) -> list[str]:
        """Names of the models with a color, which look at features, in the order of the table."""
        models = [name for name in self.models if name not in self.naive_baselines]
        return [name for name in models if self.looks[name].dash == "solid"]

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
