"""The test-then-train loop: what it times, what it names, and how errors come out of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import base, dummy

from river_amf.evaluation import EvaluationError, prequential
from river_amf.evaluation.prequential import test_then_train as steps_of


@given(st.integers(1, 10**9))
def test_intervals_are_round_and_about_ten(n_samples):
    interval = prequential.round_interval(n_samples)
    assert str(interval).rstrip("0") in {"1", "2", "5"}
    assert min(n_samples, 6) <= n_samples // interval <= 15


class Clocked(base.Classifier):
    """A model that moves its own clock: 1 us to predict, 1 s to do so again, 2 us to learn."""

    def __init__(self):
        self.now = 0.0

    def predict_proba_one(self, x, **kwargs):
        self.now += 1e-6
        return {True: 1.0}

    def predict_one(self, x, **kwargs):
        self.now += 1.0
        return True

    def learn_one(self, x, y):
        self.now += 2e-6


def test_only_the_model_is_timed(monkeypatch):
    model = Clocked()

    def samples():
        for _ in range(10):
            model.now += 1.0
            yield {"a": 1.0}, True

    monkeypatch.setattr(prequential.time, "perf_counter", lambda: model.now)
    seconds = []
    for step in steps_of(model, samples()):
        seconds.append(step.seconds)
        model.now += 1.0
    assert seconds == pytest.approx([3e-6] * 10, rel=1e-4)


@pytest.mark.parametrize("delay", [0, 2])
def test_error_of_a_model_names_the_sample(delay):
    error = KeyError("a")

    class Raising(dummy.PriorClassifier):
        def learn_one(self, x, y):
            if y == 1:
                raise error

    samples = [({"a": 1.0}, y) for y in (0, 1, 2)]
    with pytest.raises(EvaluationError, match=r"^sample 2: KeyError: 'a'$") as raised:
        [*steps_of(Raising(), samples, delay)]
    assert raised.value.__cause__ is error
