"""Gradient boosting of scikit-learn, retrained at intervals on the latest samples."""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from river_amf.baselines.preparation import Features, categories, numbers

_FIRST = 50  # samples before the first training; the next one is after as many again
_MAX_CATEGORIES = 254  # of a feature, in scikit-learn


class _Boosting:
    """The latest samples, and the booster trained on them."""

    def __init__(self, every: int = 1000, window: int = 5000, seed: int | None = None) -> None:
        self.every = every
        self.window = window
        self.seed = seed
        self._rows: deque[tuple[Features, Features, Any]] = deque(maxlen=window)
        self._n_samples, self._next = 0, _FIRST
        self._codes: dict[Any, dict[Any, int]] = {}  # of the categories of each feature
        self._booster: Any = None

    def learn_one(self, x: Features, y: Any) -> None:
        """Keep a sample, and train a booster if it is time."""
        self._rows.append((numbers(x), categories(x), y))
        self._n_samples += 1
        if self._n_samples == self._next:
            self._next += min(self._n_samples, self.every)
            self._train()

    def _train(self) -> None:
        counts: dict[Any, Counter[Any]] = {}
        for values, texts, _ in self._rows:
            for name in (*values, *texts):
                counts.setdefault(name, Counter()).update([texts[name]] if name in texts else [])
        self._codes = {
            name: {text: code for code, (text, _) in enumerate(of.most_common(_MAX_CATEGORIES))}
            for name, of in counts.items()
        }
        targets = [y for *_, y in self._rows]
        self._booster = None
        if self._codes and len(set(targets)) > 1:
            options: Any = {"random_state": self.seed, "early_stopping": False}
            options["categorical_features"] = [bool(codes) for codes in self._codes.values()]
            rows = np.array([self._encode(values, texts) for values, texts, _ in self._rows])
            self._booster = self._fit(rows, targets, options)

    def _fit(self, rows: NDArray[np.float64], targets: list[Any], options: Any) -> Any:
        raise NotImplementedError

    def _encode(self, values: Features, texts: Features) -> list[float]:
        """Return a number for each feature, NaN for what is missing or unknown."""
        return [
            codes.get(texts.get(name), math.nan) if codes else values.get(name, math.nan)
            for name, codes in self._codes.items()
        ]

    def _row(self, x: Features) -> NDArray[np.float64]:
        return np.array([self._encode(numbers(x), categories(x))])


class BoostingClassifier(_Boosting, base.Classifier):
    """`HistGradientBoostingClassifier`, retrained on the latest samples.

    It is trained after 50 samples, whenever there are twice as many, and then every so many; until
    then the latest label is predicted.

    Parameters
    ----------
    every
        Maximum number of samples from one training to the next.
    window
        Maximum number of samples that it is trained on.
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

    def _fit(self, rows: NDArray[np.float64], targets: list[Any], options: Any) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        places = {label: place for place, label in enumerate(dict.fromkeys(targets))}
        self._labels = list(places)
        codes = [places[label] for label in targets]
        return HistGradientBoostingClassifier(**options).fit(rows, codes)

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label; empty before the first sample."""
        row = self._row(x)
        if self._booster is None:
            return {self._rows[-1][-1]: 1.0} if self._rows else {}
        (p,) = self._booster.predict_proba(row)
        return dict(zip(self._labels, p.tolist(), strict=True))


class BoostingRegressor(_Boosting, base.Regressor):
    """`HistGradientBoostingRegressor`, retrained as `BoostingClassifier` is."""

    def _fit(self, rows: NDArray[np.float64], targets: list[Any], options: Any) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(**options).fit(rows, targets)

    def predict_one(self, x: Features, **kwargs: Any) -> float:
        """Predict the target; 0 before the first sample."""
        row = self._row(x)
        if self._booster is None:
            return float(self._rows[-1][-1]) if self._rows else 0.0
        return float(self._booster.predict(row)[0])
