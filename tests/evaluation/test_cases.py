"""Files as strangers have them, each with the one obvious command, and nothing wrong in silence."""

from __future__ import annotations

import gzip
import io
import random
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from river_amf.evaluation import EvaluationError, load_stream

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"


def run(path, **options):
    """Read a file; return its description, and the notes or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            description = load_stream(str(path), **options).describe()
        except EvaluationError as error:
            return "", [str(error)]
    notes = [str(note.message) for note in caught]
    assert all(len(line) <= 200 for line in [description, *notes])
    return description, notes


def case(name):
    if not CASES.exists():
        pytest.skip("the stranger's files are not beside this repository")
    return CASES / name


# The stranger's files


def test_thousands_in_the_target():
    path = case("euro_thousands_target.csv")
    text, (line,) = run(path, decimal=",")
    assert text == "" and "--thousands" in line
    assert load_stream(path, decimal=",", thousands=".").task == "regression"


def test_spellings_of_labels():
    output, (line,) = run(case("label_spellings.csv"))
    assert output.startswith("target 'churn': 5 labels (no ")
    assert "'churn'" in line and "case" in line
    labels = {y for _, y in load_stream(case("label_spellings.csv"))}
    assert labels == {"Yes", "No", "yes", "no", "YES"}


def test_trailing_semicolons():
    path = case("trailing_semicolons.csv")
    stream = load_stream(path, decimal=",", missing=["-200"])
    assert [*stream.kinds][:3] == ["Date", "Time", "CO(GT)"] and len(stream.kinds) == 9
    assert stream.target == "AH" and stream.task == "regression"
    assert not any(value == -200 for x, _ in stream for value in x.values())


def test_rows_have_the_numbers_of_the_file():
    stream = load_stream(case("predictions_sample_numbers.jsonl"), "temp", limit=8)
    assert [record.row for record in stream.records()] == [1, 2, 5, 6, 7, 8]


def test_line_of_the_separator():
    stream = load_stream(case("excel_sep_line.csv"), decimal=",", thousands=".")
    assert stream.kinds == {"km": "number", "prix": "number"} and stream.n_samples == 500


def test_arff():
    stream = load_stream(case("stream.arff"))
    assert stream.kinds == {
        **{"date": "number", "day": "category", "period": "number", "nswprice": "number"}
    }
    assert next(iter(stream)) == (
        {"date": 0.0, "day": "1", "period": 0.0, "nswprice": 0.765432},
        "UP",
    )


def test_libsvm_is_refused_by_name():
    text, (line,) = run(case("tags.libsvm"))
    assert text == "" and "LIBSVM" in line


def test_comments():
    path = case("comments.tsv.gz")
    text, (line,) = run(path)
    assert text == "" and "--comment" in line
    stream = load_stream(path, comment="#")
    assert stream.target == "rain_tomorrow" and len(stream.kinds) == 6


def test_infinite_numbers():
    text, (line,) = run(case("inf.csv"))
    assert text == ""
    assert "row 2 " in line and "'y'" in line and "--missing=inf,-inf" in line
    stream = load_stream(case("inf.csv"), missing=["inf", "-inf"])
    assert {y for _, y in stream} == {1.5, 2.5}


def test_long_names_fit():
    output, _ = run(case("long_names_page.csv"))
    assert "and 7 more" in output


# Further kinds


def test_no_header(write):
    path = write("".join(f"{i / 7:.3f},{i % 5},{'ab'[i % 2]}\n" for i in range(30)))
    _, (line,) = run(path)
    assert "--no-header" in line
    assert run(path, no_header=True)[1] == []
    years = "land,2019,2020,2021,target\n" + "x,1,2,3,a\ny,2,3,1,b\n" * 9
    assert run(write(years))[1] == []


def test_target_whose_values_all_differ(write):
    rows = "".join(f"{i % 5},{'xy'[i % 2]},u{i * 7919 % 1000}\n" for i in range(200))
    output, lines = run(write("a,b,id\n" + rows))
    assert output.startswith("target 'id': 200 labels (")
    assert any("--target" in line and "'id'" in line for line in lines)


@pytest.mark.parametrize("marker", ["-", "missing", "unknown", "--"])
@pytest.mark.parametrize("share", [0.02, 0.6, 0.95])
def test_marker_in_any_share_of_a_column_of_numbers(marker, share, write):
    rng = random.Random(1)
    cells = [marker if rng.random() < share else f"{rng.random():.3f}" for _ in range(200)]
    path = write("a,b,y\n" + "".join(f"{c},1.5,{'xy'[i % 2]}\n" for i, c in enumerate(cells)))
    _, (line,) = run(path)
    assert "'a'" in line and f"--missing={marker}" in line
    assert run(path, missing=[marker])[1] == []
    target = write("a,y\n" + "".join(f"{i % 3},{c}\n" for i, c in enumerate(cells)), "target.csv")
    text, lines = run(target)
    assert text == "" and f"--missing={marker}" in lines[-1]


def test_blanks_around_values_and_labels(write):
    stream = load_stream(write("a , b,y\n 1.5 , red ,yes \nNA , blue, yes\n2, ?  ,no\n"))
    assert [*stream] == [
        ({"a": 1.5, "b": "red"}, "yes"),
        ({"b": "blue"}, "yes"),
        ({"a": 2.0}, "no"),
    ]


def test_missing_adds_to_the_usual_markers(write):
    stream = load_stream(write("a,b,y\n-9,NA,x\n3,red,NA\n?,none,x\n4,-9,\n"), missing=["-9"])
    assert [*stream] == [({}, "x"), ({"b": "none"}, "x")]
    assert stream.n_unlabeled == 2


def test_bytes_of_parquet_are_text(tmp_path):
    frame = pd.DataFrame({"a": [b"red", b"blue", None], "y": [b"p", b"q", b"p"]})
    frame.to_parquet(tmp_path / "t.parquet")
    stream = load_stream(tmp_path / "t.parquet")
    assert [*stream] == [({"a": "red"}, "p"), ({"a": "blue"}, "q"), ({}, "p")]


def test_notes_and_first_line_are_short(write):
    name = "a column whose name is a whole sentence of its own, as forms have it, " * 4
    rows = "".join(f'"{i % 30} {"x" * 90}","{i} words of a long answer"\n' for i in range(300))
    path = write(f'"{name}",answer\n{rows}')
    assert len(run(path)[1]) == 1
    output, lines = run(path, target=name.strip())
    assert len(lines) == 1 and "and 25 more" in output


# The files of a sceptic


def test_sceptic_windows_export(write):
    text = 'größe;notiz;preis;art\r\n"1,5";"a;\r\nb";2,5;ja\r\n2,5;c;3,5;nein\r\n' * 1
    path = write(text.encode("cp1252"))
    assert "--encoding" in run(path)[1][0]
    stream = load_stream(path, encoding="cp1252", decimal=",")
    assert next(iter(stream)) == ({"größe": 1.5, "notiz": "a;\r\nb", "preis": 2.5}, "ja")


def test_sceptic_index_of_a_dataframe(write):
    path = write(pd.DataFrame({"a": [1.5, 2.5] * 60, "y": ["p", "q"] * 60}).to_csv())
    _, (line,) = run(path)
    assert "counts the rows" in line and "--drop" in line and "'Unnamed: 0'" in line
    assert run(path, drop=["Unnamed: 0"])[1] == []


def test_sceptic_row_of_units(write):
    rows = "".join(f"{i / 3:.2f},{i % 7},{'xy'[i % 2]}\n" for i in range(50))
    output, lines = run(write("speed,temp,y\nm/s,°C,\n" + rows))
    assert output.endswith("features: 2 numbers; 1 row without a target skipped") and lines == []
    _, lines = run(write("speed,temp,y\nm/s,°C,-\n" + rows))
    assert len(lines) == 2 and all("--missing=" in line for line in lines)


def test_sceptic_amounts_of_money(write):
    rows = "".join(f'{i % 5},"${i * 37 + 1000:,}.50"\n' for i in range(100))
    text, (line,) = run(write("a,price\n" + rows))
    assert text == "" and "'$1,000.50'" in line and "number alone" in line


def test_sceptic_files_that_are_no_tables(write, tmp_path):
    sqlite3.connect(tmp_path / "t.db").execute("create table t (a)").connection.close()
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    for content, name, what in (
        (b"PK\x03\x04", "t.csv", "zip"),
        (gzip.compress(b"a,y\n1,2\n"), "t.csv", "gzip"),
        ((tmp_path / "t.db").read_bytes(), "t.csv", "SQLite"),
        (array.getvalue(), "t.csv", "NumPy"),
        (b"\x80\x04\x95", "t.csv", "pickle"),
        ("1 |f a:1 b:2\n-1 |f a:2\n", "t.txt", "Vowpal Wabbit"),
        ("<html><body>", "t.csv", "HTML"),
    ):
        text, (line,) = run(write(content, name))
        assert text == "" and what in line
    for source, what in (("https://x.org/t.csv", "URL"), (write(b"PK\x03\x04", "t.xlsx"), ".csv")):
        text, (line,) = run(source)
        assert text == "" and what in line


def test_sceptic_dates_of_other_forms_and_zones(write):
    rows = "".join(
        f"{i + 1:02}/03/2024,2024-03-{i + 1:02}T10:30:00{('+02:00', 'Z')[i % 2]},{'xy'[i % 2]}\n"
        for i in range(28)
    )
    path = write("day,at,y\n" + rows)
    _, (line,) = run(path)
    assert "'day'" in line and "2024-05-17" in line
    stream = load_stream(path)
    assert stream.kinds == {"day": "category", "at": "date"}
    assert {x["at.hour"] for x, _ in stream} == {10}


def test_sceptic_lines_of_json(write):
    lines = '{"a": "1", "y": "p"}\n{"a": "2", "y": " q"}\n{"b": true, "y": ""}\n{"y": null}\n' * 9
    path = write(lines, "t.jsonl")
    output, (line,) = run(path, target="y")
    assert output.startswith("target 'y': 2 labels (p 9, q 9)") and "18 rows" in output
    assert "'a'" in line and "quotes" in line
    text, lines = run(write('{"a": [1], "y": 2}\n', "l.jsonl"))
    assert text == "" and "'a' must hold numbers, text or booleans, got [1]" in lines[0]


def test_sceptic_blanks_as_separators(write):
    text, (line,) = run(write("a b y\n1 2 x\n2 3 y\n"))
    assert text == "" and "--separator" in line


def test_sceptic_answers_of_a_form(write):
    rows = "".join(
        f"{i % 9},{'yes' if i % 2 else 'YES'},it was the answer number {i}\n" for i in range(120)
    )
    output, lines = run(write("age,member,answer\n" + rows), target="member")
    assert output.startswith(
        "target 'member': 2 labels (YES 60, yes 60); features: 1 number, 1 cat"
    )
    assert len(lines) == 2
    assert "case" in lines[0] and "--text" in lines[1]


def test_sceptic_empty_file_and_header_alone(write):
    for text, what in (("", "empty"), ("a,y\n", "no rows"), ("a,y\n,\n1,\n", "--target")):
        text, (line,) = run(write(text))
        assert text == "" and what in line
