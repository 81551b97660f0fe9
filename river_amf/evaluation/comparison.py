"""Comparison of models on one stream: a table of their results, and curves along the stream.

All models see the same samples, and each predicts a sample before it learns it. If a model fails,
its row of the table says so, and the other models still run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from river_amf import tables
from river_amf.evaluation import figures
from river_amf.evaluation.metrics import Metric
from river_amf.evaluation.running import Model, Ran, run_models
from river_amf.evaluation.runs import INTERRUPTED, NOT_RUN, Run
from river_amf.evaluation.streams import Label
from river_amf.evaluation.tasks import Task


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Results of several models on one stream, from `compare`. It prints as its table.

    Parameters
    ----------
    name
        Name of the stream.
    table
        DataFrame with one row per model. Its columns are `n_samples` (the number of samples
        learned), the metrics of the task, any further ones under their class names, `us_per_sample`
        (microseconds to predict and learn a sample), `memory` (bytes) and `status`. Of classifiers
        the metrics are `accuracy`, `kappa` and `log-loss`; of regressors `MAE`, `RMSE`, `R2`, and
        `coverage` and `width`: the share of targets in their prediction interval (of level 0.9, if
        it is of one of our forests), and its mean width. The status is `"ok"` if the model
        processed the whole stream in time. After a time limit or Ctrl-C, the values are those over
        the samples learned until then, and the status says how many there were. If a model failed
        or learned no samples, its values are NaN and the status gives the reason. In the log-loss,
        a label that a prediction does not name has probability 0 (which counts as 1e-15, as in
        river), unless it is new to the stream: such samples are left out. It is NaN for classifiers
        without probabilities, as coverage and width are for regressors without intervals.
    curves
        DataFrame with one row per model and window, with the columns `model`, `n_samples` (the
        number of samples learned at the end of the window), and metrics over the samples of the
        window, NaN if there was nothing to score: `accuracy` and `log-loss`, or those that the
        table has for regressors. The last window of a run may be
        shorter than the others. The window in which a model fails is left out.
    roles
        What each model is, by name, for plots to tell which ones to show in color: `"amf"` or
        `"adaptive"` for our forests, also at the end of a pipeline, `"last"` for the last label or
        value, `"other"` for all else.

    Examples
    --------
    >>> from river_amf import AMFClassifier, OnlineDummyClassifier, evaluation
    >>> models = {"forest": AMFClassifier(seed=1), "floor": OnlineDummyClassifier()}
    >>> comparison = evaluation.compare("Bananas", models, limit=1000, window=500)
    >>> bool(comparison.table.accuracy["forest"] > comparison.table.accuracy["floor"])
    True
    >>> comparison.curves[["model", "n_samples"]]
        model  n_samples
    0  forest        500
    1  forest       1000
    2   floor        500
    3   floor       1000

    """

    name: str
    table: pd.DataFrame
    curves: pd.DataFrame
    roles: Mapping[str, str] = field(default_factory=dict)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the comparison before the last model had finished.

        Examples
        --------
        >>> from river_amf import AMFClassifier, evaluation
        >>> evaluation.compare("Bananas", [AMFClassifier(seed=1)], limit=100).interrupted
        False

        """
        status = self.table["status"]
        return bool((status.str.startswith(INTERRUPTED) | (status == NOT_RUN)).any())

    def __str__(self) -> str:
        return tables.align(self._cells())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return tables.to_html(self._cells(), self.name)

    def to_csv(self, path: str | Path) -> None:
        """Write the table to a CSV file, with all digits and empty fields for missing values.

        Parameters
        ----------
        path
            Path of the file, which is overwritten if it exists.

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
        """Return the table in Markdown, with its values as printed, and optionally write it.

        Parameters
        ----------
        path
            Path of the file to write, which is overwritten if it exists; `None` writes no file.

        Returns
        -------
        str
            The Markdown text, ending in a newline.

        Examples
        --------
        >>> from river_amf import OnlineDummyClassifier, evaluation
        >>> comparison = evaluation.compare("Bananas", [OnlineDummyClassifier()], limit=100)
        >>> print(comparison.to_markdown().splitlines()[1])
        | :-------------------- | ------: | -------: | ... | :----- |

        """
        text = tables.to_markdown(self._cells()) + "\n"
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def _cells(self) -> list[list[str]]:
        """Return the titles and the row of each model as displayed."""
        return figures.rows(self.table)


def compare(
    dataset: Any,
    models: Mapping[str, Model] | Iterable[Model] | None = None,
    metrics: Iterable[Metric] | None = None,
    *,
    positive: Label | None = None,
    window: int | None = None,
    time_limit: float | None = None,
    limit: int | None = None,
    seed: int | None = None,
    progress: bool = False,
    task: str | None = None,
) -> Comparison:
    """Run models over one stream, test-then-train, and compare their results.

    The results are those of `river.evaluate.progressive_val_score`: the predicted label comes from
    `predict_one`, and a sample for which a model has no prediction, such as the first one, is not
    scored. Only the log-loss differs from river's `CrossEntropy`, which takes a label that is not
    named for one that is certain (see `Comparison`); it may be added to `metrics`. Any exception
    that a model raises, even `SystemExit`, ends its run and is reported in its row. Ctrl-C ends the
    comparison and returns the results so far.

    The time limit is checked between samples and after the last one. Everything runs in this
    process, and no call is ever cut short, however long it takes.

    Parameters
    ----------
    dataset
        A `Stream`, or the name of one or the path of a file (as in `load_stream`); a river dataset
        or any other iterable of pairs (features, label), including a generator, which is read once
        and kept in memory; or a dataframe or a tuple `(X, y)` (as in `progressive_val_score`).
    models
        Classifiers or regressors, functions without arguments (such as classes) that return one, or
        names of `baselines.classifiers` or `baselines.regressors`, either in a dict by name or in a
        list, where they are named after their classes. Models are cloned and stay untrained
        themselves. By default all of the baselines for the task.
    metrics
        Additional river metrics: instances (which are cloned, and may be `Rolling`), classes or
        names.
    positive
        The label that counts as True for metrics of binary labels, such as F1 and ROCAUC; all other
        labels count as False. It may be given as text. By default the labels must be True and
        False, or 1 and 0. Metrics with a `pos_val` of their own keep it.
    window
        Number of samples per window of the curves. By default a round number that gives about
        thirty windows.
    time_limit
        Maximum wall-clock time per model in seconds, from its first sample to its last. Creating
        the model does not count, nor does the warm-up before the run, in which a copy learns the
        first hundred samples, or as many as it can within the limit, to trigger compilation. The
        kernels of this package are compiled before that. `None` means no limit.
    limit
        Number of samples to use; by default all of them. Required for an endless stream.
    seed
        Seed of the models that are not passed in but go by name, as the default ones do.
    progress
        Whether to show a progress bar on stderr.
    task
        Whether to predict labels (`"classification"`) or numbers (`"regression"`). By default the
        models tell, or else the stream, as in `load_stream`.

    Returns
    -------
    Comparison
        The table, with one row per model in the given order, and the curves.

    Raises
    ------
    TypeError
        If a model is neither a river classifier or regressor nor callable nor a name, if it is for
        another task than the stream or another model, or if a metric is for another task or rolls
        over time.
    ValueError
        If there are no models, if two models have the same name, or if a number is out of range.
    EvaluationError
        If there is no such stream or model, if the stream is empty or fails while it is read, if a
        sample is not a pair, if the labels do not suit a metric, or if none of them is `positive`.

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
    >>> comparison.curves.query("model == 'forest'")["n_samples"].tolist()[:3]
    [50, 100, 150]

    Baselines go by name, and any label can be the positive one:

    >>> samples = [({"length": n % 7}, "long" if n % 7 > 3 else "short") for n in range(200)]
    >>> comparison = evaluation.compare(samples, ["knn", "amf"], ["F1"], positive="long", seed=1)
    >>> comparison.table["F1"].round(1)
    model
    knn    1.0
    amf    1.0
    Name: F1, dtype: float64

    Numbers are predicted by regressors:

    >>> from river.datasets import TrumpApproval
    >>> comparison = evaluation.compare(TrumpApproval(), ["mean", "last-value", "knn"], seed=1)
    >>> comparison.table["MAE"].idxmin()
    'last-value'

    A model that fails gets a row that says why:

    >>> def broken():
    ...     raise ValueError("no such tree")
    >>> comparison = evaluation.compare("Phishing", [broken], limit=100)
    >>> comparison.table["status"]["broken"]
    'cannot be created: ValueError: no such tree'

    """
    ran = run_models(
        dataset,
        models,
        metrics,
        positive=positive,
        window=window,
        time_limit=time_limit,
        limit=limit,
        seed=seed,
        progress=progress,
        task=task,
    )
    return comparison_of(ran)


def comparison_of(ran: Ran) -> Comparison:
    """Return the results of models that have run."""
    curves = _curves(ran.runs, ran.source.task)
    return Comparison(ran.source.name, table_of(ran.runs), curves, roles_of(ran.runs))


def roles_of(runs: Mapping[str, Run]) -> dict[str, str]:
    """Return what each model is, by name."""
    return {name: run.role for name, run in runs.items()}


def table_of(runs: Mapping[str, Run]) -> pd.DataFrame:
    """Return the results of each model over the whole stream."""
    rows = [
        {"n_samples": run.n_samples, **run.figures, "status": run.status} for run in runs.values()
    ]
    return pd.DataFrame(rows, index=pd.Index(runs, name="model"))


def _curves(runs: Mapping[str, Run], task: Task) -> pd.DataFrame:
    rows = [(name, *row) for name, run in runs.items() for row in run.rows]
    types = {"n_samples": "int64", **dict.fromkeys(task.windowed, "float64")}
    return pd.DataFrame(rows, columns=["model", *types]).astype(types)
