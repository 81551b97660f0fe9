"""Record what a page shows of a run along the stream: numbers of each sample and window."""

from __future__ import annotations

import math
import random
from array import array
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from river import base, drift
from river.conf import Interval

from river_amf.classifier import AMFClassifier
from river_amf.evaluation.prequential import Step, last_step
from river_amf.inputs.encoding import ascending
from river_amf.inspection import feature_relevance
from river_amf.regressor import AMFRegressor

_MEASURED_EVERY = 4  # windows, the size of a model of river, which takes long

_N_BINS = 20  # of confidence, from 0 to 1
_MOST_REPORTED = 100  # labels, the most frequent ones
_MOST_CONFUSED = 20  # labels of a confusion matrix, in which all further ones are one
_OTHERS = "(others)"
_LEAST = 1e-15  # probability, as in the metric

_QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]  # of the residuals of a window
_N_POINTS = 600  # drawn at random from the whole stream,
_N_LATEST = 200  # and the last ones

_LABELS = ("accuracy", "log-loss", "confidence")  # values of a sample
_NUMBERS = ("target", "prediction", "lower", "upper")


class Recorder:
    """Records the predictions and the state of a model while it runs along a stream."""

    def __init__(self, model: base.Estimator) -> None:
        self._model, self._last = model, last_step(model)
        self._is_regression = isinstance(model, base.Regressor)
        self._is_forest = isinstance(self._last, AMFClassifier | AMFRegressor)
        self._names = _NUMBERS if self._is_regression else _LABELS
        self._values = array("d")  # by these names, of each sample
        self._pairs: Counter[tuple[Any, Any]] = Counter()  # of a label and the predicted one
        self._relevance: dict[int, pd.Series] = {}  # of features, by number of samples
        self._detector: Any = drift.ADWIN()  # type: ignore[no-untyped-call]
        self._total, self._n_errors = 0.0, 0  # of finite errors
        self._n_windows, self._begin, self._restarts = 0, 0, 0.0  # before the present window

    def learned(self, step: Step) -> None:
        """Record a sample that has been learned, and its prediction from before."""
        # at once, so that Ctrl-C leaves all values of a sample or none
        self._values += array("d", (_of_number if self._is_regression else _of_label)(step))
        if not self._is_regression and step.prediction is not None:
            self._pairs[step.y, step.prediction] += 1

    @property
    def n_samples(self) -> int:
        """Number of samples recorded."""
        return len(self._values) // len(self._names)

    def end_window(self) -> dict[str, float]:
        """Return the state of the model, and what its errors in the window say."""
        frame, row = self._frame(self._begin), dict[str, float]()
        if self._is_regression:
            residual = frame["target"] - frame["prediction"]
            row = {f"residual {q:g}": float(residual.quantile(q)) for q in _QUANTILES}
            errors = residual.abs()
        else:
            errors = 1.0 - frame["accuracy"]
        is_measured = self._is_forest or not self._n_windows % _MEASURED_EVERY
        restarts = number_of(self._last, "n_drifts_detected")
        row |= {
            "drifts": self._n_drifts(errors.tolist()),
            "n_nodes": number_of(self._last, "n_nodes"),
            "memory": number_of(self._model, "_raw_memory_usage") if is_measured else math.nan,
            "restarts": restarts - self._restarts,
        }
        if self._is_forest:
            row["fading_share"] = self._last.fading_share
            if self._last.split_intensity == "relevance":
                self._relevance[self.n_samples] = feature_relevance(self._last)
        self._n_windows, self._begin, self._restarts = self._n_windows + 1, self.n_samples, restarts
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

    def _frame(self, begin: int = 0) -> pd.DataFrame:
        """Return the recorded values, a row for each sample from `begin` on."""
        values = np.array(self._values[begin * len(self._names) :])
        return pd.DataFrame(values.reshape(-1, len(self._names)), columns=self._names)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of a classifier, or of a regressor, that a report has, by name."""
        frame = self._frame()
        tables = _samples(frame) if self._is_regression else _label_tables(frame, self._pairs)
        relevance = pd.DataFrame([*self._relevance.values()], [*self._relevance])
        if len(relevance.columns):
            tables["relevance"] = relevance.rename_axis("n_samples")
        return tables


def number_of(model: Any, name: str) -> float:
    """Return an attribute or the result of a method, NaN if there is no such number."""
    with suppress(Exception):  # of a model of river
        value = getattr(model, name)
        return float(value() if callable(value) else value)
    return math.nan


# Classifiers


def _of_label(step: Step) -> tuple[float, ...]:
    """Return the hit, loss and confidence of a sample, NaN where it is not scored, as `Scores`."""
    y, label, proba = step.y, step.prediction, step.beside
    hit = math.nan if label is None else float(label == y)
    confidence = loss = math.nan
    if proba and label is not None:
        confidence = proba.get(label, math.nan)
    if proba and (y in proba or not step.is_new):
        loss = -math.log(min(max(proba.get(y, 0.0), _LEAST), 1.0 - _LEAST))
    return hit, loss, confidence


def _label_tables(frame: pd.DataFrame, pairs: Counter[tuple[Any, Any]]) -> dict[str, pd.DataFrame]:
    """Return how often predictions were right, by their probability and by label."""
    bins = (frame["confidence"].clip(0.0, 1.0) * _N_BINS).clip(upper=_N_BINS - 1) // 1
    by_bin = frame[["confidence", "accuracy"]].groupby(bins)
    reliability = by_bin.mean()
    reliability.insert(0, "n_samples", by_bin.size())
    counts = _confusion(pairs, _MOST_REPORTED)
    n_true, n_predicted = counts.to_numpy().sum(axis=1), counts.to_numpy().sum(axis=0)
    shares = {"precision": n_predicted, "recall": n_true, "F1": (n_predicted + n_true) / 2}
    report = {name: np.diag(counts) / np.maximum(n, _LEAST) for name, n in shares.items()}
    labels = pd.DataFrame({**report, "support": n_true}, counts.index)
    return {
        "reliability": reliability.reset_index(drop=True),
        "labels": labels[:_MOST_REPORTED],
        "confusion": _confusion(pairs, _MOST_CONFUSED),
    }


def _confusion(pairs: Counter[tuple[Any, Any]], most: int) -> pd.DataFrame:
    """Return how often labels, in the rows, were predicted as those in the columns."""
    # Beyond the most frequent among labels and predictions they share a row and a column.
    totals: Counter[Any] = Counter()
    for pair, n in pairs.items():
        for label in pair:
            totals[label] += n
    frequent = sorted(ascending(totals), key=totals.__getitem__, reverse=True)
    kept = ascending(frequent[:most]) + [_OTHERS] * (len(frequent) > most)
    places = {label: place for place, label in enumerate(kept)}
    counts = np.zeros((len(kept), len(kept)), dtype=np.int64)
    for (y, label), n in pairs.items():
        counts[places.get(y, -1), places.get(label, -1)] += n
    names = pd.Index(kept, dtype=object, tupleize_cols=False)  # tuples as they are
    return pd.DataFrame(counts, names.rename("label"), names.rename("prediction"))


# Regressors


def _of_number(step: Step) -> tuple[Any, ...]:
    """Return the target, the prediction and the ends of its interval, NaN where there is none."""
    prediction = math.nan if step.prediction is None else step.prediction
    if isinstance(step.beside, Interval):
        return step.y, prediction, step.beside.lower, step.beside.upper
    return step.y, prediction, math.nan, math.nan


def _samples(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return samples drawn from the whole stream, and the last ones, with predictions."""
    ends = frame[["lower", "upper"]]
    frame[["lower", "upper"]] = ends.where(np.isfinite(ends))  # which cannot be drawn
    frame.insert(0, "sample", np.arange(len(frame)) + 1)
    # every model draws the same samples
    drawn = sorted(random.Random(0).sample(range(len(frame)), min(_N_POINTS, len(frame))))
    return {
        "points": frame.iloc[drawn].reset_index(drop=True),
        "latest": frame[-_N_LATEST:].reset_index(drop=True),
    }
