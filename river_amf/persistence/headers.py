"""The JSON of a header, parsed no further than somebody asks for.

In memory, JSON may take 25 times the room that it takes as text: `[],` is three bytes, and an empty
list 64. Hence the arrays of a header, of which alone there may be many, are parsed item by item as
they are turned into labels and names, and a file that holds anything else there is refused at the
first such item. Objects hold the parameters and the like, so few are enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from river_amf.kinds import shown
from river_amf.persistence.errors import FileError

_MOST_ENTRIES = 1000  # of one object
_DEEPEST = 20  # how deep objects may be nested

_SPACE = re.compile(r"[ \t\n\r]*")
_TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_FLAT = rf'[^"\[\]{{}}]*+(?:{_TEXT}[^"\[\]{{}}]*+)*+'
# up to the next brackets outside of texts, passing arrays and objects that hold no others
_TO_BRACKETS = re.compile(rf"{_FLAT}(?:[\[{{]{_FLAT}[\]}}]{_FLAT})*+([\[{{]+|[\]}}]+)", re.DOTALL)


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


_decode = json.JSONDecoder(parse_constant=_refuse).raw_decode


class Unparsed:
    """An array or object of a header as text; `items` parses an array, one item at a time.

    >>> [*Unparsed('[1, "a", []]', 0).items()]
    [1, 'a', []]
    """

    __slots__ = ("end", "start", "text")

    def __init__(self, text: str, start: int) -> None:
        self.text, self.start = text, start
        self.end: int | None = None  # once it is known

    def __repr__(self) -> str:
        end = self.start + 1000 if self.end is None else self.end
        return self.text[self.start : min(end, self.start + 1000)]

    @property
    def is_array(self) -> bool:
        """Whether this is an array rather than an object."""
        return self.text[self.start] == "["

    def find_end(self) -> int:
        """Return where the text ends, or raise FileError if it does not."""
        if self.end is None:
            depth, place = 1, self.start + 1
            while depth:
                found = _TO_BRACKETS.match(self.text, place)
                if found is None:
                    raise _invalid("it ends too early")
                opening = found[1][0] in "[{"
                n_passed = len(found[1]) if opening else min(len(found[1]), depth)
                depth += n_passed if opening else -n_passed
                place = found.start(1) + n_passed
            self.end = place
        return self.end

    def items(self) -> Iterator[Any]:
        """Yield the items of an array, those that are arrays or objects as `Unparsed`."""
        text, place = self.text, _after_space(self.text, self.start + 1)
        if text[place : place + 1] == "]":
            self.end = place + 1
            return
        while True:
            item, place = _value(text, place)
            yield item
            if type(item) is Unparsed:
                place = item.find_end()  # which is known by now if somebody has read the item
            if text[place : place + 1] not in (",", "]"):
                place = _after_space(text, place)
            if text[place : place + 1] == "]":
                break
            if text[place : place + 1] != ",":
                raise _invalid(f"',' expected at character {place}")
            place = _after_space(text, place + 1)
        self.end = place + 1

    def entries(self) -> tuple[dict[str, Any], int]:
        """Return the entries of an object, and where its text ends."""
        text, place = self.text, _after_space(self.text, self.start + 1)
        result: dict[str, Any] = {}
        if text[place : place + 1] == "}":
            return result, place + 1
        while True:
            if text[place : place + 1] != '"':
                raise _invalid(f"the name of an entry expected at character {place}")
            name, place = _value(text, place)
            place = _after_space(text, place)
            if text[place : place + 1] != ":":
                raise _invalid(f"':' expected at character {place}")
            item, place = _value(text, _after_space(text, place + 1))
            result[name] = item
            if len(result) > _MOST_ENTRIES:
                raise FileError(f"is damaged: its header has more than {_MOST_ENTRIES} entries")
            if type(item) is Unparsed:
                place = item.find_end()
            place = _after_space(text, place)
            if text[place : place + 1] == "}":
                return result, place + 1
            if text[place : place + 1] != ",":
                raise _invalid(f"',' expected at character {place}")
            place = _after_space(text, place + 1)


def _invalid(why: object) -> FileError:
    return FileError(f"is damaged: its header is not valid JSON ({why})")


def _after_space(text: str, place: int) -> int:
    """Return the place of the next character that is not white space."""
    if text[place : place + 1] not in " \t\n\r":  # nearly always; it is no part of "" either
        return place
    found = _SPACE.match(text, place)
    return place if found is None else found.end()


def _value(text: str, place: int) -> tuple[Any, int]:
    """Return the value at a place, and where its text ends unless it is `Unparsed`."""
    if text[place : place + 1] in ("[", "{"):
        return Unparsed(text, place), place
    try:
        return _decode(text, place)
    except ValueError as error:
        raise _invalid(error) from None


def outline(text: str) -> dict[str, Any]:
    """Return the entries of a JSON object, of which arrays and objects are `Unparsed`.

    >>> outline('{"format": 1, "model": {"labels": []}}')
    {'format': 1, 'model': {"labels": []}}
    """
    start = _after_space(text, 0)
    if text[start : start + 1] != "{":
        raise FileError(f"is damaged: its header must be a JSON object, got {shown(text[:100])}")
    entries, end = Unparsed(text, start).entries()
    if _after_space(text, end) != len(text):
        raise _invalid(f"extra data at character {end}")
    return entries


def expanded(item: Any, depth: int = _DEEPEST) -> Any:
    """Return an item with its objects as dicts, but arrays as they are.

    >>> expanded(outline('{"model": {"labels": ["a"]}}'))
    {'model': {'labels': ["a"]}}
    """
    if type(item) is Unparsed and not item.is_array:
        if depth == 0:
            raise FileError(f"is damaged: its header nests objects more than {_DEEPEST} deep")
        item, _ = item.entries()
    if type(item) is dict:
        return {name: expanded(part, depth - 1) for name, part in item.items()}
    return item


def plain(item: Any) -> Any:
    """Return an item as `json.loads` would, or raise FileError.

    >>> plain(expanded(outline('{"model": {"labels": ["a"]}}')))
    {'model': {'labels': ['a']}}
    """
    if type(item) is Unparsed:
        try:
            return json.loads(item.text[item.start : item.find_end()], parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise _invalid(error) from None
    if type(item) is dict:
        return {name: plain(part) for name, part in item.items()}
    return item


def is_array(item: Any) -> bool:
    """Whether an item is an array, parsed or not."""
    return type(item) is list or (type(item) is Unparsed and item.is_array)


def items_of(item: Any) -> Iterator[Any]:
    """Return an iterator over the items of an array, parsed or not."""
    return item.items() if type(item) is Unparsed else iter(item)
