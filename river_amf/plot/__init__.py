"""Plots with matplotlib 3.8 or later.

Every function draws on the axes it is given, or on those of a new figure, and returns the axes. An
argument of another type than the function says raises TypeError, and there is a ValueError if there
is nothing to draw, or a number or the number of axes does not fit.
"""

from river_amf.plot.forest_views import importance, tree
from river_amf.plot.histories import drift, fading_share, intervals, relevance, weighted_depth
from river_amf.plot.model_views import accuracy_and_time, comparison, learning_curves
from river_amf.plot.surfaces import decision_surface, regression_surface

__all__ = [
    "accuracy_and_time",
    "comparison",
    "decision_surface",
    "drift",
    "fading_share",
    "importance",
    "intervals",
    "learning_curves",
    "regression_surface",
    "relevance",
    "tree",
    "weighted_depth",
]
