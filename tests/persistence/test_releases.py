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
from forests import STREAM, learn, state_of, trained

import river_amf
from river_amf import AMFClassifier
from river_amf.keyed import KeyedClassifier
from river_amf.persistence.validation import adopted
from river_amf.state import layout

# Lines of layout.py, and what a later release has before them.
EDITS = {
    '    ("step", "f8"),': '    ("new_setting", "f8"),',
    '    ("n_boxes", "i8"),': '    ("new_of_tree", "f8"),',
    '    "nodes": Field(': '    "new_of_nodes": Field(np.float64, ("tree", "node"), 2.0),',
    '    "features": Field(': '    "new_of_features": Field(np.int32, ("feature",), 3),',
}
LOAD = """
import pickle, pathlib, river_amf
from river_amf.keyed import KeyedClassifier

forest = river_amf.AMFClassifier(2)
with KeyedClassifier(forest, "user", folder="folder", allow_pickle=False) as keyed:
    pickled = pathlib.Path("pickle").read_bytes()
    models = [river_amf.load("model.amf"), pickle.loads(pickled), keyed["ann"]]
for model in models:
    arena = model._arena
    assert "new_setting" in arena.settings.dtype.names and not arena.trees["new_of_tree"].any()
    assert (arena.new_of_nodes[0, : arena.trees["n_nodes"][0]] == 2.0).all()
    assert (arena.new_of_features[: len(model._features)] == 3).all()
    model.learn_one({"a": 1.0, "new": 2.0}, "new")
    print(model.predict_proba_one({"a": 1.0}))
models[0].save("later.amf")
"""


def test_later_release_reads_what_was_saved(tmp_path):
    shutil.copytree(Path(river_amf.__file__).parent, tmp_path / "river_amf")
    path = tmp_path / "river_amf" / "state" / "layout.py"
    for line, new in EDITS.items():
        path.write_text(path.read_text().replace(f"\n{line}", f"\n{new}\n{line}"))
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
    for line in run.stdout.splitlines():
        assert eval(line) == pytest.approx(model.predict_proba_one({"a": 1.0}), rel=1e-9)
    assert "has an array 'new_of_features', which" in error_of(tmp_path / "later.amf")


def test_array_is_dropped_only_if_a_table_names_it(path, monkeypatch):
    model = trained(STREAM[:50], n_estimators=2)
    header, arrays = parts_in(model, path)
    write_parts(path, header, arrays | {"old": np.zeros(3)})
    assert "has an array 'old', which this release does not have" in error_of(path)
    monkeypatch.setattr(layout, "DROPPED", {"old"})
    assert state_of(river_amf.load(path)) == state_of(model)
    assert adopted(arrays | {"old": np.zeros(3)}).keys() == arrays.keys()  # also of a pickle
