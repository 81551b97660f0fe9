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
from river_amf.evaluation.usage_errors import error_line
from river_amf.inputs.kinds import printable
from river_amf.kernels.numba_tools import cache

__all__ = ["main"]

INTERRUPTED, _BROKEN_PIPE = 130, 141  # 128 and the number of the signal
_SUBCOMMANDS = {
    evaluate: "run one model over a stream and print its metrics along the way",
    compare: "run several models over one stream and print a table of their metrics",
    predict: "predict the rows of a file with a saved model",
    inspect: "show the columns of a file, or what is in a saved model",
}


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in a single line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"river-amf: error: {printable(' '.join(message.split()))}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command `river-amf`.

    Return the exit status: 0, 1 if every model of a comparison failed or no kernel could be kept,
    130 after Ctrl-C, 141 if the reader of the output closed the pipe. Raise SystemExit with status
    2 after an error, which is reported in one line on stderr.

    Examples
    --------
    >>> main(["evaluate", "Bananas", "--limit", "20"])
    target: 2 labels (False 11, True 9); features: 2 numbers
    Bananas: 20 samples; AdaptiveAMFClassifier(seed=1)
    ...
    0
    """
    parser = _make_parser()
    try:
        try:
            arguments = parser.parse_args(argv)
            with warnings.catch_warnings():
                # reported when the file was read; and advice for which there is no option
                for text in ("feature .* holds categories", "there are .* features", "each label"):
                    warnings.filterwarnings("ignore", text)
                return int(arguments.run(arguments))
        finally:
            sys.stdout.flush()  # here, where an error has a line of its own
    except BrokenPipeError:
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        print_line("interrupted")
        return INTERRUPTED
    except ValueError as error:
        parser.error(str(error))
    except MemoryError as error:
        parser.error(error_line(error))
    except OSError as error:
        parser.error(str(error) if error.filename else f"cannot write the output: {error.strerror}")
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
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module, summary in _SUBCOMMANDS.items():
        name, texts = module.__name__.rpartition(".")[2], {"description": module.DESCRIPTION}
        subcommand = commands.add_parser(name, help=summary, **texts)
        subcommand.set_defaults(run=module.run)
        module.add_arguments(subcommand)
    summary = "compile all kernels beforehand"
    about = (
        "Compile all kernels, and keep them on disk, in the folder NUMBA_CACHE_DIR if it is set."
    )
    warm_up = commands.add_parser("warm-up", help=summary, description=about)
    warm_up.set_defaults(run=_warm_up)
    return parser


def _warm_up(arguments: argparse.Namespace) -> int:
    """Compile, print how long it took, and return the exit status."""
    start = time.perf_counter()
    river_amf.warm_up()
    where = f"in {cache.FOLDER}" if cache.FOLDER else "nowhere, as no folder can be written"
    print(f"all kernels are compiled, after {time.perf_counter() - start:.1f} s; kept {where}")
    return 0 if cache.FOLDER else 1
