"""The classifiers for scikit-learn: labels and their order, weights of classes, probabilities."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from river_amf import classifier
from river_amf.inputs.kinds import shown
from river_amf.sklearn.checks import checked_labels, class_weights, merged_classes
from river_amf.sklearn.estimators import Floats, ForestEstimator


class AMFClassifier(ClassifierMixin, ForestEstimator):
    """Aggregated Mondrian Forest classifier for scikit-learn.

    It wraps a `river_amf.AMFClassifier`, `model_`, which `river_amf.inspection` takes. With
    `shuffle=False`, both make the same predictions. `fit` replaces it at its end: until then, and
    after an exception, the estimator is unchanged. Any thread may predict at any time.

    Parameters
    ----------
    random_state : int | np.random.RandomState | None
        Seed for reproducible results: an integer >= 0, a numpy `RandomState`, or `None` for numpy's
        global one. Of the latter two, a seed is drawn whenever training starts.
    n_jobs : int | None
        Number of threads; -1 means one per core, and `None` means 1, as elsewhere in scikit-learn.
    class_weight : dict[Any, float] | str | None
        Dict from class to the weight of its rows, by default 1, or (only for `fit`) `"balanced"`
        for n_samples / (n_classes * n_samples_of_the_class). They are multiplied by `sample_weight`
        and divided by the largest product so far. Rows of weight 0 are not learned.
    shuffle : bool
        Whether `fit` learns the rows in random order, drawn from `random_state`. Set it to `False`
        for rows in order of time whose latest are most like those to come. `partial_fit` never
        shuffles.
    other parameters
        As in `river_amf.AMFClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from river_amf.sklearn import AMFClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(cross_val_score(AMFClassifier(random_state=1), X, y).mean() > 0.9)
    True
    """

    _river = classifier.AMFClassifier
    _read_targets = staticmethod(checked_labels)
    _declared: NDArray[Any] | None  # the classes passed to `partial_fit`

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels in ascending order: the classes passed to `partial_fit`, and the labels so far."""
        declared = [] if self._declared is None else self._declared.tolist()
        return np.unique(np.array([*declared, *self.model_._labels]))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, as in `fit`, in their order.

        `classes` are all labels that will ever occur, the columns of `predict_proba` from then on;
        without them, `classes_` holds the labels seen so far. `sample_weight` are weights of rows
        from 0 (no effect) to 1e300, divided by the largest so far, as only their ratios should
        matter. In the first call, one must be positive; after that, no parameter but `n_jobs`,
        `class_weight` and `shuffle` may change.

        >>> model = AMFClassifier(random_state=1)
        >>> model.partial_fit([[1.0]], ["short"], classes=["long", "short"]).predict_proba([[1.2]])
        array([[0., 1.]])
        """
        return self._learn(X, y, sample_weight, classes)

    def predict_proba(self, X: Any) -> Floats:
        """Predict probabilities (n_samples, n_classes) in the order of `classes_`; 0 if not seen.

        >>> model = AMFClassifier(random_state=1).fit([[1.0], [1.0]], ["ham", "spam"])
        >>> model.predict_proba([[1.0]])
        array([[0.5, 0.5]])
        """
        labels, seen = self._predict_seen(X)
        classes = self.classes_  # more, if another thread learns at the same time
        proba = np.zeros((len(seen), len(classes)))
        proba[:, np.searchsorted(classes, labels)] = seen
        return proba

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithms of `predict_proba`, -inf for classes that were not seen.

        >>> AMFClassifier().fit([[1.0], [2.0]], [3, 3]).predict_log_proba([[1.0]])
        array([[0.]])
        """
        with np.errstate(divide="ignore"):
            log_proba: Floats = np.log(self.predict_proba(X))
        return log_proba

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class, in a tie the one seen first.

        >>> AMFClassifier(random_state=1).fit([["red"], ["tan"]], [1, 2]).predict([["tan"]])
        array([2])
        """
        labels, seen = self._predict_seen(X)
        predicted: NDArray[Any] = labels[seen.argmax(axis=1)]
        return predicted

    def _predict_seen(self, X: Any) -> tuple[NDArray[Any], Floats]:
        """Return the labels seen so far, and their probabilities (n_rows, n_labels)."""
        [(proba, _, labels)] = self._fitted_model()._predict_block(self._read(X))
        return np.array(labels, dtype=self.classes_.dtype), proba

    def _start(self) -> None:
        super()._start()
        self._declared = None

    def _weigh(self, targets: NDArray[Any], classes: Any, is_whole: bool) -> Any:
        """Return the weights of rows by class, once labels and classes have been checked."""
        if self.class_weight == "balanced" and not is_whole:
            raise ValueError(
                "class_weight='balanced' needs all rows at once; give partial_fit a dict such as "
                "{'spam': 2.0, 'ham': 1.0}, or weights by row as sample_weight"
            )
        seen = self.classes_ if self.model_._has_learned else None
        if classes is not None:
            self._declared = seen = self._checked_classes(classes, seen)
        merged = merged_classes(seen, targets)
        if self._declared is not None and len(merged) > len(self._declared):
            raise ValueError(
                f"y has the labels {shown(np.setdiff1d(targets, self._declared).tolist())}, which "
                f"are not among the declared classes {shown(self._declared.tolist())}"
            )
        return class_weights(self.class_weight, targets, merged if is_whole else self._declared)

    def _checked_classes(self, classes: Any, seen: NDArray[Any] | None) -> NDArray[Any]:
        if np.ndim(classes) != 1 or not len(classes):
            raise ValueError(
                f"classes must be a list or one-dimensional array of labels, got {shown(classes)}"
            )
        declared = np.unique(checked_labels(classes))
        if self.n_classes is not None and len(declared) > self.n_classes:
            raise ValueError(f"classes has {len(declared)} labels, but n_classes={self.n_classes}")
        n_all, is_settled = len(merged_classes(seen, declared)), self._declared is not None
        if seen is not None and (n_all > len(declared) or (is_settled and n_all > len(seen))):
            raise ValueError(
                f"classes must {'be the same as' if is_settled else 'include those'} in earlier "
                f"calls, {shown(seen.tolist())}, got {shown(declared.tolist())}"
            )
        return declared


class AdaptiveAMFClassifier(AMFClassifier):
    """Aggregated Mondrian Forest classifier for data that drifts, for scikit-learn.

    It has the defaults of `river_amf.AdaptiveAMFClassifier`, which it wraps. Later rows count more
    than earlier ones: `fit` shuffles them, so set `shuffle=False` for rows of a stream.

    >>> from river_amf.sklearn import AdaptiveAMFClassifier
    >>> rows, labels = [[n % 7] for n in range(900)], [(n % 7 < 3) is (n < 600) for n in range(900)]
    >>> AdaptiveAMFClassifier(shuffle=False, random_state=1).fit(rows, labels).predict([[2], [5]])
    array([False,  True])
    """

    _river = classifier.AdaptiveAMFClassifier
