"""Aggregated Mondrian Forests for river, with a compiled core."""

from river_amf import inspection
from river_amf._version import __version__
from river_amf.dummy import OnlineDummyClassifier
from river_amf.forest import AdaptiveAMFClassifier, AMFClassifier
from river_amf.persistence import load, save

__all__ = [
    "AMFClassifier",
    "AdaptiveAMFClassifier",
    "OnlineDummyClassifier",
    "__version__",
    "inspection",
    "load",
    "save",
]
