"""The regressors for scikit-learn: their parameters, documentation and methods."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from river_amf import regressor
from river_amf.sklearn.forests import Forest
from river_amf.sklearn.online import Rows
from river_amf.sklearn.targets import check_some_weight, read_numbers

__all__ = ["AMFRegressor", "AdaptiveAMFRegressor"]


class AMFRegressor(RegressorMixin, Forest):
    """Aggregated Mondrian Forest regressor for scikit-learn.

    It wraps a `river_amf.AMFRegressor`, available as `model_`. Given the same rows in the same
    order, both make the same predictions, down to the last bit. The order of the rows matters
    because the forest learns online.

    Parameters
    ----------
    n_estimators, step, use_aggregation, max_nodes
        As in `river_amf.AMFRegressor`.
    random_state
        Seed for reproducible results: an integer >= 0, a numpy `RandomState`, or `None` for numpy's
        global one. From the latter two, an integer seed is drawn whenever training starts.
    split_prior, max_categories, max_bytes, split_intensity, fading_factor
        As in `river_amf.AMFRegressor`.
    vote, trend, on_mismatch
        As in `river_amf.AMFRegressor`.
    n_jobs
        Number of threads; -1 means one per core, and `None` means 1, as elsewhere in scikit-learn.
        It does not affect the results and may be changed at any time.

    Attributes
    ----------
    model_ : river_amf.AMFRegressor
        The wrapped forest, for use with `river_amf.inspection`. The estimator does not notice
        anything that you let it learn directly, and cannot be saved once it has learned columns
        that the estimator does not know.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features. Defined only if X was a dataframe whose column names are strings.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The decrease of the targets' variance that the splits on each feature bring; they sum to 1.

    Notes
    -----
    Parameters are checked when training starts. After that, `partial_fit` rejects a change of any
    parameter but `n_jobs`; `fit` starts over.

    There is no `predict(X, return_std=True)`: the forest predicts mixtures of Student's t
    distributions, some of which have no finite variance. `predict_interval` has calibrated
    quantiles instead.

    Any thread may make any call at any time. Predictions, copies and `save` run beside each other;
    `fit` and `partial_fit` have the estimator to themselves. If an exception from a signal handler
    or a lack of memory ends `fit`, the estimator is as it was; after `partial_fit`, it has learned
    all rows up to one, perhaps none.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from river_amf.sklearn import AMFRegressor

    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(cross_val_score(AMFRegressor(random_state=1), X, y).mean() > 0.3)
    True
    """

    _file_kind = "sklearn.AMFRegressor"
    _river = regressor.AMFRegressor

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        step: float = 1.0,
        use_aggregation: bool = True,
        max_nodes: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        split_prior: float = 0.5,
        max_categories: int | None = None,
        max_bytes: int | None = None,
        split_intensity: str = "range",
        fading_factor: float | None = None,
        vote: str = "mean",
        trend: str | None = None,
        on_mismatch: str = "raise",
        n_jobs: int | None = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.step = step
        self.use_aggregation = use_aggregation
        self.max_nodes = max_nodes
        self.random_state = random_state
        self.split_prior = split_prior
        self.max_categories = max_categories
        self.max_bytes = max_bytes
        self.split_intensity = split_intensity
        self.fading_factor = fading_factor
        self.vote = vote
        self.trend = trend
        self.on_mismatch = on_mismatch
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # An R^2 below 0.5 for 200 rows that depend on one of ten features, which without relevance
        # are all split alike.
        tags.regressor_tags.poor_score = self.split_intensity != "relevance"
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
            polars, pyarrow or any other library that narwhals supports. Values are numbers or
            categories (strings and other hashable objects); None and NaN are missing values. The
            columns of an array are the features 0, 1, ...
        y
            Array-like of shape (n_samples,) with the targets: finite numbers.

        Returns
        -------
        AMFRegressor
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter, X or y is invalid; infinite values and sparse matrices are not
            supported. The estimator is left unchanged.

        Examples
        --------
        >>> from river_amf.sklearn import AMFRegressor
        >>> AMFRegressor(random_state=1).fit([[1.0], [4.0]], [12.5, 12.5]).predict([[1.2]])
        array([12.5])
        """
        return self._fit(X, y, None)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows, in the given order.

        Parameters
        ----------
        X, y
            Rows of shape (n_samples, n_features) and targets of shape (n_samples,), as in `fit`.
        sample_weight
            Array-like of shape (n_samples,) with weights from 0 to 1e300, by default all 1. Rows of
            weight 0 have no effect.

        Returns
        -------
        AMFRegressor
            The estimator itself.

        Raises
        ------
        TypeError, ValueError
            As in `fit`; also if a parameter other than `n_jobs` has changed since the last call, or
            if all weights are zero in the first call. The estimator is left unchanged.

        Examples
        --------
        >>> from river_amf.sklearn import AMFRegressor
        >>> model = AMFRegressor(random_state=1).partial_fit([[1.0], [4.0]], [10.0, 20.0])
        >>> before = model.predict([[4.0]])
        >>> model = model.partial_fit([[4.0], [4.0]], [30.0, 30.0], sample_weight=[1.0, 2.0])
        >>> bool(model.predict([[4.0]]) > before)
        True
        """
        return self._fit_more(X, y, sample_weight)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each row.

        Parameters
        ----------
        X
            Array or dataframe of shape (n_samples, n_features), as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions, in the unit of the target.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator has not learned anything yet.
        TypeError, ValueError
            If X is invalid or has different features.

        Examples
        --------
        >>> from river_amf.sklearn import AMFRegressor
        >>> model = AMFRegressor(random_state=1).fit([[1.0, "red"], [4.0, None]], [3.0, 3.0])
        >>> model.predict([[None, "red"]])
        array([3.])
        """
        return self._lock.read(self._settle, self._predict, X)

    def _predict(self, X: Any) -> NDArray[np.float64]:
        model, frame = self._fitted_model(), self._read_to_predict(X)
        predicted: NDArray[np.float64] = model._predictions(
            model._predict_block(frame), True
        ).prediction
        return predicted

    def predict_interval(self, X: Any, level: float = 0.9) -> NDArray[np.float64]:
        """Predict an interval for the target of each row, to contain a given share of them.

        The width follows from how sure the forest is of each prediction and from its recent errors,
        so that intervals keep their level through a drift. Expect them to do so after a few hundred
        rows.

        Parameters
        ----------
        X
            Array or dataframe of shape (n_samples, n_features), as in `fit`.
        level
            Share of the targets that the intervals should contain, strictly between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends of the intervals, in the unit of the target.

        Raises
        ------
        sklearn.exceptions.NotFittedError, TypeError
            As in `predict`.
        ValueError
            As in `predict`, and if the level does not lie between 0 and 1.

        Examples
        --------
        >>> import numpy as np
        >>> from river_amf.sklearn import AMFRegressor

        >>> rng = np.random.default_rng(1)
        >>> X = rng.random((2000, 1))
        >>> y = 10 * X[:, 0] + rng.normal(size=2000)
        >>> model = AMFRegressor(random_state=1).fit(X[:1500], y[:1500])
        >>> lower, upper = model.predict_interval(X[1500:], level=0.8).T
        >>> bool(0.75 < np.mean((lower <= y[1500:]) & (y[1500:] <= upper)) < 0.85)
        True
        """
        return self._lock.read(self._settle, self._predict_interval, X, level)

    def _predict_interval(self, X: Any, level: float) -> NDArray[np.float64]:
        regressor.check_level("level", level)
        model, frame = self._fitted_model(), self._read_to_predict(X)
        answers = model._predict_block(frame, float(level))
        _, *ends = model._predictions(answers, True, has_intervals=True)
        return np.stack(ends, axis=1)

    def _read(self, X: Any, y: Any, sample_weight: Any, *, is_first: bool, **of_task: Any) -> Rows:
        rows = super()._read(X, y, sample_weight, is_first=is_first)
        if is_first:
            check_some_weight(rows[-1], "sample_weight is zero everywhere")
        return rows

    def _read_targets(self, y: Any) -> NDArray[Any]:
        return read_numbers(y)


class AdaptiveAMFRegressor(AMFRegressor):
    """Aggregated Mondrian Forest regressor for data that drifts, for scikit-learn.

    It is an `AMFRegressor` with the defaults of `river_amf.AdaptiveAMFRegressor`, which it wraps as
    `model_`. Later rows count more than earlier ones, so do not shuffle them.

    Parameters
    ----------
    n_estimators, step, use_aggregation, random_state, max_bytes, on_mismatch, n_jobs
        As in `AMFRegressor`.
    max_nodes, split_prior, max_categories, split_intensity, fading_factor, vote, trend
        As in `AMFRegressor`, with the defaults of `river_amf.AdaptiveAMFRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from river_amf.sklearn import AdaptiveAMFRegressor

    >>> X = np.random.default_rng(1).random((1000, 2))
    >>> y = 10 * X[:, 0]
    >>> y[500:] = 10 - y[500:]  # an abrupt drift
    >>> model = AdaptiveAMFRegressor(random_state=1).fit(X, y)
    >>> model.score(X[500:], y[500:]) > 0.8
    True
    """

    _file_kind = "sklearn.AdaptiveAMFRegressor"
    _river = regressor.AdaptiveAMFRegressor

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        step: float = 1.0,
        use_aggregation: bool = True,
        max_nodes: int | None = 5000,
        random_state: int | np.random.RandomState | None = None,
        split_prior: float = 0.7,
        max_categories: int | None = 5000,
        max_bytes: int | None = None,
        split_intensity: str = "relevance",
        fading_factor: float | None = 0.5,
        vote: str = "learned",
        trend: str | None = "ridge",
        on_mismatch: str = "raise",
        n_jobs: int | None = 1,
    ) -> None:
        super().__init__(
            n_estimators=n_estimators,
            step=step,
            use_aggregation=use_aggregation,
            max_nodes=max_nodes,
            random_state=random_state,
            split_prior=split_prior,
            max_categories=max_categories,
            max_bytes=max_bytes,
            split_intensity=split_intensity,
            fading_factor=fading_factor,
            vote=vote,
            trend=trend,
            on_mismatch=on_mismatch,
            n_jobs=n_jobs,
        )
