"""The test-then-train loop: what it times, and how often its results are shown."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import naive_bayes

from river_amf.evaluation import EvaluationError, prequential
from river_amf.evaluation.prequential import test_then_train as steps_of


@given(st.integers(1, 10**9))
def test_intervals_are_round_and_about_ten(n_samples):
    interval = prequential.round_interval(n_samples)
    assert str(interval).rstrip("0") in {"1", "2", "5"}
    assert min(n_samples, 6) <= n_samples // interval <= 15


def test_one_prediction_and_learning_are_timed(monkeypatch):
    class Counted(naive_bayes.GaussianNB):
        def predict_one(self, x):  # from other probabilities, perhaps
            return True

    monkeypatch.setattr(prequential.time, "perf_counter", itertools.count().__next__)
    samples = (({"a": next(clock)}, True) for clock in [itertools.count()] * 3)
    assert [step.seconds for step in steps_of(Counted(), samples)] == [1 + 1] * 3


def test_attribute_error_of_a_model_is_raised():
    class Faulty(naive_bayes.GaussianNB):
        def predict_proba_one(self, x):
            return self.never_set

    with pytest.raises(EvaluationError, match="never_set"):
        list(steps_of(Faulty(), [({"a": 1.0}, True)]))
