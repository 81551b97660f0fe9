"""Files as strangers have them, each with the one obvious command, and nothing wrong in silence."""

from __future__ import annotations

import random
import re
import warnings
from pathlib import Path

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


@pytest.mark.parametrize(
    ("name", "options", "first", "hint"),
    [
        ("euro_thousands_target.csv", {"decimal": ","}, "", "--thousands"),
        ("label_spellings.csv", {}, "target 'churn': 5 labels (no ", "'churn'.* case"),
        ("tags.libsvm", {}, "", "LIBSVM"),
        ("comments.tsv.gz", {}, "", "--comment"),
        ("inf.csv", {}, "", "row 2 .* 'y'.*--missing=inf,-inf"),
    ],
)
def test_odd_file_is_named_with_the_remedy(name, options, first, hint):
    output, (line,) = run(case(name), **options)
    assert output.startswith(first) and bool(output) == bool(first)
    assert re.search(hint, line)


def test_file_is_read_with_the_remedy():
    thousands = {"decimal": ",", "thousands": "."}
    assert load_stream(case("euro_thousands_target.csv"), **thousands).task == "regression"
    labels = {y for _, y in load_stream(case("label_spellings.csv"))}
    assert labels == {"Yes", "No", "yes", "no", "YES"}
    stream = load_stream(case("trailing_semicolons.csv"), decimal=",", missing=["-200"])
    assert [*stream.kinds][:3] == ["Date", "Time", "CO(GT)"] and len(stream.kinds) == 9
    assert stream.target == "AH" and stream.task == "regression"
    assert not any(value == -200 for x, _ in stream for value in x.values())
    stream = load_stream(case("predictions_sample_numbers.jsonl"), "temp", limit=8)
    assert [record.row for record in stream.records()] == [1, 2, 5, 6, 7, 8]
    stream = load_stream(case("excel_sep_line.csv"), **thousands)
    assert stream.kinds == {"km": "number", "prix": "number"} and stream.n_samples == 500
    stream = load_stream(case("stream.arff"))
    assert [*stream.kinds.values()] == ["number", "category", "number", "number"]
    first = {"date": 0.0, "day": "1", "period": 0.0, "nswprice": 0.765432}
    assert next(iter(stream)) == (first, "UP")
    assert len(load_stream(case("comments.tsv.gz"), comment="#").kinds) == 6
    assert {y for _, y in load_stream(case("inf.csv"), missing=["inf", "-inf"])} == {1.5, 2.5}
    assert "and 7 more" in run(case("long_names_page.csv"))[0]


# Advice


def table(head, n, row):
    """Return a table of n rows, each made from its number."""
    return f"{head}\n" + "".join(row(i) + "\n" for i in range(n))


ADVICE = {
    "no header": (
        table("0.5,3,a", 30, lambda i: f"{i / 7:.3f},{i % 5},{'ab'[i % 2]}"),
        ["--no-header"],
        {"no_header": True},
    ),
    "declared categories": (
        "@relation t\n@attribute a {1,2,3,other}\n@attribute y {x,z}\n@data\n"
        + "1,x\n2,z\n3,x\nother,z\n" * 30,
        [],
        {},
    ),
    "labels that all differ": (
        table("a,b,id", 200, lambda i: f"{i % 5},{'xy'[i % 2]},u{i * 7919 % 1000}"),
        ["'id': 200 labels.*--target"],
        {"target": "b", "drop": ["id"]},
    ),
    "the index of a dataframe": (
        pd.DataFrame({"a": [1.5, 2.5] * 60, "y": ["p", "q"] * 60}).to_csv(),
        ["'Unnamed: 0'.*counts the rows.*--drop"],
        {"drop": ["Unnamed: 0"]},
    ),
    "a row of units": (
        table("v,temp,y\nm/s,°C,-", 50, lambda i: f"{i / 3:.2f},{i % 7},{'xy'[i % 2]}"),
        ["--missing=m/s", "--missing=°C"],
        {"missing": ["m/s", "°C", "-"]},
    ),
    "other dates": (
        table("a,day,y", 28, lambda i: f"{i % 5},{i + 1:02}/03/2024,{'xy'[i % 2]}"),
        ["'day'.*2024-05-17"],
        {"drop": ["day"]},
    ),
    "answers of a form": (
        table(
            "age,a,target", 120, lambda i: f"{i % 9},it was answer no {i},{['yes', 'YES'][i % 2]}"
        ),
        ["'yes' and 'YES' differ in case", "--text"],
        {"target": "age", "text": "a"},
    ),
}


@pytest.mark.parametrize("name", ADVICE)
def test_advice_names_the_option_that_helps(name, write):
    text, hints, options = ADVICE[name]
    path = write(text)
    lines = run(path)[1]
    assert len(lines) == len(hints) and all(map(re.search, hints, lines))
    assert run(path, **options)[1] == []


@pytest.mark.parametrize("marker", ["-", "missing"])
@pytest.mark.parametrize("share", [0.02, 0.6, 0.95])
def test_marker_among_numbers_is_advised(marker, share, write):
    rng = random.Random(1)
    cells = [marker if rng.random() < share else f"{rng.random():.3f}" for _ in range(200)]
    path = write(table("a,b,y", 200, lambda i: f"{cells[i]},1.5,{'xy'[i % 2]}"))
    _, (line,) = run(path)
    assert "'a'" in line and f"--missing={marker}" in line
    assert run(path, missing=[marker])[1] == []
    target = write(table("a,y", 200, lambda i: f"{i % 3},{cells[i]}"), "target.csv")
    text, lines = run(target)
    assert text == "" and f"--missing={marker}" in lines[-1]


def test_blanks_are_stripped_and_markers_added(write):
    stream = load_stream(write("a , b,y\n 1.5 , red ,yes \nNA , blue, yes\n2, ?  ,no\n"))
    xs = [{"a": 1.5, "b": "red"}, {"b": "blue"}, {"a": 2.0}]
    assert [*stream] == [*zip(xs, ["yes", "yes", "no"], strict=True)]
    stream = load_stream(write("a,b,y\n-9,NA,x\n3,red,NA\n?,none,x\n4,-9,\n"), missing=["-9"])
    assert [*stream] == [({}, "x"), ({"b": "none"}, "x")]
    assert stream.n_unlabeled == 2


def test_notes_and_first_line_are_short(write):
    name = "a column whose name is a whole sentence of its own, as forms have it, " * 4
    row = '"{} {}","{} words of a long answer"'
    path = write(table(f'"{name}",answer', 300, lambda i: row.format(i % 30, "x" * 90, i)))
    assert len(run(path)[1]) == 1
    output, lines = run(path, target=name.strip())
    assert len(lines) == 1 and "and 25 more" in output


def test_quoted_numbers_of_json_are_numbers(write):
    lines = '{"a": "1", "y": "p"}\n{"a": "2", "y": " q"}\n{"b": true, "y": ""}\n{"y": null}\n' * 9
    output, notes = run(write(lines, "t.jsonl"), target="y", drop=["b"])
    assert output.startswith("target 'y': 2 labels (p 9, q 9); features: 1 number; 18 rows")
    assert notes == []
