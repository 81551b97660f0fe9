"""Texts as they are printed."""

import sys
from contextlib import suppress


def printable(text: str) -> str:
    """Return a text in which control characters are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_line(text: str) -> None:
    """Print a line on stderr, if it is open."""
    with suppress(OSError, ValueError):
        print(printable(text), file=sys.stderr, flush=True)


def shorten(text: str, length: int = 200) -> str:
    """Return a text without its middle, if it is too long."""
    half = (length - 3) // 2
    return text if len(text) <= length else f"{text[:half]}...{text[-half:]}"
