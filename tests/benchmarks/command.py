"""What the scripts of this folder share as commands: options, and the exit status."""

import argparse
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"

INTERRUPTED = 130


class Failed(Exception):
    """Something that whoever runs the script can understand; the message is one line."""


def print_line(text: str) -> None:
    """Print one line to stderr."""
    print(" ".join(text.split()), file=sys.stderr, flush=True)


def run(main: Callable[[], int]) -> NoReturn:
    """Run a script and exit with its status."""
    script = Path(sys.argv[0]).name
    try:
        status = main()
    except Failed as error:
        print_line(f"{script}: error: {error}")
        status = 1
    except KeyboardInterrupt:
        print_line(f"{script}: interrupted")
        status = INTERRUPTED
    sys.exit(status)


def print_row(cells: Iterable[object]) -> None:
    """Print a row of a table in Markdown."""
    shown = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells)
    print(f"| {' | '.join(shown)} |", flush=True)


def print_header(*names: str) -> None:
    """Print the head of a table."""
    print_row(names)
    print(f"|{'---|' * len(names)}", flush=True)


def verdict(missed: Collection[str]) -> int:
    """Name the goals that were missed, and return the exit status."""
    if missed:
        print_line(f"missed: {', '.join(missed)}")
    return 1 if missed else 0


# Options


def make_parser(doc: str) -> argparse.ArgumentParser:
    """Return a parser that shows a script's docstring as its help, with the option `--data`."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=DATA,
        metavar="FOLDER",
        help="the folder of the real streams that origins.py makes (default:"
        " tests/benchmarks/data)",
    )
    return parser


def add_streams(parser: argparse.ArgumentParser, known: Collection[str]) -> None:
    """Add the option `--streams`."""
    parser.add_argument(
        "--streams",
        type=names("stream", known),
        default=list(known),
        metavar="NAME,NAME",
        help=f"run these alone (default: all of {', '.join(known)})",
    )


def add_seeds(parser: argparse.ArgumentParser) -> None:
    """Add the option `--seeds`."""
    parser.add_argument(
        "--seeds", type=wholes, default=[1, 2, 3], metavar="1,2", help="default: 1,2,3"
    )


def one_of(what: str, known: Collection[str]) -> Callable[[str], str]:
    """Return the type of an argument that is one of some names."""

    def read(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"no {what} {text!r}; there are {', '.join(known)}")
        return text

    return read


def names(what: str, known: Collection[str]) -> Callable[[str], list[str]]:
    """Return the type of an argument that lists some of the names, separated by commas."""
    one = one_of(what, known)

    def read(text: str) -> list[str]:
        return list(dict.fromkeys(one(name.strip()) for name in text.split(",")))

    return read


def whole(text: str) -> int:
    """Read a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def wholes(text: str) -> list[int]:
    """Read whole numbers of at least 1, separated by commas."""
    return [whole(number.strip()) for number in text.split(",")]
