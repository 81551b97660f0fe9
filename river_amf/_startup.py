"""Prepare the command before its imports, which take a second in which much can go wrong.

`river_amf/__init__.py` imports this module before all others. It changes nothing unless the process
is the command itself, `river-amf` or `python -m river_amf`.
"""

from __future__ import annotations

# `signal` itself takes milliseconds to import
import _signal as signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, NoReturn, TextIO

INTERRUPTED: int = 128 + signal.SIGINT


def is_command() -> bool:
    """Whether this process is the command."""
    arguments = getattr(sys, "argv", None) or [""]
    if arguments[0] == "-m":  # as long as Python looks for the module to run
        module = sys.orig_argv[-len(arguments)]
        return module.removeprefix("-m").removesuffix(".__main__") == "river_amf"
    name = os.path.splitext(os.path.basename(arguments[0]))[0]
    return name in ("river-amf", "river-amf-script")


def prepare() -> None:
    """Let Ctrl-C, closed streams, names in any script and errors end without a traceback."""
    # not where SIGINT is ignored, as in the background of a script
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, exit_at_once)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # what the terminal has no characters for is printed as \x.. or \u....
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
    sys.stderr = _Unfailing(sys.stderr)
    if not sys.flags.dev_mode:  # python -X dev -m river_amf shows tracebacks
        sys.excepthook = _print_uncaught
        sys.unraisablehook = _ignore


def exit_at_once(signal_number: int, frame: object) -> NoReturn:
    """Handle Ctrl-C where an exception could end in a traceback, or in nothing."""
    print_line("interrupted")
    os._exit(INTERRUPTED)


def printable(text: str, most: int | None = None) -> str:
    r"""Return a text in which control characters are escaped, perhaps cut.

    >>> print(printable("\x1b[31mred"), printable("long", 3))
    \x1b[31mred lon...
    """
    text = text if most is None or len(text) <= most else f"{text[:most]}..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_line(text: str) -> None:
    """Print a line on stderr, if there is anybody to read it."""
    try:
        print(printable(text), file=sys.stderr, flush=True)
    except (OSError, ValueError, RuntimeError):
        return  # the reader has left, the stream is closed, or a signal came while it is written to


class _Unfailing:
    """A stream that takes what it can: a progress bar that nobody sees must not end a run."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (OSError, ValueError):
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _open_closed_streams() -> None:
    """Open what the shell has closed, as in `>&-`, so that no other file takes its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest free number, this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _print_uncaught(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """Print an error that nobody has caught, such as a failed import, in one line."""
    text = " ".join(f"{kind.__name__}: {error}".split()).removesuffix(":")
    print_line(f"river-amf: error: {text}")


def _ignore(unraisable: Any) -> None:
    """Keep quiet about errors that no code can catch, but not about Ctrl-C."""
    if unraisable.exc_type is KeyboardInterrupt:
        print_line("")  # the end of the line that a progress bar may be on
        exit_at_once(signal.SIGINT, None)


if is_command():
    prepare()
