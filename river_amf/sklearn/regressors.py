"""The regressors for scikit-learn: their parameters, documentation and methods."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from river_amf import regressor
from river_amf.sklearn.checks import checked_targets
from river_amf.sklearn.estimators import Floats, ForestEstimator, reading

__all__ = ["AMFRegressor", "AdaptiveAMFRegressor"]


class AMFRegressor(RegressorMixin, ForestEstimator):
    """Aggregated Mondrian Forest regressor for scikit-learn.

    It wraps a `river_amf.AMFRegressor`, available as `model_`. With `shuffle=False`, both make the
    same predictions, down to the last bit.

    Attributes
    ----------
    model_ : river_amf.AMFRegressor
        The wrapped forest, for use with `river_amf.inspection`.
    n_features_in_, feature_names_in_
        As of any estimator of scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from river_amf.sklearn import AMFRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(cross_val_score(AMFRegressor(random_state=1), X, y).mean() > 0.25)
    True
    """

    _file_kind = "sklearn.AMFRegressor"
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
        >>> AMFRegressor(random_state=1).partial_fit([[1.0]], [12.5]).predict([[2.0]])
        array([12.5])
        """
        return self._lock.run(self._learn, X, y, sample_weight)

    @reading
    def predict(self, X: Any, interval: float | None = None, lower: float = -np.inf) -> Any:
        """Predict the target of each row; with `interval=0.9` also the ends of intervals.

        The ends have the shape (n_samples, 2) and the unit of the target. The prediction is within,
        and so is the share `interval` of all targets, drift or not, from a few hundred rows on; no
        end is below `lower`, such as 0.0 for counts. Pipelines pass both parameters on.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> from river_amf.sklearn import AMFRegressor
        >>> rng = np.random.default_rng(1)
        >>> X = rng.random((2000, 1))
        >>> y = 10 * X[:, 0] + rng.normal(size=2000)
        >>> model = make_pipeline(StandardScaler(), AMFRegressor(random_state=1))
        >>> prediction, ends = model.fit(X[:1500], y[:1500]).predict(X[1500:], interval=0.8)
        >>> lower, upper = ends.T
        >>> bool(0.75 < np.mean((lower <= y[1500:]) & (y[1500:] <= upper)) < 0.85)
        True
        """
        if interval is not None:
            regressor.check_level("interval", interval)
        bound = regressor.lower_bound(lower)
        frame = self._read_to_predict(X)
        answers = self.model_._predict_block(frame, float(interval or 0.0))
        found = self.model_._predictions(answers, True, interval)
        prediction = found.prediction
        return prediction if interval is None else (prediction, found.intervals().clip(bound))

    def predict_interval(self, X: Any, level: float = 0.9, lower: float = -np.inf) -> Floats:
        """Predict the ends of intervals alone: `predict(X, interval=level, lower=lower)[1]`.

        Examples
        --------
        >>> from river_amf.sklearn import AMFRegressor
        >>> AMFRegressor(random_state=1).fit([[1.0], [4.0]], [5.0, 5.0]).predict_interval([[2.0]])
        array([[5., 5.]])
        """
        regressor.check_level("level", level)
        ends: Floats = self.predict(X, level, lower)[1]
        return ends


class AdaptiveAMFRegressor(AMFRegressor):
    """Aggregated Mondrian Forest regressor for data that drifts, for scikit-learn.

    It is an `AMFRegressor` with the defaults of `river_amf.AdaptiveAMFRegressor`, which it wraps as
    `model_`. Later rows count more than earlier ones: `fit` shuffles them, so set `shuffle=False`
    if their order is that of a stream.

    Examples
    --------
    >>> import numpy as np
    >>> from river_amf.sklearn import AdaptiveAMFRegressor
    >>> X = np.random.default_rng(1).random((1000, 2))
    >>> y = 10 * X[:, 0]
    >>> y[500:] = 10 - y[500:]  # an abrupt drift
    >>> model = AdaptiveAMFRegressor(shuffle=False, random_state=1).fit(X, y)
    >>> model.score(X[500:], y[500:]) > 0.8
    True
    """

    _file_kind = "sklearn.AdaptiveAMFRegressor"
    _river = regressor.AdaptiveAMFRegressor
