"""The run of a model along a stream: its scores, and what tables, curves and pages show of it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from river import base, drift
from river.conf import Interval

from river_amf.classifier import AMFClassifier
from river_amf.evaluation.metrics import Metrics, Scores
from river_amf.evaluation.models import Maker
from river_amf.evaluation.prequential import Step, last_step, seen_by_last_step, test_then_train
from river_amf.evaluation.streams import Sample, Schedule, shorten
from river_amf.evaluation.usage_errors import EvaluationError, error_line
from river_amf.explain.contributions import has_rest
from river_amf.inputs.invalid import INVALID
from river_amf.inspection import contributions, feature_relevance
from river_amf.pages.tables import of_labels, of_numbers
from river_amf.regressor import AMFRegressor

_MEASURED_EVERY = 4  # windows, the size of a model of river, which takes long

_QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]  # of the residuals of a window


class Run:
    """The run of one model over a stream, and its results.

    Without a `window`, a number of samples, there are no rows. With `records`, there are windows,
    and their rows have all that a report shows.
    """

    def __init__(
        self, metrics: Metrics, schedule: Schedule, window: int = 0, *, records: bool = False
    ) -> None:
        self.metrics, self.window, self.schedule, self._records = metrics, window, schedule, records
        self.status = "not run"  # "ok", or why the run is incomplete
        self.has_failed = False
        self.n_samples = 0
        # the metrics and costs over the samples learned; NaN if the model failed
        self.figures = dict.fromkeys((*metrics, "us_per_sample", "memory"), math.nan)
        self.rows: list[dict[str, float]] = []  # for each window n_samples, metrics and the state
        self.model: Any = None
        self._seconds = 0.0
        self._scores, self._in_window = Scores(metrics), Scores(metrics)
        self._values = array("d")  # that a report shows, of each sample
        self._relevance: dict[int, pd.Series] = {}  # of features, by the number of samples
        self._contributions: dict[int, pd.Series] = {}  # of features, by the number of the sample
        self._detector: Any = drift.ADWIN()  # type: ignore[no-untyped-call]
        self._total, self._n_errors = 0.0, 0  # of finite errors
        self._restarts = 0.0  # before the present window

    def go(
        self,
        make: Maker,
        samples: Iterable[Sample],
        on_step: Callable[[Step], object] | None = None,
    ) -> None:
        """Make a model and run it, and call a function after each step; all errors are raised."""
        try:
            self.model = make()
            if self._records and isinstance(last_step(self.model), AMFClassifier | AMFRegressor):
                samples = self._explained(samples)
            for step in test_then_train(self.model, samples, self.schedule):
                self._add(step)
                if on_step is not None:
                    on_step(step)
            self.status = "ok"
        except Exception as error:
            text = str(error) if isinstance(error, EvaluationError) else error_line(error)
            self.status, self.has_failed = shorten(" ".join(text.split())), True
            raise
        except KeyboardInterrupt:
            self.status = f"interrupted after {self.n_samples} samples"
            raise
        finally:
            if self.n_samples and not self.has_failed:
                self.measure()
                self._close_window()

    def measure(self) -> dict[str, float]:
        """Return the figures after the last step."""
        us = 1e6 * self._seconds / self.n_samples
        memory = _number_of(self.model, "_raw_memory_usage")
        self.figures = {**self._scores.get(), "us_per_sample": us, "memory": memory}
        return self.figures

    def _add(self, step: Step) -> None:
        """Score and record a step."""
        self.n_samples = step.n
        self._seconds += step.seconds
        self._scores.add(step)
        if self.window:
            self._in_window.add(step)
            if self._records:  # at once, so that Ctrl-C leaves all values of a sample or none
                self._values += array("d", (_of_number if self._is_regression else _of_label)(step))
            if step.n % self.window == 0:
                self._close_window()

    def _explained(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Yield samples, the last of a window once contributions to its prediction are recorded."""
        forest = last_step(self.model)
        for n, sample in enumerate(samples, start=1):
            seen = None
            if n % self.window == 0:
                with suppress(Exception):  # of a step of river, which raises it again to predict
                    seen = seen_by_last_step(self.model, sample[0])
            if seen is not None:
                with suppress(*INVALID):  # so does the forest
                    parts = contributions(forest, seen)
                    self._contributions[n] = parts.iloc[1 : len(parts) - has_rest(forest)]
            yield sample

    def _close_window(self) -> None:
        """Add the row of the current window, if it has any samples."""
        begin = int(self.rows[-1]["n_samples"]) if self.rows else 0
        if self.window and self.n_samples > begin:
            row = {"n_samples": self.n_samples, **self._in_window.get()}
            if self._records:
                so_far = {f"cumulative {name}": v for name, v in self._scores.get().items()}
                row |= so_far | self._state(begin)
            self.rows.append(row)
            self._in_window = Scores(self.metrics)

    def _state(self, begin: int) -> dict[str, float]:
        """Return the state of the model, and figures of its errors from a sample on."""
        frame, last, row = self._frame(begin), last_step(self.model), dict[str, float]()
        if self._is_regression:
            residual = frame["target"] - frame["prediction"]
            row = {f"residual {q:g}": float(residual.quantile(q)) for q in _QUANTILES}
            errors = residual.abs()
        else:
            errors = 1.0 - frame["accuracy"]
        is_forest = isinstance(last, AMFClassifier | AMFRegressor)
        is_measured = is_forest or not len(self.rows) % _MEASURED_EVERY
        restarts = _number_of(last, "n_restarts" if is_forest else "n_drifts_detected")
        row |= {
            "drifts": self._n_drifts(errors.tolist()),
            "n_nodes": _number_of(last, "n_nodes"),
            "memory": _number_of(self.model, "_raw_memory_usage") if is_measured else math.nan,
            "restarts": restarts - self._restarts,
        }
        if is_forest:
            row["fading_share"] = last.fading_share
            if last.split_intensity == "relevance":
                self._relevance[self.n_samples] = feature_relevance(last)
        self._restarts = restarts
        return row

    def _n_drifts(self, errors: list[float]) -> float:
        """Return how often ADWIN finds that errors have grown, those of numbers relative to all."""
        n_drifts = 0
        for error in filter(math.isfinite, errors):
            self._total, self._n_errors = self._total + error, self._n_errors + 1
            if self._is_regression and error:
                error /= error + self._total / self._n_errors
            before = self._detector.estimation
            self._detector.update(error)
            n_drifts += self._detector.drift_detected and self._detector.estimation > before
        return n_drifts

    @property
    def _is_regression(self) -> bool:
        return isinstance(self.model, base.Regressor)

    def _frame(self, begin: int = 0) -> pd.DataFrame:
        """Return the recorded values, a row for each sample from `begin` on."""
        names = _NUMBERS if self._is_regression else _LABELS
        values = np.array(self._values[begin * len(names) :])
        return pd.DataFrame(values.reshape(-1, len(names)), columns=names)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of a classifier, or of a regressor, that a report has, by name."""
        frame, pairs = self._frame(), self._scores.pairs
        tables = of_numbers(frame) if self._is_regression else of_labels(frame, pairs)
        for name, rows, index in (
            ("relevance", self._relevance, "n_samples"),
            ("contributions", self._contributions, "sample"),
        ):
            titles = [row.name for row in rows.values()]  # a third label changes the unit in them
            last = {n: row for n, row in rows.items() if row.name == titles[-1]}
            table = pd.DataFrame([*last.values()], [*last])
            if len(table.columns):
                table.columns.name = titles[-1]
                tables[name] = table.rename_axis(index)
        return tables


def _number_of(model: Any, name: str) -> float:
    """Return an attribute or the result of a method, NaN if there is no such number."""
    with suppress(Exception):  # of a model of river
        value = getattr(model, name)
        return float(value() if callable(value) else value)
    return math.nan


# Classifiers


_LABELS = ("accuracy", "confidence")  # what is recorded of a sample


def _of_label(step: Step) -> tuple[float, ...]:
    """Return the hit and confidence of a sample, NaN where there is none."""
    label = step.prediction
    if label is None:
        return math.nan, math.nan
    return float(label == step.y), (step.uncertainty or {}).get(label, math.nan)


# Regressors

_NUMBERS = ("target", "prediction", "lower", "upper")


def _of_number(step: Step) -> tuple[Any, ...]:
    """Return the target, the prediction and the ends of its interval, NaN where there is none."""
    prediction = math.nan if step.prediction is None else step.prediction
    if isinstance(step.uncertainty, Interval):
        return step.y, prediction, step.uncertainty.lower, step.uncertainty.upper
    return step.y, prediction, math.nan, math.nan
