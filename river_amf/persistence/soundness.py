"""Checks of arrays from outside, before the kernels trust them.

Compiled code looks up nodes, boxes, rows and classes by the numbers that it finds in other nodes
and rows, without any checks: a single wrong link would make it read and write outside its arrays or
loop forever. So arrays from a file are checked once: every number that is an index, and that
numbers are finite where the kernels rely on it. Whether the numbers are right is not checked.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.kernels import NONE, UNLISTED
from river_amf.layout import (
    CHOSEN,
    CLASSIFICATION,
    COPIED,
    FADED_SHARE,
    FADED_SUM,
    FIELDS,
    N_RECENT,
    lengths_in_use,
    shapes,
)
from river_amf.persistence.errors import FileError
from river_amf.state import defaults
from river_amf.weights import LARGEST_WEIGHT

Array = NDArray[Any]
Record = Any

_LARGEST_COUNT = 2**62  # leaves an int64 counter room to go on
_ODDS_BOUND = 2.0**44 * kernels.LARGEST_ODDS  # with room for rounding
_ANY = kernels.LARGEST_FLOAT  # any finite number
_NEWEST_BOUND = 2 * kernels.LARGEST_NEWEST
_FEW_VOTES = 2**20
_FACTOR = 1e300  # up to this, products with counts and sums stay finite
_SMALL = 2**24  # bytes
_COLUMNS = "columns of words"
_SIZES = {"counters", "trees"}  # the arrays that hold the numbers of nodes, boxes and rows

# Fields that files of an earlier format lack, with the value they get: array -> field -> value. To
# add a field to a record of `layout`, increase container.FORMAT and name it here.
_OF_TARGETS = ("least_target", "largest_target", "target_weight", "target_mean", "target_squares")
_OF_ERRORS = ("fast_errors", "fast_weight", "slow_errors", "slow_weight")
ADDED: dict[str, dict[str, float]] = {
    "trees": dict.fromkeys(("n_restarts", "variance", "error_weight", "error_squares"), 0.0),
    "counters": dict.fromkeys(("n_chosen", "words_vote", *_OF_TARGETS, *_OF_ERRORS), 0.0)
    | {"newest_profile": 1.0},
}


def demand(is_sound: Any, what: str) -> None:
    """Raise FileError unless a part of a file, called `what` in the message, is sound.

    >>> demand(False, "links of nodes")
    Traceback (most recent call last):
    river_amf.persistence.errors.FileError: is damaged: its links of nodes cannot be right
    """
    if not is_sound:
        raise FileError(f"is damaged: its {what} cannot be right")


def lies(values: Array, low: float, high: float) -> bool:
    """Whether all values are numbers from `low` to `high`.

    >>> lies(np.array([0.0, 1.0]), 0, 1), lies(np.array([np.nan]), 0, 1)
    (True, False)
    """
    return bool(((values >= low) & (values <= high)).all())


def fitted(name: str, array: Array) -> Array:
    """Return an array in the current dtype, adding the fields that earlier formats lack.

    >>> fitted("counts", np.zeros(3)).dtype
    dtype('float64')
    """
    dtype = np.dtype(FIELDS[name].dtype)
    if array.dtype == dtype:
        return array
    added = ADDED.get(name, {})
    demand(dtype.names and array.dtype.names, f"type of {name}")
    kept = [field for field in dtype.names or () if field not in added]
    names = set(array.dtype.names or ())
    demand(set(kept) <= names <= set(dtype.names or ()), f"fields of {name}")
    result = np.empty(array.shape, dtype)
    for field in dtype.names or ():
        if field not in names:
            result[field] = added[field]
        else:
            demand(array.dtype[field] == dtype[field], f"type of {field} in {name}")
            result[field] = array[field]
    return result


def whole(arrays: dict[str, Array], own: dict[str, Array]) -> dict[str, Array]:
    """Return all arrays of a forest: its own, those of a file, and defaults for any others."""
    may_be_there = set(COPIED) - own.keys()
    demand(_SIZES <= arrays.keys() <= may_be_there, "list of arrays")
    there = {name: fitted(name, array) for name, array in (arrays | own).items()}
    if "intensity" in there and there["intensity"].ndim == 1:  # before format 5, for one aim
        there["intensity"] = there["intensity"][np.newaxis]
    _check_sizes(there)
    lengths = lengths_in_use(*(there[name] for name in ("settings", "counters", "trees")))
    absent = [name for name in COPIED if name not in there]
    n_bytes = sum(array.nbytes for array in there.values())
    wanted = shapes(lengths)
    n_absent = sum(
        math.prod(wanted[name]) * np.dtype(FIELDS[name].dtype).itemsize for name in absent
    )
    # the defaults must not be much larger than the file, or a small one could exhaust the memory
    demand(n_absent <= max(_SMALL, 4 * n_bytes), f"list of arrays, without {', '.join(absent)},")
    there |= defaults(lengths, absent)
    return {name: there[name] for name in COPIED}


def _check_sizes(arrays: dict[str, Array]) -> None:
    """Check the numbers of trees, nodes, boxes and rows."""
    counters, trees = arrays["counters"], arrays["trees"]
    demand(trees.ndim == 1 and len(trees) > 0, "number of trees")
    demand(counters.shape == (1,), "shape of counters, which should be (1,),")
    demand(counters["n_rows"][0] >= 0, "number of rows")
    demand((trees["n_nodes"] >= 0).all(), "numbers of nodes")
    demand((trees["n_boxes"] >= 0).all(), "numbers of boxes")


def check(arrays: dict[str, Array], next_codes: list[int | None]) -> None:
    """Raise FileError if the kernels could not work on the arrays of a forest.

    >>> from river_amf import AMFClassifier
    >>> model = AMFClassifier()
    >>> model.learn_one({"length": 2.5}, "short")
    >>> arrays = model._arena.used_arrays()
    >>> check(arrays, [None])
    >>> arrays["nodes"]["feature"] = 5
    >>> check(arrays, [None])
    Traceback (most recent call last):
    river_amf.persistence.errors.FileError: is damaged: its split features cannot be right
    """
    # The settings are trusted: they follow from the parameters of the model, its labels and its
    # features. `next_codes` has None for a numeric feature, else a bound on codes of categories.
    _check_shapes(arrays)
    _check_trees(arrays)
    _check_features(arrays)
    _check_voices(arrays)
    _check_rows(arrays, next_codes)
    for t in range(len(arrays["trees"])):
        tree = arrays["trees"][t]
        nodes = arrays["nodes"][t, : tree["n_nodes"]]
        _check_links(nodes, int(tree["root"]))
        _check_splits(nodes, len(next_codes))
        _check_counts(arrays, t)
        _check_boxes(arrays["boxes"][t, : tree["n_boxes"]], nodes)
        _check_lists(arrays, t)


def _check_shapes(arrays: dict[str, Array]) -> None:
    _check_sizes(arrays)
    lengths = lengths_in_use(arrays["settings"], arrays["counters"], arrays["trees"])
    for name, shape in shapes(lengths).items():
        if name in arrays:
            demand(arrays[name].shape == shape, f"shape of {name}, which should be {shape},")
    # Votes take a number per tree and class. With nodes, the counts in the file take as many.
    n_votes = lengths["tree"] * lengths["class"]
    demand(lengths["node"] > 0 or n_votes <= _FEW_VOTES, "number of empty trees")


def _check_trees(arrays: dict[str, Array]) -> None:
    settings, trees = arrays["settings"][0], arrays["trees"]
    n_nodes = trees["n_nodes"]
    demand(lies(n_nodes, 0, settings["max_nodes"]), "numbers of nodes")
    demand(lies(trees["n_boxes"], 0, n_nodes.max()), "numbers of boxes")
    is_empty = n_nodes == 0
    demand(((trees["root"] == NONE) == is_empty).all(), "roots")
    demand(lies(trees["root"][~is_empty], 0, np.inf), "roots")
    demand((trees["root"] < np.maximum(n_nodes, 1)).all(), "roots")
    demand((trees["key"] < 2**32).all(), "keys of trees")
    demand(lies(trees["faded_share"], 0, 1), "shares of trees")
    demand(lies(trees["vote_weight"], -_FACTOR, _FACTOR), "votes of trees")
    demand(lies(trees["n_heard"], 0, _LARGEST_COUNT), "numbers of predictions heard")
    demand(lies(trees["n_restarts"], 0, _LARGEST_COUNT), "numbers of restarts")
    for name in ("recent_loss", "usual_loss"):
        demand(lies(trees[name], -_ANY, _ANY), "losses of trees")
    demand(lies(arrays["bias"], -_FACTOR, _FACTOR), "biases of labels")


def _check_features(arrays: dict[str, Array]) -> None:
    features = arrays["features"]
    demand(lies(arrays["intensity"], 0, _ANY), "split intensities")
    check_statistics(features)
    is_kept = np.arange(N_RECENT) < features["n_recent"][:, np.newaxis]
    demand(lies(arrays["recent"][is_kept], -_ANY, _ANY), "recent values")
    demand(lies(arrays["uses"], 0, _LARGEST_COUNT), "uses of categories")
    demand(lies(arrays["moments"], -_ANY, _ANY), "moments of features")
    if arrays["settings"]["task"][0] == CLASSIFICATION:
        demand(lies(arrays["buckets"], 0, _ANY), "buckets of features")
    demand(_are_ranges(arrays["ranges"], _ANY), "ranges")
    demand(_are_ranges(arrays["limits"], np.inf), "limits of outliers")


def check_statistics(features: Array) -> None:
    """Raise FileError unless the kernels could work on the statistics of features.

    >>> check_statistics(np.zeros(2, FIELDS["features"].dtype))
    """
    demand(lies(features["n_recent"], 0, N_RECENT), "numbers of recent values")
    for name in features.dtype.names or ():
        demand(lies(features[name], -_ANY, _ANY), f"{name} of features")
    demand(lies(features["relevance"], 0, 1), "relevance of features")


def _check_voices(arrays: dict[str, Array]) -> None:
    standards, voices, cosines = arrays["standards"], arrays["voices"], arrays["cosines"]
    demand(lies(standards["n_values"], 0, _LARGEST_COUNT), "numbers of standardised values")
    demand(lies(standards["mean"], -_ANY, _ANY), "means of features")
    demand(lies(standards["variance"], 0, _ANY), "variances of features")
    demand(lies(voices["vote_weight"], -_FACTOR, _FACTOR), "votes of linear models")
    demand(lies(voices["n_learned"], 0, _LARGEST_COUNT), "samples of linear models")
    for name in ("voice_weights", "category_weights"):
        demand(lies(arrays[name], -_FACTOR, _FACTOR), "weights of linear models")
    for name in ("voice_squares", "category_squares"):
        is_sound = (arrays[name] > 0).all() and lies(arrays[name], 0, _FACTOR)
        demand(is_sound, "squared gradients of linear models")
    demand(lies(cosines[:, 0], -1, 1), "means of cosines")
    demand(lies(cosines[:, 1], 0, 1), "variances of cosines")


def check_words(arrays: dict[str, Array], columns: Array) -> None:
    """Raise FileError unless words have the columns of their features, by slot.

    >>> arrays = {"words": np.ones(1, FIELDS["words"].dtype)}
    >>> check_words(arrays, np.zeros(1, np.int64))
    Traceback (most recent call last):
    river_amf.persistence.errors.FileError: is damaged: its columns of words cannot be right
    """
    words = arrays["words"]
    is_chosen = words["column"] == CHOSEN
    demand((words["column"] == np.where(is_chosen, CHOSEN, columns)).all(), _COLUMNS)
    demand((columns[is_chosen] == 0).all() and columns[0] == 0 and not is_chosen[0], _COLUMNS)
    demand(arrays["counters"]["n_chosen"][0] == is_chosen.sum(), "number of chosen words")
    demand(lies(arrays["counters"]["words_vote"], -_FACTOR, _FACTOR), "vote of words")
    demand(lies(words["uses"], 0, _LARGEST_COUNT), "uses of words")
    demand(lies(words["weight"], 0, _FACTOR), "numbers of words")
    demand(lies(words["squares"], 0, _FACTOR), "squares of words")
    demand((words["weight"][words["squares"] > 0] > 0).all(), "numbers of words")
    demand(lies(arrays["word_sums"], -_FACTOR, _FACTOR), "sums of words")
    demand(lies(arrays["word_weights"], -_FACTOR, _FACTOR), "weights of words")
    is_sound = (arrays["word_squares"] > 0).all() and lies(arrays["word_squares"], 0, _FACTOR)
    demand(is_sound, "squared gradients of words")


def _are_ranges(ends: Array, largest: float) -> bool:
    """Whether two rows are the ends of ranges, both NaN where there is none."""
    low, high = ends
    is_range = (low >= -largest) & (low <= high) & (high <= largest)
    return bool((is_range | (np.isnan(low) & np.isnan(high))).all())


def _check_rows(arrays: dict[str, Array], next_codes: list[int | None]) -> None:
    settings, counters = arrays["settings"][0], arrays["counters"][0]
    samples, rows = arrays["samples"], arrays["rows"]
    demand(0 <= len(samples) <= counters["n_stored"] <= _LARGEST_COUNT, "number of samples")
    demand(1 <= counters["newest_weight"] <= _NEWEST_BOUND, "weight of the newest sample")
    demand(lies(samples["label"], 0, settings["n_labels"] - 1), "labels of samples")
    demand((samples["weight"] > 0).all(), "weights of samples")
    demand(lies(samples["weight"], 0, LARGEST_WEIGHT), "weights of samples")
    demand(lies(samples["number"], 0, counters["n_stored"] - 1), "numbers of samples")
    for column, next_code in enumerate(next_codes):
        values = rows[:, column]
        values = values[~np.isnan(values)]
        if next_code is None:
            demand(lies(values, -_ANY, _ANY), "values of samples")
        else:
            is_code = (values == np.floor(values)).all() and lies(values, 0, next_code - 1)
            demand(is_code, "categories of samples")


def _check_links(nodes: Array, root: int) -> None:
    """Check that the nodes form one binary tree."""
    n_nodes = len(nodes)
    if n_nodes == 0:
        return
    left, right, parent = (nodes[name].astype(np.intp) for name in ("left", "right", "parent"))
    inner = np.flatnonzero(left != NONE)
    children = np.concatenate([left[inner], right[inner]])
    demand(((left == NONE) == (right == NONE)).all(), "children of nodes")
    demand(lies(children, 0, n_nodes - 1), "children of nodes")
    n_parents = np.bincount(children, minlength=n_nodes)
    n_parents[root] += 1
    demand((n_parents == 1).all() and parent[root] == NONE, "links of nodes")
    demand((parent[children] == np.tile(inner, 2)).all(), "links of nodes")
    # Each node has one parent, so they form a tree unless some are in a cycle.
    above = parent
    above[root] = root
    for _ in range(n_nodes.bit_length()):  # goes twice as far up each time
        if (above == root).all():
            return
        above = above[above]
    demand((above == root).all(), "links of nodes")


def _check_splits(nodes: Array, n_features: int) -> None:
    is_leaf = nodes["left"] == NONE
    leaves, inner = nodes[is_leaf], nodes[~is_leaf]
    demand(lies(inner["feature"], 0, n_features - 1), "split features")
    demand((leaves["feature"] == NONE).all(), "split features")
    demand(lies(inner["threshold"], -_ANY, _ANY), "thresholds")
    is_below = inner["parent"] != NONE
    times = np.zeros(len(inner))
    times[is_below] = nodes["split_time"][inner["parent"][is_below]]
    demand((inner["split_time"] >= times).all(), "split times")
    demand((leaves["split_time"] == kernels.NEVER).all(), "split times")
    demand(lies(inner["odds"], 1 / _ODDS_BOUND, _ODDS_BOUND), "odds of nodes")
    scale = inner["odds_scale"]
    demand(lies(scale, -_FACTOR, _FACTOR) and (scale == np.floor(scale)).all(), "odds of nodes")


def _check_counts(arrays: dict[str, Array], t: int) -> None:
    """Check the weights in the nodes of a tree, and their counts of labels."""
    n_nodes = arrays["trees"]["n_nodes"][t]
    demand(lies(arrays["nodes"]["n_samples"][t, :n_nodes], 0, _ANY), "counts")
    demand(lies(arrays["counts"][t, :n_nodes], 0, _ANY), "counts")
    faded = arrays["faded"][t, :n_nodes]
    if faded.shape[1]:
        share = faded[:, FADED_SHARE]
        demand(((share > 0) & (share < 1)).all(), "faded shares")
        demand(lies(faded[:, FADED_SUM], 0, _ANY), "faded counts")
    if arrays["settings"]["task"][0] == CLASSIFICATION:
        demand(lies(faded, 0, _ANY), "faded counts")


def _check_boxes(boxes: Array, nodes: Array) -> None:
    """Check the boxes, and that each belongs to exactly one node that keeps no samples."""
    slots = nodes["slot"][nodes["n_rows"] == 0]
    demand(lies(slots, 0, len(boxes) - 1), "slots of boxes")
    demand((np.bincount(slots, minlength=len(boxes)) == 1).all(), "slots of boxes")
    demand(_are_ranges(boxes.swapaxes(0, 1), _ANY), "boxes")


def _check_lists(arrays: dict[str, Array], t: int) -> None:
    """Check the lists of rows that the leaves of a tree keep, from the newest to the oldest."""
    settings, tree, links = arrays["settings"][0], arrays["trees"][t], arrays["links"][t]
    nodes = arrays["nodes"][t, : tree["n_nodes"]]
    keeping = nodes[nodes["n_rows"] != 0]
    listed = np.flatnonzero(links != UNLISTED)
    demand((keeping["n_rows"] > 0).all(), "numbers of kept samples")
    demand((keeping["left"] == NONE).all(), "nodes that keep samples")
    splits_late = not settings["split_pure"] and tree["n_nodes"] + 2 <= settings["max_nodes"]
    demand(splits_late or len(keeping) == 0, "kept samples")
    demand(lies(links, UNLISTED, len(links) - 1), "lists of samples")
    following = links[listed]
    demand((following < listed).all(), "lists of samples")  # so no list has a cycle
    heads = keeping["slot"]
    demand(lies(heads, 0, len(links) - 1), "lists of samples")
    times = np.bincount(np.concatenate([heads, following[following != NONE]]), minlength=len(links))
    demand((times == (links != UNLISTED)).all(), "lists of samples")
    demand((_lengths(links)[heads] == keeping["n_rows"]).all(), "lengths of lists of samples")


def _lengths(links: Array) -> NDArray[np.int64]:
    """Return the length of the list that starts at each row."""
    end = len(links)
    following = np.append(np.where(links >= 0, links, end), end)
    lengths = np.ones(end + 1, np.int64)
    lengths[end] = 0
    while (following != end).any():  # the steps double each time
        lengths += lengths[following]
        following = following[following]
    return lengths
