"""The command `river-amf inspect`: what it says of files of all kinds, and of other files."""

import inspect
import pickle
import re
import sys

import pandas as pd
import pytest

import river_amf
from river_amf import cli, sklearn
from river_amf.persistence import container


def learned(model, n_samples=60):
    for i in range(n_samples):
        color = ["red", "tan", "sky"][i % 3]
        model.learn_one({"size": i % 11 / 3, "color": color}, "high" if i % 11 > 6 else "low")
    return model


def fitted(estimator):
    X = pd.DataFrame({"size": [i % 11 / 3 for i in range(60)]})
    return estimator.fit(X, ["high" if i % 11 > 6 else "low" for i in range(60)])


MODELS = {
    "AMFClassifier": lambda: learned(river_amf.AMFClassifier(n_estimators=2, seed=1)),
    "AdaptiveAMFClassifier": lambda: learned(river_amf.AdaptiveAMFClassifier(seed=1)),
    "sklearn.AMFClassifier": lambda: fitted(sklearn.AMFClassifier(random_state=1)),
    "sklearn.AdaptiveAMFClassifier": lambda: fitted(sklearn.AdaptiveAMFClassifier(max_nodes=9)),
}


@pytest.fixture
def inspected(tmp_path, capsys):
    """Return a function that saves a model and returns the lines that are printed about it."""

    def inspect(model, *options):
        path = tmp_path / "model.amf"
        model.save(path)
        assert cli.main(["inspect", str(path), *options]) == 0
        return capsys.readouterr().out.splitlines()

    return inspect


def values(lines):
    """Return the lines with a title, by title."""
    return {line[:12].strip(): line[12:] for line in lines[1:] if line[0] != " "}


def test_the_output_for_a_forest(inspected):
    lines = inspected(learned(river_amf.AMFClassifier(n_estimators=2, max_nodes=11, seed=1)))
    start = next(i for i, line in enumerate(lines) if line.startswith("defaults "))
    end = next(i for i, line in enumerate(lines) if line.startswith("learned "))
    defaults = " ".join(line[12:] for line in lines[start:end]).split(", ")
    expected = inspect.signature(river_amf.AMFClassifier).parameters.values()
    given = {"n_estimators", "max_nodes", "seed"}
    assert defaults == [f"{p.name}={p.default!r}" for p in expected if p.name not in given]
    text = "\n".join(lines[:start] + lines[end:])
    text = re.sub(r"[\d.]+ [KM]?i?B", "N KiB", text).replace(river_amf.__version__, "VERSION")
    assert text == (
        f"""\
model.amf: AMFClassifier
file        N KiB, format {container.FORMAT}, written by river_amf VERSION
parameters  n_estimators=2, max_nodes=11, seed=1
learned     60 samples
labels      2: 'low' 40, 'high' 20
memory      N KiB
features    2: 1 numeric, 1 categorical
  feature  kind      categories
  'color'  category           3
  'size'   numeric
trees       2, with 22 nodes in all; 2 at their limit of 11 nodes
  tree  nodes  leaves  depth  samples  restarts
     0     11       6      4       60         0
     1     11       6      5       60         0"""
    )


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_is_described(kind, inspected):
    model = MODELS[kind]()
    lines = inspected(model)
    assert lines[0] == f"model.amf: {kind}"
    reported = values(lines)
    assert reported["learned"] == "60 samples"
    assert reported["labels"] == "2: 'low' 40, 'high' 20"
    assert max(map(len, lines)) <= 100
    assert reported["features"] in ("2: 1 numeric, 1 categorical", "1: 1 numeric, 0 categorical")
    assert reported["memory"] != "" and reported["trees"] != ""
    if "Adaptive" in kind:
        assert re.fullmatch(r"share 0\.\d\d of recent predictions", reported["fading"])
        assert "0 restarts after a drift" in reported["trees"]
    linear_models = [
        r"logistic -?\d\.\d{3}",
        *(rf"{timescale} cosines -?\d\.\d{{3}}" for timescale in ("slow", "fast")),
    ]
    pattern = ", ".join(linear_models) + r" \(weights in the vote\)"
    assert bool(re.fullmatch(pattern, reported.get("linear", ""))) == ("Adaptive" in kind)


@pytest.mark.parametrize("name", ["AMFRegressor", "AdaptiveAMFRegressor"])
def test_regressors_are_described(name, inspected):
    model = getattr(river_amf, name)(n_estimators=2, seed=1)
    assert values(inspected(model))["learned"] == "nothing"
    for i in range(60):
        model.learn_one(
            {"size": i % 11 / 3, "color": ["red", "tan"][i % 2]}, 10.0 * (i % 11), w=2.0
        )
    lines = inspected(model)
    assert lines[0] == f"model.amf: {name}"
    reported = values(lines)
    assert reported["learned"] == "120 samples"
    error, words = reported["error"].split(" ", 1)
    assert 0.0 < float(error) < 100.0
    assert words == "(recent root mean square error of a tree)"
    assert reported["features"] == "2: 1 numeric, 1 categorical"
    assert reported["trees"].startswith("2, with ")
    assert "labels" not in reported
    assert ("fading" in reported) == ("Adaptive" in name)
    assert ("0 restarts after a drift" in reported["trees"]) == ("Adaptive" in name)


def test_models_that_have_learned_nothing(inspected):
    assert values(inspected(river_amf.AMFClassifier()))["learned"] == "nothing"
    assert values(inspected(river_amf.AMFClassifier()))["parameters"] == "none"
    assert values(inspected(sklearn.AMFClassifier()))["learned"] == "nothing: it is not fitted"


def test_long_lists_are_cut_unless_all_is_asked_for(inspected):
    model = river_amf.AMFClassifier(n_estimators=12, seed=1)
    for i in range(40):
        model.learn_one({f"feature {i % 15}": i / 7}, f"label {min(i, 15)}")
    lines = inspected(model)
    assert values(lines)["labels"].startswith("16: 'label 15' 25, 'label 0' 1, ")
    assert values(lines)["labels"].endswith("'label 8' 1, and 6 more")
    assert lines.count("  and 5 more (--all lists them)") == 1
    assert lines.count("  and 2 more (--all lists them)") == 1
    everything = inspected(model, "--all")
    assert len(everything) == len(lines) + 5
    assert "more" not in "\n".join(everything)
    assert "'label 14' 1" in values(everything)["labels"]


# Other files


def refusal(path, capsys):
    """Return the line that refuses a file."""
    with pytest.raises(SystemExit) as raised:
        cli.main(["inspect", str(path)])
    output = capsys.readouterr()
    assert raised.value.code == 2
    assert output.out == ""
    assert output.err.count("\n") == 1
    return output.err.removeprefix("river-amf: error: ").rstrip()


def test_a_pickle_is_refused_with_what_to_do(tmp_path, capsys):
    path = tmp_path / "model.pkl"
    for protocol in (2, 3, 4, 5):
        path.write_bytes(pickle.dumps(river_amf.AMFClassifier(), protocol))
        assert refusal(path, capsys) == (
            f"the file {str(path)!r} is not a river_amf file, but seems to be a pickle: if you "
            "trust whoever made it, load it with pickle and call save"
        )


def test_foreign_and_damaged_files_take_one_line(tmp_path, capsys):
    path = tmp_path / "model.amf"
    learned(river_amf.AMFClassifier(n_estimators=1)).save(path)
    content = path.read_bytes()
    for data, reported in [
        (b"", "is empty"),
        (b"a,b\n1,2\n", "is not a river_amf file"),
        (b"\x80\x08", "is not a river_amf file (it does not begin like one)"),
        (content[:-200], "is truncated"),
        (content + b"\0", "has extra bytes after its end"),
        (content.replace(b'"low"', b'"LOW"'), "is damaged: BadZipFile: Bad CRC-32"),
    ]:
        path.write_bytes(data)
        text = refusal(path, capsys)
        assert text.startswith(f"the file {str(path)!r} ")
        assert reported in text


def test_files_that_cannot_be_read(tmp_path, capsys):
    path = tmp_path / "none.amf"
    assert refusal(path, capsys) == f"cannot read {str(path)!r}: No such file or directory"
    assert refusal(tmp_path, capsys) == f"cannot read {str(tmp_path)!r}: Is a directory"


def test_an_estimator_without_scikit_learn_is_refused_with_what_to_do(
    tmp_path, capsys, monkeypatch
):
    path = tmp_path / "model.amf"
    MODELS["sklearn.AMFClassifier"]().save(path)
    monkeypatch.setitem(sys.modules, "river_amf.sklearn", None)
    assert "river_amf.sklearn" in refusal(path, capsys)
