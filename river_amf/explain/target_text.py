"""Explanations of the predictions of regressors as text."""

from __future__ import annotations

import math

from river_amf.explain import paths, trend_experts
from river_amf.explain.formatting import count_text, name, rule_text, scaled_text, table
from river_amf.explain.label_text import FEW_TREES, MOST_INPUTS, other_trees
from river_amf.explain.linear_experts import ExpertOutputs
from river_amf.inputs.encoding import Features
from river_amf.state.arena import Arena
from river_amf.state.layout import SPREAD

_RULE = "base + sum of weight x (voter - base)"


def explain(
    arena: Arena,
    features: Features,
    origin: float,
    outputs: ExpertOutputs,
    interval: tuple[float, float],
    tree: int | None,
) -> str:
    """Explain a prediction and its interval of 90 %, given what experts make of a sample."""
    n_trees = len(arena.trees)
    few = n_trees <= FEW_TREES
    chosen = ([*range(n_trees)] if few else [0]) if tree is None else [tree]
    scale = _scale(arena, outputs)
    lower, upper = (scaled_text(end, scale) for end in interval)
    parts = [
        f"Prediction: {scaled_text(outputs.answer, scale)}\n  90 % interval from {lower} to {upper}"
    ]
    together = trend_experts.stack_of_voters(arena, outputs)
    title = "Trees (the forest predicts their mean)"
    if together is not None:
        last = trend_experts.stack_of_last(arena, together)
        who = "the forest predicts" if last is None else "together they predict"
        parts.append(f"Voters ({who} {_RULE})\n{_stack(together, origin, scale)}")
        if last is not None:
            title = f"Last target, which is the base (the forest predicts {_RULE})"
            parts.append(f"{title}\n{_stack(last, origin, scale)}")
        title = "Trees"
    parts.append(f"{title}\n{_votes(arena, origin, outputs, scale)}")
    trend = trend_experts.stack_of_trends(arena, outputs)
    if trend is not None:
        parts.append(
            f"Trend ({_RULE}; added to the trees with odd indices)\n{_stack(trend, origin, scale)}"
        )
        parts.append(_inputs(arena, features, outputs, scale))
    parts += [_path(arena, features, origin, outputs, scale, t) for t in chosen]
    return "\n\n".join([*parts, *other_trees(n_trees, chosen)])


def _scale(arena: Arena, outputs: ExpertOutputs) -> float:
    """Return roughly how large the error of the prediction may be."""
    spread = outputs.votes[: len(arena.trees), SPREAD].mean()
    return math.sqrt(spread + trend_experts.of_trees(arena, outputs).var())


def _stack(stack: trend_experts.Stack, origin: float, scale: float) -> str:
    """Return the voters of a stack, and their weights."""
    rows = [["base", "", scaled_text(origin + stack.base, scale)]]
    rows += [
        [voter.name, f"{voter.weight:.4f}", scaled_text(origin + voter.prediction, scale)]
        for voter in stack.voters
    ]
    return table([["voter", "weight", "prediction"], *rows], left=(0,))


def _votes(arena: Arena, origin: float, outputs: ExpertOutputs, scale: float) -> str:
    """Return each tree's prediction, the scale of its error, and its depth."""
    predictions = (origin + trend_experts.of_trees(arena, outputs)).tolist()
    scales = outputs.votes[: len(arena.trees), SPREAD] ** 0.5
    depths = paths.weighted_depths(arena, outputs.values)
    rows = [
        [str(t), scaled_text(prediction, scale), scaled_text(own, scale), f"{depth:.2f}"]
        for t, (prediction, own, depth) in enumerate(zip(predictions, scales, depths, strict=True))
    ]
    return table([["tree", "prediction", "scale", "depth"], *rows])


def _inputs(arena: Arena, features: Features, outputs: ExpertOutputs, scale: float) -> str:
    """Return the inputs that add most to the predictions of the trends."""
    found = [row for row in trend_experts.sample_inputs(arena, features, outputs) if row[2] != 0.0]
    found.sort(key=lambda row: -abs(row[2]))
    rows = [
        [
            each.trend,
            _input_name(each),
            *(["", ""] if math.isnan(value) else [f"{value:.4f}", scaled_text(each.weight, scale)]),
            scaled_text(added, scale),
        ]
        for each, value, added in found[:MOST_INPUTS]
    ]
    if len(found) > MOST_INPUTS:
        rest = math.fsum(added for *_, added in found[MOST_INPUTS:])
        rows.append(["", f"{len(found) - MOST_INPUTS} others", "", "", scaled_text(rest, scale)])
    title = "Inputs of the trends (products add up to a prediction minus the first target)"
    header = ["trend", "input", "value", "weight", "product"]
    return f"{title}\n{table([header, *rows], left=(0, 1))}"


def _input_name(each: trend_experts.Input) -> str:
    """Return the name of an input of a trend."""
    if each.kind is None:
        return "(constant)"
    if each.kind == trend_experts.COSINES:
        return "(cosines)"
    return name(each.feature) + (", profile" if each.kind == trend_experts.PROFILE else "")


def _path(
    arena: Arena, features: Features, origin: float, outputs: ExpertOutputs, scale: float, tree: int
) -> str:
    """Return the path down a tree, one line per node."""
    title = f"Path in tree {tree}, of {arena.trees['n_nodes'][tree]} nodes"
    if trend_experts.learns_rest(arena, tree):
        origin, title = 0.0, f"{title}, which learns the residual of the trend"
    header = ["node", "share", "mass", "estimate", "samples", "mean", "std", "split"]
    rows = [
        [
            str(step.node),
            f"{step.share:.4f}",
            f"{step.mass:.4f}",
            scaled_text(origin + step.own.estimate, scale),
            count_text(step.n_samples),
            scaled_text(origin + step.own.mean, scale),
            scaled_text(step.own.std, scale),
            rule_text(arena, features, outputs.values, tree, step),
        ]
        for step in paths.walk(arena, tree, outputs.values)
    ]
    return f"{title}\n{table([header, *rows], left=(-1,))}"
