"""A model for each key: one for each user, sensor or shop, in bounded memory."""

from river_amf.keyed.models import KeyedClassifier, KeyedRegressor

__all__ = ["KeyedClassifier", "KeyedRegressor"]
