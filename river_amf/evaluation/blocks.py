"""Forests that process the rows of a dataframe block by block, for river's loop over samples.

The loop gets a model that replays the predictions, each of which takes the place of the features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from river import base

from river_amf.classifier import AMFClassifier
from river_amf.regressor import AMFRegressor

Mask = NDArray[np.bool_]


class Blocks(Protocol):
    """A forest that runs blocks of rows."""

    @property
    def replay(self) -> base.Estimator:
        """What stands for the forest in river's loop."""

    def ask(self, X: Any) -> Iterable[Any]:
        """Return the predictions for a block."""

    def learn(self, X: Any, y: Any, w: Any, which: Mask | None = None) -> Iterable[Any]:
        """Predict each row of a block and learn it; return the predictions, or just some."""


def blocks_of(model: Any, metric: Any) -> Blocks | None:
    """Return how a model runs blocks, if it is a forest that does so exactly as ours do."""
    # This looks at the class, as isinstance is true of a river pipeline that ends in a forest.
    if _inherits(type(model), AMFClassifier, "learn_one", "predict_one", "predict_proba_one"):
        return _LabelBlocks(model, as_labels=metric.requires_labels)
    if _inherits(type(model), AMFRegressor, "learn_one", "predict_one"):
        return _NumberBlocks(model)
    return None


def _inherits(kind: type, forest: type, *methods: str) -> bool:
    """Whether a class is a forest with the forest's own methods."""
    return issubclass(kind, forest) and all(
        getattr(kind, name) is getattr(forest, name) for name in methods
    )


class _Replay(base.Base):
    """Replays a forest's predictions, which it is given in place of the features."""

    def __init__(self, forest: Any) -> None:
        self._forest = forest

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        return x

    def learn_one(self, x: Any, y: Any) -> None:
        """Do nothing: the forest has learned the sample together with its block."""

    @property
    def _raw_memory_usage(self) -> int:
        size: int = self._forest._raw_memory_usage
        return size


class _LabelReplay(_Replay, base.Classifier):
    def predict_proba_one(self, x: Any, **kwargs: Any) -> Any:
        return x


class _NumberReplay(_Replay, base.Regressor):
    pass


class _LabelBlocks:
    """A forest that predicts labels, or probabilities."""

    def __init__(self, forest: AMFClassifier, *, as_labels: bool) -> None:
        self.replay: base.Estimator = _LabelReplay(forest)
        self._forest = forest
        self._given: Callable[..., Iterable[Any]] = _most_probable if as_labels else _probabilities

    def ask(self, X: Any) -> Iterable[Any]:
        proba = self._forest._predict_block(X)
        labels = self._forest._labels_of(proba)
        return self._given(proba, np.full(len(proba), len(labels)), labels)

    def learn(self, X: Any, y: Any, w: Any, which: Mask | None = None) -> Iterable[Any]:
        proba, n_known, labels = self._forest._test_then_train(X, y, w)
        if which is not None:
            proba, n_known = proba[which], n_known[which]
        return self._given(proba, n_known, labels)


class _NumberBlocks:
    """A forest that predicts numbers."""

    def __init__(self, forest: AMFRegressor) -> None:
        self.replay: base.Estimator = _NumberReplay(forest)
        self._forest = forest

    def ask(self, X: Any) -> Iterable[Any]:
        return self._listed(
            self._forest._predictions(self._forest._predict_block(X), True).prediction
        )

    def learn(self, X: Any, y: Any, w: Any, which: Mask | None = None) -> Iterable[Any]:
        numbers = self._forest._test_then_train(X, y, w).prediction
        return self._listed(numbers if which is None else numbers[which])

    @staticmethod
    def _listed(numbers: NDArray[np.float64]) -> list[float]:
        """Return the numbers as Python's, as from single samples."""
        listed: list[float] = numbers.tolist()
        return listed


def _most_probable(
    proba: NDArray[np.float64], n_known: NDArray[np.int_], labels: list[Any]
) -> list[Any]:
    """Return the most probable known label of each row, the first one in a tie, or None."""
    if not labels:
        return [None] * len(n_known)
    is_known = np.arange(len(labels)) < n_known[:, np.newaxis]
    best = np.where(is_known, proba, -1.0).argmax(axis=1)
    return [labels[i] if k else None for i, k in zip(best.tolist(), n_known.tolist(), strict=True)]


def _probabilities(
    proba: NDArray[np.float64], n_known: NDArray[np.int_], labels: list[Any]
) -> Iterator[dict[Any, float]]:
    """Yield the probabilities of each row, by known label."""
    for row, known in zip(proba, n_known.tolist(), strict=True):
        yield dict(zip(labels[:known], row.tolist(), strict=False))
