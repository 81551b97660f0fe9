"""The subcommand `river-amf evaluate`: one model on a stream or a track, with its metrics."""

from __future__ import annotations

import argparse
import csv
import inspect
import itertools
import os
import signal
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from river import base, compose
from tqdm import tqdm

from river_amf import evaluation, tables
from river_amf.baselines.classification import MISSING
from river_amf.classifier import AMFClassifier
from river_amf.cli.options import (
    add_stream_arguments,
    at_least,
    check_metrics,
    check_output,
    chosen_metrics,
    chosen_stream,
    file_options,
    load_chosen,
    say_interrupted,
    size,
    told_task,
)
from river_amf.cli.pages import Evaluated, check_pages, report_of
from river_amf.evaluation import EvaluationError, Stream, figures
from river_amf.evaluation.interval_metrics import has_intervals, is_of_intervals
from river_amf.evaluation.metrics import name_metrics
from river_amf.evaluation.predictors import Answer, columns_beside
from river_amf.evaluation.prequential import (
    OnPrediction,
    TestThenTrain,
    even_checkpoints,
    progress_bar,
    warm_up,
)
from river_amf.evaluation.recording import Recorder, Steps
from river_amf.evaluation.runs import recorder_of
from river_amf.evaluation.scores import Metrics, Scores
from river_amf.evaluation.sources import reason_of
from river_amf.evaluation.streams import Features, Label, Sample, Target
from river_amf.evaluation.tasks import CLASSIFICATION, TASKS, Task, positive_label
from river_amf.regressor import AMFRegressor

if TYPE_CHECKING:
    from river_amf.cli.live import Display

Row = Mapping[str, float]

_DESCRIPTIONS = {name: text for task in TASKS.values() for name, text in task.descriptions.items()}
_MIN_WIDTH = 10  # characters; sizes below one gibibyte are no longer than "976.56 KiB"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add_stream_arguments(parser)
    add = parser.add_argument
    add(
        "--track",
        metavar="NAME",
        help=f"run all streams of a track: {', '.join(evaluation.TRACKS)}",
    )
    add(
        "--model",
        type=_model,
        choices=_DESCRIPTIONS,
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
        "--html",
        metavar="FILE",
        help="write a page with figures of the model along the stream, beside those of models that"
        " look at no features (needs the extra `html`)",
    )
    add(
        "--live",
        action="store_true",
        help="show the run as it goes on, the curve of its main metric and the relevance of the"
        " features, and the table at the end (needs the extra `live`; where the output is no"
        " terminal, the table is printed as without)",
    )


def _model(name: str) -> str:
    """Return the name of a model, or raise if it needs what is not installed."""
    if name in MISSING:
        raise argparse.ArgumentTypeError(f"{name!r} {MISSING[name]}")
    return name


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand, run, and return the exit status."""
    check_metrics(arguments)
    _check_page(arguments)
    streams = _load_streams(arguments)
    task = _task_of(streams)
    arguments.model = arguments.model or task.default
    metrics = name_metrics(task.brief, chosen_metrics(arguments, task), task.name)
    positives = [
        positive_label(task, stream, metrics.values(), stream.name, arguments.positive)
        for stream in streams
    ]
    model = _make_model(arguments, task, reason_of(streams[0]))
    if not has_intervals(model):
        metrics = {name: each for name, each in metrics.items() if not is_of_intervals(each)}
    display = _display(arguments)
    measure, windowed = next(iter(task.windowed.items()))
    results = []
    with _prediction_file(arguments, model) as writer, _until_interrupt() as until_interrupt:
        for stream, positive in zip(streams, positives, strict=True):
            described = _describe(stream, model, task, arguments.model)
            print(*told_task(stream, arguments), described, sep="\n")
            clone = model.clone()
            scores = Scores(metrics, {measure: windowed()} if display else {}, positive)
            recorder = None
            if arguments.html is not None:
                recorder = recorder_of(clone, Steps(stream.n_samples))
            loop = TestThenTrain(clone, scores, *_watching(writer(stream), recorder))
            shown = None if display is None else display(stream, clone, loop, measure)
            last = _print_table(stream, until_interrupt, model, metrics, loop, shown)
            if recorder is not None:
                ran = Evaluated(arguments.model, clone, loop, recorder)
                _write_page(arguments.html, ran, stream, task, metrics, positive)
            if loop.n_samples < stream.n_samples:
                of = f" of {stream.name}" if arguments.track else ""
                return say_interrupted(f"interrupted after {loop.n_samples} samples{of}")
            results.append(last)
            if arguments.track:
                print()
    if arguments.track:
        _print_summary([stream.name for stream in streams], results)
    return 0


def _check_page(arguments: argparse.Namespace) -> None:
    """Raise if a page is wanted that cannot be written."""
    path = arguments.html
    if path is None:
        return
    if arguments.track:
        raise EvaluationError("--html is for one stream; it cannot be combined with --track")
    check_pages()
    check_output(path, chosen_stream(arguments), "the page")
    other = arguments.predictions
    if other and Path(other).resolve() == Path(path).resolve():
        raise EvaluationError(f"--predictions and --html would both write to {path}")


def _watching(
    write: OnPrediction | None, recorder: Recorder | None
) -> tuple[OnPrediction | None, OnPrediction | None]:
    """Return what the loop calls before and after a sample is learned."""
    if recorder is None:
        return write, None
    if write is None:
        return recorder.asked, recorder.learned

    def both(n: int, x: Features, y: Target, answer: Answer) -> None:
        write(n, x, y, answer)
        recorder.asked(n, x, y, answer)

    return both, recorder.learned


def _write_page(
    path: str,
    ran: Evaluated,
    stream: Stream,
    task: Task,
    metrics: Metrics,
    positive: Label | None,
) -> None:
    """Write the page; if there is nothing to show, say so."""
    if ran.loop.n_samples:
        report_of(ran, stream, task, metrics, positive).save(path)
    else:
        print(f"no page, {path} was not written: no sample was learned", file=sys.stderr)


def _load_streams(arguments: argparse.Namespace) -> list[Stream]:
    """Return the streams of the track, or the single stream."""
    if arguments.track is None:
        return [load_chosen(arguments)]
    track = evaluation.load_track(arguments.track)
    for option, name in [
        (arguments.stream, f"STREAM {arguments.stream!r}"),
        (arguments.target, "--target"),
        (arguments.categorical, "--categorical"),
        *((True, f"--{name.replace('_', '-')}") for name in file_options(arguments)),
    ]:
        if option or option == "":
            raise EvaluationError(
                f"--track chooses its own streams; it cannot be combined with {name}"
            )
    names = evaluation.TRACKS[track.name]
    task, limit = arguments.task, arguments.limit
    return [evaluation.load_stream(name, limit=limit, task=task) for name in names]


def _task_of(streams: Sequence[Stream]) -> Task:
    """Return the task of all streams, or raise."""
    first, *rest = streams
    for stream in rest:
        if stream.task != first.task:
            raise EvaluationError(
                f"{first.name} is for {first.task} and {stream.name} for {stream.task}: no model"
                " takes both"
            )
    return TASKS[first.task]


def _display(arguments: argparse.Namespace) -> type[Display] | None:
    """Return what shows a run as it goes on, None without `--live` and where no terminal is."""
    if not (arguments.live and sys.stdout.isatty()):
        return None
    if os.environ.get("TERM", "").lower() in ("dumb", "unknown"):  # it cannot draw over lines
        return None
    try:
        from river_amf.cli.live import Display
    except ImportError as error:
        raise EvaluationError(str(error)) from error
    return Display


def _make_model(arguments: argparse.Namespace, task: Task, reason: str) -> base.Estimator:
    """Return the chosen model with the given options."""
    name = arguments.model
    make = task.maker(name, arguments.seed, reason)
    try:
        model = make()
    except (ImportError, ValueError) as error:  # such as a seed out of the model's range
        raise EvaluationError(f"model {name!r} cannot be created: {error}") from error
    is_alone = not isinstance(model, compose.Pipeline)  # the steps of a pipeline may have seeds
    known = inspect.signature(type(model)).parameters if is_alone else {"seed"}
    for option in ("seed", "n_estimators"):
        if getattr(arguments, option) is not None and option not in known:
            raise EvaluationError(f"model {name!r} does not take --{option.replace('_', '-')}")
    if arguments.n_estimators is not None:
        model = model.clone({"n_estimators": arguments.n_estimators})
    return model


@contextmanager
def _prediction_file(
    arguments: argparse.Namespace, model: base.Estimator
) -> Iterator[Callable[[Stream], OnPrediction | None]]:
    """Open the file of predictions; yield a function that makes the writer for a stream."""
    path, source = arguments.predictions, chosen_stream(arguments)
    if path is None:
        yield lambda stream: None
        return
    check_output(path, source, "the predictions")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        beside = columns_beside(model)
        columns = ["sample", "target", "prediction", *beside]
        writer.writerow(["stream", *columns] if arguments.track else columns)

        def make_writer(stream: Stream) -> OnPrediction:
            start = [stream.name] if arguments.track else []

            def write(n: int, x: Features, y: Target, answer: Answer) -> None:
                writer.writerow([*start, n, y, answer.prediction, *answer.cells()[: len(beside)]])

            return write

        yield make_writer


def _print_table(
    stream: Stream,
    until_interrupt: Callable[[Stream], Iterator[Sample]],
    model: base.Estimator,
    metrics: Metrics,
    loop: TestThenTrain,
    display: Display | None,
) -> Row:
    """Run, print a row for each checkpoint, and return the last row, or an empty one.

    Rows are printed as they come, or after what a display has shown meanwhile.
    """
    titles = figures.titles(["n_samples", *metrics, "us_per_sample", "memory"])
    widths = [max(len(title), _MIN_WIDTH) for title in titles]
    rows: list[Row] = []
    if display is not None:
        with _interruptible():
            warm_up(model.clone(), until_interrupt(stream))
        try:
            with display:
                for n_samples in display.run(until_interrupt(stream)):
                    rows.append({"n_samples": n_samples, **loop.figures()})
        finally:
            for cells in [titles, *map(_cells, rows)]:
                print(tables.line(cells, widths, left=()), flush=True)
        return rows[-1] if rows else {}
    print(tables.line(titles, widths, left=()), flush=True)
    with progress_bar(stream.n_samples, until_interrupt(stream)) as bar:
        with _interruptible():
            warm_up(model.clone(), until_interrupt(stream))
        bar.reset()  # start its clock after the warm-up
        for n_samples in loop.run(bar, even_checkpoints(stream.n_samples)):
            rows.append({"n_samples": n_samples, **loop.figures()})
            tqdm.write(tables.line(_cells(rows[-1]), widths, left=()), file=sys.stdout)
            sys.stdout.flush()
    return rows[-1] if rows else {}


def _print_summary(names: Sequence[str], rows: Sequence[Row]) -> None:
    """Print the last row of each stream, and the mean of each column."""
    mean = {column: statistics.fmean(row[column] for row in rows) for column in rows[0]}
    cells = [figures.titles(mean), *map(_cells, [*rows, mean])]
    table = [[name, *row] for name, row in zip(["stream", *names, "mean"], cells, strict=True)]
    print(tables.align(table, left=(0,), least=_MIN_WIDTH))


def _cells(row: Row) -> list[str]:
    return [figures.cell(column, value) for column, value in row.items()]


@contextmanager
def _until_interrupt() -> Iterator[Callable[[Stream], Iterator[Sample]]]:
    """Yield a function that ends a stream at Ctrl-C, between samples; a second Ctrl-C aborts."""
    interrupted = False

    def stop(signal_number: int, frame: object) -> None:
        nonlocal interrupted
        interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda stream: itertools.takewhile(lambda _: not interrupted, stream)
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C abort the block: compiling takes long, and there are no results to print yet."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _describe(stream: Stream, model: base.Estimator, task: Task, name: str) -> str:
    kinds = {"numeric": stream.n_numeric, "categorical": stream.n_categorical}
    features = " and ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    described = f"{type(model).__name__}()"
    if isinstance(model, AMFClassifier | AMFRegressor):
        described = f"{type(model).__name__}(n_estimators={model.n_estimators}, seed={model.seed})"
    elif isinstance(model, compose.Pipeline) or task is not CLASSIFICATION:
        described = task.descriptions[name]  # a repr takes several lines
    return f"{size(stream)}; features: {features}; {described}"
