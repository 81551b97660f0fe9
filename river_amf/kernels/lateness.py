"""How late labels come, and what that slows down (DESIGN.md: lateness)."""

from __future__ import annotations

from river_amf.kernels.numba_tools.arrays import Array, Forest, Record
from river_amf.kernels.numba_tools.compilation import hot
from river_amf.state.layout import DELAY

LATENESS_RATE = 0.02  # of the running mean
AT_ONCE = 1.0  # a smaller mean counts as 0
JUMP = 3  # late targets far above their predictions, less those below, after which a level jumped
UNKNOWN_LATENESS = 1000.0  # after FEW_LEARNED samples, until a label has had a prediction
FEW_LEARNED = 20
MEMORIES = 5.0  # what adapts remembers at least so many times the lateness
ERRORS_KEPT = 30.0  # lateness at which recent errors count 1 / e
DELAY_SCALE = 10.0  # delay in samples at which the rates of learning from predictions are halved
LARGEST_DELAY = 100.0  # longer ones count as that, or too little would be learned


@hot
def lateness_of(counters: Record) -> float:
    """Return how late labels are, in samples, 0 if they come at once, or the level has jumped."""
    lateness = counters["lateness"]
    if abs(counters["n_jumped"]) >= JUMP:
        return 0.0
    if lateness < 0.0:
        return UNKNOWN_LATENESS if counters["n_learned"] >= FEW_LEARNED else 0.0
    return lateness if lateness >= AT_ONCE else 0.0


@hot
def count_lateness(counters: Record) -> None:
    newest, mean = counters["newest_lateness"], counters["lateness"]
    if newest >= 0.0:
        counters["lateness"] = newest if mean < 0.0 else mean + LATENESS_RATE * (newest - mean)
        counters["newest_lateness"] = -1.0


@hot
def slowed_rate(rate: float, lateness: float) -> float:
    """Return a rate of learning, for a memory of at least some times the lateness."""
    return rate / (1.0 + MEMORIES * rate * lateness)


@hot
def slowed_decay(decay: float, lateness: float) -> float:
    """Return a decay, for such a memory."""
    return 1.0 - slowed_rate(1.0 - decay, lateness) if lateness > 0.0 else decay


@hot
def slowed(weight: float, context: Array) -> float:
    """Return a weight that shrinks with the delay of a label."""
    # As that many steps add up before the effect of the first is seen.
    return weight / (1.0 + min(context[DELAY], LARGEST_DELAY) / DELAY_SCALE)


@hot
def set_fading(forest: Forest, t: int, lateness: float) -> None:
    """Set whether a tree fades: those with even indices do only while labels come at once."""
    forest.trees[t]["fades"] = forest.settings["fades"] and (t % 2 == 1 or lateness == 0.0)
