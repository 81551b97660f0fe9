"""Plots with matplotlib 3.8 or later.

Every function draws on `ax`, or in a new figure, and returns the axes.
"""

from river_amf.plot.forest_views import importance, tree
from river_amf.plot.model_views import comparison
from river_amf.plot.surfaces import decision_surface

__all__ = ["comparison", "decision_surface", "importance", "tree"]
