"""What the scikit-learn estimators share: they feed blocks of rows to a river model."""

from __future__ import annotations

import copy
import weakref
from typing import Any, ClassVar, Self, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from river_amf import frames, sparse_rows
from river_amf.kinds import shown
from river_amf.locks import ModelLock
from river_amf.sklearn.saving import SavedEstimator, as_river_takes
from river_amf.sklearn.targets import (
    draw_seed,
    merged_classes,
    read_labels,
    read_rows,
    read_weights,
)

_Result = TypeVar("_Result")

_locks: weakref.WeakKeyDictionary[OnlineClassifier, ModelLock] = weakref.WeakKeyDictionary()


class OnlineClassifier(ClassifierMixin, SavedEstimator):
    """Base of the estimators, which wrap a model of class `_river` as `model_`."""

    _finite: ClassVar[bool | str] = "allow-nan"  # scikit-learn's `ensure_all_finite` for X
    _next_classes: NDArray[Any]  # those there will be, while a call learns rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

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
        return self._fit(X, y, None)

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
        return self._lock.run_alone(self._partial_fit, X, y, classes, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        self._settle()
        is_first = not hasattr(self, "model_")
        draft = self._draft()
        if is_first:
            draft._start()
        else:
            draft._check_parameters()
            draft._set_writable()
        rows = draft._read(X, y, classes, sample_weight, is_first=is_first)
        if not is_first:
            self._next_classes = draft.classes_
        try:
            draft._learn_frame(*rows)
        except BaseException:
            self._settle()
            raise
        return self._become(draft)

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

    def __getstate__(self) -> dict[str, Any]:
        return self._lock.read(self._settle, self._snapshot)

    def _snapshot(self) -> dict[str, Any]:
        """Return the attributes, with a model that later calls do not change."""
        state = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = copy.deepcopy(state["model_"])
        return state

    def _fitted_model(self) -> Any:
        """Return `model_`, or raise NotFittedError."""
        check_is_fitted(self, "model_")
        return self.model_

    @property
    def _lock(self) -> ModelLock:
        # not an attribute, which scikit-learn does not let `__init__` set and would copy
        return _locks.get(self) or _locks.setdefault(self, ModelLock(rank=-1))

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        return self._lock.run_alone(self._fit_alone, X, y, sample_weight)

    def _fit_alone(self, X: Any, y: Any, sample_weight: Any) -> Self:
        draft = self._draft()
        draft._start()
        draft._learn_frame(*draft._read(X, y, None, sample_weight, is_first=True, is_whole=True))
        return self._become(draft)

    def _draft(self) -> Self:
        """Return an estimator with the same attributes, to work on until all has gone well."""
        draft = object.__new__(type(self))
        draft.__dict__ = self.__dict__.copy()
        return draft

    def _become(self, draft: Self) -> Self:
        """Take over what a draft has learned, in one step."""
        self.__dict__ = draft.__dict__ | self.get_params(deep=False)
        return self

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
        """Create an untrained model, whose class checks the parameters."""
        self._parameters = self._params_of_river()
        parameters = {name: as_river_takes(name, v) for name, v in self._parameters.items()}
        if "random_state" in parameters:
            parameters["seed"] = draw_seed(parameters.pop("random_state"))
        self.model_ = self._river(**parameters)
        self._has_all_classes = False

    def _check_parameters(self) -> None:
        """Raise ValueError if a parameter has changed since training started."""
        for name, old in self._parameters.items():
            new = getattr(self, name)
            is_same = old is new or (np.isscalar(new) and old == new)
            if not is_same and name not in self._river._always_writable:
                raise ValueError(
                    f"{name} was changed from {shown(old)} to {shown(new)} after training started; "
                    "change it back, or call fit to start over"
                )

    def _set_writable(self) -> None:
        """Pass on the parameters that may change at any time."""
        for name in self._river._always_writable:
            setattr(self.model_, name, as_river_takes(name, getattr(self, name)))

    def _read(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        *,
        is_first: bool,
        is_whole: bool = False,  # all that will be learned
    ) -> tuple[nw.DataFrame[Any], NDArray[Any], NDArray[np.float64]]:
        """Check rows, take up their columns and classes, and return frame, labels and weights."""
        frame = self._read_frame(X, is_first=is_first)
        labels = read_labels(y)
        check_consistent_length(X, labels)
        weights = read_weights(sample_weight, len(labels))
        known = None if is_first else self.classes_
        if classes is not None:
            self.classes_ = known = self._declared(classes, known)
            self._has_all_classes = True
        all_classes = self.classes_ if self._has_all_classes else None
        with np.errstate(over="ignore"):  # an infinite weight is refused below
            weights = weights * self._weights_of_classes(labels, all_classes, is_whole=is_whole)
        if is_first and not weights.any():
            raise ValueError(
                "sample_weight is zero everywhere, or class_weight is; in the first call, at least "
                "one row must have a positive weight"
            )
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

    def _learn_frame(
        self, frame: nw.DataFrame[Any], labels: NDArray[Any], weights: NDArray[np.float64]
    ) -> None:
        self.model_.learn_many(frame, labels, weights)

    def _predict_seen(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities (n_rows, n_labels) of the labels that the model has seen."""
        check_is_fitted(self, "model_")
        self._set_writable()
        return self._predict_frame(self._read_frame(X, is_first=False))

    def _predict_frame(self, frame: nw.DataFrame[Any]) -> NDArray[np.float64]:
        proba: NDArray[np.float64] = self.model_._predict_block(frame)
        return proba

    def _class_of_label(self, proba: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the index in `classes_` of each label that the model has seen."""
        labels = np.array(list(self.model_._labels)[: proba.shape[1]], dtype=self.classes_.dtype)
        return np.searchsorted(self.classes_, labels)

    def _read_frame(self, X: Any, *, is_first: bool) -> Any:
        """Return X as a dataframe, or as sparse rows, with the columns that the model knows."""
        if sparse_rows.is_matrix(X) and self.__sklearn_tags__().input_tags.sparse:
            X = validate_data(
                self, X, reset=is_first, accept_sparse="csr", ensure_all_finite=self._finite
            )
            if is_first:
                self._columns = list(range(X.shape[1]))
            return sparse_rows.read_rows(X)._replace(names=self._columns)
        if nw.dependencies.is_into_dataframe(X):
            frame = frames.read_frame(X)
            validate_data(self, X, reset=is_first, skip_check_array=True)
            if not all(frame.shape):
                raise ValueError(
                    f"Found a dataframe with {frame.shape[0]} sample(s) and {frame.shape[1]} "
                    f"feature(s) while a minimum of 1 of each is required by {type(self).__name__}."
                )
        else:
            X = read_rows(X)
            # Without dtype=object, numpy would turn numbers in a mixed list into strings.
            dtype = object if isinstance(X, list | tuple) else None
            array = validate_data(
                self, X, reset=is_first, dtype=dtype, ensure_all_finite=self._finite
            )
            frame = frames.read_frame(pd.DataFrame(array).infer_objects())
        if is_first:
            self._columns = list(frame.columns)
        if set(frame.columns) != set(self._columns):  # match by position; scikit-learn has warned
            frame = frames.read_frame(frame.to_pandas().set_axis(self._columns, axis="columns"))
        return frame
