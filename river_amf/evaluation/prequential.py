"""Prequential evaluation: the one test-then-train loop, in which every evaluation runs."""

import bisect
import datetime as dt
import functools
import inspect
import itertools
import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from river import base, compose

from river_amf import kernels
from river_amf.classifier import AMFClassifier
from river_amf.evaluation.streams import Features, Label, Sample, Schedule, Stream, Target, Wait
from river_amf.evaluation.usage_errors import EvaluationError, error_line
from river_amf.inputs.dates import date_features

# methods that return the most probable label, by predict_proba_one
_DERIVED = base.Classifier.predict_one, AMFClassifier.predict_one
_UNITS = {"": 1, "us": 1, "s": 10**6, "min": 6 * 10**7, "h": 36 * 10**8}
_UNITS |= {"d": 24 * _UNITS["h"], "w": 168 * _UNITS["h"]}


class Step(NamedTuple):
    """A sample that has been learned, and the prediction made before."""

    n: int  # the number of samples learned
    y: Target
    prediction: Target | None  # None if there is none, as before the first label
    uncertainty: Any  # probabilities or an interval; {} if not predicted, None if not available
    is_new: bool  # whether no such label had been learned when it was predicted
    seconds: float  # to predict and to learn


def test_then_train(
    model: Any, samples: Iterable[Sample], schedule: Schedule = lambda n: n
) -> Iterator[Step]:
    """Predict each sample before it is learned, and yield it once it is."""
    # What a model predicts before the first label is left out, unlike in river. An error of the
    # model is an EvaluationError with the sample's number.
    predict, n_learned, labels = predictor(model), 0, set[Any]()
    is_regression, waiting = isinstance(model, base.Regressor), deque[tuple[Any, ...]]()

    for n, sample in enumerate(itertools.chain(samples, [None]), start=1):
        if sample is not None:
            x, y = sample
            prediction, uncertainty, seconds = predict(n, x)
            if not n_learned:
                prediction, uncertainty = None, {}
            waiting.append((n, x, y, prediction, uncertainty, y not in labels, seconds))
        n_due = n - 1 if sample is None else schedule(n)
        while n_learned < n_due:
            n_learned, x, y, prediction, uncertainty, is_new, seconds = waiting.popleft()
            _, more = timed(n_learned, model.learn_one, x, y)
            if not is_regression:
                labels.add(y)
            yield Step(n_learned, y, prediction, uncertainty, is_new, seconds + more)


test_then_train.__test__ = False  # type: ignore[attr-defined]  # or pytest would collect it


def schedule_of(
    stream: Stream, delay: Wait = 0, batch: Wait = 0, moment: str | None = None
) -> Schedule:
    """Return when labels are learned, or raise EvaluationError."""
    # As in river, a label comes before the first sample that is `delay` samples or so much time
    # later, and not before the next one. It is learned when a batch begins.
    clocks = list[tuple[Sequence[int], int]]()  # position of each sample, length of a wait
    for name, wait in {"delay": delay, "batch": batch}.items():
        if isinstance(wait, dt.timedelta):
            wait = f"{wait // dt.timedelta(microseconds=1)}us"
        if (match := re.fullmatch(rf"(\d+)({'|'.join(_UNITS)})", str(wait))) is None:
            wanted = "an integer >= 0 or a duration such as 1d, 12h, 90min or 30s"
            raise EvaluationError(f"{name} must be {wanted}, got {wait!r}")
        positions = _times(stream, moment) if match[2] else range(2**62)
        clocks.append((positions, int(match[1]) * _UNITS[match[2]]))
    (delays, least), (batches, length) = clocks

    def schedule(n: int) -> int:
        begin = bisect.bisect_left(batches, batches[n] - batches[n] % max(length, 1), 0, n)
        return bisect.bisect_right(delays, delays[begin] - least, 0, begin)

    return schedule


def _times(stream: Stream, moment: str | None) -> list[int]:
    """Return the times of samples since a Monday, in microseconds."""
    dates = [name for name, kind in stream.kinds.items() if kind == "date"]  # of a file
    name = dates[0] if moment is None and len(dates) == 1 else moment
    if name is None or (dates and name not in dates):
        wanted = f"one of the dates {dates}" if dates else "a feature with dates"
        raise EvaluationError(f"moment must be {wanted} of {stream.name}, got {name!r}")
    times, last = list[int](), -math.inf
    for row, x, *_ in stream.records():
        days = date_features(x).get(f"{name}.days", math.nan)
        if not days >= last:
            date = dt.datetime(1970, 1, 1) + dt.timedelta(days) if days == days else "no date"
            where = f"row {row} of {stream.name} has {date} in {name!r}"
            raise EvaluationError(f"{where}: durations need dates in order (UTC if clocks change)")
        last = days
        times.append(round((days + 3) * _UNITS["d"]))
    return [*times, times[-1]]  # the last one for what follows


def predictor(model: Any) -> Callable[[int, Features], tuple[Any, Any, float]]:
    """Return a function of the number of a sample and its features."""
    # Its answer is the prediction, probabilities or an interval or None, and the seconds it took.
    has_interval, has_proba = has_intervals(model), not isinstance(model, base.Regressor)
    interval_of: Any = functools.partial(model.predict_one, with_interval=True)
    is_derived = getattr(type(last_step(model)), "predict_one", None) in _DERIVED

    def predict(n: int, x: Features) -> tuple[Any, Any, float]:
        nonlocal has_proba
        if has_proba:
            try:
                answer, seconds = timed(n, model.predict_proba_one, x)
            except EvaluationError as error:
                cause = error.__cause__  # as from a regressor at the end of a pipeline
                is_absent = getattr(cause, "name", None) == "predict_proba_one"
                if not isinstance(cause, NotImplementedError) and not is_absent:
                    raise
                has_proba = False
            else:
                proba = dict(answer or {})  # the model may change what it has returned
                label = most_probable(proba) if is_derived else timed(n, model.predict_one, x)[0]
                return label, proba, seconds
        prediction, seconds = timed(n, model.predict_one, x)
        return prediction, timed(n, interval_of, x)[0] if has_interval else None, seconds

    return predict


def timed(n: int, call: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Return the result of the model's call for sample n, and the seconds it took."""
    start = time.perf_counter()
    try:
        answer = call(*args)
    except Exception as error:
        raise EvaluationError(f"sample {n}: {error_line(error)}") from error
    return answer, time.perf_counter() - start


def last_step(model: Any) -> Any:
    while isinstance(model, compose.Pipeline):
        model = next(reversed(model.steps.values()), None)
    return model


def seen_by_last_step(model: Any, x: Features) -> Features:
    """Return what the last step of a pipeline sees of a sample; no step learns from it."""
    while isinstance(model, compose.Pipeline):
        *steps, model = model.steps.values()
        for step in steps:
            if isinstance(step, base.Transformer):  # others filter what is learned
                x = step.transform_one(x)
    return x


def has_intervals(model: Any) -> bool:
    method = getattr(type(last_step(model)), "predict_one", None)
    return method is not None and "with_interval" in inspect.signature(method).parameters


def most_probable(proba: dict[Label, float]) -> Label | None:
    """Return the most probable label, the first one in a tie, or None if there are no labels."""
    values = [*proba.values()]  # quicker than `max` with a key
    return [*proba][values.index(max(values))] if values else None


def warm_up_model(model: base.Estimator, samples: Iterable[Sample]) -> None:
    """Let a copy of a model learn a sample, and compile all kernels for its kind of forest."""
    list(test_then_train(model, itertools.islice(samples, 1)))
    kernels.compile_kernels(kernels.kinds_in_use())


def round_interval(n_samples: int, n_intervals: int = 10) -> int:
    """Return 1, 2 or 5 times a power of ten that divides samples into about that many intervals."""
    wanted = max(n_samples / n_intervals, 1)
    power: int = 10 ** math.floor(math.log10(wanted))
    return min((power, 2 * power, 5 * power, 10 * power), key=lambda n: abs(math.log(n / wanted)))
