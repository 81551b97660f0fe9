"""Prequential evaluation: the test-then-train loop over a stream.

Each sample is predicted first and learnt afterwards, so that no prediction has seen its label. The
loop keeps the same figures as `river.evaluate.progressive_val_score`, several at a time, and counts
the time that the model alone takes. As in river, a label is what `predict_one` says; a classifier
without probabilities has no figure of what needs them.
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

from river_amf.evaluation.errors import EvaluationError, described, text_of
from river_amf.evaluation.scores import Scores
from river_amf.evaluation.streams import Features, Label, Sample

OnPrediction = Callable[[int, Features, Label, Label | None, dict[Label, float]], None]

WARM_UP = 100  # samples; enough to meet every compiled function of an early stream


class TestThenTrain:
    """The loop of one model over a stream, which can tell at any time where it stands.

    A sample counts once it is learnt: whatever breaks off between, the figures are those of the
    `n_samples` before. The first one, of which a new model knows nothing, is not scored, as in
    river. `on_prediction` is called for each sample before it is learnt, with its number from 1,
    its features and label, the label predicted (None if nothing is known) and the probabilities
    (empty if there are none).

    >>> from river import metrics, naive_bayes
    >>> from river_amf.evaluation import load_stream
    >>> loop = TestThenTrain(naive_bayes.GaussianNB(), Scores({"accuracy": metrics.Accuracy()}))
    >>> for n_samples in loop.run(load_stream("Phishing"), checkpoints={500, 1000}):
    ...     print(n_samples, loop.figures()["accuracy"] > 0.8)
    500 True
    1000 True
    1250 True
    >>> list(loop.figures())
    ['accuracy', 'us_per_sample', 'memory']
    """

    __test__ = False  # pytest would take it for tests

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
        """Predict, learn and score each sample; yield their number at checkpoints and at the end.

        Raises `EvaluationError` if the model fails at a sample.
        """
        for x, y in samples:
            self._step(x, y)
            if self.n_samples in checkpoints:
                yield self.n_samples
        if self.n_samples and self.n_samples not in checkpoints:
            yield self.n_samples

    def figures(self) -> dict[str, float]:
        """Return the metrics so far, the microseconds a sample has taken, and the bytes.

        The time is that to predict once and to learn. There must have been a sample.
        """
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
        proba = copy.copy(proba)  # which may be the model's own, to be changed as it learns
        _, learning = _timed(n, self._model.learn_one, x, y)
        self.scores.update(y, label, proba)
        self._seconds += predicting + learning
        self.n_samples = n


def warm_up(model: base.Classifier, samples: Iterable[Sample]) -> None:
    """Let a model learn up to a hundred samples, so that what it compiles is compiled.

    It should be a copy of the one whose time shall be taken, such as a clone. What it raises is
    what the loop would.

    >>> from river import naive_bayes
    >>> model = naive_bayes.GaussianNB()
    >>> warm_up(model, [({"a": 1.0}, True)] * 250)
    >>> sum(model.class_counts.values())
    100
    """
    for _ in TestThenTrain(model, Scores({})).run(itertools.islice(samples, WARM_UP)):
        pass


def progress_bar(
    n_samples: int, samples: Iterable[Sample] | None = None, *, is_shown: bool = True
) -> tqdm[Any]:
    """Return a bar on stderr that counts samples: those given, as they are iterated."""
    return tqdm(
        samples,
        total=n_samples,
        unit=" samples",
        leave=False,
        file=sys.stderr,
        disable=not is_shown,
    )


def every(n_samples: int) -> range:
    """Return the checkpoints that come after so many samples each, without end.

    >>> 400 in every(200), 500 in every(200)
    (True, False)
    """
    return range(int(n_samples), sys.maxsize, int(n_samples))


def even_checkpoints(n_samples: int, n_checkpoints: int = 10) -> range:
    """Return about ten sample counts up to `n_samples`, or as many as wanted, evenly spaced.

    They are spaced by a round number, 1, 2 or 5 times a power of ten.

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


def most_probable(proba: dict[Label, float]) -> Label | None:
    """Return the label predicted: the first of the most probable ones, None if there are none.

    >>> most_probable({"ham": 0.6, "spam": 0.4})
    'ham'
    """
    return max(proba, key=lambda label: proba[label], default=None)


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
        self._knows_proba = True

    def __call__(self, n: int, x: Any) -> tuple[Label | None, dict[Label, float] | None, float]:
        """Return the label, the probabilities, and the seconds that the one or the other took."""
        proba: dict[Label, float] | None = None
        seconds = None
        if self._knows_proba:
            try:
                proba, seconds = _timed(n, self._model.predict_proba_one, x)
                proba = proba or {}
            except EvaluationError as error:
                if not _says_no_proba(error.__cause__):
                    raise
                self._knows_proba = False
        if proba is not None and seconds is not None and self._labels_are_most_probable:
            return most_probable(proba), proba, seconds
        label, alone = _timed(n, self._model.predict_one, x)
        return label, proba, alone if seconds is None else seconds


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
