"""What the scripts of this folder share as commands: options, and endings in one line.

Each script imports this module first. It is quick to load, and from then on Ctrl-C and a missing
package end the script with one line, even while the slow imports are still under way.
"""

import argparse
import concurrent.futures
import contextlib
import importlib.util
import multiprocessing
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import NoReturn

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"

INTERRUPTED = 128 + signal.SIGINT
BROKEN_PIPE = 128 + 13  # SIGPIPE, which Windows does not know

PICTURES = (".png", ".pdf", ".svg")


class Failed(Exception):
    """Something that whoever runs the script can understand; the message is one line."""


EXPECTED = (
    Failed,
    OSError,
    ImportError,
    ValueError,  # of which river_amf's errors are
    EOFError,
    MemoryError,
    zlib.error,
    subprocess.SubprocessError,
    concurrent.futures.BrokenExecutor,
)


# How a script ends


def say(text: str) -> None:
    """Print one line to stderr."""
    print(" ".join(text.split()), file=sys.stderr, flush=True)


def describe(error: BaseException) -> str:
    """Return one line about an error."""
    text = str(error)
    return text if text and isinstance(error, Failed) else f"{type(error).__name__}: {text}"


def end(error: BaseException) -> int | None:
    """Say why the script ends and return its status; None for a bug, which needs its traceback."""
    script = Path(sys.argv[0]).name
    if isinstance(error, KeyboardInterrupt):
        say(f"{script}: interrupted")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # Python flushes stdout once more as it ends, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    if isinstance(error, EXPECTED):
        say(f"{script}: error: {describe(error)}")
        return 1
    return None


def run(main: Callable[[], int]) -> NoReturn:
    """Run a script and exit with its status."""
    try:
        status = main()
        sys.stdout.flush()  # a broken pipe shows here
    except Exception as error:
        failed = end(error)
        if failed is None:
            raise
        status = failed
    except KeyboardInterrupt as error:
        status = end(error) or INTERRUPTED
    sys.exit(status)


def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report what goes wrong during the imports, before `run` is called."""
    if end(error) is None:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = hook


def need_matplotlib() -> None:
    """Raise `Failed` where matplotlib is missing, before anything slow is done; else set it up."""
    if importlib.util.find_spec("matplotlib") is None:
        raise Failed('matplotlib, which draws the picture, is missing: pip install -e ".[plot]"')
    import matplotlib

    matplotlib.use("Agg")  # no display


def verdict(missed: Collection[str]) -> int:
    """Name the goals that were missed, and return the exit status."""
    if missed:
        say(f"missed: {', '.join(missed)}")
    return 1 if missed else 0


# Options


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2."""
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def make_parser(doc: str) -> Parser:
    """Return a parser that shows a script's docstring as its help, with the option `--data`."""
    parser = Parser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        type=Path,
        default=DATA,
        metavar="FOLDER",
        help="the folder of the real streams that origins.py makes (default:"
        " tests/benchmarks/data)",
    )
    return parser


def add_streams(parser: Parser, known: Collection[str]) -> None:
    """Add the option `--streams`."""
    parser.add_argument(
        "--streams",
        type=names("stream", known),
        default=list(known),
        metavar="NAME,NAME",
        help=f"run these alone (default: all of {', '.join(known)})",
    )


def add_parts(parser: Parser, known: Collection[str]) -> None:
    """Add the names of parts."""
    parser.add_argument(
        "parts",
        nargs="*",
        type=one_of("part", known),
        metavar="PART",
        help=f"run these alone (default: all of {', '.join(known)})",
    )


def match_parts(
    parser: Parser, arguments: argparse.Namespace, streams_of: dict[str, Collection[str]]
) -> None:
    """Keep the streams that the parts asked for run on; a part without any needs none."""
    arguments.parts = list(dict.fromkeys(arguments.parts or streams_of))
    known = list(dict.fromkeys(name for part in arguments.parts for name in streams_of[part]))
    arguments.streams = [name for name in arguments.streams if name in known]
    if not arguments.streams and all(streams_of[part] for part in arguments.parts):
        parser.error(f"{', '.join(arguments.parts)}: to be run on {', '.join(known)}")


def parts_left(
    parts: Iterable[str], streams_of: dict[str, Collection[str]], there: Collection[str]
) -> list[str]:
    """Return the parts that can be run with the streams that are there."""
    return [part for part in parts if not streams_of[part] or set(streams_of[part]) & set(there)]


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


def seconds(text: str) -> float:
    """Read a positive number."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return number


def folder(text: str) -> Path:
    """Read the path of a folder that exists."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"no folder {text!r}")
    return path


def new_file(text: str) -> Path:
    """Read the path of a file to be written; its folder must exist."""
    path = Path(text)
    folder(str(path.parent))
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a folder")
    return path


def picture(text: str) -> Path:
    """Read the path of a picture to be drawn."""
    path = new_file(text)
    if path.suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r} ends in none of {', '.join(PICTURES)}")
    return path


# Processes


@contextlib.contextmanager
def processes(number: int) -> Iterator[concurrent.futures.Executor]:
    """Yield a pool of processes, which end with the script at once and in silence."""
    pool = concurrent.futures.ProcessPoolExecutor(
        number, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    )
    try:
        yield pool
    except BaseException:
        end_processes()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def end_processes() -> None:
    """End all processes that this one has started."""
    for child in multiprocessing.active_children():
        child.terminate()


def ignore_interrupts() -> None:
    """Keep Ctrl-C from this thread and the processes it starts; the main thread ends them."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
