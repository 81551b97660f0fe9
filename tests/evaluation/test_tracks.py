"""Streams that drift, tracks of them, and the datasets that come with river."""

import functools
import itertools
import math
import urllib.request

import pytest
from river.datasets import AirlinePassengers, base

from river_amf.evaluation import BUNDLED, STREAMS, TRACKS, load_stream

RULES = [
    lambda x: x["size"] == 0 and x["color"] == 0,
    lambda x: x["color"] == 2 or x["shape"] == 0,
    lambda x: x["size"] in (1, 2),
]
STAGGER = {"stagger_abrupt": [0, 1, 2], "stagger_recurring": [0, 2, 0, 2]}


@functools.cache
def samples_of(name):
    return list(STREAMS[name])


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    monkeypatch.setattr(urllib.request, "urlopen", None)


@pytest.mark.parametrize("name", STREAMS)
def test_stream_is_as_described_and_reproducible(name):
    stream, samples = STREAMS[name], samples_of(name)
    assert isinstance(stream, base.SyntheticDataset) and stream.name == name
    assert stream.n_samples == len(samples) in (15_000, 20_000)
    assert {len(x) for x, _ in samples} == {stream.n_features}
    assert len({y for _, y in samples}) == stream.n_classes
    assert stream.task == (base.MULTI_CLF if stream.n_classes > 2 else base.BINARY_CLF)
    assert name.endswith("_moving") == (not stream.drifts)
    n_samples = 5500 if stream.drifts else 1000  # beyond the first drift
    both = zip(stream.take(n_samples), stream.take(n_samples), strict=True)  # at the same time
    assert all(one == other for one, other in both)
    assert list(stream.take(n_samples)) == samples[:n_samples]


@pytest.mark.parametrize("name", STAGGER)
def test_stagger_changes_its_rule_at_the_drifts(name):
    stream, samples = STREAMS[name], samples_of(name)
    cuts = itertools.pairwise([0, *stream.drifts, stream.n_samples])
    for (start, end), rule in zip(cuts, STAGGER[name], strict=True):
        assert all(y == RULES[rule](x) for x, y in samples[start:end])


@pytest.mark.parametrize("name", ["agrawal_gradual", "led_gradual"])
def test_gradual_drift_follows_the_sigmoid(name):
    stream = STREAMS[name]
    assert stream.width == 1000
    concepts = [iter(concept) for concept in stream.concepts]
    ahead = [next(concept) for concept in concepts]
    origins = []
    for sample in samples_of(name):
        origin = ahead.index(sample)  # each concept hands out its samples in order
        ahead[origin] = next(concepts[origin])
        origins.append(origin)
    for number, drift in enumerate(stream.drifts, start=1):
        assert (origins[drift - 2000], origins[drift + 2000]) == (number - 1, number)
        for start in range(drift - 1000, drift + 1000, 250):
            share = sum(origin == number for origin in origins[start : start + 250]) / 250
            places = range(start + 1, start + 251)
            expected = sum(1 / (1 + math.exp(-4 * (t - drift) / stream.width)) for t in places)
            assert share == pytest.approx(expected / 250, abs=0.1)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_dataset_suits_any_model(name):
    stream = load_stream(name.lower())
    is_regression = BUNDLED.index(name) > 3
    assert stream.name == name
    assert stream.task == ("regression" if is_regression else "classification")
    samples = list(stream)
    assert len(samples) == stream.n_samples
    assert {len(x) for x, _ in samples} == {len(stream.kinds)}
    assert {type(value) for x, _ in samples for value in x.values()} <= {int, float, bool}
    assert not is_regression or {type(y) for _, y in samples} <= {int, float}


def test_times_become_numbers():
    months = [
        ({"year": x["month"].year, "month": x["month"].month}, y) for x, y in AirlinePassengers()
    ]
    assert list(load_stream("AirlinePassengers")) == months


def test_tracks_are_kinds_of_drift():
    assert list(TRACKS) == ["abrupt", "gradual", "moving", "recurring"]
    assert sum(TRACKS.values(), ()) == tuple(STREAMS)
