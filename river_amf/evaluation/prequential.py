"""Prequential evaluation: the test-then-train loop over a stream, and its checkpoints.

Each sample is predicted first and learnt afterwards, so that no prediction has seen its label. The
loop keeps the same figures as `river.evaluate.progressive_val_score`, several at a time, and counts
the time that the model alone takes. As in river, a label is what `predict_one` says; a classifier
without probabilities has no figure of what needs them.
"""

from __future__ import annotations

import copy
import itertools
import math
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from river import base, compose
from river.metrics.base import ClassificationMetric

from river_amf.encoding import shown
from river_amf.evaluation.streams import EvaluationError, Label, Sample

OnPrediction = Callable[[int, Label, Label | None, dict[Label, float]], None]

WARM_UP = 100  # samples; enough to meet every compiled function of an early stream


@dataclass(frozen=True)
class Checkpoint:
    """Where an evaluation stands.

    Parameters
    ----------
    n_samples
        Samples predicted and learnt so far.
    metrics
        Value of each metric over these samples, by class name; NaN if none of them was scored, or
        it takes probabilities and the model has none.
    us_per_sample
        Microseconds that the model took per sample, to predict once and to learn.
    memory
        Size of the model in bytes.

    Examples
    --------
    >>> from river import metrics
    >>> from river_amf import AMFClassifier, evaluation
    >>> stream, model = evaluation.load_stream("Bananas", limit=300), AMFClassifier(seed=1)
    >>> run = evaluation.iter_test_then_train(stream, model, [metrics.Accuracy()], {100, 200, 300})
    >>> [(checkpoint.n_samples, checkpoint.memory > 10_000) for checkpoint in run]
    [(100, True), (200, True), (300, True)]

    """

    n_samples: int
    metrics: dict[str, float]
    us_per_sample: float
    memory: int


def even_checkpoints(n_samples: int, n_checkpoints: int = 10) -> range:
    """Return about ten sample counts up to `n_samples`, or as many as wanted, evenly spaced.

    They are spaced by a round number, 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> from river_amf.evaluation import even_checkpoints
    >>> even_checkpoints(45_312)
    range(5000, 45313, 5000)
    >>> list(even_checkpoints(3))
    [1, 2, 3]

    """
    wanted = max(n_samples / n_checkpoints, 1)
    power = 10 ** math.floor(math.log10(wanted))
    round_numbers = (power, 2 * power, 5 * power, 10 * power)
    interval = min(round_numbers, key=lambda number: abs(math.log(number / wanted)))
    return range(interval, n_samples + 1, interval)


def iter_test_then_train(
    samples: Iterable[Sample],
    model: base.Classifier,
    measures: Sequence[ClassificationMetric],
    checkpoints: Container[int],
    on_prediction: OnPrediction | None = None,
) -> Iterator[Checkpoint]:
    """Predict, score and learn each sample in turn; yield at the checkpoints and at the end.

    The first sample, of which a new model knows nothing, is not scored, as in river.

    Parameters
    ----------
    samples
        A `Stream`, or any pairs of features and label.
    model
        The classifier; it learns.
    measures
        Metrics to update: with the label predicted, or with the probabilities if they take these.
    checkpoints
        Sample counts at which to yield, such as a range.
    on_prediction
        Called for each sample with its number from 1, its label, the label predicted (None if
        nothing is known) and the probabilities predicted (empty if there are none).

    Raises
    ------
    EvaluationError
        If the model fails at a sample.

    Examples
    --------
    >>> from river import metrics, naive_bayes
    >>> from river_amf.evaluation import iter_test_then_train, load_stream
    >>> stream, model = load_stream("Phishing"), naive_bayes.GaussianNB()
    >>> for row in iter_test_then_train(stream, model, [metrics.Accuracy()], {500, 1000}):
    ...     print(row.n_samples, row.metrics["Accuracy"] > 0.8)
    500 True
    1000 True
    1250 True

    """
    loop = TestThenTrain(model, measures)
    for x, y in samples:
        loop.step(x, y, on_prediction)
        if loop.n_samples in checkpoints:
            yield loop.checkpoint()
    if loop.n_samples and loop.n_samples not in checkpoints:
        yield loop.checkpoint()


class TestThenTrain:
    """The loop sample by sample, which can tell at any time where it stands.

    A sample counts once it is learnt: whatever breaks off between, the figures are those of the
    samples before.

    Parameters
    ----------
    model
        The classifier; it learns.
    measures
        Metrics to update, as in `iter_test_then_train`.

    Attributes
    ----------
    n_samples
        Number of samples predicted and learnt.

    Examples
    --------
    >>> from river import metrics, naive_bayes
    >>> from river_amf.evaluation import load_stream
    >>> from river_amf.evaluation.prequential import TestThenTrain
    >>> loop = TestThenTrain(naive_bayes.GaussianNB(), [metrics.Accuracy()])
    >>> for x, y in load_stream("Phishing", limit=100):
    ...     label, proba = loop.step(x, y)
    >>> loop.checkpoint().n_samples
    100

    """

    __test__ = False  # pytest would take it for tests

    def __init__(self, model: base.Classifier, measures: Sequence[ClassificationMetric]) -> None:
        self.n_samples = 0
        self._seconds = 0.0
        self._model = model
        self._measures = measures
        self._predict = _Predictor(model)

    def step(
        self, x: Any, y: Label, on_prediction: OnPrediction | None = None
    ) -> tuple[Label | None, dict[Label, float]]:
        """Predict, learn and score a sample; return what was predicted.

        Parameters
        ----------
        x, y
            The sample.
        on_prediction
            As in `iter_test_then_train`.

        Raises
        ------
        EvaluationError
            If the model fails.

        """
        n = self.n_samples + 1
        label, proba, predicting = self._predict(n, x)
        if on_prediction is not None:
            on_prediction(n, y, label, proba)
        proba = copy.copy(proba)  # which may be the model's own, to be changed as it learns
        _, learning = _timed(n, self._model.learn_one, x, y)
        for measure in self._measures:
            if measure.requires_labels and label is not None:
                measure.update(y, label)
            elif proba and not measure.requires_labels:
                measure.update(y, proba)
        self._seconds += predicting + learning
        self.n_samples = n
        return label, proba

    def checkpoint(self) -> Checkpoint:
        """Return where the loop stands, from the first sample on."""
        values = {
            type(measure).__name__: (
                float(measure.get()) if self._predict.scores(measure) else math.nan
            )
            for measure in self._measures
        }
        us_per_sample = 1e6 * self._seconds / self.n_samples
        return Checkpoint(self.n_samples, values, us_per_sample, self._model._raw_memory_usage)


def warm_up(model: base.Classifier, samples: Iterable[Sample]) -> None:
    """Let a model learn the first samples, so that what it compiles is compiled.

    Parameters
    ----------
    model
        A copy of the one whose time shall be taken, such as a clone.
    samples
        The stream; no more than the first hundred samples are taken.

    Raises
    ------
    EvaluationError
        If the model fails at a sample.

    Examples
    --------
    >>> from river import naive_bayes
    >>> from river_amf.evaluation import load_stream
    >>> from river_amf.evaluation.prequential import warm_up
    >>> model = naive_bayes.GaussianNB()
    >>> warm_up(model, load_stream("Phishing"))
    >>> sum(model.class_counts.values())
    100

    """
    for _ in iter_test_then_train(itertools.islice(samples, WARM_UP), model, (), ()):
        pass


def check_pairs(samples: Iterable[Any]) -> Iterator[Sample]:
    """Yield the samples, or raise where one is no pair.

    Raises
    ------
    EvaluationError
        If a sample is no pair of features and label.

    Examples
    --------
    >>> from river_amf.evaluation.prequential import check_pairs
    >>> list(check_pairs([({"a": 1}, True), "xy"]))
    Traceback (most recent call last):
        ...
    river_amf.evaluation.streams.EvaluationError: sample 2: must be a pair (x, y), got 'xy'

    """
    for n, sample in enumerate(samples, start=1):
        if not isinstance(sample, tuple | list) or len(sample) != 2:
            raise EvaluationError(f"sample {n}: must be a pair (x, y), got {shown(sample)}")
        x, y = sample
        yield x, y


def most_probable(proba: dict[Label, float]) -> Label | None:
    """Return the label predicted: the first of the most probable ones, None if there are none.

    Examples
    --------
    >>> from river_amf.evaluation import most_probable
    >>> most_probable({"ham": 0.6, "spam": 0.4})
    'ham'

    """
    return max(proba, key=lambda label: proba[label], default=None)


def described(error: BaseException) -> str:
    """Return the class of an error, and its text if there is one.

    Examples
    --------
    >>> from river_amf.evaluation.prequential import described
    >>> described(ValueError("no such value")), described(ValueError())
    ('ValueError: no such value', 'ValueError')

    """
    text = text_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def text_of(error: BaseException) -> str:
    """Return the text of an error, which is empty if the error itself fails to give it.

    Examples
    --------
    >>> from river_amf.evaluation.prequential import text_of
    >>> text_of(ValueError("no such value"))
    'no such value'

    """
    try:
        return str(error).strip()
    except Exception:
        return ""


class _Predictor:
    """Predicts a label and probabilities as river's evaluation does, for any classifier of river.

    The label is that of `predict_one`, which most classifiers take from the probabilities.
    """

    def __init__(self, model: base.Classifier) -> None:
        self._model = model
        last: Any = model
        while isinstance(last, compose.Pipeline):
            last = next(reversed(last.steps.values()), None)
        own = getattr(type(last), "predict_one", None)
        self._labels_are_most_probable = own is base.Classifier.predict_one
        self.knows_proba = True
        self.scored_labels = self.scored_proba = False

    def __call__(self, n: int, x: Any) -> tuple[Label | None, dict[Label, float], float]:
        """Return the label, the probabilities, and the seconds that the one or the other took."""
        proba: dict[Label, float] = {}
        seconds = None
        if self.knows_proba:
            try:
                proba, seconds = _timed(n, self._model.predict_proba_one, x)
            except EvaluationError as error:
                if not _says_no_proba(error.__cause__):
                    raise
                self.knows_proba = False
        if self.knows_proba and self._labels_are_most_probable:
            label = most_probable(proba) if proba else None
        else:
            label, alone = _timed(n, self._model.predict_one, x)
            seconds = alone if seconds is None else seconds
        self.scored_labels |= label is not None
        self.scored_proba |= bool(proba)
        return label, proba or {}, seconds or 0.0

    def scores(self, measure: ClassificationMetric) -> bool:
        """Whether a metric has had something to score."""
        if measure.requires_labels:
            return self.scored_labels
        return self.knows_proba and self.scored_proba


def _says_no_proba(error: BaseException | None) -> bool:
    """Whether an error says that a classifier has no probabilities: river's, or scikit-learn's."""
    return isinstance(error, NotImplementedError) or (
        isinstance(error, AttributeError) and "predict_proba" in str(error)
    )


def _timed(n: int, call: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Return what the model says to sample n, and the seconds it took."""
    start = time.perf_counter()
    try:
        answer = call(*args)
    except MemoryError as error:
        raise EvaluationError(f"sample {n}: not enough memory for the model") from error
    except KeyboardInterrupt:  # not the model's
        raise
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"sample {n}: {text_of(error) or type(error).__name__}") from error
    except BaseException as error:  # of any classifier of river, none of which shall be a traceback
        raise EvaluationError(f"sample {n}: {described(error)}") from error
    return answer, time.perf_counter() - start
