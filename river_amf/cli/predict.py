"""The subcommand `river-amf predict`: a saved model on the rows of a file."""

from __future__ import annotations

import argparse
import csv
import sys
from contextlib import nullcontext
from typing import Any

from river import base

from river_amf.cli.inspect import read_model
from river_amf.cli.options import check_output, say_written
from river_amf.evaluation import EvaluationError
from river_amf.evaluation.loading import load_features
from river_amf.evaluation.prequential import TestThenTrain, has_intervals
from river_amf.evaluation.scores import Scores
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


def run(arguments: argparse.Namespace) -> int:
    """Write the predictions as CSV, and return the exit status."""
    contents = read_model(arguments.model)
    model, path = contents.model, arguments.csv
    options = contents.notes.get("reading", {"target": "target"})
    if not isinstance(model, base.Classifier | base.Regressor) or not isinstance(options, dict):
        raise EvaluationError(f"{printable(arguments.model)} holds no model of a stream")
    if path is not None:
        check_output(path, arguments.stream, "the predictions")
        check_output(path, arguments.model, "the predictions")
    try:
        rows = load_features(arguments.stream, **options)
    except (AttributeError, TypeError) as error:
        raise EvaluationError(f"{printable(arguments.model)} is damaged: {error}") from error
    is_of_numbers = isinstance(model, base.Regressor)
    beside = ["lower", "upper"] * has_intervals(model) if is_of_numbers else ["probability"]
    loop = TestThenTrain(model, Scores({}), lambda *_: None)
    output: Any = nullcontext(sys.stdout)
    with output if path is None else open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["sample", "prediction", *beside])
        n = 0
        for n, (x, _) in enumerate(rows, start=1):
            answer = loop.predict(n, x)
            writer.writerow([n, answer.prediction, *answer.cells()[: len(beside)]])
            if rows.later is not None:  # somebody may wait for it
                file.flush()
    say_written(f"{n} predictions", path or "standard output")
    return 0
