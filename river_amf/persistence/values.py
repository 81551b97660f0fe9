"""Labels, feature names, categories and parameters as JSON, and back: the same value and type.

JSON's null, true, numbers and text stand for themselves; all else is a list of its type's name and
one more item:

================================== ================================================================
["tuple", [...]]                   a tuple
["int", "0x..."]                   an int beyond 64 bits
["float", "inf"]                   an infinite float
["text", "..."]                    str with surrogates, as the hexadecimal digits of its UTF-8
["int64", 1], ["float32", 0.5], …  a numpy scalar, by the name of its dtype
["str", "..."]                     `np.str_`
================================== ================================================================
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from river_amf.encoding import Features, Labels, is_missing, shown
from river_amf.persistence.container import FileError

_DEEPEST = 50  # tuples within one another
_LARGEST_PLAIN = 2**63

_NUMPY_TYPES = {
    np.dtype(name).name: np.dtype(name).type
    for name in ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}
_SUPPORTED = (
    "files take str, bool, int, float, None, numpy's scalars of these, and tuples of them, "
    f"up to {_DEEPEST} within one another"
)


def to_json(value: Any, what: str) -> Any:
    """Return a value as JSON, or raise TypeError that calls it `what`.

    Parameters
    ----------
    value
        A str, bool, int, float but NaN, None, a numpy scalar of these, or a tuple of them; no
        subclass, which would not come back.
    what
        What it is, for the message.

    Returns
    -------
    What `json.dumps` takes.

    Raises
    ------
    TypeError
        For any other value.

    Examples
    --------
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
    """Some part of a value has no place in a file."""


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
    """Whether a text has no surrogates: of two that are a pair JSON would make one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def from_json(item: Any) -> Any:
    """Return the value that `to_json` has turned into JSON, or raise FileError.

    Examples
    --------
    >>> from_json(["tuple", ["a", ["float32", 0.5]]])
    ('a', np.float32(0.5))
    """
    return _from_json(item, _DEEPEST)


def _from_json(item: Any, depth: int) -> Any:
    if type(item) is not list:
        if type(item) is dict:
            raise FileError("is damaged: an object stands where a value should")
        return item
    try:
        kind, content = item
        if kind == "tuple" and depth and type(content) is list:
            return tuple(_from_json(part, depth - 1) for part in content)
        return _UNTAGGED[kind](content)
    except FileError:
        raise
    except (KeyError, OverflowError, TypeError, ValueError):
        raise FileError(f"is damaged: {shown(item)} stands for no value") from None


def _infinite(text: str) -> float:
    return {"inf": math.inf, "-inf": -math.inf}[text]


def _scalar(content: Any) -> Any:
    """Return what a numpy scalar is made of, which is no list but for these."""
    if type(content) is list and content[:1] not in (["int"], ["float"], ["text"]):
        raise ValueError
    return _from_json(content, 0)


def _numpy_reader(name: str) -> Callable[[Any], Any]:
    """Return what makes a numpy scalar of a Python scalar."""
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


# ------------------------------------------------------------------ what models are made of


def parameters_to_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a model as JSON; numbers of other types as int or float.

    Examples
    --------
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
    """Return those of these parameters that a file has, or raise FileError if it has others.

    Those that came later are absent, and have the defaults of their class.

    Examples
    --------
    >>> parameters_from_json({"step": 1.0}, ["step", "loss"])
    {'step': 1.0}
    """
    if type(items) is not dict:
        raise FileError(f"is damaged: its parameters are {shown(items)}, no object")
    unknown = items.keys() - set(names)
    if unknown:
        raise FileError(f"is damaged: it has the unknown parameters {shown(sorted(unknown))}")
    return {name: from_json(item) for name, item in items.items()}


def labels_to_json(labels: Labels) -> list[Any]:
    """Return labels as JSON.

    Examples
    --------
    >>> labels = Labels()
    >>> _ = labels.add("spam")
    >>> labels_to_json(labels)
    ['spam']
    """
    return [to_json(label, "label") for label in labels]


def labels_from_json(items: Any) -> Labels:
    """Return the labels of a file, or raise FileError.

    Examples
    --------
    >>> list(labels_from_json(["spam", ["tuple", [1, 2]]]))
    ['spam', (1, 2)]
    """
    labels = Labels()
    for label in distinct_from_json(items, "label"):
        if is_missing(label):
            raise FileError(f"is damaged: it has the label {shown(label)}")
        labels.add(label)
    return labels


def features_to_json(features: Features) -> list[list[Any]]:
    """Return each feature's name and its categories, None of a numeric one.

    Examples
    --------
    >>> features = Features()
    >>> features.add(features.check({"size": 2, "color": "red"}))
    >>> features_to_json(features)
    [['color', ['red']], ['size', None]]
    """
    result = []
    for name in features:
        categories = features.categories(name)
        what = f"category of feature {shown(name)}:"
        coded = None if categories is None else [to_json(value, what) for value in categories]
        result.append([to_json(name, "feature name"), coded])
    return result


def features_from_json(items: Any) -> Features:
    """Return the features of a file, or raise FileError.

    Examples
    --------
    >>> list(features_from_json([["color", ["red"]], ["size", None]]))
    ['color', 'size']
    """
    if type(items) is not list or not all(type(item) is list and len(item) == 2 for item in items):
        raise FileError("is damaged: its features are no list of names and categories")
    if any(categories == [] for _, categories in items):
        raise FileError("is damaged: a feature of categories has none")
    names = distinct_from_json([name for name, _ in items], "feature")
    codes = {
        name: {value: code for code, value in enumerate(distinct_from_json(categories, "category"))}
        for name, (_, categories) in zip(names, items, strict=True)
        if categories is not None
    }
    return Features.of({name: column for column, name in enumerate(names)}, codes)


def distinct_from_json(items: Any, what: str) -> list[Hashable]:
    """Return the values of a list in which no two are equal, or raise FileError.

    Examples
    --------
    >>> distinct_from_json(["red", ["int64", 7]], "category")
    ['red', np.int64(7)]
    """
    if type(items) is not list:
        raise FileError(f"is damaged: what should be a list of one {what} each is none")
    values = [from_json(item) for item in items]
    if len(set(values)) != len(values):
        raise FileError(f"is damaged: a {what} comes twice")
    return values
