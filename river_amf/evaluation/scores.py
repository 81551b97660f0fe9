"""Scores of predictions: river's metrics, each given the predictions that it is about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from river.metrics.base import Metric

from river_amf.evaluation.metrics import LogLoss
from river_amf.evaluation.prequential import Step

Metrics = Mapping[str, Metric]


class Scores:
    """Metrics by name over steps.

    As in river, a sample without a prediction, such as the first, is not scored. In the log-loss, a
    label that is new to the stream is not either, unless the prediction names it.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics: dict[str, Any] = {name: metric.clone() for name, metric in metrics.items()}
        self._of_beside = {n for n, m in metrics.items() if not getattr(m, "requires_labels", True)}
        self._scored: set[str] = set()
        self._lacking: set[str] = set()  # metrics of probabilities or intervals of which one lacks

    def add(self, step: Step) -> None:
        """Score a step."""
        for name, metric in self._metrics.items():
            output = step.beside if name in self._of_beside else step.prediction
            if output is None:
                if name in self._of_beside:
                    self._lacking.add(name)
            elif output != {}:
                if step.is_new and isinstance(metric, LogLoss) and step.y not in step.beside:
                    continue
                metric.update(step.y, output)
                self._scored.add(name)

    def get(self) -> dict[str, float]:
        """Return each metric, NaN where nothing was scored or can be."""
        scored = self._scored - self._lacking
        return {n: float(m.get()) if n in scored else math.nan for n, m in self._metrics.items()}
