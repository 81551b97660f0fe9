"""Test-then-train evaluation: streams, tracks, the evaluation loop and model comparison."""

from river_amf.evaluation.comparison import Comparison, compare
from river_amf.evaluation.errors import EvaluationError
from river_amf.evaluation.history import DriftHistory, depth_history, drift_history
from river_amf.evaluation.importance import importance_history
from river_amf.evaluation.intervals import interval_history
from river_amf.evaluation.progressive import iter_progressive_val_score, progressive_val_score
from river_amf.evaluation.report import Report, report
from river_amf.evaluation.streams import Stream, load_stream
from river_amf.evaluation.tracks import BUNDLED, STREAMS, TRACKS, DriftStream, load_track

__all__ = [
    "BUNDLED",
    "STREAMS",
    "TRACKS",
    "Comparison",
    "DriftHistory",
    "DriftStream",
    "EvaluationError",
    "Report",
    "Stream",
    "compare",
    "depth_history",
    "drift_history",
    "importance_history",
    "interval_history",
    "iter_progressive_val_score",
    "load_stream",
    "load_track",
    "progressive_val_score",
    "report",
]
