"""The run of a model along a stream: its scores and costs, and rows for the curves."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import pandas as pd

from river_amf.evaluation.metrics import Metrics, Scores
from river_amf.evaluation.models import Maker
from river_amf.evaluation.prequential import Step, last_step, seen_by_last_step, test_then_train
from river_amf.evaluation.streams import Sample, Schedule
from river_amf.evaluation.usage_errors import EvaluationError, error_line
from river_amf.outputs.printing import shorten
from river_amf.pages.recorder import Recorder, number_of


class Run:
    """The run of one model over a stream, and its results.

    Without a `window`, a number of samples, there are no rows; with `records`, all for a report.
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
        self._recorder: Recorder | None = None
        self._seconds = 0.0
        self._scores, self._in_window = Scores(metrics), Scores(metrics)

    def go(
        self,
        make: Maker,
        samples: Iterable[Sample],
        on_step: Callable[[Step], object] | None = None,
    ) -> None:
        """Make a model and run it, and call a function after each step; all errors are raised."""
        try:
            self.model = make()
            if self._records:
                self._recorder = Recorder(self.model, last_step(self.model))
                samples = self._explained(samples, self._recorder)
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
        us = 1e6 * self._seconds / self.n_samples
        memory = number_of(self.model, "_raw_memory_usage")
        self.figures = {**self._scores.get(), "us_per_sample": us, "memory": memory}
        return self.figures

    def tables(self) -> dict[str, pd.DataFrame]:
        return {} if self._recorder is None else self._recorder.tables(self._scores.pairs)

    def _add(self, step: Step) -> None:
        self.n_samples = step.n
        self._seconds += step.seconds
        self._scores.add(step)
        if self.window:
            self._in_window.add(step)
            if self._recorder is not None:
                self._recorder.add(step.y, step.prediction, step.uncertainty)
            if step.n % self.window == 0:
                self._close_window()

    def _explained(self, samples: Iterable[Sample], recorder: Recorder) -> Iterator[Sample]:
        """Yield samples, the last of a window once contributions to its prediction are recorded."""
        for n, sample in enumerate(samples, start=1):
            seen = None
            if recorder.is_forest and n % self.window == 0:
                with suppress(Exception):  # of a step of river, which raises it again to predict
                    seen = seen_by_last_step(self.model, sample[0])
            if seen is not None:
                recorder.explain(n, seen)
            yield sample

    def _close_window(self) -> None:
        begin = self.rows[-1]["n_samples"] if self.rows else 0
        if self.window and self.n_samples > begin:
            row = {"n_samples": self.n_samples, **self._in_window.get()}
            if self._recorder is not None:
                row |= {f"cumulative {name}": v for name, v in self._scores.get().items()}
                row |= self._recorder.close_window()
            self.rows.append(row)
            self._in_window = Scores(self.metrics)
