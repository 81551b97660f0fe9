"""Any calls in any order, as in `test_stateful`, of a forest for numbers."""

import math
import tempfile

import numpy as np
import pytest
from generated import PARAMETERS_OF_NUMBERS
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule, run_state_machine_as_test
from regressors import ends
from test_stateful import (
    BLOCKS,
    FEATURES,
    SAMPLES,
    Forest,
    columns_of,
    content,
    frame_of,
)

from river_amf import AdaptiveAMFRegressor, AMFRegressor, inspection

TARGETS = (1000.0, 1003.5, -7, 1e6)  # one for each label of the samples that are drawn
WRONG_TARGETS = (None, math.nan, math.inf, "1.5", [1.0], 1j, 1e101)
LEVELS = st.sampled_from([0.5, 0.9, 0.99])
STRICT = {"on_mismatch": "raise"}  # or what has to be refused is taken for missing
WRONG_LEVELS = (0, 1, -0.5, math.nan, "0.9", None)


class ForestOfNumbers(Forest):
    """A regressor that gets calls of all kinds, and its twin, which learns sample by sample."""

    @initialize(
        kind=st.sampled_from([AMFRegressor, AdaptiveAMFRegressor]),
        given=PARAMETERS_OF_NUMBERS,
        n_jobs=st.sampled_from([1, 2]),
    )
    def begin(self, kind, given, n_jobs):
        self.folder = tempfile.TemporaryDirectory()
        own = {"n_estimators": 3, "n_jobs": n_jobs, "max_pending": 0, "seed": 1}
        self.model, self.twin = (kind(**(given | own | STRICT)) for _ in range(2))
        self.learned, self.labels, self.originals = [], [], []

    def known(self, samples):
        """Return samples with targets, which depend on the feature `a`, too."""
        return [(x, self.target_of(x, label), weight) for x, label, weight in samples]

    @staticmethod
    def target_of(x, label):
        a = x.get("a")
        is_number = isinstance(a, float) and abs(a) < 1e6
        return TARGETS[label % 4] + (a if is_number else 0.0)

    def teach_twin(self, samples):
        answers = []
        for x, y, weight in samples:
            answers.append(self.twin.predict_one(x))
            self.twin.learn_one(x, y, w=weight)
        return answers

    @property
    def test_then_train_call(self):
        return self.model.predict_then_learn_many

    def test_then_train(self, samples):
        predictions = self.test_then_train_call(*columns_of(samples))
        assert predictions.tolist() == self.teach_twin(samples)
        self.note(samples)

    # Questions

    @rule(block=BLOCKS, level=LEVELS)
    def predict(self, block, level):
        xs = [x for x, _, _ in block]
        predictions = [self.twin.predict_one(x) for x in xs]
        intervals = [[*ends(self.twin.predict_interval_one(x, level))] for x in xs]
        for x, prediction, interval in zip(xs, predictions, intervals, strict=True):
            assert math.isfinite(prediction) and interval[0] <= interval[1]
            assert self.model.predict_one(x) == prediction
            assert [*ends(self.model.predict_interval_one(x, level))] == interval
            assert self.model.predict_one(x) == prediction
        frame = frame_of(xs)
        assert self.model.predict_many(frame).tolist() == predictions
        assert self.model.predict_interval_many(frame, level).to_numpy().tolist() == intervals

    @rule(block=BLOCKS, level=LEVELS)
    def predict_intervals_then_learn(self, block, level):
        samples = self.known(block)
        expected = []
        for x, y, weight in samples:
            interval = ends(self.twin.predict_interval_one(x, level))
            expected.append((self.twin.predict_one(x), *interval))
            self.twin.learn_one(x, y, w=weight)
        found = self.model._test_then_train(*columns_of(samples), level=level)
        self.note(samples)
        intervals = found.intervals().tolist()
        assert [(p, *e) for p, e in zip(found.prediction, intervals, strict=True)] == expected

    @rule(x=FEATURES, tree=st.integers(0, 2))
    def inspect(self, x, tree):
        before = content(self.model)
        tree = min(tree, self.model.n_estimators - 1)
        assert self.model.debug_one(x, tree)
        assert self.model.memory_usage > 0
        table = inspection.node_table(self.model, tree)
        assert len(table) <= (self.model.max_nodes or math.inf)
        assert np.isfinite(table[["mean", "std"]].to_numpy()).all()
        path = inspection.path(self.model, x, tree)
        assert len(path) == 0 or path["mass"].sum() == pytest.approx(1.0)
        assert content(self.model) == before

    # What has to be refused

    @rule(sample=SAMPLES, label=st.sampled_from(WRONG_TARGETS))
    def refuse_a_label(self, sample, label):
        if label != 1e101 or self.labels:  # the first target may be any
            self.refuse(sample[0], label, 1.0)

    @precondition(lambda self: False)  # there are no classes
    @rule()
    def refuse_one_label_too_many(self):
        """Do nothing."""

    @rule(x=FEATURES, level=st.sampled_from(WRONG_LEVELS))
    def refuse_a_level(self, x, level):
        before = content(self.model)
        for call in (
            lambda: self.model.predict_interval_one(x, level),
            lambda: self.model.predict_interval_many(frame_of([x]), level),
        ):
            with pytest.raises(ValueError, match="level"):
                call()
        assert content(self.model) == before

    @rule(x=FEATURES)
    def refuse_a_question(self, x):
        before = content(self.model)
        if "a" in self.model._features:  # others are ignored
            for call in (self.model.predict_one, self.model.predict_interval_one):
                with pytest.raises(ValueError, match="'a'"):
                    call(x | {"a": math.inf})
        assert content(self.model) == before

    # What always holds

    @invariant()
    def check_labels(self):
        if hasattr(self, "model"):
            prediction = self.model.predict_one({})
            assert math.isfinite(prediction)
            assert prediction == 0.0 or self.labels


def run(max_examples, steps):
    run_state_machine_as_test(
        ForestOfNumbers,
        settings=settings(
            max_examples=max_examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_any_calls_in_any_order_are_like_learning_sample_by_sample():
    run(max_examples=40, steps=20)


@pytest.mark.soak
def test_many_calls_in_any_order_are_like_learning_sample_by_sample():
    run(max_examples=1500, steps=60)
