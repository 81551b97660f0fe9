"""The simplest baseline: a classifier that looks only at the labels."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from river_amf import columns, frames
from river_amf.encoding import Features, Labels, check_dict, check_weight, shown
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
        self._labels = Labels()
        self._counts: list[float] = []

    @property
    def _has_learnt(self) -> bool:
        return bool(getattr(self, "_counts", ()))

    @property
    def _multiclass(self) -> bool:
        return True

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header = {
            "parameters": values.parameters_to_json(self._parameters),
            "labels": values.labels_to_json(self._labels),
        }
        return header, {"counts": np.array(self._counts, np.float64)}

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        model = cls(**values.parameters_from_json(take(header, "parameters", {}), cls._checks))
        model._labels = values.labels_from_json(take(header, "labels", []))
        n_labels = len(model._labels)
        counts = arrays.pop("counts", np.zeros(n_labels))
        soundness.demand(model.n_classes is None or n_labels <= model.n_classes, "number of labels")
        soundness.demand(counts.dtype == np.float64 and counts.shape == (n_labels,), "counts")
        soundness.demand((counts >= 0).all(), "counts")
        soundness.demand(not (header or arrays), f"entries {shown([*header, *arrays])}")
        model._counts = counts.tolist()
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
            If `x` is not a dict, the label is not hashable, or the weight is not a number.
        ValueError
            If the label is missing or exceeds `n_classes`; if the weight is negative or not finite.

        Examples
        --------
        >>> model = OnlineDummyClassifier()
        >>> model.learn_one({"money": True}, "spam", w=2.0)
        """
        check_dict(x)
        weight = check_weight(w)
        label = self._labels.find(y)
        if label is None:
            self._labels.check_new(y, self.n_classes)
        if weight == 0.0:
            return
        if label is None:
            label = self._labels.add(y)
            self._counts.append(0.0)
        self._counts[label] += weight

    def _learn_labels(self, y: Any, w: Any) -> None:
        """Count a block of labels, bit for bit as if they came one after the other."""
        weights = frames.read_weights(w, len(y))
        labels = frames.read_labels(y, len(y))
        encoded = columns.encode_to_learn(
            [], labels, weights, Features(), self._labels, self.n_classes
        )
        for arrival in encoded.arrivals:
            for label in arrival.label:
                self._labels.add(label)
                self._counts.append(0.0)
        counts = np.array(self._counts)
        is_learnt = weights > 0.0
        np.add.at(counts, encoded.labels[is_learnt], weights[is_learnt])
        self._counts = counts.tolist()

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
            If `x` is not a dict.

        Examples
        --------
        >>> OnlineDummyClassifier().predict_proba_one({})
        {}
        """
        check_dict(x)
        n_classes = self.n_classes or len(self._counts)
        a = automatic_dirichlet(n_classes) if self.dirichlet is None else self.dirichlet
        # labels not seen yet have a share of the prior too, but only those seen are returned
        total = sum(self._counts) + len(self._counts) * a
        return {
            label: (count + a) / total
            for label, count in zip(self._labels, self._counts, strict=True)
        }
