"""The inside of a forest as tables: nodes, paths, weights, importance and contributions.

Every function raises TypeError if the model is neither a forest nor a fitted estimator of
`river_amf.sklearn` with one.
"""

from river_amf.explain.contributions import contributions, contributions_many
from river_amf.explain.importance import feature_importance, feature_relevance
from river_amf.explain.linear_weights import linear_weights
from river_amf.explain.tables import node_table, path

__all__ = ["contributions", "contributions_many", "feature_importance", "feature_relevance"]
__all__ += ["linear_weights", "node_table", "path"]
