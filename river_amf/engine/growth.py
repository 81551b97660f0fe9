"""How the schema and the arena of a forest grow with new features, labels, words and categories.

Both are made anew, for the engine to install in one step. Only the dicts of labels, words and
categories grow before that, as copies would take too long; `Schema.undo` takes back what was added.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from river_amf import kernels
from river_amf.engine.settings import NO_LIMIT, Parameters, dirichlet_of
from river_amf.inputs.schema import Reading, Row, Schema
from river_amf.state.arena import Arena, defaults
from river_amf.state.layout import CHOSEN, FIELDS

_LEAST_GROWTH, _MOST_GROWTH = 1.5, 8.0  # bounds of the factor by which the capacity for nodes grows
_OF_WORDS = [name for name, field in FIELDS.items() if field.axes[0] in ("word", "sparse_word")]


class Learned(NamedTuple):
    """A schema and an arena that fit one another."""

    schema: Schema
    arena: Arena | None  # None before the first sample


def admitted(learned: Learned, reading: Reading, parameters: Parameters) -> tuple[Learned, Row]:
    """Return schema and arena with all that is new in a sample and capacity for it, and its row."""
    before, arena = learned
    assert arena is not None
    schema, row = before.admit(reading)
    if schema.words is not None:
        schema, arena, row = _with_words(schema, arena, row, parameters.max_words)
    arena = arena.with_codes(schema.n_codes)
    has_columns = len(schema) > arena.settings["n_features"]
    if reading.label is None or schema is not before or has_columns:
        n_labels = schema.labels.n_classes
        arena = arena.extended(schema.is_categorical, n_labels, dirichlet_of(parameters, n_labels))
    return Learned(schema, with_ready(arena, 1)[0]), row


def with_columns(learned: Learned) -> Learned:
    """Return schema and arena in which the words that the kernels have chosen have columns."""
    # `admitted` extends the arena by them, as by any new feature, which has no values so far.
    schema, arena = learned
    assert schema.words is not None and arena is not None
    all_words, indices = [None, *schema.words], np.flatnonzero(arena.words["column"] == CHOSEN)
    by_word = {all_words[index]: index for index in indices.tolist()}
    schema = schema.with_columns([*by_word], [])
    words, counters = arena.words.copy(), arena.counters.copy()
    for word, index in by_word.items():
        words["column"][index] = 1 + (schema.column(word) or 0)
    counters["n_chosen"] = 0
    return Learned(schema, arena.replacing({"words": words, "counters": counters}, {}))


def _with_words(
    schema: Schema, arena: Arena, row: Row, max_words: int | None
) -> tuple[Schema, Arena, Row]:
    """Return schema and arena with the new words of a row, and the row without ignored ones."""
    # If there are too many, half of them are forgotten; those of the sample come back as new.
    assert schema.words is not None
    new = schema.new_words(row)
    most = NO_LIMIT if max_words is None else max_words
    if len(schema.words) + len(new) > most:
        words, arena = _without_rarest(schema, schema.words, arena, most)
        schema = schema.replacing(words=words)
        new = schema.new_words(row)
        n_free = max(most - len(words), 0)
        ignored, new = set(new[n_free:]), new[:n_free]
        row = {name: number for name, number in row.items() if name not in ignored}
    schema.add_words(new)
    return schema, arena.with_words(schema.n_indices, most), row


def _without_rarest(
    schema: Schema, words: dict[Hashable, int], arena: Arena, most: int
) -> tuple[dict[Hashable, int], Arena]:
    """Return words and arena with half of them, those used most and with columns, renumbered."""
    # Of words that are used equally, those that arrived last stay.
    columns = {*schema}
    have_columns = np.array([word in columns for word in words])
    uses = np.where(have_columns, np.inf, arena.words["uses"][1 : schema.n_indices])
    n_staying = max(min(len(words), most) // 2, int(have_columns.sum()))
    staying = np.sort(np.lexsort((np.arange(len(words)), uses))[len(words) - n_staying :])
    indices, names = [0, *(1 + staying)], [*words]
    fresh = defaults(arena.capacities, _OF_WORDS)
    for name, array in fresh.items():
        if len(array):
            array[: len(indices)] = getattr(arena, name)[indices]
    fresh["words"]["uses"] //= 2  # so that recent uses count more
    after = {names[k]: index for index, k in enumerate(staying.tolist(), 1)}
    return after, arena.replacing(fresh, {}).without_pending()  # as their keys have the indices


def with_ready(arena: Arena, wanted: int, factor: float = 2.0) -> tuple[Arena, int]:
    """Return an arena with capacity for some samples, at most `wanted`, and their number."""
    while (n_ready := kernels.ready_samples(arena, wanted)) < 0:
        arena = with_capacity(arena, n_ready, factor)
    return arena, n_ready


def with_capacity(arena: Arena, missing: int, factor: float = 2.0) -> Arena:
    """Return an arena in which the capacity that a kernel lacks is larger by `factor`."""
    if missing == kernels.STORE_FULL:
        kernels.compact_rows(arena)
        arena = arena.fit_rows()
    elif missing == kernels.PENDING_FULL:
        arena = arena.with_room(1)
    else:
        arena = arena.grown("node" if missing == kernels.NODES_FULL else "box", factor)
    return arena


def growth_factor(n_learned: int, to_come: int) -> float:
    """Return the factor by which to enlarge full arrays, given the samples so far and to come."""
    # About what those will need, so that arrays are seldom moved. Trees grow more slowly.
    factor = math.pow(1.0 + to_come / max(n_learned, 1), 0.8)
    return min(max(_LEAST_GROWTH, factor), _MOST_GROWTH)
