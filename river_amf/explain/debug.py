"""The text of `debug_one`: tables of one sample, its prediction, experts, inputs and paths."""

import math
from typing import Any

import numpy as np
import pandas as pd

from river_amf.ensemble import Ensemble
from river_amf.explain import experts
from river_amf.explain.contributions import contributions_of, has_rest
from river_amf.explain.linear_weights import weights_of
from river_amf.explain.paths import check_tree, walk
from river_amf.explain.tables import path_of
from river_amf.kernels import LINEAR_FLOOR, VOTE_FLOOR
from river_amf.outputs import votes
from river_amf.outputs.formatting import categories_text, count_text, counts_text, name, short
from river_amf.outputs.votes import ExpertOutputs
from river_amf.state.layout import REGRESSION, SPREAD

_FEW_TREES = 3  # up to this many trees, all paths are shown
_MOST_LABELS = 5
_MOST_INPUTS = 8  # of linear models
_MOST_CONTRIBUTIONS = 5
_LEVEL = 0.9  # of the interval
_STACK = "base + sum of weight x (voter - base)"

Tables = dict[str, pd.DataFrame]  # by title


def explain(forest: Ensemble, x: dict[Any, Any], tree: int | None) -> str:
    """Return the text of `debug_one` for a forest that no other thread changes."""
    if tree is not None:
        tree = check_tree(forest.n_estimators, tree)
    tables = tables_of(forest, x, tree)
    if not tables:
        return "No sample has been learned yet, so there is no prediction to explain."
    written = ("{:.6g}" if forest._task == REGRESSION else "{:z.4f}").format
    parts = [
        f"{title}\n{table.to_string(float_format=written, na_rep='')}" if len(table) else title
        for title, table in tables.items()
    ]
    if forest.n_estimators > sum(title.startswith("Path") for title in tables):
        last = forest.n_estimators - 1
        parts.insert(-1, f"debug_one(x, tree=...) shows the path in any tree from 0 to {last}")
    return "\n\n".join(parts)


def tables_of(forest: Ensemble, x: dict[Any, Any], tree: int | None) -> Tables:
    """Return the tables that explain a prediction; none before the first sample."""
    outputs = forest._finished_engine.expert_outputs(x, has_parts=True)
    if outputs is None:
        return {}
    arena, n_trees = forest._arena, forest.n_estimators
    walks = [walk(arena, t, outputs.values) for t in range(n_trees)]
    depths = [steps["mass"] @ steps["depth"] if len(steps) else math.nan for steps in walks]
    per_tree = pd.DataFrame({"depth": depths}, [f"tree {t}" for t in range(n_trees)])
    if forest._task == REGRESSION:
        [ends] = forest._finished_engine.reader().quantiles(x, [_LEVEL])
        tables = _of_target(forest, outputs, per_tree, (min(ends), max(ends)))
    else:
        tables = _of_labels(forest, outputs, per_tree)
    first = range(n_trees if n_trees <= _FEW_TREES else 1)
    for t in first if tree is None else [tree]:
        title = f"Path in tree {t}, of {arena.trees['n_nodes'][t]} nodes"
        if votes.learns_residual(arena, t):
            title += ", which learns the residual of the trend"
        path = _path(forest, outputs, path_of(forest, x, t))
        tables[title if len(path) else f"{title}, as it has just restarted"] = path
    tables.update(_contributions(forest, x, outputs))
    return tables


def _of_labels(forest: Ensemble, outputs: ExpertOutputs, per_tree: pd.DataFrame) -> Tables:
    arena, proba = forest._arena, pd.Series(outputs.answer.values())
    best = proba.sort_values(ascending=False, kind="stable")[:_MOST_LABELS]
    titles, n_others = [short([*outputs.answer][k]) for k in best.index], len(proba) - len(best)
    index = [*titles, *[f"{n_others} others"] * (n_others > 0)]
    shown = [*best, 1.0 - best.sum()][: len(index)]
    tables = {f"Prediction: {titles[0]}": pd.DataFrame({"probability": shown}, index)}

    title, weights = "Trees (the forest predicts their mean)", {}
    if learns_vote := arena.settings["learns_vote"][0]:
        title = (
            "Experts (log P(label) = bias + sum of weight x log p + constant; "
            f"log(p + {VOTE_FLOOR}) of trees, log p >= {LINEAR_FLOOR:g} of the others)"
        )
        weights = dict(zip(per_tree.index, arena.trees["vote_weight"], strict=True))
        weights |= experts.vote_weights(arena)
        if outputs.plain_share:
            title += f"; {outputs.plain_share:.3f} of P is the geometric mean of even trees"
    if arena.settings["n_labels"][0] < arena.settings["n_classes"][0]:
        title += "; classes not seen yet share the rest"
    index = [*(weights or per_tree.index)]
    table = pd.DataFrame(votes.voter_probabilities(arena, outputs)[:, best.index], index, titles)
    if learns_vote:
        table.loc["bias"] = arena.bias[best.index]
        table.insert(0, "weight", pd.Series(weights))
    tables[title] = table.join(per_tree)

    inputs = weights_of(forest, outputs)
    if len(inputs) and len(best) > 1:
        title = "Inputs of linear models (weights of {} minus weights of {})".format(*titles)
        by_label = inputs["weight"].to_numpy().reshape(-1, len(proba))
        difference = by_label[:, best.index[0]] - by_label[:, best.index[1]]
        tables[title] = _strongest(inputs[:: len(proba)].assign(weight=difference))
    return tables


def _of_target(
    forest: Ensemble, outputs: ExpertOutputs, per_tree: pd.DataFrame, interval: tuple[float, float]
) -> Tables:
    arena, origin = forest._arena, forest._labels.origin or 0.0
    ends = dict(zip(("prediction", "lower", "upper"), (outputs.answer, *interval), strict=True))
    tables = {f"Prediction, with an interval of {_LEVEL:.0%}": pd.DataFrame(ends, [""])}
    stacks = experts.stacks(arena, outputs)
    predicts = "together they predict" if "last" in stacks else "the forest predicts"
    titles = {
        "voters": f"Voters ({predicts} {_STACK})",
        "last": f"Last target, the base (the forest predicts {_STACK})",
        "trend": f"Trend ({_STACK}; added to the trees with odd indices)",
    }
    for key, stack in stacks.items():
        weights = [math.nan, *stack.weights[: len(stack.voters)]]
        predictions = origin + np.array([stack.base, *stack.voters.values()])
        columns = {"weight": weights, "prediction": predictions}
        tables[titles[key]] = pd.DataFrame(columns, ["base", *stack.voters])
    per_tree.insert(0, "prediction", origin + votes.tree_votes(arena, outputs.votes))
    per_tree.insert(1, "scale", np.sqrt(outputs.votes[: len(per_tree), SPREAD]))
    tables["Trees" if "voters" in stacks else "Trees (the forest predicts their mean)"] = per_tree
    if "trend" in stacks:
        title = "Inputs of the trends (products of a trend add up to its prediction)"
        tables[title] = _strongest(weights_of(forest, outputs))
    return tables


def _contributions(forest: Ensemble, x: dict[Any, Any], outputs: ExpertOutputs) -> Tables:
    title, parts = "Contributions (they sum to the prediction)", contributions_of(forest, x, None)
    if forest._task != REGRESSION:
        label = short(max(outputs.answer, key=lambda label: outputs.answer[label]))
        total = f"P({label})"
        if forest.vote == "learned":
            total = f"log {total} less the mean of log P"
            if len(outputs.answer) <= 2:
                total = f"the log-odds of {label}"
        title = f"Contributions (they sum to {total})"
    table = parts.to_frame("contribution").set_axis([name(feature) for feature in parts.index])
    n_features = len(parts) - 1 - has_rest(forest)
    baseline, features, rest = table[:1], table[1 : 1 + n_features], table[1 + n_features :]
    features = features.sort_values("contribution", key=lambda c: -c.abs(), kind="stable")
    weak = features["contribution"][_MOST_CONTRIBUTIONS:]
    others = pd.DataFrame({"contribution": weak.sum()}, [f"{len(weak)} others"] * (len(weak) > 0))
    return {title: pd.concat([baseline, features[:_MOST_CONTRIBUTIONS], others, rest])}


def _strongest(inputs: pd.DataFrame) -> pd.DataFrame:
    """Return the inputs of linear models with the largest products of value and weight."""
    table = inputs[["linear_model", "value", "weight"]]
    table = table.set_axis([_title(row) for row in inputs.to_dict("records")])
    table = table.assign(product=table["value"] * table["weight"])
    table = table[table["product"] != 0.0].sort_values("product", key=lambda p: -p.abs())
    weak = table["product"][_MOST_INPUTS:]
    total = {"linear_model": "", "product": weak.sum()}
    row = pd.DataFrame(total, [f"{len(weak)} others"] * (len(weak) > 0))
    return pd.concat([table[:_MOST_INPUTS], row])


def _title(row: dict[Any, Any]) -> str:
    parts = row["feature"], row["input"]
    return ", ".join(name(part) for part in parts if part is not None) or "(constant)"


def _path(forest: Ensemble, outputs: ExpertOutputs, steps: pd.DataFrame) -> pd.DataFrame:
    """Return the path down a tree, with the conditions that the sample meets as index."""
    table = steps[["node", "share", "mass"]].copy()
    if forest._task == REGRESSION:
        table[["estimate", "mean", "std"]] = steps[["estimate", "mean", "std"]]
    else:
        best = max(outputs.answer, key=lambda label: outputs.answer[label])
        table[f"p({short(best)})"] = [proba[best] for proba in steps["proba"]]
        table["counts"] = steps["counts"].map(counts_text)
    table["samples"] = steps["n_samples"].map(count_text)
    return table.set_axis([_condition(forest, step) for step in steps.itertuples()])


def _condition(forest: Ensemble, step: Any) -> str:
    if step.goes is None:
        return "leaf" if step.feature is None else "hardly any mass left"
    feature, is_left = name(step.feature), step.goes == "left"
    if step.value is None:
        return f"{feature} missing: {step.goes}"
    if step.categories_left is None:
        return f"{feature} {'<=' if is_left else '>'} {step.threshold}"
    if step.value not in (forest._features.categories(step.feature) or ()):
        return f"{feature} has a new category: {step.goes}, by chance"
    categories = categories_text(step.categories_left, step.value)
    return f"{feature} {'in' if is_left else 'not in'} {categories}"
