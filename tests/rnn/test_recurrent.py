"""The baseline `rnn`: a recurrent network of Keras that remembers, for any stream."""

import copy
import doctest
import pickle
import random

import numpy as np
import pytest
from mixed_streams import LABELS, check_answer, mixed_stream, walk
from river import checks

from river_amf import baselines, cli
from river_amf.baselines import recurrent
from river_amf.baselines.preparation import scale_and_encode
from river_amf.baselines.recurrent import RecurrentClassifier

pytestmark = pytest.mark.slow


def echoes(n_samples, lag=1):
    """Yield samples whose label is the color of an earlier one; the rest is noise."""
    rng = random.Random(1)
    colors = ["red"] * lag
    for _ in range(n_samples):
        colors.append(rng.choice(["red", "green", "blue"]))
        yield {"color": colors[-1], "noise": rng.gauss(0.0, 1.0)}, colors[-1 - lag]


@pytest.mark.parametrize(("lag", "length"), [(1, 8), (2, 3), (2, 2)])
def test_network_remembers_as_many_samples_as_it_reads(lag, length):
    samples = [*echoes(1000, lag)]
    answers = walk(scale_and_encode() | RecurrentClassifier(length, seed=1), samples)[-300:]
    hits = [max(p, key=p.get) == y for p, (_, y) in zip(answers, samples[-300:], strict=True)]
    assert (np.mean(hits) > 0.9) == (lag < length)


@pytest.mark.parametrize("kind", LABELS)
def test_mixed_streams_are_learned(kind):
    samples, seen = [*mixed_stream(200, LABELS[kind])], set()
    model, twin, other = (baselines.classifiers(seed)["rnn"]() for seed in (1, 1, 2))
    assert model.predict_proba_one({}) == {}
    for x, y in samples[:150]:
        if seen:
            check_answer(model, x, seen)
        model.learn_one(x, y)
        seen.add(y)
    answers = walk(twin, samples[:150])
    assert walk(model.clone(), samples[:150]) == answers != walk(other, samples[:150])
    copies = [twin, copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    expected = walk(model, samples[150:])
    assert all(walk(twin, samples[150:]) == expected for twin in copies)


def test_labels_beyond_the_limit_are_refused():
    model = RecurrentClassifier(seed=1)
    walk(model, [({}, k) for k in range(64)])
    before = model.predict_proba_one({})
    with pytest.raises(ValueError, match="'c' is one more than the 64"):
        model.learn_one({}, "c")
    assert model.predict_proba_one({}) == before and [*before] == [*range(64)]


def test_command_runs_the_network(capsys):
    assert cli.main(["evaluate", "phishing", "--model", "rnn", "--seed", "1"]) == 0
    assert "GRU" in capsys.readouterr().out


def test_river_checks_and_doctest():
    for check in checks.yield_checks(RecurrentClassifier()):
        check(RecurrentClassifier())
    assert doctest.testmod(recurrent).failed == 0
