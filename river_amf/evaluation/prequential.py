"""Prequential evaluation: the test-then-train loop over a stream.

Each sample is predicted before it is learned, so no prediction has seen its own label. The loop
computes the same values of river's metrics as `river.evaluate.progressive_val_score`, for several
at once, and measures only the time that the model takes. As in river, the predicted label is the
result of `predict_one`; metrics that need probabilities are NaN for a classifier without them.
"""

from __future__ import annotations

import copy
import itertools
import math
import sys
import time
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from river import base, compose
from tqdm import tqdm

from river_amf import kernels
from river_amf.evaluation.errors import EvaluationError, described, text_of
from river_amf.evaluation.scores import Scores
from river_amf.evaluation.streams import Features, Label, Sample

OnPrediction = Callable[[int, Features, Label, Label | None, dict[Label, float]], None]

WARM_UP = 100  # samples; enough to meet every compiled function of an early stream


class TestThenTrain:
    """The loop of one model over a stream, whose results can be read at any time."""

    __test__ = False  # or pytest would collect it

    # A sample counts once it is learned: if the loop is interrupted, the results are those of the
    # n_samples before. As in river, a sample without a prediction, such as the first, is not
    # scored. on_prediction is called before each sample is learned, with its number from 1, its
    # features and label, the predicted label (None if there is none) and the probabilities (empty
    # if there are none).
    def __init__(
        self, model: base.Classifier, scores: Scores, on_prediction: OnPrediction | None = None
    ) -> None:
        self.n_samples = 0
        self.scores = scores
        self._seconds = 0.0
        self._model = model
        self._predict = _Predictor(model)
        self._on_prediction = on_prediction

    def run(self, samples: Iterable[Sample], checkpoints: Container[int] = ()) -> Iterator[int]:
        """Predict, learn and score each sample; yield their number at checkpoints and the end."""
        for x, y in samples:
            self._step(x, y)
            if self.n_samples in checkpoints:
                yield self.n_samples
        if self.n_samples and self.n_samples not in checkpoints:
            yield self.n_samples

    def figures(self) -> dict[str, float]:
        """Return the metrics, microseconds per sample and bytes after at least one sample."""
        return {
            **self.scores.total(),
            "us_per_sample": 1e6 * self._seconds / self.n_samples,
            "memory": self._model._raw_memory_usage,
        }

    def _step(self, x: Features, y: Label) -> None:
        n = self.n_samples + 1
        label, proba, predicting = self._predict(n, x)
        if self._on_prediction is not None:
            self._on_prediction(n, x, y, label, proba or {})
        proba = copy.copy(proba)  # the model may own it, and change it when it learns
        _, learning = timed(n, self._model.learn_one, x, y)
        self.scores.update(y, label, proba)
        self._seconds += predicting + learning
        self.n_samples = n


def warm_up(model: base.Classifier, samples: Iterable[Sample]) -> None:
    """Let a copy of a model learn up to a hundred samples, to trigger all compilation."""
    for _ in TestThenTrain(model, Scores({})).run(itertools.islice(samples, WARM_UP)):
        pass
    if kernels.are_in_use():  # one of our forests is in it, and may need more later on
        kernels.warm_up()


def progress_bar(
    n_samples: int, samples: Iterable[Sample] | None = None, *, is_shown: bool = True
) -> tqdm[Any]:
    """Return a progress bar on stderr, which counts the samples given as they are iterated over."""
    return tqdm(
        samples,
        total=n_samples,
        unit=" samples",
        leave=False,
        file=sys.stderr,
        disable=not is_shown,
    )


def every(n_samples: int) -> range:
    """Return endless checkpoints, one every n_samples samples."""
    return range(int(n_samples), sys.maxsize, int(n_samples))


def even_checkpoints(n_samples: int, n_checkpoints: int = 10) -> range:
    """Return about n_checkpoints sample counts, spaced by 1, 2 or 5 times a power of ten."""
    wanted = max(n_samples / n_checkpoints, 1)
    power = 10 ** math.floor(math.log10(wanted))
    round_numbers = (power, 2 * power, 5 * power, 10 * power)
    interval = min(round_numbers, key=lambda number: abs(math.log(number / wanted)))
    return range(interval, n_samples + 1, interval)


def most_probable(proba: dict[Label, float]) -> Label | None:
    """Return the most probable label, the first one in a tie, or None if there are no labels."""
    return max(proba, key=lambda label: proba[label], default=None)


class _Predictor:
    """Predicts a label and probabilities as river's evaluation does, for any river classifier."""

    # The label is that of predict_one, which most classifiers derive from the probabilities.
    def __init__(self, model: base.Classifier) -> None:
        self._model = model
        last: Any = model
        while isinstance(last, compose.Pipeline):
            last = next(reversed(last.steps.values()), None)
        own = getattr(type(last), "predict_one", None)
        self._labels_are_most_probable = own is base.Classifier.predict_one
        self._knows_proba = True

    def __call__(self, n: int, x: Any) -> tuple[Label | None, dict[Label, float] | None, float]:
        """Return the label, the probabilities, and the seconds that one prediction took."""
        proba: dict[Label, float] | None = None
        seconds = None
        if self._knows_proba:
            try:
                proba, seconds = timed(n, self._model.predict_proba_one, x)
                proba = proba or {}
            except EvaluationError as error:
                if not _says_no_proba(error.__cause__):
                    raise
                self._knows_proba = False
        if proba is not None and seconds is not None and self._labels_are_most_probable:
            return most_probable(proba), proba, seconds
        label, alone = timed(n, self._model.predict_one, x)
        return label, proba, alone if seconds is None else seconds


def _says_no_proba(error: BaseException | None) -> bool:
    """Whether an error means that a river or scikit-learn classifier has no probabilities."""
    return isinstance(error, NotImplementedError) or (
        isinstance(error, AttributeError) and "predict_proba" in str(error)
    )


def timed(n: int, call: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Return the result of the model's call for sample n, and the seconds it took."""
    start = time.perf_counter()
    try:
        answer = call(*args)
    except MemoryError as error:
        raise EvaluationError(f"sample {n}: not enough memory for the model") from error
    except KeyboardInterrupt:  # not raised by the model
        raise
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"sample {n}: {text_of(error) or type(error).__name__}") from error
    except BaseException as error:  # no classifier may end an evaluation with a traceback
        raise EvaluationError(f"sample {n}: {described(error)}") from error
    return answer, time.perf_counter() - start
