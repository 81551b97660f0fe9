"""The real streams of the benchmarks: those that river bundles, and those of ../shared/data."""

import functools
from pathlib import Path

from river_amf.evaluation import Stream, load_stream

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"

# columns that hold codes, not quantities
CODES = {
    "elec2": ["day"],
    "airlines": ["DayOfWeek"],
    "bank": ["day", "campaign"],
    "car": ["doors", "persons"],
}


@functools.cache
def load(name: str, limit: int | None = None) -> Stream:
    """Load a stream by name; in a file every column of text is a category."""
    path = SHARED / f"{name}.csv.gz"
    if not path.exists():
        return load_stream(name, limit=limit)
    stream = load_stream(str(path), categorical=CODES.get(name, ()), limit=limit)
    samples = list(stream.samples)  # so that reading is not timed
    return Stream(name, len(samples), stream.n_numeric, stream.n_categorical, samples)
