"""The simplest baseline: a classifier that looks only at the labels."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from river import dummy

from river_amf.inputs.kinds import check_sample, check_totals, check_weight, plain
from river_amf.inputs.labels import Labels
from river_amf.parameters import TABLE, Check, CheckedParameters, automatic_dirichlet


class OnlineDummyClassifier(CheckedParameters, dummy.PriorClassifier):
    """Baseline that predicts the label frequencies so far and ignores the features.

    Among C classes, one with weight `count` out of a total weight `n` gets the probability
    (count + a) / (n + C a), just as at the root of a Mondrian tree. It is river's
    `dummy.PriorClassifier` with such a prior, and is saved as that is, by `pickle`.

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

    _checks: ClassVar[dict[str, Check]] = {
        name: TABLE[name].check for name in ("n_classes", "dirichlet")
    }

    def __init__(self, n_classes: int | None = None, dirichlet: float | None = None) -> None:
        super().__init__()
        self.n_classes = n_classes
        self.dirichlet = dirichlet

    @property
    def _has_learnt(self) -> bool:
        return bool(self.counts)

    @property
    def _labels(self) -> Labels:
        labels = Labels()
        labels.index = self.counts  # type: ignore[assignment]  # with weights in place of indices
        return labels

    def learn_one(self, x: object, y: Hashable, w: float = 1.0) -> None:
        """Count the label of one sample, as in `AMFClassifier.learn_one`, but ignore its features.

        Examples
        --------
        >>> model = OnlineDummyClassifier()
        >>> model.learn_one({"money": True}, "spam", w=2.0)
        """
        check_sample(x)
        weight, label, labels = check_weight(w), plain(y), self._labels
        if labels.find(label) is None:
            labels.check_new(label, self.n_classes)
        if weight > 1.0:  # it would take 1e305 samples of smaller ones
            check_totals(self.n, [weight])
        if weight > 0.0:
            self.counts[label] += weight  # type: ignore[assignment]  # of float
            self.n += weight  # type: ignore[assignment]

    def predict_proba_one(self, x: object, **kwargs: object) -> dict[Any, float]:
        """Predict the probability of each label seen so far, ignoring `x` and other arguments.

        Examples
        --------
        >>> OnlineDummyClassifier().predict_proba_one({})
        {}
        """
        check_sample(x)
        counts = dict(self.counts)
        n_classes = self.n_classes or len(counts)
        a = automatic_dirichlet(n_classes) if self.dirichlet is None else self.dirichlet
        # labels not seen yet have a share of the prior too, but only those seen are returned
        total = sum(counts.values()) + len(counts) * a
        return {label: (count + a) / total for label, count in counts.items()}
