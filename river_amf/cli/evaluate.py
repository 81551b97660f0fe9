"""`river-amf evaluate`: one model on a stream or a track, and how it fares on the way."""

from __future__ import annotations

import argparse
import csv
import inspect
import itertools
import os
import signal
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from river import base, compose
from river.metrics.base import ClassificationMetric
from river.utils.pretty import humanize_bytes
from tqdm import tqdm

from river_amf import baselines, evaluation, tables
from river_amf.cli.options import (
    DEFAULT_STREAM,
    INTERRUPTED,
    add_stream_arguments,
    at_least,
)
from river_amf.evaluation import (
    Checkpoint,
    EvaluationError,
    Label,
    OnPrediction,
    Sample,
    Stream,
)
from river_amf.evaluation.measures import check_labels, find_metric
from river_amf.forest import AMFClassifier

_TITLES = {"Accuracy": "accuracy", "CrossEntropy": "log-loss"}
_MIN_WIDTH = 10  # characters; "976.56 KiB" is the longest size below a gibibyte


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Examples
    --------
    >>> import argparse
    >>> from river_amf.cli.evaluate import add_arguments
    >>> parser = argparse.ArgumentParser()
    >>> add_arguments(parser)
    >>> parser.parse_args(["--model", "knn"]).model
    'knn'

    """
    add_stream_arguments(parser)
    add = parser.add_argument
    add("--track", metavar="NAME", help=f"run several streams: {', '.join(evaluation.TRACKS)}")
    add(
        "--model",
        choices=baselines.DESCRIPTIONS,
        default="amf",
        metavar="NAME",
        help="; ".join(f"{name}: {text}" for name, text in baselines.DESCRIPTIONS.items())
        + " (default: amf)",
    )
    add("--n-estimators", type=at_least(1), metavar="N", help="trees of our forests (default: 10)")
    add("--predictions", metavar="FILE", help="write each prediction to a CSV file")


def run(arguments: argparse.Namespace) -> int:
    """Prepare all that can fail, then run; return the exit status.

    Examples
    --------
    >>> import argparse
    >>> from river_amf.cli.evaluate import add_arguments, run
    >>> parser = argparse.ArgumentParser()
    >>> add_arguments(parser)
    >>> run(parser.parse_args(["Bananas", "--limit", "20", "--model", "dummy"]))
    Bananas: 20 samples; features: 2 numeric; OnlineDummyClassifier()
    ...
    0

    """
    measures = _make_metrics(arguments.metrics)
    streams = _load_streams(arguments)
    for stream in streams:
        check_labels(stream, measures, stream.name)
    model = _make_model(arguments)
    results = []
    with _prediction_file(arguments) as writer, _until_interrupt() as until_interrupt:
        for stream in streams:
            samples = until_interrupt(stream)
            fresh = [measure.clone() for measure in measures]
            title = _describe(stream, model, arguments.model)
            last = _print_table(title, stream, samples, model.clone(), fresh, writer(stream))
            n_samples = last.n_samples if last else 0
            if last is None or n_samples < stream.n_samples:
                of = f" of {stream.name}" if arguments.track else ""
                print(f"interrupted after {n_samples} samples{of}", file=sys.stderr)
                return INTERRUPTED
            results.append(last)
            if arguments.track:
                print()
    if arguments.track:
        _print_summary([stream.name for stream in streams], results, measures)
    return 0


def _make_metrics(names: Iterable[str]) -> list[ClassificationMetric]:
    """Return accuracy, log-loss and the metrics named, each once."""
    chosen = dict.fromkeys(map(find_metric, (*_TITLES, *names)))
    return [metric() for metric in chosen]


def _load_streams(arguments: argparse.Namespace) -> list[Stream]:
    """Return the streams of the track, or the one stream."""
    if arguments.track is None:
        source = arguments.stream or DEFAULT_STREAM
        chosen = arguments.target, arguments.categorical, arguments.limit
        return [evaluation.load_stream(source, *chosen)]
    track = evaluation.load_track(arguments.track)
    for option, name in [
        (arguments.stream, f"STREAM {arguments.stream!r}"),
        (arguments.target, "--target"),
        (arguments.categorical, "--categorical"),
    ]:
        if option:
            raise EvaluationError(f"--track has streams of its own: {name} does not go with it")
    names = evaluation.TRACKS[track.name]
    return [evaluation.load_stream(name, limit=arguments.limit) for name in names]


def _make_model(arguments: argparse.Namespace) -> base.Classifier:
    """Return the model with the options that were given."""
    name = arguments.model
    try:
        model = baselines.classifiers(arguments.seed)[name]()
    except ImportError as error:
        raise EvaluationError(str(error)) from error
    is_alone = not isinstance(model, compose.Pipeline)  # whose steps may have seeds
    known = inspect.signature(type(model)).parameters if is_alone else {"seed"}
    for option in ("seed", "n_estimators"):
        if getattr(arguments, option) is not None and option not in known:
            raise EvaluationError(f"the model {name!r} has no option --{option.replace('_', '-')}")
    if arguments.n_estimators is not None:
        model = model.clone({"n_estimators": arguments.n_estimators})
    return model


@contextmanager
def _prediction_file(
    arguments: argparse.Namespace,
) -> Iterator[Callable[[Stream], OnPrediction | None]]:
    """Open the file of predictions; give what makes the function that writes those of a stream."""
    path, source = arguments.predictions, arguments.stream or DEFAULT_STREAM
    if path is None:
        yield lambda stream: None
        return
    if os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
        raise EvaluationError(f"cannot write predictions to {path}: it is the stream")
    try:
        file = open(path, "w", newline="", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise EvaluationError(f"cannot write predictions to {path}: {error.strerror}") from error
    with file:
        writer = csv.writer(file, lineterminator="\n")
        columns = ["sample", "target", "prediction", "probability"]
        writer.writerow(["stream", *columns] if arguments.track else columns)

        def make_writer(stream: Stream) -> OnPrediction:
            start = [stream.name] if arguments.track else []

            def write(n: int, y: Label, label: Label | None, proba: dict[Label, float]) -> None:
                writer.writerow([*start, n, y, label, None if label is None else proba.get(label)])

            return write

        yield make_writer


def _print_table(
    title: str,
    stream: Stream,
    samples: Iterable[Sample],
    model: base.Classifier,
    measures: Sequence[ClassificationMetric],
    on_prediction: OnPrediction | None,
) -> Checkpoint | None:
    """Run, print a row at each checkpoint, and return the last one, if there was any."""
    titles = _titles(measures)
    widths = [max(len(text), _MIN_WIDTH) for text in titles]
    print(title, tables.line(titles, widths, left=()), sep="\n", flush=True)
    checkpoints = evaluation.even_checkpoints(stream.n_samples)
    checkpoint = None
    with _progress(samples, stream.n_samples) as bar:
        evaluation.warm_up(model.clone(), stream)
        bar.reset()  # its clock starts here
        for checkpoint in evaluation.iter_test_then_train(
            bar, model, measures, checkpoints, on_prediction
        ):
            tqdm.write(tables.line(_cells(checkpoint), widths, left=()), file=sys.stdout)
            sys.stdout.flush()
    return checkpoint


def _print_summary(
    names: Sequence[str], results: Sequence[Checkpoint], measures: Sequence[ClassificationMetric]
) -> None:
    """Print the last row of each stream, and the means."""
    titles = _titles(measures)
    mean = Checkpoint(
        round(statistics.fmean(row.n_samples for row in results)),
        {key: statistics.fmean(row.metrics[key] for row in results) for key in results[0].metrics},
        statistics.fmean(row.us_per_sample for row in results),
        round(statistics.fmean(row.memory for row in results)),
    )
    rows = [titles, *(_cells(row) for row in [*results, mean])]
    named = zip(["stream", *names, "mean"], rows, strict=True)
    print(tables.align([[name, *cells] for name, cells in named], left=(0,), least=_MIN_WIDTH))


@contextmanager
def _until_interrupt() -> Iterator[Callable[[Stream], Iterator[Sample]]]:
    """Give what cuts streams off at Ctrl-C, with no sample half done; a second one breaks off."""
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


def _progress(samples: Iterable[Sample], n_samples: int) -> tqdm[Sample]:
    return tqdm(samples, total=n_samples, unit=" samples", leave=False, file=sys.stderr)


def _describe(stream: Stream, model: base.Classifier, name: str) -> str:
    kinds = {"numeric": stream.n_numeric, "categorical": stream.n_categorical}
    features = " and ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    described = f"{type(model).__name__}()"
    if isinstance(model, AMFClassifier):
        described = f"{type(model).__name__}(n_estimators={model.n_estimators}, seed={model.seed})"
    elif isinstance(model, compose.Pipeline):  # it would take lines
        described = baselines.DESCRIPTIONS[name]
    return f"{stream.name}: {stream.n_samples} samples; features: {features}; {described}"


def _titles(measures: Iterable[ClassificationMetric]) -> list[str]:
    names = [type(measure).__name__ for measure in measures]
    return ["samples", *(_TITLES.get(name, name) for name in names), "us/sample", "memory"]


def _cells(checkpoint: Checkpoint) -> list[str]:
    return [
        str(checkpoint.n_samples),
        *(f"{value:.4f}" for value in checkpoint.metrics.values()),
        f"{checkpoint.us_per_sample:.1f}",
        humanize_bytes(checkpoint.memory),
    ]
