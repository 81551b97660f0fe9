"""Record what a page shows of a run along the stream: a few numbers of each sample.

A stream is cut into about 300 *steps*. A curve has a point at the end of each step: a mean over the
window of steps that ends there, or over all samples so far.
"""

from __future__ import annotations

import math
import random
from array import array
from collections import Counter
from collections.abc import Iterator
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

N_STEPS = 300
_WINDOW = 500  # samples: the accuracy of fewer is mostly noise
_MOST_STEPS = 10  # in a window of a shorter stream,
_LEAST_WINDOW = 50  # unless that is fewer samples than these
_N_SIZES = 12  # times that the size of a model of river, which takes long, is measured

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


class Steps:
    """The steps and windows of a stream, by its number of samples."""

    def __init__(self, n_samples: int, window: int | None = None) -> None:
        self.length = max(round(n_samples / N_STEPS), 1)
        if window is None:
            window = min(_WINDOW, max(_MOST_STEPS * self.length, _LEAST_WINDOW))
        self.n_in_window = max(math.ceil(min(window, n_samples) / self.length), 1)

    @property
    def window(self) -> int:
        """Number of samples in a window."""
        return self.length * self.n_in_window


class Recorder:
    """Records the predictions and the state of a model while it runs along a stream."""

    def __init__(self, model: base.Estimator, steps: Steps) -> None:
        self._steps, self._model, self._last = steps, model, last_step(model)
        self._is_regression = isinstance(model, base.Regressor)
        self._is_forest = isinstance(self._last, AMFClassifier | AMFRegressor)
        self._names = _NUMBERS if self._is_regression else _LABELS
        self._values = array("d")  # by these names, of each sample
        self._pairs: Counter[tuple[Any, Any]] = Counter()  # of a label and the predicted one
        self._states: list[dict[str, float]] = []  # of the model, at the end of each step
        self._relevance: dict[int, pd.Series] = {}  # of features, by number of samples

    def learned(self, step: Step) -> None:
        """Record a sample that has been learned, and its prediction from before."""
        # at once, so that Ctrl-C leaves all values of a sample or none
        self._values += array("d", (_of_number if self._is_regression else _of_label)(step))
        if not self._is_regression and step.prediction is not None:
            self._pairs[step.y, step.prediction] += 1
        if step.n % self._steps.length == 0:
            self.end_step()

    @property
    def n_samples(self) -> int:
        """Number of samples recorded."""
        return len(self._values) // len(self._names)

    def end_step(self) -> None:
        """Record the state of the model, unless no sample has come since the last time."""
        if self.n_samples == (self._states[-1]["n_samples"] if self._states else 0):
            return
        is_measured = self._is_forest or not len(self._states) % (N_STEPS // _N_SIZES)
        state = {
            "n_samples": self.n_samples,
            "n_nodes": number_of(self._last, "n_nodes"),
            "memory": number_of(self._model, "_raw_memory_usage") if is_measured else math.nan,
            "restarts": number_of(self._last, "n_drifts_detected"),
        }
        if self._is_forest:
            state["fading_share"] = self._last.fading_share
            if self._last.split_intensity == "relevance":
                self._relevance[self.n_samples] = feature_relevance(self._last)
        self._states.append(state)

    def _frame(self) -> pd.DataFrame:
        """Return the recorded values, a row for each sample."""
        return pd.DataFrame(np.array(self._values).reshape(-1, len(self._names)), None, self._names)

    def curves(self) -> pd.DataFrame:
        """Return a row for each step: means of the window and so far, drifts, and the state."""
        measured, errors = (_measured if self._is_regression else _scored)(self._frame())
        residual = measured.pop("residual") if self._is_regression else None
        states = pd.DataFrame(self._states)
        states["restarts"] = states["restarts"].diff().fillna(states["restarts"])
        ends, length = states["n_samples"].to_numpy(), self._steps.length
        begins = np.arange(len(ends)) * length
        starts = np.maximum(begins - (self._steps.n_in_window - 1) * length, 0)
        windows = [slice(*pair) for pair in zip(starts.tolist(), ends.tolist(), strict=True)]
        recent = pd.DataFrame([measured.iloc[window].mean() for window in windows])
        so_far = (measured.fillna(0.0).cumsum() / measured.notna().cumsum()).iloc[ends - 1]
        means = recent.join(so_far.reset_index(drop=True).add_prefix("cumulative "))
        for name in means.filter(like="RMSE"):
            means[name] **= 0.5
        if residual is not None:
            quantiles = [residual.iloc[window].quantile(_QUANTILES) for window in windows]
            for q in _QUANTILES:
                means[f"residual {q:g}"] = [values[q] for values in quantiles]
        drifts = np.array([*_drifts(errors)], dtype=np.int64)
        return states.assign(drifts=np.add.reduceat(drifts, begins)).join(means)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of a classifier, or of a regressor, that a report has, by name."""
        frame = self._frame()
        tables = _samples(frame) if self._is_regression else _label_tables(frame, self._pairs)
        relevance = pd.DataFrame([*self._relevance.values()], [*self._relevance])
        if len(relevance.columns):
            tables["relevance"] = relevance.rename_axis("n_samples")
        return tables


def _drifts(errors: pd.Series) -> Iterator[bool]:
    """Yield for each error whether ADWIN then finds that errors have grown."""
    detector: Any = drift.ADWIN()  # type: ignore[no-untyped-call]
    for error in errors.tolist():
        before, is_finite = detector.estimation, math.isfinite(error)
        if is_finite:
            detector.update(error)
        yield bool(is_finite and detector.drift_detected and detector.estimation > before)


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


def _scored(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Return the columns whose means are drawn, and the errors for the detection of drift."""
    return frame[["accuracy", "log-loss"]], 1.0 - frame["accuracy"]


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


def _measured(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Return the columns whose means or quantiles are drawn, and the errors relative to so far."""
    target, lower, upper = frame["target"], frame["lower"], frame["upper"]
    residual = target - frame["prediction"]
    error, width = residual.abs(), upper - lower
    columns = {
        "MAE": error,
        "RMSE": error**2,
        "coverage": target.between(lower, upper).astype(np.float64).where(lower.notna()),
        "width": width.where(np.isfinite(width)),  # infinite before the second target
        "residual": residual,
    }
    finite = error.where(np.isfinite(error))
    relative = finite / (finite + finite.expanding().mean())
    return pd.DataFrame(columns), relative.where(finite != 0.0, 0.0)


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
