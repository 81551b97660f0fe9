"""Gradient boosting of scikit-learn, trained anew every so many samples on the latest ones."""

from __future__ import annotations

import abc
import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from river_amf.baselines.preparation import Features, categories, numbers

_FIRST = 50  # samples before the first training; then come those at twice as many
_MOST_CATEGORIES = 254  # of a feature, which scikit-learn takes


class _Boosting:
    """The latest samples in numbers, and the booster that has learned them."""

    def __init__(self, every: int = 1000, window: int = 5000, seed: int | None = None) -> None:
        self.every = every
        self.window = window
        self.seed = seed
        self._columns: dict[tuple[Any, bool], None] = {}  # names, and whether of categories
        self._codes: dict[Any, dict[Any, int]] = {}
        self._rows: deque[tuple[list[float], Any]] = deque(maxlen=window)
        self._n_samples, self._next = 0, _FIRST
        self._booster: Any = None
        self._n_columns = 0  # of the booster

    def learn_one(self, x: Features, y: Any) -> None:
        """Keep a sample, and train a booster if it is time."""
        self._rows.append((self._encoded(x, learns=True), y))
        self._n_samples += 1
        if self._n_samples == self._next:
            self._next += min(self._n_samples, self.every)
            self._train()

    def _encoded(self, x: Features, *, learns: bool = False) -> list[float]:
        """Return numbers and codes of categories by column, NaN for what is missing or unknown."""
        found: Features = {(name, False): value for name, value in numbers(x).items()}
        for name, category in categories(x).items():
            codes = self._codes.setdefault(name, {}) if learns else self._codes.get(name, {})
            if learns and category not in codes and len(codes) < _MOST_CATEGORIES:
                codes[category] = len(codes)
            found[name, True] = codes.get(category, math.nan)
        if learns:
            self._columns |= dict.fromkeys(found)
        return [found.get(column, math.nan) for column in self._columns]

    def _train(self) -> None:
        targets = [y for _, y in self._rows]
        self._n_columns = len(self._columns)
        if not self._n_columns or len(set(targets)) < 2:
            self._booster = None
            return
        rows = np.full((len(targets), self._n_columns), math.nan)
        for row, (values, _) in zip(rows, self._rows, strict=True):
            row[: len(values)] = values
        are_codes = [is_code for _, is_code in self._columns]
        self._booster = self._new_booster(are_codes).fit(rows, self._as_targets(targets))

    def _row(self, x: Features) -> NDArray[np.float64]:
        return np.array([self._encoded(x)[: self._n_columns]], dtype=np.float64)

    @abc.abstractmethod
    def _new_booster(self, are_codes: list[bool]) -> Any:
        """Return an estimator that has learned nothing."""

    def _as_targets(self, targets: list[Any]) -> Any:
        return targets


class BoostingClassifier(_Boosting, base.Classifier):
    """`HistGradientBoostingClassifier`, trained anew on the latest samples.

    It is trained when there are 50 samples, whenever there are twice as many, and from then on for
    each so many; before that the latest label is predicted.

    Parameters
    ----------
    every
        Number of samples from one training to the next at most.
    window
        Number of samples that it is trained on at most.
    seed
        Seed for reproducible results.

    Examples
    --------
    >>> from river_amf.baselines.boosting import BoostingClassifier
    >>> model = BoostingClassifier(seed=1)
    >>> for i in range(100):
    ...     model.learn_one({"a": i % 10, "color": "red" if i % 2 else "tan"}, i % 10 > 4)
    >>> model.predict_one({"a": 7, "color": "tan"})
    True
    """

    _multiclass = True

    def _new_booster(self, are_codes: list[bool]) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            categorical_features=are_codes, random_state=self.seed, early_stopping=False
        )

    def _as_targets(self, targets: list[Any]) -> Any:
        self._labels = list(dict.fromkeys(targets))
        codes = {label: code for code, label in enumerate(self._labels)}
        return [codes[label] for label in targets]

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label; empty before the first sample."""
        row = self._row(x)
        if self._booster is None:
            return {self._rows[-1][1]: 1.0} if self._rows else {}
        (p,) = self._booster.predict_proba(row)
        return dict(zip(self._labels, p.tolist(), strict=True))


class BoostingRegressor(_Boosting, base.Regressor):
    """`HistGradientBoostingRegressor`, trained anew as `BoostingClassifier`."""

    def _new_booster(self, are_codes: list[bool]) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(
            categorical_features=are_codes, random_state=self.seed, early_stopping=False
        )

    def predict_one(self, x: Features, **kwargs: Any) -> float:
        """Predict the target; 0 before the first sample."""
        row = self._row(x)
        if self._booster is None:
            return float(self._rows[-1][1]) if self._rows else 0.0
        return float(self._booster.predict(row)[0])
