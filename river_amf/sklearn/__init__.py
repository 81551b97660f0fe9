"""The forests as scikit-learn estimators; they need scikit-learn 1.6 or later.

Each estimator holds the river model of its name in `model_` and feeds it blocks of rows. Save it
with `pickle`, `joblib` or `skops`, as any estimator of scikit-learn.
"""

try:
    from sklearn.utils.validation import validate_data as _validate_data  # noqa: F401  of 1.6 and later
except ImportError as error:
    raise ImportError(
        'river_amf.sklearn needs scikit-learn 1.6 or later: pip install "scikit-learn>=1.6"',
        name="sklearn",
    ) from error

from river_amf.sklearn.classifiers import AdaptiveAMFClassifier, AMFClassifier
from river_amf.sklearn.regressors import AdaptiveAMFRegressor, AMFRegressor

__all__ = ["AMFClassifier", "AMFRegressor", "AdaptiveAMFClassifier", "AdaptiveAMFRegressor"]
