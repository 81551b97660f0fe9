"""Run several models over the same stream, and compare them.

Each model predicts every sample and then learns it (test-then-train). If a model fails, its row of
the table has the error; if all fail, the exit status is 1. Ctrl-C prints and writes the results so
far.
"""

import argparse
import sys

from river_amf.cli import options
from river_amf.evaluation import compare
from river_amf.evaluation.comparison import report_of
from river_amf.pages.records import not_ahead


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_stream_arguments(parser)
    about = "models to run, of those that `river-amf models` lists (the usual ones)"
    parser.add_argument("--models", **options.LIST | {"default": None}, help=about)
    parser.add_argument("--csv", metavar="FILE", help="write the table to a CSV file")
    parser.epilog = f"""Examples:
  river-amf compare Bananas
  river-amf compare sales.csv --models adaptive,linear,knn --html page.html
{parser.epilog}"""


def run(arguments: argparse.Namespace) -> int:
    options.check_outputs(arguments, "csv", "html")
    stream = options.load_chosen(arguments).complete()
    models = arguments.models and [*dict.fromkeys(map(str.lower, arguments.models))]
    chosen = {name: getattr(arguments, name) for name in ("seed", "delay", "batch", "moment")}
    chosen |= {"task": stream.task, "record": arguments.html is not None}
    comparison = compare(stream, models, arguments.metrics, progress=sys.stderr.isatty(), **chosen)
    behind = [not_ahead(comparison.table, comparison.naive_baselines)]
    try:
        lines = [*options.title_lines(stream, arguments), comparison, *filter(None, behind)]
        print(*lines, sep="\n", flush=True)
    finally:
        if arguments.csv is not None:
            comparison.table.to_csv(arguments.csv, lineterminator="\n")
        if arguments.html is not None:
            report_of(comparison, vars(arguments)).save(arguments.html)
    if comparison.interrupt is not None:
        raise comparison.interrupt
    return int(all(comparison.runs[name].has_failed for name in models or comparison.runs))
