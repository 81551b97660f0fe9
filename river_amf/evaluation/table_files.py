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
import zlib
from collections.abc import Iterable, Iterator
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

STANDARD_INPUT = "-"

# How a file is laid out: arguments of `load_stream`, of which None is detected.
Layout = dict[str, Any]
LAYOUT: Layout = {
    **{"missing": (), "separator": None, "encoding": None, "no_header": False},
    **{"decimal": ".", "thousands": None, "comment": None},
}

_SAMPLE = 2**17 - 1  # characters to find the separator in; the csv module takes no longer fields
_SAMPLE_ROWS = 100
_SEPARATORS = ",;\t"
_FORMATS = {  # how the content of files begins
    "parquet": rb"PAR1",
    "JSON": rb"(\xef\xbb\xbf)?\s*(\{\s*[\"}]|\[\s*[\[{])",
    "ARFF": rb"(?i)(\s*%.*\n|\s*\n)*\s*@relation",
}
_REFUSED = {
    "a zip archive or a file of Excel": rb"PK\x03\x04|\xd0\xcf\x11\xe0",
    "gzip, but its name does not end in .gz": rb"\x1f\x8b",
    "LIBSVM": rb"[-+]?[\d.]+( \d+:[-+.\de]+)+\s",
}
_ROW = r"""(?:[^"\n]*+(?:"[^"]*+"[^"\n]*+)*+\n)"""  # with line ends in quotes
_ATTRIBUTE = r"""(?i)\s*@attribute\s+('[^']*'|"[^"]*"|\S+)\s+(\{)?"""

_MISSING = MISSING_TEXTS - {"-"}  # which may be a label
_DATE = re.compile(  # of ISO 8601; the first group is without an offset from UTC
    r"(\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?)(Z|[-+]\d\d:?\d\d)?"
)


class Table(NamedTuple):
    """The first rows of a file, or all of them, indexed from 0."""

    name: str
    frame: pd.DataFrame
    layout: Layout
    is_csv: bool
    later: Iterator[pd.DataFrame] | None = None  # the rows of standard input that follow


def read_table(path: Path, layout: Layout, texts: Iterable[Any], n_rows: int | None) -> Table:
    """Read a file, or the first rows of standard input; columns in `texts` are categories."""
    encoding, options = layout["encoding"] or "utf-8-sig", dict[str, Any]()
    blocks = _blocks_of_input(encoding) if str(path) == STANDARD_INPUT else None
    name = str(path) if blocks is None else "standard input"
    with _reading(name), ExitStack() as stack:
        if blocks is not None:
            file: IO[str] = io.StringIO(next(blocks, ""), "")
            start = file.read(_SAMPLE).encode(errors="replace")
            data: Any = io.BytesIO(start)
        else:
            opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
            data = stack.enter_context(opener(path, "rb"))
            start = data.read(_SAMPLE)
            file = io.TextIOWrapper(data, encoding, newline="")
        file.seek(0)
        kind = _format_of(name, start, layout)
        if kind == "JSON":
            frame = _read_json(name, file)
        elif kind == "parquet":
            frame = pd.read_parquet(data, engine="pyarrow").reset_index(drop=True)
        else:
            is_arff = kind == "ARFF"
            options = _arff_options(file, layout) if is_arff else _csv_options(name, file, layout)
            texts = [*texts, *options.pop("nominal", ())]
            options |= {"dtype": dict.fromkeys(texts, str)}
            frame = _read_csv(file, options | {"nrows": n_rows})
        names = [*map(str, frame)]
        frame = frame.set_axis(names, axis="columns")[:n_rows]
        frame = frame.astype({column: "category" for column in texts if column in names})
    unnamed = [column for column in names if options and column.startswith("Unnamed: ")]
    frame = frame.drop(columns=[column for column in unnamed if frame[column].isna().all()])
    options |= {"header": None, "names": names, "dtype": str} if options else {}
    later = None if blocks is None else _later(name, blocks, frame, options, n_rows)
    return Table(name, frame, layout, kind == "CSV", later)


def _format_of(name: str, start: bytes, layout: Layout) -> str:
    """Return the format of a file, or raise if it is none that is read with these options."""
    if not start.strip():
        raise EvaluationError(f"{name} is empty")
    for other, pattern in _REFUSED.items():
        if re.match(pattern, start):
            raise EvaluationError(f"cannot read {name}: it is {other}; convert it to CSV")
    kind = next((kind for kind, pattern in _FORMATS.items() if re.match(pattern, start)), "CSV")
    allowed = {"CSV": {*layout}, "parquet": {"missing"}}.get(kind, {"missing", "encoding"})
    for option, value in layout.items():
        if value and value != LAYOUT[option] and option not in allowed:
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
        raise EvaluationError(
            f"cannot read {name}: the byte {error.object[error.start]:#04x} is not text in"
            f" {error.encoding}; --encoding names another, such as latin-1 or utf-16"
        ) from error
    except ImportError as error:
        raise EvaluationError(f'reading {name} needs pyarrow: pip install "pyarrow>=16"') from error
    except (OSError, EOFError, ValueError, TypeError, LookupError, zlib.error, csv.Error) as error:
        if "out of memory" in str(error):  # which pandas raises as a ValueError
            raise MemoryError(f"cannot read {name}") from error
        reason = getattr(error, "strerror", None) or str(error).strip()
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
        row = r"(?:[^\n]*+\n)" if text.lstrip()[:1] == "{" else _ROW
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
    n_rows: int | None,
) -> Iterator[pd.DataFrame]:
    """Yield the rows of blocks of text: CSV with these options, or JSON without."""
    n_read = len(first)
    with _reading(name):
        while n_read != n_rows and (block := next(blocks, None)):
            file = io.StringIO(block, "")
            frame = _read_csv(file, options) if options else _read_json(name, file, n_read)
            frame.index += n_read
            frame = frame.reindex(columns=first.columns)[: n_rows and n_rows - n_read]
            n_read += len(frame)
            yield frame


# Formats


def _csv_options(name: str, file: IO[str], layout: Layout) -> dict[str, Any]:
    """Return the arguments of `read_csv` for the rows of a file, which is read up to the first."""
    sample = file.readline(2**26) + file.read(_SAMPLE)
    file.seek(0)
    comment, excel = layout["comment"], re.match(r"sep=(.)\r?\n", sample)
    if excel:
        sample = sample.removeprefix(file.readline())
    top = sample.partition("\n")[0]
    mark = comment or (top[:1] if top[:1] in "#%" else "\0")
    rows = [line for line in io.StringIO(sample, "") if line.strip() and not line.startswith(mark)]
    text = "".join(rows)
    separator = layout["separator"] or (excel[1] if excel else _sniff(text, layout["decimal"]))
    is_wider = text.partition("\n")[0].count(separator) > top.count(separator)
    if top.startswith(mark) and is_wider and not comment:
        raise EvaluationError(f"{name} begins with {top[:40]!r}: --comment '{mark}' skips comments")
    return {
        "header": None if layout["no_header"] else 0,
        **{"sep": separator, "decimal": layout["decimal"], "thousands": layout["thousands"]},
        **{"comment": comment, "na_values": ["?", *layout["missing"]]},
    }


def _sniff(text: str, decimal: str) -> str:
    """Return the separator by which most of the first rows have as many fields as the header."""

    def fit(separator: str) -> tuple[float, int]:
        rows = csv.reader(io.StringIO(text[:_SAMPLE], ""), delimiter=separator)
        widths = [len(row) for row in itertools.islice(rows, _SAMPLE_ROWS) if row] or [0]
        return widths.count(widths[0]) / len(widths) * (widths[0] > 1), widths[0]

    return max(_SEPARATORS.replace(decimal, ""), key=fit)  # the first of equals


def _arff_options(file: IO[str], layout: Layout) -> dict[str, Any]:
    """Return the arguments of `read_csv` for the rows of an ARFF file, which is read up to them."""
    header = [*itertools.takewhile(lambda line: line.strip().lower() != "@data", file)]
    attributes = [match for match in (re.match(_ATTRIBUTE, line) for line in header) if match]
    return {
        "names": [match[1].strip("'\"") for match in attributes],
        "nominal": [match[1].strip("'\"") for match in attributes if match[2]],
        **{"header": None, "comment": "%", "na_values": ["?", *layout["missing"]]},
        "quotechar": "'" if "'" in "".join(header) else '"',
    }


def _read_csv(file: IO[str], options: dict[str, Any]) -> pd.DataFrame:
    """Call pandas, which must not drop a field silently."""
    options = {**options, "engine": "c", "index_col": False, "low_memory": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame: pd.DataFrame = pd.read_csv(file, skipinitialspace=True, **options)
    return frame.set_axis(frame.columns.astype(str).str.strip(), axis="columns")


def _read_json(name: str, lines: IO[str], n_before: int = 0) -> pd.DataFrame:
    """Return the object in each line as a row; what a line lacks is missing."""
    rows = []
    for n, line in enumerate(filter(str.strip, lines), n_before + 1):
        try:
            rows.append({**json.loads(line)})
        except (TypeError, ValueError, RecursionError) as error:
            raise EvaluationError(
                f"row {n} of {name} must be a JSON object in a line, as pandas writes it with"
                f" to_json(path, orient='records', lines=True): {error}"
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
    missing = table.layout["missing"]
    if isinstance(column.dtype, pd.CategoricalDtype):
        kind = "category"
    column = column.infer_objects()
    if types.is_datetime64_any_dtype(column):
        return column, "date"
    if types.is_extension_array_dtype(column):
        column = column.astype(object)
    if types.is_numeric_dtype(column) and kind in (None, "number", "boolean"):
        kind = kind or ("boolean" if types.is_bool_dtype(column) else "number")
        if missing and not table.is_csv:  # in which pandas has left them out
            column = column.mask(column.isin(numbers(pd.Series([*missing]), table)))
        return _finite(column, table), kind
    try:
        distinct: Any = column.dropna().unique()
    except TypeError as error:
        odd = next(value for value in column if not is_hashable(value))
        raise EvaluationError(
            f"column {column.name!r} must hold numbers, text or booleans, got {shown(odd)}"
        ) from error
    if any(map(is_date, distinct)):
        return column.astype(object).where(column.notna(), np.nan), "date"
    texts = pd.Series(
        [str(as_category(value)).strip() for value in distinct],
        pd.Index(distinct, dtype=object),
        dtype=object,
    )
    texts = texts[~texts.isin({*_MISSING, *missing})]
    kinds = [*_READERS] if kind is None else [kind] * (kind != "category")
    for name in kinds:
        values = _READERS[name](texts, table)
        odd = texts[values.isna()]
        if kind and len(odd):
            row = column.index[column == odd.index[0]][0] + 1
            raise EvaluationError(
                f"row {row} of {table.name} has {shown(odd.iloc[0])} in {column.name!r}, {wanted}"
            )
        if kind or len(texts) > len(odd) == 0:
            return _finite(column.map(values.to_dict()).infer_objects(), table), name
    return column.astype(object).map(texts.to_dict()).astype(object), "category"


def _finite(column: pd.Series, table: Table) -> pd.Series:
    """Return a column, or raise EvaluationError if a number is infinite."""
    if types.is_float_dtype(column) and np.isinf(column).any():
        raise EvaluationError(
            f"row {np.isinf(column).idxmax() + 1} of {table.name} has an infinite value in"
            f" {column.name!r}, or one too large for float64; --missing=inf,-inf reads such values"
            " as missing"
        )
    return column


def numbers(texts: pd.Series, table: Table) -> pd.Series:
    """Return texts as numbers, as pandas parses them in a file, and NaN for other texts."""
    # only those that may be numbers, because it takes long to try to parse text
    plain = texts[texts.str.match(r"[-+.,\diIn]").to_numpy(dtype=bool)]
    if table.layout["thousands"]:
        plain = plain.str.replace(table.layout["thousands"], "", regex=False)
    if table.layout["decimal"] != ".":
        plain = plain.where(~plain.str.contains(".", regex=False), "text")
        plain = plain.str.replace(table.layout["decimal"], ".", regex=False)
    return pd.to_numeric(plain, errors="coerce").astype(np.float64).reindex(texts.index)


def read_dates(texts: pd.Series, _: Table) -> pd.Series:
    """Return texts as dates or as times, without their offset; missing where they are neither."""
    matches = map(_DATE.fullmatch, texts)
    local = pd.Series([match and match[1] for match in matches], texts.index, dtype=object)
    dates = pd.to_datetime(local, format="ISO8601", errors="coerce")
    has_time = any(len(text) > len("2024-05-17") for text in local.dropna())
    return dates if has_time else dates.dt.date


_READERS = {
    "number": numbers,
    "boolean": lambda texts, _: texts.str.lower().map({"true": True, "false": False}),
    "date": read_dates,
}
