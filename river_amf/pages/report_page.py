"""A report: the tables of models along one stream, and its page, section by section."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from river_amf.pages import along, predictions
from river_amf.pages.charts import escaped
from river_amf.pages.document import Figure, Page, Section, facts_html, table_html
from river_amf.pages.records import Records, Tables, not_ahead
from river_amf.pages.tables import displayed
from river_amf.regressor import LEVEL

_UNRANKED = ("n_samples", "us_per_sample", "memory", "coverage", "width", "status")


class Report(Records):
    """A report of models along one stream, from `report`: a page, and its tables.

    `name`, `table`, `curves` and `naive_baselines` are as in `Comparison`; `task` is
    `"classification"` or `"regression"`, `window` the number of samples in the windows of `curves`,
    `facts` what the page begins with, as texts, `errors` the columns of `table` in which smaller
    values are better, `drifts` where the stream drifts by its definition, as numbers of samples,
    and `columns` is as `Stream.columns`, for a file. `curves` has more columns: all metrics over
    the samples so far, as `cumulative ...`; for regressors the quantiles of the residuals in the
    window, such as `residual 0.5`; `drifts`, how often ADWIN found that errors had grown;
    `restarts` of trees; and at the end of the window `n_nodes`, `memory` (bytes) and, of forests,
    `fading_share`. NaN where a model has no such value. The other tables are dicts by model:

    - `relevance`, of forests: `inspection.feature_relevance` at the end of each window.
    - `contributions`, of forests: `inspection.contributions` of the features to the last prediction
      of each window, by the number of the sample; in a pipeline, of what the last step sees. The
      name of their columns has their unit; those before the third label, which changes it, are left
      out.
    - `reliability`, of classifiers: the samples in twenty bins of the probability of the predicted
      label (`n_samples`, its mean as `confidence`, and `accuracy`).
    - `labels`: `precision`, `recall`, `F1` and `support` of the hundred most frequent labels.
    - `confusion`: how often labels, in the rows, were predicted as those in the columns, of the
      twenty most frequent and `(others)`.
    - `points`, `latest`, of regressors: 600 samples drawn at random and the last 200, with
      `sample`, its number from 1, `target`, `prediction`, `lower` and `upper`.

    >>> from river_amf import evaluation
    >>> report = evaluation.report("Bananas", ["amf"], limit=900)
    >>> report.table.index.tolist(), len(report.curves), report.window
    (['amf', 'last-class', 'majority'], 135, 20)
    """

    def __repr__(self) -> str:
        return displayed(self.table).to_string()

    @property
    def page(self) -> Page:
        """The page, before it is written."""
        nodes = along.curves(self, "n_nodes", "Nodes of all trees", y="nodes")
        sections = [
            _results(self),
            *_along(self),
            *(_of_targets if self.is_regression else _of_labels)(self),
            _section("Size", [nodes, along.curves(self, "memory", "Memory", y="bytes")]),
            _columns(self),
        ]
        key = {name: self.looks[name] for name in self.models}
        behind = not_ahead(self.table, self.naive_baselines)
        text = f"{behind} {verdict(self)} Each sample was predicted before it was learned.".strip()
        shown = [section for section in sections if section.text or section.figures]
        facts = {n: fact for n, fact in self.facts.items() if not n.startswith("model ")}
        return Page(self.name, shown, text, facts, key)

    def save(self, path: str | Path) -> None:
        """Write the page to an HTML file that needs no network; ImportError without plotly.

        >>> import pathlib, tempfile
        >>> from river_amf import evaluation
        >>> path = pathlib.Path(tempfile.mkdtemp(), "bananas.html")
        >>> evaluation.report("Bananas", ["amf"], limit=300).save(path)
        """
        self.page.save(path)


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


def _results(records: Records) -> Section:
    """Return the table of results, with the best scores in bold."""
    shown = displayed(records.table)
    table = shown.map(escaped).set_index(records.table.index.rename("model"))
    for title, (column, values) in zip(shown, records.table.items(), strict=True):
        if column not in _UNRANKED:
            top = values.min() if column in records.errors else values.max()
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


def _of_each(
    records: Records, tables: Tables, figure: Callable[..., Figure | None]
) -> list[Figure | None]:
    """Return the figures of models that have a color and a table."""
    names = (name for name in records.colored if name in tables)
    return [figure(records, name, tables[name], number) for number, name in enumerate(names)]


def _along(records: Records) -> list[Section]:
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
    unit = ", in the unit of the target."
    if not records.is_regression:
        unit = " of the most probable label: its probability, or with a learned vote its log P."
    return [
        _section(f"{what} along the stream", figures, dotted),
        Section("Drift", unseen, [figure for figure in (events, share) if figure]),
        _section(
            "Relevance of features",
            _of_each(records, records.relevance, along.relevance),
            "How informative each feature has recently been about the target, from 0 to 1; forests"
            " split relevant features more often.",
        ),
        _section(
            "Contributions of features",
            _of_each(records, records.contributions, predictions.contributions),
            f"How much each feature moved predictions{unit}",
        ),
    ]


def _in_windows(records: Records) -> str:
    return f"in windows of {records.window:,} samples"


def _of_labels(records: Records) -> list[Section]:
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
    coverage = along.curves(records, "coverage", f"Coverage {_in_windows(records)}", level=LEVEL)
    width = along.curves(records, "width", f"Width {_in_windows(records)}", is_clipped=True)
    latest = _of_each(records, records.latest, predictions.intervals)
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
    if records.columns is None:
        return Section("Columns")
    table = records.columns.astype(str).set_index("column").map(escaped)
    return Section("Columns", "How the columns of the file were read.", body=table_html(table))
