"""Regressors of all kinds, and the stream that they learn, for tests of copies and blocks."""

import functools
import math
from collections.abc import Iterable
from typing import Any

import forests
import pytest
from forests import QUESTIONS, STREAM, Sample, learn  # noqa: F401

from river_amf import AdaptiveAMFRegressor, AMFRegressor

REGRESSORS = {
    "default": {},
    "budget": {"max_nodes": 151},
    "unit": {"split_intensity": "unit", "step": 0.5, "split_prior": 0.8},
    "leaves alone": {"use_aggregation": False},
    "one tree": {"n_estimators": 1},
    "fading": {"fading_factor": 0.7},
    "relevance": {"split_intensity": "relevance"},
    "restarts": {"drift_threshold": 0.01},
    "few categories": {"max_categories": 4, "split_intensity": "relevance"},
    "few features": {"max_features": 5},
    "mean": {"vote": "mean"},
    "last target": {"recent": "target"},
    "linear": {"linear": True, "max_nodes": 101},
    "adaptive": {"kind": AdaptiveAMFRegressor},
    "adaptive, budget": {"kind": AdaptiveAMFRegressor, "max_nodes": 151},
}
regressors = pytest.mark.parametrize("parameters", REGRESSORS.values(), ids=REGRESSORS)
kinds = pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])


def with_numbers(stream: Iterable[Sample]) -> list[Sample]:
    """Give the samples of `forests.STREAM` targets: a curve, steps, noise, and a large drift."""
    samples = []
    for i, (x, label, weight) in enumerate(stream):
        y = 1000.0 + 5.0 * math.sin(2.0 * (x.get("fine") or 0.0)) + 2.0 * x["coarse"]
        y += (15.0 if i < 500 else -15.0) * (label == "above") + math.cos(37.0 * i)
        samples.append((x, y, weight))
    return samples


NUMBERS = with_numbers(STREAM)


fresh = functools.partial(forests.fresh, kind=AMFRegressor)
trained = functools.partial(forests.trained, kind=AMFRegressor)


def ends(interval: Any) -> tuple[float, float]:
    return interval.lower, interval.upper


def answers(model: Any) -> list[tuple[float, float, float]]:
    return [(model.predict_one(x), *ends(model.predict_interval_one(x))) for x in QUESTIONS]
