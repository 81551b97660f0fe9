"""A model for each key: one for each user, sensor or shop, in bounded memory.

`KeyedClassifier` and `KeyedRegressor` make a river model for each key that comes along, send each
sample or row to the model of its key, and keep the models that are rarely used in a folder.
"""

from river_amf.keyed.models import KeyedClassifier, KeyedRegressor

__all__ = ["KeyedClassifier", "KeyedRegressor"]
