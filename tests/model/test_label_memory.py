"""Experts on the labels' own memory: what users rely on (`test_naive.py` has the reference)."""

import io
import math
import random
import re

import numpy as np
import pytest
from test_naive import check_same_state, pair

from river_amf import AdaptiveAMFClassifier, AMFClassifier, load
from river_amf.explain.linear_experts import vote_weights
from river_amf.persistence.validation import FileError

MEMORY = {"vote": "learned", "label_memory": True}


def noise(labels, seed=1):
    """Return samples whose features tell nothing of these labels."""
    rng = random.Random(seed)
    return [({"a": rng.random(), "b": rng.random()}, label) for label in labels]


def sticky(n, stay=0.95):
    """Return labels of which each is most often the same as the one before."""
    rng, label = random.Random(2), 0
    for _ in range(n):
        label = label if rng.random() < stay else 1 - label
        yield label


def mean_loss(samples, delay=0, kind=AMFClassifier, **parameters):
    """Return the log-loss of the second half when each label comes after so many samples."""
    model, losses = kind(n_estimators=3, seed=1, **parameters), []
    for i, (x, y) in enumerate(samples):
        losses.append(-math.log(model.predict_proba_one(x).get(y, 1.0)))
        if i >= delay:
            model.learn_one(*samples[i - delay])
    return float(np.mean(losses[len(losses) // 2 :]))


def test_a_fixed_order_is_learned():
    samples = noise("abcde"[i % 5] for i in range(1500))
    assert mean_loss(samples, vote="learned") > 1.4
    assert mean_loss(samples, **MEMORY) < 0.1


def test_runs_are_learned():
    samples = noise(sticky(1500))
    entropy = -0.95 * math.log(0.95) - 0.05 * math.log(0.05)
    assert mean_loss(samples, **MEMORY) < entropy + 0.05
    assert mean_loss(samples, vote="learned") > 0.5


@pytest.mark.parametrize(("stay", "delay"), [(0.5, 0), (0.95, 200)])
def test_where_they_tell_nothing_they_are_silent(stay, delay):
    samples = noise(sticky(2000, stay))
    without = mean_loss(samples, delay, AdaptiveAMFClassifier)
    assert mean_loss(samples, delay, AdaptiveAMFClassifier, label_memory=True) < 1.02 * without


def test_more_labels_than_are_told_apart():
    rng = random.Random(3)
    samples = noise([*range(70), *(rng.randrange(60, 70) for _ in range(60))])
    model, reference = pair(**MEMORY)
    for x, y in samples:
        expected = reference.predict_proba_one(x)
        assert model.predict_proba_one(x) == pytest.approx(expected, abs=1e-12)
        model.learn_one(x, y)
        reference.learn_one(x, y)
    check_same_state(model, reference)


def test_it_needs_a_learned_vote():
    with pytest.raises(ValueError, match=r"label_memory=True needs vote='learned'.*'mean'"):
        AMFClassifier(label_memory=True)


@pytest.mark.parametrize("linear", [None, "cosines"])
def test_they_are_listed_by_name(linear):
    model = AMFClassifier(seed=1, linear=linear, **MEMORY)
    for x, y in noise("abc" * 30):
        model.learn_one(x, y)
    text = model.debug_one({"a": 0.5})
    assert ("Inputs of linear models" in text) == (linear is not None)
    listed = [*vote_weights(model._arena)][-4:]
    for name, (weight, *_) in zip(listed, model._arena.memories.tolist(), strict=True):
        assert re.search(f"^{name} +{weight:.4f}", text, re.MULTILINE)


def test_a_file_with_a_row_out_of_bounds_is_refused():
    model, file = AMFClassifier(seed=1, **MEMORY), io.BytesIO()
    for x, y in noise("abc"):
        model.learn_one(x, y)
    model._arena.memories["row"][3] = 67
    model.save(file)
    file.seek(0)
    with pytest.raises(FileError, match="row of memories must be from 0 to 66"):
        load(file)
