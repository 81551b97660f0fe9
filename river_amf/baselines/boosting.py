"""Gradient boosting of scikit-learn, retrained at intervals on the latest samples."""

import math
from collections import Counter, deque
from typing import Any

import numpy as np
from river import base

from river_amf.baselines.preparation import Features, present

_FIRST = 50  # samples before the first training; then they double, up to `every` more
_MAX_CATEGORIES = 254  # of a feature, in scikit-learn


class _Boosting:
    """The last `window` samples, and a booster trained on them after every `every` samples."""

    _kind: str  # in `sklearn.ensemble`

    def __init__(self, every: int = 1000, window: int = 5000, seed: int | None = None) -> None:
        self.every = every
        self.window = window
        self.seed = seed
        self._rows: deque[tuple[Features, Any]] = deque(maxlen=window)
        self._n_samples, self._next = 0, _FIRST
        self._codes: dict[Any, dict[Any, int]] = {}  # of the categories of each feature
        self._labels: list[Any] = []  # targets of a classifier are indices of this list
        self._booster: Any = None

    def learn_one(self, x: Features, y: Any) -> None:
        """Keep a sample, and train a booster if it is time."""
        self._rows.append((present(x), y))
        self._n_samples += 1
        if self._n_samples == self._next:
            self._next += min(self._n_samples, self.every)
            self._train()

    def _train(self) -> None:
        from sklearn import ensemble

        rows, targets = zip(*self._rows, strict=True)
        self._codes = {name: {} for x in rows for name in x}
        texts = Counter(item for x in rows for item in x.items() if not isinstance(item[1], float))
        for (name, text), _ in texts.most_common():
            if len(self._codes[name]) < _MAX_CATEGORIES:
                self._codes[name][text] = len(self._codes[name])
        if isinstance(self, base.Classifier):  # scikit-learn sorts labels, which may not compare
            self._labels = [*dict.fromkeys(targets)]
            targets = tuple(map(self._labels.index, targets))
        self._booster = None
        if self._codes and len({*targets}) > 1:
            are_categories = [*map(bool, self._codes.values())]
            self._booster = getattr(ensemble, self._kind)(
                categorical_features=are_categories, early_stopping=False, random_state=self.seed
            ).fit(np.array([*map(self._encode, rows)]), targets)

    def _encode(self, x: Features) -> list[float]:
        """Return a number for each feature, NaN for missing values and new categories."""
        values = (codes.get(x.get(n)) if codes else x.get(n) for n, codes in self._codes.items())
        return [value if isinstance(value, float | int) else math.nan for value in values]

    def _predict(self, method: str, x: Features) -> Any:
        """Return the prediction of the booster for a sample, or None."""
        row = [self._encode(present(x))]
        return None if self._booster is None else getattr(self._booster, method)(row)[0]


class BoostingClassifier(_Boosting, base.Classifier):
    """`HistGradientBoostingClassifier`, retrained on the latest samples."""

    _kind = "HistGradientBoostingClassifier"
    _multiclass = True

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        proba = self._predict("predict_proba", x)
        if proba is None:
            return {self._rows[-1][1]: 1.0} if self._rows else {}
        return dict(zip(self._labels, proba.tolist(), strict=True))


class BoostingRegressor(_Boosting, base.Regressor):
    """`HistGradientBoostingRegressor`, retrained on the latest samples."""

    _kind = "HistGradientBoostingRegressor"

    def predict_one(self, x: Features, **kwargs: Any) -> float:
        target = self._predict("predict", x)
        return float(target if target is not None else self._rows[-1][1] if self._rows else 0.0)
