"""What a release saves, one with other settings and arrays reads: files, pickles, folders."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from files import error_of, parts_in, write_parts
from forests import STREAM, learn, trained

import river_amf
from river_amf import AMFClassifier
from river_amf.keyed import KeyedClassifier
from river_amf.persistence.validation import FileError
from river_amf.state import layout

# Lines of layout.py, and what a later release has before them.
EDITS = {
    '    ("step", "f8"),': '    ("new_setting", "f8"),',
    '    ("n_boxes", "i8"),': '    ("new_number", "f8"),',  # of a tree
    '    "nodes": Field(': '    "new_of_nodes": Field(np.float64, ("tree", "node"), 2.0),',
    '    "features": Field(': '    "new_of_features": Field(np.int32, ("feature",), 3),',
}
LOAD = """
import pickle, sys, river_amf
from pathlib import Path
from river_amf.keyed import KeyedClassifier

options = {"folder": "folder", "allow_pickle": False}
with KeyedClassifier(river_amf.AMFClassifier(2), "user", **options) as keyed:
    models = [river_amf.load("model.amf"), pickle.loads(Path("pickle").read_bytes()), keyed["ann"]]
for model in models:
    arena, n_features = model._arena, len(model._features)
    assert "new_setting" in arena.settings.dtype.names and not arena.trees["new_number"].any()
    assert (arena.new_of_nodes[0, : arena.trees["n_nodes"][0]] == 2.0).all()
    assert arena.new_of_features[:n_features].tolist() == [3] * n_features
    model.learn_one({"a": 1.0, "new": 2.0}, "new")
Path("answers").write_bytes(pickle.dumps([model.predict_proba_one({"a": 1.0}) for model in models]))
models[0].save("later.amf")
"""


def test_later_release_reads_what_was_saved(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(river_amf.__file__).parent, tmp_path / "river_amf", ignore=ignored)
    path = tmp_path / "river_amf" / "state" / "layout.py"
    code = path.read_text()
    for line, new in EDITS.items():
        assert code.count(f"\n{line}") == 1
        code = code.replace(f"\n{line}", f"\n{new}\n{line}")
    path.write_text(code)
    model = trained(STREAM[:100], n_estimators=2)
    model.save(tmp_path / "model.amf")
    (tmp_path / "pickle").write_bytes(pickle.dumps(model))
    with KeyedClassifier(AMFClassifier(2, seed=42), "user", folder=tmp_path / "folder") as keyed:
        learn(keyed, [({"user": "ann"} | x, y, w) for x, y, w in STREAM[:100]])
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    options = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
    run = subprocess.run([sys.executable, "-c", LOAD], **options)
    assert run.returncode == 0, run.stderr
    model.learn_one({"a": 1.0, "new": 2.0}, "new")
    for answer in pickle.loads((tmp_path / "answers").read_bytes()):
        assert answer == pytest.approx(model.predict_proba_one({"a": 1.0}), rel=1e-9)
    assert "has an array 'new_of_features', which" in error_of(tmp_path / "later.amf")


def of_state(state):
    """Return the classifier whose pickle has this state."""
    model = AMFClassifier.__new__(AMFClassifier)
    model.__setstate__(state)
    return model


def test_array_is_dropped_only_if_a_table_names_it(path, monkeypatch):
    model = trained(STREAM[:50], n_estimators=2)
    header, arrays = parts_in(model, path)
    arrays["old"] = np.zeros(3)
    write_parts(path, header, arrays)

    def unpickled():
        state = model.__getstate__()
        state["_engine"][1]["old"] = arrays["old"]
        return of_state(state)

    assert "has an array 'old', which this release does not know" in error_of(path)
    with pytest.raises(FileError, match="the pickle has an array 'old'"):
        unpickled()
    monkeypatch.setattr(layout, "DROPPED", {"old"})
    for twin in (river_amf.load(path), unpickled()):
        assert pickle.dumps(twin) == pickle.dumps(model)


def test_parameter_that_a_pickle_lacks_is_the_default():
    state = trained(STREAM[:50], max_nodes=99, split_prior=0.25).__getstate__()
    del state["split_prior"], state["seed"]
    expected = trained([], max_nodes=99, seed=None)._parameters
    assert of_state(state)._parameters == expected
