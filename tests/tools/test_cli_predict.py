"""Models that the command saves, and what it predicts with them."""

from __future__ import annotations

import csv
import io
import random

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
        answer = (forest.predict_one(x), interval.lower, interval.upper)
        expected.append((str(n), [*map(str, answer)]))
    without = write([line.rpartition(";")[0] for line in [HEADER, *new]], "without.csv")
    for file, has_target in ((tmp_path / "new.csv", True), (without, False)):
        status, output, lines = run(capsys, "predict", model, file, "--csv", out, "--keep", "id")
        assert (status, output, lines) == (0, "", [f"wrote 20 predictions to {out}"])
        with open(out, newline="") as written:
            titles, *predicted = csv.reader(written)
        target = ["target"] * has_target
        assert titles == ["row", "id", *target, "prediction", "lower", "upper"]
        assert [(row[0], row[2 + has_target :]) for row in predicted] == expected
        assert [row[1] for row in predicted] == [f"u{i}" for i in range(20)]
    status, output, lines = run(capsys, "predict", model, without, "--keep", "id")
    assert (output, lines) == (out.read_text(), ["wrote 20 predictions to standard output"])
    options = [*OPTIONS, "--keep", "id", "--predictions", tmp_path / "p.csv"]
    run(capsys, "evaluate", path, *options)
    header = (tmp_path / "p.csv").read_text().splitlines()[0]
    assert header == "row,id,target,prediction,lower,upper"


def test_columns_that_differ_are_noted(write, tmp_path, capsys):
    model = tmp_path / "m.amf"
    run(capsys, "evaluate", write([HEADER, *rows(50)]), *OPTIONS, "--save", model)
    path = write(["size;colour;shade", "0,5;red;1"], "new.csv")
    status, output, lines = run(capsys, "predict", model, path)
    assert status == 0 and output.startswith("row,prediction,lower,upper\n1,")
    assert lines[:2] == [
        "river-amf: new.csv lacks 'code'",
        "river-amf: new.csv has, unknown to the model, 'colour', 'shade'",
    ]
    status, output, lines = run(capsys, "predict", model, write(["a;b", "1;2"], "other.csv"))
    assert (status, output) == (2, "")
    assert "other.csv has none of the columns of the model: size, code" in lines[-1]


def test_probabilities_of_many_labels_are_those_of_the_winner(write, tmp_path, capsys):
    for n_labels, titles in ((3, ["p(c0)", "p(c1)", "p(c2)"]), (25, ["probability"])):
        path = write(["a,y", *(f"{i % n_labels},c{i % n_labels}" for i in range(100))])
        run(capsys, "evaluate", path, "--predictions", tmp_path / "p.csv", "--save", tmp_path / "m")
        with open(tmp_path / "p.csv", newline="") as file:
            found, *_, last = csv.reader(file)
        assert found == ["row", "target", "prediction", *titles]
        assert 0.0 < max(map(float, last[3:])) <= 1.0
        output = run(capsys, "predict", tmp_path / "m", path)[1]
        assert set(output.splitlines()[0].split(",")) == set(found)


def test_words_and_named_streams(write, tmp_path, capsys):
    lines = [
        "note,target",
        *(f"of {'peace' if i % 3 else 'war'} {i},{i % 3 > 0}" for i in range(90)),
    ]
    model = tmp_path / "m.amf"
    assert run(capsys, "evaluate", write(lines), "--text", "note", "--save", model)[0] == 0
    assert river_amf.load(model).absent == "zero"
    output = run(capsys, "predict", model, write(["note", "war", "peace", "of peace"], "n.csv"))[1]
    assert [line.split(",")[1] for line in output.splitlines()[1:]] == ["False", "True", "True"]
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
        at = titles.index("prediction")
        assert (status, titles[at:]) == (0, ["prediction", "p(no)", "p(yes)"])
        assert titles[:at] == ["row", *["target"] * ("target" in new)]
        assert [(row[0], row[at]) for row in predicted] == [("1", "no"), ("2", "yes")]
        assert all(max(map(float, row[at + 1 :])) > 0.5 for row in predicted)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "--model", "knn", "--save", "M"], "model 'knn' cannot be saved"),
        (["evaluate", "--save", "nowhere/m"], "cannot write the model to 'nowhere/m'"),
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

    damaged = [3, {"x": 1}, {"target": 1}, {"target": "b", "kinds": 5}, {"decimal": 3}]
    for number, reading in enumerate(damaged):
        path = tmp_path / f"m{number}"
        save_with_notes(river_amf.AMFClassifier(), path, {"reading": reading})
        status, _, (line,) = run(capsys, "predict", path, write(["a,b", "1,2"]))
        assert status == 2
        assert str(path) in line and "bug" not in line
