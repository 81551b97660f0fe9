"""A report of models along one stream."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from river_amf._version import __version__
from river_amf.evaluation.comparison import Comparison, compare
from river_amf.evaluation.metrics import Metric, smaller_is_better
from river_amf.evaluation.models import Model
from river_amf.explain.formatting import describe
from river_amf.pages.records import moments_of
from river_amf.pages.report_page import Report

_LONGEST = 300  # characters of a model as code
_BY_MODEL = ("relevance", "contributions", "reliability", "labels", "confusion", "points", "latest")


def report(
    dataset: Any,
    models: Mapping[str, Model] | Iterable[Model] | Model | None = None,
    metrics: Iterable[Metric] | None = None,
    **options: Any,
) -> Report:
    """Run models over one stream, test-then-train, and report what happened along it.

    It takes the parameters of `compare`. By default the models are our plain and our adaptive
    forest.

    Examples
    --------
    >>> from river_amf import evaluation
    >>> report = evaluation.report("stagger_abrupt", ["adaptive"], limit=6000, seed=1)
    >>> curve = report.curve("adaptive", "fading_share")
    >>> bool(curve[5000] < 0.1 < curve[5400])
    True
    """
    comparison = compare(dataset, models, metrics, **options, record=True)
    return report_of(comparison, options)


def report_of(comparison: Comparison, options: Mapping[str, Any]) -> Report:
    """Return the report of a comparison that has recorded its runs."""
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
        drifts=tuple(place for place in stream.drifts if place < stream.n_samples),
        table=comparison.table,
        naive_baselines=comparison.naive_baselines,
        facts={name: str(fact) for name, fact in facts.items() if fact is not None},
        window=next(iter(runs.values())).window,
        columns=stream.columns() if stream.target and stream.kinds else None,
        moments=moments_of(stream.kinds, stream.samples),
        curves=comparison.curves,
        errors=[*filter(smaller_is_better, map(str, comparison.table))],
        **{
            kind: {name: of_model[kind] for name, of_model in tables.items() if kind in of_model}
            for kind in _BY_MODEL
        },
    )
