"""Prequential evaluation: the one test-then-train loop, in which all that is evaluated runs."""

from __future__ import annotations

import inspect
import itertools
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from river import base, compose
from tqdm import tqdm

from river_amf import kernels
from river_amf.classifier import AMFClassifier
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


class Step(NamedTuple):
    """A sample that has been learned, and what was predicted for it before."""

    n: int  # the number of samples learned
    x: Features
    y: Target
    prediction: Target | None  # None if there is none, as before the first label
    beside: Any  # probabilities or an interval, None if the model has none
    seconds: float  # to predict and to learn


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
    predict, learn = predictor(model), model.learn_one
    waiting: deque[tuple[Any, ...]] = deque()
    n_learned = 0
    for n, (x, y) in enumerate(samples, start=1):
        waiting.append((x, y, *predict(n, x)))
        if len(waiting) >= delay:
            n_learned += 1
            x, y, prediction, beside, seconds = waiting.popleft()
            _, more = timed(n_learned, learn, x, y)
            yield Step(n_learned, x, y, prediction, beside, seconds + more)
    for n, (x, y, prediction, beside, seconds) in enumerate(waiting, start=n_learned + 1):
        _, more = timed(n, learn, x, y)
        yield Step(n, x, y, prediction, beside, seconds + more)


test_then_train.__test__ = False  # type: ignore[attr-defined]  # or pytest would collect it


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
        # The label is that of predict_one, which most classifiers derive from the probabilities.
        nonlocal lacks_proba
        proba, seconds = None, math.nan
        if not lacks_proba:
            try:
                answer, seconds = timed(n, model.predict_proba_one, x)
                proba = dict(answer or {})  # the model may change what it has returned
            except EvaluationError as error:
                if not _lacks_probabilities(error.__cause__):
                    raise
                lacks_proba = True
        if proba is not None and is_derived:
            return most_probable(proba), proba, seconds
        prediction, alone = timed(n, model.predict_one, x)
        return prediction, proba, alone if proba is None else seconds

    is_derived = getattr(type(last_step(model)), "predict_one", None) in _DERIVED
    return number if isinstance(model, base.Regressor) else label


def timed(n: int, call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Return the result of the model's call for sample n, and the seconds it took."""
    start = time.perf_counter()
    try:
        answer = call(*args, **kwargs)
    except MemoryError as error:
        raise EvaluationError(f"sample {n}: not enough memory for the model") from error
    except KeyboardInterrupt:  # not raised by the model
        raise
    except BaseException as error:  # no model may end an evaluation with a traceback
        if is_of_handler(error):
            raise
        is_plain = isinstance(error, TypeError | ValueError) and error_text(error)
        raise EvaluationError(
            f"sample {n}: {error_text(error) if is_plain else error_line(error)}"
        ) from error
    return answer, time.perf_counter() - start


def _lacks_probabilities(error: BaseException | None) -> bool:
    """Return whether an error means that a classifier has no probabilities."""
    return isinstance(error, NotImplementedError) or (
        isinstance(error, AttributeError) and "predict_proba" in str(error)
    )


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
    """Let a copy of a model learn up to a hundred samples, to trigger all compilation."""
    for _ in test_then_train(model, itertools.islice(samples, WARM_UP)):
        pass
    if kernels.are_in_use():  # one of our forests is in it, and may need more later on
        kernels.warm_up()


def progress_bar(
    n_samples: int | None, samples: Iterable[Sample] | None = None, *, is_shown: bool = True
) -> tqdm[Any]:
    """Return a progress bar on stderr, which counts the samples given as they are iterated over."""
    options: Any = {"leave": False, "file": sys.stderr, "disable": not is_shown}
    return tqdm(samples, total=n_samples, unit=" samples", **options)


def even_checkpoints(n_samples: int, n_checkpoints: int = 10) -> range:
    """Return about n_checkpoints sample counts, spaced by 1, 2 or 5 times a power of ten."""
    wanted = max(n_samples / n_checkpoints, 1)
    power = 10 ** math.floor(math.log10(wanted))
    round_numbers = (power, 2 * power, 5 * power, 10 * power)
    interval = min(round_numbers, key=lambda number: abs(math.log(number / wanted)))
    return range(interval, n_samples + 1, interval)
