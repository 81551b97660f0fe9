"""The command `river-amf inspect`: what it shows of files of all kinds, and of other files."""

import pickle
import sys

import pandas as pd
import pytest

import river_amf
from river_amf import cli, sklearn


def learned(model):
    is_regressor = isinstance(model, river_amf.AMFRegressor)
    for i in range(60):
        x = {"size": i % 11 / 3, "color": ["red", "tan", "sky"][i % 3]}
        model.learn_one(x, float(i) if is_regressor else "high" if i % 11 > 6 else "low")
    return model


def fitted(estimator):
    X = pd.DataFrame({"size": [i % 11 / 3 for i in range(60)]})
    return estimator.fit(X, ["high" if i % 11 > 6 else "low" for i in range(60)])


MODELS = {
    "AMFClassifier": lambda: learned(river_amf.AMFClassifier(n_estimators=2, seed=1)),
    "AdaptiveAMFRegressor": lambda: learned(river_amf.AdaptiveAMFRegressor(2, seed=1)),
    "sklearn.AMFClassifier": lambda: fitted(sklearn.AMFClassifier(2, random_state=1)),
}


def inspect(path, capsys):
    try:
        status = cli.main(["inspect", str(path)])
    except SystemExit as error:
        status = error.code
    told = capsys.readouterr()
    return status, told.out.splitlines(), told.err.splitlines()


@pytest.mark.parametrize("kind", MODELS)
def test_models_are_described(kind, tmp_path, capsys):
    model = MODELS[kind]()
    model.save(tmp_path / "model.amf")
    status, lines, _ = inspect(tmp_path / "model.amf", capsys)
    assert (status, lines[0]) == (0, f"model.amf: {kind}")
    shown = {line[:12].strip(): line[12:] for line in lines if line[:1] != " "}
    assert shown["parameters"].startswith("n_estimators=2")
    assert shown["learned"] == "60 samples"
    assert ("labels" in shown) == ("Classifier" in kind)
    titles = ["n_nodes", "n_leaves", "height", "n_samples"]
    assert lines[-3].split() == ["tree", *titles]
    tree = getattr(model, "model_", model)[1]
    assert [*map(float, lines[-1].split())] == [1, *(getattr(tree, name) for name in titles)]
    assert max(map(len, lines)) <= 100


def test_model_that_has_learned_nothing(tmp_path, capsys):
    river_amf.AMFClassifier().save(tmp_path / "m")
    assert inspect(tmp_path / "m", capsys)[1][-1] == "learned     nothing"


def test_target_and_reading_options_are_shown(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("id;a;b;y\n" + "u;1,5;red;x\nv;2,5;tan;z\n" * 20)
    options = ["--decimal", ",", "--drop", "id", "--save", str(tmp_path / "m")]
    assert cli.main(["evaluate", str(tmp_path / "t.csv"), *options]) == 0
    capsys.readouterr()
    text = "\n".join(inspect(tmp_path / "m", capsys)[1])
    assert "target      'y'" in text
    assert "reading     decimal=',', drop=['id']" in text
    assert "columns     'a' number, 'b' category" in text


def test_other_files_are_refused_in_one_line(tmp_path, capsys, monkeypatch):
    path = tmp_path / "model.amf"
    MODELS["AMFClassifier"]().save(path)
    content = path.read_bytes()
    for data, message in [
        (pickle.dumps(river_amf.AMFClassifier()), "seems to be a pickle"),
        (b"", "is empty"),
        (b"a,b\n1,2\n", "is not a river_amf file"),
        (content[:-200], "is truncated"),
    ]:
        path.write_bytes(data)
        status, output, (line,) = inspect(path, capsys)
        assert (status, output) == (2, []) and message in line and str(path) in line
    for bad, message in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        assert message in inspect(bad, capsys)[2][0]
    MODELS["sklearn.AMFClassifier"]().save(path)
    monkeypatch.setitem(sys.modules, "river_amf.sklearn", None)
    assert "river_amf.sklearn" in inspect(path, capsys)[2][0]
