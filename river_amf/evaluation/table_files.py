"""Tables in files or on standard input, as texts or plain numbers: their formats."""

import codecs
import csv
import functools
import importlib.util
import io
import itertools
import json
import re
import statistics
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from river_amf.evaluation.streams import ROWS
from river_amf.evaluation.usage_errors import EvaluationError
from river_amf.inputs.cautions import MISSING_TEXTS
from river_amf.inputs.texts import ID
from river_amf.outputs.printing import shorten

# How a file is laid out: arguments of `load_stream`, of which None is detected.
Layout = dict[str, Any]
_OF_VALUES: Layout = {"missing": (), "dates": (), "date_format": None, "day_first": False}
_OF_VALUES |= {"decimal": ".", "thousands": None}
LAYOUT: Layout = {
    **{"separator": None, "encoding": None, "header": None, "no_header": False, "skip_rows": 0},
    **{"comment": None, "no_quotes": False},
    **_OF_VALUES,
}
OPTIONS = LAYOUT | {"drop": (), "keep": (), "text": None, "task": None, "shuffle": None}

_SAMPLE = 2**17 - 1  # characters to find the separator in; the csv module takes no longer fields
_SAMPLE_ROWS = 100
_SEPARATORS = "\t|;,"  # the rarest in texts first
_BLANKS = r"\s+"  # a run of them, as pandas has it
_NAMED = {"space": _BLANKS, " ": _BLANKS, "tab": "\t", "\\t": "\t"}
_COMPRESSED = {  # how the content of files begins, and the module that opens them
    rb"\x1f\x8b": "gzip",
    rb"BZh[1-9](1AY&SY|\x17rE8P\x90)": "bz2",
    rb"\xfd7zXZ\0": "lzma",
    rb"\x28\xb5\x2f\xfd": "compression.zstd",  # from Python 3.14 on
}
_ARCHIVE = b"PK\x03\x04"
_FORMATS = {
    "parquet": rb"PAR1",
    "JSON": rb"(\xef\xbb\xbf)?\s*(\{\s*[\"}]|\[\s*[\[{])",
    "ARFF": rb"(?i)(\s*%.*\n|\s*\n)*\s*@relation",
}
_REFUSED = {
    "a file of Excel": rb"\xd0\xcf\x11\xe0",
    "a pickle": rb"\x80[\x02-\x05]",
    "LIBSVM": rb"[-+]?[\d.]+( \d+:[-+.\de]+)+\s",
    "a tar archive": rb"(?s).{257}ustar",
    "compressed in another way": rb"7z\xbc\xaf|Rar!|\x04\x22\x4d\x18|\x1f\x9d|\x5d\0\0",
}
_ROW = r"""(?:[^"\n]*+(?:"[^"]*+"[^"\n]*+)*+\n)"""  # with line ends in quotes
_ATTRIBUTE = r"""(?i)\s*@attribute\s+('(?:[^'\\]|\\.)*'|"[^"]*"|\S+)\s+(\{)?"""
_QUOTED = r"""(?m)(^|,)[ \t]*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)")[ \t]*(?=,|\r?$)"""
# the kinds and the roles of columns, in the second and the third line of a file of Orange
_KINDS = r"(c|continuous|n|numeric|d|discrete|s|string|t|time)|\S+( \S+)+"
_ROLES = r"(class|c|meta|m|ignore|i|weight|w)?( ?\S+=.*)?"
_PREFIXED = r"([cmiw]?)([CDNST]?)#(.+)"  # both, before a name in its only header line
_OF_R = "row.names"

MISSING = MISSING_TEXTS - {"-"}  # which may be a label
_Chooser = Callable[[Sequence[str], Mapping[str, Any]], Collection[str]]


class Table(NamedTuple):
    """The first rows of a file, or all of them, indexed from 0."""

    name: str
    frame: pd.DataFrame  # of CSV and ARFF the texts in the file, or plain numbers
    layout: Layout
    is_text: bool  # whether it is CSV or ARFF
    later: Iterator[pd.DataFrame] | None = None  # the rows of standard input that follow
    header: int = 0  # the line of a CSV file that has the names of columns, from 1; 0 if none has
    texts: Collection[str] = ()  # columns that are categories by choice
    target: str | None = None  # by its role
    ignored: Collection[str] = ()  # columns that are no features by their role
    notes: Sequence[str] = ()


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that differ from their defaults."""
    return {n: v for n, v in options.items() if v not in ([], (), None, OPTIONS.get(n))}


def read_table(path: Path, layout: Layout, n_rows: int | None, as_text: _Chooser) -> Table:
    """Read a file, or the first rows of standard input; `as_text` chooses columns by name."""
    separator, encoding = layout["separator"], layout["encoding"] or "utf-8-sig"
    layout = layout | {"separator": separator and _NAMED.get(separator.lower(), separator)}
    is_input = str(path) == "-"
    name = "standard input" if is_input else str(path)
    options, facts, blocks = dict[str, Any](), dict[str, Any](), None
    clean: Any = functools.partial(_without_comments, mark=layout["comment"])
    with _reading(name), ExitStack() as stack:
        data = _open(name, path, stack)
        if is_input and not isinstance(data, io.BytesIO):
            blocks = _blocks_of_input(data, encoding)
            file: IO[str] = io.StringIO(next(blocks, ""), "")
            start = file.read(_SAMPLE).encode(errors="replace")
        else:
            start = data.read(_SAMPLE)
            file = stack.enter_context(io.TextIOWrapper(data, encoding, newline=""))
        file.seek(0)
        kind = _format_of(name, start, layout)
        if kind == "JSON":
            frame = _read_json(name, file)
        elif kind == "parquet":
            frame = pd.read_parquet(data, engine="pyarrow").reset_index(drop=True)
        else:
            if kind == "ARFF":
                clean = _of_weka
                options, facts = _arff_options(file)
            file = clean(file)
            if kind == "CSV":
                options, facts = _csv_options(name, file, layout)
                if blocks is None and layout["decimal"] == "." and not layout["thousands"]:
                    missing = [*MISSING, *layout["missing"]]
                    options |= _number_options(file, options, missing, as_text, facts)
            frame = _read_csv(file, options | {"nrows": n_rows})
            if kind == "CSV" and 0 < frame.iloc[:, -1].isin(("", np.nan)).mean() < 1:
                file.seek(0)
                short = _odd_row(file, options | {"nrows": n_rows}, 0, -1)
                facts["notes"] = [*facts.get("notes", ()), *filter(None, [short])]
        frame = frame.set_axis([*map(str, frame)], axis="columns")[:n_rows]
    names = [*frame]
    unnamed = [column for column in names if options and column.startswith("Unnamed: ")]
    frame = frame.drop(columns=[n for n in unnamed if frame[n].isin(("", np.nan)).all()])
    options |= {"header": None, "names": names, "skiprows": None} if options else {}

    def later(blocks: Iterator[str]) -> Iterator[pd.DataFrame]:
        n = len(frame)
        with _reading(name):
            while n != n_rows and (block := next(blocks, None)):
                file = clean(io.StringIO(block, ""))
                rows = _read_csv(file, options, n) if options else _read_json(name, file, n)
                rows.index += n
                rows = rows.reindex(columns=frame.columns)[: n_rows and n_rows - n]
                n += len(rows)
                yield rows

    rest = None if blocks is None else later(blocks)
    return Table(name, frame, layout, bool(options), rest, **facts)


def _open(name: str, path: Path, stack: ExitStack) -> Any:
    """Return the bytes of a file, decompressed by what they are; text from a pipe as it comes."""
    is_input = name != str(path)
    if is_input and sys.stdin is None:
        raise EvaluationError("standard input is closed")
    data: Any = sys.stdin.buffer if is_input else stack.enter_context(open(path, "rb"))  # noqa: SIM115
    is_whole = not is_input and data.seekable()
    data = data if hasattr(data, "peek") else io.BufferedReader(data)
    for pattern, module in _COMPRESSED.items():
        if re.match(pattern, data.peek(16)):
            if importlib.util.find_spec(module.partition(".")[0]) is None:
                raise EvaluationError(f"{name} is compressed by zstd, which takes Python 3.14")
            data = importlib.import_module(module).open(data)
            break
    is_archive = data.peek(16).startswith(_ARCHIVE)
    is_text = not is_archive and not re.match(_FORMATS["parquet"], data.peek(16))
    if not is_whole and not (is_input and is_text):
        data = io.BytesIO(data.read())
    if not is_archive:
        return data
    archive = zipfile.ZipFile(data)
    names = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX")]
    if len(names) == 1:
        return io.BytesIO(archive.read(names[0]))
    what = f"a zip archive of {len(names)} files"
    what = "a file of Excel" if "xl/workbook.xml" in names else what
    raise EvaluationError(f"cannot read {name}: it is {what}; convert one table to CSV")


def _format_of(name: str, start: bytes, layout: Layout) -> str:
    """Return the format of a file, if it is one that is read with these options."""
    if not start.strip():
        raise EvaluationError(f"{name} is empty")
    for other, pattern in _REFUSED.items():
        if re.match(pattern, start):
            raise EvaluationError(f"cannot read {name}: it is {other}; convert it to CSV")
    kind = next((kind for kind, pattern in _FORMATS.items() if re.match(pattern, start)), "CSV")
    allowed = {"CSV": {*layout}, "parquet": {*_OF_VALUES}}.get(kind, {*_OF_VALUES, "encoding"})
    for option, value in given(layout).items():
        if option not in allowed:
            raise EvaluationError(f"{option} is for CSV files, but {name} is {kind}")
        is_mark = option in ("separator", "decimal", "thousands")
        if is_mark and len(value.replace(_BLANKS, " ")) != 1:
            raise EvaluationError(f"{option} must be one character, got {value!r}")
    if layout["decimal"] == layout["thousands"]:
        raise EvaluationError(f"decimal and thousands must differ, got {layout['decimal']!r} twice")
    return kind


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Raise EvaluationError for any error in a file."""
    try:
        yield
    except (EvaluationError, MemoryError):
        raise
    except ImportError as error:
        raise EvaluationError(f'reading {name} needs pyarrow: pip install "pyarrow>=16"') from error
    except UnicodeDecodeError as error:
        is_utf16 = error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        raise EvaluationError(
            f"cannot read {name}: the byte {error.object[error.start]:#04x} is not text in"
            f" {error.encoding}; --encoding names another, such as"
            f" {'utf-16' if is_utf16 else 'cp1252, of Windows'}"
        ) from error
    except Exception as error:  # each library has its own
        if "out of memory" in str(error):  # which pandas raises as a ValueError
            raise MemoryError(f"cannot read {name}") from error
        reason = getattr(error, "strerror", None) or str(error).strip()
        if match := re.search(r"inside string starting at row (\d+)", reason):
            reason = f"the quote of row {match[1]} stays open; --no-quotes takes quotes as they are"
        raise EvaluationError(f"cannot read {name}: {reason}") from error


def _blocks_of_input(source: Any, encoding: str) -> Iterator[str]:
    """Yield whole rows as they come; the first are a header and those that settle the columns."""
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


def _without_comments(file: IO[str], mark: str | None) -> IO[str]:
    """Return a file in which lines that begin with a mark are empty, but for those in quotes."""
    if not mark:
        return file
    pattern = rf'(?m)((?:^|[,;\t|]) *"(?:[^"]|"")*")|^{re.escape(mark)}.*'
    return io.StringIO(re.sub(pattern, r"\1", file.read()), "")


def _csv_options(name: str, file: IO[str], layout: Layout) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of `read_csv` for a file, and facts of its table."""
    header, has_header = layout["header"], not layout["no_header"]
    if header and not has_header:
        raise EvaluationError("header and no_header exclude each other")
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
    if mark and rows and len(rows[0][1]) > len(_first_rows(top, separator)[0][1]):
        raise EvaluationError(f"{name} begins with {top[:40]!r}: --comment '{mark}' skips comments")
    more, facts = dict[str, Any](), dict[str, Any]()
    if has_header and rows:
        more, facts = _read_header(rows, separator)
        facts["header"] = header or rows[0][0]
    if not more and not skipped:
        _check_first(name, rows, has_header)
    skipped |= more.pop("skiprows", set())
    options = more | {"header": 0 if has_header else None, "sep": separator, "skiprows": skipped}
    quoting = csv.QUOTE_NONE if layout["no_quotes"] else csv.QUOTE_MINIMAL
    return options | {"quoting": quoting}, facts


def _read_header(
    rows: Sequence[tuple[int, list[str]]], separator: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arguments of `read_csv`, if R or Orange has written the first rows; and facts."""
    names, *others = ([*map(str.strip, row)] for _, row in rows)
    twice = [name for name, n in Counter(filter(None, names)).items() if n > 1]
    notes = [f"several columns are named {n!r}: the second is {n + '.1'!r} here" for n in twice[:1]]
    widths, first = {len(row) for row in others if row[-1]}, {row[0] for row in others}
    is_named = len(first) == len(others) and separator != ","  # which may be within numbers
    if is_named and widths == {len(names) + 1} and numbers_among(others[0][1:]):  # no header below
        notes += ["its first column has no name, as R writes the names of rows: it is left out"]
        return {"names": [_OF_R, *names]}, {"notes": notes, "ignored": [_OF_R]}
    more, kinds, roles = dict[str, Any](), list[str](), list[str]()
    marked = [re.fullmatch(_PREFIXED, name) for name in names]
    if any(match and match[2] for match in marked):
        parts = [match.groups() if match else ("", "", "") for match in marked]
        names = [part[2] or name for part, name in zip(parts, names, strict=True)]
        roles, kinds, _ = map(list, zip(*parts, strict=True))
        more = {"names": names}
    elif len(others) > 1 and all(
        re.fullmatch(pattern, field)
        for pattern, row in zip((_KINDS, _ROLES), others, strict=False)
        for field in row
    ):
        kinds, roles = others[:2]
        more = {"skiprows": {line - 1 for line, _ in rows[1:3]}}
    if not any(len(kind) and " " not in kind for kind in kinds):
        return {}, {"notes": notes}
    kind_of, role_of = (dict(zip(names, row, strict=False)) for row in (kinds, roles))
    return more, {
        "notes": notes,
        "texts": [name for name, kind in kind_of.items() if kind[:1].lower() not in "cnt"],
        "ignored": [name for name, role in role_of.items() if role[:1] in ("m", "i", "w")],
        "target": next((name for name, role in role_of.items() if role[:1] == "c"), None),
    }


def _rows_of(
    lines: Iterable[str], separator: str, quoting: int = csv.QUOTE_MINIMAL
) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not empty, each with the number of its last line."""
    if separator == _BLANKS:
        lines, separator = (" ".join(line.split()) + "\n" for line in lines), " "
    reader: Any = csv.reader(lines, delimiter=separator, quoting=quoting)  # type: ignore[arg-type]
    return ((reader.line_num, row) for row in reader if row)


def _first_rows(text: str, separator: str) -> list[tuple[int, list[str]]]:
    return [*itertools.islice(_rows_of(io.StringIO(text[:_SAMPLE], ""), separator), _SAMPLE_ROWS)]


def _sniff(text: str, decimal: str) -> str:
    """Return the separator by which most of the first rows have the same number of fields."""

    def fit(separator: str) -> tuple[float, bool, int]:
        widths = [_width(row) for _, row in _first_rows(text, separator)]
        width = statistics.mode(widths or [0])  # the first of equals
        n = widths.count(width) + (widths[:1] == [width - 1])  # a header as R writes it
        return n / max(len(widths), 1) * (width > 1), separator != decimal, width

    best = max(_SEPARATORS, key=fit)  # the first of equals
    return best if fit(best)[0] or fit(_BLANKS)[0] < 1.0 else _BLANKS


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
    widths = [_width(row) for _, row in rows]
    first = next((n for n, width in enumerate(widths) if width >= statistics.mode(widths)), 0)
    if first == 0:
        return
    line, row = rows[first]
    is_header = has_header and not numbers_among(row)
    skipping = f"--skip-rows {line - 1}{' --no-header' * has_header}"
    raise EvaluationError(
        f"{name} begins with lines of fewer fields than line {line}, where"
        f" {f'--header {line}' if is_header else skipping} begins to read"
    )


def _number_options(
    file: IO[str], options: dict[str, Any], missing: list[str], as_text: _Chooser, facts: Any
) -> dict[str, Any]:
    """Return arguments of `read_csv` by which columns of plain numbers are, for speed, no texts."""
    first = _read_csv(file, options | {"nrows": ROWS})
    file.seek(0)
    texts = {*as_text([*first], facts), *(n for n in first if first[n].str.fullmatch(ID).any())}
    na_values = {name: missing for name in first if name not in texts}
    dtype = dict.fromkeys(texts, object)
    return {"names": [*first], "dtype": dtype, "na_filter": True, "na_values": na_values}


def _read_csv(file: IO[str], options: dict[str, Any], n_before: int = 0) -> pd.DataFrame:
    """Return fields, as texts by default; pandas must not drop one silently."""
    options = {"dtype": object, "na_filter": False, "keep_default_na": False, **options}
    options |= {"engine": "c", "low_memory": False, "index_col": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = pd.read_csv(file, skipinitialspace=True, **options)
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        file.seek(0)
        raise ValueError(_odd_row(file, options, n_before, 1) or error) from error
    names = frame.columns.map(str).str.strip()
    if names.has_duplicates:  # but for blanks at the end, of which pandas numbers others
        raise ValueError(f"two columns are named {names[names.duplicated()][0]!r}")
    return frame.set_axis(names, axis="columns")


def _odd_row(file: IO[str], options: dict[str, Any], n_before: int, sign: int) -> str:
    """Return a text on the first row with more fields than the header, or fewer if `sign` is -1."""
    skipped, quoting = options.get("skiprows") or (), options.get("quoting", csv.QUOTE_MINIMAL)
    lines = ("\n" if n in skipped else line for n, line in enumerate(file))
    rows = _rows_of(lines, options.get("sep", ","), quoting)
    line, names = next(rows) if options["header"] == 0 else (0, [])
    names = options.get("names") or names
    with suppress(csv.Error):  # of fields that are too long
        for n, (end, row) in enumerate(itertools.islice(rows, options.get("nrows")), n_before + 1):
            width = len(names or row)
            if sign * (len(row) - width) > 0:
                where = f"row {n}" + f" (line {line + 1})" * (not n_before)
                than = f"{'more' if sign > 0 else 'fewer'} fields than its header with {width}"
                mend = "correct that line" if sign > 0 else "what it lacks is missing"
                if sign > 0 and end > line + 1 and any("\n" in field for field in row):
                    mend = f"a quote is open up to line {end}; --no-quotes takes quotes as they are"
                return f"{where} has {len(row)} fields, {than}: {mend}"
            names, line = names or row, end
    return ""


def _arff_options(file: IO[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of `read_csv` for an ARFF file, read up to its rows; and its texts."""
    lines = itertools.takewhile(lambda line: line.strip().lower() != "@data", file)
    attributes = [match for match in (re.match(_ATTRIBUTE, line) for line in lines) if match]
    names = [re.sub(r"\\(.)", r"\1", match[1].strip("'\"")) for match in attributes]
    texts = [name for name, match in zip(names, attributes, strict=True) if match[2]]
    return {"names": names, "header": None}, {"texts": texts}


def _of_weka(file: IO[str]) -> IO[str]:
    """Return the rows of an ARFF file without comments, and with quotes as CSV has them."""

    def quoted(match: re.Match[str]) -> str:
        text = re.sub(r"\\([\\'\"%])", r"\1", match[2] or match[3] or "")
        return match[1] + '"' + text.replace('"', '""') + '"'

    text = re.sub("(?m)^%.*", "", file.read())
    if text.lstrip().startswith("{"):
        raise ValueError("its rows are sparse, in braces; convert it to CSV")
    return io.StringIO(re.sub(_QUOTED, quoted, text), "")


def _read_json(name: str, file: IO[str], n_before: int = 0) -> pd.DataFrame:
    """Return objects as rows, in which what one lacks is missing, or arrays as columns."""
    text, rows = file.read(), list[dict[str, Any]]()
    try:
        items: Any = json.loads(text)
    except (ValueError, RecursionError):
        items = filter(str.strip, text.split("\n"))
    if isinstance(items, dict) and not n_before:
        if (frame := _of_columns(items)) is not None:
            return frame
        lists = ((path, v) for path, v in _flat(items) if isinstance(v, list))
        arrays = {path: v for path, v in lists if v and isinstance(v[0], dict)}
        if len(arrays) > 1:
            several = f"{name} has several arrays of objects"
            paths = shorten(", ".join(map(repr, arrays)))
            raise EvaluationError(f"{several}, {paths}: write one to a file")
        items = next(iter(arrays.values()), items)
    for n, item in enumerate([items] if isinstance(items, dict) else items, n_before + 1):
        try:
            rows.append(dict(_flat(json.loads(item) if isinstance(item, str) else item)))
        except (AttributeError, ValueError, RecursionError) as error:
            raise EvaluationError(
                f"row {n} of {name} must be a JSON object, in an array or in a line of its own, as"
                f" pandas writes it with to_json(path, orient='records'): {error}"
            ) from error
    return pd.DataFrame(rows, dtype=object)


def _of_columns(data: dict[str, Any]) -> pd.DataFrame | None:
    """Return an object of arrays or of objects, all alike, as columns or rows; or else None."""
    shapes = {
        (*v,) if isinstance(v, dict) else isinstance(v, list) and len(v) for v in data.values()
    }
    if len(data) == 1 or len(shapes) > 1 or not any(shapes):
        return None
    frame = pd.DataFrame(data, dtype=object)
    return (frame.T if all(map(str.isdigit, data)) else frame).reset_index(drop=True)


def _flat(item: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of an object, those of objects within it under the names of both."""
    for name, value in item.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value
