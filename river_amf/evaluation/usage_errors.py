"""The errors of an evaluation, and helpers that word their messages."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_MAX_LISTED = 40  # names in a message, to keep it to one readable line


class EvaluationError(ValueError):
    """A stream, track, column, metric or sample cannot be used; the message names it.

    >>> from river_amf.evaluation import EvaluationError
    >>> issubclass(EvaluationError, ValueError)
    True
    """


class StreamFailure(EvaluationError):
    """The stream failed while it was being read."""


def suggest(name: str, names: Sequence[str]) -> str:
    """Return a hint for an unknown name: the closest name, and all names."""
    by_lower = {candidate.lower(): candidate for candidate in names}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    question = f"did you mean {by_lower[near[0]]!r}? " if near else ""
    more = ", ..." * (len(names) > _MAX_LISTED)
    return f"{question}available: {', '.join(map(repr, names[:_MAX_LISTED]))}{more}"


def error_line(error: BaseException) -> str:
    """Return the class name of an error, followed by its text if it has any."""
    return f"{type(error).__name__}: {str(error).strip()}".removesuffix(": ")
