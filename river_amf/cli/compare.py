"""The subcommand `river-amf compare`: several models on one stream, in one table."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from river_amf.cli.options import (
    add_stream_arguments,
    at_least,
    check_metrics,
    check_output,
    check_pages,
    chosen_metrics,
    chosen_stream,
    comma_separated,
    is_terminal,
    load_chosen,
    print_line,
    report_interrupt,
    say_written,
    seconds,
    size_text,
    task_lines,
)
from river_amf.evaluation import EvaluationError, tasks
from river_amf.evaluation.comparison import comparison_of
from river_amf.evaluation.report import report_of
from river_amf.evaluation.runs import ALL, Ran, has_failed, run_models
from river_amf.evaluation.sources import reason_of
from river_amf.evaluation.tasks import TASKS, Task

Writer = Callable[[Ran, str], object]

_ALL_FAILED = 1
_FILES = {
    "csv": "the table",
    "markdown": "the table",
    "curves": "the curves",
    "png": "the plot",
    "html": "the page",
}

DESCRIPTION = (
    "Run several models over the same stream and compare them: each model predicts every sample"
    " and then learns it (test-then-train). If a model fails or runs out of time, its row of the"
    " table says so."
)
EPILOG = (
    "Exit status: 0 if at least one model ran, even if it ran out of time; 1 if all models failed;"
    " 2 if the arguments or the stream are invalid or a file cannot be written; 130 after Ctrl-C,"
    " which still prints the table and writes the files with the results so far. For a model that"
    " ran out of time or was interrupted, the metrics cover the samples it learned; a model that"
    " failed has none. If there is nothing to plot, a message on stderr says so, and the file is"
    " left unchanged."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add_stream_arguments(parser)
    add = parser.add_argument
    add(
        "--models",
        type=comma_separated,
        metavar="A,B",
        help="models to run, or all (default: "
        + "; ".join(f"{name}: {', '.join(task.usual)}" for name, task in TASKS.items())
        + "); "
        + "; ".join(f"{name}: {', '.join(task.descriptions)}" for name, task in TASKS.items()),
    )
    add(
        "--window",
        type=at_least(1),
        metavar="N",
        help="samples per window of the curves (default: about a thirtieth of the stream)",
    )
    add(
        "--time-limit",
        type=seconds,
        metavar="SECONDS",
        help="stop a model that runs longer than this; checked between samples",
    )
    add(
        "--seeds",
        type=at_least(2),
        metavar="N",
        help="run models that draw random numbers with N seeds; the table has means and standard"
        " deviations",
    )
    add("--csv", metavar="FILE", help="write the table to a CSV file")
    add("--markdown", metavar="FILE", help="write the table to a Markdown file")
    add("--curves", metavar="FILE", help="write the metrics per window to a CSV file")
    add(
        "--png",
        metavar="FILE",
        help="plot the accuracy along the stream and against time (needs the extra `plot`)",
    )
    add(
        "--html",
        metavar="FILE",
        help="write a page with figures of all models along the stream, beside those of models"
        " that look at no features (needs the extra `html`)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand, run, and return the exit status."""
    source = chosen_stream(arguments)
    _check_models(arguments)
    check_metrics(arguments)
    writers = _writers(arguments, source)
    stream = load_chosen(arguments).complete()
    task = TASKS[stream.task]
    chosen = _chosen_models(arguments, task)
    for name in chosen:  # before the metrics are looked at
        task.maker(name, arguments.seed, reason_of(stream))
    metrics = chosen_metrics(arguments, task)
    ran = run_models(
        stream,
        chosen,
        metrics,
        positive=arguments.positive,
        window=arguments.window,
        time_limit=arguments.time_limit,
        limit=None,
        seed=arguments.seed,
        progress=is_terminal(),
        task=task.name,
        is_report=arguments.html is not None,
        delay=arguments.delay,
        seeds=arguments.seeds,
    )
    comparison = comparison_of(ran)
    try:
        lines = [*task_lines(stream, arguments), size_text(stream), comparison]
        print(*lines, sep="\n", flush=True)
    finally:  # even if nobody reads the table
        _write_files(ran, writers)
    if comparison.interrupted:
        return report_interrupt()
    return _ALL_FAILED if all(map(has_failed, comparison.table["status"][[*chosen]])) else 0


def _chosen_models(arguments: argparse.Namespace, task: Task) -> dict[str, str]:
    """Return the names of the models, each by itself."""
    if arguments.models is None:
        return {name: name for name in task.usual}
    names = task.descriptions if arguments.models == [ALL] else map(str.lower, arguments.models)
    return {name: name for name in names}


def _check_models(arguments: argparse.Namespace) -> None:
    """Raise if no models are named, or one that there is not."""
    if arguments.models is not None and not arguments.models:
        raise EvaluationError("--models must name at least one model")
    for name in [] if arguments.models in (None, [ALL]) else arguments.models:
        if arguments.task is None:
            tasks.check_baseline_name(name)
        else:
            TASKS[arguments.task].maker(name, arguments.seed)


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
        "csv": lambda ran, path: comparison_of(ran).to_csv(path),
        "markdown": lambda ran, path: comparison_of(ran).to_markdown(path),
        "curves": lambda ran, path: comparison_of(ran).curves.to_csv(
            path, index=False, lineterminator="\n"
        ),
        "html": lambda ran, path: report_of(ran).save(path),
    }
    if "html" in paths:
        check_pages()
    if "png" in paths:
        write["png"] = _picture_writer()
    return {option: (write[option], path) for option, path in paths.items()}


def _write_files(ran: Ran, writers: dict[str, tuple[Writer, str]]) -> None:
    """Write every file that can be written, then raise for those that cannot."""
    errors = []
    for option, (write, path) in writers.items():
        try:
            if write(ran, path) is not False:
                say_written(_FILES[option], path)
        except OSError as error:
            errors.append(f"cannot write {_FILES[option]} to {path}: {error.strerror or error}")
    if errors:
        raise EvaluationError("; ".join(errors))


def _picture_writer() -> Writer:
    """Return the function that draws the plot, or raise if matplotlib is missing."""
    try:
        from river_amf import plot
    except ImportError as error:
        raise EvaluationError(f"--png: {error}") from error

    from matplotlib import pyplot

    def draw(ran: Ran, path: str) -> bool:
        figure = pyplot.figure(figsize=(8.0, 4.0), layout="constrained")
        try:
            plot.comparison(comparison_of(ran), ax=figure.add_subplot())
            figure.savefig(path, format="png", dpi=150)
            return True
        except ValueError as error:  # for example, because all models failed
            state = "left unchanged" if os.path.exists(path) else "not written"
            print_line(f"no plot, {path} was {state}: {error}")
            return False
        finally:
            pyplot.close(figure)

    return draw
