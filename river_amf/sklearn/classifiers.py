"""The classifiers for scikit-learn: labels and their order, weights of classes, probabilities."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from river_amf import classifier, dummy
from river_amf.inputs import sparse_rows
from river_amf.inputs.kinds import shown
from river_amf.persistence import validation, values
from river_amf.persistence.container import take
from river_amf.sklearn.checks import checked_labels, class_weights, classes_of, merged_classes
from river_amf.sklearn.estimators import Floats, ForestEstimator, OnlineEstimator, reading

__all__ = ["AMFClassifier", "AdaptiveAMFClassifier", "OnlineDummyClassifier"]


class OnlineClassifier(ClassifierMixin, OnlineEstimator):
    """Base of the classifiers."""

    _read_targets = staticmethod(checked_labels)
    class_weight: dict[Any, float] | str | None = None  # of forests
    classes_: NDArray[Any]
    _has_all_classes: bool

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, as in `fit`, in the given order.

        `classes` are all labels that will ever occur, which are the columns of `predict_proba` from
        then on. If they are never given, `classes_` holds the labels seen so far, and new ones may
        appear. `sample_weight` are weights of rows from 0 (no effect) to 1e300; a weight of 2 is
        the same as learning a row twice, unless the model fades, tracks relevance or learns its
        vote. In the first call, some weight must be positive; after that, no parameter but
        `n_jobs`, `class_weight` and `shuffle` may change.

        Examples
        --------
        >>> from river_amf.sklearn import AMFClassifier
        >>> model = AMFClassifier(random_state=1)
        >>> model.partial_fit([[1.0]], ["short"], classes=["long", "short"]).predict_proba([[1.2]])
        array([[0., 1.]])
        >>> model.partial_fit([[4.0], [5.0]], ["long", "long"], sample_weight=[1.0, 2.0]).classes_
        array(['long', 'short'], dtype='<U5')
        """
        return self._lock.run(self._learn, X, y, sample_weight, classes)

    @reading
    def predict_proba(self, X: Any) -> Floats:
        """Predict probabilities (n_samples, n_classes), in the order of `classes_`.

        They are 0 for classes that have not been seen.

        Examples
        --------
        >>> from river_amf.sklearn import OnlineDummyClassifier
        >>> model = OnlineDummyClassifier().fit([[0], [0], [0]], ["ham", "spam", "ham"])
        >>> model.predict_proba([[0]])
        array([[0.625, 0.375]])
        """
        seen = self._predict_seen(X)
        proba = np.zeros((len(seen), len(self.classes_)))
        proba[:, self._class_of_label(seen)] = seen
        return proba

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the natural logarithms of `predict_proba`, -inf for classes that were not seen.

        Examples
        --------
        >>> from river_amf.sklearn import OnlineDummyClassifier
        >>> model = OnlineDummyClassifier().fit([[0], [0]], ["ham", "spam"])
        >>> model.predict_log_proba([[0]]).round(4)
        array([[-0.6931, -0.6931]])
        """
        with np.errstate(divide="ignore"):
            log_proba: Floats = np.log(self.predict_proba(X))
        return log_proba

    @reading
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class, in a tie the one seen first; a dummy, in order.

        Examples
        --------
        >>> from river_amf.sklearn import AMFClassifier
        >>> model = AMFClassifier(random_state=1).fit([[1.0, "red"], [4.0, None]], [True, False])
        >>> model.predict([[None, "red"]])
        array([ True])
        """
        seen = self._predict_seen(X)
        predicted: NDArray[Any] = self.classes_[self._choose(seen)]
        return predicted

    def _choose(self, seen: Floats) -> Any:
        """Return the class to predict for each row, given the probabilities of its labels."""
        return self._class_of_label(seen)[seen.argmax(axis=1)]

    def _settle(self) -> None:
        """Take up the new labels that the model has learned in a call that was interrupted."""
        draft = self.__dict__.get("_draft")
        if draft is not None:
            classes = draft.classes_
            known = {*self.model_._labels, *self.classes_.tolist()}
            kept = classes[[label in known for label in classes.tolist()]]
            # texts as wide as the longest one, as if the others had never been there
            self.classes_ = np.array(kept.tolist()) if kept.dtype.kind == "U" else kept
        super()._settle()

    def _take_targets(
        self, labels: Any, weights: Floats, classes: Any, is_first: bool, is_whole: bool
    ) -> Floats:
        known = None if is_first else self.classes_
        self._has_all_classes = not is_first and self._has_all_classes
        if classes is not None:
            self.classes_ = known = self._declared(classes, known)
            self._has_all_classes = True
        all_classes = self.classes_ if self._has_all_classes else None
        by_class = class_weights(self.class_weight, labels, all_classes, is_whole=is_whole)
        with np.errstate(over="ignore"):  # an infinite weight is refused by the model
            weights = weights * by_class
        if self._has_all_classes:
            unknown = np.setdiff1d(merged_classes(known, labels), self.classes_)
            if len(unknown):
                raise ValueError(
                    f"y has the labels {shown(unknown.tolist())}, which are not among the given "
                    f"classes {shown(self.classes_.tolist())}"
                )
        else:
            self.classes_ = merged_classes(known, labels[weights > 0.0])
        return super()._take_targets(labels, weights, classes, is_first, is_whole)

    def _declared(self, classes: Any, known: NDArray[Any] | None) -> NDArray[Any]:
        """Return `classes_` as given in this call, or raise ValueError if they are invalid."""
        if np.ndim(classes) != 1 or not len(classes):
            raise ValueError(
                f"classes must be a list or one-dimensional array of labels, got {shown(classes)}"
            )
        given = merged_classes(None, checked_labels(classes))
        if self.n_classes is not None and len(given) > self.n_classes:
            raise ValueError(
                f"classes has {len(given)} labels, {shown(given.tolist())}, but "
                f"n_classes={self.n_classes}; increase n_classes or set it to None"
            )
        if known is not None:
            n_all, is_settled = len(merged_classes(known, given)), self._has_all_classes
            if n_all > len(given) or (is_settled and n_all > len(known)):
                raise ValueError(
                    f"classes must {'be the same as' if is_settled else 'include those'} in earlier"
                    f" calls, {shown(known.tolist())}, got {shown(given.tolist())}"
                )
        return given

    def _predict_seen(self, X: Any) -> Floats:
        """Return the probabilities (n_rows, n_labels) of the labels that the model has seen."""
        frame = self._read_to_predict(X)
        proba: Floats = self.model_._predict_block(frame)
        return proba

    def _class_of_label(self, proba: Floats) -> NDArray[np.int64]:
        """Return the index in `classes_` of each label that the model has seen."""
        labels = np.array(list(self.model_._labels)[: proba.shape[1]], dtype=self.classes_.dtype)
        return np.searchsorted(self.classes_, labels)


class AMFClassifier(ForestEstimator, OnlineClassifier):
    """Aggregated Mondrian Forest classifier for scikit-learn.

    It wraps a `river_amf.AMFClassifier`, available as `model_`. With `shuffle=False`, both make the
    same predictions, down to the last bit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order: those given to `partial_fit`, otherwise those seen so far.
    model_ : river_amf.AMFClassifier
        The wrapped forest, for use with `river_amf.inspection`. The estimator does not notice
        anything that you let it learn directly, and cannot be saved once it has learned columns or
        classes that the estimator does not know.
    n_features_in_, feature_names_in_
        As of any estimator of scikit-learn.

    Notes
    -----
    Any thread may make any call at any time. Predictions, copies and `save` run beside each other;
    `fit` and `partial_fit` have the estimator to themselves. If an exception from a signal handler
    or a lack of memory ends `fit`, the estimator is as it was; after `partial_fit`, it has learned
    all rows up to one, perhaps none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from river_amf.sklearn import AMFClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(cross_val_score(AMFClassifier(random_state=1), X, y).mean() > 0.9)
    True
    """

    _file_kind = "sklearn.AMFClassifier"
    _river = classifier.AMFClassifier

    def _targets_to_file(self) -> dict[str, Any]:
        return {
            "classes": [values.to_json(label, "class") for label in self.classes_],
            "has_all_classes": self._has_all_classes,
        }

    def _set_targets(self, fitted: dict[str, Any]) -> None:
        self.classes_ = classes_of(values.distinct_from_json(take(fitted, "classes"), "class"))
        self._has_all_classes = take(fitted, "has_all_classes", False)
        validation.require(type(self._has_all_classes) is bool, "flags")
        n_classes = self.model_.n_classes
        fits = n_classes is None or len(self.classes_) <= n_classes
        validation.require(fits, "number of classes")

    def _learned_directly(self) -> list[Any]:
        classes = {*self.classes_.tolist()}
        labels = [label for label in self.model_._labels if label not in classes]
        return super()._learned_directly() + labels


class AdaptiveAMFClassifier(AMFClassifier):
    """Aggregated Mondrian Forest classifier for data that drifts, for scikit-learn.

    It is an `AMFClassifier` with the defaults of `river_amf.AdaptiveAMFClassifier`, which it wraps
    as `model_`. Later rows count more than earlier ones: `fit` shuffles them, so set
    `shuffle=False` if their order is that of a stream.

    Examples
    --------
    >>> import numpy as np
    >>> from river_amf.sklearn import AdaptiveAMFClassifier
    >>> X = np.random.default_rng(1).random((1000, 2))
    >>> y = X[:, 0] > 0.5
    >>> y[500:] = ~y[500:]  # an abrupt drift
    >>> model = AdaptiveAMFClassifier(shuffle=False, random_state=1).fit(X, y)
    >>> model.score(X[500:], y[500:]) > 0.9
    True
    """

    _file_kind = "sklearn.AdaptiveAMFClassifier"
    _river = classifier.AdaptiveAMFClassifier


class OnlineDummyClassifier(OnlineClassifier):
    """Baseline that ignores the features and predicts the label frequencies seen so far.

    It wraps a `river_amf.OnlineDummyClassifier`, available as `model_`. In a tie, that predicts the
    label seen first, but this one the first of `classes_`.

    Parameters
    ----------
    n_classes
        Maximum number of classes; the prior counts this many from the start. With `None`, it counts
        the classes seen so far.
    dirichlet
        Pseudo-count of each class, >= 1e-300. `None` means 0.5 for up to two classes and 0.01 for
        more.

    Examples
    --------
    >>> from river_amf.sklearn import OnlineDummyClassifier
    >>> OnlineDummyClassifier().fit([[0], [0], [0]], ["ham", "spam", "ham"]).predict([[0]])
    array(['ham'], dtype='<U4')
    """

    _river = dummy.OnlineDummyClassifier
    _finite = False

    def __init__(self, n_classes: int | None = None, dirichlet: float | None = None) -> None:
        self.n_classes = n_classes
        self.dirichlet = dirichlet

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags

    def _choose(self, seen: Floats) -> Any:
        best = seen == seen.max(axis=1, keepdims=True)  # of which it is the first of `classes_`
        return np.where(best, self._class_of_label(seen), len(self.classes_)).min(axis=1)

    def _learn_frame(self, frame: Any, labels: NDArray[Any], weights: Floats) -> None:
        model = copy.deepcopy(self.model_)  # kept only if no label raises an error
        for label, weight in zip(labels.tolist(), weights.tolist(), strict=True):
            model.learn_one({}, label, weight)
        self.model_ = model

    def _predict_seen(self, X: Any) -> Floats:
        n_rows = len(sparse_rows.frame_of(self._read_to_predict(X)))
        return np.tile(list(self.model_.predict_proba_one({}).values()), (n_rows, 1))
