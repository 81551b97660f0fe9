"""Files as streams: formats, options, targets, and rows of standard input as they come."""

import bz2
import gzip
import io
import itertools
import json
import lzma
import os
import sys
import threading
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pandas._libs.parsers import STR_NA_VALUES

from river_amf.evaluation import EvaluationError, load_stream
from river_amf.evaluation.streams import task_of
from river_amf.inputs.cautions import MISSING_TEXTS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def plain(stream):
    return [(dict(x), y) for x, y in stream]


def test_missing_values_are_those_of_pandas():
    assert STR_NA_VALUES | {"?", "-"} == MISSING_TEXTS


TABLE = "size,color,code,seen,target\n1.5,red,2,True,0\n,NA,10,,1\n-3,tan,,False,0\n"
EXPECTED = [
    ({"size": 1.5, "color": "red", "code": "2", "seen": True}, 0),
    ({"code": "10"}, 1),
    ({"size": -3.0, "color": "tan", "seen": False}, 0),
]
ROWS = [
    {"size": 1.5, "color": "red", "code": 2, "seen": True, "target": 0},
    {"size": None, "color": "NA", "code": 10, "target": 1},
    {"size": -3, "color": "tan", "code": None, "seen": False, "target": 0},
]
ARFF = "% a\n@relation t\n" + "".join(
    f"@attribute {name} string\n" for name in TABLE.partition("\n")[0].split(",")
)
ARFF += "@data\n" + TABLE.partition("\n")[2].replace("red", "'red'")
BLANKS = TABLE.replace("\n,", "\nNA,").replace(",,", ",NA,").replace(",", "   ")
LINES = "\n\n".join(map(json.dumps, ROWS)).encode()


def archive(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        for name in names:
            opened.writestr(zipfile.ZipInfo(name), TABLE)
    return file.getvalue()


def parquet():
    file = io.BytesIO()
    pd.DataFrame(ROWS).to_parquet(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.csv", TABLE.encode()),
        ("T.CSV.GZ", gzip.compress(TABLE.encode())),
        ("t.bz2", bz2.compress(TABLE.encode())),
        ("t.csv.xz", lzma.compress(TABLE.encode())),
        ("bars.txt", TABLE.replace(",", "|").encode()),
        ("blanks.txt", BLANKS.encode()),
        ("t.arff", ARFF.encode()),
        ("nested.json", b'{"n": 3, "in": {"rows": [' + b",".join(LINES.split(b"\n\n")) + b"]}}"),
        ("columns.json", pd.DataFrame(ROWS, dtype=object).to_json().encode()),
        ("t.zip", archive("t.csv", "__MACOSX/t.csv", "folder/")),
        ("t.json", b"[" + b",\n".join(LINES.split(b"\n\n")) + b"]"),
        ("t.txt", TABLE.replace(",", ";").encode()),
        ("t.tsv", TABLE.replace(",", "\t").encode()),
        ("t.jsonl", LINES),
        ("t.ndjson.gz", gzip.compress(LINES)),
        ("t.parquet", parquet()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # gzip has the time in it
)
def test_formats_are_read_alike(name, data, write, monkeypatch):
    stream = load_stream(write(data, name), categorical=["code"])
    assert plain(stream) == plain(stream) == EXPECTED
    assert [type(y) for _, y in stream] == [int] * 3
    assert [*stream.kinds.values()] == ["number", "category", "category", "boolean"]
    if "parquet" not in name:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert plain(load_stream("-", categorical=["code"])) == EXPECTED


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of Unix")
def test_named_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for data in (TABLE.encode(), gzip.compress(TABLE.encode())):
        writer = threading.Thread(target=path.write_bytes, args=(data,))
        writer.start()
        assert plain(load_stream(path, categorical=["code"])) == EXPECTED
        writer.join()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_encodings(encoding, write):
    path = write("größe;target\n1,5;jä\n2;né\n".encode(encoding))
    stream = load_stream(path, encoding=encoding, decimal=",")
    assert plain(stream) == [({"größe": 1.5}, "jä"), ({"größe": 2.0}, "né")]
    if encoding != "utf-8-sig":
        other = "cp1252" if encoding == "latin-1" else encoding
        with pytest.raises(EvaluationError, match=f"in utf-8; --encoding .* {other}"):
            load_stream(path)


def test_columns_are_numbered_chosen_and_dropped(write):
    stream = load_stream(write(b"\xef\xbb\xbf1.5;red;yes\n2;NA;no\n"), no_header=True)
    assert plain(stream) == [({"0": 1.5, "1": "red"}, "yes"), ({"0": 2.0}, "no")]
    path = write("id,a,target,b\n1,2,x,3\n2,3,y,4\n")
    assert next(iter(load_stream(path, drop=["id", "b"]))) == ({"a": 2}, "x")
    assert next(iter(load_stream(path, drop=["target"]))) == ({"id": 1, "a": 2}, 3)
    kept = [record.kept for record in load_stream(path, drop=["id"], keep=["id", "b"]).records()]
    assert kept == [("1", "3"), ("2", "4")]


def test_text_is_a_bag_of_words(write):
    path = write("note,size,target\nOne day. One war,1.5,x\n,2.5,y\n12,,x\n")
    stream = load_stream(path, text="note")
    assert plain(stream) == [
        ({"size": 1.5, "note=one": 2, "note=day": 1, "note=war": 1}, "x"),
        ({"size": 2.5}, "y"),
        ({"note=12": 1}, "x"),
    ]


def test_quantities():
    for labels in (range(50), [1.0, 2.0], [True, False], ["a", "b"]):
        assert task_of([*labels]) == "classification"
    for numbers in (range(51), [1.0, 2.5], [*range(50)] * 20 + [*range(51)]):
        assert task_of([*numbers]) == "regression"


@pytest.mark.parametrize(
    ("limit", "expected", "n_unlabeled"), [(None, [3, 5, 6], 4), (3, [3], 2), (9, [3, 5, 6], 4)]
)
def test_unlabeled_rows_are_left_out(limit, expected, n_unlabeled, write):
    labels = ["", "NA", 1, "", 0, 1, ""]
    path = write("a,target\n" + "".join(f"{i},{y}\n" for i, y in enumerate(labels, 1)))
    stream = load_stream(path, limit=limit)
    assert [x["a"] for x, _ in stream] == expected
    assert (stream.n_samples, stream.n_unlabeled) == (len(expected), n_unlabeled)
    assert {type(y) for _, y in stream} == {int}
    with pytest.raises(EvaluationError, match="'target' is empty; --target"):
        load_stream(path, limit=2)


def test_task_follows_from_the_target(write):
    path = write("a,price\n" + "".join(f"{i % 7},{i % 874}\n" for i in range(1200)))
    for limit in (10, None):  # 1000 rows decide, even if fewer are asked for
        stream = load_stream(path, limit=limit)
        assert (stream.task, stream.target) == ("regression", "price")
        assert [y for _, y in stream] == [float(i % 874) for i in range(limit or 1200)]
    assert all(type(y) is int for _, y in load_stream(path, task="classification"))
    few = load_stream(write("a,y\n1,True\n2,False\n"), task="regression")
    assert [y for _, y in few] == [1.0, 0.0]
    for stream in (few, replace(few, samples=[*few])):
        assert stream.columns()["read as"].tolist() == ["number", "number"]
    with pytest.raises(ValueError, match="task must be 'classification' or 'regression' or None"):
        load_stream(path, task="clustering")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,target\n1,2,3\n", {}, "more fields than its header"),
        ("a,target\n1,2\n1,2,3\n", {}, r"row 2 \(line 3\) has 3 .* more fields than its header"),
        ("a,target\n1,2\n1,2,\n", {}, r"row 2 \(line 3\) has 3 .* more fields than its header"),
        ('a,target\n"1,2\n', {}, "quote of row 1 stays open; --no-quotes"),
        (f"a,target\n1,x\n1{400 * '0'},y\n", {}, r"row 2 .* in 'a', or one too large"),
        (b"\x89PNG,\r\n\x1a\n\xff,\xfe", {}, "byte 0x89 is not text in utf-8; --encoding"),
        ("a,target\n1,2\n", {"target": "targte"}, "no target column 'targte' .* mean 'target'"),
        ("a,target\n1,2\n", {"categorical": ["z"]}, r"no feature 'z' \(available: 'a'\)"),
        ("a,target\n1,2\n", {"drop": ["a"]}, "no feature beside its target 'target'"),
        ("a,target\n1,2\n", {"separator": "||"}, "separator must be one character, got '||'"),
        ("a,target\n1,2\n", {"thousands": "."}, "decimal and thousands must differ, got '.'"),
        ("a,target\n1,2\n", {"header": 1, "no_header": True}, "header and no_header exclude"),
        ("a ,a,target\n1,2,3\n", {}, "two columns are named 'a'"),
        ("a,target\n1,2\n", {"day_first": True}, "for the columns in dates"),
        ("a,target\n1,2\n", {"dates": ["a"], "date_format": "%Q"}, "date_format.* 'Q' is a bad"),
        ("a,target\n1,2\n", {"encoding": "utf-88"}, "unknown encoding: utf-88"),
        ("a,target\n1,2\n", {"missing": "NA"}, "missing must be a list"),
        ('{"a": 1, "b": 2}\n[1]\n', {}, "row 2 .* a JSON object, .* 'list' obj"),
        ('[\n{"a": 1, "b": 2},\n[1]\n]', {}, r"row 2 .* object.* to_json\("),
        (archive("a.csv", "b.csv"), {}, "a zip archive of 2 files; convert one table to CSV"),
        (archive("xl/workbook.xml", "b.xml"), {}, "a file of Excel; convert"),
        ('{"a": 1, "b": 2}\n', {"separator": ";"}, "separator is for CSV files, but .* is JSON"),
        ('{"a": [1], "y": 2}\n', {}, "'a' must hold .* row 1 has a list; --drop=a l"),
        ("a,price\n" + "".join(f'1,"${i},037.50"\n' for i in range(100)), {}, "number alone"),
        (b"PK\x03\x04", {}, "not a zip file"),
        (gzip.compress(b"a,y\n1,2\n", mtime=0)[:9], {}, "ended before"),
        ("a_b_y\n1_2_x\n2_3_y\n", {}, "--separator"),
        ('{"a": [{"b": 1}], "c": {"d": [{"b": 1}]}}', {}, "arrays of objects, 'a', 'c.d'"),
        ("@relation r\n@attribute a numeric\n@attribute y {p,q}\n@data\n{0 1}\n", {}, "sparse"),
        (b"7z\xbc\xaf\x27\x1c", {}, "compressed in another way"),
        ("", {}, "empty"),
        ("a,y\n", {}, "no rows"),
        ("a,y\n,\n1,\n", {}, "--target"),
    ],
)
def test_bad_file_is_one_line(content, options, message, write):
    with pytest.raises(EvaluationError, match=message) as raised:
        load_stream(write(content), **options)
    assert "\n" not in str(raised.value)


def test_bad_source_is_named(tmp_path, monkeypatch, write):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TypeError, match=r"no option 'seperator' .did you mean 'separator'"):
        load_stream("Bananas", seperator=";")
    for source, options, message in (
        (tmp_path, {}, "cannot read .*: Is a directory"),
        ("Banana", {}, "did you mean 'Bananas'"),
        ("-", {}, "standard input is closed"),
        ("bananas", {"text": "x"}, "text can only be chosen for a file, not for Bananas"),
        ("Bananas", {"task": "regression"}, "Bananas is a stream for classification, not for re"),
    ):
        with pytest.raises(EvaluationError, match=message):
            load_stream(source, **options)


class Pipe(io.RawIOBase):
    """Standard input that gives one line at a time, and counts those it has given."""

    def __init__(self, lines):
        self.lines, self.n_read = [*lines], 0

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.lines[self.n_read] if self.n_read < len(self.lines) else b""
        self.n_read += 1
        buffer[: len(data)] = data
        return len(data)


@pytest.fixture
def feed(monkeypatch):
    def begin(lines):
        pipe = Pipe(line.encode("latin-1") for line in lines)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(pipe)))
        return pipe

    return begin


def rows(n):
    for i in range(n):
        gap = "" if i % 11 == 3 else f"{i / 4}".replace(".", ",")
        note = '"größer; \nas ""it"" is"' if i % 7 == 2 else "00" if i > 1000 else "little"
        day = f"2024-05-{i % 28 + 1:02}T10:00:00{('+02:00', '')[i % 2]}"
        yield f"{i % 5};{gap};{i % 3 == 0};{note};{day};{'' if i % 50 == 9 else 'xy'[i % 2]}\n"


STDIN = ["whole;part;seen;note;day;target\n", *rows(1100)]
OPTIONS = {"decimal": ",", "encoding": "latin-1"}


@pytest.mark.parametrize("options", [{}, {"limit": 1050}, {"limit": 30}, {"text": "note"}])
def test_standard_input_is_read_like_a_file(options, feed, write):
    path = write("".join(STDIN).encode("latin-1"))
    expected = plain(load_stream(path, **OPTIONS, **options))
    feed("".join(STDIN).splitlines(keepends=True))  # a line that a field breaks comes in two parts
    assert plain(load_stream("-", **OPTIONS, **options)) == expected
    feed(STDIN)
    assert plain(load_stream("-", **OPTIONS, **options).complete()) == expected


def test_row_is_there_when_it_has_come(feed):
    pipe = feed(STDIN)
    stream = load_stream("-", **OPTIONS)
    n_read, samples = pipe.n_read, iter(stream)
    [*itertools.islice(samples, stream.n_samples)]
    assert pipe.n_read == n_read and next(samples) and pipe.n_read == n_read + 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x;1,5;True;n;2024-05-17;x\n", "row 1002 .* has 'x' in 'whole', which held numbers"),
        ("1;1.5;True;n;2024-05-17;x\n", "row 1002 .* has '1.5' in 'part'"),
        ("1;1,5;True;n;soon;x\n", "has 'soon' in 'day', which held dates"),
        ("1;inf;True;n;2024-05-17;x\n", "row 1002 .* infinite value in 'part'"),
        ("1;1,5;True;n;2024-05-17;x;y\n", "more fields than its header"),
    ],
)
def test_later_row_that_does_not_fit_is_named(line, message, feed):
    feed([*(line.replace("\n", "") + "\n" for line in STDIN[:1002]), line])
    with pytest.raises(EvaluationError, match=message):
        [*load_stream("-", **OPTIONS)]


def test_later_lines_of_json(feed):
    rows = [{"a": i / 2, "y": "xy"[i % 2]} if i % 9 else {"y": "xy"[i % 2]} for i in range(1300)]
    lines = [json.dumps(row) + "\n" for row in rows]
    feed(lines)
    assert [x | {"y": y} for x, y in load_stream("-", "y")] == rows
    feed([*lines, '{"a": '])
    with pytest.raises(EvaluationError, match="row 1301 of standard input must be a JSON object"):
        [*load_stream("-")]


def test_values_of_parquet_are_numbers_and_text(write):
    columns = {"a": [-200, 3, 4], "b": pd.array([1, None, 2], "Int64"), "c": ["red", None, "tan"]}
    file = io.BytesIO()
    pd.DataFrame(columns | {"y": ["p", "q", "p"]}).to_parquet(file)
    stream = load_stream(write(file.getvalue(), "t.parquet"), missing=["-200"])
    xs = [{"b": 1, "c": "red"}, {"a": 3}, {"a": 4, "b": 2, "c": "tan"}]
    assert plain(stream) == [*zip(xs, "pqp", strict=True)]
    assert all(isinstance(x.get("a", 0), int | float | np.number) for x, _ in stream)
