"""The errors of an evaluation, and their messages."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_MAX_LISTED = 40  # names in a message, so that it stays one readable line


class EvaluationError(ValueError):
    """A stream, track, column, metric or sample that cannot be used; the message says why.

    Examples
    --------
    >>> from river_amf.evaluation import EvaluationError, load_stream
    >>> try:
    ...     load_stream("banana")
    ... except EvaluationError as error:
    ...     print(str(error).partition("?")[0])
    no file and no stream 'banana' (did you mean 'Bananas'

    """


class StreamFailure(EvaluationError):
    """A stream that fails while it is read: an error of the caller, not of a model."""


def suggest(name: str, known: Sequence[str]) -> str:
    """Return a hint for a message about an unknown name: the nearest known one, and what there is.

    >>> suggest("colour", ["color", "size"])
    "did you mean 'color'? there are 'color', 'size'"
    """
    by_lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    question = f"did you mean {by_lower[near[0]]!r}? " if near else ""
    rest = len(known) - _MAX_LISTED
    more = f" and {rest} more" if rest > 0 else ""
    return f"{question}there are {', '.join(map(repr, known[:_MAX_LISTED]))}{more}"


def described(error: BaseException) -> str:
    """Return the class of an error, and its text if there is one.

    >>> described(ValueError("no such value")), described(ValueError())
    ('ValueError: no such value', 'ValueError')
    """
    text = text_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def text_of(error: BaseException) -> str:
    """Return the text of an error, which is empty if the error itself fails to give it."""
    try:
        return str(error).strip()
    except Exception:
        return ""
