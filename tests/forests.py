"""Forests of all kinds, and the streams that they learn: what copies and files have to keep."""

import copy
import io
import pickle
import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.engine.late_labels import LateLabels

Sample = tuple[dict[Any, Any], Any, float]

FORESTS = [AMFClassifier, AdaptiveAMFClassifier, AMFRegressor, AdaptiveAMFRegressor]
forests = pytest.mark.parametrize("kind", FORESTS, ids=lambda kind: kind.__name__)

VARIANTS = {
    "default": {},
    "budget": {"max_nodes": 151},
    "split_pure": {"split_pure": True},
    "split_pure, budget": {"split_pure": True, "max_nodes": 200},
    "n_classes": {"n_classes": 9, "step": 0.5},
    "unit": {"split_intensity": "unit", "use_aggregation": False},
    "fading": {"fading_factor": 0.7, "split_pure": True},
    "relevance": {"split_intensity": "relevance"},
    "learned vote": {"vote": "learned"},
    "logistic": {"vote": "learned", "linear": "logistic", "max_categories": 9},
    "restarts": {"drift_threshold": 0.01},
    "adaptive": {"kind": AdaptiveAMFClassifier},
    "few categories": {"max_categories": 4, "split_intensity": "relevance"},
    "adaptive, budget": {"kind": AdaptiveAMFClassifier, "max_nodes": 151},
    "words": {"kind": AdaptiveAMFClassifier, "absent": "zero"},
    "few words": {"absent": "zero", "max_words": 4, "split_intensity": "relevance"},
}


def pickled(model: Any) -> bytes:
    """Return the pickle of a model, without the predictions whose labels are delayed."""
    twin = copy.deepcopy(model)
    twin._engine.late = LateLabels()
    return pickle.dumps(twin)


def content(model: Any) -> bytes:
    """Return a pickle that does not show which equal strings are one object."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer)
    pickler.fast = True
    pickler.dump(model)
    return buffer.getvalue()


variants = pytest.mark.parametrize("parameters", VARIANTS.values(), ids=VARIANTS)


def by_hand(parameters: dict[str, Any], names: set[str]) -> list[Any]:
    """Return what to parametrize a test with; the named ones only run with -m soak."""
    return [
        pytest.param(given, id=name, marks=[pytest.mark.soak] * (name in names))
        for name, given in parameters.items()
    ]


def mixed_stream(n_samples: int) -> Iterator[Sample]:
    """Yield numbers, categories, gaps, weights; new features, categories and labels on the way."""
    rng = random.Random(7)
    for i in range(n_samples):
        x = {
            "fine": rng.gauss(0, 1),
            "coarse": rng.randrange(4),
            "color": rng.choice(["red", "tan"]),
        }
        label = "above" if (x["fine"] > 0) ^ (rng.random() < 0.15) else "below"
        if i > 200 and rng.random() < 0.2:
            x["color"] = f"shade {rng.randrange(i)}"
        if i > 300 and rng.random() < 0.1:
            label = f"extra {i // 300}"
        if i % 110 == 109:
            x[f"late {i}"] = rng.random()
        if rng.random() < 0.2:
            del x["fine"]
        if rng.random() < 0.1:
            x["color"] = None
        yield x, label, rng.choice([1.0, 1.0, 2.0, 0.3])


def coarse_stream(n_samples: int) -> Iterator[Sample]:
    """Yield few distinct samples with noisy labels: leaves give up samples that coincide."""
    rng = random.Random(8)
    for _ in range(n_samples):
        x = {"a": rng.randrange(6), "b": rng.randrange(6), "c": rng.random() ** 8}
        x["c"] = round(x["c"], 2)
        yield x, (x["a"] + x["b"] > 5) ^ (rng.random() < 0.05), 1.0


STREAM = list(mixed_stream(900))
COARSE_STREAM = list(coarse_stream(900))
QUESTIONS = [x for x, _, _ in STREAM[::30]] + [{}, {"fine": 1e9}, {"color": "never seen"}]


def learn(model: Any, samples: Iterable[Sample]) -> Any:
    """Let a model learn samples one by one; returns it."""
    for x, label, weight in samples:
        model.learn_one(x, label, w=weight)
    return model


def trained(samples: Iterable[Sample], kind: Any = AMFClassifier, **parameters: Any) -> Any:
    """Return a small forest that has learned the samples."""
    return learn(kind(**({"n_estimators": 3, "seed": 42} | parameters)), samples)


def answers(model: Any) -> list[dict[Any, float]]:
    """Return what a model predicts for the questions."""
    return [model.predict_proba_one(x) for x in QUESTIONS]
