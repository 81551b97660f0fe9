"""Arguments that subcommands share: those that choose a stream, and their parsing."""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from river_amf import evaluation
from river_amf.evaluation import EvaluationError, Stream, metrics, tasks
from river_amf.evaluation.metrics import Metric
from river_amf.evaluation.sources import reason_of
from river_amf.evaluation.streams import ROWS
from river_amf.evaluation.tasks import Task
from river_amf.inputs.kinds import is_real, printable

INTERRUPTED = 130  # the exit status: 128 and the number of the signal

_DEFAULT_STREAM = "Bananas"

_OF_FILES = ("missing", "separator", "encoding", "no_header", "decimal", "drop", "text")
_MOST_WARNINGS = 5
_FEW_LABELS = 3  # distinct ones, of which fewer can hardly be a quantity
_PATIENCE = 3.0  # seconds without a sign of life
_MAX_INTEGER = 2**31 - 1
_MAX_SECONDS = 1e300


def add_stream_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose the samples and the metrics."""
    add = parser.add_argument
    add(
        "stream",
        nargs="?",
        metavar="STREAM",
        help="a CSV file, or .parquet or .jsonl, gzipped if its name ends in .gz; - for standard"
        f" input; a dataset that comes with river: {', '.join(evaluation.BUNDLED)}; or a stream"
        f" listed by `river-amf tracks` (default: {_DEFAULT_STREAM})",
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
    add(
        "--categorical",
        type=comma_separated,
        default=[],
        metavar="A,B",
        help="columns of numbers to treat as categories; text columns always are",
    )
    add("--drop", type=comma_separated, default=[], metavar="A,B", help="columns to leave out")
    add(
        "--text",
        metavar="COLUMN",
        help="a column to take apart into a bag of words, in which an absent word counts as 0, and"
        " so does a missing number",
    )
    add_file_arguments(parser)
    add("--seed", type=at_least(0, None), metavar="N", help="seed for reproducible results")
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
        type=comma_separated,
        default=[],
        metavar="A,B",
        help="additional river metrics for the task, such as MacroF1,CohenKappa or MAPE,SMAPE",
    )
    add(
        "--positive",
        metavar="LABEL",
        help="label that counts as True for binary metrics such as F1,ROCAUC (default: True or 1)",
    )


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for reading a file."""
    add = parser.add_argument
    add(
        "--missing",
        type=comma_separated,
        metavar="A,B",
        help="texts that stand for a missing value in columns of numbers (default: those of pandas,"
        " such as NA, nan and null, and ?); an empty field always does; --missing=-9,-99 if the"
        " first begins with a minus",
    )
    add(
        "--separator",
        type=lambda text: {"\\t": "\t", "tab": "\t"}.get(text, text),  # a tab is hard to type
        metavar="CHAR",
        help="character between fields (default: a comma, semicolon or tab, whichever fits)",
    )
    add(
        "--decimal",
        metavar="CHAR",
        help="character before the fraction of a number, a point or a comma (default: a point)",
    )
    add("--encoding", metavar="NAME", help="encoding of the file (default: utf-8)")
    add(
        "--no-header",
        action="store_true",
        help="the first row is a sample, and the columns are named 0, 1, 2 and so on",
    )


def chosen_stream(arguments: argparse.Namespace) -> str:
    """Return the name or path of the stream, which is the default only if there is none."""
    return _DEFAULT_STREAM if arguments.stream is None else str(arguments.stream)


def file_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of files that were given, by the names that `load_stream` has for them."""
    given = {name: getattr(arguments, name, None) for name in _OF_FILES}
    return {name: value for name, value in given.items() if value not in (None, False, [])}


def load_chosen(arguments: argparse.Namespace) -> Stream:
    """Return the chosen stream; print warnings about it, and a line if reading takes long."""
    source = chosen_stream(arguments)
    chosen = arguments.target, arguments.categorical, arguments.limit
    options = {"task": arguments.task, **file_options(arguments)}
    title = "standard input" if source == "-" else source
    with announce_if_slow(f"reading {title}"), warnings.catch_warnings(record=True) as odd:
        warnings.simplefilter("always")
        stream = evaluation.load_stream(source, *chosen, **options)
    for warning in odd[:_MOST_WARNINGS]:
        print_line(f"river-amf: {' '.join(str(warning.message).split())}")
    if len(odd) > _MOST_WARNINGS:
        print_line(f"river-amf: and {len(odd) - _MOST_WARNINGS} more such columns")
    return stream


def check_metrics(arguments: argparse.Namespace) -> None:
    """Raise for a metric that there is not, before the stream is read."""
    for name in arguments.metrics:
        metrics.find_metric(name, arguments.task)


def chosen_metrics(arguments: argparse.Namespace, task: Task) -> list[Metric]:
    """Return the additional metrics, each once."""
    found = (metrics.find_metric(name, task.name) for name in arguments.metrics)
    return list(dict.fromkeys(found))


def task_lines(stream: Stream, arguments: argparse.Namespace) -> list[str]:
    """Return lines about words, and the task that a file is for, unless it is chosen or clear."""
    words = [f"{stream.text!r} is a bag of words: absent words are 0, and so are missing numbers"]
    return (words if stream.text else []) + _task_lines(stream, arguments)


def _task_lines(stream: Stream, arguments: argparse.Namespace) -> list[str]:
    if arguments.task or stream.target is None:
        return []
    if stream.task != tasks.REGRESSION.name:
        first = {y for _, y in itertools.islice(stream.samples, ROWS)}
        if len(first) < _FEW_LABELS or not all(map(is_real, first)):
            return []
        return [
            f"classification, as {stream.target!r} holds few numbers, all of them whole"
            " (--task regression predicts them as numbers)"
        ]
    return [
        f"regression{reason_of(stream)} (--task classification takes them for labels, --target"
        " names another column)"
    ]


def size_text(stream: Stream) -> str:
    """Return the name and the number of samples of a stream, and what has been skipped."""
    n = stream.n_unlabeled
    what = "target" if stream.task == tasks.REGRESSION.name else "label"
    skipped = f" ({n} {'rows' if n > 1 else 'row'} without a {what} skipped)" if n else ""
    more = " and those to come" * (stream.later is not None)
    return f"{printable(stream.name)}: {stream.n_samples} samples{more}{skipped}"


def comma_separated(text: str) -> list[str]:
    """Return the names in a comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def at_least(least: int, most: int | None = _MAX_INTEGER) -> Callable[[str], int]:
    """Return a parser for whole numbers between two bounds, both included."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            bounds = f">= {least}" if most is None else f"from {least} to {most}"
            message = f"must be a whole number {bounds}, got {text!r}"
            raise argparse.ArgumentTypeError(message)
        return number

    return parse


def seconds(text: str) -> float:
    """Return a positive number of seconds, or raise ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= _MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, got {text!r}")
    return number


def check_output(path: str, source: str, what: str) -> None:
    """Raise EvaluationError if a file cannot be written or is the stream; leave it unchanged."""
    if not path:
        raise EvaluationError(f"cannot write {what} to '': give the path of a file")
    exists = os.path.exists(path)
    if exists and os.path.exists(source) and os.path.samefile(path, source):
        raise EvaluationError(f"cannot write {what} to {path}: it is the input stream")
    try:
        open(path, "a").close()
        if not exists:
            os.remove(path)
    except OSError as error:
        raise EvaluationError(f"cannot write {what} to {path}: {error.strerror}") from error


def print_line(text: str) -> None:
    """Print a line on stderr, if there is anybody to read it."""
    with suppress(OSError, ValueError):  # the reader has left, or the stream is closed
        print(printable(text), file=sys.stderr, flush=True)


def say_written(what: str, path: str) -> None:
    """Print on stderr what was written where."""
    print_line(f"wrote {what} to {path}")


def is_terminal() -> bool:
    """Whether somebody looks at stderr, who may want to see a progress bar."""
    return bool(sys.stderr.isatty())


def check_pages() -> None:
    """Raise EvaluationError if plotly is missing."""
    if importlib.util.find_spec("plotly") is None:
        raise EvaluationError('--html needs plotly (the extra html): pip install "plotly>=6"')


@contextmanager
def announce_if_slow(text: str) -> Iterator[None]:
    """Print a line on stderr if the block takes more than a few seconds."""
    timer = threading.Timer(_PATIENCE, print_line, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def report_interrupt(text: str = "interrupted") -> int:
    """Report on stderr that Ctrl-C ended the command, and return its exit status."""
    print_line(text)
    return INTERRUPTED
