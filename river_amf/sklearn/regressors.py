"""The regressors for scikit-learn: their parameters, documentation and methods."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import RegressorMixin

from river_amf import regressor
from river_amf.sklearn.checks import checked_targets
from river_amf.sklearn.estimators import Floats, ForestEstimator, reading

__all__ = ["AMFRegressor", "AdaptiveAMFRegressor"]


class AMFRegressor(RegressorMixin, ForestEstimator):
    """Aggregated Mondrian Forest regressor for scikit-learn.

    It wraps a `river_amf.AMFRegressor`, available as `model_`. Given the same rows in the same
    order, both make the same predictions, down to the last bit. The order of the rows matters
    because the forest learns online.

    Attributes
    ----------
    model_ : river_amf.AMFRegressor
        The wrapped forest, for use with `river_amf.inspection`.
    n_features_in_, feature_names_in_
        As of any estimator of scikit-learn.

    Notes
    -----
    There is no `predict(X, return_std=True)`: the forest predicts mixtures of Student's t
    distributions, some of which have no finite variance. `predict_interval` has calibrated
    quantiles instead.

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
    _read_targets = staticmethod(checked_targets)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # An R^2 below 0.5 for 200 rows that depend on one of ten features, which without relevance
        # are all split alike.
        tags.regressor_tags.poor_score = self.split_intensity != "relevance"
        return tags

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows, as `AMFClassifier.partial_fit` does, but with numbers as in `fit`.

        Examples
        --------
        >>> from river_amf.sklearn import AMFRegressor
        >>> model = AMFRegressor(random_state=1).partial_fit([[1.0], [4.0]], [10.0, 20.0])
        >>> before = model.predict([[4.0]])
        >>> model = model.partial_fit([[4.0], [4.0]], [30.0, 30.0], sample_weight=[1.0, 2.0])
        >>> bool(model.predict([[4.0]]) > before)
        True
        """
        return self._lock.run(self._learn, X, y, sample_weight)

    def _predict(self, X: Any) -> Floats:
        table, model = self._read_to_predict(X), self.model_
        predicted: Floats = model._predictions(model._predict_block(table), True, None).prediction
        return predicted

    @reading
    def predict_interval(self, X: Any, level: float = 0.9) -> Floats:
        """Predict lower and upper ends (n_samples, 2) of intervals, in the unit of the target.

        They should contain the share `level` of the targets, strictly between 0 and 1. The width
        follows from how sure the forest is of each prediction and from its recent errors, so that
        intervals keep their level through a drift. Expect them to do so after a few hundred rows.

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
        regressor.check_level("level", level)
        table, model = self._read_to_predict(X), self.model_
        ends: Floats = model._interval_block(table, float(level))
        return ends


class AdaptiveAMFRegressor(AMFRegressor):
    """Aggregated Mondrian Forest regressor for data that drifts, for scikit-learn.

    It is an `AMFRegressor` with the defaults of `river_amf.AdaptiveAMFRegressor`, which it wraps as
    `model_`. Later rows count more than earlier ones, so do not shuffle them.

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
