"""The real streams of the benchmarks: those that river bundles, and the files of a folder.

`origins.py` makes the files.
"""

import functools
import shlex
from collections.abc import Iterable
from pathlib import Path

import command
import pandas as pd

from river_amf.evaluation import BUNDLED, STREAMS, EvaluationError, Stream, load_stream

# columns that hold codes, not quantities
CODES = {
    "elec2": ["day"],
    "airlines": ["DayOfWeek"],
    "bank": ["day", "campaign"],
    "car": ["doors", "persons"],
}


ROWS = 50_000
DATA = {  # of those that may drift, as many rows as are run
    "elec2": ROWS,
    "weather": ROWS,
    "adult": ROWS,
    "bank": ROWS,
    "car": ROWS,
    "letter": ROWS,
    "satimage": ROWS,
    "keystroke": ROWS,
    "rialto": ROWS,
    "gmsc": ROWS,
    "phishing_websites": ROWS,
    "spam": 8_000,
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
        command.print_line(f"left out, not in {data}: {files} (to make: {make})")
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


def frame_of(name: str, data: Path, limit: int | None = None) -> tuple[pd.DataFrame, pd.Series]:
    """Load a stream as a dataframe and its labels."""
    samples = load(name, data, limit)
    return pd.DataFrame([x for x, _ in samples]), pd.Series([y for _, y in samples])


def as_numbers(stream: Stream) -> Stream:
    """Turn codes back into numbers: river's forest takes no categories."""
    samples = [({name: float(value) for name, value in x.items()}, y) for x, y in stream]
    return Stream(stream.name, len(samples), stream.n_numeric, stream.n_categorical, samples)
