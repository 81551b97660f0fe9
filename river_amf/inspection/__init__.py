"""The inside of a forest as tables: nodes, paths, weights, and what features are worth.

Every function raises TypeError if the model is neither a forest nor a fitted estimator of
`river_amf.sklearn` with one.
"""

from river_amf.inspection.importance import feature_importance, feature_relevance
from river_amf.inspection.linear_weights import linear_weights
from river_amf.inspection.tables import node_table, path, tree_table

__all__ = [
    "feature_importance",
    "feature_relevance",
    "linear_weights",
    "node_table",
    "path",
    "tree_table",
]


def __dir__() -> list[str]:
    """List the functions, and not the modules that they are in."""
    return sorted(__all__)
