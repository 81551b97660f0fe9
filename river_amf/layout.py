"""The memory layout of a forest: its records, and one table of all its arrays.

The kernels are compiled for this layout, and the arena, copies and files are derived from it.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# All records are aligned and have no padding, as the bytes of padding would be undefined in a copy.

# What follows from the parameters and from the known features and labels. The kernels only read it.
SETTINGS = np.dtype(
    [
        ("task", "i8"),  # CLASSIFICATION or REGRESSION
        ("role", "i8"),  # WHOLE, HUB or SHARD
        ("first_tree", "i8"),  # the number of its first tree in the whole forest
        ("largest_total", "f8"),  # of the weights of all samples
        ("step", "f8"),
        ("log_split", "f8"),  # log b, where b is the split prior
        ("log_stop", "f8"),  # log(1 - b)
        ("fading_factor", "f8"),  # gamma
        ("dirichlet", "f8"),  # a, the value in effect, also where the parameter is None
        ("total_dirichlet", "f8"),  # C a, where C is n_classes
        ("lgamma_dirichlet", "f8"),  # the log-gammas of both
        ("lgamma_total", "f8"),
        ("n_classes", "i8"),  # classes that the prior counts
        ("n_labels", "i8"),  # labels seen so far, at most n_classes
        ("n_features", "i8"),
        ("n_numeric", "i8"),  # of these
        ("n_voices", "i8"),
        ("n_trends", "i8"),
        ("n_aims", "i8"),  # different targets that trees learn
        ("cosine_scale", "f8"),  # of the standardised distances that cosines see
        ("longest_list", "i8"),  # maximum number of samples that a pure leaf keeps
        ("max_nodes", "i8"),
        ("use_aggregation", "i8"),
        ("fades", "i8"),
        ("learns_vote", "i8"),
        ("is_stacked", "i8"),  # whether the voters on a real target are stacked
        ("split_pure", "i8"),
        ("range_intensity", "i8"),
        ("relevance", "i8"),
        ("restart_threshold", "f8"),  # 0 for never
        ("judges_trees", "i8"),  # whether the predictions of single trees are compared with y
        ("has_categories", "i8"),
        ("period", "i8"),  # categories are counted in slot "code modulo period"; 0 for not at all
        ("n_counted", "i8"),  # features whose categories are counted, and slots in use
        ("n_slots", "i8"),
        ("max_rows", "i8"),  # most samples in the store, checked whenever `interval` more have been
        ("interval", "i8"),  # stored; 0 if there is no limit
        ("n_words", "i8"),  # slots of words in use, that of the constant 1 included; 0: no words
        ("max_columns", "i8"),  # most features if there are words
        ("hears_words", "i8"),  # whether the learned vote hears the voice of the words
    ],
    align=True,
)

# What the kernels count along the stream, for all trees together.
COUNTERS = np.dtype(
    [
        ("n_rows", "i8"),  # rows in use in the store of samples
        ("n_stored", "i8"),  # samples ever stored
        ("newest_weight", "f8"),  # weight of the next sample in the statistics of relevance
        ("n_chosen", "i8"),  # words that have been chosen for a column and wait for it
        ("words_vote", "f8"),  # weight of the voice of the words in a learned vote
        ("least_target", "f8"),  # of all real targets, less the first
        ("largest_target", "f8"),
        ("target_weight", "f8"),  # weight, mean and sum of squares of the recent ones
        ("target_mean", "f8"),
        ("target_squares", "f8"),
        ("newest_profile", "f8"),  # weight of the newest target in the profiles of features
        ("fast_errors", "f8"),  # faded sums of the forest's errors, and their weights
        ("fast_weight", "f8"),
        ("slow_errors", "f8"),
        ("slow_weight", "f8"),
    ],
    align=True,
)

# One record per tree.
TREE = np.dtype(
    [
        ("random_state", "u8"),
        ("key", "u8"),  # 32 random bits to code this tree's categories; u8 to multiply safely
        ("root", "i4"),
        ("n_nodes", "i4"),
        ("n_boxes", "i8"),
        ("faded_share", "f8"),  # running mean of the faded estimators' share of its predictions
        ("vote_weight", "f8"),  # in a learned vote
        ("n_heard", "i8"),  # number of predictions in the two running means of its losses
        ("n_restarts", "i8"),  # how often it has started afresh
        ("recent_loss", "f8"),
        ("usual_loss", "f8"),
        ("variance", "f8"),  # sigma^2, in a regression
        ("error_weight", "f8"),  # of the recent squared errors, whose mean it is
        ("error_squares", "f8"),  # their weighted sum
    ],
    align=True,
)

# One record per node: 64 bytes, which is one cache line, with everything that a walk reads of a
# node except its counts and its box. Links are 32-bit, as no tree comes near 2**31 nodes. Times,
# thresholds and sums of weights are float64, for the sake of timestamps and long streams.
NODE = np.dtype(
    [
        ("threshold", "f8"),
        ("odds", "f8"),  # exp(log_odds) / 2**(512 odds_scale), as exp(-4000) underflows float64
        ("odds_scale", "f8"),
        ("split_time", "f8"),  # creation time of the children; the node's own is at its parent
        ("n_samples", "f8"),  # sum of the sample weights
        ("feature", "i4"),
        ("left", "i4"),
        ("right", "i4"),
        ("parent", "i4"),
        ("slot", "i4"),  # index of its box, or of the newest row if it is a leaf that keeps samples
        ("n_rows", "i4"),  # number of samples that a leaf keeps, 0 where there is a box
    ],
    align=True,
)

# One record per feature: the statistics behind its range and its relevance. In weighted sums, older
# samples count less.
FEATURE = np.dtype(
    [
        ("n_recent", "i8"),  # number of values kept to judge the range by
        ("credit", "f8"),  # how frequent values far outside the range have recently been
        ("weight", "f8"),  # sum of the samples' weights
        ("squares", "f8"),  # sum of the squares of these weights
        ("mean", "f8"),
        ("total", "f8"),  # sum of squares about the mean
        ("within", "f8"),  # sum of squares about the mean of each class
        ("explained", "f8"),  # sum_kc N_kc^2 / N_k over buckets k and classes c
        ("n_used", "f8"),  # number of buckets in use
        ("relevance", "f8"),
    ],
    align=True,
)

# One record per word, which is a numeric feature of which an absent one is 0. Slot 0 is for the
# constant 1.
WORD = np.dtype(
    [
        ("uses", "i8"),  # samples with the word, halved whenever others are forgotten
        ("column", "i8"),  # 1 + the column that trees see it in; 0 for none, or CHOSEN
        ("weight", "f8"),  # sum of the samples' weights, each at most 1
        ("squares", "f8"),  # weighted sum of the squares of its values
    ],
    align=True,
)
CHOSEN = -1  # for a column, which it will have before the next sample

# One record per pace and feature: the running mean and variance that standardise its values.
STANDARD = np.dtype([("n_values", "i8"), ("mean", "f8"), ("variance", "f8")], align=True)

# One record per voice: a linear model that a learned vote hears beside the trees.
VOICE = np.dtype(
    [
        ("key", "u8"),  # of its random numbers
        ("vote_weight", "f8"),
        ("n_learned", "i8"),  # samples in the statistics of its cosines
    ],
    align=True,
)

# One record per trend: a ridge regression, whose predictions a forest of real targets hears.
TREND = np.dtype(
    [
        ("key", "u8"),  # of its random numbers
        ("newest_weight", "f8"),  # of the newest sample in its sums
        ("next_term", "i8"),  # whose coefficient is the next to be updated
        ("n_learned", "i8"),  # samples
    ],
    align=True,
)

# One record per stack: a ridge regression of a target on the predictions of some voters.
STACK = np.dtype(
    [
        ("n_learned", "i8"),
        ("weight", "f8"),  # of the recent squared errors
        ("error_squares", "f8"),  # their weighted sum
    ],
    align=True,
)

# What the store keeps of a sample besides its row of values.
SAMPLE = np.dtype(
    [
        ("weight", "f8"),
        ("label", "i8"),
        ("number", "i8"),  # in the order of all samples ever stored, from 0
    ],
    align=True,
)

# What a forest predicts. Many parts of the compiled code stand for one function in each task.
CLASSIFICATION, REGRESSION = 0, 1
TASKS = ("classification", "regression")

# What an arena has of a forest: all of it; or if it is cut, all but the nodes of its trees, or some
# of the trees. Then a hub has the vote and what it hears, and shards say what their trees predict.
WHOLE, HUB, SHARD = 0, 1, 2

# What fading keeps for each node: a row with its faded share, the sum of its faded counts, and the
# faded counts themselves; in a regression the faded mean and sum of squares instead of counts.
FADED_SHARE, FADED_SUM, FADED_COUNTS = 0, 1, 2

# What a node keeps of real targets besides their weight: their mean, and the sum of squares about
# it. The same order holds for what is faded.
MEAN, SQUARES = 0, 1

# What a voter says of a real target, and what the forest answers: the prediction, and its variance
# (a voter) or standard deviation (the forest). The forest adds the ends of an interval; whoever
# asks puts its level in the place of the lower one, or 0 for none.
LOCATION, SPREAD, LOWER, UPPER = 0, 1, 2, 3
ANSWER = 6  # numbers in an answer, the last of which are scratch

N_RECENT = 64  # number of values that a feature's range is judged by
N_BUCKETS = 64  # number of buckets in which a feature's values are counted, for its relevance

N_COSINES = 100  # inputs of a voice that hears cosines of the features
N_WAVES = 200  # cosines of a trend
N_TRENDS = 2
MOST_SLOTS = 64  # for the features in the terms of a trend; if there are more, they share slots
N_STACKED = 6  # voters of the largest stack
N_CODES = 64  # inputs for the categories of a feature, which is that of "code modulo N_CODES"

N_ERRORS = 128  # bins in which the errors of a regression are counted, for its intervals

N_PURE = 256  # weights of pure cells with fewer samples than this are looked up in a table

# Of the weights of all samples, for each task: its log-gamma is still finite; squares of targets
# times it are.
LARGEST_TOTALS = (1e305, 1e100)

Array = NDArray[Any]


class Field(NamedTuple):
    """An array of a forest: its dtype, its axes, and the value that fills room to grow."""

    dtype: Any
    axes: tuple[str | int, ...]  # each one of `AXES`, whose lengths vary, or a fixed length
    fill: float = 0.0
    is_copied: bool = True  # to pickles, copies and files; kernels refill the others as they go


# The axes of variable length. `vote` is what a voter says: a number for each class, or for a real
# target the four above. `target`, `score` and `error` are empty unless targets are real. `moment`
# is the classes with relevance, otherwise empty; `faded` is the classes plus two with fading,
# otherwise empty; for real targets, the mean and the sum of squares take the place of classes in
# both. `counted` is the categorical features with a bound on their categories, otherwise empty.
# Without voices all of these are empty: `pace`, at which features are standardised; `draw` of
# cosines; `voiced`, the classes; `input`, an intercept and the features or cosines; `onehot`, the
# categorical features. `voter` is trees and voices, that of the words included; `spoken` is the
# words if there is such a voice, otherwise empty. Trends have a pace and a draw, too, and without
# them these are empty: `fit`, a single one; `term` and `wave`, what each trend hears; `profile` and
# `residual`, the features. `aim` is the targets of trees, of which a trend makes two; `stack`, the
# stacks of a regression. Trends are voters, and so is their stack.
AXES_OF_VOICES = ("voice", "pace", "draw", "voiced", "input", "onehot")
AXES_OF_TRENDS = ("trend", "fit", "term", "wave", "profile", "residual")
AXES = (
    *("tree", "voter", "vote", "feature", "class", "moment", "faded", "target", "score", "error"),
    *("counted", "slot"),
    *AXES_OF_VOICES,
    *("cosine", "aim", "stack"),
    *AXES_OF_TRENDS,
    *("word", "spoken", "node", "box", "row"),
)
UNDEFINED = {"node", "box"}  # for speed, room on these is not filled until a kernel adds an entry

# The arrays of a forest. To the kernels they are attributes of a view (`kernels.views`).
FIELDS = {
    "settings": Field(SETTINGS, (1,)),
    "counters": Field(COUNTERS, (1,)),
    "ranges": Field(np.float64, (2, "feature"), np.nan),
    "limits": Field(np.float64, (2, "feature"), np.nan),
    "intensity": Field(np.float64, ("aim", "feature")),
    "is_categorical": Field(np.uint8, ("feature",)),
    "features": Field(FEATURE, ("feature",)),
    "recent": Field(np.float64, ("feature", N_RECENT), np.nan),
    "moments": Field(np.float64, ("feature", "moment", 2)),
    "buckets": Field(np.float64, ("feature", N_BUCKETS, "moment")),
    "residual_features": Field(FEATURE, ("residual",)),
    "residual_moments": Field(np.float64, ("residual", "moment", 2)),
    "residual_buckets": Field(np.float64, ("residual", N_BUCKETS, "moment")),
    "uses": Field(np.int64, ("counted", "slot")),
    "bias": Field(np.float64, ("class",)),
    "errors": Field(np.float64, ("error",)),
    "words": Field(WORD, ("word",)),
    "word_sums": Field(np.float64, ("word", "class")),  # weighted sums of values
    "word_weights": Field(np.float64, ("spoken", "class")),
    "word_squares": Field(np.float64, ("spoken", "class"), 1.0),  # of gradients
    "standards": Field(STANDARD, ("pace", "feature")),
    "voices": Field(VOICE, ("voice",)),
    "voice_weights": Field(np.float64, ("voice", "voiced", "input")),
    "voice_squares": Field(np.float64, ("voice", "voiced", "input"), 1.0),
    "category_weights": Field(np.float64, ("onehot", N_CODES, "voiced")),
    "category_squares": Field(np.float64, ("onehot", N_CODES, "voiced"), 1.0),
    "cosines": Field(np.float64, ("draw", 2, "cosine")),
    "trends": Field(TREND, ("trend",)),
    "profiles": Field(np.float64, ("profile", N_CODES, 2)),
    "fast_sums": Field(np.float64, ("fit", "term", "term")),
    "fast_rests": Field(np.float64, ("fit", "term")),
    "fast": Field(np.float64, ("fit", "term")),
    "smooth_sums": Field(np.float64, ("fit", "wave", "wave")),
    "smooth_rests": Field(np.float64, ("fit", "wave")),
    "smooth": Field(np.float64, ("fit", "wave")),
    "stacks": Field(STACK, ("stack",)),
    "stack_sums": Field(np.float64, ("stack", N_STACKED, N_STACKED)),
    "stack_products": Field(np.float64, ("stack", N_STACKED)),
    "stack_weights": Field(np.float64, ("stack", N_STACKED)),
    "trees": Field(TREE, ("tree",)),
    "nodes": Field(NODE, ("tree", "node")),
    "counts": Field(np.float64, ("tree", "node", "class")),
    "targets": Field(np.float64, ("tree", "node", "target")),
    "faded": Field(np.float64, ("tree", "node", "faded")),
    "boxes": Field(np.float64, ("tree", "box", 2, "feature"), np.nan),
    "rows": Field(np.float64, ("row", "feature"), np.nan),
    "samples": Field(SAMPLE, ("row",)),
    "links": Field(np.int32, ("tree", "row")),
    "phases": Field(np.float64, ("draw", "cosine"), is_copied=False),
    "directions": Field(np.float64, ("draw", "feature", "cosine"), is_copied=False),
    "standardised": Field(np.float64, ("pace", "feature"), is_copied=False),
    "inputs": Field(np.float64, ("voice", 2, "input"), is_copied=False),
    "terms": Field(np.float64, ("fit", 4, "wave"), is_copied=False),
    "aims": Field(np.float64, ("aim",), is_copied=False),
    "votes": Field(np.float64, ("voter", 1, "vote"), is_copied=False),
    "pooled": Field(np.float64, ("vote",), is_copied=False),
    "scores": Field(np.float64, ("tree", "node", "score"), is_copied=False),
    "pure": Field(np.float64, (N_PURE, 3), np.nan, is_copied=False),
}

COPIED = tuple(name for name, field in FIELDS.items() if field.is_copied)

# Compiled code that is compiled on its own, and where it is for each task, 0 before that
# (`kernels.parts`).
PARTS = (
    "learn_tree",
    "expand_leaf",
    "weigh_faded_cell",
    "list_row_and_thin",
    "release_rows",
    "bound_rows",
    "update_intensity",
    "weigh_features",
    "take_vote",
    "pool_votes",
    "learn_vote",
    "judge_tree",
    "hear_words",
    "teach_words",
    "count_words",
    "standardise",
    "use_voice",
    "use_voices",
    "follow_trends",
)
PART_ADDRESSES = np.zeros((len(TASKS), len(PARTS)), np.int64)

# How the kernels find an arena: the addresses of its arrays, and the room along each axis. Passing
# an array as an argument costs as much as visiting a few nodes; passing the address of this record
# costs next to nothing.
HANDLE = np.dtype(
    [(name, "i8") for name in FIELDS]
    + [("parts", "i8")]  # the address of those in PART_ADDRESSES that are for its task
    + [(f"{axis}_room", "i8") for axis in AXES]
    + [
        ("version", "i8"),  # changes whenever predictions may change
        ("next_tree", "i8"),  # where to resume in the middle of a sample, else -1
        ("target", "f8"),  # of that sample: the index of its label, or a number
        ("weight", "f8"),
        ("n_late", "i8"),  # number of trees that kept samples before it
    ]
)

# How they find a block of samples, and what to do with it: the arrays of `state.Block`, of which
# most are for the samples of one chunk.
BLOCK_FIELDS = {
    "values": Field(np.float64, ("sample", "column")),
    "targets": Field(np.float64, ("sample",)),  # the index of each label, or a number
    "weights": Field(np.float64, ("sample",)),
    "answers": Field(np.float64, ("sample", "answer")),
    "votes": Field(np.float64, ("voter", "chunk", "vote")),
    "clipped": Field(np.float64, ("chunk", "feature")),  # samples without outliers
    "aims": Field(np.float64, ("aim", "chunk")),  # what the trees learn of the targets
    "intensities": Field(np.float64, ("aim", "chunk", "feature")),  # when each is learned
    "rows": Field(np.int64, ("chunk",)),  # in the store
    "coded": Field(np.float64, ("tree", "feature")),  # one sample, as each tree sees it
    "standardised": Field(np.float64, ("pace", "chunk", "feature")),
    "inputs": Field(np.float64, ("voice", 2, "input")),  # one sample, as each voice hears it
    "terms": Field(np.float64, ("fit", 4, "wave")),  # one sample, as the trends hear it
    "next_samples": Field(np.int64, ("voter",)),  # where each tree or voice resumes
}
BLOCK_AXES = (
    *("sample", "column", "answer", "chunk", "tree", "feature", "vote"),
    *("voter", "voice", "pace", "input", "aim", "fit", "wave"),
)
BLOCK = np.dtype(
    [(name, "i8") for name in BLOCK_FIELDS]
    + [(f"{axis}_room", "i8") for axis in BLOCK_AXES]
    + [("predicts", "i8"), ("learns", "i8")]
    # what has been done of the chunk that is under way, see `kernels.blocks`; and the number of
    # trees that kept samples before it
    + [("stage", "i8"), ("n_late", "i8")]
)

# A pickle holds the arrays as they are, so a release with another layout cannot read it.
_LAYOUT = [(name, np.dtype(FIELDS[name].dtype).descr, FIELDS[name].axes) for name in COPIED]
LAYOUT = f"{zlib.crc32(repr(_LAYOUT).encode()):08x}"


def shapes(lengths: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of a forest, given the length of each axis."""
    return {
        name: tuple(axis if isinstance(axis, int) else lengths[axis] for axis in field.axes)
        for name, field in FIELDS.items()
    }


def lengths_of_classes(settings: Array, n_classes: int) -> dict[str, int]:
    """Return the lengths of the axes that depend on the task and the number of classes."""
    is_regression = bool(settings["task"][0] == REGRESSION)
    n_kept = 2 if is_regression else n_classes  # mean and squares, or counts
    return {
        "class": n_classes,
        "vote": ANSWER if is_regression else n_classes,
        "target": 2 if is_regression else 0,
        "score": int(is_regression),
        "error": N_ERRORS if is_regression else 0,
        "moment": n_kept if settings["relevance"][0] else 0,
        "faded": FADED_COUNTS + n_kept if settings["fades"][0] else 0,
        "voiced": n_classes if settings["n_voices"][0] else 0,
    }


def lengths_of_features(settings: Array, n_features: int, n_categorical: int) -> dict[str, int]:
    """Return the lengths of the axes that depend on the features, but for their categories."""
    n_voices = settings["n_voices"][0]
    n_inputs = max(n_features, N_COSINES if n_voices > 1 else 0)
    has_trends = bool(settings["n_trends"][0])
    n_slots = min(n_features, MOST_SLOTS)
    has_residuals = settings["n_aims"][0] > 1 and settings["relevance"][0]
    return {
        "feature": n_features,
        "input": 1 + n_inputs if n_voices else 0,
        "onehot": n_categorical if n_voices else 0,
        "term": 1 + 2 * n_slots if has_trends else 0,
        "wave": 1 + N_WAVES + n_slots if has_trends else 0,
        "profile": n_features if has_trends else 0,
        "residual": n_features if has_residuals else 0,
    }


def lengths_of_voices(settings: Array, n_trees: int) -> dict[str, int]:
    """Return the lengths of the axes that depend on the trees and voices."""
    # The first voice hears the features at the first pace, any other one cosines at its own pace.
    # The last trend hears cosines. The mix of the trends is a voter, too.
    n_voices, n_trends = int(settings["n_voices"][0]), int(settings["n_trends"][0])
    has_trends = int(n_trends > 0)
    n_draws = max(n_voices - 1, 0) + has_trends
    return {
        "tree": n_trees,
        "voter": n_trees + n_voices + n_trends + has_trends + int(settings["hears_words"][0]),
        "voice": n_voices,
        "pace": max(n_draws, min(n_voices, 1)),
        "draw": n_draws,
        "cosine": N_WAVES if has_trends else N_COSINES,
        "aim": int(settings["n_aims"][0]),
        "trend": n_trends,
        "fit": has_trends,
        "stack": int(settings["task"][0] == REGRESSION) + has_trends,
    }


def lengths_of_words(settings: Array, n_words: int) -> dict[str, int]:
    """Return the lengths of the axes that depend on the number of words."""
    return {"word": n_words, "spoken": n_words if settings["hears_words"][0] else 0}


def lengths_in_use(settings: Array, counters: Array, trees: Array) -> dict[str, int]:
    """Return the length of each axis that is in use, without room to grow."""
    n_features = int(settings["n_features"][0])
    n_categorical = n_features - int(settings["n_numeric"][0])
    return (
        lengths_of_classes(settings, int(settings["n_classes"][0]))
        | lengths_of_features(settings, n_features, n_categorical)
        | lengths_of_voices(settings, len(trees))
        | lengths_of_words(settings, int(settings["n_words"][0]))
        | {
            "counted": int(settings["n_counted"][0]),
            "slot": int(settings["n_slots"][0]),
            "node": int(trees["n_nodes"].max()),
            "box": int(trees["n_boxes"].max()),
            "row": int(counters["n_rows"][0]),
        }
    )
