"""Plots with matplotlib 3.8 or later.

Every function draws on `ax`, or in a new figure, and returns the axes.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError(
        'river_amf.plot needs matplotlib: pip install "matplotlib>=3.8"', name="matplotlib"
    ) from error

from river_amf.plot.charts import comparison, contributions, importance
from river_amf.plot.surfaces import decision_surface
from river_amf.plot.trees import tree

__all__ = ["comparison", "contributions", "decision_surface", "importance", "tree"]
