"""The real streams of the benchmarks: those that river bundles, and the files of a folder.

`origins.py` makes the files.
"""

import functools
import shlex
from collections.abc import Iterable
from pathlib import Path

import command

from river_amf.evaluation import BUNDLED, STREAMS, EvaluationError, Stream, load_stream

# columns that hold codes, not quantities
CODES = {
    "elec2": ["day"],
    "airlines": ["DayOfWeek"],
    "bank": ["day", "campaign"],
    "car": ["doors", "persons"],
}


def file_of(name: str, data: Path) -> Path | None:
    """Return the file of a stream, None if it needs none."""
    return None if name in BUNDLED or name in STREAMS else data / f"{name}.csv.gz"


def available(names: Iterable[str], data: Path) -> list[str]:
    """Return the streams that can be loaded; one line on stderr is about all others."""
    there, missing = [], []
    for name in names:
        path = file_of(name, data)
        (there if path is None or path.exists() else missing).append(name)
    if missing:
        files = ", ".join(f"{name}.csv.gz" for name in missing)
        script = "tests/benchmarks/origins.py"
        options = ["--from", "FOLDER_OF_THE_CLONES", "--data", str(data)]
        make = shlex.join(["python", script, *missing, *options])
        command.say(f"left out, not in {data}: {files} (to make: {make})")
    return there


@functools.cache
def load(name: str, data: Path, limit: int | None = None) -> Stream:
    """Load a stream by name; in a file every column of text is a category."""
    path = file_of(name, data)
    if path is None:
        return load_stream(name, limit=limit)
    try:
        stream = load_stream(str(path), categorical=CODES.get(name, ()), limit=limit)
    except EvaluationError as error:
        raise command.Failed(str(error)) from error
    samples = list(stream.samples)  # so that reading is not timed
    return Stream(name, len(samples), stream.n_numeric, stream.n_categorical, samples)
