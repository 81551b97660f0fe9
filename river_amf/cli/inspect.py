"""Show the columns of a file as `river-amf evaluate` reads them, or what is in a saved model.

Of a column, show its name, how it is read, number of missing and of distinct values, and an
example. Of a saved model, show its class, parameters and trees, and how what it learned was read;
it is checked, and no code in it is run.
"""

import argparse
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pandas as pd
from river.utils.pretty import humanize_bytes

from river_amf import persistence
from river_amf.cli import options
from river_amf.ensemble import Ensemble
from river_amf.evaluation import EvaluationError
from river_amf.inputs.kinds import shown
from river_amf.outputs.printing import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_file_arguments(parser, f"{options.FILE}; or a saved model", explains=True)
    parser.epilog = """Examples:
  river-amf inspect sales.csv
  river-amf inspect export.txt --decimal , --header 4"""


def run(arguments: argparse.Namespace) -> int:
    if _is_model(arguments.stream):
        _show_model(arguments.stream)
        return 0
    stream = options.load_chosen(arguments)
    print(*options.title_lines(stream, arguments), sep="\n")
    print(stream.columns().to_string(index=False))
    return 0


def _show_model(path: str) -> None:
    model, header = read_model(path)
    about = f"{humanize_bytes(os.path.getsize(path))}, format {header['format']}"
    about = f"{os.path.basename(path)}: {about}, written by river_amf {header['river_amf'][:40]}"
    print(printable(about), repr(model), sep="\n")
    reading = header["notes"].get("reading")
    if isinstance(reading, dict):
        options = {name: reading[name] for name in reading if name not in ("target", "kinds")}
        kinds = reading.get("kinds") or {}
        columns = ", ".join(f"{shown(name)} {kind}" for name, kind in kinds.items())
        print(printable(f"target {shown(reading.get('target'))}; columns: {columns}"))
        if options:
            texts = (f"{name}={shown(value)}" for name, value in options.items())
            print(printable(f"read with {', '.join(texts)}"))
    if isinstance(model, Ensemble):
        trees = pd.DataFrame([tree.summary for tree in model])
        print(trees.to_string(float_format="{:g}".format))


def _is_model(path: str) -> bool:
    if not os.path.isfile(path):  # a pipe can be read only once
        return False
    with suppress(OSError), open(path, "rb") as file:
        return re.match(rb"(?s)PK\x03\x04.*(header\.json|\.amf)", file.read(99)) is not None
    return False


def read_model(path: str) -> tuple[Any, Mapping[str, Any]]:
    """Return the model in a file and the header of the file, or raise EvaluationError."""
    try:
        return persistence.load_with_header(path)
    except OSError as error:
        raise EvaluationError(f"cannot read {path!r}: {error.strerror or error}") from None
