"""What the classifiers for scikit-learn share: labels, their order, and probabilities."""

from __future__ import annotations

from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from river_amf.kinds import shown
from river_amf.persistence import soundness, values
from river_amf.persistence.container import take
from river_amf.sklearn.online import OnlineEstimator, Rows
from river_amf.sklearn.targets import check_some_weight, classes_of, merged_classes, read_labels


class OnlineClassifier(ClassifierMixin, OnlineEstimator):
    """Base of the classifiers."""

    _known = ("columns", "classes")
    classes_: NDArray[Any]
    _has_all_classes: bool
    _next_classes: NDArray[Any]  # those there will be, while a call learns rows

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the rows in the given order, from scratch.

        This method takes no `sample_weight`: scikit-learn expects weights in `fit` to have the same
        effect for any order of the rows, which an online forest cannot guarantee. `partial_fit`
        takes weights.

        Parameters
        ----------
        X
            Array of shape (n_samples, n_features), or a dataframe of that shape from pandas,
            polars, pyarrow or any other library that narwhals supports; with `absent="zero"` also
            a sparse matrix or array of scipy. Values are numbers or categories (strings and other
            hashable objects); None and NaN are missing values. The columns of an array are the
            features 0, 1, ...
        y
            Array-like of shape (n_samples,) with the labels: strings, integers or booleans.

        Returns
        -------
        OnlineClassifier
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter, X or y is invalid; infinite values are not supported, and sparse
            matrices only with `absent="zero"`. The estimator is left unchanged.

        Examples
        --------
        >>> from river_amf.sklearn import AMFClassifier
        >>> AMFClassifier(random_state=1).fit([[1.0], [4.0]], ["short", "long"]).predict([[1.2]])
        array(['short'], dtype='<U5')
        """
        return self._fit(X, y, None, is_whole=True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in the given order.

        Parameters
        ----------
        X, y
            Rows of shape (n_samples, n_features) and labels of shape (n_samples,), as in `fit`.
        classes
            Array-like of shape (n_classes,) with all labels that will ever occur. They determine
            the columns of `predict_proba` from then on. If never given, `classes_` holds the labels
            seen so far, and new ones may appear.
        sample_weight
            Array-like of shape (n_samples,) with weights from 0 to 1e300, by default all 1. Rows of
            weight 0 have no effect. A weight of 2 is the same as learning a row twice, unless the
            model fades, tracks relevance or learns its vote.

        Returns
        -------
        OnlineClassifier
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            As in `fit`; also if a parameter other than `n_jobs` has changed since the last call, if
            a label is not among the given `classes`, if `classes` differs from the one given
            before, or if all weights are zero in the first call. The estimator is left unchanged.

        Examples
        --------
        >>> from river_amf.sklearn import AMFClassifier
        >>> model = AMFClassifier(random_state=1)
        >>> model.partial_fit([[1.0]], ["short"], classes=["long", "short"]).predict_proba([[1.2]])
        array([[0., 1.]])
        >>> model.partial_fit([[4.0], [5.0]], ["long", "long"], sample_weight=[1.0, 2.0]).classes_
        array(['long', 'short'], dtype='<U5')
        """
        return self._fit_more(X, y, sample_weight, classes=classes)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X
            Array or dataframe of shape (n_samples, n_features), as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, with one column for each of `classes_`, 0 for classes that have not
            been seen.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator has not learned anything yet.
        TypeError, ValueError
            If X is invalid or has different features.

        Examples
        --------
        >>> from river_amf.sklearn import OnlineDummyClassifier
        >>> model = OnlineDummyClassifier().fit([[0], [0], [0]], ["ham", "spam", "ham"])
        >>> model.predict_proba([[0]])
        array([[0.625, 0.375]])
        """
        return self._lock.read(self._settle, self._predict_proba, X)

    def _predict_proba(self, X: Any) -> NDArray[np.float64]:
        seen = self._predict_seen(X)
        proba = np.zeros((len(seen), len(self.classes_)))
        proba[:, self._class_of_label(seen)] = seen
        return proba

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X
            Array or dataframe of shape (n_samples, n_features), as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The natural logarithms of `predict_proba`, -inf for classes that have not been seen.

        Raises
        ------
        sklearn.exceptions.NotFittedError, TypeError, ValueError
            As in `predict_proba`.

        Examples
        --------
        >>> from river_amf.sklearn import OnlineDummyClassifier
        >>> model = OnlineDummyClassifier().fit([[0], [0]], ["ham", "spam"])
        >>> model.predict_log_proba([[0]]).round(4)
        array([[-0.6931, -0.6931]])
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class, in a tie the one seen first.

        Parameters
        ----------
        X
            Array or dataframe of shape (n_samples, n_features), as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted labels.

        Raises
        ------
        sklearn.exceptions.NotFittedError, TypeError, ValueError
            As in `predict_proba`.

        Examples
        --------
        >>> from river_amf.sklearn import AMFClassifier
        >>> model = AMFClassifier(random_state=1).fit([[1.0, "red"], [4.0, None]], [True, False])
        >>> model.predict([[None, "red"]])
        array([ True])
        """
        return self._lock.read(self._settle, self._predict, X)

    def _predict(self, X: Any) -> NDArray[Any]:
        seen = self._predict_seen(X)
        predicted: NDArray[Any] = self.classes_[self._class_of_label(seen)[seen.argmax(axis=1)]]
        return predicted

    def _announce(self, draft: Self) -> None:
        self._next_classes = draft.classes_

    def _settle(self) -> None:
        """Take up the new labels that the model has learned in a call that was interrupted."""
        classes = self.__dict__.get("_next_classes")
        if classes is not None:
            known = {*self.model_._labels, *self.classes_.tolist()}
            kept = classes[[label in known for label in classes.tolist()]]
            # texts as wide as the longest one, as if the others had never been there
            self.classes_ = np.array(kept.tolist()) if kept.dtype.kind == "U" else kept
            self.__dict__.pop("_next_classes")

    def _start(self) -> None:
        super()._start()
        self._has_all_classes = False

    def _read(  # type: ignore[override]  # with keywords of its own
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        is_first: bool,
        classes: Any = None,
        is_whole: bool = False,  # all that will be learned
    ) -> Rows:
        """Check rows, take up their columns and classes, and return frame, labels and weights."""
        frame, labels, weights = super()._read(X, y, sample_weight, is_first=is_first)
        known = None if is_first else self.classes_
        if classes is not None:
            self.classes_ = known = self._declared(classes, known)
            self._has_all_classes = True
        all_classes = self.classes_ if self._has_all_classes else None
        with np.errstate(over="ignore"):  # an infinite weight is refused below
            weights = weights * self._weights_of_classes(labels, all_classes, is_whole=is_whole)
        if is_first:
            check_some_weight(weights, "sample_weight is zero everywhere, or class_weight is")
        if self._has_all_classes:
            unknown = np.setdiff1d(merged_classes(known, labels), self.classes_)
            if len(unknown):
                raise ValueError(
                    f"y has the labels {shown(unknown.tolist())}, which are not among the given "
                    f"classes {shown(self.classes_.tolist())}"
                )
        else:
            self.classes_ = merged_classes(known, labels[weights > 0.0])
        return frame, labels, weights

    def _read_targets(self, y: Any) -> NDArray[Any]:
        return read_labels(y)

    def _weights_of_classes(
        self, labels: NDArray[Any], classes: NDArray[Any] | None, *, is_whole: bool
    ) -> NDArray[np.float64] | float:
        """Return the weight that each row has by its class, or raise ValueError."""
        return 1.0

    def _declared(self, classes: Any, known: NDArray[Any] | None) -> NDArray[Any]:
        """Return `classes_` as given in this call, or raise ValueError if they are invalid."""
        if np.ndim(classes) != 1 or not len(classes):
            raise ValueError(
                f"classes must be a list or one-dimensional array of labels, got {shown(classes)}"
            )
        given = merged_classes(None, read_labels(classes))
        if self.n_classes is not None and len(given) > self.n_classes:
            raise ValueError(
                f"classes has {len(given)} labels, {shown(given.tolist())}, but "
                f"n_classes={self.n_classes}; increase n_classes or set it to None"
            )
        if known is not None:
            everything = merged_classes(known, given)
            if len(everything) > len(given):
                raise ValueError(
                    f"classes must include those of earlier calls, {shown(known.tolist())}, "
                    f"got {shown(given.tolist())}"
                )
            if self._has_all_classes and len(everything) > len(known):
                raise ValueError(
                    f"classes must be the same as in earlier calls, {shown(known.tolist())}, "
                    f"got {shown(given.tolist())}"
                )
        return given

    def _predict_seen(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities (n_rows, n_labels) of the labels that the model has seen."""
        return self._predict_frame(self._read_to_predict(X))

    def _predict_frame(self, frame: nw.DataFrame[Any]) -> NDArray[np.float64]:
        proba: NDArray[np.float64] = self.model_._predict_block(frame)
        return proba

    def _class_of_label(self, proba: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the index in `classes_` of each label that the model has seen."""
        labels = np.array(list(self.model_._labels)[: proba.shape[1]], dtype=self.classes_.dtype)
        return np.searchsorted(self.classes_, labels)

    def _targets_to_file(self) -> dict[str, Any]:
        return {
            "classes": [values.to_json(label, "class") for label in self.classes_],
            "has_all_classes": self._has_all_classes,
        }

    def _set_targets(self, fitted: dict[str, Any]) -> None:
        self.classes_ = classes_of(values.distinct_from_json(take(fitted, "classes"), "class"))
        self._has_all_classes = take(fitted, "has_all_classes", False)
        soundness.demand(type(self._has_all_classes) is bool, "flags")

    def _check_model(self) -> None:
        super()._check_model()
        n_classes = self.model_.n_classes
        soundness.demand(n_classes is None or len(self.classes_) <= n_classes, "number of classes")

    def _strangers(self) -> list[Any]:
        classes = {*self.classes_.tolist()}
        labels = [label for label in self.model_._labels if label not in classes]
        return super()._strangers() + labels
