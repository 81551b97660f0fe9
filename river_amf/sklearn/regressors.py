"""The regressors for scikit-learn: their parameters, documentation and methods."""

from collections.abc import Sequence
from typing import Any, Self

import narwhals.stable.v2 as nw
from sklearn.base import RegressorMixin

from river_amf import regressor
from river_amf.sklearn.checks import checked_targets
from river_amf.sklearn.estimators import Floats, ForestEstimator


class AMFRegressor(RegressorMixin, ForestEstimator):
    """Aggregated Mondrian Forest regressor for scikit-learn.

    It wraps a `river_amf.AMFRegressor`, whose parameters it has, with `random_state`, `n_jobs` and
    `shuffle` as in `AMFClassifier`. `model_` is the wrapped forest.

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

        >>> AMFRegressor().partial_fit([[1.0]], [12.5]).predict([[2.0]])
        array([12.5])
        """
        return self._learn(X, y, sample_weight)

    def predict(
        self, X: Any, interval: float | None = None, quantiles: Sequence[float] | None = None
    ) -> Any:
        """Predict the target of each row, of shape (n_samples,), in the unit of the target.

        With `interval`, the share of all targets within their interval, such as 0.9, it returns a
        tuple of the predictions and the ends, of shape (n_samples, 2). Intervals hold from a few
        hundred rows on, and contain the prediction. With `quantiles` (not both, ValueError),
        probabilities with which the target does not exceed each, such as [0.1, 0.5], there is
        instead one column for each. Pipelines pass both on.

        >>> from sklearn.datasets import load_diabetes
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
        """Predict the ends of intervals (n_samples, 2), as `predict(X, interval=level)`.

        >>> from sklearn.datasets import load_diabetes
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

    It has the defaults of `river_amf.AdaptiveAMFRegressor`, which it wraps; for the order of rows
    see `AdaptiveAMFClassifier`.

    >>> from sklearn.datasets import load_diabetes
    >>> from river_amf.sklearn import AdaptiveAMFRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdaptiveAMFRegressor(random_state=1).fit(X, y).score(X, y) > 0.4
    True
    """

    _river = regressor.AdaptiveAMFRegressor
