"""Files that have been edited, and their checksums with them: what cannot be is refused."""

import numpy as np
import pytest
from files import edited_error, inner, parts_in, samples, targets, write_parts
from forests import STREAM, forests, learn, state_of, trained

import river_amf
from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor


def of_labels():
    return trained([*samples(60)], n_estimators=2)


def of_words():
    rows = [({"good": 2, "fine": 1}, "yes", 1.0), ({"bad": 1, "color": "red"}, "no", 1.0)] * 9
    return learn(AdaptiveAMFClassifier(2, absent="zero", seed=1), rows)


def of_targets():
    model = AMFRegressor(2, seed=42, fading_factor=0.5, split_intensity="relevance")
    return learn(model, targets(60))


def of_trends():
    return learn(AdaptiveAMFRegressor(2, seed=1), targets(60))


def of_late_labels():
    model = learn(AdaptiveAMFClassifier(2, seed=1), samples(60))
    model.predict_one({"a": 1.0})
    return model


def of_many_categories():
    xs = ({"a": i, "b": "pqrs"[i % 4], "c": "r", "session": f"{i}"} for i in range(99))
    return learn(AMFClassifier(3, seed=1, max_categories=5), ((x, x["a"] % 2) for x in xs))


def codes(change):
    def edit(header, arrays):
        (item,) = (item for item in header["features"] if item[0] == "session")
        item[2] = change(item[2])

    return edit


def put(array, part, place, value):
    """Return an edit that puts a value into a field of an array; a place may be a function."""

    def edit(header, arrays):
        where = place(arrays) if callable(place) else place
        (arrays[array][part] if part else arrays[array])[where] = value

    return edit


def first_inner(arrays):
    return 0, inner(arrays)


def circle(header, arrays):
    """Make a node a child of its own child: every link is mutual, yet they hang on no root."""
    nodes = arrays["nodes"][0]
    node = inner(arrays)
    child, above = nodes["left"][node], nodes["parent"][node]
    below = np.flatnonzero((nodes["left"] >= 0) & (nodes["parent"] == node))
    child = int(below[0]) if len(below) else child
    grandchild = nodes["left"][child]
    side = "left" if nodes["left"][above] == node else "right"
    nodes[side][above], nodes["parent"][grandchild] = grandchild, above
    nodes["left"][child], nodes["parent"][node] = node, child
    assert arrays["trees"]["root"][0] != node and nodes["left"][child] == node


def longer_list(header, arrays):
    keeping = np.flatnonzero(arrays["nodes"]["n_rows"][0] > 0)
    arrays["nodes"]["n_rows"][0, keeping[0]] += 1


def shared_list(header, arrays):
    nodes = arrays["nodes"][0]
    first, second = np.flatnonzero(nodes["n_rows"] > 0)[:2]
    nodes["box_or_row"][first] = nodes["box_or_row"][second]


def full_tree(header, arrays):
    header["parameters"]["max_nodes"] = int(arrays["trees"]["n_nodes"].max())


def large_default(header, arrays):
    header["parameters"]["n_classes"] = 10**9
    arrays["trees"]["n_nodes"] = 2**30
    del arrays["nodes"]


EDITS = {
    of_labels: [
        (put("nodes", "left", (0, 0), 10**6), "children"),
        (put("nodes", "left", first_inner, 0), "links of nodes"),
        (put("nodes", "parent", (0, 1), 1), "links of nodes"),
        (circle, "links of nodes"),
        (put("nodes", "feature", first_inner, 3), "split features"),
        (put("nodes", "box_or_row", first_inner, 10**6), "boxes of nodes"),
        (put("features", "n_recent", 0, 65), "n_recent of features"),
        (longer_list, "lengths of lists"),
        (shared_list, "lists of samples"),
        (full_tree, "kept samples"),
        (put("trees", "root", 0, -7), "roots"),
        (put("trees", "n_nodes", 0, 10**6), "shape of nodes"),
        (put("samples", "label", 0, 2), "labels of samples"),
        (put("links", None, (0, 0), 0), "lists of samples"),
        (put("counts", None, (0, 0, 0), np.nan), "counts of samples"),
        (put("nodes", "n_samples", (0, 0), 1e308), "counts of samples"),
        (put("stand_ins", None, 2, 1.0), "stand-ins for missing categories"),
        (put("limits", None, (1, 2), 0.0), "limits of outliers among categories"),
        (put("counters", "n_rows", 0, -1), "number of rows"),
        (put("counters", "typical_weight", 0, np.nan), "weights of recent samples"),
        (put("counters", "recent_weight", 0, -1.0), "weights of recent samples"),
        (large_default, "list of arrays, without"),
        (lambda p, a: a.pop("links"), "lists of samples"),
        (lambda p, a: a.pop("counters"), "list of arrays"),
        (lambda p, a: a.clear(), "labels or features without any trees"),
        (lambda p, a: a.update(counters=a["counters"][:0]), "is damaged: IndexError"),
        (lambda p, a: a.update(counts=a["counts"].astype("f4")), "counts must be"),
        (lambda p, a: p.pop("labels"), "cannot be"),
        (lambda p, a: p.update(more=1), "more"),
        (lambda p, a: p["parameters"].update(step=-1.0), "step must be"),
        (lambda p, a: p["parameters"].update(more=1), "its parameter 'more' cannot be right"),
        (lambda p, a: p["parameters"].update(n_estimators=3), "number of trees"),
        (lambda p, a: p["labels"].append(1), "some are equal"),
        (lambda p, a: p["labels"].append({}), "{} does not encode a value"),
        (lambda p, a: p["features"].append(["d", [], []]), "codes of categories"),
    ],
    of_words: [
        (put("words", "column", 1, 9), "columns of words"),
        (put("counters", "n_chosen", 0, 7), "number of chosen words"),
        (lambda p, a: p.pop("words"), "shape of words"),
        (lambda p, a: p["words"].__setitem__(0, "color"), "words, some of which are categories"),
        (lambda p, a: p["words"].__setitem__(0, p["words"][1]), "some are equal"),
    ],
    of_targets: [
        (lambda p, a: a.update(targets=a["targets"][:, :, :1]), "shape of targets"),
        (lambda p, a: p.pop("origin"), "trees without any origin of targets"),
        (lambda p, a: p.update(origin="5"), "origin '5', not a number"),
        (put("row_errors", "error_squares", 1, np.nan), "sums of squared errors"),
        (put("row_errors", "weight", 0, -1.0), "sums of squared errors"),
        (put("row_errors", "weight", 2, np.inf), "sums of squared errors"),
    ],
    of_many_categories: [
        (codes(lambda codes: [codes[0]] * len(codes)), "codes of categories"),
        (codes(lambda codes: [codes[0] - 6000, *codes[1:]]), "codes of categories"),
        (codes(lambda codes: [*map(float, codes)]), "codes of categories"),
        (lambda p, a: p["parameters"].update(max_categories=4), "number of categories"),
        (lambda p, a: p["parameters"].update(max_features=3), "number of features"),
    ],
    of_trends: [(put("standards", "n_values", (0, 0), -7), "n_values of features")],
    of_late_labels: [
        (put("pending", "n_known", 0, 3), "numbers in predictions"),
        (put("pending", "n_learned", 0, 61), "times of predictions"),
        (put("pending", "is_taken", 0, 2), "predictions"),
        (put("counters", "first_pending", 0, 1), "predictions"),
        (put("counters", "n_waiting", 0, 2), "number of predictions"),
        (put("counters", "n_since", 0, -1), "counters of predictions"),
        (put("counters", "plain_share", 0, 1.0), "share of plain trees"),
        (lambda p, a: a.update(pending_votes=a["pending_votes"][:, 1:]), "shape of pending_votes"),
    ],
}


@pytest.mark.parametrize(
    "make, edit, what", [(make, *row) for make, rows in EDITS.items() for row in rows]
)
def test_edited_model_is_refused(path, make, edit, what):
    header, arrays = parts_in(make(), path)
    edit(header["model"], arrays)
    assert what in edited_error(path, header, arrays)


def test_file_of_the_other_task_or_with_odd_notes_is_refused(path):
    header, arrays = parts_in(learn(AMFRegressor(), targets(9)), path)
    assert "notes, an object," in edited_error(path, header | {"notes": []}, arrays)
    assert "damaged" in edited_error(path, header | {"kind": "AMFClassifier"}, arrays)


@forests
def test_parameters_that_a_file_lacks_are_defaults(path, kind):
    model = learn(kind(), targets(60) if issubclass(kind, AMFRegressor) else STREAM[:60])
    header, arrays = parts_in(model, path)
    parameters = header["model"]["parameters"]
    for name, value in parameters.items():
        header["model"]["parameters"] = {n: v for n, v in parameters.items() if n != name}
        write_parts(path, header, arrays)
        twin, state = kind.__new__(kind), model.__getstate__()
        del state[name]
        twin.__setstate__(state)
        for loaded in (river_amf.load(path), twin):
            assert name == "seed" or getattr(loaded, name) == value
    write_parts(path, header | {"model": {}}, {})
    assert state_of(river_amf.load(path)) == state_of(kind())
