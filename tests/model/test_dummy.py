"""OnlineDummyClassifier: a forest of single leaves."""

import pickle

import pytest
from forests import state_of
from hypothesis import given
from hypothesis import strategies as st

from river_amf import AMFClassifier, OnlineDummyClassifier

LABELS = st.sampled_from(["ant", "bee", "cat", 4, (5,)])


@given(
    st.lists(st.tuples(LABELS, st.just(0.0) | st.floats(0.0, 100.0)), max_size=30),
    st.none() | st.floats(1e-3, 1e3),
    st.none() | st.integers(5, 9),
    st.booleans(),
)
def test_dummy_equals_single_leaves(weighted_labels, dirichlet, n_classes, split_pure):
    parameters = {"n_classes": n_classes, "dirichlet": dirichlet}
    dummy = OnlineDummyClassifier(**parameters)
    forest = AMFClassifier(n_estimators=2, max_nodes=1, split_pure=split_pure, **parameters)
    for i, (label, weight) in enumerate([*weighted_labels, ("ant", 1.0)]):
        x = {"number": i % 4, "category": "xyz"[i % 3]}
        assert forest.predict_proba_one(x) == pytest.approx(dummy.predict_proba_one(x), abs=1e-12)
        assert forest.predict_one(x) == dummy.predict_one(x)
        dummy.learn_one(x, label, w=weight)
        forest.learn_one(x, label, w=weight)
    assert forest.predict_proba_one({}) == pytest.approx(dummy.predict_proba_one({}), abs=1e-12)
    twin = pickle.loads(pickle.dumps(dummy))
    assert twin.predict_proba_one({}) == dummy.predict_proba_one({})


@pytest.mark.parametrize(
    ("label", "weight", "message"),
    [("c", 1.0, r"'c'.*n_classes=2.*\['a', 'b'\]"), ("b", 1e300, "more than 1e")],
)
def test_dummy_refuses_and_stays(label, weight, message):
    model = OnlineDummyClassifier(n_classes=2)
    model.learn_one({}, "a", w=3.0)
    model.learn_one({}, "b")
    assert model.predict_proba_one({}) == {"a": 3.5 / 5, "b": 1.5 / 5}
    model.counts["a"] = model.n = 1e305
    before = state_of(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one({}, label, weight)
    assert state_of(model) == before
