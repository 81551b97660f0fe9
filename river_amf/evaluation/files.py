"""Tables in files: CSV, lines of JSON or parquet, plain or gzipped, or on standard input."""

from __future__ import annotations

import base64
import codecs
import csv
import gzip
import io
import itertools
import json
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd

from river_amf.evaluation.errors import EvaluationError, text_of
from river_amf.kinds import as_category

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

    def __post_init__(self) -> None:
        separator = self.separator
        if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
            raise EvaluationError(
                f"separator must be a single character, such as ';' or a tab, got {separator!r}"
            )
        try:
            b"a".decode(self.encoding or "utf-8", "replace")
        except (LookupError, ValueError) as error:
            raise EvaluationError(
                f"unknown encoding {self.encoding!r}: Python knows utf-8, latin-1, cp1252, utf-16"
                " and more"
            ) from error


@dataclass(frozen=True)
class _Content:
    """The bytes of a file, which can be read more than once."""

    name: str  # in messages
    where: Path | bytes
    is_gzipped: bool

    def open(self) -> IO[bytes]:
        """Open the file, decompressed."""
        raw = self.for_pandas()
        if self.is_gzipped:
            return cast(IO[bytes], gzip.open(raw))
        return raw if isinstance(raw, io.BytesIO) else open(raw, "rb")

    def for_pandas(self) -> Path | io.BytesIO:
        """Return the file as pandas takes it, still compressed."""
        return io.BytesIO(self.where) if isinstance(self.where, bytes) else self.where


@dataclass(frozen=True)
class TypedTable:
    """A table whose columns have types of their own: JSON or parquet, with Python's objects."""

    name: str
    frame: pd.DataFrame
    decimal: str = "."
    is_typed: bool = True

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [str(column) for column in self.frame.columns]

    def oddities(self, frame: pd.DataFrame, *, is_last_target: bool) -> list[str]:
        """Return nothing: a column has a name and a type."""
        return []

    def read(self, target: str, categorical: Sequence[str], limit: int | None) -> pd.DataFrame:
        """Return the rows; `categorical` columns become text."""
        frame = self.frame.set_axis(self.columns, axis="columns")
        return frame.assign(**{name: as_text(frame[name]) for name in categorical})

    def labels(self, target: str, n_rows: int) -> pd.Series:
        """Return the labels of the first rows."""
        return self.frame[target][:n_rows].infer_objects()


@dataclass(frozen=True)
class CsvTable:
    """A CSV file, whose header has been read."""

    name: str
    columns: list[str]
    decimal: str
    content: _Content = field(repr=False)
    options: dict[str, Any] = field(repr=False)
    is_typed: bool = False

    def oddities(self, frame: pd.DataFrame, *, is_last_target: bool) -> list[str]:
        """Return a line if the header is hardly one, and one if the first column is an index.

        A header is hardly one if it has a number with a fraction, or a label above the labels.
        """
        if self.options["header"] is None:
            return []
        first, last, lines = self.columns[0], self.columns[-1], []
        values = [column for column in self.columns if re.fullmatch(r"[-+]?\d*\.\d+", column)]
        if (
            is_last_target
            and not last.isdigit()
            and (frame[last].astype(str).str.strip() == last).any()
        ):
            values.append(last)
        if values:
            lines.append(
                f"{self.name}: {values[0]!r} in the header looks like a value; no_header"
                " (--no-header) reads the first row as a sample"
            )
        is_nameless = first in ("", "Unnamed: 0") and pd.api.types.is_integer_dtype(frame[first])
        if is_nameless and (frame[first].diff()[1:] > 0).all():
            lines.append(
                f"{self.name}: the first column has no name and numbers the rows, which may give"
                " the labels away; pandas leaves it out with to_csv(path, index=False)"
            )
        return lines

    def read(self, target: str, categorical: Sequence[str], limit: int | None) -> pd.DataFrame:
        """Return the rows, or so many that `limit` of them have a label."""
        options = {**self.options, "dtype": dict.fromkeys(categorical, str)}
        frame: pd.DataFrame = _parse(self.content, nrows=limit, **options)
        if limit is not None and frame[target].isna().any():
            frame = _parse(self.content, nrows=self._n_rows(target, limit), **options)
        return frame

    def labels(self, target: str, n_rows: int) -> pd.Series:
        """Return the labels of the first rows; rows that cannot be parsed are left out."""
        options = {**self.options, "usecols": [self.columns.index(target)], "nrows": n_rows}
        labels: pd.Series = _parse(self.content, on_bad_lines="skip", **options)[target]
        return labels

    def _n_rows(self, target: str, limit: int) -> int | None:
        """Return how many rows it takes to have `limit` labels, None if there are fewer."""
        place = self.columns.index(target)
        options = {**self.options, "usecols": [place], "dtype": str, "iterator": True}
        n_rows, size = 0, limit
        with _parse(self.content, **options) as reader, _reading(self.name):
            while True:
                try:
                    labels = reader.get_chunk(size).iloc[:, 0]
                except StopIteration:
                    return None
                found = labels.notna().to_numpy().cumsum()
                if found[-1] >= limit:
                    return n_rows + int(np.searchsorted(found, limit)) + 1
                n_rows, limit, size = n_rows + len(labels), limit - int(found[-1]), 2 * size


def open_table(path: Path, layout: Layout) -> TypedTable | CsvTable:
    """Open a file, or standard input if its path is `-`; its name tells its format."""
    content, kind = _find(path)
    if kind == "CSV":
        return _open_csv(content, layout)
    for option, value in vars(layout).items():
        if value and not (option == "encoding" and kind == "JSON"):
            raise EvaluationError(f"{option} is for CSV files, but {content.name} is {kind}")
    frame = _read_parquet(content) if kind == "parquet" else _read_lines(content, layout.encoding)
    if len(frame.columns) > _MAX_COLUMNS:
        raise _too_wide(content.name, len(frame.columns))
    if len(frame.columns) < 2:
        raise EvaluationError(
            f"{content.name} has {len(frame.columns)} columns: it takes a feature and a label"
        )
    return TypedTable(content.name, frame)


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
            return _of_pipe(sys.stdin.buffer.read())
    suffixes = [suffix.lower() for suffix in path.suffixes]
    is_gzipped = suffixes[-1:] == [".gz"]
    last = suffixes[-2:-1] if is_gzipped else suffixes[-1:]
    return _Content(str(path), path, is_gzipped), _SUFFIXES.get("".join(last), "CSV")


def _of_pipe(data: bytes) -> tuple[_Content, str]:
    """Return what came on standard input, and what its first bytes say that it is."""
    content = _Content("standard input", data, data.startswith(b"\x1f\x8b"))
    with content.open() as file:
        start = file.read(64).lstrip()
    if start.startswith(b"PAR1"):
        return content, "parquet"
    return content, "JSON" if re.match(rb"\{|\[\s*\{", start) else "CSV"


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
        reason = getattr(error, "strerror", None) or text_of(error)
        raise EvaluationError(f"cannot read {name} as {kind}: {reason}") from error


# CSV


def _open_csv(content: _Content, layout: Layout) -> CsvTable:
    with _reading(content.name), content.open() as file:
        header = file.readline(_LONGEST_HEADER)
        sample = file.read(_SAMPLE)
    separator, decimal = _dialect(header + sample, layout)
    n_columns = header.decode(layout.encoding or "utf-8", "replace").count(separator) + 1
    if n_columns > _MAX_COLUMNS:  # before pandas spends minutes on them
        raise _too_wide(content.name, n_columns)
    options: dict[str, Any] = {"sep": separator, "encoding": layout.encoding, "decimal": decimal}
    first = _parse(content, header=None, nrows=1, dtype=str, **options).fillna("").iloc[0].tolist()
    first = [name.strip() for name in first]
    columns = [str(i) for i in range(len(first))] if layout.no_header else first
    _check_columns(columns, separator, layout, content.name)
    options |= {"names": columns, "header": None if layout.no_header else 0}
    return CsvTable(content.name, columns, decimal, content, options)


def _parse(content: _Content, **options: Any) -> Any:
    """Call pandas: only empty fields are missing, and no field is dropped silently."""
    with (
        _reading(content.name, encoding=options["encoding"]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            content.for_pandas(),
            compression="gzip" if content.is_gzipped else None,
            index_col=False,
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
            **options,
        )


def _dialect(start: bytes, layout: Layout) -> tuple[str, str]:
    """Return the separator and the decimal mark, from the first rows of a file."""
    text = start.decode(layout.encoding or "utf-8", "replace")[: 4 * _SAMPLE]
    candidates = _SEPARATORS if layout.separator is None else layout.separator
    split = {separator: _split(text, separator) for separator in candidates}

    def fit(separator: str) -> tuple[float, int]:
        widths = [len(row) for row in split[separator]] or [0]
        return (widths.count(widths[0]) / len(widths) if widths[0] > 1 else 0.0, widths[0])

    best = max(candidates, key=fit)  # the first of equals
    fields = [value.strip() for row in split[best][1:] for value in row]
    return best, "," if best != "," and _have_decimal_comma(fields) else "."


def _split(text: str, separator: str) -> list[list[str]]:
    """Return the first rows, divided by a separator; without the last one, which may be cut."""
    rows = []
    try:
        for row in itertools.islice(
            csv.reader(io.StringIO(text, newline=""), delimiter=separator), _SAMPLE_ROWS
        ):
            rows += [row] if row else []
    except csv.Error:  # a field that is too long
        return rows
    return rows[:-1] if 2 < len(rows) < _SAMPLE_ROWS and len(text) >= _SAMPLE else rows


def _have_decimal_comma(fields: list[str]) -> bool:
    """Whether numbers have a comma before their fraction, and not only between their thousands."""
    has_points = any(re.fullmatch(r"[-+]?\d*\.\d+", value) for value in fields)
    with_comma = [value for value in fields if re.fullmatch(r"[-+]?\d*,\d+", value)]
    thousands = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
    return not has_points and not all(map(thousands.fullmatch, with_comma))


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
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise EvaluationError(
            f'reading {content.name} needs pyarrow: pip install "pyarrow>=16"'
        ) from error
    with _reading(content.name, "parquet"), content.open() as file:
        data = io.BytesIO(file.read())
        try:
            frame = pd.read_parquet(data, engine="pyarrow")
            # numbers come back as numbers, even if they were declared to be categories
            stored = (pq.read_metadata(data).metadata or {}).get(b"ARROW:schema", b"")
            schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored))) if stored else ()
        except pa.ArrowException as error:
            raise ValueError(text_of(error)) from error
    for field_ in schema:
        if pa.types.is_dictionary(field_.type) and field_.name in frame:
            frame[field_.name] = frame[field_.name].astype("category")
    for column, kind in frame.dtypes.items():
        # Missing values may be None here, or pandas' NA; NaN takes their place.
        if pd.api.types.is_object_dtype(kind) or getattr(kind, "na_value", None) is pd.NA:
            values = frame[column].astype(object)
            frame[column] = values.where(values.notna(), np.nan)
    return frame.reset_index(drop=True)
