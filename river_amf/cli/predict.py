"""The subcommand `river-amf predict`: a saved model on the rows of a file."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from typing import Any

from river import base

from river_amf.cli import options
from river_amf.cli.inspect import read_model
from river_amf.cli.prediction_csv import PredictionWriter
from river_amf.evaluation import EvaluationError
from river_amf.evaluation.loading import load_features
from river_amf.evaluation.prequential import predictor
from river_amf.evaluation.streams import shorten
from river_amf.inputs.kinds import printable

DESCRIPTION = (
    "Predict the rows of a file with a model that `river-amf evaluate --save` has written. The file"
    " is read with the options that the model was saved with, and its target may be absent. The"
    " model learns nothing."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("model", metavar="MODEL", help="a file written by --save")
    parser.add_argument("stream", metavar="FILE", help="a file; - for standard input")
    parser.add_argument(
        "--csv", metavar="FILE", help="where to write the predictions (default: standard output)"
    )
    options.add_keep(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the predictions as CSV, and return the exit status."""
    model, header = read_model(arguments.model)
    path, name = arguments.csv, printable(arguments.model)
    reading = header["notes"].get("reading")
    if not isinstance(model, base.Classifier | base.Regressor) or not isinstance(reading, dict):
        raise EvaluationError(f"{name} holds no model that `river-amf evaluate --save` wrote")
    options.check_outputs(arguments, [arguments.stream, arguments.model], csv="the predictions")
    try:
        rows, names = load_features(arguments.stream, reading, arguments.keep)
    except (AttributeError, KeyError, TypeError) as error:
        raise EvaluationError(f"{name} is damaged: {error!r}") from error
    _check_columns(reading, names, rows.name)
    labels = [*model.predict_proba_one({})] if isinstance(model, base.Classifier) else []
    predict, n_rows = predictor(model), 0
    output: Any = nullcontext(sys.stdout)
    with output if path is None else open(path, "w", newline="", encoding="utf-8") as file:
        writer = PredictionWriter(file, arguments.keep, rows.target in names, model, labels)
        for record in rows.records():
            n_rows += 1
            prediction, beside, _ = predict(record.row, record.x)
            writer.write(record, prediction, beside)
            if rows.later is not None:  # for a process that reads them
                file.flush()
    options.report_written(f"{n_rows} predictions", path or "standard output")
    return 0


def _check_columns(reading: dict[str, Any], names: list[str], name: str) -> None:
    """Raise if the model has none of the columns of a file; note those that differ."""
    expected = [*reading["kinds"], *filter(None, [reading.get("text")])]
    others = {*expected, reading["target"], *reading.get("drop", ())}
    lacking = [column for column in expected if column not in names]
    if len(lacking) == len(expected):
        raise EvaluationError(
            shorten(f"{name} has none of the columns of the model: {', '.join(expected)}")
        )
    unknown = [column for column in names if column not in others]
    for verb, columns in (("lacks", lacking), ("has, unknown to the model,", unknown)):
        if columns:
            listed = ", ".join(map(repr, columns))
            options.print_line(f"river-amf: {shorten(f'{name} {verb} {listed}')}")
