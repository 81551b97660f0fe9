"""Classifiers of all kinds, and the streams that they learn, for tests of copies and files."""

import copy
import io
import pickle
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.engine.growth import Learned

Sample = tuple[dict[Any, Any], Any, float]
Samples = Iterable[tuple[Any, ...]]  # with weights or without

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
    "learned vote": {"vote": "learned", "n_estimators": 12},
    "linear": {"vote": "learned", "linear": True, "max_categories": 9},
    "restarts": {"drift_threshold": 0.01},
    "adaptive": {"kind": AdaptiveAMFClassifier},
    "few categories": {"max_categories": 4, "split_intensity": "relevance"},
    "few features": {"max_features": 5},
    "adaptive, budget": {"kind": AdaptiveAMFClassifier, "max_nodes": 151},
    "words": {"kind": AdaptiveAMFClassifier, "absent": "zero"},
    "few words": {"absent": "zero", "max_words": 4, "split_intensity": "relevance"},
}


def state_without_pending(model: Any) -> bytes:
    """Return the state of a model, without the predictions whose labels have not come."""
    twin = copy.deepcopy(model)
    if twin._has_learned:
        twin._engine.learned = Learned(twin._engine.schema, twin._arena.without_pending())
    return state_of(twin)


def saved(model: Any) -> bytes:
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def state_of(model: Any) -> bytes:
    """Return bytes that are equal for equal models, whichever of their strings are one object."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer)
    pickler.fast = True
    pickler.dump(model)
    return buffer.getvalue()


def objects(*values: Any) -> Any:
    """Make a series of pandas that holds the values as they are."""
    column = np.empty(len(values), object)
    for row, value in enumerate(values):
        column[row] = value
    return pd.Series(column, dtype=object)


def by_hand(parameters: dict[str, Any], names: set[str]) -> list[Any]:
    """Return the arguments of a parametrized test; the named ones only run with -m soak."""
    return [
        pytest.param(some, id=name, marks=[pytest.mark.soak] * (name in names))
        for name, some in parameters.items()
    ]


def mixed_stream(n_samples: int) -> Iterator[Sample]:
    """Yield numbers, categories, gaps, weights; new features, categories and labels on the way."""
    rng = random.Random(7)
    for i in range(n_samples):
        x = {"fine": rng.gauss(0, 1), "coarse": rng.randrange(4)}
        x["color"] = rng.choice(["red", "tan"])
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


STREAM = list(mixed_stream(900))
QUESTIONS = [x for x, _, _ in STREAM[::30]] + [{}, {"fine": 1e9}, {"color": "never seen"}]


def learn(model: Any, samples: Samples) -> Any:
    for sample in samples:
        model.learn_one(*sample)
    return model


def fresh(kind: Any = AMFClassifier, **parameters: Any) -> Any:
    return kind(**({"n_estimators": 3, "seed": 42} | parameters))


def trained(samples: Samples, kind: Any = AMFClassifier, **parameters: Any) -> Any:
    return learn(fresh(kind, **parameters), samples)


def walk(model: Any, samples: Samples, predict: str = "predict_one") -> list[Any]:
    """Return what a model predicts for each sample before it learns it."""
    predictions = []
    for x, *more in samples:
        predictions.append(getattr(model, predict)(x))
        model.learn_one(x, *more)
    return predictions


def answers(model: Any) -> list[dict[Any, float]]:
    return [model.predict_proba_one(x) for x in QUESTIONS]
