"""OnlineDummyClassifier: the label frequencies, in closed form."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import river_amf
from river_amf import AMFClassifier, OnlineDummyClassifier

WEIGHTED_LABELS = st.lists(
    st.tuples(st.sampled_from(["ant", "bee", "cat", 4, (5,)]), st.floats(0.0, 100.0)),
    max_size=30,
)
DIRICHLETS = st.none() | st.floats(1e-3, 1e3)


def trained(weighted_labels, **parameters):
    model = OnlineDummyClassifier(**parameters)
    for label, weight in weighted_labels:
        model.learn_one({"ignored": label}, label, w=weight)
    return model


def closed_form(weighted_labels, a):
    """(count + a) / (n + C a) for the C labels seen."""
    counts = {}
    for label, weight in weighted_labels:
        if weight > 0.0:
            counts[label] = counts.get(label, 0.0) + weight
    if a is None:
        a = 0.5 if len(counts) <= 2 else 0.01
    n = sum(counts.values())
    return {label: (count + a) / (n + len(counts) * a) for label, count in counts.items()}


@given(WEIGHTED_LABELS, DIRICHLETS)
def test_prediction_is_the_closed_form(weighted_labels, dirichlet):
    proba = trained(weighted_labels, dirichlet=dirichlet).predict_proba_one({})
    assert proba == pytest.approx(closed_form(weighted_labels, dirichlet), rel=1e-12)


@given(WEIGHTED_LABELS, DIRICHLETS, st.none() | st.integers(5, 9), st.booleans())
def test_equals_a_forest_of_single_leaves(weighted_labels, dirichlet, n_classes, split_pure):
    parameters = {"n_classes": n_classes, "dirichlet": dirichlet}
    dummy = OnlineDummyClassifier(**parameters)
    forest = AMFClassifier(n_estimators=2, max_nodes=1, split_pure=split_pure, **parameters)
    for i, (label, weight) in enumerate(weighted_labels):
        x = {"number": i % 4, "category": "xyz"[i % 3]}
        assert forest.predict_proba_one(x) == pytest.approx(dummy.predict_proba_one(x), abs=1e-12)
        dummy.learn_one(x, label, w=weight)
        forest.learn_one(x, label, w=weight)
    proba = dummy.predict_proba_one({})
    assert forest.predict_proba_one({}) == pytest.approx(proba, abs=1e-12)
    assert forest.predict_one({}) == dummy.predict_one({})


def test_nothing_is_predicted_before_the_first_sample():
    assert OnlineDummyClassifier().predict_proba_one({}) == {}
    assert OnlineDummyClassifier().predict_one({}) is None


def test_weight_zero_changes_nothing():
    model = trained([("a", 1.0)])
    before = pickle.dumps(model)
    model.learn_one({}, "new label", w=0)
    assert pickle.dumps(model) == before


def test_the_automatic_dirichlet_follows_the_number_of_classes():
    two = [("a", 3.0), ("b", 1.0)]
    assert trained(two).predict_proba_one({}) == {"a": 3.5 / 5, "b": 1.5 / 5}
    three = trained([*two, ("c", 1.0)]).predict_proba_one({})
    assert three["a"] == pytest.approx(3.01 / 5.03, rel=1e-12)


def test_one_label_more_than_n_classes_is_refused():
    model = trained([("a", 1.0), ("b", 1.0)], n_classes=2)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"'c'.*n_classes=2.*\['a', 'b'\]"):
        model.learn_one({}, "c")
    assert pickle.dumps(model) == before


def test_the_heaviest_samples_are_refused_together():
    model = trained([("a", 1e300)])
    model.counts["a"] = model.n = 1e305
    with pytest.raises(ValueError, match="more than 1e"):
        model.learn_one({}, "b", 1e300)
    assert model.predict_proba_one({}) == {"a": 1.0}


def test_pickles_and_deep_copies_save_it_and_there_is_no_other_file():
    model = trained([("a", 2.5), ("b", 1.0)], dirichlet=0.1)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert twin.predict_proba_one({}) == model.predict_proba_one({})
        twin.learn_one({}, "c")
        assert [*model.predict_proba_one({})] == ["a", "b"]
    assert not hasattr(model, "save")
    with pytest.raises(TypeError, match="cannot save a OnlineDummyClassifier"):
        river_amf.save(model, "nowhere")
