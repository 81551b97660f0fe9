"""The page of a report, section by section."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from river_amf.pages import along, predictions
from river_amf.pages.charts import escaped
from river_amf.pages.document import Figure, Page, Section, facts_html, table_html
from river_amf.pages.records import Records, not_ahead
from river_amf.regressor import LEVEL

_UNRANKED = ("n_samples", "us_per_sample", "memory", "coverage", "width", "status")


def page_of(records: Records, displayed: pd.DataFrame, is_error: Mapping[str, bool]) -> Page:
    """Return the page of a report."""
    # `displayed` is the table of results as text, with titles; `is_error` is true for the columns
    # in which smaller values are better.
    of_task = _of_targets if records.is_regression else _of_labels
    nodes = along.curves(records, "n_nodes", "Nodes of all trees", y="nodes")
    sections = [
        _results(records, displayed, is_error),
        *_along(records),
        *of_task(records),
        _section("Size", [nodes, along.curves(records, "memory", "Memory", y="bytes")]),
        _columns(records),
    ]
    key = {name: records.looks[name] for name in records.models}
    behind = not_ahead(records.table, records.naive_baselines)
    text = f"{behind} {verdict(records)} Each sample was predicted before it was learned.".strip()
    shown = [section for section in sections if section.text or section.figures]
    facts = {n: fact for n, fact in records.facts.items() if not n.startswith("model ")}
    return Page(records.name, shown, text, facts, key)


def verdict(records: Records) -> str:
    """Return a sentence on the best of the models that have learned the most samples."""
    table, is_error = records.table, records.is_regression
    scores = table[table["n_samples"] == table["n_samples"].max()][records.measure].dropna()
    if scores.empty:
        return "No model has a result."
    top = scores.min() if is_error else scores.max()
    best = scores.index[scores == top]
    what = f"a mean absolute error of {top:.4g}" if is_error else f"an accuracy of {top:.1%}"
    return f"{' and '.join(best)} {'is' if len(best) == 1 else 'are'} the best, with {what}."


def _results(records: Records, displayed: pd.DataFrame, is_error: Mapping[str, bool]) -> Section:
    """Return the table of results, with the best scores in bold."""
    table = displayed.map(escaped).set_index(records.table.index.rename("model"))
    for title, (column, values) in zip(displayed, records.table.items(), strict=True):
        if column not in _UNRANKED:
            top = values.min() if is_error[str(column)] else values.max()
            table[title] = table[title].where(values != top, "<b>" + table[title] + "</b>")
    is_ok = bool((records.table["status"] == "ok").all())
    body = table_html(table.drop(columns="status") if is_ok else table, "" if is_ok else "status")
    body += facts_html({n: fact for n, fact in records.facts.items() if n.startswith("model ")})
    text = "Bold: the best scores."
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
    figures = [
        along.curves(records, column, title, y=measure, is_clipped=measure != "accuracy")
        for measure in measures
        for column, title in (
            (measure, f"{measure[0].upper()}{measure[1:]} {_in_windows(records)}"),
            (f"cumulative {measure}", f"{measure[0].upper()}{measure[1:]} so far"),
        )
    ]
    dotted = "Dotted lines: drifts of the stream." if records.drifts else ""
    share = along.curves(records, "fading_share", "Share of the fading counts", y="share")
    events = along.drifts(records)
    unseen = "" if events else "No drift seen: no model's error has grown, and no tree restarted."
    of_what = ", in the unit of the target."
    if not records.is_regression:
        of_what = " of the most probable label: its probability, or with a learned vote its log P."
    tables = [(n, records.relevance[n]) for n in records.colored if n in records.relevance]
    return [
        _section(f"{what} along the stream", figures, dotted),
        Section("Drift", unseen, [figure for figure in (events, share) if figure]),
        _section(
            "Relevance of features",
            [along.relevance(records, *table, number) for number, table in enumerate(tables)],
            "How informative each feature has recently been about the target, from 0 to 1; forests"
            " split relevant features more often.",
        ),
        _section(
            "Contributions of features",
            [
                predictions.contributions(name, records.contributions[name], number)
                for number, name in enumerate(records.colored)
                if name in records.contributions
            ],
            f"How much each feature moved predictions{of_what}",
        ),
    ]


def _in_windows(records: Records) -> str:
    return f"in windows of {records.window:,} samples"


def _of_labels(records: Records) -> list[Section]:
    """Return the sections on the predictions of classifiers."""
    errors = []
    for name in records.colored:
        bins = records.reliability.get(name, pd.DataFrame())
        if len(bins):
            distance = abs(bins["confidence"] - bins["accuracy"])
            errors.append(f"{name} {np.average(distance, weights=bins['n_samples']):.3f}")
    names = [name for name in records.colored if len(records.labels.get(name, ()))]
    text = f"Expected calibration error: {', '.join(errors)}."
    return [
        _section("Calibration", [predictions.calibration(records)], text),
        _section(
            "Labels",
            [predictions.labels(records, name) for name in names],
            "Precision, recall and support of each label, and the confusion matrix: rows are"
            " labels, columns are predictions; the stronger the color, the larger the share.",
        ),
    ]


def _of_targets(records: Records) -> list[Section]:
    """Return the sections on the predictions of regressors."""
    coverage = along.curves(records, "coverage", f"Coverage {_in_windows(records)}", level=LEVEL)
    width = along.curves(records, "width", f"Width {_in_windows(records)}", is_clipped=True)
    latest = [
        predictions.intervals(name, records.latest[name], records.looks[name], number)
        for number, name in enumerate(records.colored)
        if name in records.latest
    ]
    return [
        _section(
            "Prediction intervals",
            [coverage, width],
            "Coverage: the share of targets within their interval. The thin line is at the level"
            f" of the intervals, {LEVEL:.0%}.",
        ),
        _section("Intervals of the last samples", latest, "Gray: the targets."),
        _section("Residuals", [predictions.residuals(records), predictions.targets(records)]),
    ]


def _columns(records: Records) -> Section:
    """Return the section on the columns of a file."""
    if records.columns is None:
        return Section("Columns")
    table = records.columns.astype(str).set_index("column").map(escaped)
    return Section("Columns", "How the columns of the file were read.", body=table_html(table))
