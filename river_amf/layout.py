"""What lies in memory, byte by byte: the records, and one table of all arrays of a forest.

The kernels are compiled for it, and the arena, copies and files follow from it.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# All records are aligned and without padding, whose bytes would be undefined in a copy.

# What follows from the parameters, and from the features and labels that are known; the kernels
# never write it.
SETTINGS = np.dtype(
    [
        ("step", "f8"),
        ("log_split", "f8"),  # log b, b the split prior
        ("log_stop", "f8"),  # log(1 - b)
        ("fading_factor", "f8"),  # gamma
        ("dirichlet", "f8"),  # a, the value in force, never "automatic"
        ("total_dirichlet", "f8"),  # C a
        ("lgamma_dirichlet", "f8"),  # and their log-gammas
        ("lgamma_total", "f8"),
        ("n_classes", "i8"),  # classes that the prior counts
        ("n_labels", "i8"),  # labels seen so far, at most n_classes
        ("n_features", "i8"),
        ("longest_list", "i8"),  # how many samples a pure leaf keeps at most
        ("max_nodes", "i8"),
        ("use_aggregation", "i8"),
        ("fades", "i8"),
        ("learns_vote", "i8"),
        ("split_pure", "i8"),
        ("range_intensity", "i8"),
        ("relevance", "i8"),
        ("restart_threshold", "f8"),  # 0 for never
        ("has_categories", "i8"),
    ],
    align=True,
)

# What the kernels count along the stream, for all trees together.
COUNTERS = np.dtype(
    [
        ("n_rows", "i8"),  # rows in use in the store of samples
        ("n_stored", "i8"),  # samples ever stored
        ("newest_weight", "f8"),  # of the next sample in the statistics of relevance
    ],
    align=True,
)

# One record a tree.
TREE = np.dtype(
    [
        ("random_state", "u8"),
        ("key", "u8"),  # 32 random bits that code this tree's categories; u8 to multiply safely
        ("root", "i4"),
        ("n_nodes", "i4"),
        ("n_boxes", "i8"),
        ("faded_share", "f8"),  # running mean, of the faded estimators in its predictions
        ("vote_weight", "f8"),  # in a learned vote
        ("n_heard", "i8"),  # predictions that the two means of its losses are of
        ("recent_loss", "f8"),
        ("usual_loss", "f8"),
    ],
    align=True,
)

# One record a node: 64 bytes, a cache line, and all that a walk reads of a node but its counts and
# its box. Links are 32-bit (2**31 nodes a tree are out of reach), times, thresholds and sums of
# weights are float64 (timestamps, long streams).
NODE = np.dtype(
    [
        ("threshold", "f8"),
        ("odds", "f8"),  # exp(log_odds), less a power of two: odds of exp(-4000) have no float64
        ("odds_scale", "f8"),  # how many times 2**512 was taken out of odds
        ("split_time", "f8"),  # creation time of the children; its own is that of its parent's
        ("n_samples", "f8"),  # sum of the sample weights
        ("feature", "i4"),
        ("left", "i4"),
        ("right", "i4"),
        ("parent", "i4"),
        ("slot", "i4"),  # of its box; of the newest row where a leaf keeps its samples
        ("n_rows", "i4"),  # how many samples a leaf keeps, 0 where there is a box
    ],
    align=True,
)

# One record a feature: what its range and its relevance follow from. Where samples have weights,
# older ones count less.
FEATURE = np.dtype(
    [
        ("n_recent", "i8"),  # how many values are kept to judge the range by
        ("credit", "f8"),  # of values far outside: how frequent they were lately
        ("weight", "f8"),  # sum of the samples' weights
        ("squares", "f8"),  # sum of their squares
        ("mean", "f8"),
        ("total", "f8"),  # sum of squares about the mean
        ("within", "f8"),  # about the mean of the class
        ("explained", "f8"),  # sum_kc N_kc^2 / N_k over buckets k and classes c
        ("n_used", "f8"),  # buckets
        ("relevance", "f8"),
    ],
    align=True,
)

# What the store keeps of a sample beside its row of values.
SAMPLE = np.dtype(
    [
        ("weight", "f8"),
        ("label", "i8"),
        ("number", "i8"),  # of all samples ever stored
    ],
    align=True,
)

# What fading keeps of a node: a row of its share, the sum of its faded counts, and these.
FADED_SHARE, FADED_SUM, FADED_COUNTS = 0, 1, 2

N_RECENT = 64  # values that a feature's range is judged by
N_BUCKETS = 64  # that values are counted in, for their relevance

N_PURE = 256  # cells of one label of fewer samples than that have what follows in a table

Array = NDArray[Any]


class Field(NamedTuple):
    """An array of a forest: its dtype, what its axes run over, and what its room to grow holds.

    An axis is one of `AXES`, of which a forest has more or less, or a fixed length.
    """

    dtype: Any
    axes: tuple[str | int, ...]
    fill: float = 0.0
    is_copied: bool = True  # into pickles, copies and files; the rest kernels fill as they go


# What axes run over. Those of `moment` are the classes, if there is relevance; those of `faded` are
# the classes and two more, if there is fading.
AXES = ("tree", "feature", "class", "moment", "faded", "node", "box", "row")
UNDEFINED = {"node", "box"}  # room that is not filled until a kernel adds one, for speed

# The arrays of a forest. To add one, name it here, and let the kernels see it: `Forest` and
# `forest_of` in `kernels.arrays`.
FIELDS = {
    "settings": Field(SETTINGS, (1,)),
    "counters": Field(COUNTERS, (1,)),
    "ranges": Field(np.float64, (2, "feature"), np.nan),
    "limits": Field(np.float64, (2, "feature"), np.nan),
    "intensity": Field(np.float64, ("feature",)),
    "is_categorical": Field(np.uint8, ("feature",)),
    "features": Field(FEATURE, ("feature",)),
    "recent": Field(np.float64, ("feature", N_RECENT), np.nan),
    "moments": Field(np.float64, ("feature", "moment", 2)),
    "buckets": Field(np.float64, ("feature", N_BUCKETS, "moment")),
    "bias": Field(np.float64, ("class",)),
    "trees": Field(TREE, ("tree",)),
    "nodes": Field(NODE, ("tree", "node")),
    "counts": Field(np.float64, ("tree", "node", "class")),
    "faded": Field(np.float64, ("tree", "node", "faded")),
    "boxes": Field(np.float64, ("tree", "box", 2, "feature"), np.nan),
    "rows": Field(np.float64, ("row", "feature"), np.nan),
    "samples": Field(SAMPLE, ("row",)),
    "links": Field(np.int32, ("tree", "row")),
    "votes": Field(np.float64, ("tree", 1, "class"), is_copied=False),
    "pooled": Field(np.float64, ("class",), is_copied=False),
    "pure": Field(np.float64, (N_PURE, 3), np.nan, is_copied=False),
}

COPIED = tuple(name for name, field in FIELDS.items() if field.is_copied)

# How the kernels find an arena: the addresses of its arrays, and the room along each axis. Each
# array that is an argument of a call costs as much as some nodes of a walk; the address of this
# record costs next to nothing.
HANDLE = np.dtype(
    [(name, "i8") for name in FIELDS]
    + [(f"{axis}_room", "i8") for axis in AXES]
    + [
        ("version", "i8"),  # changes whenever predictions may have changed
        ("next_tree", "i8"),  # to go on with in the middle of a sample, else -1
    ]
)

# And how they find a block of samples, and what to do with it: `Samples` and `samples_of` there.
BLOCK_ARRAYS = (
    "values",
    "labels",
    "weights",
    "proba",
    "votes",
    "clipped",
    "intensities",
    "rows",
    "coded",
    "next_samples",
)
BLOCK = np.dtype(
    [(name, "i8") for name in BLOCK_ARRAYS]
    + [("n_samples", "i8"), ("n_columns", "i8"), ("n_labels", "i8"), ("chunk", "i8")]
    + [("predicts", "i8"), ("learns", "i8")]
)

# A pickle holds arrays as they are, so that another layout cannot read it.
_LAYOUT = [(name, np.dtype(FIELDS[name].dtype).descr, FIELDS[name].axes) for name in COPIED]
LAYOUT = f"{zlib.crc32(repr(_LAYOUT).encode()):08x}"


def shapes(lengths: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of a forest, given the length of each axis."""
    return {
        name: tuple(axis if isinstance(axis, int) else lengths[axis] for axis in field.axes)
        for name, field in FIELDS.items()
    }


def lengths_of_classes(settings: Array, n_classes: int) -> dict[str, int]:
    """Return the lengths of the axes that follow from a number of classes."""
    return {
        "class": n_classes,
        "moment": n_classes if settings["relevance"][0] else 0,
        "faded": FADED_COUNTS + n_classes if settings["fades"][0] else 0,
    }


def lengths_in_use(settings: Array, counters: Array, trees: Array) -> dict[str, int]:
    """Return the length of each axis that a forest uses: that of its arrays without room."""
    return lengths_of_classes(settings, int(settings["n_classes"][0])) | {
        "tree": len(trees),
        "feature": int(settings["n_features"][0]),
        "node": int(trees["n_nodes"].max()),
        "box": int(trees["n_boxes"].max()),
        "row": int(counters["n_rows"][0]),
    }
