"""What a forest knows, and how what is new in a sample gets into it.

New labels, features and arrays are built beside the old ones, for the engine to put in their place
in one step. Only dictionaries of labels, words and categories grow before that, as copies would
take too long; what they hold too much, if the call is broken off, is cut off again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from river_amf import kernels
from river_amf.engine import events
from river_amf.engine.settings import Parameters, bound_of, dirichlet_of
from river_amf.inputs.encoding import Features, NewFeatures, column_order
from river_amf.inputs.labels import Labels
from river_amf.inputs.sparse_features import SparseFeatures
from river_amf.inputs.targets import Targets
from river_amf.state.arena import Arena, defaults
from river_amf.state.layout import CHOSEN, FIELDS

NO_BOUND = 2**31 - 1

_LEAST_GROWTH, _MOST_GROWTH = 1.5, 8.0  # bounds of the factor by which the capacity for nodes grows
_OF_WORDS = [name for name, field in FIELDS.items() if field.axes[0] in ("word", "sparse_word")]


class Known(NamedTuple):
    """Features, labels and arena of a forest, which fit one another."""

    # The labels of a regressor are `Targets`, which have the methods of `Labels` that are used.
    features: Features
    labels: Labels | Targets
    arena: Arena | None  # None before the first sample

    def cutter(self) -> Callable[[], None]:
        """Return a function that takes away all labels, words and categories added from now on."""
        labels, n_labels = self.labels, len(self.labels)
        lengths = [(codes, len(codes)) for codes in self.features.dictionaries()]

        def cut() -> None:
            labels.truncate(n_labels)
            for codes, length in lengths:
                while len(codes) > length:
                    codes.popitem()

        return cut

    def note_sizes(self) -> None:
        """Write how many words and codes of categories there are into the settings."""
        assert self.arena is not None
        settings, vocabulary = self.arena.settings, self.features.vocabulary
        settings["n_codes"] = self.features.n_codes
        settings["n_words"] = 0 if vocabulary is None else vocabulary.n_slots


def extended(
    known: Known,
    new: NewFeatures,
    new_labels: list[Hashable],
    row: dict[Hashable, float],
    parameters: Parameters,
) -> tuple[Known, dict[Hashable, float]]:
    """Return what is known with all that is new in a sample, and capacity to learn it.

    Further the `row` of the sample, with the codes of new categories, but without ignored words.
    """
    features, labels, arena = known
    assert arena is not None
    features = features.extended(new, bound_of(parameters))
    row = row.copy()
    for name, category in new.categories:
        coding = features.coding(name)
        assert coding is not None
        code = coding.code_to_learn(category)
        row[name] = float(code)
        if coding.n_free:  # otherwise it takes its place when all else is there
            coding.put(category, code)
    for label in new_labels:
        labels.add(label)
    if isinstance(features, SparseFeatures):
        features, arena, row = _with_words(features, arena, row, parameters.max_words)
    arena = arena.with_codes(features.n_codes)
    if new_labels or features is not known.features or len(features) > arena.settings["n_features"]:
        n_labels = labels.n_classes
        arena = arena.extended(
            features.is_categorical, n_labels, dirichlet_of(parameters, n_labels)
        )
    return Known(features, labels, with_ready(arena, 1)[0]), row


# ------------------------------------------------------------------------------------------- words


def with_columns(known: Known) -> Known:
    """Return what is known, in which the words that the kernels have chosen have columns."""
    # To older nodes and rows these are features that they have never seen, which is the work of
    # `extended`, as for any new feature.
    features, labels, arena = known
    assert isinstance(features, SparseFeatures) and arena is not None
    slots = np.flatnonzero(arena.words["column"] == CHOSEN).tolist()
    by_word = dict(zip(features.vocabulary.words_at(slots), slots, strict=True))
    chosen = sorted(by_word, key=column_order)
    words, counters = arena.words.copy(), arena.counters.copy()
    for column, word in enumerate(chosen, start=len(features)):
        words["column"][by_word[word]] = 1 + column
    counters["n_chosen"] = 0
    arena = arena.replacing(words=words, counters=counters)
    return Known(features.with_columns(chosen), labels, arena)


def _with_words(
    features: SparseFeatures, arena: Arena, row: dict[Hashable, float], max_words: int | None
) -> tuple[SparseFeatures, Arena, dict[Hashable, float]]:
    """Return features and arena with the new words of a sample, and it without those ignored."""
    # If there are too many words, half of them are forgotten and the others renumbered; those of
    # the sample come back as new. It may have more words than the bound; then some are ignored.
    new = features.new_words(row)
    most = NO_BOUND if max_words is None else max_words
    if len(features.vocabulary) + len(new) > most:
        features, arena = _without_rarest(features, arena, most)
        new = features.new_words(row)
        n_free = max(most - len(features.vocabulary), 0)
        ignored, new = set(new[n_free:]), new[:n_free]
        row = {name: number for name, number in row.items() if name not in ignored}
    features.vocabulary.add(new)
    return features, arena.with_words(features.vocabulary.n_slots, most), row


def _without_rarest(
    features: SparseFeatures, arena: Arena, most: int
) -> tuple[SparseFeatures, Arena]:
    """Return features and arena with half of the words, those used most and those with columns."""
    # Uses are halved, so that old fame fades.
    before = features.vocabulary
    kept = {name for name in features if name in before.slots}
    after = before.without_rarest(min(len(before), most) // 2, arena.words["uses"], kept)
    slots = [0, *(before.slots[word] for word in after.slots)]
    fresh = defaults(arena.capacities, _OF_WORDS)
    for name, array in fresh.items():
        if len(array):
            array[: len(slots)] = getattr(arena, name)[slots]
    fresh["words"]["uses"] //= 2
    events.forgot_words(len(before) - len(after), len(after))
    return features.replacing(vocabulary=after), arena.replacing(**fresh)


# ---------------------------------------------------------------------------------------- capacity


def with_ready(arena: Arena, wanted: int, factor: float = 2.0) -> tuple[Arena, int]:
    """Return an arena with capacity for about `wanted` samples, and for how many."""
    while (n_ready := kernels.ready_samples(arena, wanted)) < 0:
        arena = with_capacity(arena, n_ready, factor)
    return arena, n_ready


def with_capacity(arena: Arena, missing: int, factor: float = 2.0) -> Arena:
    """Return an arena in which what a kernel has used up is larger by `factor`."""
    if missing == kernels.STORE_FULL:
        kernels.compact_rows(arena)
        arena = arena.fit_rows()
    elif missing == kernels.NODES_FULL:
        arena = arena.grow_nodes(factor)
    else:
        arena = arena.grow_boxes(factor)
    return arena


def growth(arena: Arena, to_come: int) -> float:
    """Return the factor by which to enlarge full arrays with `to_come` samples left in a block."""
    # About what those samples will need, so that the arrays are seldom moved. Trees grow a little
    # more slowly than the stream.
    factor = math.pow(1.0 + to_come / max(weight_learned(arena), 1.0), 0.8)
    return min(max(_LEAST_GROWTH, factor), _MOST_GROWTH)


def weight_learned(arena: Arena | None) -> float:
    """Return the sum of the weights of all samples."""
    root = kernels.NONE if arena is None else int(arena.trees["root"][0])
    return (
        0.0 if arena is None or root == kernels.NONE else float(arena.nodes["n_samples"][0, root])
    )
