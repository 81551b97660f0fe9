"""Files that have been edited, and their checksum with them: what cannot be is said."""

import pickle
import subprocess
import sys
from pathlib import Path

import edits
import numpy as np
import pytest
from files import edited_error, parts_in, subprocess_env
from forests import answers, learn, trained

import river_amf
from river_amf import AdaptiveAMFClassifier, OnlineDummyClassifier
from river_amf.persistence import container


@pytest.mark.parametrize(
    "edit, what",
    [
        (lambda p, a: a["nodes"]["left"].__setitem__((0, 0), 10**6), "children"),
        (lambda p, a: a["nodes"]["left"].__setitem__((0, inner(a)), inner(a)), "links of nodes"),
        (lambda p, a: a["nodes"]["parent"].__setitem__((0, 1), 1), "links of nodes"),
        (lambda p, a: a["nodes"]["feature"].__setitem__((0, inner(a)), 3), "split features"),
        (lambda p, a: a["nodes"]["threshold"].__setitem__((0, inner(a)), np.nan), "thresholds"),
        (lambda p, a: a["nodes"]["odds"].__setitem__((0, inner(a)), np.nan), "odds"),
        (lambda p, a: a["nodes"]["split_time"].__setitem__((0, inner(a)), -1.0), "split times"),
        (lambda p, a: a["nodes"]["slot"].__setitem__((0, inner(a)), 10**6), "slots"),
        (lambda p, a: a["nodes"]["n_rows"].__setitem__((0, inner(a)), 1), "cannot be"),
        (lambda p, a: a["trees"]["root"].__setitem__(0, -7), "roots"),
        (lambda p, a: a["trees"]["n_nodes"].__setitem__(0, 10**6), "shape of nodes"),
        (lambda p, a: a["trees"]["key"].__setitem__(0, 2**40), "keys"),
        (lambda p, a: a["counts"].__setitem__((0, 0, 0), -1.0), "counts"),
        (lambda p, a: a["samples"]["label"].__setitem__(0, 2), "labels of samples"),
        (lambda p, a: a["links"].__setitem__((0, 0), 0), "lists of samples"),
        (lambda p, a: a["features"]["n_recent"].__setitem__(0, 65), "recent values"),
        (lambda p, a: a["rows"].__setitem__((0, 2), 2.0), "categories of samples"),
        (lambda p, a: a["rows"].__setitem__((0, 1), np.inf), "values of samples"),
        (lambda p, a: a["boxes"].__setitem__((0, 0, 0, 1), 1e9), "boxes"),
        (lambda p, a: a.pop("links"), "lists of samples"),
        (lambda p, a: a.update(pure=np.zeros(3)), "list of arrays"),
        (lambda p, a: a.update(counts=a["counts"].astype(int)), "type of counts"),
        (lambda p, a: a.update(bias=a["bias"][:-1]), "shape of bias"),
        (lambda p, a: a["counters"]["n_stored"].fill(3), "number of samples"),
        (lambda p, a: a["counters"]["n_rows"].fill(3), "shape of rows"),
        (lambda p, a: a["counters"]["n_rows"].fill(-1), "number of rows"),
        (lambda p, a: a["counters"]["newest_weight"].fill(0.0), "newest"),
        (lambda p, a: a["counters"]["newest_weight"].fill(np.nan), "weight of the newest"),
        (lambda p, a: a.update(counters=a["counters"][:0]), "shape of counters"),
        (lambda p, a: a.pop("counters"), "list of arrays"),
        (lambda p, a: p.pop("labels"), "cannot be"),
        (lambda p, a: p.pop("features"), "cannot be"),
        (lambda p, a: a.pop("trees"), "list of arrays"),
        (lambda p, a: a.update(trees=a["trees"][0].reshape(())), "number of trees"),
        (lambda p, a: a.update(samples=a["samples"].reshape(-1, 1)), "shape of samples"),
        (lambda p, a: p.update(more=1), "more"),
        (lambda p, a: p["parameters"].update(step=-1.0), "step must be"),
        (lambda p, a: p["parameters"].update(n_estimators=3), "number of trees"),
        (lambda p, a: p["parameters"].update(n_classes=1), "number of labels"),
        (lambda p, a: p["parameters"].update(pace=1.0), "unknown parameters ['pace']"),
        (lambda p, a: p["labels"].append(1), "appears twice"),
        (lambda p, a: p["labels"].append(None), "the label None"),
        (lambda p, a: p["labels"].append(["lambda", "1"]), "does not encode a value"),
        (lambda p, a: p["labels"].append({}), "an object in place of a value"),
        (lambda p, a: p["features"].append(["a", None]), "appears twice"),
        (lambda p, a: p["features"][0].append(1), "features are not a list"),
        (lambda p, a: p["features"].append(["d", []]), "a categorical feature has no categories"),
        (lambda p, a: p["labels"].append(["int8", 1.5]), "does not encode a value"),
        (lambda p, a: p["labels"].append(["int8", 1000]), "does not encode a value"),
        (lambda p, a: a.clear(), "labels without any trees"),
        (lambda p, a: (a.clear(), p["labels"].clear()), "features without any trees"),
    ],
)
def test_an_edited_model_says_what_cannot_be(path, edit, what):
    model = trained([*edits.samples(60)], n_estimators=2)
    header, arrays = parts_in(model, path)
    edit(header["model"], arrays)
    assert what in edited_error(path, header, arrays)


WORDS = [({"good": 2, "fine": 1}, "yes"), ({"bad": 1, "color": "red"}, "no")] * 9


@pytest.mark.parametrize(
    "edit, what",
    [
        (lambda p, a: a["words"]["column"].__setitem__(1, 9), "columns of words"),
        (lambda p, a: a["words"]["column"].__setitem__(1, -2), "columns of words"),
        (lambda p, a: a["words"]["column"].__setitem__(2, -1), "columns of words"),
        (lambda p, a: a["words"]["column"].__setitem__(0, -1), "columns of words"),
        (lambda p, a: a["words"]["uses"].__setitem__(1, -1), "uses of words"),
        (lambda p, a: a["words"]["weight"].__setitem__(1, np.nan), "numbers of words"),
        (lambda p, a: a["words"]["weight"].__setitem__(1, 0.0), "numbers of words"),
        (lambda p, a: a["words"]["squares"].__setitem__(1, -1.0), "squares of words"),
        (lambda p, a: a["word_sums"].__setitem__((1, 0), np.inf), "sums of words"),
        (lambda p, a: a["word_weights"].__setitem__((1, 0), np.nan), "weights of words"),
        (lambda p, a: a["word_squares"].__setitem__((1, 0), 0.0), "squared gradients of words"),
        (lambda p, a: a["counters"]["words_vote"].fill(np.nan), "vote of words"),
        (lambda p, a: a["counters"]["n_chosen"].fill(7), "number of chosen words"),
        (lambda p, a: a.update(words=a["words"][:-1]), "shape of words"),
        (lambda p, a: a.update(word_sums=a["word_sums"][:-1]), "shape of word_sums"),
        (lambda p, a: p.pop("words"), "shape of words"),
        (lambda p, a: p.update(words={}), "list with one feature"),
        (lambda p, a: p["words"].append("other"), "shape of words"),
        (lambda p, a: p["words"].__setitem__(0, "color"), "words, which are categories"),
        (lambda p, a: p["words"].__setitem__(1, "other"), "columns of words"),
        (lambda p, a: p["words"].__setitem__(0, p["words"][1]), "appears twice"),
    ],
)
def test_an_edited_model_of_words_says_what_cannot_be(path, edit, what):
    model = AdaptiveAMFClassifier(2, absent="zero", seed=1)
    for x, y in WORDS:
        model.learn_one(x, y)
    assert {"good", "color"} <= {*model._features}
    header, arrays = parts_in(model, path)
    edit(header["model"], arrays)
    assert what in edited_error(path, header, arrays)


@pytest.mark.parametrize(
    "undecided",
    [
        *(5, "ab", {}, [5], [["late"]], [["late", "x", 1]], [["late", 1]], [["late", None]]),
        *([["a", "x"]], [["late", ["float", "nan"]]], [["late", "x"], ["late", "y"]]),
    ],
    ids=str,
)
def test_features_of_an_open_kind_that_cannot_be_are_refused(path, undecided):
    model = trained([*edits.samples(60)], n_estimators=2, on_mismatch="missing")
    learn(model, [({"late": "x"}, True, 1.0)])
    header, arrays = parts_in(model, path)
    assert header["model"]["undecided"] == [["late", "x"]]
    header["model"]["undecided"] = undecided
    assert "is damaged" in edited_error(path, header, arrays)
    header["model"]["undecided"] = [["late", "x"]]
    header["model"]["parameters"]["on_mismatch"] = "raise"
    assert "undecided" in edited_error(path, header, arrays)


def test_arrays_that_a_file_lacks_are_as_before_anything_is_learnt(path):
    model = trained([*edits.samples(60)], n_estimators=2)
    header, arrays = parts_in(model, path)
    for name in ("bias", "faded", "moments", "buckets"):  # which this forest does not use
        del arrays[name]
    container.write(str(path), header, arrays)
    twin = river_amf.load(path)
    assert answers(twin) == answers(model)
    assert pickle.dumps(twin) == pickle.dumps(model)


@pytest.mark.parametrize("name", ["nodes", "counts"])
def test_a_small_file_does_not_make_large_arrays_by_what_it_lacks(path, name):
    header, arrays = parts_in(trained([*edits.samples(60)], n_estimators=2), path)
    header["model"]["parameters"]["n_classes"] = 10**9
    del arrays[name]
    arrays["trees"]["n_nodes"] = 2**30
    assert "list of arrays, without" in edited_error(path, header, arrays)


def inner(arrays):
    """Return an inner node of the first tree that is not its root."""
    nodes = arrays["nodes"][0]
    return int(np.flatnonzero((nodes["left"] >= 0) & (nodes["parent"] >= 0))[0])


def test_nodes_in_a_circle_are_refused(path):
    header, arrays = parts_in(trained([*edits.samples(60)], n_estimators=1), path)
    nodes, node = arrays["nodes"][0], inner(arrays)
    root, child = arrays["trees"]["root"][0], nodes["left"][node]
    # the node becomes a child of its own child: every link is mutual, yet they hang on no root
    below = np.flatnonzero((nodes["left"] >= 0) & (nodes["parent"] == node))
    if len(below):
        child = int(below[0])
    grandchild = nodes["left"][child]
    above = nodes["parent"][node]
    side = "left" if nodes["left"][above] == node else "right"
    nodes[side][above], nodes["parent"][grandchild] = grandchild, above
    nodes["left"][child], nodes["parent"][node] = node, child
    assert root != node and nodes["left"][child] == node
    assert "links of nodes" in edited_error(path, header, arrays)


def test_lists_that_share_a_tail_or_have_another_length_are_refused(path):
    header, arrays = parts_in(trained([*edits.samples(60)], n_estimators=1), path)
    keeping = np.flatnonzero(arrays["nodes"]["n_rows"][0] > 0)
    assert len(keeping) > 2
    first, second = keeping[:2]
    arrays["nodes"]["n_rows"][0, first] += 1
    assert "lengths of lists" in edited_error(path, header, arrays)
    arrays["nodes"]["n_rows"][0, first] -= 1
    arrays["nodes"]["slot"][0, first] = arrays["nodes"]["slot"][0, second]
    assert "lists of samples" in edited_error(path, header, arrays)


def test_a_tree_whose_budget_is_spent_keeps_no_samples(path):
    header, arrays = parts_in(trained([*edits.samples(60)], n_estimators=1), path)
    assert (arrays["nodes"]["n_rows"] > 0).any()
    header["model"]["parameters"]["max_nodes"] = int(arrays["trees"]["n_nodes"][0])
    assert "kept samples" in edited_error(path, header, arrays)


def test_an_edited_dummy_says_what_cannot_be(path):
    model = learn(OnlineDummyClassifier(n_classes=2), [({}, "a", 1.0), ({}, "b", 2.0)])
    for edit in (
        lambda p, a: a.update(counts=np.array([1.0])),
        lambda p, a: a.update(counts=np.array([1.0, -1.0])),
        lambda p, a: a.update(counts=np.array([1.0, np.nan])),
        lambda p, a: a.update(counts=np.array([1, 1])),
        lambda p, a: a.update(more=np.array([1])),
        lambda p, a: p.update(more=1),
        lambda p, a: p["labels"].append("c"),
    ):
        header, arrays = parts_in(model, path)
        edit(header["model"], arrays)
        assert "is damaged" in edited_error(path, header, arrays)


@pytest.mark.parametrize(
    ("n_edits", "parameters"),
    [
        pytest.param(
            60,
            {"kind": AdaptiveAMFClassifier, "restart_threshold": 0.01, "max_nodes": 41},
            marks=pytest.mark.slow,
        ),
        *(
            pytest.param(400, parameters, marks=pytest.mark.soak)
            for parameters in (
                {},
                {"kind": AdaptiveAMFClassifier, "restart_threshold": 0.01, "max_nodes": 41},
                {"kind": AdaptiveAMFClassifier, "split_pure": True, "n_classes": 3},
            )
        ),
    ],
)
def test_an_edited_file_is_refused_or_loads_a_model_that_works(path, n_edits, parameters):
    trained([*edits.samples(120)], n_estimators=2, **parameters).save(path)
    script, folder = str(Path(edits.__file__)), str(path.parent)
    command = [sys.executable, "-X", "faulthandler", script, str(path), folder, "7", str(n_edits)]
    result = subprocess.run(
        command, env=subprocess_env(), capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    n_refused, n_loaded = map(int, result.stdout.split())
    assert n_refused > n_edits / 4
    assert n_loaded > n_edits / 8
