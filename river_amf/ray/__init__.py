"""Models over several processes. Provisional: its names may change in later releases.

Forests and keyed models run on one machine or several, with Ray 2.51 or later.
"""

try:
    from ray import remote as _remote  # noqa: F401  a folder of this name is not Ray
except ImportError as error:
    raise ImportError(
        'river_amf.ray needs Ray 2.51 or later: pip install "ray>=2.51"', name="ray"
    ) from error

from river_amf.ray.distributed import DistributedForest
from river_amf.ray.keyed_models import DistributedKeyedClassifier, DistributedKeyedRegressor

__all__ = ["DistributedForest", "DistributedKeyedClassifier", "DistributedKeyedRegressor"]
