"""Comparison of models on one stream: a run of each, a table of results, curves, and a report."""

import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from tqdm import tqdm

from river_amf._version import __version__
from river_amf.evaluation.loading import read_source
from river_amf.evaluation.metrics import Metric, make_metrics, smaller_is_better
from river_amf.evaluation.models import FORESTS, TASKS, Model, by_name, task_of_models
from river_amf.evaluation.prequential import round_interval, schedule_of, warm_up_model
from river_amf.evaluation.recording import Run
from river_amf.evaluation.streams import Stream, Wait, read_pairs
from river_amf.evaluation.usage_errors import StreamFailure
from river_amf.outputs.formatting import describe
from river_amf.outputs.printing import printable
from river_amf.pages.records import moments_of
from river_amf.pages.report_page import Report
from river_amf.pages.tables import displayed
from river_amf.parameters import flag, integer
from river_amf.state.layout import Task

WINDOWS = 50  # by default, approximately
_LONGEST = 300  # characters of a model as code
_BY_MODEL = ("relevance", "contributions", "reliability", "labels", "confusion", "points", "latest")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Results of several models on one stream, from `compare`. It prints as its table.

    `table` is a DataFrame with one row per model: `n_samples` (the number of samples learned), the
    metrics, `us_per_sample` (microseconds to predict and learn a sample), `memory` (bytes) and
    `status`: `"ok"`, the number of samples at which Ctrl-C ended the run, or the error of the
    model, whose values are then NaN. `coverage` is the share of targets in their prediction
    interval (of level 0.9 for our forests), and `width` its mean width. In the log-loss, a label
    that a prediction does not name has probability 0, which counts as 1e-15, unless the model had
    learned no such label yet: such samples are left out. NaN where a model has no such value.

    `curves` has one row per model and window: `model`, `n_samples` at the end of the window, and
    all metrics over its samples, but for the window in which a model fails. `naive_baselines` are
    the models that look at no features, such as `"majority"`; `name` and `stream` are what they ran
    over, `runs` the `Run` of each, and `interrupt` is the Ctrl-C that ended them early, or None.

    >>> from river_amf import AMFClassifier, evaluation
    >>> comparison = evaluation.compare("Bananas", AMFClassifier(seed=1), limit=1000, window=500)
    >>> comparison.table.index.tolist()
    ['AMFClassifier', 'last-class', 'majority']
    >>> comparison.curves["n_samples"].tolist()
    [500, 1000, 500, 1000, 500, 1000]
    """

    name: str
    table: pd.DataFrame
    curves: pd.DataFrame
    naive_baselines: Sequence[str] = ()
    stream: Stream | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)
    interrupt: KeyboardInterrupt | None = None

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
    task: Task | None = None,
    delay: Wait = 0,
    batch: Wait = 0,
    moment: str | None = None,
    record: bool = False,
) -> Comparison:
    """Run models over one stream, test-then-train, and compare their results.

    Two naive baselines are always among them: the last and the most frequent label, or for numbers
    the last value and the mean. The results are those of `river.evaluate.progressive_val_score`,
    but for the log-loss (see `Comparison`), and without predictions made before the first label.
    Samples without a label are skipped. A model that raises an error ends with it in its row, and
    Ctrl-C ends the comparison with the results so far. A stream, model or metric that cannot be
    used raises EvaluationError.

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
        The targets of a table, of shape (n_samples,), or their column, as in `load_stream`.
    window, limit
        Number of samples per window of the curves, by default a round number for about fifty;
        maximum number of samples, labeled or not, which an endless stream needs.
    seed
        Seed of the models, by default that of each; names have none by default.
    progress, record
        Whether to show a progress bar for each model on stderr, and to record what `report` shows.
    task
        Whether to predict labels (`"classification"`) or numbers (`"regression"`); by default that
        of the models, or else of the stream, as in `load_stream`.
    delay
        Number of predictions after which the label of a sample comes, its own included, as in
        river. With 0 or 1 it comes at once, and with a duration (`"1w"`, `"1d"`, `"12h"`,
        `"90min"`, `"30s"` or a timedelta) before the first sample that is so much later.
    batch
        Number of samples that are predicted before they are learned, or a duration: `"1d"` for
        those of a calendar day. Labels that are delayed are learned when a later batch begins.
    moment
        Feature with the dates of durations, in order, without offsets; by default that of a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from river.datasets import TrumpApproval
    >>> from river_amf import AMFRegressor, date_features, evaluation
    >>> frame = pd.DataFrame([{"approval": y, **x} for x, y in TrumpApproval()])
    >>> comparison = evaluation.compare(frame, ["knn", "amf"], target="approval", seed=1)
    >>> comparison.table["MAE"].idxmax()
    'mean'
    >>> frame["day"] = pd.to_datetime(frame.pop("ordinal_date") - 719_163, unit="D")
    >>> model = date_features | AMFRegressor(seed=1)
    >>> late = evaluation.compare(frame, model, target="approval", delay="1w", moment="day")
    """
    integer(1, optional=True)("window", window)
    integer(1, optional=True)("limit", limit)
    flag("progress", progress)
    named = {} if models is None else by_name(models)
    stream = read_source(dataset, limit, task, task_of_models(named.values()), target)
    chosen = TASKS[stream.task]
    usual = () if named else FORESTS if record else chosen.usual
    named |= {name: name for name in (*usual, *chosen.naive_baselines) if name not in named}
    makers = {name: chosen.maker(name, model, stream, seed) for name, model in named.items()}
    columns = make_metrics(metrics or (), stream)
    window = window or round_interval(stream.n_samples, WINDOWS)
    schedule = schedule_of(stream, delay, batch, moment)
    runs = {name: Run(columns, schedule, window, records=record) for name in makers}
    naive = tuple(name for name in chosen.naive_baselines if named[name] == name)
    interrupt = None
    try:
        for name, make in makers.items():
            samples: Any = [({}, y) for y in stream.targets] if name in naive else stream.samples
            with suppress(Exception):  # which the run itself meets again
                warm_up_model(make(), read_pairs(samples))
            bar: Any = {"desc": printable(name), "disable": not progress, "leave": False}
            try:
                with tqdm(read_pairs(samples), total=stream.n_samples, **bar) as counted:
                    runs[name].go(make, counted)
            except StreamFailure:
                raise
            except Exception:  # the status has it
                continue
    except KeyboardInterrupt as error:  # the table reports it
        interrupt = error
    return comparison_of(stream, runs, naive, interrupt)


def comparison_of(
    stream: Stream,
    runs: Mapping[str, Run],
    naive_baselines: Sequence[str],
    interrupt: KeyboardInterrupt | None = None,
) -> Comparison:
    table = [
        {"model": name, "n_samples": run.n_samples, **run.figures, "status": run.status}
        for name, run in runs.items()
    ]
    types = {"n_samples": "int64", **dict.fromkeys(next(iter(runs.values())).metrics, "float64")}
    rows = [{"model": name, **row} for name, run in runs.items() for row in run.rows]
    columns = dict.fromkeys(("model", *types, *itertools.chain(*rows)))
    curves = pd.DataFrame(rows, columns=[*columns]).astype(types)
    by_model = pd.DataFrame(table).set_index("model")
    return Comparison(stream.name, by_model, curves, naive_baselines, stream, runs, interrupt)


def report(
    dataset: Any,
    models: Mapping[str, Model] | Iterable[Model] | Model | None = None,
    metrics: Iterable[Metric] | None = None,
    **options: Any,
) -> Report:
    """Run models over one stream, as `compare` does, and report what happened along it.

    It takes the parameters of `compare`; by default the models are both of our forests.

    >>> from river_amf import evaluation
    >>> report = evaluation.report("stagger_abrupt", ["adaptive"], limit=6000, seed=1)
    >>> curve = report.curve("adaptive", "fading_share")
    >>> bool(curve[5000] < 0.1 < curve[5400])
    True
    """
    comparison = compare(dataset, models, metrics, **options, record=True)
    return report_of(comparison, options)


def report_of(comparison: Comparison, options: Mapping[str, Any]) -> Report:
    stream, runs = comparison.stream, comparison.runs
    assert stream is not None
    tables = {name: run.tables() for name, run in runs.items() if run.n_samples}
    skipped = f", and {stream.n_unlabeled:,} without a target skipped" * (stream.n_unlabeled > 0)
    facts = {
        "stream": stream.name,
        "target": stream.target,
        "task": stream.task,
        "rows": f"{stream.n_samples:,}{skipped}",
        **{name: options.get(name) or None for name in ("delay", "batch", "moment")},
        **{f"model {name}": describe(runs[name].model)[:_LONGEST] for name in tables},
        "seed": options.get("seed"),
        "version": f"river_amf {__version__}",
        "date": f"{dt.datetime.now():%Y-%m-%d %H:%M}",
    }
    return Report(
        name=stream.name,
        task=stream.task,
        drifts=tuple(at for at in stream.drifts if at < stream.n_samples),
        table=comparison.table,
        naive_baselines=comparison.naive_baselines,
        facts={name: str(fact) for name, fact in facts.items() if fact is not None},
        window=next(iter(runs.values())).window,
        columns=stream.columns() if stream.target and stream.kinds else None,
        moments=moments_of(stream.kinds, stream.samples),
        curves=comparison.curves,
        errors=[*filter(smaller_is_better, map(str, comparison.table))],
        **{
            kind: {name: by_kind[kind] for name, by_kind in tables.items() if kind in by_kind}
            for kind in _BY_MODEL
        },
    )
