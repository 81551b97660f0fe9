"""Values far outside the range: what they cost, and when the range is extended to them."""

import functools
import random

import numpy as np
import pytest
from forests import fresh, trained, walk

from river_amf import AdaptiveAMFClassifier

FORESTS = {
    "range": {},
    "split_pure": {"split_pure": True},
    "relevance": {"split_intensity": "relevance"},
    "adaptive": {"kind": AdaptiveAMFClassifier},
}
forests = pytest.mark.parametrize("parameters", FORESTS.values(), ids=FORESTS)
SENTINELS = [-999.0, 1e9, 1e300]


def make_stream(n_samples, seed=1):
    rng = random.Random(seed)
    for _ in range(n_samples):
        x = {"a": rng.random(), "b": rng.gauss(0, 1), "c": rng.random()}
        yield x, (x["a"] > 0.5) ^ (x["b"] > 0) ^ (rng.random() < 0.05)


STREAM = list(make_stream(4000))


def with_sentinels(stream, sentinel, every=1000, first=500):
    """Replace one in `every` values of `a`, starting with the one at `first`."""
    return [
        (x | {"a": sentinel} if i % every == first % every and i >= first else x, y)
        for i, (x, y) in enumerate(stream)
    ]


@functools.cache
def accuracy(name, first=0, sentinel=None):
    samples = with_sentinels(STREAM, sentinel, first=first) if sentinel else STREAM
    predictions = walk(fresh(**FORESTS[name]), samples)
    return np.mean([p == y for p, (_, y) in zip(predictions, samples, strict=True)][1000:])


# The first value of all, one of those that settle the range, or a later one.
PLACES = [
    (name, first, SENTINELS[(i + j) % 3])
    for i, name in enumerate(FORESTS)
    for j, first in enumerate([0, 1, 30, 63, 64, 500])
]


@pytest.mark.parametrize(("name", "first", "sentinel"), PLACES)
def test_sentinels_cost_little(name, first, sentinel):
    # The trees have seen the first values unclipped. That costs at most half as much as losing the
    # feature.
    clean = accuracy(name)
    assert clean > 0.85
    assert accuracy(name, first, sentinel) > clean - (0.05 if first < 64 else 0.02)


@forests
def test_outliers_count_as_the_end_until_frequent(parameters):
    model = trained(STREAM[:1000], **parameters)
    column = list(model._features).index("a")
    low, high = model._arena.ranges[:, column].tolist()
    for end, far in ((high, 1e9), (high, 1e200), (low, -999.0)):
        for x, _ in STREAM[:20]:
            near = model.predict_proba_one(x | {"a": end})
            assert model.predict_proba_one(x | {"a": far}) == near
    for end, farther in ((high, 1e6), (1e6, 1e12)):  # those still further out need as many
        for n in range(5):
            assert model._arena.ranges[1, column] == end
            model.learn_one(STREAM[n][0] | {"a": farther}, True)
        assert model._arena.ranges[1, column] == farther
