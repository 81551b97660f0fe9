"""The command: evaluate the forest on a stream and print how it fares."""

from __future__ import annotations

import argparse
import csv
import functools
import importlib.metadata
import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

from river import metrics
from river.metrics.base import BinaryMetric, ClassificationMetric
from river.utils.pretty import humanize_bytes
from tqdm import tqdm

import river_amf
from river_amf import evaluation
from river_amf.evaluation import Checkpoint, EvaluationError, Label, OnPrediction, Sample, Stream
from river_amf.forest import AMFClassifier

_INTERRUPTED = 128 + signal.SIGINT
_BROKEN_PIPE = 128 + 13  # SIGPIPE, which Windows does not know
_MAX_INTEGER = 2**31 - 1
_WARM_UP = 100  # samples; enough to meet every compiled function of an early stream
_TITLES = {"Accuracy": "accuracy", "CrossEntropy": "log-loss"}
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
        return _evaluate(arguments)
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
    add = evaluate.add_argument
    add(
        "stream",
        nargs="?",
        default="Bananas",
        metavar="STREAM",
        help="CSV file, gzipped if it ends in .gz (an empty field is missing; any other text, NA"
        " too, makes its column one of categories), or a data"
        f" set of river: {', '.join(evaluation.BUNDLED)} (default: %(default)s)",
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
        default=10,
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
    return parser


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
    stream = evaluation.load_stream(
        arguments.stream, arguments.target, arguments.categorical, arguments.limit
    )
    _check_labels(stream, measures)
    model = AMFClassifier(n_estimators=arguments.n_estimators, seed=arguments.seed)
    with _prediction_file(arguments.predictions, arguments.stream) as on_prediction:
        n_samples = _print_table(stream, model, measures, on_prediction)
    if n_samples < stream.n_samples:
        print(f"interrupted after {n_samples} samples", file=sys.stderr)
        return _INTERRUPTED
    return 0


@contextmanager
def _prediction_file(path: str | None, source: str) -> Iterator[OnPrediction | None]:
    """Open the file of predictions and give the function that writes to it."""
    if path is None:
        yield None
        return
    if os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
        raise EvaluationError(f"cannot write predictions to {path}: it is the stream")
    try:
        file = open(path, "w", newline="", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise EvaluationError(f"cannot write predictions to {path}: {error.strerror}") from error
    with file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["sample", "target", "prediction", "probability"])

        def write(n: int, y: Label, proba: dict[Label, float]) -> None:
            label = evaluation.most_probable(proba)
            writer.writerow([n, y, label, None if label is None else proba[label]])

        yield write


def _print_table(
    stream: Stream,
    model: AMFClassifier,
    measures: Sequence[ClassificationMetric],
    on_prediction: OnPrediction | None,
) -> int:
    """Run, print a row at each checkpoint, and return the number of samples done."""
    names = [type(measure).__name__ for measure in measures]
    titles = ["samples", *(_TITLES.get(name, name) for name in names), "us/sample", "memory"]
    print(_describe(stream, model), _align(titles, titles), sep="\n", flush=True)
    checkpoints = evaluation.even_checkpoints(stream.n_samples)
    n_samples = 0
    with _until_interrupt(stream) as samples, _progress(samples, stream.n_samples) as bar:
        _warm_up(model, stream)
        bar.reset()  # its clock starts here
        for checkpoint in evaluation.iter_test_then_train(
            bar, model, measures, checkpoints, on_prediction
        ):
            tqdm.write(_align(_cells(checkpoint), titles), file=sys.stdout)
            sys.stdout.flush()
            n_samples = checkpoint.n_samples
    return n_samples


@contextmanager
def _until_interrupt(samples: Iterable[Sample]) -> Iterator[Iterator[Sample]]:
    """Give the samples up to Ctrl-C, so that none is left half done; a second Ctrl-C breaks off."""
    interrupted = False

    def stop(signal_number: int, frame: object) -> None:
        nonlocal interrupted
        interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield itertools.takewhile(lambda _: not interrupted, samples)
    finally:
        signal.signal(signal.SIGINT, previous)


def _progress(samples: Iterable[Sample], n_samples: int) -> tqdm[Sample]:
    return tqdm(samples, total=n_samples, unit=" samples", leave=False, file=sys.stderr)


def _warm_up(model: AMFClassifier, stream: Stream) -> None:
    """Let a copy learn the first samples, so that no time spent compiling is counted."""
    start = itertools.islice(stream, _WARM_UP)
    for _ in evaluation.iter_test_then_train(start, model.clone(), measures=(), checkpoints=()):
        pass


def _describe(stream: Stream, model: AMFClassifier) -> str:
    kinds = {"numeric": stream.n_numeric, "categorical": stream.n_categorical}
    features = " and ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    return (
        f"{stream.name}: {stream.n_samples} samples; features: {features};"
        f" AMFClassifier(n_estimators={model.n_estimators}, seed={model.seed})"
    )


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
