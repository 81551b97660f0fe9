"""The page of a report, section by section."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from river_amf.pages import along, predictions
from river_amf.pages.document import Figure, Page, Section, escaped, table_html
from river_amf.pages.palette import GREY, Look
from river_amf.pages.records import Records
from river_amf.regressor import LEVEL

_COSTS = ("us_per_sample", "memory")
_UNRANKED = ("n_samples", "coverage", "width", "status")
_MEGABYTE = 1e6  # the unit of memory


def page_of(records: Records, displayed: pd.DataFrame, is_error: Mapping[str, bool]) -> Page:
    """Return the page of a report.

    `displayed` is the table of results as text, with titles; `is_error` is true for the columns in
    which smaller values are better.
    """
    of_task = _of_targets if records.is_regression else _of_labels
    sections = [
        _results(records, displayed, is_error),
        *_along(records),
        *of_task(records),
        _size(records),
    ]
    key = {name: records.looks[name] for name in records.models if records.looks[name].is_named}
    n_others = len(records.models) - len(key)
    if n_others:
        key[f"{n_others} other{'s' * (n_others > 1)}"] = Look(GREY)
    text = f"{verdict(records)} Each sample was predicted before it was learned."
    shown = [section for section in sections if section.text or section.figures]
    return Page(records.name, shown, text, records.facts, key)


def verdict(records: Records) -> str:
    """Return a sentence on the best of the models that have learned the most samples."""
    table, is_error = records.table, records.is_regression
    scores = table[table["n_samples"] == table["n_samples"].max()][records.measure].dropna()
    if scores.empty:
        return "No model has a result."
    ranked = scores.sort_values(ascending=is_error, kind="stable")
    shown = ranked.map(("{:.4g}" if is_error else "{:.1%}").format)
    best, below = shown[ranked == ranked.iloc[0]], shown[ranked != ranked.iloc[0]]
    what = "a mean absolute error" if is_error else "an accuracy"
    verb = "is" if len(best) == 1 else "are"
    text = f"{' and '.join(best.index)} {verb} the best, with {what} of {best.iloc[0]}"
    return f"{text}; {below.index[0]} has {below.iloc[0]}." if len(below) else f"{text}."


def _results(records: Records, displayed: pd.DataFrame, is_error: Mapping[str, bool]) -> Section:
    """Return the table of results, with the best figures in bold."""
    columns = {}
    for title, (column, values) in zip(displayed, records.table.items(), strict=True):
        shown = [*map(escaped, displayed[title])]
        if column == "memory":
            title = "MB"
            shown = [f"{n / _MEGABYTE:.2f}" if math.isfinite(n) else "-" for n in values]
        if column not in _UNRANKED:
            ranked = values.drop([*records.naive_baselines]) if column in _COSTS else values
            top = ranked.min() if is_error[str(column)] else ranked.max()
            shown = [f"<b>{t}</b>" if v == top else t for t, v in zip(shown, values, strict=True)]
        columns[title] = shown
    table = pd.DataFrame(columns, records.table.index.rename("model"))
    is_ok = bool((records.table["status"] == "ok").all())
    body = table_html(table.drop(columns="status") if is_ok else table, "" if is_ok else "status")
    text = "Bold: the best; of times and memory, the best of the models that look at features."
    if records.naive_baselines:
        text = f"{' and '.join(records.naive_baselines)} look at no features. {text}"
    return Section("Results", text, body=body)


def _section(title: str, figures: Iterable[Figure | None], text: str = "") -> Section:
    """Return a section of the figures that are not None, without text if all are."""
    drawn = [figure for figure in figures if figure is not None]
    return Section(title, text if drawn else "", drawn)


def _along(records: Records) -> list[Section]:
    """Return the sections on errors, drift and relevance along the stream."""
    what, measures = "Accuracy", ("accuracy", "log-loss")
    if records.is_regression:
        what, measures = "Error", ("MAE", "RMSE")
    figures = []
    for measure in measures:
        options: Any = {"y": measure, "is_clipped": measure != "accuracy"}
        options["digits"] = ".4~g" if records.is_regression else ".4f"
        for column, when in ((measure, _lately(records)), (f"cumulative {measure}", "so far")):
            title = f"{measure[0].upper()}{measure[1:]} {when}"
            figures.append(along.curves(records, column, title, **options))
    title, options = "Share of the fading counts", {"y": "share", "digits": ".3f"}
    share = along.curves(records, "fading_share", title, rangemode="tozero", **options)
    events = along.drifts(records)
    unseen = "" if events else "No drift seen: no model's error has grown, and no tree restarted."
    tables = [(n, records.relevance[n]) for n in records.colored if n in records.relevance]
    return [
        _section(f"{what} along the stream", figures),
        Section("Drift", unseen, [figure for figure in (events, share) if figure]),
        _section(
            "Relevance of features",
            [along.relevance(*table, number) for number, table in enumerate(tables)],
            "How informative each feature has recently been about the target, from 0 to 1; forests"
            " split relevant features more often.",
        ),
    ]


def _lately(records: Records) -> str:
    return f"over the last {records.window:,} samples"


def _of_labels(records: Records) -> list[Section]:
    """Return the sections on the predictions of classifiers."""
    bins = {n: records.reliability.get(n, pd.DataFrame()) for n in records.colored}
    errors = [f"{n} {predictions.calibration_error(b):.3f}" for n, b in bins.items() if len(b)]
    reports = [predictions.labels(records, n) for n in bins if len(records.labels.get(n, ()))]
    text = f"Expected calibration error: {', '.join(errors)}."
    return [
        _section("Calibration", predictions.calibration(records), text),
        _section(
            "Labels",
            reports,
            "Precision, recall and support of each label, and the confusion matrix: rows are"
            " labels, columns are predictions; the stronger the color, the larger the share.",
        ),
    ]


def _of_targets(records: Records) -> list[Section]:
    """Return the sections on the predictions of regressors."""
    coverage = along.curves(records, "coverage", f"Coverage {_lately(records)}", level=LEVEL)
    title, options = f"Width {_lately(records)}", {"digits": ".4~g", "is_clipped": True}
    latest = [
        predictions.intervals(name, records.latest[name], records.looks[name], number)
        for number, name in enumerate(records.colored)
        if name in records.latest
    ]
    return [
        _section(
            "Prediction intervals",
            [coverage, along.curves(records, "width", title, **options)],  # type: ignore[arg-type]
            "Coverage: the share of targets within their interval. The thin line is at the level"
            f" of the intervals, {LEVEL:.0%}.",
        ),
        _section("Intervals of the last samples", latest, "Grey: the targets."),
        _section("Residuals", [predictions.residuals(records), predictions.targets(records)]),
    ]


def _size(records: Records) -> Section:
    """Return the section on nodes and memory."""
    draw = functools.partial(along.curves, records, rangemode="tozero")
    nodes = draw("n_nodes", "Nodes of all trees", y="nodes", digits=",")
    memory = draw("memory", "Memory", y="MB", digits=".3~f", unit=_MEGABYTE)
    return _section("Size", [nodes, memory])
