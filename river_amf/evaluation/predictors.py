"""What a model says of a sample before it learns it, with the time that this takes."""

from __future__ import annotations

import copy
import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from river import base
from river.conf import Interval

from river_amf.evaluation.errors import EvaluationError, described, text_of
from river_amf.evaluation.interval_metrics import has_intervals, last_step
from river_amf.evaluation.streams import Label, Target


class Answer(NamedTuple):
    """What a model predicts: a label with probabilities, or a number with an interval."""

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

    def kept(self) -> Answer:
        """Return the answer as it is now: the model may own it, and change it when it learns."""
        return self._replace(beside=copy.copy(self.beside))


def predictor_of(model: base.Estimator, *, with_intervals: bool) -> Callable[[int, Any], Answer]:
    """Return what predicts sample n, given n and its features."""
    if isinstance(model, base.Regressor):
        return _NumberPredictor(model, with_intervals=with_intervals)
    return _LabelPredictor(model)


def columns_beside(model: base.Estimator) -> tuple[str, ...]:
    """Return the names of what stands beside a prediction, in the order of `Answer.cells`."""
    if not isinstance(model, base.Regressor):
        return ("probability",)
    return ("lower", "upper") if has_intervals(model) else ()


def most_probable(proba: dict[Label, float]) -> Label | None:
    """Return the most probable label, the first one in a tie, or None if there are no labels."""
    return max(proba, key=lambda label: proba[label], default=None)


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
    except BaseException as error:  # no model may end an evaluation with a traceback
        raise EvaluationError(f"sample {n}: {described(error)}") from error
    return answer, time.perf_counter() - start


class _LabelPredictor:
    """Predicts a label and probabilities as river's evaluation does, for any river classifier."""

    # The label is that of predict_one, which most classifiers derive from the probabilities.
    def __init__(self, model: Any) -> None:
        self._model = model
        own = getattr(type(last_step(model)), "predict_one", None)
        self._labels_are_most_probable = own is base.Classifier.predict_one
        self._knows_proba = True

    def __call__(self, n: int, x: Any) -> Answer:
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
            return Answer(most_probable(proba), proba, seconds)
        label, alone = timed(n, self._model.predict_one, x)
        return Answer(label, proba, alone if seconds is None else seconds)


def _says_no_proba(error: BaseException | None) -> bool:
    """Whether an error means that a river or scikit-learn classifier has no probabilities."""
    return isinstance(error, NotImplementedError) or (
        isinstance(error, AttributeError) and "predict_proba" in str(error)
    )


class _NumberPredictor:
    """Predicts a number, and its interval where a regressor has one."""

    def __init__(self, model: Any, *, with_intervals: bool) -> None:
        self._model = model
        self._interval: Callable[[Any], Interval] | None = None
        if with_intervals and has_intervals(model):
            self._interval = functools.partial(model.predict_one, with_interval=True)

    def __call__(self, n: int, x: Any) -> Answer:
        """Return the number, the interval, and the seconds that the number took."""
        number, seconds = timed(n, self._model.predict_one, x)
        interval = None if self._interval is None else timed(n, self._interval, x)[0]
        return Answer(number, interval, seconds)
