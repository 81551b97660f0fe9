"""Files that have been edited, and their checksum with them: what cannot be is said."""

import pickle

import edits
import numpy as np
import pytest
from edits import inner
from files import edited_error, parts_in, write_parts
from forests import STREAM, learn, trained, visits

import river_amf
from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
)
from river_amf.state.layout import FIELDS


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
        (lambda p, a: a["samples"]["label"].__setitem__(0, 2), "labels of samples"),
        (lambda p, a: a["links"].__setitem__((0, 0), 0), "lists of samples"),
        (lambda p, a: a["rows"].__setitem__((0, 2), 2.0), "categories of samples"),
        (lambda p, a: a["rows"].__setitem__((0, 1), np.inf), "values of samples"),
        (lambda p, a: a["stand_ins"].__setitem__(2, 1.0), "stand-ins for missing values"),
        (lambda p, a: a["stand_ins"].__setitem__(1, np.inf), "stand-ins for missing values"),
        (lambda p, a: a.pop("links"), "lists of samples"),
        (
            lambda p, a: a.update(bias=a["bias"][:-1]),
            "must be of float64 and, along ('word', 'class')",
        ),
        (lambda p, a: a["counters"]["n_stored"].fill(3), "number of samples"),
        (lambda p, a: a["counters"]["n_rows"].fill(-1), "number of rows"),
        (lambda p, a: a.update(counters=a["counters"][:0]), "the array counters must be"),
        (lambda p, a: a.pop("counters"), "list of arrays"),
        (lambda p, a: p.pop("labels"), "cannot be"),
        (lambda p, a: p.pop("features"), "cannot be"),
        (lambda p, a: a.pop("trees"), "list of arrays"),
        (lambda p, a: a.update(trees=a["trees"][0].reshape(())), "the array trees must be"),
        (lambda p, a: a.update(samples=a["samples"].reshape(-1, 1)), "array samples must be"),
        (lambda p, a: p.update(more=1), "more"),
        (lambda p, a: p.update(cautions=["more"]), "warnings given"),
        (lambda p, a: p.update(cautions="large"), "warnings given"),
        (lambda p, a: p["parameters"].update(step=-1.0), "step must be"),
        (lambda p, a: p["parameters"].update(n_estimators=10**6), "n_estimators must be"),
        (lambda p, a: p["parameters"].update(n_estimators=3), "number of trees"),
        (
            lambda p, a: p["parameters"].update(timescale=1.0),
            "its parameters must be an object with some of",
        ),
        (lambda p, a: p["labels"].append(1), "appears twice"),
        (lambda p, a: p["labels"].append(None), "label None, which means missing"),
        (lambda p, a: p["labels"].append({}), "{} does not encode a value"),
        (lambda p, a: p["features"].append(["a", None]), "appears twice"),
        (lambda p, a: p["features"][0].extend("ab"), "list of features"),
        (lambda p, a: p["features"].append(["d", []]), "is categorical and has no categories"),
        (lambda p, a: a.clear(), "labels without any trees"),
        (lambda p, a: (a.clear(), p["labels"].clear()), "features without any trees"),
    ],
)
def test_an_edited_model_says_what_cannot_be(path, edit, what):
    model = trained([*edits.samples(60)], n_estimators=2)
    header, arrays = parts_in(model, path)
    edit(header["model"], arrays)
    assert what in edited_error(path, header, arrays)


WORDS = [
    (lambda p, a: a["words"]["column"].__setitem__(1, 9), "columns of words"),
    (lambda p, a: a["words"]["column"].__setitem__(0, -1), "columns of words"),
    (lambda p, a: a["words"]["weight"].__setitem__(1, 0.0), "numbers of words"),
    (lambda p, a: a["counters"]["n_chosen"].fill(7), "number of chosen words"),
    (lambda p, a: a.update(words=a["words"][:-1]), "the array word_sums must be"),
    (lambda p, a: p.pop("words"), "shape of words"),
    (lambda p, a: p.update(words={}), "list with one feature"),
    (lambda p, a: p["words"].append("other"), "shape of words"),
    (lambda p, a: p["words"].__setitem__(0, "color"), "words, which are categories"),
    (lambda p, a: p["words"].__setitem__(0, p["words"][1]), "appears twice"),
]
TARGETS = [
    (lambda p, a: a["faded"].__setitem__((0, 0, 0), 1.0), "faded shares"),
    (lambda p, a: a.update(targets=a["targets"][:, :, :1]), "shape of targets"),
    (lambda p, a: a.update(counts=np.zeros((2, 1, 1))), "the array counts must be"),
    (lambda p, a: p.update(labels=["a"]), "entries ['labels'] cannot be"),
    (lambda p, a: p.pop("origin"), "trees without any origin of targets"),
    (lambda p, a: p.update(origin="5"), "origin '5', in place of a finite number"),
    (lambda p, a: p.update(origin=5), "origin 5, in place of a finite number"),
    (lambda p, a: p["parameters"].update(dirichlet=1.0), "'dirichlet': 1.0"),
]
SAMPLES = [({"good": 2, "fine": 1}, "yes", 1.0), ({"bad": 1, "color": "red"}, "no", 1.0)] * 9


def of_words():
    return learn(AdaptiveAMFClassifier(2, absent="zero", seed=1), SAMPLES)


def of_targets(n_samples=60):
    model = AMFRegressor(2, seed=42, fading_factor=0.5, split_intensity="relevance")
    return learn(model, edits.targets(n_samples))


@pytest.mark.parametrize(
    "make, edit, what",
    [*((of_words, *row) for row in WORDS), *((of_targets, *row) for row in TARGETS)],
)
def test_an_edited_model_of_words_or_targets_says_what_cannot_be(path, make, edit, what):
    header, arrays = parts_in(make(), path)
    edit(header["model"], arrays)
    assert what in edited_error(path, header, arrays)


@pytest.mark.parametrize("make", [of_words, of_targets, lambda: trained([*edits.samples(60)])])
def test_numbers_beyond_each_bound_of_the_table_are_refused(path, make):
    header, arrays = parts_in(make(), path)
    is_regression, n_bounds = make is of_targets, 0
    for name, array in arrays.items():
        field = FIELDS[name]
        bounds = field.of_targets if is_regression and field.of_targets else field.bounds
        for part, low, high in (row for row in bounds if array[row[0]].size):
            n_bounds, before = n_bounds + 1, array[part].copy()
            array[part] = np.nan if before.dtype.kind == "f" else np.array(-1).astype(before.dtype)
            error = edited_error(path, header, arrays)
            assert f"{name} must be from {low:.3g} to {high:.3g}" in error or "number of" in error
            array[part] = before
    assert n_bounds > 30


def test_a_file_that_names_the_other_task_is_refused(path):
    header, arrays = parts_in(learn(AMFRegressor(), edits.targets(9)), path)
    assert "damaged" in edited_error(path, header | {"kind": "AMFClassifier"}, arrays)


@pytest.mark.parametrize(
    "damage",
    [
        lambda item: item.__setitem__(2, item[2][:-1]),
        lambda item: item.__setitem__(2, [item[2][0]] * len(item[2])),
        lambda item: item.__setitem__(2, [item[2][0] - 6000, *item[2][1:]]),
        lambda item: item.__setitem__(2, [item[2][0] + 0.5, *item[2][1:]]),
        lambda item: item.__setitem__(2, None),
        lambda item: item.__setitem__(1, None),
        lambda item: item.pop(),
        lambda item: (item.clear(), item.extend(["session", [*range(6)]])),
    ],
)
def test_categories_that_cannot_be_are_refused(path, damage):
    model = AMFClassifier(n_estimators=3, seed=1, max_categories=5)
    header, arrays = parts_in(learn(model, visits(100)), path)
    (item,) = (item for item in header["model"]["features"] if item[0] == "session")
    damage(item)
    assert "categories cannot be right" in edited_error(path, header, arrays)


@pytest.mark.parametrize(
    "kind",
    [AMFClassifier, AdaptiveAMFClassifier, AMFRegressor, AdaptiveAMFRegressor],
)
def test_parameters_that_a_file_lacks_have_the_default_of_their_class(path, kind):
    is_regressor = issubclass(kind, AMFRegressor)
    model = learn(kind(), edits.targets(60) if is_regressor else STREAM[:60])
    header, arrays = parts_in(model, path)
    parameters = header["model"]["parameters"]
    for name, value in parameters.items():
        header["model"]["parameters"] = {n: v for n, v in parameters.items() if n != name}
        write_parts(path, header, arrays)
        assert name == "seed" or getattr(river_amf.load(path), name) == value
    del header["model"]["parameters"]
    write_parts(path, header, arrays)
    x = {"a": 0.5, "fine": 0.5}
    assert river_amf.load(path).predict_one(x) == model.predict_one(x)
    write_parts(path, header | {"model": {}}, {})
    assert pickle.dumps(river_amf.load(path)) == pickle.dumps(kind())


@pytest.mark.parametrize("name", ["nodes", "counts"])
def test_a_small_file_does_not_make_large_arrays_by_what_it_lacks(path, name):
    header, arrays = parts_in(trained([*edits.samples(60)], n_estimators=2), path)
    header["model"]["parameters"]["n_classes"] = 10**9
    del arrays[name]
    arrays["trees"]["n_nodes"] = 2**30
    assert "list of arrays, without" in edited_error(path, header, arrays)


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
