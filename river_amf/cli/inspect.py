"""The subcommand `river-amf inspect`: what is in the file of a saved model."""

from __future__ import annotations

import argparse
import os

from river.utils.pretty import humanize_bytes

from river_amf import inspection, persistence
from river_amf.evaluation import EvaluationError
from river_amf.explain.trees import Ensemble
from river_amf.inputs.kinds import printable
from river_amf.persistence import FileError

DESCRIPTION = (
    "Show the model in a file: its class, its parameters and figures of its trees. The file is read"
    " as a whole and checked, and no code in it is run."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("file", metavar="FILE", help="a file written by the method save of a model")


def run(arguments: argparse.Namespace) -> int:
    """Print what is in the file, and return the exit status."""
    contents = read_model(arguments.file)
    name, release = os.path.basename(arguments.file), contents.release
    about = f"{humanize_bytes(contents.size)}, format {contents.format}"
    print(printable(f"{name}: {about}, written by river_amf {release[:40]}"))
    print(repr(contents.model))
    forest = getattr(contents.model, "model_", contents.model)  # of a fitted estimator
    if isinstance(forest, Ensemble):
        print(inspection.tree_table(forest).to_string(float_format="{:g}".format))
    return 0


def read_model(path: str) -> persistence.Contents:
    """Return what is in the file of a model, or raise EvaluationError."""
    try:
        return persistence.contents(path)
    except (FileError, ImportError, MemoryError) as error:
        raise EvaluationError(str(error)) from None
    except OSError as error:
        raise EvaluationError(f"cannot read {path!r}: {error.strerror or error}") from None
