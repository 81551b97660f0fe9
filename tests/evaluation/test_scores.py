"""Scores equal those computed from a list of all predictions."""

import math

from hypothesis import given
from hypothesis import strategies as st
from losses import losses, mean
from river import metrics

from river_amf.evaluation.metrics import LogLoss
from river_amf.evaluation.scores import Scores

LABELS = ["high", "low", "late"]
probabilities = st.dictionaries(st.sampled_from(LABELS), st.floats(0.0, 1.0))
predictions = st.tuples(
    st.sampled_from(LABELS),
    st.none() | st.sampled_from(LABELS),
    st.none() | probabilities,
)
windows = st.lists(st.lists(predictions, max_size=6), max_size=4)


def accuracy(outputs):
    hits = [label == y for y, label, _ in outputs if label is not None]
    return sum(hits) / len(hits) if hits else math.nan


def cross_entropy(outputs):
    of_river = [
        # river sums over the predicted labels, which may not include the true one
        -math.log(min(max(proba[y], 1e-15), 1 - 1e-15)) if y in proba else 0.0
        for y, _, proba in outputs
        if proba
    ]
    has_no_probabilities = any(proba is None for *_, proba in outputs)
    return math.nan if has_no_probabilities else mean(of_river)


def log_loss(outputs, before):
    seen = {y for y, *_ in before}
    marked = []
    for y, _, proba in outputs:
        marked.append((y, proba, y not in seen))
        seen.add(y)
    has_no_probabilities = any(proba is None for *_, proba in outputs)
    return math.nan if has_no_probabilities else mean(losses(marked))


def same(one, other):
    return one == other or math.isclose(one, other, rel_tol=1e-9) or (one != one and other != other)


@given(windows)
def test_scores_are_those_of_a_list_of_all_predictions(stream):
    named = {
        "accuracy": metrics.Accuracy(),
        "cross-entropy": metrics.CrossEntropy(),
        "log-loss": LogLoss(),
    }
    scores, outputs = Scores(named, named), []
    for window in stream:
        for y, label, proba in window:
            scores.update(y, label, proba)
        before, outputs = outputs, outputs + window
        for values, of, since in [
            (scores.total(), outputs, []),
            (scores.window(), window, before),
        ]:
            assert list(values) == ["accuracy", "cross-entropy", "log-loss"]
            assert same(values["accuracy"], accuracy(of))
            assert same(values["cross-entropy"], cross_entropy(of))
            assert same(values["log-loss"], log_loss(of, since))
    assert {metric.get() for metric in named.values()} == {0.0}  # the originals are unchanged
