"""The colors of models, in pictures and on pages."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

# A palette that is safe for color-blind readers: Okabe, M., & Ito, K. (2008). Color universal
# design. Their yellow is left out because it is too light for lines.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
INK, GREY = "#707a86", "#9aa1a9"  # seen on light and dark
_DASHES = ("dash", "dot")  # of the floors


@dataclass(frozen=True)
class Look:
    """The style of a model's lines."""

    color: str  # as #rrggbb
    width: float = 2.0  # in pixels
    dash: str = "solid"  # or "dash" or "dot"
    is_named: bool = True  # in the legend


def looks(
    scores: Mapping[str, float], floors: Collection[str] = (), *, smaller_is_better: bool = False
) -> dict[str, Look]:
    """Return the style of each model, in the order of drawing.

    Scores are the final ones by name, NaN if unknown. The best six models have a color, and
    further ones are thin and grey. Floors, which look at no features, are dashed and dotted.

    >>> scores = {"a": 0.5, "b": 0.6, "c": 0.9, "d": 0.8, "e": 0.7, "f": 0.4, "g": 0.3, "last": 1.0}
    >>> drawn = looks(scores, ["last"])
    >>> [name for name, look in drawn.items() if look.is_named]
    ['a', 'b', 'c', 'd', 'e', 'f', 'last']
    >>> drawn["last"].dash, drawn["g"].width
    ('dash', 0.8)
    """
    sign = 1.0 if smaller_is_better else -1.0
    loss = {name: math.inf if math.isnan(n) else sign * n for name, n in scores.items()}
    models = [name for name in scores if name not in floors]
    *hues, _ = COLORS
    best = sorted(models, key=lambda name: loss[name])[: len(hues)]
    colored = [name for name in models if name in best]
    behind = [name for name in models if name not in best]
    return {
        **dict.fromkeys(behind, Look(GREY, 0.8, is_named=False)),
        **{name: Look(hue) for name, hue in zip(colored, hues, strict=False)},
        **{name: Look(INK, 1.5, dash) for name, dash in zip(floors, _DASHES, strict=False)},
    }
