"""The subcommand `river-amf evaluate`: one model on a stream or a track, with its metrics."""

from __future__ import annotations

import argparse
import csv
import inspect
import itertools
import signal
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from river import base, compose
from river.metrics import Accuracy
from tqdm import tqdm

from river_amf import baselines, evaluation, tables
from river_amf.classifier import AMFClassifier
from river_amf.cli.options import (
    add_stream_arguments,
    at_least,
    check_output,
    chosen_stream,
    file_options,
    load_chosen,
    say_interrupted,
    size,
)
from river_amf.evaluation import EvaluationError, Stream, figures
from river_amf.evaluation.metrics import Kinds, LogLoss, check_labels, find_metric, name_metrics
from river_amf.evaluation.prequential import (
    OnPrediction,
    TestThenTrain,
    even_checkpoints,
    progress_bar,
    warm_up,
)
from river_amf.evaluation.scores import Metrics, Scores
from river_amf.evaluation.streams import Features, Label, Sample

Row = Mapping[str, float]

_METRICS: Kinds = {"accuracy": Accuracy, "log-loss": LogLoss}
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
        choices=baselines.DESCRIPTIONS,
        default="amf",
        metavar="NAME",
        help="; ".join(f"{name}: {text}" for name, text in baselines.DESCRIPTIONS.items())
        + " (default: amf)",
    )
    add(
        "--n-estimators",
        type=at_least(1),
        metavar="N",
        help="number of trees, for the models amf and adaptive (default: 10)",
    )
    add("--predictions", metavar="FILE", help="write all predictions to a CSV file")


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand, run, and return the exit status."""
    metrics = name_metrics(_METRICS, dict.fromkeys(map(find_metric, arguments.metrics)))
    streams = _load_streams(arguments)
    positives = [
        check_labels(stream, metrics.values(), stream.name, arguments.positive)
        for stream in streams
    ]
    model = _make_model(arguments)
    results = []
    with _prediction_file(arguments) as writer, _until_interrupt() as until_interrupt:
        for stream, positive in zip(streams, positives, strict=True):
            print(_describe(stream, model, arguments.model))
            loop = TestThenTrain(model.clone(), Scores(metrics, positive=positive), writer(stream))
            last = _print_table(stream, until_interrupt, model, metrics, loop)
            if loop.n_samples < stream.n_samples:
                of = f" of {stream.name}" if arguments.track else ""
                return say_interrupted(f"interrupted after {loop.n_samples} samples{of}")
            results.append(last)
            if arguments.track:
                print()
    if arguments.track:
        _print_summary([stream.name for stream in streams], results)
    return 0


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
    return [evaluation.load_stream(name, limit=arguments.limit) for name in names]


def _make_model(arguments: argparse.Namespace) -> base.Classifier:
    """Return the chosen model with the given options."""
    name = arguments.model
    try:
        model = baselines.classifiers(arguments.seed)[name]()
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
    arguments: argparse.Namespace,
) -> Iterator[Callable[[Stream], OnPrediction | None]]:
    """Open the file of predictions; yield a function that makes the writer for a stream."""
    path, source = arguments.predictions, chosen_stream(arguments)
    if path is None:
        yield lambda stream: None
        return
    check_output(path, source, "the predictions")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        columns = ["sample", "target", "prediction", "probability"]
        writer.writerow(["stream", *columns] if arguments.track else columns)

        def make_writer(stream: Stream) -> OnPrediction:
            start = [stream.name] if arguments.track else []

            def write(
                n: int, x: Features, y: Label, label: Label | None, proba: dict[Label, float]
            ) -> None:
                writer.writerow([*start, n, y, label, None if label is None else proba.get(label)])

            return write

        yield make_writer


def _print_table(
    stream: Stream,
    until_interrupt: Callable[[Stream], Iterator[Sample]],
    model: base.Classifier,
    metrics: Metrics,
    loop: TestThenTrain,
) -> Row:
    """Run, print a row at each checkpoint, and return the last row, or an empty one."""
    titles = figures.titles(["n_samples", *metrics, "us_per_sample", "memory"])
    widths = [max(len(title), _MIN_WIDTH) for title in titles]
    print(tables.line(titles, widths, left=()), flush=True)
    row: Row = {}
    with progress_bar(stream.n_samples, until_interrupt(stream)) as bar:
        with _interruptible():
            warm_up(model.clone(), until_interrupt(stream))
        bar.reset()  # start its clock after the warm-up
        for n_samples in loop.run(bar, even_checkpoints(stream.n_samples)):
            row = {"n_samples": n_samples, **loop.figures()}
            tqdm.write(tables.line(_cells(row), widths, left=()), file=sys.stdout)
            sys.stdout.flush()
    return row


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


def _describe(stream: Stream, model: base.Classifier, name: str) -> str:
    kinds = {"numeric": stream.n_numeric, "categorical": stream.n_categorical}
    features = " and ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    described = f"{type(model).__name__}()"
    if isinstance(model, AMFClassifier):
        described = f"{type(model).__name__}(n_estimators={model.n_estimators}, seed={model.seed})"
    elif isinstance(model, compose.Pipeline):  # its repr takes several lines
        described = baselines.DESCRIPTIONS[name]
    return f"{size(stream)}; features: {features}; {described}"
