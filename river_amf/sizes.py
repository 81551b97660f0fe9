"""How much memory names, labels and categories take."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Hashable
from typing import Any

_ENTRY_SIZE, _DICT_SIZE = 200, 512  # upper bounds, in bytes


def size_of(index: dict[Hashable, Any]) -> int:
    """Return the size of a dict and its keys in bytes."""
    return sys.getsizeof(index) + sum(map(sys.getsizeof, index))


def text_size(value: Hashable) -> int:
    """Return a bound on the bytes of a name, label or category and of its entry in a dict."""
    # A plain function of the value: `sys.getsizeof` of text grows when it is encoded, as in a
    # pickle, and that of a dict depends on its past.
    if isinstance(value, str):
        return _ENTRY_SIZE + (len(value) if value.isascii() else 8 * len(value))
    return _ENTRY_SIZE + sys.getsizeof(value)


class TextSize:
    """The sum of `text_size` over a dict that grows, without adding up everything each time."""

    def __init__(self) -> None:
        self._known = 0, 0  # the number of keys, and their size

    def of(self, index: dict[Hashable, Any]) -> int:
        """Return the size of a dict."""
        n_known, size = self._known
        if len(index) != n_known:
            newest = itertools.islice(reversed(index), len(index) - n_known)
            self._known = len(index), size + sum(map(text_size, newest))
        return _DICT_SIZE + self._known[1]
