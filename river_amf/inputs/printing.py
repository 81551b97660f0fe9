"""Texts as they are printed."""

from __future__ import annotations

import sys
from contextlib import suppress


def printable(text: str) -> str:
    """Return a text in which control characters are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_line(text: str) -> None:
    """Print a line on stderr, if it is open."""
    with suppress(OSError, ValueError):
        print(printable(text), file=sys.stderr, flush=True)
