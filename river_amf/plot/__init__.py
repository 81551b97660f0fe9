"""Plots with matplotlib 3.8 or later, and a page.

Every function draws on the axes it is given, or on those of a new figure, and returns the axes; but
`playground` returns a page with a slider, which takes plotly.
"""

from river_amf.playground import playground
from river_amf.plot.histories import drift, fading_share, relevance, weighted_depth
from river_amf.plot.importances import importance, importance_history
from river_amf.plot.intervals import intervals
from river_amf.plot.models import accuracy_and_time, comparison, learning_curves
from river_amf.plot.regression import regression_surface
from river_amf.plot.surfaces import decision_surface
from river_amf.plot.trees import tree

__all__ = [
    "accuracy_and_time",
    "comparison",
    "decision_surface",
    "drift",
    "fading_share",
    "importance",
    "importance_history",
    "intervals",
    "learning_curves",
    "playground",
    "regression_surface",
    "relevance",
    "tree",
    "weighted_depth",
]
