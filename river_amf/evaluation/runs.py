"""The run of one model over a stream: its figures, its windows, and why it ended."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from river import base
from river.metrics import Accuracy, CrossEntropy
from tqdm import tqdm

from river_amf.encoding import shown
from river_amf.evaluation.errors import EvaluationError, StreamFailure, described
from river_amf.evaluation.prequential import TestThenTrain, every, warm_up
from river_amf.evaluation.scores import Metrics, Scores
from river_amf.evaluation.streams import Sample, read_pairs

Maker = Callable[[], base.Classifier]

OK = "ok"
NOT_RUN = "not run"
INTERRUPTED = "interrupted"
OUT_OF_TIME = "time limit"

_LONGEST_STATUS = 200  # characters; some errors are pages


class Run:
    """The run of one model over a stream, and what came of it.

    `status` is `"ok"`, or why the run is not whole. `figures` are the metrics over the samples
    learnt, `us_per_sample` and `memory`; NaN where they are not known, and all NaN if the model has
    failed. `rows` have the number of samples at the end of each window, its accuracy and log-loss.

    >>> from river import metrics, naive_bayes
    >>> from river_amf.evaluation import load_stream
    >>> run = Run({"accuracy": metrics.Accuracy()}, window=500)
    >>> run.go(naive_bayes.GaussianNB, load_stream("Phishing"))
    >>> run.status, run.n_samples, run.figures["accuracy"] > 0.8
    ('ok', 1250, True)
    >>> [n_samples for n_samples, accuracy, log_loss in run.rows]
    [500, 1000, 1250]
    """

    def __init__(self, metrics: Metrics, window: int) -> None:
        windowed = {"accuracy": Accuracy(), "log-loss": CrossEntropy()}  # type: ignore[no-untyped-call]
        self._scores = Scores(metrics, windowed)
        self._window = window
        self._loop: TestThenTrain | None = None
        self.rows: list[tuple[int, float, float]] = []
        self.status = NOT_RUN
        names = (*metrics, "us_per_sample", "memory")
        self.figures: dict[str, float] = dict.fromkeys(names, math.nan)

    @property
    def n_samples(self) -> int:
        """Number of samples learnt."""
        return self._loop.n_samples if self._loop else 0

    def go(
        self,
        make: Maker,
        samples: Iterable[Sample],
        time_limit: float | None = None,
        bar: tqdm[Any] | None = None,
    ) -> None:
        """Run; whatever the model raises is told by the status, and Ctrl-C is raised as well.

        `make` makes the model, and before it another one to warm up. The time limit is in seconds,
        for each of the two, and looked at between samples. StreamFailure is raised if the stream
        itself fails, which is not the model's fault.
        """
        watched = _Watched(samples, time_limit, bar)
        try:
            _try_to_warm_up(make, _Watched(samples, time_limit))
            self._loop = TestThenTrain(_make(make), self._scores)
            for _ in self._loop.run(watched, every(self._window)):
                self._close_window()
            self._keep_figures()
        except KeyboardInterrupt:
            self._close_window()
            with suppress(Exception):  # of a model that cannot tell its size
                self._keep_figures()
            self.status = f"{INTERRUPTED} after {self.n_samples} samples"
            raise
        except StreamFailure:
            raise
        except BaseException as error:  # even SystemExit is but a model's failure
            self.status = _describe(error, watched.n_begun)
        else:
            self.status = OK
            if watched.is_late:
                self.status = f"{OUT_OF_TIME} of {time_limit:g} s after {self.n_samples} samples"

    def _close_window(self) -> None:
        """Complete the row of the window, if it has a sample."""
        if self.n_samples > (self.rows[-1][0] if self.rows else 0):
            values = self._scores.window()
            self.rows.append((self.n_samples, values["accuracy"], values["log-loss"]))

    def _keep_figures(self) -> None:
        """Take the figures over the samples learnt, if there are any."""
        if self._loop is not None and self.n_samples:
            self.figures = self._loop.figures()


def has_failed(status: str) -> bool:
    """Whether a status is that of a model that failed.

    >>> has_failed("sample 7: ValueError: no such value"), has_failed("time limit of 1 s after 0")
    (True, False)
    """
    return status not in (OK, NOT_RUN) and not status.startswith((OUT_OF_TIME, INTERRUPTED))


class _Watched:
    """The samples until the time is up, counted."""

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
            yield copy.copy(x), y  # a copy: what a model does to it shall not be seen by the next
            if self._bar is not None:
                self._bar.update()
        self.is_late = time.perf_counter() - start > self._time_limit


def _describe(error: BaseException, n: int) -> str:
    """Return what went wrong in one line, and at which sample; 0 is before the first one."""
    cause = error.__cause__ if isinstance(error, EvaluationError) else None
    where = f"sample {n}" if n else "cannot be made"
    text = " ".join(f"{where}: {described(error if cause is None else cause)}".split())
    return text if len(text) <= _LONGEST_STATUS else f"{text[:_LONGEST_STATUS]}..."


def _try_to_warm_up(make: Maker, samples: Iterable[Sample]) -> None:
    """Let a copy learn the first samples; what goes wrong, the run itself will meet."""
    try:
        warm_up(_make(make), samples)
    except (KeyboardInterrupt, StreamFailure):
        raise
    except BaseException:
        return


def _make(make: Maker) -> base.Classifier:
    model = make()
    if not isinstance(model, base.Classifier):
        raise TypeError(f"must be a classifier of river, got {shown(model)}")
    return model
