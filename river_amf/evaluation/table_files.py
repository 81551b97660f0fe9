"""Tables in files, read by pandas: CSV, ARFF, lines of JSON or parquet; or on standard input."""

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
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import pandas as pd

from river_amf.evaluation.streams import ROWS
from river_amf.evaluation.usage_errors import EvaluationError, error_text

STANDARD_INPUT = "-"

_MAX_COLUMNS = 100_000  # pandas takes about a millisecond for each, and every node room for each
_SAMPLE = 2**17 - 1  # bytes to find the separator in; the csv module takes no longer fields
_SAMPLE_ROWS = 100
_SEPARATORS = ",;\t"
_PARQUET = (".parquet", ".pq")
_JSON = (".jsonl", ".ndjson", ".json")
_OTHERS = (".xlsx", ".xls", ".ods", ".zip", ".bz2", ".xz", ".zst", ".feather", ".arrow", ".orc")
_ADVICE = "convert it to .csv, .arff, .parquet or .jsonl, perhaps with .gz"
_REFUSED = (  # how the content of files begins that are no tables of text
    (rb"PK\x03\x04", "a zip archive or a file of Excel"),
    (rb"\x1f\x8b", "gzip, but its name does not end in .gz"),
    (rb"SQLite format 3\0", "a database of SQLite"),
    (rb"\x93NUMPY", "an array of NumPy"),
    (rb"\x80[\x02-\x05]", "a pickle"),
    (rb"\s*<(!DOCTYPE|html|\?xml)", "HTML or XML"),
    (rb"[-+]?[\d.]+( \d+:[-+.\de]+)+\s", "LIBSVM"),
    (rb"-?[\d.]+( [\d.]+)* \|\w* ?\w+", "Vowpal Wabbit"),
)
_ARFF = re.compile(rb"(\s*%.*\n|\s*\n)*\s*@relation", re.IGNORECASE)
_ATTRIBUTE = r"""(?im)^\s*@attribute\s+('[^']*'|"[^"]*"|\S+)\s+(\{)?"""

_Opener = Callable[[], IO[bytes]]  # of the bytes of a file, decompressed


class Table(NamedTuple):
    """The first rows of a file, or all of them; values are as pandas reads them."""

    name: str
    frame: pd.DataFrame
    is_typed: bool  # whether values have types of their own, as in JSON and parquet
    # blocks of standard input that are yet to come, with some columns as text
    later: Callable[[Collection[str]], Iterator[pd.DataFrame]] | None = None
    texts: Collection[str] = ()  # columns that are text, whatever they look like


@dataclass(frozen=True)
class Layout:
    """How a file of text is laid out; None is found out, or UTF-8."""

    separator: str | None = None
    encoding: str | None = None
    no_header: bool = False
    decimal: str = "."
    thousands: str | None = None
    comment: str | None = None

    def __post_init__(self) -> None:
        characters = {"separator": self.separator, "comment": self.comment}
        for name, value in characters.items():
            if value is not None and (len(value) != 1 or value in '"\r\n'):
                raise EvaluationError(
                    f"{name} must be a single character, such as ';' or a tab, got {value!r}"
                )
        if self.decimal not in (".", ","):
            raise EvaluationError(f"decimal must be '.' or ',', got {self.decimal!r}")
        for name in ("separator", "thousands"):
            if getattr(self, name) == self.decimal:
                raise EvaluationError(f"{name} and decimal are both {self.decimal!r}")
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


def read_table(
    path: Path, layout: Layout, markers: Collection[str], texts: Collection[str], n_rows: int | None
) -> Table:
    """Read a file, or the first rows of standard input if its path is `-`.

    The markers are missing values; the columns in `texts` are read as text.
    """
    name, opener, later = _open(path, layout)
    with _reading(name, "CSV"), opener() as file:
        start = file.readline(2**26) + file.read(_SAMPLE)
    kind = _kind_of(name, path, start)
    if not start.strip():
        raise EvaluationError(f"{name} is empty")
    options: dict[str, Any] = {"na_values": ["?", *markers], "dtype": dict.fromkeys(texts, str)}
    if kind in ("CSV", "ARFF"):
        file_options = (_arff_options if kind == "ARFF" else _csv_options)(
            name, opener, start, layout, options
        )
        names = file_options["names"]
        frame = _parse(name, opener, file_options | {"nrows": n_rows})
        blocks: Any = None
        if later is not None:
            again = file_options | {"header": None, "names": names, "skiprows": None}
            blocks = functools.partial(_later_csv, later, again, len(frame))
        return Table(name, frame, False, blocks, [*file_options["dtype"]])
    for option in layout.chosen():
        if option != "encoding" or kind != "JSON":
            raise EvaluationError(f"{option} is for CSV files, but {name} is {kind}")
    with _reading(name, kind, layout.encoding), opener() as file:
        if kind == "parquet":
            frame = _read_parquet(name, file)
        else:
            with io.TextIOWrapper(file, _encoding(layout)) as lines:
                frame = _json_frame(name, lines, 1)
    _check_width(name, len(frame.columns))
    frame = frame.set_axis([*map(str, frame.columns)], axis="columns")[:n_rows]
    blocks = None
    if later is not None:
        blocks = functools.partial(_later_json, later, _encoding(layout), len(frame))
    return Table(name, frame, True, blocks)


def _kind_of(name: str, path: Path, start: bytes) -> str:
    """Return the format of a file, by its name or content, or raise."""
    suffixes = [suffix for suffix in map(str.lower, path.suffixes) if suffix != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix in _PARQUET or start.startswith(b"PAR1"):
        return "parquet"
    is_input = str(path) == STANDARD_INPUT
    if suffix in _JSON or (is_input and re.match(rb"\s*(\{|\[\s*\{)", start)):
        return "JSON"
    found = [text for pattern, text in _REFUSED if re.match(pattern, start)]
    if found or suffix in _OTHERS:
        raise EvaluationError(f"cannot read {name}: it is {(*found, suffix)[0]}; {_ADVICE}")
    return "ARFF" if _ARFF.match(start) else "CSV"


def _encoding(layout: Layout) -> str:
    """Return the encoding; for UTF-8 the one that drops a byte order mark."""
    is_utf8 = codecs.lookup(layout.encoding or "utf-8").name == "utf-8"
    return "utf-8-sig" if is_utf8 else str(layout.encoding)


def _open(path: Path, layout: Layout) -> tuple[str, _Opener, Iterator[bytes] | None]:
    """Return the name of a file for messages, its content, and blocks that are yet to come."""
    if str(path) != STANDARD_INPUT:
        opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
        return str(path), lambda: opener(path, "rb"), None
    if sys.stdin is None:
        raise EvaluationError("standard input is closed")
    file: Any = sys.stdin.buffer
    with _reading("standard input", "CSV"):
        data = file.readline()
        is_bytewise = "x\n".encode(_encoding(layout)).endswith(b"x\n")  # not as in UTF-16
        if data.startswith((b"\x1f\x8b", b"PAR1")) or not is_bytewise:
            data += file.read()
            data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            return "standard input", lambda: io.BytesIO(data), None
        blocks = _whole_rows(file, data, is_json=data.lstrip()[:1] == b"{")
        data = b""
        for block in blocks:
            data += block
            if data.count(b"\n") > ROWS:
                break
    return "standard input", lambda: io.BytesIO(data), blocks


def _whole_rows(file: Any, rest: bytes, *, is_json: bool) -> Iterator[bytes]:
    """Yield what has come of a file, cut at the end of a row; quotes may contain line ends."""
    while data := file.read1(2**16):
        rest += data
        end = rest.rfind(b"\n") + 1
        if end and (is_json or rest.count(b'"', 0, end) % 2 == 0):
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


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
            f" in {encoding or 'utf-8'}; --encoding names another, such as"
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


# CSV and ARFF


def _csv_options(
    name: str, opener: _Opener, start: bytes, layout: Layout, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of `read_csv` for a file, with the names of its columns."""
    text = start.decode(layout.encoding or "utf-8", "replace").lstrip("\ufeff")
    separator, skipped = layout.separator, None
    if told := re.match(r"sep=(.)\r?\n", text):  # as Excel writes it
        separator, skipped = separator or told[1], 1
        text = text[told.end() :]
    mark = layout.comment or next((mark for mark in "#%" if text.startswith(mark)), "\0")
    lines = [line for line in text.splitlines() if not line.startswith(mark)] or [""]
    separator = separator or _sniff("\n".join(lines)[:_SAMPLE], layout.decimal)
    if mark in "#%" and layout.comment is None:
        top = text.splitlines()[0]
        if top.count(separator) < lines[0].count(separator):
            raise EvaluationError(
                f"{name} begins with {top[:40]!r}: --comment '{mark}' skips comments"
            )
    _check_width(name, lines[0].count(separator) + 1)
    options |= {
        **{"sep": separator, "encoding": layout.encoding, "decimal": layout.decimal},
        **{"thousands": layout.thousands, "comment": layout.comment, "skiprows": skipped},
        "header": None,
    }
    plain = {"nrows": 1, "dtype": str, "keep_default_na": False, "na_values": []}
    first = _parse(name, opener, options | plain).iloc[0].fillna("").str.strip()
    names = [*map(str, range(len(first)))] if layout.no_header else [*first]
    common, occurrences = Counter(filter(None, names)).most_common(1)[0]
    if occurrences > 1:
        is_number = re.fullmatch(r"[-+.\d]+", common) is not None
        advice = "; --no-header reads the first row as a sample"
        raise EvaluationError(
            f"{name} has more than one column named {common!r}{advice * is_number}"
        )
    # an index that pandas has written has no name
    names = [name or f"Unnamed: {place}" for place, name in enumerate(names)]
    return options | {"names": names, "header": None if layout.no_header else 0}


def _arff_options(
    name: str, opener: _Opener, start: bytes, layout: Layout, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of `read_csv` for the rows of an ARFF file."""
    with _reading(name, "ARFF"), opener() as file:
        lines = itertools.takewhile(
            lambda line: not line.strip().lower().startswith(b"@data"), file
        )
        header = b"".join(lines).decode(layout.encoding or "utf-8")
    found = re.findall(_ATTRIBUTE, header)
    names = [name.strip("'\"") for name, _ in found]
    nominal = [column for column, (_, brace) in zip(names, found, strict=True) if brace]
    options["dtype"] |= dict.fromkeys(nominal, str)
    return options | {
        **{"names": names, "header": None, "skiprows": header.count("\n") + 1, "comment": "%"},
        **{"encoding": layout.encoding, "quotechar": "'" if b"'" in start else '"'},
    }


def _parse(name: str, opener: _Opener, options: dict[str, Any]) -> pd.DataFrame:
    """Call pandas, which must not drop a field silently, and drop empty columns without a name."""
    with (
        _reading(name, "CSV", options.get("encoding")),
        warnings.catch_warnings(),
        opener() as file,
    ):
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame: pd.DataFrame = pd.read_csv(
            file, index_col=False, low_memory=False, skipinitialspace=True, **options
        )
    unnamed = [column for column in frame.columns if str(column).startswith("Unnamed: ")]
    empty = [column for column in unnamed if frame[column].isna().all()]
    return frame.drop(columns=empty) if empty else frame


def _sniff(text: str, decimal: str) -> str:
    """Return the separator by which most of the first rows have as many fields as the header."""

    def fit(separator: str) -> tuple[float, int]:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        widths = [len(row) for row in itertools.islice(rows, _SAMPLE_ROWS) if row] or [0]
        return widths.count(widths[0]) / len(widths) * (widths[0] > 1), widths[0]

    return max(_SEPARATORS.replace(decimal, ""), key=fit)  # the first of equals


def _later_csv(
    blocks: Iterator[bytes], options: dict[str, Any], start: int, texts: Collection[str]
) -> Iterator[pd.DataFrame]:
    """Yield the rows of blocks of lines, numbered from `start` on."""
    options |= {"dtype": dict.fromkeys(texts, str)}
    for block in blocks:
        frame = _parse("standard input", lambda block=block: io.BytesIO(block), options)  # type: ignore[misc]
        frame.index = frame.index + start
        start += len(frame)
        yield frame


# Formats with types


def _json_frame(name: str, lines: Any, first: int) -> pd.DataFrame:
    """Return the object in each line as a row; what a line lacks is missing."""
    rows = []
    for n, line in enumerate(filter(str.strip, lines), first):
        try:
            row = json.loads(line)
            if "\\" in line:  # half of a surrogate pair is no text
                json.dumps(row, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            row, reason = None, f"is not JSON: {error}"
        else:
            reason = f"must be a JSON object, got {type(row).__name__}"
        if not isinstance(row, dict):
            advice = "; pandas writes such lines with to_json(path, orient='records', lines=True)"
            raise EvaluationError(f"row {n} of {name} {reason}{advice * (n == 1)}")
        rows.append(row)
    return pd.DataFrame(rows, dtype=object)


def _later_json(
    blocks: Iterator[bytes], encoding: str, start: int, texts: Collection[str]
) -> Iterator[pd.DataFrame]:
    """Yield the rows of blocks of lines, numbered from `start` on."""
    for block in blocks:
        lines = block.decode(encoding).splitlines()
        frame = _json_frame("standard input", lines, start + 1)
        frame.index = frame.index + start
        start += len(frame)
        yield frame


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
            frame[column] = frame[column].astype(object).map(_as_text, na_action="ignore")
    return frame.reset_index(drop=True)


def _as_text(value: Any) -> Any:
    """Decode bytes."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
