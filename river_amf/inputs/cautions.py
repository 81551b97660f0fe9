"""Warnings of likely mistakes: numbers as texts, too many names, few values."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Collection, Hashable, Sequence
from pathlib import Path
from typing import Any

import river

from river_amf.inputs.encoding import column_order
from river_amf.inputs.kinds import is_missing, is_zero, shown
from river_amf.inputs.labels import Targets

# a warning is about the code that calls us, perhaps through river's pipelines
_INSIDE = tuple(
    str(folder) + os.sep for folder in (Path(__file__).parents[1], Path(river.__file__).parent)
)

_MANY_CATEGORIES = 20  # of a feature that may be one of numbers
_MANY_FEATURES = 40  # of which samples may have few values
_FEW_VALUES, _SMALL_SHARE = 10, 0.1
_N_COUNTED = 64  # samples

_WARNED: set[str] = set()  # of what is not about one model

# what else than a feature there may have been a warning of
IGNORED, FEW, LOST, UNKNOWN = object(), object(), object(), object()


def warn_of_numbers(features: Any, new: Sequence[tuple[Hashable, Hashable]]) -> None:
    """Warn of each feature whose twentieth category is among the new ones, if all are numbers."""
    for name in dict.fromkeys(name for name, _ in new):
        known = features.categories(name) or {}
        if len(known) >= _MANY_CATEGORIES:
            continue
        first = [*dict.fromkeys([*known, *(value for other, value in new if other == name)])]
        first = first[:_MANY_CATEGORIES]
        if len(first) == _MANY_CATEGORIES and all(map(_is_number, first)):
            warn(
                f"feature {shown(name)} holds categories, but its first {_MANY_CATEGORIES} are all"
                f" numbers, such as {shown(first[-1])}: pass float(value) if they are numbers"
                f" (river.stream.iter_csv: converters={{{shown(name)}: float}})"
            )


def _is_number(category: Hashable) -> bool:
    """Return whether a category is the text of a number."""
    try:
        return isinstance(category, str) and math.isfinite(float(category))
    except ValueError:
        return False


def warn_of_ignored(names: Sequence[Hashable], n_features: int, warned: set[Hashable]) -> None:
    """Warn of names beyond the bound on features, unless that is among what is `warned` of."""
    if IGNORED not in warned:
        warn(
            f"feature {shown(min(names, key=column_order))} is ignored, and so is any other new "
            f"one: there are {n_features} already, the most that max_features allows"
        )
        warned.add(IGNORED)  # last, as a warning may be raised as an error


def warn_of_unknown(names: Collection[Hashable], schema: Any) -> None:
    """Warn of a sample to predict if it has features, but none that was learned; once."""
    if UNKNOWN in schema.warned or not (names and len(schema)):
        return
    if not any(map(schema.is_known, names)):
        got, known = (shown(next(iter(some))) for some in (names, schema))
        warn(f"no feature, such as {got}, is known, so all are ignored; {known} was learned")
        schema.warned.add(UNKNOWN)


def warn_of_lost(warned: set[Hashable]) -> None:
    """Warn that no label has found its prediction, unless that is among what is `warned` of."""
    if LOST not in warned:
        warn(
            "none of the last labels belongs to a row that was predicted, so all are scored as if "
            "they came at once: pass learn_one the features that predict_one has had (a transformer"
            " that learns in between changes them; this model needs no scaler), or set "
            "max_delayed_labels=0"
        )
        warned.add(LOST)


class Width:
    """A check that samples do not lack most features, in the first 64 after these double.

    Nothing is counted while the features stay the same. So dense samples take no time, and sensors
    that fail give no warning.
    """

    def __init__(self) -> None:
        self.n_left = 0  # samples yet to be counted
        self._n_values = 0

    def note_growth(self, n_before: int, n_features: int, warned: set[Hashable]) -> None:
        """Begin to count once the features have become 40, 80, 160, ..., unless it was warned."""
        n_doublings = [(n // _MANY_FEATURES).bit_length() for n in (n_before, n_features)]
        if not self.n_left and n_doublings[0] < n_doublings[1] and FEW not in warned:
            self.n_left, self._n_values = _N_COUNTED, 0

    def count(self, x: dict[Hashable, Any], schema: Any) -> None:
        """Count the values of a sample that is about to be learned, if they are to be counted."""
        if not self.n_left:
            return
        n_values = self._n_values + sum(not (is_missing(v) or is_zero(v)) for v in x.values())
        mean, n_features = n_values / _N_COUNTED, len(schema)
        if self.n_left == 1 and (mean < _FEW_VALUES or mean <= _SMALL_SHARE * n_features):
            advice = 'use absent="zero" for words, tags, hashed and one-hot features'
            if isinstance(schema.labels, Targets):
                advice = "pass the zeros too, where absence means zero"
            warn(
                f"there are {n_features} features, of which the last {_N_COUNTED} samples had only "
                f"{mean:.3g} on average that were present and not 0, and absent ones count as "
                f"missing: {advice}, and pass the string itself instead of OneHotEncoder"
            )
            schema.warned.add(FEW)
        self.n_left, self._n_values = self.n_left - 1, n_values


def warn_once(text: str) -> None:
    """Warn, unless this process has already warned of the same."""
    if text not in _WARNED:
        warn(text)
        _WARNED.add(text)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first frame outside of here and river."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
