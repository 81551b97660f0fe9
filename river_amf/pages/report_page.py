"""The page of a run: what a stream was like for one model or several, part by part."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from river_amf.explain.text_tables import Rows, to_html
from river_amf.pages import along, label_figures, number_figures
from river_amf.pages.along import Styles
from river_amf.pages.charts import styles_of
from river_amf.pages.document import Figure, Page, Section
from river_amf.pages.records import Records

_LEVEL = 0.9  # of the intervals of forests


def page_of(records: Records, cells: Rows) -> Page:
    """Return the page of runs; the cells are those of the table of results."""
    styles = styles_of(records)
    table = f'<div class="scroll">{to_html(cells, "")}</div>'
    made = [
        Section("Results", _remark(records), body=table),
        _along(records, styles),
        _drift(records, styles),
        _relevance(records, styles),
        *(_regressor_parts if records.is_of_numbers else _classifier_parts)(records, styles),
        _size(records, styles),
    ]
    parts = [made[0], *(part for part in made[1:] if part.figures)]
    in_order = [name for name in records.models if name in styles]
    entries = [styles[name].entry(name) for name in in_order]
    return Page(records.name, parts, _summary(records), entries)


def _summary(records: Records) -> str:
    n = records.n_samples
    return (
        f"{n:,} samples, each predicted before it was learned. Click a model to hide or show it in"
        " all figures, double click to see it alone; point at a curve to read its numbers."
    )


def _remark(records: Records) -> str:
    if not records.floors:
        return ""
    return (
        f"{' and '.join(records.floors)} look at no features: what they reach is the least to be"
        " expected."
    )


def _section_with(title: str, text: str, figures: Iterable[Figure | None]) -> Section:
    """Return a part with those of the figures that there are."""
    return Section(title, text, [figure for figure in figures if figure is not None])


def _along(records: Records, styles: Styles) -> Section:
    measures = ("MAE", "RMSE") if records.is_of_numbers else ("accuracy", "log-loss")
    figures = []
    for measure in measures:
        name = measure[0].upper() + measure[1:]
        for column, title in (
            (measure, f"{name} {_lately(records)}"),
            (f"cumulative {measure}", f"{name} so far"),
        ):
            figures.append(
                along.curves(
                    records,
                    styles,
                    column,
                    title=title,
                    y=measure,
                    digits=".4~g" if records.is_of_numbers else ".4f",
                    is_bounded=measure != "accuracy",
                )
            )
    what = "Error" if records.is_of_numbers else "Accuracy"
    return _section_with(f"{what} along the stream", "", figures)


def _lately(records: Records) -> str:
    """Return what a point of a curve is taken over."""
    return f"over the last {records.window:,} samples"


def _drift(records: Records, styles: Styles) -> Section:
    return _section_with(
        "Drift",
        "",
        [
            along.drifts(records, styles),
            along.curves(
                records,
                styles,
                "fading_share",
                title="Share of what fades",
                text="How far a forest predicts with what it has seen lately rather than with all"
                " it has seen: it rises where the past misleads.",
                y="fading share",
                digits=".3f",
                rangemode="tozero",
            ),
        ],
    )


def _relevance(records: Records, styles: Styles) -> Section:
    return _section_with(
        "Which features matter",
        "The relevance of each feature to the target lately, from 0 to 1, by which forests choose"
        " what to split.",
        [
            along.relevance_map(name, records.relevance[name])
            for name in _in_order(records, styles)
            if name in records.relevance and records.relevance[name].size
        ],
    )


def _classifier_parts(records: Records, styles: Styles) -> list[Section]:
    names = _in_order(records, styles)
    tables = {n: table for n, table in records.reliability.items() if n not in records.floors}
    errors = label_figures.calibration_errors(tables)
    listed = ", ".join(f"{name} {errors[name]:.3f}" for name in names if name in errors)
    return [
        _section_with(
            "Whether probabilities hold",
            f"Mean distance of the probability from the share that was right: {listed}."
            if listed
            else "",
            label_figures.reliability(tables, styles),
        ),
        _section_with(
            "Which labels are confused",
            "",
            [
                label_figures.confusion(name, records.confusion[name])
                for name in names
                if len(records.confusion.get(name, ()))
            ],
        ),
    ]


def _regressor_parts(records: Records, styles: Styles) -> list[Section]:
    draw = functools.partial(along.curves, records, styles)
    names = _in_order(records, styles)
    points = {name: table for name, table in records.points.items() if name in names}
    return [
        _section_with(
            "Intervals",
            "The share of targets within their interval, which the forests of this package promise"
            f" to be {_LEVEL:.0%}, and how wide intervals are.",
            [
                draw("coverage", title=f"Coverage {_lately(records)}", level=_LEVEL),
                draw(
                    "width",
                    title=f"Width of intervals {_lately(records)}",
                    digits=".4~g",
                    is_bounded=True,
                ),
            ],
        ),
        _section_with(
            "The last samples",
            "Targets, and the interval in which each was expected.",
            [
                number_figures.interval_figure(name, records.latest[name], styles[name])
                for name in names
                if name in records.latest
            ],
        ),
        _section_with(
            "Residuals",
            "What predictions leave of the target: its median, and the bands of a half and of nine"
            " tenths of the samples.",
            [
                *(number_figures.residuals(name, records, styles[name]) for name in names),
                number_figures.predictions(points, styles),
            ],
        ),
    ]


def _size(records: Records, styles: Styles) -> Section:
    draw = functools.partial(along.curves, records, styles)
    return _section_with(
        "Size",
        "",
        [
            draw("n_nodes", title="Nodes of all trees", y="nodes", digits=",", rangemode="tozero"),
            draw(
                "depth",
                title="Depth at which trees answer",
                text="The mean depth of the nodes that predict, weighted by their share of the"
                " prediction.",
                digits=".2f",
                rangemode="tozero",
            ),
            draw(
                "memory",
                title="Memory",
                y="bytes",
                digits=".3s",
                rangemode="tozero",
                tickformat="~s",
            ),
        ],
    )


def _in_order(records: Records, styles: Styles) -> Sequence[str]:
    """Return the models that have color and look at features, in the order of the table."""
    named = [name for name in records.models if name in styles and styles[name].is_named]
    return [name for name in named if name not in records.floors]
