"""Values of the wrong kind that count as missing: which they are, and a warning for each feature.

With `on_mismatch="missing"` a number for a categorical feature, or a category for a numeric one, is
missing. The first value settles the kind, unless it is a text that means missing.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import river

from river_amf.inputs.kinds import shown

# a warning is about the code that calls us, perhaps through river's pipelines
_INSIDE = tuple(
    str(folder) + os.sep for folder in (Path(__file__).parents[1], Path(river.__file__).parent)
)

# the markers of pandas, which does not export them, that of the repository of UC Irvine, and a dash
_MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?", "-"),
)
MISSING_TEXTS = frozenset(_MISSING)
_MANY = 20  # categories of a feature that may be one of numbers


class MismatchWarning(UserWarning):
    """Given when a value of the wrong kind counts as missing, with `on_mismatch="missing"`.

    There is one for each feature of a model; copies and loaded models warn anew.

    Examples
    --------
    >>> import warnings
    >>> from river_amf import MismatchWarning
    >>> warnings.simplefilter("ignore", MismatchWarning)
    """


Mismatches = dict[Hashable, str]  # the message about the first wrong value of each feature


def warn_of_mismatches(found: Mismatches, warned: set[Hashable]) -> None:
    """Warn of each feature that is not among those `warned` of, and add it to them."""
    for name, message in found.items():
        if name not in warned:
            text = f"{message}; such values count as missing"
            warnings.warn(text, MismatchWarning, stacklevel=levels_outside())
            warned.add(name)  # last, as a warning may be raised as an error


def warn_of_numbers(features: Any, new: Sequence[tuple[Hashable, Hashable]]) -> None:
    """Warn of each feature whose twentieth category is among the new ones, if all are numbers."""
    for name in dict.fromkeys(name for name, _ in new):
        known = features.categories(name) or {}
        if len(known) >= _MANY:
            continue
        first = [*dict.fromkeys([*known, *(value for other, value in new if other == name)])]
        first = first[:_MANY]
        if len(first) == _MANY and all(map(_is_number, first)):
            warnings.warn(
                f"feature {shown(name)} holds categories, but its first {_MANY} are all"
                f" numbers, such as {shown(first[-1])}: pass float(value) if they are numbers"
                f" (river.stream.iter_csv: converters={{{shown(name)}: float}})",
                stacklevel=levels_outside(),
            )


def _is_number(category: Hashable) -> bool:
    """Return whether a category is the text of a number."""
    try:
        return isinstance(category, str) and math.isfinite(float(category))
    except ValueError:
        return False


def levels_outside() -> int:
    """Return the `stacklevel`, for the caller, of the first frame outside of here and river."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    return level
