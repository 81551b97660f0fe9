"""Checks of arrays from outside, before the kernels trust them (DESIGN.md: the arena).

A wrong index would make compiled code read and write outside its arrays or loop forever.
"""

import math
import sys
from typing import Any

import numpy as np
from numpy.lib.recfunctions import require_fields

from river_amf.inputs.kinds import shown
from river_amf.kernels import NONE, UNLISTED
from river_amf.state import layout
from river_amf.state.arena import defaults
from river_amf.state.layout import COPIED, FIELDS, Array

_SMALL = 2**24  # bytes


class FileError(ValueError):
    """Raised if a file cannot be loaded; the message names the problem.

    >>> issubclass(FileError, ValueError)
    True
    """


def require(is_sound: Any, what: str) -> None:
    """Raise FileError unless a part of a file, called `what` in the message, is sound."""
    if not is_sound:
        raise FileError(f"is damaged: its {what} cannot be right")


def _all_between(values: Array, low: float, high: float) -> bool:
    return values.size == 0 or bool(values.min() >= low and values.max() <= high)


def adopted(arrays: dict[str, Array]) -> dict[str, Array]:
    """Return copies of saved arrays in the form of this release, or raise FileError."""
    fields, result = {name: FIELDS[name] for name in COPIED}, {}
    for name in (name for name in arrays if name not in layout.DROPPED):
        if name not in fields:
            raise FileError(f"has an array {shown(name)}, which this release does not have")
        array, axes, dtype = arrays[name], fields[name].axes, np.dtype(fields[name].dtype)
        if array.ndim != len(axes) or not {*array.dtype.descr} <= {*dtype.descr}:
            got = f"it has {array.dtype} and the shape {shown(array.shape)}"
            raise FileError(f"is damaged: {name} must be {dtype} with the axes {axes}, but {got}")
        is_older = array.dtype != dtype  # new fields of its records are 0
        result[name] = require_fields(array, dtype) if is_older else array.astype(dtype)
    return result


def whole(arrays: dict[str, Array], derived: dict[str, Array]) -> dict[str, Array]:
    """Return all arrays of a forest: derived ones, arrays of a file, and defaults."""
    require({"counters", "trees"} <= arrays.keys() and len(arrays["trees"]), "list of arrays")
    settings, counters = derived["settings"], arrays["counters"]
    settings["n_cosines"] = layout.n_cosines_of(settings, int(counters["n_learned"][0]))
    lengths = layout.lengths_in_use(settings, counters, arrays["trees"])
    require(min(lengths.values()) >= 0, "number of rows, nodes or boxes")
    shapes, arrays = layout.shapes(lengths), arrays | derived
    absent = [name for name in COPIED if name not in arrays]
    # the defaults must not be much larger than the file, or a small one could exhaust the memory
    n_absent = sum(math.prod(shapes[name]) * FIELDS[name].itemsize for name in absent)
    n_bytes = sum(array.nbytes for array in arrays.values())
    require(n_absent <= max(_SMALL, 4 * n_bytes), f"list of arrays, without {', '.join(absent)},")
    for name, array in arrays.items():
        require(array.shape == shapes[name], f"shape of {name}, which should be {shapes[name]},")
    return arrays | defaults(lengths, absent)


def check(arrays: dict[str, Array], columns: Array) -> None:
    """Raise FileError if the kernels could not work on the arrays of a forest."""
    # The settings are trusted: they follow from the parameters of the model, its labels and its
    # features. `columns` has the columns of words, by index (`Schema.columns_by_index`).
    settings, trees, samples = arrays["settings"][0], arrays["trees"], arrays["samples"]
    require(_all_between(samples["label"], 0, settings["n_labels"] - 1), "labels of samples")
    _check_features(arrays, columns)
    is_classifier = not settings["is_regression"]
    task = layout.CLASSIFICATION if is_classifier else layout.REGRESSION
    most = 2.0 * layout.LARGEST_TOTALS[task]  # as sums are rounded
    faded = arrays["faded"][:, :, layout.FADED_SUM : None if is_classifier else layout.FADED_COUNTS]
    sums = arrays["nodes"]["n_samples"], arrays["counts"], faded
    require(all(_all_between(array, 0.0, most) for array in sums), "counts of samples")
    weights = np.array([arrays["counters"][0][f"{name}_weight"] for name in ("recent", "typical")])
    require(_all_between(weights, 0.0, sys.float_info.max), "weights of recent samples")
    errors = arrays["row_errors"].view(np.float64)
    require(_all_between(errors, 0.0, sys.float_info.max), "sums of squared errors")
    _check_pending(arrays["pending"], arrays["counters"][0], settings, is_classifier)
    n_nodes, roots = trees["n_nodes"], trees["root"]
    require(n_nodes.max() <= settings["max_nodes"], "numbers of nodes")
    require(np.where(n_nodes > 0, (roots >= 0) & (roots < n_nodes), roots == NONE).all(), "roots")
    for t, tree in enumerate(trees):
        nodes = arrays["nodes"][t, : tree["n_nodes"]]
        if len(nodes):
            _check_links(nodes, int(tree["root"]))
        split_by, are_leaves = nodes["feature"], nodes["left"] == NONE
        is_sound = _all_between(split_by[~are_leaves], 0, settings["n_features"] - 1)
        require(is_sound and (split_by[are_leaves] == NONE).all(), "split features")
        boxes = np.sort(nodes["box_or_row"][nodes["n_rows"] == 0])
        require(np.array_equal(boxes, np.arange(tree["n_boxes"])), "boxes of nodes")
        _check_lists(arrays["links"][t], nodes, settings)


def _check_pending(pending: Array, counters: Any, settings: Any, is_classifier: bool) -> None:
    most = settings["n_labels"] if is_classifier else layout.OF_VOTER
    require(_all_between(pending["n_known"], 1, most), "numbers in predictions")
    are_taken = _all_between(pending["is_taken"], 0, 1)
    require(are_taken and counters["first_pending"] == 0, "predictions")
    require(_all_between(pending["n_learned"], 0, counters["n_learned"]), "times of predictions")
    require(counters["n_waiting"] == (pending["is_taken"] == 0).sum(), "number of predictions")
    names = "n_since", "expected_delay", "n_missed", "n_lost"
    numbers = np.array([counters[name] for name in names])
    require(_all_between(numbers, 0, 2**62), "counters of predictions")
    require(0.0 <= counters["plain_share"] < 1.0, "share of plain trees")


def _check_features(arrays: dict[str, Array], columns: Array) -> None:
    n_recent = arrays["features"]["n_recent"]
    require(_all_between(n_recent, 0, layout.N_RECENT), "n_recent of features")
    # the first values of a number become edges of its bins
    require(_all_between(arrays["standards"]["n_values"], 0, 2**62), "n_values of features")
    numbers, n_labels = arrays["input_numbers"], arrays["settings"][0]["n_labels"]
    are_inputs = layout.are_inputs(
        arrays["is_categorical"][: len(numbers)], n_labels, numbers.shape[1]
    )
    in_order = np.sort(numbers[are_inputs])
    is_sound = np.array_equal(are_inputs, numbers >= 0)
    require(is_sound and np.array_equal(in_order, np.arange(len(in_order))), "numbers of inputs")
    # Kernels replace missing categories by stand-ins and clip values at limits, and turn the codes
    # of categories into indices.
    is_category = arrays["is_categorical"].astype(bool)
    stand_ins, limits = arrays["stand_ins"][is_category], arrays["limits"][:, is_category]
    is_sound = (stand_ins == layout.MISSING_CODE) | np.isnan(stand_ins)
    require(is_sound.all(), "stand-ins for missing categories")
    require(np.isnan(limits).all(), "limits of outliers among categories")
    word_columns = arrays["words"]["column"]
    is_chosen = word_columns == layout.CHOSEN
    require((np.where(is_chosen, 0, word_columns) == columns).all(), "columns of words")
    require(not columns[:1].any() and not is_chosen[:1].any(), "columns of words")  # the constant
    require(arrays["counters"]["n_chosen"][0] == is_chosen.sum(), "number of chosen words")


def _check_links(nodes: Array, root: int) -> None:
    left, right, parent = (nodes[name].astype(np.intp) for name in ("left", "right", "parent"))
    inner = np.flatnonzero(left != NONE)
    children = np.concatenate([left[inner], right[inner]])
    are_pairs = ((left == NONE) == (right == NONE)).all()
    require(are_pairs and _all_between(children, 0, len(nodes) - 1), "children of nodes")
    n_parents = np.bincount(children, minlength=len(nodes))
    n_parents[root] += 1
    are_mutual = (parent[children] == np.tile(inner, 2)).all() and parent[root] == NONE
    require(are_mutual and (n_parents == 1).all(), "links of nodes")
    # Each node has one parent, so they form a tree unless some are in a cycle.
    parent[root] = root
    for _ in range(len(nodes).bit_length()):  # goes twice as far up each time
        parent = parent[parent]
    require((parent == root).all(), "links of nodes")


def _check_lists(links: Array, nodes: Array, settings: Any) -> None:
    """Check the lists of rows that the leaves of a tree keep, from the newest to the oldest."""
    keeping, end = nodes[nodes["n_rows"] != 0], len(links)
    heads, is_listed = keeping["box_or_row"], links != UNLISTED
    are_leaves = (keeping["n_rows"] > 0).all() and (keeping["left"] == NONE).all()
    splits_late = not settings["split_pure"] and len(nodes) + 2 <= settings["max_nodes"]
    require(are_leaves and (splits_late or len(keeping) == 0), "number of kept samples")
    are_rows = _all_between(links, UNLISTED, end - 1) and _all_between(heads, 0, end - 1)
    require(are_rows, "lists of samples")
    following = links[is_listed]
    times = np.bincount(np.concatenate([heads, following[following != NONE]]), minlength=end)
    has_no_cycle = (following < np.flatnonzero(is_listed)).all()
    require(has_no_cycle and (times == is_listed).all(), "lists of samples")
    # the length of the list that starts at each row; the steps double each time
    following = np.append(np.where(links >= 0, links, end), end)
    lengths = np.append(np.ones(end, np.int64), 0)
    while (following != end).any():
        lengths, following = lengths + lengths[following], following[following]
    require((lengths[heads] == keeping["n_rows"]).all(), "lengths of lists of samples")
