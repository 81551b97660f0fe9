import itertools
import random

import numpy as np
import pandas as pd
import pytest
from playgrounds import Packed

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection, plot
from river_amf.evaluation import load_stream
from river_amf.evaluation.playground_samples import read_samples
from river_amf.pages.cells import mass_by_depth
from river_amf.pages.playground import ArrayPool, paint
from river_amf.pages.snapshots import MOST_LABELS

SMALL = {"n_samples": 80, "n_steps": 6, "resolution": 7, "seed": 3}
CLASSES = {"plain": AMFClassifier, "adaptive": AdaptiveAMFClassifier}
FORESTS = [*itertools.product(CLASSES, (1, 10), ("with", "without"))]
DRIFTS = ["none", "swap", "turn"]


@pytest.fixture(scope="module")
def small():
    """Return a playground of few steps, of three labels."""
    return plot.playground("blobs", **SMALL)


def learned(playground, variant):
    """Yield the model of a variant at each step, and how many predictions were right by then."""
    kind, n_trees, aggregation, drift = variant
    model = CLASSES[kind](n_trees, use_aggregation=aggregation == "with", seed=SMALL["seed"])
    was_right = []
    for x, y in playground.samples.after(drift).rows():
        was_right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
        if len(was_right) in playground.steps:
            yield model, was_right


def places(playground, resolution):
    """Yield row and column of each place of a surface, and its features."""
    left, right, bottom, top = playground.samples.view
    across, up = np.linspace(left, right, resolution), np.linspace(bottom, top, resolution)
    for i, j in itertools.product(range(resolution), repeat=2):
        yield i, j, {"x": across[j], "y": up[i]}


def test_there_is_a_run_for_each_way_to_set_the_switches(small):
    assert {*small.runs} == {(*forest, drift) for forest in FORESTS for drift in DRIFTS}
    assert small.steps == [5, 18, 40, 45, 58, 80]
    assert all(len(run.snapshots) == len(small.steps) for run in small.runs.values())
    for variant in FORESTS:
        runs = [small.runs[(*variant, drift)] for drift in DRIFTS]
        early = [run.snapshots[:3] for run in runs]
        assert all(a is b is c for a, b, c in zip(*early, strict=True))
        assert not np.array_equal(*(run.snapshots[-1].surface for run in runs[:2]))
        assert [run.start for run in runs] == [0, 40, 40]


@pytest.mark.parametrize("variant", FORESTS)
@pytest.mark.parametrize("drift", DRIFTS)
def test_each_snapshot_is_what_the_model_reports_at_that_step(small, variant, drift):
    run = small.runs[(*variant, drift)]
    labels = small.samples.labels
    for snapshot, (model, was_right) in zip(
        run.snapshots, learned(small, (*variant, drift)), strict=True
    ):
        assert snapshot.surface.shape == (7, 7, 3)
        for i, j, x in places(small, 7):
            proba = model.predict_proba_one(x)
            expected = [proba.get(label, 0.0) for label in labels]
            assert snapshot.surface[i, j] == pytest.approx(expected, abs=1e-6)
        assert snapshot.accuracy == pytest.approx(np.mean(was_right))
        assert snapshot.n_nodes == model.n_nodes
        np.testing.assert_array_equal(snapshot.mass, mass_by_depth(model))


@pytest.mark.parametrize("variant", FORESTS)
def test_cells_cover_the_view_and_have_the_predictions_of_the_first_tree(small, variant):
    rng = random.Random(1)
    left, right, bottom, top = small.samples.view
    run = small.runs[(*variant, "turn")]
    models = learned(small, (*variant, "turn"))
    for snapshot, (model, _) in zip(run.snapshots, models, strict=True):
        west, east, south, north = snapshot.boxes.T
        assert np.sum((east - west) * (north - south)) == pytest.approx(
            (right - left) * (top - bottom)
        )
        for _ in range(30):
            a, b = rng.uniform(left, right), rng.uniform(bottom, top)
            (cell,) = np.flatnonzero((west < a) & (a <= east) & (south < b) & (b <= north))
            proba = model[0].predict_proba_one({"x": a, "y": b})
            expected = [proba.get(label, 0.0) for label in small.samples.labels]
            assert snapshot.proba[cell] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("is_aggregated", [True, False])
def test_mass_by_depth_is_the_mean_over_trees_and_samples(kind, is_aggregated):
    model = CLASSES[kind](3, use_aggregation=is_aggregated, seed=1)
    rows = [*read_samples("moons", 40, seed=1).rows()]
    for x, y in rows:
        model.learn_one(x, y)
    paths = [inspection.path(model, x, tree) for x, _ in rows for tree in range(3)]
    expected = np.zeros(max(map(len, paths)))
    for steps in paths:
        expected[: len(steps)] += steps["mass"].to_numpy() / len(paths)
    mass = mass_by_depth(model)
    assert mass[: len(expected)] == pytest.approx(expected, abs=1e-12)
    assert mass.sum() == pytest.approx(1.0)


def test_a_tree_that_has_just_started_afresh_answers_from_its_root():
    model = AdaptiveAMFClassifier(4, seed=1)
    for i in range(3000):
        model.learn_one({"a": i % 7}, (i % 7 < 3) is (i < 2000))
        if not all(tree.n_nodes for tree in model):
            break
    assert model.n_drifts_detected() == 2
    mass = mass_by_depth(model)
    assert mass.sum() == pytest.approx(1.0)
    assert mass[0] >= 0.5


@pytest.mark.parametrize("n_labels", range(2, MOST_LABELS + 1))
def test_a_byte_shows_the_label_and_its_probability(n_labels):
    proba = np.random.default_rng(1).dirichlet(np.full(n_labels, 0.3), (40, 5))
    painted = paint(proba)
    assert (painted.shape, painted.dtype) == ((40, 5), np.uint8)
    n_levels = 256 // n_labels
    label, level = np.divmod(painted, n_levels)
    np.testing.assert_array_equal(label, proba.argmax(axis=-1))
    chance = 1.0 / n_labels
    reported = chance + level / (n_levels - 1) * (1.0 - chance)
    np.testing.assert_allclose(reported, proba.max(axis=-1), atol=0.5 / (n_levels - 1))
    assert paint(np.full((1, n_labels), chance)).tolist() == [0]
    assert paint(np.eye(n_labels)).tolist() == [
        k * n_levels + n_levels - 1 for k in range(n_labels)
    ]


def test_the_page_has_all_runs(small):
    pool = ArrayPool()  # which keeps equal arrays once, at even bytes
    odd, other = np.arange(3, dtype=np.uint8), np.arange(4, dtype="<u2")
    assert [pool.add(odd), pool.add(other), pool.add(odd.copy()), pool.add(other)] == [0, 4, 0, 4]
    packed = Packed(small.page.html)
    scene = packed.scene
    assert (scene["labels"], scene["steps"]) == (["A", "B", "C"], small.steps)
    assert len(scene["runs"]) == 24
    size = np.subtract(scene["view"][1::2], scene["view"][::2])
    fineness = size / scene["fine"]
    for variant, run in small.runs.items():
        there = scene["runs"]["|".join(map(str, variant))]
        points = packed.places(packed.array(there["points"], (80, 2), "<u2"))
        assert (np.abs(points - run.points) <= fineness).all()
        np.testing.assert_array_equal(packed.array(there["codes"], 80), run.codes)
        assert there["start"] == run.start
        for step, snapshot in enumerate(run.snapshots):
            surface = packed.array(there["surface"][step], (7, 7))
            label, probability = packed.probable(surface)
            np.testing.assert_array_equal(label, snapshot.surface.argmax(axis=-1))
            np.testing.assert_allclose(probability, snapshot.surface.max(axis=-1), atol=0.005)
            n = there["cells"][step]
            fine = packed.array(there["boxes"][step], (n, 2, 2), "<u2").transpose(0, 2, 1)
            boxes = packed.places(fine).transpose(0, 2, 1).reshape(n, 4)
            assert (np.abs(boxes - snapshot.boxes) <= np.repeat(fineness, 2)).all()
            np.testing.assert_array_equal(
                packed.array(there["paints"][step], n), paint(snapshot.proba)
            )
            mass = packed.array(there["mass"][step], scene["depths"], "<u2") / scene["fine"]
            assert mass.sum() == pytest.approx(1.0, abs=1e-3)
            assert mass[1] == pytest.approx(snapshot.mass[1:2].sum(), abs=1e-4)
            assert there["accuracy"][step] == pytest.approx(snapshot.accuracy, abs=1e-4)
            assert there["nodes"][step] == snapshot.n_nodes


def test_names_and_labels_are_harmless():
    names = ["<b>wide", "</script><script>bad()"]
    labels = ["<i>yes", "no & </script>", "red\x1b[31m"]
    rng = random.Random(1)
    pairs = [
        (dict(zip(names, (rng.random(), rng.random()), strict=True)), labels[k % 3])
        for k in range(40)
    ]
    drawn = plot.playground(pairs, **{**SMALL, "n_steps": 2, "resolution": 3})
    html = drawn.page.html
    assert "bad()" in html
    assert "<script>bad" not in html
    assert "<i>yes" not in html
    scene = Packed(html).scene
    assert scene["labels"] == ["<i>yes", "no & </script>", repr(labels[2])]
    assert scene["features"] == ["&lt;b&gt;wide", "&lt;/script&gt;&lt;script&gt;bad()"]


def test_whole_numbers_are_drawn_apart_but_learnt_as_they_are():
    pairs = [({"a": k % 3, "b": k / 100}, k % 3 > 1) for k in range(60)]
    drawn = plot.playground(pairs, **{**SMALL, "n_steps": 2, "resolution": 3})
    shift = drawn.runs["plain", 1, "with", "none"].points - drawn.samples.points
    assert len({*shift[:, 0]}) > 50 and 0.05 < np.abs(shift[:, 0]).mean() < 0.2
    assert not shift[:, 1].any()
    assert [x["a"] for x, _ in drawn.samples.rows()] == [x["a"] for x, _ in pairs]
    assert "drawn a little apart" in drawn.page.html
    flat = plot.playground([({"a": k % 7, "b": 2.0}, k % 7 > 3) for k in range(30)], n_steps=2)
    assert flat.samples.view[2:].tolist() == [1.5, 2.5]


def table(n=60):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.random(n), "b": rng.random(n), "c": rng.random(n)})
    return frame.assign(word="red", kind=np.where(frame.a > 0.5, "high", "low"))


def test_two_features_are_chosen_from_a_file(tmp_path):
    path = tmp_path / "table.csv"
    frame = table()
    frame.loc[[3, 4], "c"] = np.nan
    frame.to_csv(path, index=False)
    for source in (path, str(path), load_stream(path)):
        samples = read_samples(source, 50, ["c", "a"])
        assert (samples.title, samples.features) == ("table.csv", ("c", "a"))
        expected = frame[:50].drop(index=[3, 4])
        np.testing.assert_allclose(samples.points, expected[["c", "a"]])  # rows without c are gone
        assert [y for _, y in samples.rows()] == expected["kind"].tolist()
        assert samples.remark.startswith("Rows 4, 5 left out: a feature or the label is missing")


def far():
    """Return samples that no axis holds."""
    return [({"a": n, "b": 1e308 * (-1) ** n}, n % 2) for n in range(30)]


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        ("mons", {}, "no toy, stream or file 'mons' .did you mean 'moons'"),
        ("moons", {"features": ["x", "y"]}, "features can only be chosen for a stream, not for m"),
        (table()[["a", "kind"]], {}, r"needs two features, .* has \['a'\]"),
        (table()[["a", "b", "c", "kind"]], {}, r"3 features; choose two of \['a', 'b', 'c'\]"),
        (far(), {}, "the range of feature 'b' is too large to draw"),
        (table(), {"features": ["a", "word"]}, "'word' must be numeric, but has the value 'red'"),
        (table(), {"features": ["a", "d"]}, "'d' is not one of"),
        (table(), {"features": ["a", "a"]}, "two different names"),
        (table(), {"features": ["a"]}, "two different names"),
        (table(), {"features": ["a", "b", "c"]}, "two different names"),
        (
            table(19)[["a", "b", "kind"]],
            {},
            "at least 20 samples with both features and a label, .* has 19",
        ),
        (table()[["a", "b", "word"]], {}, "2 to 6 labels, .* has 1"),
        (table().assign(y=range(60))[["a", "b", "y"]], {}, "2 to 6 labels, .* has 60"),
        (table()[["a", "b", "kind"]][:0], {}, "no samples"),
        ("friedman", {}, "stream for regression"),
        ("moons", {"n_samples": 19}, "n_samples must be an integer >= 20"),
        ("moons", {"n_samples": 3001}, "n_samples must be an integer of at most 3000"),
        ("moons", {"n_steps": 1}, "n_steps must be an integer >= 2"),
        ("moons", {"resolution": 101}, "resolution must be an integer of at most 100"),
        ("moons", {"seed": "one"}, "seed must be an integer >= 0 or None"),
    ],
)
def test_what_cannot_be_drawn_is_reported(samples, options, message):
    if isinstance(samples, pd.DataFrame):
        samples = (samples.iloc[:, :-1], samples.iloc[:, -1])
    with pytest.raises(ValueError, match=message):
        plot.playground(samples, **options)
