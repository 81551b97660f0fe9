"""Which of many curves are in color, so that a picture of many models can be read.

Our forests, the best three of the other models and the last label are; the rest are grey, thin and
behind. A handful of curves, as many as there are colors, are all in color.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from river import compose, dummy, stats

from river_amf.classifier import AdaptiveAMFClassifier
from river_amf.forest import Forest
from river_amf.regressor import AdaptiveAMFRegressor

# A palette that is safe for color-blind readers: Okabe, M., & Ito, K. (2008). Color universal
# design. Their yellow is left out because it is too light for lines.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
GREY = "#d0d0d0"  # of lines without a name

AMF, ADAPTIVE, LAST, OTHER = "amf", "adaptive", "last", "other"  # the roles

_AMF, _ADAPTIVE, *_ = COLORS
*_HUES, _BLACK = COLORS
_Name = TypeVar("_Name", bound=Hashable)
_N_BEST = 3  # of the models that are not ours


@dataclass(frozen=True)
class Look:
    """The style of a curve: a color and its name, or grey without."""

    color: str  # as #rrggbb
    width: float = 1.6  # of a line, in points
    dash: str = "solid"  # "dash" for the last label, "dot" for another floor
    is_named: bool = True  # in the legend; if not, it is one of the others, and belongs behind


OTHERS = Look(GREY, width=0.8, is_named=False)
_LAST = Look(_BLACK, 1.2, "dash")


def role_of(model: Any) -> str:
    """Return what a model, or the last step of a pipeline, is to a comparison.

    `AMF` and `ADAPTIVE` are our forests, `LAST` repeats the last label or value, and `OTHER` is any
    other model. The class tells, whatever the name:

    >>> from river_amf import baselines
    >>> [role_of(baselines.classifiers()[name]()) for name in ("amf", "last-class", "arf")]
    ['amf', 'last', 'other']
    """
    while isinstance(model, compose.Pipeline):
        model = next(reversed(model.steps.values()), None)
    # not isinstance, which is also true of river's wrappers of a forest
    kind = type(model)
    if issubclass(kind, Forest):
        is_adaptive = issubclass(kind, AdaptiveAMFClassifier | AdaptiveAMFRegressor)
        return ADAPTIVE if is_adaptive else AMF
    if issubclass(kind, dummy.NoChangeClassifier):
        return LAST
    statistic = model.statistic if issubclass(kind, dummy.StatisticRegressor) else None
    return LAST if isinstance(statistic, stats.Shift) and statistic.amount == 0 else OTHER


def looks(
    scores: Mapping[_Name, float], roles: Mapping[_Name, str], *, smaller_is_better: bool = False
) -> dict[_Name, Look]:
    """Return how to draw each model, in the order of the scores.

    Scores are the final ones by name, NaN if unknown; roles are those of `role_of`, by default
    `OTHER`. The first plain forest, the first adaptive one and the last label have the same colors
    in all pictures.

    >>> scores = {"a": 0.5, "b": 0.6, "ours": 0.4, "c": 0.9, "d": 0.8, "e": 0.7, "f": 0.1}
    >>> drawn = looks(scores, {"ours": ADAPTIVE})
    >>> [name for name, look in drawn.items() if look.is_named]
    ['ours', 'c', 'd', 'e']
    """
    role = {name: roles.get(name, OTHER) for name in scores}
    ours = [name for name in scores if role[name] in (AMF, ADAPTIVE)]
    others = [name for name in scores if role[name] == OTHER]
    if len(ours) + len(others) > len(_HUES):
        known = [name for name in others if not math.isnan(scores[name])]
        others = _best(known, scores, _N_BEST, smaller_is_better)
        ours = _best(ours, scores, len(_HUES) - len(others), smaller_is_better)
    named = {name: _LAST for name in scores if role[name] == LAST}
    named |= {name: Look(hue) for name, hue in _hues(ours, others, role).items()}
    return {name: named.get(name, OTHERS) for name in scores}


def _best(
    names: Iterable[_Name], scores: Mapping[_Name, float], n_best: int, smaller_is_better: bool
) -> list[_Name]:
    """Return the names with the best scores, the earlier ones in a tie, in the order given."""
    names, sign = [*names], 1.0 if smaller_is_better else -1.0

    def loss(name: _Name) -> float:
        return math.inf if math.isnan(scores[name]) else sign * scores[name]

    best = sorted(names, key=loss)[:n_best]
    return [name for name in names if name in best]


def _hues(
    ours: Iterable[_Name], others: Iterable[_Name], role: Mapping[_Name, str]
) -> dict[_Name, str]:
    """Return a hue for each name: the first forest of a role has its own."""
    hues: dict[_Name, str] = {}
    for name in ours:
        hue = _ADAPTIVE if role[name] == ADAPTIVE else _AMF
        if hue not in hues.values():
            hues[name] = hue
    free = [hue for hue in _HUES if hue not in hues.values()]
    rest = [name for name in itertools.chain(ours, others) if name not in hues]
    return hues | dict(zip(rest, free, strict=False))
