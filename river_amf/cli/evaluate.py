"""The subcommand `river-amf evaluate`: one model on a stream, with its metrics along the way."""

from __future__ import annotations

import argparse
import functools
import inspect
import itertools
import math
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from river_amf import persistence
from river_amf.cli import options
from river_amf.cli.prediction_csv import PredictionWriter
from river_amf.evaluation import EvaluationError, Stream
from river_amf.evaluation.comparison import cell_text, check_delay, comparison_of, title_of
from river_amf.evaluation.metrics import OfIntervals, make_metrics
from river_amf.evaluation.models import describe
from river_amf.evaluation.naive import NaiveBaselines
from river_amf.evaluation.prequential import Step, has_intervals, round_interval, warm_up_model
from river_amf.evaluation.recording import Steps
from river_amf.evaluation.report import report_of
from river_amf.evaluation.runs import Run, attempt
from river_amf.evaluation.sources import reason_of
from river_amf.evaluation.streams import CLASSIFICATION, ROWS, Record, Sample
from river_amf.evaluation.tasks import TASKS
from river_amf.inputs.encoding import ascending

_MIN_WIDTH = 10  # characters; sizes below one gibibyte are no longer than "976.56 KiB"

DESCRIPTION = (
    "Run one model over a stream: it predicts each sample and then learns it (test-then-train)."
    " Metrics, time and memory are printed along the way, and naive baselines at the end."
)
EPILOG = (
    "Ctrl-C, SIGTERM and a row that cannot be read end the run with exit status 130, 143 and 2;"
    " --save, --predictions and --html keep the results until then."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    options.add_stream_arguments(parser)
    models = (
        f"For {task.name}: "
        + "; ".join(f"{name}: {text}" for name, text in task.descriptions.items())
        for task in TASKS.values()
    )
    add = parser.add_argument
    add(
        "--model",
        type=str.lower,
        metavar="NAME",
        default="adaptive",
        help=". ".join([*models, "(default: adaptive)"]),
    )
    add(
        "--n-estimators",
        type=options.at_least(1),
        metavar="N",
        help="number of trees, for the models amf and adaptive (default: 10)",
    )
    add("--predictions", metavar="FILE", help="write all predictions to a CSV file")
    options.add_keep(parser)
    add(
        "--save",
        metavar="MODEL",
        help="save the model once it has learned the stream, for `river-amf predict`, with the"
        " options by which the stream was read",
    )
    options.add_html(parser, "the model")


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand, run, and return the exit status."""
    files = {"predictions": "the predictions", "save": "the model", "html": "the page"}
    options.check_outputs(arguments, [arguments.stream], **files)
    stream, ends = options.load_chosen(arguments), list[BaseException]()
    if arguments.html is not None and stream.later is not None:
        stream = replace(stream, later=_until_error(stream.later, ends)).complete()
    metrics = make_metrics(arguments.metrics, stream.task, stream.samples, stream.name)
    if stream.later is None:
        check_delay(arguments.delay, stream.n_samples)
    model = _make_model(arguments, stream)
    if not has_intervals(model):
        metrics = {
            n: metric for n, metric in metrics.items() if not isinstance(metric, OfIntervals)
        }
    is_ours = isinstance(model, persistence.Saved)
    about = describe(model) if is_ours else TASKS[stream.task].descriptions[arguments.model]
    *titles, last = options.title_lines(stream, arguments)
    print(*titles, f"{last}; {about}", sep="\n")
    warm_up_model(model.clone(), stream.samples)
    steps = None if arguments.html is None else Steps(stream.n_samples)
    run = Run(metrics, None, steps, arguments.delay)
    try:
        _print_table(arguments, stream, model, run)
        if ends:
            raise ends[0]
    except (KeyboardInterrupt, EvaluationError):
        options.print_line(f"ended after {run.n_samples} samples")
        raise
    finally:
        if arguments.predictions is not None:
            options.report_written("the predictions", arguments.predictions)
        if arguments.save is not None and run.n_samples:
            reading = options.file_options(arguments) | {"kinds": dict(stream.kinds)}
            notes = {"reading": reading | {"target": stream.target or "target"}}
            persistence.save_with_notes(model, arguments.save, notes)
            options.report_written("the model", arguments.save)
        if arguments.html is not None and run.n_samples:
            _write_page(arguments, stream, run)
    return 0


def _until_error(later: Iterator[Any], ends: list[BaseException]) -> Iterator[Any]:
    """Yield rows of standard input until an error or Ctrl-C, which is kept."""
    try:
        yield from later
    except (EvaluationError, KeyboardInterrupt) as error:
        ends.append(error)


def _make_model(arguments: argparse.Namespace, stream: Stream) -> Any:
    """Return the chosen model with the given options."""
    name, task, has_words = arguments.model, TASKS[stream.task], stream.text is not None
    make = task.maker(name, arguments.seed, reason=reason_of(stream), has_words=has_words)
    try:
        model: Any = task.make(make)
    except EvaluationError as error:  # such as for a seed out of the model's range
        raise EvaluationError(f"model {name!r} {error}") from error
    if arguments.save is not None and not isinstance(model, persistence.Saved):
        raise EvaluationError(
            f"model {name!r} cannot be saved: files hold our own models, such as amf and adaptive"
        )
    if arguments.n_estimators is None:
        return model
    if "n_estimators" not in inspect.signature(type(model)).parameters:
        raise EvaluationError(f"model {name!r} does not take --n-estimators")
    return model.clone({"n_estimators": arguments.n_estimators})


def _print_table(arguments: argparse.Namespace, stream: Stream, model: Any, run: Run) -> None:
    """Run, write predictions, and print a row for each checkpoint and each naive baseline."""
    records: deque[Record] = deque()  # of the samples that are predicted, but not learned yet
    naive, titles = NaiveBaselines(stream.task), [*map(title_of, ("n_samples", *run.figures))]
    every = round_interval(stream.n_samples) if stream.later is None else ROWS

    def samples() -> Iterator[Sample]:
        for record in stream.records():
            records.append(record)
            yield record.x, record.y

    def line(*cells: str) -> None:
        aligned = (c.rjust(max(len(t), _MIN_WIDTH)) for c, t in zip(cells, titles, strict=True))
        print("  ".join(aligned), flush=True)

    def row(name: str, values: Mapping[str, float]) -> None:
        line(name, *(cell_text(k, values.get(k, math.nan)) for k in run.figures))

    def on_step(step: Step) -> None:
        naive.add(step.y)
        record = records.popleft()
        if writer is not None:
            writer.write(record, step.prediction, step.beside)
        if step.n % every == 0:
            row(str(step.n), run.measure())

    line(*titles)
    labels = ascending({y for _, y in stream.samples}) if stream.task == CLASSIFICATION else []
    path = arguments.predictions
    with nullcontext() if path is None else open(path, "w", newline="", encoding="utf-8") as file:
        writer = None
        if file is not None:
            writer = PredictionWriter(file, arguments.keep, True, model, labels)
        try:
            run.go(lambda: model, samples(), on_step)
        finally:
            if run.n_samples % every:
                row(str(run.n_samples), run.measure())
            for name, values in naive.rows().items() if run.n_samples else ():
                row(name, values)


def _write_page(arguments: argparse.Namespace, stream: Stream, run: Run) -> None:
    """Write the page of a run beside models that look at no features."""
    runs, task = {arguments.model: run}, TASKS[stream.task]
    samples = list(itertools.islice(stream, run.n_samples))
    for name in task.floors:
        if name not in runs:
            runs[name] = Run(run.metrics, None, run.steps, run.delay)
            make = functools.partial(task.make, task.maker(name, None))
            attempt(runs[name], make, samples, disable=True)
    report_of(comparison_of(stream, runs, task.floors), arguments.seed).save(arguments.html)
    options.report_written("the page", arguments.html)
