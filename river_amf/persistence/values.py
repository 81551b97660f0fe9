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

from river_amf.inputs.categories import Categories, Vocabulary
from river_amf.inputs.encoding import Features
from river_amf.inputs.kinds import PLAIN_NUMBERS, plain, shown
from river_amf.inputs.labels import Labels
from river_amf.inputs.sparse_features import SparseFeatures
from river_amf.inputs.targets import Targets
from river_amf.persistence.validation import FileError, require

_DEEPEST = 50  # how deep tuples may be nested
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
    try:
        kind, content = item
        if kind == "tuple" and type(content) is list:
            return tuple([from_json(part) for part in content])
        scalar = _NUMPY.get(kind)
        value = scalar(from_json(content)) if scalar else _READERS[kind](content)
        require(_to_json(value, 0) == item, "value")
    except (ArithmeticError, LookupError, TypeError, ValueError, NotImplementedError) as error:
        raise FileError(f"is damaged: {shown(item)} does not encode a value") from error
    return value


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


def schema_to_json(features: Features, labels: Labels | Targets) -> dict[str, Any]:
    """Return features, categories, words, and labels or the origin of targets as JSON.

    A feature is a list of its name, its categories in the order of use, and their codes; both are
    None if it is numeric.
    """
    columns: list[list[Any]] = []
    for name in features:
        coding, categories, codes = features.coding(name), None, None
        if coding is not None:
            what, by_use = f"category of feature {shown(name)}:", coding.by_use()
            categories = [to_json(category, what) for category in by_use]
            codes = [*by_use.values()]
        columns.append([to_json(name, "feature name"), categories, codes])
    schema: dict[str, Any] = {"features": columns}
    if isinstance(labels, Targets):
        schema["origin"] = labels.origin
    else:
        schema["labels"] = [to_json(label, "label") for label in labels]
    if features.vocabulary is not None:
        schema["words"] = [to_json(word, "feature name") for word in features.vocabulary.slots]
    return schema


def schema_from_json(
    schema: dict[str, Any],
    max_categories: int | None,
    max_columns: int | None,
    *,
    is_regression: bool,
    is_lenient: bool,
) -> tuple[Features, Labels | Targets]:
    """Take the entries of `schema_to_json` out of an object, or raise any error.

    `max_columns` is that of a forest of words, else None. If features are lenient, values of the
    wrong kind count as missing.
    """
    columns = schema.pop("features", [])
    names = _distinct([name for name, _, _ in columns], "feature")
    categories = {}
    for name, (_, known, codes) in zip(names, columns, strict=True):
        if known is not None:
            values = _distinct(known, "category")
            are_integers = {*map(type, codes)} == {int}
            require(are_integers and sorted(codes) == [*range(len(values))], "codes of categories")
            is_within = max_categories is None or len(values) <= max_categories
            require(is_within, "number of categories")
            categories[name] = Categories(max_categories, dict(zip(values, codes, strict=True)))
    indices = {name: column for column, name in enumerate(names)}
    features = Features(is_lenient=is_lenient)
    features = features.replacing(_columns=indices, _categories=categories)
    if max_columns is not None:
        words = _distinct(schema.pop("words", []), "feature")
        require(categories.keys().isdisjoint(words), "list of words, some of which are categories,")
        features = SparseFeatures.of_file(features, Vocabulary(words), max_columns)
    if is_regression:
        origin = schema.pop("origin", None)
        require(origin is None or type(origin) is float, f"origin {shown(origin)}, not a number,")
        return features, Targets(origin)
    labels = Labels()
    for label in _distinct(schema.pop("labels", []), "label"):
        labels.add(label)
    return features, labels


def _distinct(items: Any, what: str) -> list[Hashable]:
    """Return the values of a list, or raise FileError unless all of them are distinct."""
    values = [from_json(item) for item in items]
    require(len(set(values)) == len(values), f"list of values, in which a {what} appears twice,")
    return values
