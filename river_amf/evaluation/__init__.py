"""Test-then-train evaluation: streams, files, the evaluation loop, comparisons and reports."""

from river_amf.evaluation.comparison import Comparison, compare
from river_amf.evaluation.loading import load_stream
from river_amf.evaluation.report import Report, report
from river_amf.evaluation.streams import Stream
from river_amf.evaluation.tracks import BUNDLED, STREAMS, TRACKS
from river_amf.evaluation.usage_errors import EvaluationError

__all__ = [
    "BUNDLED",
    "STREAMS",
    "TRACKS",
    "Comparison",
    "EvaluationError",
    "Report",
    "Stream",
    "compare",
    "load_stream",
    "report",
]
