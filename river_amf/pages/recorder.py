"""What a page shows of a model along a stream: its predictions, errors and state."""

import math
from array import array
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from river import base, drift
from river.conf import Interval

from river_amf.classifier import AMFClassifier
from river_amf.explain.contributions import has_rest
from river_amf.inputs.invalid import INVALID
from river_amf.inspection import contributions, feature_relevance
from river_amf.pages.tables import label_tables, number_tables
from river_amf.regressor import AMFRegressor

_MEASURED_EVERY = 4  # windows, the size of a model of river, which takes long
_QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]  # of the residuals of a window


class Recorder:
    """Records the steps of a model, whose last step, if it is a pipeline, is `last`."""

    def __init__(self, model: Any, last: Any) -> None:
        self._model, self._last = model, last
        self.is_forest = isinstance(last, AMFClassifier | AMFRegressor)
        self._is_regression = isinstance(model, base.Regressor)
        numbers, labels = ["target", "prediction", "lower", "upper"], ["accuracy", "confidence"]
        self._names = numbers if self._is_regression else labels
        self._values = array("d")  # those of each sample
        self._begin, self._n_windows = 0, 0  # of the present window; that are closed
        self._relevance: dict[int, pd.Series] = {}  # of features, by the number of samples
        self._contributions: dict[int, pd.Series] = {}  # of features, by the number of the sample
        self._detector: Any = drift.ADWIN()  # type: ignore[no-untyped-call]
        self._total, self._n_errors = 0.0, 0  # of finite errors
        self._restarts = 0.0  # before the present window

    def add(self, y: Any, prediction: Any, uncertainty: Any) -> None:
        """Record a sample, with NaN for what there is not."""
        values = [math.nan] * len(self._names)
        if self._is_regression:
            values[:2] = y, math.nan if prediction is None else prediction
            if isinstance(uncertainty, Interval):
                values[2:] = uncertainty.lower, uncertainty.upper
        elif prediction is not None:
            values = [prediction == y, (uncertainty or {}).get(prediction, math.nan)]
        self._values += array("d", values)  # at once: Ctrl-C leaves all of a sample or none

    def explain(self, n: int, x: dict[Any, Any]) -> None:
        """Record the contributions to the next prediction, of sample n."""
        with suppress(*INVALID):  # which the forest raises again
            parts = contributions(self._last, x)
            self._contributions[n] = parts.iloc[1 : len(parts) - has_rest(self._last)]

    def close_window(self) -> dict[str, float]:
        """Return the state of the model, and figures of its errors in the window."""
        frame, last, row = self._frame(self._begin), self._last, dict[str, float]()
        if self._is_regression:
            residual = frame["target"] - frame["prediction"]
            row = {f"residual {q:g}": float(residual.quantile(q)) for q in _QUANTILES}
            errors = residual.abs()
        else:
            errors = 1.0 - frame["accuracy"]
        is_measured = self.is_forest or not self._n_windows % _MEASURED_EVERY
        restarts = number_of(last, "n_restarts" if self.is_forest else "n_drifts_detected")
        row |= {
            "drifts": self._n_drifts(errors.tolist()),
            "n_nodes": number_of(last, "n_nodes"),
            "memory": number_of(self._model, "_raw_memory_usage") if is_measured else math.nan,
            "restarts": restarts - self._restarts,
        }
        if self.is_forest:
            row["fading_share"] = last.fading_share
            if last.split_intensity == "relevance":
                self._relevance[self._begin + len(frame)] = feature_relevance(last)
        self._begin, self._n_windows = self._begin + len(frame), self._n_windows + 1
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

    def _frame(self, begin: int = 0) -> pd.DataFrame:
        width = len(self._names)
        values = np.array(self._values[begin * width :])
        return pd.DataFrame(values.reshape(-1, width), columns=self._names)

    def tables(self, pairs: Counter[tuple[Any, Any]]) -> dict[str, pd.DataFrame]:
        """Return tables by name; `pairs` are how often a label was predicted as another one."""
        frame = self._frame()
        tables = number_tables(frame) if self._is_regression else label_tables(frame, pairs)
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


def number_of(model: Any, name: str) -> float:
    """Return an attribute or the result of a method, NaN if there is no such number."""
    with suppress(Exception):  # of a model of river
        value = getattr(model, name)
        return float(value() if callable(value) else value)
    return math.nan
