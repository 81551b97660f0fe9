"""Checks of labels, weights and seeds that follow scikit-learn's conventions."""

from __future__ import annotations

import math
import numbers
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_array, check_random_state, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_non_negative

from river_amf.frames import unmasked
from river_amf.kinds import shown
from river_amf.parameters import integer
from river_amf.persistence import soundness
from river_amf.weights import LARGEST_WEIGHT

_LARGEST_TEXTS = 2**28  # bytes of an array of texts that needs no reason
_LARGEST_DRAW = np.iinfo(np.int32).max  # upper bound of a seed drawn from a RandomState


def is_masked(values: Any) -> bool:
    """Whether some entry of an array or list is masked, which numpy forgets when it converts it."""
    if isinstance(values, np.ma.MaskedArray):
        return bool(np.ma.is_masked(values))
    return isinstance(values, list | tuple) and any(map(np.ma.is_masked, values))


def read_rows(X: Any) -> Any:
    """Return an array or list of rows with None, NaN or NaT where they are masked."""
    if isinstance(X, np.ma.MaskedArray):
        return unmasked(X)
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        return [unmasked(row) if isinstance(row, np.ma.MaskedArray) else row for row in X]
    return X


def draw_seed(random_state: Any) -> int:
    """Return a seed for scikit-learn's `random_state`, or raise ValueError."""
    if isinstance(random_state, numbers.Integral):
        integer(0)("random_state", random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(_LARGEST_DRAW))


def read_labels(y: Any) -> NDArray[Any]:
    """Return classification labels as an array, or raise TypeError or ValueError."""
    if is_masked(y):
        raise ValueError("y has a masked label; every sample must have a label")
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    if labels.dtype == object and pd.isna(labels).any():
        raise ValueError("y has a missing label (None or NaN); every sample must have a label")
    if labels.dtype == object and pd.api.types.infer_dtype(labels) in ("mixed", "mixed-integer"):
        raise ValueError(f"labels must be all strings or all numbers, got {shown(labels.tolist())}")
    assert_all_finite(labels, input_name="y")
    if type_of_target(labels, input_name="y") not in ("binary", "multiclass"):
        # This raises. It is not called for valid types, because it would warn about small blocks
        # with many classes.
        check_classification_targets(labels)
    return labels


def read_numbers(y: Any) -> NDArray[Any]:
    """Return targets of regression as an array, or raise TypeError or ValueError.

    Of an array of objects the model checks each one.
    """
    if is_masked(y):
        raise ValueError("y has a masked target; every sample must have a target")
    numbers: NDArray[Any] = column_or_1d(y, warn=True)
    kind = numbers.dtype.kind
    if kind not in "fiubO":
        raise TypeError(f"y must be numbers, got an array of {numbers.dtype}")
    if kind == "f":
        assert_all_finite(numbers, input_name="y")
    return numbers


def classes_of(labels: list[Any]) -> NDArray[Any]:
    """Return `classes_` from the labels in a file, or raise FileError."""
    are_scalars = all(isinstance(label, np.generic) for label in labels)
    if are_scalars and labels:  # each text takes as much room as the longest: one long, many short
        lengths = [len(label) for label in labels if isinstance(label, str)]
        n_bytes = 4 * len(lengths) * max(lengths, default=0)
        soundness.demand(n_bytes <= max(_LARGEST_TEXTS, 100 * sum(lengths)), "list of classes")
    classes = np.array(labels, dtype=None if are_scalars else object)
    soundness.demand(labels and classes.ndim == 1, "list of classes")
    are_sorted = False
    with suppress(TypeError):  # strings among numbers
        are_sorted = np.array_equal(classes, np.unique(classes))
    soundness.demand(are_sorted, "order of classes")
    return classes


def read_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the sample weights, all 1 if none are given, or raise ValueError."""
    if sample_weight is None:
        return np.ones(n_rows)
    if is_masked(sample_weight):
        raise ValueError("sample_weight has a masked weight; every row must have a weight")
    if np.asarray(sample_weight).dtype.kind in "mM":  # which would be read as counts of their unit
        raise ValueError("sample_weight must be numbers, got dates or durations")
    try:
        weights: NDArray[np.float64] = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
        )
    except TypeError as error:
        raise TypeError(f"sample_weight must be numbers: {error}") from None
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have shape ({n_rows},), one weight per row, got {weights.shape}"
        )
    check_non_negative(weights, "sample_weight")
    return weights


def check_some_weight(weights: NDArray[np.float64], cause: str) -> None:
    """Raise ValueError if all weights of a first call are zero, which is the cause's doing."""
    if not weights.any():
        raise ValueError(
            f"{cause}; in the first call, at least one row must have a positive weight"
        )


def is_weight(value: Any) -> bool:
    """Whether a value is a weight that a forest takes, as a float."""
    return type(value) is float and 0.0 <= value <= LARGEST_WEIGHT


def class_weights(
    class_weight: Any, labels: NDArray[Any], classes: NDArray[Any] | None, *, is_whole: bool
) -> NDArray[np.float64]:
    """Return the weight of each row by its class, or raise ValueError.

    `classes` are those given to `partial_fit`; `is_whole` is true in `fit`, which sees all rows.
    """
    if class_weight is None:
        return np.ones(len(labels))
    there, codes = np.unique(labels, return_inverse=True)
    if isinstance(class_weight, dict):
        known = classes if classes is not None else there if is_whole else None
        check_class_weight(class_weight, known)
        weights = np.array([float(class_weight.get(label, 1.0)) for label in there.tolist()])
    elif isinstance(class_weight, str) and class_weight == "balanced":
        if not is_whole:
            raise ValueError(
                "class_weight='balanced' needs all rows at once, so partial_fit cannot take it; "
                "give a dict of weights, such as {'spam': 2.0, 'ham': 1.0}, or weights by row as "
                "sample_weight"
            )
        weights = compute_class_weight("balanced", classes=there, y=labels)
    else:
        raise ValueError(
            "class_weight must be a dict from class to weight, 'balanced' or None, got "
            f"{shown(class_weight)}"
        )
    by_row: NDArray[np.float64] = weights[codes]
    return by_row


def check_class_weight(class_weight: dict[Any, Any], classes: NDArray[Any] | None = None) -> None:
    """Raise ValueError unless these are weights of classes, of which all may be known."""
    for label, weight in class_weight.items():
        number = math.nan
        if isinstance(weight, numbers.Real) and not isinstance(weight, np.timedelta64):
            with suppress(OverflowError):
                number = float(weight)
        if not is_weight(number):
            raise ValueError(
                f"class_weight must have a number from 0 to {LARGEST_WEIGHT:g} for each class, got "
                f"{shown(weight)} for {shown(label)}"
            )
    if classes is None:
        return
    known = classes.tolist()
    strangers = [label for label in class_weight if label not in known]
    # As in scikit-learn, a class more is fine if the others have weights: a fold may lack it.
    if strangers and any(label not in class_weight for label in known):
        raise ValueError(
            f"class_weight has weights for {shown(strangers)}, which are not among the classes "
            f"{shown(known)}"
        )


def _family(labels: NDArray[Any]) -> str:
    """Return what kind of labels these are, of which only equal ones can be merged."""
    kind = labels.dtype.kind
    return "text" if kind in "OU" else kind if kind in "mM" else "number"


def merged_classes(known: NDArray[Any] | None, labels: NDArray[Any]) -> NDArray[Any]:
    """Return all labels, sorted; raise ValueError if strings and numbers are mixed."""
    if known is None:
        return np.unique(labels)
    if _family(known) != _family(labels):  # numpy would make numbers strings or durations
        raise ValueError(
            f"labels must be all strings or all numbers, got {shown(np.unique(labels).tolist())} "
            f"in addition to {shown(known.tolist())}"
        )
    merged: NDArray[Any] = np.union1d(known, labels)
    return merged if len(merged) > len(known) else known
