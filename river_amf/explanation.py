"""Explanations of single predictions as text, and the formatting of splits, counts and labels."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels, paths, state, tables, voices
from river_amf.encoding import Features
from river_amf.kinds import shown
from river_amf.labels import Labels

FEW_TREES = 3  # up to this many trees, all paths are shown
_MOST_LABELS = 5  # maximum numbers of labels in a table, of counts in a text,
_MOST_COUNTS = 4
_MOST_CATEGORIES = 3  # and of categories in a rule
_MOST_INPUTS = 8  # of linear models that are listed
_WIDEST = 24  # maximum number of characters of a name, a label or a category
_INDENT = "  "


def explain(
    arena: state.Arena,
    features: Features,
    labels: Labels,
    heard: voices.Heard,
    proba: dict[Hashable, float],
    tree: int | None,
) -> str:
    """Explain the prediction `proba` for what is heard of a sample, as `debug_one` does."""
    n_trees, values = len(arena.trees), heard.values
    few = n_trees <= FEW_TREES
    chosen = ([*range(n_trees)] if few else [0]) if tree is None else [tree]
    parts = [_prediction(proba), _votes(arena, list(labels), values, proba)]
    if voices.names(arena):
        parts.append(_voices(arena, list(labels), heard, proba))
        if len(proba) > 1:
            parts.append(_inputs(arena, features, list(labels), heard, proba))
    parts += [_path(arena, features, list(labels), values, proba, t) for t in chosen]
    if len(chosen) < n_trees:
        parts.append(
            "For the path in another tree: debug_one(x, tree=...), "
            f"with tree from 0 to {n_trees - 1}"
        )
    return "\n\n".join(parts)


def short(value: object, widest: int = _WIDEST) -> str:
    """Return the repr of a value, truncated if it is long.

    >>> short("red"), short("a" * 40, 8)
    ("'red'", "'aaaaaa…")
    """
    text = shown(value)
    return text if len(text) <= widest else f"{text[: widest - 1]}…"


def name(value: Hashable, widest: int = _WIDEST) -> str:
    """Return the name of a feature or a label, without quotes if possible, truncated if long.

    >>> name("length"), name(("length", 2)), name("two" + chr(10))[0]
    ('length', "('length', 2)", "'")
    """
    text = value if isinstance(value, str) and value.isprintable() else shown(value)
    return text if len(text) <= widest else f"{text[: widest - 1]}…"


def number(value: float, tolerance: float, apart_from: float = math.nan) -> str:
    """Return the shortest text of a number within `tolerance`, on its side of `apart_from`.

    >>> number(2.30517, 0.1), number(1.7e9 + 12.34, 1.0), number(2.9996, 0.1, apart_from=3.0)
    ('2.31', '1700000012', '2.9996')
    >>> number(-0.817, 0.1), number(1.5e-9, 1e-12), number(2.5e20, 1e18)
    ('-0.817', '1.5e-09', '2.5e+20')
    """
    for digits in range(3, 17):
        text = f"{value:.{digits}g}"
        rounded = float(text)
        is_apart = (apart_from <= value) == (apart_from <= rounded)
        if abs(rounded - value) <= tolerance and is_apart:
            is_short = abs(rounded) >= 1e16 or "e-" in text
            return text if is_short else np.format_float_positional(rounded, trim="-")
    return repr(value)


def count(value: float) -> str:
    """Return the text of a count, which is a whole number unless there are weights.

    >>> count(12.0), count(0.25), count(1234567.0)
    ('12', '0.25', '1234567')
    """
    return f"{value:.0f}" if value == round(value) and value < 1e15 else f"{value:.4g}"


def counts_text(
    counts: dict[Hashable, float],
    most: int = _MOST_COUNTS,
    written: Callable[[Hashable], str] = short,
) -> str:
    """Return the counts of the most frequent labels, in the order of the dict.

    >>> counts_text({"spam": 3.0, "ham": 12.0, "other": 0.0})
    "'spam' 3, 'ham' 12"
    >>> counts_text({label: 1.0 for label in range(9)}, most=2)
    '0 1, 1 1, +7'
    """
    present = [label for label, n in counts.items() if n > 0]
    kept = sorted(present, key=lambda label: -counts[label])[:most]
    texts = [f"{written(label)} {count(counts[label])}" for label in present if label in kept]
    return ", ".join(texts + [f"+{len(present) - most}"] * (len(present) > most))


def categories_text(
    categories: Iterable[Hashable],
    first: Sequence[Hashable] = (),
    most: int = _MOST_CATEGORIES,
    widest: int = _WIDEST,
) -> str:
    """Return a set of categories, starting with those in `first`, truncated if there are many.

    >>> categories_text({"a"}), categories_text(set("dabce"), first=["e"])
    ("{'a'}", "{'e', 'a', 'b', +2}")
    """
    ordered = sorted(categories, key=lambda category: (category not in first, repr(category)))
    texts = [short(category, widest) for category in ordered[:most]]
    texts += [f"+{len(ordered) - most}"] * (len(ordered) > most)
    return f"{{{', '.join(texts)}}}"


def _table(rows: tables.Rows, left: Sequence[int] = ()) -> str:
    """Return rows aligned in columns, indented below their title."""
    return textwrap.indent(tables.align(rows, left), _INDENT)


def _prediction(proba: dict[Hashable, float]) -> str:
    """Return the predicted label and the probabilities of the most probable ones."""
    best = _most_probable(proba)
    rows = [[short(label), f"{proba[label]:.4f}"] for label in best]
    others = len(proba) - len(best)
    if others:
        rest = sum(proba.values()) - sum(proba[label] for label in best)
        rows.append([f"{others} others", f"{rest:.4f}"])
    return f"Prediction: {short(best[0])}\n{_table(rows, left=(0,))}"


def _most_probable(proba: dict[Hashable, float]) -> list[Hashable]:
    """Return the labels that are shown, the most probable one first."""
    return sorted(proba, key=lambda label: -proba[label])[:_MOST_LABELS]


def _votes(
    arena: state.Arena,
    labels: list[Hashable],
    values: NDArray[np.float64],
    proba: dict[Hashable, float],
) -> str:
    """Return each tree's prediction and its depth, and its weight if the vote is learned."""
    settings = arena.settings[0]
    n_trees = len(arena.trees)
    learns = bool(settings["learns_vote"])
    of_trees = np.array([paths.predict(arena, tree, values) for tree in range(n_trees)])
    depths = paths.weighted_depths(arena, values)
    best = _most_probable(proba)
    columns = [labels.index(label) for label in best]
    header = ["tree", *["weight"] * learns, *map(short, best), "depth"]
    rows = [
        [
            str(t),
            *[f"{arena.trees['vote_weight'][t]:.4f}"] * learns,
            *(f"{p:.4f}" for p in of_trees[t, columns]),
            f"{depths[t]:.2f}",
        ]
        for t in range(n_trees)
    ]
    title = "Trees (the forest predicts their mean)"
    if learns:
        log_p = f"log(p + {kernels.VOTE_FLOOR})"
        title = f"Trees (log P(label) = bias + sum of weight x {log_p} + constant)"
        rows.append(["bias", "", *(f"{b:.4f}" for b in arena.bias[columns]), ""])
    if settings["n_labels"] < settings["n_classes"]:
        title += "; classes not seen yet share the rest"
    return f"{title}\n{_table([header, *rows])}"


def _voices(
    arena: state.Arena, labels: list[Hashable], heard: voices.Heard, proba: dict[Hashable, float]
) -> str:
    """Return each linear model's prediction, and its weight in the vote."""
    names, best = voices.names(arena), _most_probable(proba)
    of_voices = np.exp(heard.votes[len(arena.trees) :])[:, [labels.index(label) for label in best]]
    rows = [
        [voice, f"{weight:.4f}", *(f"{p:.4f}" for p in of_voice)]
        for voice, weight, of_voice in zip(
            names, voices.vote_weights(arena), of_voices, strict=True
        )
    ]
    least = f"{kernels.VOICE_FLOOR:g}"
    title = f"Linear models (each adds weight x log(p), where log(p) is at least {least})"
    return f"{title}\n{_table([['model', 'weight', *map(short, best)], *rows], left=(0,))}"


def _inputs(
    arena: state.Arena,
    features: Features,
    labels: list[Hashable],
    heard: voices.Heard,
    proba: dict[Hashable, float],
) -> str:
    """Return the inputs that tell the two most probable labels apart, the strongest first."""
    first, second = _most_probable(proba)[:2]
    found = []
    for source, value in voices.inputs_of(arena, features, heard):
        weight = source.weights[labels.index(first)] - source.weights[labels.index(second)]
        found.append((float(weight) * value, value, float(weight), source))
    found.sort(key=lambda row: -abs(row[0]))
    rows = [
        [source.voice, _input_name(features, source), *(f"{v:.4f}" for v in (value, weight, part))]
        for part, value, weight, source in found[:_MOST_INPUTS]
    ]
    if len(found) > _MOST_INPUTS:
        rest = math.fsum(part for part, *_ in found[_MOST_INPUTS:])
        rows.append(["", f"{len(found) - _MOST_INPUTS} others", "", "", f"{rest:.4f}"])
    title = f"What linear models hear (weights: of {short(first)} less those of {short(second)})"
    header = ["model", "feature", "input", "weight", "product"]
    return f"{title}\n{_table([header, *rows], left=(0, 1))}"


def _input_name(features: Features, source: voices.Input) -> str:
    """Return the name of an input: a feature, with its category if it has any."""
    if source.feature is None:
        return "(constant)"
    if features.categories(source.feature) is None:
        return name(source.feature)
    category = "a new category" if source.category is None else short(source.category)
    return f"{name(source.feature)} = {category}"


def _path(
    arena: state.Arena,
    features: Features,
    labels: list[Hashable],
    values: NDArray[np.float64],
    proba: dict[Hashable, float],
    tree: int,
) -> str:
    """Return the path down a tree, one line per node."""
    best = _most_probable(proba)[0]
    column = labels.index(best)
    steps = paths.walk(arena, tree, values)
    title = f"Path in tree {tree}, of {arena.trees['n_nodes'][tree]} nodes"
    if not steps:
        return f"{title}: it has just started afresh and knows nothing yet"
    header = ["node", "share", "mass", f"p({short(best)})", "samples", "counts", "split"]
    rows = [
        [
            str(step.node),
            f"{step.share:.4f}",
            f"{step.mass:.4f}",
            f"{step.proba[column]:.4f}",
            count(step.n_samples),
            counts_text(dict(zip(labels, step.counts.tolist(), strict=False))),
            _rule(arena, features, values, tree, step),
        ]
        for step in steps
    ]
    return f"{title}\n{_table([header, *rows], left=(-2, -1))}"


def _rule(
    arena: state.Arena,
    features: Features,
    values: NDArray[np.float64],
    tree: int,
    step: paths.Step,
) -> str:
    """Return the condition at a split that the sample meets."""
    if step.goes is None:
        return "leaf"
    feature = list(features)[step.feature]
    if math.isnan(step.value):
        return f"{name(feature)} missing: {step.goes}, the heavier side"
    key = arena.trees["key"][tree]
    left = paths.categories_left(features, feature, step.feature, key, step.threshold)
    if left is None:
        box = arena.boxes[tree, arena.nodes[tree, step.node]["slot"], :, step.feature]
        tolerance = 0.01 * float(box[1] - box[0])
        text = number(step.threshold, tolerance, step.value)
        text = f"{name(feature)} {'<=' if step.goes == 'left' else '>'} {text}"
        value = float(values[step.feature])
        is_outlier = value != step.value
        taken = f" ({number(value, tolerance)} is clipped to {number(step.value, tolerance)})"
        return text + taken * is_outlier
    code = values[step.feature]
    own = [known for known, its in (features.categories(feature) or {}).items() if its == code]
    if not own:
        return f"{name(feature)} has a new category: {step.goes}, by chance"
    relation = "in" if step.goes == "left" else "not in"
    return f"{name(feature)} {relation} {categories_text(left, first=own)}"
