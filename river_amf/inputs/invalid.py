"""Errors of our own checks; only these get the number of a row, or another text.

All others, such as that of a signal handler, come out as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


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


def comes_again(call: Callable[..., object], *arguments: Any, **named: Any) -> bool:
    """Whether a call raises an error again, which else was that of a signal handler."""
    try:
        call(*arguments, **named)
    except Exception:
        return True
    return False


def is_foreign(error: BaseException) -> bool:
    """Whether an error that was caught in the function that asks comes from a call within it.

    The method of a value may have raised it, or a signal handler; a lookup that failed did not.
    """
    return error.__traceback__ is not None and error.__traceback__.tb_next is not None


def attempted(call: Callable[..., Result], *arguments: Any) -> Result | None:
    """Return the result of a call, or None if it raises an error each time."""
    try:
        return call(*arguments)
    except Exception:
        if not comes_again(call, *arguments):
            raise
        return None


def _invalid_type(*arguments: Any) -> InvalidType:
    return InvalidType(*arguments)


def _invalid_value(*arguments: Any) -> InvalidValue:
    return InvalidValue(*arguments)


for _kind in INVALID:
    _kind.__module__ = "builtins"
    _kind.__name__ = _kind.__qualname__ = _kind.__mro__[1].__name__
