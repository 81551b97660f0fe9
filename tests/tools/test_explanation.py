"""All parts of `debug_one`: the text says what the model does."""

import math
import pickle
import random
import re
from xml.etree import ElementTree

import pytest
from river import compose, preprocessing

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection


def make(model, n=300, seed=1):
    """Let a model learn a stream of numbers, categories and missing values."""
    rng = random.Random(seed)
    for i in range(n):
        x = {"size": rng.gauss(0, 1), "color": rng.choice("abcdefgh"), ("odd", 1): rng.random()}
        y = "big" if x["size"] > 0.5 else "red" if x["color"] in "ab" else "other"
        if i % 5 == 0:
            del x["size"]
        model.learn_one(x, y)
    return model


X = {"size": 0.7, "color": "c"}


def sections(text):
    """Return the parts of an explanation, keyed by their first words."""
    return {part.split()[0].strip(":;,"): part.splitlines() for part in text.split("\n\n")}


def cells(lines):
    """Return the cells of a table, which are separated by at least two spaces."""
    return [re.split(r" {2,}", line.strip()) for line in lines]


def path_rows(text, tree=0):
    (part,) = (p for p in text.split("\n\n") if p.startswith(f"Path in tree {tree},"))
    return cells(part.splitlines()[1:])


def test_it_begins_with_the_prediction_the_most_probable_label_first():
    model = make(AMFClassifier(seed=1))
    proba = model.predict_proba_one(X)
    title, *rows = sections(model.debug_one(X))["Prediction"]
    best = sorted(proba, key=lambda label: -proba[label])
    assert title == f"Prediction: {best[0]!r}"
    assert cells(rows) == [[repr(label), f"{proba[label]:.4f}"] for label in best]


@pytest.mark.parametrize("n_classes", [None, 4])
def test_it_lists_what_each_tree_predicts(n_classes):
    model = make(AMFClassifier(n_estimators=3, seed=1, n_classes=n_classes))
    title, header, *rows = sections(model.debug_one(X))["Trees"]
    assert title.startswith("Trees (the forest predicts their mean)")
    assert ("classes not seen yet share the rest" in title) == (n_classes == 4)
    proba = model.predict_proba_one(X)
    best = sorted(proba, key=lambda label: -proba[label])
    assert cells([header]) == [["tree", *map(repr, best), "depth"]]
    depths = inspection.weighted_depth(model, X)
    for tree, row in enumerate(cells(rows)):
        steps = inspection.path(model, X, tree)
        of_tree = [sum(steps.mass * [p[label] for p in steps.proba]) for label in best]
        number, *shown, depth = row
        assert number == str(tree)
        # half a unit of the last digit: a sum of another order may round to the other side
        assert [*map(float, shown)] == pytest.approx(of_tree, abs=0.5e-4 + 1e-9)
        assert float(depth) == pytest.approx(depths[tree], abs=0.5e-2 + 1e-9)
        assert all(re.fullmatch(r"\d\.\d{4}", text) for text in shown)
        assert re.fullmatch(r"\d+\.\d\d", depth)
    assert len(rows) == 3


LINEAR = {
    "logistic": (["logistic"], {"linear": "logistic"}),
    "cosines": (["logistic", "slow cosines", "fast cosines"], {}),
    "words": (["logistic", "words"], {"absent": "zero"}),
}


@pytest.mark.parametrize(("linear_models", "parameters"), LINEAR.values(), ids=LINEAR)
def test_it_lists_the_predictions_of_linear_models(linear_models, parameters):
    model = make(AdaptiveAMFClassifier(n_estimators=2, seed=1, **parameters))
    text = model.debug_one(X)
    _, header, *rows = sections(text)["Trees"]
    labels = cells([header])[0][2:-1]
    trees = {row[0]: [float(number) for number in row[1:]] for row in cells(rows)}
    title, header, *rows = sections(text)["Linear"]
    assert "weight x log(p), where log(p) is at least -7" in title
    assert cells([header]) == [["model", "weight", *labels]]
    said = {row[0]: [float(number) for number in row[1:]] for row in cells(rows)}
    assert [*said] == linear_models
    powers = [
        math.exp(
            trees["bias"][c]
            + sum(trees[tree][0] * math.log(trees[tree][1 + c] + 0.001) for tree in "01")
            + sum(weight * max(math.log(p[c] or 1e-9), -7) for weight, *p in said.values())
        )
        for c in range(3)
    ]
    proba = model.predict_proba_one(X)
    for label, power in zip(labels, powers, strict=True):
        assert power / sum(powers) == pytest.approx(proba[label.strip("'")], abs=2e-3)


@pytest.mark.parametrize(("linear_models", "parameters"), LINEAR.values(), ids=LINEAR)
def test_it_lists_the_inputs_of_linear_models(linear_models, parameters):
    model = make(AdaptiveAMFClassifier(n_estimators=2, seed=1, **parameters))
    text = model.debug_one(X)
    said = {row[0]: row[2:4] for row in cells(sections(text)["Linear"][2:])}
    title, header, *rows = sections(text)["Inputs"]
    best = sorted(model.predict_proba_one(X).items(), key=lambda item: -item[1])
    assert title.endswith(f"(weights: of {best[0][0]!r} less those of {best[1][0]!r})")
    assert cells([header]) == [["model", "feature", "input", "weight", "product"]]
    table = inspection.linear_weights(model)
    products = dict.fromkeys({"logistic", linear_models[-1]} - {"fast cosines"}, 0.0)
    for linear_model, feature, *numbers in cells(rows):
        value, weight, product = map(float, numbers)
        assert value * weight == pytest.approx(product, abs=2e-3)
        products[linear_model] += product
        name, _, category = feature.partition(" = ")
        is_own = table.linear_model == linear_model
        is_own &= table.category == "c" if category else table.category.isna()
        is_own &= table.feature.isna() if name == "(constant)" else table.feature.map(str) == name
        own = table[is_own].set_index("label").weight
        assert own[best[0][0]] - own[best[1][0]] == pytest.approx(weight, abs=1e-4)
    for linear_model, product in products.items():
        first, second = map(float, said[linear_model])
        assert math.log(first / second) == pytest.approx(product, abs=0.05)


@pytest.mark.parametrize("adaptive", [False, True])
def test_the_path_is_that_of_the_table(adaptive):
    kind = AdaptiveAMFClassifier if adaptive else AMFClassifier
    model = make(kind(n_estimators=2, seed=1))
    text = model.debug_one(X)
    best = max(model.predict_proba_one(X).items(), key=lambda item: item[1])[0]
    for tree in range(2):
        header, *rows = path_rows(text, tree)
        assert header == ["node", "share", "mass", f"p({best!r})", "samples", "counts", "split"]
        steps = inspection.path(model, X, tree)
        assert len(rows) == len(steps) > 2
        for row, step in zip(rows, steps.itertuples(), strict=True):
            numbers = [f"{number:.4f}" for number in (step.share, step.mass, step.proba[best])]
            assert row[:5] == [str(step.node), *numbers, f"{step.n_samples:.0f}"]
            counts = [f"{label!r} {n:.0f}" for label, n in step.counts.items() if n]
            assert row[5] == ", ".join(counts)
        assert rows[-1][6] == "leaf"


def test_a_rule_is_what_holds_of_the_sample():
    model = make(AMFClassifier(n_estimators=3, seed=1))
    rules = set()
    for color in ("a", "h"):
        x = {"size": 0.7, "color": color, ("odd", 1): 0.4}
        for tree in range(3):
            steps = inspection.path(model, x, tree)
            for row, step in zip(path_rows(model.debug_one(x), tree)[1:], steps[:-1].itertuples()):  # noqa: B905
                rule = row[6]
                if step.feature == "color":
                    relation = "in" if step.goes == "left" else "not in"
                    assert rule.startswith(f"color {relation} {{")
                    named = set(re.findall("'(.)'", rule))
                    assert named <= step.categories_left
                    assert len(named) == min(3, len(step.categories_left))
                    more = len(step.categories_left) - 3
                    assert rule.endswith(f", +{more}}}" if more > 0 else "'}")
                    assert step.goes == "right" or color in named
                    rules.add(relation)
                else:
                    sign = "<=" if step.goes == "left" else ">"
                    name = step.feature if step.feature == "size" else "('odd', 1)"
                    assert rule.startswith(f"{name} {sign} ")
                    written = float(rule.split()[-1])
                    assert (x[step.feature] <= written) == (step.goes == "left")
                    assert written == pytest.approx(step.threshold, rel=0.1, abs=0.05)
                    rules.add(sign)
    assert rules == {"in", "not in", "<=", ">"}


def test_it_shows_where_a_value_is_missing_new_or_far_outside():
    model = make(AMFClassifier(n_estimators=3, seed=1))
    missing, new = model.debug_one({}), model.debug_one({"color": "new"})
    assert re.search(r"size missing: (left|right), the heavier side", missing)
    assert re.search(r"\('odd', 1\) missing: (left|right), the heavier side", missing)
    assert re.search(r"color has a new category: (left|right), by chance", new)
    far = model.debug_one({"size": -1e9})
    end = model._arena.ranges[0, model._features.column("size")]
    taken = re.search(r"size <= \S+ \(-1000000000 is clipped to (\S+)\)", far).group(1)
    assert float(taken) == pytest.approx(end, abs=0.1)


def test_many_labels_and_long_ones_are_cut():
    model = AMFClassifier(n_estimators=2, seed=1)
    for i in range(200):
        model.learn_one({"a": i % 40}, f"label number {i % 40} with a name that goes on and on")
    text = model.debug_one({"a": 3})
    assert max(map(len, text.splitlines())) < 250
    assert "35 others" in sections(text)["Prediction"][-1]
    assert path_rows(text)[1][5].endswith(", +36")


def test_before_the_first_sample_it_is_said():
    assert AMFClassifier().debug_one(X).startswith("No sample has been learned yet")


@pytest.mark.parametrize("n", [0, 50])
def test_a_bad_sample_raises_as_in_prediction(n):
    model = make(AMFClassifier(seed=1), n)
    for x in ({"size": math.inf}, {"color": []}, None):
        with pytest.raises((TypeError, ValueError)) as expected:
            model.predict_proba_one(x)
        with pytest.raises(expected.type, match=re.escape(str(expected.value))):
            model.debug_one(x)


def test_to_explain_changes_nothing():
    for kind in (AMFClassifier, AdaptiveAMFClassifier):
        model, twin = (make(kind(n_estimators=3, seed=1)) for _ in range(2))
        before = pickle.dumps(model)
        for x in ({}, X, {"size": 1e9, "color": "new", "unknown": 1}):
            model.debug_one(x)
        assert pickle.dumps(model) == before
        assert pickle.dumps(make(model, seed=2)) == pickle.dumps(make(twin, seed=2))


def test_a_tree_that_has_started_afresh_says_so():
    model = make(AMFClassifier(n_estimators=2, seed=1))
    model._arena.trees["root"][1] = -1
    model._arena.trees["n_nodes"][1] = 0
    text = model.debug_one(X)
    assert "Path in tree 1, of 0 nodes: it has just started afresh" in text
    assert cells(sections(text)["Trees"])[3][-1] == "nan"


def test_a_pipeline_explains_the_prediction_of_its_forest():
    scaler = compose.SelectType(float) | preprocessing.StandardScaler()
    scaler += compose.Select("color")
    model = make(scaler | AMFClassifier(n_estimators=2, seed=1))
    forest, x = model["AMFClassifier"], model.transform_one(X)
    assert forest.debug_one(x) in model.debug_one(X)
    assert model.predict_one(X) == forest.predict_one(x)
    text = (preprocessing.StandardScaler() | AMFClassifier()).debug_one({"a": 1.0})
    assert "No sample has been learned yet" in text


def shown(html):
    """Return what a notebook shows, without the style, which is not XML."""
    return ElementTree.fromstring(html.partition("<style")[0] + "</div>")
