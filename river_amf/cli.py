"""The command: evaluate a model on a stream or a track and print how it fares."""

from __future__ import annotations

import argparse
import csv
import functools
import importlib.metadata
import inspect
import itertools
import os
import signal
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

from river import base, datasets, metrics
from river.metrics.base import BinaryMetric, ClassificationMetric
from river.utils.pretty import humanize_bytes
from tqdm import tqdm

import river_amf
from river_amf import evaluation
from river_amf.dummy import OnlineDummyClassifier
from river_amf.evaluation import (
    Checkpoint,
    DriftStream,
    EvaluationError,
    Label,
    OnPrediction,
    Sample,
    Stream,
)
from river_amf.forest import AdaptiveAMFClassifier, AMFClassifier

_MODELS: dict[str, Callable[..., base.Classifier]] = {
    "amf": AMFClassifier,
    "adaptive": AdaptiveAMFClassifier,
    "dummy": OnlineDummyClassifier,
}
_MODEL_OPTIONS = ("n_estimators", "seed")  # of the command, for models that have such a parameter

_INTERRUPTED = 128 + signal.SIGINT
_BROKEN_PIPE = 128 + 13  # SIGPIPE, which Windows does not know
_MAX_INTEGER = 2**31 - 1
_WARM_UP = 100  # samples; enough to meet every compiled function of an early stream
_TITLES = {"Accuracy": "accuracy", "CrossEntropy": "log-loss"}
_DEFAULT_STREAM = "Bananas"
_MIN_WIDTH = 10  # characters; "976.56 KiB" is the longest size below a gibibyte


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"river-amf: error: {' '.join(message.split())}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv
        Arguments after the name of the command; those of the process by default.

    Returns
    -------
    The exit status: 0, 2 without a subcommand, 130 after Ctrl-C, 141 if nobody reads the table.

    Raises
    ------
    SystemExit
        With status 2 after an error, told in one line on stderr; with 0 after help or version.

    Examples
    --------
    >>> main(["evaluate", "Bananas", "--limit", "20", "--seed", "1"])
    Bananas: 20 samples; features: 2 numeric; AMFClassifier(n_estimators=10, seed=1)
    ...
    0

    """
    parser = _make_parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 2
    try:
        status: int = arguments.run(arguments)
        return status
    except BrokenPipeError:
        # Python flushes stdout once more as it ends, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    except (EvaluationError, OSError) as error:
        parser.error(str(error))


def _make_parser() -> _Parser:
    parser = _Parser(prog="river-amf", description="Aggregated Mondrian Forests for data streams.")
    parser.add_argument("--version", action="version", version=f"river-amf {_version()}")
    commands = parser.add_subparsers(dest="command", title="commands")
    evaluate = commands.add_parser(
        "evaluate",
        help="predict and learn a stream, sample by sample, and print the figures",
        description="Predict each sample of a stream, then learn it (test-then-train).",
    )
    evaluate.set_defaults(run=_evaluate)
    _add_evaluate_arguments(evaluate)
    tracks = commands.add_parser(
        "tracks",
        help="list the tracks, their streams and where these drift",
        description="List the tracks, their streams and where these drift. Counts are of samples.",
    )
    tracks.set_defaults(run=_list_tracks)
    return parser


def _add_evaluate_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "stream",
        nargs="?",
        metavar="STREAM",
        help="CSV file, gzipped if it ends in .gz (an empty field is missing; any other text, NA"
        " too, makes its column one of categories), a data"
        f" set of river: {', '.join(evaluation.BUNDLED)} (default: {_DEFAULT_STREAM}),"
        " or a stream that `river-amf tracks` lists",
    )
    add("--track", metavar="NAME", help=f"run several streams: {', '.join(evaluation.TRACKS)}")
    add(
        "--model",
        choices=_MODELS,
        default="amf",
        help="the forest, the one for streams that drift, or the label frequencies (default: amf)",
    )
    add("--target", metavar="COLUMN", help="the labels (default: 'target', else the last column)")
    add(
        "--categorical",
        type=_names,
        default=[],
        metavar="A,B",
        help="columns of codes to take as categories; columns of text are in any case",
    )
    add(
        "--n-estimators",
        type=_at_least(1, _MAX_INTEGER),
        metavar="N",
        help="trees (default: 10)",
    )
    add("--seed", type=_at_least(0), metavar="N", help="seed, for figures that can be repeated")
    add("--limit", type=_at_least(1, _MAX_INTEGER), metavar="N", help="stop after N samples")
    add(
        "--metrics",
        type=_names,
        default=[],
        metavar="A,B",
        help="more columns: classification metrics of river, such as MacroF1,CohenKappa",
    )
    add("--predictions", metavar="FILE", help="write each prediction to a CSV file")


def _version() -> str:
    try:
        return importlib.metadata.version("river-amf")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout
        return river_amf.__version__


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _at_least(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a parser of whole numbers between two bounds."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            to = "" if most is None else f" to {most}"
            message = f"must be a whole number from {least}{to}, not {text!r}"
            raise argparse.ArgumentTypeError(message)
        return number

    return parse


@functools.cache
def _known_metrics() -> dict[str, type[ClassificationMetric]]:
    """Return the metrics of river, by name, that need no argument and give one number."""
    known = {}
    for name, metric in vars(metrics).items():
        if isinstance(metric, type) and issubclass(metric, ClassificationMetric):
            with suppress(TypeError, NotImplementedError):
                metric().get()
                known[name] = metric
    return known


def _make_metrics(names: Iterable[str]) -> list[ClassificationMetric]:
    """Return accuracy, log-loss and the metrics named, in any case, each once."""
    known = _known_metrics()
    by_lower = {name.lower(): name for name in known}
    chosen = dict.fromkeys(_TITLES)
    for name in names:
        lower = name.strip().lower()
        if lower not in by_lower:
            hint = evaluation.suggest(name, sorted(known))
            raise EvaluationError(f"no classification metric {name!r} without arguments ({hint})")
        chosen[by_lower[lower]] = None
    return [known[name]() for name in chosen]


def _check_labels(stream: Stream, measures: Iterable[ClassificationMetric]) -> None:
    """Raise if a metric needs binary labels and the stream has others."""
    binary = next((m for m in measures if isinstance(m, BinaryMetric)), None)
    if binary is None:
        return
    odd = [y for _, y in stream if y not in (True, False)]
    if odd:
        name = type(binary).__name__
        any_label = f"Macro{name}" if f"Macro{name}" in _known_metrics() else "MacroF1"
        raise EvaluationError(
            f"metric {name} needs labels True/False or 0/1, not {odd[0]!r} as in {stream.name};"
            f" {any_label} takes any labels"
        )


def _evaluate(arguments: argparse.Namespace) -> int:
    """Prepare all that can fail, then run; return the exit status."""
    measures = _make_metrics(arguments.metrics)
    streams = _load_streams(arguments)
    for stream in streams:
        _check_labels(stream, measures)
    model = _make_model(arguments)
    results = []
    with _prediction_file(arguments) as writer, _until_interrupt() as until_interrupt:
        for stream in streams:
            samples = until_interrupt(stream)
            fresh = [measure.clone() for measure in measures]
            last = _print_table(stream, samples, model.clone(), fresh, writer(stream))
            n_samples = last.n_samples if last else 0
            if last is None or n_samples < stream.n_samples:
                of = f" of {stream.name}" if arguments.track else ""
                print(f"interrupted after {n_samples} samples{of}", file=sys.stderr)
                return _INTERRUPTED
            results.append(last)
            if arguments.track:
                print()
    if arguments.track:
        _print_summary([stream.name for stream in streams], results, measures)
    return 0


def _load_streams(arguments: argparse.Namespace) -> list[Stream]:
    """Return the streams of the track, or the one stream."""
    if arguments.track is None:
        source = arguments.stream or _DEFAULT_STREAM
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
    make = _MODELS[arguments.model]
    known = inspect.signature(make).parameters
    given = {name: getattr(arguments, name) for name in _MODEL_OPTIONS}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in known:
            option = f"--{name.replace('_', '-')}"
            raise EvaluationError(f"the model {arguments.model!r} has no option {option}")
    return make(**given)


@contextmanager
def _prediction_file(
    arguments: argparse.Namespace,
) -> Iterator[Callable[[Stream], OnPrediction | None]]:
    """Open the file of predictions; give what makes the function that writes those of a stream."""
    path, source = arguments.predictions, arguments.stream or _DEFAULT_STREAM
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

            def write(n: int, y: Label, proba: dict[Label, float]) -> None:
                label = evaluation.most_probable(proba)
                writer.writerow([*start, n, y, label, None if label is None else proba[label]])

            return write

        yield make_writer


def _print_table(
    stream: Stream,
    samples: Iterable[Sample],
    model: base.Classifier,
    measures: Sequence[ClassificationMetric],
    on_prediction: OnPrediction | None,
) -> Checkpoint | None:
    """Run, print a row at each checkpoint, and return the last one, if there was any."""
    titles = _titles(measures)
    print(_describe(stream, model), _align(titles, titles), sep="\n", flush=True)
    checkpoints = evaluation.even_checkpoints(stream.n_samples)
    checkpoint = None
    with _progress(samples, stream.n_samples) as bar:
        _warm_up(model, stream)
        bar.reset()  # its clock starts here
        for checkpoint in evaluation.iter_test_then_train(
            bar, model, measures, checkpoints, on_prediction
        ):
            tqdm.write(_align(_cells(checkpoint), titles), file=sys.stdout)
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
    width = max(map(len, names))
    for name, cells in zip(["stream", *names, "mean"], rows, strict=True):
        print(name.ljust(width), _align(cells, titles), sep="  ")


def _list_tracks(arguments: argparse.Namespace) -> int:
    """Print the tracks and their streams; return the exit status."""
    above: tuple[str, ...] = ()
    width = max(map(len, (*evaluation.STREAMS, *evaluation.BUNDLED)))
    for track, names in evaluation.TRACKS.items():
        print(track)
        if names == above:
            print("  all of the above")
            continue
        above += names
        for name, dataset in zip(names, evaluation.load_track(track), strict=True):
            size = f"{dataset.n_samples:>6} samples  {dataset.n_features:>2} features"
            print(f"  {name:<{width}}  {size}  {_describe_drift(dataset)}".rstrip())
    return 0


def _describe_drift(dataset: datasets.base.Dataset) -> str:
    if not isinstance(dataset, DriftStream):
        return ""
    if not dataset.drifts:
        return "drifts all along"
    places = ", ".join(map(str, dataset.drifts))
    if dataset.width:
        return f"drifts around {places}, each over {dataset.width}"
    return f"drifts after {places}"


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


def _warm_up(model: base.Classifier, stream: Stream) -> None:
    """Let a copy learn the first samples, so that no time spent compiling is counted."""
    start = itertools.islice(stream, _WARM_UP)
    for _ in evaluation.iter_test_then_train(start, model.clone(), measures=(), checkpoints=()):
        pass


def _describe(stream: Stream, model: base.Classifier) -> str:
    kinds = {"numeric": stream.n_numeric, "categorical": stream.n_categorical}
    features = " and ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    parameters = model._get_params()
    options = [f"{name}={parameters[name]}" for name in _MODEL_OPTIONS if name in parameters]
    return (
        f"{stream.name}: {stream.n_samples} samples; features: {features};"
        f" {type(model).__name__}({', '.join(options)})"
    )


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


def _align(cells: Sequence[str], titles: Sequence[str]) -> str:
    widths = [max(len(title), _MIN_WIDTH) for title in titles]
    return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
