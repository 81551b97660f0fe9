"""Test-then-train evaluation of models. Provisional: its names may change in later releases.

`BUNDLED` has the names of river's datasets, `STREAMS` streams that drift by name, and `TRACKS`
these names by the kind of drift.
"""

from river_amf.evaluation.comparison import Comparison, compare, report
from river_amf.evaluation.loading import load_stream
from river_amf.evaluation.streams import Stream
from river_amf.evaluation.tracks import BUNDLED, STREAMS, TRACKS
from river_amf.evaluation.usage_errors import EvaluationError
from river_amf.pages.report_page import Report

__all__ = ["BUNDLED", "STREAMS", "TRACKS", "Comparison", "EvaluationError", "Report", "Stream"]
__all__ += ["compare", "load_stream", "report"]
