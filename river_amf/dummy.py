"""The simplest baseline: a classifier that looks only at the labels."""

from typing import Any, ClassVar

from river import dummy

from river_amf.inputs.kinds import EXACT, check_sample, check_totals, check_weight, plain
from river_amf.inputs.labels import Labels
from river_amf.parameters import TABLE, Check, CheckedParameters, automatic_dirichlet
from river_amf.state.layout import CLASSIFICATION, LARGEST_TOTALS


class OnlineDummyClassifier(CheckedParameters, dummy.PriorClassifier):
    """Baseline that predicts the label frequencies so far and ignores the features.

    Among C classes, one with weight `count` out of a total weight `n` gets the probability (count +
    a) / (n + C a), as at the root of a Mondrian tree. `n_classes` and `dirichlet`, a, are as in
    `AMFClassifier`.

    >>> from river_amf import OnlineDummyClassifier
    >>> model = OnlineDummyClassifier()
    >>> for label in ["ham", "ham", "spam"]:
    ...     model.learn_one({}, label)
    >>> model.predict_proba_one({})
    {'ham': 0.625, 'spam': 0.375}
    """

    _checks: ClassVar[dict[str, Check]] = {n: TABLE[n].check for n in ("n_classes", "dirichlet")}

    def __init__(self, n_classes: int | None = None, dirichlet: float | None = None) -> None:
        super().__init__()
        self.n_classes = n_classes
        self.dirichlet = dirichlet

    @property
    def _has_learned(self) -> bool:
        return bool(self.counts)

    def learn_one(self, x: object, y: Any, w: float = 1.0) -> None:
        """Count the label of one sample, with its weight.

        >>> OnlineDummyClassifier().learn_one({"money": True}, "spam", w=2.0)
        """
        check_sample(x)
        weight, label = check_weight(w), plain(y)
        if type(label) not in EXACT or label not in self.counts:
            labels = Labels()
            labels.index = self.counts  # type: ignore[assignment]  # weights in place of indices
            if labels.find(label) is None:
                labels.check_new(label, self.n_classes)
        if weight > 0.0:
            if not self.n + weight <= LARGEST_TOTALS[CLASSIFICATION]:
                check_totals(self.n, [weight])
            self.counts[label] += weight  # type: ignore[assignment]  # of float
            vars(self)["n"] += weight  # quicker than an assignment, which is checked

    def predict_proba_one(self, x: object, **kwargs: object) -> dict[Any, float]:
        """Predict the probability of each label seen so far.

        >>> OnlineDummyClassifier().predict_proba_one({})
        {}
        """
        check_sample(x)
        a = self.dirichlet or automatic_dirichlet(self.n_classes or len(self.counts))
        total = sum(self.counts.values()) + len(self.counts) * a
        return {label: (count + a) / total for label, count in self.counts.items()}
