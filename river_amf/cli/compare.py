"""The subcommand `river-amf compare`: several models on one stream, in one table."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from river_amf import baselines, evaluation
from river_amf.cli.options import (
    DEFAULT_STREAM,
    add_stream_arguments,
    at_least,
    check_output,
    names,
    say_interrupted,
    seconds,
)
from river_amf.evaluation import Comparison, EvaluationError
from river_amf.evaluation.errors import suggest
from river_amf.evaluation.metrics import find_metric
from river_amf.evaluation.runs import Maker, has_failed

Writer = Callable[[Comparison, str], object]

_ALL_FAILED = 1
_FILES = {
    "csv": "the table",
    "markdown": "the table",
    "curves": "the curves",
    "png": "the picture",
}

DESCRIPTION = (
    "Run models over a stream side by side: each predicts every sample, then learns it"
    " (test-then-train). A model that fails or runs out of time is a row that says so."
)
EPILOG = (
    "Exit status: 0 if any model has run, out of time or not; 1 if all have failed; 2 after an"
    " error in the arguments, in the stream or in writing a file; 130 after Ctrl-C, which prints"
    " the table and writes the files with what there is. Figures of a model that ran out of time or"
    " was interrupted are those over the samples it has learnt; one that failed has none. A picture"
    " for which there is nothing to draw is told on stderr, and its file left as it was."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add_stream_arguments(parser)
    add = parser.add_argument
    add(
        "--models",
        type=names,
        metavar="A,B",
        help=f"some of these (default: all): {', '.join(baselines.DESCRIPTIONS)}",
    )
    add(
        "--window",
        type=at_least(1),
        metavar="N",
        help="samples of a window of the curves (default: about a thirtieth of the stream)",
    )
    add(
        "--time-limit",
        type=seconds,
        metavar="SECONDS",
        help="end the run of a model that takes longer; looked at between samples",
    )
    add("--csv", metavar="FILE", help="write the table to a CSV file")
    add("--markdown", metavar="FILE", help="write the table to a Markdown file")
    add("--curves", metavar="FILE", help="write accuracy and log-loss by window to a CSV file")
    add(
        "--png",
        metavar="FILE",
        help="draw the accuracy along the stream and against time (needs the extra `plot`)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand, run, and return the exit status."""
    source = arguments.stream or DEFAULT_STREAM
    makers = _choose(arguments.models, baselines.classifiers(arguments.seed))
    metrics = dict.fromkeys(map(find_metric, arguments.metrics))
    writers = _writers(arguments, source)
    stream = evaluation.load_stream(
        source, arguments.target, arguments.categorical, arguments.limit
    )
    comparison = evaluation.compare(
        stream,
        makers,
        metrics,
        window=arguments.window,
        time_limit=arguments.time_limit,
        progress=True,
    )
    print(f"{stream.name}: {stream.n_samples} samples", comparison, sep="\n", flush=True)
    _write(comparison, writers)
    if comparison.interrupted:
        return say_interrupted()
    return _ALL_FAILED if all(map(has_failed, comparison.table["status"])) else 0


def _choose(chosen: list[str] | None, makers: dict[str, Maker]) -> dict[str, Maker]:
    """Return the chosen models in the order given, or all of them."""
    if chosen is None:
        return makers
    if not chosen:
        raise EvaluationError("--models names no model")
    for name in chosen:
        if name.lower() not in makers:
            raise EvaluationError(f"no model {name!r} ({suggest(name, list(makers))})")
    return {name.lower(): makers[name.lower()] for name in chosen}


def _writers(arguments: argparse.Namespace, source: str) -> dict[str, tuple[Writer, str]]:
    """Return the writer and the path of each requested file by option, or raise."""
    paths = {option: path for option in _FILES if (path := getattr(arguments, option)) is not None}
    options: dict[Path, str] = {}
    for option, path in paths.items():
        check_output(path, source, _FILES[option])
        other = options.setdefault(Path(path).resolve(), option)
        if other != option:
            raise EvaluationError(f"--{other} and --{option} would both write to {path}")
    write: dict[str, Writer] = {
        "csv": Comparison.to_csv,
        "markdown": Comparison.to_markdown,
        "curves": _write_curves,
    }
    if "png" in paths:
        write["png"] = _picture_writer()
    return {option: (write[option], path) for option, path in paths.items()}


def _write(comparison: Comparison, writers: dict[str, tuple[Writer, str]]) -> None:
    """Write every file that can be written, then raise for those that cannot."""
    errors = []
    for option, (write, path) in writers.items():
        try:
            write(comparison, path)
        except OSError as error:
            errors.append(f"cannot write {_FILES[option]} to {path}: {error.strerror or error}")
    if errors:
        raise EvaluationError("; ".join(errors))


def _write_curves(comparison: Comparison, path: str) -> None:
    comparison.curves.to_csv(path, index=False, lineterminator="\n")


def _picture_writer() -> Callable[[Comparison, str], None]:
    """Return the function that draws the picture, or raise if matplotlib is missing."""
    try:
        from river_amf import plot
    except ImportError as error:
        raise EvaluationError(f"--png: {error}") from error

    from matplotlib import pyplot

    def draw(comparison: Comparison, path: str) -> None:
        figure = None
        try:
            figure = plot.comparison(comparison)[0].figure
            figure.savefig(path, format="png", dpi=150)
        except ValueError as error:  # for example, because all models failed
            state = "left as it was" if os.path.exists(path) else "not written"
            print(f"no picture, {path} is {state}: {error}", file=sys.stderr)
        finally:
            if figure is not None:
                pyplot.close(figure)

    return draw
