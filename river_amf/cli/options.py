"""Arguments that subcommands share, their parsing, and what is printed of a stream."""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from river_amf import evaluation
from river_amf.evaluation import EvaluationError, Stream, tasks
from river_amf.evaluation.streams import ROWS
from river_amf.inputs.kinds import is_real, printable

_OF_FILES = (
    *("missing", "separator", "encoding", "no_header", "decimal", "thousands", "comment"),
    *("drop", "text"),
)
_MOST_WARNINGS = 5
_FEW_LABELS = 3  # distinct ones, of which fewer can hardly be a quantity
_MAX_INTEGER = 2**31 - 1


def add_stream_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose the samples and the metrics."""
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
        choices=tasks.TASKS,
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
        help="texts that stand for a missing value, beside an empty field, ?, NA, nan, null and the"
        " like; --missing=-9,-99 if the first begins with a minus",
        **names_of,
    )
    character: Any = {
        "metavar": "CHAR",
        "type": lambda text: {"\\t": "\t", "tab": "\t"}.get(text, text),
    }
    add("--separator", help="between fields (default: the best of , ; and tab)", **character)
    add("--decimal", help="before the fraction of a number (default: a point)", **character)
    add("--thousands", help="between the thousands of a number", **character)
    add("--comment", help="at the beginning of comments", **character)
    add("--encoding", metavar="NAME", help="encoding of the file (default: utf-8)")
    add(
        "--no-header",
        action="store_true",
        help="the first row is a sample, and the columns are named 0, 1, 2 and so on",
    )
    add("--seed", type=at_least(0), metavar="N", default=1, help="(default: 1)")
    add(
        "--delay",
        type=at_least(0),
        default=0,
        metavar="N",
        help="number of predictions until the label of a sample comes (default: it comes at once)",
    )
    add("--limit", type=at_least(1), metavar="N", help="use only the first N samples")
    add(
        "--metrics",
        help="additional river metrics for the task, such as MacroF1,CohenKappa or MAPE,SMAPE",
        **names_of,
    )


def add_keep(parser: argparse.ArgumentParser) -> None:
    """Add the option that copies columns."""
    parser.add_argument(
        "--keep",
        type=comma_separated,
        default=[],
        metavar="A,B",
        help="columns to copy beside the predictions, such as an id",
    )


def add_html(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that writes a page."""
    parser.add_argument(
        "--html",
        metavar="FILE",
        help=f"write a page with figures of {what} along the stream, beside models that"
        " look at no features (needs the extra `html`)",
    )


def file_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of files that were given, by the names that `load_stream` has for them."""
    given = {name: getattr(arguments, name) for name in _OF_FILES}
    return {name: value for name, value in given.items() if value not in (None, False, [])}


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
    """Return lines about what was read, the other task, the number of samples, and words."""
    lines = [stream.describe()]
    first = {y for _, y in itertools.islice(stream.samples, ROWS)}
    if arguments.task is None and stream.target is not None:
        if stream.task == tasks.REGRESSION.name:
            lines += ["--task classification takes these numbers as labels"]
        elif len(first) >= _FEW_LABELS and all(map(is_real, first)):
            lines += ["--task regression predicts these labels as numbers"]
    if stream.text:
        lines += [f"{stream.text!r} is a bag of words: absent words are 0, as are missing numbers"]
    more = " and those to come" * (stream.later is not None)
    return [*map(printable, lines), f"{printable(stream.name)}: {stream.n_samples} samples{more}"]


def comma_separated(text: str) -> list[str]:
    """Return the names in a comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def at_least(least: int) -> Callable[[str], int]:
    """Return a parser for whole numbers from a bound on."""

    def parse(text: str) -> int:
        with suppress(ValueError):
            if least <= int(text) <= _MAX_INTEGER:
                return int(text)
        raise argparse.ArgumentTypeError(
            f"must be a whole number from {least} to {_MAX_INTEGER}, got {text!r}"
        )

    return parse


def check_outputs(arguments: argparse.Namespace, sources: Sequence[str], **files: str) -> None:
    """Raise EvaluationError if a file cannot be written, is read, or is written twice.

    The keywords are options and what is written there. Files are left unchanged.
    """
    written: dict[str, str] = {}
    for option, what in files.items():
        if (path := getattr(arguments, option)) is None:
            continue
        exists = os.path.exists(path)
        known = filter(os.path.exists, sources if exists else ())
        if any(os.path.samefile(path, name) for name in known):
            raise EvaluationError(f"cannot write {what} to {path}: it is the input stream")
        try:
            open(path, "a").close()
            if not exists:
                os.remove(path)
        except OSError as error:
            raise EvaluationError(f"cannot write {what} to {path!r}: {error.strerror}") from error
        if (other := written.setdefault(os.path.realpath(path), option)) != option:
            raise EvaluationError(f"--{other} and --{option} would both write to {path}")
        if option == "html" and importlib.util.find_spec("plotly") is None:
            raise EvaluationError('--html needs plotly (the extra html): pip install "plotly>=6"')


def print_line(text: str) -> None:
    """Print a line on stderr, if it is open."""
    with suppress(OSError, ValueError):
        print(printable(text), file=sys.stderr, flush=True)


def report_written(what: str, path: str) -> None:
    """Print on stderr what was written where."""
    print_line(f"wrote {what} to {path}")
