"""Test-then-train evaluation: streams and tracks, the loop over one, and models side by side.

Everything to evaluate with, from the modules that hold one part each.
"""

from river_amf.evaluation.comparison import Comparison, compare
from river_amf.evaluation.history import DriftHistory, depth_history, drift_history
from river_amf.evaluation.prequential import (
    Checkpoint,
    OnPrediction,
    even_checkpoints,
    iter_test_then_train,
    most_probable,
    warm_up,
)
from river_amf.evaluation.progressive import iter_progressive_val_score, progressive_val_score
from river_amf.evaluation.streams import (
    EvaluationError,
    Features,
    Label,
    Sample,
    Stream,
    load_stream,
    load_track,
    suggest,
)
from river_amf.evaluation.tracks import BUNDLED, STREAMS, TRACKS, DriftStream

__all__ = [
    "BUNDLED",
    "STREAMS",
    "TRACKS",
    "Checkpoint",
    "Comparison",
    "DriftHistory",
    "DriftStream",
    "EvaluationError",
    "Features",
    "Label",
    "OnPrediction",
    "Sample",
    "Stream",
    "compare",
    "depth_history",
    "drift_history",
    "even_checkpoints",
    "iter_progressive_val_score",
    "iter_test_then_train",
    "load_stream",
    "load_track",
    "most_probable",
    "progressive_val_score",
    "suggest",
    "warm_up",
]
