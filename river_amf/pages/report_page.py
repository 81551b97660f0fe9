"""The page of a run: what a stream was like for one model or several, part by part."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping

from river_amf.explain.text_tables import Rows, to_html
from river_amf.pages import along, predictions
from river_amf.pages.charts import Styles, in_order, styles_of
from river_amf.pages.document import Entry, Figure, Page, Section
from river_amf.pages.records import Records

_LEVEL = 0.9  # of the intervals of forests
_N_OPEN = 2  # matrices of confusion that are seen at once
_COSTS = ("us_per_sample", "memory")
_UNJUDGED = ("n_samples", "coverage", "width", "status")


def page_of(records: Records, cells: Rows, is_error: Mapping[str, bool]) -> Page:
    """Return the page of runs.

    Cells are those of the table of results as text, and `is_error` says of which columns smaller
    values are better.
    """
    floors = " and ".join(records.floors)
    remark = f"{floors} look at no features: what they reach is the least to be expected."
    bold = "Bold: the best; of times and memory, that of models that look at features."
    text = (
        f"{records.n_samples:,} samples, each predicted before it was learned. Click a model to"
        " hide or show it in all figures, double click to see it alone; point at a curve to read"
        " its numbers, and click a title of the table to sort it."
    )
    styles = styles_of(records)
    table = f'<div class="scroll">{_table(records, cells, is_error)}</div>'
    made = [
        Section("Results", f"{remark} {bold}" if floors else bold, body=table),
        _along(records, styles),
        _drift(records, styles),
        _relevance(records, styles),
        *(_regressor_parts if records.is_of_numbers else _classifier_parts)(records, styles),
        _size(records, styles),
    ]
    parts = [made[0], *(part for part in made[1:] if part.figures)]
    shown = {name: styles[name] for name in records.models if name in styles}
    entries = [Entry(name, look.color, look.dash) for name, look in shown.items()]
    return Page(records.name, parts, f"{verdict(records)}\n\n{text}", entries)


def verdict(records: Records) -> str:
    """Return in a sentence which model is the best, and by how much.

    It is about the models that have seen the most samples.
    """
    table = records.table
    scores = table[table["n_samples"] == table["n_samples"].max()][records.measure].dropna()
    if scores.empty:
        return "No model has a result."
    ranked = scores.sort_values(ascending=records.is_of_numbers, kind="stable")
    best, value = str(ranked.index[0]), float(ranked.iloc[0])
    reached = f"{value:.1%} right"
    if records.is_of_numbers:
        reached = f"a mean absolute error of {value:.4g}"
    if len(ranked) == 1:
        return f"{best} is the only model with a result: {reached}."
    second, other = str(ranked.index[1]), float(ranked.iloc[1])
    if other == value:
        return f"{best} and {second} are the best: {reached}."
    lead = f"{100 * (value - other):.2g} percentage points more than {second}"
    if records.is_of_numbers:
        lead = f"{1 - value / other:.1%} less than {second}"
    return f"{best} is the best: {reached}, {lead}, the next."


def _table(records: Records, cells: Rows, is_error: Mapping[str, bool]) -> str:
    """Return the table of results, with the best figures in bold and memory in one unit."""
    rows = [[*row] for row in cells]
    best = set()
    for place, column in enumerate(records.table.columns, 1):
        values = records.table[column]
        if column == "memory":
            known = [f"{n / along.MEGABYTE:.2f}" if math.isfinite(n) else "-" for n in values]
            for row, text in zip(rows, ["MB", *known], strict=True):
                row[place] = text
        if column in _UNJUDGED:
            continue
        judged = values.drop([*records.floors]) if column in _COSTS else values
        top = judged.min() if is_error[column] else judged.max()
        best |= {(i, place) for i, value in enumerate(values, 1) if value == top}
    return to_html(rows, "Results", best)


def _section_with(
    title: str, figures: Iterable[Figure | None], text: str = "", n_open: int | None = None
) -> Section:
    """Return a part with those of the figures that there are."""
    return Section(title, text, [each for each in figures if each is not None], n_open=n_open)


def _lately(records: Records) -> str:
    """Return what a point of a curve is taken over."""
    return f"over the last {records.window:,} samples"


def _along(records: Records, styles: Styles) -> Section:
    figures = []
    digits = ".4~g" if records.is_of_numbers else ".4f"
    for measure in ("MAE", "RMSE") if records.is_of_numbers else ("accuracy", "log-loss"):
        draw = functools.partial(along.curves, records, styles, y=measure, digits=digits)
        name, is_clipped = measure[0].upper() + measure[1:], measure != "accuracy"
        for column, when in ((measure, _lately(records)), (f"cumulative {measure}", "so far")):
            figures.append(draw(column, f"{name} {when}", is_clipped=is_clipped))
    what = "Error" if records.is_of_numbers else "Accuracy"
    return _section_with(f"{what} along the stream", figures)


def _drift(records: Records, styles: Styles) -> Section:
    text = (
        "How far a forest predicts with what it has seen lately rather than with all it has seen:"
        " it rises where the past misleads."
    )
    draw = functools.partial(along.curves, records, styles, rangemode="tozero")
    fading = draw("fading_share", "Share of what fades", text, y="fading share", digits=".3f")
    return _section_with("Drift", [along.drifts(records, styles), fading])


def _relevance(records: Records, styles: Styles) -> Section:
    tables = {name: records.relevance.get(name) for name in in_order(records, styles)}
    return _section_with(
        "Which features matter",
        [along.relevance_map(name, t) for name, t in tables.items() if t is not None and t.size],
        "The relevance of each feature to the target lately, from 0 to 1, by which forests choose"
        " what to split. The strongest color is for the highest after a tenth of the stream.",
    )


def _classifier_parts(records: Records, styles: Styles) -> list[Section]:
    names = in_order(records, styles)
    matrices = [
        predictions.confusion(name, records.confusion[name])
        for name in names
        if len(records.confusion.get(name, ()))
    ]
    errors = [
        f"{name} {predictions.calibration_error(records.reliability[name]):.3f}"
        for name in names
        if len(records.reliability.get(name, ()))
    ]
    text = f"Mean distance of the probability from the share that was right: {', '.join(errors)}."
    return [
        _section_with("Whether probabilities hold", predictions.reliability(records, styles), text),
        _section_with("Which labels are confused", matrices, n_open=_N_OPEN),
    ]


def _regressor_parts(records: Records, styles: Styles) -> list[Section]:
    draw = functools.partial(along.curves, records, styles)
    lately = _lately(records)
    latest = [
        predictions.intervals(name, records.latest[name], styles[name])
        for name in in_order(records, styles)
        if name in records.latest
    ]
    widths = draw("width", f"Width of intervals {lately}", digits=".4~g", is_clipped=True)
    return [
        _section_with(
            "Intervals",
            [draw("coverage", f"Coverage {lately}", level=_LEVEL), widths],
            "The share of targets within their interval, which the forests of this package promise"
            f" to be {_LEVEL:.0%}, and how wide intervals are.",
        ),
        _section_with(
            "The last samples", latest, "Targets, and the interval in which each was expected."
        ),
        _section_with(
            "Residuals",
            [predictions.residuals(records, styles), predictions.targets(records, styles)],
        ),
    ]


def _size(records: Records, styles: Styles) -> Section:
    draw = functools.partial(along.curves, records, styles, rangemode="tozero")
    return _section_with(
        "Size",
        [
            draw("n_nodes", "Nodes of all trees", y="nodes", digits=","),
            draw("memory", "Memory", y="MB", digits=".3~f", unit=along.MEGABYTE),
        ],
    )
