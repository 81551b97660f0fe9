"""Record what a page shows of a run along the stream, without keeping its predictions.

A stream is cut into about 300 *steps*. Each sample is measured, and each step leaves means over the
window of steps that ends with it, and over all so far; counters and small samples stand beside.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base, drift, metrics
from river.conf import Interval

from river_amf.classifier import AMFClassifier
from river_amf.evaluation.prequential import Step, last_step
from river_amf.evaluation.usage_errors import ignored_errors
from river_amf.inputs.encoding import ascending
from river_amf.inspection import feature_relevance
from river_amf.inspection.importance import feature_index
from river_amf.regressor import AMFRegressor

N_STEPS = 300
_WINDOW = 500  # samples: the accuracy of fewer is mostly noise
_MOST_STEPS = 10  # in a window of a shorter stream,
_LEAST_WINDOW = 50  # unless that is fewer samples than these
_N_SIZES = 12  # times that the size of a model of river, which takes long, is measured

_N_BINS = 20  # of confidence, from 0 to 1
_MOST_REPORTED = 100  # labels, the most frequent ones
_MOST_CONFUSED = 20  # labels of a matrix of confusion, the rest being one
_OTHERS = "(others)"
_LEAST = 1e-15  # probability, as in the metric

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the residuals of a window
_N_POINTS = 600  # drawn at random from the whole stream,
_N_LATEST = 200  # and the last ones
_COLUMNS = ("sample", "target", "prediction", "lower", "upper")


class Steps:
    """The steps and windows of a stream of a known length.

    >>> steps = Steps(45_312)
    >>> steps.length, steps.n_in_window
    (151, 4)
    """

    # A curve has a point at the end of each step, over the window of samples that ends there.
    def __init__(self, n_samples: int, window: int | None = None) -> None:
        self.length = max(round(n_samples / N_STEPS), 1)
        if window is None:
            window = min(_WINDOW, max(_MOST_STEPS * self.length, _LEAST_WINDOW))
        window = min(window, n_samples)
        self.n_in_window = max(math.ceil(window / self.length), 1)

    @property
    def window(self) -> int:
        """Number of samples in a window."""
        return self.length * self.n_in_window


class Recorder:
    """Records a model while it runs along a stream: its predictions, and what becomes of it.

    `learned` takes the steps of a run.
    """

    def __init__(self, model: base.Estimator, steps: Steps) -> None:
        self.steps = steps
        self.n_samples = 0
        self.rows: list[dict[str, float]] = []  # the state of the model after each step
        self._model = model
        self._last = last_step(model)
        self._is_forest = isinstance(self._last, AMFClassifier | AMFRegressor)
        self._predictions = _Numbers() if isinstance(model, base.Regressor) else _Labels()
        self._measured: list[tuple[float, ...]] = []  # in the step, of each sample
        self._window: deque[NDArray[np.float64]] = deque(maxlen=steps.n_in_window)  # of steps
        self._so_far: Any = 0.0  # sums of what was measured, and how often it was
        self._relevance: list[pd.Series] = []
        self._detector: Any = drift.ADWIN()  # type: ignore[no-untyped-call]
        self._n_drifts = 0
        self._n_restarts = 0.0

    def learned(self, step: Step) -> None:
        """Measure a sample that has been learned, and its prediction from before."""
        n = self.n_samples = step.n
        error, *measured = self._predictions.measure(step)
        self._measured.append(tuple(measured))
        if not math.isnan(error):
            before = self._detector.estimation
            self._detector.update(error)
            self._n_drifts += self._detector.drift_detected and self._detector.estimation > before
        if n % self.steps.length == 0:
            self._end_step()

    def close(self) -> None:
        """End the last step."""
        if self._measured:
            self._end_step()

    @property
    def relevance(self) -> pd.DataFrame:
        """The relevance of each feature after each step, without columns if there is none."""
        names = self._relevance[-1].index if self._relevance else pd.Index([], dtype=object)
        table = np.full((len(self.rows), len(names)), math.nan)
        for row, known in zip(table, self._relevance, strict=False):
            row[: len(known)] = known  # new features are appended
        index = pd.Index([int(row["n_samples"]) for row in self.rows], name="n_samples")
        return pd.DataFrame(table, index, names)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of a classifier, or of a regressor, that a report has, by name."""
        return self._predictions.tables()

    def curves(self) -> pd.DataFrame:
        """Return a row for each step: metrics over its window and all samples, and the state."""
        return pd.DataFrame(self.rows, columns=None if self.rows else ["n_samples"])

    def _end_step(self) -> None:
        step = np.array(self._measured, dtype=np.float64)
        self._measured.clear()
        self._window.append(step)
        recent = np.concatenate(self._window)
        self._so_far = self._so_far + _sums(step)
        row: dict[str, float] = {"n_samples": self.n_samples, "drifts": self._n_drifts}
        for prefix, (sums, counts) in (("", _sums(recent)), ("cumulative ", self._so_far)):
            means = np.divide(sums, counts, out=np.full(len(sums), math.nan), where=counts > 0)
            for name, mean in zip(self._predictions.measures, means, strict=False):
                row[prefix + name] = math.sqrt(mean) if name == "RMSE" else mean
        self.rows.append({**row, **self._predictions.quantiles(recent), **self._state()})
        self._n_drifts = 0

    def _state(self) -> dict[str, float]:
        """Return the size, nodes and restarts of the model, and what else a forest of ours has."""
        before, self._n_restarts = self._n_restarts, _number(self._last, "n_drifts_detected")
        # of others it takes long
        is_measured = self._is_forest or not len(self.rows) % (N_STEPS // _N_SIZES)
        state = {
            "n_nodes": _number(self._last, "n_nodes"),
            "memory": _number(self._model, "_raw_memory_usage") if is_measured else math.nan,
            "restarts": self._n_restarts - before,
        }
        if not self._is_forest:
            return state
        if self._last.split_intensity == "relevance":
            self._relevance.append(feature_relevance(self._last))
        return {**state, "fading_share": self._last.fading_share}


def _sums(measured: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of columns, and of how many values, which are not NaN."""
    return np.array([np.nansum(measured, axis=0), (~np.isnan(measured)).sum(axis=0)])


class _Labels:
    """The predictions of a classifier: hits, losses, confidences, confusion."""

    # What counts is what `Scores` counts: a sample without a prediction is not scored, and one
    # whose label is new to the stream has no loss unless the prediction names it.
    measures = ("accuracy", "log-loss")

    def __init__(self) -> None:
        self._seen: set[Hashable] = set()
        self._bins = [[0.0, 0.0, 0.0] for _ in range(_N_BINS)]  # samples, confidences, hits
        self._matrix: Any = metrics.ConfusionMatrix()  # type: ignore[no-untyped-call]

    def measure(self, step: Step) -> tuple[float, ...]:
        """Return the error, hit and loss of a sample, NaN for what is not scored."""
        y, label, proba = step.y, step.prediction, step.beside
        hit = loss = math.nan
        if label is not None:
            hit = float(label == y)
            self._matrix.update(y, label)
            if proba and label in proba:
                self._count(proba[label], hit)
        if proba and (y in proba or y in self._seen):
            loss = -math.log(min(max(proba.get(y, 0.0), _LEAST), 1.0 - _LEAST))
        self._seen.add(y)
        return 1.0 - hit, hit, loss

    def _count(self, confidence: float, hit: float) -> None:
        place = int(min(max(0.0, confidence), 1.0) * _N_BINS)
        of_bin = self._bins[min(place, _N_BINS - 1)]
        for k, value in enumerate((1.0, confidence, hit)):
            of_bin[k] += value

    def quantiles(self, measured: NDArray[np.float64]) -> dict[str, float]:
        """Return nothing: labels have no residuals."""
        return {}

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return how often predictions were right, by their probability and by label."""
        bins = np.array(self._bins)
        n, confidence, hits = bins[bins[:, 0] > 0].T
        columns = {"n_samples": n.astype(np.int64), "confidence": confidence / n}
        return {
            "reliability": pd.DataFrame({**columns, "accuracy": hits / n}),
            "labels": self._report(),
            "confusion": self._confusion(),
        }

    def _frequent(self, most: int) -> list[Any]:
        """Return so many labels, the most frequent among labels and predictions, in order."""
        matrix = self._matrix
        n = {label: matrix.sum_row[label] + matrix.sum_col[label] for label in matrix.classes}
        return ascending(sorted(ascending(n), key=n.__getitem__, reverse=True)[:most])

    def _report(self) -> pd.DataFrame:
        """Return the figures of river's `ClassificationReport` for each label."""
        kept = self._frequent(_MOST_REPORTED)
        scores: list[Any] = [metrics.F1(self._matrix, label) for label in kept]  # type: ignore[no-untyped-call]
        table = {
            "precision": [score.precision.get() for score in scores],
            "recall": [score.recall.get() for score in scores],
            "F1": [score.get() for score in scores],
            "support": [int(self._matrix.sum_row[label]) for label in kept],
        }
        return pd.DataFrame(table, feature_index(kept).rename("label"))

    def _confusion(self) -> pd.DataFrame:
        """Return how often labels, in the rows, were predicted as those in the columns."""
        kept = self._frequent(_MOST_CONFUSED)
        places = {label: place for place, label in enumerate(kept)}
        counts = np.zeros((len(kept) + 1, len(kept) + 1), dtype=np.int64)
        for y, predictions in self._matrix.data.items():
            for label, n in predictions.items():
                counts[places.get(y, -1), places.get(label, -1)] += int(n)
        names = feature_index([*kept, _OTHERS])
        table = pd.DataFrame(counts, names.rename("label"), names.rename("prediction"))
        return table if len(kept) < len(self._matrix.classes) else table.iloc[:-1, :-1]


class _Numbers:
    """The predictions of a regressor: errors, residuals, and intervals where it has them."""

    measures = ("MAE", "RMSE", "coverage", "width")  # the RMSE from squares; then residuals

    def __init__(self) -> None:
        self._n_errors, self._errors = 0, 0.0
        self._latest: deque[tuple[float, ...]] = deque(maxlen=_N_LATEST)
        self._points: list[tuple[float, tuple[float, ...]]] = []  # those that drew the least
        self._generator = random.Random(0)  # every model draws the same samples

    def measure(self, step: Step) -> tuple[float, ...]:
        """Return the errors of a sample, whether its interval holds and how wide it is, or NaN."""
        target, lower, upper = float(step.y), math.nan, math.nan
        prediction = math.nan if step.prediction is None else float(step.prediction)
        if isinstance(step.beside, Interval):
            lower, upper = float(step.beside.lower), float(step.beside.upper)
        holds = math.nan if math.isnan(lower) else float(lower <= target <= upper)
        if math.isinf(upper - lower):  # before the second target; it cannot be drawn
            lower = upper = math.nan
        row = (step.n, target, prediction, lower, upper)
        self._latest.append(row)
        keep = heapq.heappush if len(self._points) < _N_POINTS else heapq.heappushpop
        keep(self._points, (-self._generator.random(), row))
        residual = target - prediction
        error = abs(residual)
        return self._relative(error), error, error * error, holds, upper - lower, residual

    def _relative(self, error: float) -> float:
        """Return an error for the detector of drift, compared with those so far; or NaN."""
        if not math.isfinite(error):
            return math.nan
        self._n_errors += 1
        self._errors += error
        mean = self._errors / self._n_errors
        return error / (error + mean) if error + mean > 0.0 else 0.0

    def quantiles(self, measured: NDArray[np.float64]) -> dict[str, float]:
        """Return the quantiles of the residuals among what was measured."""
        residuals = measured[:, len(self.measures)]
        known = residuals[~np.isnan(residuals)]
        values = np.quantile(known, _QUANTILES) if len(known) else [math.nan] * len(_QUANTILES)
        return {f"residual {q:g}": float(v) for q, v in zip(_QUANTILES, values, strict=True)}

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return samples drawn from the whole stream, and the last ones, with predictions."""
        rows = {"points": sorted(row for _, row in self._points), "latest": [*self._latest]}
        return {
            name: pd.DataFrame(kept, columns=[*_COLUMNS], dtype=np.float64).astype({"sample": int})
            for name, kept in rows.items()
        }


def _number(model: Any, name: str) -> float:
    """Return an attribute or the result of a method, NaN if there is no such number."""
    with ignored_errors():  # models of river are as they are
        value = getattr(model, name)
        return float(value() if callable(value) else value)
    return math.nan
