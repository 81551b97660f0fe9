"""The command `river-amf inspect`: the class, parameters and trees of a saved model."""

import pickle
import re
import sys

import pytest

import river_amf
from river_amf import cli, inspection, sklearn
from river_amf.persistence import container

X, Y = [[i % 11] for i in range(60)], [i % 11 > 6 for i in range(60)]
CLASSIFIER = sklearn.AdaptiveAMFClassifier(n_estimators=2, max_nodes=9, random_state=1)
REGRESSOR = sklearn.AMFRegressor(n_estimators=2, random_state=1)
MODELS = {
    "classifier": CLASSIFIER.fit(X, Y).model_,
    "estimator": CLASSIFIER,
    "regressor": REGRESSOR.fit(X, [float(y) for y in Y]).model_,
    "nothing learned": river_amf.AMFRegressor(3),
    "not fitted": sklearn.AMFClassifier(),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_inspect_shows_class_parameters_and_trees(model, tmp_path, capsys):
    path = tmp_path / "model.amf"
    model.save(path)
    assert cli.main(["inspect", str(path)]) == 0
    about, rest = capsys.readouterr().out.split("\n", 1)
    written = f"B, format {container.FORMAT}, written by river_amf {river_amf.__version__}"
    assert re.fullmatch(r"model\.amf: [\d.]+ [KM]?i?" + re.escape(written), about)
    assert rest.startswith(f"{model!r}\n")
    forest = getattr(model, "model_", model)
    trees = rest.removeprefix(f"{model!r}\n")
    assert bool(trees) == hasattr(forest, "models")
    if trees:
        assert trees == inspection.tree_table(forest).to_string(float_format="{:g}".format) + "\n"


def test_target_and_reading_options_are_shown(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("id;a;b;y\n" + "u;1,5;red;x\nv;2,5;tan;z\n" * 20)
    options = ["--decimal", ",", "--drop", "id", "--save", str(tmp_path / "m")]
    assert cli.main(["evaluate", str(tmp_path / "t.csv"), *options]) == 0
    capsys.readouterr()
    assert cli.main(["inspect", str(tmp_path / "m")]) == 0
    text = capsys.readouterr().out
    assert "\ntarget 'y'; columns: 'a' number, 'b' category\n" in text
    assert "\nread with decimal=',', drop=['id']\n" in text


def test_inspect_refuses_other_files(tmp_path, capsys, monkeypatch):
    pickled, estimator = tmp_path / "model.pkl", tmp_path / "model.amf"
    pickled.write_bytes(pickle.dumps(river_amf.AMFClassifier()))
    CLASSIFIER.save(estimator)
    monkeypatch.setitem(sys.modules, "river_amf.sklearn", None)
    for path, message in [
        (pickled, "seems to be a pickle"),
        (tmp_path, "Is a directory"),
        (estimator, "river_amf.sklearn"),
    ]:
        with pytest.raises(SystemExit, match="2"):
            cli.main(["inspect", str(path)])
        output = capsys.readouterr()
        assert message in output.err and output.err.count("\n") == 1 and not output.out
