"""What the scripts of this folder share: the real streams, options, and rows of tables.

The streams are those that river bundles, and the files of a folder, which `origins.py` makes.
"""

import argparse
import functools
import importlib.metadata
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from river_amf.evaluation import BUNDLED, STREAMS, Stream, load_stream

HERE = Path(__file__).resolve().parent

CODES = {  # columns that hold codes, not quantities
    "elec2": ["day"],
    "airlines": ["DayOfWeek"],
    "bank": ["day", "campaign"],
    "car": ["doors", "persons"],
}
NAMES = "elec2 weather adult bank car letter satimage keystroke rialto gmsc phishing_websites spam"
DATA = dict.fromkeys(NAMES.split(), 50_000) | {"spam": 8_000}  # streams that may drift, and rows


def file_of(name: str, data: Path) -> Path | None:
    """Return the file of a stream, None if it needs none."""
    return None if name in BUNDLED or name in STREAMS else data / f"{name}.csv.gz"


def available(names: Iterable[str], data: Path) -> list[str]:
    """Return the streams that can be loaded; one line on stderr lists the others."""
    there, missing = [], []
    for name in names:
        path = file_of(name, data)
        (there if path is None or path.exists() else missing).append(name)
    if missing:
        print(f"left out, not in {data}: {', '.join(missing)}", file=sys.stderr)
    return there


@functools.cache
def load(name: str, data: Path, limit: int | None = None, task: str | None = None) -> Stream:
    """Load a stream by name; in a file every column of text is a category."""
    path = file_of(name, data)
    if path is None:
        return load_stream(name, limit=limit)
    stream = load_stream(str(path), categorical=CODES.get(name, ()), limit=limit, task=task)
    return Stream(name, list(stream.samples))  # so that reading is not timed


def frame_of(
    name: str, data: Path, limit: int | None = None, task: str | None = None
) -> tuple[pd.DataFrame, pd.Series]:
    """Load a stream as a dataframe and its labels or targets."""
    samples = load(name, data, limit, task)
    return pd.DataFrame([x for x, _ in samples]), pd.Series([y for _, y in samples])


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
    parser: argparse.ArgumentParser, option: str, names: Sequence[str], default: Sequence[str]
) -> None:
    text = f"of {', '.join(names)}" + (" (default: all)" if [*default] == [*names] else "")
    parser.add_argument(
        option, nargs="+", choices=names, default=list(default), metavar="NAME", help=text
    )


def add_seeds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="default: 1 2 3")


def begin(parser: argparse.ArgumentParser, argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments of a script, after a line about what is measured."""
    arguments = parser.parse_args(argv)
    print(f"Measured with {versions()}.\n", flush=True)
    return arguments


def print_row(cells: Iterable[object]) -> None:
    texts = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells)
    print(f"| {' | '.join(texts)} |", flush=True)


def versions() -> str:
    """Name all that a figure may depend on."""
    git = functools.partial(subprocess.run, capture_output=True, text=True, check=False, cwd=HERE)
    commit = git(["git", "describe", "--always"]).stdout.strip()
    commit += ", changed" * bool(git(["git", "status", "--porcelain", ":/*.py"]).stdout)
    packages = ("river", "numpy", "numba")
    named = [f"{package} {importlib.metadata.version(package)}" for package in packages]
    return "; ".join([f"python {platform.python_version()}", *named, f"commit {commit}"])


def print_header(*names: str) -> None:
    print_row(names)
    print(f"|{'---|' * len(names)}", flush=True)
