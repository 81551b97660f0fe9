"""The subcommand `river-amf compare`: several models on one stream, in one table."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from river_amf.cli.options import (
    add_stream_arguments,
    at_least,
    check_outputs,
    chosen_metrics,
    chosen_stream,
    comma_separated,
    is_terminal,
    load_chosen,
    report_written,
    seconds,
    title_lines,
)
from river_amf.evaluation import EvaluationError
from river_amf.evaluation.comparison import comparison_of
from river_amf.evaluation.report import report_of
from river_amf.evaluation.runs import ALL, has_failed, run_models
from river_amf.evaluation.sources import reason_of
from river_amf.evaluation.tasks import TASKS

_ALL_FAILED = 1
_FILES = {"csv": "the table", "html": "the page"}

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
    " failed has none."
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
    add(
        "--html",
        metavar="FILE",
        help="write a page with figures of all models along the stream, beside those of models"
        " that look at no features (needs the extra `html`)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand, run, and return the exit status."""
    if arguments.models is not None and not arguments.models:
        raise EvaluationError("--models must name at least one model")
    check_outputs(arguments, [chosen_stream(arguments)], **_FILES)
    stream = load_chosen(arguments).complete()
    task = TASKS[stream.task]
    chosen = [*task.usual] if arguments.models is None else [*map(str.lower, arguments.models)]
    chosen = [*task.descriptions] if chosen == [ALL] else list(dict.fromkeys(chosen))
    for name in chosen:  # before the metrics are looked at
        task.maker(name, arguments.seed, reason_of(stream))
    ran = run_models(
        stream,
        {name: name for name in chosen},
        chosen_metrics(arguments, task),
        time_limit=arguments.time_limit,
        seed=arguments.seed,
        progress=is_terminal(),
        task=task.name,
        is_report=arguments.html is not None,
        delay=arguments.delay,
        seeds=arguments.seeds,
    )
    comparison = comparison_of(ran)
    write: dict[str, Callable[[str], object]] = {
        "csv": lambda path: comparison.table.to_csv(path, lineterminator="\n"),
        "html": lambda path: report_of(ran).save(path),
    }
    errors = []
    try:
        print(*title_lines(stream, arguments), comparison, sep="\n", flush=True)
    finally:  # even if the output is closed
        for option, what in _FILES.items():
            path = getattr(arguments, option)
            if path is None:
                continue
            try:
                write[option](path)
                report_written(what, path)
            except OSError as error:
                errors.append(f"cannot write {what} to {path}: {error.strerror or error}")
    if errors:
        raise EvaluationError("; ".join(errors))
    if comparison.interrupted:
        raise KeyboardInterrupt
    return _ALL_FAILED if all(map(has_failed, comparison.table["status"][chosen])) else 0
