"""Any calls in any order: single samples, blocks, bad input, copies, files, inspection.

A model that gets all of them is compared, to the byte, with a twin that only ever learns one sample
after the other.
"""

import copy
import functools
import math
import pickle
import tempfile
from pathlib import Path

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
    precondition,
    rule,
    run_state_machine_as_test,
)
from regressors import ends

import river_amf
from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    inspection,
)
from river_amf.engine import settings as river_amf_settings

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
LEVELS = st.sampled_from([0.5, 0.9, 0.99])

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
WRONG_TARGETS = (None, math.nan, math.inf, "1.5", [1.0], 1j, 1e101)
WRONG_WEIGHTS = (-1.0, math.inf, math.nan, "1", None)
WRONG_LEVELS = (0, 1, -0.5, math.nan, "0.9", None)


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

    def __init__(self, is_regressor):
        super().__init__()
        self.is_regressor = is_regressor
        self.wrong_labels = WRONG_TARGETS if is_regressor else WRONG_LABELS

    @initialize(data=st.data(), is_adaptive=st.booleans(), n_jobs=st.sampled_from([1, 2]))
    def begin(self, data, is_adaptive, n_jobs):
        self.folder = tempfile.TemporaryDirectory()
        if self.is_regressor:
            kind = AdaptiveAMFRegressor if is_adaptive else AMFRegressor
            given = data.draw(PARAMETERS_OF_NUMBERS)
        else:
            kind = AdaptiveAMFClassifier if is_adaptive else AMFClassifier
            given = data.draw(PARAMETERS) | data.draw(FADING)
        # what has to be refused would be missing; and only one of them predicts, but late labels
        # are another matter
        given |= {"on_mismatch": "raise", "max_delayed_labels": 0, "n_jobs": n_jobs}
        self.model, self.twin = (kind(n_estimators=3, seed=1, **given) for _ in range(2))
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
        """Return samples with their labels, as many as the model may have, or with targets."""
        if self.is_regressor:
            return [(x, target_of(x, label), weight) for x, label, weight in samples]
        n_labels = min(len(LABELS), self.model.n_classes or len(LABELS))
        return [(x, LABELS[label % n_labels], weight) for x, label, weight in samples]

    def note(self, samples):
        """Remember what has been learned."""
        samples = [sample for sample in samples if sample[2] > 0]
        self.learned += samples
        self.labels = list(dict.fromkeys([*self.labels, *(label for _, label, _ in samples)]))

    def ask(self, model, x, level=None):
        """Return what a model predicts: probabilities, or a number and its interval."""
        if not self.is_regressor:
            return model.predict_proba_one(x)
        return model.predict_one(x), *(ends(model.predict_interval_one(x, level)) if level else ())

    def teach_twin(self, samples, level=None):
        """Let the twin predict and learn samples one by one; returns its predictions."""
        answers = []
        for x, label, weight in samples:
            answers.append(self.ask(self.twin, x, level))
            self.twin.learn_one(x, label, w=weight)
        return answers

    @rule(sample=SAMPLES)
    def learn_one(self, sample):
        ((x, label, weight),) = samples = self.known([sample])
        for model in (self.model, self.twin):
            model.learn_one(x, label, w=weight)
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
        name = "predict_then_learn_many" if self.is_regressor else "predict_proba_then_learn_many"
        return getattr(self.model, name)

    def test_then_train(self, samples):
        found = self.test_then_train_call(*columns_of(samples))
        answers = self.teach_twin(samples)
        self.note(samples)
        if self.is_regressor:
            assert [(prediction,) for prediction in found.tolist()] == answers
            return
        assert list(found.columns) == self.labels
        for row, answer in zip(found.to_numpy(), answers, strict=True):
            if answer:
                assert row.tolist() == [answer.get(label, 0.0) for label in self.labels]
            else:
                assert np.isnan(row).all()

    @precondition(lambda self: self.is_regressor)
    @rule(block=BLOCKS, level=LEVELS)
    def predict_intervals_then_learn(self, block, level):
        samples = self.known(block)
        found = self.model._test_then_train(*columns_of(samples), level=level)
        intervals = found.intervals().tolist()
        answers = [(p, *e) for p, e in zip(found.prediction, intervals, strict=True)]
        assert answers == self.teach_twin(samples, level)
        self.note(samples)

    # Questions

    @rule(block=BLOCKS, level=LEVELS)
    def predict(self, block, level):
        xs = [x for x, _, _ in block]
        expected = [self.ask(self.twin, x, level) for x in xs]
        best = [self.twin.predict_one(x) for x in xs]
        for x, answer, guess in zip(xs, expected, best, strict=True):
            assert self.ask(self.model, x, level) == answer
            assert self.model.predict_one(x) == guess
            self.check_answer(answer)
            if not self.is_regressor:
                assert guess == (max(answer, key=answer.get) if answer else None)
        frame = frame_of(xs)
        assert self.model.predict_many(frame).tolist() == best
        if self.is_regressor:
            intervals = self.model.predict_interval_many(frame, level)
            assert intervals.to_numpy().tolist() == [list(answer[1:]) for answer in expected]
        else:
            proba = self.model.predict_proba_many(frame)
            assert proba.to_numpy().tolist() == [list(answer.values()) for answer in expected]

    def check_answer(self, answer):
        if self.is_regressor:
            prediction, *interval = answer
            assert math.isfinite(prediction) and interval == sorted(interval)
            assert prediction == 0.0 or self.labels
        else:
            assert list(answer) == self.labels
            assert all(0.0 <= p <= 1.0 for p in answer.values())
            assert not answer or sum(answer.values()) == pytest.approx(1.0, abs=1e-9)

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

    @rule(sample=SAMPLES, data=st.data())
    def refuse_a_label(self, sample, data):
        label = data.draw(st.sampled_from(self.wrong_labels))
        if label != 1e101 or self.labels:  # the first target may be any
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
        self.refuse_call(setattr, self.model, name, "wrong")

    @precondition(lambda self: self.is_regressor)
    @rule(x=FEATURES, level=st.sampled_from(WRONG_LEVELS))
    def refuse_a_level(self, x, level):
        self.refuse_call(self.model.predict_interval_one, x, level)
        self.refuse_call(self.model.predict_interval_many, frame_of([x]), level)

    @rule(x=FEATURES)
    def refuse_a_question(self, x):
        if "a" in self.model._features:  # others are ignored
            self.refuse_call(self.ask, self.model, x | {"a": math.inf}, 0.9)

    def refuse(self, x, label, weight):
        """Check that a sample is refused, on its own and at the end of a block."""
        self.refuse_call(self.model.learn_one, x, label, weight)
        good = self.known([({"a": 1.0, "new": 2.0}, 0, 1.0)])
        block = columns_of([*good, (x, label, weight)])
        for call in (self.model.learn_many, self.test_then_train_call):
            self.refuse_call(call, *block)

    def refuse_call(self, call, *arguments):
        """Check that a call is refused, and changes nothing."""
        before = content(self.model)
        with pytest.raises((TypeError, ValueError, AttributeError)):
            call(*arguments)
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
            assert not self.model._has_learned
            self.model.learn_many(*columns_of(self.learned))
        else:
            self.model = getattr(copy, way)(self.model)
        assert type(self.model) is type(self.twin)

    @rule(n_jobs=st.sampled_from([1, 2, -1]))
    def change_n_jobs(self, n_jobs):
        self.model.n_jobs = self.twin.n_jobs = n_jobs

    # What always holds

    @invariant()
    def check_twins(self):
        if hasattr(self, "model"):
            assert content(self.model) == content(self.twin)
            self.check_answer(self.ask(self.model, {}))


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
def test_any_calls_in_any_order_are_like_learning_sample_by_sample(
    monkeypatch, is_regressor, max_examples, steps
):
    # short lists are thinned, and too few samples for a thread do not happen
    monkeypatch.setattr(river_amf_settings, "LONGEST_LIST", 16)
    run_state_machine_as_test(
        functools.partial(Forest, is_regressor),
        settings=settings(
            max_examples=max_examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
        ),
    )
