"""The command `river-amf inspect`: the class, parameters and trees of a saved model."""

import os
import pickle
import re
import shlex
import threading

import pandas as pd
import pytest

import river_amf
from river_amf.persistence import container

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
