"""The recipes: killed at every step of their saves, services have learned each row once."""

import datetime
import functools
import io
import itertools
import json
import math
import os
import pickle
import random
import shutil
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import recipes
from forests import state_of
from river import compose, metrics, preprocessing
from river.evaluate import progressive_val_score

import river_amf
from river_amf import AdaptiveAMFRegressor, evaluation
from river_amf.service import Checkpoints, Requests

resource = pytest.importorskip("resource")  # of POSIX, as os.fork
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]


@pytest.fixture(scope="module")
def names():
    names = {}
    exec(recipes.code(), names)
    return names


def new():
    return river_amf.AdaptiveAMFClassifier(n_estimators=3, seed=1, max_delayed_labels=0)


def days():
    draw = random.Random(1)
    rows = [{"size": draw.random(), "hour": draw.randrange(24)} for _ in range(600)]
    labels = {str(n): x["size"] > 0.5 for n, x in enumerate(rows)}
    asked = [(str(n), x) for n, x in enumerate(rows)]
    return [asked[day : day + 100] for day in range(0, 600, 100)], labels


def serve(_, folder, deadly=None):
    """Answer and learn the requests of a day, from where a process that was killed has stopped."""
    (day, *_), labels = days()
    labels = {key: label for key, label in labels.items() if int(key) % 3} | {"1": None}
    steps = [] if deadly is None else recipes.count_steps(folder / "state", deadly)
    service, done = Requests(folder / "state", new), folder / "done.txt"
    calls = [*day[:5], None, *day[5:9], None, *day[9:20], None]
    for n in range(int(done.read_text()) if done.exists() else 0, len(calls)):
        service.learn(labels) if calls[n] is None else service.answer(*calls[n])
        done.write_text(str(n + 1))
    (folder / "steps.json").write_text(json.dumps(steps))
    (folder / "model.pickle").write_bytes(state_of(service.model))


def check_requests(folder):
    model, (waiting, _), _ = Checkpoints(folder / "state", new).load()
    assert (model.n_samples, [*waiting]) == (12, [str(n) for n in range(0, 20, 3)])
    refused = recipes.jsonl(folder / "state" / "refused.jsonl")
    assert {each["message"]["key"] for each in refused} == {"1"}


def check_log(folder):
    """Check that each label was learned once, and what was published and refused."""
    log, kept = recipes.jsonl(folder / "log.jsonl"), pickle.loads(recipes.model_in(folder))
    models = [pickle.loads(model) for _, model in kept] if isinstance(kept, list) else [kept]
    n_labels = sum(isinstance(m, dict) and m.get("y") is not None for m in log)
    assert sum(model.n_samples for model in models) == n_labels - 1  # one has no features
    published = recipes.jsonl(folder / "published.jsonl")
    assert {key for key, _ in published} == {*range(40), "?"}
    refused = recipes.jsonl(folder / "state" / "refused.jsonl")
    reasons = {json.dumps(each["message"]): each["reason"] for each in refused}
    assert {*reasons} == {json.dumps(message) for message, _ in recipes.REFUSED}
    assert all(part in reasons[json.dumps(message)] for message, part in recipes.REFUSED)


def run_on_full_disk(run, recipe, folder, size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    with pytest.raises(OSError, match=str(folder / "state")):
        run(recipe, folder)


RUNS = {
    "one_model": (recipes.run, check_log),
    "keyed": (recipes.run, check_log),
    "requests": (serve, check_requests),
}


@pytest.mark.parametrize("recipe", RUNS)
def test_kills_and_full_disks_change_nothing(tmp_path, recipe):
    (run, check), calm = RUNS[recipe], tmp_path / "calm"
    calm.mkdir()
    recipes.write_log(calm, 40)
    run(recipe, shutil.copytree(calm, tmp_path / "to load all code"))
    for begun in ("from the log on", "without new messages"):
        base = shutil.copytree(calm, tmp_path / begun)
        assert recipes.in_fork(run, recipe, calm, 0) == 0
        check(calm)
        n_steps = len(json.loads((calm / "steps.json").read_text()))
        deaths = [(run, step, -signal.SIGKILL) for step in range(1, n_steps + 1)]
        full = functools.partial(run_on_full_disk, run)
        deaths += [(full, size, 0) for size in (0, 99, 400, 900, 3000) if base.name[0] == "f"]
        for n, (die, place, status) in enumerate(deaths):
            folder = shutil.copytree(base, tmp_path / f"{begun} {n}")
            assert recipes.in_fork(die, recipe, folder, place) == status
            assert recipes.in_fork(run, recipe, folder, 0) == 0
            check(folder)
            assert recipes.model_in(folder) == recipes.model_in(calm), place


def test_torn_request_is_refused_and_the_next_one_learned(tmp_path):
    line = '["a", {"size": 1.0, "what": "\\u00e4"}]'
    for cut in range(1, len(line) + 1):
        service = Requests(tmp_path / str(cut), new)
        service.file.write_text(line[:cut])
        service.answer("b", {"size": 2.0})
        service.learn({"a": True, "b": True})
        if cut < len(line):
            (refused,) = recipes.jsonl(tmp_path / str(cut) / "refused.jsonl")
            assert refused["message"] == line[:cut] + "\n"
        assert service.model.n_samples == 1 + (cut == len(line))


NESTED = functools.reduce(lambda inner, _: [inner], range(5000), 0)
ODD = [  # which are not from JSON, or go to a model for each key
    ({"user": "a", "size": 10**5000}, "too large"),
    ({"user": "a", "size": NESTED}, "unhashable"),
    ({"user": "a", None: 1.0}, "must be text"),
    ({"user": "a", "what": object()}, "cannot save"),
    ({"size": 1.0}, "lacks the feature 'user'"),
]


def test_messages_that_no_file_can_hold_are_refused(tmp_path, names):
    messages, published = [{"key": n, "x": x} for n, (x, _) in enumerate(ODD)], []
    names["keyed"](lambda offset: messages[offset:], published.append, tmp_path)
    refused = recipes.jsonl(tmp_path / "refused.jsonl")
    for message, (_, reason) in zip(refused, ODD, strict=True):
        assert reason in message["reason"]
    assert not published


def test_message_that_the_model_refuses(tmp_path):
    checkpoints = Checkpoints(tmp_path, lambda: river_amf.AMFRegressor(n_estimators=1, seed=1))
    log = [{"key": n, "x": {"size": n if n != 4 else "big"}, "y": n or "none"} for n in range(6)]
    model, waiting, _ = checkpoints.load()
    checkpoints.learn(model, checkpoints.sort(log[1:3], waiting)[1])
    asked, labeled = checkpoints.sort(log, waiting)
    assert checkpoints.predict(model, asked)[0] == [0, 1, 2, 3, 5]
    checkpoints.learn(model, labeled)
    refused = recipes.jsonl(tmp_path / "refused.jsonl")
    assert [each["message"]["key"] for each in refused] == [4, 0, 4] and model.n_samples == 6


def test_spark_keeps_models_as_bytes(names):
    labels = [None, "x", "y", None]
    rows = pd.DataFrame({"user": "a", "size": [1.0, 2.0, 3.0, 4.0], "label": labels})
    state = SimpleNamespace(exists=False, get=None)
    state.update = lambda value: state.__dict__.update(exists=True, get=value)
    model, answers, expected = names["new"](), [], []
    for part in (rows[:2], rows[2:]):
        answers += names["predict_then_learn"](("a",), iter([part]), state)
        expected += model.predict_many(part[["size"]]).tolist()
        known = part[part["label"].notna()]
        model.learn_many(known[["size"]], known["label"])
    assert pd.concat(answers)["prediction"].tolist() == expected == [None, None, "x", "x"]
    assert state_of(river_amf.load(io.BytesIO(state.get[0]))) == state_of(model)


def test_labels_of_the_day_after_score_predictions(tmp_path, names):
    asked, labels = days()
    kept, at_once = names["new"](), names["new"]().clone({"max_delayed_labels": 0})
    for day in asked:
        service = Requests(tmp_path, names["new"])
        answers = [service.answer(key, x) for key, x in day]
        assert answers == [kept.predict_one(x) for _, x in day]
        service.learn({})  # it stops
        Requests(tmp_path, names["new"]).learn(labels)
        for key, x in day:
            kept.learn_one(x, labels[key])
            at_once.learn_one(x, labels[key])
    x = {"size": 0.6, "hour": 3}
    proba = Requests(tmp_path, names["new"]).model.predict_proba_one(x)
    assert proba == kept.predict_proba_one(x) != at_once.predict_proba_one(x)


def learn(folder, labels, deadly):
    recipes.count_steps(folder, deadly)
    Requests(folder, new).learn(labels)


def test_writer_beside_killed_learner_loses_nothing(tmp_path):
    (day, *_), labels = days()
    service = Requests(tmp_path, new)

    def write():
        for line in map(json.dumps, day):
            for part in (line[:9], line[9:] + "\n"):  # it may be read in between
                with service.file.open("a") as file:
                    file.write(part)
                time.sleep(0.002)

    writer = threading.Thread(target=write)
    writer.start()
    for step in itertools.count(1):
        recipes.in_fork(learn, tmp_path, labels, step % 20)
        if step >= 40 and not writer.is_alive():
            break
    service, expected = Requests(tmp_path, new), new()
    service.learn(labels)
    for key, x in day:
        expected.learn_one(x, labels[key])
    assert state_of(service.model) == state_of(expected) and not service.waiting


def test_line_that_is_finished_meanwhile_is_read_later(tmp_path, monkeypatch):
    class Growing(io.BytesIO):
        def __iter__(self):  # the second part is there once the first has been read
            return iter([b'["a", {"size": 1', b".0}]\n"])

        fileno = os.getpid

    service = Requests(tmp_path, new)
    service.file = SimpleNamespace(open=lambda mode: Growing())
    monkeypatch.setattr(os, "fsync", lambda file: None)
    service.learn({})
    assert (service.position, service.waiting) == (0, {})


def test_other_processes_load_newest_model(tmp_path, names):
    learner, path = names["new"](), tmp_path / "model.amf"
    newest = names["Newest"](path)
    for label in ("small", "large"):
        learner.learn_one({"size": len(label)}, label)
        learner.learn_one({"size": 9}, label)
        learner.save(path)
        assert newest.predict_one({"size": 9}) == learner.predict_one({"size": 9})
        loaded = newest.model
        assert newest.predict_one({"size": 8}) in newest.model.predict_proba_one({})
        assert newest.model is loaded and newest.model.n_samples == learner.n_samples


def test_new_rows_are_found_and_learned(names):
    draw = random.Random(1)
    rows = [{"size": draw.random(), "hour": draw.randrange(24)} for _ in range(3000)]
    for n in range(2000, 3000, 100):
        rows[n]["size"] = 10.0 + n
    model = names["new"]()
    found = [*names["new_rows"](model, [(x, x["size"] > 0.5) for x in rows])]
    far = [x for x, _ in found if x["size"] > 1]
    assert far == rows[2000::100] and len(found) < 0.05 * len(rows)
    assert model.n_samples == len(rows)


def test_counts_are_never_predicted_below_0():
    rng, model, plain = (
        np.random.default_rng(1),
        preprocessing.PredClipper(AdaptiveAMFRegressor(seed=1), 0, math.inf),
        AdaptiveAMFRegressor(seed=1),
    )
    n_below = 0
    for a, b in rng.normal(size=(1500, 2)).tolist():
        x, y = {"a": a, "b": b}, int(rng.poisson(math.exp(a - 1.0)))
        prediction = plain.predict_one(x)
        n_below += prediction < 0.0
        assert model.predict_one(x) == max(prediction, 0.0)
        model.learn_one(x, y)
        plain.learn_one(x, y)
    assert n_below > 20


def test_accuracy_of_the_day_after_is_ours(names):
    (asked, *_), labels = days()
    first = datetime.datetime(2024, 5, 17)
    times = [first + datetime.timedelta(hours=3 * n) for n in range(100)]
    rows = [({"day": time, **x}, labels[key]) for time, (key, x) in zip(times, asked, strict=True)]
    model, accuracy = compose.Discard("day") | names["new"](), metrics.Accuracy()
    table = evaluation.compare(rows, {"new": model}, moment="day", delay="1d").table
    day = datetime.timedelta(days=1)
    progressive_val_score(rows, model.clone(), accuracy, moment="day", delay=day)
    assert accuracy.get() == table["accuracy"]["new"]
