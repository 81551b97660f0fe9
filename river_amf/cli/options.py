"""What the subcommands share: the arguments that choose a stream, and argument parsing."""

from __future__ import annotations

import argparse
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from river_amf import _startup, evaluation
from river_amf.evaluation import EvaluationError

_DEFAULT_STREAM = "Bananas"

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
        help="a CSV file, gzipped if its name ends in .gz (an empty field is a missing value; any"
        " other text, even NA, makes its column categorical); a dataset that comes with river:"
        f" {', '.join(evaluation.BUNDLED)}; or a stream listed by `river-amf tracks`"
        f" (default: {_DEFAULT_STREAM})",
    )
    add(
        "--target",
        metavar="COLUMN",
        help="column with the labels (default: 'target' if there is one, else the last column)",
    )
    add(
        "--categorical",
        type=names,
        default=[],
        metavar="A,B",
        help="columns of numbers to treat as categories; text columns always are",
    )
    add("--seed", type=at_least(0, None), metavar="N", help="seed for reproducible results")
    add("--limit", type=at_least(1), metavar="N", help="use only the first N samples")
    add(
        "--metrics",
        type=names,
        default=[],
        metavar="A,B",
        help="additional river classification metrics, such as MacroF1,CohenKappa",
    )


def chosen_stream(arguments: argparse.Namespace) -> str:
    """Return the name or path of the stream, which is the default only if there is none."""
    return _DEFAULT_STREAM if arguments.stream is None else str(arguments.stream)


def names(text: str) -> list[str]:
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


@contextmanager
def told_if_slow(text: str) -> Iterator[None]:
    """Print a line on stderr if the block takes more than a few seconds."""
    timer = threading.Timer(_PATIENCE, _startup.tell, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def say_interrupted(text: str = "interrupted") -> int:
    """Report on stderr that Ctrl-C ended the command, and return its exit status."""
    _startup.tell(text)
    return _startup.INTERRUPTED
