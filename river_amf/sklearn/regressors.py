"""The regressors for scikit-learn: their parameters, documentation and methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import narwhals.stable.v2 as nw
from sklearn.base import RegressorMixin

from river_amf import regressor
from river_amf.sklearn.checks import checked_targets
from river_amf.sklearn.estimators import Floats, ForestEstimator


class AMFRegressor(RegressorMixin, ForestEstimator):
    """Aggregated Mondrian Forest regressor for scikit-learn.

    It wraps a `river_amf.AMFRegressor`. With `shuffle=False`, both make the same predictions.

    Parameters
    ----------
    random_state, n_jobs, shuffle
        As in `AMFClassifier`.
    other parameters
        As in `river_amf.AMFRegressor`.

    Attributes
    ----------
    model_ : river_amf.AMFRegressor
        The wrapped forest, for use with `river_amf.inspection`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from river_amf.sklearn import AMFRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(cross_val_score(AMFRegressor(random_state=1), X, y).mean() > 0.25)
    True
    """

    _river = regressor.AMFRegressor
    _read_targets = staticmethod(checked_targets)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # R^2 below 0.5 where one of ten features matters: without relevance all are split alike
        tags.regressor_tags.poor_score = self.split_intensity != "relevance"
        return tags

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows, as `AMFClassifier.partial_fit` does, but with numbers as in `fit`.

        Examples
        --------
        >>> from river_amf.sklearn import AMFRegressor
        >>> AMFRegressor().partial_fit([[1.0]], [12.5]).predict([[2.0]])
        array([12.5])
        """
        return self._learn(X, y, sample_weight)

    def predict(
        self, X: Any, interval: float | None = None, quantiles: Sequence[float] | None = None
    ) -> Any:
        """Predict the target of each row, optionally with intervals or quantiles.

        Parameters
        ----------
        X
            As in `fit`.
        interval
            Share of all targets within their interval, such as 0.9, from a few hundred rows on.
            Each interval contains the prediction.
        quantiles
            Probabilities with which the target does not exceed each quantile, such as [0.1, 0.5].

        Returns
        -------
        array or tuple
            The predictions, of shape (n_samples,), in the unit of the target. With `interval` or
            `quantiles` a tuple of these and the ends, of shape (n_samples, 2), or the quantiles,
            one column for each. Pipelines pass both parameters on.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from river_amf.sklearn import AMFRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> prediction, ends = AMFRegressor(random_state=1).fit(X, y).predict(X, interval=0.8)
        >>> prediction.shape, ends.shape
        ((442,), (442, 2))
        """
        if interval is not None and quantiles is not None:
            raise ValueError("predict takes interval or quantiles, got both; call it twice")
        if interval is not None:
            regressor.check_level("interval", interval)
        for q in () if quantiles is None else quantiles:
            regressor.check_level("quantiles", q)
        model, rows = self._fitted_model(), self._read(X)
        [ends] = model._predict_rows(rows, [interval or 0.0])
        if interval is not None:
            return ends[0], regressor.intervals(ends)
        if quantiles is not None:
            frame = nw.from_native(model.predict_quantile_many(rows, [*quantiles]))
            return ends[0], frame.to_numpy()
        return ends[0]

    def predict_interval(self, X: Any, level: float = regressor.LEVEL) -> Floats:
        """Predict an interval for each row: the lower and upper ends, of shape (n_samples, 2).

        They are those of `predict(X, interval=level)`, which describes them.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from river_amf.sklearn import AMFRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> low, high = AMFRegressor(random_state=1).fit(X, y).predict_interval(X, level=0.8).T
        >>> bool(((low <= y) & (y <= high)).mean() > 0.7)
        True
        """
        regressor.check_level("level", level)
        ends: Floats = self.predict(X, interval=level)[1]
        return ends


class AdaptiveAMFRegressor(AMFRegressor):
    """Aggregated Mondrian Forest regressor for data that drifts, for scikit-learn.

    It is an `AMFRegressor` with the defaults of `river_amf.AdaptiveAMFRegressor`, which it wraps as
    `model_`. Later rows count more than earlier ones: `fit` shuffles them, so set `shuffle=False`
    if their order is that of a stream.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from river_amf.sklearn import AdaptiveAMFRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdaptiveAMFRegressor(random_state=1).fit(X, y).score(X, y) > 0.4
    True
    """

    _river = regressor.AdaptiveAMFRegressor
