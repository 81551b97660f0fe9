"""Prequential evaluation: the test-then-train loop over a stream, and its checkpoints.

Each sample is predicted first and learnt afterwards, so that no prediction has seen its label. The
loop keeps the same figures as `river.evaluate.progressive_val_score`, several at a time, and counts
the time that the model alone takes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from river import base
from river.metrics.base import ClassificationMetric

from river_amf.streams import EvaluationError, Label, Sample

OnPrediction = Callable[[int, Label, dict[Label, float]], None]


@dataclass(frozen=True)
class Checkpoint:
    """Where an evaluation stands.

    Parameters
    ----------
    n_samples
        Samples predicted and learnt so far.
    metrics
        Value of each metric over these samples, by class name.
    us_per_sample
        Microseconds that the model took per sample, to predict and to learn.
    memory
        Size of the model in bytes.

    """

    n_samples: int
    metrics: dict[str, float]
    us_per_sample: float
    memory: int


def even_checkpoints(n_samples: int) -> range:
    """Return about ten sample counts up to `n_samples`, evenly spaced by a round number.

    Examples
    --------
    >>> from river_amf.evaluation import even_checkpoints
    >>> even_checkpoints(45_312)
    range(5000, 45313, 5000)
    >>> list(even_checkpoints(3))
    [1, 2, 3]

    """
    wanted = max(n_samples / 10, 1)
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
        Metrics to update: with the most probable label, or with the probabilities if they take
        these.
    checkpoints
        Sample counts at which to yield, such as a range.
    on_prediction
        Called for each sample with its number from 1, its label, and the probabilities predicted.

    Raises
    ------
    EvaluationError
        If the model refuses a sample.

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
    n = 0
    seconds = 0.0
    for n, (x, y) in enumerate(samples, start=1):
        proba, predicting = _timed(n, model.predict_proba_one, x)
        if proba:
            label = most_probable(proba)
            for measure in measures:
                measure.update(y, label if measure.requires_labels else proba)
        if on_prediction is not None:
            on_prediction(n, y, proba)
        _, learning = _timed(n, model.learn_one, x, y)
        seconds += predicting + learning
        if n in checkpoints:
            yield _checkpoint(n, seconds, model, measures)
    if n and n not in checkpoints:
        yield _checkpoint(n, seconds, model, measures)


def most_probable(proba: dict[Label, float]) -> Label | None:
    """Return the label predicted: the first of the most probable ones, None if there are none."""
    return max(proba, key=lambda label: proba[label], default=None)


def _timed(n: int, call: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Return what the model says to sample n, and the seconds it took."""
    start = time.perf_counter()
    try:
        answer = call(*args)
    except MemoryError as error:
        raise EvaluationError(f"sample {n}: not enough memory for the model") from error
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"sample {n}: {error}") from error
    return answer, time.perf_counter() - start


def _checkpoint(
    n: int,
    seconds: float,
    model: base.Classifier,
    measures: Sequence[ClassificationMetric],
) -> Checkpoint:
    values = {type(measure).__name__: float(measure.get()) for measure in measures}
    return Checkpoint(n, values, 1e6 * seconds / n, model._raw_memory_usage)
