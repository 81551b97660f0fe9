"""Labels, feature names, categories and parameters as JSON, preserving values and types.

None, bools, finite numbers and text are written as such; any other value becomes a list of the name
of its type and one more item: `["tuple", [...]]`; `["int", "0x..."]` beyond 64 bits;
`["float", "inf"]`; `["text", "..."]`, a str with surrogates, and `["bytes", "..."]` in hexadecimal;
`["float32", 0.5]`, a numpy scalar; `["date", "..."]`, `["datetime", "..."]` and `["time", "..."]`
in ISO format; `["timedelta", [days, seconds, microseconds]]`. A named time zone is a matter of the
system that reads it, so there is none. Values of subclasses are written as what they hold.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from river_amf.inputs.categories import Categories
from river_amf.inputs.encoding import Features
from river_amf.inputs.kinds import PLAIN_NUMBERS, is_missing, plain, shown
from river_amf.inputs.labels import Labels
from river_amf.inputs.targets import Targets
from river_amf.persistence.validation import FileError, require

_DEEPEST = 50  # how deep tuples may be nested
_MOST_OF_A_HASH = 100  # how many values may share a hash; -1 and -2 do
_SUPPORTED = (
    "files can hold str, bool, int, float, None, numpy scalars of these types, bytes, dates, times "
    "and durations of datetime (naive, in UTC or at a fixed offset), and tuples of such values, "
    f"nested up to {_DEEPEST} deep; pickle holds any others"
)


def to_json(value: Any, what: str) -> Any:
    """Return a value in a form for `json.dumps`, or raise TypeError, which calls it `what`.

    >>> to_json(("a", 1, True, None, np.int64(7)), "label")
    ['tuple', ['a', 1, True, None, ['int64', 7]]]
    """
    try:
        return _to_json(value, _DEEPEST)
    except NotImplementedError:
        got = f"{what} {shown(value)} of type {type(value).__name__}"
        raise TypeError(f"cannot save {got}: {_SUPPORTED}") from None


def _to_json(value: Any, depth: int) -> Any:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:  # JSON would merge a pair of surrogates into one character
        data = value.encode("utf-8", "surrogatepass")
        return value if data == value.encode(errors="replace") else ["text", data.hex()]
    if kind is int:
        return value if abs(value) < 2**63 else ["int", hex(value)]
    if kind is float and not math.isnan(value):
        return value if math.isfinite(value) else ["float", str(value)]
    if kind is tuple and depth:
        return ["tuple", [_to_json(item, depth - 1) for item in value]]
    if kind is np.str_:
        return ["str", _to_json(str.__str__(value), 0)]  # str(value) drops "\0" at the end
    if kind in _SCALARS:
        return [kind.__name__, _to_json(value.item(), 0)]
    if kind is bytes:
        return ["bytes", value.hex()]
    if kind is dt.timedelta:
        return ["timedelta", [value.days, value.seconds, value.microseconds]]
    zone = getattr(value, "tzinfo", None)
    if kind in _TIMES and (zone is None or type(zone) is dt.timezone):
        return [kind.__name__, value.isoformat()]
    if type(plain(value)) is kind:
        raise NotImplementedError
    return _to_json(plain(value), depth)


_TIMES = (dt.date, dt.datetime, dt.time)
_SCALARS: set[type[Any]] = {kind for kind in PLAIN_NUMBERS if issubclass(kind, np.generic)}
_NUMPY: dict[str, Any] = {kind.__name__: kind for kind in _SCALARS} | {"str": np.str_}
_READERS: dict[str, Callable[[Any], Any]] = {
    "int": lambda text: int(text, 16),
    "float": float,
    "text": lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    "bytes": bytes.fromhex,
    "timedelta": lambda numbers: dt.timedelta(*numbers),
    **{kind.__name__: kind.fromisoformat for kind in _TIMES},
}


def from_json(item: Any) -> Any:
    """Return the value that `to_json` turned into `item`, or raise FileError.

    >>> from_json(["tuple", ["a", ["float32", 0.5]]])
    ('a', np.float32(0.5))
    """
    if type(item) is not list and type(item) is not dict:
        return item
    cause = None
    try:
        kind, content = item
        if kind == "tuple" and type(content) is list:
            return tuple([from_json(part) for part in content])
        scalar = _NUMPY.get(kind)
        value = scalar(from_json(content)) if scalar else _READERS[kind](content)
        if _to_json(value, 0) == item:
            return value
    except (ArithmeticError, LookupError, TypeError, ValueError, NotImplementedError) as error:
        cause = error.__cause__ or error  # of a tuple in the tuple
    raise FileError(f"is damaged: {shown(item)} does not encode a value") from cause


def distinct_from_json(items: Any, what: str) -> list[Hashable]:
    """Return the values of a list, or raise FileError unless all of them are distinct."""
    if type(items) is not list:
        raise FileError(f"is damaged: what should be a list with one {what} per item is not a list")
    values = [from_json(item) for item in items]
    # Hashes of numbers are no secret: values that share one would take quadratic time in a dict.
    hashes = np.sort([*map(hash, values)])
    is_spread = hashes[_MOST_OF_A_HASH:] != hashes[:-_MOST_OF_A_HASH]
    require(is_spread.all(), f"list with one {what} per item, of which many have the same hash,")
    if len(set(values)) != len(values):
        raise FileError(f"is damaged: a {what} appears twice")
    return values


def parameters_to_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a model as JSON, with fractions as float."""
    own = {n: float(v) if isinstance(v, Fraction) else v for n, v in parameters.items()}
    return {name: to_json(value, name) for name, value in own.items()}


def parameters_from_json(items: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the parameters in a file, or raise FileError if some are not among `names`."""
    if type(items) is not dict or not items.keys() <= {*names}:
        what = f"an object with some of {', '.join(names)}"
        raise FileError(f"is damaged: its parameters must be {what}, got {shown(items)}")
    return {name: from_json(item) for name, item in items.items()}


def labels_from_json(items: Any) -> Labels:
    """Return the labels in a file, or raise FileError."""
    labels = Labels()
    for label in distinct_from_json(items, "label"):
        require(not is_missing(label), f"label {shown(label)}, which means missing,")
        labels.add(label)
    return labels


def targets_from_json(item: Any) -> Targets:
    """Return targets with the origin in a file, None before the first one; or raise FileError."""
    is_origin = item is None or (type(item) is float and math.isfinite(item))
    require(is_origin, f"origin {shown(item)}, in place of a finite number,")
    return Targets(item)


def features_to_json(features: Features) -> list[list[Any]]:
    """Return the name of each feature with its categories, or None if it is numeric.

    With a bound on their number, categories come in the order of use, and their codes follow.
    """
    result: list[list[Any]] = []
    for name in features:
        known, what = features.coding(name), f"category of feature {shown(name)}:"
        result.append([to_json(name, "feature name"), None])
        if known is not None:
            codes = known.by_use()
            result[-1][1] = [to_json(each, what) for each in codes]
            result[-1] += [] if known.bound is None else [list(codes.values())]
    return result


def features_from_json(
    items: Any, max_categories: int | None = None, *, is_lenient: bool = False
) -> Features:
    """Return the features in a file, or raise FileError.

    If they are lenient, values of the wrong kind count as missing.
    """
    _require_lists(items, (2, 3), "list of features and their categories")
    names = distinct_from_json([item[0] for item in items], "feature")
    columns = {name: column for column, name in enumerate(names)}
    categories = {}
    for name, (_, known, *codes) in zip(names, items, strict=True):
        is_bounded = known is not None and max_categories is not None
        require(len(codes) == is_bounded, "codes of categories")
        if known is not None:
            categories[name] = _categories_from_json(known, codes, max_categories)
    features = Features(is_lenient=is_lenient)
    return features.replacing(_columns=columns, _categories=categories)


def _require_lists(items: Any, lengths: tuple[int, ...], what: str) -> None:
    require(type(items) is list and all(type(i) is list and len(i) in lengths for i in items), what)


def _categories_from_json(items: Any, codes: list[Any], bound: int | None) -> Categories:
    """Return the categories of a feature in a file, or raise FileError."""
    known = distinct_from_json(items, "category")
    require(known, "feature, which is categorical and has no categories,")
    require(bound is None or len(known) <= bound, "number of categories")
    in_order = [*range(len(known))]
    for own in codes:
        are_integers = type(own) is list and {*map(type, own)} == {int}
        require(are_integers and sorted(own) == in_order, "codes of categories")
    return Categories(bound, dict(zip(known, codes[0] if codes else in_order, strict=True)))
