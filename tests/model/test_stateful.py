"""Calls in any order: answers are valid, blocks equal rows, and refused calls change nothing.

`test_call_sequences.py` compares the answers, copies and files with those of the same rows.
"""

import functools
import math

import numpy as np
import pandas as pd
import pytest
from forests import content
from generated import CATEGORIES, MISSING, NUMBERS, PARAMETERS, PARAMETERS_OF_NUMBERS
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    inspection,
)
from river_amf.engine import settings as engine_settings

LABELS = ("x", "y", "z", 7)
TARGETS = (1000.0, 1003.5, -7, 1e6)  # one for each label
KINDS = {"c": "categorical", "d": "categorical"}  # the other features are numeric
FADING = st.fixed_dictionaries(
    {},
    optional={
        "fading_factor": st.sampled_from([None, 0.45, 0.99]),
        "drift_threshold": st.sampled_from([None, 0.01, 4.0]),
    },
)

FEATURES = st.fixed_dictionaries(
    {},
    optional={
        "a": st.one_of(NUMBERS, NUMBERS, MISSING),
        "b": NUMBERS,
        "c": st.one_of(CATEGORIES, CATEGORIES, MISSING),
        "d": CATEGORIES,
        "e": st.one_of(st.sampled_from([-999.0, 1e9, 1e300]), NUMBERS),
        "f": st.one_of(st.sampled_from([1.5, 1.5, 1.5, 2.0]), MISSING),
    },
)
SAMPLES = st.tuples(
    FEATURES, st.integers(0, len(LABELS) - 1), st.sampled_from([1.0, 1.0, 1.0, 0.5, 2.0, 0.0])
)

WRONG_VALUES = (math.inf, -math.inf, [1.0], 1j, 10**400)
WRONG_LABELS = (None, math.nan, ["x"])
WRONG_TARGETS = (None, math.nan, math.inf, "1.5", [1.0], 1j, 1e101)
WRONG_WEIGHTS = (-1.0, math.inf, math.nan, "1", None)
WRONG_LEVELS = (0, 1, -0.5, math.nan, "0.9", None)


def long_block(seed, n_samples):
    """Return samples with gaps. The labels are swapped after 320, so that trees restart."""
    samples = []
    for i, (a, b, noise) in enumerate(np.random.default_rng(seed).random((n_samples, 3)).tolist()):
        x = {"a": a, "b": round(8 * b), "c": "red" if a > b else "green"}
        for name, at in (("a", 0.05), ("c", 0.3)):
            if noise < at:
                del x[name]
        samples.append((x, int((a > 0.5) ^ (i > 320) ^ (noise > 0.95)), 1.0))
    return samples


BLOCKS = st.one_of(
    st.lists(SAMPLES, max_size=6),
    st.builds(long_block, st.integers(0, 9), st.sampled_from([40, 400])),
)


class Forest(RuleBasedStateMachine):
    """A model that gets calls of all kinds, and its twin, which learns sample by sample."""

    def __init__(self, is_regressor):
        super().__init__()
        self.is_regressor = is_regressor
        self.seen = set()  # features with a value
        self.labels = []  # in order of appearance

    @initialize(data=st.data(), is_adaptive=st.booleans(), n_jobs=st.sampled_from([1, 2]))
    def begin(self, data, is_adaptive, n_jobs):
        if self.is_regressor:
            kind = AdaptiveAMFRegressor if is_adaptive else AMFRegressor
            parameters = data.draw(PARAMETERS_OF_NUMBERS)
        else:
            kind = AdaptiveAMFClassifier if is_adaptive else AMFClassifier
            parameters = data.draw(PARAMETERS) | data.draw(FADING)
        # what has to be refused would be missing; and the twin does not predict
        parameters |= {"on_mismatch": "raise", "max_delayed_labels": 0, "n_jobs": n_jobs}
        self.model, self.twin = (kind(n_estimators=3, seed=1, **parameters) for _ in range(2))

    def labelled(self, samples):
        """Return samples with their labels, as many as the model may have, or with targets."""
        if self.is_regressor:
            return [(x, target_of(x, label), weight) for x, label, weight in samples]
        n_labels = min(len(LABELS), self.model.n_classes or len(LABELS))
        return [(x, LABELS[label % n_labels], weight) for x, label, weight in samples]

    def teach_twin(self, samples):
        for x, label, weight in samples:
            self.twin.learn_one(x, label, w=weight)
            if weight > 0:
                self.seen |= {name for name, value in x.items() if not is_missing(value)}
                self.labels += [label] * (label not in self.labels)

    @property
    def calls_on_blocks(self):
        name = "predict_then_learn_many" if self.is_regressor else "predict_proba_then_learn_many"
        return self.model.learn_many, getattr(self.model, name)

    @rule(sample=SAMPLES)
    def learn_one(self, sample):
        samples = self.labelled([sample])
        self.model.learn_one(*samples[0])
        self.teach_twin(samples)

    @rule(block=BLOCKS, predicts=st.booleans())
    def learn_many(self, block, predicts):
        samples = self.labelled(block)
        self.calls_on_blocks[predicts](*columns_of(samples))
        self.teach_twin(samples)

    @rule(n_jobs=st.sampled_from([1, 2, -1]))
    def change_n_jobs(self, n_jobs):
        self.model.n_jobs = self.twin.n_jobs = n_jobs

    # What has to be refused

    def refuse_call(self, call, *arguments):
        """Check that a call is refused, and changes nothing."""
        before = content(self.model)
        with pytest.raises((TypeError, ValueError, AttributeError)):
            call(*arguments)
        assert content(self.model) == before

    def refuse(self, x, label, weight):
        """Check that a sample is refused, on its own and at the end of a block."""
        self.refuse_call(self.model.learn_one, x, label, weight)
        good = self.labelled([({"a": 1.0, "new": 2.0}, 0, 1.0)])
        for call in self.calls_on_blocks:
            self.refuse_call(call, *columns_of([*good, (x, label, weight)]))

    @rule(
        sample=SAMPLES,
        value=st.sampled_from(WRONG_VALUES),
        name=st.sampled_from(["a", "c", "never seen"]),
    )
    def refuse_a_value(self, sample, value, name):
        x, label, weight = self.labelled([sample])[0]
        self.refuse(x | {name: value}, label, weight)
        if name in self.seen:  # others are ignored
            self.refuse_call(self.model.predict_one, x | {name: value})

    @rule(sample=SAMPLES, name=st.sampled_from("abcd"))
    def refuse_the_other_kind(self, sample, name):
        x, label, weight = self.labelled([sample])[0]
        if name in self.seen:
            self.refuse(x | {name: 1.5 if name in KINDS else "text"}, label, weight)

    @rule(sample=SAMPLES, data=st.data())
    def refuse_a_label(self, sample, data):
        label = data.draw(st.sampled_from(WRONG_TARGETS if self.is_regressor else WRONG_LABELS))
        if label != 1e101 or self.labels:  # the first target may be any
            self.refuse(sample[0], label, 1.0)
        if not self.is_regressor and len(self.labels) == self.model.n_classes:
            self.refuse(sample[0], "one too many", 1.0)

    @rule(sample=SAMPLES, weight=st.sampled_from(WRONG_WEIGHTS))
    def refuse_a_weight(self, sample, weight):
        x, label, _ = self.labelled([sample])[0]
        self.refuse(x, label, weight)

    @rule(name=st.sampled_from(["step", "vote", "seed"]), level=st.sampled_from(WRONG_LEVELS))
    def refuse_a_parameter(self, name, level):
        self.refuse_call(setattr, self.model, name, "wrong")
        if self.is_regressor:
            self.refuse_call(self.model.predict_interval_one, {}, level)
            self.refuse_call(self.model.predict_interval_many, frame_of([{}]), level)

    # What always holds

    @rule(x=FEATURES, tree=st.integers(0, 2))
    def inspect(self, x, tree):
        before = content(self.model)
        assert self.model.debug_one(x, tree)
        assert self.model.memory_usage > 0
        table = inspection.node_table(self.model, tree)
        assert len(table) <= (self.model.max_nodes or math.inf)
        if self.is_regressor:
            assert np.isfinite(table[["mean", "std"]].to_numpy()).all()
        path = inspection.path(self.model, x, tree)
        assert len(path) == 0 or path["mass"].sum() == pytest.approx(1.0)
        if self.model.split_intensity == "relevance":
            assert inspection.feature_relevance(self.model).between(0, 1).all()
        assert self.model.fading_factor is None or 0 <= self.model.fading_share <= 1
        assert content(self.model) == before

    @rule(x=FEATURES)
    def predict(self, x):
        if self.is_regressor:
            prediction, interval = self.model.predict_one(x), self.model.predict_interval_one(x)
            assert math.isfinite(prediction) and prediction in interval
            assert prediction == 0.0 or self.labels
        else:
            answer = self.model.predict_proba_one(x)
            assert list(answer) == self.labels
            assert all(0.0 <= p <= 1.0 for p in answer.values())
            assert not answer or sum(answer.values()) == pytest.approx(1.0, abs=1e-9)
            best = max(answer, key=answer.get, default=None)
            assert self.model.predict_one(x) == best

    @invariant()
    def equal_twins(self):
        if hasattr(self, "model"):
            assert content(self.model) == content(self.twin)
            self.predict({})


def target_of(x, label):
    """Return a target that depends on the feature `a`, too."""
    a = x.get("a")
    return TARGETS[label] + (a if isinstance(a, float) and abs(a) < 1e6 else 0.0)


def is_missing(value):
    return value is None or value != value


def frame_of(xs):
    """Return samples as a frame of Python objects."""
    return pd.DataFrame(xs, index=range(len(xs)), dtype=object)


def columns_of(samples):
    """Return samples as the arguments of a call on a block."""
    xs, labels, weights = zip(*samples, strict=True) if samples else ((), (), ())
    return frame_of(list(xs)), list(labels), list(weights)


@pytest.mark.parametrize("is_regressor", [False, True])
@pytest.mark.parametrize(
    ("max_examples", "steps"), [(50, 20), pytest.param(2000, 60, marks=pytest.mark.soak)]
)
def test_any_calls_keep_the_invariants(monkeypatch, is_regressor, max_examples, steps):
    # short lists are thinned, and too few samples for a thread do not happen
    monkeypatch.setattr(engine_settings, "LONGEST_LIST", 16)
    run_state_machine_as_test(
        functools.partial(Forest, is_regressor),
        settings=settings(
            max_examples=max_examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
        ),
    )
