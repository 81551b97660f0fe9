"""Files of regressors: equal futures, and what an edited file cannot have in it."""

import pickle
import subprocess
import sys
from pathlib import Path

import edits
import numpy as np
import pandas as pd
import pytest
from files import edited_error, parts_in, reloaded, subprocess_env
from forests import QUESTIONS, STREAM, learn

import river_amf
from river_amf import AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.persistence import FileError, container

VARIANTS = {
    "default": {},
    "budget": {"max_nodes": 151},
    "unit": {"split_intensity": "unit", "use_aggregation": False},
    "fading": {"fading_factor": 0.7},
    "relevance": {"split_intensity": "relevance", "max_categories": 4},
    "few bytes": {"max_bytes": 250_000},
    "adaptive": {"kind": AdaptiveAMFRegressor},
    "adaptive, few bytes": {"kind": AdaptiveAMFRegressor, "max_bytes": 4_000_000},
}
variants = pytest.mark.parametrize("parameters", VARIANTS.values(), ids=VARIANTS)


def target_of(x, label):
    """Return a number that depends on a sample and its label."""
    return 1e3 + 5.0 * (x.get("fine") or 0.0) + len(label)


TARGETS = [(x, target_of(x, label), w) for x, label, w in STREAM]


def trained(samples, kind=AMFRegressor, **parameters):
    """Return a small forest that has learnt the samples."""
    return learn(kind(**({"n_estimators": 3, "seed": 42} | parameters)), samples)


def answers(model):
    """Return predictions and intervals for the questions."""
    return [(model.predict_one(x), model.predict_interval_one(x, 0.8)) for x in QUESTIONS]


@variants
@pytest.mark.parametrize("cut", [0, 1, 350, 900])
def test_equal_answers_and_equal_futures(path, parameters, cut):
    model = trained(TARGETS[:cut], **parameters)
    twin = reloaded(model, path)
    assert type(twin) is type(model)
    for samples in ([], TARGETS[cut:], TARGETS[:50]):
        assert answers(learn(twin, samples)) == answers(learn(model, samples))
    assert pickle.dumps(twin) == pickle.dumps(model)


@pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])
def test_equal_futures_in_blocks(path, kind):
    X, y = pd.DataFrame([x for x, _, _ in TARGETS]), [y for _, y, _ in TARGETS]
    model = kind(3, seed=1)
    model.learn_many(X[:400], y[:400])
    twin = reloaded(model, path)
    for each in (model, twin):
        each.predict_then_learn_many(X[400:], y[400:])
    assert pickle.dumps(twin) == pickle.dumps(model)


@variants
def test_equal_models_give_equal_files(path, tmp_path, parameters):
    model, other = trained(TARGETS, **parameters), tmp_path / "other.amf"
    model.save(path)
    pickle.loads(pickle.dumps(model)).save(other)
    assert other.read_bytes() == path.read_bytes()
    reloaded(model, path).save(other)
    assert other.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("origin", [5, True, -1e300, 0.1 + 0.2, np.float32(0.1), 2**70])
def test_the_origin_comes_back_as_it_was(path, origin):
    model = learn(AMFRegressor(seed=1), [({"a": 1.0}, origin, 1.0)])
    twin = reloaded(model, path)
    assert (twin.predict_one({}), type(twin._labels.origin)) == (float(origin), float)
    assert pickle.dumps(twin) == pickle.dumps(model)


def test_a_file_of_the_other_task_is_refused_and_both_are_named(path):
    AMFClassifier().save(path)
    with pytest.raises(FileError, match="holds an AMFClassifier, not an AMFRegressor"):
        AMFRegressor.load(path)
    trained(TARGETS[:9]).save(path)
    with pytest.raises(FileError, match="holds an AMFRegressor, not an AdaptiveAMFRegressor"):
        AdaptiveAMFRegressor.load(path)
    header, arrays = container.read(str(path))
    assert "damaged" in edited_error(path, header | {"kind": "AMFClassifier"}, arrays)


def inner(arrays):
    """Return an inner node of the first tree that is not its root."""
    nodes = arrays["nodes"][0]
    return int(np.flatnonzero((nodes["left"] >= 0) & (nodes["parent"] >= 0))[0])


EDITS = {
    "a link": (lambda p, a: a["nodes"]["left"].__setitem__((0, 0), 10**6), "children"),
    "odds": (lambda p, a: a["nodes"]["odds"].__setitem__((0, inner(a)), np.nan), "odds"),
    "a kept sample": (lambda p, a: a["nodes"]["n_rows"].__setitem__((0, 0), 1), "cannot be"),
    "a mean": (lambda p, a: a["targets"].__setitem__((0, 0, 0), np.nan), "means of targets"),
    "a far mean": (lambda p, a: a["targets"].__setitem__((0, 0, 0), 1e150), "means of targets"),
    "squares": (lambda p, a: a["targets"].__setitem__((0, 0, 1), -1.0), "squares of targets"),
    "infinity": (lambda p, a: a["targets"].__setitem__((0, 0, 1), np.inf), "squares of targets"),
    "a weight": (lambda p, a: a["nodes"]["n_samples"].__setitem__((0, 0), -1.0), "counts"),
    "a share": (lambda p, a: a["faded"].__setitem__((0, 0, 0), 1.0), "faded shares"),
    "a sum": (lambda p, a: a["faded"].__setitem__((0, 0, 1), -1.0), "faded counts"),
    "a faded mean": (lambda p, a: a["faded"].__setitem__((0, 0, 2), np.inf), "means of faded"),
    "faded squares": (lambda p, a: a["faded"].__setitem__((0, 0, 3), -1.0), "squares of faded"),
    "an error": (lambda p, a: a["errors"].__setitem__(3, -1.0), "errors of the forest"),
    "a variance": (lambda p, a: a["trees"]["variance"].fill(np.nan), "errors of trees"),
    "error squares": (lambda p, a: a["trees"]["error_squares"].fill(-1.0), "errors of trees"),
    "no targets": (lambda p, a: a.update(targets=a["targets"][:, :, :1]), "shape of targets"),
    "counts": (lambda p, a: a.update(counts=np.zeros((2, 1, 1))), "shape of counts"),
    "rows": (lambda p, a: a["counters"]["n_rows"].fill(3), "shape of rows"),
    "labels": (lambda p, a: p.update(labels=["a"]), "entries ['labels'] cannot be"),
    "no origin": (lambda p, a: p.pop("origin"), "trees without any origin of targets"),
    "no number": (lambda p, a: p.update(origin="5"), "its origin must be a finite number, got '5'"),
    "no float": (lambda p, a: p.update(origin=5), "its origin must be a finite number, got 5"),
    "no trees": (lambda p, a: a.clear(), "labels without any trees"),
    "more trees": (lambda p, a: p["parameters"].update(n_estimators=3), "number of trees"),
    "dirichlet": (lambda p, a: p["parameters"].update(dirichlet=1.0), "unknown parameters"),
}


@pytest.mark.parametrize("edit, what", EDITS.values(), ids=EDITS)
def test_an_edited_model_says_what_cannot_be(path, edit, what):
    model = trained([*edits.targets(60)], n_estimators=2, fading_factor=0.5)
    header, arrays = parts_in(model, path)
    edit(header["model"], arrays)
    assert what in edited_error(path, header, arrays)


@pytest.mark.parametrize("name", ["mean", "weight"])
def test_buckets_of_relevance_that_cannot_be_are_refused(path, name):
    model = trained([*edits.targets(60)], n_estimators=2, split_intensity="relevance")
    header, arrays = parts_in(model, path)
    arrays["buckets"][0, 0, 1 if name == "mean" else 0] = np.inf
    assert "buckets of features" in edited_error(path, header, arrays)
    arrays["buckets"][0, 0] = [0.0, -5.0]
    container.write(str(path), header, arrays)
    river_amf.load(path)


@pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])
def test_parameters_that_came_later_have_the_default_of_their_class(path, kind):
    model = trained(TARGETS[:100], kind, n_estimators=10)
    header, arrays = parts_in(model, path)
    parameters = header["model"].pop("parameters")
    container.write(str(path), header, arrays)
    assert answers(river_amf.load(path)) == answers(model)
    for name, value in parameters.items():
        header["model"]["parameters"] = {n: v for n, v in parameters.items() if n != name}
        container.write(str(path), header, arrays)
        twin = river_amf.load(path)
        assert name == "seed" or getattr(twin, name) == value


EDITED = {
    "default": {},
    "fading": {"fading_factor": 0.5, "split_intensity": "relevance", "max_nodes": 41},
    "adaptive": {"kind": AdaptiveAMFRegressor, "max_nodes": 41},
}


@pytest.mark.parametrize(
    ("n_edits", "parameters"),
    [
        *(pytest.param(40, each, marks=pytest.mark.slow) for each in EDITED.values()),
        *(pytest.param(400, each, marks=pytest.mark.soak) for each in EDITED.values()),
    ],
)
def test_an_edited_file_is_refused_or_loads_a_model_that_works(path, n_edits, parameters):
    trained([*edits.targets(120)], n_estimators=2, **parameters).save(path)
    script, folder = str(Path(edits.__file__)), str(path.parent)
    command = [sys.executable, "-X", "faulthandler", script, str(path), folder, "7", str(n_edits)]
    result = subprocess.run(
        command, env=subprocess_env(), capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    n_refused, n_loaded = map(int, result.stdout.split())
    assert n_refused > n_edits / 5
    assert n_loaded > n_edits / 8


@pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])
@pytest.mark.parametrize("unit", [1e-290, 1e-100, 1.0, 1e99])
@pytest.mark.parametrize("weight", [1e-300, 1.0, 1e9, 1e90])
def test_whatever_has_been_learned_is_sound(path, kind, unit, weight):
    model = kind(2, seed=1, fading_factor=0.5)
    for i, (x, y, w) in enumerate(TARGETS[:300]):
        wild = 50.0 if i % 37 == 0 else 1.0
        model.learn_one(x, wild * unit * (y - 1e3) / 1e3, w=w * weight)
    assert answers(reloaded(model, path)) == answers(model)


# NaN and infinity mean something there, or nothing is read there
FREE = {"ranges", "limits", "recent", "counters: words_vote", "nodes: threshold", "nodes: odds"}
FREE |= {"nodes: odds_scale", "nodes: split_time"}


@pytest.mark.soak
@pytest.mark.parametrize("parameters", EDITED.values(), ids=EDITED)
def test_every_array_may_be_damaged_in_every_way(path, parameters):
    trained([*edits.targets(60)], n_estimators=2, **parameters).save(path)
    command = [sys.executable, "-X", "faulthandler", edits.__file__, str(path), str(path.parent)]
    result = subprocess.run(command, env=subprocess_env(), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    loaded = [line.rpartition(": ") for line in result.stdout.splitlines()]
    numbers = {what.partition(", ")[0] for what, _, value in loaded if value in ("nan", "inf")}
    assert {name.removesuffix(": values") for name in numbers} <= FREE
    assert not [what for what, _, how in loaded if how in ("cut", "doubled", "flat")]
