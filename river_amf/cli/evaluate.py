"""The subcommand `river-amf evaluate`: one model on a stream, with its metrics along the way."""

from __future__ import annotations

import argparse
import inspect
import itertools
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from river import base
from tqdm import tqdm

from river_amf import persistence
from river_amf.classifier import AMFClassifier
from river_amf.cli.options import (
    add_stream_arguments,
    at_least,
    check_outputs,
    chosen_metrics,
    chosen_stream,
    comma_separated,
    file_options,
    is_terminal,
    load_chosen,
    print_line,
    report_written,
    title_lines,
)
from river_amf.cli.prediction_csv import PredictionWriter
from river_amf.evaluation import EvaluationError, Stream
from river_amf.evaluation.comparison import cell_text, title_of
from river_amf.evaluation.metrics import check_labels, is_of_intervals, name_metrics
from river_amf.evaluation.naive import NaiveBaselines
from river_amf.evaluation.prequential import (
    Step,
    even_checkpoints,
    has_intervals,
    progress_bar,
    test_then_train,
    warm_up_model,
)
from river_amf.evaluation.recording import Recorder, Steps
from river_amf.evaluation.report import report_of
from river_amf.evaluation.runs import INTERRUPTED, OK, Ran, Run, check_delay, describe
from river_amf.evaluation.scores import Metrics, Scores
from river_amf.evaluation.sources import read_source, reason_of
from river_amf.evaluation.streams import ROWS, Record, Sample
from river_amf.evaluation.tasks import TASKS, Task
from river_amf.inputs.encoding import ascending
from river_amf.regressor import AMFRegressor

_MIN_WIDTH = 10  # characters; sizes below one gibibyte are no longer than "976.56 KiB"

DESCRIPTION = (
    "Run one model over a stream: it predicts each sample and then learns it (test-then-train)."
    " Metrics, time and memory are printed along the way, and in the end those of naive baselines."
)
EPILOG = (
    "Ctrl-C, SIGTERM and a row that cannot be read end the run with exit status 130, 143 and 2;"
    " --save, --predictions and --html keep what there is until then."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add_stream_arguments(parser)
    add = parser.add_argument
    add(
        "--model",
        type=str.lower,
        metavar="NAME",
        help=". ".join(
            f"For {task.name}: "
            + "; ".join(f"{name}: {text}" for name, text in task.descriptions.items())
            + f" (default: {task.default})"
            for task in TASKS.values()
        ),
    )
    add(
        "--n-estimators",
        type=at_least(1),
        metavar="N",
        help="number of trees, for the models amf and adaptive (default: 10)",
    )
    add("--predictions", metavar="FILE", help="write all predictions to a CSV file")
    add(
        "--keep",
        type=comma_separated,
        default=[],
        metavar="A,B",
        help="columns to copy beside the predictions, such as an id",
    )
    add(
        "--save",
        metavar="MODEL",
        help="save the model once it has learned the stream, for `river-amf predict`; the file"
        " keeps the options by which the stream was read",
    )
    add(
        "--html",
        metavar="FILE",
        help="write a page with figures of the model along the stream, beside those of models that"
        " look at no features (needs the extra `html`)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand, run, and return the exit status."""
    files = {"predictions": "the predictions", "save": "the model", "html": "the page"}
    check_outputs(arguments, [chosen_stream(arguments)], **files)
    stream = load_chosen(arguments)
    stream = stream if arguments.html is None else stream.complete()
    task = TASKS[stream.task]
    arguments.model = arguments.model or task.default
    metrics = name_metrics(task.table, chosen_metrics(arguments, task), task.name)
    check_labels(stream.samples, metrics.values(), stream.name)
    if stream.later is None:
        check_delay(arguments.delay, stream.n_samples)
    model = _make_model(arguments, task, stream)
    if arguments.save is not None and not isinstance(model, persistence.Saved):
        raise EvaluationError(
            f"model {arguments.model!r} cannot be saved: files hold our own models, such as amf and"
            " adaptive"
        )
    if not has_intervals(model):
        metrics = {name: each for name, each in metrics.items() if not is_of_intervals(each)}
    *titles, last = title_lines(stream, arguments)
    print(*titles, f"{last}; {_describe(model, task, arguments.model)}", sep="\n")
    warm_up_model(model.clone(), stream.samples)
    recorder = None if arguments.html is None else Recorder(model, Steps(stream.n_samples))
    scores = Scores(metrics)
    try:
        with ExitStack() as stack:
            _print_table(arguments, stream, model, scores, recorder, stack)
    except BaseException as error:
        _keep(arguments, stream, task, model, metrics, scores, recorder, is_complete=False)
        if isinstance(error, KeyboardInterrupt | EvaluationError):
            print_line(f"ended after {scores.n_samples} samples")
        raise
    _keep(arguments, stream, task, model, metrics, scores, recorder, is_complete=True)
    return 0


def _make_model(arguments: argparse.Namespace, task: Task, stream: Stream) -> Any:
    """Return the chosen model with the given options."""
    name = arguments.model
    has_words = stream.text is not None
    make = task.maker(name, arguments.seed, reason_of(stream), has_words=has_words)
    try:
        model: Any = make()
    except (ImportError, ValueError) as error:  # such as a seed out of the model's range
        raise EvaluationError(f"model {name!r} cannot be created: {error}") from error
    if arguments.n_estimators is None:
        return model
    if "n_estimators" not in inspect.signature(type(model)).parameters:
        raise EvaluationError(f"model {name!r} does not take --n-estimators")
    return model.clone({"n_estimators": arguments.n_estimators})


def _describe(model: base.Estimator, task: Task, name: str) -> str:
    if isinstance(model, AMFClassifier | AMFRegressor):
        return f"{type(model).__name__}(n_estimators={model.n_estimators}, seed={model.seed})"
    return task.descriptions[name]


def _print_table(
    arguments: argparse.Namespace,
    stream: Stream,
    model: Any,
    scores: Scores,
    recorder: Recorder | None,
    stack: ExitStack,
) -> None:
    """Run, write predictions, and print a row for each checkpoint and each naive baseline."""
    records: deque[Record] = deque()  # of the samples that are predicted, but not learned yet

    def samples() -> Iterator[Sample]:
        for record in stream.records():
            records.append(record)
            yield record.x, record.y

    naive = NaiveBaselines(stream.task)
    write = _prediction_writer(arguments, stream, model, stack)
    titles = [title_of(name) for name in ("n_samples", *scores.columns())]
    widths = [max(len(title), _MIN_WIDTH) for title in titles]

    def line(cells: list[str]) -> None:
        aligned = zip(cells, widths, strict=True)
        tqdm.write("  ".join(cell.rjust(width) for cell, width in aligned), file=sys.stdout)
        sys.stdout.flush()

    def row(step: Step) -> None:
        values = {"n_samples": step.n, **scores.figures(model)}
        line([cell_text(name, value) for name, value in values.items()])

    line(titles)
    total = None if stream.later is not None else stream.n_samples
    checkpoints: Any = itertools.count(ROWS, ROWS) if total is None else even_checkpoints(total)
    checkpoint, step = iter(checkpoints), None
    at = next(checkpoint, None)
    bar = stack.enter_context(progress_bar(total, samples(), is_shown=is_terminal()))
    try:
        for step in test_then_train(model, bar, arguments.delay):
            naive.add(step.y)
            record = records.popleft()
            if write is not None:
                write.write(record, step.prediction, step.beside)
            if recorder is not None:
                recorder.learned(step)
            scores.add(step)
            if step.n == at:
                row(step)
                at, step = next(checkpoint, None), None
    finally:
        if step is not None:  # what has been learned since the last row
            row(step)
        for name, values in naive.rows().items() if scores.n_samples else ():
            known = [cell_text(k, values[k]) if k in values else "-" for k in scores.columns()]
            line([name, *known])


def _prediction_writer(
    arguments: argparse.Namespace, stream: Stream, model: Any, stack: ExitStack
) -> PredictionWriter | None:
    """Return the writer of predictions, whose file is closed with the stack."""
    if arguments.predictions is None:
        return None
    path = Path(arguments.predictions)
    file = stack.enter_context(path.open("w", newline="", encoding="utf-8"))
    stack.callback(report_written, "the predictions", arguments.predictions)
    is_classifier = isinstance(model, base.Classifier)
    labels = ascending({y for _, y in stream.samples}) if is_classifier else None
    return PredictionWriter(
        file,
        keep=arguments.keep,
        has_target=True,
        labels=labels,
        has_intervals=has_intervals(model),
    )


def _keep(
    arguments: argparse.Namespace,
    stream: Stream,
    task: Task,
    model: Any,
    metrics: Metrics,
    scores: Scores,
    recorder: Recorder | None,
    *,
    is_complete: bool,
) -> None:
    """Save the model, and write the page."""
    n_samples = scores.n_samples
    if arguments.save is not None and (n_samples or is_complete):
        reading = file_options(arguments) | {"kinds": dict(stream.kinds)}
        notes = {"reading": reading | {"target": stream.target or "target"}}
        persistence.save_with_notes(model, arguments.save, notes)
        report_written("the model", arguments.save)
    if recorder is None:
        return
    if not n_samples:
        print_line(f"no page, {arguments.html} was not written: no sample was learned")
        return
    samples = stream.samples if is_complete else list(itertools.islice(stream, n_samples))
    runs = {
        name: Run(metrics, task, n_samples, recorder.steps, arguments.delay)
        for name in dict.fromkeys((arguments.model, *task.floors))
    }
    for name, run in runs.items():
        if name != arguments.model:
            run.go(task.maker(name, None), samples)
            continue
        run.described = describe(model)
        run.scores, run.recorder, run.figures = scores, recorder, scores.figures(model)
        run.status = OK if is_complete else f"{INTERRUPTED} after {n_samples} samples"
        recorder.close()
    source = read_source(stream)
    ran = Ran(source, runs, task.floors, recorder.steps, arguments.seed, arguments.delay)
    report_of(ran).save(arguments.html)
    report_written("the page", arguments.html)
