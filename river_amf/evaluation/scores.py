"""Scores of predictions: river's metrics over the whole stream and over windows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from river.metrics.base import Metric, RegressionMetric

from river_amf.evaluation.metrics import LogLoss, fresh, inner, is_of_intervals
from river_amf.evaluation.prequential import Step

Metrics = Mapping[str, Metric]


class Scores:
    """Metrics by name over all steps of a run, and over the current window if there are windows."""

    # As in river, a sample without a prediction, such as the first, is not scored. A metric of
    # probabilities or intervals is NaN if a prediction has none.
    def __init__(self, metrics: Metrics, *, has_windows: bool = False) -> None:
        self.n_samples = 0
        self.seconds = 0.0
        self._metrics = metrics
        self._has_windows = has_windows
        self._seen: set[Any] = set()
        is_regression = all(isinstance(inner(m), RegressionMetric) for m in metrics.values())
        self._has_labels = not is_regression  # there is no end of numbers
        self._total, self._window = self._begin(), self._begin()

    def add(self, step: Step) -> None:
        """Score a step."""
        self.n_samples = step.n
        self.seconds += step.seconds
        is_new = self._has_labels and step.y not in self._seen
        for tally in self._total:
            tally.add(step, is_new)
        for tally in self._window if self._has_windows else ():
            tally.add(step, is_new)
        if is_new:
            self._seen.add(step.y)

    def total(self) -> dict[str, float]:
        """Return each metric over all steps, NaN where nothing was scored."""
        return {name: tally.get() for name, tally in zip(self._metrics, self._total, strict=True)}

    def window(self) -> dict[str, float]:
        """Return each metric over the current window, and start the next window."""
        values = {
            name: tally.get() for name, tally in zip(self._metrics, self._window, strict=True)
        }
        self._window = self._begin()
        return values

    def figures(self, model: Any) -> dict[str, float]:
        """Return the metrics, microseconds per sample and bytes after at least one step."""
        us = 1e6 * self.seconds / self.n_samples
        return {**self.total(), "us_per_sample": us, "memory": model._raw_memory_usage}

    def columns(self) -> list[str]:
        """Return the names of the figures."""
        return [*self._metrics, "us_per_sample", "memory"]

    def _begin(self) -> list[_Tally]:
        return [_Tally(metric) for metric in self._metrics.values()]


class _Tally:
    """A fresh metric, of predictions or of what stands beside them."""

    def __init__(self, metric: Metric) -> None:
        self._metric: Any = fresh(metric)
        self._takes_beside = not getattr(metric, "requires_labels", not is_of_intervals(metric))
        self._skips_new = isinstance(metric, LogLoss)
        self._is_known = False
        self._is_possible = True

    def add(self, step: Step, is_new: bool) -> None:
        """Score a step if its prediction is one that the metric is about."""
        output = step.beside if self._takes_beside else step.prediction
        if output is None:
            self._is_possible &= not self._takes_beside
        elif not self._takes_beside or (output != {} and not self._is_unfair(step, is_new)):
            self._metric.update(step.y, output)
            self._is_known = True

    def _is_unfair(self, step: Step, is_new: bool) -> bool:
        """Return whether a label is new, so that not to name it is no mistake."""
        return is_new and self._skips_new and step.y not in step.beside

    def get(self) -> float:
        """Return the value of the metric, NaN if nothing was scored or can be."""
        return float(self._metric.get()) if self._is_known and self._is_possible else math.nan
