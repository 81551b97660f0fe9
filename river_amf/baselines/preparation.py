"""What stands before a model that cannot take any input: scalers and encoders."""

from __future__ import annotations

from typing import Any

from river import compose, preprocessing

from river_amf.encoding import column_order
from river_amf.kinds import Number, as_number, is_missing, is_number, plain
from river_amf.scaling import Scaler

Features = dict[Any, Any]


def numbers(x: Features) -> Features:
    """Return the numbers and booleans as floats, or raise ValueError if one is infinite."""
    found = {name: as_number(name, value) for name, value in x.items() if isinstance(value, Number)}
    return {name: value for name, value in found.items() if value == value}


def categories(x: Features) -> Features:
    """Return the features that are neither numbers nor missing, or raise for dates and lists."""
    return {
        name: plain(value)
        for name, value in x.items()
        if not isinstance(value, Number) and not is_missing(value) and not is_number(name, value)
    }


def present(x: Features) -> Features:
    """Return the features that are not missing."""
    return numbers(x) | categories(x)


def with_sortable_names(x: Features) -> Features:
    """Return the features with their names replaced by sortable keys."""
    return {column_order(name): value for name, value in x.items()}


def sortable(x: Features) -> Features:
    """Return the features that are not missing, with their names replaced by sortable keys."""
    return with_sortable_names(present(x))


def each(of_numbers: list[Any], of_categories: list[Any]) -> compose.TransformerUnion:
    """Send numbers through some steps, and categories through others."""
    return compose.TransformerUnion(
        ("numbers", compose.Pipeline(numbers, *of_numbers)),
        ("categories", compose.Pipeline(categories, *of_categories)),
    )


def scaled(*steps: Any) -> compose.TransformerUnion:
    """Scale numbers, and send them through further steps; one-hot encode categories."""
    one_hot = preprocessing.OneHotEncoder(drop_zeros=True)
    return each([Scaler(), *steps], [one_hot])
