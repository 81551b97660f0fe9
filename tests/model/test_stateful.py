"""Any calls in any order: single samples, blocks, bad input, copies, files, inspection.

A model that gets all of them is compared, to the byte, with a twin that only ever learns one sample
after the other.
"""

import copy
import io
import math
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from generated import CATEGORIES, MISSING, NUMBERS
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import river_amf
from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection
from river_amf.engine import settings as river_amf_settings

LABELS = ("x", "y", "z", 7)
KINDS = {"c": "categorical", "d": "categorical"}  # the other features are numeric

PARAMETERS = st.fixed_dictionaries(
    {"n_estimators": st.sampled_from([1, 2, 3]), "n_jobs": st.sampled_from([1, 2])},
    optional={
        "n_classes": st.sampled_from([2, 4, 6]),
        "step": st.sampled_from([0.5, 2.0]),
        "split_prior": st.sampled_from([0.2, 0.8]),
        "use_aggregation": st.booleans(),
        "dirichlet": st.sampled_from([0.01, 1.0]),
        "split_pure": st.booleans(),
        "max_nodes": st.sampled_from([1, 2, 7, 40, None]),
        "split_intensity": st.sampled_from(["range", "relevance", "unit"]),
        "fading_factor": st.sampled_from([None, 0.45, 0.99]),
        "restart_threshold": st.sampled_from([None, 0.01, 4.0]),
        "vote": st.sampled_from(["mean", "learned"]),
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
BLOCKS = st.lists(SAMPLES, max_size=6)

WRONG_VALUES = (math.inf, -math.inf, [1.0], 1j, 10**400)
WRONG_LABELS = (None, math.nan, ["x"])
WRONG_WEIGHTS = (-1.0, math.inf, math.nan, "1", None)


def long_stream(seed, n_samples):
    """Return samples with gaps. The labels are swapped after 320, so that trees restart."""
    samples = []
    for i, (a, b, noise) in enumerate(np.random.default_rng(seed).random((n_samples, 3)).tolist()):
        x = {"a": a, "b": round(8 * b), "c": "red" if a > b else "green"}
        for name, at in (("a", 0.05), ("c", 0.3)):
            if noise < at:
                del x[name]
        samples.append((x, int((a > 0.5) ^ (i > 320) ^ (noise > 0.95)), 1.0))
    return samples


class Forest(RuleBasedStateMachine):
    """A model that gets calls of all kinds, and its twin, which learns sample by sample."""

    @initialize(kind=st.sampled_from([AMFClassifier, AdaptiveAMFClassifier]), given=PARAMETERS)
    def begin(self, kind, given):
        self.folder = tempfile.TemporaryDirectory()
        # only one of them predicts, and late labels are another matter
        self.model, self.twin = (kind(seed=1, max_pending=0, **given) for _ in range(2))
        self.learned = []  # samples
        self.labels = []  # in order of appearance
        self.originals = []  # of copies, each with its pickle

    def teardown(self):
        if hasattr(self, "model"):
            self.check_twins()
            for original, data in self.originals:
                assert content(original) == data
            self.folder.cleanup()

    # What is to be learned

    def known(self, samples):
        """Return samples with their labels, as many as the model may have."""
        n_labels = min(len(LABELS), self.model.n_classes or len(LABELS))
        return [(x, LABELS[label % n_labels], weight) for x, label, weight in samples]

    def note(self, samples):
        """Remember what has been learned."""
        samples = [sample for sample in samples if sample[2] > 0]
        self.learned += samples
        self.labels = list(dict.fromkeys([*self.labels, *(label for _, label, _ in samples)]))

    def teach_twin(self, samples):
        """Let the twin predict and learn samples one by one; returns its predictions."""
        answers = []
        for x, label, weight in samples:
            answers.append(self.twin.predict_proba_one(x))
            self.twin.learn_one(x, label, w=weight)
        return answers

    @rule(sample=SAMPLES)
    def learn_one(self, sample):
        samples = self.known([sample])
        for x, label, weight in samples:
            self.model.learn_one(x, label, w=weight)
            self.twin.learn_one(x, label, w=weight)
        self.note(samples)

    @rule(block=BLOCKS)
    def learn_many(self, block):
        samples = self.known(block)
        self.model.learn_many(*columns_of(samples))
        self.teach_twin(samples)
        self.note(samples)

    @rule(block=BLOCKS)
    def predict_then_learn_many(self, block):
        self.test_then_train(self.known(block))

    @rule(seed=st.integers(0, 9), n_samples=st.sampled_from([40, 400]))
    def learn_long_block(self, seed, n_samples):
        self.test_then_train(self.known(long_stream(seed, n_samples)))

    @property
    def test_then_train_call(self):
        return self.model.predict_proba_then_learn_many

    def test_then_train(self, samples):
        frame = self.test_then_train_call(*columns_of(samples))
        answers = self.teach_twin(samples)
        self.note(samples)
        assert list(frame.columns) == self.labels
        for row, answer in zip(frame.to_numpy(), answers, strict=True):
            if answer:
                assert row.tolist() == [answer.get(label, 0.0) for label in self.labels]
            else:
                assert np.isnan(row).all()

    # Questions

    @rule(block=BLOCKS)
    def predict(self, block):
        xs = [x for x, _, _ in block]
        answers = [self.model.predict_proba_one(x) for x in xs]
        for x, answer in zip(xs, answers, strict=True):
            check_proba(answer, self.labels)
            assert answer == self.twin.predict_proba_one(x)
            best = max(answer, key=answer.get) if answer else None
            assert self.model.predict_one(x) == best
        frame = frame_of(xs)
        many = self.model.predict_proba_many(frame)
        assert many.to_numpy().tolist() == [list(answer.values()) for answer in answers]
        guesses = self.model.predict_many(frame).tolist()
        assert guesses == [self.twin.predict_one(x) for x in xs]

    @rule(x=FEATURES, tree=st.integers(0, 2))
    def inspect(self, x, tree):
        before = content(self.model)
        tree = min(tree, self.model.n_estimators - 1)
        assert self.model.debug_one(x, tree)
        assert self.model.memory_usage > 0
        table = inspection.node_table(self.model, tree)
        assert len(table) <= (self.model.max_nodes or math.inf)
        path = inspection.path(self.model, x, tree)
        assert len(path) == 0 or path["mass"].sum() == pytest.approx(1.0)
        if self.model.split_intensity == "relevance":
            assert inspection.feature_relevance(self.model).between(0, 1).all()
        share = self.model.fading_share
        assert 0 <= share <= 1 or self.model.fading_factor is None
        assert content(self.model) == before

    # What has to be refused

    @rule(
        sample=SAMPLES,
        value=st.sampled_from(WRONG_VALUES),
        name=st.sampled_from(["a", "c", "never seen"]),
    )
    def refuse_a_value(self, sample, value, name):
        x, label, weight = self.known([sample])[0]
        self.refuse(x | {name: value}, label, weight)

    @rule(sample=SAMPLES, name=st.sampled_from("abcd"))
    def refuse_the_other_type(self, sample, name):
        x, label, weight = self.known([sample])[0]
        if any(not is_missing(x.get(name)) for x, _, _ in self.learned):
            self.refuse(x | {name: 1.5 if name in KINDS else "text"}, label, weight)

    @rule(sample=SAMPLES, label=st.sampled_from(WRONG_LABELS))
    def refuse_a_label(self, sample, label):
        self.refuse(sample[0], label, 1.0)

    @precondition(lambda self: len(self.labels) == self.model.n_classes)
    @rule(sample=SAMPLES)
    def refuse_one_label_too_many(self, sample):
        self.refuse(sample[0], "one too many", 1.0)

    @rule(sample=SAMPLES, weight=st.sampled_from(WRONG_WEIGHTS))
    def refuse_a_weight(self, sample, weight):
        x, label, _ = self.known([sample])[0]
        self.refuse(x, label, weight)

    @rule(name=st.sampled_from(["step", "vote", "seed"]))
    def refuse_a_parameter(self, name):
        before = content(self.model)
        with pytest.raises((TypeError, ValueError, AttributeError)):
            setattr(self.model, name, "wrong")
        assert content(self.model) == before

    def refuse(self, x, label, weight):
        """Check that a sample is refused, on its own and at the end of a block."""
        before = content(self.model)
        errors = (TypeError, ValueError)
        with pytest.raises(errors):
            self.model.learn_one(x, label, w=weight)
        good = self.known([({"a": 1.0, "new": 2.0}, 0, 1.0)])
        X, labels, weights = columns_of([*good, (x, label, weight)])
        for call in (self.model.learn_many, self.test_then_train_call):
            with pytest.raises(errors):
                call(X, labels, weights)
        assert content(self.model) == before

    # Copies and files

    @rule(way=st.sampled_from(["pickle", "copy", "deepcopy", "file", "clone"]))
    def go_on_with_a_copy(self, way):
        before = content(self.model)
        self.originals = [*self.originals[-2:], (self.model, before)]
        if way == "pickle":
            self.model = pickle.loads(pickle.dumps(self.model))
        elif way == "file":
            path = Path(self.folder.name, "model")
            self.model.save(path)
            self.model = river_amf.load(path)
        elif way == "clone":
            self.model = self.model.clone()
            assert not self.model._has_learnt
            self.model.learn_many(*columns_of(self.learned))
        else:
            self.model = getattr(copy, way)(self.model)
        assert type(self.model) is type(self.twin)

    @rule(n_jobs=st.sampled_from([1, 2, -1]))
    def change_n_jobs(self, n_jobs):
        self.model.n_jobs = self.twin.n_jobs = n_jobs

    # What always holds

    @invariant()
    def check_labels(self):
        if hasattr(self, "model"):
            check_proba(self.model.predict_proba_one({}), self.labels)

    @invariant()
    def check_twins(self):
        if hasattr(self, "model"):
            assert content(self.model) == content(self.twin)


def content(model):
    """Return a pickle that does not show which equal strings are one object."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer)
    pickler.fast = True
    pickler.dump(model)
    return buffer.getvalue()


def check_proba(proba, labels):
    assert list(proba) == labels
    assert all(0.0 <= p <= 1.0 for p in proba.values())
    assert not proba or sum(proba.values()) == pytest.approx(1.0, abs=1e-9)


def is_missing(value):
    return value is None or value != value


def frame_of(xs):
    """Return samples as a frame of Python objects."""
    return pd.DataFrame(xs, index=range(len(xs)), dtype=object)


def columns_of(samples):
    """Return samples as the arguments of a call on a block."""
    xs, labels, weights = zip(*samples, strict=True) if samples else ((), (), ())
    return frame_of(list(xs)), list(labels), list(weights)


def run(monkeypatch, max_examples, steps):
    # short lists are thinned, and too few samples for a thread do not happen
    monkeypatch.setattr(river_amf_settings, "LONGEST_LIST", 16)
    run_state_machine_as_test(
        Forest,
        settings=settings(
            max_examples=max_examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_any_calls_in_any_order_are_like_learning_sample_by_sample(monkeypatch):
    run(monkeypatch, max_examples=50, steps=20)


@pytest.mark.soak
def test_many_calls_in_any_order_are_like_learning_sample_by_sample(monkeypatch):
    run(monkeypatch, max_examples=2000, steps=60)
