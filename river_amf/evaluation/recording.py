"""Record what a page shows of a run along the stream, without keeping its predictions.

A stream is cut into about 300 *steps*. Each sample is measured, and each step leaves means over the
window of steps that ends with it, and over all so far; counters and small samples stand beside.
"""

from __future__ import annotations

import math
import random
from collections import Counter, deque
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base, drift
from river.conf import Interval

from river_amf.classifier import AMFClassifier
from river_amf.evaluation.prequential import Step, last_step
from river_amf.inputs.encoding import ascending
from river_amf.inspection import feature_relevance
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
    """Records a model while it runs along a stream: its predictions, and what becomes of it."""

    def __init__(self, model: base.Estimator, steps: Steps) -> None:
        self.steps = steps
        self.rows: list[dict[str, float]] = []  # metrics and the state of the model at each step
        self._model = model
        self._last = last_step(model)
        self._is_forest = isinstance(self._last, AMFClassifier | AMFRegressor)
        self._predictions = _Numbers() if isinstance(model, base.Regressor) else _Labels()
        self._n_samples = 0
        self._measured: list[tuple[float, ...]] = []  # in the step, of each sample
        self._window: deque[NDArray[np.float64]] = deque(maxlen=steps.n_in_window)  # of steps
        self._so_far: Any = 0.0  # sums of what was measured, and how often it was
        self._relevance: list[pd.Series] = []
        self._detector: Any = drift.ADWIN()  # type: ignore[no-untyped-call]
        self._n_drifts = 0
        self._n_restarts = 0.0

    def learned(self, step: Step) -> None:
        """Measure a sample that has been learned, and its prediction from before."""
        self._n_samples = step.n
        error, *measured = self._predictions.measure(step)
        self._measured.append(tuple(measured))
        if not math.isnan(error):
            before = self._detector.estimation
            self._detector.update(error)
            self._n_drifts += self._detector.drift_detected and self._detector.estimation > before
        if step.n % self.steps.length == 0:
            self.end_step()

    def end_step(self) -> None:
        """Add a row about the samples since the last one, if there are any."""
        if not self._measured:
            return
        step = np.array(self._measured, dtype=np.float64)
        self._measured.clear()
        self._window.append(step)
        recent = np.concatenate(self._window)
        self._so_far = self._so_far + _sums(step)
        row: dict[str, float] = {"n_samples": self._n_samples, "drifts": self._n_drifts}
        for prefix, (sums, counts) in (("", _sums(recent)), ("cumulative ", self._so_far)):
            means = np.divide(sums, counts, out=np.full(len(sums), math.nan), where=counts > 0)
            for name, mean in zip(self._predictions.measures, means, strict=False):
                row[prefix + name] = math.sqrt(mean) if name == "RMSE" else mean
        self.rows.append({**row, **self._predictions.quantiles(recent), **self._state()})
        self._n_drifts = 0

    def _state(self) -> dict[str, float]:
        """Return the size, nodes and restarts of the model, and what else a forest of ours has."""
        before, self._n_restarts = self._n_restarts, number_of(self._last, "n_drifts_detected")
        # of others it takes long
        is_measured = self._is_forest or not len(self.rows) % (N_STEPS // _N_SIZES)
        state = {
            "n_nodes": number_of(self._last, "n_nodes"),
            "memory": number_of(self._model, "_raw_memory_usage") if is_measured else math.nan,
            "restarts": self._n_restarts - before,
        }
        if not self._is_forest:
            return state
        if self._last.split_intensity == "relevance":
            self._relevance.append(feature_relevance(self._last))
        return {**state, "fading_share": self._last.fading_share}

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of a classifier, or of a regressor, that a report has, by name."""
        tables = self._predictions.tables()
        names = self._relevance[-1].index if self._relevance else ()
        if len(names):
            table = np.full((len(self.rows), len(names)), math.nan)
            for row, known in zip(table, self._relevance, strict=False):
                row[: len(known)] = known  # new features are appended
            index = pd.Index([int(row["n_samples"]) for row in self.rows], name="n_samples")
            tables["relevance"] = pd.DataFrame(table, index, names)
        return tables


def _sums(measured: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of columns, and of how many values, which are not NaN."""
    return np.array([np.nansum(measured, axis=0), (~np.isnan(measured)).sum(axis=0)])


def number_of(model: Any, name: str) -> float:
    """Return an attribute or the result of a method, NaN if there is no such number."""
    with suppress(Exception):  # models of river are as they are
        value = getattr(model, name)
        return float(value() if callable(value) else value)
    return math.nan


class _Labels:
    """The predictions of a classifier: hits, losses, confidences, confusion.

    A sample is scored as in `Scores`.
    """

    measures = ("accuracy", "log-loss")

    def __init__(self) -> None:
        self._bins = np.zeros((_N_BINS, 3))  # samples, confidences, hits
        self._pairs: Counter[tuple[Any, Any]] = Counter()  # of a label and the predicted one

    def measure(self, step: Step) -> tuple[float, ...]:
        """Return the error, hit and loss of a sample, NaN for what is not scored."""
        y, label, proba = step.y, step.prediction, step.beside
        hit = loss = math.nan
        if label is not None:
            hit = float(label == y)
            self._pairs[y, label] += 1
            if proba and label in proba:
                confidence = min(max(proba[label], 0.0), 1.0)
                self._bins[min(int(confidence * _N_BINS), _N_BINS - 1)] += 1.0, proba[label], hit
        if proba and (y in proba or not step.is_new):
            loss = -math.log(min(max(proba.get(y, 0.0), _LEAST), 1.0 - _LEAST))
        return 1.0 - hit, hit, loss

    def quantiles(self, measured: NDArray[np.float64]) -> dict[str, float]:
        """Return nothing: labels have no residuals."""
        return {}

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return how often predictions were right, by their probability and by label."""
        n, confidence, hits = self._bins[self._bins[:, 0] > 0].T
        columns = {"n_samples": n.astype(np.int64), "confidence": confidence / n}
        counts = self._confusion(_MOST_REPORTED)
        table = counts.to_numpy()
        n_true, n_predicted = table.sum(axis=1), table.sum(axis=0)
        shares = {"precision": n_predicted, "recall": n_true, "F1": (n_predicted + n_true) / 2}
        hit = np.diag(table)
        report = {name: hit / np.maximum(n, _LEAST) for name, n in shares.items()}
        report["support"] = n_true
        return {
            "reliability": pd.DataFrame({**columns, "accuracy": hits / n}),
            "labels": pd.DataFrame(report, counts.index)[:_MOST_REPORTED],
            "confusion": self._confusion(_MOST_CONFUSED),
        }

    def _confusion(self, most: int) -> pd.DataFrame:
        """Return how often labels, in the rows, were predicted as those in the columns.

        Beyond the most frequent among labels and predictions they share a row and a column.
        """
        totals: Counter[Any] = Counter()
        for (y, label), n in self._pairs.items():
            totals[y] += n
            totals[label] += n
        frequent = sorted(ascending(totals), key=totals.__getitem__, reverse=True)
        kept = ascending(frequent[:most]) + [_OTHERS] * (len(frequent) > most)
        places = {label: place for place, label in enumerate(kept)}
        counts = np.zeros((len(kept), len(kept)), dtype=np.int64)
        for (y, label), n in self._pairs.items():
            counts[places.get(y, -1), places.get(label, -1)] += n
        names = pd.Index(kept, dtype=object, tupleize_cols=False)  # tuples as they are
        return pd.DataFrame(counts, names.rename("label"), names.rename("prediction"))


class _Numbers:
    """The predictions of a regressor: errors, residuals, and intervals where it has them."""

    measures = ("MAE", "RMSE", "coverage", "width")  # the RMSE from squares; then residuals

    def __init__(self) -> None:
        self._n_errors, self._errors = 0, 0.0
        self._latest: deque[tuple[float, ...]] = deque(maxlen=_N_LATEST)
        self._points: list[tuple[float, ...]] = []
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
        if len(self._points) < _N_POINTS:
            self._points.append(row)
        elif (place := self._generator.randrange(step.n)) < _N_POINTS:
            self._points[place] = row
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
        rows = {"points": sorted(self._points), "latest": [*self._latest]}
        return {
            name: pd.DataFrame(kept, columns=[*_COLUMNS], dtype=np.float64).astype({"sample": int})
            for name, kept in rows.items()
        }
