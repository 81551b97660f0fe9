"""The errors of an evaluation, and helpers that word their messages."""

import csv
import difflib
import re
import shlex
from collections.abc import Iterable, Sequence

_MAX_LISTED = 40  # names in a message, to keep it to one readable line
_LONGEST = 48  # characters of a list in an option


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
    return f"{type(error).__name__}: {str(error).strip()}".removesuffix(": ")


def option(name: str, values: str | Iterable[str]) -> str:
    """Return an option of the command as a shell takes it, with a text or what fits of a list."""
    text = values if isinstance(values, str) else ""
    for value in () if isinstance(values, str) else values:
        is_plain = not re.search('[,"]', value)
        part = value if is_plain else '"' + value.replace('"', '""') + '"'
        if text and len(text) + len(part) > _LONGEST:
            break
        text += f",{part}" if text else part
    double = "'" in text and not re.search(r'["$`\\!]', text)
    return f"--{name}=" + (f'"{text}"' if double else shlex.quote(text))


def split_list(text: str) -> list[str]:
    """Return what commas separate in a text; quotes are as in a CSV file."""
    parts = next(csv.reader([text], skipinitialspace=True), [])
    return [part.strip() for part in parts if part.strip()]
