"""What the predictions of any model lose when the value of a feature is exchanged."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pandas as pd
from river import base

from river_amf.forest import river_model
from river_amf.importance import feature_index
from river_amf.kinds import as_dict
from river_amf.parameters import integer, one_of, positive
from river_amf.targets import as_target

_LEAST_PROBABILITY = 1e-15  # bounds the log-loss, as in river's metric


class PermutationImportance:
    """Permutation importance of the features along a stream, for any river model.

    For each sample and feature, it measures how much the loss of the model's prediction grows if
    the feature's value is replaced by that of an earlier sample, drawn at random from the latest
    ones, and averages over the stream[^1]. It is positive for features that the model uses to good
    effect, about 0 for those that it does not use, and negative where a feature misleads it. Two
    features that tell the same share their importance, or have none, as either can stand in for the
    other.

    The model only predicts here, once for each sample and then once for each feature whose value
    changes. Call `update` with a sample before the model learns it: test, then train.

    Parameters
    ----------
    model
        A river classifier or regressor, such as a forest or a pipeline, or a fitted estimator of
        `river_amf.sklearn`. Features are those of the samples given, before any transformation.
    loss
        Of a classifier `"log"` for the log-loss, in nats, which is the default, or `"error"` for
        the error, 1 for a wrong label, which needs no probabilities. Of a regressor `"squared"` for
        the squared error, in the square of the target's unit.
    n_latest
        Number of latest samples from which values are drawn.
    stride
        Measure at each `stride`-th sample only, to save time.
    fading_factor
        Factor in (0, 1) by which earlier samples count less, with each one that is measured[^2]:
        with 0.999, about the latest 1000 count. `None` means that all count alike.
    seed
        Seed of the random numbers, for reproducible results.

    See Also
    --------
    river_amf.evaluation.importance_history : runs a model over a stream and records all this.

    Examples
    --------
    >>> import random
    >>> from river_amf import AMFClassifier, inspection
    >>> model, rng = AMFClassifier(seed=1), random.Random(1)
    >>> importance = inspection.PermutationImportance(model, loss="error", seed=1)
    >>> for i in range(500):
    ...     x, y = {"noise": rng.random(), "signal": i % 10}, i % 10 < 5
    ...     importance.update(x, y)
    ...     model.learn_one(x, y)
    >>> importance.get().round(1)
    noise     0.0
    signal    0.5
    Name: importance, dtype: float64

    References
    ----------
    [^1]: Fumagalli, F., Muschalik, M., Hüllermeier, E., & Hammer, B. (2023). Incremental
          permutation feature importance (iPFI): towards online explanations on data streams.
          Machine Learning, 112, 4863-4903.
    [^2]: Gama, J., Sebastião, R., & Rodrigues, P. P. (2013). On evaluating stream learning
          algorithms. Machine Learning, 90(3), 317-346.
    """

    def __init__(
        self,
        model: Any,
        loss: str | None = None,
        *,
        n_latest: int = 100,
        stride: int = 1,
        fading_factor: float | None = None,
        seed: int | None = None,
    ) -> None:
        integer(1)("n_latest", n_latest)
        integer(1)("stride", stride)
        positive(below=1, optional=True)("fading_factor", fading_factor)
        integer(0, math.inf, optional=True)("seed", seed)
        self.model = model
        self.loss = loss
        self.n_latest = n_latest
        self.stride = stride
        self.fading_factor = fading_factor
        self.seed = seed
        self._loss_of()  # raises if this is no such model, or the loss is not one of its kind
        self._rng = random.Random(None if seed is None else int(seed))
        self._latest: list[dict[Any, Any]] = []
        self._n_seen = 0
        # by feature, in order of first appearance: the faded sum of the growth of the loss, and
        # that of ones
        self._sums: dict[Hashable, tuple[float, float]] = {}

    def update(self, x: dict[Any, Any], y: Any) -> None:
        """Measure a sample that the model has not learned yet.

        Parameters
        ----------
        x
            Features, as in `learn_one`.
        y
            Label or target. While a classifier has no prediction, nothing is measured.

        Raises
        ------
        TypeError, ValueError
            If `x` is not a mapping, or `y` no finite number where the model is a regressor, and as
            by the model's predictions. Nothing has been measured then.

        Examples
        --------
        >>> from river import naive_bayes
        >>> from river_amf import inspection
        >>> model = naive_bayes.GaussianNB()
        >>> importance = inspection.PermutationImportance(model, stride=2, seed=1)
        >>> for i in range(100):
        ...     x, y = {"length": i % 7, "width": i % 5}, i % 7 > 3
        ...     importance.update(x, y)
        ...     model.learn_one(x, y)
        >>> importance.get().idxmax()
        'length'
        """
        x = dict(as_dict(x))  # as the caller may change it
        if self._n_seen % self.stride == 0 and self._latest:
            self._measure(x, y)
        for name in x:
            self._sums.setdefault(name, (0.0, 0.0))
        if len(self._latest) < self.n_latest:
            self._latest.append(x)
        else:
            self._latest[self._n_seen % self.n_latest] = x
        self._n_seen += 1

    def get(self) -> pd.Series:
        """Return the importance of each feature so far.

        Returns
        -------
        Series of length n_features
            The mean growth of the loss, as floats named `importance` and indexed by feature, in
            order of first appearance; NaN for a feature without any measurement.

        Examples
        --------
        >>> from river_amf import AMFClassifier, inspection
        >>> inspection.PermutationImportance(AMFClassifier()).get()
        Series([], Name: importance, dtype: float64)
        """
        values = [total / n if n else math.nan for total, n in self._sums.values()]
        return pd.Series(
            values, feature_index(list(self._sums)), name="importance", dtype=np.float64
        )

    def _measure(self, x: dict[Any, Any], y: Any) -> None:
        """Add the growth of the loss by each feature."""
        loss_of = self._loss_of()
        loss = loss_of(x, y)
        if loss is None:
            return
        factor = 1.0 if self.fading_factor is None else self.fading_factor
        measured = dict(self._sums)
        for name, (total, n) in self._sums.items():
            other = exchanged(x, name, self._rng.choice(self._latest))
            growth = 0.0 if other is None else (loss_of(other, y) or 0.0) - loss
            measured[name] = factor * total + growth, factor * n + 1.0
        self._sums = measured

    def _forget(self) -> None:
        """Start the averages afresh."""
        self._sums = dict.fromkeys(self._sums, (0.0, 0.0))

    def _loss_of(self) -> Callable[[dict[Any, Any], Any], float | None]:
        """Return the loss as a function of a sample, or None while there is no prediction."""
        model = river_model(self.model)
        for kind, names in _LOSSES_OF.items():
            if isinstance(model, kind):
                loss = names[0] if self.loss is None else self.loss
                note = f"; the model is a {kind.__name__.lower()}"
                one_of(*names, note=note)("loss", loss)
                return functools.partial(_LOSSES[loss], model)
        raise TypeError(
            "model must be a river classifier or regressor, or a fitted estimator of "
            f"river_amf.sklearn, got {type(model).__name__}"
        )


def exchanged(x: dict[Any, Any], name: Hashable, other: dict[Any, Any]) -> dict[Any, Any] | None:
    """Return a sample with the value of a feature in another one, or None if it is the same value.

    >>> exchanged({"a": 1, "b": 2}, "b", {"b": 3}), exchanged({"a": 1, "b": 2}, "b", {"a": 4})
    ({'a': 1, 'b': 3}, {'a': 1})
    >>> exchanged({"a": 1}, "a", {"a": 1}) is exchanged({"a": 1}, "b", {}) is None
    True
    """
    if name not in other:
        return {key: value for key, value in x.items() if key != name} if name in x else None
    if name in x:
        old, new = x[name], other[name]
        if old is new or (type(old) is type(new) and old == new):
            return None
    return {**x, name: other[name]}


def _log_loss(model: base.Classifier, x: dict[Any, Any], y: Hashable) -> float | None:
    """Return the log-loss of a prediction, None if there is none."""
    proba: dict[Any, float] = model.predict_proba_one(x)
    return -math.log(max(proba.get(y, 0.0), _LEAST_PROBABILITY)) if proba else None


def _error(model: base.Classifier, x: dict[Any, Any], y: Hashable) -> float | None:
    """Return 1 if the predicted label is wrong, 0 if it is right, and None if there is none."""
    label = model.predict_one(x)
    return None if label is None else float(label != y)


def _squared(model: base.Regressor, x: dict[Any, Any], y: Any) -> float:
    """Return the squared error of a prediction."""
    return (as_target(y) - float(model.predict_one(x))) ** 2


_LOSSES: dict[str, Callable[..., float | None]] = {
    "log": _log_loss,
    "error": _error,
    "squared": _squared,
}
_LOSSES_OF = {base.Classifier: ("log", "error"), base.Regressor: ("squared",)}
