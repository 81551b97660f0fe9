"""Categories: codes, their replacement beyond `max_categories`, and their order in each tree.

`test_naive.py` compares forests with few categories with the reference.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from river_amf import AMFClassifier, inspection
from river_amf.inputs.categories import Categories


@settings(max_examples=50)
@given(st.integers(1, 6), st.lists(st.integers(0, 12), max_size=80))
def test_new_category_replaces_least_recent(bound, values):
    categories, last_uses = Categories(bound), {}
    for time, value in enumerate(values):
        codes, code = dict(categories.codes), categories.code_to_learn(value)
        if value not in codes and len(codes) == bound:
            codes[value] = codes.pop(min(codes, key=last_uses.get))
        assert code == codes.setdefault(value, len(codes))
        for _ in range(2):  # as after an interrupt
            categories.put(value, code)
            categories.use(float(code))
        last_uses[value] = time
        assert categories.codes == codes
        assert [*categories.by_use()] == sorted(codes, key=last_uses.get)
        categories = Categories(bound, categories.by_use())  # as a copy


def test_replaced_category_is_unknown():
    model = AMFClassifier(n_estimators=3, seed=1, max_categories=4)
    for color in "redgreen":
        model.learn_one({"color": color}, color < "f")
    assert model._features.categories("color") == {"r": 0, "e": 1, "g": 3, "n": 2}
    before = model.predict_proba_one({"color": "d"})
    assert before == model.predict_proba_one({"color": "never"})
    assert model.predict_proba_one({"color": "e"}) != before
    model.learn_one({"color": "g"}, True, 0.0)  # which is no use
    model.learn_one({"color": "d"}, True)
    assert model._features.categories("color") == {"r": 0, "e": 1, "n": 2, "d": 3}


def test_every_sample_uses_its_category():
    model = AMFClassifier(n_estimators=3, seed=1, max_categories=4, max_nodes=41)
    for i in range(80):  # on the way the trees become full, and keep no samples any more
        model.learn_one({"color": "abcd"[i % 4], "size": i * 0.618 % 1}, i % 3 == 0)
        ((_, coding),) = model._features.bounded
        assert [*coding.by_use()][-1] == "abcd"[i % 4]


def test_each_tree_has_its_order_of_categories():
    model = AMFClassifier(n_estimators=40, seed=1)
    for i in range(16):
        model.learn_one({"letter": "abcdefgh"[i % 8]}, i % 8 < 4)
    tables = [inspection.node_table(model, tree) for tree in range(40)]
    parts = {frozenset(table["categories_left"][table["parent"] < 0].item()) for table in tables}
    assert len(parts) > 7  # an order that all trees share leaves seven
