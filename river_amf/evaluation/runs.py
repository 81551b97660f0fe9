"""The run of one model over a stream: its figures, its windows, and why it ended."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from river import base
from river.metrics import CrossEntropy
from river.metrics.base import ClassificationMetric
from tqdm import tqdm

from river_amf.encoding import shown
from river_amf.evaluation.prequential import iter_test_then_train, warm_up
from river_amf.evaluation.streams import EvaluationError, Label, Sample

Maker = Callable[[], base.Classifier]

NOT_RUN = "not run"
INTERRUPTED = "interrupted"

_LONGEST_STATUS = 200  # characters; some errors are pages


class Run:
    """The run of one model over a stream, and what came of it.

    Parameters
    ----------
    measures
        Metrics by the names of their figures; they are cloned.
    window
        Number of samples of a window.

    Attributes
    ----------
    status
        `"ok"`, or why the run is not whole.
    n_samples
        Number of samples learnt.
    figures
        The value of each metric, `us_per_sample` and `memory`; NaN where they are not known.
    rows
        Of each window the number of samples at its end, its accuracy and its log-loss.

    Examples
    --------
    >>> from river import metrics, naive_bayes
    >>> from river_amf.evaluation import load_stream
    >>> from river_amf.evaluation.runs import Run
    >>> run = Run({"accuracy": metrics.Accuracy()}, window=500)
    >>> run.go(naive_bayes.GaussianNB, load_stream("Phishing"))
    >>> run.status, run.n_samples, run.figures["accuracy"] > 0.8
    ('ok', 1250, True)
    >>> [n_samples for n_samples, accuracy, log_loss in run.rows]
    [500, 1000, 1250]

    """

    def __init__(self, measures: Mapping[str, ClassificationMetric], window: int) -> None:
        self._measures = {name: measure.clone() for name, measure in measures.items()}
        self._windows = _Windows(window)
        self.rows = self._windows.rows
        self.status = NOT_RUN
        self.n_samples = 0
        names = (*measures, "us_per_sample", "memory")
        self.figures: dict[str, float] = dict.fromkeys(names, math.nan)

    def go(
        self,
        make: Maker,
        samples: Iterable[Sample],
        time_limit: float | None = None,
        bar: tqdm[Any] | None = None,
    ) -> None:
        """Run; any exception of the model is told by the status, and Ctrl-C is raised as well.

        Parameters
        ----------
        make
            Makes the model, and a second one to warm up.
        samples
            The stream; it is iterated twice.
        time_limit
            Seconds from the first sample on; as many at most are taken before, to warm up.
        bar
            A progress bar, which counts the samples.

        """
        watched = _Watched(samples, time_limit, bar)
        try:
            with suppress(Exception):  # the run itself will meet it
                warm_up(_make(make), _Watched(samples, time_limit))
            self._score(_make(make), watched)
        except KeyboardInterrupt:
            self._end_early(watched)
            self.status = f"{INTERRUPTED} after {self.n_samples} samples"
            raise
        except Exception as error:
            self._end_early(watched)
            self.status = _describe(error, watched.n_begun)
        else:
            self.status = "ok"
            if watched.is_late:
                self.status = f"time limit of {time_limit:g} s after {self.n_samples} samples"

    def _end_early(self, watched: _Watched) -> None:
        """Count the samples learnt: all but the one at which the run broke off."""
        self.n_samples = max(watched.n_begun - 1, 0)

    def _score(self, model: base.Classifier, samples: Iterable[Sample]) -> None:
        """Take the figures of a model over the samples."""
        measures = list(self._measures.values())
        for last in iter_test_then_train(samples, model, measures, (), self._windows.add):
            values = (last.metrics[type(measure).__name__] for measure in measures)
            self.figures = {
                **dict(zip(self._measures, values, strict=True)),
                "us_per_sample": last.us_per_sample,
                "memory": last.memory,
            }
            self.n_samples = last.n_samples
        self._windows.close()


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
        for x, y in self._samples:
            if time.perf_counter() - start >= self._time_limit:
                self.is_late = True
                return
            self.n_begun += 1
            yield copy.copy(x), y  # a copy: what a model does to it shall not be seen by the next
            if self._bar is not None:
                self._bar.update()


class _Windows:
    """Accuracy and log-loss over windows of samples."""

    def __init__(self, every: int) -> None:
        self.rows: list[tuple[int, float, float]] = []
        self._every = every
        self._n = 0
        self._clear()

    def _clear(self) -> None:
        self._hits: list[bool] = []
        self._log_loss: ClassificationMetric = CrossEntropy()  # type: ignore[no-untyped-call]
        self._n_proba = 0

    def add(self, n: int, y: Label, label: Label | None, proba: dict[Label, float]) -> None:
        """Score a prediction; with the last one of a window its row is complete."""
        if label is not None:
            self._hits.append(label == y)
        if proba:
            self._log_loss.update(y, proba)
            self._n_proba += 1
        self._n = n
        if n % self._every == 0:
            self._close()

    def close(self) -> None:
        """Complete the last window, if there is a part of one."""
        if self._n % self._every:
            self._close()

    def _close(self) -> None:
        accuracy = sum(self._hits) / len(self._hits) if self._hits else math.nan
        log_loss = self._log_loss.get() if self._n_proba else math.nan
        self.rows.append((self._n, accuracy, log_loss))
        self._clear()


def _describe(error: Exception, n: int) -> str:
    """Return what went wrong in one line, and at which sample; 0 is before the first one."""
    cause = error.__cause__ if isinstance(error, EvaluationError) else None
    cause = error if cause is None else cause
    where = f"sample {n}" if n else "cannot be made"
    text = " ".join(f"{where}: {type(cause).__name__}: {cause}".split()).removesuffix(":")
    return text if len(text) <= _LONGEST_STATUS else f"{text[:_LONGEST_STATUS]}..."


def _make(make: Maker) -> base.Classifier:
    model = make()
    if not isinstance(model, base.Classifier):
        raise TypeError(f"must be a classifier of river, got {shown(model)}")
    return model
