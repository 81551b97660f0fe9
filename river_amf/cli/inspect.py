"""The subcommand `river-amf inspect`: what is in the file of a saved model."""

from __future__ import annotations

import argparse
import inspect
import os
import textwrap
from collections.abc import Iterator
from typing import Any

import pandas as pd
from river.utils.pretty import humanize_bytes

from river_amf import persistence
from river_amf.classifier import AMFClassifier
from river_amf.evaluation import EvaluationError
from river_amf.inputs.kinds import printable, shown
from river_amf.persistence import FileError
from river_amf.regressor import AMFRegressor

DESCRIPTION = (
    "Show what is in a file that a model was saved to: its class, parameters and trees, and how"
    " `river-amf evaluate` read what it learned. The file is read as a whole and checked, and no"
    " code in it is run."
)

_TITLE = 12  # characters of the titles, at the left
_WIDTH = 100
_MAX_LISTED = 10  # labels


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("file", metavar="FILE", help="a file written by the method save of a model")


def run(arguments: argparse.Namespace) -> int:
    """Print what is in the file, and return the exit status."""
    contents = read_model(arguments.file)
    print(f"{printable(os.path.basename(arguments.file))}: {contents.kind}")
    for title, text in describe(contents):
        wrapped = textwrap.wrap(printable(text), _WIDTH - _TITLE, break_long_words=False)
        for line in wrapped or [""]:
            print(f"{title:<{_TITLE}}{line}")
            title = ""
    model = getattr(contents.model, "model_", contents.model)  # of a scikit-learn estimator
    if isinstance(model, AMFClassifier | AMFRegressor) and model.n_samples:
        names = ("n_nodes", "n_leaves", "height", "n_samples")
        trees = [
            {"tree": t, **{n: getattr(tree, n) for n in names}} for t, tree in enumerate(model)
        ]
        print(pd.DataFrame(trees).to_string(index=False))
    return 0


def read_model(path: str) -> persistence.Contents:
    """Return what is in the file of a model, or raise EvaluationError."""
    try:
        return persistence.contents(path)
    except (FileError, ImportError, MemoryError) as error:
        raise EvaluationError(str(error)) from None
    except OSError as error:
        raise EvaluationError(f"cannot read {path!r}: {error.strerror or error}") from None


def describe(contents: persistence.Contents) -> Iterator[tuple[str, str]]:
    """Yield titles and texts about a model from a file.

    >>> import io
    >>> from river_amf import AMFClassifier
    >>> model, file = AMFClassifier(n_classes=3), io.BytesIO()
    >>> for label in ("ham", "spam", "ham"):
    ...     model.learn_one({}, label)
    >>> model.save(file)
    >>> _ = file.seek(0)
    >>> dict(describe(persistence.contents(file)))["labels"]
    "2: 'ham', 'spam'"
    """
    size, release = humanize_bytes(contents.size), printable(contents.release, 40)
    yield "file", f"{size}, format {contents.format}, written by river_amf {release}"
    defaults = inspect.signature(type(contents.model)).parameters
    values = {name: shown(getattr(contents.model, name)) for name in defaults}
    chosen = {name for name in values if values[name] != shown(defaults[name].default)}
    for title, is_listed in (("parameters", True), ("defaults", False)):
        named = [f"{name}={values[name]}" for name in values if (name in chosen) == is_listed]
        yield title, ", ".join(named) or "none"
    reading: Any = contents.notes.get("reading")
    if isinstance(reading, dict):
        yield "target", shown(reading.get("target"))
        options = {
            name: value for name, value in reading.items() if name not in ("target", "kinds")
        }
        yield "reading", ", ".join(f"{k}={shown(v)}" for k, v in options.items()) or "as it comes"
        columns = reading.get("kinds")
        if isinstance(columns, dict):
            yield "columns", ", ".join(f"{shown(k)} {v}" for k, v in columns.items())
    model = getattr(contents.model, "model_", contents.model)
    if not isinstance(model, AMFClassifier | AMFRegressor) or not model.n_samples:
        yield "learned", "nothing"
        return
    yield "learned", f"{model.n_samples:g} samples"
    if isinstance(model, AMFClassifier):
        labels = [*map(shown, model.predict_proba_one({}))]
        more = len(labels) - _MAX_LISTED
        listed = [*labels[:_MAX_LISTED], *([f"and {more} more"] if more > 0 else [])]
        yield "labels", f"{len(labels)}: {', '.join(listed)}"
    yield "memory", f"{humanize_bytes(model.memory_usage)}, {model.n_nodes} nodes in all"
