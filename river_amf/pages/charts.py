"""The style of models, and common parts of figures, as dicts of plotly."""

import html
import itertools
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from river_amf.outputs.formatting import cut
from river_amf.outputs.printing import printable

# A palette that is safe for color-blind readers: Okabe, M., & Ito, K. (2008). Color universal
# design. Their yellow is left out because it is too light for lines.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
INK = "#707a86"  # seen on light and dark
_MOST_COLORED = 6
_DASHES = ("dash", "dot")  # of the naive_baselines, and of models beyond six


@dataclass(frozen=True)
class Look:
    """The style of a model's lines."""

    color: str  # as #rrggbb
    width: float = 2.0  # in pixels
    dash: str = "solid"  # or "dash" or "dot"


def looks(
    scores: Mapping[str, float],
    naive_baselines: Collection[str] = (),
    *,
    smaller_is_better: bool = False,
) -> dict[str, Look]:
    """Return the style of each model, in the order of drawing."""
    # Scores are the final ones by name, NaN if unknown. The best six models have a color, and
    # further ones are dashed. Naive baselines, which use no features, are gray.
    sign = 1.0 if smaller_is_better else -1.0
    loss = {name: math.inf if math.isnan(n) else sign * n for name, n in scores.items()}
    models = [name for name in scores if name not in naive_baselines]
    best = sorted(models, key=lambda name: loss[name])[:_MOST_COLORED]
    colored = [name for name in models if name in best]
    others = [name for name in models if name not in best]
    dashed = itertools.cycle(itertools.product(_DASHES, COLORS[:_MOST_COLORED]))
    return {
        **{name: Look(hue, 1.0, dash) for name, (dash, hue) in zip(others, dashed, strict=False)},
        **{name: Look(hue) for name, hue in zip(colored, COLORS, strict=False)},
        **{
            name: Look(INK, 1.5, dash) for name, dash in zip(naive_baselines, _DASHES, strict=False)
        },
    }


def escaped(text: str) -> str:
    """Return text as HTML that shows it as it is, with codes for characters that are not seen."""
    return html.escape(printable(text))


def plotly_text(text: str) -> str:
    """Return text as plotly shows it as it is, which interprets some HTML but no quotes."""
    return html.escape(printable(text), quote=False)


def rows_layout(names: Collection[str]) -> dict[str, Any]:
    """Return the layout of rows at 0, 1, ... from the top, with their names."""
    texts = {"tickvals": [*range(len(names))], "ticktext": [plotly_text(cut(n)) for n in names]}
    axis = {"range": [len(names) - 0.5, -0.5], "showgrid": False, "zeroline": False}
    return {"yaxis": {**axis, **texts}, "height": max(30 * len(names), 200) + 90}


def trace(name: str, values: pd.Series, look: Look, hover: str, **style: Any) -> dict[str, Any]:
    """Return the line of a model, or its points with `mode="markers"`: values by their index."""
    x = values.index.tolist()
    style["marker"] = {"color": look.color, **style.get("marker", {})}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": rounded(x) if values.index.dtype.kind == "f" else x,
        "y": rounded(values),
        "name": plotly_text(name),
        "hovertemplate": hover,
        "line": {"color": look.color, "width": look.width, "dash": look.dash},
        **style,
    }


def thin_line(x: Iterable[Any], y: Iterable[Any]) -> dict[str, Any]:
    style = {"mode": "lines", "line": {"color": INK, "width": 1}, "hoverinfo": "skip"}
    return {"type": "scatter", "x": [*x], "y": [*y], **style}


def rounded(values: Iterable[float], digits: int = 4) -> list[float | None]:
    """Return numbers rounded to `digits` significant digits, and None for NaN."""
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in values]
