"""Checks of arrays from outside, before the kernels trust them.

A single wrong index would make compiled code read and write outside its arrays or loop forever. So
arrays from a file are checked once: every number that is an index, and all others against their
bounds (`layout.FIELDS`). Whether the numbers are right is not checked.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.kernels import NONE, UNLISTED
from river_amf.state import layout
from river_amf.state.arena import Arena, defaults
from river_amf.state.layout import COPIED, FIELDS

Array = NDArray[Any]

_ODDS_BOUND = 2.0**44 * kernels.LARGEST_ODDS  # with room for rounding
_ANY = kernels.LARGEST_FLOAT  # any finite number
_FEW_VOTES = 2**20
_SMALL = 2**24  # bytes


class FileError(ValueError):
    """Raised if a file cannot be loaded; the message says what is wrong with it.

    >>> import io, river_amf
    >>> river_amf.load(io.BytesIO(b"not a model"))
    Traceback (most recent call last):
    ...
    river_amf.persistence.validation.FileError: the BytesIO is not a river_amf file ...
    """


def require(is_sound: Any, what: str) -> None:
    """Raise FileError unless a part of a file, called `what` in the message, is sound."""
    if not is_sound:
        raise FileError(f"is damaged: its {what} cannot be right")


def _lies(values: Array, low: float, high: float) -> bool:
    """Whether all values are numbers from `low` to `high`."""
    return values.size == 0 or bool(values.min() >= low and values.max() <= high)


def _are_ranges(ends: Array, largest: float) -> bool:
    """Whether two rows are the ends of ranges, both NaN where there is none."""
    low, high = ends
    is_range = (low >= -largest) & (low <= high) & (high <= largest)
    return bool((is_range | (np.isnan(low) & np.isnan(high))).all())


def whole(arrays: dict[str, Array], own: dict[str, Array]) -> dict[str, Array]:
    """Return all arrays of a forest: its own, those of a file, and defaults for any others."""
    is_list = {"counters", "trees"} <= arrays.keys() <= {*COPIED} - own.keys()
    require(is_list and len(arrays["trees"]), "list of arrays, or number of trees,")
    lengths = layout.lengths_in_use(own["settings"], arrays["counters"], arrays["trees"])
    require(min(lengths.values()) >= 0, "number of rows, nodes or boxes")
    shapes, arrays = layout.shapes(lengths), arrays | own
    absent = [name for name in COPIED if name not in arrays]
    # the defaults must not be much larger than the file, or a small one could exhaust the memory
    n_absent = sum(math.prod(shapes[name]) * FIELDS[name].itemsize for name in absent)
    n_bytes = sum(array.nbytes for array in arrays.values())
    require(n_absent <= max(_SMALL, 4 * n_bytes), f"list of arrays, without {', '.join(absent)},")
    for name, array in arrays.items():
        require(array.shape == shapes[name], f"shape of {name}, which should be {shapes[name]},")
    _check_bounds(arrays)
    # Votes take a number per tree and class. With nodes, the counts in the file take as many.
    n_votes = lengths["tree"] * lengths["class"]
    require(lengths["node"] > 0 or n_votes <= _FEW_VOTES, "number of empty trees")
    arrays |= defaults(lengths, absent)
    return {name: arrays[name] for name in COPIED}


def _check_bounds(arrays: dict[str, Array]) -> None:
    """Check all numbers that have bounds in the table of arrays."""
    is_regression = arrays["settings"]["task"][0] == layout.REGRESSION
    for name, array in arrays.items():
        field = FIELDS[name] if name in FIELDS else layout.PENDING_FIELDS[name]
        bounds, of_targets = field.bounds, field.of_targets
        for part, low, high in of_targets if is_regression and of_targets else bounds:
            if not _lies(array[part], low, high):
                what = f"{part} of {name}" if isinstance(part, str) else name
                raise FileError(f"is damaged: {what} must be from {low:.3g} to {high:.3g}")


def check_pending(arrays: dict[str, Array], arena: Arena | None) -> None:
    """Raise FileError for predictions that cannot be those of a forest."""
    require(arena is not None and arrays.keys() == layout.PENDING_FIELDS.keys(), "predictions")
    assert arena is not None
    keys, lengths, votes, made_by = (arrays[name] for name in layout.PENDING_FIELDS)
    n_labels, n_learned = arena.settings["n_labels"][0], arena.counters["n_learned"][0]
    n_votes = n_labels if arena.task == layout.CLASSIFICATION else layout.OF_VOTER
    _check_bounds(arrays | {"settings": arena.settings})
    require(_lies(lengths, 0, len(keys)) and lengths.sum() == len(keys), "keys of predictions")
    require(0 < len(lengths) <= arena.settings["max_pending"][0], "number of predictions")
    learned, known = made_by[:, layout.N_LEARNED], made_by[:, layout.N_KNOWN]
    require(_lies(learned, 1, n_learned) and (learned % 1 == 0).all(), "times of predictions")
    is_right = votes.shape[1] == arena.capacities["voter"] and votes.shape[2] <= n_votes
    require(is_right, "shape of predictions")
    least, most = (1, votes.shape[2]) if arena.task == layout.CLASSIFICATION else (0, 0)
    require(_lies(known, least, most) and (known % 1 == 0).all(), "predicted labels")


def check(arrays: dict[str, Array], next_codes: list[int | None]) -> None:
    """Raise FileError if the kernels could not work on the arrays of a forest.

    The settings are trusted: they follow from the parameters of the model, its labels and its
    features. `next_codes` has None for a numeric feature, else a bound on codes of categories.
    """
    _check_features(arrays)
    _check_rows(arrays, next_codes)
    settings, trees = arrays["settings"][0], arrays["trees"]
    n_nodes, roots = trees["n_nodes"], trees["root"]
    require(n_nodes.max() <= settings["max_nodes"], "numbers of nodes")
    require(np.where(n_nodes > 0, (roots >= 0) & (roots < n_nodes), roots == NONE).all(), "roots")
    for t, tree in enumerate(trees):
        nodes = arrays["nodes"][t, : tree["n_nodes"]]
        if len(nodes):
            _check_links(nodes, int(tree["root"]))
        _check_splits(nodes, len(next_codes))
        shares = arrays["faded"][t, : len(nodes), layout.FADED_SHARE :][:, :1]
        require(((shares > 0) & (shares < 1)).all(), "faded shares")
        boxes, slots = arrays["boxes"][t, : tree["n_boxes"]], nodes["slot"][nodes["n_rows"] == 0]
        require(np.array_equal(np.sort(slots), np.arange(len(boxes))), "slots of boxes")
        require(_are_ranges(boxes.swapaxes(0, 1), _ANY), "boxes")
        _check_lists(arrays["links"][t], nodes, settings)


def _check_features(arrays: dict[str, Array]) -> None:
    """Check what is known of features, and what trends and stacks rely on."""
    is_kept = np.arange(layout.N_RECENT) < arrays["features"]["n_recent"][:, np.newaxis]
    require(_lies(arrays["recent"][is_kept], -_ANY, _ANY), "recent values")
    require(_are_ranges(arrays["ranges"], _ANY), "ranges")
    require(_are_ranges(arrays["limits"], np.inf), "limits of outliers")
    is_category, stand_ins = arrays["is_categorical"].astype(bool), arrays["stand_ins"]
    is_sound = np.where(is_category, stand_ins == layout.MISSING_CODE, np.abs(stand_ins) <= _ANY)
    require((is_sound | np.isnan(stand_ins)).all(), "stand-ins for missing values")
    for trend, name in zip(arrays["trends"], ("fast", "smooth"), strict=False):
        require(trend["next_term"] < arrays[name].shape[1], "next terms of trends")
    for name in ("fast_sums", "smooth_sums", "stack_sums"):
        require((np.diagonal(arrays[name], axis1=1, axis2=2) >= 0).all(), f"diagonals of {name}")
    newest = arrays["counters"]["newest_profile"][0]
    require(newest >= 1 or not len(arrays["trends"]), "newest_profile of counters (at least 1)")


def check_words(arrays: dict[str, Array], columns: Array) -> None:
    """Raise FileError unless words have the columns of their features, by slot."""
    words = arrays["words"]
    is_chosen = words["column"] == layout.CHOSEN
    has_own = (words["column"] == np.where(is_chosen, layout.CHOSEN, columns)).all()
    has_none = (columns[is_chosen] == 0).all() and columns[0] == 0 and not is_chosen[0]
    require(has_own and has_none, "columns of words")
    require(arrays["counters"]["n_chosen"][0] == is_chosen.sum(), "number of chosen words")
    require((words["weight"][words["squares"] > 0] > 0).all(), "numbers of words")


def _check_rows(arrays: dict[str, Array], next_codes: list[int | None]) -> None:
    """Check the store of samples."""
    samples, n_stored = arrays["samples"], arrays["counters"]["n_stored"][0]
    require(len(samples) <= n_stored, "number of samples")
    require(_lies(samples["label"], 0, arrays["settings"]["n_labels"][0] - 1), "labels of samples")
    require(_lies(samples["number"], 0, n_stored - 1), "numbers of samples")
    for values, next_code in zip(arrays["rows"].T, next_codes, strict=True):
        values = values[~np.isnan(values)]
        if next_code is None:
            require(_lies(values, -_ANY, _ANY), "values of samples")
        else:
            values = values[values != layout.MISSING_CODE]
            are_codes = (values == np.floor(values)).all() and _lies(values, 0, next_code - 1)
            require(are_codes, "categories of samples")


def _check_links(nodes: Array, root: int) -> None:
    """Check that the nodes form one binary tree."""
    left, right, parent = (nodes[name].astype(np.intp) for name in ("left", "right", "parent"))
    inner = np.flatnonzero(left != NONE)
    children = np.concatenate([left[inner], right[inner]])
    are_pairs = ((left == NONE) == (right == NONE)).all()
    require(are_pairs and _lies(children, 0, len(nodes) - 1), "children of nodes")
    n_parents = np.bincount(children, minlength=len(nodes))
    n_parents[root] += 1
    are_mutual = (parent[children] == np.tile(inner, 2)).all() and parent[root] == NONE
    require(are_mutual and (n_parents == 1).all(), "links of nodes")
    # Each node has one parent, so they form a tree unless some are in a cycle.
    above = parent
    above[root] = root
    for _ in range(len(nodes).bit_length()):  # goes twice as far up each time
        above = above[above]
        if (above == root).all():
            return
    require(len(nodes) == 1, "links of nodes")


def _check_splits(nodes: Array, n_features: int) -> None:
    """Check inner nodes, and what leaves have in place of a split."""
    is_leaf = nodes["left"] == NONE
    leaves, inner = nodes[is_leaf], nodes[~is_leaf]
    are_features = _lies(inner["feature"], 0, n_features - 1)
    require(are_features and (leaves["feature"] == NONE).all(), "split features")
    require(_lies(inner["threshold"], -_ANY, _ANY), "thresholds")
    is_below = inner["parent"] != NONE
    times = np.zeros(len(inner))
    times[is_below] = nodes["split_time"][inner["parent"][is_below]]
    are_later = (inner["split_time"] >= times).all()
    require(are_later and (leaves["split_time"] == kernels.NEVER).all(), "split times")
    require(_lies(inner["odds"], 1 / _ODDS_BOUND, _ODDS_BOUND), "odds of nodes")
    scale = inner["odds_scale"]
    require(_lies(scale, -1e300, 1e300) and (scale == np.floor(scale)).all(), "odds of nodes")


def _check_lists(links: Array, nodes: Array, settings: Any) -> None:
    """Check the lists of rows that the leaves of a tree keep, from the newest to the oldest."""
    keeping, end = nodes[nodes["n_rows"] != 0], len(links)
    heads, is_listed = keeping["slot"], links != UNLISTED
    are_leaves = (keeping["n_rows"] > 0).all() and (keeping["left"] == NONE).all()
    splits_late = not settings["split_pure"] and len(nodes) + 2 <= settings["max_nodes"]
    require(are_leaves and (splits_late or len(keeping) == 0), "number of kept samples")
    require(_lies(links, UNLISTED, end - 1) and _lies(heads, 0, end - 1), "lists of samples")
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
