"""The command `river-amf`: its subcommands and its exit status."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from tqdm import tqdm

import river_amf
from river_amf.cli import compare, evaluate, inspect, predict
from river_amf.cli.options import print_line
from river_amf.evaluation import EvaluationError
from river_amf.evaluation.usage_errors import error_line, error_text
from river_amf.inputs.kinds import printable
from river_amf.kernels.numba_tools.compilation import CACHE_FOLDERS

__all__ = ["main"]

_SIGNALLED = 128  # exit status, to which the number of the signal is added
_BROKEN_PIPE = _SIGNALLED + 13  # SIGPIPE, which Windows does not define
_LESS_MEMORY = "--limit reads fewer samples, --n-estimators grows fewer trees"


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in a single line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"river-amf: error: {printable(' '.join(message.split()))}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command `river-amf`.

    `argv` are the arguments, by default those of the process. The exit status is 0 on success, 1 if
    every model of a comparison failed or no kernel could be kept, 2 without a subcommand, 130 after
    Ctrl-C, 143 after SIGTERM, and 141 if the reader of the output closed the pipe. An error is
    reported in one line on stderr, and raises SystemExit with status 2.

    Examples
    --------
    >>> main(["evaluate", "Bananas", "--limit", "20"])
    target: 2 labels (False 11, True 9); features: 2 numbers
    Bananas: 20 samples; AdaptiveAMFClassifier(n_estimators=10, seed=1)
    ...
    0
    """
    parser = _make_parser()
    signals: list[int] = []
    try:
        try:
            with _until_sigterm(signals), _announce_compiling(), warnings.catch_warnings():
                # the reader of a file has said so
                warnings.filterwarnings("ignore", "feature .* holds categories, but its first")
                return _run_command(parser, argv)
        finally:
            sys.stdout.flush()  # here, where an error has a line of its own
    except BrokenPipeError:
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        print_line("interrupted")
        return _SIGNALLED + (signals or [signal.SIGINT])[0]
    except EvaluationError as error:
        advice = f"; {_LESS_MEMORY}" if isinstance(error.__cause__, MemoryError) else ""
        parser.error(f"{error}{advice}")
    except OSError as error:
        parser.error(str(error) if error.filename else f"cannot write the output: {error.strerror}")
    except MemoryError as error:
        parser.error(
            ": ".join(filter(None, ["out of memory", error_text(error)])) + f"; {_LESS_MEMORY}"
        )
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        parser.error(f"{error_line(error)}; this is a bug: python -X dev -m river_amf shows where")
    finally:
        _drop_unwritten()


def _run_command(parser: _Parser, argv: Sequence[str] | None) -> int:
    """Run the subcommand and return its exit status."""
    given = sys.argv[1:] if argv is None else argv
    # argparse drops a value of "--", but not one of ",--"
    given = [f"--missing=,{a[10:]}" if a.startswith("--missing=") else a for a in given]
    arguments = parser.parse_args(given)
    if arguments.command is None:
        parser.print_help()
        return 2
    status: int = arguments.run(arguments)
    return status


@contextmanager
def _until_sigterm(signals: list[int]) -> Iterator[None]:
    """Let SIGTERM end a block as Ctrl-C does, and add it to the signals."""

    def interrupt(number: int, frame: object) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _announce_compiling() -> Iterator[None]:
    """Print a line on stderr if kernels are compiled, which takes a while."""
    logger, handler = logging.getLogger("river_amf.kernels"), _OnStderr()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


class _OnStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Print a message as a line of the command, above a progress bar."""
        with tqdm.external_write_mode(file=sys.stderr):
            print_line(f"river-amf: {record.getMessage()}")


def _drop_unwritten() -> None:
    """Point broken streams to nowhere, or Python would fail and complain when it flushes them."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _make_parser() -> _Parser:
    parser = _Parser(prog="river-amf", description="Aggregated Mondrian Forests for data streams.")
    parser.add_argument("--version", action="version", version=f"river-amf {river_amf.__version__}")
    commands = parser.add_subparsers(dest="command", title="commands")
    for name, module, summary in (
        ("evaluate", evaluate, "run one model over a stream and print its metrics along the way"),
        (
            "compare",
            compare,
            "run several models over one stream and print a table of their metrics",
        ),
        ("predict", predict, "predict the rows of a file with a saved model"),
        ("inspect", inspect, "show what is in a saved model"),
    ):
        subcommand = commands.add_parser(
            name,
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
            " is built. NUMBA_CACHE_DIR says where they are kept."
        ),
    ).set_defaults(run=_warm_up)
    return parser


def _warm_up(arguments: argparse.Namespace) -> int:
    """Compile, print how long it took, and return the exit status."""
    start = time.perf_counter()
    river_amf.warm_up()
    where = f"in {CACHE_FOLDERS[-1]}" if CACHE_FOLDERS else "nowhere, as no folder can be written"
    print(f"all kernels are compiled, after {time.perf_counter() - start:.1f} s; kept {where}")
    return 0 if CACHE_FOLDERS else 1
