"""Prequential evaluation: the one test-then-train loop, in which all that is evaluated runs."""

from __future__ import annotations

import inspect
import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from river import base, compose

from river_amf import kernels
from river_amf.classifier import AMFClassifier
from river_amf.evaluation.streams import Features, Label, Sample, Target
from river_amf.evaluation.usage_errors import EvaluationError, error_line

# methods that return the most probable label, by predict_proba_one
_DERIVED = base.Classifier.predict_one, AMFClassifier.predict_one


class Step(NamedTuple):
    """A sample that has been learned, and what was predicted for it before."""

    n: int  # the number of samples learned
    x: Features
    y: Target
    prediction: Target | None  # None if there is none, as before the first label
    beside: Any  # probabilities or an interval, None if the model has none
    seconds: float  # to predict and to learn
    is_new: bool = False  # whether it is the first sample with this label


def test_then_train(model: Any, samples: Iterable[Sample], delay: int = 0) -> Iterator[Step]:
    """Predict each sample before it is learned, and yield it once it is.

    As in river, a label comes right before the `delay`-th prediction after its own; it is learned
    at once with 0 or 1. What the model raises is an EvaluationError with the number of the sample.

    >>> from river import dummy
    >>> samples = [({}, "a"), ({}, "a"), ({}, "b")]
    >>> steps = test_then_train(dummy.PriorClassifier(), samples)
    >>> [(step.n, step.y, step.prediction) for step in steps]
    [(1, 'a', None), (2, 'a', 'a'), (3, 'b', 'a')]
    """
    labels: set[Any] = set()
    has_labels = not isinstance(model, base.Regressor)
    predicted = enumerate(_predictions(predictor(model), samples, delay), start=1)
    for n, (x, y, prediction, beside, seconds) in predicted:
        _, more = timed(n, model.learn_one, x, y)
        is_new = has_labels and y not in labels
        if is_new:
            labels.add(y)
        yield Step(n, x, y, prediction, beside, seconds + more, is_new)


test_then_train.__test__ = False  # type: ignore[attr-defined]  # or pytest would collect it


def _predictions(
    predict: Callable[[int, Features], tuple[Any, ...]], samples: Iterable[Sample], delay: int
) -> Iterator[tuple[Any, ...]]:
    """Yield each sample with its prediction, once its label comes."""
    waiting: deque[tuple[Any, ...]] = deque()
    for n, (x, y) in enumerate(samples, start=1):
        waiting.append((x, y, *predict(n, x)))
        if len(waiting) >= delay:
            yield waiting.popleft()
    yield from waiting


def predictor(model: Any) -> Callable[[int, Features], tuple[Any, Any, float]]:
    """Return a function that predicts sample n: prediction, what is beside it, and seconds."""
    gives_intervals, lacks_proba = has_intervals(model), False

    def number(n: int, x: Features) -> tuple[Any, Any, float]:
        prediction, seconds = timed(n, model.predict_one, x)
        interval = None
        if gives_intervals:
            interval, _ = timed(n, model.predict_one, x, with_interval=True)
        return prediction, interval, seconds

    def label(n: int, x: Features) -> tuple[Any, Any, float]:
        nonlocal lacks_proba
        if lacks_proba:
            prediction, seconds = timed(n, model.predict_one, x)
            return prediction, None, seconds
        try:
            answer, seconds = timed(n, model.predict_proba_one, x)
        except EvaluationError as error:
            cause = error.__cause__
            lacks_proba = isinstance(cause, NotImplementedError) or "predict_proba" in str(cause)
            if not lacks_proba:
                raise
            return label(n, x)
        proba = dict(answer or {})  # the model may change what it has returned
        if is_derived:
            return most_probable(proba), proba, seconds
        return timed(n, model.predict_one, x)[0], proba, seconds

    is_derived = getattr(type(last_step(model)), "predict_one", None) in _DERIVED
    return number if isinstance(model, base.Regressor) else label


def timed(n: int, call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Return the result of the model's call for sample n, and the seconds it took."""
    start = time.perf_counter()
    try:
        answer = call(*args, **kwargs)
    except Exception as error:
        raise EvaluationError(f"sample {n}: {error_line(error)}") from error
    return answer, time.perf_counter() - start


def last_step(model: Any) -> Any:
    """Return a model, or the last step of a pipeline."""
    while isinstance(model, compose.Pipeline):
        model = next(reversed(model.steps.values()), None)
    return model


def has_intervals(model: Any) -> bool:
    """Return whether a regressor, or the one at the end of a pipeline, can predict intervals."""
    method = getattr(type(last_step(model)), "predict_one", None)
    return method is not None and "with_interval" in inspect.signature(method).parameters


def most_probable(proba: dict[Label, float]) -> Label | None:
    """Return the most probable label, the first one in a tie, or None if there are no labels."""
    return max(proba, key=lambda label: proba[label], default=None)


def warm_up_model(model: base.Estimator, samples: Iterable[Sample]) -> None:
    """Let a copy of a model learn a sample, and compile all kernels for its kind of forest."""
    for _ in test_then_train(model, itertools.islice(samples, 1)):
        pass
    kernels.compile_kernels(kernels.kinds_in_use())


def even_checkpoints(n_samples: int, n_checkpoints: int = 10) -> range:
    """Return about n_checkpoints sample counts, spaced by 1, 2 or 5 times a power of ten."""
    wanted = max(n_samples / n_checkpoints, 1)
    power = 10 ** math.floor(math.log10(wanted))
    round_numbers = (power, 2 * power, 5 * power, 10 * power)
    interval = min(round_numbers, key=lambda number: abs(math.log(number / wanted)))
    return range(interval, n_samples + 1, interval)
