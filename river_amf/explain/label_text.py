"""Explanations of the predictions of classifiers as text."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.explain import linear_experts, paths
from river_amf.explain.formatting import (
    category_text,
    count_text,
    counts_text,
    name,
    rule_text,
    short,
    table,
)
from river_amf.inputs.encoding import Features
from river_amf.inputs.labels import Labels
from river_amf.state.arena import Arena

FEW_TREES = 3  # up to this many trees, all paths are shown
_MOST_LABELS = 5  # maximum number of labels in a table
MOST_INPUTS = 8  # of linear models that are listed


def explain(
    arena: Arena,
    features: Features,
    labels: Labels,
    outputs: linear_experts.ExpertOutputs,
    tree: int | None,
) -> str:
    """Explain a prediction for what experts make of a sample, as `debug_one` does."""
    n_trees, values = len(arena.trees), outputs.values
    few = n_trees <= FEW_TREES
    chosen = ([*range(n_trees)] if few else [0]) if tree is None else [tree]
    proba = outputs.answer
    parts = [_prediction(proba), _votes(arena, list(labels), values, proba)]
    if experts := linear_experts.names(arena):
        parts.append(_linear_models(arena, list(labels), outputs, proba))
        if len(proba) > 1 and {linear_experts.LOGISTIC, linear_experts.WORDS} & set(experts):
            parts.append(_inputs(arena, features, list(labels), outputs, proba))
    parts += [_path(arena, features, list(labels), values, proba, t) for t in chosen]
    return "\n\n".join([*parts, *other_trees(n_trees, chosen)])


def other_trees(n_trees: int, chosen: list[int]) -> list[str]:
    """Return how to see the other trees, if there are any."""
    if len(chosen) == n_trees:
        return []
    return [
        f"For the path in another tree: debug_one(x, tree=...), with tree from 0 to {n_trees - 1}"
    ]


def _prediction(proba: dict[Hashable, float]) -> str:
    """Return the predicted label and the probabilities of the most probable ones."""
    best = _most_probable(proba)
    rows = [[short(label), f"{proba[label]:.4f}"] for label in best]
    others = len(proba) - len(best)
    if others:
        rest = sum(proba.values()) - sum(proba[label] for label in best)
        rows.append([f"{others} others", f"{rest:.4f}"])
    return f"Prediction: {short(best[0])}\n{table(rows, left=(0,))}"


def _most_probable(proba: dict[Hashable, float]) -> list[Hashable]:
    """Return the labels that are shown, the most probable one first."""
    return sorted(proba, key=lambda label: -proba[label])[:_MOST_LABELS]


def _votes(
    arena: Arena,
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
    return f"{title}\n{table([header, *rows])}"


def _linear_models(
    arena: Arena,
    labels: list[Hashable],
    outputs: linear_experts.ExpertOutputs,
    proba: dict[Hashable, float],
) -> str:
    """Return the prediction of each linear model and memory, and its weight in the vote."""
    names, best = linear_experts.names(arena), _most_probable(proba)
    of_linear_models = np.exp(outputs.votes[len(arena.trees) :])[
        :, [labels.index(label) for label in best]
    ]
    rows = [
        [linear_model, f"{weight:.4f}", *(f"{p:.4f}" for p in of_linear_model)]
        for linear_model, weight, of_linear_model in zip(
            names, linear_experts.vote_weights(arena), of_linear_models, strict=True
        )
    ]
    least = f"{kernels.LINEAR_FLOOR:g}"
    title = "Linear models, label memory" if len(arena.memories) else "Linear models"
    title = f"{title} (each adds weight x log(p), where log(p) is at least {least})"
    return f"{title}\n{table([['model', 'weight', *map(short, best)], *rows], left=(0,))}"


def _inputs(
    arena: Arena,
    features: Features,
    labels: list[Hashable],
    outputs: linear_experts.ExpertOutputs,
    proba: dict[Hashable, float],
) -> str:
    """Return the inputs that separate the two most probable labels, the strongest first."""
    first, second = _most_probable(proba)[:2]
    found = []
    for source, value in linear_experts.sample_inputs(arena, features, outputs):
        weight = source.weights[labels.index(first)] - source.weights[labels.index(second)]
        found.append((float(weight) * value, value, float(weight), source))
    found.sort(key=lambda row: -abs(row[0]))
    rows = [
        [
            source.linear_model,
            _input_name(features, source),
            *(f"{v:.4f}" for v in (value, weight, part)),
        ]
        for part, value, weight, source in found[:MOST_INPUTS]
    ]
    if len(found) > MOST_INPUTS:
        rest = math.fsum(part for part, *_ in found[MOST_INPUTS:])
        rows.append(["", f"{len(found) - MOST_INPUTS} others", "", "", f"{rest:.4f}"])
    title = f"Inputs of linear models (weights: of {short(first)} less those of {short(second)})"
    header = ["model", "feature", "input", "weight", "product"]
    return f"{title}\n{table([header, *rows], left=(0, 1))}"


def _input_name(features: Features, source: linear_experts.Input) -> str:
    """Return the name of an input: a feature, with its category if it has any."""
    if source.feature is None:
        return "(constant)"
    if features.categories(source.feature) is None:
        return name(source.feature)
    category = "a new category" if source.category is None else category_text(source.category)
    return f"{name(source.feature)} = {category}"


def _path(
    arena: Arena,
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
        return f"{title}: it has just started afresh"
    header = ["node", "share", "mass", f"p({short(best)})", "samples", "counts", "split"]
    rows = [
        [
            str(step.node),
            f"{step.share:.4f}",
            f"{step.mass:.4f}",
            f"{step.own.proba[column]:.4f}",
            count_text(step.n_samples),
            counts_text(dict(zip(labels, step.own.counts.tolist(), strict=False))),
            rule_text(arena, features, values, tree, step),
        ]
        for step in steps
    ]
    return f"{title}\n{table([header, *rows], left=(-2, -1))}"
