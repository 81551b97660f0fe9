"""Labels, feature names, categories and parameters as JSON, preserving values and types.

None, bools, numbers and text are written as such; any other value becomes a list of the name of its
type and one more item:

================================== ================================================================
["tuple", [...]]                   a tuple
["int", "0x..."]                   an int beyond 64 bits
["float", "inf"]                   an infinite float
["text", "..."]                    a str with surrogates, as the hexadecimal digits of its UTF-8
["int64", 1], ["float32", 0.5], …  a numpy scalar, by the name of its dtype
["str", "..."]                     an `np.str_`
================================== ================================================================
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from river_amf.encoding import Categories, Features, Labels, is_missing, shown
from river_amf.persistence.container import FileError

_DEEPEST = 50  # how deep tuples may be nested
_LARGEST_PLAIN = 2**63

_NUMPY_TYPES = {
    np.dtype(name).name: np.dtype(name).type
    for name in ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}
_SUPPORTED = (
    "files can hold str, bool, int, float, None, numpy scalars of these types, and tuples of such "
    f"values, nested up to {_DEEPEST} deep"
)


def to_json(value: Any, what: str) -> Any:
    """Return a value in a form for `json.dumps`, or raise TypeError, which calls it `what`.

    >>> to_json(("a", 1, True, None, 0.5), "label")
    ['tuple', ['a', 1, True, None, 0.5]]
    >>> to_json(np.int64(7), "label")
    ['int64', 7]
    """
    try:
        return _to_json(value, _DEEPEST)
    except _Unsupported:
        raise TypeError(
            f"cannot save {what} {shown(value)} of type {type(value).__name__}: {_SUPPORTED}"
        ) from None


class _Unsupported(Exception):
    """Raised for a value of a type that files cannot hold."""


def _to_json(value: Any, depth: int) -> Any:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return value if _is_plain(value) else ["text", value.encode("utf-8", "surrogatepass").hex()]
    if kind is int:
        return value if abs(value) < _LARGEST_PLAIN else ["int", hex(value)]
    if kind is float and not math.isnan(value):
        return value if math.isfinite(value) else ["float", str(value)]
    if kind is tuple and depth:
        return ["tuple", [_to_json(item, depth - 1) for item in value]]
    if kind is np.str_:
        return ["str", _to_json(str.__str__(value), 0)]  # str(value) drops "\0" at the end
    if isinstance(value, np.generic) and _NUMPY_TYPES.get(value.dtype.name) is value.dtype.type:
        return [value.dtype.name, _to_json(value.item(), 0)]
    raise _Unsupported


def _is_plain(text: str) -> bool:
    """Whether a text has no surrogates (JSON would merge a pair of them into one character)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def from_json(item: Any) -> Any:
    """Return the value that `to_json` turned into `item`, or raise FileError.

    >>> from_json(["tuple", ["a", ["float32", 0.5]]])
    ('a', np.float32(0.5))
    """
    return _from_json(item, _DEEPEST)


def _from_json(item: Any, depth: int) -> Any:
    if type(item) is not list:
        if type(item) is dict:
            raise FileError("is damaged: it has an object in place of a value")
        return item
    try:
        kind, content = item
        if kind == "tuple" and depth and type(content) is list:
            return tuple(_from_json(part, depth - 1) for part in content)
        return _UNTAGGED[kind](content)
    except FileError:
        raise
    except (KeyError, OverflowError, TypeError, ValueError):
        raise FileError(f"is damaged: {shown(item)} does not encode a value") from None


def _infinite(text: str) -> float:
    return {"inf": math.inf, "-inf": -math.inf}[text]


def _scalar(content: Any) -> Any:
    """Return the Python value inside the JSON of a numpy scalar, or raise ValueError."""
    if type(content) is list and content[:1] not in (["int"], ["float"], ["text"]):
        raise ValueError
    return _from_json(content, 0)


def _numpy_reader(name: str) -> Callable[[Any], Any]:
    """Return a function that makes a numpy scalar from its content in JSON."""
    expected = {"b": bool, "f": float}.get(np.dtype(name).kind, int)

    def read(content: Any) -> Any:
        number = _scalar(content)
        if type(number) is not expected:
            raise ValueError
        return _NUMPY_TYPES[name](number)

    return read


_UNTAGGED: dict[str, Callable[[Any], Any]] = {
    "int": lambda text: int(text, 16),
    "float": _infinite,
    "text": lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    "str": lambda text: np.str_(_scalar(text)),
} | {name: _numpy_reader(name) for name in _NUMPY_TYPES}


# -------------------------------------------------------------------------- the parts of models


def parameters_to_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a model as JSON, with numbers of other types as int or float.

    >>> from fractions import Fraction
    >>> parameters_to_json({"n_classes": 3, "dirichlet": Fraction(1, 2)})
    {'n_classes': 3, 'dirichlet': 0.5}
    """
    return {name: _parameter_to_json(name, value) for name, value in parameters.items()}


def _parameter_to_json(name: str, value: Any) -> Any:
    try:
        return to_json(value, name)
    except TypeError:
        if isinstance(value, numbers.Integral):
            return to_json(int(value), name)
        if isinstance(value, numbers.Real):
            return to_json(float(value), name)
        raise


def parameters_from_json(items: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the parameters in a file, or raise FileError if some are not among `names`.

    >>> parameters_from_json({"step": 1.0}, ["step", "loss"])
    {'step': 1.0}
    """
    # Parameters that the release that wrote the file did not have are absent, and get defaults.
    if type(items) is not dict:
        raise FileError(f"is damaged: its parameters must be an object, got {shown(items)}")
    unknown = items.keys() - set(names)
    if unknown:
        raise FileError(f"is damaged: it has unknown parameters {shown(sorted(unknown))}")
    return {name: from_json(item) for name, item in items.items()}


def labels_to_json(labels: Labels) -> list[Any]:
    """Return labels as JSON.

    >>> labels = Labels()
    >>> _ = labels.add("spam")
    >>> labels_to_json(labels)
    ['spam']
    """
    return [to_json(label, "label") for label in labels]


def labels_from_json(items: Any) -> Labels:
    """Return the labels in a file, or raise FileError.

    >>> list(labels_from_json(["spam", ["tuple", [1, 2]]]))
    ['spam', (1, 2)]
    """
    labels = Labels()
    for label in distinct_from_json(items, "label"):
        if is_missing(label):
            raise FileError(f"is damaged: it has the label {shown(label)}, which means missing")
        labels.add(label)
    return labels


def features_to_json(features: Features) -> list[list[Any]]:
    """Return the name of each feature with its categories, or None if it is numeric.

    Once categories have been forgotten, their codes and the number of the epoch follow.

    >>> features = Features()
    >>> features = features.extended(features.check({"size": 2, "color": "red"}))
    >>> features_to_json(features)
    [['color', ['red']], ['size', None]]
    """
    result = []
    for name in features:
        known = features.coding(name)
        what = f"category of feature {shown(name)}:"
        coded = None if known is None else [to_json(value, what) for value in known.codes]
        result.append([to_json(name, "feature name"), coded])
        if known is not None and known.epoch:
            result[-1] += [list(known.codes.values()), known.epoch]
    return result


def features_from_json(items: Any, max_categories: int | None = None) -> Features:
    """Return the features in a file, or raise FileError.

    >>> list(features_from_json([["color", ["red"]], ["size", None]]))
    ['color', 'size']
    """
    if type(items) is not list or not all(
        type(item) is list and len(item) in (2, 4) for item in items
    ):
        raise FileError("is damaged: its features are not a list of names and categories")
    names = distinct_from_json([item[0] for item in items], "feature")
    categories = {
        name: _categories_from_json(max_categories, *item[1:])
        for name, item in zip(names, items, strict=True)
        if item[1] is not None
    }
    return Features.of({name: column for column, name in enumerate(names)}, categories)


def _categories_from_json(
    bound: int | None, items: Any, codes: Any = None, epoch: Any = 0
) -> Categories:
    """Return the categories of a feature in a file, or raise FileError."""
    known = distinct_from_json(items, "category")
    if not known:
        raise FileError("is damaged: a categorical feature has no categories")
    if codes is None:
        # a file from before there was a bound may hold more, of which the newest stay
        codes = list(range(len(known)))
        if bound is not None and len(known) > bound:
            epoch = (len(known) - 1) // (bound + 1) + 1
            known, codes = known[-bound:], codes[-bound:]
    elif bound is None or not _are_codes(codes, epoch, bound) or len(codes) != len(known):
        raise FileError("is damaged: its codes of categories cannot be right")
    return Categories(bound, dict(zip(known, codes, strict=True)), epoch)


def _are_codes(codes: Any, epoch: Any, bound: int) -> bool:
    """Whether codes can be those of a feature that has forgotten categories."""
    if type(codes) is not list or not all(type(number) is int for number in [epoch, *codes]):
        return False
    is_in_range = epoch > 0 and min(codes) >= 0 and max(codes) < (epoch + 1) * (bound + 1) <= 2**53
    slots = {code % (bound + 1) for code in codes}
    return is_in_range and len(slots) == len(codes) <= bound


def distinct_from_json(items: Any, what: str) -> list[Hashable]:
    """Return the values of a list, or raise FileError unless all of them are distinct.

    >>> distinct_from_json(["red", ["int64", 7]], "category")
    ['red', np.int64(7)]
    """
    if type(items) is not list:
        raise FileError(f"is damaged: what should be a list with one {what} per item is not a list")
    values = [from_json(item) for item in items]
    if len(set(values)) != len(values):
        raise FileError(f"is damaged: a {what} appears twice")
    return values
