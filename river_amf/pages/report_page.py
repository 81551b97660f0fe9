"""The page of a run: what a stream was like for one model or several, section by section."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from river_amf.pages import along, predictions
from river_amf.pages.charts import Styles, in_order, styles_of
from river_amf.pages.document import Figure, Page, Section, escaped, table_html
from river_amf.pages.palette import GREY, Look
from river_amf.pages.records import Records
from river_amf.regressor import LEVEL

_COSTS = ("us_per_sample", "memory")
_UNRANKED = ("n_samples", "coverage", "width", "status")
_OK = "ok"


def page_of(records: Records, cells: Sequence[Sequence[str]], is_error: Mapping[str, bool]) -> Page:
    """Return the page of runs.

    Cells are those of the table of results as text, with their titles, and `is_error` says of which
    columns smaller values are better.
    """
    styles = styles_of(records)
    text = "Bold: the best; of times and memory, the best of the models that look at features."
    if records.floors:
        text = f"{' and '.join(records.floors)} look at no features. {text}"
    named = _classifier_sections if not records.is_regression else _regressor_sections
    sections = [
        Section("Results", text, body=_results(records, cells, is_error)),
        _along(records, styles),
        _drift(records, styles),
        _relevance(records, styles),
        *named(records, styles),
        _size(records, styles),
    ]
    key = {name: styles[name] for name in records.models if styles[name].is_named}
    n_others = len(records.models) - len(key)
    if n_others:
        key |= {f"{n_others} other{'s' * (n_others > 1)}": Look(GREY)}
    return Page(
        records.name,
        [section for section in sections if section.text or section.figures],
        f"{verdict(records)} Each sample was predicted before it was learned.",
        records.facts,
        key,
    )


def verdict(records: Records) -> str:
    """Return in a sentence which model is the best and by how much, or that none is ahead.

    It is about the models that have seen the most samples.
    """
    table = records.table
    scores = table[table["n_samples"] == table["n_samples"].max()][records.measure].dropna()
    if scores.empty:
        return "No model has a result."
    ranked = scores.sort_values(ascending=records.is_regression, kind="stable")
    best, value = str(ranked.index[0]), float(ranked.iloc[0])
    floors = [name for name in ranked.index if name in records.floors]
    models = [name for name in ranked.index if name not in records.floors]
    if floors and models and ranked[floors[0]] in (value, ranked[models[0]]):
        reached, most = (_score(records, float(ranked[n[0]])) for n in (models, floors))
        return f"No model is ahead of {floors[0]}, with {most}: {models[0]} has {reached}."
    reached = _score(records, value)
    if len(ranked) == 1:
        return f"{best} is the only model with a result: {reached}."
    second, other = str(ranked.index[1]), float(ranked.iloc[1])
    if other == value:
        return f"{best} and {second} are the best, with {reached}."
    lead = f"{100 * (value - other):.2g} percentage points above {second}"
    if records.is_regression:
        lead = f"{1 - value / other:.1%} below {second}"
    return f"{best} is the best, with {reached}, {lead}."


def _score(records: Records, value: float) -> str:
    """Return a score with its name."""
    if records.is_regression:
        return f"a mean absolute error of {value:.4g}"
    return f"an accuracy of {value:.1%}"


def _results(records: Records, cells: Sequence[Sequence[str]], is_error: Mapping[str, bool]) -> str:
    """Return the table of results, with the best figures in bold and memory in one unit."""
    titles, *rows = cells
    columns = {}
    for place, column in enumerate(records.table.columns, 1):
        values, texts = records.table[column], [escaped(row[place]) for row in rows]
        title = titles[place]
        if column == "memory":
            title = "MB"
            texts = [f"{n / along.MEGABYTE:.2f}" if math.isfinite(n) else "-" for n in values]
        if column not in _UNRANKED:
            ranked = values.drop([*records.floors]) if column in _COSTS else values
            top = ranked.min() if is_error[str(column)] else ranked.max()
            texts = [f"<b>{t}</b>" if v == top else t for t, v in zip(texts, values, strict=True)]
        columns[title] = texts
    is_ok = bool((records.table["status"] == _OK).all())
    if is_ok:
        del columns["status"]
    table = pd.DataFrame(columns, index=records.table.index.rename("model"))
    return table_html(table, "" if is_ok else "status")


def _section_with(title: str, figures: Iterable[Figure | None], text: str = "") -> Section:
    """Return a section with those of the figures that there are, without text if there is none."""
    drawn = [figure for figure in figures if figure is not None]
    return Section(title, text if drawn else "", drawn)


def _along(records: Records, styles: Styles) -> Section:
    figures = []
    digits = ".4~g" if records.is_regression else ".4f"
    for measure in ("MAE", "RMSE") if records.is_regression else ("accuracy", "log-loss"):
        draw = functools.partial(along.curves, records, styles, y=measure, digits=digits)
        name, is_clipped = measure[0].upper() + measure[1:], measure != "accuracy"
        for column, when in ((measure, _lately(records)), (f"cumulative {measure}", "so far")):
            figures.append(draw(column, f"{name} {when}", is_clipped=is_clipped))
    what = "Error" if records.is_regression else "Accuracy"
    return _section_with(f"{what} along the stream", figures)


def _lately(records: Records) -> str:
    """Return the samples over which a point of a curve is taken."""
    return f"over the last {records.window:,} samples"


def _drift(records: Records, styles: Styles) -> Section:
    share = along.curves(
        records,
        styles,
        "fading_share",
        "Share of the fading counts",
        "How far a forest predicts with recent samples rather than with all: it rises where the"
        " past misleads.",
        y="share",
        digits=".3f",
        rangemode="tozero",
    )
    events = along.drifts(records, styles)
    text = "" if events else "No drift seen: no model's error has grown, and no tree restarted."
    return Section("Drift", text, [figure for figure in (events, share) if figure])


def _relevance(records: Records, styles: Styles) -> Section:
    tables = {name: records.relevance.get(name) for name in in_order(records, styles)}
    known = [(name, table) for name, table in tables.items() if table is not None and table.size]
    return _section_with(
        "Relevance of features",
        [along.relevance(*table, number) for number, table in enumerate(known)],
        "How informative each feature has recently been about the target, from 0 to 1; forests"
        " split relevant features more often.",
    )


def _classifier_sections(records: Records, styles: Styles) -> list[Section]:
    names = in_order(records, styles)
    errors = [
        f"{name} {predictions.calibration_error(records.reliability[name]):.3f}"
        for name in names
        if len(records.reliability.get(name, ()))
    ]
    reports = [predictions.labels(records, n) for n in names if len(records.labels.get(n, ()))]
    text = f"Expected calibration error: {', '.join(errors)}."
    return [
        _section_with("Calibration", predictions.calibration(records, styles), text),
        _section_with(
            "Labels",
            reports,
            "Precision, recall and support of each label, and the confusion matrix: rows are"
            " labels, columns are predictions; the stronger the color, the larger the share.",
        ),
    ]


def _regressor_sections(records: Records, styles: Styles) -> list[Section]:
    draw = functools.partial(along.curves, records, styles)
    lately = _lately(records)
    latest = [
        predictions.intervals(name, records.latest[name], styles[name], number)
        for number, name in enumerate(in_order(records, styles))
        if name in records.latest
    ]
    widths = draw("width", f"Width {lately}", digits=".4~g", is_clipped=True)
    return [
        _section_with(
            "Prediction intervals",
            [draw("coverage", f"Coverage {lately}", level=LEVEL), widths],
            "Coverage: the share of targets within their interval. The thin line is at the level"
            f" asked for, {LEVEL:.0%}.",
        ),
        _section_with("Intervals of the last samples", latest, "Grey: the targets."),
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
