"""Values far outside the range: what they cost, and when they are believed."""

import functools
import random

import numpy as np
import pytest

from river_amf import AdaptiveAMFClassifier, AMFClassifier

ROBUST = {
    "range": {},
    "split_pure": {"split_pure": True},
    "relevance": {"split_intensity": "relevance"},
    "adaptive": {"kind": AdaptiveAMFClassifier},
}
robust = pytest.mark.parametrize("parameters", ROBUST.values(), ids=ROBUST)
SENTINELS = [-999.0, 1e9, 1e300]
sentinels = pytest.mark.parametrize("sentinel", SENTINELS)


def made(kind=AMFClassifier, **parameters):
    return kind(**({"n_estimators": 5, "seed": 42} | parameters))


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


def accuracy(model, stream, skip=1000):
    hits = []
    for x, y in stream:
        hits.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    return np.mean(hits[skip:])


def range_of(model, name="a"):
    return tuple(model._arena.ranges[:, list(model._features).index(name)].tolist())


# What outliers cost

# where the feature is constant at first
CONSTANT_FIRST = [({"a": 0.5, "b": x["b"], "c": x["c"]}, x["b"] > 0) for x, _ in STREAM[:200]]
CONSTANT_FIRST += STREAM


@functools.cache
def clean_accuracy(variant, constant_first=False):
    """Return the accuracy without sentinels."""
    stream, skip = (CONSTANT_FIRST, 1500) if constant_first else (STREAM, 1000)
    return accuracy(made(**ROBUST[variant]), stream, skip)


# The sentinel is the first value of all, one of the first values that settle the range, or a later
# one.
PLACES = [
    (variant, first, SENTINELS[(i + j) % 3])
    for i, variant in enumerate(ROBUST)
    for j, first in enumerate([0, 1, 30, 63, 64, 500])
]


@pytest.mark.parametrize(("variant", "first", "sentinel"), PLACES)
def test_a_sentinel_in_a_thousand_values_costs_little(variant, first, sentinel):
    # The trees have seen the first values unclipped. That costs at most half as much as losing the
    # feature.
    clean = clean_accuracy(variant)
    assert clean > 0.85
    spoilt = accuracy(made(**ROBUST[variant]), with_sentinels(STREAM, sentinel, first=first))
    assert spoilt > clean - (0.05 if first < 64 else 0.02)


@robust
def test_an_outlier_is_seen_at_the_end_of_the_range(parameters):
    model = made(**parameters)
    for x, y in STREAM[:1000]:
        model.learn_one(x, y)
    low, high = range_of(model)
    for name, end, far in (
        ("a", high, 1e9),
        ("a", low, -999.0),
        ("b", range_of(model, "b")[1], 1e200),
    ):
        for x, _ in STREAM[:20]:
            near = model.predict_proba_one(x | {name: end})
            assert model.predict_proba_one(x | {name: far}) == near


# Values that become frequent


@robust
def test_far_values_are_believed_when_several_come_in_short_order(parameters):
    model = made(**parameters)
    for x, y in STREAM[:200]:
        model.learn_one(x, y)
    for n in range(4):
        model.learn_one(STREAM[n][0] | {"a": 1e6 + n}, True)
        assert range_of(model)[1] <= 1.0
    model.learn_one(STREAM[5][0] | {"a": 1e6}, True)
    assert range_of(model)[1] == 1e6
    for n in range(4):  # and those still further out need as many
        model.learn_one(STREAM[n][0] | {"a": 1e12}, True)
        assert range_of(model)[1] == 1e6


# Affine maps


def moved(stream, scale, shift):
    return [({name: scale * value + shift for name, value in x.items()}, y) for x, y in stream]


@robust
@pytest.mark.parametrize(
    ("scale", "shift", "tolerance"),
    [(2.0**40, 0.0, 0), (2.0**-300, 0.0, 0), (3.7, 0.0, 1e-9), (8.0, 1024.0, 1e-9)],
)
def test_affine_maps_change_nothing_outliers_or_not(parameters, scale, shift, tolerance):
    stream = with_sentinels(STREAM[:700], -999.0, every=50, first=7)
    # consecutive far values, which are believed
    stream += [(x | {"b": 5000.0 + i}, y) for i, (x, y) in enumerate(STREAM[700:710])]
    stream += STREAM[710:900]
    if shift:  # multiples of 1/64, to which the shift is added exactly
        stream = [({k: round(v * 64) / 64 for k, v in x.items()}, y) for x, y in stream]
    plain, mapped = made(**parameters), made(**parameters)
    for (x, y), (z, _) in zip(stream, moved(stream, scale, shift), strict=True):
        assert mapped.predict_proba_one(z) == pytest.approx(
            plain.predict_proba_one(x), rel=0, abs=tolerance
        )
        plain.learn_one(x, y)
        mapped.learn_one(z, y)


# What is left unchanged


@robust
@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-12, 1e300, 1.7e306])
def test_outliers_of_any_scale(parameters, scale):
    model = made(**parameters)
    for i, (x, y) in enumerate(STREAM[:400]):
        x = {"a": scale * (100.0 if i % 37 == 5 else x["a"]), "b": x["b"]}
        model.learn_one(x, y)
        assert sum(model.predict_proba_one(x).values()) == pytest.approx(1.0, abs=1e-9)
    low, high = range_of(model)
    assert 0.0 <= low < high <= scale
