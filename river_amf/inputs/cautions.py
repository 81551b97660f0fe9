"""Warnings of likely mistakes in names, values and labels."""

import numbers
import os
import re
import sys
import warnings
from collections.abc import Collection, Hashable, Sequence
from pathlib import Path
from typing import Any

import river

from river_amf.inputs.categories import CHECKED
from river_amf.inputs.encoding import column_order
from river_amf.inputs.kinds import is_missing, is_zero, shown
from river_amf.inputs.labels import Targets

# a warning is about the code that calls us, perhaps through river's pipelines
_INSIDE = tuple(
    str(folder) + os.sep for folder in (Path(__file__).parents[1], Path(river.__file__).parent)
)

_NUMBER = re.compile(r"-?(?=\.?\d)(0|[1-9]\d{0,14})?(\.\d*)?(e[-+]\d+)?")  # other than ids
_MOST_NEW, _MOST_KNOWN = 90, 10  # values after `CHECKED` categories
_LONG_RUN = 100  # samples
_MANY_FEATURES = 40  # of which samples may have few values
_FEW_VALUES, _SMALL_SHARE = 10, 0.1
_N_COUNTED = 64  # samples

WARNED: set[Any] = set()  # of what is not about one model

# the markers of pandas, which does not export them, that of the repository of UC Irvine, and a dash
_MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?", "-"),
)
MISSING_TEXTS = frozenset(_MISSING)
Mismatches = dict[Hashable, str]  # the message about the first wrong value of each feature

# what else than a feature there may have been a warning of; the last two in pairs with one
IGNORED, FEW, LOST_LABELS, UNKNOWN_FEATURES, ORDER, TEXT, LONG = (object() for _ in range(7))


class MismatchWarning(UserWarning):
    """A value of the wrong kind counts as missing (`on_mismatch`); once for each feature.

    >>> import warnings
    >>> from river_amf import MismatchWarning
    >>> warnings.simplefilter("ignore", MismatchWarning)
    """


def warn_of_values(watched: dict[Hashable, list[Any]], x: Any, reading: Any, schema: Any) -> None:
    """Warn of integers that are rounded, and of categories that are numbers or hardly come again.

    From the last of the `CHECKED` categories on, values are `watched`, until 90 are new or 11 not.
    """
    row, new = reading.row, dict(reading.categories)
    for name in reading.numeric:
        if isinstance(x[name], numbers.Integral) and not -(2**53) <= x[name] <= 2**53:
            text = (
                f"feature {shown(name)} holds integers beyond 2**53, such as {row[name]:g}, some "
                "of which are equal as floats: pass str(value) if they are ids, else float(value)"
            )
            _warn_of((LONG, name), text, schema.warned)
    for name, values in [*watched.items()]:
        if (code := row.get(name)) is not None and code == code:
            values.append(new.get(name))
        found = [value for value in values if value is not None]
        if len(found) >= _MOST_NEW:
            number = "pass float(value) if they are numbers, " * all(map(_is_number, found))
            text = (
                f"feature {shown(name)} holds categories, but nearly all of its values differ, such"
                f" as {shown(found[0])}: {number}parse dates, as date_features(x, "
                f"parse_dates=[{shown(name)}]) does, split text by BagOfWords, or leave it out"
            )
            _warn_of((TEXT, name), text, schema.warned)
        if len(found) >= _MOST_NEW or len(values) - len(found) > _MOST_KNOWN:
            del watched[name]
    for name, category in new.items():
        if row[name] == CHECKED[1] - 1 and schema.coding(name).n_free:
            watched[name] = []
        elif row[name] == CHECKED[0] - 1:
            first = [*schema.categories(name), category]
            if all(map(_is_number, first)) and "." in "".join(first):  # others may be codes
                text = (
                    f"feature {shown(name)} holds categories, but its first {len(first)} are all"
                    f" numbers, such as {shown(category)}: pass float(value) if they are numbers"
                    f" (river.stream.iter_csv: converters={{{shown(name)}: float}})"
                )
                _warn_of((TEXT, name), text, schema.warned)


def _is_number(category: Any) -> bool:
    """Return whether a category is the text of a number, rather than an id."""
    return isinstance(category, str) and bool(_NUMBER.fullmatch(category.strip()))


def warn_of_order(
    starts: list[int], label: Any, n_learned: int, schema: Any, parameters: Any
) -> None:
    """Warn if each label has come in a single run, the last two long ones, and the model forgets.

    `starts` has the samples before the run of each label; it is empty once there is no more to do.
    """
    n_labels = len(schema.labels)
    del starts[n_labels:]  # of a label that was not learned
    if label is None and len(starts) == n_labels:
        starts.append(n_learned)
    elif label is not None and len(starts) > 1:
        is_last = label == n_labels - 1
        is_long = min(starts[-1] - starts[-2], n_learned + 1 - starts[-1]) >= _LONG_RUN
        drifts = parameters.fading_factor is not None or parameters.drift_threshold is not None
        if is_last and is_long and (drifts or parameters.vote == "learned"):
            *_, last = schema.labels
            text = (
                f"each label has come in a single run, the last {shown(last)}, and this forest "
                "forgets the others: shuffle rows that have no order, or use AMFClassifier()"
            )
            _warn_of(ORDER, text, schema.warned)
        if is_long or not is_last:
            starts.clear()


def warn_of_mismatches(found: Mismatches, warned: set[Hashable]) -> None:
    """Warn of each feature that is not among those `warned` of, and add it to them."""
    for name, message in found.items():
        if name not in warned:
            warn(f"{message}; such values count as missing", MismatchWarning)
            warned.add(name)  # last, as a warning may be raised as an error


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
    if UNKNOWN_FEATURES in schema.warned or not (names and len(schema)):
        return
    if not any(map(schema.is_known, names)):
        got, known = (shown(next(iter(some))) for some in (names, schema))
        text = f"no feature, such as {got}, is known, so all are ignored; {known} was learned"
        _warn_of(UNKNOWN_FEATURES, text, schema.warned)


def warn_of_lost(warned: set[Hashable]) -> None:
    """Warn that no label has found its prediction, unless that is among what is `warned` of."""
    text = (
        "none of the last labels belongs to a row that was predicted, so all are scored as if they "
        "came at once: pass learn_one the features that predict_one has had (a transformer that "
        "learns in between changes them; this model needs no scaler), or set max_delayed_labels=0"
    )
    _warn_of(LOST_LABELS, text, warned)


class SparsityCheck:
    """A check that samples do not lack most features (DESIGN.md: number of features)."""

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
            text = (
                f"there are {n_features} features, of which the last {_N_COUNTED} samples had only "
                f"{mean:.3g} on average that were present and not 0, and absent ones count as "
                f"missing: {advice}, and pass the string itself instead of OneHotEncoder"
            )
            _warn_of(FEW, text, schema.warned)
        self.n_left, self._n_values = self.n_left - 1, n_values


def _warn_of(key: object, text: str, warned: set[Any]) -> None:
    """Warn, unless the key is among what is `warned` of."""
    if key not in warned:
        warn(text)
        warned.add(key)  # last, as a warning may be raised as an error


def warn_once(text: str) -> None:
    """Warn, unless this process has already warned of the same."""
    _warn_of(text, text, WARNED)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first frame outside of here and river."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
