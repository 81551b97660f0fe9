"""Tables of runs along a stream, which a report draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

Tables = Mapping[str, pd.DataFrame]  # by the name of the model


class Others:
    """Stands for all labels beyond those that a table has room for."""

    def __repr__(self) -> str:
        return "others"


OTHERS = Others()


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
    confusion: Tables
    points: Tables
    latest: Tables
    floors: Sequence[str] = ()

    @property
    def measure(self) -> str:
        """The criterion by which models are judged first."""
        return "MAE" if self.is_of_numbers else "accuracy"

    @property
    def is_of_numbers(self) -> bool:
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
