"""The simplest baseline: a classifier that looks only at the labels."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from river import base

from river_amf import columns, frames
from river_amf.encoding import Features
from river_amf.kinds import check_sample, plain, shown
from river_amf.labels import Labels
from river_amf.locks import ModelLock
from river_amf.parameters import (
    LEAST_DIRICHLET,
    MOST_CLASSES,
    Check,
    CheckedParameters,
    automatic_dirichlet,
    integer,
    positive,
)
from river_amf.persistence import Saved, soundness, values
from river_amf.persistence.container import take
from river_amf.weights import check_totals, check_weight

_Result = TypeVar("_Result")


class OnlineDummyClassifier(Saved, CheckedParameters, base.Classifier):
    """Baseline that predicts the label frequencies so far and ignores the features.

    Among C classes, one with weight `count` out of a total weight `n` gets the probability
    (count + a) / (n + C a), just as at the root of a Mondrian tree.

    Parameters
    ----------
    n_classes
        Number of classes that the prior counts from the start; any further label raises
        `ValueError`. With `None`, the prior counts the classes seen so far.
    dirichlet
        Pseudo-count a of each class, at least 1e-300. `None` means 0.5 for up to two classes and
        0.01 for more.

    Notes
    -----
    Any thread may make any call at any time, and a call that is interrupted has counted all of a
    sample or nothing of it.

    Examples
    --------
    >>> from river_amf import OnlineDummyClassifier

    >>> model = OnlineDummyClassifier()
    >>> for label in ["ham", "ham", "spam"]:
    ...     model.learn_one({}, label)
    >>> model.predict_proba_one({})
    {'ham': 0.625, 'spam': 0.375}
    >>> model.predict_one({})
    'ham'

    """

    _file_kind = "OnlineDummyClassifier"
    _checks: ClassVar[dict[str, Check]] = {
        "n_classes": integer(1, MOST_CLASSES, optional=True),
        "dirichlet": positive(least=LEAST_DIRICHLET, optional=True),
    }

    def __init__(self, n_classes: int | None = None, dirichlet: float | None = None) -> None:
        self.n_classes = n_classes
        self.dirichlet = dirichlet
        self._counts: dict[Hashable, float] = {}  # by label; replaced as a whole, or by label
        self._lock = ModelLock()

    @property
    def _has_learnt(self) -> bool:
        return bool(getattr(self, "_counts", ()))

    @property
    def _labels(self) -> Labels:
        labels = Labels()
        for label in list(self._counts):
            labels.add(label)
        return labels

    @property
    def _multiclass(self) -> bool:
        return True

    def __getstate__(self) -> dict[str, Any]:
        return self._lock.run(self._snapshot)

    def _snapshot(self) -> dict[str, Any]:
        """Return the attributes, with counts that later calls do not change."""
        state = self.__dict__ | {"_counts": self._counts.copy()}
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=ModelLock())

    def _while_still(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        return self._lock.run(call, *arguments)

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header = {
            "parameters": values.parameters_to_json(self._parameters),
            "labels": values.labels_to_json(self._labels),
        }
        return header, {"counts": np.array([*self._counts.values()], np.float64)}

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        model = cls(**values.parameters_from_json(take(header, "parameters", {}), cls._checks))
        labels = values.labels_from_json(take(header, "labels", []))
        n_labels = len(labels)
        counts = arrays.pop("counts", np.zeros(n_labels))
        soundness.demand(model.n_classes is None or n_labels <= model.n_classes, "number of labels")
        soundness.demand(counts.dtype == np.float64 and counts.shape == (n_labels,), "counts")
        soundness.demand((counts >= 0).all(), "counts")
        soundness.demand(not (header or arrays), f"entries {shown([*header, *arrays])}")
        model._counts = dict(zip(labels, counts.tolist(), strict=True))
        return model

    def learn_one(self, x: dict[Any, Any], y: Hashable, w: float = 1.0) -> None:
        """Count the label of one sample.

        Parameters
        ----------
        x
            Features, as a dict; ignored.
        y
            Label: any hashable except None and NaN.
        w
            Sample weight, from 0 to 1e300. A weight of 0 changes nothing.

        Raises
        ------
        TypeError
            If `x` is not a mapping, the label is not hashable, or the weight is not a number.
        ValueError
            If the label is missing or exceeds `n_classes`; if the weight is negative or not finite.

        Examples
        --------
        >>> model = OnlineDummyClassifier()
        >>> model.learn_one({"money": True}, "spam", w=2.0)
        """
        check_sample(x)
        self._lock.run_alone(self._learn, y, check_weight(w))

    def _learn(self, y: Hashable, weight: float) -> None:
        """Count a label, in one step."""
        y = plain(y)
        try:
            is_new = y not in self._counts
        except TypeError:
            self._labels.find(y)  # raises, unless the label is missing
            is_new = True
        if is_new:
            self._labels.check_new(y, self.n_classes)
        if weight > 1.0:  # it would take 1e305 samples of smaller ones
            check_totals(sum(self._counts.values()), [weight])
        if weight > 0.0:
            self._counts[y] = self._counts.get(y, 0.0) + weight

    def _learn_labels(self, y: Any, w: Any) -> None:
        """Count a block of labels, bit for bit as if they came one after the other."""
        weights = frames.read_weights(w, len(y))
        self._lock.run_alone(self._learn_block, frames.read_labels(y, len(y)), weights)

    def _learn_block(self, labels: frames.Column, weights: NDArray[np.float64]) -> None:
        """Count a block of labels, in one step."""
        known = self._labels
        encoded = columns.encode_to_learn([], labels, weights, Features(), known, self.n_classes)
        check_totals(sum(self._counts.values()), weights, are_rows=True)
        for arrival in encoded.arrivals:
            for label in arrival.label:
                known.add(label)
        counts = np.zeros(len(known))
        counts[: len(self._counts)] = [*self._counts.values()]
        is_learnt = weights > 0.0
        np.add.at(counts, encoded.targets[is_learnt].astype(np.int64), weights[is_learnt])
        self._counts = dict(zip(known, counts.tolist(), strict=True))

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label seen so far.

        Parameters
        ----------
        x
            Features, as a dict; ignored.
        kwargs
            Ignored; accepted for compatibility with river.

        Returns
        -------
        dict
            Probability of each label; they sum to 1. Empty before the first sample.

        Raises
        ------
        TypeError
            If `x` is not a mapping.

        Examples
        --------
        >>> OnlineDummyClassifier().predict_proba_one({})
        {}
        """
        check_sample(x)
        counts = self._counts.copy()  # in one step, as another thread may learn
        n_classes = self.n_classes or len(counts)
        a = automatic_dirichlet(n_classes) if self.dirichlet is None else self.dirichlet
        # labels not seen yet have a share of the prior too, but only those seen are returned
        total = sum(counts.values()) + len(counts) * a
        return {label: (count + a) / total for label, count in counts.items()}
