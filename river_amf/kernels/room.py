"""Checks whether the arrays have room for what is about to be learned, or Python has to make more.

Before any tree learns a sample, every tree has room for some splits. If the expansion of a leaf
needs more, which is rare, learning stops between two trees until Python has made room
(DESIGN.md: room).
"""

from __future__ import annotations

from river_amf.kernels.answers import BOXES_FULL, NODES_FULL, NOTHING, STORE_FULL, UNCOMPILED
from river_amf.kernels.arrays import Forest, Record, forest_of
from river_amf.kernels.compilation import hot, quick_kernel
from river_amf.kernels.parts import (
    BOUND_ROWS,
    COUNT_WORDS,
    EXPAND_LEAF,
    FOLLOW_TRENDS,
    HEAR_WORDS,
    JUDGE_TREE,
    LEARN_TREE,
    LEARN_VOTE,
    POOL_VOTES,
    RELEASE_ROWS,
    STANDARDISE,
    TAKE_VOTE,
    TEACH_WORDS,
    UPDATE_INTENSITY,
    USE_VOICE,
    USE_VOICES,
    WEIGH_FADED_CELL,
    WEIGH_FEATURES,
)
from river_amf.kernels.store import count_late, is_keeping_rows
from river_amf.kernels.structure import splits_left

READY_SPLITS = 16
FEW_SAMPLES = 64  # a lack of room does not make a chunk smaller than this


@hot
def hears_trees(settings: Record) -> bool:
    """Whether the predictions of single trees are needed for a sample that is learned."""
    return settings["learns_vote"] or settings["judges_trees"]


@hot
def has_voices(settings: Record) -> bool:
    """Whether anything besides the trees listens to a sample."""
    return settings["n_voices"] > 0 or settings["n_words"] > 0 or settings["n_trends"] > 0


@hot
def lack_to_predict(forest: Forest) -> int:
    """Which part has to be compiled before samples are predicted, as an answer, or NOTHING."""
    parts = forest.parts
    if parts[TAKE_VOTE] == 0:
        return UNCOMPILED - TAKE_VOTE
    if parts[POOL_VOTES] == 0 and forest.settings[0]["learns_vote"]:
        return UNCOMPILED - POOL_VOTES
    if parts[HEAR_WORDS] == 0 and forest.settings[0]["hears_words"]:
        return UNCOMPILED - HEAR_WORDS
    if len(forest.standards) > 0:
        if parts[STANDARDISE] == 0:
            return UNCOMPILED - STANDARDISE
        if parts[USE_VOICE] == 0 and len(forest.voices) > 0:
            return UNCOMPILED - USE_VOICE
        if parts[FOLLOW_TRENDS] == 0 and len(forest.trends) > 0:
            return UNCOMPILED - FOLLOW_TRENDS
    if parts[USE_VOICES] == 0 and has_voices(forest.settings[0]):
        return UNCOMPILED - USE_VOICES
    return NOTHING


@hot
def lack_to_learn(forest: Forest) -> int:
    """Which part has to be compiled before samples are learned, as an answer, or NOTHING."""
    parts, settings = forest.parts, forest.settings[0]
    if parts[LEARN_TREE] == 0:
        return UNCOMPILED - LEARN_TREE
    if parts[UPDATE_INTENSITY] == 0:
        return UNCOMPILED - UPDATE_INTENSITY
    if parts[EXPAND_LEAF] == 0 and not settings["split_pure"]:
        return UNCOMPILED - EXPAND_LEAF
    if parts[WEIGH_FADED_CELL] == 0 and settings["fades"] and not settings["split_pure"]:
        return UNCOMPILED - WEIGH_FADED_CELL
    if parts[WEIGH_FEATURES] == 0 and settings["relevance"]:
        return UNCOMPILED - WEIGH_FEATURES
    if parts[LEARN_VOTE] == 0 and settings["learns_vote"]:
        return UNCOMPILED - LEARN_VOTE
    if parts[JUDGE_TREE] == 0 and settings["judges_trees"]:
        return UNCOMPILED - JUDGE_TREE
    if settings["n_words"] > 0 and (parts[COUNT_WORDS] == 0 or parts[USE_VOICES] == 0):
        return UNCOMPILED - (COUNT_WORDS if parts[COUNT_WORDS] == 0 else USE_VOICES)
    if parts[TEACH_WORDS] == 0 and settings["hears_words"]:
        return UNCOMPILED - TEACH_WORDS
    if settings["interval"] > 0 and (parts[BOUND_ROWS] == 0 or parts[RELEASE_ROWS] == 0):
        return UNCOMPILED - (BOUND_ROWS if parts[BOUND_ROWS] == 0 else RELEASE_ROWS)
    if hears_trees(settings):
        return lack_to_predict(forest)
    return NOTHING


@hot
def lack_of_room(
    settings: Record, state: Record, n_splits: int, node_room: int, box_room: int
) -> int:
    """Which room a tree lacks for `n_splits` more splits, given the sizes of its arrays."""
    # The first leaf needs no split; but a hub has no nodes at all (DESIGN.md: shards).
    n_nodes = max(state["n_nodes"] + 2 * n_splits, min(settings["max_nodes"], 1))
    if n_nodes > node_room:
        return NODES_FULL
    n_boxes = state["n_boxes"] + n_splits + 1
    if n_nodes + 2 > settings["max_nodes"] or settings["split_pure"] or settings["interval"] > 0:
        n_boxes = n_nodes  # as all leaves get a box, or may get one at any time
    return BOXES_FULL if n_boxes > box_room else NOTHING


@hot
def tree_lacks(forest: Forest, t: int, n_splits: int) -> int:
    """Which room a tree lacks for a number of splits, or for those that its budget still allows."""
    settings, state = forest.settings[0], forest.trees[t]
    n_left = splits_left(settings, state)
    if forest.parts[RELEASE_ROWS] == 0 and n_left <= n_splits:
        return UNCOMPILED - RELEASE_ROWS  # the budget may be spent
    wanted = min(n_splits, n_left)
    return lack_of_room(settings, state, wanted, forest.nodes.shape[1], forest.boxes.shape[1])


@hot
def count_ready(forest: Forest, wanted: int, keeps_rows: bool) -> int:
    """The number of samples that there is room for, as in ready_samples."""
    lack = lack_to_learn(forest)
    if lack != NOTHING:
        return lack
    few = min(wanted, FEW_SAMPLES)
    n_ready = wanted
    if keeps_rows:
        n_ready = min(n_ready, len(forest.rows) - forest.counters[0]["n_rows"])
        if n_ready < few:
            return STORE_FULL
    for t in range(len(forest.trees)):
        lack = tree_lacks(forest, t, READY_SPLITS + few)
        if lack != NOTHING:
            return lack
        while n_ready > few and tree_lacks(forest, t, READY_SPLITS + n_ready) != NOTHING:
            n_ready = max(n_ready // 2, few)
    return n_ready


@quick_kernel
def ready_samples(arena: int, wanted: int) -> int:
    """The number of samples that there is room for, up to `wanted`, or which room is short."""
    # It assumes that no sample splits a tree more than once. If there is room for only a few, it
    # returns STORE_FULL, NODES_FULL or BOXES_FULL.
    forest = forest_of(arena)
    settings, trees = forest.settings[0], forest.trees
    keeps_rows = is_keeping_rows(settings, trees, count_late(settings, trees))
    return count_ready(forest, wanted, keeps_rows)
