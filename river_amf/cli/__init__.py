"""The command `river-amf`: its subcommands and its exit status."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from typing import NoReturn

import river_amf
from river_amf.cli import compare, evaluate, inspect, predict
from river_amf.cli.options import print_line
from river_amf.evaluation import EvaluationError
from river_amf.evaluation.usage_errors import error_line
from river_amf.inputs.kinds import printable
from river_amf.kernels.numba_tools import cache

__all__ = ["main"]

INTERRUPTED, TERMINATED, _BROKEN_PIPE = 130, 143, 141  # 128 and the number of the signal
_LESS_MEMORY = "; --limit reads fewer samples, --n-estimators grows fewer trees"
_SUBCOMMANDS = {
    evaluate: "run one model over a stream and print its metrics along the way",
    compare: "run several models over one stream and print a table of their metrics",
    predict: "predict the rows of a file with a saved model",
    inspect: "show what is in a saved model",
}


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a run as Ctrl-C does."""


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in a single line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"river-amf: error: {printable(' '.join(message.split()))}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command `river-amf`.

    `argv` are the arguments, by default from the process. The exit status is 0 on success, 1 if
    every model of a comparison failed or no kernel could be kept, 2 without a subcommand, 130 after
    Ctrl-C, 143 after SIGTERM, and 141 if the reader of the output closed the pipe. An error is
    reported in one line on stderr, and raises SystemExit with status 2.

    Examples
    --------
    >>> main(["evaluate", "Bananas", "--limit", "20"])
    target: 2 labels (False 11, True 9); features: 2 numbers
    Bananas: 20 samples; AdaptiveAMFClassifier(seed=1)
    ...
    0
    """
    parser = _make_parser()
    words = sys.argv[1:] if argv is None else argv
    # argparse drops a value of "--", but not one of ",--"
    words = [f"--missing=,{a[10:]}" if a.startswith("--missing=") else a for a in words]
    try:
        try:
            arguments = parser.parse_args(words)
            if "run" not in arguments:
                parser.print_help()
                return 2
            with warnings.catch_warnings():
                # reported when the file was read
                warnings.filterwarnings("ignore", "feature .* holds categories, but its first")
                return int(arguments.run(arguments))
        finally:
            sys.stdout.flush()  # here, where an error has a line of its own
    except BrokenPipeError:
        return _BROKEN_PIPE
    except KeyboardInterrupt as error:
        print_line("interrupted")
        return TERMINATED if isinstance(error, Terminated) else INTERRUPTED
    except (EvaluationError, MemoryError) as error:
        is_full = isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError)
        text = f"out of memory: {error}" if isinstance(error, MemoryError) else str(error)
        parser.error(text + _LESS_MEMORY * is_full)
    except OSError as error:
        parser.error(str(error) if error.filename else f"cannot write the output: {error.strerror}")
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        parser.error(f"{error_line(error)}; this is a bug: python -X dev -m river_amf shows where")
    finally:
        _drop_unwritten()


def _drop_unwritten() -> None:
    """Point broken streams to nowhere, or Python would fail and complain when it flushes them."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _make_parser() -> _Parser:
    parser = _Parser(prog="river-amf", description="Aggregated Mondrian Forests for data streams.")
    parser.add_argument("--version", action="version", version=f"river-amf {river_amf.__version__}")
    commands = parser.add_subparsers(title="commands")
    for module, summary in _SUBCOMMANDS.items():
        subcommand = commands.add_parser(
            module.__name__.rpartition(".")[2],
            help=summary,
            description=module.DESCRIPTION,
            epilog=getattr(module, "EPILOG", None),
        )
        subcommand.set_defaults(run=module.run)
        module.add_arguments(subcommand)
    commands.add_parser(
        "warm-up",
        help="compile all kernels beforehand",
        description=(
            "Compile all kernels now, instead of each when it is first needed. They are kept on"
            " disk, so this is done once for each release, machine and user, such as when an image"
            " is built. NUMBA_CACHE_DIR is the folder, if it is set."
        ),
    ).set_defaults(run=_warm_up)
    return parser


def _warm_up(arguments: argparse.Namespace) -> int:
    """Compile, print how long it took, and return the exit status."""
    start = time.perf_counter()
    river_amf.warm_up()
    where = f"in {cache.FOLDER}" if cache.FOLDER else "nowhere, as no folder can be written"
    print(f"all kernels are compiled, after {time.perf_counter() - start:.1f} s; kept {where}")
    return 0 if cache.FOLDER else 1
