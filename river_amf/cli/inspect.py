"""The subcommand `river-amf inspect`: what is in the file of a saved model."""

from __future__ import annotations

import argparse
import inspect
import math
import os
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from river.utils.pretty import humanize_bytes

from river_amf import kernels, persistence
from river_amf.classifier import AMFClassifier
from river_amf.evaluation import EvaluationError
from river_amf.explain import linear_experts, paths, text_tables
from river_amf.inputs.kinds import printable, shown
from river_amf.persistence import FileError
from river_amf.regressor import AMFRegressor
from river_amf.state.arena import Arena

DESCRIPTION = (
    "Tell what is in a file that a model was saved to: its class, parameters, labels or error,"
    " features and trees. The file is read as a whole and checked, and no code in it is run."
)

_MOST = 10  # labels, features and trees that are listed
_INDENT = "  "
_TITLE = 12  # characters of the titles, at the left
_WIDTH = 100

_Lines = Iterator[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("file", metavar="FILE", help="a file written by the method save of a model")
    parser.add_argument(
        "--all",
        action="store_true",
        help=f"list all labels, features and trees (default: at most {_MOST} of each)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what is in the file, and return the exit status."""
    contents = read_model(arguments.file)
    print(f"{printable(os.path.basename(arguments.file))}: {contents.kind}")
    for line in describe(contents, most=None if arguments.all else _MOST):
        print(line)
    return 0


def read_model(path: str) -> persistence.Contents:
    """Return what is in the file of a model, or raise EvaluationError."""
    try:
        return persistence.contents(path)
    except (FileError, ImportError, MemoryError) as error:
        raise EvaluationError(str(error)) from None
    except OSError as error:
        raise EvaluationError(f"cannot read {path!r}: {error.strerror or error}") from None


def describe(contents: persistence.Contents, most: int | None = _MOST) -> _Lines:
    """Yield lines about a model from a file, listing at most so many labels, features and trees.

    >>> import io
    >>> from river_amf import AMFClassifier
    >>> model, file = AMFClassifier(n_classes=3), io.BytesIO()
    >>> for label in ("ham", "spam", "ham"):
    ...     model.learn_one({}, label)
    >>> model.save(file)
    >>> _ = file.seek(0)
    >>> for line in describe(persistence.contents(file)):
    ...     print(line)  # doctest: +ELLIPSIS
    file        ... KiB, format ..., written by river_amf ...
    parameters  n_classes=3
    defaults    n_estimators=10, ...
    learned     3 samples
    labels      2: 'ham' 2, 'spam' 1
    ...
    """
    model = contents.model
    size = humanize_bytes(contents.size)
    yield _titled_line(
        "file",
        f"{size}, format {contents.format}, written by river_amf {printable(contents.release, 40)}",
    )
    yield from _parameters(model)
    inner = getattr(model, "model_", model)  # of a scikit-learn estimator, once it is fitted
    if isinstance(inner, AMFClassifier | AMFRegressor):
        yield from inner._read(_forest, inner, most)
    else:
        yield _titled_line("learned", "nothing: it is not fitted")


def _titled_line(title: str, text: str) -> str:
    return f"{title:<{_TITLE}}{text}"


def _parameters(model: Any) -> _Lines:
    """Yield the parameters, those that are not the defaults first."""
    defaults = inspect.signature(type(model)).parameters
    values = {name: shown(getattr(model, name)) for name in defaults}
    chosen = {name for name in values if values[name] != shown(defaults[name].default)}
    for title, is_listed in (("parameters", True), ("defaults", False)):
        named = [f"{name}={values[name]}" for name in values if (name in chosen) == is_listed]
        text = ", ".join(named) or "none"
        wrapped = textwrap.wrap(text, _WIDTH - _TITLE, break_long_words=False) or [text]
        for line in wrapped:
            yield _titled_line(title, line)
            title = ""


def _learned(model: AMFClassifier | AMFRegressor, arena: Arena, most: int | None) -> _Lines:
    """Yield what a forest has learned to predict."""
    root = int(arena.trees["root"][0])  # the first tree never starts afresh
    if isinstance(model, AMFClassifier):
        labels = list(model._labels)
        weights = arena.counts[0, root, : len(labels)].tolist()
        yield from _counted(dict(zip(labels, weights, strict=True)), most)
        return
    yield _titled_line("learned", f"{_weight_text(_root_weight(arena, 0))} samples")
    error = math.sqrt(np.mean(arena.trees["variance"]))
    yield _titled_line("error", f"{error:.5g} (recent root mean square error of a tree)")


def _counted(counts: dict[Any, float], most: int | None) -> _Lines:
    """Yield the weight of all samples and of each label, the most frequent ones first."""
    yield _titled_line("learned", f"{_weight_text(sum(counts.values()))} samples")
    frequent = sorted(counts, key=counts.__getitem__, reverse=True)
    named = [f"{shown(label)} {_weight_text(counts[label])}" for label in frequent[:most]]
    yield _titled_line(
        "labels", f"{len(counts)}: {_listed(named, len(counts))}" if counts else "none"
    )


def _weight_text(value: float) -> str:
    """Return a sum of weights, without needless digits."""
    return f"{value:.0f}" if value == round(value) else f"{value:.6g}"


def _listed(named: list[str], n_all: int) -> str:
    """Return names with commas, and how many there are besides."""
    rest = [f"and {n_all - len(named)} more"] if n_all > len(named) else []
    return ", ".join([*named, *rest])


def _forest(model: AMFClassifier | AMFRegressor, most: int | None) -> list[str]:
    """Return the lines about a forest."""
    arena = model._arena
    if arena is None:
        return [_titled_line("learned", "nothing")]
    lines = [*_learned(model, arena, most)]
    lines.append(_titled_line("memory", humanize_bytes(model._engine.nbytes())))
    if model.fading_factor is not None:
        share = model._engine.faded_share()
        lines.append(_titled_line("fading", f"share {share:.2f} of recent predictions"))
    if linear_experts.names(arena):
        pairs = zip(linear_experts.names(arena), linear_experts.vote_weights(arena), strict=True)
        text = ", ".join(f"{name} {weight:.3f}" for name, weight in pairs)
        title = "experts" if len(arena.memories) else "linear"
        lines.append(_titled_line(title, f"{text} (weights in the vote)"))
    return [*lines, *_features(model, arena, most), *_trees(model, arena, most)]


def _features(model: AMFClassifier | AMFRegressor, arena: Arena, most: int | None) -> _Lines:
    """Yield a table of the features."""
    features, has_relevance = model._features, model.split_intensity == "relevance"
    settled, names = list(features), [*features, *features.all_undecided]
    titles = ["feature", "kind", "categories", *(["relevance"] if has_relevance else [])]
    rows = [titles]
    for column, name in enumerate(names[:most]):
        categories, is_open = features.categories(name), column >= len(settled)
        kind, count = "open" if is_open else "numeric", ""
        if categories is not None:
            kind, count = "category", str(len(categories))
        row = [shown(name), kind, count]
        if has_relevance:
            row.append("" if is_open else f"{arena.features['relevance'][column]:.3f}")
        rows.append(row)
    n_categorical, n_open = sum(features.is_categorical), len(names) - len(settled)
    kinds = f"{len(settled) - n_categorical} numeric, {n_categorical} categorical"
    if n_open:
        kinds += f", {n_open} whose kind is open"
    yield _titled_line("features", f"{len(names)}: {kinds}" if names else "none")
    if names:
        yield from _table_lines(rows, (0, 1), len(names) + 1 - len(rows))


def _trees(model: AMFClassifier | AMFRegressor, arena: Arena, most: int | None) -> _Lines:
    """Yield a table of the trees."""
    trees, rows = arena.trees, [["tree", "nodes", "leaves", "depth", "samples", "restarts"]]
    for t in range(len(trees))[:most]:
        nodes, root = arena.nodes[t, : trees["n_nodes"][t]], int(trees["root"][t])
        n_leaves = int((nodes["left"] == kernels.NONE).sum())
        depth = str(len(paths.levels(nodes, root)) - 1) if len(nodes) else ""
        learned = _weight_text(_root_weight(arena, t)) if len(nodes) else "0"
        n_restarts = str(trees["n_restarts"][t])
        rows.append([str(t), str(len(nodes)), str(n_leaves), depth, learned, n_restarts])
    full = int((trees["n_nodes"] + 2 > arena.settings["max_nodes"][0]).sum())
    remarks = [f"{len(trees)}, with {np.sum(trees['n_nodes'])} nodes in all"]
    if model.restart_threshold is not None:
        remarks.append(f"{trees['n_restarts'].sum()} restarts after a drift")
    if full:
        remarks.append(f"{full} at their limit of {arena.settings['max_nodes'][0]} nodes")
    yield _titled_line("trees", "; ".join(remarks))
    yield from _table_lines(rows, (), len(trees) + 1 - len(rows))


def _root_weight(arena: Arena, t: int) -> float:
    """Return the weight of the samples that a tree has learned since it last began."""
    return float(arena.nodes["n_samples"][t, arena.trees["root"][t]])


def _table_lines(rows: list[list[str]], left: Iterable[int], n_more: int) -> _Lines:
    """Yield the lines of a table, indented, and how many rows it leaves out."""
    for line in text_tables.align(rows, left).splitlines():
        yield f"{_INDENT}{line}"
    if n_more:
        yield f"{_INDENT}and {n_more} more (--all lists them)"
