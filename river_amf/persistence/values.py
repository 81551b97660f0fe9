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
["UUID", "..."], ["date", "..."] … one of the types of `persistence.scalars`
================================== ================================================================

A value of a subclass of str, bytes, int or float, such as a member of a `StrEnum`, is written as
what it holds.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from river_amf.categories import Categories
from river_amf.encoding import Features
from river_amf.kinds import Number, is_missing, plain, shown
from river_amf.labels import Labels
from river_amf.mismatch import Mismatches
from river_amf.persistence import scalars
from river_amf.persistence.errors import FileError
from river_amf.persistence.headers import Unparsed, is_array, items_of
from river_amf.targets import Targets
from river_amf.vocabulary import Vocabulary

_DEEPEST = 50  # how deep tuples may be nested
_LARGEST_PLAIN = 2**63
# Sets and dicts compare a value with all others of the same hash, so that the time for values of
# one hash grows with their square: 60,000 integers that leave the same remainder modulo 2**61 - 1
# take a megabyte and many seconds. Tuples of -1 and -2 have equal hashes too, all 128 of length 7.
MOST_OF_ONE_HASH = 128
_FIRST_CHECK = 1024  # the number of values after which a list is checked for the first time

_NUMPY_TYPES = {
    np.dtype(name).name: np.dtype(name).type
    for name in ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}
_SUPPORTED = (
    "files can hold str, bool, int, float, None, numpy scalars of these types, bytes, Decimal, "
    "Fraction, UUID, dates, times and durations (naive, in UTC or at a fixed offset), pandas' "
    f"Interval, and tuples of such values, nested up to {_DEEPEST} deep"
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
    if kind is pd.Interval and depth:
        ends = [_to_json(item, depth - 1) for item in (value.left, value.right)]
        return ["Interval", [*ends, value.closed]]
    if kind is np.str_:
        return ["str", _to_json(str.__str__(value), 0)]  # str(value) drops "\0" at the end
    if isinstance(value, np.generic) and _NUMPY_TYPES.get(value.dtype.name) is value.dtype.type:
        return [value.dtype.name, _to_json(value.item(), 0)]
    if type(plain(value)) is not kind:
        return _to_json(plain(value), depth)
    tagged = scalars.to_tagged(value)
    if tagged is None:
        raise _Unsupported
    return tagged


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
    if not is_array(item):
        if type(item) is dict or type(item) is Unparsed:
            raise FileError("is damaged: it has an object in place of a value")
        return item
    try:
        parts = items_of(item)
        kind, content = next(parts), next(parts)
        if kind == "tuple" and depth and is_array(content):
            value: Any = tuple([_from_json(part, depth - 1) for part in items_of(content)])
        elif kind == "Interval" and depth and is_array(content):
            ends = [_from_json(part, depth - 1) for part in itertools.islice(items_of(content), 4)]
            left, right, closed = ends
            value = pd.Interval(left, right, closed)
        elif kind in scalars.NAMES:
            value = scalars.from_content(kind, content)
        else:
            value = _UNTAGGED[kind](content)
        if next(parts, parts) is not parts:
            raise ValueError
        return value
    except FileError:
        raise
    except (ArithmeticError, KeyError, StopIteration, TypeError, ValueError):
        raise FileError(f"is damaged: {shown(item)} does not encode a value") from None


def _infinite(text: str) -> float:
    return {"inf": math.inf, "-inf": -math.inf}[text]


def _scalar(content: Any) -> Any:
    """Return the Python value inside the JSON of a numpy scalar, or raise ValueError."""
    if is_array(content) and next(items_of(content), None) not in ("int", "float", "text"):
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
    is_exact = isinstance(value, int | float | np.generic)
    if not is_exact and isinstance(value, numbers.Integral):
        return to_json(int(value), name)
    if not is_exact and isinstance(value, numbers.Real):
        return to_json(float(value), name)
    return to_json(value, name)


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
    return _savable(labels.index, "label")


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


def targets_to_json(targets: Targets) -> float | None:
    """Return the origin of targets as JSON, None before the first target.

    >>> targets_to_json(Targets()) is None
    True
    """
    return targets.origin


def targets_from_json(item: Any) -> Targets:
    """Return targets with the origin in a file, or raise FileError.

    >>> targets_from_json(12.5).origin
    12.5
    """
    targets = Targets()
    if item is not None:
        if type(item) is not float or not math.isfinite(item):
            raise FileError(f"is damaged: its origin must be a finite number, got {shown(item)}")
        targets.origin = item
    return targets


def features_to_json(features: Features) -> list[list[Any]]:
    """Return the name of each feature with its categories, or None if it is numeric.

    Once categories have been forgotten, their codes and the number of the epoch follow.

    >>> features = Features()
    >>> features = features.extended(features.check({"size": 2, "color": "red"}))
    >>> features_to_json(features)
    [['color', ['red']], ['size', None]]
    """
    result = []
    for name, coded_name in zip(features, _savable([*features], "feature name"), strict=True):
        known = features.coding(name)
        what = f"category of feature {shown(name)}:"
        coded = None if known is None else _savable(known.codes, what)
        result.append([coded_name, coded])
        if known is not None and known.epoch:
            result[-1] += [list(known.codes.values()), known.epoch]
    return result


def words_to_json(vocabulary: Vocabulary) -> list[Any]:
    """Return words as JSON, in the order of their slots.

    >>> words_to_json(Vocabulary(["good", ("not", "good")]))
    ['good', ['tuple', ['not', 'good']]]
    """
    return _savable(vocabulary.slots, "feature name")


def words_from_json(items: Any) -> Vocabulary:
    """Return the words in a file, or raise FileError.

    >>> words_from_json(["good", "bad"]).slots
    {'good': 1, 'bad': 2}
    """
    return Vocabulary(distinct_from_json(items, "feature"))


def undecided_to_json(features: Features) -> list[list[Any]]:
    """Return the name of each feature whose kind is open, with the first category of it.

    >>> features = Features(is_lenient=True)
    >>> undecided_to_json(features.extended(features.check({"temp": "N/A"})))
    [['temp', 'N/A']]
    """
    names = _savable(features.all_undecided, "feature name")
    firsts = features.all_undecided.items()
    return [
        [name, to_json(first, f"category of feature {shown(feature)}:")]
        for name, (feature, first) in zip(names, firsts, strict=True)
    ]


def features_from_json(
    items: Any, max_categories: int | None = None, undecided: Any = None
) -> Features:
    """Return the features in a file, or raise FileError.

    With a list of what is `undecided`, values of the wrong kind count as missing.

    >>> list(features_from_json([["color", ["red"]], ["size", None]]))
    ['color', 'size']
    """
    wrong = FileError("is damaged: its features are not a list of names and categories")
    if not is_array(items):
        raise wrong
    codings: dict[int, Categories] = {}

    def read_names() -> Iterator[Hashable]:
        for column, item in enumerate(items_of(items)):
            # one by one, as what is not read first cannot be read later
            parts = items_of(item) if is_array(item) else iter([])
            name = from_json(next(parts, None))
            categories = next(parts, wrong)
            if categories is wrong:
                raise wrong
            known = None if categories is None else distinct_from_json(categories, "category")
            codes = next(parts, None)
            if codes is not None:
                if not is_array(codes):
                    raise wrong
                codes = [*items_of(codes)]
            epoch = next(parts, 0)
            if next(parts, wrong) is not wrong:
                raise wrong
            if known is not None:
                codings[column] = _categories_of(known, codes, epoch, max_categories)
            elif codes is not None:
                raise _wrong_codes()
            yield name

    names = _distinct(read_names(), "feature")
    by_name = {names[column]: coding for column, coding in codings.items()}
    columns = {name: column for column, name in enumerate(names)}
    if undecided is None:
        return Features.of(columns, by_name)
    firsts: list[Hashable] = []
    open_names = _distinct(_undecided_names(undecided, firsts), "feature")
    if not columns.keys().isdisjoint(open_names):
        raise _wrong_undecided()
    return Features.of(columns, by_name, dict(zip(open_names, firsts, strict=True)), Mismatches())


def _undecided_names(items: Any, firsts: list[Hashable]) -> Iterator[Hashable]:
    """Yield the features whose kind is open and add their first categories, or raise FileError."""
    if not is_array(items):
        raise _wrong_undecided()
    for item in items_of(items):
        parts: Iterator[Any] = itertools.islice(items_of(item) if is_array(item) else [], 3)
        pair = [*map(from_json, parts)]
        if len(pair) != 2 or is_missing(pair[1]) or isinstance(pair[1], Number):
            raise _wrong_undecided()
        firsts.append(pair[1])
        yield pair[0]


def _wrong_undecided() -> FileError:
    return FileError("is damaged: its features of an open kind cannot be right")


def _wrong_codes() -> FileError:
    return FileError("is damaged: its codes of categories cannot be right")


def _categories_of(
    known: list[Hashable], codes: list[Any] | None, epoch: Any, bound: int | None
) -> Categories:
    """Return the categories of a feature in a file, or raise FileError."""
    if not known:
        raise FileError("is damaged: a categorical feature has no categories")
    if codes is None:
        # a file from before there was a bound may hold more, of which the newest stay
        codes = list(range(len(known)))
        if bound is not None and len(known) > bound:
            epoch = (len(known) - 1) // (bound + 1) + 1
            known, codes = known[-bound:], codes[-bound:]
    elif bound is None or not _are_codes(codes, epoch, bound) or len(codes) != len(known):
        raise _wrong_codes()
    return Categories(bound, dict(zip(known, codes, strict=True)), epoch)


def _are_codes(codes: list[Any], epoch: Any, bound: int) -> bool:
    """Whether codes can be those of a feature that has forgotten categories."""
    if not codes or not all(type(number) is int for number in [epoch, *codes]):
        return False
    is_in_range = epoch > 0 and min(codes) >= 0 and max(codes) < (epoch + 1) * (bound + 1) <= 2**53
    slots = {code % (bound + 1) for code in codes}
    return is_in_range and len(slots) == len(codes) <= bound


def distinct_from_json(items: Any, what: str) -> list[Hashable]:
    """Return the values of a list, or raise FileError unless all of them are distinct.

    >>> distinct_from_json(["red", ["int64", 7]], "category")
    ['red', np.int64(7)]
    """
    if not is_array(items):
        raise FileError(f"is damaged: what should be a list with one {what} per item is not a list")
    return _distinct(map(from_json, items_of(items)), what)


def _distinct(values: Iterator[Hashable], what: str) -> list[Hashable]:
    """Return values as a list, or raise FileError unless all of them are distinct."""
    result: list[Hashable] = []
    due = _FIRST_CHECK  # early, as a list of the same value again and again may be long
    for value in values:
        result.append(value)
        if len(result) == due:
            _check_distinct(result, what)
            due *= 4
    _check_distinct(result, what)
    return result


def _check_distinct(values: list[Hashable], what: str) -> None:
    if has_many_of_one_hash(values):
        raise FileError(
            f"is damaged: more than {MOST_OF_ONE_HASH} values in its list with one {what} per item "
            "have the same hash"
        )
    if len(set(values)) != len(values):
        raise FileError(f"is damaged: a {what} appears twice")


def has_many_of_one_hash(values: Iterable[Hashable]) -> bool:
    """Whether so many values have the same hash that a dict of them would be slow.

    >>> has_many_of_one_hash(range(1000))
    False
    >>> has_many_of_one_hash(range(0, 1000 * (2**61 - 1), 2**61 - 1))
    True
    """
    hashes = np.fromiter(map(hash, values), np.int64)
    hashes.sort()
    return bool((hashes[MOST_OF_ONE_HASH:] == hashes[:-MOST_OF_ONE_HASH]).any())


def _savable(values: Collection[Hashable], what: str) -> list[Any]:
    """Return values as JSON, or raise TypeError, or ValueError if they would not be loaded."""
    if has_many_of_one_hash(values):
        raise ValueError(
            f"cannot save the model: more than {MOST_OF_ONE_HASH} of its values have the same hash "
            f"({what}), which a file must not have; use str instead"
        )
    return [to_json(value, what) for value in values]
