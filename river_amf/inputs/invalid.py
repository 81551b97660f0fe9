"""Errors of our own checks; only these get the number of a row, or another text."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class InvalidType(TypeError):
    """A TypeError about a value, label or weight, which is shown and pickled as one."""

    def __reduce__(self) -> Any:
        return _restored, (0, *self.args)


class InvalidValue(ValueError):
    """A ValueError about a value, label or weight, which is shown and pickled as one."""

    def __reduce__(self) -> Any:
        return _restored, (1, *self.args)


INVALID = (InvalidType, InvalidValue)

_ROW = re.compile(r"row (\d+): ")


def _restored(kind: int, *arguments: Any) -> InvalidType | InvalidValue:
    return INVALID[kind](*arguments)


for _kind in INVALID:
    _kind.__module__ = "builtins"
    _kind.__name__ = _kind.__qualname__ = _kind.__mro__[1].__name__


def in_row(row: int, call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; its errors about a value get the number of the row."""
    try:
        return call(*arguments)
    except INVALID as error:
        raise type(error)(f"row {row}: {error}") from None


def renumbered(
    error: TypeError | ValueError, rows: Sequence[int] | NDArray[np.int64], about: str = ""
) -> TypeError | ValueError:
    """Return an error about one of these rows with the number that the row has for the caller."""
    match = _ROW.match(str(error))
    if match is None:
        return error
    text = f"row {rows[int(match[1])]}: {about}{str(error)[match.end() :]}"
    return InvalidType(text) if isinstance(error, TypeError) else InvalidValue(text)
