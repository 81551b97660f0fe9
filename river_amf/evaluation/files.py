"""Tables in files: CSV, lines of JSON or parquet, plain or gzipped, or on standard input."""

from __future__ import annotations

import codecs
import csv
import functools
import gzip
import io
import itertools
import json
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from river_amf.evaluation.usage_errors import EvaluationError, error_text
from river_amf.inputs.kinds import as_category

STANDARD_INPUT = "-"

_MAX_COLUMNS = 100_000  # pandas takes about a millisecond for each, and every node room for each
_LONGEST_HEADER = 2**26  # bytes to look for columns in, if a file has no line breaks
_SAMPLE = 2**16  # bytes after the header to find the separator in
_SAMPLE_ROWS = 100
_SEPARATORS = ",;\t"

_SUFFIXES = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "JSON"),
}


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
            b"a".decode(self.encoding or "utf-8", "replace")
        except (LookupError, ValueError) as error:
            raise EvaluationError(
                f"unknown encoding {self.encoding!r}: Python knows utf-8, latin-1, cp1252, utf-16"
                " and more"
            ) from error

    def chosen(self) -> list[str]:
        """Return the names of the options that are not left as they are."""
        return [name for name, value in vars(self).items() if value not in (None, False, ".")]


class _Content(NamedTuple):
    """The bytes of a file, decompressed, which can be read more than once."""

    name: str  # in messages
    open: Callable[[], IO[bytes]]


def read_file(
    path: Path, layout: Layout, categorical: Sequence[str], n_rows: int | None
) -> tuple[str, pd.DataFrame, bool]:
    """Read the first rows of a file, or of standard input if its path is `-`; or all rows.

    The name of a file gives its format. `categorical` columns become text. Return its name, the
    rows, and whether columns have types of their own, as in JSON and parquet.
    """
    content, kind = _find(path)
    if kind == "CSV":
        return content.name, _read_csv(content, layout, categorical, n_rows), False
    for option in layout.chosen():
        if option != "encoding" or kind != "JSON":
            raise EvaluationError(f"{option} is for CSV files, but {content.name} is {kind}")
    frame = _read_parquet(content) if kind == "parquet" else _read_lines(content, layout.encoding)
    if len(frame.columns) > _MAX_COLUMNS:
        raise _too_wide(content.name, len(frame.columns))
    if len(frame.columns) < 2:
        raise EvaluationError(
            f"{content.name} has {len(frame.columns)} columns: it takes a feature and a label"
        )
    frame = frame.set_axis([*map(str, frame.columns)], axis="columns")[:n_rows]
    texts = {name: as_text(frame[name]) for name in categorical if name in frame}
    return content.name, frame.assign(**texts), True


def as_text(column: pd.Series) -> pd.Series:
    """Return the values as text, whole numbers without a fraction; missing ones stay missing."""
    is_known = column.notna()
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object).map(as_category, na_action="ignore")
    if pd.api.types.is_float_dtype(column) and (column[is_known] % 1 == 0).all():
        column = column.astype("Int64")  # whole numbers that a missing value has made floats
    text = column.astype(object).where(is_known, np.nan)
    return text.map(str, na_action="ignore").astype(object)


def _find(path: Path) -> tuple[_Content, str]:
    """Return the content of a file, and whether it is CSV, JSON or parquet."""
    if str(path) == STANDARD_INPUT:
        if sys.stdin is None:
            raise EvaluationError("standard input is closed")
        with _reading("standard input"):
            data = sys.stdin.buffer.read()
            data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        kind = "JSON" if re.match(rb"\s*(\{|\[\s*\{)", data) else "CSV"
        content = _Content("standard input", functools.partial(io.BytesIO, data))
        return content, "parquet" if data.startswith(b"PAR1") else kind
    suffixes = [suffix.lower() for suffix in path.suffixes]
    opener: Any = open
    if suffixes[-1:] == [".gz"]:
        opener = gzip.open
        suffixes.pop()
    kind = _SUFFIXES.get("".join(suffixes[-1:]), "CSV")
    return _Content(str(path), functools.partial(opener, path, "rb")), kind


@contextmanager
def _reading(name: str, kind: str = "CSV", encoding: str | None = None) -> Iterator[None]:
    """Raise EvaluationError for whatever is wrong with a file."""
    try:
        yield
    except EvaluationError:
        raise
    except pd.errors.ParserWarning as error:
        raise EvaluationError(f"{name} has a row with more fields than its header") from error
    except UnicodeDecodeError as error:
        begins = error.object[:2] if error.start == 0 else b""
        other = "utf-16" if begins in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
        raise EvaluationError(
            f"cannot read {name} as {kind}: the byte {error.object[error.start]:#04x} is not text"
            f" in {encoding or 'utf-8'}; encoding (--encoding) names another, such as {other}"
        ) from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        if "out of memory" in str(error):  # which pandas raises as a ValueError
            raise MemoryError(f"cannot read {name}") from error
        reason = getattr(error, "strerror", None) or error_text(error)
        raise EvaluationError(f"cannot read {name} as {kind}: {reason}") from error


# CSV


def _read_csv(
    content: _Content, layout: Layout, categorical: Sequence[str], n_rows: int | None
) -> pd.DataFrame:
    with _reading(content.name), content.open() as file:
        header = file.readline(_LONGEST_HEADER)
        sample = file.read(_SAMPLE)
    separator = layout.separator or _sniff(header + sample, layout)
    n_columns = header.decode(layout.encoding or "utf-8", "replace").count(separator) + 1
    if n_columns > _MAX_COLUMNS:  # before pandas spends minutes on them
        raise _too_wide(content.name, n_columns)
    options = {"sep": separator, "encoding": layout.encoding, "decimal": layout.decimal}
    first = _parse(content, header=None, nrows=1, dtype=str, **options).fillna("").iloc[0]
    columns = [*map(str, range(len(first)))] if layout.no_header else [*first.str.strip()]
    _check_columns(columns, separator, layout, content.name)
    return _parse(
        content,
        names=columns,
        header=None if layout.no_header else 0,
        dtype=dict.fromkeys(categorical, str),
        nrows=n_rows,
        **options,
    )


def _parse(content: _Content, **options: Any) -> pd.DataFrame:
    """Call pandas: only empty fields are missing, and no field is dropped silently."""
    with (
        _reading(content.name, encoding=options["encoding"]),
        warnings.catch_warnings(),
        content.open() as file,
    ):
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame: pd.DataFrame = pd.read_csv(
            file,
            index_col=False,
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
            **options,
        )
        return frame


def _sniff(start: bytes, layout: Layout) -> str:
    """Return the separator by which most of the first rows have as many fields as the header."""
    text = start.decode(layout.encoding or "utf-8", "replace")[: 4 * _SAMPLE]

    def fit(separator: str) -> tuple[float, int]:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        widths = []
        with suppress(csv.Error):  # a field that is too long
            widths = [len(row) for row in itertools.islice(rows, _SAMPLE_ROWS) if row]
        if not widths or widths[0] < 2:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    return max(_SEPARATORS.replace(layout.decimal, ""), key=fit)  # the first of equals


def _check_columns(columns: list[str], separator: str, layout: Layout, name: str) -> None:
    column, occurrences = Counter(columns).most_common(1)[0]
    if occurrences > 1:
        advice = "; no_header (--no-header) reads the first row as a sample"
        is_number = re.fullmatch(r"[-+.\d]+", column) is not None
        raise EvaluationError(
            f"{name} has more than one column named {column!r}{advice * is_number}"
        )
    if len(columns) > 1:
        return
    known = "commas, semicolons or tabs" if layout.separator is None else repr(separator)
    raise EvaluationError(
        f"{name} has only one column, {columns[0]!r}: are its fields separated by {known}?"
        " separator (--separator) sets another"
    )


def _too_wide(name: str, n_columns: int) -> EvaluationError:
    return EvaluationError(
        f"{name} has {n_columns} columns; at most {_MAX_COLUMNS} can be read, because each one"
        " takes room in every node of a tree"
    )


# Formats with types


def _read_lines(content: _Content, encoding: str | None) -> pd.DataFrame:
    """Read a JSON object per line; what a line lacks is missing."""
    rows: list[dict[str, Any]] = []
    advice = "; pandas writes such lines with to_json(path, orient='records', lines=True)"
    with (
        _reading(content.name, "JSON", encoding),
        content.open() as file,
        io.TextIOWrapper(file, _without_mark(encoding)) as lines,
    ):
        for n, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise EvaluationError(
                    f"line {n} of {content.name} is not JSON: {error}{advice * (n == 1)}"
                ) from error
            if not isinstance(row, dict):
                raise EvaluationError(
                    f"line {n} of {content.name} must be a JSON object, such as"
                    f' {{"size": 1.5, "target": "yes"}}, got {type(row).__name__}{advice}'
                )
            rows.append(row)
    frame = pd.DataFrame(rows, dtype=object)
    return frame.where(frame.notna(), np.nan)


def _without_mark(encoding: str | None) -> str:
    """Return the encoding, if UTF-8 the one that drops a byte order mark."""
    name = codecs.lookup(encoding or "utf-8").name
    return "utf-8-sig" if name == "utf-8" else name


def _read_parquet(content: _Content) -> pd.DataFrame:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise EvaluationError(
            f'reading {content.name} needs pyarrow: pip install "pyarrow>=16"'
        ) from error
    with _reading(content.name, "parquet"), content.open() as file:
        data = io.BytesIO(file.read())
        frame = pd.read_parquet(data, engine="pyarrow")
        stored = pq.read_schema(data).pandas_metadata or {"columns": []}
    for column in stored["columns"]:
        # numbers come back as numbers, even if they were declared to be categories
        if column["pandas_type"] == "categorical" and column["field_name"] in frame:
            frame[column["field_name"]] = frame[column["field_name"]].astype("category")
    for name, kind in frame.dtypes.items():
        # Missing values may be None here, or pandas' NA; NaN takes their place.
        if pd.api.types.is_object_dtype(kind) or getattr(kind, "na_value", None) is pd.NA:
            values = frame[name].astype(object)
            frame[name] = values.where(values.notna(), np.nan)
    return frame.reset_index(drop=True)
