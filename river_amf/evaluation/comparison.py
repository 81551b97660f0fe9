"""Comparison of models on one stream: a table of their results, and curves along the stream."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from river.utils.pretty import humanize_bytes

from river_amf.evaluation.metrics import Metric
from river_amf.evaluation.runs import INTERRUPTED, NOT_RUN, OK, Model, Ran, Run, run_models
from river_amf.evaluation.streams import Label
from river_amf.evaluation.tasks import Task
from river_amf.explain import text_tables

_IN_UNITS = ("MAE", "RMSE", "MSE", "width")  # of the target, and of any size
_COSTS = ("us_per_sample", "memory")
_STD = " std"  # after the name of a metric
_UNKNOWN = "-"
_TITLES = {"n_samples": "samples", "us_per_sample": "us/sample"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Results of several models on one stream, from `compare`. It prints as its table.

    Parameters
    ----------
    name
        Name of the stream.
    table
        DataFrame with one row per model: `n_samples` (the number of samples learned), the metrics,
        any further ones under their class names, `us_per_sample` (microseconds to predict and learn
        a sample), `memory` (bytes) and `status`. The metrics are `accuracy`, `kappa` and
        `log-loss`; of regressors `MAE`, `RMSE`, `R2`, and `coverage` and `width`: the share of
        targets in their prediction interval (of level 0.9 for our forests), and its mean width.
        The status is `"ok"` if the model processed the whole stream in time. After a time limit or
        Ctrl-C, the values are those until then, and the status says after how many samples. If a
        model failed or learned nothing, its values are NaN and the status gives the reason. In the
        log-loss, a label that a prediction does not name has probability 0 (which counts as 1e-15),
        unless it is new to the stream: such samples are left out. Metrics of probabilities or
        intervals are NaN for models without. With `seeds`, values are means over them, and each
        metric is followed by its standard deviation, such as `accuracy std`, which is 0 for models
        that do not depend on a seed.
    curves
        DataFrame with one row per model and window: `model`, `n_samples` at the end of the window,
        and metrics over its samples, NaN if there was nothing to score. The last window of a run
        may be shorter; the one in which a model fails is left out.
    floors
        Names of the models that look at no features, such as `"majority"`.

    Examples
    --------
    >>> from river_amf import AMFClassifier, OnlineDummyClassifier, evaluation
    >>> models = {"forest": AMFClassifier(seed=1), "floor": OnlineDummyClassifier()}
    >>> comparison = evaluation.compare("Bananas", models, limit=1000, window=500)
    >>> bool(comparison.table.accuracy["forest"] > comparison.table.accuracy["floor"])
    True
    >>> comparison.curves["n_samples"].tolist(), comparison.interrupted
    ([500, 1000, 500, 1000], False)
    """

    name: str
    table: pd.DataFrame
    curves: pd.DataFrame
    floors: Sequence[str] = ()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the comparison before the last model had finished."""
        status = self.table["status"]
        return bool((status.str.startswith(INTERRUPTED) | (status == NOT_RUN)).any())

    def __repr__(self) -> str:
        return text_tables.align(self._cells())

    def _repr_html_(self) -> str:
        return text_tables.to_html(self._cells(), self.name)

    def to_csv(self, path: str | Path) -> None:
        """Write the table to a CSV file, with all digits and empty fields for missing values.

        An existing file is overwritten.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from river_amf import OnlineDummyClassifier, evaluation
        >>> comparison = evaluation.compare("Bananas", [OnlineDummyClassifier()], limit=100)
        >>> path = pathlib.Path(tempfile.mkdtemp(), "table.csv")
        >>> comparison.to_csv(path)
        >>> path.read_text().splitlines()[0]
        'model,n_samples,accuracy,kappa,log-loss,us_per_sample,memory,status'
        """
        self.table.astype({"memory": "Int64"}).to_csv(path, lineterminator="\n", encoding="utf-8")

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return the table in Markdown, with its values as printed, and write it if given a path.

        Examples
        --------
        >>> from river_amf import OnlineDummyClassifier, evaluation
        >>> comparison = evaluation.compare("Bananas", [OnlineDummyClassifier()], limit=100)
        >>> print(comparison.to_markdown().splitlines()[1])
        | :-------------------- | ------: | -------: | ... | :----- |
        """
        text = text_tables.to_markdown(self._cells()) + "\n"
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def _cells(self) -> list[list[str]]:
        return displayed_rows(self.table)


def compare(
    dataset: Any,
    models: Mapping[str, Model] | Iterable[Model] | str | None = None,
    metrics: Iterable[Metric] | None = None,
    *,
    positive: Label | None = None,
    window: int | None = None,
    time_limit: float | None = None,
    limit: int | None = None,
    seed: int | None = None,
    progress: bool = False,
    task: str | None = None,
    delay: int = 0,
    seeds: int | None = None,
) -> Comparison:
    """Run models over one stream, test-then-train, and compare their results.

    The results are those of `river.evaluate.progressive_val_score`, except that river's
    `CrossEntropy` takes a label that is not named for one that is certain (see `Comparison`). Any
    exception that a model raises, even `SystemExit`, ends its run and is reported in its row.
    Ctrl-C ends the comparison and returns the results so far. What is no model or metric for the
    task raises TypeError, a number out of range or a name given twice ValueError, and a stream,
    label or name that cannot be used EvaluationError.

    Parameters
    ----------
    dataset
        A `Stream`, or the name of one or the path of a file (as in `load_stream`); a river dataset
        or any other iterable of pairs (features, label), kept in memory; or a dataframe or a tuple
        `(X, y)` (as in `progressive_val_score`).
    models
        Classifiers or regressors (which are cloned), functions without arguments that return one,
        or names of `baselines.classifiers` or `baselines.regressors`, in a dict by name or a list.
        By default the usual ones for the task, among them both of ours; `"all"` runs all of them.
    metrics
        Additional river metrics: instances (which are cloned, and may be `Rolling`), classes or
        names.
    positive
        The label that counts as True for metrics of binary labels, such as F1 and ROCAUC, or its
        text. By default the labels must be True and False, or 1 and 0. Metrics with a `pos_val` of
        their own keep it.
    window
        Number of samples per window of the curves. By default a round number that gives about
        thirty windows.
    time_limit
        Maximum wall-clock time per model in seconds, from its first sample to its last, checked
        between samples. The warm-up before, in which a copy learns up to a hundred samples to
        trigger compilation, does not count, but has the same limit. `None` means no limit.
    limit
        Number of samples to use; by default all of them. Required for an endless stream.
    seed
        Seed of the models that are not passed in but go by name, as the default ones do.
    progress
        Whether to show a progress bar on stderr.
    task
        Whether to predict labels (`"classification"`) or numbers (`"regression"`). By default the
        models tell, or else the stream, as in `load_stream`.
    delay
        Number of predictions from that of a sample, with it, until its label comes, as in river:
        with 0 or 1 it comes at once.
    seeds
        Number of seeds, from 2, with which each model is run that has one: `seed` (or 0) and those
        that follow.

    Examples
    --------
    >>> from river import naive_bayes, tree
    >>> from river_amf import AMFClassifier, evaluation
    >>> comparison = evaluation.compare(
    ...     "Phishing",
    ...     {
    ...         "naive Bayes": naive_bayes.GaussianNB(),
    ...         "tree": tree.HoeffdingTreeClassifier,
    ...         "forest": AMFClassifier(seed=1),
    ...     },
    ... )
    >>> comparison.table["accuracy"].round(1)
    model
    naive Bayes    0.9
    tree           0.9
    forest         0.9
    Name: accuracy, dtype: float64
    >>> comparison.table["log-loss"].idxmin()
    'forest'

    Baselines go by name, and any label can be the positive one:

    >>> samples = [({"length": n % 7}, "long" if n % 7 > 3 else "short") for n in range(200)]
    >>> comparison = evaluation.compare(samples, ["knn", "amf"], ["F1"], positive="long", seed=1)
    >>> comparison.table["F1"].round(1)
    model
    knn    1.0
    amf    1.0
    Name: F1, dtype: float64

    Numbers are predicted by regressors:

    >>> comparison = evaluation.compare("TrumpApproval", ["mean", "last-value", "knn"], seed=1)
    >>> comparison.table["MAE"].idxmin()
    'last-value'
    """
    options = (positive, window, time_limit, limit, seed, progress, task)
    return comparison_of(run_models(dataset, models, metrics, *options, delay=delay, seeds=seeds))


def comparison_of(ran: Ran) -> Comparison:
    """Return the results of models that have run."""
    table, curves = table_of(ran.runs), _curves(ran.runs, ran.source.task)
    if ran.repeats:
        table, curves = _means(ran.repeats), _mean_curves(ran.repeats, ran.source.task)
    return Comparison(ran.source.name, table, curves, ran.floors)


def table_of(runs: Mapping[str, Run]) -> pd.DataFrame:
    """Return the results of each model over the whole stream."""
    rows = [
        {"n_samples": run.n_samples, **run.figures, "status": run.status} for run in runs.values()
    ]
    return pd.DataFrame(rows, index=pd.Index(runs, name="model"))


def _means(repeats: Mapping[str, list[Run]]) -> pd.DataFrame:
    """Return the mean results of each model, and the standard deviations of its metrics."""
    rows = []
    for runs in repeats.values():
        its = table_of({str(k): run for k, run in enumerate(runs)})
        odd = its["status"][its["status"] != OK]
        row: dict[str, Any] = {"n_samples": round(its["n_samples"].mean())}
        for column in its.columns[1:-1]:
            row[column] = its[column].mean()
            if column not in _COSTS:
                row[column + _STD] = its[column].std(ddof=int(len(its) > 1))
        rows.append({**row, "status": OK if odd.empty else odd.iloc[0]})
    return pd.DataFrame(rows, index=pd.Index(repeats, name="model"))


def _mean_curves(repeats: Mapping[str, list[Run]], task: Task) -> pd.DataFrame:
    """Return the curves, each a mean over the seeds."""
    curves = [
        pd.concat([_curves({name: run}, task) for run in runs])
        .groupby(["model", "n_samples"], as_index=False)
        .mean()
        for name, runs in repeats.items()
    ]
    return pd.concat(curves, ignore_index=True)


def _curves(runs: Mapping[str, Run], task: Task) -> pd.DataFrame:
    rows = [(name, *row) for name, run in runs.items() for row in run.rows]
    types = {"n_samples": "int64", **dict.fromkeys(task.windowed, "float64")}
    return pd.DataFrame(rows, columns=["model", *types]).astype(types)


def column_titles(columns: Iterable[str]) -> list[str]:
    """Return the display titles of columns."""
    return [_TITLES.get(column, column) for column in columns]


def cell_text(column: str, value: float) -> str:
    """Return a value as it is displayed in its column."""
    if column == "n_samples":
        return str(round(value))
    if column == "memory":
        return str(humanize_bytes(round(value)))
    if column.removesuffix(_STD) in _IN_UNITS:
        return f"{value:.5g}"
    return f"{value:.1f}" if column == "us_per_sample" else f"{value:.4f}"


def displayed_rows(table: pd.DataFrame) -> list[list[str]]:
    """Return the titles and the row of each model of a comparison as displayed."""
    lines = table.itertuples(name=None)
    cells = ([str(model), *map(_cell_or_status, table.columns, row)] for model, *row in lines)
    return [["model", *column_titles(table.columns)], *cells]


def _cell_or_status(column: Any, value: Any) -> str:
    """Return a value or the status as displayed."""
    if column == "status":
        return str(value)
    return _UNKNOWN if math.isnan(value) else cell_text(column, value)
