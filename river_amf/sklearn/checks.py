"""Checks of labels, weights and seeds that follow scikit-learn's conventions."""

import numbers
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from river_amf.inputs.frames import unmasked
from river_amf.inputs.kinds import check_weight, shown
from river_amf.parameters import integer

_FAMILIES = str.maketrans("Ubiuf", "Onnnn")  # kinds of arrays of labels that can be merged


def draw_seed(random_state: Any) -> int:
    if isinstance(random_state, numbers.Integral):
        integer(0)("random_state", random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def checked_labels(y: Any) -> NDArray[Any]:
    labels: NDArray[Any] = column_or_1d(unmasked(y), warn=True)
    if labels.dtype == object and pd.isna(labels).any():
        raise ValueError("y has a missing label (None or NaN); every sample must have a label")
    if labels.dtype == object and pd.api.types.infer_dtype(labels) in ("mixed", "mixed-integer"):
        raise ValueError(f"labels must be all strings or all numbers, got {shown(labels.tolist())}")
    assert_all_finite(labels, input_name="y")
    if type_of_target(labels, input_name="y") not in ("binary", "multiclass"):
        check_classification_targets(labels)  # raises; of valid ones it might warn of many classes
    return labels


def checked_targets(y: Any) -> NDArray[Any]:
    targets: NDArray[Any] = column_or_1d(unmasked(y), warn=True)
    if targets.dtype.kind not in "fiubO":
        raise TypeError(f"y must be numbers, got an array of {targets.dtype}")
    if targets.dtype.kind == "f":
        assert_all_finite(targets, input_name="y")
    return targets


def class_weights(
    class_weight: Any, labels: NDArray[Any], classes: NDArray[Any] | None
) -> NDArray[np.float64]:
    """Return the weight of each row by its class, or raise ValueError."""
    # `classes` are all possible ones, or None.
    if not isinstance(class_weight, dict):
        there, codes = np.unique(labels, return_inverse=True)
        weights: NDArray[np.float64] = compute_class_weight(class_weight, classes=there, y=labels)
        return weights[codes]
    for label, weight in class_weight.items():
        try:
            check_weight(weight)
        except (TypeError, ValueError) as error:
            raise ValueError(f"class_weight of {shown(label)}: {error}") from None
    if classes is not None:  # raises if a class is in neither
        compute_class_weight(class_weight, classes=classes, y=classes)
    return np.array([float(class_weight.get(label, 1.0)) for label in labels.tolist()])


def merged_classes(classes: NDArray[Any] | None, labels: NDArray[Any]) -> NDArray[Any]:
    """Return all labels, sorted; raise ValueError if strings and numbers are mixed."""
    if classes is None:
        return np.unique(labels)
    if len({array.dtype.kind.translate(_FAMILIES) for array in (classes, labels)}) > 1:
        raise ValueError(  # numpy would make numbers strings or durations
            f"labels must be all strings or all numbers, got {shown(np.unique(labels).tolist())} "
            f"in addition to {shown(classes.tolist())}"
        )
    return np.union1d(classes, labels)
