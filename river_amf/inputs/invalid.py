"""Errors of our own checks; only these get the number of a row, or another text.

All others, such as that of a signal handler, come out as they are.
"""

from __future__ import annotations

from typing import Any


class InvalidType(TypeError):
    """A TypeError about a value, label or weight, which is shown and pickled as one."""

    def __reduce__(self) -> Any:
        return _restored, (0, *self.args)


class InvalidValue(ValueError):
    """A ValueError about a value, label or weight, which is shown and pickled as one."""

    def __reduce__(self) -> Any:
        return _restored, (1, *self.args)


INVALID = (InvalidType, InvalidValue)

# What values and labels may raise when they are hashed or compared.
OF_VALUES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def _restored(kind: int, *arguments: Any) -> InvalidType | InvalidValue:
    return INVALID[kind](*arguments)


for _kind in INVALID:
    _kind.__module__ = "builtins"
    _kind.__name__ = _kind.__qualname__ = _kind.__mro__[1].__name__
