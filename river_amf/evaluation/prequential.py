"""Prequential evaluation: the test-then-train loop over a stream.

Each sample is predicted before it is learned, so no prediction has seen its own label. The loop
computes the same values of river's metrics as `river.evaluate.progressive_val_score`, for several
at once, and measures only the time that the model takes. As in river, the predicted label is the
result of `predict_one`; metrics that need probabilities are NaN for a classifier without them, and
metrics of intervals for a regressor without those.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple

from river import base, compose
from river.conf import Interval
from tqdm import tqdm

from river_amf import kernels
from river_amf.classifier import AMFClassifier
from river_amf.evaluation.scores import Scores
from river_amf.evaluation.streams import Features, Label, Sample, Target
from river_amf.evaluation.usage_errors import (
    EvaluationError,
    error_line,
    error_text,
    is_of_handler,
)

WARM_UP = 100  # samples; enough to meet every compiled function of an early stream

# methods that return the most probable label, by predict_proba_one
_DERIVED = base.Classifier.predict_one, AMFClassifier.predict_one


class Answer(NamedTuple):
    """A prediction: a label with probabilities, or a number with an interval."""

    prediction: Target | None  # None if there is none, as before the first label
    beside: Any  # probabilities (None if the model has none), or the interval (or None)
    seconds: float

    def cells(self) -> tuple[float | None, ...]:
        """Return the probability of the label, or the ends of the interval, or None."""
        if isinstance(self.beside, Interval):
            return self.beside.lower, self.beside.upper
        if isinstance(self.beside, dict):
            return (None if self.prediction is None else self.beside.get(self.prediction),)
        return (None,)


OnPrediction = Callable[[int, Features, Target, Answer], None]


class TestThenTrain:
    """The loop of one model over a stream, whose results can be read at any time."""

    __test__ = False  # or pytest would collect it

    # A sample counts once it is learned: if the loop is interrupted, the results are those of the
    # n_samples before. As in river, a sample without a prediction, such as the first, is not
    # scored. on_prediction is called before each sample is learned, with its number from 1, its
    # features and target, and the answer; on_learned is called once the sample counts. With a
    # delay of d samples a label comes right before the d-th prediction after its own, as in river.
    def __init__(
        self,
        model: base.Estimator,
        scores: Scores,
        on_prediction: OnPrediction | None = None,
        on_learned: OnPrediction | None = None,
        delay: int = 0,
    ) -> None:
        self._delay = delay
        self.n_samples = 0
        self.scores = scores
        self._seconds = 0.0
        self._model: Any = model
        self._is_of_numbers = isinstance(model, base.Regressor)
        is_watched = on_prediction is not None or on_learned is not None
        self._asks_intervals = (scores.need_intervals or is_watched) and has_intervals(model)
        own = getattr(type(last_step(model)), "predict_one", None)
        self._labels_are_most_probable = own in _DERIVED
        self._knows_proba = True
        self._on_prediction = on_prediction
        self._on_learned = on_learned

    def run(self, samples: Iterable[Sample], checkpoints: Container[int] = ()) -> Iterator[int]:
        """Predict, learn and score each sample; yield their number at checkpoints and the end."""
        waiting: deque[tuple[Features, Target, Answer]] = deque()
        for n, (x, y) in enumerate(samples, start=1):
            answer = self.predict(n, x)
            # the model may own what it has answered, and change it when it learns
            waiting.append((x, y, answer._replace(beside=copy.copy(answer.beside))))
            if len(waiting) >= self._delay:
                self._learn(*waiting.popleft())
                if self.n_samples in checkpoints:
                    yield self.n_samples
        for late in waiting:
            self._learn(*late)
            if self.n_samples in checkpoints:
                yield self.n_samples
        if self.n_samples and self.n_samples not in checkpoints:
            yield self.n_samples

    def predict(self, n: int, x: Features) -> Answer:
        """Return the prediction for sample n, with what stands beside it."""
        return self._number(n, x) if self._is_of_numbers else self._label(n, x)

    def figures(self) -> dict[str, float]:
        """Return the metrics, microseconds per sample and bytes after at least one sample."""
        return {
            **self.scores.total(),
            "us_per_sample": 1e6 * self._seconds / self.n_samples,
            "memory": self._model._raw_memory_usage,
        }

    def _learn(self, x: Features, y: Target, answer: Answer) -> None:
        n = self.n_samples + 1
        if self._on_prediction is not None:
            self._on_prediction(n, x, y, answer)
        _, learning = timed(n, self._model.learn_one, x, y)
        self.scores.update(y, answer.prediction, answer.beside)
        self._seconds += answer.seconds + learning
        self.n_samples = n
        if self._on_learned is not None:
            self._on_learned(n, x, y, answer)

    def _number(self, n: int, x: Features) -> Answer:
        """Return a number with its interval, and the seconds that the number took."""
        number, seconds = timed(n, self._model.predict_one, x)
        interval = None
        if self._asks_intervals:
            interval, _ = timed(n, self._model.predict_one, x, with_interval=True)
        return Answer(number, interval, seconds)

    def _label(self, n: int, x: Features) -> Answer:
        """Return a label and probabilities, and the seconds that one prediction took."""
        # The label is that of predict_one, which most classifiers derive from the probabilities.
        proba, seconds = None, math.nan
        if self._knows_proba:
            try:
                proba, seconds = timed(n, self._model.predict_proba_one, x)
                proba = proba or {}
            except EvaluationError as error:
                if not _lacks_probabilities(error.__cause__):
                    raise
                self._knows_proba = False
        if proba is not None and self._labels_are_most_probable:
            return Answer(most_probable(proba), proba, seconds)
        label, alone = timed(n, self._model.predict_one, x)
        return Answer(label, proba, alone if proba is None else seconds)


def timed(n: int, call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Return the result of the model's call for sample n, and the seconds it took."""
    start = time.perf_counter()
    try:
        answer = call(*args, **kwargs)
    except MemoryError as error:
        raise EvaluationError(f"sample {n}: not enough memory for the model") from error
    except KeyboardInterrupt:  # not raised by the model
        raise
    except (TypeError, ValueError) as error:
        if is_of_handler(error):
            raise
        raise EvaluationError(f"sample {n}: {error_text(error) or type(error).__name__}") from error
    except BaseException as error:  # no model may end an evaluation with a traceback
        if is_of_handler(error):
            raise
        raise EvaluationError(f"sample {n}: {error_line(error)}") from error
    return answer, time.perf_counter() - start


def _lacks_probabilities(error: BaseException | None) -> bool:
    """Whether an error means that a river or scikit-learn classifier has no probabilities."""
    return isinstance(error, NotImplementedError) or (
        isinstance(error, AttributeError) and "predict_proba" in str(error)
    )


def last_step(model: Any) -> Any:
    """Return a model, or the last step of a pipeline."""
    while isinstance(model, compose.Pipeline):
        model = next(reversed(model.steps.values()), None)
    return model


def has_intervals(model: Any) -> bool:
    """Whether a regressor, or the one at the end of a pipeline, can predict intervals."""
    method = getattr(type(last_step(model)), "predict_one", None)
    return method is not None and "with_interval" in inspect.signature(method).parameters


def most_probable(proba: dict[Label, float]) -> Label | None:
    """Return the most probable label, the first one in a tie, or None if there are no labels."""
    return max(proba, key=lambda label: proba[label], default=None)


def warm_up_model(model: base.Estimator, samples: Iterable[Sample]) -> None:
    """Let a copy of a model learn up to a hundred samples, to trigger all compilation."""
    for _ in TestThenTrain(model, Scores({})).run(itertools.islice(samples, WARM_UP)):
        pass
    if kernels.are_in_use():  # one of our forests is in it, and may need more later on
        kernels.warm_up()


def progress_bar(
    n_samples: int | None, samples: Iterable[Sample] | None = None, *, is_shown: bool = True
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
