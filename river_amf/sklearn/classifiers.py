"""The classifiers for scikit-learn: their parameters and documentation."""

from __future__ import annotations

from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from river_amf import classifier, dummy, sparse_rows
from river_amf.sklearn.forests import ForestClassifier
from river_amf.sklearn.online_classifier import OnlineClassifier

__all__ = ["AMFClassifier", "AdaptiveAMFClassifier", "OnlineDummyClassifier"]


class AMFClassifier(ForestClassifier):
    """Aggregated Mondrian Forest classifier for scikit-learn.

    It wraps a `river_amf.AMFClassifier`, available as `model_`. Given the same rows in the same
    order, both make the same predictions, down to the last bit. The order of the rows matters
    because the forest learns online.

    Parameters
    ----------
    n_estimators, step, use_aggregation, dirichlet, split_pure, max_nodes
        As in `river_amf.AMFClassifier`.
    random_state
        Seed for reproducible results: an integer >= 0, a numpy `RandomState`, or `None` for numpy's
        global one. From the latter two, an integer seed is drawn whenever training starts.
    n_classes
        Maximum number of classes; the prior counts this many from the start. With `None`, it counts
        the classes seen so far.
    loss, split_prior, max_categories, max_bytes, split_intensity, fading_factor, restart_threshold
        As in `river_amf.AMFClassifier`.
    absent
        `"missing"`, or `"zero"`, as in `river_amf.AMFClassifier`: a 0 says nothing then, and X may
        be a sparse matrix.
    max_columns, max_vocabulary
        As in `river_amf.AMFClassifier`.
    vote, linear, on_mismatch
        As in `river_amf.AMFClassifier`.
    n_jobs
        Number of threads; -1 means one per core, and `None` means 1, as elsewhere in scikit-learn.
        It does not affect the results and may be changed at any time.
    class_weight
        Dict from class to the weight of its rows, by default 1; or `"balanced"` for weights
        n_samples / (n_classes * n_samples_of_the_class), which only `fit` can know. `partial_fit`
        multiplies these weights by `sample_weight`. Rows of weight 0 are not learned, so
        `classes_` may lack their label.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order: those given to `partial_fit`, otherwise those seen so far.
    model_ : river_amf.AMFClassifier
        The wrapped forest, for use with `river_amf.inspection`. The estimator does not notice
        anything that you let it learn directly, and cannot be saved once it has learned columns or
        classes that the estimator does not know.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features. Defined only if X was a dataframe whose column names are strings.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The decrease of Gini impurity that the splits on each feature bring; they sum to 1.

    Notes
    -----
    Parameters are checked when training starts. After that, `partial_fit` rejects a change of any
    parameter but `n_jobs` and `class_weight`; `fit` starts over.

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

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        step: float = 1.0,
        use_aggregation: bool = True,
        dirichlet: float | None = None,
        split_pure: bool = False,
        max_nodes: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_classes: int | None = None,
        loss: str = "log",
        split_prior: float = 0.5,
        max_categories: int | None = None,
        max_bytes: int | None = None,
        absent: str = "missing",
        max_columns: int = 30,
        max_vocabulary: int | None = None,
        split_intensity: str = "range",
        fading_factor: float | None = None,
        restart_threshold: float | None = None,
        vote: str = "mean",
        linear: str | None = None,
        on_mismatch: str = "raise",
        n_jobs: int | None = 1,
        class_weight: dict[Any, float] | str | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.step = step
        self.use_aggregation = use_aggregation
        self.dirichlet = dirichlet
        self.split_pure = split_pure
        self.max_nodes = max_nodes
        self.random_state = random_state
        self.n_classes = n_classes
        self.loss = loss
        self.split_prior = split_prior
        self.max_categories = max_categories
        self.max_bytes = max_bytes
        self.absent = absent
        self.max_columns = max_columns
        self.max_vocabulary = max_vocabulary
        self.split_intensity = split_intensity
        self.fading_factor = fading_factor
        self.restart_threshold = restart_threshold
        self.vote = vote
        self.linear = linear
        self.on_mismatch = on_mismatch
        self.n_jobs = n_jobs
        self.class_weight = class_weight


class AdaptiveAMFClassifier(AMFClassifier):
    """Aggregated Mondrian Forest classifier for data that drifts, for scikit-learn.

    It is an `AMFClassifier` with the defaults of `river_amf.AdaptiveAMFClassifier`, which it wraps
    as `model_`. Later rows count more than earlier ones, so do not shuffle them.

    Parameters
    ----------
    n_estimators, step, use_aggregation, dirichlet, split_pure, random_state, n_classes, loss
        As in `AMFClassifier`.
    max_bytes, absent, max_columns, on_mismatch, n_jobs, class_weight
        As in `AMFClassifier`.
    max_nodes, split_prior, max_categories, max_vocabulary, split_intensity, fading_factor,
    restart_threshold, vote, linear
        As in `AMFClassifier`, with the defaults of `river_amf.AdaptiveAMFClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from river_amf.sklearn import AdaptiveAMFClassifier

    >>> X = np.random.default_rng(1).random((1000, 2))
    >>> y = X[:, 0] > 0.5
    >>> y[500:] = ~y[500:]  # an abrupt drift
    >>> model = AdaptiveAMFClassifier(random_state=1).fit(X, y)
    >>> model.score(X[500:], y[500:]) > 0.9
    True
    """

    _file_kind = "sklearn.AdaptiveAMFClassifier"
    _river = classifier.AdaptiveAMFClassifier

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        step: float = 1.0,
        use_aggregation: bool = True,
        dirichlet: float | None = None,
        split_pure: bool = False,
        max_nodes: int | None = 5000,
        random_state: int | np.random.RandomState | None = None,
        n_classes: int | None = None,
        loss: str = "log",
        split_prior: float = 0.7,
        max_categories: int | None = 5000,
        max_bytes: int | None = None,
        absent: str = "missing",
        max_columns: int = 30,
        max_vocabulary: int | None = 100_000,
        split_intensity: str = "relevance",
        fading_factor: float | None = 0.45,
        restart_threshold: float | None = 4.0,
        vote: str = "learned",
        linear: str | None = "auto",
        on_mismatch: str = "raise",
        n_jobs: int | None = 1,
        class_weight: dict[Any, float] | str | None = None,
    ) -> None:
        super().__init__(
            n_estimators=n_estimators,
            step=step,
            use_aggregation=use_aggregation,
            dirichlet=dirichlet,
            split_pure=split_pure,
            max_nodes=max_nodes,
            random_state=random_state,
            n_classes=n_classes,
            loss=loss,
            split_prior=split_prior,
            max_categories=max_categories,
            max_bytes=max_bytes,
            absent=absent,
            max_columns=max_columns,
            max_vocabulary=max_vocabulary,
            split_intensity=split_intensity,
            fading_factor=fading_factor,
            restart_threshold=restart_threshold,
            vote=vote,
            linear=linear,
            on_mismatch=on_mismatch,
            n_jobs=n_jobs,
            class_weight=class_weight,
        )


class OnlineDummyClassifier(OnlineClassifier):
    """Baseline that ignores the features and predicts the label frequencies seen so far.

    It wraps a `river_amf.OnlineDummyClassifier`, available as `model_`.

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

    >>> model = OnlineDummyClassifier().fit([[0], [0], [0]], ["ham", "spam", "ham"])
    >>> model.predict_proba([[0]])
    array([[0.625, 0.375]])
    """

    _file_kind = "sklearn.OnlineDummyClassifier"
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the labels from scratch.

        Parameters
        ----------
        X
            Array, dataframe or sparse matrix of shape (n_samples, n_features). Its values are
            ignored.
        y
            Array-like of shape (n_samples,) with the labels: strings, integers or booleans.
        sample_weight
            Array-like of shape (n_samples,) with weights from 0 to 1e300, by default all 1. Rows of
            weight 0 have no effect.

        Returns
        -------
        OnlineDummyClassifier
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter, the labels or the weights are invalid, or if X is not a table with one
            row per label. The estimator is left unchanged.

        Examples
        --------
        >>> from river_amf.sklearn import OnlineDummyClassifier
        >>> model = OnlineDummyClassifier()
        >>> model.fit([[0], [0]], ["ham", "spam"], sample_weight=[1, 2]).predict([[0]])
        array(['spam'], dtype='<U4')
        """
        return self._fit(X, y, sample_weight)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most frequent class, in a tie the first of them in `classes_`.

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

        Notes
        -----
        In a tie, the wrapped river model predicts the label seen first. scikit-learn's own checks
        use equally frequent classes and expect the first maximum of `predict_proba` instead.

        Examples
        --------
        >>> from river_amf.sklearn import OnlineDummyClassifier
        >>> OnlineDummyClassifier().fit([[0], [0]], ["spam", "ham"]).predict([[0]])
        array(['ham'], dtype='<U4')
        """
        return super().predict(X)

    def _predict(self, X: Any) -> NDArray[Any]:
        proba = self._predict_proba(X)
        predicted: NDArray[Any] = self.classes_[proba.argmax(axis=1)]
        return predicted

    def _learn_frame(
        self, frame: nw.DataFrame[Any], labels: NDArray[Any], weights: NDArray[np.float64]
    ) -> None:
        self.model_._learn_labels(labels, weights)

    def _predict_frame(self, frame: nw.DataFrame[Any]) -> NDArray[np.float64]:
        n_rows = len(sparse_rows.frame_of(frame))
        return np.tile(list(self.model_.predict_proba_one({}).values()), (n_rows, 1))
