"""What a page shows of a run, recorded along the stream without keeping its predictions.

A stream is cut into about 300 *steps*. A step keeps its predictions until its end, and leaves sums
and a few quantiles; whatever is drawn follows from these, and from counters and small samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base, drift

from river_amf.classifier import AMFClassifier
from river_amf.evaluation.history import as_seen, relevance_table
from river_amf.evaluation.interval_metrics import last_step
from river_amf.evaluation.predictors import Answer
from river_amf.inspection import feature_relevance, weighted_depth
from river_amf.regressor import AMFRegressor

N_STEPS = 300
_WINDOW = 500  # samples: the accuracy of fewer is mostly noise
_MOST_STEPS = 10  # in a window of a shorter stream,
_LEAST_WINDOW = 50  # unless that is fewer samples than these
_N_DEPTHS = 4  # samples of each step whose depth is measured
_N_SIZES = 12  # times that the size of a model of river, which takes long, is measured

Sums = Mapping[str, float]


class Steps:
    """How a stream of a known length is cut into steps and windows.

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

    def over_windows(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums over the window that ends with each step, given those of the steps.

        >>> Steps(600, window=4).over_windows(np.array([1.0, 2.0, 3.0])).tolist()
        [1.0, 3.0, 5.0]
        """
        padded = np.concatenate([np.zeros(self.n_in_window - 1), sums])
        return np.convolve(padded, np.ones(self.n_in_window), "valid")


class Recorder:
    """Records a model while it runs along a stream: what it says, and what becomes of it.

    `asked` and `learned` are what `TestThenTrain` calls before and after a sample is learned.
    """

    def __init__(self, model: base.Estimator, steps: Steps) -> None:
        self.steps = steps
        self.n_samples = 0
        self.rows: list[dict[str, float]] = []  # one for each step
        self._state = _state_of(model, steps)
        self._detector: Any = drift.ADWIN()  # type: ignore[no-untyped-call]
        self._n_drifts = 0

    def asked(self, n: int, x: Any, y: Any, answer: Answer) -> None:
        """Take note of a sample before it is learned."""
        if -n % self.steps.length < _N_DEPTHS:
            self._state.note_depth(x)

    def learned(self, n: int, x: Any, y: Any, answer: Answer) -> None:
        """Take note of a sample that has been learned, and of the answer from before."""
        self.n_samples = n
        self._note(n, y, answer)
        if n % self.steps.length == 0:
            self._end_step()

    def close(self) -> None:
        """End the last step."""
        if self.n_samples > (self.rows[-1]["n_samples"] if self.rows else 0):
            self._end_step()

    @property
    def relevance(self) -> pd.DataFrame:
        """The relevance of each feature after each step, without columns if there is none."""
        index = pd.Index([int(row["n_samples"]) for row in self.rows], name="n_samples")
        return self._state.relevance_table(index)

    def curves(self) -> pd.DataFrame:
        """Return a row for each step: metrics over its window and all samples, and the state."""
        table = pd.DataFrame(self.rows)
        if table.empty:
            return pd.DataFrame({"n_samples": pd.Series(dtype="int64")})
        said = pd.DataFrame(dict(self._metrics(table)))
        state = table[["drifts", *self._state.columns]]
        if "depths" in table:
            n = table["n_depths"].to_numpy(np.float64)
            windows = self.steps.over_windows
            depths = windows(table["depths"].to_numpy(np.float64))
            state = state.assign(depth=_quotient(depths, windows(n)))
        return pd.concat([table[["n_samples"]].astype("int64"), said, state], axis=1)

    def _note(self, n: int, y: Any, answer: Answer) -> None:
        raise NotImplementedError

    def _sums(self) -> Sums:
        """Return what the step leaves, and forget its predictions."""
        raise NotImplementedError

    def _metrics(self, table: pd.DataFrame) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Yield the columns of `curves` that say how good the predictions are."""
        raise NotImplementedError

    def _means(
        self, name: str, sums: pd.Series, counts: pd.Series
    ) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Yield a mean over windows, and one over all samples so far."""
        total, n = sums.to_numpy(np.float64), counts.to_numpy(np.float64)
        windows = self.steps.over_windows
        yield name, _quotient(windows(total), windows(n))
        yield f"cumulative {name}", _quotient(total.cumsum(), n.cumsum())

    def _note_error(self, error: float) -> None:
        """Give an error between 0 and 1 to the detector of drift, and count where errors grow."""
        before = self._detector.estimation
        self._detector.update(error)
        self._n_drifts += self._detector.drift_detected and self._detector.estimation > before

    def _end_step(self) -> None:
        state = self._state.now(len(self.rows))
        self.rows.append(
            {"n_samples": self.n_samples, "drifts": self._n_drifts, **self._sums(), **state}
        )
        self._n_drifts = 0


def _quotient(total: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means, NaN where there is nothing to average."""
    means: NDArray[np.float64] = np.full(len(n), math.nan)
    np.divide(total, n, out=means, where=n > 0)
    return means


class _State:
    """What any model of river may have: its size, nodes and restarts."""

    columns: tuple[str, ...] = ("n_nodes", "memory", "restarts")

    def __init__(self, model: Any, steps: Steps) -> None:
        self._model = model
        self._last = last_step(model)
        self._n_restarts = 0.0

    def note_depth(self, x: Any) -> None:
        """Do nothing: only forests have a depth at which they answer."""

    def now(self, step: int) -> dict[str, float]:
        """Return the columns at the end of a step."""
        n_restarts = self._number("n_drifts_detected")
        restarts = n_restarts - self._n_restarts
        self._n_restarts = n_restarts
        return {
            "n_nodes": self._number("n_nodes"),
            "memory": self._memory_at(step),
            "restarts": restarts,
        }

    def relevance_table(self, index: pd.Index) -> pd.DataFrame:
        """Return a table without columns."""
        return pd.DataFrame(index=index)

    def _memory_at(self, step: int) -> float:
        """Return the size of the model at some of the steps, as it takes long to measure."""
        return math.nan if step % (N_STEPS // _N_SIZES) else self._memory()

    def _memory(self) -> float:
        """Return the size of the model in bytes, NaN if it cannot be measured."""
        with suppress(Exception):
            return float(self._model._raw_memory_usage)
        return math.nan

    def _number(self, name: str) -> float:
        """Return an attribute or the result of a method, NaN if there is no such number."""
        with suppress(Exception):  # models of river are as they are
            value = getattr(self._last, name)
            return float(value() if callable(value) else value)
        return math.nan


class _ForestState(_State):
    """What a forest of this package has."""

    columns = (*_State.columns, "fading_share")

    def __init__(self, model: Any, steps: Steps) -> None:
        super().__init__(model, steps)
        self._depths: list[float] = []
        self._relevance: list[pd.Series] = []

    def note_depth(self, x: Any) -> None:
        """Take note of the depth at which the trees answer."""
        with suppress(Exception):  # of a sample that the model is about to refuse
            self._depths.append(float(weighted_depth(self._last, as_seen(self._model, x)).mean()))

    def now(self, step: int) -> dict[str, float]:
        """Return the columns at the end of a step."""
        if self._last.split_intensity == "relevance":
            self._relevance.append(feature_relevance(self._last))
        depths = [depth for depth in self._depths if not math.isnan(depth)]
        self._depths.clear()
        return {
            **super().now(step),
            "fading_share": self._last.fading_share,
            "n_depths": len(depths),
            "depths": sum(depths),
        }

    def _memory_at(self, step: int) -> float:
        """Return the size of the model, which takes no time to measure."""
        return self._memory()

    def relevance_table(self, index: pd.Index) -> pd.DataFrame:
        """Return the relevance at the end of each step, NaN for features that appear later."""
        return relevance_table(index, self._relevance)


def _state_of(model: Any, steps: Steps) -> _State:
    is_forest = isinstance(last_step(model), AMFClassifier | AMFRegressor)
    return (_ForestState if is_forest else _State)(model, steps)
