"""Scalers and encoders for models that do not take every kind of feature."""

import math
from typing import Any

from river import compose, preprocessing

from river_amf.inputs.kinds import Number, as_number, is_missing, is_number, plain

_OUTERMOST = 3.0  # standard deviations from the mean, to which numbers are clipped

Features = dict[Any, Any]


class Scaler(preprocessing.StandardScaler):
    """River's `StandardScaler`, but for numbers that are absent in most samples, such as words.

    As absence means 0, these keep their sign: they are divided by their root mean square. So are
    numbers that are absent at times and have not varied. A new one becomes 1, -1 or 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self._n_samples = 0

    def learn_one(self, x: Features) -> None:
        super().learn_one(x)  # type: ignore[no-untyped-call]
        self._n_samples += 1

    def transform_one(self, x: Features) -> Features:
        scaled: Features = super().transform_one(x)  # type: ignore[no-untyped-call]
        for name, value in x.items():
            n_absent, variance = self._n_samples - self.counts[name], self.vars.get(name, 0.0)
            if n_absent > self.counts[name] or (n_absent > 0 and not variance > 0.0):
                size = math.hypot(self.means.get(name, 0.0), math.sqrt(variance))
                scaled[name] = value / (size or abs(value) or 1.0)
        return scaled


class TargetScaler(preprocessing.TargetStandardScaler):
    """River's `TargetStandardScaler`, which predicts 0 where a model has no prediction yet."""

    def predict_one(self, x: Features) -> float:
        predicted = self.regressor.predict_one(x)
        return 0.0 if predicted is None else float(self.inverse_func(predicted))


def numbers(x: Features) -> Features:
    """Return the numbers and booleans as floats, or raise ValueError if one is infinite."""
    values = {name: as_number(name, v) for name, v in x.items() if isinstance(v, Number)}
    return {name: value for name, value in values.items() if value == value}


def categories(x: Features) -> Features:
    """Return the features that are neither numbers nor missing, or raise for dates and lists."""
    texts = {name: v for name, v in x.items() if not isinstance(v, Number) and not is_missing(v)}
    return {name: plain(value) for name, value in texts.items() if not is_number(name, value)}


def present(x: Features) -> Features:
    return numbers(x) | categories(x)


def clip(x: Features) -> Features:
    """Clip standardized numbers: river's linear models do not recover from an outlier."""
    return {name: max(-_OUTERMOST, min(value, _OUTERMOST)) for name, value in x.items()}


def split(numeric_steps: list[Any], categorical_steps: list[Any]) -> compose.TransformerUnion:
    """Send numbers through a list of steps, and categories through another one."""
    return compose.TransformerUnion(
        ("numbers", compose.Pipeline(numbers, *numeric_steps)),
        ("categories", compose.Pipeline(categories, *categorical_steps)),
    )


def scale_and_encode(*steps: Any) -> compose.TransformerUnion:
    """Standardize numbers, and send them through further steps; one-hot encode categories."""
    return split([Scaler(), *steps], [preprocessing.OneHotEncoder(drop_zeros=True)])
