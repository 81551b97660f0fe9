"""The command `river-amf inspect`: the class, parameters and trees of a saved model."""

import pickle
import re

import pandas as pd
import pytest

import river_amf
from river_amf import cli, inspection
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
def test_inspect_shows_class_parameters_and_trees(model, tmp_path, capsys):
    path = tmp_path / "model.amf"
    model.save(path)
    assert cli.main(["inspect", str(path)]) == 0
    about, rest = capsys.readouterr().out.split("\n", 1)
    written = f"B, format {container.FORMAT}, written by river_amf {river_amf.__version__}"
    assert re.fullmatch(r"model\.amf: [\d.]+ [KM]?i?" + re.escape(written), about)
    assert rest.startswith(f"{model!r}\n")
    trees = rest.removeprefix(f"{model!r}\n")
    assert trees == inspection.tree_table(model).to_string(float_format="{:g}".format) + "\n"


def test_target_and_reading_options_are_shown(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("id;a;b;y\n" + "u;1,5;red;x\nv;2,5;tan;z\n" * 20)
    options = ["--decimal", ",", "--drop", "id", "--save", str(tmp_path / "m")]
    assert cli.main(["evaluate", str(tmp_path / "t.csv"), *options]) == 0
    capsys.readouterr()
    assert cli.main(["inspect", str(tmp_path / "m")]) == 0
    text = capsys.readouterr().out
    assert "\ntarget 'y'; columns: 'a' number, 'b' category\n" in text
    assert "\nread with decimal=',', drop=['id']\n" in text


def test_inspect_refuses_other_files(tmp_path, capsys):
    pickled = tmp_path / "model.pkl"
    pickled.write_bytes(pickle.dumps(river_amf.AMFClassifier()))
    for path, message in [
        (pickled, "seems to be a pickle"),
        (tmp_path, "Is a directory"),
    ]:
        with pytest.raises(SystemExit, match="2"):
            cli.main(["inspect", str(path)])
        output = capsys.readouterr()
        assert message in output.err and output.err.count("\n") == 1 and not output.out
