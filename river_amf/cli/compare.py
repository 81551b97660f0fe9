"""The subcommand `river-amf compare`: several models on one stream, in one table."""

from __future__ import annotations

import argparse
import sys

from river_amf.baselines import DESCRIPTIONS
from river_amf.cli import options
from river_amf.evaluation import BUNDLED, STREAMS, compare
from river_amf.evaluation.models import TASKS
from river_amf.evaluation.report import report_of

DESCRIPTION = (
    "Run several models over the same stream and compare them: each model predicts every sample"
    " and then learns it (test-then-train). If a model fails, its row of the table has the error;"
    " if all fail, the exit status is 1. Ctrl-C prints and writes the results so far."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    options.add_stream_arguments(parser)
    usual = "; ".join(f"{name}: {', '.join(task.usual)}" for name, task in TASKS.items())
    about = ". ".join(
        f"For {task.task}: " + "; ".join(f"{name}: {DESCRIPTIONS[name]}" for name in task.models(1))
        for task in TASKS.values()
    )
    about = f"models to run (default: {usual}). {about}"
    parser.add_argument("--models", **options.LIST | {"default": None}, help=about)
    parser.epilog = f"Streams: {', '.join((*BUNDLED, *STREAMS))}. {parser.epilog}"
    parser.add_argument("--csv", metavar="FILE", help="write the table to a CSV file")


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand, run, and return the exit status."""
    options.check_outputs(arguments, "csv", "html")
    stream = options.load_chosen(arguments).complete()
    models = arguments.models and [*dict.fromkeys(map(str.lower, arguments.models))]
    comparison = compare(
        stream,
        models,
        arguments.metrics,
        seed=arguments.seed,
        progress=sys.stderr.isatty(),
        task=stream.task,
        record=arguments.html is not None,
        delay=arguments.delay,
        batch=arguments.batch,
        moment=arguments.moment,
    )
    try:
        print(*options.title_lines(stream, arguments), comparison, sep="\n", flush=True)
    finally:
        if arguments.csv is not None:
            comparison.table.to_csv(arguments.csv, lineterminator="\n")
        if arguments.html is not None:
            report_of(comparison, vars(arguments)).save(arguments.html)
    if comparison.interrupt is not None:
        raise comparison.interrupt
    return int(all(comparison.runs[name].has_failed for name in models or comparison.runs))
