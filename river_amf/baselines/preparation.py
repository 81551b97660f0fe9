"""Scalers and encoders before models that cannot take any input."""

from __future__ import annotations

import math
from typing import Any

from river import base, compose, preprocessing

from river_amf.inputs.encoding import column_order
from river_amf.inputs.kinds import Number, as_number, is_missing, is_number, plain

_COMMON = 0.5  # share of the samples that have a number which is standardised
_SMALL = 5.0  # root mean square of whole numbers that are taken as counts

Features = dict[Any, Any]


class _Number:
    """Statistics of a feature: when it came, how often, and the mean and variance of its values."""

    __slots__ = ("are_whole", "first", "mean", "n", "variance")

    def __init__(self, first: int) -> None:
        self.first = first  # samples before it came
        self.n = 0
        self.mean = 0.0
        self.variance = 0.0
        self.are_whole = True

    def update(self, value: float) -> None:
        """Count a value."""
        self.n += 1
        deviation = value - self.mean
        self.mean += deviation / self.n
        self.variance += (deviation * (value - self.mean) - self.variance) / self.n
        self.are_whole &= value % 1 == 0


class Scaler(base.Transformer):
    """Standardise numbers that are common, and bring others to the size of counts.

    A number is common if more than half of the samples have had it since it came, with one sample
    added that had not, so that a new one is not common yet. A common number whose values differ has
    its mean subtracted and is divided by its standard deviation, as in river's `StandardScaler`.
    All others keep their zero, which is what their absence means, and thus their sign: small whole
    numbers, such as counts of words, stay as they are, and what is left, such as TF-IDF, is divided
    by its root mean square. A number that has not been learned becomes 1, -1 or 0 by its sign.

    Examples
    --------
    >>> from river_amf.baselines.preparation import Scaler
    >>> scaler = Scaler()
    >>> for x in [{"size": 170.0, "hello": 1.0}, {"size": 190.0}, {"size": 180.0}]:
    ...     scaler.learn_one(x)
    >>> scaler.transform_one({"size": 180.0, "hello": 1.0})
    {'size': 0.0, 'hello': 1.0}
    """

    def __init__(self) -> None:
        self._n_samples = 0
        self._numbers: dict[Any, _Number] = {}

    def learn_one(self, x: Features) -> None:
        """Learn from the numbers of a sample, which must be finite."""
        for name, value in x.items():
            number = self._numbers.get(name)
            if number is None:
                number = self._numbers[name] = _Number(self._n_samples)
            number.update(value)
        self._n_samples += 1

    def transform_one(self, x: Features) -> Features:
        """Return the numbers of a sample, scaled by what has been learned."""
        return {name: self._scaled(name, value) for name, value in x.items()}

    def _scaled(self, name: Any, value: float) -> float:
        """Return a number, scaled."""
        number = self._numbers.get(name)
        if number is None:
            return math.copysign(1.0, value) if value else 0.0
        is_common = number.n > _COMMON * (self._n_samples - number.first + 1)
        if is_common and number.variance > 0.0:
            return (value - number.mean) / math.sqrt(number.variance)
        size = math.hypot(number.mean, math.sqrt(number.variance))
        if number.are_whole and size <= _SMALL:
            return value
        return value / size if size > 0.0 else 0.0


class TargetScaler(preprocessing.TargetStandardScaler):
    """River's `TargetStandardScaler`, which predicts 0 where a model has no prediction yet."""

    def predict_one(self, x: Features) -> float:
        """Return the prediction of the model, in the unit of the target."""
        predicted = self.regressor.predict_one(x)
        return 0.0 if predicted is None else float(self.inverse_func(predicted))


def numbers(x: Features) -> Features:
    """Return the numbers and booleans as floats, or raise ValueError if one is infinite."""
    found = {name: as_number(name, value) for name, value in x.items() if isinstance(value, Number)}
    return {name: value for name, value in found.items() if value == value}


def categories(x: Features) -> Features:
    """Return the features that are neither numbers nor missing, or raise for dates and lists."""
    return {
        name: plain(value)
        for name, value in x.items()
        if not isinstance(value, Number) and not is_missing(value) and not is_number(name, value)
    }


def present(x: Features) -> Features:
    """Return the features that are not missing."""
    return numbers(x) | categories(x)


def with_sortable_names(x: Features) -> Features:
    """Return the features with their names replaced by sortable keys."""
    return {column_order(name): value for name, value in x.items()}


def sortable(x: Features) -> Features:
    """Return the features that are not missing, with their names replaced by sortable keys."""
    return with_sortable_names(present(x))


def each(of_numbers: list[Any], of_categories: list[Any]) -> compose.TransformerUnion:
    """Send numbers through some steps, and categories through others."""
    return compose.TransformerUnion(
        ("numbers", compose.Pipeline(numbers, *of_numbers)),
        ("categories", compose.Pipeline(categories, *of_categories)),
    )


def scale_and_encode(*steps: Any) -> compose.TransformerUnion:
    """Scale numbers, and send them through further steps; one-hot encode categories."""
    one_hot = preprocessing.OneHotEncoder(drop_zeros=True)
    return each([Scaler(), *steps], [one_hot])
