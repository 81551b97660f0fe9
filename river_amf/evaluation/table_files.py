"""Tables in files or on standard input, read by pandas, and what their columns hold."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
import re
import sys
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

from river_amf.evaluation.streams import ROWS
from river_amf.evaluation.usage_errors import EvaluationError
from river_amf.inputs.kinds import as_category, is_date, is_hashable, shown
from river_amf.inputs.mismatch import MISSING_TEXTS
from river_amf.inputs.texts import READERS, numbers, read_dates

STANDARD_INPUT = "-"

# How a file is laid out: arguments of `load_stream`, of which None is detected.
Layout = dict[str, Any]
_OF_VALUES: Layout = {"missing": (), "dates": (), "date_format": None, "day_first": False}
LAYOUT: Layout = {
    **{"separator": None, "encoding": None, "header": None, "no_header": False, "skip_rows": 0},
    **{"decimal": ".", "thousands": None, "comment": None, "no_quotes": False},
    **_OF_VALUES,
}
OPTIONS = LAYOUT | {"drop": (), "keep": (), "text": None, "task": None, "shuffle": None}

_UNREADABLE = OSError, EOFError, ValueError, TypeError, LookupError, RuntimeError
_SAMPLE = 2**17 - 1  # characters to find the separator in; the csv module takes no longer fields
_SAMPLE_ROWS = 100
_SEPARATORS = ",;\t"
_NAMED = {"space": " ", "tab": "\t", "\\t": "\t"}
_FORMATS = {  # how the content of files begins
    "parquet": rb"PAR1",
    "JSON": rb"(\xef\xbb\xbf)?\s*(\{\s*[\"}]|\[\s*[\[{])",
    "ARFF": rb"(?i)(\s*%.*\n|\s*\n)*\s*@relation",
}
_REFUSED = {
    "a file of Excel": rb"\xd0\xcf\x11\xe0",
    "a pickle": rb"\x80[\x02-\x05]",
    "compressed": rb"PK\x03\x04|\x1f\x8b",  # of standard input
    "LIBSVM": rb"[-+]?[\d.]+( \d+:[-+.\de]+)+\s",
}
_ROW = r"""(?:[^"\n]*+(?:"[^"]*+"[^"\n]*+)*+\n)"""  # with line ends in quotes
_ATTRIBUTE = r"""(?i)\s*@attribute\s+('[^']*'|"[^"]*"|\S+)\s+(\{)?"""

_MISSING = MISSING_TEXTS - {"-"}  # which may be a label
# digits that are no number: leading zeros, more than float64 holds, parts of hashes, phone numbers
_ID = r"0\d\d+|[-+]?\d{16,99}|\d+[eE]\d+|\+\d{7,}"
_Chooser = Callable[[Sequence[str]], Collection[str]]


class Table(NamedTuple):
    """The first rows of a file, or all of them, indexed from 0."""

    name: str
    frame: pd.DataFrame  # of CSV and ARFF the texts in the file, or plain numbers
    layout: Layout
    is_text: bool  # whether it is CSV or ARFF
    header: int = 0  # the line of a CSV file that has the names of columns, from 1; 0 if none has
    texts: Collection[str] = ()  # columns that are categories by choice
    later: Iterator[pd.DataFrame] | None = None  # the rows of standard input that follow


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that differ from their defaults."""
    return {n: v for n, v in options.items() if v not in ([], (), None, OPTIONS.get(n))}


def read_table(path: Path, layout: Layout, n_rows: int | None, as_text: _Chooser) -> Table:
    """Read a file, or the first rows of standard input; `as_text` chooses columns by name."""
    separator, encoding = layout["separator"], layout["encoding"] or "utf-8-sig"
    layout = layout | {"separator": separator and _NAMED.get(separator.lower(), separator)}
    blocks = _blocks_of_input(encoding) if str(path) == STANDARD_INPUT else None
    name = str(path) if blocks is None else "standard input"
    options, texts, header = dict[str, Any](), list[str](), 0
    with _reading(name), ExitStack() as stack:
        if blocks is not None:
            file: IO[str] = io.StringIO(next(blocks, ""), "")
            start = file.read(_SAMPLE).encode(errors="replace")
            data: Any = io.BytesIO(start)
        else:
            data = _open(path, stack)
            start = data.read(_SAMPLE)
            file = stack.enter_context(io.TextIOWrapper(data, encoding, newline=""))
        file.seek(0)
        kind = _format_of(name, start, layout)
        if kind == "JSON":
            frame = _read_json(name, file)
        elif kind == "parquet":
            frame = pd.read_parquet(data, engine="pyarrow").reset_index(drop=True)
        elif kind == "ARFF":
            options, texts = _arff_options(file)
            frame = _read_csv(file, options | {"nrows": n_rows})
        else:
            file = _without_comments(file, layout["comment"])
            options, header = _csv_options(name, file, layout)
            if blocks is None and layout["decimal"] == "." and not layout["thousands"]:
                options |= _number_options(file, options, layout, as_text)
            frame = _read_csv(file, options | {"nrows": n_rows})
        frame = frame.set_axis([*map(str, frame)], axis="columns")[:n_rows]
    names = [*frame]
    unnamed = [column for column in names if options and column.startswith("Unnamed: ")]
    empty = [column for column in unnamed if frame[column].isin(("", np.nan)).all()]
    frame = frame.drop(columns=empty)
    options |= {"header": None, "names": names, "skiprows": None} if options else {}
    later = None if blocks is None else _later(name, blocks, frame, options, layout, n_rows)
    return Table(name, frame, layout, bool(options), header, texts, later)


def _open(path: Path, stack: ExitStack) -> Any:
    """Return the bytes of a file, decompressed if it is gzip or a zip archive of one file."""
    data: Any = stack.enter_context(open(path, "rb"))  # noqa: SIM115
    start = data.read(4)
    data.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return stack.enter_context(gzip.open(data))
    if start != b"PK\x03\x04":
        return data
    archive = stack.enter_context(zipfile.ZipFile(data))
    names = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX")]
    if len(names) == 1:
        return stack.enter_context(archive.open(names[0]))
    is_excel = "xl/workbook.xml" in names
    what = "a file of Excel" if is_excel else f"a zip archive of {len(names)} files"
    raise EvaluationError(f"cannot read {path}: it is {what}; convert one table to CSV")


def _format_of(name: str, start: bytes, layout: Layout) -> str:
    """Return the format of a file, or raise if it is none that is read with these options."""
    if not start.strip():
        raise EvaluationError(f"{name} is empty")
    for other, pattern in _REFUSED.items():
        if re.match(pattern, start):
            raise EvaluationError(f"cannot read {name}: it is {other}; convert it to CSV")
    kind = next((kind for kind, pattern in _FORMATS.items() if re.match(pattern, start)), "CSV")
    allowed = {"CSV": {*layout}, "parquet": {*_OF_VALUES}}.get(kind, {*_OF_VALUES, "encoding"})
    for option in given(layout):
        if option not in allowed:
            raise EvaluationError(f"{option} is for CSV files, but {name} is {kind}")
    return kind


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Raise EvaluationError for any error in a file."""
    try:
        yield
    except EvaluationError:
        raise
    except pd.errors.ParserWarning as error:
        raise EvaluationError(f"{name} has a row with more fields than its header") from error
    except UnicodeDecodeError as error:
        is_utf16 = error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        raise EvaluationError(
            f"cannot read {name}: the byte {error.object[error.start]:#04x} is not text in"
            f" {error.encoding}; --encoding names another, such as"
            f" {'utf-16' if is_utf16 else 'cp1252, of Windows'}"
        ) from error
    except ImportError as error:
        raise EvaluationError(f'reading {name} needs pyarrow: pip install "pyarrow>=16"') from error
    except (*_UNREADABLE, zlib.error, csv.Error, zipfile.BadZipFile) as error:
        if "out of memory" in str(error):  # which pandas raises as a ValueError
            raise MemoryError(f"cannot read {name}") from error
        reason = getattr(error, "strerror", None) or str(error).strip()
        if "inside string" in reason:
            reason += "; --no-quotes takes quotes as they are"
        raise EvaluationError(f"cannot read {name}: {reason}") from error


# Standard input


def _blocks_of_input(encoding: str) -> Iterator[str]:
    """Yield whole rows as they come; the first are a header and those that settle the columns."""
    if sys.stdin is None:
        raise EvaluationError("standard input is closed")
    source: Any = sys.stdin.buffer
    decoder, text, times = codecs.getincrementaldecoder(encoding)(), "", f"{{{ROWS + 1}}}"
    while data := source.read1(2**16):
        text += decoder.decode(data)
        first = text.lstrip()[:1]
        row = r"(?:[^\n]*+\n)" if first == "{" else _ROW
        if first == "[" and re.match(_FORMATS["JSON"], text.encode()):  # an array comes as a whole
            continue
        while rows := re.match(row + times, text):
            yield rows[0]
            text, times = text[rows.end() :], "+"
    if text := text + decoder.decode(b"", True):
        yield text


def _later(
    name: str,
    blocks: Iterator[str],
    first: pd.DataFrame,
    options: dict[str, Any],
    layout: Layout,
    n_rows: int | None,
) -> Iterator[pd.DataFrame]:
    """Yield the rows of blocks of text: CSV with these options, or JSON without."""
    n_read = len(first)
    with _reading(name):
        while n_read != n_rows and (block := next(blocks, None)):
            file = _without_comments(io.StringIO(block, ""), layout["comment"])
            frame = _read_csv(file, options) if options else _read_json(name, file, n_read)
            frame.index += n_read
            frame = frame.reindex(columns=first.columns)[: n_rows and n_rows - n_read]
            n_read += len(frame)
            yield frame


# Formats


def _without_comments(file: IO[str], mark: str | None) -> IO[str]:
    """Return a file in which lines that begin with a mark are empty, but for those in quotes."""
    if not mark:
        return file
    pattern = rf'(?m)((?:^|[,;\t|]) *"(?:[^"]|"")*")|^{re.escape(mark)}.*'
    return io.StringIO(re.sub(pattern, r"\1", file.read()), "")


def _csv_options(name: str, file: IO[str], layout: Layout) -> tuple[dict[str, Any], int]:
    """Return the arguments of `read_csv` for a file, and the line of its header."""
    for option in ("separator", "decimal", "thousands"):
        if len(layout[option] or " ") != 1:
            raise EvaluationError(f"{option} must be one character, got {layout[option]!r}")
    header, has_header = layout["header"], not layout["no_header"]
    if header and not has_header:
        raise EvaluationError("header and no_header exclude each other")
    if layout["decimal"] == layout["thousands"]:
        raise EvaluationError(f"decimal and thousands must differ, got {layout['decimal']!r} twice")
    sample = file.readline(2**26) + file.read(_SAMPLE)
    file.seek(0)
    excel = re.match(r"sep=(.)\r?\n", sample)
    skipped = {*range(max(layout["skip_rows"], (header or 1) - 1, bool(excel)))}
    skipped -= {(header or 0) - 1}
    lines = ["\n" if n in skipped else line for n, line in enumerate(io.StringIO(sample, ""))]
    top = next(filter(str.strip, lines), "")
    mark = top[0] if top[:1] in ("#", "%") else None
    text = _without_comments(io.StringIO("".join(lines), ""), mark).read()
    separator = layout["separator"] or (excel[1] if excel else _sniff(text, layout["decimal"]))
    rows = _first_rows(text, separator)
    if mark and rows and len(rows[0][1]) > len(next(csv.reader([top], delimiter=separator))):
        raise EvaluationError(f"{name} begins with {top[:40]!r}: --comment '{mark}' skips comments")
    if not skipped:
        _check_first(name, rows, has_header)
    line = header or rows[0][0] if has_header and rows else 0
    options: dict[str, Any] = {"header": 0 if has_header else None, "sep": separator}
    quoting = csv.QUOTE_NONE if layout["no_quotes"] else csv.QUOTE_MINIMAL
    return options | {"skiprows": skipped, "quoting": quoting}, line


def _first_rows(text: str, separator: str) -> list[tuple[int, list[str]]]:
    """Return the first rows of a text, each with the number of its last line."""
    reader = csv.reader(io.StringIO(text[:_SAMPLE], ""), delimiter=separator)
    return [(reader.line_num, row) for row in itertools.islice(reader, _SAMPLE_ROWS) if row]


def _sniff(text: str, decimal: str) -> str:
    """Return the separator by which most of the first rows have the same number of fields."""

    def fit(separator: str) -> tuple[float, bool, int]:
        rows = _first_rows(text, separator)
        width, n = _usual_width(rows)
        return n / max(len(rows), 1) * (width > 1), separator != decimal, width

    return max(_SEPARATORS, key=fit)  # the first of equals


def _usual_width(rows: Sequence[tuple[int, list[str]]]) -> tuple[int, int]:
    """Return the most frequent number of fields, and the number of rows that have it."""
    return Counter(_width(row) for _, row in rows).most_common(1)[0] if rows else (0, 0)


def _width(row: list[str]) -> int:
    """Return the number of fields, without empty ones where most are."""
    n_filled = sum(map(bool, row))
    return n_filled if 2 * n_filled < len(row) else len(row)


def numbers_among(names: Sequence[str]) -> list[float]:
    """Return those names of columns that are numbers, unless they count, as years do."""
    pattern = r"[-+]?\d+([.,]\d+)?|[-+]?[.,]\d+"
    found = [float(name.replace(",", ".")) for name in names if re.fullmatch(pattern, name)]
    return [] if len(found) > 1 and (np.diff(found) == 1).all() else found


def _check_first(name: str, rows: Sequence[tuple[int, list[str]]], has_header: bool) -> None:
    """Raise EvaluationError if lines of another kind come before the header."""
    width, _ = _usual_width(rows)
    line, row = next(((line, row) for line, row in rows if _width(row) >= width), (1, [""]))
    if not rows or _width(rows[0][1]) >= width:
        return
    is_header = has_header and not numbers_among(row)
    skipping = f"--skip-rows {line - 1}{' --no-header' * has_header}"
    raise EvaluationError(
        f"{name} begins with lines of fewer fields than line {line}, where"
        f" {f'--header {line}' if is_header else skipping} begins to read"
    )


def _arff_options(file: IO[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments of `read_csv` for an ARFF file, read up to its rows; and categories."""
    header = [*itertools.takewhile(lambda line: line.strip().lower() != "@data", file)]
    attributes = [match for match in (re.match(_ATTRIBUTE, line) for line in header) if match]
    names = [match[1].strip("'\"") for match in attributes]
    options = {
        **{"names": names, "header": None, "comment": "%"},
        "quotechar": "'" if "'" in "".join(header) else '"',
    }
    return options, [name for name, match in zip(names, attributes, strict=True) if match[2]]


def _number_options(
    file: IO[str], options: dict[str, Any], layout: Layout, as_text: _Chooser
) -> dict[str, Any]:
    """Return arguments of `read_csv` by which columns of plain numbers are, for speed, no texts."""
    first = _read_csv(file, options | {"nrows": ROWS})
    names, missing = [*map(str, first)], [*_MISSING, *layout["missing"]]
    file.seek(0)
    texts = {*as_text(names), *(n for n in names if first[n].str.fullmatch(_ID).any())}
    na_values = {name: missing for name in names if name not in texts}
    dtype = dict.fromkeys(texts, object)
    return {"names": names, "dtype": dtype, "na_filter": True, "na_values": na_values}


def _read_csv(file: IO[str], options: dict[str, Any]) -> pd.DataFrame:
    """Return fields, as texts by default; pandas must not drop one silently."""
    options = {"dtype": object, "na_filter": False, "keep_default_na": False, **options}
    options |= {"engine": "c", "low_memory": False, "index_col": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame: pd.DataFrame = pd.read_csv(file, skipinitialspace=True, **options)
    names = frame.columns.astype(str).str.strip()
    if names.has_duplicates:  # but for blanks at the end, of which pandas numbers others
        raise ValueError(f"two columns are named {names[names.duplicated()][0]!r}")
    return frame.set_axis(names, axis="columns")


def _read_json(name: str, file: IO[str], n_before: int = 0) -> pd.DataFrame:
    """Return the objects of an array, or one in each line, as rows; what one lacks is missing."""
    text, rows = file.read(), list[dict[str, Any]]()
    is_array = text.lstrip()[:1] == "["
    items = json.loads(text) if is_array else filter(str.strip, text.split("\n"))
    for n, item in enumerate(items, n_before + 1):
        try:
            rows.append({**(item if is_array else json.loads(item))})
        except (TypeError, ValueError, RecursionError) as error:
            raise EvaluationError(
                f"row {n} of {name} must be a JSON object, in an array or in a line of its own, as"
                f" pandas writes it with to_json(path, orient='records'): {error}"
            ) from error
    return pd.DataFrame(rows, dtype=object)


# Columns


def settle(
    column: pd.Series, table: Table, kind: str | None = None, wanted: str = ""
) -> tuple[pd.Series, str]:
    """Return the values of a column, NaN where missing, and their kind."""
    # This is "number", "boolean" or "date" if all values are, or else "category". With a `kind`, a
    # value of another kind raises EvaluationError, which ends with `wanted`; so does an infinite
    # number.
    readers, missing = READERS, table.layout["missing"]
    if column.name in table.texts:
        kind = "category"
    elif column.name in table.layout["dates"]:
        kind, readers = "date", READERS | {"date": read_dates}
        wanted = "which is no such date: --day-first, or --date-format FORMAT, reads others"
    if not table.is_text:
        column = column.infer_objects()
    if types.is_datetime64_any_dtype(column):
        return column, "date"
    if types.is_extension_array_dtype(column):
        column = column.astype(object)
    is_long = kind is None and types.is_integer_dtype(column) and (column.abs() > 2**53).any()
    if types.is_numeric_dtype(column) and kind in (None, "number", "boolean") and not is_long:
        kind = kind or ("boolean" if types.is_bool_dtype(column) else "number")
        return _finite(_without(missing, column, table), table), kind
    try:
        codes, distinct = pd.factorize(column)
    except TypeError as error:
        odd = next(value for value in column if not is_hashable(value))
        raise EvaluationError(
            f"column {column.name!r} must hold numbers, text or booleans, got {shown(odd)}"
        ) from error
    if any(map(is_date, distinct)):
        return column.astype(object).where(column.notna(), np.nan), "date"
    texts = pd.Series([str(as_category(value)).strip() for value in distinct], dtype=object)
    texts = texts[~texts.isin({*_MISSING, *missing})]
    for name in readers if kind is None else [kind] * (kind != "category"):
        if kind is None and name == "number" and texts.str.fullmatch(_ID).any():
            continue
        try:
            values = readers[name](texts, table.layout)
        except ValueError as error:
            raise EvaluationError(f"date_format is of no use: {error}") from error
        odd = texts[values.isna()]
        if kind and len(odd):
            row = column.index[codes == odd.index[0]][0] + 1
            raise EvaluationError(
                f"row {row} of {table.name} has {shown(odd.iloc[0])} in {column.name!r}, {wanted}"
            )
        if kind or odd.empty:
            values = _without(missing, values, table) if name == "number" else values
            break
    else:
        name, values = "category", texts.astype(object)
    column = values.reindex(codes).set_axis(column.index).rename(str(column.name))
    return _finite(column, table), name


def _without(missing: Collection[str], values: pd.Series, table: Table) -> pd.Series:
    """Return numbers, those that mean missing as NaN."""
    marks = numbers(pd.Series([*missing], dtype=object), table.layout).dropna()
    return values.mask(values.isin(marks)) if len(marks) else values


def _finite(column: pd.Series, table: Table) -> pd.Series:
    """Return a column, or raise EvaluationError if a number is infinite."""
    if types.is_float_dtype(column) and np.isinf(column).any():
        raise EvaluationError(
            f"row {np.isinf(column).idxmax() + 1} of {table.name} has an infinite value in"
            f" {column.name!r}, or one too large for float64; --missing=inf,-inf reads such values"
            " as missing"
        )
    return column
