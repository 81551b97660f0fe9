"""Models that the command saves: what it predicts with them and shows of them, and everyday files.

These are sales with dates, customers with ids and gaps, and reviews.
"""

import csv
import datetime as dt
import os
import pickle
import random
import re
import shlex
import sys
import threading
import uuid

import pandas as pd
import pytest

import river_amf
from river_amf.evaluation import load_stream
from river_amf.persistence import container, save_with_notes

HEADER = "id;size;code;price"
OPTIONS = ["--drop", "id", "--decimal", ",", "--encoding", "latin-1"]


def text(*lines):
    return "".join(f"{line}\n" for line in lines).encode("latin-1")


def cells(output):
    return [*csv.reader(output.splitlines())]


def rows(n, seed=1):
    rng = random.Random(seed)
    for i in range(n):
        size, code = round(rng.random(), 3), rng.choice(["größer", "1", "2"])
        yield f"u{i};{size};{code};{3 * size + (code == '1')}".replace(".", ",")


def test_model_reads_files_as_the_one_it_has_learned(write, tmp_path, run):
    path, model, out = write(text(HEADER, *rows(150))), tmp_path / "m.amf", tmp_path / "out.csv"
    status, _, lines = run("evaluate", path, *OPTIONS, "--save", model)
    assert (status, lines) == (0, [])
    forest = river_amf.load(model)
    assert type(forest) is river_amf.AdaptiveAMFRegressor
    new = [line.replace("größer", "2") for line in rows(20, seed=2)]  # all of them numbers
    options = {"drop": ["id"], "categorical": ["code"], "decimal": ","}
    whole = write(text(HEADER, *new), "new.csv")
    expected = []
    for n, (x, _) in enumerate(load_stream(whole, **options), start=1):
        interval = forest.predict_interval_one(x)
        answer = (forest.predict_one(x), interval.lower, interval.upper)
        expected.append([str(n), f"u{n - 1}", *map(str, answer)])
    without = write(text(*(line.rpartition(";")[0] for line in [HEADER, *new])), "without.csv")
    for file, target in ((whole, ["target"]), (without, [])):
        status, output, lines = run("predict", model, file, "--keep", "id")
        assert (status, lines) == (0, [])
        titles, *predicted = cells(output)
        assert titles == ["row", "id", *target, "prediction", "lower", "upper"]
        assert [row[:2] + row[2 + len(target) :] for row in predicted] == expected
    run("evaluate", path, *OPTIONS, "--keep", "id", "--predictions", out)
    assert out.read_text().startswith("row,id,target,prediction,lower,upper\n1,u0,")


def test_columns_to_ignore_are_not_noted(write, tmp_path, run):
    path, model = write(b"C#b\ti#n\tcD#y\n" + b"1\tu\tp\n2\tv\tq\n" * 9), tmp_path / "m.amf"
    for arguments in (("evaluate", path, "--save", model), ("predict", model, path)):
        assert run(*arguments)[::2] == (0, [])


def test_columns_that_differ_are_noted(write, tmp_path, run):
    model = tmp_path / "m.amf"
    run("evaluate", write(text(HEADER, *rows(50))), *OPTIONS, "--save", model)
    status, output, lines = run("predict", model, write("size;color;shade\n0,5;red;1", "new.csv"))
    assert (status, cells(output)[0]) == (0, ["row", "prediction", "lower", "upper"])
    assert lines[:2] == [
        "river-amf: new.csv lacks 'code'",
        "river-amf: new.csv has, unknown to the model, 'color', 'shade'",
    ]
    status, output, lines = run("predict", model, write("a;b\n1;2", "other.csv"))
    assert (status, output) == (2, "")
    assert "other.csv has none of the columns of the model: size, code" in lines[-1]


@pytest.mark.parametrize(
    ("n_labels", "titles"), [(3, ["p(c0)", "p(c1)", "p(c2)"]), (25, ["probability"])]
)
def test_labels_have_probabilities_up_to_twenty(n_labels, titles, write, tmp_path, run):
    path = write(text("a,y", *(f"{i % n_labels},c{-i % n_labels}" for i in range(100))))
    run("evaluate", path, "--predictions", tmp_path / "p.csv", "--save", tmp_path / "m")
    found, *_, last = cells((tmp_path / "p.csv").read_text())
    assert found == ["row", "target", "prediction", *titles]
    assert 0.0 < max(map(float, last[3:])) <= 1.0
    assert cells(run("predict", tmp_path / "m", path)[1])[0] == found


def test_rows_without_a_label_are_predicted(write, tmp_path, run):
    lines = ["a,target", *(f"{i % 7},{'yes' if i % 7 > 3 else 'no'}" for i in range(80))]
    model = tmp_path / "m.amf"
    assert run("evaluate", write(text(*lines)), "--save", model)[0] == 0
    for new in ("a,target\n1,\n6,no", "target,a,b\n,1,2\n,6,3", "a\n1\n6"):
        titles, *predicted = cells(run("predict", model, write(new, "new.csv"))[1])
        assert titles[:-3] == ["row", *["target"] * ("target" in new)]
        assert titles[-3:] == ["prediction", "p(no)", "p(yes)"]
        assert [(row[0], row[-3]) for row in predicted] == [("1", "no"), ("2", "yes")]
        assert all(max(map(float, row[-2:])) > 0.5 for row in predicted)


def test_options_that_are_given_win_over_those_of_the_model(write, tmp_path, run):
    lines = [f"{i / 7:.2f};{'xy'[i % 3 > 0]}" for i in range(60)]
    model, point = tmp_path / "m", write(text("a;y", *lines))
    comma = write(text("a;y", *lines).replace(b".", b","), "comma.csv")
    for path, other, name in ((point, comma, "decimal=,"), (comma, point, "decimal=.")):
        assert run("evaluate", path, f"--decimal={path.read_text()[5]}", "--save", model)[0] == 0
        expected = run("predict", model, path)[1]
        assert f"--{name} reads" in run("predict", model, other)[2][-1]
        assert run("predict", model, other, f"--{name}")[1] == expected


@pytest.mark.parametrize("is_terminal", [True, False])
def test_terminal_shows_codes_of_control_characters(is_terminal, write, tmp_path, run, monkeypatch):
    path = write(text("\x1b[1ma,target", *(f"{i % 7},\x1b[{i % 2}m" for i in range(80))))
    run("evaluate", path, "--save", tmp_path / "m")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: is_terminal)
    output = run("predict", tmp_path / "m", path, "--keep", "\x1b[1ma")[1]
    assert (output.count("\\x1b"), output.count("\x1b")) == (163, 0)[:: 1 if is_terminal else -1]


def test_words_and_named_streams(write, tmp_path, run):
    words = (f"of {'peace' if i % 3 else 'war'} {i},{i % 3 > 0}" for i in range(90))
    model = tmp_path / "m.amf"
    note = write(text("note,target", *words))
    assert run("evaluate", note, "--text", "note", "--save", model)[0] == 0
    assert river_amf.load(model).absent == "zero"
    output = run("predict", model, write("note\nwar\npeace\nof peace", "n.csv"))[1]
    assert [row[1] for row in cells(output)[1:]] == ["False", "True", "True"]
    assert run("evaluate", "Bananas", "--limit", "50", "--save", model)[0] == 0
    output = run("predict", model, write("1,2,target\n0.5,0.25,x", "n.csv"))[1]
    assert cells(output)[1][0] == "1"
    status, _, lines = run("evaluate", write("a,b,y\none two,1,2.5"), "--text", "a")
    assert status == 2 and "takes bags of words for labels alone" in lines[-1]


READING = {"target": "b", "kinds": {"a": "number"}}
DAMAGED = [{"x": 1}, {"target": 1}, {"target": "b", "kinds": 5}, {"decimal": 3}]


@pytest.mark.parametrize(
    ("arguments", "reading", "message"),
    [
        ("nowhere x.csv", READING, "cannot read 'nowhere'"),
        (f"{__file__} x.csv", READING, "is not a river_amf file"),
        ("MODEL nowhere.csv", READING, "no stream or file 'nowhere.csv'"),
        ("MODEL BAD", READING, "bad.csv has 'x' in 'a', but the model takes numbers"),
        ("MODEL BAD", 3, "model holds no model that `river-amf evaluate --save` wrote"),
        *(("MODEL BAD", reading, "model is damaged: ") for reading in DAMAGED),
    ],
)
def test_impossible_prediction_is_one_line(arguments, reading, message, write, tmp_path, run):
    names = {"MODEL": tmp_path / "model", "BAD": write("a,b\n1,2\nx,3", "bad.csv")}
    save_with_notes(river_amf.AMFClassifier(), names["MODEL"], {"reading": reading})
    status, _, lines = run("predict", *(names.get(a, a) for a in arguments.split(" ")))
    assert status == 2 and message in lines[-1]


X, Y = pd.DataFrame({"a": [i % 11 for i in range(60)]}), [float(i % 11 > 6) for i in range(60)]
MODELS = {
    "classifier": river_amf.AdaptiveAMFClassifier(n_estimators=2, max_nodes=9, seed=1),
    "regressor": river_amf.AMFRegressor(n_estimators=2, seed=1),
    "nothing learned": river_amf.AMFRegressor(3),
}
for name in ("classifier", "regressor"):
    MODELS[name].learn_many(X, Y)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_inspect_shows_class_parameters_and_trees(model, tmp_path, run):
    path = tmp_path / "model.amf"
    model.save(path)
    about, shown = run("inspect", path)[1].split("\n", 1)
    written = f"B, format {container.FORMAT}, written by river_amf {river_amf.__version__}"
    assert re.fullmatch(r"model\.amf: [\d.]+ [KM]?i?" + re.escape(written), about)
    trees = pd.DataFrame([tree.summary for tree in model]).to_string(float_format="{:g}".format)
    assert shown == f"{model!r}\n{trees}\n"


def test_target_and_reading_options_are_shown(write, run, tmp_path):
    path = write("id;a;b;y\n" + "u;1,5;red;x\nv;2,5;tan;z\n" * 20)
    assert run("evaluate", path, "--decimal", ",", "--drop", "id", "--save", tmp_path / "m")[0] == 0
    status, output, _ = run("inspect", tmp_path / "m")
    assert status == 0 and "\ntarget 'y'; columns: 'a' number, 'b' category\n" in output
    assert "\nread with decimal=',', drop=['id']\n" in output


def test_inspect_lists_the_columns_of_a_file(write, run):
    rows = (
        f"{i % 3 or ''};{i}.5;2024-05-{i + 1:02};{'ab'[i % 2]};{'xy'[i > 5]}\n" for i in range(9)
    )
    path = write("code;size;day;note;y\n" + "".join(rows))
    _, output, lines = run("inspect", path, "--text", "note", "--categorical", "code")
    titles, *cells = [line.split() for line in output.splitlines()[2:]]
    assert titles == ["column", "read", "as", "missing", "distinct", "example"] and lines == []
    assert cells == [
        ["code", "category", "3", "2", "1"],
        ["size", "number", "0", "9", "0.5"],
        ["day", "date", "0", "9", "2024-05-01"],
        ["note", "words", "0", "2", "a"],
        ["y", "category", "0", "2", "x"],
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of Unix")
def test_inspect_reads_a_pipe_once(tmp_path, run):
    os.mkfifo(path := tmp_path / "pipe")
    threading.Thread(target=path.write_text, args=("a,y\n" + "1,x\n2,z\n" * 9,)).start()
    assert "2 labels (x 9, z 9)" in run("inspect", path)[1]


@pytest.mark.parametrize("name", ["posted at", "it's", "co$t", "a;b", "x y, z", 'q"t', "(`m`)\\"])
def test_what_a_note_names_can_be_pasted(name, write, run):
    rows = [{name: f"Jan {i % 28 + 1} 2020", "b": i / 7, "y": i % 2} for i in range(60)]
    for row in rows[::20]:
        row["b"] = name
    path = write(pd.DataFrame(rows).to_csv(index=False))
    notes = run("inspect", path)[2]
    options = [word for note in notes for word in shlex.split(re.search("(--.*) reads", note)[1])]
    _, output, lines = run("inspect", path, *options)
    assert lines == [] and "features: 1 date, 1 number" in output


def test_inspect_refuses_other_files(tmp_path, run):
    pickled = tmp_path / "model.pkl"
    pickled.write_bytes(pickle.dumps(river_amf.AMFClassifier()))
    for path, message in ((pickled, "it is a pickle"), (tmp_path, "Is a directory")):
        status, output, (line,) = run("inspect", path)
        assert (status, output) == (2, "") and message in line


PRAISE = ["great", "lovely", "solid", "quick", "perfect"]
BLAME = ["broken", "slow", "poor", "useless", "late"]
FILLER = "the it was and my phone came box with again very for a screen battery shop"


def sales(rng):
    for day in range(700):
        date = dt.date(2023, 1, 2) + dt.timedelta(day)
        for shop in ("north", "south"):
            price = rng.choice([2.49, 2.99, 3.49])
            busy = 3.0 if date.weekday() > 4 else 1.0
            sold = busy * 40 * (shop == "north") + busy * 90 - 15 * price + rng.gauss(0, 5)
            yield {"date": date, "shop": shop, "price": price, "sold": max(0, round(sold))}


def customers(rng):
    for _ in range(1500):
        id, months = uuid.UUID(int=rng.getrandbits(128)), rng.randrange(1, 60)
        bill, contract = rng.choice(["", 35.5, 60.25]), rng.choice(["monthly", "yearly"])
        leaves = rng.random() < (0.8 if contract == "monthly" and months < 20 else 0.1)
        row = {"customer": id, "months": months, "bill": bill, "contract": contract}
        yield row | {"churn": "Yes" if leaves else "No"}


def reviews(rng):
    for n in range(1200):
        words = rng.choices(FILLER.split(), k=9) + rng.choices((BLAME, PRAISE)[n % 2], k=2)
        words += rng.choices([*PRAISE, *BLAME])
        rng.shuffle(words)
        yield {"review": " ".join(words), "opinion": ("bad", "good")[n % 2]}


@pytest.mark.parametrize(
    ("rows_of", "options", "odd", "metric", "least"),
    [
        (sales, [], [], "R2", 0.95),
        (customers, ["--drop", "customer"], ["customer"], "accuracy", 0.85),
        (reviews, ["--text", "review"], ["review"], "accuracy", 0.95),
    ],
)
def test_one_obvious_command_is_enough(rows_of, options, odd, metric, least, tmp_path, run):
    path, table, model = (str(tmp_path / name) for name in ("data.csv", "table.csv", "model"))
    rows = pd.DataFrame(rows_of(random.Random(1)))
    rows.to_csv(path, index=False)
    for arguments, noted in ((["--limit", 500], odd), ([*options, "--save", model], [])):
        assert re.findall(r"column '(\w+)'", str(run("evaluate", path, *arguments)[2])) == noted
    run("compare", path, *options, "--models", "adaptive", "--csv", table)
    assert pd.read_csv(table, index_col="model")[metric]["adaptive"] >= least
    predicted = [*csv.DictReader(run("predict", model, path)[1].splitlines())]
    pairs = [*zip(predicted, rows.iloc[:, -1], strict=True)]
    if rows_of is sales:
        hits = sum(float(row["lower"]) <= y <= float(row["upper"]) for row, y in pairs)
        assert 0.8 < hits / len(rows) < 1.0
    else:
        assert sum(row["prediction"] == y for row, y in pairs) / len(rows) >= least
