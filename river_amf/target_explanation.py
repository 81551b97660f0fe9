"""Explanations of the predictions of regressors as text."""

from __future__ import annotations

import math

from river_amf import paths, state, voices
from river_amf.encoding import Features
from river_amf.explanation import FEW_TREES, other_trees
from river_amf.layout import LOCATION, SPREAD
from river_amf.wording import count, rule, scaled, table


def explain(
    arena: state.Arena,
    features: Features,
    origin: float,
    heard: voices.Heard,
    interval: tuple[float, float],
    prediction: float,
    tree: int | None,
) -> str:
    """Explain a prediction and its interval of 90 % for what is heard of a sample."""
    n_trees = len(arena.trees)
    few = n_trees <= FEW_TREES
    chosen = ([*range(n_trees)] if few else [0]) if tree is None else [tree]
    votes = heard.votes[:n_trees]
    scale = math.sqrt(votes[:, SPREAD].mean() + votes[:, LOCATION].var())
    lower, upper = (scaled(end, scale) for end in interval)
    parts = [
        f"Prediction: {scaled(prediction, scale)}\n  90 % interval from {lower} to {upper}",
        _votes(arena, origin, heard, scale),
    ]
    parts += [_path(arena, features, origin, heard, scale, t) for t in chosen]
    return "\n\n".join([*parts, *other_trees(n_trees, chosen)])


def _votes(arena: state.Arena, origin: float, heard: voices.Heard, scale: float) -> str:
    """Return each tree's prediction, the scale of its error, and its depth."""
    depths = paths.weighted_depths(arena, heard.values)
    rows = [
        [
            str(t),
            scaled(origin + vote[LOCATION], scale),
            scaled(math.sqrt(vote[SPREAD]), scale),
            f"{depth:.2f}",
        ]
        for t, (vote, depth) in enumerate(zip(heard.votes.tolist(), depths, strict=False))
    ]
    title = "Trees (the forest predicts their mean)"
    return f"{title}\n{table([['tree', 'prediction', 'scale', 'depth'], *rows])}"


def _path(
    arena: state.Arena,
    features: Features,
    origin: float,
    heard: voices.Heard,
    scale: float,
    tree: int,
) -> str:
    """Return the path down a tree, one line per node."""
    header = ["node", "share", "mass", "estimate", "samples", "mean", "std", "split"]
    rows = [
        [
            str(step.node),
            f"{step.share:.4f}",
            f"{step.mass:.4f}",
            scaled(origin + step.own.estimate, scale),
            count(step.n_samples),
            scaled(origin + step.own.mean, scale),
            scaled(step.own.std, scale),
            rule(arena, features, heard.values, tree, step),
        ]
        for step in paths.walk(arena, tree, heard.values)
    ]
    title = f"Path in tree {tree}, of {arena.trees['n_nodes'][tree]} nodes"
    return f"{title}\n{table([header, *rows], left=(-1,))}"
