"""Test-then-train evaluation: streams, tracks, the evaluation loop and model comparison."""

from river_amf.evaluation.comparison import Comparison, compare
from river_amf.evaluation.loading import load_stream
from river_amf.evaluation.metrics import Coverage, Width
from river_amf.evaluation.report import Report, report
from river_amf.evaluation.streams import Stream
from river_amf.evaluation.tracks import BUNDLED, STREAMS, TRACKS, DriftStream, load_track
from river_amf.evaluation.usage_errors import EvaluationError

__all__ = [
    "BUNDLED",
    "STREAMS",
    "TRACKS",
    "Comparison",
    "Coverage",
    "DriftStream",
    "EvaluationError",
    "Report",
    "Stream",
    "Width",
    "compare",
    "load_stream",
    "load_track",
    "report",
]
