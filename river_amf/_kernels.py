"""Every compiled function of the package, and nothing else is compiled.

They follow sections 2 and 3 of the project's design and the papers named there: [AMF] Mourtada,
Gaiffas, Scornet, *AMF: Aggregated Mondrian Forests for Online Learning* (2021); [MF]
Lakshminarayanan, Roy, Teh, *Mondrian Forests* (2014); [CTW] Willems, Shtarkov, Tjalkens, *The
Context-Tree Weighting Method* (1995); [FS] Herbster, Warmuth, *Tracking the Best Expert* (1998).

All of them are in one file because Numba's cache on disk is keyed on the file of a function: a
change in a helper elsewhere would not be seen. They also run uncompiled (NUMBA_DISABLE_JIT=1).

Notation: a node v with counts n_v(c), their sum N_v, C classes, Dirichlet parameter a, step eta and
split prior b; log_odds is r_v, log g the growth of log wbar that a child hands to its parent.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numba import carray
from numba.extending import intrinsic

from river_amf.state import (
    BLOCK,
    FADED_COUNTS,
    FADED_SHARE,
    FADED_SUM,
    FEATURE,
    HANDLE,
    LAYOUT,
    N_BINS,
    N_BUCKETS,
    N_PURE,
    N_RECENT,
    NODE,
    SAMPLE,
    SETTINGS,
    TREE,
)

CACHE = True

if LAYOUT != "20141233":  # write it here whenever it changes, so that no cache serves the old one
    raise ImportError(f"the kernels are not written for the layout of state.py, {LAYOUT}")

F = TypeVar("F", bound=Callable[..., Any])


# No Python objects, GIL released, IEEE semantics without fastmath (NaN means missing).
_njit = functools.partial(numba.njit, error_model="numpy", nogil=True)
# Without a wrapper for Python, which halves the time to compile.
_njit_part = functools.partial(_njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def kernel(function: F) -> F:
    """Compile a function that Python calls; it is cached on disk with all that it calls."""
    return cast(F, _njit(function, cache=CACHE))


def part(function: F) -> F:
    """Compile a function that only kernels call."""
    return cast(F, _njit_part(function))


def hot(function: F) -> F:
    """Compile a part that every sample runs through, into its callers."""
    return cast(F, _njit_part(function, forceinline=True))


def view(function: F) -> F:
    """Let the source of a part stand in its callers.

    For what returns records, which Numba cannot; and for a long part of one caller, which would be
    optimised by itself first: that took an eighth of all compiling.
    """
    return cast(F, _njit_part(function, inline="always"))


if numba.config.DISABLE_JIT:

    def pointer(address: int) -> Any:
        """Return an address as a pointer."""
        return ctypes.c_void_p(int(address))

else:

    @intrinsic
    def pointer(typingctx, address):  # type: ignore[no-untyped-def]
        """Return an address as a pointer."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return numba.types.voidptr(address), generate


NONE = -1  # no node, no box, end of a list of rows
UNLISTED = -2  # the link of a row that no leaf of the tree keeps

# What learn_sample answers, unless it is the tree to go on with once there is more room.
DONE = -1
RELEASED = -2  # done, and some tree no longer keeps samples
INFINITE = -3  # nothing was changed: the sample holds an infinite value
STORE_FULL = -4  # nothing was changed: make room and call again
NODES_FULL = -5
BOXES_FULL = -6
ALL_FULL = (STORE_FULL, NODES_FULL, BOXES_FULL)

# What a tree lacks.
NOTHING = -1
NODES = 0
BOXES = 1

FULL = (NODES_FULL, BOXES_FULL)  # by what a tree lacks
FEW_SAMPLES = 64  # a chunk is not to be smaller than that for want of room

# The first tree, where it is no tree to go on with.
START = -1
ONLY_ROOM = -2  # only ask whether there is room

# Every tree has room for so many splits before any tree learns a sample. An expansion that needs
# more, which is rare, stops between two trees until it has been given room.
READY_SPLITS = 16

NEVER = math.inf  # the split time of a node that does not split
LARGEST = 1.7976931348623157e308  # of all float64
SCALE = 2.0**512  # what the odds of a node are divided by, to stay within float64
LOG_SCALE = 512 * math.log(2.0)
LARGEST_ODDS = 2.0**256  # before that; and its inverse the smallest
LARGEST_LOG_ODDS = 1e300
FEW_SCALES = 4.0  # divided as often, they are 0
RAREST = 32  # bits of a number that tells which samples stay in a list that grows too long
SWITCHING = 0.001  # how far a node's faded share is drawn towards 1/2 at each sample
SHARE_MEMORY = 500.0  # samples that the mean of the faded shares goes back

FAR = 30.0  # a value may be an outlier if it is so many times the range's width outside
MOST_OUTLIERS = 2  # at each end, of the values that a range is judged by
PATIENCE = 5.0  # how many such values make the range wider; each value inside takes back
RELIEF = 0.05
MEMORY = 400.0  # samples that relevance goes back
LEAST_RELEVANCE = 0.003
LEAST_TRUST, LARGEST_TRUST = 1e-60, 1e6  # bounds of a sample's weight in relevance
LARGEST_NEWEST = 1e60  # of the weight of the newest sample, before all are made smaller
LARGEST_SPREAD = 1e100  # beyond that squares of deviations are of no use

RECENT_RATE = 0.02  # of the running mean of a tree's last losses
USUAL_RATE = 0.001
LEAST_HEARD = 300  # predictions before a tree may start afresh
LEAST_VARIANCE = 0.001  # of a loss
LEAST_SURPLUS = 0.05  # of the last losses over the usual ones: three bad surprises in a row

FLOOR = 0.001  # what a learned vote adds to the probabilities before it takes logarithms
VOTE_RATE = 0.002
BIAS_RATE = 0.02

SAFE = 1e50  # of counts between it and its inverse, three quotients are far from the limits

# D. Thomas' MWC64X generator
WORD = np.uint64(32)
LOW_WORD = np.uint64(0xFFFFFFFF)
MULTIPLIER = np.uint64(4294883355)


# What the kernels handle, for the reader: arrays and records are those of `state`.
Array = Any
Record = Any
Word = Any  # a uint64 of which the lower 32 bits count


class Forest(NamedTuple):
    """The arrays of `state.Arena`."""

    settings: Any
    ranges: Any
    limits: Any
    intensity: Any
    is_categorical: Any
    features: Any
    recent: Any
    moments: Any
    buckets: Any
    bias: Any
    votes: Any
    trees: Any
    nodes: Any
    counts: Any
    faded: Any
    boxes: Any
    rows: Any
    samples: Any
    links: Any
    pure: Any


class Samples(NamedTuple):
    """The arrays of `state.Block`."""

    values: Any
    labels: Any
    weights: Any
    proba: Any
    parts: Any  # of the trees, for the samples of a chunk
    tame: Any  # the samples of a chunk without outliers
    intensities: Any  # when a sample of a chunk is learnt
    rows: Any  # of the samples of a chunk, in the store
    coded: Any  # one sample, as each tree sees it
    next_samples: Any  # where each tree is to go on


class Tree(NamedTuple):
    """One tree's part of them; `state` and `settings` are records."""

    settings: Any
    state: Any
    nodes: Any
    counts: Any
    faded: Any
    boxes: Any
    links: Any
    intensity: Any  # at the time of the sample that is learnt


# A sample of a leaf that is being split.
MEMBER = np.dtype(
    [
        ("weight", "f8"),
        ("row", "i8"),  # in the store
        ("depth", "i8"),  # the number of splits that it shares with the newcomer
    ]
)
MEMBER_BYTES = MEMBER.itemsize

# A split that parts a newcomer from the samples of a pure leaf.
SPLIT = np.dtype(
    [("time", "f8"), ("threshold", "f8"), ("feature", "i8"), ("newcomer_left", "i8")],
)
SPLIT_BYTES = SPLIT.itemsize


class Expansion(NamedTuple):
    """What it takes to split a leaf; all in one piece of memory, which costs less than seven."""

    members: Any
    values: Any  # (members, features), as the tree sees them
    splits: Any
    boxes: Any  # (splits, 2, features), the hulls of the cells that are split
    lengths: Any  # of the sides of one of them
    cell: Any  # the members of the newcomer's cell so far
    chain: Any  # the nodes that are split, and the newcomer's leaf


# ------------------------------------------------------------------------------------- arguments


@hot
def forest_of(address: int) -> Forest:
    """The arrays of an arena by the address of its handle, of dtype `state.HANDLE`.

    They are views that nobody counts references to: Python holds the arrays during a call. To count
    them, for each view and each pass to a function, took half the time of a walk.
    """
    at = carray(pointer(address), (1,), HANDLE)[0]
    n_trees, width = at["n_trees"], at["feature_room"]
    node_room, row_room = at["node_room"], at["row_room"]
    return Forest(
        carray(pointer(at["settings"]), (1,), SETTINGS),
        carray(pointer(at["ranges"]), (2, width), np.float64),
        carray(pointer(at["limits"]), (2, width), np.float64),
        carray(pointer(at["intensity"]), (width,), np.float64),
        carray(pointer(at["is_categorical"]), (width,), np.uint8),
        carray(pointer(at["features"]), (width,), FEATURE),
        carray(pointer(at["recent"]), (width, N_RECENT), np.float64),
        carray(pointer(at["moments"]), (width, at["moment_room"], 2), np.float64),
        carray(pointer(at["buckets"]), (width, N_BUCKETS, at["moment_room"]), np.float64),
        carray(pointer(at["bias"]), (at["class_room"],), np.float64),
        carray(pointer(at["votes"]), (n_trees + 1, 1, at["class_room"]), np.float64),
        carray(pointer(at["trees"]), (n_trees,), TREE),
        carray(pointer(at["nodes"]), (n_trees, node_room), NODE),
        carray(pointer(at["counts"]), (n_trees, node_room, at["class_room"]), np.float64),
        carray(pointer(at["faded"]), (n_trees, node_room, at["faded_room"]), np.float64),
        carray(pointer(at["boxes"]), (n_trees, at["box_room"], 2, width), np.float64),
        carray(pointer(at["rows"]), (row_room, width), np.float64),
        carray(pointer(at["samples"]), (row_room,), SAMPLE),
        carray(pointer(at["links"]), (n_trees, row_room), np.int32),
        carray(pointer(at["pure"]), (N_PURE, 3), np.float64),
    )


@view
def tree_of(forest: Forest, t: int, intensity: Array) -> Tree:
    """One tree's part of a forest."""
    return Tree(
        forest.settings[0],
        forest.trees[t],
        forest.nodes[t],
        forest.counts[t],
        forest.faded[t],
        forest.boxes[t],
        forest.links[t],
        intensity,
    )


@hot
def samples_of(address: int, forest: Forest) -> Samples:
    """The arrays of a block by the address of its record, of dtype `state.BLOCK`."""
    at = carray(pointer(address), (1,), BLOCK)[0]
    n, n_trees = at["n_samples"], len(forest.trees)
    settings = forest.settings[0]
    n_features, n_classes = settings["n_features"], settings["n_classes"]
    return Samples(
        carray(pointer(at["values"]), (n, at["n_columns"]), np.float64),
        carray(pointer(at["labels"]), (n,), np.int64),
        carray(pointer(at["weights"]), (n,), np.float64),
        carray(pointer(at["proba"]), (n, at["n_labels"]), np.float64),
        carray(pointer(at["parts"]), (n_trees, at["chunk"], n_classes), np.float64),
        carray(pointer(at["tame"]), (at["chunk"], n_features), np.float64),
        carray(pointer(at["intensities"]), (at["chunk"], n_features), np.float64),
        carray(pointer(at["rows"]), (at["chunk"],), np.int64),
        carray(pointer(at["coded"]), (n_trees, n_features), np.float64),
        carray(pointer(at["next_samples"]), (n_trees,), np.int64),
    )


@hot
def sample_of(address: int, width: int) -> Array:
    """The (3, n_features) values of an encoded sample."""
    return carray(pointer(address), (3, width), np.float64)


@hot
def unsigned(index: int) -> int:
    """An index that is not negative: without the test whether it counts from the end."""
    return np.uint64(index)  # type: ignore[return-value]


# ------------------------------------------------------------------------------ random numbers


@hot
def draw_word(state: Record) -> Word:
    """32 random bits by D. Thomas' MWC64X; no product overflows, also as a numpy scalar."""
    low = state["random_state"] & LOW_WORD
    high = state["random_state"] >> WORD
    state["random_state"] = low * MULTIPLIER + high
    return low ^ high


@hot
def draw_uniform(state: Record) -> float:
    """Uniform on [0, 1) with 53 bits."""
    high = draw_word(state) >> np.uint64(5)
    low = draw_word(state) >> np.uint64(6)
    return (float(high) * 67108864.0 + float(low)) / 9007199254740992.0


@hot
def draw_exponential(state: Record, rate: float) -> float:
    """E ~ Exp(rate)."""
    return -math.log1p(-draw_uniform(state)) / rate


@hot
def draw_split_time(state: Record, time: float, rate: float, end: float) -> float:
    """Time + E with E ~ Exp(rate); NEVER, mostly without a logarithm, if that is past the end."""
    u = draw_uniform(state)
    if u > rate * (end - time):  # E = -log(1 - u) / rate >= u / rate
        return NEVER
    return time - math.log1p(-u) / rate


@part
def draw_threshold(state: Record, low: float, high: float) -> float:
    """Uniform on [low, high), so that `low` goes left and `high` right."""
    u = draw_uniform(state)
    if high - low <= LARGEST:
        threshold = low + (high - low) * u
    else:
        threshold = low * (1.0 - u) + high * u
    return threshold if threshold < high else low


@part
def draw_feature(state: Record, lengths: Array, intensity: Array, rate: float) -> int:
    """Feature j with probability intensity_j lengths_j / rate."""
    mass = draw_uniform(state) * rate
    total = 0.0
    feature = NONE
    for j in range(len(lengths)):
        if lengths[j] > 0.0 and intensity[j] > 0.0:
            feature = j
            total += intensity[j] * lengths[j]
            if total > mass:
                break
    return feature


@part
def mixed(word: Word) -> Word:
    """The finalizer of MurmurHash3: a bijection of 32-bit words that mixes well."""
    word = word ^ (word >> np.uint64(16))
    word = (word * np.uint64(0x85EBCA6B)) & LOW_WORD
    word = word ^ (word >> np.uint64(13))
    word = (word * np.uint64(0xC2B2AE35)) & LOW_WORD
    return word ^ (word >> np.uint64(16))


@kernel
def category_number(key: Word, feature: int, code: float) -> float:
    """The number in [0, 1) that a tree gives to a category (design 3.6); no two share one."""
    salt = mixed(key ^ ((np.uint64(feature) * np.uint64(0x9E3779B9)) & LOW_WORD))
    return float(mixed(mixed(np.uint64(code)) ^ salt)) / 4294967296.0


# -------------------------------------------------------------------------------------- samples


@hot
def has_infinity(x: Array, n_features: int) -> bool:
    """Whether a value of x is infinite. Makes -0.0 its equal 0.0, which has other bytes."""
    for j in range(n_features):
        if math.isinf(x[j]):
            return True
        x[j] += 0.0
    return False


@hot
def tame(forest: Forest, values: Array, n_features: int, out: Array) -> None:
    """Copy a sample, values far outside the range drawn in to its ends (winsorised).

    A tree would part an outlier from all else near its root, and know little of it.
    """
    for j in range(n_features):
        value = values[j]
        value = forest.ranges[0, j] if value < forest.limits[0, j] else value
        out[j] = forest.ranges[1, j] if value > forest.limits[1, j] else value


@hot
def code_row(is_categorical: Array, n_features: int, key: Word, values: Array, out: Array) -> None:
    """Write `values` as a tree with this key sees them: its own number for each category."""
    for j in range(n_features):
        value = values[j]
        if is_categorical[j] and not math.isnan(value):
            value = category_number(key, j, value)
        out[j] = value


# ------------------------------------------------------------------------------- split intensity


@hot
def update_intensity(forest: Forest, x: Array, label: int, weight: float) -> None:
    """Split intensities for a sample that is about to be learnt (design 3.2).

    They follow from the ranges with the sample, and from the relevance of the features without it.
    """
    settings = forest.settings[0]
    n_features = settings["n_features"]
    for j in range(n_features):
        value = x[j]
        if forest.is_categorical[j] or math.isnan(value):
            continue
        feature = forest.features[j]
        is_inside_range = forest.ranges[0, j] <= value <= forest.ranges[1, j]
        if feature["n_recent"] < N_RECENT or not is_inside_range:
            take_range(forest, j, value)
        elif feature["credit"] > 0.0:
            feature["credit"] = max(0.0, feature["credit"] - RELIEF)
    if settings["relevance"]:
        weigh_features(forest, x, label, max(min(weight, LARGEST_TRUST), LEAST_TRUST))


@part
def take_range(forest: Forest, j: int, value: float) -> None:
    """Extend the range of a feature by a value, unless it is far outside, as an outlier would be.

    One in a thousand -999 or 1e9 would else silence the feature. The first values are judged
    together; later ones have to be frequent.
    """
    feature = forest.features[j]
    low, high = forest.ranges[0, j], forest.ranges[1, j]
    if feature["n_recent"] == N_RECENT and max(low - value, value - high) > FAR * (high - low):
        feature["credit"] += 1.0
        if feature["credit"] < PATIENCE:
            return
        feature["credit"] = 0.0
    low = min(low, value) if low <= high else value
    high = max(high, value) if low <= high else value
    n_recent = feature["n_recent"]
    if n_recent < N_RECENT:
        forest.recent[j, n_recent] = value
        feature["n_recent"] = n_recent + 1
        if n_recent + 1 == N_RECENT:
            least, largest = inner_range(forest.recent[j])
            if least > low or largest < high:
                low, high = least, largest
                forget_feature(forest, j)
            if is_nearly_constant(forest.recent[j]):
                forest.recent[j, 0], forest.recent[j, 1] = low, high
                feature["n_recent"] = 2
    forest.ranges[0, j], forest.ranges[1, j] = low, high
    if forest.settings[0]["range_intensity"]:
        forest.intensity[j] = range_intensity(low, high)
        if feature["n_recent"] == N_RECENT and high > low:
            reach = FAR * min(high - low, LARGEST)
            forest.limits[0, j], forest.limits[1, j] = low - reach, high + reach


@hot
def is_nearly_constant(values: Array) -> bool:
    """Whether sorted values are equal but for those that might be outliers: judge them again."""
    return values[MOST_OUTLIERS] == values[len(values) - 1 - MOST_OUTLIERS]


@hot
def range_intensity(low: float, high: float) -> float:
    """One over the range."""
    return min(1.0 / min(high - low, LARGEST), LARGEST) if high > low else 0.0


@part
def inner_range(values: Array) -> tuple[float, float]:
    """Sort values; returns the least and the largest of those that are no outliers.

    Outliers are at most MOST_OUTLIERS at an end, and far from the others by the width of the rest.
    """
    values.sort()
    first, last = 0, len(values) - 1
    width = values[last - MOST_OUTLIERS] - values[MOST_OUTLIERS]
    for k in range(1, MOST_OUTLIERS + 1):
        if width > 0.0 and values[k] - values[k - 1] > FAR * width:
            first = k
        if width > 0.0 and values[-k] - values[-k - 1] > FAR * width:
            last = len(values) - 1 - k
    return values[first], values[last]


@part
def forget_feature(forest: Forest, j: int) -> None:
    """Forget the statistics of a numeric feature."""
    feature = forest.features[j]
    feature["weight"] = 0.0
    feature["squares"] = 0.0
    feature["mean"] = 0.0
    feature["total"] = 0.0
    feature["within"] = 0.0
    feature["explained"] = 0.0
    feature["n_used"] = 0.0
    feature["relevance"] = 0.0
    for c in range(forest.moments.shape[1]):
        forest.moments[j, c, 0] = 0.0
        forest.moments[j, c, 1] = 0.0
        for k in range(N_BUCKETS):
            forest.buckets[j, k, c] = 0.0


@hot
def weigh_features(forest: Forest, x: Array, label: int, weight: float) -> None:
    """Multiply each intensity by the feature's relevance so far, with mean 1; then take a sample.

    Samples fade by the weight of the newest one, which grows.
    """
    settings = forest.settings[0]
    n_features = settings["n_features"]
    total = 0.0
    for j in range(n_features):
        total += LEAST_RELEVANCE + forest.features[j]["relevance"]
    scale = n_features / total
    newest, n_classes = settings["newest_weight"], settings["n_classes"]
    for j in range(n_features):
        feature = forest.features[j]
        low, high = forest.ranges[0, j], forest.ranges[1, j]
        value = x[j]
        base = 1.0 if forest.is_categorical[j] else range_intensity(low, high)
        forest.intensity[j] = min(
            base * (scale * (LEAST_RELEVANCE + feature["relevance"])), LARGEST
        )
        if math.isnan(value) or not (forest.is_categorical[j] or low <= value <= high):
            continue
        moments, taken = forest.moments[j], weight * newest
        eta2 = 0.0
        if forest.is_categorical[j]:
            k = int(value) % N_BUCKETS
            moments[label, 0] += taken
        else:
            place = (value - low) * base * N_BINS  # infinite where the range is beyond float64
            k = int(place) if place < N_BINS else N_BINS - 1
            eta2 = measure_value(feature, moments[label], value, taken)
        bucket = forest.buckets[j, k]
        tau = count_bucket(feature, moments, bucket, n_classes, label, taken)
        feature["relevance"] = min(max(eta2, tau), 1.0)
    settings["newest_weight"] = newest / (1.0 - 1.0 / MEMORY)
    if settings["newest_weight"] > LARGEST_NEWEST:
        make_smaller(forest, settings["newest_weight"])
        settings["newest_weight"] = 1.0


@hot
def measure_value(feature: Record, moment: Array, value: float, weight: float) -> float:
    """Take a value of a numeric feature; returns the correlation ratio eta^2 = 1 - within / total.

    The sums of squares about the means, of all and of each class, are those of West (1979).
    """
    total, of_class = feature["weight"] + weight, moment[0] + weight
    moment[0] = of_class
    deviation, from_class = value - feature["mean"], value - moment[1]
    if max(abs(deviation), abs(from_class)) < LARGEST_SPREAD:
        feature["mean"] += deviation * (weight / total)
        feature["total"] += weight * deviation * (value - feature["mean"])
        moment[1] += from_class * (weight / of_class)
        feature["within"] += weight * from_class * (value - moment[1])
    if feature["total"] > 0.0:
        return min(max(1.0 - feature["within"] / feature["total"], 0.0), 1.0)
    return 0.0


@hot
def count_bucket(
    feature: Record, moments: Array, bucket: Array, n_classes: int, label: int, weight: float
) -> float:
    """Count a value in its bucket; returns Goodman and Kruskal's tau, less what chance would give.

    It is the correlation ratio of the label's indicators, given the bucket: (E - G) / (1 - G) with
    E = sum_k sum_c N_kc^2 / N_k / N and G = sum_c N_c^2 / N^2; `moments` has counted the label.
    """
    feature["weight"] += weight
    feature["squares"] += weight * weight
    total = feature["weight"]
    size, squares, by_chance = 0.0, 0.0, 0.0
    for c in range(n_classes):
        size += bucket[c]
        squares += bucket[c] * bucket[c]
        by_chance += moments[c, 0] * moments[c, 0]
    by_chance /= total * total
    if size > 0.0:
        feature["explained"] -= squares / size
    else:
        feature["n_used"] += 1.0
    squares += weight * (2.0 * bucket[label] + weight)
    bucket[label] += weight
    feature["explained"] += squares / (size + weight)
    if by_chance >= 1.0 - 1e-12:
        return 0.0
    tau = (feature["explained"] / total - by_chance) / (1.0 - by_chance)
    n_samples = total * (total / feature["squares"])
    surplus = (1.0 - tau) * (feature["n_used"] - 1.0) / max(n_samples - feature["n_used"], 1.0)
    return max(tau - surplus, 0.0)


@part
def count_used(buckets: Array) -> int:
    """The number of buckets that are not empty; old ones become so."""
    n_used = 0
    for k in range(N_BUCKETS):
        size = 0.0
        for c in range(buckets.shape[1]):
            size += buckets[k, c]
        n_used += size > 0.0
    return n_used


@part
def make_smaller(forest: Forest, factor: float) -> None:
    """Divide all weights of past samples by a factor."""
    for j in range(forest.settings[0]["n_features"]):
        feature = forest.features[j]
        feature["weight"] /= factor
        feature["squares"] /= factor
        feature["squares"] /= factor
        feature["total"] /= factor
        feature["within"] /= factor
        feature["explained"] /= factor
        for c in range(forest.moments.shape[1]):
            forest.moments[j, c, 0] /= factor
            for k in range(N_BUCKETS):
                forest.buckets[j, k, c] /= factor
        feature["n_used"] = count_used(forest.buckets[j])


# ---------------------------------------------------------------------------------------- boxes


@hot
def range_extension(low: float, high: float, value: float) -> float:
    """e_j, the distance of value outside [low, high]; 0 if it or the range is missing (NaN)."""
    below = low - value
    above = value - high
    extension = below if below > 0.0 else (above if above > 0.0 else 0.0)
    return min(extension, LARGEST)


@hot
def extension_rate(box: Array, x: Array, intensity: Array, n_features: int) -> float:
    """The rate sum_j lambda_j e_j at which x calls for a split above a box [MF, algorithm 4]."""
    rate = 0.0
    for j in range(n_features):
        rate += intensity[j] * range_extension(box[0, j], box[1, j], x[j])
    return rate


@hot
def count_missing(x: Array, n_features: int) -> int:
    """The number of missing values."""
    n_missing = 0
    for j in range(n_features):
        n_missing += math.isnan(x[j])
    return n_missing


@hot
def is_inside(box: Array, x: Array, n_features: int, n_missing: int) -> bool:
    """Whether a box holds the values of x that are there.

    Without branches, for several features at once; a missing value counts as outside twice.
    """
    n_outside = 0
    for j in range(n_features):
        n_outside += not (box[0, j] <= x[j])
        n_outside += not (x[j] <= box[1, j])
    return n_outside == 2 * n_missing


@hot
def extend_box(box: Array, x: Array, n_features: int) -> None:
    """Extend a box to hold x; a missing value changes nothing, a first value starts the range."""
    for j in range(n_features):
        value = x[j]
        if value < box[0, j] or math.isnan(box[0, j]):
            box[0, j] = value
        if value > box[1, j] or math.isnan(box[1, j]):
            box[1, j] = value


# -------------------------------------------------------------------------------- node estimates


@hot
def shares(node: Record) -> tuple[float, float]:
    """A node's own share sigma(r) = odds / (1 + odds), and the rest sigma(-r), both exact."""
    odds, scale = node["odds"], node["odds_scale"]
    if scale == 0.0:
        rest = 1.0 / (1.0 + odds)
        return odds * rest, rest
    smaller = odds if scale < 0.0 else 1.0 / odds
    for _ in range(int(min(abs(scale), FEW_SCALES))):
        smaller /= SCALE
    return (smaller, 1.0) if scale < 0.0 else (1.0, smaller)


@hot
def multiply_odds(node: Record, factor: float) -> None:
    """Multiply the odds of a node by a factor of at least SAFE^-3 and at most SAFE^3."""
    odds = node["odds"] * factor
    if odds > LARGEST_ODDS:
        odds /= SCALE
        node["odds_scale"] += 1.0
    elif odds < 1.0 / LARGEST_ODDS:
        odds *= SCALE
        node["odds_scale"] -= 1.0
    node["odds"] = odds


@hot
def log_odds_in(node: Record) -> float:
    """The log-odds r_v of a node."""
    return math.log(node["odds"]) + node["odds_scale"] * LOG_SCALE


@hot
def set_log_odds(node: Record, log_odds: float) -> None:
    """Write the log-odds r_v into a node; infinite ones, beyond float64, as very large ones."""
    log_odds = min(max(log_odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)
    scale = np.rint(log_odds / LOG_SCALE)
    rest = log_odds - scale * LOG_SCALE
    node["odds"] = math.exp(min(max(rest, -0.5 * LOG_SCALE), 0.5 * LOG_SCALE))
    node["odds_scale"] = scale


@hot
def softplus(log_odds: float) -> float:
    """The stable softplus log(1 + exp(r)) (design 2)."""
    return max(log_odds, 0.0) + math.log1p(math.exp(-abs(log_odds)))


@part
def log_score(settings: Record, count: float, n_samples: float, weight: float) -> float:
    """Log of the probability that a node gave the label of a sample it has not counted yet.

    For weight 1 log p_v(y); else the increment of -L_v, so that order does not matter (design 2).
    """
    a = settings["dirichlet"]
    total = settings["total_dirichlet"]
    if weight == 1.0:
        return math.log(count + a) - math.log(n_samples + total)
    return (
        math.lgamma(count + weight + a)
        - math.lgamma(count + a)
        - math.lgamma(n_samples + weight + total)
        + math.lgamma(n_samples + total)
    )


@hot
def tempered(settings: Record, log_p: float) -> float:
    """The eta log p of a score or a weight; an infinite one as a very large one, as of odds."""
    return min(max(settings["step"] * log_p, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)


@part
def log_weight(settings: Record, counts: Array, n_samples: float) -> float:
    """Log weight log w_v = -eta L_v, with L_v in closed form from the counts (design 2, loss)."""
    if n_samples == 0.0:
        return 0.0
    loss = math.lgamma(n_samples + settings["total_dirichlet"]) - settings["lgamma_total"]
    for c in range(settings["n_classes"]):
        if counts[c] > 0.0:
            loss -= math.lgamma(counts[c] + settings["dirichlet"]) - settings["lgamma_dirichlet"]
    return tempered(settings, -loss)


@hot
def log_weight_of_pure(forest: Forest, n_samples: float) -> float:
    """Log weight log w_v of a cell in which all samples bear one label.

    Of few samples of weight 1 it is kept once it has been computed: lgamma costs a walk.
    """
    settings = forest.settings[0]
    known = forest.pure
    index = int(min(n_samples, float(len(known) - 1)))
    if index == n_samples and not math.isnan(known[index, 0]):
        return known[index, 0]
    loss = math.lgamma(n_samples + settings["total_dirichlet"]) - settings["lgamma_total"]
    loss -= math.lgamma(n_samples + settings["dirichlet"]) - settings["lgamma_dirichlet"]
    log_w = tempered(settings, -loss) if n_samples > 0.0 else 0.0
    if index == n_samples:
        known[index, 0] = log_w
    return log_w


# --------------------------------------------------------------------------------------- fading


@hot
def learn_faded(settings: Record, row: Array, label: int, p_whole: float) -> float:
    """Count a sample of weight 1 in a node's faded counts; the node's p_v(y) from before.

    The node predicts the mix of its two estimators, (1 - q) p_whole + q p_faded; q is updated by
    Bayes' rule and then drawn towards 1/2 by the share of Herbster and Warmuth [FS].
    """
    share = row[FADED_SHARE]
    a, total = settings["dirichlet"], settings["total_dirichlet"]
    of_faded = share * (row[FADED_COUNTS + label] + a) / (row[FADED_SUM] + total)
    p = (1.0 - share) * p_whole + of_faded
    row[FADED_SHARE] = 0.5 * SWITCHING + (1.0 - SWITCHING) * of_faded / p
    gamma = settings["fading_factor"]
    row[FADED_SUM] = gamma * row[FADED_SUM] + 1.0
    for c in range(FADED_COUNTS, FADED_COUNTS + settings["n_classes"]):
        row[c] *= gamma
    row[FADED_COUNTS + label] += 1.0
    return p


@part
def learn_faded_weight(
    settings: Record, row: Array, label: int, log_p_whole: float, weight: float
) -> float:
    """As learn_faded, for any weight and in logarithms.

    The counts fade by gamma^w and gain (1 - gamma^w) / (1 - gamma), as if the weight came bit by
    bit. The faded estimator scores p_faded(y)^w, and the share is drawn to 1/2 once.
    """
    share = row[FADED_SHARE]
    a, total = settings["dirichlet"], settings["total_dirichlet"]
    p_faded = (row[FADED_COUNTS + label] + a) / (row[FADED_SUM] + total)
    score = weight * math.log(p_faded) if p_faded > 0.0 else -LARGEST_LOG_ODDS
    log_whole = math.log1p(-share) + max(log_p_whole, -LARGEST_LOG_ODDS)
    log_faded = math.log(share) + max(score, -LARGEST_LOG_ODDS)
    log_p = max(log_whole, log_faded) + math.log1p(math.exp(-abs(log_whole - log_faded)))
    row[FADED_SHARE] = 0.5 * SWITCHING + (1.0 - SWITCHING) * math.exp(log_faded - log_p)
    gamma = settings["fading_factor"]
    rest = math.pow(gamma, weight)
    gain = -math.expm1(weight * math.log(gamma)) / (1.0 - gamma)
    row[FADED_SUM] = rest * row[FADED_SUM] + gain
    for c in range(FADED_COUNTS, FADED_COUNTS + settings["n_classes"]):
        row[c] *= rest
    row[FADED_COUNTS + label] += gain
    return log_p


@part
def replay_pure(forest: Forest, n_samples: int) -> tuple[float, float, float]:
    """What n samples of weight 1 and one label leave: log w_v / eta, faded share, faded sum.

    Kept in a table for few samples; other threads may be about to write the same there.
    """
    settings, known = forest.settings[0], forest.pure
    a, total, gamma = settings["dirichlet"], settings["total_dirichlet"], settings["fading_factor"]
    k = min(n_samples, len(known) - 1)
    while k > 0 and math.isnan(known[k, 0] + known[k, 1] + known[k, 2]):
        k -= 1
    log_w, share, faded_sum = 0.0, 0.5, 0.0
    if k > 0:
        log_w, share, faded_sum = known[k, 0], known[k, 1], known[k, 2]
    while k < n_samples:
        of_faded = share * ((faded_sum + a) / (faded_sum + total))
        p = (1.0 - share) * ((k + a) / (k + total)) + of_faded
        share = 0.5 * SWITCHING + (1.0 - SWITCHING) * of_faded / p
        faded_sum = gamma * faded_sum + 1.0
        log_w += math.log(p)
        k += 1
        if k < len(known):
            known[k, 0], known[k, 1], known[k, 2] = log_w, share, faded_sum
    return log_w, share, faded_sum


@hot
def log_odds_of(settings: Record, log_own: float, log_children: float) -> float:
    """r_v = log((1-b) / b) + log w_v - log wbar_left - log wbar_right (design 2, aggregation)."""
    return settings["log_stop"] - settings["log_split"] + log_own - log_children


@hot
def log_own_surplus(settings: Record, log_odds: float) -> float:
    """The rho = log w_v - log wbar_v = -log(1 - b) - softplus(-r_v) of design 2, growth."""
    return -settings["log_stop"] - softplus(-log_odds)


# ------------------------------------------------------------------------------------ structure


@hot
def is_leaf(node: Record) -> bool:
    """Whether a node record has no children."""
    return node["left"] == NONE


@hot
def keeps_samples(node: Record) -> bool:
    """Whether a node is a pure leaf that waits with its samples; all other nodes have a box."""
    return node["n_rows"] > 0


@hot
def is_spent(settings: Record, state: Record) -> bool:
    """Whether the tree's budget leaves no room for a split (design 3.5)."""
    return state["n_nodes"] + 2 > settings["max_nodes"]


@hot
def splits_late(settings: Record, state: Record) -> bool:
    """Whether new leaves keep their samples and split only when they cease to be pure."""
    return not settings["split_pure"] and not is_spent(settings, state)


@part
def add_node(tree: Tree, parent: int) -> int:
    """A new leaf without samples, box or counts; the caller has seen to it that there is room."""
    index = tree.state["n_nodes"]
    tree.state["n_nodes"] = index + 1
    node = tree.nodes[index]
    node["threshold"] = 0.0
    node["odds"] = 0.0
    node["odds_scale"] = 0.0
    node["split_time"] = NEVER
    node["n_samples"] = 0.0
    node["parent"] = parent
    node["feature"] = NONE
    node["left"] = NONE
    node["right"] = NONE
    node["place"] = NONE
    node["n_rows"] = 0
    for c in range(tree.counts.shape[1]):
        tree.counts[index, c] = 0.0
    for c in range(tree.faded.shape[1]):
        tree.faded[index, c] = 0.5 if c == FADED_SHARE else 0.0
    return index


@part
def add_box(tree: Tree, index: int) -> Array:
    """Give a node an empty box, which is all NaN."""
    box = tree.state["n_boxes"]
    tree.state["n_boxes"] = box + 1
    tree.nodes[index]["place"] = box
    for j in range(tree.boxes.shape[2]):
        tree.boxes[box, 0, j] = math.nan
        tree.boxes[box, 1, j] = math.nan
    return tree.boxes[box]


@hot
def box_of(tree: Tree, node: Record) -> Array:
    """The box of a node that keeps no samples."""
    return tree.boxes[node["place"]]


@hot
def time_of(tree: Tree, node: Record) -> float:
    """The creation time of a node: that of the split above it, 0 for the root."""
    parent = node["parent"]
    return 0.0 if parent == NONE else tree.nodes[parent]["split_time"]


@hot
def list_row(tree: Tree, index: int, row: int) -> None:
    """Put a row of the store before the samples that a leaf keeps."""
    node = tree.nodes[index]
    tree.links[row] = node["place"]
    node["place"] = row
    node["n_rows"] += 1


@part
def clear_rows(node: Record) -> None:
    """Forget the samples that a leaf keeps."""
    node["place"] = NONE
    node["n_rows"] = 0


@part
def span_of_list(forest: Forest, tree: Tree, index: int, is_spanning: Array) -> None:
    """Mark the samples of a leaf, by their place in its list, whose hull is the hull of all."""
    n_features = tree.settings["n_features"]
    ends = np.full((2, n_features), np.nan)
    places = np.full((2, n_features), NONE)
    x = np.empty(n_features)
    row = tree.nodes[index]["place"]
    for i in range(len(is_spanning)):
        code_row(forest.is_categorical, n_features, tree.state["key"], forest.rows[row], x)
        for j in range(n_features):
            if x[j] < ends[0, j] or (math.isnan(ends[0, j]) and not math.isnan(x[j])):
                ends[0, j], places[0, j] = x[j], i
            if x[j] > ends[1, j] or (math.isnan(ends[1, j]) and not math.isnan(x[j])):
                ends[1, j], places[1, j] = x[j], i
        row = tree.links[row]
    for i in places.flat:
        if i != NONE:
            is_spanning[i] = True


@hot
def rarity(sample: Record) -> int:
    """How long a sample stays in lists that grow too long: k or more with probability 2^-k."""
    word = mixed(np.uint64(sample["number"]) & LOW_WORD)
    n_zeros = 0
    while n_zeros < RAREST and (word >> np.uint64(n_zeros)) & np.uint64(1) == np.uint64(0):
        n_zeros += 1
    return n_zeros


@part
def least_rarity(forest: Forest, tree: Tree, index: int, is_spanning: Array) -> int:
    """The rarity from which at most half of a leaf's samples are kept."""
    n_rare = np.zeros(RAREST + 1, np.int64)
    row = tree.nodes[index]["place"]
    for i in range(len(is_spanning)):
        n_rare[rarity(forest.samples[row])] += not is_spanning[i]
        row = tree.links[row]
    rarest = RAREST
    n_kept = n_rare[rarest]
    while rarest > 0 and 2 * (n_kept + n_rare[rarest - 1]) <= len(is_spanning):
        rarest -= 1
        n_kept += n_rare[rarest]
    return rarest


@part
def thin_list(forest: Forest, tree: Tree, index: int) -> None:
    """Drop samples that a pure leaf keeps, as there are too many.

    Those stay that span its box, and of the others the rarest, half of the list at most; together
    they stand for all. Trees agree on who is rare, so that the store can drop what a leaf drops.
    """
    node = tree.nodes[index]
    is_spanning = np.zeros(node["n_rows"], np.bool_)
    span_of_list(forest, tree, index, is_spanning)
    least = least_rarity(forest, tree, index, is_spanning)
    row, last = node["place"], NONE
    clear_rows(node)
    for is_kept in is_spanning:
        following = tree.links[row]
        if is_kept or rarity(forest.samples[row]) >= least:
            if last == NONE:
                node["place"] = row
            else:
                tree.links[last] = row
            last = row
            node["n_rows"] += 1
        else:
            tree.links[row] = UNLISTED
        row = following
    tree.links[last] = NONE


@part
def add_leaf(tree: Tree, parent: int, x: Array, row: int) -> int:
    """A new leaf that holds x alone, not counted yet."""
    index = add_node(tree, parent)
    if splits_late(tree.settings, tree.state):
        list_row(tree, index, row)
    else:
        extend_box(add_box(tree, index), x, tree.settings["n_features"])
    return index


@part
def set_split(
    tree: Tree, index: int, time: float, feature: int, threshold: float, left: int, right: int
) -> None:
    """Make a node internal."""
    node = tree.nodes[index]
    node["split_time"] = time
    node["feature"] = feature
    node["threshold"] = threshold
    node["left"] = left
    node["right"] = right


@hot
def heavier_child(nodes: Array, node: Record) -> int:
    """The child with more samples, the left one in a tie (design 3.7)."""
    heavier_right = nodes[node["right"]]["n_samples"] > nodes[node["left"]]["n_samples"]
    return node["right"] if heavier_right else node["left"]


@hot
def next_node(nodes: Array, node: Record, x: Array) -> int:
    """The child that x goes to: left if x <= threshold, the heavier one if the value is missing."""
    value = x[unsigned(node["feature"])]
    if value <= node["threshold"]:
        return node["left"]
    if value > node["threshold"]:
        return node["right"]
    return heavier_child(nodes, node)


@hot
def splits_left(settings: Record, state: Record) -> int:
    """How many splits the budget allows (design 3.5)."""
    return (settings["max_nodes"] - state["n_nodes"]) // 2


@hot
def lack_of_room(
    settings: Record, state: Record, n_splits: int, node_room: int, box_room: int
) -> int:
    """What a tree lacks for `n_splits` more splits, in arrays of so many nodes and boxes."""
    n_nodes = state["n_nodes"] + 2 * n_splits
    if n_nodes > node_room:
        return NODES
    n_boxes = state["n_boxes"] + n_splits + 1
    if n_nodes + 2 > settings["max_nodes"] or settings["split_pure"]:
        n_boxes = n_nodes  # all leaves get one
    return BOXES if n_boxes > box_room else NOTHING


# -------------------------------------------------------------------------------------- learning


@hot
def descend(tree: Tree, x: Array) -> tuple[int, float]:
    """Walk x down and extend the boxes, to a leaf or to where the Mondrian process splits.

    Returns the node and the time at which a new parent comes above it, NEVER if it is a leaf that
    takes x as it is [MF, algorithm 4; AMF, algorithm 3].
    """
    n_features = tree.settings["n_features"]
    may_split = not is_spent(tree.settings, tree.state)
    n_missing = count_missing(x, n_features)
    index = tree.state["root"]
    time = 0.0
    while True:
        node = tree.nodes[unsigned(index)]
        if keeps_samples(node):
            return index, NEVER
        box = box_of(tree, node)
        children_time = node["split_time"]
        if not is_inside(box, x, n_features, n_missing):
            rate = extension_rate(box, x, tree.intensity, n_features) if may_split else 0.0
            if rate > 0.0:
                time = draw_split_time(tree.state, time, rate, children_time)
                if time < children_time:
                    return index, time
            extend_box(box, x, n_features)
        if is_leaf(node):
            return index, NEVER
        time = children_time
        index = next_node(tree.nodes, node, x)


@part
def insert_parent(
    tree: Tree, index: int, split_time: float, x: Array, row: int
) -> tuple[int, int, float]:
    """Put a new parent above a node, at its place, and a new leaf with x beside the node.

    Returns the new leaf, the parent, and the growth of log wbar that this hands to the ancestors:
    log((1-b) exp(rho) + b), with rho = log w_v - log wbar_v of the node below (design 2, learn).
    """
    n_features = tree.settings["n_features"]
    parent = add_node(tree, tree.nodes[index]["parent"])
    node, above = tree.nodes[index], tree.nodes[parent]
    box = box_of(tree, node)
    parent_box = add_box(tree, parent)
    lengths = parent_box[0]  # until the box takes its place
    for j in range(n_features):
        lengths[j] = range_extension(box[0, j], box[1, j], x[j])
    rate = extension_rate(box, x, tree.intensity, n_features)
    feature = draw_feature(tree.state, lengths, tree.intensity, rate)
    newcomer_left = x[feature] < box[0, feature]
    if newcomer_left:
        threshold = draw_threshold(tree.state, x[feature], box[0, feature])
    else:
        threshold = draw_threshold(tree.state, box[1, feature], x[feature])

    leaf = add_leaf(tree, parent, x, row)
    if newcomer_left:
        set_split(tree, parent, split_time, feature, threshold, leaf, index)
    else:
        set_split(tree, parent, split_time, feature, threshold, index, leaf)
    replace_child(tree, above["parent"], index, parent)
    above["n_samples"] = node["n_samples"]
    for c in range(tree.settings["n_classes"]):
        tree.counts[parent, c] = tree.counts[index, c]
    for c in range(tree.faded.shape[1]):
        tree.faded[parent, c] = tree.faded[index, c]
    for j in range(n_features):
        parent_box[0, j] = box[0, j]
        parent_box[1, j] = box[1, j]
    extend_box(parent_box, x, n_features)

    surplus = 0.0 if is_leaf(node) else log_own_surplus(tree.settings, log_odds_in(node))
    log_odds = log_odds_of(tree.settings, surplus, 0.0)  # the new leaf's wbar is 1
    set_log_odds(above, log_odds)
    node["parent"] = parent
    return leaf, parent, tree.settings["log_split"] + softplus(log_odds)


@part
def replace_child(tree: Tree, parent: int, old: int, new: int) -> None:
    """Hang node `new` where `old` hung."""
    if parent == NONE:
        tree.state["root"] = new
    elif tree.nodes[parent]["left"] == old:
        tree.nodes[parent]["left"] = new
    else:
        tree.nodes[parent]["right"] = new


@hot
def expansion_in(work: Array, n_members: int, n_features: int) -> Expansion:
    """Views of `work`, of size work_size, that nobody counts references to: keep it alive."""
    at = work.ctypes.data
    rows = at + n_members * MEMBER_BYTES
    splits = rows + n_members * n_features * 8
    boxes = splits + n_members * SPLIT_BYTES
    lengths = boxes + n_members * n_features * 16
    cell = lengths + n_features * 8
    return Expansion(
        carray(pointer(at), (n_members,), MEMBER),
        carray(pointer(rows), (n_members, n_features), np.float64),
        carray(pointer(splits), (n_members,), SPLIT),
        carray(pointer(boxes), (n_members, 2, n_features), np.float64),
        carray(pointer(lengths), (n_features,), np.float64),
        carray(pointer(cell), (n_members,), np.int64),
        carray(pointer(cell + n_members * 8), (n_members,), np.int64),
    )


@hot
def work_size(n_members: int, n_features: int) -> int:
    """How many float64 values an expansion takes."""
    return n_members * ((MEMBER_BYTES + SPLIT_BYTES) // 8 + 3 * n_features + 2) + n_features


@part
def collect_members(
    forest: Forest, tree: Tree, index: int, newcomer: int, expansion: Expansion
) -> None:
    """The samples that a leaf keeps, in order of arrival, and the newcomer's row at the end."""
    members, values = expansion.members, expansion.values
    last = len(members) - 1
    row = newcomer
    for i in range(last, -1, -1):
        members[i]["row"] = row
        members[i]["weight"] = forest.samples[row]["weight"]
        members[i]["depth"] = 0
        expansion.cell[i] = i
        code_row(
            forest.is_categorical, values.shape[1], tree.state["key"], forest.rows[row], values[i]
        )
        row = tree.nodes[index]["place"] if i == last else tree.links[row]


@part
def heavier_left(expansion: Expansion, n_cell: int, feature: int, threshold: float) -> bool:
    """Whether the members of a cell that have the feature weigh no less on the left side."""
    left, right = 0.0, 0.0
    for k in range(n_cell):
        i = expansion.cell[k]
        if expansion.values[i, feature] <= threshold:
            left += expansion.members[i]["weight"]
        elif expansion.values[i, feature] > threshold:
            right += expansion.members[i]["weight"]
    return left >= right


@hot
def side_of(value: float, threshold: float, missing_left: bool) -> bool:
    """Whether a value goes left."""
    return missing_left if math.isnan(value) else value <= threshold


@hot
def hull_of_cell(expansion: Expansion, n_cell: int, box: Array) -> None:
    """Make `box` the hull of the members of a cell."""
    n_features = box.shape[1]
    first = expansion.values[expansion.cell[0]]
    for j in range(n_features):
        box[0, j] = first[j]
        box[1, j] = first[j]
    for k in range(1, n_cell):
        extend_box(box, expansion.values[expansion.cell[k]], n_features)


@hot
def part_cell(expansion: Expansion, n_cell: int, split: Record) -> int:
    """Part a cell by a split and keep the newcomer's side, order kept; returns its size."""
    members, values, cell = expansion.members, expansion.values, expansion.cell
    j, threshold = split["feature"], split["threshold"]
    n_missing = 0
    for k in range(n_cell):
        n_missing += math.isnan(values[cell[k], j])
    missing_left = n_missing > 0 and heavier_left(expansion, n_cell, j, threshold)
    left = side_of(values[len(members) - 1, j], threshold, missing_left)
    split["newcomer_left"] = left
    n_staying = 0
    for k in range(n_cell):
        i = cell[k]
        if side_of(values[i, j], threshold, missing_left) == left:
            members[i]["depth"] += 1
            cell[n_staying] = i
            n_staying += 1
    return n_staying


@part
def draw_splits(tree: Tree, index: int, expansion: Expansion) -> int:
    """Draw the Mondrian process restricted to the members of a leaf, the newcomer the last of them.

    Only the newcomer's cell is followed, until it is alone in it, or all in it coincide, or the
    budget ends: every other cell is pure and stays whole ("paused block" in [MF]). The cell after k
    splits are the members of depth k and more, and boxes[k] its hull. Returns the number of splits.
    """
    lengths = expansion.lengths
    budget = splits_left(tree.settings, tree.state)
    now = time_of(tree, tree.nodes[index])
    n_cell = len(expansion.members)
    n_splits = 0
    while True:
        box = expansion.boxes[n_splits]
        hull_of_cell(expansion, n_cell, box)
        if n_cell == 1 or n_splits == budget:
            break
        rate = 0.0
        for j in range(len(lengths)):
            lengths[j] = range_extension(box[0, j], box[0, j], box[1, j])
            rate += tree.intensity[j] * lengths[j]
        if not rate > 0.0:
            break
        now += draw_exponential(tree.state, rate)
        j = draw_feature(tree.state, lengths, tree.intensity, rate)
        split = expansion.splits[n_splits]
        split["time"] = now
        split["feature"] = j
        split["threshold"] = draw_threshold(tree.state, box[0, j], box[1, j])
        n_cell = part_cell(expansion, n_cell, split)
        n_splits += 1
    return n_splits


@part
def grow_chain(tree: Tree, index: int, expansion: Expansion, n_splits: int) -> None:
    """Turn a leaf into the chain of splits; its nodes, the newcomer's leaf last."""
    chain = expansion.chain
    chain[0] = index
    for k in range(n_splits):
        split = expansion.splits[k]
        left = add_node(tree, chain[k])
        right = add_node(tree, chain[k])
        feature, threshold = split["feature"], split["threshold"]
        set_split(tree, chain[k], split["time"], feature, threshold, left, right)
        chain[k + 1] = left if split["newcomer_left"] else right


@hot
def sibling_of(tree: Tree, index: int) -> int:
    """The other child of a node's parent."""
    parent = tree.nodes[tree.nodes[index]["parent"]]
    return np.int64(parent["right"] if parent["left"] == index else parent["left"])  # type: ignore[return-value]


@part
def share_out(tree: Tree, expansion: Expansion, n_splits: int, label: int) -> bool:
    """Hand the samples of an expanded leaf to the new leaves, and count all but the newcomer.

    Where the list had been thinned, those that are left stand for all. Returns whether the newcomer
    is alone in the last leaf; else that gives up its samples, as they coincide or the budget has
    ended.
    """
    members, chain = expansion.members, expansion.chain
    newcomer = len(members) - 1
    kept = 0.0
    for i in range(newcomer):
        kept += members[i]["weight"]
    n_samples = tree.nodes[chain[0]]["n_samples"]
    alone = True
    for i in range(newcomer):
        row, depth = members[i]["row"], members[i]["depth"]
        weight = members[i]["weight"]
        if kept != n_samples:
            weight = n_samples * (weight / kept)
            members[i]["weight"] = weight
        if depth == n_splits:
            tree.links[row] = UNLISTED
            alone = False
            leaf = chain[n_splits]
        else:
            leaf = sibling_of(tree, chain[depth + 1])
            list_row(tree, leaf, row)
        if leaf != chain[0]:
            tree.counts[leaf, label] += weight
            tree.nodes[leaf]["n_samples"] += weight
    if alone:
        list_row(tree, chain[n_splits], members[newcomer]["row"])
    return alone


@part
def count_chain(tree: Tree, chain: Array, n_splits: int, label: int) -> None:
    """Sum the counts of the new leaves up the chain, but for its top, which has its own."""
    for k in range(n_splits - 1, 0, -1):
        for child in (chain[k + 1], sibling_of(tree, chain[k + 1])):
            tree.counts[chain[k], label] += tree.counts[child, label]
            tree.nodes[chain[k]]["n_samples"] += tree.nodes[child]["n_samples"]


@part
def box_chain(tree: Tree, expansion: Expansion, n_boxes: int) -> None:
    """Give the first nodes of the chain the hulls of their cells."""
    for k in range(n_boxes):
        box = add_box(tree, expansion.chain[k])
        for j in range(expansion.boxes.shape[2]):
            box[0, j] = expansion.boxes[k, 0, j]
            box[1, j] = expansion.boxes[k, 1, j]


@part
def weigh_cell(
    forest: Forest, tree: Tree, expansion: Expansion, index: int, first: int, last: int, label: int
) -> float:
    """Log weight of a cell of a chain, whose members have a depth from `first` to `last`.

    With fading, where there is no closed form, they are replayed in order of arrival, and leave
    what they leave in a node that is new.
    """
    settings = tree.settings
    n_samples = tree.nodes[index]["n_samples"]
    if not settings["fades"]:
        return log_weight_of_pure(forest, n_samples)
    n_members, n_plain = 0, 0
    for i in range(len(expansion.members) - 1):
        member = expansion.members[i]
        if first <= member["depth"] <= last:
            n_members += 1
            n_plain += member["weight"] == 1.0
    if n_members == n_plain:
        log_w, share, faded_sum = replay_pure(forest, n_members)
    else:
        row = np.zeros(tree.faded.shape[1])
        row[FADED_SHARE] = 0.5
        log_w, n = 0.0, 0.0
        for i in range(len(expansion.members) - 1):
            member = expansion.members[i]
            if first <= member["depth"] <= last:
                weight = member["weight"]
                log_w += learn_faded_weight(
                    settings, row, label, log_score(settings, n, n, weight), weight
                )
                n += weight
        share, faded_sum = row[FADED_SHARE], row[FADED_SUM]
    if index != expansion.chain[0]:
        tree.faded[index, FADED_SHARE] = share
        tree.faded[index, FADED_SUM] = faded_sum
        tree.faded[index, FADED_COUNTS + label] = faded_sum
    return tempered(settings, log_w)


@part
def weigh_chain(
    forest: Forest, tree: Tree, expansion: Expansion, n_splits: int, label: int
) -> float:
    """Log-odds of the chain bottom up from the closed form; the top's log wbar over its old log w.

    wbar_v = (1-b) w_v + b wbar_left wbar_right [CTW]. All cells are pure: the newcomer does not
    count yet.
    """
    settings, chain = tree.settings, expansion.chain
    growth = 0.0
    n = n_splits
    log_wbar = weigh_cell(forest, tree, expansion, chain[n], n, n, label)
    for k in range(n_splits - 1, -1, -1):
        sibling = sibling_of(tree, chain[k + 1])
        log_wbar += weigh_cell(forest, tree, expansion, sibling, k, k, label)
        own = weigh_cell(forest, tree, expansion, chain[k], k, n, label)
        log_odds = log_odds_of(settings, own, log_wbar)
        set_log_odds(tree.nodes[chain[k]], log_odds)
        growth = -log_own_surplus(settings, log_odds)
        log_wbar = own + growth
    return growth


@part
def expand_leaf(forest: Forest, tree: Tree, index: int, row: int) -> tuple[int, int, float]:
    """Split a pure leaf late: a sample of another label, stored at `row`, has come (design 2).

    Returns NOTHING, the newcomer's leaf and the growth of log wbar of the expanded leaf; or, having
    changed nothing, what the tree lacks.
    """
    before = tree.state["random_state"]
    n_features = tree.settings["n_features"]
    n_members = int(tree.nodes[index]["n_rows"]) + 1
    work = np.empty(work_size(n_members, n_features))
    expansion = expansion_in(work, n_members, n_features)
    collect_members(forest, tree, index, row, expansion)
    n_splits = draw_splits(tree, index, expansion)
    lack = lack_of_room(tree.settings, tree.state, n_splits, len(tree.nodes), len(tree.boxes))
    leaf, growth = NONE, 0.0
    if lack != NOTHING:
        tree.state["random_state"] = before
    else:
        label = forest.samples[expansion.members[0]["row"]]["label"]
        clear_rows(tree.nodes[index])
        grow_chain(tree, index, expansion, n_splits)
        alone = share_out(tree, expansion, n_splits, label)
        count_chain(tree, expansion.chain, n_splits, label)
        box_chain(tree, expansion, n_splits if alone else n_splits + 1)
        leaf = expansion.chain[n_splits]
        growth = weigh_chain(forest, tree, expansion, n_splits, label)
    work[0] = 0.0  # alive until here
    return lack, leaf, growth


@part
def release_rows(forest: Forest, tree: Tree) -> None:
    """Let every leaf give up its samples for a box, as the budget is spent (design 3.5)."""
    for index in range(tree.state["n_nodes"]):
        node = tree.nodes[index]
        if keeps_samples(node):
            row = node["place"]
            clear_rows(node)
            hull_of_rows(
                forest.is_categorical,
                tree.settings["n_features"],
                tree.state["key"],
                forest.rows,
                tree.links,
                row,
                add_box(tree, index),
            )
    for row in range(len(tree.links)):
        tree.links[row] = UNLISTED


@kernel
def hull_of_rows(
    is_categorical: Array,
    n_features: int,
    key: Word,
    rows: Array,
    links: Array,
    row: int,
    box: Array,
) -> None:
    """Extend a box by a leaf's list of rows, which starts at `row`."""
    x = np.empty(n_features)
    while row != NONE:
        code_row(is_categorical, n_features, key, rows[row], x)
        extend_box(box, x, n_features)
        row = links[row]


@hot
def aggregate_upwards(
    tree: Tree, leaf: int, label: int, weight: float, changed: int, log_growth: float
) -> None:
    """Count a sample on its path and bring the log-odds up to date, leaf to root (design 2, learn).

    `changed` is the node under which structure has changed, and exp(log_growth) the factor by which
    that alone has multiplied its wbar (NONE: no change).
    """
    settings = tree.settings
    growth = 1.0 if changed == NONE else math.exp(log_growth)
    root = tree.nodes[tree.state["root"]]
    smallest = min(settings["dirichlet"], growth)
    largest = max(root["n_samples"], settings["total_dirichlet"], growth)
    is_safe = smallest * SAFE > 1.0 and largest < SAFE
    if weight == 1.0 and settings["step"] == 1.0 and is_safe:
        aggregate_unit_weight(tree, leaf, label, changed, growth)
    else:
        aggregate_any_weight(tree, leaf, label, weight, changed, log_growth)


@hot
def aggregate_unit_weight(tree: Tree, leaf: int, label: int, changed: int, growth: float) -> None:
    """Aggregate upwards at weight 1 and eta 1, where p and g are far from underflow.

    With p from before the count and g from the child, r_v += log p - log g; then
    g = sigma(r) p + (1 - sigma(r)) g with the old r.
    """
    a = tree.settings["dirichlet"]
    total = tree.settings["total_dirichlet"]
    g = 1.0
    faded_share = 0.0
    index = leaf
    while index != NONE:
        node = tree.nodes[unsigned(index)]
        p = (tree.counts[unsigned(index), label] + a) / (node["n_samples"] + total)
        share = 0.0
        if tree.settings["fades"]:
            share = tree.faded[unsigned(index), FADED_SHARE]
            p = learn_faded(tree.settings, tree.faded[unsigned(index)], label, p)
        if is_leaf(node):
            g = p
            faded_share = share
        else:
            own_share, rest = shares(node)
            multiply_odds(node, p / g)
            g = own_share * p + rest * g
            if tree.settings["use_aggregation"]:
                faded_share = own_share * share + rest * faded_share
        if index == changed:
            g *= growth
        tree.counts[unsigned(index), label] += 1.0
        node["n_samples"] += 1.0
        index = node["parent"]
    if tree.settings["fades"]:
        note_share(tree.state, faded_share, 1.0)


@hot
def note_share(state: Record, faded_share: float, weight: float) -> None:
    """Take the share of the faded estimators in a prediction into its running mean."""
    state["faded_share"] += min(weight, 1.0) * (faded_share - state["faded_share"]) / SHARE_MEMORY


@part
def aggregate_any_weight(
    tree: Tree, leaf: int, label: int, weight: float, changed: int, log_growth: float
) -> None:
    """Aggregate upwards in logarithms.

    r_v += eta log p - log g; then g = sigma(r) p^eta + (1 - sigma(r)) g with the old r, that is
    log g += softplus(new r) - softplus(old r).
    """
    log_g = 0.0
    faded_share = 0.0
    index = leaf
    while index != NONE:
        node = tree.nodes[index]
        n_samples = node["n_samples"]
        count = tree.counts[index, label]
        log_p = log_score(tree.settings, count, n_samples, weight)
        share = 0.0
        if tree.settings["fades"]:
            share = tree.faded[index, FADED_SHARE]
            log_p = learn_faded_weight(tree.settings, tree.faded[index], label, log_p, weight)
        log_p = tempered(tree.settings, log_p)
        if is_leaf(node):
            log_g = log_p
            faded_share = share
        else:
            own_share, rest = shares(node)
            if tree.settings["use_aggregation"]:
                faded_share = own_share * share + rest * faded_share
            old = log_odds_in(node)
            new = old + log_p - log_g
            set_log_odds(node, new)
            log_g += softplus(new) - softplus(old)
        if index == changed:
            log_g += log_growth
        tree.counts[index, label] = count + weight
        node["n_samples"] = n_samples + weight
        index = node["parent"]
    if tree.settings["fades"]:
        note_share(tree.state, faded_share, weight)


@hot
def learn_tree(forest: Forest, tree: Tree, x: Array, label: int, weight: float, row: int) -> int:
    """Learn a sample in one tree; returns NOTHING, or what the tree lacks.

    In that case it can be called again: only boxes were extended, after which the next walk comes
    to the same leaf without a draw, and there draws the same splits.
    """
    settings, state = tree.settings, tree.state
    leaf, changed, log_growth = NONE, NONE, 0.0
    if state["root"] == NONE:
        leaf = add_leaf(tree, NONE, x, row)
        state["root"] = leaf
    else:
        spent = is_spent(settings, state)
        leaf, split_time = descend(tree, x)
        node = tree.nodes[leaf]
        if split_time < NEVER:
            leaf, changed, log_growth = insert_parent(tree, leaf, split_time, x, row)
        elif keeps_samples(node):
            if tree.counts[leaf, label] == node["n_samples"]:  # still pure
                list_row(tree, leaf, row)
                if node["n_rows"] > max(settings["longest_list"], 8 * settings["n_features"]):
                    thin_list(forest, tree, leaf)
            else:
                changed = leaf
                lack, leaf, log_growth = expand_leaf(forest, tree, leaf, row)
                if lack != NOTHING:
                    return lack
        if is_spent(settings, state) and not spent:
            release_rows(forest, tree)
    aggregate_upwards(tree, leaf, label, weight, changed, log_growth)
    return NOTHING


@hot
def store_row(forest: Forest, x: Array, label: int, weight: float) -> int:
    """Write a sample into the store, where no leaf keeps it yet; returns its row."""
    settings = forest.settings[0]
    row = settings["n_rows"]
    settings["n_rows"] = row + 1
    for j in range(settings["n_features"]):
        forest.rows[row, j] = x[j]
    forest.samples[row]["label"] = label
    forest.samples[row]["weight"] = weight
    forest.samples[row]["number"] = settings["n_stored"]
    settings["n_stored"] += 1
    for t in range(len(forest.links)):
        forest.links[t, row] = UNLISTED
    return row


@kernel
def learn_sample(
    arena: int, sample: int, label: int, weight: float, first_tree: int, output: int
) -> int:
    """Learn a sample in every tree.

    `arena` is the address of its handle, `sample` that of (3, n_features) values: the encoded ones,
    room for them without outliers, and for one tree's coding of these. `first_tree` is START, or
    the tree to go on with, or ONLY_ROOM to learn nothing. `output` is that of predict_sample, which
    may have predicted this very sample. Answers DONE, RELEASED, INFINITE, one of ALL_FULL, or the
    tree to go on with once there is more room: as it is for nodes, plus the number of trees for
    boxes.
    """
    forest = forest_of(arena)
    values = sample_of(sample, forest.settings[0]["n_features"])
    handle = carray(pointer(arena), (1,), HANDLE)[0]
    _, votes, seen = output_of(output, forest)
    has_votes = (
        first_tree == START
        and forest.settings[0]["learns_vote"]
        and seen[0] == handle["n_learnt"]
        and is_same(values[0], seen[1:])
    )
    if has_votes:
        copy_votes(votes, forest.votes)
    status = learn_in_forest(forest, values, label, weight, first_tree, has_votes)
    if status >= 0 or status in (DONE, RELEASED):
        handle["n_learnt"] += 1
    return status


@hot
def is_same(x: Array, seen: Array) -> bool:
    """Whether two rows hold the same values, or lack the same."""
    for j in range(len(x)):
        if not (x[j] == seen[j] or (math.isnan(x[j]) and math.isnan(seen[j]))):
            return False
    return True


@hot
def copy_votes(votes: Array, out: Array) -> None:
    """Copy the votes of the trees on a sample."""
    for t in range(len(votes)):
        for c in range(votes.shape[2]):
            out[t, 0, c] = votes[t, 0, c]


@view
def learn_in_forest(
    forest: Forest,
    sample: Array,
    label: int,
    weight: float,
    first_tree: int,
    has_votes: bool,
) -> int:
    """Learn a sample as learn_sample says; `has_votes` if the trees' votes on it are there."""
    settings, trees = forest.settings[0], forest.trees
    n_features = settings["n_features"]
    n_late = count_late(settings, trees)
    keeps_rows = is_keeping_rows(settings, trees, n_late)
    row = settings["n_rows"] - 1
    if first_tree < 0:
        if has_infinity(sample[0], n_features):
            return INFINITE
        tame(forest, sample[0], n_features, sample[1])
        if keeps_rows and settings["n_rows"] == len(forest.rows):
            return STORE_FULL
        lack = forest_lacks(forest)
        if lack != NOTHING:
            return NODES_FULL if lack == NODES else BOXES_FULL
        if first_tree == ONLY_ROOM:
            return DONE
        update_intensity(forest, sample[0], label, weight)
        if keeps_rows:
            row = store_row(forest, sample[1], label, weight)
    x = sample[2] if settings["has_categories"] else sample[1]
    for t in range(max(first_tree, 0), len(trees)):
        if settings["has_categories"]:
            code_row(forest.is_categorical, n_features, trees[t]["key"], sample[1], x)
        if hears_trees(settings) and not has_votes:
            take_vote(forest, t, x, forest.votes[t, 0])
        tree = tree_of(forest, t, forest.intensity)
        lack = learn_tree(forest, tree, x, label, weight, row)
        if lack != NOTHING:
            return t + lack * len(trees)
        if settings["restart_threshold"] > 0.0:
            judge_tree(forest, t, forest.votes[t, 0, label], weight)
    if settings["learns_vote"]:
        learn_vote(forest, forest.votes, 0, label, weight)
    if keeps_rows and not is_listed(forest.links, row):
        settings["n_rows"] = row
    return have_released(settings, trees, n_late)


@hot
def have_released(settings: Record, trees: Array, n_late: int) -> int:
    """RELEASED if fewer trees keep samples than did before, else DONE."""
    n_late_now = count_late(settings, trees)
    if n_late_now < n_late and not is_keeping_rows(settings, trees, n_late_now):
        forget_rows(settings)
    return RELEASED if n_late_now < n_late else DONE


@hot
def forget_rows(settings: Record) -> None:
    """Forget the store, as no tree keeps samples any more."""
    settings["n_rows"] = 0
    settings["n_stored"] = 0


@hot
def count_late(settings: Record, trees: Array) -> int:
    """The number of trees whose leaves keep samples."""
    n_late = 0
    for t in range(len(trees)):
        n_late += splits_late(settings, trees[t])
    return n_late


@hot
def is_keeping_rows(settings: Record, trees: Array, n_late: int) -> bool:
    """Whether samples go into the store: the leaves of some tree keep them, or may once more."""
    may_restart = settings["restart_threshold"] > 0.0 and len(trees) > 1
    return n_late > 0 or (may_restart and not settings["split_pure"])


@hot
def hears_trees(settings: Record) -> bool:
    """Whether it matters what each tree predicts for a sample that is learnt."""
    return settings["learns_vote"] or settings["restart_threshold"] > 0.0


@hot
def judge_tree(forest: Forest, t: int, vote: float, weight: float) -> None:
    """Let every second tree start afresh once it predicts far worse than it used to.

    That is when the running mean of its last losses, 1 - p(label), exceeds its usual loss by so
    many standard errors, and by more than a few rare labels would. The others stay, for the drift
    may be less than it seems.
    """
    state, settings = forest.trees[t], forest.settings[0]
    if t % 2 == 0:
        return
    loss = 1.0 - (math.exp(vote) - FLOOR if settings["learns_vote"] else vote)
    n_heard = state["n_heard"] + 1
    recent = state["recent_loss"]
    usual = state["usual_loss"]
    trust = min(weight, 1.0)
    recent += trust * (loss - recent) * max(RECENT_RATE, 1.0 / n_heard)
    usual += trust * (loss - usual) * max(USUAL_RATE, 1.0 / n_heard)
    variance = max(usual * (1.0 - usual), LEAST_VARIANCE) * RECENT_RATE / (2.0 - RECENT_RATE)
    state["n_heard"] = n_heard
    state["recent_loss"], state["usual_loss"] = recent, usual
    surplus = max(settings["restart_threshold"] * math.sqrt(variance), LEAST_SURPLUS)
    if n_heard > LEAST_HEARD and recent - usual > surplus:
        restart_tree(forest, t)


@part
def restart_tree(forest: Forest, t: int) -> None:
    """Forget all that a tree has learnt."""
    state = forest.trees[t]
    state["root"] = NONE
    state["n_nodes"] = 0
    state["n_boxes"] = 0
    state["n_heard"] = 0
    state["recent_loss"] = 0.0
    state["usual_loss"] = 0.0
    for row in range(forest.links.shape[1]):
        forest.links[t, row] = UNLISTED


@hot
def forest_lacks(forest: Forest) -> int:
    """What some tree lacks to be ready for any sample but the rarest."""
    for t in range(len(forest.trees)):
        lack = tree_lacks(forest, t, READY_SPLITS)
        if lack != NOTHING:
            return lack
    return NOTHING


@hot
def tree_lacks(forest: Forest, t: int, n_splits: int) -> int:
    """What a tree lacks for so many splits, or for those that its budget still allows."""
    settings, state = forest.settings[0], forest.trees[t]
    wanted = min(n_splits, splits_left(settings, state))
    return lack_of_room(settings, state, wanted, forest.nodes.shape[1], forest.boxes.shape[1])


@hot
def is_listed(links: Array, row: int) -> bool:
    """Whether a leaf of some tree keeps the row."""
    for t in range(len(links)):
        if links[t, row] != UNLISTED:
            return True
    return False


@kernel
def compact_rows(arena: int) -> None:
    """Close the gaps that unlisted rows leave in the store, order kept."""
    forest = forest_of(arena)
    general, trees, nodes = forest.settings[0], forest.trees, forest.nodes
    rows, samples, links = forest.rows, forest.samples, forest.links
    n_rows = 0
    moved_to = np.full(general["n_rows"], UNLISTED, np.int32)
    for row in range(general["n_rows"]):
        if is_listed(links, row):
            moved_to[row] = n_rows
            for j in range(general["n_features"]):
                rows[n_rows, j] = rows[row, j]
            samples[n_rows]["weight"] = samples[row]["weight"]
            samples[n_rows]["label"] = samples[row]["label"]
            samples[n_rows]["number"] = samples[row]["number"]
            for t in range(len(trees)):
                links[t, n_rows] = links[t, row]
            n_rows += 1
    general["n_rows"] = n_rows
    for t in range(len(trees)):
        for row in range(n_rows):
            if links[t, row] >= 0:
                links[t, row] = moved_to[links[t, row]]
        for index in range(trees[t]["n_nodes"]):
            node = nodes[t, index]
            if keeps_samples(node):
                node["place"] = moved_to[node["place"]]


@part
def weigh_tree(settings: Record, state: Record, nodes: Array, counts: Array) -> None:
    """All log-odds of a tree anew from its counts, by a walk that needs no stack (design 2, e)."""
    log_wbar = np.empty(state["n_nodes"])
    index = state["root"]
    previous = NONE
    while index != NONE:
        node = nodes[index]
        following = node["parent"]
        if is_leaf(node):
            log_wbar[index] = log_weight(settings, counts[index], node["n_samples"])
        elif previous == node["right"]:
            own = log_weight(settings, counts[index], node["n_samples"])
            log_children = log_wbar[node["left"]] + log_wbar[node["right"]]
            log_odds = log_odds_of(settings, own, log_children)
            set_log_odds(node, log_odds)
            log_wbar[index] = own - log_own_surplus(settings, log_odds)
        else:
            following = node["right"] if previous == node["left"] else node["left"]
        previous = index
        index = following


@kernel
def weigh_forest(arena: int) -> None:
    """All log-odds anew, as the number of classes or the Dirichlet parameter has changed."""
    forest = forest_of(arena)
    for t in range(len(forest.trees)):
        weigh_tree(forest.settings[0], forest.trees[t], forest.nodes[t], forest.counts[t])


# ------------------------------------------------------------------------------------ prediction


@hot
def predict_tree(forest: Forest, t: int, x: Array, proba: Array) -> None:
    """Write the tree's prediction for x into `proba`, root to leaf (design 2, predict).

    A node takes sigma(r_v) of the mass that remains and hands on the rest; the leaf takes all that
    is left. Without aggregation the leaf alone predicts.
    """
    settings, nodes = forest.settings[0], forest.nodes[t]
    counts, faded = forest.counts[t], forest.faded[t]
    n_classes = settings["n_classes"]
    total = settings["total_dirichlet"]
    index = forest.trees[t]["root"]
    for c in range(n_classes):
        proba[c] = 1.0 / n_classes if index == NONE else 0.0
    mass = 1.0
    prior = 0.0  # what the Dirichlet prior gives to each class
    while index != NONE:
        node = nodes[unsigned(index)]
        leaf = is_leaf(node)
        if leaf or settings["use_aggregation"]:
            own_share, rest = (1.0, 0.0) if leaf else shares(node)
            own = mass * own_share
            mass *= rest
            if settings["fades"]:
                row = faded[unsigned(index)]
                of_faded = own * row[FADED_SHARE]
                own -= of_faded
                faded_scale = of_faded / (row[FADED_SUM] + total)
                scale = own / (node["n_samples"] + total)
                prior += faded_scale + scale
                for c in range(n_classes):
                    of_class = faded_scale * row[FADED_COUNTS + c]
                    proba[c] += of_class + scale * counts[unsigned(index), c]
            else:
                scale = own / (node["n_samples"] + total)
                prior += scale
                for c in range(n_classes):
                    proba[c] += scale * counts[unsigned(index), c]
        if leaf:
            break
        index = next_node(nodes, node, x)
    prior *= settings["dirichlet"]
    for c in range(n_classes):
        proba[c] += prior


@kernel
def predict_sample(arena: int, sample: int, output: int) -> int:
    """Write the forest's class probabilities into the beginning of `output`.

    The arguments are addresses: of the arena's handle; of (3, n_features) values as in
    learn_sample; of the room of `state._Output`. The probabilities of the labels seen so far sum to
    1. Answers DONE, or INFINITE if the sample holds an infinite value.
    """
    forest = forest_of(arena)
    settings = forest.settings[0]
    values = sample_of(sample, settings["n_features"])
    proba, votes, seen = output_of(output, forest)
    if has_infinity(values[0], values.shape[1]):
        return INFINITE
    seen[0] = -1.0
    tame(forest, values[0], values.shape[1], values[1])
    x = values[2] if settings["has_categories"] else values[1]
    for t in range(len(forest.trees)):
        if settings["has_categories"]:
            key = forest.trees[t]["key"]
            code_row(forest.is_categorical, values.shape[1], key, values[1], x)
        take_vote(forest, t, x, votes[t, 0])
    if not settings["learns_vote"]:
        mean_votes(settings, votes, 0, proba)
        return DONE
    pool_votes(forest, votes, 0, proba)
    for j in range(values.shape[1]):
        seen[1 + j] = values[0, j]
    seen[0] = carray(pointer(arena), (1,), HANDLE)[0]["n_learnt"]
    return DONE


@hot
def output_of(address: int, forest: Forest) -> tuple[Array, Array, Array]:
    """The arrays of `state._Output`: probabilities, the trees' (trees, 1, classes), the sample."""
    n_trees, width = len(forest.trees), forest.counts.shape[2]
    parts = address + 8 * width
    seen = parts + 8 * n_trees * width
    return (
        carray(pointer(address), (width,), np.float64),
        carray(pointer(parts), (n_trees, 1, width), np.float64),
        carray(pointer(seen), (1 + len(forest.intensity),), np.float64),
    )


@hot
def mean_votes(settings: Record, votes: Array, i: int, proba: Array) -> None:
    """The forest's probabilities of the labels seen so far: the mean of its trees' on sample i."""
    n_labels = settings["n_labels"]
    for c in range(n_labels):
        proba[c] = 0.0
    for t in range(len(votes)):
        for c in range(n_labels):
            proba[c] += votes[t, i, c]
    normalise(proba, n_labels)


@hot
def normalise(proba: Array, n_labels: int) -> None:
    """Let the probabilities of the labels seen so far sum to 1."""
    total = 0.0
    for c in range(n_labels):
        total += proba[c]
    for c in range(n_labels):
        proba[c] /= total


# ----------------------------------------------------------------------------------- learned vote

# A logarithmic opinion pool (Genest, Zidek, 1986) whose weights are learnt by gradient descent on
# the logarithmic loss, as in the geometric mixing of Mattern (2013): with v_t for tree t and beta_c
# for class c, log P(c) = beta_c + sum_t v_t log p_t(c) + const. An array of votes is (trees,
# samples, classes) and holds the logarithms.


@hot
def take_vote(forest: Forest, t: int, x: Array, vote: Array) -> None:
    """Write what a tree predicts; for a learned vote log p_t(c)."""
    predict_tree(forest, t, x, vote)
    if forest.settings[0]["learns_vote"]:
        for c in range(forest.settings[0]["n_labels"]):
            vote[c] = math.log(vote[c] + FLOOR)


@hot
def pool_votes(forest: Forest, votes: Array, i: int, proba: Array) -> None:
    """The forest's probabilities of the labels seen so far, from the votes on sample i."""
    n_labels = forest.settings[0]["n_labels"]
    largest = -math.inf
    for c in range(n_labels):
        log_p = forest.bias[c]
        for t in range(len(forest.trees)):
            log_p += forest.trees[t]["vote"] * votes[t, i, c]
        proba[c] = log_p
        largest = max(largest, log_p)
    for c in range(n_labels):
        proba[c] = math.exp(proba[c] - largest)
    normalise(proba, n_labels)


@hot
def learn_vote(forest: Forest, votes: Array, i: int, label: int, weight: float) -> None:
    """Follow the gradient of log P(y): v_t += rate (log p_t(y) - E_P log p_t), and so for beta."""
    n_labels = forest.settings[0]["n_labels"]
    proba = forest.votes[len(forest.trees), 0]
    pool_votes(forest, votes, i, proba)
    trust = min(weight, 1.0)
    for t in range(len(forest.trees)):
        gradient = votes[t, i, label]
        for c in range(n_labels):
            gradient -= proba[c] * votes[t, i, c]
        forest.trees[t]["vote"] += VOTE_RATE * trust * gradient
    for c in range(n_labels):
        forest.bias[c] -= BIAS_RATE * trust * proba[c]
    forest.bias[label] += BIAS_RATE * trust


# ---------------------------------------------------------------------------------------- blocks

# A block goes through the forest in chunks: what concerns all trees is done for a whole chunk
# (open_chunk), then each tree takes all of its samples (run_chunk, in any number of threads), then
# the trees' predictions are added up (close_chunk). A tree and its chunk stay in the cache.


@kernel
def ready_samples(arena: int, wanted: int) -> int:
    """How many samples there is room for if none splits a tree more than once; at most `wanted`.

    If there is room for but a few, the answer is STORE_FULL, NODES_FULL or BOXES_FULL.
    """
    forest = forest_of(arena)
    settings = forest.settings[0]
    few = min(wanted, FEW_SAMPLES)
    n_ready = wanted
    if is_keeping_rows(settings, forest.trees, count_late(settings, forest.trees)):
        n_ready = min(n_ready, len(forest.rows) - settings["n_rows"])
        if n_ready < few:
            return STORE_FULL
    for t in range(len(forest.trees)):
        lack = tree_lacks(forest, t, READY_SPLITS + few)
        if lack != NOTHING:
            return NODES_FULL if lack == NODES else BOXES_FULL
        while n_ready > few and tree_lacks(forest, t, READY_SPLITS + n_ready) != NOTHING:
            n_ready = max(n_ready // 2, few)
    return n_ready


@kernel
def open_chunk(arena: int, block: int, start: int, stop: int, learns: bool) -> int:
    """Draw outliers in, take note of ranges and relevance, and put the samples into the store.

    Returns how many trees keep samples.
    """
    forest = forest_of(arena)
    samples = samples_of(block, forest)
    settings = forest.settings[0]
    n_late = count_late(settings, forest.trees)
    keeps_rows = is_keeping_rows(settings, forest.trees, n_late)
    for t in range(len(forest.trees)):
        samples.next_samples[t] = start
    n_features = settings["n_features"]
    for i in range(start, stop):
        x = samples.tame[i - start]
        tame(forest, samples.values[i], n_features, x)
        if learns and samples.weights[i] > 0.0:
            update_intensity(forest, samples.values[i], samples.labels[i], samples.weights[i])
            row = NONE
            if keeps_rows:
                row = store_row(forest, x, samples.labels[i], samples.weights[i])
            samples.rows[i - start] = row
        for j in range(n_features if learns else 0):
            samples.intensities[i - start, j] = forest.intensity[j]
    return n_late


@kernel
def run_chunk(
    arena: int, block: int, start: int, stop: int, first: int, end: int, tests: bool, learns: bool
) -> int:
    """Predict and learn the samples of a chunk, each tree from `first` to before `end` in turn.

    Answers NOTHING, or what a tree lacks; then it can be called again and goes on from there.
    """
    forest = forest_of(arena)
    samples = samples_of(block, forest)
    settings = forest.settings[0]
    for t in range(first, end):
        for i in range(samples.next_samples[t], stop):
            samples.next_samples[t] = i
            x = samples.tame[i - start]
            if settings["has_categories"]:
                x = samples.coded[t]
                key = forest.trees[t]["key"]
                n_features = settings["n_features"]
                code_row(forest.is_categorical, n_features, key, samples.tame[i - start], x)
            if tests or hears_trees(settings):
                take_vote(forest, t, x, samples.parts[t, i - start])
            weight = samples.weights[i]
            if learns and weight > 0.0:
                lack = tree_lacks(forest, t, 1)
                if lack == NOTHING:
                    tree = tree_of(forest, t, samples.intensities[i - start])
                    row = samples.rows[i - start]
                    lack = learn_tree(forest, tree, x, samples.labels[i], weight, row)
                if lack != NOTHING:
                    return lack
                if settings["restart_threshold"] > 0.0:
                    vote = samples.parts[t, i - start, samples.labels[i]]
                    judge_tree(forest, t, vote, weight)
        samples.next_samples[t] = stop
    return NOTHING


@kernel
def close_chunk(
    arena: int, block: int, start: int, stop: int, tests: bool, learns: bool, n_late: int
) -> int:
    """Put the trees' predictions together; answers RELEASED or DONE.

    `n_late` is how many trees kept samples before the chunk.
    """
    forest = forest_of(arena)
    samples = samples_of(block, forest)
    settings = forest.settings[0]
    if settings["learns_vote"]:
        for i in range(start, stop):
            if tests:
                pool_votes(forest, samples.parts, i - start, samples.proba[i])
            if learns and samples.weights[i] > 0.0:
                weight = samples.weights[i]
                learn_vote(forest, samples.parts, i - start, samples.labels[i], weight)
    else:
        for i in range(start, stop if tests else start):
            mean_votes(settings, samples.parts, i - start, samples.proba[i])
    return have_released(settings, forest.trees, n_late if learns else 0)
