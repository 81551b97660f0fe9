"""Predict the rows of a file with a model that `river-amf evaluate --save` has written.

The file is read with the options that the model was saved with, unless others are given, and its
target may be absent. The model learns nothing. The predictions are printed as CSV.
"""

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any

from river import base
from river.conf import Interval

from river_amf.cli import options
from river_amf.cli.inspect import read_model
from river_amf.evaluation import EvaluationError
from river_amf.evaluation.loading import load_features, split_names
from river_amf.evaluation.prequential import has_intervals, predictor
from river_amf.evaluation.streams import Record
from river_amf.evaluation.table_files import LAYOUT
from river_amf.inputs.encoding import ascending
from river_amf.outputs.printing import print_line, printable, shorten

_MAX_LABELS = 20  # with a column of probabilities each


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a file written by --save")
    parser.add_argument("stream", metavar="FILE", help=options.FILE)
    parser.add_argument("--keep", **options.KEEP)
    options.add_reading_arguments(parser)
    parser.set_defaults(**dict.fromkeys(LAYOUT))  # those of the model
    parser.epilog = f"""Examples:
  river-amf predict price.amf new_sales.csv > predictions.csv
  tail -f log.csv | river-amf predict price.amf -
{parser.epilog}"""


def run(arguments: argparse.Namespace) -> int:
    model, header = read_model(arguments.model)
    name, reading = printable(arguments.model), header["notes"].get("reading")
    if not isinstance(model, base.Classifier | base.Regressor) or not isinstance(reading, dict):
        raise EvaluationError(f"{name} holds no model that `river-amf evaluate --save` wrote")
    reading |= {n: v for n, v in vars(arguments).items() if n in LAYOUT and v is not None}
    try:
        rows, names = load_features(arguments.stream, reading, arguments.keep)
    except (AttributeError, KeyError, TypeError) as error:
        raise EvaluationError(f"{name} is damaged: {error!r}") from error
    _check_columns(reading, names, rows.name)
    labels = ascending(model.predict_proba_one({})) if isinstance(model, base.Classifier) else []
    write = prediction_writer(sys.stdout, rows.keep, rows.target in names, model, labels)
    predict = predictor(model)
    for record in rows.records():
        prediction, uncertainty, _ = predict(record.row, record.x)
        write(record, prediction, uncertainty)
        if rows.later is not None:  # for a process that reads them
            sys.stdout.flush()
    return 0


def _check_columns(reading: dict[str, Any], names: list[str], name: str) -> None:
    # raise if the model has none of the columns of a file; note those that differ
    expected = [*reading["kinds"], *filter(None, [reading.get("text")])]
    others = {*expected, reading["target"], *split_names(reading.get("drop", ()), names)}
    lacking = [column for column in expected if column not in names]
    if len(lacking) == len(expected):
        error = f"{name} has none of the columns of the model: {', '.join(expected)}"
        raise EvaluationError(shorten(error))
    unknown = [column for column in names if column not in others]
    for verb, columns in (("lacks", lacking), ("has, unknown to the model,", unknown)):
        if columns:
            line = f"{name} {verb} {', '.join(map(repr, columns))}"
            print_line(f"river-amf: {shorten(line)}")


def prediction_writer(
    file: IO[str], keep: Sequence[str], has_target: bool, model: Any, labels: Sequence[Any]
) -> Callable[[Record, Any, Any], None]:
    """Write the titles of a CSV file, and return a function that writes a prediction."""
    # The ends of the interval or the probability of each label follow; of more than twenty labels
    # only that of the predicted one.
    is_short, writer = len(labels) <= _MAX_LABELS, csv.writer(file, lineterminator="\n")
    titles = ["lower", "upper"] if has_intervals(model) else []
    if isinstance(model, base.Classifier):
        titles = [f"p({label})" for label in labels] if is_short else ["probability"]
    is_terminal = file.isatty()  # where control characters have an effect

    def write_row(*cells: Any) -> None:
        writer.writerow([printable(c) if is_terminal and type(c) is str else c for c in cells])

    write_row("row", *keep, *["target"] * has_target, "prediction", *titles)

    def write(record: Record, prediction: Any, uncertainty: Any) -> None:
        cells: list[Any] = [None] * len(titles)
        if isinstance(uncertainty, Interval):
            cells = [uncertainty.lower, uncertainty.upper]
        elif uncertainty:
            cells = [uncertainty.get(y, 0.0) for y in (labels if is_short else [prediction])]
        write_row(record.row, *record.kept, *[record.y] * has_target, prediction, *cells)

    return write
