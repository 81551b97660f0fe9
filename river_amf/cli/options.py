"""What the subcommands share: the arguments that choose a stream, and argument parsing."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
from collections.abc import Callable

from river_amf import evaluation
from river_amf.evaluation import EvaluationError

DEFAULT_STREAM = "Bananas"

_INTERRUPTED = 128 + signal.SIGINT
_MAX_INTEGER = 2**31 - 1


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
        f" (default: {DEFAULT_STREAM})",
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
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, got {text!r}")
    return number


def check_output(path: str, source: str, what: str) -> None:
    """Raise EvaluationError if a file cannot be written or is the stream; leave it unchanged."""
    exists = os.path.exists(path)
    if exists and os.path.exists(source) and os.path.samefile(path, source):
        raise EvaluationError(f"cannot write {what} to {path}: it is the input stream")
    try:
        open(path, "a").close()
        if not exists:
            os.remove(path)
    except OSError as error:
        raise EvaluationError(f"cannot write {what} to {path}: {error.strerror}") from error


def say_interrupted(text: str = "interrupted") -> int:
    """Report on stderr that Ctrl-C ended the command, and return its exit status."""
    print(text, file=sys.stderr)
    return _INTERRUPTED
