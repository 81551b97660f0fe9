"""The errors raised during an evaluation, and helpers that word their messages."""

from __future__ import annotations

import difflib
import signal
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from river_amf.inputs.kinds import is_missing

_MAX_LISTED = 40  # names in a message, to keep it to one readable line


class EvaluationError(ValueError):
    """A stream, track, column, metric or sample cannot be used.

    The message says which one, and why. It is a `ValueError`.

    Examples
    --------
    >>> from river_amf.evaluation import EvaluationError, load_stream
    >>> try:
    ...     load_stream("banana")
    ... except EvaluationError as error:
    ...     print(str(error).partition("?")[0])
    no stream or file 'banana' (did you mean 'Bananas'
    """


class StreamFailure(EvaluationError):
    """The stream failed while it was being read, which is not the model's fault."""


def suggest(name: str, known: Sequence[str]) -> str:
    """Return a hint for an unknown name: the closest known name, and all known names."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    question = f"did you mean {by_lower[near[0]]!r}? " if near else ""
    rest = len(known) - _MAX_LISTED
    more = f" and {rest} more" if rest > 0 else ""
    return f"{question}available: {', '.join(map(repr, known[:_MAX_LISTED]))}{more}"


def is_of_handler(error: BaseException) -> bool:
    """Whether an exception was raised by a signal handler, such as `sys.exit` at SIGTERM."""
    handlers = map(signal.getsignal, signal.valid_signals())
    codes = {getattr(handler, "__code__", None) for handler in handlers} - {None}
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code in codes for frame, _ in frames)


@contextmanager
def ignored_errors() -> Iterator[None]:
    """Ignore what a model raises, but not what a signal handler does."""
    try:
        yield
    except Exception as error:
        if is_of_handler(error):
            raise


def error_line(error: BaseException) -> str:
    """Return the class name of an error, followed by its text if it has any."""
    text = error_text(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def error_text(error: BaseException) -> str:
    """Return the text of an error, or an empty string if the error cannot produce one."""
    try:
        text = str(error).strip()
    except Exception:
        return ""
    if isinstance(error, AttributeError) and error.name == "encode" and is_missing(error.obj):
        text += "; a missing text must become '' before BagOfWords: (lambda text: text or '') | ..."
    return text
