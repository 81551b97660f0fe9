"""Predictions that wait for labels, and how a label finds its own (DESIGN.md: delayed labels).

They lie in a ring; `back` counts from the newest, which is 0. One that a label has found stays for
a while, marked as taken: where rows repeat, the label may have been that of another one.
"""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels.lateness import AT_ONCE, lateness_of
from river_amf.kernels.numba_tools.arrays import NONE, Array, Forest, Record, Word, array_at
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.kernels.regression.target_pool import recent_values
from river_amf.kernels.tree.random_numbers import LOW_WORD, MULTIPLIER, WORD
from river_amf.state import layout

CONFIDENT, MOST_CONFIDENCE = 8, 16
# Evidence about the expected delay from a label, by which the confidence in it changes.
FIT, MISFIT, REFUTED, NO_EVIDENCE = 2, -2, -MOST_CONFIDENCE, 0
PATIENCE = 5  # labels without an equal row before a similar one is looked for
EVERY = 16  # labels without an equal row from one search among all rows to the next
N_AROUND = 32  # rows on each side of the expected one, which a row is compared with
SIMILAR = 0.5  # share of their mean distance up to which the expected row is similar
LEAST_SURPLUS = 8  # of labels that fit another delay better, which makes it the expected one
N_KEPT = 256  # predictions, plus 2 for each that waits, beyond which taken ones are dropped
N_LOST = 1000  # labels without a prediction, each after another one was made, before a warning

FIRST_KEY, ZERO = np.uint64(1), np.uint64(0)


@hot
def mixed_with(key: Word, bits: Word) -> Word:
    # By two steps of a generator by multiplication with carry, in which no product overflows
    for _ in range(2):
        key = key ^ bits
        key = (key & LOW_WORD) * MULTIPLIER + (key >> WORD)
        bits = FIRST_KEY
    return key


@helper
def key_of(forest: Forest, values: int, words: int) -> Word:
    """Return the key of an encoded row, which stays the same when features are added."""
    # Given addresses. With words it follows from these and categories, as words may get columns.
    settings, key = forest.settings, FIRST_KEY
    n_features, has_words = settings["n_features"], settings["n_words"] > 0
    row = array_at(values, (n_features,), np.float64)
    bits = array_at(values, (n_features,), np.uint64)
    for j in range(n_features):
        if not math.isnan(row[j]) and (forest.is_categorical[j] or not has_words):
            key = mixed_with(mixed_with(key, np.uint64(j)), bits[j] if row[j] != 0.0 else ZERO)
    if has_words:
        n_numbers = 2 * int(array_at(words, (1,), np.float64)[0])
        word_bits = array_at(words + 8, (n_numbers,), np.uint64)
        for k in range(n_numbers):
            key = mixed_with(key, word_bits[k])
    return key


@hot
def slot_of(forest: Forest, back: int) -> int:
    counters = forest.counters
    slot = counters["first_pending"] + counters["n_pending"] - 1 - back
    n = len(forest.pending)
    return slot - n if slot >= n else slot


@hot
def is_same_prediction(forest: Forest, slot: int, key: Word) -> bool:
    """Return whether a prediction of the same row waits there since the last sample."""
    pending, n_learned = forest.pending[slot], forest.counters["n_learned"]
    is_waiting = pending["is_taken"] == 0 and pending["n_learned"] == n_learned
    return is_waiting and forest.pending_keys[slot] == key


@hot
def is_asked_again(forest: Forest, slot: int, level: float) -> bool:
    """Return whether an equal row is another one: labels are late, and the question is the same."""
    # A classifier has one question, which is asked for a label and for probabilities.
    is_late = forest.counters["lateness"] >= AT_ONCE and forest.settings["is_regression"]
    return is_late and forest.pending[slot]["level"] == level


@helper
def lacks_room(forest: Forest) -> bool:
    n_pending = forest.counters["n_pending"]
    return n_pending == len(forest.pending) and n_pending < forest.handle["most_pending"]


@helper
def open_pending(forest: Forest, key: Word, level: float) -> int:
    """Return the slot for a prediction, that of the newest if it is the same prediction."""
    counters = forest.counters
    if counters["n_pending"] > 0:
        slot = slot_of(forest, 0)
        if is_same_prediction(forest, slot, key) and not is_asked_again(forest, slot, level):
            counters["n_since"] = max(counters["n_since"], 1)
            return slot
    while counters["n_pending"] >= forest.handle["most_pending"]:
        drop_oldest(forest)
    counters["n_pending"] += 1
    counters["n_waiting"] += 1
    counters["n_since"] += 1
    counters["n_predicted"] += 1
    counters["is_fresh"] = 1
    slot = slot_of(forest, 0)
    forest.pending_keys[slot] = key
    forest.pending[slot]["is_taken"] = 0
    forest.pending[slot]["level"] = level
    forest.pending[slot]["n_learned"] = counters["n_learned"]
    forest.pending[slot]["n_predicted"] = counters["n_predicted"]
    drop_taken(forest)
    return slot


@helper
def note_prediction(
    forest: Forest, row: int, words: int, votes: Array, i: int, answer: Array, level: float
) -> None:
    """Keep a prediction, if any are kept: its row, its votes, and the values behind them."""
    if forest.handle["most_pending"] == 0:
        return
    settings = forest.settings
    slot = open_pending(forest, key_of(forest, row, words), level)
    pending, values = forest.pending[slot], array_at(row, (settings["n_features"],), np.float64)
    for j in range(settings["n_features"]):
        forest.pending_rows[slot, j] = values[j]
    n_known = layout.OF_VOTER if settings["is_regression"] else settings["n_labels"]
    for v in range(len(votes)):
        for c in range(n_known):
            forest.pending_votes[slot, v, c] = votes[v, i, c]
    pending["n_known"] = n_known
    recent = recent_values(forest, lateness_of(forest.counters))
    pending["fast_error"], pending["slow_error"], pending["last_target"] = recent
    if settings["is_regression"]:
        pending["location"], pending["spread"] = answer[layout.LOCATION], answer[layout.SPREAD]


@helper
def pass_pending(forest: Forest, row: int, words: int) -> None:
    """Note a row that is predicted and learned at once."""
    if forest.handle["most_pending"] > 0:
        open_pending(forest, key_of(forest, row, words), 0.0)
        find_pending(forest, row, words)


@hot
def drop_oldest(forest: Forest) -> None:
    counters, slot = forest.counters, slot_of(forest, forest.counters["n_pending"] - 1)
    counters["n_waiting"] -= 1 - forest.pending[slot]["is_taken"]
    counters["n_pending"] -= 1
    counters["first_pending"] = slot + 1 if slot + 1 < len(forest.pending) else 0


@helper
def drop_taken(forest: Forest) -> None:
    counters = forest.counters
    while counters["n_pending"] > N_KEPT + 2 * counters["n_waiting"]:
        if not forest.pending[slot_of(forest, counters["n_pending"] - 1)]["is_taken"]:
            return
        drop_oldest(forest)


@helper
def mark_taken(forest: Forest, slot: int) -> None:
    forest.counters["n_waiting"] -= 1 - forest.pending[slot]["is_taken"]
    forest.pending[slot]["is_taken"] = 1


@helper
def no_pending(forest: Forest, row: int, words: int) -> int:
    return NONE


@helper
def find_pending(forest: Forest, row: int, words: int) -> int:
    """Take out the prediction of a row; return its slot, NONE if there is none."""
    # Also NONE if nothing was learned since: then the label comes at once.
    if forest.handle["most_pending"] == 0:
        return NONE
    counters = forest.counters
    values = array_at(row, (forest.settings["n_features"],), np.float64)
    counters["newest_lateness"] = -1.0
    if counters["n_waiting"] == 0:
        counters["is_fresh"] = 0
        return NONE
    key, newest = key_of(forest, row, words), slot_of(forest, 0)
    if counters["n_waiting"] == 1 and is_same_prediction(forest, newest, key):
        counters["n_missed"] = back = 0
    else:
        back = find_late(forest, key, values)
    is_fresh, counters["is_fresh"] = counters["is_fresh"], 0
    if back == NONE:
        counters["n_lost"] += is_fresh
        return NONE
    counters["n_lost"] = 0
    slot = slot_of(forest, back)
    delay = counters["n_learned"] - forest.pending[slot]["n_learned"]
    since = counters["n_predicted"] - forest.pending[slot]["n_predicted"]
    is_at_once, counters["newest_lateness"] = delay == 0, 0.5 * (delay + since)
    mark_taken(forest, slot)
    if back == 0 and is_at_once:
        counters["n_pending"] -= 1
        counters["n_since"] = max(counters["n_since"] - 1, 0)
    drop_taken(forest)
    return NONE if is_at_once else slot


@hot
def begin_context(forest: Forest, slot: int, context: Array) -> None:
    context[layout.LATENESS] = lateness_of(forest.counters)
    context[layout.DELAY] = 0.0
    context[layout.PENDING_SLOT] = slot
    if slot != NONE:
        delay = forest.counters["n_learned"] - forest.pending[slot]["n_learned"]
        context[layout.DELAY] = delay
    for t in range(len(forest.trees)):
        context[layout.HAS_RESTARTED + t] = 0.0


@hot
def update_confidence(counters: Record, evidence: int, delay: int) -> None:
    """Update the confidence in the expected delay, and set the delay, unless that is NONE."""
    counters["confidence"] = min(max(counters["confidence"] + evidence, 0), MOST_CONFIDENCE)
    if delay != NONE:  # then the next label is that of the next prediction
        # Within a batch of labels, it stays where the first of them was.
        counters["n_since"] = delay
        counters["expected_delay"] = max(
            delay, 0 if counters["is_fresh"] else counters["expected_delay"]
        )


@helper
def find_late(forest: Forest, key: Word, values: Array) -> int:
    """Return which prediction is that of a label, NONE if none is, and learn where to expect it."""
    counters = forest.counters
    expected = min(counters["n_since"] - 1, counters["expected_delay"])
    found, evidence, delay = find_equal(forest, expected, key)
    is_equal = found != NONE
    counters["n_missed"] = 0 if is_equal else counters["n_missed"] + 1
    if not is_equal:
        found, evidence, delay = find_similar(forest, expected, values)
    update_confidence(counters, evidence, delay)
    if is_equal and counters["confidence"] >= CONFIDENT:  # the labels of older ones will not come
        for back in range(found + 1, counters["n_pending"]):
            if forest.pending_keys[slot_of(forest, back)] == key:
                mark_taken(forest, slot_of(forest, back))
    return found


@helper
def find_equal(forest: Forest, expected: int, key: Word) -> tuple[int, int, int]:
    """Return which prediction of an equal row is that of a label, the evidence, and a new delay."""
    # With a delay of NONE, the present one stays. Found is the expected prediction if its row is
    # equal, even if taken; else the nearest that waits, if there is confidence; else the oldest,
    # and then one of all equal rows is expected next.
    counters, keys = forest.counters, forest.pending_keys
    if 0 <= expected < counters["n_pending"] and keys[slot_of(forest, expected)] == key:
        return expected, FIT, expected
    n_equal, oldest, nearest = 0, NONE, NONE
    for back in range(counters["n_pending"]):
        slot = slot_of(forest, back)
        if keys[slot] != key:
            continue
        n_equal += 1
        if not forest.pending[slot]["is_taken"]:
            if nearest == NONE or abs(back - expected) <= abs(nearest - expected):
                nearest = back
            oldest = back
    if oldest == NONE:
        return NONE, NO_EVIDENCE, NONE
    if counters["confidence"] + MISFIT >= CONFIDENT:
        return nearest, MISFIT, NONE
    return oldest, MISFIT, equal_at(forest, key, counters["n_learned"] % n_equal)


@helper
def equal_at(forest: Forest, key: Word, number: int) -> int:
    """Return the delay of the prediction with a number among those with a key."""
    back = forest.counters["n_pending"]
    while number >= 0:
        back -= 1
        slot = slot_of(forest, back)
        number -= forest.pending_keys[slot] == key
    return back


@helper
def find_similar(forest: Forest, expected: int, values: Array) -> tuple[int, int, int]:
    """Do the same for a label without an equal row."""
    # It is the expected one, if most labels lately fit such predictions better than others.
    counters, last = forest.counters, forest.counters["n_pending"] - 1
    if counters["n_missed"] <= PATIENCE or forest.settings["n_words"] > 0:
        return NONE, NO_EVIDENCE, NONE
    if counters["confidence"] < CONFIDENT and counters["n_missed"] % EVERY == 0:
        _, _, nearest = compare(forest, values, 0, last)
        return (NONE, REFUTED, nearest) if nearest != expected else (NONE, NO_EVIDENCE, NONE)
    if not 0 <= expected <= last:
        return NONE, MISFIT, NONE
    first, last = max(expected - N_AROUND, 0), min(expected + N_AROUND, last)
    mean, least, nearest = compare(forest, values, first, last)
    own = distance(forest, values, slot_of(forest, expected))
    if own > SIMILAR * mean:
        return NONE, MISFIT, NONE
    evidence = FIT if own == least else NO_EVIDENCE
    if least > SIMILAR * own or own == least:
        nearest = expected
    delay = nearest if is_to_move(forest, nearest - expected) else expected
    return delay if counters["confidence"] + evidence >= CONFIDENT else NONE, evidence, delay


@hot
def is_to_move(forest: Forest, offset: int) -> bool:
    """Note the offset of the nearest row from the expected one; return whether to move there."""
    counters = forest.counters
    if offset != 0 and offset == counters["offset"]:
        counters["n_offset"] += 1
    elif counters["n_offset"] > 0:
        counters["n_offset"] -= 1
    else:
        counters["offset"] = offset
    if counters["n_offset"] < LEAST_SURPLUS:
        return False
    counters["n_offset"] = 0
    return True


@helper
def compare(forest: Forest, values: Array, first: int, last: int) -> tuple[float, float, int]:
    """Return the mean and the least distance of a row from some others, and the nearest of them."""
    total, least, nearest = 0.0, math.inf, NONE
    for back in range(last, first - 1, -1):
        far = distance(forest, values, slot_of(forest, back))
        total += far
        if far < least:
            least, nearest = far, back
    return total / (last - first + 1), least, nearest


@hot
def distance(forest: Forest, values: Array, slot: int) -> float:
    """Return the mean difference of two rows, in units of ranges, or 1 if they share too little."""
    ranges, total, n, n_here, n_there = forest.ranges, 0.0, 0, 0, 0
    for j in range(forest.settings["n_features"]):
        value, other = values[j], forest.pending_rows[slot, j]
        is_here, is_there = not math.isnan(value), not math.isnan(other)
        n_here += is_here
        n_there += is_there
        n += is_here and is_there
        if is_here and is_there and value != other:
            width = ranges[1, j] - ranges[0, j]
            share = abs(value - other) / width if width > 0.0 else 1.0
            total += share if share < 1.0 and not forest.is_categorical[j] else 1.0
    return total / n if n > 0 and 2 * n >= min(n_here, n_there) else 1.0
