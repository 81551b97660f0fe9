"""Aggregated Mondrian Forests (AMF) for river, with a compiled core.

`AMFClassifier` is the forest of the paper, and `AMFRegressor` the same forest for numbers, with
prediction intervals. `AdaptiveAMFClassifier` and `AdaptiveAMFRegressor` are the same with defaults
for streams that drift. `OnlineDummyClassifier` predicts the label frequencies as a baseline. `save`
and `load` write models to files and read them back, `inspection` shows the inside of a forest as
tables, `warm_up` compiles everything beforehand, and a `PackedSample` waits for its label or target
in little memory. `MismatchWarning` is the warning that forests give of values of the wrong kind.
"""

from river_amf import _startup as _startup  # isort: skip  # before the imports that take long
import logging

from river_amf import inspection
from river_amf._version import __version__
from river_amf.classifier import AdaptiveAMFClassifier, AMFClassifier
from river_amf.dummy import OnlineDummyClassifier
from river_amf.kernels import warm_up
from river_amf.mismatch import MismatchWarning
from river_amf.persistence import load, save
from river_amf.regressor import AdaptiveAMFRegressor, AMFRegressor
from river_amf.waiting import PackedSample

__all__ = [
    "AMFClassifier",
    "AMFRegressor",
    "AdaptiveAMFClassifier",
    "AdaptiveAMFRegressor",
    "MismatchWarning",
    "OnlineDummyClassifier",
    "PackedSample",
    "__version__",
    "inspection",
    "load",
    "save",
    "warm_up",
]

# Silent unless the program sets logging up.
logging.getLogger(__name__).addHandler(logging.NullHandler())
