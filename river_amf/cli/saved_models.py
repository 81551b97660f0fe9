"""Saved models: how they are recognized and read, and what `river-amf inspect` shows of them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pandas as pd
from river.utils.pretty import humanize_bytes

from river_amf import persistence
from river_amf.ensemble import Ensemble
from river_amf.evaluation import EvaluationError
from river_amf.inputs.kinds import shown
from river_amf.outputs.printing import printable


def show_model(path: str) -> None:
    """Print the class, parameters and trees of a model, and how what it learned was read."""
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


def is_model(path: str) -> bool:
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
