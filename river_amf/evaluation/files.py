"""Tables in files: CSV, lines of JSON or parquet, plain or gzipped, or on standard input."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from river_amf.evaluation import live
from river_amf.evaluation.usage_errors import EvaluationError, error_text

STANDARD_INPUT = "-"

_MAX_COLUMNS = 100_000  # pandas takes about a millisecond for each, and every node room for each
_SAMPLE = 2**17 - 1  # bytes to find the separator in; the csv module takes no longer fields
_SAMPLE_ROWS = 100
_SEPARATORS = ",;\t"
_SUFFIXES = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "JSON"),
}
_OTHERS = (".xlsx", ".xls", ".ods", ".zip", ".bz2", ".xz", ".zst", ".feather", ".arrow", ".orc")
_JSON = rb"\s*(\{|\[\s*\{)"  # how it begins

_Opener = Callable[[], IO[bytes]]  # of the bytes of a file, decompressed


class Table(NamedTuple):
    """What has been read of a file."""

    name: str
    frame: pd.DataFrame
    is_typed: bool  # whether columns have types of their own, as in JSON and parquet
    later: Iterator[dict[str, Any]] | None = None  # rows of standard input that are yet to come


@dataclass(frozen=True)
class Layout:
    """How a file of text is laid out; None is found out, or UTF-8."""

    separator: str | None = None
    encoding: str | None = None
    no_header: bool = False
    decimal: str = "."

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise EvaluationError(f"decimal must be '.' or ',', got {self.decimal!r}")
        separator = self.separator
        if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
            raise EvaluationError(
                f"separator must be a single character, such as ';' or a tab, got {separator!r}"
            )
        if separator == self.decimal:
            raise EvaluationError(f"separator and decimal are both {separator!r}")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except (LookupError, ValueError) as error:
            raise EvaluationError(
                f"unknown encoding {self.encoding!r}: Python knows utf-8, latin-1, cp1252, utf-16"
                " and more"
            ) from error

    def chosen(self) -> list[str]:
        """Return the names of the options that are not left as they are."""
        return [name for name, value in vars(self).items() if value not in (None, False, ".")]


def read_file(
    path: Path,
    layout: Layout,
    categorical: Sequence[str],
    n_rows: int | None,
    least: int = 2,
) -> Table:
    """Read the first rows of a file, or of standard input if its path is `-`; or all rows.

    The name of a file gives its format. `categorical` columns become text, and there must be at
    least so many columns.
    """
    name, opener, kind, later = _find(path, layout)
    encoding = layout.encoding or "utf-8"
    if kind == "CSV":
        frame, separator = _read_csv(name, opener, layout, categorical, n_rows, least)
        if later is None:
            return Table(name, frame, False)
        fields = live.csv_fields(later, [*frame.columns], separator, encoding, len(frame) + 1)
        return Table(name, frame, False, fields)
    for option in layout.chosen():
        if option != "encoding" or kind != "JSON":
            raise EvaluationError(f"{option} is for CSV files, but {name} is {kind}")
    with _reading(name, kind, layout.encoding), opener() as file:
        lines = kind == "JSON"
        frame = _read_lines(name, file, layout.encoding) if lines else _read_parquet(name, file)
    _check_width(name, len(frame.columns))
    if len(frame.columns) < least:
        raise EvaluationError(
            f"{name} has {len(frame.columns)} columns: it takes a feature and a label"
        )
    frame = frame.set_axis([*map(str, frame.columns)], axis="columns")
    rows = None if later is None else live.json_fields(later, encoding)
    return Table(name, frame[:n_rows], True, rows)


def _find(path: Path, layout: Layout) -> tuple[str, _Opener, str, Iterator[bytes] | None]:
    """Return the name of a file for messages, its content, its kind, and lines still to come."""
    if str(path) == STANDARD_INPUT:
        if sys.stdin is None:
            raise EvaluationError("standard input is closed")
        with _reading("standard input", "CSV"):
            file, later = sys.stdin.buffer, None
            data = file.readline()
            if data.startswith((b"\x1f\x8b", b"PAR1")):
                data += file.read()
                data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            else:
                is_json = re.match(_JSON, data) is not None
                data, later = live.begin(file, data, layout.encoding or "utf-8", is_json=is_json)
        kind = "JSON" if re.match(_JSON, data) else "CSV"
        kind = "parquet" if data.startswith(b"PAR1") else kind
        return live.NAME, lambda: io.BytesIO(data), kind, later
    *_, last, suffix = "", "", *map(str.lower, path.suffixes)
    if suffix in _OTHERS:
        formats = ".csv, .parquet or .jsonl, perhaps with .gz"
        raise EvaluationError(f"cannot read {path}: convert it to {formats}")
    is_zipped = suffix == ".gz"
    kind = _SUFFIXES.get(last if is_zipped else suffix, "CSV")
    opener: Any = gzip.open if is_zipped else open
    return str(path), lambda: opener(path, "rb"), kind, None


@contextmanager
def _reading(name: str, kind: str, encoding: str | None = None) -> Iterator[None]:
    """Raise EvaluationError for whatever is wrong with a file."""
    try:
        yield
    except EvaluationError:
        raise
    except pd.errors.ParserWarning as error:
        raise EvaluationError(f"{name} has a row with more fields than its header") from error
    except UnicodeDecodeError as error:
        is_marked = error.start == 0 and error.object[:2] in (b"\xff\xfe", b"\xfe\xff")
        raise EvaluationError(
            f"cannot read {name} as {kind}: the byte {error.object[error.start]:#04x} is not text"
            f" in {encoding or 'utf-8'}; encoding (--encoding) names another, such as"
            f" {'utf-16' if is_marked else 'latin-1'}"
        ) from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        if "out of memory" in str(error):  # which pandas raises as a ValueError
            raise MemoryError(f"cannot read {name}") from error
        reason = getattr(error, "strerror", None) or error_text(error)
        raise EvaluationError(f"cannot read {name} as {kind}: {reason}") from error


def _check_width(name: str, n_columns: int) -> None:
    if n_columns > _MAX_COLUMNS:
        raise EvaluationError(
            f"{name} has {n_columns} columns; at most {_MAX_COLUMNS} can be read, because each one"
            " takes room in every node of a tree"
        )


# CSV


def _read_csv(
    name: str,
    opener: _Opener,
    layout: Layout,
    categorical: Sequence[str],
    n_rows: int | None,
    least: int,
) -> tuple[pd.DataFrame, str]:
    """Call pandas: only empty fields are missing, and no field is dropped silently.

    The separator is returned, too.
    """
    with _reading(name, "CSV"), opener() as file:
        header = file.readline(2**26)
        start = header + file.read(_SAMPLE)
    text = start.decode(layout.encoding or "utf-8", "replace")
    separator = layout.separator or _sniff(text[:_SAMPLE], layout.decimal)
    _check_width(name, header.count(separator.encode()) + 1)  # before pandas spends minutes on it

    def parse(**options: Any) -> pd.DataFrame:
        with _reading(name, "CSV", layout.encoding), warnings.catch_warnings(), opener() as file:
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = pd.read_csv(
                file,
                sep=separator,
                encoding=layout.encoding,
                decimal=layout.decimal,
                index_col=False,
                keep_default_na=False,
                na_values=[""],
                low_memory=False,
                **options,
            )
            return frame

    first = parse(header=None, nrows=1, dtype=str).fillna("").iloc[0]
    columns = [*map(str, range(len(first)))] if layout.no_header else [*first.str.strip()]
    _check_columns(name, columns, layout.separator, least)
    types = dict.fromkeys(categorical, str)
    header_row = None if layout.no_header else 0
    return parse(names=columns, header=header_row, dtype=types, nrows=n_rows), separator


def _sniff(text: str, decimal: str) -> str:
    """Return the separator by which most of the first rows have as many fields as the header."""

    def fit(separator: str) -> tuple[float, int]:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        widths = [len(row) for row in itertools.islice(rows, _SAMPLE_ROWS) if row] or [0]
        return widths.count(widths[0]) / len(widths) * (widths[0] > 1), widths[0]

    return max(_SEPARATORS.replace(decimal, ""), key=fit)  # the first of equals


def _check_columns(name: str, columns: list[str], separator: str | None, least: int) -> None:
    column, occurrences = Counter(columns).most_common(1)[0]
    if occurrences > 1:
        advice = "; no_header (--no-header) reads the first row as a sample"
        is_number = re.fullmatch(r"[-+.\d]+", column) is not None
        raise EvaluationError(
            f"{name} has more than one column named {column!r}{advice * is_number}"
        )
    if len(columns) < least:
        known = "commas, semicolons or tabs" if separator is None else repr(separator)
        raise EvaluationError(
            f"{name} has only one column, {column!r}: are its fields separated by {known}?"
            " separator (--separator) sets another"
        )


# Formats with types


def _read_lines(name: str, file: IO[bytes], encoding: str | None) -> pd.DataFrame:
    """Read a JSON object per line; what a line lacks is missing."""
    rows: list[dict[str, Any]] = []
    advice = "; pandas writes such lines with to_json(path, orient='records', lines=True)"
    is_utf8 = codecs.lookup(encoding or "utf-8").name == "utf-8"
    # utf-8-sig drops a byte order mark
    with io.TextIOWrapper(file, "utf-8-sig" if is_utf8 else encoding) as lines:
        for n, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    rows.append(live.json_row(line, f"line {n} of {name}"))
                except EvaluationError as error:
                    raise EvaluationError(f"{error}{advice * (n == 1)}") from error
    frame: pd.DataFrame = _with_nan(pd.DataFrame(rows, dtype=object))
    return frame


def _read_parquet(name: str, file: IO[bytes]) -> pd.DataFrame:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise EvaluationError(f'reading {name} needs pyarrow: pip install "pyarrow>=16"') from error
    data = io.BytesIO(file.read())
    frame = pd.read_parquet(data, engine="pyarrow")
    for column in (pq.read_schema(data).pandas_metadata or {"columns": []})["columns"]:
        # numbers come back as numbers, even if they were declared to be categories
        if column["pandas_type"] == "categorical" and column["field_name"] in frame:
            frame[column["field_name"]] = frame[column["field_name"]].astype("category")
    for column, kind in frame.dtypes.items():
        if pd.api.types.is_object_dtype(kind) or getattr(kind, "na_value", None) is pd.NA:
            frame[column] = _with_nan(frame[column].astype(object))
    return frame.reset_index(drop=True)


def _with_nan(values: Any) -> Any:
    """Return a column or table with NaN where values are missing, instead of None or pandas' NA."""
    return values.where(values.notna(), np.nan)
