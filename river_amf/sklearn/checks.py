"""Checks of labels, weights and seeds that follow scikit-learn's conventions."""

from __future__ import annotations

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

from river_amf.inputs.frames import unmasked
from river_amf.inputs.kinds import check_weight, shown
from river_amf.parameters import integer
from river_amf.persistence import validation

_LARGEST_TEXTS = 2**28  # bytes of an array of texts that needs no reason
_FAMILIES = str.maketrans("Ubiuf", "Onnnn")  # kinds of arrays of labels that can be merged
_LARGEST_DRAW = np.iinfo(np.int32).max  # upper bound of a seed drawn from a RandomState


def refuse_masked(values: Any, what: str) -> None:
    """Raise ValueError if an entry is masked, which numpy forgets when it converts values."""
    entries = values if isinstance(values, list | tuple) else [values]
    if any(map(np.ma.is_masked, entries)):
        raise ValueError(f"{what}; every row must have one")


def rows_without_masks(X: Any) -> Any:
    """Return an array or list of rows with None, NaN or NaT where they are masked."""
    if isinstance(X, np.ma.MaskedArray):
        return unmasked(X)
    if isinstance(X, list | tuple):
        return [unmasked(row) if isinstance(row, np.ma.MaskedArray) else row for row in X]
    return X


def draw_seed(random_state: Any) -> int:
    """Return a seed for scikit-learn's `random_state`, or raise ValueError."""
    if isinstance(random_state, numbers.Integral):
        integer(0)("random_state", random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(_LARGEST_DRAW))


def checked_labels(y: Any) -> NDArray[Any]:
    """Return classification labels as an array, or raise TypeError or ValueError."""
    refuse_masked(y, "y has a masked label")
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    if labels.dtype == object and pd.isna(labels).any():
        raise ValueError("y has a missing label (None or NaN); every sample must have a label")
    if labels.dtype == object and pd.api.types.infer_dtype(labels) in ("mixed", "mixed-integer"):
        raise ValueError(f"labels must be all strings or all numbers, got {shown(labels.tolist())}")
    assert_all_finite(labels, input_name="y")
    if type_of_target(labels, input_name="y") not in ("binary", "multiclass"):
        check_classification_targets(labels)  # raises; of valid ones it might warn of many classes
    return labels


def checked_targets(y: Any) -> NDArray[Any]:
    """Return targets as an array, objects unchecked, or raise TypeError or ValueError."""
    refuse_masked(y, "y has a masked target")
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
        validation.require(n_bytes <= max(_LARGEST_TEXTS, 100 * sum(lengths)), "list of classes")
    classes = np.array(labels, dtype=None if are_scalars else object)
    validation.require(labels and classes.ndim == 1, "list of classes")
    are_sorted = False
    with suppress(TypeError):  # strings among numbers
        are_sorted = np.array_equal(classes, np.unique(classes))
    validation.require(are_sorted, "order of classes")
    return classes


def checked_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the weights of rows, all 1 if none are given, or raise TypeError or ValueError."""
    if sample_weight is None:
        return np.ones(n_rows)
    refuse_masked(sample_weight, "sample_weight has a masked weight")
    if np.asarray(sample_weight).dtype.kind in "mM":  # which would be read as counts of their unit
        raise ValueError("sample_weight must be numbers, got dates or durations")
    weights: NDArray[np.float64] = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight must have shape ({n_rows},), got {weights.shape}")
    check_non_negative(weights, "sample_weight")
    return weights


def class_weights(
    class_weight: Any, labels: NDArray[Any], classes: NDArray[Any] | None, *, is_whole: bool
) -> NDArray[np.float64]:
    """Return the weight of each row by its class, or raise ValueError.

    `classes` are those given to `partial_fit`; `is_whole` is true in `fit`, which sees all rows.
    """
    there, codes = np.unique(labels, return_inverse=True)
    if isinstance(class_weight, dict):
        check_class_weight(class_weight)
        if classes is not None:  # of which some may not be among the labels
            compute_class_weight(class_weight, classes=classes, y=classes)
        if not is_whole:
            known = {*there.tolist()}
            class_weight = {label: w for label, w in class_weight.items() if label in known}
    weights: NDArray[np.float64] = compute_class_weight(class_weight, classes=there, y=labels)
    if class_weight == "balanced" and not is_whole:
        raise ValueError(
            "class_weight='balanced' needs all rows at once, so partial_fit cannot take it; give a "
            "dict of weights, such as {'spam': 2.0, 'ham': 1.0}, or weights by row as sample_weight"
        )
    return weights[codes]


def check_class_weight(class_weight: dict[Any, Any]) -> None:
    """Raise ValueError unless the values are weights, of whichever classes."""
    for label, weight in class_weight.items():
        try:
            check_weight(weight)
        except (TypeError, ValueError) as error:
            raise ValueError(f"class_weight of {shown(label)}: {error}") from None


def merged_classes(known: NDArray[Any] | None, labels: NDArray[Any]) -> NDArray[Any]:
    """Return all labels, sorted; raise ValueError if strings and numbers are mixed."""
    if known is None:
        return np.unique(labels)
    kinds = (each.dtype.kind.translate(_FAMILIES) for each in (known, labels))
    if len({*kinds}) > 1:  # numpy would make numbers strings or durations
        raise ValueError(
            f"labels must be all strings or all numbers, got {shown(np.unique(labels).tolist())} "
            f"in addition to {shown(known.tolist())}"
        )
    merged: NDArray[Any] = np.union1d(known, labels)
    return merged if len(merged) > len(known) else known
