"""Errors of our own checks; only these get the number of a row, or another text.

All others, such as that of a signal handler, come out as they are.
"""

from __future__ import annotations

from typing import Any


class InvalidType(TypeError):
    """A TypeError about a value, label or weight, and nothing else to whoever sees it."""

    def __reduce__(self) -> Any:
        return _invalid_type, self.args


class InvalidValue(ValueError):
    """A ValueError about a value, label or weight."""

    def __reduce__(self) -> Any:
        return _invalid_value, self.args


INVALID = (InvalidType, InvalidValue)

# What the values and labels that people pass in may raise when they are hashed or compared.
OF_VALUES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def _invalid_type(*arguments: Any) -> InvalidType:
    return InvalidType(*arguments)


def _invalid_value(*arguments: Any) -> InvalidValue:
    return InvalidValue(*arguments)


for _kind in INVALID:
    _kind.__module__ = "builtins"
    _kind.__name__ = _kind.__qualname__ = _kind.__mro__[1].__name__
