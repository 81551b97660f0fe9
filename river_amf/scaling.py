"""A scaler for two kinds of numbers: those that most samples have, and counts of words.

An absent number of the first kind is missing, and its mean stands for it, which is 0 after scaling.
An absent word is a zero, and if no text has it twice, all that it says is that it is there.
"""

from __future__ import annotations

import math
from typing import Any

from river import base, preprocessing

_COMMON = 0.5  # share of the samples that have a number which is standardised
_SMALL = 5.0  # root mean square of whole numbers that are taken as counts

Features = dict[Any, Any]


class _Number:
    """What is known of a feature: when it came, how often, and what its values are like."""

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
    >>> from river_amf.scaling import Scaler
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
        """Learn from the numbers of a sample, which must be finite.

        Examples
        --------
        >>> from river_amf.scaling import Scaler
        >>> scaler = Scaler()
        >>> scaler.learn_one({"weight": 0.25})
        >>> scaler.transform_one({"weight": 0.5})
        {'weight': 2.0}
        """
        for name, value in x.items():
            number = self._numbers.get(name)
            if number is None:
                number = self._numbers[name] = _Number(self._n_samples)
            number.update(value)
        self._n_samples += 1

    def transform_one(self, x: Features) -> Features:
        """Return the numbers of a sample, scaled by what has been learned.

        Examples
        --------
        >>> from river_amf.scaling import Scaler
        >>> Scaler().transform_one({"weight": -0.25})
        {'weight': -1.0}
        """
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
    """River's `TargetStandardScaler`, for models too that predict nothing before the first sample.

    Until then it predicts 0, as river's regressors do.

    Examples
    --------
    >>> from river import forest
    >>> from river_amf.scaling import TargetScaler
    >>> model = TargetScaler(forest.AMFRegressor(seed=1))
    >>> model.predict_one({"size": 1.0})
    0.0
    >>> model.learn_one({"size": 1.0}, 7.0)
    >>> model.predict_one({"size": 1.0})
    7.0
    """

    def predict_one(self, x: Features) -> float:
        """Return the prediction of the model, in the unit of the target.

        Examples
        --------
        >>> from river import linear_model
        >>> from river_amf.scaling import TargetScaler
        >>> TargetScaler(linear_model.LinearRegression()).predict_one({"size": 1.0})
        0.0
        """
        predicted = self.regressor.predict_one(x)
        return 0.0 if predicted is None else float(self.inverse_func(predicted))
