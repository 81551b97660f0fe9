"""The recipes for a log: killed at random moments, a service has learned each row once."""

import datetime
import io
import itertools
import json
import math
import pickle
import random
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import recipes
from river import compose

from river_amf import AdaptiveAMFRegressor, evaluation

pytestmark = pytest.mark.slow


def n_labels(folder):
    lines = (folder / "log.jsonl").read_text().splitlines()
    return sum(json.loads(line).get("y") is not None for line in lines)


def test_one_model_learns_each_row_once(tmp_path):
    model = pickle.loads(recipes.check("one_model", tmp_path, n_kills=1, seed=1))
    assert model[0].n_samples == n_labels(tmp_path / "calm")


def test_a_model_for_each_key_learns_each_row_once(tmp_path):
    models = pickle.loads(recipes.check("keyed", tmp_path, n_kills=1, seed=3))
    assert [key for key, _ in models] == [*"abcde"]
    n_learned = sum(pickle.loads(model)[0].n_samples for _, model in models)
    assert n_learned == n_labels(tmp_path / "calm")


@pytest.fixture(scope="module")
def names():
    names = {}
    exec(recipes.code(), names)
    return names


def days():
    """Return the requests of six days by key, and their labels."""
    draw = random.Random(1)
    rows = [{"size": draw.random(), "hour": draw.randrange(24)} for _ in range(600)]
    labels = {str(n): x["size"] > 0.5 for n, x in enumerate(rows)}
    asked = [(str(n), x) for n, x in enumerate(rows)]
    return [asked[day : day + 100] for day in range(0, 600, 100)], labels


def test_labels_of_the_day_after_score_predictions(tmp_path, names):
    asked, labels = days()
    kept, at_once = names["new"](), names["new"]().clone({"max_delayed_labels": 0})
    for day in asked:
        service = names["Requests"](tmp_path, names["new"])
        answers = [service.answer(key, x) for key, x in day]
        assert answers == [kept.predict_one(x) for _, x in day]
        service.learn({})  # it stops
        names["Requests"](tmp_path, names["new"]).learn(labels)
        for key, x in day:
            kept.learn_one(x, labels[key])
            at_once.learn_one(x, labels[key])
    x = {"size": 0.6, "hour": 3}
    proba = names["Requests"](tmp_path, names["new"]).model.predict_proba_one(x)
    assert proba == kept.predict_proba_one(x) != at_once.predict_proba_one(x)


def test_message_without_a_key_is_refused(tmp_path, names):
    messages, published = [{"key": 1, "x": {"size": 1.0}}], []
    names["keyed"](lambda offset: messages[offset:], published.append, tmp_path)
    refused = json.loads((tmp_path / "refused.jsonl").read_text())
    assert refused["message"] == messages[0] and "x lacks the feature 'user'" in refused["reason"]
    assert not published


class Crash(BaseException):
    pass


class Crashes:
    """An audit hook that raises before an operation on files of a folder, given its number."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.begin(deadly=0)
        sys.addaudithook(self)

    def begin(self, deadly):
        """Count operations anew; before number `deadly`, the service crashes."""
        self.operations, self.deadly = itertools.count(1), deadly

    def __call__(self, event, arguments):
        is_ours = event in recipes.OPERATIONS and self.folder in str(arguments[0])
        if is_ours and next(self.operations) == self.deadly:
            raise Crash


def test_labels_of_the_day_after_survive_crashes(tmp_path, names):
    (day, *_), labels = days()
    labels = {key: label for key, label in labels.items() if int(key) % 3} | {"1": None}
    crashes, n_crashed = Crashes(tmp_path), 0
    for place in range(1, 21):
        folder = tmp_path / f"{place} left"
        folder.mkdir()
        crashes.begin(deadly=84 + place)
        steps, service = [*day[:40], None, *day[40:80], None, *day[80:], None], None
        while steps:
            try:
                service = service or names["Requests"](folder, names["new"])
                if steps[0] is None:
                    service.learn(labels)
                else:
                    service.answer(*steps[0])
                del steps[0]
            except Crash:
                service, n_crashed = None, n_crashed + 1
        model, (waiting, _), _ = names["Checkpoints"](folder, names["new"]).load()
        assert [*waiting] == [key for key, _ in day if key not in labels]
        assert model.n_samples == 100 - len(waiting) - 1
        (refused,) = set((folder / "refused.jsonl").read_text().splitlines())
        assert json.loads(refused)["message"]["key"] == "1"
    assert n_crashed == 20


WRITER = """
import sys, time
for line in sys.stdin:
    with open(sys.argv[1], "a") as file:
        for part in (line[:9], line[9:]):  # it may be read in between
            file.write(part)
            file.flush()
            time.sleep(0.001)
"""


def test_writer_beside_crashing_learner_loses_nothing(tmp_path, names):
    (day, *_), labels = days()
    crashes, service, n_crashed = Crashes(tmp_path), None, 0
    command, lines = (
        [sys.executable, "-c", WRITER, tmp_path / "requests.jsonl"],
        map(json.dumps, day),
    )
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as writer:
        writer.stdin.write("".join(line + "\n" for line in lines))
        writer.stdin.close()
        crashes.begin(deadly=1)
        while n_crashed < 20 or writer.poll() is None:
            try:
                service = service or names["Requests"](tmp_path, names["new"])
                service.learn(labels)
            except Crash:
                service, n_crashed = None, n_crashed + 1
                crashes.begin(deadly=1 + n_crashed % 20)
    assert writer.returncode == 0
    crashes.begin(deadly=0)
    service = names["Requests"](tmp_path, names["new"])
    service.learn(labels)
    expected = names["new"]()
    for key, x in day:
        expected.learn_one(x, labels[key])
    assert pickle.dumps(service.model) == pickle.dumps(expected) and not service.waiting


def test_line_that_is_finished_meanwhile_is_read_later(tmp_path, names):
    class Growing(io.BytesIO):
        def __iter__(self):  # the second part is there once the first has been read
            return iter([b'["a", {"size": 1', b".0}]\n"])

    service = names["Requests"](tmp_path, names["new"])
    service.file = SimpleNamespace(open=lambda mode: Growing())
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


def test_counts_are_never_predicted_below_0(names):
    rng, model, plain = (
        np.random.default_rng(1),
        names["new_for_counts"](),
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
    model = compose.Discard("day") | names["new"]()
    table = evaluation.compare(rows, {"new": model}, moment="day", delay="1d").table
    assert names["accuracy_of_the_day_after"](rows) == table["accuracy"]["new"]


@pytest.mark.soak
@pytest.mark.parametrize("recipe", ["one_model", "keyed"])
@pytest.mark.parametrize("seed", range(5))
def test_rows_are_learned_once_despite_kills(tmp_path, recipe, seed):
    recipes.check(recipe, tmp_path, n_kills=20, seed=seed)
