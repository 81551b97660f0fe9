"""Models that the command saves, and what it predicts with them."""

from __future__ import annotations

import csv
import io
import random
import sys

import pytest

import river_amf
from river_amf import cli
from river_amf.evaluation import load_stream

HEADER = "id;size;code;price"


@pytest.fixture
def write(tmp_path):
    def write_file(lines, name="rows.csv"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="latin-1")
        return str(path)

    return write_file


def rows(n, seed=1):
    rng = random.Random(seed)
    for i in range(n):
        size, code = round(rng.random(), 3), rng.choice(["größer", "1", "2"])
        yield f"u{i};{size};{code};{3 * size + (code == '1')}".replace(".", ",")


def run(capsys, *arguments):
    try:
        status = cli.main([*map(str, arguments)])
    except SystemExit as error:
        status = error.code
    told = capsys.readouterr()
    return status, told.out, told.err.splitlines()


OPTIONS = ["--drop", "id", "--decimal", ",", "--encoding", "latin-1"]
OPTIONS += ["--seed", "1"]


def test_a_model_reads_other_files_as_the_one_it_has_learned(write, tmp_path, capsys):
    path, model, out = write([HEADER, *rows(150)]), tmp_path / "m.amf", tmp_path / "out.csv"
    status, _, lines = run(capsys, "evaluate", path, *OPTIONS, "--save", model)
    assert (status, lines) == (0, [f"wrote the model to {model}"])
    forest = river_amf.load(model)
    assert type(forest) is river_amf.AdaptiveAMFRegressor
    new = [line.replace("größer", "2") for line in rows(20, seed=2)]  # all of them numbers
    options = {"drop": ["id"], "categorical": ["code"], "decimal": ","}
    whole = load_stream(write([HEADER, *new], "new.csv"), encoding="latin-1", **options)
    expected = []
    for n, (x, _) in enumerate(whole, start=1):
        interval = forest.predict_interval_one(x)
        answer = (n, forest.predict_one(x), interval.lower, interval.upper)
        expected.append([*map(str, answer)])
    without = write([line.rpartition(";")[0] for line in [HEADER, *new]], "without.csv")
    for file in (tmp_path / "new.csv", without):
        status, output, lines = run(capsys, "predict", model, file, "--csv", out)
        assert (status, output, lines) == (0, "", [f"wrote 20 predictions to {out}"])
        with open(out, newline="") as written:
            assert [*csv.reader(written)] == [["sample", "prediction", "lower", "upper"], *expected]
    status, output, lines = run(capsys, "predict", model, without)
    assert (output, lines) == (out.read_text(), ["wrote 20 predictions to standard output"])


def test_words_and_named_streams(write, tmp_path, capsys):
    lines = [
        "note,target",
        *(f"of {'peace' if i % 3 else 'war'} {i},{i % 3 > 0}" for i in range(90)),
    ]
    model = tmp_path / "m.amf"
    assert run(capsys, "evaluate", write(lines), "--text", "note", "--save", model)[0] == 0
    assert river_amf.load(model).absent == "zero"
    output = run(capsys, "predict", model, write(["note", "war", "peace", "of peace"], "n.csv"))[1]
    assert [line.split(",")[1] for line in output.split()[1:]] == ["False", "True", "True"]
    assert run(capsys, "evaluate", "Bananas", "--limit", "50", "--save", model)[0] == 0
    output = run(capsys, "predict", model, write(["1,2,target", "0.5,0.25,x"], "n.csv"))[1]
    assert output.splitlines()[1].startswith("1,")
    status, _, lines = run(
        capsys, "evaluate", write(["a,b,y", "one two,1,2.5"]), "--text", "a", "--target", "y"
    )
    assert status == 2
    assert "takes bags of words for labels alone" in lines[-1]


def test_labels_have_probabilities_and_rows_without_a_label_are_predicted(write, tmp_path, capsys):
    lines = ["a,target", *(f"{i % 7},{'yes' if i % 7 > 3 else 'no'}" for i in range(80))]
    model = tmp_path / "m.amf"
    assert run(capsys, "evaluate", write(lines), "--save", model)[0] == 0
    for new in ("a,target\n1,\n6,no\n", "target,a,b\n,1,2\n,6,3\n", "a\n1\n6\n"):
        status, output, _ = run(capsys, "predict", model, write([new.strip()], "new.csv"))
        titles, *predicted = csv.reader(io.StringIO(output))
        assert (status, titles) == (0, ["sample", "prediction", "probability"])
        assert [row[:2] for row in predicted] == [["1", "no"], ["2", "yes"]]
        assert all(0.5 < float(row[2]) <= 1 for row in predicted)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "--model", "knn", "--save", "M"], "model 'knn' cannot be saved"),
        (["evaluate", "--track", "drift", "--save", "M"], "--save is for one stream"),
        (["evaluate", "--save", "nowhere/m"], "cannot write the model to nowhere/m"),
        (["predict", "nowhere", "x.csv"], "cannot read 'nowhere'"),
        (["predict", __file__, "x.csv"], "is not a river_amf file"),
        (["predict", "MODEL", "nowhere.csv"], "no stream or file 'nowhere.csv'"),
        (["predict", "MODEL", "BAD"], "row 2 of BAD has 'x' in 'a', but the model takes numbers"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments, message, write, tmp_path, capsys):
    names = {"MODEL": tmp_path / "m", "M": tmp_path / "new", "BAD": write(["a,b", "1,2", "x,3"])}
    river_amf.AMFClassifier(seed=1).save(tmp_path / "m")
    good = write(["a,b", *(f"{i},{i % 2}" for i in range(20))], "good.csv")
    run(capsys, "evaluate", good, "--save", tmp_path / "m")
    status, _, lines = run(capsys, *(names.get(a, a) for a in arguments))
    assert (status, len(lines)) == (2, 1)
    assert message.replace("BAD", names["BAD"]) in lines[0]
    assert not (tmp_path / "new").exists()


def test_a_damaged_header_is_named(tmp_path, write, capsys):
    from river_amf.persistence import save_with_notes

    damaged = [3, {"x": 1}, {"target": 1}, {"target": "b", "numeric": 5}, {"decimal": 3}]
    for number, reading in enumerate(damaged):
        path = tmp_path / f"m{number}"
        save_with_notes(river_amf.AMFClassifier(), path, {"reading": reading})
        status, _, (line,) = run(capsys, "predict", path, write(["a,b", "1,2"]))
        assert status == 2
        assert str(path) in line and "bug" not in line


def test_bars_are_for_terminals(monkeypatch, capsys):
    arguments = ["--limit", "60", "--seed", "1"]
    for command in (["evaluate"], ["compare", "--models", "majority"]):
        assert run(capsys, *command, *arguments)[2] == []
        with monkeypatch.context() as patch:
            patch.setattr(sys.stderr, "isatty", lambda: True)
            assert any("60" in line for line in run(capsys, *command, *arguments)[2])


def test_what_is_written_is_said(tmp_path, capsys):
    files = [part for name in ("csv", "curves") for part in (f"--{name}", str(tmp_path / name))]
    lines = run(capsys, "compare", "--limit", "40", "--models", "majority", *files)[2]
    assert lines == [f"wrote the table to {files[1]}", f"wrote the curves to {files[3]}"]
    predictions = tmp_path / "p"
    lines = run(capsys, "evaluate", "--limit", "40", "--predictions", predictions)[2]
    assert lines == [f"wrote the predictions to {predictions}"]


HOSTILE = "\x1b]0;owned\x07\x1b[31m\x9b"


def test_terminal_escapes_are_shown_as_text(tmp_path, capsys):
    path = tmp_path / f"t{HOSTILE}.csv"
    lines = [f"a{HOSTILE},b,target", *(f"{i},x{HOSTILE},y{HOSTILE}{i % 2}" for i in range(120))]
    path.write_text("\n".join(lines))
    model = tmp_path / f"m{HOSTILE}"
    for arguments in (
        ["evaluate", path, "--save", model],
        ["evaluate", path, "--target", f"a{HOSTILE}", "--task", "regression"],
        ["evaluate", path, "--target", HOSTILE],
        ["evaluate", HOSTILE],
        ["evaluate", "--model", HOSTILE],
        ["evaluate", path, "--metrics", "F1", "--positive", HOSTILE],
        ["compare", path, "--models", "majority,last-class", "--csv", tmp_path / f"c{HOSTILE}"],
        ["compare", path, "--models", HOSTILE],
        ["inspect", model],
        ["inspect", HOSTILE],
        ["predict", model, HOSTILE],
    ):
        told = "".join(map(str, run(capsys, *arguments)))
        told = run(capsys, *arguments)
        text = told[1] + "\n".join(told[2])
        assert "x1b]0;owned" in text
        assert not {"\x1b", "\x07", "\x9b"} & {*text}, arguments


def test_the_version_of_an_untrusted_file_is_escaped_and_cut(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(river_amf.persistence, "__version__", HOSTILE + "9" * 500)
    path = tmp_path / "m"
    river_amf.AMFClassifier().save(path)
    _, output, _ = run(capsys, "inspect", path)
    (line,) = [line for line in output.splitlines() if "written by" in line]
    assert "x1b]0;owned" in line and "\x1b" not in line and len(line) < 200
