"""The models under attack: what they learn, and how to tell whether they are sound."""

import math
import pickle
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import river_amf
from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    inspection,
)

Sample = tuple[dict[Any, Any], Any]  # features, and a label, which regressors learn as a number

KINDS = {
    "plain": lambda **given: AMFClassifier(**({"n_estimators": 4, "seed": 7} | given)),
    "adaptive": lambda **given: AdaptiveAMFClassifier(
        **({"n_estimators": 4, "max_nodes": 301, "seed": 7} | given)
    ),
    "lenient": lambda **given: AMFClassifier(
        **({"n_estimators": 4, "on_mismatch": "missing", "seed": 7} | given)
    ),
    "bounded": lambda **given: AdaptiveAMFClassifier(
        **({"n_estimators": 4, "max_categories": 16, "max_bytes": 200_000, "seed": 7} | given)
    ),
    "words": lambda **given: AdaptiveAMFClassifier(
        **(
            {"n_estimators": 4, "absent": "zero", "max_vocabulary": 8, "max_bytes": 300_000}
            | {"seed": 7}
            | given
        )
    ),
    "numbers": lambda **given: regressor(AMFRegressor, {"fading_factor": 0.7} | given),
    "adaptive numbers": lambda **given: regressor(AdaptiveAMFRegressor, {"max_nodes": 301} | given),
    "bounded numbers": lambda **given: regressor(
        AdaptiveAMFRegressor, {"max_categories": 16, "max_bytes": 400_000} | given
    ),
}

ESTIMATORS = (
    *("AMFClassifier", "AdaptiveAMFClassifier", "OnlineDummyClassifier"),
    *("AMFRegressor", "AdaptiveAMFRegressor"),
)


def regressor(kind: Any, given: dict[str, Any]) -> Any:
    """Return a forest for numbers, which has no restarts."""
    given = {name: value for name, value in given.items() if name != "restart_threshold"}
    return kind(**({"n_estimators": 4, "seed": 7} | given))


def is_regressor(model: Any) -> bool:
    """Whether a forest learns numbers."""
    return isinstance(model, AMFRegressor)


def label_for(model: Any, label: str) -> Any:
    """Return a label, or the number in its place if the forest learns numbers."""
    return sum(label.encode()) / 7 if is_regressor(model) else label


PROBES: list[dict[Any, Any]] = [
    {"a": 0.3, "b": 2.0, "color": "color 1"},
    {"a": -1.2, "color": "never seen"},
    {"b": 5.0, "late 1": 0.5, "kind 1": "kind 2"},
    {},
]


def samples(rng: random.Random, n_samples: int, *, arrivals: int = 1) -> list[Sample]:
    """Return samples in which features, categories and labels keep arriving, more or less often."""
    result = []
    for i in range(n_samples):
        x: dict[Any, Any] = {
            "a": rng.gauss(0.0, 1.0),
            "b": float(rng.randrange(8)),
            "color": f"color {rng.randrange(3 + i * arrivals // 10)}",
        }
        label = "above" if (x["a"] > 0.0) ^ (rng.random() < 0.2) else "below"
        if rng.random() < 0.1:
            del x["b"]
        if (i * arrivals) % 29 < arrivals:
            x[f"late {rng.randrange(12)}"] = rng.random()
        if (i * arrivals) % 53 < arrivals:
            x[f"kind {rng.randrange(6)}"] = f"kind of {rng.randrange(4)}"
        if (i * arrivals) % 41 < arrivals:
            label = f"label {rng.randrange(8)}"
        result.append((x, label))
    return even(result)


def even(part: list[Sample]) -> list[Sample]:
    """Return samples that all have the same features, as blocks have."""
    # gaps are None, which is missing to all kinds, in samples and in blocks
    names = dict.fromkeys(name for x, _ in part for name in x)
    return [({name: x.get(name) for name in names}, label) for x, label in part]


def bags(rng: random.Random, n_samples: int, n_words: int = 60) -> list[Sample]:
    """Return samples of a few words each, most of them rare; two tell of the label."""
    result = []
    for _ in range(n_samples):
        label = rng.choice(["above", "below"])
        names = [f"word {int(n_words * rng.random() ** 2)}" for _ in range(6)]
        result.append((dict.fromkeys([*names, f"tells {label}"], rng.choice([1, 2.5])), label))
    return result


def frame_of(model: Any, part: list[Sample]) -> tuple[pd.DataFrame, list[Any]]:
    """Return samples as a dataframe and labels for a model."""
    return pd.DataFrame([x for x, _ in part]), [label_for(model, label) for _, label in part]


PROBE_FRAME = pd.DataFrame([*PROBES, *(x for x, _ in samples(random.Random(3), 60))])


def learn(model: Any, part: list[Sample]) -> Any:
    """Let a model learn samples one by one; returns it."""
    for x, label in part:
        model.learn_one(x, label_for(model, label))
    return model


def ask_one(model: Any, x: dict[Any, Any], level: float = 0.9) -> dict[Any, float]:
    """Return probabilities, or an interval from a regressor."""
    if is_regressor(model):
        interval = model.predict_interval_one(x, level)
        return {"lower": interval.lower, "upper": interval.upper}
    return model.predict_proba_one(x)


def ask_many(model: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """Return probabilities, or intervals from a regressor."""
    if is_regressor(model):
        return model.predict_interval_many(frame)
    return model.predict_proba_many(frame)


def ask_then_learn(model: Any, part: list[Sample]) -> Any:
    """Test, then train on samples as a block; return probabilities or predictions."""
    if is_regressor(model):
        return model.predict_then_learn_many(*frame_of(model, part)).to_frame()
    return model.predict_proba_then_learn_many(*frame_of(model, part))


def check_answer(model: Any, answer: dict[Any, float]) -> None:
    """Check probabilities of a model that may have learned nothing, or an interval."""
    if is_regressor(model):
        assert math.isfinite(answer["lower"]), answer
        assert answer["lower"] <= answer["upper"] < math.inf, answer
    else:
        check_proba(answer, may_be_empty=True)


def check_answers(model: Any, answers: Any) -> None:
    """Check the probabilities of a block, or its intervals or predictions."""
    if is_regressor(model):
        ends = np.asarray(answers)
        assert np.isfinite(ends).all() and (ends[:, 0] <= ends[:, -1]).all(), answers
    else:
        check_rows(answers)


def check_proba(proba: dict[Any, float], *, may_be_empty: bool = False) -> None:
    """Check that probabilities are finite and sum to 1."""
    if not (may_be_empty and not proba):
        assert all(0.0 <= p <= 1.0 for p in proba.values()), proba
        assert math.isclose(sum(proba.values()), 1.0, abs_tol=1e-9), proba


def check_rows(proba: Any) -> None:
    """Check that each row of probabilities is finite and sums to 1, or is all NaN."""
    rows = np.asarray(proba)
    if rows.shape[1]:
        rows = rows[~np.isnan(rows).all(axis=1)]
        assert ((rows >= 0.0) & (rows <= 1.0)).all(), rows
        assert np.allclose(rows.sum(axis=1), 1.0, rtol=0.0, atol=1e-9), rows


def root_counts(model: Any, tree: int = 0) -> dict[Any, float]:
    """Return how many samples of each label, or of all, a tree has learned."""
    table = inspection.node_table(model, tree)
    root = table[table["parent"] < 0]
    if table.empty:
        return {}
    if is_regressor(model):
        return {"all": float(root["n_samples"].iloc[0])}
    return dict(root["counts"].iloc[0])


def n_learnt(model: Any) -> int:
    """Return how many samples a forest has learned, all trees the same."""
    totals = {sum(root_counts(model, tree).values()) for tree in range(model.n_estimators)}
    assert len(totals) == 1, f"the trees have learned {sorted(totals)} samples"
    (total,) = totals
    assert total == int(total), total
    return int(total)


def check_tree(model: Any, tree: int) -> None:
    """Check the counts of a tree, and the links between its nodes."""
    table = inspection.node_table(model, tree)
    if table.empty:
        return
    n_samples, left, right = (table[name].to_numpy() for name in ("n_samples", "left", "right"))
    if is_regressor(model):
        assert np.isfinite(table[["mean", "std"]]).all(axis=None), "laws of targets"
    else:
        totals = [sum(counts.values()) for counts in table["counts"]]
        assert np.allclose(totals, n_samples, rtol=1e-9), "counts of labels"
    split = np.flatnonzero(left >= 0)
    parts = n_samples[left[split]] + n_samples[right[split]]
    assert np.allclose(parts, n_samples[split], rtol=1e-9), "counts of children"
    reached, parents = [*left[split], *right[split]], table["parent"].to_numpy()
    assert len({*reached}) == len(reached) == len(table) - 1, "links"
    assert (parents[left[split]] == split).all() and (parents[right[split]] == split).all()


def saved(model: Any) -> bytes:
    """Return the content of the file of a model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.amf")
        river_amf.save(model, path)
        return path.read_bytes()


def loaded(content: bytes) -> Any:
    """Return the model in the content of a file, which is checked for soundness."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.amf")
        path.write_bytes(content)
        return river_amf.load(path)


def answers(model: Any) -> tuple[Any, ...]:
    """Return what a model predicts for the probes."""
    if is_regressor(model):
        return tuple(
            (*ask_one(model, x).values(), model.predict_one(x), ask_one(model, x, 0.5)["upper"])
            for x in PROBES
        )
    return tuple(tuple(ask_one(model, x).items()) for x in PROBES)


def check_same(model: Any, twin: Any) -> None:
    """Check that two forests are equal: in predictions and, bit for bit, in all that they hold."""
    assert answers(model) == answers(twin), "other predictions"
    assert ask_many(model, PROBE_FRAME).equals(ask_many(twin, PROBE_FRAME))
    assert model.predict_many(PROBE_FRAME).equals(twin.predict_many(PROBE_FRAME))
    assert pickle.dumps(model) == pickle.dumps(twin), "other pickles"


def check_sound(model: Any, rng: random.Random) -> None:
    """Check that a forest is whole, and that it and its copies go on in the same way."""
    if model.restart_threshold is None:
        n_learnt(model)
    for tree in range(model.n_estimators):
        check_tree(model, tree)
    for x in PROBES:
        assert ask_one(model, x) or not model._has_learnt
        check_answer(model, ask_one(model, x))
    check_answers(model, ask_many(model, PROBE_FRAME))
    copies = [loaded(saved(model)), pickle.loads(pickle.dumps(model))]
    more = samples(rng, 40, arrivals=3)
    for forest in (model, *copies):
        learn(forest, more[:10])
        forest.learn_many(*frame_of(forest, more[10:]))
    for copy in copies:
        check_same(model, copy)
