"""The subcommand `river-amf compare`: several models on one stream, in one table."""

from __future__ import annotations

import argparse
import sys

from river_amf.cli import options
from river_amf.evaluation import EvaluationError
from river_amf.evaluation.comparison import comparison_of
from river_amf.evaluation.report import report_of
from river_amf.evaluation.runs import ALL, has_failed, run_models
from river_amf.evaluation.tasks import TASKS

_ALL_FAILED = 1

DESCRIPTION = (
    "Run several models over the same stream and compare them: each model predicts every sample"
    " and then learns it (test-then-train). If a model fails or runs out of time, its row of the"
    " table says so."
)
EPILOG = (
    "Exit status: 0 if at least one model ran, even if it ran out of time; 1 if all models failed;"
    " 2 if the arguments or the stream are invalid or a file cannot be written; 130 after Ctrl-C"
    " and 143 after SIGTERM, which still print the table and write the files with the results so"
    " far. For a model that ran out of time or was interrupted, the metrics cover the samples it"
    " learned; a model that failed has none."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    options.add_stream_arguments(parser)
    add = parser.add_argument
    usual = "; ".join(f"{name}: {', '.join(task.usual)}" for name, task in TASKS.items())
    known = "; ".join(f"{name}: {', '.join(task.descriptions)}" for name, task in TASKS.items())
    add(
        "--models",
        type=options.comma_separated,
        metavar="A,B",
        help=f"models to run, or all (default: {usual}); {known}",
    )
    add(
        "--time-limit",
        type=options.seconds,
        metavar="SECONDS",
        help="stop a model that runs longer than this; checked between samples",
    )
    add(
        "--seeds",
        type=options.at_least(2),
        metavar="N",
        help="run models that draw random numbers with N seeds; the table has means and standard"
        " deviations",
    )
    add("--csv", metavar="FILE", help="write the table to a CSV file")
    options.add_html(parser, "all models")


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand, run, and return the exit status."""
    if arguments.models == []:
        raise EvaluationError("--models must name at least one model")
    options.check_outputs(arguments, [arguments.stream], csv="the table", html="the page")
    stream = options.load_chosen(arguments).complete()
    models = (
        None if arguments.models is None else [*dict.fromkeys(map(str.lower, arguments.models))]
    )
    ran = run_models(
        stream,
        ALL if models == [ALL] else models,
        arguments.metrics,
        time_limit=arguments.time_limit,
        seed=arguments.seed,
        progress=sys.stderr.isatty(),
        task=stream.task,
        is_report=arguments.html is not None,
        delay=arguments.delay,
        seeds=arguments.seeds,
    )
    comparison = comparison_of(ran)
    errors = []
    for option, what in (("csv", "the table"), ("html", "the page")):
        path = getattr(arguments, option)
        try:
            if path is None:
                continue
            if option == "csv":
                comparison.table.to_csv(path, lineterminator="\n")
            else:
                report_of(ran).save(path)
            options.report_written(what, path)
        except OSError as error:
            errors.append(f"cannot write {what} to {path}: {error.strerror or error}")
    print(*options.title_lines(stream, arguments), comparison, sep="\n", flush=True)
    if errors:
        raise EvaluationError("; ".join(errors))
    if ran.interrupt is not None:
        raise ran.interrupt
    chosen = [*ran.runs] if models in (None, [ALL]) else models
    return _ALL_FAILED if all(map(has_failed, comparison.table["status"][chosen])) else 0
