"""The classic models of stream learning by name, as river models that are ready to run.

They take the same input as the forests, behind scalers and encoders where they need them.
`DESCRIPTIONS` has a line about each, by its name.
"""

from river_amf.baselines.river_models import DESCRIPTIONS, classifiers, regressors

__all__ = ["DESCRIPTIONS", "classifiers", "regressors"]
