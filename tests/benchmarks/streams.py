"""What the scripts of this folder share: the real streams, options, and rows of tables.

The streams are those that river bundles, and the files of a folder, which `origins.py` makes.
"""

import argparse
import functools
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from river_amf.evaluation import BUNDLED, STREAMS, Stream, load_stream

HERE = Path(__file__).resolve().parent

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
        print(f"left out, not in {data}: {', '.join(missing)}", file=sys.stderr)
    return there


@functools.cache
def load(name: str, data: Path, limit: int | None = None) -> Stream:
    """Load a stream by name; in a file every column of text is a category."""
    path = file_of(name, data)
    if path is None:
        return load_stream(name, limit=limit)
    stream = load_stream(str(path), categorical=CODES.get(name, ()), limit=limit)
    return Stream(name, list(stream.samples))  # so that reading is not timed


def frame_of(name: str, data: Path, limit: int | None = None) -> tuple[pd.DataFrame, pd.Series]:
    """Load a stream as a dataframe and its labels."""
    samples = load(name, data, limit)
    return pd.DataFrame([x for x, _ in samples]), pd.Series([y for _, y in samples])


def as_numbers(stream: Stream) -> Stream:
    """Turn codes back into numbers: river's forest takes no categories."""
    samples = [({name: float(value) for name, value in x.items()}, y) for x, y in stream]
    return Stream(stream.name, samples)


def make_parser(doc: str, streams: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return a parser that shows a docstring as its help, with `--data` and maybe `--streams`."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=doc, formatter_class=kind)
    folder = "the folder of the streams that origins.py makes (default: tests/benchmarks/data)"
    parser.add_argument("--data", type=Path, default=HERE / "data", metavar="FOLDER", help=folder)
    if streams:
        add_names(parser, "--streams", streams, streams)
    return parser


def add_names(
    parser: argparse.ArgumentParser, option: str, known: Sequence[str], default: Sequence[str]
) -> None:
    """Add an option that takes some of the names."""
    names = f"of {', '.join(known)}" + (" (default: all)" if [*default] == [*known] else "")
    parser.add_argument(
        option, nargs="+", choices=known, default=list(default), metavar="NAME", help=names
    )


def add_seeds(parser: argparse.ArgumentParser) -> None:
    """Add the option `--seeds`."""
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="default: 1 2 3")


def print_row(cells: Iterable[object]) -> None:
    """Print a row of a table in Markdown."""
    texts = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells)
    print(f"| {' | '.join(texts)} |", flush=True)


def print_header(*names: str) -> None:
    """Print the head of a table."""
    print_row(names)
    print(f"|{'---|' * len(names)}", flush=True)
