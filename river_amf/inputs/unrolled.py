"""Loops over a few values that are too slow as loops: functions generated for each length.

A sample takes microseconds, so half a microsecond for a loop of the interpreter over its values is
worth avoiding. From a certain length on, these functions are loops after all.
"""

from __future__ import annotations

import functools
import operator
import struct
from collections.abc import Callable, Iterable
from typing import Any

_LONGEST = 64  # values; compiling a function takes half a millisecond then


def _names(letter: str, length: int) -> list[str]:
    return [f"{letter}{k}" for k in range(length)]


def _define(lines: list[str], **known: Any) -> Any:
    """Return the function `made` that the lines define."""
    namespace = dict(known)
    exec("\n".join(lines), namespace)
    return namespace["made"]


@functools.lru_cache
def identity_check(length: int) -> Callable[[Any, Any], bool]:
    """Return a function that checks whether two tuples of this length hold the same objects."""
    # Equal objects may differ in type, and objects of other classes may claim to be equal; no
    # operator compares tuples by identity.
    if not 0 < length <= _LONGEST:
        return lambda a, b: all(map(operator.is_, a, b))
    left, right = _names("a", length), _names("b", length)
    same = " and ".join(f"{one} is {other}" for one, other in zip(left, right, strict=True))
    lines = [
        "def made(a, b):",
        f"    {', '.join(left)}, = a",
        f"    {', '.join(right)}, = b",
        f"    return {same}",
    ]
    return _define(lines)  # type: ignore[no-any-return]


@functools.lru_cache
def float_check(length: int) -> Callable[[Any], bool]:
    """Return a function that checks whether all values of a sequence of this length are floats."""
    if not 0 < length <= _LONGEST:
        return lambda values: {float}.issuperset(map(type, values))
    values = _names("a", length)
    floats = " and ".join(f"type({value}) is float" for value in values)
    lines = [
        "def made(values, type=type, float=float):",
        f"    {', '.join(values)}, = values",
        f"    return {floats}",
    ]
    return _define(lines)  # type: ignore[no-any-return]


def dict_reader(keys: Iterable[Any]) -> Callable[[Any], dict[Any, float]]:
    """Return a function from a buffer of float64 to the dict with these keys and the first values.

    >>> read = dict_reader(["yes", "no"])
    >>> read(struct.pack("3d", 0.25, 0.75, 0.0))
    {'yes': 0.25, 'no': 0.75}
    """
    known = tuple(keys)
    unpack = struct.Struct(f"{len(known)}d").unpack_from
    if not 0 < len(known) <= _LONGEST:
        return lambda buffer: dict(zip(known, unpack(buffer), strict=True))
    names, values = _names("k", len(known)), _names("a", len(known))
    items = ", ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))
    lines = [
        "def make(unpack, " + ", ".join(names) + "):",
        "    def read(buffer):",
        f"        {', '.join(values)}, = unpack(buffer)",
        f"        return {{{items}}}",
        "    return read",
        "made = make(unpack, *keys)",
    ]
    return _define(lines, unpack=unpack, keys=known)  # type: ignore[no-any-return]
