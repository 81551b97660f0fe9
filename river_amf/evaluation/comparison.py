"""Comparison of models on one stream: a table of their results, and curves along the stream."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from river.utils.pretty import humanize_bytes

from river_amf.evaluation.metrics import Metric
from river_amf.evaluation.runs import Model, Ran, run_models
from river_amf.inputs.kinds import printable

# of the target's unit and any size
_FORMATS = dict.fromkeys(("MAE", "RMSE", "MSE", "width"), ".5g")
_FORMATS |= {"n_samples": ".0f", "us_per_sample": ".1f"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Results of several models on one stream, from `compare`. It prints as its table.

    Parameters
    ----------
    name
        Name of the stream.
    table
        DataFrame with one row per model: `n_samples` (the number of samples learned), the metrics,
        `us_per_sample` (microseconds to predict and learn a sample), `memory` (bytes) and `status`,
        which is `"ok"`, or says after how many samples Ctrl-C ended the run, or why the model
        failed, in which case its values are NaN. `coverage` is the share of targets in their
        prediction interval (of level 0.9 for our forests), and `width` its mean width; both are NaN
        for models without, as is the log-loss without probabilities. There, a label that a
        prediction does not name has probability 0 (which counts as 1e-15), unless it is new to the
        stream: such samples are left out.
    curves
        DataFrame with one row per model and window: `model`, `n_samples` at the end of the window,
        and all metrics over its samples, NaN if there was nothing to score. The last window of a
        run may be shorter; the one in which a model fails is left out.
    floors
        Names of the models that look at no features, such as `"majority"`.

    Examples
    --------
    >>> from river_amf import AMFClassifier, evaluation
    >>> comparison = evaluation.compare("Bananas", AMFClassifier(seed=1), limit=1000, window=500)
    >>> comparison.table.index.tolist()
    ['AMFClassifier', 'majority']
    >>> comparison.curves["n_samples"].tolist()
    [500, 1000, 500, 1000]
    """

    name: str
    table: pd.DataFrame
    curves: pd.DataFrame
    floors: Sequence[str] = ()

    def __repr__(self) -> str:
        return displayed(self.table).to_string()

    def _repr_html_(self) -> str:
        return displayed(self.table).to_html()


def compare(
    dataset: Any,
    models: Mapping[str, Model] | Iterable[Model] | Model | None = None,
    metrics: Iterable[Metric] | None = None,
    *,
    target: Any = None,
    window: int | None = None,
    limit: int | None = None,
    seed: int | None = None,
    progress: bool = False,
    task: str | None = None,
    delay: int = 0,
) -> Comparison:
    """Run models over one stream, test-then-train, and compare their results.

    The most frequent label, or for numbers the mean and the last value, are always beside them. The
    results are those of `river.evaluate.progressive_val_score`, except that river's `CrossEntropy`
    takes a label that is not named for one that is certain (see `Comparison`). An exception that a
    model raises ends its run and is reported in its row. Ctrl-C ends the comparison and returns the
    results so far. What is no model or metric raises TypeError, a number out of range or a name
    given twice ValueError, and a stream or name that cannot be used EvaluationError.

    Parameters
    ----------
    dataset
        A `Stream`, or the name of one or the path of a file (as in `load_stream`); a river dataset
        or any other iterable of pairs (features, label), kept in memory; or a dataframe, array or
        sparse matrix of shape (n_samples, n_features), alone or in a tuple `(X, y)`.
    models
        Classifiers or regressors (which are cloned), functions without arguments that return one,
        or names of `baselines.classifiers` or `baselines.regressors`: one, a dict by name or a
        list. By default the usual ones for the task, among them both of ours.
    metrics
        Additional river metrics: instances (which are cloned), classes or names.
    target
        The targets of a table, of shape (n_samples,), or the column that holds them. By default it
        is the column `target` if there is one, and otherwise the last one.
    window
        Number of samples per window of the curves. By default a round number that gives about
        thirty windows.
    limit
        Number of samples to use; by default all of them. Required for an endless stream.
    seed
        Seed of the models, by default that of each; names have none by default.
    progress
        Whether to show a progress bar for each model on stderr.
    task
        Whether to predict labels (`"classification"`) or numbers (`"regression"`). By default the
        models decide, or else the stream, as in `load_stream`.
    delay
        Number of predictions from that of a sample, with it, until its label comes, as in river:
        with 0 or 1 it comes at once. It must be less than the number of samples.

    Examples
    --------
    >>> from river import naive_bayes
    >>> from river_amf import AMFClassifier, evaluation
    >>> models = {"naive Bayes": naive_bayes.GaussianNB, "forest": AMFClassifier(seed=1)}
    >>> comparison = evaluation.compare("Phishing", models)
    >>> comparison.table["accuracy"].round(1).tolist()
    [0.9, 0.9, 0.6]
    >>> comparison.table["log-loss"].idxmin()
    'forest'

    Numbers are predicted by regressors, and a dataframe may have its target anywhere:

    >>> import pandas as pd
    >>> from river.datasets import TrumpApproval
    >>> frame = pd.DataFrame([{"approval": y, **x} for x, y in TrumpApproval()])
    >>> comparison = evaluation.compare(frame, ["knn", "amf"], target="approval", seed=1)
    >>> comparison.table["MAE"].idxmax()
    'mean'
    """
    options: Any = {"window": window, "limit": limit, "seed": seed, "progress": progress}
    options |= {"task": task, "delay": delay}
    return comparison_of(run_models(dataset, models, metrics, target=target, **options))


def comparison_of(ran: Ran) -> Comparison:
    """Return the results of models that have run."""
    metrics = next(iter(ran.runs.values())).metrics
    types = {"n_samples": "int64", **dict.fromkeys(metrics, "float64")}
    rows = [{"model": name, **row} for name, run in ran.runs.items() for row in run.rows]
    curves = pd.DataFrame(rows, columns=["model", *types]).astype(types)
    return Comparison(ran.source.stream.name, table_of(ran), curves, ran.floors)


def table_of(ran: Ran) -> pd.DataFrame:
    """Return the results of each model over the whole stream."""
    rows = [
        {"model": name, "n_samples": run.n_samples, **run.figures, "status": run.status}
        for name, run in ran.runs.items()
    ]
    return pd.DataFrame(rows).set_index("model")


def cell_text(column: str, value: float) -> str:
    """Return a value as it is displayed in its column, "-" if it is NaN."""
    if value != value:
        return "-"
    if column == "memory":
        return str(humanize_bytes(round(value)))
    return format(value, _FORMATS.get(column, ".4f"))


def title_of(column: str) -> str:
    """Return the title of a column."""
    return {"n_samples": "samples", "us_per_sample": "us/sample"}.get(column, column)


def displayed(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of results as texts under titles, for a terminal or a page."""
    texts = {
        title_of(name): table[name].map(
            printable if name == "status" else functools.partial(cell_text, name)
        )
        for name in map(str, table)
    }
    return pd.DataFrame(texts).rename(index=lambda name: printable(str(name))).rename_axis(None)
