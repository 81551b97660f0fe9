"""The classic models of stream learning by name, as river models that are ready to run.

Each takes the same input as the forests: dicts of numbers, booleans and categories, with missing
values, new features and new labels. They are river's own models, or scikit-learn's and Keras's,
behind scalers and encoders where they need them. `classifiers` and `regressors` return them by
name; `DESCRIPTIONS` and `REGRESSOR_DESCRIPTIONS` have a few words on each.
"""

from river_amf.baselines.river_models import (
    DESCRIPTIONS,
    REGRESSOR_DESCRIPTIONS,
    classifiers,
    regressors,
)

__all__ = ["DESCRIPTIONS", "REGRESSOR_DESCRIPTIONS", "classifiers", "regressors"]
