"""The classifiers as scikit-learn estimators: `pip install river-amf[sklearn]`.

They hold a model of river's kind in `model_` and feed it blocks of rows.
"""

from __future__ import annotations

from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from river_amf import dummy, forest

try:
    from sklearn.utils.validation import validate_data  # noqa: F401  of 1.6 and later
except ImportError as error:
    raise ImportError(
        "river_amf.sklearn needs scikit-learn 1.6 or later: pip install river-amf[sklearn]",
        name="sklearn",
    ) from error

from river_amf.sklearn.online import OnlineClassifier

__all__ = ["AMFClassifier", "AdaptiveAMFClassifier", "OnlineDummyClassifier"]


class AMFClassifier(OnlineClassifier):
    """Aggregated Mondrian Forest classifier.

    As `river_amf.AMFClassifier`, which `model_` holds, fed the same rows in the same order: its
    predictions are the same to the last bit. The order matters, as the forest learns online.

    Parameters
    ----------
    n_classes
        Number of classes that the prior counts from the start, and at most; with `None` the classes
        seen so far count.
    n_estimators, step, loss, split_prior, use_aggregation, dirichlet, split_pure, max_nodes
        As of `river_amf.AMFClassifier`.
    split_intensity, fading_factor, restart_threshold, vote
        As of `river_amf.AMFClassifier`.
    n_jobs
        Number of threads, -1 for as many as there are cores; `None` is 1, as elsewhere in
        scikit-learn. The result does not depend on it, and it may be changed at any time.
    random_state
        Seed: an integer >= 0, a `RandomState` or `None`, numpy's global one, of both of which an
        integer is drawn when the forest starts.

    Attributes
    ----------
    classes_
        Labels, sorted: those given to `partial_fit`, else those seen so far.
    model_
        The `river_amf.AMFClassifier`, as for `river_amf.inspection`. What it learns by itself is
        not known here, and an estimator whose model knows other columns or classes cannot be saved.
    n_features_in_, feature_names_in_
        Number of features, and their names where X was a dataframe with names of text.

    Notes
    -----
    Parameters are checked when learning starts. `partial_fit` refuses a change of them, `n_jobs`
    excepted; `fit` starts afresh.

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
    _river = forest.AMFClassifier

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        n_estimators: int = 10,
        step: float = 1.0,
        loss: str = "log",
        split_prior: float = 0.5,
        use_aggregation: bool = True,
        dirichlet: float | None = None,
        split_pure: bool = False,
        max_nodes: int | None = None,
        split_intensity: str = "range",
        fading_factor: float | None = None,
        restart_threshold: float | None = None,
        vote: str = "mean",
        n_jobs: int | None = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.n_estimators = n_estimators
        self.step = step
        self.loss = loss
        self.split_prior = split_prior
        self.use_aggregation = use_aggregation
        self.dirichlet = dirichlet
        self.split_pure = split_pure
        self.max_nodes = max_nodes
        self.split_intensity = split_intensity
        self.fading_factor = fading_factor
        self.restart_threshold = restart_threshold
        self.vote = vote
        self.n_jobs = n_jobs
        self.random_state = random_state


class AdaptiveAMFClassifier(AMFClassifier):
    """Aggregated Mondrian Forest classifier for rows whose concept drifts.

    An `AMFClassifier` with other defaults, as `river_amf.AdaptiveAMFClassifier`, which `model_`
    holds. Late rows count for more than early ones: do not shuffle them.

    Parameters
    ----------
    n_classes, n_estimators, step, loss, use_aggregation, dirichlet, split_pure, n_jobs
        As of `AMFClassifier`.
    random_state
        As of `AMFClassifier`.
    split_prior, max_nodes, split_intensity, fading_factor, restart_threshold, vote
        As of `AMFClassifier`, with the defaults of `river_amf.AdaptiveAMFClassifier`.

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
    _river = forest.AdaptiveAMFClassifier

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        n_estimators: int = 10,
        step: float = 1.0,
        loss: str = "log",
        split_prior: float = 0.7,
        use_aggregation: bool = True,
        dirichlet: float | None = None,
        split_pure: bool = False,
        max_nodes: int | None = 5000,
        split_intensity: str = "relevance",
        fading_factor: float | None = 0.45,
        restart_threshold: float | None = 4.0,
        vote: str = "learned",
        n_jobs: int | None = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            n_classes,
            n_estimators=n_estimators,
            step=step,
            loss=loss,
            split_prior=split_prior,
            use_aggregation=use_aggregation,
            dirichlet=dirichlet,
            split_pure=split_pure,
            max_nodes=max_nodes,
            split_intensity=split_intensity,
            fading_factor=fading_factor,
            restart_threshold=restart_threshold,
            vote=vote,
            n_jobs=n_jobs,
            random_state=random_state,
        )


class OnlineDummyClassifier(OnlineClassifier):
    """Predict the label frequencies so far and ignore the features: the baseline.

    As `river_amf.OnlineDummyClassifier`, which `model_` holds.

    Parameters
    ----------
    n_classes
        Number of classes that the prior counts from the start, and at most; with `None` the classes
        seen so far count.
    dirichlet
        Pseudo-count a of each class, from 1e-300 on. `None` takes 0.5 up to two classes and 0.01
        beyond.

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
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the labels, starting afresh.

        Parameters
        ----------
        X
            Array or dataframe of shape (n_samples, n_features), whose values are ignored.
        y
            Labels of shape (n_samples,): strings, integers or bools.
        sample_weight
            A weight from 0 to 1e300 for each row, 1 by default; 0 changes nothing.

        Returns
        -------
        The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter, y or the weights cannot serve, or X is no table with a row for each
            label. The estimator is as it was.

        Examples
        --------
        >>> from river_amf.sklearn import OnlineDummyClassifier
        >>> model = OnlineDummyClassifier()
        >>> model.fit([[0], [0]], ["ham", "spam"], sample_weight=[1, 2]).predict([[0]])
        array(['spam'], dtype='<U4')
        """
        return self._fit(X, y, sample_weight)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most frequent class, the first of `classes_` in a tie.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        Array of shape (n_samples,).

        Raises
        ------
        sklearn.exceptions.NotFittedError, TypeError, ValueError
            As `predict_proba`.

        Notes
        -----
        The model of river's kind takes the label seen first. scikit-learn's checks, whose classes
        are equally frequent, want the first maximum of `predict_proba`.

        Examples
        --------
        >>> from river_amf.sklearn import OnlineDummyClassifier
        >>> OnlineDummyClassifier().fit([[0], [0]], ["spam", "ham"]).predict([[0]])
        array(['ham'], dtype='<U4')
        """
        proba = self.predict_proba(X)
        predicted: NDArray[Any] = self.classes_[proba.argmax(axis=1)]
        return predicted

    def _learn_frame(
        self, frame: nw.DataFrame[Any], labels: NDArray[Any], weights: NDArray[np.float64]
    ) -> None:
        self.model_._learn_labels(labels, weights)

    def _predict_frame(self, frame: nw.DataFrame[Any]) -> NDArray[np.float64]:
        return np.tile(list(self.model_.predict_proba_one({}).values()), (len(frame), 1))
