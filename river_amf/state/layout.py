"""The memory layout of a forest: its records, and one table of all its arrays."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

N_RECENT = 64  # number of values that a feature's range follows from
MISSING_CODE = 2**32 - 1  # of the category that a missing value is


def _record(*fields: tuple[str, str]) -> np.dtype[Any]:
    return np.dtype([*fields], align=True)


# Records have no padding, as its bytes would be undefined in a copy.

# Values that follow from the parameters, features and labels. The kernels only read them.
SETTINGS = _record(
    ("is_regression", "i8"),
    ("largest_total", "f8"),  # of the weights of all samples
    ("weighs_relatively", "i8"),  # whether weights are divided by a typical one
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
    ("n_linear_models", "i8"),
    ("n_trends", "i8"),
    ("n_tree_targets", "i8"),  # different targets that trees learn
    ("longest_list", "i8"),  # maximum number of samples that a pure leaf keeps
    ("max_nodes", "i8"),
    ("use_aggregation", "i8"),
    ("fades", "i8"),
    ("learns_vote", "i8"),
    ("is_stacked", "i8"),  # whether the voters on a real target are stacked
    ("has_leaves", "i8"),  # whether leaves are among these voters
    ("n_recent", "i8"),  # voters that are corrected by recent errors
    ("has_last", "i8"),  # whether the last target is stacked with all voters
    ("split_pure", "i8"),
    ("range_intensity", "i8"),
    ("relevance", "i8"),
    ("drift_threshold", "f8"),  # 0 for never
    ("scores_trees", "i8"),  # whether the predictions of single trees are compared with y
    ("has_categories", "i8"),
    ("n_codes", "i8"),  # all codes of categories so far are below it
    ("n_words", "i8"),  # indices of words, that of the constant 1 included; 0: no words
    ("max_split_words", "i8"),  # most features if there are words
    ("has_sparse_expert", "i8"),  # whether the learned vote has a linear model of the words
    ("max_delayed_labels", "i8"),  # 0 if delayed labels make no difference
    ("n_cosines", "i8"),  # random Fourier features that there are so far
)

# What the kernels count of the predictions for delayed labels.
PENDING_COUNTERS = [
    ("n_predicted", "i8"),  # predictions ever made
    ("first_pending", "i8"),  # slot of the oldest one
    ("n_pending", "i8"),  # predictions in the ring
    ("n_waiting", "i8"),  # predictions in the ring that wait for their labels
    ("n_since", "i8"),  # predictions made since that of the last label that came as expected
    ("expected_delay", "i8"),  # the same number when that label came
    ("confidence", "i8"),  # in the expected delay
    ("offset", "i8"),  # from the expected delay, at which many of the nearest rows are
    ("n_offset", "i8"),  # surplus of labels whose nearest row was there
    ("n_missed", "i8"),  # labels since the last one with an equal row among the predictions
    ("n_lost", "i8"),  # labels since the last that found its own, each after a new prediction
    ("is_fresh", "i8"),  # whether a prediction was made since the last label
]

# What the kernels count along the stream, for all trees together.
COUNTERS = _record(
    ("n_rows", "i8"),  # rows in use in the store of samples
    ("n_stored", "i8"),  # samples ever stored
    ("newest_weight", "f8"),  # of the next sample, for relevance
    ("n_chosen", "i8"),  # words that get a column before the next sample
    ("sparse_weight", "f8"),  # weight of the linear model of the words in a learned vote
    ("least_target", "f8"),  # of all real targets, less the first
    ("largest_target", "f8"),
    ("target_weight", "f8"),  # faded sum of the weights of the targets
    ("target_mean", "f8"),  # faded mean of the targets
    ("target_squares", "f8"),  # faded sum of squares about it
    ("newest_profile", "f8"),  # weight of the newest target or label in profiles
    ("fast_errors", "f8"),  # faded sums of the forest's errors, and their weights
    ("fast_weight", "f8"),
    ("slow_errors", "f8"),
    ("slow_weight", "f8"),
    ("last_target", "f8"),
    ("stacked_targets", "f8"),  # faded sum of the targets, as stacks learn them, and its weight
    ("stacked_weight", "f8"),
    ("n_learned", "i8"),  # samples
    ("recent_weight", "f8"),  # faded sum of the weights of samples
    ("typical_weight", "f8"),  # faded mean of these weights, each counted by itself
    ("early_least", "f8"),  # of the first few targets, less the very first
    ("early_largest", "f8"),
    ("n_jumped", "i8"),  # late targets far above (+) or below (-) their predictions, on balance
    ("lateness", "f8"),  # of labels, in samples; negative until one has had a prediction
    ("newest_lateness", "f8"),  # of the newest label, negative if it had no prediction
    ("plain_share", "f8"),  # of the trees that never restart, in predictions while labels are late
    *PENDING_COUNTERS,
)

# One record per tree.
TREE = _record(
    ("random_state", "u8"),
    ("key", "u8"),  # codes its categories; u8 to multiply safely
    ("root", "i4"),
    ("n_nodes", "i4"),
    ("n_boxes", "i8"),
    ("faded_share", "f8"),  # of the faded estimators in its predictions, a running mean
    ("vote_weight", "f8"),  # in a learned vote
    ("fades", "i8"),  # whether its faded counts are in use
    ("n_losses", "f8"),  # in its two running means, if it may restart; each counts at most 1
    ("n_restarts", "i8"),  # how often it has restarted
    ("restarted_at", "i8"),  # samples that the forest had learned by the last restart
    ("recent_loss", "f8"),
    ("usual_loss", "f8"),
    ("variance", "f8"),  # sigma^2, in a regression
    ("error_weight", "f8"),  # of the recent squared errors that sigma^2 is the mean of
    ("error_squares", "f8"),  # weighted sum of these errors
    ("newest_gain", "f8"),  # weight of the newest sample in what splits have gained, 1 at least
)

# One record per node: a cache line of 64 bytes, with what a walk reads but for counts and box.
NODE = _record(
    ("threshold", "f8"),
    ("odds", "f8"),  # exp(log_odds) / 2**(512 odds_scale), as exp(-4000) underflows float64
    ("odds_scale", "f8"),
    ("split_time", "f8"),  # creation time of the children; the node's own is at its parent
    ("n_samples", "f8"),  # sum of the sample weights
    ("feature", "i4"),
    ("left", "i4"),
    ("right", "i4"),
    ("parent", "i4"),
    ("box_or_row", "i4"),  # its box, or the newest row if it is a leaf that keeps samples
    ("n_rows", "i4"),  # number of samples that a leaf keeps, 0 where there is a box
)

# One record per feature: statistics for its range and its relevance, faded with the samples.
FEATURE = _record(
    ("n_recent", "i8"),  # number of values kept for the range
    ("n_missing", "i8"),  # samples without a value, since the first one
    ("n_present", "i8"),  # samples with a value, in a regression
    ("n_codes", "i8"),  # all codes of learned categories are below it, in a regression
    ("credit", "f8"),  # how frequent values far outside the range have recently been
    ("weight", "f8"),  # sum of the samples' weights
    ("squares", "f8"),  # sum of the squares of these weights
    ("mean", "f8"),
    ("total", "f8"),  # sum of squares about the mean
    ("within", "f8"),  # sum of squares about the mean of each class
    ("explained", "f8"),  # sum_kc N_kc^2 / N_k over buckets k and classes c
    ("n_used", "f8"),  # number of buckets in use
    ("relevance", "f8"),
)

# One record per word. Index 0 is for the constant 1.
WORD = _record(
    ("uses", "i8"),  # samples with the word, halved whenever words are forgotten
    ("column", "i8"),  # 1 + the column that trees see it in; 0 for none, or CHOSEN
    ("weight", "f8"),  # sum of the samples' weights, each at most 1
    ("squares", "f8"),  # weighted sum of the squares of its values
)
CHOSEN = -1  # for a column, which it will have before the next sample

# One record per timescale and feature: the running mean and variance that standardize its values.
STANDARD = _record(("n_values", "i8"), ("mean", "f8"), ("variance", "f8"))

# One record per linear model that a learned vote combines with the trees.
LINEAR_MODEL = _record(
    ("key", "u8"),  # of its random numbers
    ("vote_weight", "f8"),
    ("n_learned", "i8"),  # samples
)

# One record per trend: a ridge regression beside the trees of a forest of real targets.
TREND = _record(
    ("key", "u8"),  # of its random numbers
    ("n_learned", "i8"),  # samples
)

# One record per prediction whose label may come: what made it, and of a real target, the answer.
PENDING = _record(
    ("is_taken", "i8"),  # whether its label has come
    ("n_learned", "i8"),  # samples learned before it
    ("n_predicted", "i8"),  # predictions made by then, it included
    ("n_known", "i8"),  # labels known by then
    ("level", "f8"),  # of the quantiles asked for, 0 for none
    ("fast_error", "f8"),  # means of recent errors
    ("slow_error", "f8"),
    ("last_target", "f8"),
    ("location", "f8"),
    ("spread", "f8"),
)

# One record per stack: a ridge regression of a target on the predictions of some voters.
STACK = _record(
    ("n_learned", "i8"),
    ("weight", "f8"),  # of the recent squared errors
    ("error_squares", "f8"),  # their weighted sum
    ("usual_size", "f8"),  # of errors that return: about one in 700 is larger
    ("newest_target", "f8"),
    ("median_step", "f8"),  # between one target and the next, about
)

# One record per kind of rows: all, those with a new category, those that lack a usual number.
ERRORS = _record(("weight", "f8"), ("error_squares", "f8"))  # in units of their scale
N_ROW_KINDS = 3

BRANCH = _record(("node", "i8"), ("mass", "f8"), ("above", "f8"), ("reach", "f8"))  # of a walk

# What the store keeps of a sample besides its row of values.
SAMPLE = _record(
    ("weight", "f8"),
    ("label", "i8"),
    ("number", "i8"),  # in the order of all samples ever stored, from 0
)

Task = Literal["classification", "regression"]  # whether a forest predicts labels or numbers
CLASSIFICATION: Task = "classification"
REGRESSION: Task = "regression"

# The kinds of forests that kernels are compiled for. A plain classifier has neither experts, words,
# a learned vote, relevance, fading nor restarts.
PLAIN_CLASSIFIER, CLASSIFIER, REGRESSOR = KINDS = range(3)
_EXTRAS = "learns_vote", "relevance", "n_linear_models", "n_words", "fades", "scores_trees"


def kind_of(settings: Any) -> int:
    if settings["is_regression"]:
        return REGRESSOR
    return CLASSIFIER if any(settings[name] for name in _EXTRAS) else PLAIN_CLASSIFIER


# What fading keeps of a node: its share, the sum of counts, and these, or mean and squares.
FADED_SHARE, FADED_SUM, FADED_COUNTS = 0, 1, 2

# What a node keeps of real targets: their mean, and the sum of squares about it.
MEAN, SQUARES = 0, 1

# The prediction of a real target: the value, and its variance (for a voter) or standard deviation
# (for the forest). A tree adds the mean of its leaf, the forest two quantiles. The level between
# these is passed as LOWER, 0 for none.
LOCATION, SPREAD, LOWER, UPPER = 0, 1, 2, 3
LEAF = 2
OF_VOTER = 3  # numbers in the prediction of a voter
ANSWER = 10  # numbers in an answer, the last of which are scratch

N_BUCKETS = 64  # number of buckets in which a feature's values are counted, for its relevance
N_BINS = 16  # equal parts of the range of a number, each with a bucket; profiles are for their ends

N_UNITS = 64  # of the perceptron, of which the first is 1
MOST_INPUTS = 256  # of the perceptron, beside 1; if there are more, they share weights
N_COSINES = 100  # random Fourier features of an additive expert
N_ADDITIVE = 2  # linear models that are additive experts, the last ones
N_COMMON = 4  # rows of their inputs that are the same for all labels
COSINES_OF_TERM = 12  # with each feature in the second one, up to N_COSINES in all
FEW_FOR_COSINES = 50  # before these have been learned, there are no random Fourier features
MOST_TERMS = 32  # for the features in an additive expert; if there are more, they share terms
N_WAVES = 200  # random Fourier features of a trend
N_TRENDS = 2
N_TERM_ROWS = 6  # rows of inputs of trends, and of scratch space
MOST_TREND_FEATURES = 64  # with inputs of their own in a trend; if there are more, they share
N_RECENT_ERRORS = 2  # means of recent errors that may be voters
N_STACKED = 10  # voters of the largest stack

# The context of a sample that is learned: its number; the samples learned since its prediction, and
# the slot of that; how late labels have been; of a regression how many categories are new, and
# usual numbers missing; from HAS_RESTARTED on, whether each tree of a classifier has restarted.
SAMPLE_NUMBER, DELAY, PENDING_SLOT, LATENESS, IS_NEW, HAS_GAP, HAS_RESTARTED = range(7)

N_ERRORS = 128  # bins in which the errors of a regression are counted, for its intervals

MOST_BRANCHES = 64  # open branches of a walk that takes both ways

N_PURE = 256  # weights of pure cells with fewer samples than this are looked up in a table

# What the weights of all samples may sum to: its log-gamma is finite, and so are its products with
# squares of targets.
LARGEST_TOTALS = {CLASSIFICATION: 1e305, REGRESSION: 1e100}

Array = NDArray[Any]


class Field(NamedTuple):
    """An array of a forest: its dtype, its axes, and the value that fills spare capacity."""

    dtype: Any
    axes: tuple[str | int, ...]  # names of axes of variable length (see below), and fixed lengths
    fill: float = 0.0
    is_copied: bool = True  # to pickles, copies and files; all others are derived anew

    @property
    def itemsize(self) -> int:
        return int(np.dtype(self.dtype).itemsize)

    def shape(self, lengths: dict[str, int]) -> tuple[int, ...]:
        return tuple(axis if isinstance(axis, int) else lengths[axis] for axis in self.axes)


# Capacity on these is filled when a kernel adds an entry, so that memory is not touched before.
UNDEFINED = {"node", "box", "row"}

# The arrays of a forest, to kernels the attributes of a view (`kernels.numba_tools.views`). The
# functions below have the lengths of the axes. `vote` is the prediction of a voter, `moment` and
# `faded` what is kept of labels or targets, and `category` the index of one (`category_index`).
FIELDS = {
    "settings": Field(SETTINGS, (1,), is_copied=False),
    "counters": Field(COUNTERS, (1,)),
    "ranges": Field(np.float64, (2, "feature"), np.nan),
    "limits": Field(np.float64, (2, "feature"), np.nan),
    # for each tree target; if these follow relevance, the last row does not
    "intensity": Field(np.float64, ("intensity", "feature")),
    "is_categorical": Field(np.uint8, ("feature",), is_copied=False),
    # in place of missing values, NaN if they stay missing
    "stand_ins": Field(np.float64, ("feature",), np.nan),
    "features": Field(FEATURE, ("feature",)),
    "recent": Field(np.float64, ("feature", N_RECENT), np.nan),
    "moments": Field(np.float64, ("feature", "moment", 2)),
    "buckets": Field(np.float64, ("feature", N_BUCKETS, "moment")),
    "residual_features": Field(FEATURE, ("residual",)),
    "residual_moments": Field(np.float64, ("residual", "moment", 2)),
    "residual_buckets": Field(np.float64, ("residual", N_BUCKETS, "moment")),
    "bias": Field(np.float64, ("class",)),
    "errors": Field(np.float64, ("error",)),
    "row_errors": Field(ERRORS, ("row_kind",)),
    "words": Field(WORD, ("word",)),
    # weighted sums of values
    "word_sums": Field(np.float64, ("word", "class")),
    "word_weights": Field(np.float64, ("sparse_word", "class")),
    # squares of gradients
    "word_squares": Field(np.float64, ("sparse_word", "class"), 1.0),
    "standards": Field(STANDARD, ("timescale", "feature")),
    "linear_models": Field(LINEAR_MODEL, ("linear_model",)),
    # of the perceptron; the first input and the first unit are 1
    "input_numbers": Field(np.int32, ("binned", "component"), -1),
    "hidden_weights": Field(np.float32, ("input", N_UNITS)),
    "hidden_squares": Field(np.float32, ("input", N_UNITS), 1.0),
    "output_weights": Field(np.float32, ("linear_class", N_UNITS)),
    "output_squares": Field(np.float32, ("linear_class", N_UNITS), 1.0),
    "cosines": Field(np.float64, ("draw", 2, "cosine")),
    "edges": Field(np.float64, ("binned", N_BINS - 1)),
    # the last bin is for missing values
    "bin_counts": Field(np.float64, ("binned", N_BINS + 1, "linear_class")),
    "category_counts": Field(np.float64, ("onehot", "category", "linear_class")),
    "label_counts": Field(np.float64, ("linear_class",)),
    "additive_weights": Field(np.float64, ("linear_class", "additive_input")),
    "additive_covariance": Field(np.float64, ("additive_entry",)),
    "smooth_weights": Field(np.float64, ("linear_class", "smooth_input")),
    "trends": Field(TREND, ("trend",)),
    "profiles": Field(np.float64, ("profile", N_BINS + 1, 2)),
    "category_profiles": Field(np.float64, ("category_profile", "category", 2)),
    "fast": Field(np.float64, ("fit", "term")),
    "fast_covariance": Field(np.float64, ("fast_entry",)),
    "smooth": Field(np.float64, ("fit", "wave")),
    "smooth_covariance": Field(np.float64, ("smooth_entry",)),  # of a trend or an additive expert
    "stacks": Field(STACK, ("stack",)),
    "stack_sums": Field(np.float64, ("stack", N_STACKED, N_STACKED)),
    "stack_products": Field(np.float64, ("stack", N_STACKED)),
    "stack_weights": Field(np.float64, ("stack", N_STACKED)),
    # a ring of predictions, from `first_pending` on
    "pending": Field(PENDING, ("pending",)),
    "pending_keys": Field(np.uint64, ("pending",)),
    "pending_rows": Field(np.float64, ("pending", "feature"), np.nan),
    "pending_votes": Field(np.float64, ("pending", "voter", "pending_vote")),
    "trees": Field(TREE, ("tree",)),
    "gains": Field(np.float64, ("tree", 3, "gaining")),
    "own_intensity": Field(np.float64, ("tree", "gaining"), is_copied=False),
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
    "units": Field(np.float32, (3, N_UNITS), is_copied=False),
    "label_shares": Field(np.float64, (2, "linear_class"), is_copied=False),
    "steps": Field(np.float64, (4, "common_input"), is_copied=False),
    "tree_targets": Field(np.float64, ("tree_target",), is_copied=False),
    "votes": Field(np.float64, ("voter", 1, "vote"), is_copied=False),
    "context": Field(np.float64, ("context",), is_copied=False),
    "pooled": Field(np.float64, ("vote",), is_copied=False),
    "scores": Field(np.float64, ("tree", "node", "score"), is_copied=False),
    "branches": Field(BRANCH, ("tree", MOST_BRANCHES), is_copied=False),
    "pure": Field(np.float64, (N_PURE, 4), np.nan, is_copied=False),
}


def _axes(fields: dict[str, Field]) -> list[str]:
    axes = (axis for field in fields.values() for axis in field.axes if isinstance(axis, str))
    return [*dict.fromkeys(axes)]


COPIED = tuple(name for name, field in FIELDS.items() if field.is_copied)

# Arrays of earlier releases that this one has no use for.
DROPPED: frozenset[str] = frozenset()

# The arrays in the buffer of a prediction: the answer of the forest, its version then, the sample,
# and the inputs of linear models and trends, which learning the sample next uses.
OUTPUT_FIELDS = {
    "answer": Field(np.float64, ("vote",)),
    "made_at": Field(np.float64, (1,)),
    "seen": Field(np.float64, ("feature",)),
    "standardized": Field(np.float64, ("standardized_row", "feature")),
    "inputs": Field(np.float64, ("input",)),
    "terms": Field(np.float64, ("fit", N_TERM_ROWS, "trend_input")),
    "additive_inputs": Field(np.float64, ("additive_row", "common_input")),
}

AXES = _axes(FIELDS | OUTPUT_FIELDS)

# The arena for kernels: the addresses of its arrays, and the capacity along each axis.
HANDLE = np.dtype(
    [(name, "i8") for name in FIELDS]
    + [(f"{axis}_capacity", "i8") for axis in AXES]
    + [(f"{name}_offset", "i8") for name in OUTPUT_FIELDS]  # bytes from the start of a buffer
    + [
        ("version", "i8"),  # changes whenever predictions may change
        ("next_tree", "i8"),  # where to resume in the middle of a sample, else -1
        ("target", "f8"),  # of that sample: the index of its label, or a number
        ("weight", "f8"),
        ("slot", "i8"),  # of the prediction of the next sample, -2 if it is not looked for yet
        ("n_late", "i8"),  # number of trees that kept samples before it, or before a chunk
        ("most_rows", "i8"),  # in the store before it is compacted, at most its capacity
        ("most_pending", "i8"),  # predictions that are kept for delayed labels
    ]
)

# A block of samples for kernels: the arrays of `arena.EncodedBlock`, most of them for one chunk.
BLOCK_FIELDS = {
    "values": Field(np.float64, ("sample", "column")),
    "targets": Field(np.float64, ("sample",)),  # the index of each label, or a number
    "weights": Field(np.float64, ("sample",)),
    "answers": Field(np.float64, ("sample", "answer")),
    "votes": Field(np.float64, ("voter", "chunk", "vote")),
    "contexts": Field(np.float64, ("chunk", "context")),
    "clipped": Field(np.float64, ("chunk", "feature")),  # samples without outliers
    "tree_targets": Field(np.float64, ("chunk", "tree_target")),  # what the trees learn
    "intensities": Field(np.float64, ("chunk", "intensity", "feature")),  # when each is learned
    "rows": Field(np.int64, ("chunk",)),  # in the store
    "coded": Field(np.float64, ("tree", "feature")),  # one sample, as each tree sees it
    "standardized": Field(np.float64, ("chunk", "standardized_row", "feature")),
    "inputs": Field(np.float64, ("input",)),  # one sample, for the perceptron
    "additive_inputs": Field(np.float64, ("additive_row", "common_input")),  # and additive experts
    "terms": Field(np.float64, ("fit", N_TERM_ROWS, "trend_input")),  # and for the trends
    "next_samples": Field(np.int64, ("voter",)),  # where each tree, or the experts, resume
}
BLOCK_AXES = _axes(BLOCK_FIELDS)
BLOCK = np.dtype(
    [(name, "i8") for name in BLOCK_FIELDS]
    + [(f"{axis}_capacity", "i8") for axis in BLOCK_AXES]
    + [("predicts", "i8"), ("learns", "i8")]
    + [("keeps", "i8")]  # whether predictions are kept until their labels come
    + [("stage", "i8")]  # how far the chunk under way is (`kernels.chunks`)
)


def shapes(
    lengths: dict[str, int], fields: dict[str, Field] = FIELDS
) -> dict[str, tuple[int, ...]]:
    return {name: field.shape(lengths) for name, field in fields.items()}


def category_index(code: float) -> int:
    """Return the index of a category in linear models and profiles, 0 for a missing value."""
    return 0 if code == MISSING_CODE else 1 + int(code)


def lengths_of_classes(settings: Array, n_classes: int) -> dict[str, int]:
    is_regression = bool(settings["is_regression"][0])
    n_kept = 2 if is_regression else n_classes  # mean and squares, or counts
    return {
        "class": n_classes,
        "vote": ANSWER if is_regression else n_classes,
        "pending_vote": OF_VOTER if is_regression else n_classes,
        "target": 2 if is_regression else 0,
        "score": int(is_regression),
        "error": N_ERRORS if is_regression else 0,
        "row_kind": N_ROW_KINDS if is_regression else 0,
        "moment": n_kept if settings["relevance"][0] else 0,
        "faded": FADED_COUNTS + n_kept if settings["fades"][0] else 0,
        "linear_class": n_classes if settings["n_linear_models"][0] else 0,
        "component": max(2, n_classes) if settings["n_linear_models"][0] else 0,
        "additive_row": N_COMMON + n_classes if settings["n_linear_models"][0] else 0,
    }


def n_cosines_of(settings: Array, n_learned: int) -> int:
    n_expert = N_COSINES if settings["n_linear_models"][0] else 0
    n_cosines = N_WAVES if settings["n_trends"][0] else n_expert
    return n_cosines if n_learned >= FEW_FOR_COSINES else 0


def start_of_term(n_cosines: int, q: int) -> int:
    """Return the first input of an additive expert that is of a term, or the end if q is."""
    return 1 + 2 * q + min(COSINES_OF_TERM * q, n_cosines)


def n_profiles_of(n_labels: int) -> int:
    """Return how many profiles of a category the perceptron takes; those of two are opposite."""
    return n_labels if n_labels > 2 else 1


def are_inputs(is_categorical: Array, n_labels: int, n_components: int) -> Array:
    """Return which inputs features have, (n_features, n_components): z at both scales, profiles."""
    n = np.where(is_categorical, n_profiles_of(n_labels), 2)
    return np.arange(n_components) < n[:, None]


def input_at(number: int) -> int:
    """Return the input of the perceptron with a number; from MOST_INPUTS on, inputs are shared."""
    return 1 + number % MOST_INPUTS


def n_inputs_of(settings: Array) -> int:
    """Return how many inputs of the perceptron the features have."""
    n_features, n_labels, n_numeric = settings[["n_features", "n_labels", "n_numeric"]][0].item()
    return int(2 * n_numeric + n_profiles_of(n_labels) * (n_features - n_numeric))


def lengths_of_inputs(settings: Array, n_inputs: int) -> dict[str, int]:
    return {"input": 1 + min(n_inputs, MOST_INPUTS) if settings["n_linear_models"][0] else 0}


def lengths_of_features(settings: Array, n_features: int) -> dict[str, int]:
    has_experts = bool(settings["n_linear_models"][0])
    n_terms = min(n_features, MOST_TERMS) if has_experts else 0
    n_cosines = int(settings["n_cosines"][0])
    n_additive = start_of_term(0, n_terms) if has_experts else 0
    n_smooth = start_of_term(n_cosines, n_terms) if has_experts else 0
    has_trends = bool(settings["n_trends"][0])
    n_own = min(n_features, MOST_TREND_FEATURES)
    n_fast, n_wave = (1 + 2 * n_own, 1 + n_cosines + n_own) if has_trends else (0, 0)
    has_residuals = settings["n_tree_targets"][0] > 1 and settings["relevance"][0]
    return {
        "feature": n_features,
        "gaining": n_features if settings["relevance"][0] else 0,
        "binned": n_features if has_experts else 0,
        "common_input": max(n_smooth, n_cosines) if has_experts else 0,
        "additive_input": n_additive,
        "additive_entry": n_additive * (n_additive + 1) // 2,
        "smooth_input": n_smooth,
        "fast_entry": n_fast * (n_fast + 1) // 2,
        "smooth_entry": max(n_smooth * (n_smooth + 1), n_wave * (n_wave + 1)) // 2,
        "term": n_fast,
        "wave": n_wave,
        "trend_input": max(n_fast, n_wave, N_TRENDS + 1) if has_trends else 0,
        "profile": n_features if has_trends else 0,
        "residual": n_features if has_residuals else 0,
    }


def lengths_of_categorical(settings: Array, n_categorical: int) -> dict[str, int]:
    return {
        "onehot": n_categorical if settings["n_linear_models"][0] else 0,
        "category_profile": n_categorical if settings["n_trends"][0] else 0,
    }


def lengths_of_experts(settings: Array, n_trees: int) -> dict[str, int]:
    # The last additive expert and the last trend have random Fourier features. The mix of the
    # trends is a voter, too, and so is the pool.
    n_linear_models, n_trends = int(settings["n_linear_models"][0]), int(settings["n_trends"][0])
    has_trends, has_sparse = int(n_trends > 0), int(settings["has_sparse_expert"][0])
    has_experts = int(n_linear_models > 0)
    has_pool = int(settings["learns_vote"][0] and not settings["is_regression"][0])
    return {
        "tree": n_trees,
        "context": HAS_RESTARTED + n_trees,
        "voter": n_trees + n_linear_models + n_trends + has_trends + has_sparse + has_pool,
        "linear_model": n_linear_models,
        "timescale": 2 * has_experts + has_trends,
        "standardized_row": 3 * has_experts + has_trends,  # with one of bins
        "draw": has_experts + has_trends,
        "cosine": int(settings["n_cosines"][0]),
        "tree_target": int(settings["n_tree_targets"][0]),
        "intensity": int(settings["n_tree_targets"][0] + settings["relevance"][0]),
        "trend": n_trends,
        "fit": has_trends,
        "stack": 2 * int(settings["is_regression"][0]) + has_trends,
    }


def lengths_of_words(settings: Array, n_words: int) -> dict[str, int]:
    return {"word": n_words, "sparse_word": n_words if settings["has_sparse_expert"][0] else 0}


def lengths_in_use(settings: Array, counters: Array, trees: Array) -> dict[str, int]:
    n_features = int(settings["n_features"][0])
    n_categorical = n_features - int(settings["n_numeric"][0])
    return (
        lengths_of_classes(settings, int(settings["n_classes"][0]))
        | lengths_of_features(settings, n_features)
        | lengths_of_categorical(settings, n_categorical)
        | lengths_of_experts(settings, len(trees))
        | lengths_of_words(settings, int(settings["n_words"][0]))
        | lengths_of_inputs(settings, n_inputs_of(settings))
        | {
            "category": 1 + int(settings["n_codes"][0]),
            "node": int(trees["n_nodes"].max()),
            "box": int(trees["n_boxes"].max()),
            "row": int(counters["n_rows"][0]),
            "pending": int(counters["n_pending"][0]),
        }
    )
