"""Files as people have them, each with the one obvious command, and nothing wrong in silence."""

import random
import re
import warnings
from pathlib import Path

import pandas as pd
import pytest

from river_amf.evaluation import EvaluationError, load_stream

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

CASES = Path(__file__).resolve().parent.parent / "data" / "cases"  # made up


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


def test_file_is_read_with_the_remedy():
    thousands = {"decimal": ",", "thousands": "."}
    assert load_stream(CASES / "thousands_in_target.csv", **thousands).task == "regression"
    labels = {y for _, y in load_stream(CASES / "label_spellings.csv")}
    assert labels == {"Yes", "No", "yes", "no", "YES"}
    stream = load_stream(CASES / "trailing_semicolons.csv", decimal=",", missing=["-200"])
    assert [*stream.kinds][:3] == ["Date", "Time", "CO(GT)"] and len(stream.kinds) == 9
    assert stream.target == "AH" and stream.task == "regression"
    assert not any(value == -200 for x, _ in stream for value in x.values())
    stream = load_stream(CASES / "rows_without_target.jsonl", "temp", limit=8)
    assert [record.row for record in stream.records()] == [1, 2, 5, 6, 7, 8]
    stream = load_stream(CASES / "sep_line.csv", **thousands)
    assert stream.kinds == {"km": "number", "prix": "number"} and stream.n_samples == 58
    stream = load_stream(CASES / "labels.arff")
    assert [*stream.kinds.values()] == ["number", "category", "number", "number"]
    first = {"date": 0.0, "day": "1", "period": 0.0, "nswprice": 0.765432}
    assert next(iter(stream)) == (first, "UP")
    assert len(load_stream(CASES / "comments.tsv.gz", comment="#").kinds) == 6
    stream = load_stream(CASES / "infinite.csv", missing=["inf", "-inf"])
    assert {y for _, y in stream} == {1.5, 2.5}
    assert "and 3 more" in run(CASES / "long_names.csv")[0]


DATES = {"dates": ["month", "built", "checked", "leaves"]}
FILES = [  # options, a pattern of the first line, and of the notes or the error
    ("thousands_in_target.csv", {"decimal": ","}, "", ["--thousands"]),
    ("label_spellings.csv", {}, r"^target: churn \(the last .* 5 labels \(no ", ["'churn'.* case"]),
    ("tags.libsvm", {}, "^$", ["LIBSVM"]),
    ("one_label.csv", {}, "1 label .x 29.*2 numbers", ["all rows have 'x'"]),
    ("decimal_comma.csv", {}, "", ["'bill'.*--decimal=, r", "'wing'.*--decimal=, r"]),
    ("decimal_comma.csv", {"decimal": ","}, "numbers from -1.77 to 1.25.* 1 number", []),
    ("comments.tsv.gz", {}, "^$", ["--comment"]),
    ("infinite.csv", {}, "^$", ["row 2 .* 'y'.*--missing=inf,-inf"]),
    ("comma_name.csv", {"drop": ["member", "postcode"]}, r"renewed \(the last .*arget", ["--text"]),
    ("comma_name.csv", {"drop": ["Town, street"]}, "2 categories, 1 number", []),
    ("sorted_by_label.csv", {}, "2 numbers", ["sorted.*--shuffle"]),
    ("sorted_by_label.csv", {"shuffle": 1}, "fine 32, worn 28", []),
    ("text_as_target.csv", {}, "", ["'remark': 60 labels in 60 rows.*--target"]),
    ("large_target.csv", {}, "numbers from 101112", []),
    ("comment_mark_in_value.csv", {}, "", ["--comment '#'"]),
    ("comment_mark_in_value.csv", {"comment": "#"}, "no 31, yes 29.*1 category, 1 number$", []),
    ("both_marks.csv", {}, "", ["'1.000,00'.* --decimal=, --thousands=[.] reads"]),
    ("both_marks.csv", {"decimal": ","}, "", ["text: --decimal=, --thousands=[.] reads"]),
    ("both_marks.csv", {"thousands": ","}, "", ["text: --decimal=, --thousands=[.] reads"]),
    ("both_marks.csv", {"decimal": ",", "thousands": "."}, "from 176.74 to 3772.05", []),
    ("units_in_values.csv", {}, "1 number, 3 categories", ["'disk', 'rain', 'flow'.* '6M'.*unit"]),
    ("accounts.csv", {}, "3 cat", ["'rent'.*--thousands=\"'\"", r"'balance'.* '\(2.90\)'"]),
    ("accounts.csv", {"thousands": "'"}, "2 categories, 1 number", ["'balance'"]),
    ("preamble.csv", {}, "", ["--header 4 begins"]),
    ("preamble.csv", {"header": 4}, "3 labels", ["'wind': .*--header 4 --skip-rows 5"]),
    ("preamble.csv", {"skip_rows": 3}, "3 labels", ["'wind': .*--header 4 --skip-rows 5"]),
    ("preamble.csv", {"header": 4, "skip_rows": 5}, "2 labels.*3 numbers", []),
    ("dates_and_times.csv", {}, "4 categories", ["--dates=month,built,checked,leaves --day-first"]),
    ("dates_and_times.csv", DATES, "", ["row 3 .*'31.7.2017' in 'built'.*--day-first"]),
    ("dates_and_times.csv", DATES | {"day_first": True}, "4 dates", []),
    ("no_header.csv", {}, "", ["--no-header"]),
    ("no_header.csv", {"no_header": True}, "river 28", []),
    ("quotes_as_inches.tsv", {}, "", ["row 12 has line breaks in its 'part'", "--text"]),
    ("quotes_as_inches.tsv", {"no_quotes": True}, "no 31, yes 29", []),
    ("array.json", {}, "1 number, 1 category", []),
    ("tabs_and_one_label.txt", {}, "", ["all rows have 'none'"]),
    ("tabs_and_one_label.txt", {"separator": "tab"}, "1 number, 1", ["all rows have 'none'"]),
    ("tabs_and_one_label.txt", {"separator": "\\t"}, "1 number, 1", ["all rows have 'none'"]),
    ("scores_as_target.csv", {}, "numbers from 50 to 98", ["numbers: --task classification takes"]),
    ("years_as_target.csv", {}, "numbers from 1899", ["numbers: --task classification takes"]),
    ("years_as_target.csv", {"task": "classification"}, "31 labels", []),
    *(
        (f"compressed.csv.{kind}", {}, "no 22, yes 18.*1 number, 1 cat", [])
        for kind in ("bz2", "gz", "xz")
    ),
    ("bars_and_commas.txt", {}, "no 26, yes 22.*2 categories, 1 number", []),
    ("bars.txt", {"target": "stop"}, "no 24, yes 20.*1 category, 1 number", []),
    ("orange.tab", {}, "crack .by its role.* 1 number, 1 category", []),
    ("codes_like_units.csv", {}, "1 category, 1 number", []),
    ("bounds.csv", {}, "1 number, 1 c", ["'iron': mostly numbers .* 15 of 75 .*: write them"]),
    ("blank_in_name.csv", {}, "1 category", ["--dates='posted at' reads"]),
    ("blank_in_name.csv", {"dates": ["posted at"]}, "1 date", []),
    ("blank_in_marker.csv", {}, "", ["--missing='no reading' reads"]),
    ("text.csv", {}, "1 category, 1 number", ["'caption'.* like text: --drop=caption leaves"]),
    ("quotes.arff", {}, "no 21, yes 19.*1 category, 1 number", []),
    ("long_row.csv", {}, "^$", [r"row 29 \(line 30\) has 5 fields, .*: correct that line$"]),
    ("open_quote.csv", {}, "^$", [r"row 18 \(line 19\) .*open up to line 35; --no-quotes takes"]),
    ("open_quote.csv", {"no_quotes": True}, "^$", [r"row 34 \(line 35\) .*: correct that line$"]),
    ("rows_in_a_field.json", {}, "yes 16, no 14.*1 number, 1 category", []),
    ("objects_as_values.json", {}, "yes 16, no 14.*2 numbers, 1 category", []),
    ("durations.csv", {}, "1 category, 1 number", ["'length'.* are durations: write numbers"]),
    ("quarters.csv", {}, "1 category", ["--dates=quarter reads"]),
    ("quarters.csv", {"dates": ["quarter"]}, "1 date, 1 number", []),
]


@pytest.mark.parametrize(("name", "options", "first", "hints"), FILES)
def test_file_is_read_or_named(name, options, first, hints):
    output, lines = run(CASES / name, **options)
    assert re.search(first, output) and len(lines) == len(hints), (output, lines)
    assert all(map(re.search, hints, lines)), lines


def table(head, n, row):
    return f"{head}\n" + "".join(row(i) + "\n" for i in range(n))


DOLLARS = [["$56.7M"], ["USD 5", "USD 7"]]
MARKED = [["5", "n.v.", "6", "7"], ["-", "7.5", "7", "3"]]
VARIED = [  # a table, patterns of its notes or error, the options that help, and the features
    ([["\u22121.5", "2"], ["1\xa0500", "22"], ["1 234 567", "- 5"]], "", {}, "3 numbers"),
    ([["5 %", "7%"], ["1 234,5", "5,25"]], "c1.*--decimal=, r", {"decimal": ","}, "2 numbers"),
    ([["5 %", "0.2"], ["1", "2"]], "c0.*'5 %' are text", {"drop": ["c0"]}, "1 number"),
    (DOLLARS, "c0', 'c1'.*'[$]56", {"categorical": ["c0,c1"]}, "2 categories"),
    ([["1,234.5", "12"], ["9"]], "c0.*text: --thousands=, r", {"thousands": ","}, "2 numbers"),
    ([["1,234", "5,678"]], "--decimal=, or --thousands=, r", {"decimal": ","}, "1 number"),
    ([["1\u2019234,5"]], "--decimal=, --thous", {"decimal": ",", "thousands": "'"}, "1 number"),
    ([["7", "010"], ["Q1"], ["12a", "1b", "3c", "4d"], ["1e-5"]], "", {}, "3 categories, 1 number"),
    ([["1234e10", "98"], ["118", "00118"], [f"{10**15}"]], "", {}, "3 categories"),
    ([["12/31/2020", "1/2/2021 13:08"]], "--dates=c0 reads", {"dates": ["c0"]}, "1 date"),
    ([["3.4.2020", "5.6.21"]], "=c0 or .*=c0 --day-first", {"dates": ["c0"]}, "1 date"),
    ([["17-May-2024"], ["June 2020", "May 2021"]], "c0', 'c1'", {"dates": ["c0,c1"]}, "2 dates"),
    ([["20240517"]], "", {"dates": ["c0"], "date_format": "%Y%m%d"}, "1 date"),
    ([["Jul 31 2020 1:05 PM"], ["13:08"]], "c0', 'c1'", {"dates": ["c0", "c1"]}, "2 dates"),
    (MARKED, "c0', 'c1'.*=n.v.,- r", {"missing": ["n.v.", "-"]}, "2 numbers"),
    ([["x"], ["a\nb"]], "", {}, "2 categories"),
    ([["\uff11\uff12", "3"]], "c0.*are text", {"categorical": ["c0"]}, "1 category"),
]


@pytest.mark.parametrize(("columns", "hint", "options", "features"), VARIED)
def test_values_of_a_kind_are_read_or_named(columns, hint, options, features, write):
    columns = [*columns, ["p", "q", "r"]]
    names = [*(f"c{j}" for j in range(len(columns) - 1)), "y"]
    rows = (
        {n: column[i % len(column)] for n, column in zip(names, columns, strict=True)}
        for i in range(60)
    )
    path = write(pd.DataFrame(rows).to_csv(index=False, quoting=1))
    lines = run(path)[1]
    assert len(lines) == bool(hint) and re.search(hint, "".join(lines)), lines
    output, lines = run(path, **options)
    assert lines == [] and output.endswith(f"features: {features}")


ROWS = "1;7;p\n3;4;q\n" * 9
BARE = {"skip_rows": 1, "no_header": True}
QUOTED = 'a,b,y\n"x\n#1",#2,p\n#"3,4\nu,"v\n",q\n'
WITHOUT_NAMES = table("0.5,3,a", 30, lambda i: f"{i / 7:.3f},{i % 5},{'ab'[i % 2]}")
NOMINAL = "@relation t\n@attribute a {1,2,3,other}\n@attribute y {x,z}\n@data\n"
NOMINAL += "1,x\n2,z\n3,x\nother,z\n" * 30
NUMBERED = pd.DataFrame({"a": [1.5, 2.5] * 60, "y": ["p", "q", "q"] * 40}).to_csv()
UNITS = table("v,temp,y\nm/s,°C,-", 50, lambda i: f"{i / 3:.2f},{i % 7},{'xy'[i % 2]}")
TEXTS = table("age,a,target", 120, lambda i: f"{i % 9},answer was no {i},{['yes', 'YES'][i % 2]}")
SORTED = table("target,b,c", 30, lambda i: f"{i},{i % 2},{i % 3}")
ID_LAST = table("a,b,id", 200, lambda i: f"{i % 5},{'xy'[i % 2]},u{i * 7919 % 1000}")
DAY_LAST = table("a,day", 60, lambda i: f"{i % 3},{1990 + i}-05-17")
IDS = table("id,y", 120, lambda i: f"u{i},{i % 2}")
COPIED = table("a,b;c,y", 60, lambda i: f"{i % 7},{'zyx'[i % 3]},{i % 3}")
INCHES = table("a,b,y", 60, lambda i: f"{i % 7},{i * 2.54:.2f},{i / 10}")
COPY = "'b;c': a copy of the target: --drop='b;c' leaves"
INCH = "'b': the target times a constant: --drop=b leaves"
AS_LABELS = "30 integers from 0 to 29 are taken as labels: --task regression"
OF_AGE, FROM_THIRD = {"target": "age", "text": "a"}, {"header": 1, "skip_rows": 2}
TABLES = [  # a file, patterns of its notes or error, options that help, and what it is then
    ("// 1\na,y\n//2\n//x,1\nb//,2\nc,3\n", ["--header 2"], {"comment": "//"}, "2 labels"),
    (QUOTED, ["row 2 .*few"], {"comment": "#"}, "p 1, q 1.*ies$"),
    (f"Report\n\na;b;y\n{ROWS}", ["--header 3"], {"skip_rows": 2}, "p 9, q 9"),
    (f"Report\n{ROWS}", ["--skip-rows 1 --no-header"], BARE, "p 9, q 9"),
    (f"Report;;\na;b;y\n{ROWS}", ["--header 2"], {"header": 2}, "p 9, q 9.* 2 numbers"),
    ("W\n\nLand,1960,1961,1962,y,\n" + "A,1,2,3,p\nB,,,,q\n" * 9, ["r 3 b"], {"header": 3}, "p 9"),
    (f"a;b;\n{ROWS}", [], {"drop": ["a"]}, "Unnamed: 2 .*p 9, q 9"),
    (f"sep=;\na;b;y\nkg;;-\n{ROWS}", ["r 2 --skip-rows 3"], {"header": 2, "skip_rows": 3}, "2 n"),
    ("red;red;a\n" + "red;red;b\ntan;red;a\n" * 9, ["--no-h"], {"no_header": True}, "a 10"),
    (WITHOUT_NAMES, ["--no-header"], {"no_header": True}, "2 numbers"),
    (NOMINAL, [], {}, "1 category"),
    (NUMBERED, ["'Unnamed: 0'.*counts the rows.*--drop"], {"drop": ["Unnamed: 0"]}, "1 number"),
    (UNITS, ["'v', 'temp': .* --header 1 --skip-rows 2"], FROM_THIRD, "2 numbers"),
    (TEXTS, ["'yes' and 'YES' differ in case", "--text"], OF_AGE, "words of 'a'"),
    (SORTED, [AS_LABELS, "sorted"], {"shuffle": 3, "task": "regression"}, ""),
    (table("b,Class", 60, lambda i: f"{i % 2},{'uvw'[i // 20]}"), ["'u' on"], {"shuffle": 3}, ""),
    (table("b,y,c", 60, lambda i: f"{i % 5},{i % 3},{i % 7}"), [], {}, "y "),
    (ID_LAST, ["'id': 200 labels.*--target"], {"target": "b", "drop": ["id"]}, "2 labels"),
    (DAY_LAST, ["'day': 60 lab"], {"target": "a"}, "1 date"),
    (IDS, ["nearly all rows differ$"], {"categorical": ["id"]}, "1 category"),
    (table("n,y", 120, lambda i: f"{i},{i % 2}"), ["from 0$"], {"limit": 90}, ""),
    (COPIED, [COPY], {"drop": ["b;c"]}, "1 number"),
    (INCHES, ["sorted", INCH], {"drop": ["b"], "shuffle": 1}, "1 number"),
    (table("a,y", 60, lambda i: f"{i % 7},2.5"), ["all rows have 2.5"], {"target": "a"}, "7 l"),
]


@pytest.mark.parametrize(("text", "hints", "options", "first"), TABLES)
def test_advice_names_the_option_that_helps(text, hints, options, first, write):
    path = write(text)
    lines = run(path)[1]
    assert len(lines) == len(hints) and all(map(re.search, hints, lines)), lines
    output, lines = run(path, **options)
    assert lines == [] and re.search(first, output)


def test_task_follows_from_all_rows_of_a_file(write):
    path = write(table("a,y", 1100, lambda i: f"{i % 7},{i % 3 if i < 1000 else i}"))
    assert load_stream(path).task == load_stream(path, limit=1100).task == "regression"
    assert load_stream(path, limit=900).task == "classification"
    assert [y for _, y in load_stream(write("a,y\n1,01\n2,10\n"))] == ["01", "10"]


def test_columns_of_one_name_are_noted(write):
    (line,) = run(write("a,b,a,b,y\n" + "1,2,3,u,x\n" * 9), drop=["b"])[1][:1]
    assert line.endswith("several columns are named 'a': the second is 'a.1' here")


@pytest.mark.parametrize(
    ("text", "first", "hint"),
    [
        ("b,y\n1,p\n3\n5,q\n", "1 number; 1 row", r"row 2 \(line 3\) has 1 fields, fewer .* 2: "),
        ('"b" "y"\n"r 1" 2 "p q"\n"r 2" 4 "q"\n', "p q 1, q 1.* 1 number$", "first column .* R "),
        ("b\ty\nr1\t2\tp\nr2\t4\tq\n", "p 1, q 1.* 1 number$", "first column .* R .*left out"),
        ("t b y\n1/1 9:00 2 p\n1/1 9:05 4 q\n", "^$", "fewer fields than line 2"),
        ("Sales;24\na;b;y\nk;7;p\nl;4;q\n", "^$", "--header 2 begins"),
        ("D#b\tcC#y\tmS#n\ti#o\n1\t2.5\tu\t5\n2\t3\tv\t6\n", "y .by its role.*: 1 cat", None),
    ],
)
def test_short_rows_and_headers_of_r_and_orange(text, first, hint, write):
    output, notes = run(write(text))
    assert re.search(first, output) and len(notes) == bool(hint), (output, notes)
    assert hint is None or re.search(hint, notes[0])


def test_target_is_guessed_by_its_name(write):
    for names, target in (("y,Class", "Class"), ("y,b", "y"), ("class,TARGET", "TARGET")):
        output = run(write(f"{names},z\n" + "1,2,3\n" * 3))[0]
        assert output.startswith(f"target: {target} (by its name; --target names another), 1 label")


def test_shuffle_mixes_the_rows_of_a_file(write):
    path = write(table("a,y", 50, lambda i: f"{i},{i % 2}"))
    records = [*load_stream(path, shuffle=7, keep=["a"]).records()]
    assert [record.row for record in records] != [*range(1, 51)] and len(records) == 50
    assert all(r.x == {"a": r.row - 1} and r.kept == (str(r.row - 1),) for r in records)
    assert [r.row for r in load_stream(path, limit=9, shuffle=7).records()] == [
        r.row for r in records[:9]
    ]
    with pytest.raises(EvaluationError, match="shuffle can only be chosen for a file"):
        load_stream("Bananas", shuffle=0)


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
    assert output.startswith("target: y, 2 labels (p 9, q 9); features: 1 number; 18 rows")
    assert notes == []
