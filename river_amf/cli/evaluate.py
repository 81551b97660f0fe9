"""The subcommand `river-amf evaluate`: one model on a stream or a track, with its metrics."""

from __future__ import annotations

import argparse
import csv
import inspect
import itertools
import signal
import statistics
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from river import base, compose
from tqdm import tqdm

from river_amf import evaluation, persistence
from river_amf.baselines.river_models import MISSING
from river_amf.classifier import AMFClassifier
from river_amf.cli.options import (
    add_stream_arguments,
    at_least,
    check_metrics,
    check_output,
    check_pages,
    chosen_metrics,
    chosen_stream,
    file_options,
    is_terminal,
    load_chosen,
    print_line,
    report_interrupt,
    say_written,
    size_text,
    task_lines,
)
from river_amf.evaluation import EvaluationError, Report, Stream
from river_amf.evaluation.comparison import cell_text, column_titles
from river_amf.evaluation.metrics import check_positive, is_of_intervals, name_metrics
from river_amf.evaluation.prequential import (
    Answer,
    OnPrediction,
    TestThenTrain,
    even_checkpoints,
    every,
    has_intervals,
    progress_bar,
    warm_up_model,
)
from river_amf.evaluation.recording import Recorder, Steps
from river_amf.evaluation.report import report_of
from river_amf.evaluation.runs import INTERRUPTED, OK, Ran, Run
from river_amf.evaluation.scores import Metrics, Scores
from river_amf.evaluation.sources import read_source, reason_of
from river_amf.evaluation.streams import ROWS, Features, Label, Sample, Target
from river_amf.evaluation.tasks import CLASSIFICATION, TASKS, Task
from river_amf.explain import text_tables
from river_amf.regressor import AMFRegressor

Row = Mapping[str, float]

_DESCRIPTIONS = {name: text for task in TASKS.values() for name, text in task.descriptions.items()}
_N_MOMENTS = 100  # about as often the metric beside the progress bar changes
_MIN_WIDTH = 10  # characters; sizes below one gibibyte are no longer than "976.56 KiB"


DESCRIPTION = (
    "Run one model over a stream or a track of streams: it predicts each sample and then learns it"
    " (test-then-train). Metrics, time and memory are printed along the way."
)


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


def _model(name: str) -> str:
    """Return the name of a model, or raise if it needs what is not installed."""
    if name in MISSING:
        raise argparse.ArgumentTypeError(f"{name!r} {MISSING[name]}")
    return name


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand, run, and return the exit status."""
    check_metrics(arguments)
    _check_outputs(arguments)
    streams = _load_streams(arguments)
    if arguments.html is not None:
        streams = [stream.complete() for stream in streams]
    task = _task_of(streams)
    arguments.model = arguments.model or task.default
    metrics = name_metrics(task.windowed, chosen_metrics(arguments, task), task.name)
    positives = [
        check_positive(stream.samples, metrics.values(), stream.name, arguments.positive)
        for stream in streams
    ]
    model = _make_model(arguments, task, streams[0])
    if arguments.save is not None and not isinstance(model, persistence.Saved):
        raise EvaluationError(
            f"model {arguments.model!r} cannot be saved: files hold our own models, such as amf and"
            " adaptive"
        )
    if not has_intervals(model):
        metrics = {name: each for name, each in metrics.items() if not is_of_intervals(each)}
    results = []
    with _prediction_file(arguments, model) as writer, _until_interrupt() as guard:
        until_interrupt, interrupts = guard
        for stream, positive in zip(streams, positives, strict=True):
            described = _describe_run(stream, model, task, arguments.model)
            print(*task_lines(stream, arguments), described, sep="\n")
            clone = model.clone()
            scores = Scores(metrics, positive=positive)
            recorder = None
            if arguments.html is not None:
                recorder = Recorder(clone, Steps(stream.n_samples))
            learned = None if recorder is None else recorder.learned
            loop = TestThenTrain(clone, scores, writer(stream), learned, arguments.delay)
            last = _print_table(stream, until_interrupt, model, metrics, loop)
            if arguments.save is not None:
                persistence.save_with_notes(clone, arguments.save, _notes(arguments, stream))
                say_written("the model", arguments.save)
            if recorder is not None and loop.n_samples:
                ran = arguments.model, clone, loop, recorder, arguments.delay
                with _interruptible():
                    _report_beside_floors(*ran, stream, metrics, positive).save(arguments.html)
                say_written("the page", arguments.html)
            elif recorder is not None:
                path = arguments.html
                print_line(f"no page, {path} was not written: no sample was learned")
            if interrupts and (stream.later is not None or loop.n_samples < stream.n_samples):
                of = f" of {stream.name}" if arguments.track else ""
                return report_interrupt(f"interrupted after {loop.n_samples} samples{of}")
            results.append(last)
            if arguments.track:
                print()
    if arguments.track:
        _print_summary([stream.name for stream in streams], results)
    return 0


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Raise if a page or a model is to be written that cannot be."""
    written = {"predictions": arguments.predictions}
    for option, what in (("html", "the page"), ("save", "the model")):
        path = getattr(arguments, option)
        if path is None:
            continue
        if arguments.track:
            raise EvaluationError(
                f"--{option} is for one stream; it cannot be combined with --track"
            )
        check_output(path, chosen_stream(arguments), what)
        for other, its in written.items():
            if its and Path(its).resolve() == Path(path).resolve():
                raise EvaluationError(f"--{other} and --{option} would both write to {path}")
        written[option] = path
    if arguments.html is not None:
        check_pages()


def _notes(arguments: argparse.Namespace, stream: Stream) -> dict[str, Any]:
    """Return what the file of a model keeps: how to read another file of the same columns."""
    kinds = {"categorical": ("string",), "numeric": ("integer", "floating")}
    columns = {
        option: [name for name, kind in stream.kinds.items() if kind in its]
        for option, its in kinds.items()
    }
    return {"reading": file_options(arguments) | {"target": stream.target or "target"} | columns}


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


def _make_model(arguments: argparse.Namespace, task: Task, stream: Stream) -> base.Estimator:
    """Return the chosen model with the given options."""
    name = arguments.model
    has_words = stream.text is not None
    make = task.maker(name, arguments.seed, reason_of(stream), has_words=has_words)
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
        ends = ["lower", "upper"] * has_intervals(model)
        beside = ends if isinstance(model, base.Regressor) else ["probability"]
        columns = ["sample", "target", "prediction", *beside]
        writer.writerow(["stream", *columns] if arguments.track else columns)

        def make_writer(stream: Stream) -> OnPrediction:
            start = [stream.name] if arguments.track else []

            def write(n: int, x: Features, y: Target, answer: Answer) -> None:
                writer.writerow([*start, n, y, answer.prediction, *answer.cells()[: len(beside)]])

            return write

        yield make_writer
    say_written("the predictions", path)


def _print_table(
    stream: Stream,
    until_interrupt: Callable[[Stream], Iterator[Sample]],
    model: base.Estimator,
    metrics: Metrics,
    loop: TestThenTrain,
) -> Row:
    """Run, print a row for each checkpoint, and return the last row, or an empty one."""
    titles = column_titles(["n_samples", *metrics, "us_per_sample", "memory"])
    widths = [max(len(title), _MIN_WIDTH) for title in titles]
    rows: list[Row] = []
    print(text_tables.line(titles, widths, left=()), flush=True)
    shown = is_terminal()
    total = None if stream.later is not None else stream.n_samples
    checkpoints = every(ROWS) if total is None else even_checkpoints(total)
    with progress_bar(total, until_interrupt(stream), is_shown=shown) as bar:
        with _interruptible():
            warm_up_model(model.clone(), until_interrupt(stream))
        bar.reset()  # start its clock after the warm-up
        samples = _with_metric(bar, loop, even_checkpoints(stream.n_samples, _N_MOMENTS))
        for n_samples in loop.run(samples, checkpoints):
            rows.append({"n_samples": n_samples, **loop.figures()})
            tqdm.write(text_tables.line(_cells(rows[-1]), widths, left=()), file=sys.stdout)
            sys.stdout.flush()
    return rows[-1] if rows else {}


def _with_metric(bar: tqdm[Any], loop: TestThenTrain, moments: Container[int]) -> Iterator[Sample]:
    """Yield the samples of a progress bar, with the first metric so far beside it."""
    for sample in bar:
        if loop.n_samples in moments:
            name, value = next(iter(loop.scores.total().items()))
            bar.set_postfix_str(f"{name} {cell_text(name, value)}", refresh=False)
        yield sample


def _print_summary(names: Sequence[str], rows: Sequence[Row]) -> None:
    """Print the last row of each stream, and the mean of each column."""
    mean = {column: statistics.fmean(row[column] for row in rows) for column in rows[0]}
    cells = [column_titles(mean), *map(_cells, [*rows, mean])]
    table = [[name, *row] for name, row in zip(["stream", *names, "mean"], cells, strict=True)]
    print(text_tables.align(table, left=(0,), least=_MIN_WIDTH))


def _cells(row: Row) -> list[str]:
    return [cell_text(column, value) for column, value in row.items()]


@contextmanager
def _until_interrupt() -> Iterator[tuple[Callable[[Stream], Iterator[Sample]], list[int]]]:
    """Yield a function that ends a stream at Ctrl-C, between samples; a second Ctrl-C aborts.

    Further a list of the signals that have come.
    """
    interrupts: list[int] = []

    def stop(signal_number: int, frame: object) -> None:
        interrupts.append(signal_number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda stream: itertools.takewhile(lambda _: not interrupts, stream), interrupts
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


def _describe_run(stream: Stream, model: base.Estimator, task: Task, name: str) -> str:
    kinds = {"numeric": stream.n_numeric, "categorical": stream.n_categorical}
    named = [f"{count} {kind}" for kind, count in kinds.items() if count]
    features = " and ".join([*named, *([f"words of {stream.text!r}"] if stream.text else [])])
    described = f"{type(model).__name__}()"
    if isinstance(model, AMFClassifier | AMFRegressor):
        described = f"{type(model).__name__}(n_estimators={model.n_estimators}, seed={model.seed})"
    elif isinstance(model, compose.Pipeline) or task is not CLASSIFICATION:
        described = task.descriptions[name]  # a repr takes several lines
    return f"{size_text(stream)}; features: {features}; {described}"


def _report_beside_floors(
    name: str,
    model: base.Estimator,
    loop: TestThenTrain,
    recorder: Recorder,
    delay: int,
    stream: Stream,
    metrics: Metrics,
    positive: Label | None,
) -> Report:
    """Return the report of a model, beside those that look at no features, which are run here."""
    source, n_samples = read_source(stream, None), loop.n_samples
    task, is_complete = source.task, n_samples == stream.n_samples
    samples = stream if is_complete else list(itertools.islice(stream, n_samples))
    names = dict.fromkeys([name, *task.floors])
    runs = {each: Run(metrics, n_samples, positive, task, recorder.steps, delay) for each in names}
    for each, run in runs.items():
        if each == name:
            run.take_over(model, loop, recorder)
            run.status = OK if is_complete else f"{INTERRUPTED} after {n_samples} samples"
        else:
            run.go(task.maker(each, None), samples)
    return report_of(Ran(source, runs, task.floors, recorder.steps))
