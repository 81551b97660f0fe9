"""Run one model over a stream, and print its metrics along the way.

It predicts each sample, then learns it. Results are kept after Ctrl-C or a bad row.
"""

import argparse
import inspect
import itertools
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from river_amf import persistence
from river_amf.cli import options
from river_amf.cli.predict import prediction_writer
from river_amf.evaluation import EvaluationError, Stream
from river_amf.evaluation.comparison import WINDOWS, comparison_of, report_of
from river_amf.evaluation.metrics import make_metrics
from river_amf.evaluation.models import TASKS
from river_amf.evaluation.prequential import Step, round_interval, schedule_of, warm_up_model
from river_amf.evaluation.recording import Run
from river_amf.evaluation.streams import ROWS
from river_amf.inputs.encoding import ascending
from river_amf.outputs.formatting import describe
from river_amf.pages.records import not_ahead
from river_amf.pages.tables import TITLES, cell_text
from river_amf.state.layout import CLASSIFICATION


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_stream_arguments(parser)
    add = parser.add_argument
    about = "one that `river-amf models` lists (adaptive)"
    add("--model", type=str.lower, metavar="NAME", default="adaptive", help=about)
    add("--n-estimators", type=int, metavar="N", help="number of trees of our forests")
    about = "errors, or the target, if it is like the last ones: for regressors of ours"
    add("--recent", choices=("errors", "target"), metavar="WHAT", help=about)
    add("--predictions", metavar="CSV", help="write all predictions to a CSV file")
    add("--keep", **options.KEEP)
    add("--save", metavar="MODEL", help="save the model, for `river-amf predict`")
    parser.epilog = f"""Examples:
  river-amf evaluate Bananas
  river-amf evaluate sales.csv --target price --drop id --save price.amf
  river-amf evaluate sales.csv --delay 1d --predictions new.csv --html page.html
{parser.epilog}"""


def run(arguments: argparse.Namespace) -> int:
    """Check everything that can be checked beforehand, run, and return the exit status."""
    options.check_outputs(arguments, "predictions", "save", "html")
    stream, is_recorded = options.load_chosen(arguments), arguments.html is not None
    if is_recorded or not f"{arguments.delay}{arguments.batch}".isdigit():
        stream = stream.complete()  # for the windows of a page, or the times of all samples
    schedule = schedule_of(stream, arguments.delay, arguments.batch, arguments.moment)
    metrics, naive = make_metrics(arguments.metrics, stream), TASKS[stream.task].naive_baselines
    model, name = _make_model(arguments, stream), arguments.model
    window = round_interval(stream.n_samples, WINDOWS) if is_recorded else 0
    runs = {n: Run(metrics, schedule, window, records=is_recorded) for n in (name, *naive)}
    *titles, last = options.title_lines(stream, arguments)
    print(*titles, f"{last}; {describe(model)}", sep="\n")
    warm_up_model(model.clone(), stream.samples)
    try:
        _print_table(arguments, stream, model, runs)
        table = comparison_of(stream, runs, naive).table
        if behind := not_ahead(table, naive, arguments.recent):
            print(behind)
    finally:
        if arguments.save is not None and runs[name].n_samples:
            reading = options.file_options(arguments) | {"target": stream.target or "target"}
            notes = {"reading": reading | {"kinds": dict(stream.kinds)}}
            persistence.save_with_notes(model, arguments.save, notes)
        if is_recorded and runs[name].n_samples:
            report_of(comparison_of(stream, runs, naive), vars(arguments)).save(arguments.html)
    return 0


def _make_model(arguments: argparse.Namespace, stream: Stream) -> Any:
    name, task = arguments.model, TASKS[stream.task]
    model: Any = task.maker(name, name, stream, arguments.seed)()
    if arguments.save is not None and not isinstance(model, persistence.Saved):
        raise EvaluationError(
            f"model {name!r} cannot be saved: files hold our own models, such as amf and adaptive"
        )
    chosen = {"n_estimators": arguments.n_estimators, "recent": arguments.recent}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    for option in chosen.keys() - inspect.signature(type(model)).parameters.keys():
        raise EvaluationError(f"model {name!r} does not take --{option.replace('_', '-')}")
    return model.clone(chosen) if chosen else model


def _print_table(
    arguments: argparse.Namespace, stream: Stream, model: Any, runs: Mapping[str, Run]
) -> None:
    (_, run), *others = runs.items()
    titles = [TITLES.get(column, column) for column in ("n_samples", *run.figures)]
    every = round_interval(stream.n_samples) if stream.later is None else ROWS
    labels = ascending({*stream.targets}) if stream.task == CLASSIFICATION else []
    records, learned = itertools.tee(stream.records())  # labels may be delayed
    path, keep, targets = arguments.predictions, stream.keep, list[Any]()

    def show(*cells: str) -> None:
        widths = (max(len(title), len("976.56 KiB")) for title in titles)
        print("  ".join(map(str.rjust, cells, widths)), flush=True)

    def show_row(name: str, values: Mapping[str, float]) -> None:
        show(name, *(cell_text(k, value) for k, value in values.items()))

    def on_step(step: Step) -> None:
        targets.append(step.y)
        record = next(learned)
        if write is not None:
            write(record, step.prediction, step.uncertainty)
        if step.n % every == 0:
            show_row(str(step.n), run.measure())

    show(*titles)
    with nullcontext() if path is None else open(path, "w", newline="", encoding="utf-8") as file:
        write = None if file is None else prediction_writer(file, keep, True, model, labels)
        try:
            run.go(lambda: model, ((record.x, record.y) for record in records), on_step)
        finally:
            if run.n_samples % every:
                show_row(str(run.n_samples), run.measure())
            for name, naive in others if run.n_samples else ():
                make = TASKS[stream.task].maker(name, name, stream, None)
                naive.go(make, (({}, y) for y in targets))
                show_row(name, naive.figures)
