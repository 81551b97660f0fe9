"""Tables of runs along a stream, which a report draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

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
    reliability: Tables
    labels: Tables
    confusion: Tables
    points: Tables
    latest: Tables
    floors: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def measure(self) -> str:
        """The column by which models are ranked."""
        return "MAE" if self.is_regression else "accuracy"

    @property
    def is_regression(self) -> bool:
        """Whether numbers are predicted, and not labels."""
        return self.task == "regression"

    @property
    def models(self) -> list[str]:
        """Names of the models that have run at all, in the order of the table."""
        return [name for name in self.table.index if name in set(self.curves["model"])]

    @property
    def scores(self) -> dict[str, float]:
        """The final score of each model, by name, NaN where it is unknown."""
        column = self.table[self.measure]
        return {name: float(column.get(name, math.nan)) for name in self.models}

    @property
    def n_samples(self) -> int:
        """Number of samples that the longest run has learned."""
        return int(self.curves["n_samples"].max()) if len(self.curves) else 0

    def curve(self, model: str, column: str) -> pd.Series | None:
        """Return the known values of a column for one model by `n_samples`; None if there are none.

        >>> from river_amf import evaluation
        >>> report = evaluation.report("Bananas", ["amf"], limit=1000, seed=1)
        >>> bool(report.curve("amf", "cumulative accuracy")[1000] > 0.8)
        True
        """
        if column not in self.curves:
            return None
        rows = self.curves[self.curves["model"] == model]
        values = rows.set_index("n_samples")[column].dropna()
        return values if len(values) else None
