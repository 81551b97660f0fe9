"""Predictions as CSV, the same columns for `evaluate --predictions` and `predict`."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import IO, Any

from river import base
from river.conf import Interval

from river_amf.evaluation.prequential import has_intervals
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
        model: Any,
        labels: Sequence[Any],
    ) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._has_target, self._labels = has_target, labels
        beside = ["lower", "upper"] if has_intervals(model) else []
        if isinstance(model, base.Classifier):
            is_short = len(labels) <= _MAX_LABELS
            beside = [f"p({label})" for label in labels] if is_short else ["probability"]
        self._n_beside = len(beside)
        self._writer.writerow(["row", *keep, *["target"] * has_target, "prediction", *beside])

    def write(self, record: Record, prediction: Any, beside: Any) -> None:
        """Write a line."""
        cells: list[Any] = [None] * self._n_beside
        if isinstance(beside, Interval):
            cells = [beside.lower, beside.upper]
        elif beside:
            labels = self._labels if len(self._labels) == self._n_beside else [prediction]
            cells = [beside.get(label, 0.0) for label in labels]
        target = [record.y] if self._has_target else []
        self._writer.writerow([record.row, *record.kept, *target, prediction, *cells])
