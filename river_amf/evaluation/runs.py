"""The run of one model over a stream: its results, its windows and its status."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from river import base
from tqdm import tqdm

from river_amf.emphasis import OTHER, role_of
from river_amf.evaluation.errors import EvaluationError, StreamFailure, described
from river_amf.evaluation.label_recording import LabelRecorder
from river_amf.evaluation.number_recording import NumberRecorder
from river_amf.evaluation.prequential import TestThenTrain, every, warm_up
from river_amf.evaluation.recording import Recorder, Steps
from river_amf.evaluation.scores import Metrics, Scores
from river_amf.evaluation.streams import Label, Sample, read_pairs
from river_amf.evaluation.tasks import CLASSIFICATION, Maker, Task
from river_amf.kinds import shown

OK = "ok"
NOT_RUN = "not run"
INTERRUPTED = "interrupted"
OUT_OF_TIME = "time limit"

_LONGEST_STATUS = 200  # characters; some error messages run to pages


class Run:
    """The run of one model over a stream, and its results."""

    # status: "ok", or why the run is incomplete.
    # role: what the model is to a comparison.
    # figures: the metrics over the samples learned, us_per_sample and memory; NaN where unknown,
    #     and all NaN if the model failed.
    # rows: for each window, the number of samples at its end, and its metrics.
    # recorder: what is recorded in these steps, None without, and before there is a model.
    def __init__(
        self,
        metrics: Metrics,
        window: int,
        positive: Label | None = None,
        task: Task = CLASSIFICATION,
        steps: Steps | None = None,
    ) -> None:
        windowed = {name: make() for name, make in task.windowed.items()}
        self._task = task
        self._scores = Scores(metrics, windowed, positive)
        self._window = window
        self._steps = steps
        self.recorder: Recorder | None = None
        self._loop: TestThenTrain | None = None
        self.rows: list[tuple[float, ...]] = []
        self.status = NOT_RUN
        self.role = OTHER
        names = (*metrics, "us_per_sample", "memory")
        self.figures: dict[str, float] = dict.fromkeys(names, math.nan)

    @property
    def n_samples(self) -> int:
        """Number of samples learned."""
        return self._loop.n_samples if self._loop else 0

    def go(
        self,
        make: Maker,
        samples: Iterable[Sample],
        time_limit: float | None = None,
        bar: tqdm[Any] | None = None,
    ) -> None:
        """Run the model; its errors go to the status, Ctrl-C and StreamFailure are raised."""
        # make is called twice, for a warm-up and for the run. The time limit, in seconds, applies
        # to each of them and is checked between samples.
        watched = _Watched(samples, time_limit, bar)
        try:
            _try_to_warm_up(make, _Watched(samples, time_limit), self._task)
            self._loop = self._begin(_make(make, self._task))
            for _ in self._loop.run(watched, every(self._window)):
                self._close_window()
            self._keep_figures()
        except KeyboardInterrupt:
            self._close_window()
            with suppress(Exception):  # from a model whose size cannot be measured
                self._keep_figures()
            self.status = f"{INTERRUPTED} after {self.n_samples} samples"
            raise
        except StreamFailure:
            raise
        except BaseException as error:  # even SystemExit only fails this model
            self.status = _describe(error, watched.n_begun)
        else:
            self.status = OK
            if watched.is_late:
                self.status = (
                    f"{OUT_OF_TIME} of {time_limit:g} s reached after {self.n_samples} samples"
                )
        finally:
            if self.recorder is not None:
                self.recorder.close()

    def _begin(self, model: base.Estimator) -> TestThenTrain:
        """Return the loop of the model, recorded if there are steps."""
        self.role = role_of(model)
        if self._steps is None:
            return TestThenTrain(model, self._scores)
        self.recorder = recorder_of(model, self._steps)
        return TestThenTrain(model, self._scores, self.recorder.asked, self.recorder.learned)

    def _close_window(self) -> None:
        """Add the row of the current window, if it has any samples."""
        if self.n_samples > (self.rows[-1][0] if self.rows else 0):
            self.rows.append((self.n_samples, *self._scores.window().values()))

    def _keep_figures(self) -> None:
        """Store the results over the samples learned, if there are any."""
        if self._loop is not None and self.n_samples:
            self.figures = self._loop.figures()


def recorder_of(model: base.Estimator, steps: Steps) -> Recorder:
    """Return the recorder for a classifier or regressor."""
    kind = NumberRecorder if isinstance(model, base.Regressor) else LabelRecorder
    return kind(model, steps)


def has_failed(status: str) -> bool:
    """Whether a status is that of a model that failed."""
    return status not in (OK, NOT_RUN) and not status.startswith((OUT_OF_TIME, INTERRUPTED))


class _Watched:
    """The samples, counted, until the time is up."""

    def __init__(
        self, samples: Iterable[Sample], time_limit: float | None, bar: tqdm[Any] | None = None
    ) -> None:
        self._samples = samples
        self._time_limit = math.inf if time_limit is None else time_limit
        self._bar = bar
        self.n_begun = 0
        self.is_late = False

    def __iter__(self) -> Iterator[Sample]:
        start = time.perf_counter()
        for x, y in read_pairs(self._samples):
            if time.perf_counter() - start >= self._time_limit:
                self.is_late = True
                return
            self.n_begun += 1
            yield copy.copy(x), y  # a copy, because a model may change its sample
            if self._bar is not None:
                self._bar.update()
        self.is_late = time.perf_counter() - start > self._time_limit


def _describe(error: BaseException, n: int) -> str:
    """Return one line on what went wrong at sample n, where 0 means before the first sample."""
    cause = error.__cause__ if isinstance(error, EvaluationError) else None
    where = f"sample {n}" if n else "cannot be created"
    text = " ".join(f"{where}: {described(error if cause is None else cause)}".split())
    return text if len(text) <= _LONGEST_STATUS else f"{text[:_LONGEST_STATUS]}..."


def _try_to_warm_up(make: Maker, samples: Iterable[Sample], task: Task) -> None:
    """Let a copy learn the first samples, ignoring errors that the run itself will hit."""
    try:
        warm_up(_make(make, task), samples)
    except (KeyboardInterrupt, StreamFailure):
        raise
    except BaseException:
        return


def _make(make: Maker, task: Task) -> base.Estimator:
    model = make()
    if not isinstance(model, task.kind):
        raise TypeError(f"model must be a river {task.noun}, got {shown(model)}")
    return model
