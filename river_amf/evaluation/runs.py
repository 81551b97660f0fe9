"""The run of one model over a stream, with its results over windows and in total."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from tqdm import tqdm

from river_amf.evaluation.loading import read_pairs
from river_amf.evaluation.metrics import Metrics, Scores
from river_amf.evaluation.models import Maker
from river_amf.evaluation.prequential import Step, test_then_train, warm_up_model
from river_amf.evaluation.recording import Recorder, Steps, number_of
from river_amf.evaluation.streams import Sample, shorten
from river_amf.evaluation.usage_errors import EvaluationError, StreamFailure, error_line
from river_amf.parameters import integer


class Run:
    """The run of one model over a stream, and its results.

    Without a `window`, a number of samples, there are no rows; without `steps` nothing is recorded.
    """

    def __init__(
        self,
        metrics: Metrics,
        window: int | None = None,
        steps: Steps | None = None,
        delay: int = 0,
    ) -> None:
        integer(0)("delay", delay)
        self.metrics, self.steps, self.delay = metrics, steps, delay
        self.status = "not run"  # "ok", or why the run is incomplete
        self.has_failed = False
        self.n_samples = 0
        # the metrics and costs over the samples learned; NaN if the model failed
        self.figures = dict.fromkeys((*metrics, "us_per_sample", "memory"), math.nan)
        self.rows: list[dict[str, float]] = []  # n_samples and metrics of windows
        self.recorder: Recorder | None = None
        self.model: Any = None
        self._window, self._seconds = window, 0.0
        self._scores = Scores(metrics)
        self._in_window = Scores(metrics if window else {})

    def go(
        self, make: Maker, samples: Iterable[Sample], on_step: Callable[[Step], object] = id
    ) -> None:
        """Make a model and run it, and call a function after each step; all errors are raised."""
        try:
            self.model = make()
            self.recorder = None if self.steps is None else Recorder(self.model, self.steps)
            for step in test_then_train(self.model, samples, self.delay):
                self._add(step)
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
            if self.recorder is not None:
                self.recorder.end_step()
            if self.n_samples and not self.has_failed:
                self.measure()
                self._close_window()

    def measure(self) -> dict[str, float]:
        """Return the figures after the last step."""
        us = 1e6 * self._seconds / self.n_samples
        memory = number_of(self.model, "_raw_memory_usage")
        self.figures = {**self._scores.get(), "us_per_sample": us, "memory": memory}
        return self.figures

    def _add(self, step: Step) -> None:
        """Score and record a step."""
        self.n_samples = step.n
        self._seconds += step.seconds
        self._scores.add(step)
        self._in_window.add(step)
        if self.recorder is not None:
            self.recorder.learned(step)
        if self._window and step.n % self._window == 0:
            self._close_window()

    def _close_window(self) -> None:
        """Add the row of the current window, if it has any samples."""
        if self._window and (not self.rows or self.n_samples > self.rows[-1]["n_samples"]):
            self.rows.append({"n_samples": self.n_samples, **self._in_window.get()})
            self._in_window = Scores(self.metrics)


def attempt(run: Run, make: Maker, samples: Iterable[Sample], **bar: Any) -> None:
    """Run a model after a copy is warmed up, with a progress bar; its errors go to the status."""
    with suppress(Exception):  # which the run itself meets again
        warm_up_model(make(), read_pairs(samples))
    try:
        with tqdm(read_pairs(samples), leave=False, **bar) as counted:
            run.go(make, counted)
    except Exception as error:
        if isinstance(error, StreamFailure):
            raise
