"""Explanations of the predictions of regressors as text."""

from __future__ import annotations

import math

from river_amf import paths, state, trends
from river_amf.encoding import Features
from river_amf.explanation import FEW_TREES, MOST_INPUTS, other_trees
from river_amf.layout import SPREAD
from river_amf.voices import Heard
from river_amf.wording import count, name, rule, scaled, table

_RULE = "base + sum of weight x (voter - base)"


def explain(
    arena: state.Arena,
    features: Features,
    origin: float,
    heard: Heard,
    prediction: float,
    interval: tuple[float, float],
    tree: int | None,
) -> str:
    """Explain a prediction and its interval of 90 % for what is heard of a sample."""
    n_trees = len(arena.trees)
    few = n_trees <= FEW_TREES
    chosen = ([*range(n_trees)] if few else [0]) if tree is None else [tree]
    scale = _scale(arena, heard)
    lower, upper = (scaled(end, scale) for end in interval)
    parts = [f"Prediction: {scaled(prediction, scale)}\n  90 % interval from {lower} to {upper}"]
    together = trends.stack_of_voters(arena, heard)
    title = "Trees (the forest predicts their mean)"
    if together is not None:
        parts.append(f"Voters (the forest predicts {_RULE})\n{_stack(together, origin, scale)}")
        title = "Trees"
    parts.append(f"{title}\n{_votes(arena, origin, heard, scale)}")
    trend = trends.stack_of_trends(arena, heard)
    if trend is not None:
        parts.append(
            f"Trend ({_RULE}; added to the trees with odd indices)\n{_stack(trend, origin, scale)}"
        )
        parts.append(_inputs(arena, features, heard, scale))
    parts += [_path(arena, features, origin, heard, scale, t) for t in chosen]
    return "\n\n".join([*parts, *other_trees(n_trees, chosen)])


def _scale(arena: state.Arena, heard: Heard) -> float:
    """Return roughly how large the error of the prediction may be."""
    spread = heard.votes[: len(arena.trees), SPREAD].mean()
    return math.sqrt(spread + trends.of_trees(arena, heard).var())


def _stack(stack: trends.Stack, origin: float, scale: float) -> str:
    """Return the voters of a stack, and their weights."""
    rows = [["base", "", scaled(origin + stack.base, scale)]]
    rows += [
        [voter.name, f"{voter.weight:.4f}", scaled(origin + voter.prediction, scale)]
        for voter in stack.voters
    ]
    return table([["voter", "weight", "prediction"], *rows], left=(0,))


def _votes(arena: state.Arena, origin: float, heard: Heard, scale: float) -> str:
    """Return each tree's prediction, the scale of its error, and its depth."""
    predictions = (origin + trends.of_trees(arena, heard)).tolist()
    scales = heard.votes[: len(arena.trees), SPREAD] ** 0.5
    depths = paths.weighted_depths(arena, heard.values)
    rows = [
        [str(t), scaled(prediction, scale), scaled(own, scale), f"{depth:.2f}"]
        for t, (prediction, own, depth) in enumerate(zip(predictions, scales, depths, strict=True))
    ]
    return table([["tree", "prediction", "scale", "depth"], *rows])


def _inputs(arena: state.Arena, features: Features, heard: Heard, scale: float) -> str:
    """Return the inputs that add most to the predictions of the trends."""
    found = [row for row in trends.inputs_of(arena, features, heard) if row[2] != 0.0]
    found.sort(key=lambda row: -abs(row[2]))
    rows = [
        [
            each.trend,
            _input_name(each),
            *(["", ""] if math.isnan(value) else [f"{value:.4f}", scaled(each.weight, scale)]),
            scaled(added, scale),
        ]
        for each, value, added in found[:MOST_INPUTS]
    ]
    if len(found) > MOST_INPUTS:
        rest = math.fsum(added for *_, added in found[MOST_INPUTS:])
        rows.append(["", f"{len(found) - MOST_INPUTS} others", "", "", scaled(rest, scale)])
    title = "What the trends hear (products add up to a prediction minus the first target)"
    header = ["trend", "input", "value", "weight", "product"]
    return f"{title}\n{table([header, *rows], left=(0, 1))}"


def _input_name(each: trends.Input) -> str:
    """Return the name of an input of a trend."""
    if each.kind is None:
        return "(constant)"
    if each.kind == trends.COSINES:
        return "(cosines)"
    return name(each.feature) + (", profile" if each.kind == trends.PROFILE else "")


def _path(
    arena: state.Arena, features: Features, origin: float, heard: Heard, scale: float, tree: int
) -> str:
    """Return the path down a tree, one line per node."""
    title = f"Path in tree {tree}, of {arena.trees['n_nodes'][tree]} nodes"
    if trends.learns_rest(arena, tree):
        origin, title = 0.0, f"{title}, which learns what the trend leaves"
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
    return f"{title}\n{table([header, *rows], left=(-1,))}"
