"""What a page shows of a regressor, recorded along a stream: errors, residuals and intervals."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base
from river.conf import Interval

from river_amf.evaluation.predictors import Answer
from river_amf.evaluation.recording import Recorder, Steps, Sums

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the residuals of a window
_N_POINTS = 600  # drawn at random from the whole stream,
_N_LATEST = 200  # and the last ones
_COLUMNS = ("sample", "target", "prediction", "lower", "upper")

Rows = NDArray[np.float64]


class NumberRecorder(Recorder):
    """Records a regressor: predictions where there are any, and intervals where it has them."""

    def __init__(self, model: base.Estimator, steps: Steps) -> None:
        super().__init__(model, steps)
        self._said: list[tuple[float, ...]] = []  # rows of the step
        self._n_errors, self._errors = 0, 0.0
        self._residuals: deque[NDArray[np.float64]] = deque(maxlen=steps.n_in_window)
        self._latest: Rows = np.empty((0, len(_COLUMNS)))
        self._points: Rows = np.empty((0, len(_COLUMNS)))
        self._draws: Rows = np.empty(0)
        # every model draws the same samples
        self._generator = np.random.default_rng(0)

    def _note(self, n: int, y: Any, answer: Answer) -> None:
        target = float(y)
        said = math.nan if answer.prediction is None else float(answer.prediction)
        interval = answer.beside
        ends = (math.nan, math.nan)
        if isinstance(interval, Interval):
            ends = float(interval.lower), float(interval.upper)
        self._said.append((n, target, said, *ends))
        error = abs(target - said)
        if math.isfinite(error):
            self._note_size(error)

    def _note_size(self, error: float) -> None:
        """Give the detector of drift an error, compared with those so far."""
        self._n_errors += 1
        self._errors += error
        mean = self._errors / self._n_errors
        self._note_error(error / (error + mean) if error + mean > 0.0 else 0.0)

    def _sums(self) -> Sums:
        rows = np.array(self._said, dtype=np.float64).reshape(-1, len(_COLUMNS))
        self._said.clear()
        self._latest = np.concatenate([self._latest, rows])[-_N_LATEST:]
        self._draw(rows)
        _, target, said, lower, upper = rows.T
        residual = (target - said)[~np.isnan(said)]
        has_ends = ~np.isnan(lower)
        holds = (lower <= target) & (target <= upper)
        self._residuals.append(residual)
        recent = np.concatenate(self._residuals)
        quantiles = np.quantile(recent, QUANTILES) if len(recent) else [math.nan] * len(QUANTILES)
        return {
            "n_scored": len(residual),
            "absolute": float(np.abs(residual).sum()),
            "squared": float((residual**2).sum()),
            "n_intervals": int(has_ends.sum()),
            "n_held": int(holds[has_ends].sum()),
            "widths": float((upper - lower)[has_ends].sum()),
            **{f"residual {q:g}": float(v) for q, v in zip(QUANTILES, quantiles, strict=True)},
        }

    def _draw(self, rows: Rows) -> None:
        """Keep those of the samples so far whose random numbers are least."""
        draws = np.concatenate([self._draws, self._generator.random(len(rows))])
        kept = np.sort(np.argsort(draws, kind="stable")[:_N_POINTS])
        self._points = np.concatenate([self._points, rows])[kept]
        self._draws = draws[kept]

    def _metrics(self, table: pd.DataFrame) -> Iterator[tuple[str, NDArray[np.float64]]]:
        yield from self._means("MAE", table["absolute"], table["n_scored"])
        for name, mean in self._means("RMSE", table["squared"], table["n_scored"]):
            yield name, np.sqrt(mean)
        yield from self._means("coverage", table["n_held"], table["n_intervals"])
        yield from self._means("width", table["widths"], table["n_intervals"])
        for q in QUANTILES:
            name = f"residual {q:g}"
            yield name, table[name].to_numpy(np.float64)

    def points(self) -> pd.DataFrame:
        """Return samples drawn from the whole stream, with their predictions and intervals."""
        return pd.DataFrame(self._points, columns=[*_COLUMNS]).astype({"sample": "int64"})

    def latest(self) -> pd.DataFrame:
        """Return the last samples of the stream, with their predictions and intervals."""
        return pd.DataFrame(self._latest, columns=[*_COLUMNS]).astype({"sample": "int64"})
