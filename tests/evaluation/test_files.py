"""Files as people have them: markers of missing values, separators, encodings, other formats."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from pandas._libs.parsers import STR_NA_VALUES
from river import datasets, metrics

from river_amf import AMFClassifier
from river_amf.evaluation import (
    EvaluationError,
    compare,
    load_stream,
    progressive_val_score,
)
from river_amf.evaluation.column_types import MISSING, Texts, is_quantity
from river_amf.evaluation.progressive import iter_samples


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


# Missing values


def test_the_markers_are_those_of_pandas_and_a_question_mark():
    assert set(MISSING) == STR_NA_VALUES | {"?"}


@pytest.mark.parametrize("marker", [*MISSING, " NA", "? "])
def test_a_marker_in_a_column_of_numbers_is_a_missing_value(marker, write):
    text = f"a,b,target\n1.5,red,yes\n{marker},blue,no\n-3,red,yes\n"
    stream = load_stream(write(text))
    assert list(stream) == [
        ({"a": 1.5, "b": "red"}, "yes"),
        ({"b": "blue"}, "no"),
        ({"a": -3.0, "b": "red"}, "yes"),
    ]
    assert (stream.n_numeric, stream.n_categorical) == (1, 1)


def test_in_text_and_in_the_target_nothing_is_missing_but_an_empty_field(write):
    path = write("job,size,target\n?,1,NA\nNA,2,?\n,NA,null\nclerk,4,\n")
    stream = load_stream(path)
    assert list(stream) == [
        ({"job": "?", "size": 1.0}, "NA"),
        ({"job": "NA", "size": 2.0}, "?"),
        ({}, "null"),
    ]
    coded = load_stream(write("code,target\n1,a\nNA,b\n"), categorical=["code"])
    assert [x for x, _ in coded] == [{"code": "1"}, {"code": "NA"}]


def test_other_markers_can_be_chosen(write):
    path = write("a,b,c,target\n-999,NA,x,p\n5,7,-999,q\n6,8,y,-999\n")
    samples = list(load_stream(path, missing=["-999", "missing"]))
    assert samples == [
        ({"b": "NA", "c": "x"}, "p"),
        ({"a": 5, "b": "7", "c": "-999"}, "q"),
        ({"a": 6, "b": "8", "c": "y"}, "-999"),
    ]
    none = load_stream(write("a,target\n1,p\nNA,q\n,q\n"), missing=[])
    assert [x for x, _ in none] == [{"a": "1"}, {"a": "NA"}, {}]


@pytest.mark.parametrize("missing", ["NA", [1], 3])
def test_markers_that_are_no_list_of_texts_are_reported(missing, write):
    with pytest.raises((EvaluationError, TypeError), match=r"missing must be|not iterable"):
        load_stream(write("a,target\n1,p\n"), missing=missing)


# Separators, encodings and headers


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_found(separator, write):
    rows = [["size", "note", "target"], ["1.5", '"a, b; c"', "yes"], ["2", "d", "no"], ["3"]]
    path = write("\n".join(separator.join(row) for row in rows) + "\n", "table.txt")
    samples = [({"size": 1.5, "note": "a, b; c"}, "yes"), ({"size": 2.0, "note": "d"}, "no")]
    stream = load_stream(path)
    assert list(stream) == samples
    assert stream.n_unlabeled == 1
    assert list(load_stream(path, separator=separator)) == samples


def test_a_decimal_comma_has_to_be_chosen(write):
    path = write("a;price\n1,5;0,5\nNA;3\n3,25;1,5\n")
    advice = r"values such as '.,5' are text, not numbers; decimal=',' \(--decimal ,\) reads them"
    with pytest.warns(UserWarning, match=advice) as warned:
        stream = load_stream(path)
    assert [str(each.message).split("'")[1] for each in warned] == ["price", "a"]
    assert (stream.task, stream.n_numeric) == ("classification", 0)
    stream = load_stream(path, decimal=",")
    assert stream.task == "regression"
    assert list(stream) == [({"a": 1.5}, 0.5), ({}, 3.0), ({"a": 3.25}, 1.5)]
    with pytest.raises(EvaluationError, match=r"decimal must be '\.' or ',', got ';'"):
        load_stream(path, decimal=";")
    with pytest.raises(EvaluationError, match="separator and decimal are both ','"):
        load_stream(path, decimal=",", separator=",")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8", "cp1252"])
def test_the_encoding_can_be_chosen(encoding, write):
    text = "größe;target\n1;jä\n2;né\n"
    stream = load_stream(write(text.encode(encoding)), encoding=encoding)
    assert list(stream) == [({"größe": 1}, "jä"), ({"größe": 2}, "né")]
    lines = '{"größe": 1, "target": "jä"}\n'.encode(encoding)
    stream = load_stream(write(lines, "table.jsonl"), encoding=encoding)
    assert list(stream) == [({"größe": 1}, "jä")]


@pytest.mark.parametrize(("encoding", "other"), [("latin-1", "latin-1"), ("utf-16", "utf-16")])
@pytest.mark.parametrize("name", ["table.csv", "table.jsonl"])
def test_a_wrong_encoding_is_reported(encoding, other, name, write):
    path = write('{"größe": 1, "target": "jä"}\n'.encode(encoding), name)
    with pytest.raises(EvaluationError, match=rf"not text in utf-8; encoding .*such as {other}"):
        load_stream(path)
    with pytest.raises(EvaluationError, match=r"unknown encoding 'utf-88'.*latin-1"):
        load_stream(path, encoding="utf-88")


def test_without_a_header_columns_are_numbered(write):
    path = write(b"\xef\xbb\xbf1.5;red;yes\n2;NA;no\n")
    stream = load_stream(path, no_header=True)
    assert list(stream) == [({"0": 1.5, "1": "red"}, "yes"), ({"0": 2.0, "1": "NA"}, "no")]
    chosen = load_stream(path, "1", ["0"], no_header=True)
    assert next(iter(chosen)) == ({"0": "1.5", "2": "yes"}, "red")


# Rows without a label


@pytest.mark.parametrize(
    ("limit", "expected", "n_unlabeled"),
    [(None, [3, 5, 6], 4), (3, [3], 2), (5, [3, 5], 3), (9, [3, 5, 6], 4)],
)
@pytest.mark.parametrize("name", ["table.csv", "table.jsonl"])
def test_rows_without_a_label_are_left_out_and_counted(limit, expected, n_unlabeled, name, write):
    labels = [None, None, 1, None, 0, 1, None]
    rows = [{"a": i, "target": y} for i, y in enumerate(labels, start=1)]
    text = pd.DataFrame(rows).astype({"target": "Int64"}).to_csv(index=False)
    if name.endswith("jsonl"):
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
    stream = load_stream(write(text, name), limit=limit)
    assert [x["a"] for x, _ in stream] == expected
    assert (stream.n_samples, stream.n_unlabeled) == (len(expected), n_unlabeled)
    assert {type(y) for _, y in stream} == {int}
    with pytest.raises(EvaluationError, match="'target' is empty in the first 2 rows; target"):
        load_stream(write(text, name), limit=2)


# The target


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (range(50), False),
        (range(51), True),
        ([i % 26 for i in range(1000)], False),
        ([*range(50)] * 10, False),
        ([*range(50)] * 20 + [*range(1000)], False),  # the first 1000 rows count
        ([1.0, 2.0], False),
        ([1.0, 2.5], True),
        ([True, False], False),
        (["a", "b"], False),
        (["1.5", "2", "NA"], True),
        (["1", "2", "?"], False),
        (["NA", "?"], False),
        (["1.5"] * 18 + ["unknown"] * 2, True),
        (["1.5"] * 18 + ["unknown"] * 3, False),
        ([f"word {i}" for i in range(900)], False),
        ([f"{i}" for i in range(900)] + ["NA"], True),
    ],
)
def test_what_is_a_quantity(labels, expected):
    assert is_quantity(pd.Series(list(labels)), Texts()) is expected


@pytest.mark.parametrize("name", ["price", "target"])
@pytest.mark.parametrize("is_named", [False, True])
def test_a_quantity_is_for_regression_unless_the_task_is_chosen(name, is_named, write):
    path = write(f"a,{name}\n" + "".join(f"{i % 7},{i % 874}\n" for i in range(1200)))
    column = name if is_named else None
    for limit in (10, None):  # the first 1000 rows tell, even if fewer are read
        stream = load_stream(path, column, limit=limit)
        assert (stream.task, stream.target) == ("regression", name)
        assert [y for _, y in stream] == [float(i % 874) for i in range(limit or 1200)]
    labels = load_stream(path, column, task="classification")
    assert labels.task == "classification"
    assert all(type(y) is int for _, y in labels)
    lines = write("".join(f'{{"a": 1, "{name}": {i / 4}}}\n' for i in range(20)), "t.jsonl")
    assert load_stream(lines, column, limit=10).task == "regression"


def test_the_task_may_be_chosen(write):
    path = write("a,rings\n1,7\n2,8\n3,7\n")
    assert [type(y) for _, y in load_stream(path)] == [int] * 3
    stream = load_stream(path, task="regression")
    assert (stream.task, [y for _, y in stream]) == ("regression", [7.0, 8.0, 7.0])
    assert [y for _, y in load_stream(write("a,y\n1,True\n2,False\n"), task="regression")] == [1, 0]
    with pytest.raises(ValueError, match="task must be 'classification', 'regression' or None"):
        load_stream(path, task="clustering")
    with pytest.raises(EvaluationError, match="Bananas is a stream for classification, not for re"):
        load_stream("Bananas", task="regression")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_missing_number_in_the_target_skips_its_row(kind, write):
    values = ["1.5", "NA", "2.5", "?", "-9", "", "4"]
    if kind == "csv":
        path = write("a,y\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values)))
    else:
        rows = [{"a": i, "y": value or None} for i, value in enumerate(values)]
        path = write("\n".join(map(json.dumps, rows)), "t.jsonl")
    stream = load_stream(path, task="regression")
    assert list(stream) == [({"a": 0}, 1.5), ({"a": 2}, 2.5), ({"a": 4}, -9.0), ({"a": 6}, 4.0)]
    assert stream.n_unlabeled == 3
    stream = load_stream(path, task="regression", missing=["NA", "?", "-9"], limit=4)
    assert [y for _, y in stream] == [1.5, 2.5]


def test_a_text_in_a_target_of_numbers_is_reported(write):
    path = write("a,y\n" + "1,0.5\n" * 18 + "2,unknown\n2,none\n")
    with pytest.raises(EvaluationError, match=r"row 19 of .* has 'unknown' in 'y', .*--missing"):
        load_stream(path)
    stream = load_stream(path, missing=["unknown", "none"])
    assert (stream.n_samples, stream.n_unlabeled) == (18, 2)
    assert load_stream(path, task="classification").n_samples == 20


# Other formats


ROWS = [
    {"size": 1.5, "color": "red", "code": 2, "seen": True, "target": 0},
    {"size": None, "color": "NA", "code": None, "target": 1},
    {"size": "?", "color": None, "code": 10, "seen": False, "target": 0},
]
EXPECTED = [
    ({"size": 1.5, "color": "red", "code": "2", "seen": True}, 0),
    ({"color": "NA"}, 1),
    ({"code": "10", "seen": False}, 0),
]


@pytest.mark.parametrize(
    "name", ["t.jsonl", "t.JSONL.gz", "t.ndjson", "t.json", "t.parquet", "t.pq"]
)
def test_json_and_parquet_are_read_like_csv(name, write):
    if "json" in name.lower():
        data = "\n\n".join(map(json.dumps, ROWS)).encode()
        data = gzip.compress(data) if name.endswith("gz") else data
    else:
        file = io.BytesIO()
        pd.DataFrame(ROWS).replace("?", None).to_parquet(file)
        data = file.getvalue()
    stream = load_stream(write(data, name), categorical=["code"])
    assert list(stream) == EXPECTED
    assert (stream.n_numeric, stream.n_categorical) == (2, 2)
    assert [type(y) for _, y in stream] == [int] * 3
    assert load_stream(write(data, name), limit=2).n_samples == 2


def test_categories_of_parquet_are_those_of_the_same_dataframe(write):
    columns = {
        "i": pd.Categorical([30, None, 10]),
        "f": pd.Categorical([0.5, 30.0, None]),
        "b": pd.Categorical([True, None, False]),
        "n": pd.Categorical(pd.array([1, None, 2], "Int64")),
        "y": [*"pqp"],
    }
    frame, file = pd.DataFrame(columns), io.BytesIO()
    frame.to_parquet(file)
    stream_path = write(file.getvalue(), "t.parquet")
    stream = load_stream(stream_path)
    assert [x for x, _ in stream] == [
        {"i": "30", "f": "0.5", "b": "True", "n": "1"},
        {"f": "30"},
        {"i": "10", "b": "False", "n": "2"},
    ]
    for (x, _), (row, _) in zip(stream, iter_samples(frame), strict=True):
        assert x == {name: value for name, value in row.items() if not pd.isna(value)}
    assert (stream.n_numeric, stream.n_categorical) == (0, 4)
    assert list(load_stream(stream_path, categorical=["i", "f"])) == list(stream)


@pytest.mark.parametrize(
    ("content", "name", "options", "message"),
    [
        ("", "t.jsonl", {}, "has 0 columns: it takes a feature and a label"),
        ('{"a": 1}\n', "t.jsonl", {}, "has 1 columns"),
        ('{"a": 1, "b": 2}\n[1]\n', "t.jsonl", {}, "line 2 .* must be a JSON object, .* got list"),
        ('{"a": 1, "b": 2}\n{"a"\n', "t.jsonl", {}, "line 2 .* is not JSON"),
        ("[" * 100_000, "t.jsonl", {}, "line 1 .* is not JSON"),
        (r'{"a": "\ud800", "b": 2}', "t.jsonl", {}, "line 1 .* is not JSON: .*surrogates"),
        ('[{"a": 1}, {"a": 2}]', "t.json", {}, r"got list; .* to_json\(.* lines=True\)"),
        ('[\n{"a": 1}\n]', "t.json", {}, r"line 1 .* is not JSON.* to_json\(.* lines=True\)"),
        ('{"a": [1], "b": 2}\n', "t.jsonl", {}, "column 'a' holds values of type list"),
        ('{"a": 1, "b": 2}\n', "t.jsonl", {"separator": ";"}, "separator is for CSV files"),
        ('{"a": 1, "b": 2}\n', "t.jsonl", {"no_header": True}, "no_header is for CSV files"),
        ('{"a": 1, "b": 2}\n', "t.jsonl", {"decimal": ","}, "decimal is for CSV files"),
        ("PAR1", "t.parquet", {}, "cannot read .* as parquet"),
        ("PAR1", "t.parquet", {"encoding": "utf-8"}, "encoding is for CSV files"),
        ("no gzip", "t.jsonl.gz", {}, "cannot read .* as JSON"),
        ("PK", "t.xlsx", {}, "cannot read .*t.xlsx: convert it to .csv, .parquet or .jsonl"),
        ("PK", "t.csv.ZIP", {}, "cannot read .*t.csv.ZIP: convert it to .csv"),
    ],
)
def test_what_cannot_be_read_is_reported(content, name, options, message, write):
    with pytest.raises(EvaluationError, match=message) as raised:
        load_stream(write(content, name), **options)
    assert "\n" not in str(raised.value)


def test_parquet_needs_pyarrow(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(EvaluationError, match="needs pyarrow: pip install"):
        load_stream(write("", "t.parquet"))


def pipe(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input_may_be_any_of_them(monkeypatch):
    csv = b"a;target\n1;x\nNA;y\n"
    lines = b' {"a": 1.0, "target": "x"}\n{"a": null, "target": "y"}\n'
    file = io.BytesIO()
    pd.DataFrame({"a": [1.0, np.nan], "target": ["x", "y"]}).to_parquet(file)
    for data in (csv, gzip.compress(csv), lines, gzip.compress(lines), file.getvalue()):
        pipe(monkeypatch, data)
        stream = load_stream("-")
        assert stream.name == "standard input"
        assert list(stream) == list(stream) == [({"a": 1.0}, "x"), ({}, "y")]
    pipe(monkeypatch, b"a,target\n")
    with pytest.raises(EvaluationError, match="standard input has a header but no rows"):
        load_stream("-")
    pipe(monkeypatch, b"")
    with pytest.raises(EvaluationError, match="cannot read standard input as CSV: No columns"):
        load_stream("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(EvaluationError, match="standard input is closed"):
        load_stream("-")


@pytest.mark.parametrize(
    "options",
    [
        {"missing": ["x"]},
        {"separator": ";"},
        {"encoding": "utf-8"},
        {"no_header": True},
        {"decimal": ","},
        {"drop": ["x"]},
        {"text": "x"},
    ],
)
def test_options_of_files_are_not_for_streams_with_a_name(options):
    with pytest.raises(EvaluationError, match="can only be chosen for a file, not for Bananas"):
        load_stream("bananas", **options)


# Columns that are odd, left out or of words


def odd(write, header, *rows, **options):
    """Return what is said about a file of these rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_stream(write("\n".join([header, *rows])), **options)
    return [str(each.message).split("table.csv: ")[1] for each in caught]


def test_odd_columns_are_named(write):
    rows = [f"u{i},{i},{i % 7} EUR,It was day {i} of the war,{i % 2}" for i in range(150)]
    header = "id,n,price,note,target"
    assert odd(write, header, *rows) == [
        "column 'id': 150 distinct texts in 150 rows: drop it (--drop)?",
        "column 'n': it counts the rows, from 0: drop it (--drop)?",
        "column 'price': amounts such as '0 EUR' are text, not numbers: write the number alone,"
        " with its unit in the name of the column or in a column of its own",
        "column 'note': values such as 'It was day 0 of the war' look like text: --text (text)"
        " takes a column as a bag of words",
    ]
    assert odd(write, header, *rows, drop=["id", "n", "price"], text="note") == []
    assert odd(write, "a,b,target", *[f"{i % 7 / 2},w{i % 30},1" for i in range(200)]) == []
    lines = "".join(f'{{"a": "{i % 30}", "target": "x"}}\n' for i in range(40))
    with pytest.warns(UserWarning, match="'a': its texts are numbers, such as '0', but cat"):
        load_stream(write(lines, "t.jsonl"))


@pytest.mark.parametrize("amount", ["1,52 EUR", "$ 3", "-3.20€", "EUR 1'000.50", "7 %"])
def test_amounts_in_a_target_are_named(amount, write):
    rows = "".join(f'"{amount}",1\n' for _ in range(5))
    with pytest.warns(UserWarning, match="column 'price': amounts such as"):
        load_stream(write(f"price,a\n{rows}"), "price")
    with pytest.raises(EvaluationError, match=r"row 1 of .*'price': amounts such as"):
        load_stream(write(f"price,a\n{rows}"), "price", task="regression")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,234", "'1,234' are text, not numbers: leave out commas between thousands; if they"),
        ("12,345.50", "are text, not numbers: leave out commas between thousands"),
        ("1,2345", r"'1,2345' are text, not numbers; decimal=',' .* reads them as numbers"),
        ("17.05.2024", "'17.05.2024' look like dates: written as 2024-05-17 or 2024-05-17 13:30"),
        ("5/7/24 01:30 PM", "look like dates"),
        ("17-May-2024", "look like dates"),
        ("2024/5/7T10", "look like dates"),
    ],
)
def test_numbers_and_dates_of_another_form_are_named(text, message, write):
    texts = [text, text.replace("4", "3")]
    (said,) = odd(write, "a,target", *[f'"{texts[i % 2]}",{i % 2}' for i in range(20)])
    assert re.search(message, said)


def test_addresses_and_numbers_with_dashes_are_no_dates(write):
    rows = [f"10.0.1.{i % 4},555-12-34{i % 4},1.2.{i % 4},x" for i in range(20)]
    assert odd(write, "address,phone,version,target", *rows) == []


def test_many_numbers_with_commas_or_units_are_hardly_labels(write):
    for text in ("{},5", "{} EUR"):
        path = write("a;y\n" + "".join(f"{i % 3};{text.format(i)}\n" for i in range(60)))
        with pytest.raises(EvaluationError, match=r"'y': .* are text.*; task .--task. 'classif"):
            load_stream(path)
        with pytest.warns(UserWarning, match="'y': .* are text, not numbers"):
            assert load_stream(path, task="classification").n_samples == 60


def test_columns_are_dropped(write):
    path = write("id,a,target,b\n1,2,x,3\n2,3,y,4\n")
    assert next(iter(load_stream(path, drop=["id", "b"]))) == ({"a": 2}, "x")
    assert next(iter(load_stream(path, drop=["target"]))) == ({"id": 1, "a": 2}, 3)
    for columns, message in [
        (["c"], "has no column 'c' .available: 'id'"),
        (["id", "a", "b"], "has no feature beside its target 'target'"),
    ]:
        with pytest.raises(EvaluationError, match=message):
            load_stream(path, drop=columns)
    with pytest.raises(EvaluationError, match="no target column 'b'"):
        load_stream(path, "b", drop=["b"])


def test_a_text_is_a_bag_of_words(write):
    path = write("note,size,target\nOne day. One war,1.5,x\n,2.5,y\n12,,x\n")
    stream = load_stream(path, text="note")
    assert list(stream) == [
        ({"size": 1.5, "note=one": 2, "note=day": 1, "note=war": 1}, "x"),
        ({"size": 2.5}, "y"),
        ({"note=12": 1}, "x"),
    ]
    assert (stream.text, stream.n_numeric, stream.n_categorical) == ("note", 1, 0)
    with pytest.raises(EvaluationError, match="'target' is the target of"):
        load_stream(path, text="target")
    comparison = compare(stream, ["amf", "adaptive", "logistic"], seed=1)
    by_hand = AMFClassifier(seed=1, absent="zero")
    expected = progressive_val_score(stream, by_hand, metrics.Accuracy()).get()
    assert comparison.table["accuracy"]["amf"] == expected
    assert set(comparison.table["status"]) == {"ok"}


# The same streams everywhere


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ("Banana", "did you mean 'Bananas'"),
        (5, "dataset must be a stream or its name"),
        (datasets.synth.SEA(), "SEA is endless"),
        ([({"a": 1}, 1, {"w": 1})], "sample 1 must be a pair"),
    ],
)
def test_a_stream_that_does_not_do_is_reported(stream, message):
    with pytest.raises(EvaluationError, match=message):
        compare(stream, [AMFClassifier(n_estimators=1)])
