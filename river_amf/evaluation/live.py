"""Rows of standard input as they come: what columns hold in the first ones, they hold in all.

The first rows are read as a file. A later one is read when it has come, and is an error that names
its number if it does not fit.
"""

from __future__ import annotations

import csv
import datetime as dt
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

from river_amf.evaluation.column_types import BOOLEANS, ROWS, Texts
from river_amf.evaluation.usage_errors import EvaluationError
from river_amf.inputs.kinds import shown

Fields = dict[Any, Any]

_NUMBERS = ("integer", "floating", "mixed-integer-float", "empty")
NAME = "standard input"


class Start(NamedTuple):
    """The first rows of standard input, and the lines that are yet to come."""

    data: bytes
    later: Iterator[bytes] | None  # None at the end


def begin(file: IO[bytes], first: bytes, encoding: str, *, is_json: bool) -> Start:
    """Read a header and the first thousand rows, or to the end if there are no more."""
    if "\n".encode(encoding) != b"\n":  # of which lines cannot be told apart before it is decoded
        return Start(first + file.read(), None)
    lines, n_rows, is_quoted = [], 0, False
    for line in itertools.chain([first], file):
        lines.append(line)
        is_quoted ^= line.count(b'"') % 2 == 1 and not is_json  # a row may have several lines
        n_rows += not is_quoted and bool(line.strip())
        if n_rows > ROWS:
            return Start(b"".join(lines), file)
    return Start(b"".join(lines), None)


def csv_fields(
    lines: Iterable[bytes], columns: Sequence[str], separator: str, encoding: str, first: int
) -> Iterator[Fields]:
    """Yield the fields of each row by column, from row `first` on, without the empty ones."""
    texts = (line.decode(encoding) for line in lines)
    for n, row in enumerate(filter(None, csv.reader(texts, delimiter=separator)), first):
        if len(row) > len(columns):
            raise EvaluationError(
                f"row {n} of {NAME} has {len(row)} fields, but its header {len(columns)}"
            )
        yield {name: text for name, text in zip(columns, row, strict=False) if text}


def json_fields(lines: Iterable[bytes], encoding: str) -> Iterator[Fields]:
    """Yield the object in each line, without what is null."""
    for n, line in enumerate(filter(bytes.strip, lines), ROWS + 2):  # there is no header
        row = json_row(line.decode(encoding), f"row {n} of {NAME}")
        yield {name: value for name, value in row.items() if value is not None}


def json_row(line: str, where: str) -> Fields:
    """Return the object in a line, or raise EvaluationError."""
    try:
        row = json.loads(line)
        if "\\" in line:  # half of a surrogate pair is no text
            json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise EvaluationError(f"{where} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise EvaluationError(
            f'{where} must be a JSON object, such as {{"size": 1.5, "target": "yes"}}, got'
            f" {type(row).__name__}"
        )
    return row


def samples(
    rows: Iterable[Fields], first: int, kinds: Mapping[str, str], target: str | None, known: Texts
) -> Iterator[Fields | None]:
    """Yield rows with values of these kinds, from row `first` on, and None without a target."""
    for n, fields in enumerate(rows, first):
        x: Fields = {}
        for name, value in fields.items():
            if name not in kinds:
                continue
            read = _read(value, kinds[name], known)
            if read is None:
                raise EvaluationError(
                    f"row {n} of {NAME} has {shown(value)} in {name!r}, but {name!r} holds"
                    f" {_called(kinds[name])} in the first {ROWS} rows"
                )
            if read == read:  # not NaN, which is missing
                x[name] = read
        yield x if target is None or target in x else None


def _called(kind: str) -> str:
    names = {**dict.fromkeys(_NUMBERS, "numbers"), "boolean": "True and False"}
    return names.get(kind, kind)


def _read(value: Any, kind: str, known: Texts) -> Any:
    """Return a value as one of its kind, NaN if it is missing, None if it does not fit."""
    text = str(value).strip()
    if kind == "string":
        return str(value) if isinstance(value, str | int | float) else None
    if text in known.missing:
        return math.nan
    if kind == "boolean":
        return value if isinstance(value, bool) else BOOLEANS.get(text)
    if kind.startswith("date"):
        return _date(text, kind)
    if kind not in _NUMBERS:
        return value
    number = _number(text, known.decimal)
    if number in known.missing_numbers:
        return math.nan
    if not math.isfinite(number):
        return None
    return int(number) if kind == "integer" and number % 1 == 0 else number


def _date(text: str, kind: str) -> dt.date | None:
    """Return a text as a date, or as a time of its own zone; None if it is neither."""
    try:
        if kind == "date":
            return dt.date.fromisoformat(text)
        return dt.datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def _number(text: str, decimal: str) -> float:
    """Return a text as a number, NaN if it is none."""
    if "_" in text or (decimal != "." and "." in text):
        return math.nan
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return math.nan
