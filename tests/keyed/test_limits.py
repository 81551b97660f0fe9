"""Models move to the folder and come back; whatever goes wrong there, none is lost."""

import copy
import os
import pickle
import signal
import sqlite3
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from river import base, compose, linear_model, naive_bayes

from river_amf import AdaptiveAMFClassifier, AMFClassifier
from river_amf.keyed import KeyedClassifier, KeyedRegressor
from river_amf.keyed.pool import Pool
from river_amf.persistence import FileError

LOGISTIC = linear_model.LogisticRegression()


def sample(user, i=0):
    return {"user": user, "a": (i * 0.618) % 1, "b": float(i % 3)}


def learn(model, users, n=3):
    for i in range(n):
        for user in users:
            model.learn_one(sample(user, i), i % 2 == 0)


def pickles(model):
    return {key: pickle.dumps(model[key]) for key in model}


def kept(model):
    """Return the keys in memory, from the least recently used on."""
    return [text[2:] for text in model._pool.models]


def test_the_least_recently_used_models_go():
    model = KeyedClassifier(LOGISTIC, "user", max_models=2)
    learn(model, "abc", n=1)
    assert kept(model) == ["b", "c"]
    model.predict_one(sample("b"))
    learn(model, "d", n=1)
    assert kept(model) == ["b", "d"]
    model.predict_one(sample("nobody"))
    assert kept(model) == ["b", "d"]
    assert "a" in model and kept(model) == ["b", "d"]
    model["a"]
    assert kept(model) == ["d", "a"]


def test_predictions_wait_for_late_labels_in_the_store_too():
    forest = AdaptiveAMFClassifier(n_estimators=2, seed=1)
    few, all_ = (KeyedClassifier(forest, "user", max_models=m) for m in (1, None))
    rng = np.random.default_rng(1)
    rows = [{"user": f"user {i % 3}", "a": float(a)} for i, a in enumerate(rng.normal(size=240))]
    frame, labels = pd.DataFrame(rows), [row["a"] > i // 120 for i, row in enumerate(rows)]
    for model in (few, all_):
        for i, x in enumerate(rows[:200]):
            model.predict_one(x)
            if i >= 20:  # by then other models have been in memory
                model.learn_one(rows[i - 20], labels[i - 20])
        model.predict_many(frame[200:])
        model.learn_many(frame[180:], labels[180:])
    assert pickles(few) == pickles(all_)


class Counting(base.Classifier):
    """Counts how often it was pickled."""

    n_pickled = 0

    def __getstate__(self):
        Counting.n_pickled += 1
        return {"n_learned": self.__dict__.get("n_learned", 0)}

    def learn_one(self, x, y):
        self.n_learned = self.__dict__.get("n_learned", 0) + 1

    def predict_one(self, x):
        return self.__dict__.get("n_learned", 0)


# ------------------------------------------------------------------------------------------ folder


def test_with_writes_at_its_end_unless_there_is_an_error(tmp_path):
    with KeyedClassifier(LOGISTIC, "user", folder=tmp_path) as model:
        learn(model, "a")
        model.flush(position=[1, "b"])
        learn(model, "b")
    with (
        pytest.raises(ZeroDivisionError),
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path) as model,
    ):
        assert {*model} == {"a", "b"} and model.position == [1, "b"]
        learn(model, "c")
        raise ZeroDivisionError
    with KeyedClassifier(LOGISTIC, "user", folder=tmp_path) as model:
        assert {*model} == {"a", "b"}
        del model["a"]
    with KeyedClassifier(LOGISTIC, "user", folder=tmp_path) as model:
        assert {*model} == {"b"}
        model.close()
        with pytest.raises(ValueError, match="released by close"):
            model.flush()


def test_a_folder_belongs_to_one_object(tmp_path):
    model = KeyedClassifier(LOGISTIC, "user", folder=tmp_path)
    with pytest.raises(OSError, match="is in use by another model"):
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path)
    learn(model, "a")
    model.flush()
    for copied in (model.clone(), copy.copy(model), copy.deepcopy(model)):
        assert copied.folder is None
    model.close()
    for wrong, message in (
        (lambda: KeyedClassifier(LOGISTIC, "shop", folder=tmp_path), "'user', not .* 'shop'"),
        (lambda: KeyedRegressor(linear_model.LinearRegression(), "user", folder=tmp_path),
         "of a KeyedClassifier .*, not the models of a KeyedRegressor"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            wrong()
    assert {*KeyedClassifier(LOGISTIC, "user", folder=tmp_path)} == {"a"}


def test_files_of_others_are_left_alone(tmp_path):
    path = tmp_path / "models.sqlite"
    path.write_bytes(b"my diary " * 100)
    with pytest.raises(FileError, match="does not hold the models of keys"):
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path)
    assert path.read_bytes() == b"my diary " * 100
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE diary (day)")
    other.close()
    with pytest.raises(FileError, match="it is another database"):
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path)
    path.unlink()
    KeyedClassifier(LOGISTIC, "user", folder=tmp_path).close()
    with sqlite3.connect(path) as later:
        later.execute("PRAGMA user_version = 99")
    later.close()
    with pytest.raises(FileError, match=r"of a later river_amf \(format 99\)"):
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path)


def test_a_folder_that_cannot_be_made_or_opened_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path / "file" / "models")
    (tmp_path / "models.sqlite").mkdir()
    with pytest.raises(OSError, match=r"models\.sqlite: unable to open"):
        KeyedClassifier(LOGISTIC, "user", folder=tmp_path)


KEYS = "s i: i:xyz i:0x7 f:1 q: q:1 q:1/0 q:nan q:2/4 u:1 v:[ t:3 z:"  # of damaged files


def use(folder, factory=LOGISTIC):
    """Open a folder, ask all of its models and flush them."""
    with KeyedClassifier(factory, "user", folder=folder) as model:
        for key in model:
            model[key].predict_one({"a": 1.0})


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE notes SET value = '{' WHERE name = 'position'",
        "UPDATE notes SET value = x'ff' WHERE name = 'position'",
        "UPDATE notes SET value = NULL WHERE name = 'about'",
        "UPDATE notes SET value = CAST(x'ff' AS TEXT)",
        *(f"UPDATE flushed SET key = {key}" for key in ("'s:a'", "7", "NULL", "x''", "x'ff'")),
        *(f"UPDATE flushed SET key = CAST('{key}' AS BLOB)" for key in KEYS.split()),
        f"UPDATE flushed SET key = CAST('t:{'[' * 5000}' AS BLOB)",
        "UPDATE flushed SET model = 'text'",
        "UPDATE flushed SET model = 7",
        "UPDATE flushed SET model = substr(model, 1, 100)",
        "UPDATE flushed SET model = x'8005'",
        "UPDATE flushed SET kind = 'amf'",
        "DROP TABLE notes",
        "DROP TABLE flushed",
        "ALTER TABLE since ADD COLUMN other",
    ],
)
def test_a_damaged_folder_is_an_error_that_names_it(tmp_path, damage):
    with KeyedClassifier(LOGISTIC, "user", folder=tmp_path) as model:
        learn(model, "a")
    use(tmp_path)
    with sqlite3.connect(tmp_path / "models.sqlite") as database:
        database.execute(damage)
    database.close()
    with pytest.raises(FileError, match=r"models\.sqlite"):
        use(tmp_path)


@pytest.mark.parametrize("n_files", [50, pytest.param(3000, marks=pytest.mark.soak)])
def test_a_file_with_damaged_bytes_is_refused_or_works(tmp_path, n_files):
    factory = AMFClassifier(n_estimators=1, seed=1)  # no pickle, which may do as it likes
    with KeyedClassifier(factory, "user", folder=tmp_path) as model:
        learn(model, ["a", 7, ("b", 2.5)])
    path, rng = tmp_path / "models.sqlite", np.random.default_rng(1)
    data, outcomes = path.read_bytes(), []
    for _ in range(n_files):
        damaged = bytearray(data)
        for place in rng.integers(len(data), size=rng.integers(1, 20)):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            use(tmp_path, factory)
            outcomes.append("works")
        except (FileError, OSError, ValueError) as error:
            assert "models.sqlite" in str(error)
            outcomes.append("refused")
    assert min(map(outcomes.count, ("works", "refused"))) > n_files / 20


# -------------------------------------------------------------------------------------- bad moments


def fill_disk(model, n_pages=None):
    """Let the database have no more pages than it has, or so many."""
    database = model._pool._database
    (n_used,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count = {n_pages or n_used}")


def wide(user):
    """Return a sample whose model needs pages of its own."""
    return {"user": user, **{f"feature {j} of {user}": j for j in range(100)}}


def test_a_full_disk_loses_nothing():
    model = KeyedClassifier(naive_bayes.GaussianNB(), "user", max_models=2)
    for user in "abc":
        model.learn_one(wide(user), True)
    before = {text: pickle.dumps(each) for text, each in model._pool.models.items()}
    fill_disk(model)
    for call in (
        lambda: model.learn_one(wide("d"), True),
        lambda: model.learn_many(pd.DataFrame([wide("d"), wide("e")]).fillna(0), [True, False]),
        lambda: model.predict_one(wide("a")),
    ):
        with pytest.raises(OSError, match="full"):
            call()
        kept = {text: pickle.dumps(each) for text, each in model._pool.models.items()}
        assert kept == before and {*model} == {"a", "b", "c"}
    fill_disk(model, 10**6)
    model.learn_one(wide("d"), True)
    assert {*model} == {"a", "b", "c", "d"}
    twin = KeyedClassifier(naive_bayes.GaussianNB(), "user")
    for user in "abcd":
        twin.learn_one(wide(user), True)
    for user in "abcd":
        assert model[user].predict_proba_one(wide(user)) == twin[user].predict_proba_one(wide(user))


def test_a_flush_that_fails_leaves_the_last_one(tmp_path):
    model = KeyedClassifier(naive_bayes.GaussianNB(), "user", folder=tmp_path, max_models=3)
    learn(model, "ab")
    model.flush(position=1)
    before = pickles(model)
    for i in range(9):
        model.learn_one({"user": "a", **{f"feature {j}": i * j for j in range(100)}}, i % 2 == 0)
    later = pickles(model)
    fill_disk(model)
    with pytest.raises(OSError, match="full"):
        model.flush(position=2)
    assert model.position == 1
    assert pickles(model) == later
    with pytest.raises(TypeError, match="JSON"):
        model.flush(position={1, 2})
    model.close()
    model = KeyedClassifier(naive_bayes.GaussianNB(), "user", folder=tmp_path)
    assert model.position == 1 and pickles(model) == before


def interrupted(number, call, *arguments):
    """Call a function with an interrupt before the given line of the package; whether it came."""
    left = number

    def trace(frame, event, _):
        nonlocal left
        if "river_amf/keyed" not in frame.f_code.co_filename:
            return None
        left -= event == "line"
        if left == 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call(*arguments)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_after_an_interrupt_the_position_is_that_in_the_folder(tmp_path):
    came, number, found = True, 0, []
    while came:
        number += 1
        model = KeyedClassifier(LOGISTIC, "user", folder=tmp_path)
        learn(model, "a", n=1)
        before = model.position
        came = interrupted(number, model.flush, number)
        found.append(model.position)
        model.close()
        with KeyedClassifier(LOGISTIC, "user", folder=tmp_path) as model:
            assert model.position == found[-1] and found[-1] in (before, number)
    assert found[0] is None and found[-1] == number > 10
    assert number - 1 in found  # one that came behind the commit


def test_after_an_interrupt_each_model_is_as_before_or_after_the_call():
    came, number = True, 0
    while came:
        number += 1
        model = KeyedClassifier(Counting(), "user", max_models=1)
        learn(model, "ab", n=1)
        came = interrupted(number, model.learn_one, sample("a"), True)
        counts = {user: model[user].n_learned for user in model}
        assert counts["b"] == 1 and counts["a"] in ((1, 2) if came else (2,))
    assert number > 50


def test_a_model_that_cannot_be_pickled_stays(tmp_path):
    def factory():
        return compose.FuncTransformer(lambda x: x) | linear_model.LogisticRegression()

    model = KeyedClassifier(factory, "user", max_models=1)
    learn(model, "a")
    with pytest.raises(TypeError, match="model of the key 'a' cannot be moved out of memory"):
        learn(model, "b")
    assert {*model} == {"a"}
    learn(model, "a")
    model.max_models = 2
    learn(model, "b")
    assert {*model} == {"a", "b"}


def test_labels_that_files_cannot_hold_are_pickled():
    model = KeyedClassifier(AMFClassifier(seed=1), "user", max_models=1)
    model.learn_one(sample("a"), frozenset({1}))
    model.learn_one(sample("b"), frozenset({2}))
    assert model.predict_one(sample("a")) == frozenset({1})


def test_threads_may_share_it():
    model = KeyedClassifier(LOGISTIC, "user", max_models=2)
    errors = []

    def work(user):
        try:
            learn(model, user, n=100)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(user,)) for user in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    twin = KeyedClassifier(LOGISTIC, "user")
    learn(twin, "abcd", n=100)
    assert errors == [] and pickles(model) == pickles(twin)


BELLS: list[int] = []


class Ringing(Counting):
    """A model that is interrupted when it is pickled or comes back, if a bell is there."""

    def __getstate__(self):
        if BELLS:
            signal.raise_signal(BELLS.pop())
        return super().__getstate__()

    def __setstate__(self, state):
        if BELLS:
            signal.raise_signal(BELLS.pop())
        self.__dict__.update(state)


@pytest.mark.parametrize("kind", [TypeError, ValueError, TimeoutError])
def test_what_a_handler_raises_comes_out_as_it_is(kind):
    model = KeyedClassifier(Ringing(), "user", max_models=1)
    model.learn_one(sample("a", 0), True)

    def interrupt(*_):
        raise kind("of a handler")

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        BELLS.append(signal.SIGINT)
        with pytest.raises(kind, match=r"^of a handler$"):
            model.learn_one(sample("b", 0), True)
        model.learn_one(sample("b", 0), True)
        BELLS.append(signal.SIGINT)
        with pytest.raises(kind, match=r"^of a handler$"):
            model.predict_one(sample("a", 0))
    finally:
        signal.signal(signal.SIGINT, before)
    assert {user: model[user].n_learned for user in model} == {"a": 1, "b": 1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork, of POSIX")
def test_a_forked_process_leaves_the_folder_alone(tmp_path):
    model = KeyedClassifier(LOGISTIC, "user", folder=tmp_path, max_models=1)
    learn(model, "ab")
    model.flush()
    child = os.fork()
    if child == 0:
        try:
            model.predict_one(sample("a"))
        except RuntimeError as error:
            (tmp_path / "said").write_text(str(error))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert "was forked" in (tmp_path / "said").read_text()
    assert model.predict_one(sample("a")) is not None
    with pytest.raises(OSError, match="is in use"):
        Pool(str(tmp_path), "")
