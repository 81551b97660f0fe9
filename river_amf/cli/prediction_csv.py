"""Predictions as CSV, the same columns for `evaluate --predictions` and `predict`."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import IO, Any

from river.conf import Interval

from river_amf.evaluation.streams import Record

_MAX_LABELS = 20  # with a column of probabilities each


class PredictionWriter:
    """Writes a line for each prediction: row, columns that are kept, target, and the prediction.

    Beside it are the ends of the interval, or the probability of each label; of more than twenty
    labels that of the predicted one.
    """

    def __init__(
        self,
        file: IO[str],
        keep: Sequence[str],
        has_target: bool,
        labels: Sequence[Any] | None,
        has_intervals: bool,
    ) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._has_target, self._labels, self._has_intervals = has_target, labels, has_intervals
        beside = ["lower", "upper"] if has_intervals else []
        if labels is not None:
            beside = [f"p({label})" for label in labels]
        if len(beside) > _MAX_LABELS:
            beside = ["probability"]
        self._n_beside = len(beside)
        self._writer.writerow(["row", *keep, *["target"] * has_target, "prediction", *beside])

    def write(self, record: Record, prediction: Any, beside: Any) -> None:
        """Write a line."""
        cells: list[Any] = [None] * self._n_beside
        if isinstance(beside, Interval):
            cells = [beside.lower, beside.upper]
        elif beside and self._labels is not None:
            is_short = len(self._labels) <= _MAX_LABELS
            cells = [
                beside.get(label, 0.0) for label in (self._labels if is_short else [prediction])
            ]
        target = [record.y] if self._has_target else []
        self._writer.writerow([record.row, *record.kept, *target, prediction, *cells])
