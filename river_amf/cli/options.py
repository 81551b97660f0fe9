"""Arguments that subcommands share, their parsing, and what is printed of a stream."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import warnings
from contextlib import suppress
from typing import Any

from river_amf import evaluation
from river_amf.evaluation import EvaluationError, Stream
from river_amf.evaluation.models import TASKS
from river_amf.evaluation.streams import ROWS
from river_amf.evaluation.table_files import LAYOUT
from river_amf.inputs.kinds import is_real, printable

_OF_FILES = (*LAYOUT, "drop", "text")
_MOST_WARNINGS = 5


def add_stream_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose the samples, the metrics and the page."""
    add = parser.add_argument
    names = ", ".join((*evaluation.BUNDLED, *evaluation.STREAMS))
    add(
        "stream",
        nargs="?",
        metavar="STREAM",
        default="Bananas",
        help="a CSV or ARFF file, or .parquet or .jsonl, gzipped if its name ends in .gz; - for"
        f" standard input; or a stream: {names} (default: Bananas)",
    )
    add(
        "--target",
        metavar="COLUMN",
        help="column to predict (default: 'target' if there is one, else the last column); rows"
        " in which it is missing are skipped",
    )
    add(
        "--task",
        choices=TASKS,
        help="classification predicts labels, regression numbers (default: regression if the target"
        " has fractions, or more than 50 distinct numbers in the first 1000 rows)",
    )
    names_of: Any = {"type": comma_separated, "default": [], "metavar": "A,B"}
    add("--categorical", help="columns of numbers to treat as categories", **names_of)
    add("--drop", help="columns to leave out", **names_of)
    add(
        "--text",
        metavar="COLUMN",
        help="a column to take apart into a bag of words, in which an absent word counts as 0, and"
        " so does a missing number",
    )
    add(
        "--missing",
        help="texts that mean a missing value, beside an empty field, ?, NA, nan, null and the"
        " like; --missing=-9,-99 if the first begins with a minus",
        **names_of,
    )
    add("--separator", metavar="CHAR", help="between fields (default: the best of , ; and tab)")
    add("--decimal", metavar="CHAR", help="before the fraction of a number (default: a point)")
    add("--thousands", metavar="CHAR", help="between the thousands of a number")
    add("--comment", metavar="CHAR", help="at the beginning of comments")
    add("--encoding", metavar="NAME", help="encoding of the file (default: utf-8)")
    add(
        "--no-header",
        action="store_true",
        help="the first row is a sample, and the columns are named 0, 1, 2 and so on",
    )
    add("--seed", type=int, metavar="N", default=1, help="(default: 1)")
    add(
        "--delay",
        type=int,
        default=0,
        metavar="N",
        help="number of predictions until the label of a sample comes (default: it comes at once)",
    )
    add("--limit", type=positive_int, metavar="N", help="use only the first N samples")
    add(
        "--metrics",
        help="additional river metrics for the task, such as MacroF1,CohenKappa or MAPE,SMAPE",
        **names_of,
    )
    add(
        "--html",
        metavar="FILE",
        help="write a page with figures along the stream, beside models that look at no features"
        " (needs the extra `html`)",
    )


def add_keep(parser: argparse.ArgumentParser) -> None:
    """Add the option that copies columns."""
    about = "columns to copy beside the predictions, such as an id"
    parser.add_argument("--keep", type=comma_separated, default=[], metavar="A,B", help=about)


def file_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of files that were given, by the names that `load_stream` has for them."""
    chosen = {name: getattr(arguments, name) for name in _OF_FILES}
    return {name: value for name, value in chosen.items() if value not in (None, False, [])}


def load_chosen(arguments: argparse.Namespace) -> Stream:
    """Return the chosen stream, and print notes about it."""
    options = {"task": arguments.task, "keep": getattr(arguments, "keep", ())}
    options |= file_options(arguments)
    with warnings.catch_warnings(record=True) as odd:
        warnings.simplefilter("always")
        stream = evaluation.load_stream(
            arguments.stream, arguments.target, arguments.categorical, arguments.limit, **options
        )
    for warning in odd[:_MOST_WARNINGS]:
        print_line(f"river-amf: {' '.join(str(warning.message).split())}")
    if len(odd) > _MOST_WARNINGS:
        print_line(f"river-amf: and {len(odd) - _MOST_WARNINGS} more such columns")
    return stream


def title_lines(stream: Stream, arguments: argparse.Namespace) -> list[str]:
    """Return lines about what was read, the other task, and the number of samples."""
    lines = [stream.describe()]
    first = {*stream.targets[:ROWS]}
    is_unclear = len(first) > 2 and all(map(is_real, first))
    if arguments.task is None and stream.target is not None and is_unclear:
        (other,) = {*TASKS} - {stream.task}
        lines += [f"{stream.task}, as these numbers suggest; or choose --task {other}"]
    more = " and those to come" * (stream.later is not None)
    return [*map(printable, lines), f"{printable(stream.name)}: {stream.n_samples} samples{more}"]


def comma_separated(text: str) -> list[str]:
    """Return the names in a comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def positive_int(text: str) -> int:
    """Parse a whole number from 1 on; the name of the function is in argparse's message."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def check_outputs(arguments: argparse.Namespace, *names: str) -> None:
    """Raise if the file of an option cannot be written, is the input, or is written twice."""
    paths = [arguments.stream]
    for name in names:
        if (path := getattr(arguments, name)) is None:
            continue
        if os.path.realpath(path) in map(os.path.realpath, paths):
            raise EvaluationError(f"--{name}: {path} is the input, or written by another option")
        if name == "html" and importlib.util.find_spec("plotly") is None:
            raise EvaluationError('--html needs plotly (the extra html): pip install "plotly>=6"')
        paths.append(path)
        is_new = not os.path.exists(path)
        open(path, "a").close()
        if is_new:
            os.remove(path)


def print_line(text: str) -> None:
    """Print a line on stderr, if it is open."""
    with suppress(OSError, ValueError):
        print(printable(text), file=sys.stderr, flush=True)
