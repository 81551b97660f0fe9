"""Models beside each other, along a stream."""

from __future__ import annotations

from typing import Any

from river_amf.evaluation.comparison import Comparison
from river_amf.evaluation.metrics import smaller_is_better
from river_amf.inputs.kinds import printable
from river_amf.pages.palette import looks
from river_amf.plot.axes import Axes, new_axes

_STYLES = {"solid": "-", "dash": "--", "dot": ":"}


def comparison(comparison: Comparison, ax: Axes | None = None, metric: str | None = None) -> Axes:
    """Draw a metric of each model along the stream, in the colors of the report page.

    Of more models than there are colors, those behind are grey and have no name.

    Parameters
    ----------
    comparison
        Result of `evaluation.compare`.
    ax
        Axes to draw on; by default of a new figure.
    metric
        Name of a column of `comparison.curves`, by default the first metric. ValueError if no model
        has values of it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFClassifier, evaluation, plot
    >>> models = {"forest": AMFClassifier(seed=1), "majority": "majority"}
    >>> comparison = evaluation.compare("Bananas", models, limit=1000, window=250)
    >>> ax = plot.comparison(comparison, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['forest', 'majority']
    """
    curves, table = comparison.curves, comparison.table
    metrics = [str(column) for column in curves.columns[2:]]
    metric = metrics[0] if metric is None else metric
    if metric not in metrics:
        raise ValueError(f"metric must be one of {', '.join(metrics)}, got {metric!r}")
    if not curves[metric].notna().any():
        raise ValueError(f"comparison has no {metric} to draw")
    is_error = smaller_is_better(metric)
    scores = dict(zip(map(str, table.index), table[metric].astype(float), strict=True))
    ax = new_axes(ax, (8.0, 4.0))
    for name, look in looks(scores, comparison.naive_baselines, smaller_is_better=is_error).items():
        curve = curves[curves["model"] == name].set_index("n_samples")[metric].dropna()
        style: dict[str, Any] = {"color": look.color, "linewidth": look.width}
        style |= {"linestyle": _STYLES[look.dash], "marker": "" if len(curve) > 1 else "o"}
        if len(curve):
            curve.plot(ax=ax, label=printable(name) if look.is_named else "_", **style)
    ax.set(xlabel="samples", ylabel=printable(metric))
    ax.set_title(printable(comparison.name), parse_math=False)
    legend = ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return ax
