"""The command `river-amf`: its subcommands and its exit status."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from river_amf._version import __version__
from river_amf.outputs.printing import print_line, printable

__all__ = ["main"]

INTERRUPTED, _BROKEN_PIPE = 130, 141  # 128 and the number of the signal
_SUBCOMMANDS = {  # the names of modules, which are imported when they are needed
    "evaluate": "run one model over a stream and print its metrics along the way",
    "compare": "run several models over one stream and print a table of their metrics",
    "predict": "predict the rows of a file with a saved model",
    "inspect": "show the columns of a file, or what is in a saved model",
    "models": "list the models and the streams that have names",
    "warm-up": "compile all kernels beforehand",
}
_EXAMPLES = """Examples:
  river-amf evaluate Bananas
  river-amf evaluate sales.csv --target price --save price.amf
  river-amf predict price.amf new_sales.csv > predictions.csv
  river-amf compare sales.csv --target price --html page.html
Each command has more: river-amf evaluate --help"""


class _Help(argparse.HelpFormatter):
    """Help in which lines that begin with blanks stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        lines = text.splitlines()
        return "\n".join(n if n.startswith(" ") else fill(n, width, indent) for n in lines)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"river-amf: error: {printable(' '.join(message.split()))}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command `river-amf`, and return the exit status.

    It is 0, 1 if every model of a comparison failed or no kernel could be kept, 130 after Ctrl-C,
    141 if the reader of the output closed the pipe. Raise SystemExit with status 2 after an error,
    which is reported in one line on stderr.

    >>> main(["evaluate", "Bananas", "--limit", "20"])
    target: 2 labels (False 11, True 9); features: 2 numbers
    Bananas: 20 samples; AdaptiveAMFClassifier(seed=1)
    ...
    0
    """
    about = "Aggregated Mondrian Forests for data streams."
    parser = _Parser("river-amf", None, about, _EXAMPLES, formatter_class=_Help)
    argv = sys.argv[1:] if argv is None else argv
    try:
        try:
            _add_arguments(parser, argv)
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
        parser.error(f"MemoryError: {error}")
    except OSError as error:
        parser.error(str(error) if error.filename else f"cannot write the output: {error.strerror}")
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:  # to nowhere, or Python would fail and complain when it flushes it
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def load(argv: Sequence[str]) -> dict[str, ModuleType]:
    """Import the modules of the subcommands that are named in arguments, and return them."""
    named = [name for name in _SUBCOMMANDS if name in argv]
    return {name: import_module(f"{__name__}.{name.replace('-', '_')}") for name in named}


def _add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument("--version", action="version", version=f"river-amf {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    modules = load(argv)
    for name, summary in _SUBCOMMANDS.items():
        subcommand = commands.add_parser(name, help=summary, formatter_class=_Help)
        if name in modules:
            subcommand.description = " ".join((modules[name].__doc__ or "").split())
            subcommand.set_defaults(run=modules[name].run)
            getattr(modules[name], "add_arguments", lambda _: None)(subcommand)
