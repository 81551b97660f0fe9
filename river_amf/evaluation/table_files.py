"""Tables in files, read by pandas: CSV, ARFF, lines of JSON or parquet; or on standard input."""

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
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import pandas as pd

from river_amf.evaluation.streams import ROWS
from river_amf.evaluation.usage_errors import EvaluationError

STANDARD_INPUT = "-"

# How a file is laid out: arguments of `load_stream`, of which None is detected.
Layout = dict[str, Any]
LAYOUT: Layout = {
    **{"separator": None, "encoding": None, "no_header": False, "decimal": ".", "thousands": None},
    **{"comment": None, "missing": ()},
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


class Table(NamedTuple):
    """The first rows of a file, or all of them, indexed from 0."""

    name: str
    frame: pd.DataFrame
    layout: Layout
    is_typed: bool  # whether values have types of their own, as in JSON and parquet
    later: Iterator[pd.DataFrame] | None = None  # the rows of standard input that follow


def read_table(path: Path, layout: Layout, texts: Iterable[Any], n_rows: int | None) -> Table:
    """Read a file, or the first rows of standard input; columns in `texts` are categories."""
    name, encoding = str(path), layout["encoding"] or "utf-8-sig"
    options: dict[str, Any] = {}
    blocks: Iterator[str] | None = None
    with ExitStack() as stack:
        if name == STANDARD_INPUT:
            name, blocks = "standard input", _blocks_of_input(encoding)
        stack.enter_context(_reading(name))
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
            options = (_arff_options if kind == "ARFF" else _csv_options)(name, file, layout)
            texts = [*texts, *options.pop("nominal", ())]
            types = dict.fromkeys(texts, str)
            frame = _read_csv(file, options | {"dtype": types, "nrows": n_rows})
        names = [*map(str, frame)]
        frame = frame.set_axis(names, axis="columns")[:n_rows]
        frame = frame.astype({column: "category" for column in texts if column in names})
    unnamed = [column for column in names if options and column.startswith("Unnamed: ")]
    frame = frame.drop(columns=[column for column in unnamed if frame[column].isna().all()])
    options |= {"names": names, "dtype": str} if options else {}
    later = None if blocks is None else _later(name, blocks, len(frame), options)
    return Table(name, frame, layout, not options, later)


def _format_of(name: str, start: bytes, layout: Layout) -> str:
    """Return the format of a file, or raise if it is none that is read with these options."""
    if not start.strip():
        raise EvaluationError(f"{name} is empty")
    for other, pattern in _REFUSED.items():
        if re.match(pattern, start):
            advice = "convert it to .csv, .arff, .parquet or .jsonl, perhaps with .gz"
            raise EvaluationError(f"cannot read {name}: it is {other}; {advice}")
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
        reason = getattr(error, "strerror", None) or str(error).replace("in line", "in row")
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
    name: str, blocks: Iterator[str], n_read: int, options: dict[str, Any]
) -> Iterator[pd.DataFrame]:
    """Yield the rows of blocks of text: CSV with these options, or JSON without."""
    with _reading(name):
        for block in blocks:
            file = io.StringIO(block, "")
            frame = _read_csv(file, options) if options else _read_json(name, file, n_read)
            frame.index += n_read
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
        "names": None if layout["no_header"] else _read_header(name, file, separator, comment),
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


def _read_header(name: str, file: IO[str], separator: str, comment: str | None) -> list[str]:
    """Read the names of columns, or raise for two of one name."""
    lines = (line.partition(comment)[0] if comment else line for line in file)
    rows = csv.reader(filter(str.strip, lines), delimiter=separator, skipinitialspace=True)
    names = [column.strip() for column in next(rows, [])]
    common, n = Counter(filter(None, names)).most_common(1)[0] if any(names) else ("", 0)
    if n > 1:
        advice = "--no-header reads the first row as a sample"
        raise EvaluationError(f"{name} has more than one column named {common!r}; {advice}")
    # an index that pandas has written has no name
    return [column or f"Unnamed: {place}" for place, column in enumerate(names)]


def _arff_options(name: str, file: IO[str], layout: Layout) -> dict[str, Any]:
    """Return the arguments of `read_csv` for the rows of an ARFF file, which is read up to them."""
    header = [*itertools.takewhile(lambda line: line.strip().lower() != "@data", file)]
    attributes = [match for match in (re.match(_ATTRIBUTE, line) for line in header) if match]
    return {
        "names": [match[1].strip("'\"") for match in attributes],
        "nominal": [match[1].strip("'\"") for match in attributes if match[2]],
        **{"comment": "%", "na_values": ["?", *layout["missing"]]},
        "quotechar": "'" if "'" in "".join(header) else '"',
    }


def _read_csv(file: IO[str], options: dict[str, Any]) -> pd.DataFrame:
    """Call pandas, which must not drop a field silently."""
    options = {**options, "header": None, "index_col": False, "low_memory": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame: pd.DataFrame = pd.read_csv(file, skipinitialspace=True, **options)
    return frame


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
