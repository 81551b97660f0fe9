"""The classifiers to compare with: those of `river_amf.baselines`, as the benchmarks need them."""

import functools
from collections.abc import Callable

from river import forest
from river.base import Classifier
from river.compose import Pipeline

from river_amf import baselines

river_forest = functools.partial(forest.AMFClassifier, n_estimators=10)  # as many trees as ours has


def alone(name: str) -> Callable[[int], Classifier]:
    """Return what makes a baseline for a seed, without the steps that encode features before it.

    Here columns are encoded before the run, with all categories known and at no cost to the model.
    """

    def make(seed: int) -> Classifier:
        model = baselines.classifiers(seed)[name]()
        return [*model.steps.values()][-1] if isinstance(model, Pipeline) else model

    return make
