"""Models side by side on one stream: a table of their figures, and their curves along it.

Each model predicts every sample before it learns it, and they all see the same samples. What goes
wrong with one of them is a row of the table, and the others run on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from river import base, compose, datasets
from river.metrics import Accuracy, CohenKappa, CrossEntropy

from river_amf import baselines, tables
from river_amf.encoding import shown
from river_amf.evaluation import figures
from river_amf.evaluation.errors import EvaluationError
from river_amf.evaluation.metrics import Kinds, Metric, check_labels, name_metrics
from river_amf.evaluation.prequential import even_checkpoints, progress_bar
from river_amf.evaluation.progressive import iter_samples
from river_amf.evaluation.runs import INTERRUPTED, NOT_RUN, Maker, Run
from river_amf.evaluation.streams import Sample, Stream, load_stream, read_pairs
from river_amf.evaluation.tracks import DriftStream
from river_amf.forest import AMFClassifier
from river_amf.parameters import flag, integer, positive

_METRICS: Kinds = {"accuracy": Accuracy, "kappa": CohenKappa, "log-loss": CrossEntropy}
_WINDOWS = 30  # by default, about
_UNKNOWN = "-"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """How models fared on one stream (`compare`); printed, it is the table.

    Parameters
    ----------
    name
        That of the stream.
    table
        A row per model, with the columns `n_samples` (learnt), `accuracy`, `kappa`, `log-loss`,
        those of further metrics by their class names, `us_per_sample` (microseconds to predict and
        to learn), `memory` (bytes) and `status`. The status is `"ok"` if the model has seen the
        whole stream in time. After a time limit or Ctrl-C the figures are those over the samples
        learnt, and the status says how many these were; of a model that failed, or had learnt
        none, they are NaN, and the status says why. The log-loss of a classifier without
        probabilities is NaN.
    curves
        A row per model and window of samples, with the columns `model`, `n_samples` (at the end of
        the window), and the `accuracy` and the `log-loss` over the samples of the window; NaN where
        there was nothing to score. The last window of a run may be shorter; that in which a model
        fails is left out.

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

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the comparison before the last model was done.

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
        """Write the table to a CSV file, with all digits; what is not known is empty.

        Parameters
        ----------
        path
            The file.

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
        """Return the table in Markdown, as it is printed, and write it if there is a path.

        Parameters
        ----------
        path
            The file; by default none is written.

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
        """Return the titles, and the row of each model, as they are shown."""
        rows = self.table.itertuples(name=None)
        cells = ([str(model), *map(_cell, self.table.columns, row)] for model, *row in rows)
        return [["model", *figures.titles(self.table.columns)], *cells]


def _cell(column: Any, value: Any) -> str:
    """Return a figure, or the status, as it is shown."""
    if column == "status":
        return str(value)
    return _UNKNOWN if math.isnan(value) else figures.cell(column, value)


def compare(
    dataset: Any,
    models: Mapping[str, base.Classifier | Maker] | Iterable[base.Classifier | Maker] | None = None,
    metrics: Iterable[Metric] | None = None,
    *,
    window: int | None = None,
    time_limit: float | None = None,
    limit: int | None = None,
    seed: int | None = None,
    progress: bool = False,
) -> Comparison:
    """Run models over one stream, test-then-train, and put their figures side by side.

    The figures are those of `river.evaluate.progressive_val_score`: the label is that of
    `predict_one`, and a sample of which a model knows nothing, such as the first one, is not
    scored. Whatever a model raises ends its run, and its row says so, `SystemExit` too. Ctrl-C ends
    the comparison, and what there is until then is returned.

    The time limit is looked at between samples, and after the last one. All runs in this process,
    and a single call is never cut off: it is waited for, however long it takes.

    Parameters
    ----------
    dataset
        A `Stream` or the name of one (as in `load_stream`); a data set of river or any other pairs
        of features and label, a generator too, which are read once and kept; or a dataframe or
        `(X, y)` (as in `progressive_val_score`).
    models
        Models, or functions without arguments (such as classes) that make them, by name, or in a
        list: these are named by their classes. A model is cloned and does not learn itself. By
        default all of `baselines.classifiers`.
    metrics
        Further metrics of river: instances (cloned), a `Rolling` one too, classes or names.
    window
        Number of samples of a window of the curves; by default a round number that gives about
        thirty windows.
    time_limit
        Seconds that a model may take, on the clock: whatever passes between its first sample and
        its last one. The time to make the model is not counted, nor that before, in which a copy
        learns the first hundred samples, or those that it can within the limit, to compile what it
        does. Our kernels are compiled before that.
    limit
        Number of samples to run over; by default all. An endless stream must have one.
    seed
        Of the default models. Models that are given have seeds of their own.
    progress
        Whether to show a progress bar on stderr.

    Returns
    -------
    The table, a row per model in the order given, and the curves.

    Raises
    ------
    TypeError
        If a model is neither a classifier nor callable, or a metric none of classification, or one
        that rolls over time.
    ValueError
        If there are no models, or two of one name, or a number is out of range.
    EvaluationError
        If there is no such stream, it has no samples, one of them is no pair, its labels do not
        suit a metric, or it fails while it is read.

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

    A model that fails is a row:

    >>> def broken():
    ...     raise ValueError("no such tree")
    >>> comparison = evaluation.compare("Phishing", [broken], limit=100)
    >>> comparison.table["status"]["broken"]
    'cannot be made: ValueError: no such tree'

    """
    integer(1, optional=True)("window", window)
    integer(1, optional=True)("limit", limit)
    positive(optional=True)("time_limit", time_limit)
    flag("progress", progress)
    makers = _makers(baselines.classifiers(seed) if models is None else models)
    named = name_metrics(_METRICS, () if metrics is None else metrics)
    source = _read(dataset, limit)
    check_labels(source.samples, named.values(), source.name)
    window = window or even_checkpoints(source.n_samples, _WINDOWS).step
    runs = {name: Run(named, int(window)) for name in makers}
    if time_limit is not None:
        _compile_kernels()
    with (
        progress_bar(len(runs) * source.n_samples, is_shown=progress) as bar,
        suppress(KeyboardInterrupt),  # the table says so
    ):
        for done, (name, run) in enumerate(runs.items(), start=1):
            bar.set_description(name)
            run.go(makers[name], source.samples, time_limit, bar)
            bar.update(done * source.n_samples - bar.n)  # what the model has left out
    return Comparison(source.name, _table(runs), _curves(runs))


def _compile_kernels() -> None:
    """Have our forests compiled, which takes long but once: a short limit would count it."""
    forest = AMFClassifier(n_estimators=1)
    for label in (False, True):
        forest.learn_one({"a": 0.0}, label)
        forest.predict_proba_one({"a": 0.0})


class _Source(NamedTuple):
    """The samples, the same each time, and what to call them."""

    name: str
    n_samples: int
    samples: Iterable[Sample]


def _read(dataset: Any, limit: int | None) -> _Source:
    """Return the samples of whatever is taken for a dataset, or raise."""
    if isinstance(dataset, str | Path):
        dataset = load_stream(str(dataset), limit=limit)
    is_named = isinstance(dataset, Stream | DriftStream)
    name = dataset.name if is_named else type(dataset).__name__
    if isinstance(dataset, Stream) and (limit is None or limit >= dataset.n_samples):
        source = _Source(name, dataset.n_samples, dataset)
    else:
        samples = _keep(dataset, limit)
        source = _Source(name, len(samples), samples)
    if not source.n_samples:
        raise EvaluationError(f"{name} has no samples; note that a generator has them once")
    return source


def _keep(dataset: Any, limit: int | None) -> list[Sample]:
    """Read the samples: generators give them once, and river's without a seed others each time."""
    is_endless = isinstance(dataset, datasets.base.SyntheticDataset) and dataset.n_samples is None
    if is_endless and limit is None:
        raise EvaluationError(f"{type(dataset).__name__} has no end; give a limit")
    samples = iter_samples(dataset)
    if not isinstance(samples, Iterable):
        raise EvaluationError(
            "dataset must be a stream or its name, pairs of features and label, a dataframe or"
            f" (X, y), got {shown(dataset)}"
        )
    is_file = isinstance(dataset, datasets.base.FileDataset)
    if is_file and not isinstance(dataset, datasets.base.RemoteDataset):
        return list(read_pairs(samples))[:limit]  # whole, as river closes the file at its end only
    return list(itertools.islice(read_pairs(samples), limit))


def _makers(models: Any) -> dict[str, Maker]:
    """Return what makes each model, by name."""
    if isinstance(models, Mapping):
        _check_names(list(models))
        named = {str(name): model for name, model in models.items()}
    elif isinstance(models, Iterable) and not isinstance(models, str | base.Base):
        named = {}
        for model in models:
            named[_new_name(_name(model), named)] = model
    else:
        raise TypeError(f"models must be a dict or a list of models, or None, got {shown(models)}")
    if not named:
        raise ValueError("models is empty; None stands for all baselines")
    makers: dict[str, Maker] = {}
    for name, model in named.items():
        is_model = isinstance(model, base.Classifier)
        if not is_model and not callable(model):
            raise TypeError(
                f"model {name!r} must be a classifier of river, or a function that makes one,"
                f" got {shown(model)}"
            )
        makers[name] = model.clone if is_model else model
    return makers


def _check_names(names: list[Any]) -> None:
    """Raise if two names are one in the table, where they are text."""
    for place, name in enumerate(names):
        for other in names[:place]:
            if str(other) == str(name):
                raise ValueError(
                    f"models {other!r} and {name!r} would both be {str(name)!r} in the table;"
                    " each must have a name of its own"
                )


def _name(model: Any) -> str:
    """Return the name of a model in a list: of the class, the function, or a pipeline's steps."""
    if isinstance(model, compose.Pipeline):
        return str(model)
    return str(getattr(model, "__name__", type(model).__name__))


def _new_name(name: str, known: Container[str]) -> str:
    """Return the name, numbered from 2 if it is known.

    >>> _new_name("tree", {"tree", "tree 2"})
    'tree 3'
    """
    numbered = (f"{name} {number}" for number in itertools.count(2))
    return next(new for new in itertools.chain([name], numbered) if new not in known)


def _table(runs: Mapping[str, Run]) -> pd.DataFrame:
    rows = [
        {"n_samples": run.n_samples, **run.figures, "status": run.status} for run in runs.values()
    ]
    return pd.DataFrame(rows, index=pd.Index(runs, name="model"))


def _curves(runs: Mapping[str, Run]) -> pd.DataFrame:
    rows = [(name, *row) for name, run in runs.items() for row in run.rows]
    types = {"n_samples": "int64", "accuracy": "float64", "log-loss": "float64"}
    return pd.DataFrame(rows, columns=["model", *types]).astype(types)
